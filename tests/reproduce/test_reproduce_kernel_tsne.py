"""The protocol behind the page on kernel t-SNE, on figures that can be told by hand, and all of it on the digits."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return importlib.import_module("reproduce.kernel_tsne.run")


@pytest.fixture
def protocol(scripts):
    return scripts.protocol


def test_points_in_one_place_are_counted(protocol):
    Y = np.array([[0.0, 0.0], [0.0, 1e-9], [1.0, 0.0], [5.0, 5.0]])
    assert protocol.coincident(Y) == 0.5
    assert protocol.coincident(Y[1:]) == 0.0


def test_pairs_are_sorted_by_closeness(protocol, rng):
    Y = rng.normal(size=(30, 2))
    Y[1] = Y[0]
    near = 1.0 / (1.0 + pairwise_distances(Y) ** 2)
    others = near[~np.eye(30, dtype=bool)]
    edges = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(protocol.closeness(Y, edges), np.histogram(others, edges)[0] / others.size)


def test_a_perfect_map_has_perfect_curves(protocol, rng):
    X = rng.normal(size=(200, 2))
    made = protocol.Fit(3.0 * X, np.arange(80), np.arange(80, 200), 0.0)
    found = protocol.curves(protocol.Data(X, np.zeros(200)), made)
    for one in found.values():
        np.testing.assert_allclose(one["full"], 1.0)
        np.testing.assert_allclose(one["small"], 1.0)
    assert len(found["train"]["small"]) == 78  # 80 rows are fewer than 100
    assert found["test"]["k"][-1] == 78  # as many test rows as training rows


def test_copies_sit_on_their_nearest_training_row(protocol, rng):
    X = rng.normal(size=(60, 5)).astype(np.float32)
    made = protocol.Fit(rng.normal(size=(60, 2)), np.arange(20), np.arange(20, 60), 0.0)
    copied = protocol.placed(X, made, None).Y
    nearest = pairwise_distances(X[20:], X[:20]).argmin(axis=1)
    np.testing.assert_array_equal(copied[20:], made.Y[nearest])
    np.testing.assert_array_equal(copied[:20], made.Y[:20])


def test_test_rows_are_judged_among_themselves_and_against_the_training_map(protocol):
    # Two training rows at 0 and 10; test rows of both classes come in pairs, the second pair beside the wrong one.
    Y = np.array([[0.0, 0.0], [10.0, 0.0], [1.0, 0.0], [1.5, 0.0], [3.0, 0.0], [3.5, 0.0]])
    data = protocol.Data(Y.copy(), np.array(["a", "b", "a", "a", "b", "b"]))
    made = protocol.Fit(Y, np.array([0, 1]), np.arange(2, 6), 0.0)
    found = protocol.held_out(data, made._replace(train=np.array([0, 1, 0])))
    assert found["among"] == 1.0
    assert found["against"] == 0.5
    assert found["q_few"] == found["q_all"] == 1.0


def test_alarms_are_shares_beyond_the_level(protocol):
    assert protocol.alarms(np.array([0.0, 0.94, 0.95, 0.995])) == [0.5, 0.25]


def test_results_are_computed_once(scripts, tmp_path, capsys):
    store, calls = scripts.Store(tmp_path / "new"), []

    def make():
        calls.append(1)
        return {"value": 0.5}

    assert store.get("one", make) == store.get("one", make) == {"value": 0.5}
    assert len(calls) == 1
    assert json.loads((tmp_path / "new" / "one.json").read_text("utf-8")) == {"value": 0.5}


@pytest.mark.slow  # ten maps
def test_the_page_is_written(scripts, tmp_path, monkeypatch):
    digits = load_digits()
    X, y = digits.data[:400].astype(np.float32), digits.target[:400].astype(str)
    monkeypatch.setattr(scripts.protocol, "load", lambda name, n_rows=None: scripts.protocol.Data(X, y))
    monkeypatch.setattr(scripts.protocol, "garments", lambda: X[:50] + 8.0)
    monkeypatch.setattr(scripts.protocol, "PAPER", {"usps": scripts.protocol.PAPER["usps"]})
    monkeypatch.setattr(scripts.protocol, "FEW", 60)
    plan = scripts.Plan({"usps": 400}, {"usps": 120}, (0,), (0,), (10, 40), ("isomap",), steps=20)
    monkeypatch.setattr(scripts, "QUICK", plan)
    out = tmp_path / "page.md"
    monkeypatch.setattr("sys.argv", ["kernel_tsne.py", "--work", str(tmp_path / "work"), "--out", str(out)])
    scripts.main()
    text = out.read_text("utf-8")
    assert text.startswith("# Kernel t-SNE\n\n* default: won ")
    cells = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    assert [one["setting"] for one in cells].count("as written") == 8  # four of USPS, four of norb
    assert sum(one["outcome"] == "not computed" for one in cells) == 8
    factors = [run["factor"] for run in scripts.table(plan, scripts.Store(tmp_path / "work" / "quick"))[
        "usps", "kernel", "as written"
    ]]  # fmt: skip
    assert all(0.1 < factor < 2.0 for factor in factors)
    for picture in ("shares", "densities", "embedders", "curves-usps", "maps-usps"):
        assert f"images/kernel-tsne/{picture}.png" in text
        assert (tmp_path / "images" / "kernel-tsne" / f"{picture}.png").stat().st_size < 150_000
    for label in scripts.protocol.MAPPINGS:
        assert f"| USPS | {label} |" in text
    assert "| USPS | 400 | 120 | test | 58.6 |" in text  # parametric t-SNE's column
    assert "| USPS | 38 | 126 | 3.3 |" in text  # Table 1
