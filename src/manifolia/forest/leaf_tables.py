"""Which leaf each row falls into, and how often each row was in the bag: all that proximities need from a forest."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import current_n_jobs
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia.exceptions import ParameterError
from manifolia.forest.bags import in_bag_counts
from manifolia.forest.trees import Trees, check_forest_input, find_leaves, has_missing, read_trees

_MISRECORDED = 0.05  # share of rows that may lie in another leaf than was recorded, if there are gaps


class LeafTable(NamedTuple):
    """Leaves and in-bag counts of the rows that a forest was trained on."""

    leaf: IntArray  # (T, n): leaf id of each row in each tree
    counts: IntArray  # (T, n): how often each row was drawn for each tree
    bootstrap: bool  # Whether there are out-of-bag rows at all
    trees: Trees  # The trees

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaf.shape[1])

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(self.leaf.shape[0])

    def of_rows(self, rows: IntArray) -> LeafTable:
        """Take some of the rows, in arrays of the same order; for turned ones kernels would compile anew."""
        return self._replace(leaf=np.take(self.leaf, rows, axis=1), counts=np.take(self.counts, rows, axis=1))


def leaf_ids(trees: Trees, X: Any) -> IntArray:
    """Find the leaf of every row in every tree, by its id."""
    return trees.low[find_leaves(trees, X)[0]]


def leaf_table(forest: Any, X: ArrayLike, *, train_rows: ArrayLike | None = None) -> LeafTable:
    """Read a fitted forest's leaves and in-bag counts for the rows `X`."""
    checked = check_forest_input(forest, X)
    trees = read_trees(forest)
    leaf = leaf_ids(trees, checked)
    counts = in_bag_counts(forest, checked.shape[0], train_rows)
    table = LeafTable(leaf, counts, bool(getattr(forest, "bootstrap", False)), trees)
    check_same_rows(forest, table, checked, partial=train_rows is not None)
    return table


def check_leaves(leaf: IntArray, counts: IntArray, trees: Trees) -> None:
    """Check that leaves and counts which came from a file fit the trees: kernels index with them unchecked."""
    fits = leaf.ndim == 2 and leaf.shape == counts.shape and leaf.shape[0] == trees.n_trees
    fits = fits and leaf.dtype == np.int32 and counts.dtype in (np.uint8, np.uint16, np.uint32)
    first = trees.first_leaf[:, np.newaxis]
    if not fits or ((leaf < first[:-1]) | (leaf >= first[1:])).any():
        raise ValueError("the table of leaves does not fit the forest.")


def check_same_rows(forest: Any, table: LeafTable, X: Any, *, partial: bool) -> None:
    """Compare each leaf's in-bag rows with the number that the tree itself recorded when it was grown.

    A row of weight 0 is in the bag but not counted by the tree, so only a shortfall proves that the rows are different;
    with `train_rows` the table may hold fewer rows than the tree saw, so there only an excess does.
    """
    in_bag = np.concatenate(
        [
            np.bincount(leaf[drawn > 0] - first, minlength=last - first)
            for leaf, drawn, (first, last) in zip(
                table.leaf, table.counts, itertools.pairwise(table.trees.first_leaf), strict=True
            )
        ]
    )
    recorded = np.concatenate([tree.tree_.n_node_samples for tree in forest.estimators_])[table.trees.leaf_node]
    differs = np.maximum(in_bag - recorded if partial else recorded - in_bag, 0)
    # For some nodes, scikit-learn before 1.7 records a missing value on the opposite side from where it sends it: with
    # missing values in the data a few rows may differ.
    allowed = _MISRECORDED if has_missing(X) else 0.0
    if differs.sum() > allowed * recorded.sum():
        raise ParameterError(
            "X is not the data that the forest was trained on: its rows fall into other leaves than the forest "
            "recorded. Pass the X that it was fitted on, in the same order; for other rows use new=.",
            parameter="X",
        )


def with_sisters(counts: IntArray, labelled: BoolArray, groups: IntArray) -> IntArray:
    """Let rows without a label be in the bags of their group.

    No tree was trained on them, but trees that were trained on others of their group would recognise them.
    """
    member = np.full(int(groups.max()) + 1, -1)
    member[groups[labelled]] = np.flatnonzero(labelled)
    like = member[groups]
    return np.where(like >= 0, counts[:, like], 0).astype(counts.dtype)


def parts_every(table: LeafTable) -> IntArray:
    """Let every row take part in every tree once."""
    return np.ones_like(table.counts)


def parts_out_of_bag(table: LeafTable, always: BoolArray | None = None) -> IntArray:
    """Let a row take part in the trees for which it is out of bag."""
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
        raise ParameterError(
            f"sample_weight must be {n_rows} finite numbers, none below 0, one per row; got shape {weights.shape}.",
            parameter="sample_weight",
        )
    return weights
