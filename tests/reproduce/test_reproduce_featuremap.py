"""The counts and measures behind the page on FeatureMAP, on figures that can be told by hand."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from manifolia import metrics

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def script(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    found = importlib.import_module("reproduce.featuremap.run")
    monkeypatch.setattr(found.peers, "FOLDER", tmp_path / "maps")
    monkeypatch.setattr(found.figures, "FOLDER", tmp_path / "images")
    return found


def part(figure, **changes):
    keys = ("trust", "continuity", "knn", "shepard", "triplets", "stress", "raw_stress", "torn", "radius", "directions")
    timing = {"rows": 70_000, "wall": 20.0, "cpu": 10.0, "seeds": 1, "ranges": {key: [figure, figure] for key in keys}}
    scores = {**dict.fromkeys(keys, figure), "arrows": figure, "spread": {"arrows": 0.0}}
    return {**timing, **scores, "by_k": [figure] * 4, **changes}


def test_cells_are_won_tied_and_lost_to_two_digits(script):
    # The paper's FeatureMAP on MNIST: 0.95, 0.98, 0.97, 0.43, 0.70.
    ours = part(0.0, trust=0.946, continuity=0.99, knn=0.964, shepard=0.4349, triplets=0.7)
    found = {"table-mnist-FeatureMAP": ours}
    said = [verdict for *_, verdict in script.page.verdicts(found)]
    assert said == ["tied", "won", "lost", "tied", "tied"]
    cells = script.page.cells(found)
    assert script.counts.count(cells, setting="default") == (1, 3, 1)
    assert all(one.looked_at for one in cells if one.setting == "default" and not one.absent)
    found["table-mnist-as written"] = {"failed": "MemoryLimitError: too many rows"}
    assert script.counts.count(script.page.cells(found), setting="as written") == (0, 0, 5)  # refused is lost


def test_no_lower_than_umap_is_counted_rounded_and_not(script):
    found = {
        "table-mnist-FeatureMAP": part(0.9, trust=0.958, knn=0.944),
        "table-mnist-UMAP": part(0.9, trust=0.961, knn=0.946),
        "table-coil20-UMAP": part(1.0),  # no map of ours beside it
    }
    assert script.page.against(found, "FeatureMAP") == (4, 3, 5)


def test_a_line_of_several_seeds_has_means_and_ranges(script, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)).astype(np.float32), np.repeat([0, 1, 2], 20)
    monkeypatch.setattr(script.table, "load", lambda name, n_rows=None: (X, y))
    monkeypatch.setattr(script.peers, "timed", lambda method, X, seed: (X[:, :2] * [1, 1 + seed], 2.0, 1.0, None))
    script.table.pairs_of.cache_clear()
    found = {f"map-mnist-UMAP-{seed}": script.table.map_part("mnist", None, "UMAP", seed) for seed in range(3)}
    script.table.pairs_of.cache_clear()
    alone = [one["shepard"] for one in found.values()]
    found["map-mnist-PaCMAP-0"] = {"failed": "E: x"}
    with_lines = script.with_lines(found, None)
    of_three = with_lines["table-mnist-UMAP"]
    assert (of_three["seeds"], script.table.seeds_of("mnist", None, "UMAP")) == (3, 5)
    assert with_lines["table-mnist-PaCMAP"] == {"failed": "E: x"}
    assert of_three["shepard"] == pytest.approx(np.mean(alone))
    assert of_three["spread"]["shepard"] == pytest.approx(np.std(alone))
    assert of_three["ranges"]["shepard"] == [min(alone), max(alone)]
    assert min(alone) < max(alone)
    assert script.page.between(of_three, "shepard") == f" ({min(alone):.3f} to {max(alone):.3f})"
    assert (script.peers.kept("mnist", "UMAP")[0] == X[:, :2]).all()  # of the first seed


def test_a_set_without_classes_has_no_figures_of_them(script, monkeypatch, rng):
    X = rng.normal(size=(60, 5)).astype(np.float32)
    monkeypatch.setattr(script.table, "load", lambda name, n_rows=None: (X, None))
    script.table.pairs_of.cache_clear()
    made = script.table.map_part("any", None, "FeatureMAP", 0)
    script.table.pairs_of.cache_clear()
    assert {"trust", "continuity", "shepard", "radius", "arrows", "directions", "cpu"} <= set(made)
    assert not {"knn", "triplets", "torn", "by_k"} & set(made)
    assert script.table.limit_part("any", None) is None


def test_ranks_and_what_is_behind_umap(script):
    found = {
        "table-mnist-FeatureMAP": part(0.9, knn=0.8, shepard=0.5, torn=0.1),
        "table-mnist-UMAP": part(0.9, knn=0.804, shepard=0.6, torn=0.0),
        "table-mnist-t-SNE": part(0.95),
        "table-mnist-PaCMAP": {"failed": "E: x"},
    }
    ranks = script.page._ranks(found)
    assert ranks[-1] == "| mnist | 2 | 2 | 2 | 3 | 3 | 2 | 3 of 5 |"
    assert "Here: **1 of 1**, open: 8 sets were not run." in ranks[3]
    assert [script.page._reached(*one) for one in ((6, 0), (4, 1))] == ["met", "missed"]
    beside = script.page._beside_umap(found)
    assert beside[-1] == ("| mnist | +0.000 | +0.000 | -0.004 | **-0.100** | +0.000 | **+0.10** | 0.90 / 0.90 | 1.00 |")
    assert "Behind: mnist, Shepard; mnist, torn classes." in beside[3]


@pytest.mark.parametrize(("exact_rows", "atol"), [(1_000, 1e-6), (100, 0.01)])
def test_distances_of_pairs_are_those_of_the_library(script, monkeypatch, exact_rows, atol):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)).astype(np.float32)
    Y = (X[:, :2] * 3 + rng.normal(size=(300, 2))).astype(np.float32)
    monkeypatch.setattr(script.table, "load", lambda name, n_rows=None: (X, None))
    monkeypatch.setattr(script.table, "PAIRS", 200_000)
    monkeypatch.setattr(script.table, "EXACT_ROWS", exact_rows)
    script.table.pairs_of.cache_clear()
    ours = script.table.far("any", None, Y)
    script.table.pairs_of.cache_clear()
    theirs = (
        metrics.shepard_goodness(X, Y),
        metrics.normalized_stress(X, Y, squared=True),
        metrics.normalized_stress(X, Y, scale="none", squared=True),
    )
    np.testing.assert_allclose(ours, theirs, atol=atol)


def test_what_is_not_installed_is_left_out_and_named(script, monkeypatch):
    monkeypatch.setitem(script.peers.PACKAGES, "PaCMAP", "no_such_package_at_all")
    assert script.peers.fit("PaCMAP", np.zeros((5, 2))) is None
    assert script.peers.timed("PaCMAP", np.zeros((5, 2))) is None
    found = {f"table-{name}-UMAP": part(0.9) for name in script.data.SETS}
    found["table-mnist-h-NNE"] = {"failed": "E: x"}
    left_out = " ".join(script.page._left_out(found))
    assert "no_such_package_at_all (PaCMAP)" in left_out
    assert f"PHATE ({', '.join(script.data.SETS)})" in left_out
    assert " UMAP (" not in left_out
    assert "h-NNE failed on mnist: E: x." in left_out


def test_the_page_of_a_small_run(script, tmp_path):
    rng = np.random.default_rng(0)
    found = {}
    for method, cpu in (("FeatureMAP", 10.0), ("UMAP", 25.0)):
        found[f"table-mnist-{method}"] = part(0.96, cpu=cpu)
        found[f"time-1000-{method}"] = {"rows": 1000, "wall": 0.2, "cpu": cpu / 70}
        script.peers.keep("mnist", method, rng.normal(size=(60, 2)), np.arange(60) % 10)
    found["gallery-mnist"] = script.gallery.gallery_part("mnist")
    assert script.gallery.gallery_part("coil20") is None
    script.write(found, tmp_path / "page.md", None)
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert lines[2].startswith("* default: won ")
    assert "| UMAP | 0.4 (2.5 ×) / 0.2 | 25.0 (2.5 ×) / 20.0 | 1.00 |" in lines
    assert "![MNIST by every method](images/featuremap/fig13_mnist.png)" in lines
    assert {path.name for path in (tmp_path / "images").iterdir()} == {"fig13_mnist.png", "fig14.png"}


def test_our_maps_are_of_the_settings_they_are_named_for(script, rng):
    X = rng.normal(size=(120, 4)).astype(np.float32) + 8.0 * (np.arange(120) % 3)[:, None]
    models = [script.peers.timed(name, X)[-1] for name in script.peers.SETTINGS]
    assert [one.layout_ for one in models] == ["grid", "grid", "edges", "edges", "edges"]
    assert [one.density_weight for one in models[1:]] == [0.0, 0.03, 0.5, 0.5]
    assert models[-1].gauge == "embedded"
