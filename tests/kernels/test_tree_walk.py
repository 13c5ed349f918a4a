"""Each walk against its naive twin, and against scikit-learn's own way down."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from manifolia.forest.trees import read_trees
from manifolia.kernels import tree_walk as kernels
from reference import tree_walk as naive


def grown(kind: str, seed: int, n: int = 40, d: int = 5):
    """Return a forest, its rows in single precision and its in-bag counts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 1] = rng.integers(0, 3, size=n)  # ties
    X[:, 2] = 7.0  # constant
    if kind == "missing":
        X[rng.random((n, d)) < 0.2] = np.nan
    y = np.nan_to_num(X[:, 0]) + X[:, 1] > 0.5
    if kind == "regression":
        target = np.column_stack([X[:, 0], X[:, 3] ** 2]).astype(np.float64)
        model = RandomForestRegressor(4, random_state=seed)
    elif kind == "extra":
        model, target = ExtraTreesClassifier(4, bootstrap=True, random_state=seed), y
    elif kind == "stump":
        model, target = RandomForestClassifier(4, max_leaf_nodes=2, random_state=seed), np.zeros(n)  # roots only
    else:
        model, target = RandomForestClassifier(4, random_state=seed), y
    model.fit(X, target)
    counts = np.stack([np.bincount(drawn, minlength=n) for drawn in model.estimators_samples_]).astype(np.uint8)
    return model, X, counts, rng


KINDS = ["plain", "missing", "regression", "extra", "stump"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_naive_way_is_scikit_learns(kind):
    model, X, _, _ = grown(kind, 0)
    trees = read_trees(model)
    for t, estimator in enumerate(model.estimators_):
        ends = [naive._way(*trees.walk(X)[:3], trees.roots[t], x)[-1] - trees.roots[t] for x in X]
        np.testing.assert_array_equal(ends, estimator.apply(X))
    assert trees.n_trees == 4


def both(function, outputs, *arguments):
    """Run kernel and twin on copies of the outputs; all that they write must be equal."""
    ours, twins = [out.copy() for out in outputs], [out.copy() for out in outputs]
    first, second = getattr(kernels, function)(*arguments, *ours), getattr(naive, function)(*arguments, *twins)
    assert first == second
    for got, expected in zip(ours, twins, strict=True):
        np.testing.assert_array_equal(got, expected)
    return ours


def test_row_hashes():
    _, X, _, _ = grown("missing", 0)
    X[0, 0] = -0.0
    X[3] = X[4]
    (found,) = both("row_hashes", [np.zeros(len(X), dtype=np.uint64)], X, X.view(np.uint32))
    assert len(np.unique(found)) == len(np.unique(np.nan_to_num(X, nan=9e9), axis=0))


@pytest.mark.parametrize("kind", KINDS)
def test_find_leaves(kind):
    model, X, _, _ = grown(kind, 0)
    trees = read_trees(model)
    for hashes in (np.empty(0, dtype=np.uint64), np.arange(len(X), dtype=np.uint64)):
        outputs = np.zeros((4, len(X)), dtype=np.int32), np.zeros(len(X), dtype=np.int64)
        leaf, _ = both("find_leaves", outputs, *trees.walk(X), X, hashes, np.uint64(7), trees.depth)
        assert trees.is_leaf[leaf].all()
        if not len(hashes):
            np.testing.assert_array_equal(leaf.T, model.apply(X) + trees.roots[:-1])


@pytest.mark.parametrize("max_leaf_nodes", [None, 5])
def test_leaf_ranks(max_leaf_nodes):
    _, X, _, _ = grown("plain", 0)
    model = RandomForestClassifier(4, max_leaf_nodes=max_leaf_nodes, random_state=0).fit(X, X[:, 0] > 0)
    trees = read_trees(model)
    outputs = np.zeros(trees.n_nodes, dtype=np.int32), np.zeros(trees.n_nodes, dtype=np.int32)
    low, high = both("leaf_ranks", outputs, trees.tests, trees.roots)
    np.testing.assert_array_equal(low, trees.low)
    np.testing.assert_array_equal(high, trees.high)
    assert trees.n_leaves == sum(estimator.tree_.n_leaves for estimator in model.estimators_)
    np.testing.assert_array_equal(np.flatnonzero(trees.is_leaf), np.sort(trees.leaf_node))
    np.testing.assert_array_equal(low[trees.leaf_node], np.arange(trees.n_leaves))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [True, False])
