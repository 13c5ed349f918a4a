"""Which leaf each row falls into, and how often each row was in the bag: all that proximities need of a forest.

Only public attributes of scikit-learn's forests are used: ``estimators_``, ``estimators_samples_``, ``tree_`` and the
trees' ``apply``.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from manifolia._core.parallel import current_n_jobs, map_blocks, threads
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_matrix, is_sparse

__all__ = ["LeafTable", "Trees", "check_forest_input", "check_table", "leaf_ids", "leaf_table", "tree_structure"]

_MISRECORDED = 0.05  # share of rows that may lie in another leaf than was recorded, if there are gaps


class Trees(NamedTuple):
    """The shape of a forest's trees, all trees one after the other."""

    offsets: IntArray  # (T + 1,): first leaf id of each tree; the last entry is the number of leaves
    node_offsets: IntArray  # (T + 1,): first node of each tree in the arrays below
    low: IntArray  # (n_nodes,): range of the leaf ids below each node
    high: IntArray  # (n_nodes,): range of the leaf ids below each node
    parent: IntArray  # (n_nodes,): the node above, −1 at a root
    leaf_node: IntArray  # (n_leaves,): the node of each leaf
    n_in_leaf: IntArray  # (n_leaves,): distinct training rows in each leaf, as scikit-learn counted them

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.offsets) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return int(self.offsets[-1])


class LeafTable(NamedTuple):
    """Leaves and in-bag counts of the rows that a forest was trained on."""

    leaf: IntArray  # (T, n): leaf id of each row in each tree
    counts: IntArray  # (T, n): how often each row was drawn for each tree
    bootstrap: bool  # Whether there are out-of-bag rows at all
    trees: Trees  # The trees' shapes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaf.shape[1])

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.leaf.shape[0])


def check_forest_input(forest: Any, X: ArrayLike, *, name: str = "X") -> Any:
    """Check that a forest is fitted and that `X` has its features; return `X` as the trees want it."""
    if not hasattr(type(forest), "estimators_samples_"):  # of the class: the property draws every bag anew
        message = (
            f"forest must be a scikit-learn forest (RandomForest… or ExtraTrees…), got {type(forest).__name__}: "
            f"it has no 'estimators_samples_'."
        )
        raise TypeError(message)
    check_is_fitted(forest)
    names = getattr(forest, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        message = (
            f"the columns of {name} differ from those that the forest was fitted on. "
            f"Expected {list(names)[:5]}…, got {list(X.columns)[:5]}…: pass the same columns in the same order."
        )
        raise ValueError(message)
    allow_nan = bool(get_tags(forest).input_tags.allow_nan)
    checked = check_matrix(X, name=name, accept_sparse=True, allow_nan=allow_nan)
    if checked.shape[1] != forest.n_features_in_:
        message = (
            f"{name} has {checked.shape[1]} features and the forest was fitted with {forest.n_features_in_}. "
            f"Pass the same columns."
        )
        raise ValueError(message)
    with np.errstate(over="ignore"):
        single = checked.astype(np.float32)
    values = single.data if sp.issparse(single) else single
    if np.isinf(values).any():
        message = f"{name} has values too large for single precision, in which trees compare. Rescale those columns."
        raise ValueError(message)
    if sp.issparse(single):
        out = sp.csr_matrix(single)  # the trees' apply knows sparse matrices with 32-bit indices only
        out.indices, out.indptr = out.indices.astype(np.intc), out.indptr.astype(np.intc)
        return out
    return np.ascontiguousarray(single)


def tree_structure(forest: Any) -> Trees:
    """Lay the shapes of all trees of a forest one after the other."""
    from manifolia.kernels.forest import leaf_intervals

    trees = [estimator.tree_ for estimator in _estimators(forest)]
    node_offsets = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])]).astype(np.int64)
    n_nodes = int(node_offsets[-1])
    low, high, parent = (np.empty(n_nodes, dtype=np.int64) for _ in range(3))
    offsets = np.zeros(len(trees) + 1, dtype=np.int64)
    for t, tree in enumerate(trees):
        left, right = tree.children_left, tree.children_right
        nodes = slice(node_offsets[t], node_offsets[t + 1])
        offsets[t + 1] = offsets[t] + leaf_intervals(left, right, low[nodes], high[nodes])
        low[nodes] += offsets[t]
        high[nodes] += offsets[t]
        up = parent[nodes]
        up[0] = -1
        inner = np.flatnonzero(left >= 0)
        up[left[inner]] = up[right[inner]] = inner + node_offsets[t]
    is_leaf = np.concatenate([tree.children_left for tree in trees]) < 0
    leaf_node = np.empty(int(offsets[-1]), dtype=np.int64)
    leaf_node[low[is_leaf]] = np.flatnonzero(is_leaf)
    n_in_leaf = np.concatenate([tree.n_node_samples for tree in trees])[leaf_node]
    return Trees(offsets, node_offsets, low, high, parent, leaf_node, n_in_leaf)


def _estimators(forest: Any) -> list[Any]:
    # ``estimators_`` is a list for every forest; gradient boosting keeps a 2-D array and has no bags.
    return list(np.ravel(forest.estimators_))


def leaf_ids(forest: Any, X: Any, trees: Trees, *, n_jobs: int | None = None) -> IntArray:
    """Find the leaf of every row in every tree."""
    estimators = _estimators(forest)
    out = np.empty((len(estimators), X.shape[0]), dtype=np.int32)

    def run(t: int) -> None:
        nodes = estimators[t].apply(X, check_input=False)
        out[t] = trees.low[trees.node_offsets[t] + nodes]

    map_blocks(run, range(len(estimators)), n_jobs=n_jobs)
    return out


