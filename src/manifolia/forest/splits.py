"""The tests at the nodes of a forest, as arrays that a kernel walks.

A walk needs the path and not only the leaf that a tree's ``apply`` gives: which features a row was asked for, and where
it would have gone with another value. Only public attributes of scikit-learn's ``tree_`` are used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import BoolArray, FloatArray, IntArray

__all__ = ["Splits", "forest_splits"]


class Splits(NamedTuple):
    """The nodes of all trees of a forest, one tree after the other."""

    roots: IntArray  # (T + 1,): root of each tree; the last entry is the number of nodes
    feature: IntArray  # (n_nodes,): feature that an inner node tests; negative at a leaf
    threshold: FloatArray  # (n_nodes,): single-precision values up to it go left
    left: IntArray  # (n_nodes,): children, counted from the root of their tree; −1 at a leaf
    right: IntArray  # (n_nodes,): children, counted from the root of their tree; −1 at a leaf
    missing_left: BoolArray  # (n_nodes,): whether missing values go left

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots) - 1


def forest_splits(forest: Any) -> Splits:
    """Lay the nodes of all trees of a forest one after the other."""
    trees = [estimator.tree_ for estimator in forest.estimators_]
    roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])]).astype(np.int64)
    return Splits(
        roots,
        np.concatenate([tree.feature for tree in trees]).astype(np.int32),
        np.concatenate([tree.threshold for tree in trees]).astype(np.float64),
        np.concatenate([tree.children_left for tree in trees]).astype(np.int32),
        np.concatenate([tree.children_right for tree in trees]).astype(np.int32),
        np.concatenate([tree.missing_go_to_left for tree in trees]).astype(bool),
    )