def test_permuted_losses(kind, classes):
    model, X, counts, rng = grown(kind, 1)
    trees = read_trees(model)
    d = X.shape[1]
    moved = rng.permutation(d)  # feature f stands in column moved[f]
    stored = np.empty_like(X)
    stored[:, moved] = X
    changed = 0
    for t in range(4):
        rows = rng.permutation(np.flatnonzero(counts[t] == 0))
        shift = rng.integers(0, len(rows), size=d)
        leaf_value = rng.integers(0, 3, size=(trees.roots[t + 1] - trees.roots[t], 2)).astype(float)
        y = rng.integers(0, 3, size=(len(rows), 2)).astype(float)
        got, expected = np.zeros((2, d))
        for module, out in ((kernels, got), (naive, expected)):
            module.permuted_losses(
                *trees.walk(X)[:3], trees.roots[t], stored, rows, moved, shift, leaf_value, y, classes, out
            )
        np.testing.assert_array_equal(got, expected)  # whole numbers: sums are exact
        changed += np.count_nonzero(got)
    assert (changed > 0) == (kind != "stump")


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_and_excess(kind):
    model, X, counts, rng = grown(kind, 2)
    trees = read_trees(model)
    n_nodes = int(trees.roots[-1])
    new = np.concatenate([X[:8], 10 * X[:8], rng.permuted(X, axis=0)[:8], np.full((1, 5), np.nan, dtype=np.float32)])
    if kind == "regression":
        new = new[:-1]
    span = np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0)
    nobody = np.empty((1, 0), dtype=np.uint8)
    results = []
    for module in (kernels, naive):
        low = np.full(n_nodes, np.inf, dtype=np.float32)
        high = -low
        for rows in (slice(0, 15), slice(15, 40)):  # ranges widen block by block
            for first, last in ((0, 1), (1, 4)):
                module.node_ranges(*trees.walk(X), X[rows], counts[:, rows].copy(), first, last, low, high)
        sums = []
        for Z, drawn in ((new, nobody), (X, counts)):
            out, n_asked = np.zeros((2, len(Z)))
            module.path_excess(*trees.walk(Z), low, high, span, Z, drawn, out, n_asked)
            sums += [out, n_asked]
        results.append((low, high, *sums))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert (results[0][2].max() > 0) == (kind != "stump")
    np.testing.assert_array_equal(results[0][5], (counts == 0).sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bag", ["bag", "nobody", "everybody"])
def test_rows_sorted_down_a_tree(kind, bag):
    model, X, counts, _ = grown(kind, 4)
    counts = {"bag": counts, "nobody": np.zeros_like(counts), "everybody": np.ones_like(counts)}[bag]
    trees = read_trees(model)
    span = np.fmax.reduce(X, axis=0) - np.fmin.reduce(X, axis=0)
    tests, limits, missing_left, roots = trees.walk(X)
    results = []
    for module in (kernels, naive):
        low = np.full(trees.n_nodes, np.inf, dtype=np.float32)
        high, leaf, excess = -low, np.empty((4, len(X)), dtype=np.int32), np.full((4, len(X)), np.nan)
        for t in range(4):
            module.sort_rows(
                tests, limits, missing_left, roots[t], trees.low, X, counts[t], span, leaf[t], low, high, excess[t]
            )
        results.append((leaf, low, high, excess))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert (results[0][3].max() > 0) == (kind != "stump" and bag != "everybody")


def test_ranges_without_rows_or_width():
    # Tree: x0 <= 1 ? leaf : (x1 <= 0 ? leaf : leaf); nobody came to the last leaf.
    tests = np.array([[0, 0, 1, 2], [-1, 0, 1, 1], [1, 0, 3, 4], [-1, 0, 3, 3], [-1, 0, 4, 4]], dtype=np.int32)
    tests.view(np.float32)[0, 1] = 1.0
    walk = tests, tests.view(np.float32), np.zeros(5, dtype=bool), np.array([0, 5])
    inf = np.float32(np.inf)
    low = np.array([inf, 0, 2, -1, inf], dtype=np.float32)
    high = np.array([-inf, 1, 4, -1, -inf], dtype=np.float32)
    X = np.array([[0.5, 9], [-1, 9], [-9, 9], [3, -1], [3, -3], [3, 1], [8, -1]], dtype=np.float32)
    for module in (kernels, naive):
        for span, expected in (([4, 8], [0, 0.25, 1, 0, 0.25, 1, 1]), ([4, 0], [0, 0.25, 1, 0, 1, 1, 1])):
            out, n_asked = np.zeros((2, 7))
            arguments = (np.array(span, dtype=np.float32), X, np.empty((1, 0), dtype=np.uint8))
            module.path_excess(*walk, low, high, *arguments, out, n_asked)
            np.testing.assert_array_equal(out, expected)