def leaf_table(
    forest: Any, X: ArrayLike, *, train_rows: ArrayLike | None = None, n_jobs: int | None = None
) -> LeafTable:
    """Read a fitted forest's leaves and in-bag counts for the rows `X`."""
    checked = check_forest_input(forest, X)
    with threads(n_jobs):
        trees = tree_structure(forest)
        leaf = leaf_ids(forest, checked, trees)
        counts = _in_bag_counts(forest, checked.shape[0], train_rows)
    # Releases of scikit-learn before 1.7 record, for some nodes, a missing value on the other side than where `apply`
    # sends it: with gaps in the data a few rows may differ.
    gaps = not is_sparse(checked) and bool(np.isnan(checked).any())
    allowed = _MISRECORDED if gaps else 0.0
    _check_same_rows(leaf, counts, trees, partial=train_rows is not None, allowed=allowed)
    return LeafTable(leaf, counts, bool(getattr(forest, "bootstrap", False)), trees)


def check_table(table: LeafTable, forest: Any) -> None:
    """Check that a table which came from a file fits a forest: kernels index with it and do not look."""
    expected = tree_structure(forest)
    same = len(table.trees) == len(expected) and all(
        found.dtype == wanted.dtype and np.array_equal(found, wanted)
        for found, wanted in zip(table.trees, expected, strict=True)
    )
    leaf, counts = table.leaf, table.counts
    same = same and leaf.ndim == 2 and leaf.shape == counts.shape and leaf.shape[0] == expected.n_trees
    same = same and leaf.dtype == np.int32 and counts.dtype in (np.uint8, np.uint16, np.uint32)
    first, end = expected.offsets[:-1, np.newaxis], expected.offsets[1:, np.newaxis]
    if not same or ((leaf < first) | (leaf >= end)).any():
        message = "the table of leaves does not fit the forest."
        raise ValueError(message)


def _in_bag_counts(forest: Any, n_rows: int, train_rows: ArrayLike | None) -> IntArray:
    samples = forest.estimators_samples_
    where = None if train_rows is None else np.asarray(train_rows, dtype=np.int64)
    n_trained = n_rows if where is None else where.shape[0]
    if max((int(drawn.max(initial=-1)) for drawn in samples), default=-1) >= n_trained:
        message = (
            f"the forest was trained on more rows than the {n_trained} given. "
            f"Pass the X that it was fitted on, or relate the rows by train_rows."
        )
        raise ValueError(message)
    if where is not None and (where.max(initial=-1) >= n_rows or where.min(initial=-1) < -1):
        message = f"train_rows must hold rows of X (0 to {n_rows - 1}) or -1, got {where.min()} to {where.max()}."
        raise ValueError(message)

    def count(drawn: IntArray) -> IntArray:
        times = np.bincount(drawn, minlength=n_trained)
        if where is None:
            return times
        kept = where >= 0
        return np.bincount(where[kept], weights=times[kept], minlength=n_rows).astype(np.int64)

    counted = map_blocks(count, samples)
    largest = max((int(times.max(initial=0)) for times in counted), default=0)
    dtype = np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32
    return np.stack([times.astype(dtype) for times in counted])


def _check_same_rows(leaf: IntArray, counts: IntArray, trees: Trees, *, partial: bool, allowed: float = 0.0) -> None:
    """Compare each leaf's in-bag rows with the number that the tree itself recorded when it was grown.

    A row of weight 0 is in the bag and not counted by the tree, so only a shortfall is proof of other rows; with
    `train_rows` the table may hold fewer rows than the tree saw, so there only an excess is. Up to a share `allowed` of
    the rows may differ.
    """
    in_bag = [
        np.bincount(leaf[t][counts[t] > 0] - trees.offsets[t], minlength=int(trees.offsets[t + 1] - trees.offsets[t]))
        for t in range(leaf.shape[0])
    ]
    found = np.concatenate(in_bag)
    differs = np.maximum(found - trees.n_in_leaf if partial else trees.n_in_leaf - found, 0)
    if differs.sum() > allowed * trees.n_in_leaf.sum():
        message = (
            "X is not the data that the forest was trained on: its rows fall into other leaves than the forest "
            "recorded. Pass the X that it was fitted on, in the same order; for other rows use new=."
        )
        raise ValueError(message)


def parts_every(table: LeafTable) -> IntArray:
    """Let every row take part in every tree once."""
    return np.ones_like(table.counts)


def parts_out_of_bag(table: LeafTable, always: BoolArray | None = None) -> IntArray:
    """Let a row take part in the trees that left it out of their bag."""
    left_out = table.counts == 0
    if always is None:
        always = ~left_out.any(axis=0)
    return (left_out | always).astype(table.counts.dtype)


def pack_bits(flags: BoolArray) -> Array:
    """Pack one row of flags per tree into 64-bit words per row."""
    n_trees, n_rows = flags.shape
    n_words = max(1, -(-n_trees // 64))
    padded = np.zeros((n_rows, n_words * 64), dtype=bool)
    padded[:, :n_trees] = flags.T
    return np.packbits(padded, axis=1).view(np.uint64)


def tree_blocks(n_trees: int) -> list[tuple[int, int]]:
    """Cut the trees into one range per thread; the result of what runs on them does not depend on the cut."""
    n_blocks = min(n_trees, max(1, current_n_jobs()))
    edges = np.linspace(0, n_trees, n_blocks + 1).astype(int)
    return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def row_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Check the weights of the training rows."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not np.isfinite(weights).all() or (weights < 0).any():
        message = f"sample_weight must be {n_rows} finite numbers, none below 0, one a row; got shape {weights.shape}."
        raise ValueError(message)
    return weights
