"""The nodes of an ensemble of trees as arrays that a kernel walks, and what leads to each node in words.

Any tree of scikit-learn can supply the nodes: a random forest, extremely randomised trees, bagged trees, an isolation
forest, gradient boosting or a single tree. So can a linkage tree of hierarchical clustering, which has no tests:
there a row is at the leaf of its own, or of the training row nearest to it (Vens and Costa 2011, section II-B).
Only public attributes of scikit-learn's ``tree_`` are used.

References
----------
.. [1] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted

__all__ = [
    "NodeTable",
    "check_ensemble",
    "describe_node",
    "is_fitted_ensemble",
    "linkage_table",
    "node_table",
    "same_table",
    "table_of_trees",
]

_FEATURE, _THRESHOLD, _LEFT, _RIGHT = range(4)


class NodeTable(NamedTuple):
    """The nodes of all trees, one tree after the other; a node's id is its column in the code."""

    roots: IntArray  # (T + 1,): root of each tree; the last entry is the number of nodes
    # (n_nodes, 4): feature (−1 at a leaf), bits of the single-precision threshold, left child, right child; a leaf's
    # children are itself, so that a walk may take more steps than it needs. Side by side, because it needs all four
    tests: IntArray
    missing_left: BoolArray  # (n_nodes,): whether the tree sends missing values left
    parent: IntArray  # (n_nodes,): the node above, −1 at a root
    depth: IntArray  # (n_nodes,): nodes from the root to this one, both counted

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.roots[-1])

    @property
    def limits(self) -> FloatArray:
        """The tests seen as numbers: column 1 is the threshold."""
        return self.tests.view(np.float32)

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return self.tests[:, _FEATURE] < 0

    @property
    def is_preorder(self) -> bool:
        """Whether every left child follows its parent, so that a walk meets the nodes in the order of their ids."""
        inner = np.flatnonzero(~self.is_leaf)
        return bool((self.tests[inner, _LEFT] == inner + 1).all())


def check_ensemble(forest: Any) -> Any:
    """Check that an estimator consists of trees whose nodes can be read."""
    given = getattr(forest, "estimator", forest) if type(forest).__name__ == "FrozenEstimator" else forest
    if given is None:
        return None
    fits = hasattr(given, "fit") and not isinstance(given, type)
    if fits and is_fitted_ensemble(given):
        fits = all(hasattr(tree, "tree_") for tree in _trees(given))
    elif fits:  # its trees are not there yet: an ensemble says how many it will grow, a tree how it splits
        fits = hasattr(given, "n_estimators") or hasattr(given, "splitter")
    if not fits:
        message = (
            f"forest must be a tree or an ensemble of trees of scikit-learn (RandomForest…, ExtraTrees…, "
            f"GradientBoosting…, Bagging… of trees, IsolationForest, DecisionTree…), fitted or not, or None, got "
            f"{given!r}. None builds a random forest for the task."
        )
        raise TypeError(message)
    return given


def is_fitted_ensemble(forest: Any) -> bool:
    """Tell whether a tree or an ensemble has been fitted."""
    return hasattr(forest, "estimators_") or hasattr(forest, "tree_")


def _trees(forest: Any) -> list[Any]:
    # Gradient boosting keeps a 2-D array of them, one column a class.
    return [forest] if hasattr(forest, "tree_") else list(np.ravel(forest.estimators_))


def node_table(forest: Any) -> NodeTable:
    """Lay the nodes of all trees of an ensemble one after the other."""
    check_ensemble(forest)
    check_is_fitted(forest)
    trees = [estimator.tree_ for estimator in _trees(forest)]
    return _table(trees, getattr(forest, "estimators_features_", None))


def table_of_trees(estimators: Sequence[Any]) -> NodeTable:
    """Lay the nodes of some fitted trees one after the other."""
    return _table([estimator.tree_ for estimator in estimators], None)


