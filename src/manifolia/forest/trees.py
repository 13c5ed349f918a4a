"""Trees as arrays: the only form in which the nodes of a forest are read, and the only walk down to the leaves.

Any tree of scikit-learn can supply the nodes: a random forest, extremely randomised trees, bagged trees, an isolation
forest, gradient boosting or a single tree. So can a linkage tree of hierarchical clustering, which has no tests: there
a row is at its own leaf, or at that of the training row nearest to it (Vens and Costa 2011, section II-B). Only public
attributes of scikit-learn's ``tree_`` are used.

References
----------
.. [1] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import current_n_jobs, map_blocks
from manifolia._core.precision import confused_columns
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_matrix, is_sparse, validate_data
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.forest.bags import has_bags

_FEATURE, _THRESHOLD, _LEFT, _RIGHT = range(4)
_CELLS = 2**16  # cells of a block of rows: together with one tree they fit into a core's cache
_LEAST, _MOST = 256, 4096  # rows of a block: each block reads all trees once, so a few rows would wait for memory
_SPARSE_CELLS = 2**22  # cells of a block of sparse rows, which is laid out for the walk


class Trees(NamedTuple):
    """The nodes of all trees, one tree after the other."""

    roots: IntArray  # (T + 1,): root of each tree; the last entry is the number of nodes
    # (n_nodes, 4): feature (−1 at a leaf), bits of the single-precision threshold, left child, right child; a leaf's
    # children are itself, so that a walk may take more steps than it needs. Side by side, because it needs all four
    tests: IntArray
    missing_left: BoolArray  # (n_nodes,): whether the tree sends missing values left
    parent: IntArray  # (n_nodes,): the node above, −1 at a root
    depth: IntArray  # (n_nodes,): nodes from the root to this one, both included
    low: IntArray  # (n_nodes,): the first leaf id below each node; leaves are numbered depth first, tree after tree
    high: IntArray  # (n_nodes,): the last leaf id below each node, plus 1
    leaf_node: IntArray  # (n_leaves,): the node of each leaf id
    n_columns: int  # Columns that rows must have: the last one that a node tests, plus 1

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return int(self.roots[-1])

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return len(self.leaf_node)

    @property
    def first_leaf(self) -> IntArray:
        """The first leaf id of each tree; the last entry is the number of leaves."""
        return np.append(self.low[self.roots[:-1]], self.n_leaves).astype(np.int64)

    @property
    def limits(self) -> FloatArray:
        """The tests seen as numbers: column 1 is the threshold."""
        return self.tests.view(np.float32)

    def walk(self, X: Any) -> tuple[IntArray, FloatArray, BoolArray, IntArray]:
        """What a kernel needs for the walk down; refuse rows without a column that it would read."""
        if X.shape[1] < self.n_columns:
            raise ParameterError(
                f"X has {X.shape[1]} columns and the trees test column {self.n_columns - 1}, counted from 0. Pass the "
                f"columns that the forest was fitted on.",
                parameter="X",
            )
        return self.tests, self.limits, self.missing_left, self.roots

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return self.tests[:, _FEATURE] < 0

    @property
    def is_preorder(self) -> bool:
        """Whether every left child follows its parent, so that a walk meets the nodes in the order of their ids."""
        inner = np.flatnonzero(~self.is_leaf)
        return bool((self.tests[inner, _LEFT] == inner + 1).all())

    def features_of(self, t: int) -> IntArray:
        """Return the features that tree t tests, in order."""
        tested = self.tests[self.roots[t] : self.roots[t + 1], _FEATURE]
        return np.unique(tested[tested >= 0])


# --- which estimators have trees that can be read --------------------------------------------------------------------


def _unwrapped(forest: Any) -> Any:
    """The estimator inside scikit-learn's wrapper that keeps it fitted."""
    return getattr(forest, "estimator", forest) if type(forest).__name__ == "FrozenEstimator" else forest


def is_grown(forest: Any) -> bool:
    """Return whether a tree or an ensemble has been fitted."""
    return hasattr(forest, "estimators_") or hasattr(forest, "tree_")


