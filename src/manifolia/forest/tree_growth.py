"""Random forests of scikit-learn, grown by our own kernels from coded columns.

The result is what scikit-learn's ``fit`` leaves: the same bags for the same seed, the same rule for the columns that a
split tries (constant ones count, and at least one that is not constant is examined), the same criterion, thresholds
midway between values, missing values tried on both sides, and real trees. The trees differ in two respects: the columns
are drawn from other random numbers, and in nodes of more than 128 rows a column of more than 255 different values is
judged by the edges of 255 bins; the values inside the two bins beside the best edge then decide where the node is cut.
In smaller nodes the values alone decide.

Thresholds lie between values, so that every row that a tree was grown on comes back to its leaf.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config

from manifolia._core.parallel import again, as_done, current_n_jobs, has_executor, map_blocks
from manifolia._core.random import as_seed
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia._core.warnings import LOST_FILTERS
from manifolia.exceptions import ParameterError
from manifolia.forest.bags import bag_drawer, drawn_share, tree_seeds
from manifolia.forest.coded_tables import code_table

#: Called with the number of trees grown and the total; it may raise to stop.
Report = Callable[[int, int], None]

PARTS = 20  # reports while a forest grows
_TASKS = 200  # parts that its trees are cut into elsewhere: several for each of many workers, not one per tree
_MOST_CLASSES = 1024  # beyond this, counting by codes and classes takes more memory than a core's cache has
_FEWEST_NODES = 1024  # that memory is allocated for at first
_CRITERIA = ("gini", "entropy", "log_loss", "squared_error")  # the middle two are one
_FIELDS = (
    "left_child",
    "right_child",
    "feature",
    "threshold",
    "impurity",
    "n_node_samples",
    "weighted_n_node_samples",
    "missing_go_to_left",
)  # fields of scikit-learn's nodes, in the order of a kernel's words


def can_grow(model: Any, X: Any, y: Array) -> bool:
    """Return whether the kernels can grow what a forest asks for: dense data and the usual criteria and limits."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    asked = model.get_params(deep=False)
    usual = {
        "bootstrap": True,
        "oob_score": False,
        "max_leaf_nodes": None,
        "min_weight_fraction_leaf": 0.0,
        "min_impurity_decrease": 0.0,
        "ccp_alpha": 0.0,
        "monotonic_cst": None,
    }
    if is_sparse(X) or type(model) not in (RandomForestClassifier, RandomForestRegressor):
        return False
    if asked["criterion"] not in _CRITERIA or any(asked.get(name, value) != value for name, value in usual.items()):
        return False
    if isinstance(model, RandomForestRegressor):
        return True
    return sum(len(np.unique(column)) for column in y.reshape(len(y), -1).T) <= _MOST_CLASSES


class _Goal(NamedTuple):
    """What trees are grown for."""

    kernel: str  # a kernel that is sent elsewhere would be compiled there; a name is looked up
    target: Array  # codes of classes, (n,), or outputs, (n, q)
    about: tuple[Any, ...]  # the number of classes, or what turns sums of squares or of classes into impurities
    width: int  # numbers that a kernel leaves for each node
    n_classes: IntArray  # of each output; 1 for numbers
    values: Callable[[FloatArray], FloatArray]  # turns these numbers into (nodes, outputs, most classes)


def _goal(y: Array, *, classes: bool, by_entropy: bool) -> _Goal:
    from manifolia.kernels.grow_numbers import Entropy

    outputs = y.reshape(len(y), -1)
    n_outputs = outputs.shape[1]
    if not classes:
        numbers = outputs.astype(np.float64)
        # A shift that costs no number any digits keeps sums of squares from cancelling.
        unit = np.ldexp(1.0, np.frexp(np.ptp(numbers, axis=0))[1])
        shift = np.round(numbers.mean(axis=0) / unit) * unit
        ones = np.ones(n_outputs, dtype=np.intp)
        plain = 1.0 / n_outputs, None
        return _Goal("grow_numbers", numbers - shift, plain, n_outputs, ones, lambda v: (v + shift)[:, :, np.newaxis])
    coded = [np.unique(column, return_inverse=True) for column in outputs.T]
    n_classes = np.array([len(values) for values, _ in coded], dtype=np.intp)
    codes = np.column_stack([code.ravel() for _, code in coded])
    if n_outputs == 1 and not by_entropy:
        few, k = codes[:, 0].astype(np.uint16), int(n_classes[0])
        return _Goal("grow_classes", few, (k,), k, n_classes, lambda v: v[:, np.newaxis, :])
    if (n_classes == 2).all() and not by_entropy:  # one column stands for both; its error is half their Gini impurity
        return _Goal(
            "grow_numbers",
            codes.astype(np.float64),
            (2.0 / n_outputs, None),
            n_outputs,
            n_classes,
            lambda v: np.stack([1.0 - v, v], axis=2),
        )
    starts = np.concatenate([[0], np.cumsum(n_classes)])
    flags = np.zeros((len(y), int(starts[-1])))
    flags[np.arange(len(y))[:, np.newaxis], codes + starts[:-1]] = 1.0

    def spread(v: FloatArray) -> FloatArray:
        out = np.zeros((len(v), n_outputs, int(n_classes.max())))
        for k in range(n_outputs):
            out[:, k, : n_classes[k]] = v[:, starts[k] : starts[k + 1]]
        return out

    about: tuple[float, Entropy | None] = (1.0 / n_outputs, None)
    if by_entropy:  # scikit-learn measures it in bits
        about = 1.0 / (n_outputs * np.log(2.0)), Entropy(float(n_outputs), float(np.log(n_classes).sum()))
    return _Goal("grow_numbers", flags, about, int(starts[-1]), n_classes, spread)


