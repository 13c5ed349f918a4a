"""Ranges of nodes: closed forms on a tiny forest, invariants, and rows that are made to be novel."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import roc_auc_score

from manifolia.forest import node_ranges as stage
from manifolia.forest import trees
from manifolia.forest.grow import contrast_forest
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.trees import check_forest_input, read_trees


def novelty_ranges(forest, X, *, train_rows=None, n_jobs=None):
    table = leaf_table(forest, X, train_rows=train_rows)
    return stage.read_ranges(table.trees, check_forest_input(forest, X), table.counts, n_jobs=n_jobs)


def novelty(forest, X, ranges, **options):
    return stage.path_excess(read_trees(forest), check_forest_input(forest, X), ranges, **options)


def halves(load, seed=0):
    """Return a random half to train on, its labels, and the other half."""
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    half = len(X) // 2
    return X[order[:half]], y[order[:half]], X[order[half:]]


def auc(usual, novel):
    return roc_auc_score(np.repeat([0, 1], [len(usual), len(novel)]), np.concatenate([usual, novel]))


def test_one_split_in_closed_form():
    # One tree, one split at 2 between 1 and 3: [0, 1] goes left, [3, 4] right, 4 wide together.
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    model = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, [0, 0, 1, 1])
    ranges = novelty_ranges(model, X)
    np.testing.assert_array_equal(ranges.low[1:], [0, 3])
    np.testing.assert_array_equal(ranges.high[1:], [1, 4])
    np.testing.assert_array_equal(ranges.span, [4])
    new = np.array([[0.5], [-1.0], [1.5], [2.5], [5.0], [-40.0], [1e30]])
    np.testing.assert_allclose(novelty(model, new, ranges), [0, 0.25, 0.125, 0.125, 0.25, 1, 1])


def test_training_rows_lie_within_their_own_ranges():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(20, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_array_equal(novelty(model, X, novelty_ranges(model, X)), 0.0)


def test_a_tree_that_never_splits_finds_nothing_novel():
    X = np.arange(6.0)[:, None]
    model = RandomForestClassifier(5, random_state=0).fit(X, np.zeros(6))
    np.testing.assert_array_equal(novelty(model, 100 * X, novelty_ranges(model, X)), 0.0)


def test_features_that_are_not_used_do_not_matter(rng):
    X = np.column_stack([rng.normal(size=80), np.full(80, 3.0)])
    model = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0)
    ranges = novelty_ranges(model, X)
    elsewhere = np.column_stack([X[:, 0], np.full(80, 1e6)])
    np.testing.assert_array_equal(novelty(model, elsewhere, ranges), novelty(model, X, ranges))


@pytest.mark.parametrize(
    ("load", "floor"),
    [(load_digits, 0.96), (load_iris, 0.7), (load_breast_cancer, 0.94)],
    ids=["digits", "iris", "breast cancer"],
)
def test_novel_rows_are_told_from_held_out_ones(load, floor, rng):
    X, y, held_out = halves(load)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    ranges = novelty_ranges(model, X)
    usual = novelty(model, held_out, ranges)
    far = novelty(model, 10 * X, ranges)
    mixed_rows = rng.permuted(held_out, axis=0)  # each column shuffled
    mixed = novelty(model, mixed_rows, ranges)
    assert usual.min() >= 0
    assert far.max() <= 1
    assert auc(usual, far) > 0.999
    assert far.mean() > 0.9
    assert auc(usual, mixed) > floor
    # Looking at the overall ranges alone does not tell mixed rows: each column has the same values as before.
    outside = [(np.clip(Z, X.min(axis=0), X.max(axis=0)) != Z).mean(axis=1) for Z in (held_out, mixed_rows)]
    assert auc(*outside) < 0.6


def test_out_of_bag_scores_of_training_rows_are_the_yardstick():
    X, y, held_out = halves(load_breast_cancer)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    counts = leaf_table(model, X).counts
    ranges = novelty_ranges(model, X)
    own, usual = novelty(model, X, ranges, counts=counts), novelty(model, held_out, ranges)
    assert np.mean(usual > np.quantile(own, 0.9)) == pytest.approx(0.1, abs=0.06)
    assert novelty(model, X, ranges).mean() < 0.6 * own.mean()  # all trees: a row is never outside its own bag's ranges


def test_a_row_in_every_bag_has_no_score():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    counts = leaf_table(model, X).counts
    always = (counts > 0).all(axis=0)
    assert always.any()
    own = novelty(model, X, novelty_ranges(model, X), counts=counts)
    np.testing.assert_array_equal(np.isnan(own), always)


def test_missing_values_are_not_novel(rng):
    X = rng.normal(size=(100, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    y = np.nansum(X, axis=1) > 0
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    ranges = novelty_ranges(model, X)
    assert np.isfinite(ranges.span).all()
    assert novelty(model, np.full((1, 3), np.nan), ranges)[0] == 0.0
    far = np.array([[np.nan, 50.0, np.nan]])
    assert novelty(model, far, ranges)[0] > 0.5


def test_a_column_without_any_value(rng):
    X = np.column_stack([rng.normal(size=60), np.full(60, np.nan)])
    model = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
    ranges = novelty_ranges(model, X)
    assert ranges.span[1] == 0
    assert np.isfinite(novelty(model, np.array([[0.0, 5.0]]), ranges)).all()


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor])
def test_each_row_alone_and_for_any_number_of_threads(kind, monkeypatch):
    X, y, held_out = halves(load_digits)
    model = kind(20, random_state=0).fit(X, y)
    ranges = novelty_ranges(model, X, n_jobs=1)
    for a, b in zip(ranges, novelty_ranges(model, X, n_jobs=2), strict=True):
        assert a.tobytes() == b.tobytes()
    whole = novelty(model, held_out, ranges, n_jobs=1)
    monkeypatch.setattr(trees, "_LEAST", 50)
    assert novelty(model, held_out, ranges, n_jobs=2).tobytes() == whole.tobytes()
    for i in (0, 17, 400):
        assert novelty(model, held_out[i : i + 1], ranges)[0] == whole[i]


def test_order_and_scale_of_the_training_rows_do_not_matter(rng):
    X, y, held_out = halves(load_iris)
    model = RandomForestClassifier(20, bootstrap=False, random_state=0).fit(X, y)
    order = rng.permutation(len(X))
    for a, b in zip(novelty_ranges(model, X), novelty_ranges(model, X[order]), strict=True):
        np.testing.assert_array_equal(a, b)
    # Powers of two change no bit of a comparison: the same trees, the same novelty.
    wide = RandomForestClassifier(20, bootstrap=False, random_state=0).fit(4 * X, y)
    np.testing.assert_allclose(
        novelty(wide, 4 * held_out, novelty_ranges(wide, 4 * X)), novelty(model, held_out, novelty_ranges(model, X))
    )


def test_sparse_rows_give_the_same_bits(monkeypatch):
    X, y, held_out = halves(load_digits)
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    ranges = novelty_ranges(model, X)
    monkeypatch.setattr(trees, "_LEAST", 50)
    for a, b in zip(ranges, novelty_ranges(model, sp.csr_array(X)), strict=True):
        assert a.tobytes() == b.tobytes()
    assert novelty(model, sp.csr_matrix(held_out), ranges).tobytes() == novelty(model, held_out, ranges).tobytes()


def test_leaves_of_the_contrast_alone_are_novel():
    X, _, held_out = halves(load_breast_cancer)
    grown = contrast_forest(X, n_trees=60, random_state=0)
    ranges = novelty_ranges(grown.forest, X, train_rows=grown.train_rows)
    assert np.isinf(ranges.low).sum() > len(grown.forest.estimators_)  # nodes that no real row reaches
    mixed = np.random.default_rng(0).permuted(held_out, axis=0)
    assert auc(novelty(grown.forest, held_out, ranges), novelty(grown.forest, mixed, ranges)) > 0.97


def test_ranges_of_another_forest_are_refused():
    X, y = load_iris(return_X_y=True)
    one, other = (RandomForestClassifier(n, random_state=0).fit(X, y) for n in (5, 6))
    with pytest.raises(ValueError, match="Read them again"):
        novelty(one, X, novelty_ranges(other, X))


def test_other_rows_are_refused():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not the data that the forest was trained on"):
        novelty_ranges(model, X[::-1])