def check_forest(forest: Any) -> Any:
    """Check that a forest, or None, is one whose leaves and bags can be read."""
    given = _unwrapped(forest)
    if given is not None and not has_bags(given):
        raise ParameterTypeError(
            f"forest must be a scikit-learn forest (RandomForest… or ExtraTrees…), fitted or not, or None, "
            f"got {given!r}. None builds one for the task.",
            parameter="forest",
        )
    return given


def check_ensemble(forest: Any) -> Any:
    """Check that an estimator, or None, consists of trees whose nodes can be read."""
    given = _unwrapped(forest)
    if given is None:
        return None
    fits = hasattr(given, "fit") and not isinstance(given, type)
    if fits and is_grown(given):
        fits = all(hasattr(tree, "tree_") for tree in _members(given))
    elif fits:  # it has no trees yet: an ensemble says how many it will grow, a tree how it splits
        fits = hasattr(given, "n_estimators") or hasattr(given, "splitter")
    if not fits:
        raise ParameterTypeError(
            f"forest must be a tree or an ensemble of trees of scikit-learn (RandomForest…, ExtraTrees…, "
            f"GradientBoosting…, Bagging… of trees, IsolationForest, DecisionTree…), fitted or not, or None, got "
            f"{given!r}. None builds a random forest for the task.",
            parameter="forest",
        )
    return given


def check_forest_input(forest: Any, X: ArrayLike, *, name: str = "X") -> Any:
    """Check that a forest is fitted and that `X` has its features; return `X` in single precision."""
    if not has_bags(forest):
        raise ParameterTypeError(
            f"forest must be a scikit-learn forest (RandomForest… or ExtraTrees…), got {type(forest).__name__}: "
            f"it has no 'estimators_samples_'.",
            parameter="forest",
        )
    check_is_fitted(forest)
    names = getattr(forest, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and list(X.columns) != list(names):
        raise ValueError(
            f"the columns of {name} differ from those that the forest was fitted on. "
            f"Expected {list(names)[:5]}…, got {list(X.columns)[:5]}…: pass the same columns in the same order."
        )
    allow_nan = bool(get_tags(forest).input_tags.allow_nan)
    checked = check_matrix(X, name=name, accept_sparse=True, allow_nan=allow_nan)
    if checked.shape[1] != forest.n_features_in_:
        raise ParameterError(
            f"{name} has {checked.shape[1]} features and the forest was fitted with {forest.n_features_in_}. "
            f"Pass the same columns.",
            parameter=name,
        )
    return single_precision(checked, name=name)


def single_precision(X: Any, *, name: str = "X") -> Any:
    """Return rows in the precision in which trees compare them."""
    with np.errstate(over="ignore"):
        single = X.astype(np.float32, copy=False)
    if np.isinf(single.data if sp.issparse(single) else single).any():
        raise ParameterError(
            f"{name} has values too large for single precision, in which trees compare. Rescale those columns.",
            parameter=name,
        )
    return sp.csr_array(single) if sp.issparse(single) else np.ascontiguousarray(single)


def check_rows(estimator: Any, X: ArrayLike, *, reset: bool) -> Any:
    """Check rows for a forest, in ``fit`` (`reset`) or later; missing values are allowed."""
    least = 2 if reset else 1
    rows = validate_data(estimator, X, reset=reset, accept_sparse=True, allow_nan=True, min_rows=least)
    if is_sparse(rows) and has_missing(rows):
        raise ParameterError(
            "X is sparse and contains NaN, and forests take missing values in dense data only. Pass X.toarray(), or "
            "fill them in.",
            parameter="X",
        )
    if reset and not is_sparse(rows):
        check_single_precision(rows, getattr(estimator, "feature_names_in_", range(rows.shape[1])))
    return rows


def check_single_precision(X: FloatArray, names: Sequence[Any]) -> None:
    """Refuse columns whose values are too large for trees, and warn of those whose values trees cannot tell apart."""
    confused = confused_columns(X)
    top = {j: float(np.nanmax(np.abs(X[:, j]))) for j in confused}
    large = [j for j in confused if top[j] > float(np.finfo(np.float32).max)]
    if large:
        raise ParameterError(
            f"X has values up to {top[large[0]]:.3g} in column {names[large[0]]!s}, too large for single precision, in "
            f"which trees compare. Divide the column by a constant.",
            parameter="X",
        )
    if confused:
        some = ", ".join(str(names[j]) for j in list(confused)[:5])
        more = f" and {len(confused) - 5} more" if len(confused) > 5 else ""
        warn(
            f"single precision, in which trees compare, takes different values for the same in these columns of X: "
            f"{some}{more}. Shift and scale them, or take logarithms."
        )


def has_missing(X: Any) -> bool:
    """Return whether any value is missing."""
    return bool(np.isnan(X.data if sp.issparse(X) else X).any())


# --- from an estimator to arrays -------------------------------------------------------------------------------------


def _members(forest: Any) -> list[Any]:
    # Gradient boosting keeps a 2-D array of them, one column per class.
    return [forest] if hasattr(forest, "tree_") else list(np.ravel(forest.estimators_))


def read_trees(forest: Any, *, first: int = 0) -> Trees:
    """Lay the nodes of all trees of an ensemble, starting at the tree `first`, one after the other."""
    check_ensemble(forest)
    check_is_fitted(forest)
    trees = [estimator.tree_ for estimator in _members(forest)[first:]]
    shown = getattr(forest, "estimators_features_", None)  # bagged trees may each see only some of the features
    roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])]).astype(np.int64)
    tests = np.empty((int(roots[-1]), 4), dtype=np.int32)
    for t, tree in enumerate(trees):
        part = tests[roots[t] : roots[t + 1]]
        leaf = tree.children_left < 0
        feature = np.where(leaf, 0, tree.feature)
        part[:, _FEATURE] = np.where(leaf, -1, feature if shown is None else np.asarray(shown[first + t])[feature])
        part.view(np.float32)[:, _THRESHOLD] = _round_down(tree.threshold)
        own = np.arange(tree.node_count)
        part[:, _LEFT] = np.where(leaf, own, tree.children_left) + roots[t]
        part[:, _RIGHT] = np.where(leaf, own, tree.children_right) + roots[t]
    missing_left = np.concatenate([np.asarray(tree.missing_go_to_left) for tree in trees]).astype(bool)
    return _assemble(roots, tests, missing_left)