def kernel_called(name: str) -> Callable[..., Any]:
    """Find a kernel by its name, wherever this runs."""
    from manifolia.kernels.grow_classes import grow_classes
    from manifolia.kernels.grow_numbers import grow_numbers

    kernels: dict[str, Any] = {"grow_classes": grow_classes, "grow_numbers": grow_numbers}
    return kernels[name]


def n_tried(max_features: Any, d: int) -> int:
    """Read ``max_features`` as scikit-learn does."""
    if max_features is None:
        return d
    if isinstance(max_features, str):
        return max(1, int({"sqrt": np.sqrt, "log2": np.log2}[max_features](d)))
    if isinstance(max_features, (int, np.integer)):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def _limits(model: Any, n: int, d: int) -> Any:
    from manifolia.kernels.node_search import Limits

    def rows(asked: Any, least: int) -> int:
        return int(asked) if isinstance(asked, (int, np.integer)) else max(least, int(np.ceil(asked * n)))

    # A node is read by column while a line of 64 codes holds more than one of its rows.
    by_row = max(n // 64, (1 << 17) // d)
    max_depth = np.iinfo(np.int32).max if model.max_depth is None else int(model.max_depth)
    split, leaf = rows(model.min_samples_split, 2), rows(model.min_samples_leaf, 1)
    return Limits(n_tried(model.max_features, d), split, leaf, max_depth, by_row)


def fit_quietly(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Fit a forest by scikit-learn, and restore the process's warning filters.

    scikit-learn's threads each save, change and restore the filters: if two overlap, the wrong ones remain. (With two
    threads, 50 of 60 forests left other filters behind.)
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=LOST_FILTERS, category=UserWarning)
        return again(lambda: model.fit(X, y, sample_weight=sample_weight))


def begin(model: Any, X: Any, y: Array) -> Any:
    """Let a forest learn all that it remembers about its data, except trees, from one stump; return the stump."""
    asked = model.get_params(deep=False)
    stump = {
        "n_estimators": 1,
        "max_depth": 1,
        "max_features": 1,
        "n_jobs": 1,
        "oob_score": False,
        "warm_start": False,
    }
    # One tree is not worth sending: joblib would send it to a cluster, and the rows with it. scikit-learn adds all
    # values up to see whether any is missing.
    with parallel_config(backend="sequential"), np.errstate(over="ignore", invalid="ignore"):
        fit_quietly(model.set_params(**stump, random_state=as_seed(model.random_state)), X, y)
    model.set_params(**{name: asked[name] for name in stump})
    (tree,) = model.estimators_
    tree.set_params(max_depth=model.max_depth, max_features=model.max_features)
    model.estimators_, model.in_bag_counts_ = [], np.empty((0, len(y)), dtype=np.uint8)
    return tree


