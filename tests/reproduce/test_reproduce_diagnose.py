"""The planted faults of the diagnosis: that they are planted, and counted as they are."""

from __future__ import annotations

import numpy as np
from reproduce.diagnose import plants, run


def test_pairs_that_change_places_are_far_apart_and_different(rng):
    Y = rng.normal(size=(300, 2))
    pairs = plants.far_pairs(Y, 5, rng)
    assert pairs.shape == (5, 2)
    assert len(set(pairs.ravel().tolist())) == 10
    apart = np.linalg.norm(Y[pairs[:, 0]] - Y[pairs[:, 1]], axis=1)
    assert apart.min() > np.median(np.linalg.norm(Y[:, None] - Y, axis=2))


def test_a_torn_sheet_is_torn_at_its_tear():
    x = np.linspace(0, 1, 40)
    sheet = np.array([(a, b) for a in x for b in x[:20]])
    Y = sheet + np.where(sheet[:, :1] > 0.5, 3.0, 0.0)
    torn = plants.truly_torn(sheet, Y)
    assert 0 < torn.mean() < 0.3
    assert np.abs(sheet[torn, 0] - 0.5).max() < 0.1
    assert not plants.truly_torn(sheet, sheet).any()


def test_clusters_are_drawn_too_large_and_found():
    assert plants.sizes(0, factor=3.0)["found"]
    assert plants.sizes(0, factor=1) == {"found": False, "alarms": 0, "others": 8}
    assert plants.arranged(0, 10, at_random=False) == "yes"


def test_results_are_kept_and_counted(tmp_path):
    asked = []

    def plant(seed):
        asked.append(seed)
        return "no"

    runs = run.Runs(tmp_path, 3)
    assert runs.over("a, b", plant) == ["no", "no", "no"]
    assert runs.over("a, b", plant) == ["no", "no", "no"]
    assert asked == [0, 1, 2]
    assert run.Runs(tmp_path, 5, stored=True).over("a, b", plant) == ["no", "no", "no"]
    assert run.share(["no", "yes", "no"], "no") == "2 of 3 (67%)"
    assert run.share([], "no") == "not run"