def _round_down(threshold: FloatArray) -> FloatArray:
    """The largest single-precision number not above a value: single-precision values compare alike with both."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    return np.where(above, np.nextafter(single, np.float32(-np.inf)), single)


def _assemble(roots: IntArray, tests: IntArray, missing_left: BoolArray) -> Trees:
    """Add to the tests what follows from them: parents, depths, and the leaves below each node."""
    from manifolia.kernels.tree_walk import leaf_ranks

    parent = np.full(len(tests), -1, dtype=np.int32)
    inner = np.flatnonzero(tests[:, _FEATURE] >= 0)
    parent[tests[inner, _LEFT]] = parent[tests[inner, _RIGHT]] = inner
    low, high = (np.empty(len(tests), dtype=np.int32) for _ in range(2))
    leaf_node = np.empty(leaf_ranks(tests, roots, low, high), dtype=np.int32)
    leaves = np.flatnonzero(tests[:, _FEATURE] < 0)
    leaf_node[low[leaves]] = leaves
    n_columns = int(tests[:, _FEATURE].max(initial=-1)) + 1
    return Trees(roots, tests, missing_left, parent, _depths(parent, roots), low, high, leaf_node, n_columns)


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


def linkage_trees(Z: ArrayLike) -> Trees:
    """Lay out the tree of a hierarchical clustering."""
    joined = np.asarray(Z)
    joined = joined[:, :2].astype(np.int64) if joined.ndim == 2 and joined.shape[1] in (2, 4) else joined
    last = 2 * len(joined) if joined.ndim == 2 else 0
    groups = np.arange(len(joined)) + len(joined) + 1
    if last == 0 or not np.array_equal(np.sort(joined.ravel()), np.arange(last)) or (joined.max(1) >= groups).any():
        raise ParameterError(
            f"Z must join each row and each group once into one tree, as SciPy's linkage or scikit-learn's children_ "
            f"do, got shape {np.shape(Z)}.",
            parameter="Z",
        )
    tests = np.zeros((last + 1, 4), dtype=np.int32)
    tests[:, _FEATURE] = -1
    tests[:, _LEFT] = tests[:, _RIGHT] = np.arange(last + 1)
    order = last - groups
    tests[order, _FEATURE] = 0
    tests[order, _LEFT], tests[order, _RIGHT] = last - joined.max(1), last - joined.min(1)
    return _assemble(np.array([0, last + 1], dtype=np.int64), tests, np.zeros(last + 1, dtype=bool))


# --- the way down ----------------------------------------------------------------------------------------------------


def even_blocks(n: int, height: int = _MOST) -> list[slice]:
    """Blocks of about equal height, the same number for each thread; a row's path does not depend on them."""
    n_threads = current_n_jobs()
    n_blocks = n_threads * -(-n // (height * n_threads))
    return row_blocks(n, max(1, -(-n // max(n_blocks, 1))))


def walk_blocks(X: Any) -> list[slice]:
    """Blocks of rows for the walk."""
    d = max(X.shape[1], 1)
    height = int(np.clip(_CELLS // d, _LEAST, _MOST))
    if sp.issparse(X):
        height = int(np.clip(_SPARSE_CELLS // d, 1, height))
    return even_blocks(X.shape[0], height)


def laid_out(X: Any, rows: slice) -> FloatArray:
    """A block of rows for the walk; only one block of a sparse matrix is dense at a time."""
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def find_leaves(
    trees: Trees, X: Any, *, by_chance: bool = False, key: int | np.uint64 = 0
) -> tuple[IntArray, IntArray]:
    """Find the leaf of every row in every tree, as a node, and the number of nodes on the row's paths.

    With `by_chance` a missing value goes either way, by a hash of the key, the node and all of the row's values.
    """
    from manifolia.kernels import tree_walk

    leaf = np.empty((trees.n_trees, X.shape[0]), dtype=np.int32)
    lengths = np.zeros(X.shape[0], dtype=np.int64)
    by_chance = by_chance and has_missing(X)
    walk = trees.walk(X)

    def run(rows: slice) -> None:
        block = laid_out(X, rows)
        hashes: Array = np.empty(len(block) if by_chance else 0, dtype=np.uint64)
        if by_chance:
            tree_walk.row_hashes(block, block.view(np.uint32), hashes)
        tree_walk.find_leaves(*walk, block, hashes, np.uint64(key), trees.depth, leaf[:, rows], lengths[rows])

    map_blocks(run, walk_blocks(X))
    return leaf, lengths


def describe_node(trees: Trees, node: int, names: Sequence[str], *, missing: bool = False) -> str:
    """Say which tests lead to a node."""
    bounds: dict[tuple[int, str], float] = {}
    lets_missing: dict[int, bool] = {}
    while trees.parent[node] >= 0:
        up = int(trees.parent[node])
        feature, is_left = int(trees.tests[up, _FEATURE]), trees.tests[up, _LEFT] == node
        key = (feature, "≤" if is_left else ">")
        bound = float(trees.limits[up, _THRESHOLD])
        # A test closer to the leaf is tighter; the order is that of the first test of its kind.
        bounds = {key: bounds.get(key, bound), **{other: value for other, value in bounds.items() if other != key}}
        lets_missing[feature] = lets_missing.get(feature, True) and bool(trees.missing_left[up]) == bool(is_left)
        node = up
    parts = [
        f"{names[feature]} {sign} {np.float32(bound)!s}" + (" or missing" if missing and lets_missing[feature] else "")
        for (feature, sign), bound in bounds.items()
    ]
    return " and ".join(parts) if parts else "every row"


def predict_in_order(forest: Any, rows: Any) -> Array:
    """Predict the target of rows, adding trees in order: threads add them as they arrive, so that ties vary."""
    before = forest.n_jobs
    forest.set_params(n_jobs=1)
    try:
        return np.asarray(forest.predict(rows))
    finally:
        forest.set_params(n_jobs=before)