def grow_trees(
    model: Any,
    X: Any,
    y: Array,
    sample_weight: FloatArray | None = None,
    *,
    groups: IntArray | None = None,
    report: Report | None = None,
) -> Any:
    """Grow the trees of a forest, each on a bag of rows or of whole groups; weights multiply the counts.

    Existing trees stay, so that a forest can be extended.
    """
    from sklearn.base import is_classifier

    if sample_weight is not None and not sample_weight.any():
        raise ParameterError(
            "sample_weight is zero for every row with a label: no tree can grow. Leave it out, or weigh some rows.",
            parameter="sample_weight",
        )
    stump = model.estimators_[0] if "in_bag_counts_" in vars(model) else begin(model, X, y)
    n, d = X.shape
    n_trees, first, seed = model.n_estimators, len(model.estimators_), as_seed(model.random_state)
    seeds = tree_seeds(seed, n_trees)
    table, limits = code_table(X), _limits(model, n, d)
    goal = _goal(y, classes=is_classifier(model), by_entropy=model.criterion in ("entropy", "log_loss"))
    draw = bag_drawer(n, groups=groups, share=drawn_share(model, n), weight=sample_weight)
    weigh = weigher(model, y, sample_weight)
    kind, dtype = type(stump.tree_), stump.tree_.__getstate__()["nodes"].dtype
    like = {**vars(stump), "max_features_": limits.n_tried}
    capacity = max(_FEWEST_NODES, n // 2)

    def one_tree(t: int) -> tuple[Any, IntArray]:
        counts = draw(seeds[t])
        bag, weight = counts.astype(np.uint16), weigh(counts)  # a kernel's word has 16 bits for a count
        if counts.dtype.itemsize > bag.dtype.itemsize:
            bag, weight = (counts > 0).astype(np.uint16), counts * (1.0 if weight is None else weight)
        held = np.empty(0) if weight is None else weight
        words, values, n_nodes, depth = kernel_called(goal.kernel)(
            table, goal.target, bag, held, *goal.about, limits, np.uint64(seed), t, *take_room(capacity, goal.width)
        )
        leave_room((words, values))  # a tree copies its arguments
        state = {
            "max_depth": int(depth),
            "node_count": int(n_nodes),
            "nodes": as_nodes(words[:n_nodes], dtype),
            "values": np.ascontiguousarray(goal.values(values[:n_nodes])),
        }
        tree = kind(d, goal.n_classes, len(goal.n_classes))
        tree.__setstate__(state)
        estimator = object.__new__(type(stump))  # a clone would take as long as the tree
        vars(estimator).update(like, random_state=seeds[t], tree_=tree)
        return estimator, counts

    grown = _all_grown(one_tree, first, n_trees, report)
    leave_room()
    if report is not None:
        report(n_trees, n_trees)
    model.estimators_ = [*model.estimators_, *(tree for tree, _ in grown)]
    model.in_bag_counts_ = np.concatenate([model.in_bag_counts_, *(counts[np.newaxis] for _, counts in grown)])
    return model


def _all_grown(one_tree: Callable[[int], Any], first: int, n_trees: int, report: Report | None) -> list[Any]:
    """Grow trees: here a few at a time, so that listeners hear of it; elsewhere all at once."""
    if has_executor():
        size = -(-(n_trees - first) // _TASKS) or 1
        pieces = [range(start, min(start + size, n_trees)) for start in range(first, n_trees, size)]
        grown: dict[int, list[Any]] = {}
        if report is not None:
            report(first, n_trees)
        for piece, trees in as_done(lambda own: [one_tree(t) for t in own], pieces, anywhere=True):
            grown[piece.start] = trees
            n_grown = first + sum(map(len, grown.values()))
            if report is not None and n_grown < n_trees:
                report(n_grown, n_trees)
        return [tree for piece in pieces for tree in grown[piece.start]]
    n_threads = current_n_jobs()
    step = n_trees if report is None else n_threads * -(-n_trees // (PARTS * n_threads))
    here: list[Any] = []
    for start in range(first, n_trees, step):
        if report is not None:
            report(start, n_trees)
        here += map_blocks(one_tree, range(start, min(start + step, n_trees)))
    return here


_rooms = threading.local()


def take_room(capacity: int, width: int) -> tuple[IntArray, FloatArray]:
    """Return the memory that the last tree of this thread has left, or new memory for a number of nodes."""
    left: tuple[IntArray, FloatArray] | None = getattr(_rooms, "left", None)
    if left is None or len(left[0]) < capacity or left[1].shape[1] != width:
        return np.empty((capacity, len(_FIELDS)), dtype=np.int64), np.empty((capacity, width))
    return left


def leave_room(left: tuple[IntArray, FloatArray] | None = None) -> None:
    """Leave memory to the next tree of this thread, or none after the last."""
    _rooms.left = left


def weigher(model: Any, y: Array, sample_weight: FloatArray | None) -> Callable[[IntArray], FloatArray | None]:
    """Make the function that returns the weights that multiply a bag's counts; None if all are 1."""
    from sklearn.utils.class_weight import compute_sample_weight

    asked = model.get_params(deep=False).get("class_weight")
    if asked is None:
        return lambda counts: sample_weight
    given = np.ones(len(y)) if sample_weight is None else sample_weight
    if asked != "balanced_subsample":
        weight = given * compute_sample_weight(asked, y)
        return lambda counts: weight

    def of_bag(counts: IntArray) -> FloatArray:
        return given * compute_sample_weight("balanced", y, indices=np.repeat(np.arange(len(counts)), counts))

    return of_bag


def as_nodes(words: IntArray, dtype: Any) -> Any:
    """Turn a kernel's nodes into scikit-learn's: the same bytes, if both have the same layout."""
    if _laid_out_alike(dtype):
        return words.reshape(-1).view(dtype)
    out = np.zeros(len(words), dtype=dtype)  # padding included: files of equal models are equal
    numbers = words.view(np.float64)
    for k, name in enumerate(_FIELDS):
        out[name] = numbers[:, k] if out.dtype[name].kind == "f" else words[:, k]
    return out


@functools.cache
def _laid_out_alike(dtype: Any) -> bool:
    """Whether a node of scikit-learn is eight words in our order, the last of them a byte and zeros."""
    sizes = [(dtype.fields[name][0].itemsize, dtype.fields[name][1]) for name in _FIELDS]
    return (
        sys.byteorder == "little"
        and dtype.itemsize == 8 * len(_FIELDS)
        and dtype.names == _FIELDS
        and sizes == [(8, 8 * k) for k in range(len(_FIELDS) - 1)] + [(1, 8 * len(_FIELDS) - 8)]
    )