def _table(trees: Sequence[Any], shown: Any) -> NodeTable:
    # Bagging and isolation forests may show each tree some of the features only.
    roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])]).astype(np.int64)
    tests = np.empty((int(roots[-1]), 4), dtype=np.int32)
    for t, tree in enumerate(trees):
        part = tests[roots[t] : roots[t + 1]]
        leaf = tree.children_left < 0
        feature = np.where(leaf, 0, tree.feature)
        part[:, _FEATURE] = np.where(leaf, -1, feature if shown is None else np.asarray(shown[t])[feature])
        part.view(np.float32)[:, _THRESHOLD] = _round_down(tree.threshold)
        own = np.arange(tree.node_count)
        part[:, _LEFT] = np.where(leaf, own, tree.children_left) + roots[t]
        part[:, _RIGHT] = np.where(leaf, own, tree.children_right) + roots[t]
    missing_left = np.concatenate([np.asarray(tree.missing_go_to_left) for tree in trees]).astype(bool)
    parent = _parents(tests)
    return NodeTable(roots, tests, missing_left, parent, _depths(parent, roots))


def _round_down(threshold: FloatArray) -> FloatArray:
    """The largest single-precision number that is not above: single-precision values compare alike with both."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    return np.where(above, np.nextafter(single, np.float32(-np.inf)), single)


def _parents(tests: IntArray) -> IntArray:
    parent = np.full(len(tests), -1, dtype=np.int32)
    inner = np.flatnonzero(tests[:, _FEATURE] >= 0)
    parent[tests[inner, _LEFT]] = parent[tests[inner, _RIGHT]] = inner
    return parent


def _depths(parent: IntArray, roots: IntArray) -> IntArray:
    """Level by level: as many steps as the deepest tree has levels."""
    depth = np.zeros(len(parent), dtype=np.int32)
    depth[roots[:-1]] = 1
    level, waiting = 1, np.flatnonzero(parent >= 0)
    while len(waiting):
        below = depth[parent[waiting]] == level
        depth[waiting[below]] = level + 1
        waiting = waiting[~below]
        level += 1
    return depth


def linkage_table(Z: ArrayLike) -> NodeTable:
    """Lay out the tree of a hierarchical clustering."""
    joined = np.asarray(Z)
    joined = joined[:, :2].astype(np.int64) if joined.ndim == 2 and joined.shape[1] in (2, 4) else joined
    last = 2 * len(joined) if joined.ndim == 2 else 0
    groups = np.arange(len(joined)) + len(joined) + 1
    if last == 0 or not np.array_equal(np.sort(joined.ravel()), np.arange(last)) or (joined.max(1) >= groups).any():
        message = (
            f"Z must join each row and each group once into one tree, as SciPy's linkage or scikit-learn's children_ "
            f"do, got shape {np.shape(Z)}."
        )
        raise ValueError(message)
    parent = np.full(last + 1, -1, dtype=np.int32)
    parent[last - joined.ravel()] = np.repeat(last - groups, 2)
    tests = np.zeros((last + 1, 4), dtype=np.int32)
    tests[:, _FEATURE] = -1
    tests[:, _LEFT] = tests[:, _RIGHT] = np.arange(last + 1)
    order = last - groups
    tests[order, _FEATURE] = 0
    tests[order, _LEFT], tests[order, _RIGHT] = last - joined.max(1), last - joined.min(1)
    roots = np.array([0, last + 1], dtype=np.int64)
    return NodeTable(roots, tests, np.zeros(last + 1, dtype=bool), parent, _depths(parent, roots))


def describe_node(table: NodeTable, node: int, names: Sequence[str], *, missing: bool = False) -> str:
    """Say which tests lead to a node."""
    bounds: dict[tuple[int, str], float] = {}
    lets_missing: dict[int, bool] = {}
    while table.parent[node] >= 0:
        up = int(table.parent[node])
        feature, is_left = int(table.tests[up, _FEATURE]), table.tests[up, _LEFT] == node
        key = (feature, "≤" if is_left else ">")
        bound = float(table.limits[up, _THRESHOLD])
        # A test nearer to the leaf is tighter; the order is that of the first test of its kind.
        bounds = {key: bounds.get(key, bound), **{other: value for other, value in bounds.items() if other != key}}
        lets_missing[feature] = lets_missing.get(feature, True) and bool(table.missing_left[up]) == bool(is_left)
        node = up
    parts = [
        f"{names[feature]} {sign} {np.float32(bound)!s}" + (" or missing" if missing and lets_missing[feature] else "")
        for (feature, sign), bound in bounds.items()
    ]
    return " and ".join(parts) if parts else "every row"


def same_table(first: NodeTable, second: NodeTable) -> bool:
    """Tell whether two tables are equal in every array, type and shape."""

    def equal(a: Array, b: Array) -> bool:
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)

    return all(equal(a, b) for a, b in zip(first, second, strict=True))
