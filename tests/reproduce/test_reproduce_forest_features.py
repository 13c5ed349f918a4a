"""The protocol behind the page on forest features: shared forests, codes without roots, verdicts and a page."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from manifolia import ForestFeatures
from manifolia.forest.grow import grow_until_stable

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


def test_the_first_trees_are_the_forest_of_so_many(scripts, rows):
    X, y = rows
    whole, few = (ForestFeatures(n, random_state=3).fit(X, y) for n in (30, 12))
    cut = ForestFeatures(forest=scripts.binary.first(whole.forest_, 12), random_state=3).fit(X, y)
    np.testing.assert_array_equal(cut.kernel(X), few.kernel(X))
    assert len(whole.forest_.estimators_) == 30


def test_a_forest_grown_for_both_codes_has_the_size_of_each_alone(scripts, rows):
    X, y = rows
    grown, size, plain = scripts.binary.both_sizes(X[:80], y[:80], X[80:], 0)
    alone = grow_until_stable(RandomForestClassifier(max_features=2, random_state=0), X[:80], y[:80], X[80:])
    assert size == alone.n_trees
    assert len(grown.estimators_) == max(size, plain)
    # Without the roots, which all rows share, rows differ more, and more trees are needed.
    assert plain >= size


def test_codes_without_roots(scripts, rows):
    X, y = rows
    model = ForestFeatures(20, random_state=0).fit(X, y)
    codes = model.transform(X).toarray().astype(np.float64)
    roots = np.cumsum([0, *(tree.tree_.node_count for tree in model.forest_.estimators_[:-1])])
    left = np.delete(codes, roots, axis=1)
    unit = left / np.linalg.norm(left, axis=1, keepdims=True)
    kappa = model.kernel(X, normalize=None)
    own = np.diag(kappa)
    np.testing.assert_allclose(scripts.binary.rootless(kappa, own, own, 20), unit @ unit.T, rtol=1e-12)


@pytest.mark.parametrize(
    ("ours", "deviation", "said"), [(0.8996, 0.0, "won"), (0.899, 0.002, "tied"), (0.89, 0.002, "lost")]
)
def test_verdicts(scripts, ours, deviation, said):
    tally = scripts.page.Tally()
    text, verdict = tally.add(ours, 0.9, deviation)
    assert verdict == said
    assert text.startswith("**") == (said == "won")
    assert f"{said} 1" in tally.line()


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
    kept = {file.name for file in (tmp_path / "forest-features-1-2-folds").iterdir()}
    assert kept == {f"{kind}-{name}-0.json" for kind in ("uci", "alignment") for name in ("Wine", "Ecoli")}
    monkeypatch.setattr(scripts.binary, "fold", None)  # nothing is computed again
    scripts.main()
    text = out.read_text("utf-8")
    assert text.split("\n\n")[1].startswith("won ")
    assert "(2 sets, 1 × 2 folds)" in text
    assert "| Libras movement | 0.944 |  | not computed |" in text
    for picture in ("nearest", "svm"):
        assert (tmp_path / "images" / "forest-features" / f"{picture}.png").stat().st_size < 100_000
