"""The protocol behind the page on forest features: shared forests, codes without roots, verdicts and a page."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from manifolia import ForestFeatures

FOLDER = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    return importlib.import_module("reproduce.forest_features.run")


@pytest.fixture
def rows():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))[:120]
    return X[order] + rng.normal(scale=0.5, size=(120, 4)), (y[order] == 1).astype(int)


def test_the_kernel_with_roots_is_that_of_the_papers_codes(scripts, rows):
    X, y = rows
    model = ForestFeatures(20, random_state=0).fit(X, y)
    codes = model.transform(X).toarray().astype(np.float64)
    unit = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    np.testing.assert_allclose(scripts.binary.with_roots(model, X), unit @ unit.T, rtol=1e-12)
    np.testing.assert_allclose(scripts.binary.with_roots(model, X[:9], X), unit[:9] @ unit.T, rtol=1e-12)
    roots = np.cumsum([0, *(tree.tree_.node_count for tree in model.forest_.estimators_[:-1])])
    codes[:, roots] = 0.0
    unit = codes / np.linalg.norm(codes, axis=1, keepdims=True)
    np.testing.assert_allclose(model.kernel(X), unit @ unit.T, rtol=1e-12)


def test_a_figure_is_counted_in_both_settings(scripts):
    cells, shown = scripts.page.both("a figure", [0.91, 0.92], [0.88, 0.89], 0.9, looked_at=True)
    assert [one.setting for one in cells] == ["default", "as written"]
    assert [one.looked_at for one in cells] == [True, False]
    assert shown == ["0.915", "0.0050", "won", "0.885", "0.0050", "lost"]


def test_a_deviation_is_over_repetitions(scripts):
    values, spread = np.array([[0.0, 1.0], [0.2, 1.2], [0.1, 1.3]]), scripts.page.spread
    assert spread(values, over_folds=False, paper=9.0) == pytest.approx(np.std([0.5, 0.7, 0.7], ddof=1))
    assert spread(values[:1], over_folds=False) == pytest.approx(np.std([0, 1], ddof=1) / np.sqrt(2))
    assert spread(values[:2], over_folds=False, paper=9.0) == 9.0
    assert spread(values, over_folds=True) == pytest.approx(values.std())


def test_no_cost_is_tried_after_one_without_errors(scripts, monkeypatch):
    tried = []
    machine = scripts.binary.machine
    monkeypatch.setattr(scripts.binary, "machine", lambda C: tried.append(C) or machine(C))
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    y = np.array([0, 0, 1, 1])
    chosen = scripts.binary.best_cost(X @ X.T, X @ X.T, y, y)
    assert tried[-1] == chosen
    assert len(tried) < len(scripts.binary.COSTS)


@pytest.mark.slow  # eight forests
def test_a_page_of_two_sets_goes_on_where_it_was(scripts, rows, tmp_path, monkeypatch, capsys):
    X, y = rows
    data = scripts.sets
    monkeypatch.setattr(data, "load", lambda name: data.Task(X, (X - X.mean(0)) / X.std(0), y))
    monkeypatch.setattr(data, "SETS", {"Wine": None, "Ecoli": None})
    out = tmp_path / "page.md"
    command = ["forest_features.py", "--parts", "uci", "--sets", "Wine,Ecoli", "--folds", "2", "--repeats", "1"]
    command += ["--cache", str(tmp_path), "--out", str(out)]
    monkeypatch.setattr("sys.argv", command)
    scripts.main()
    kept = {file.name for file in (tmp_path / "forest-features-2-2-folds").iterdir()}
    assert kept == {f"{kind}-{name}-0.json" for kind in ("uci", "written") for name in ("Wine", "Ecoli")}
    monkeypatch.setattr(scripts.binary, "fold", None)  # nothing is computed again
    scripts.main()
    text = out.read_text("utf-8")
    assert text.split("\n\n")[1].startswith("* default: ")
    cells = json.loads((tmp_path / "counts.json").read_text("utf-8"))
    # Two tables of two sets and of the one that is not at hand, in both settings.
    assert len(cells) == 2 * 2 * (2 + 1)
    assert sum(one["outcome"] == "not computed" for one in cells) == 4
    assert "(2 sets, 1 × 2 folds)" in text
    assert "| Libras movement | 0.944 |  |  | not computed |" in text
    for picture in ("nearest", "svm"):
        assert (tmp_path / "images" / "forest-features" / f"{picture}.png").stat().st_size < 100_000
