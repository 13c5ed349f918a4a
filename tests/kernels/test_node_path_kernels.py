"""Each loop over nodes against its naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest.trees import find_leaves, read_trees
from manifolia.kernels import node_paths as kernels
from reference import node_paths as naive

KINDS = ["plain", "missing", "best first", "roots only"]


def grown(kind, n=30, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, 1] = rng.integers(0, 3, size=n)
    X[3] = X[4]
    if kind == "missing":
        X[rng.random((n, d)) < 0.25] = np.nan
    y = np.zeros(n) if kind == "roots only" else np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) > 0.7
    model = RandomForestClassifier(4, max_leaf_nodes=5 if kind == "best first" else None, random_state=0).fit(X, y)
    return read_trees(model), X


def both(function, outputs, *arguments):
    """Run kernel and twin on copies of the outputs; all that they write must be equal."""
    ours, twins = [out.copy() for out in outputs], [out.copy() for out in outputs]
    first, second = getattr(kernels, function)(*arguments, *ours), getattr(naive, function)(*arguments, *twins)
    assert first == second
    for a, b in zip(ours, twins, strict=True):
        np.testing.assert_array_equal(a, b)
    return ours


@pytest.mark.parametrize("kind", KINDS)
def test_fill_paths(kind):
    trees, X = grown(kind)
    leaf, lengths = find_leaves(trees, X)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    outputs = starts[:-1], np.zeros(starts[-1], dtype=np.int32)
    cursor, _ = both("fill_paths", outputs, leaf, trees.parent, trees.depth)
    np.testing.assert_array_equal(cursor, starts[1:])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("leaves_only", [True, False])
def test_split_paths(kind, leaves_only):
    table, X = grown(kind)
    walk = table.tests, table.limits, table.roots, X, leaves_only, int(table.depth.max())
    counts, _, _ = both(
        "split_paths", (np.zeros(len(X), dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)), *walk
    )
    starts = np.concatenate([[0], np.cumsum(counts)])
    outputs = starts[:-1], np.zeros(starts[-1], dtype=np.int32), np.zeros(starts[-1], dtype=np.float32)
    both("split_paths", outputs, *walk)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_hash_and_fold(signed, weighted):
    rng = np.random.default_rng(1)
    outputs = np.zeros(50, dtype=np.int32), np.zeros(50 if signed else 0, dtype=np.int8)
    columns, signs = both("hash_nodes", outputs, np.uint64(5), 70)
    assert len(np.unique(columns)) > 20
    indptr, nodes = np.array([0, 3, 3, 40]), rng.integers(0, 50, 40).astype(np.int32)
    weights = (rng.integers(1, 5, 40) / 4).astype(np.float32) if weighted else np.zeros(0, dtype=np.float32)
    outputs = np.zeros(4, dtype=np.int64), np.zeros(40, dtype=np.int32), np.zeros(40, dtype=np.float32)
    both("fold_rows", outputs, indptr, nodes, weights, columns, signs, 70)


@pytest.mark.parametrize("kind", KINDS)
def test_shared_paths(kind):
    table, X = grown(kind)
    leaf, _ = find_leaves(table, X)
    low, high = table.low, table.high
    order = np.argsort(low[leaf], axis=None, kind="stable")
    members = (order % len(X)).astype(np.int32)
    starts = np.searchsorted(low[leaf].ravel()[order], np.arange(table.n_leaves + 1))
    lengths = table.depth[leaf].ravel()[order]
    for shown in (lengths, lengths[:0]):
        ours, twin = np.zeros((7, len(X))), np.zeros((7, len(X)))
        rest = starts, members, shown, low, high, table.parent, table.depth
        kernels.shared_paths(leaf[:, :7], *rest, ours)
        naive.shared_paths(leaf[:, :7], *rest, twin)
        np.testing.assert_allclose(ours, twin, rtol=1e-14)


@pytest.mark.parametrize("longest", [True, False])
def test_code_products(longest):
    roots = np.array([0, 3, 8])
    indptr, nodes = np.array([0, 3, 5]), np.array([0, 2, 5, 1, 3], dtype=np.int32)
    weights = np.array([1, 0.5, 0.25, 1, 1], dtype=np.float32)
    to_indptr, to_nodes = np.array([0, 2, 2, 6]), np.array([2, 3, 0, 1, 2, 5], dtype=np.int32)
    to_weights = np.array([1, 1, 1, 0.5, 0.5, 1], dtype=np.float32)
    both2 = [np.zeros((2, 3)), np.zeros((2, 3))]
    for module, out in zip((kernels, naive), both2, strict=True):
        module.code_products(roots, indptr, nodes, weights, to_indptr, to_nodes, to_weights, longest, out)
    np.testing.assert_allclose(both2[0], both2[1], rtol=1e-14)
    assert both2[0].any()
