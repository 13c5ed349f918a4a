"""Growing the forest behind a map: for a target, without one, and until it has enough trees.

Rows without a label are left out of the forest's training, but it still places them. Without a target, the forest
contrasts the data with a copy whose columns are shuffled [1]_ [2]_: the copy has the same marginals and no dependence
between columns, so a forest that tells the two apart has to learn which combinations of values occur.

References
----------
.. [1] L. Breiman and A. Cutler, "Random forests", manual, section on unsupervised learning, 2003.
.. [2] T. Shi and S. Horvath, "Unsupervised learning with random forest predictors", JCGS 15, 2006.
.. [3] C. Vens and F. Costa, "Random forest based feature induction", ICDM 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.groups import draw_rows_by_groups, sub_groups
from manifolia._core.parallel import current_n_jobs, has_executor, map_blocks, threads
from manifolia._core.precision import mean_and_spread
from manifolia._core.random import as_generator, as_seed
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, is_sparse
from manifolia.exceptions import ParameterError
from manifolia.forest.bags import check_group_forest, draw_groups, drawn_share, halves_of_equal_rows, n_rows_drawn
from manifolia.forest.path_kernels import path_kernel
from manifolia.forest.targets import Target
from manifolia.forest.tree_growth import PARTS, Report, begin, can_grow, fit_quietly, grow_trees, weigher
from manifolia.forest.trees import check_forest, has_missing, is_grown, read_trees, single_precision

#: Breiman's defaults for regression, as in R's randomForest: a third of the variables, nodes of up to 5 rows unsplit.
_REGRESSION = {"max_features": 1 / 3, "min_samples_split": 6}


#: Numbers with a smaller spread than this, or farther from 0 than this many spreads, are shifted and scaled for the
#: trees.
_FINE, _FAR = 1e-4, 1e5
#: Leaves of a tree, as a share of the rows: 0.1 for clear classes, 0.33 for noise.
_LEAVES_PER_ROW = 0.25
_NODE_BYTES = 64  # of a node in scikit-learn's trees, besides its values


class Grown(NamedTuple):
    """A fitted forest and how its rows relate to the data."""

    forest: Any  # Fitted
    train_rows: IntArray | None  # For each row that the forest saw, its row in the data or −1; None: they are the same


def default_forest(target: Target, n_trees: int = 500) -> Any:
    """Make the forest that is grown for a target if none is given."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if target.is_classification or target.task == "unsupervised":  # tells the data from a shuffled copy
        return RandomForestClassifier(n_trees)
    return RandomForestRegressor(n_trees, **_REGRESSION)


class Foreseen(NamedTuple):
    """How large a forest will be."""

    n_nodes: float  # Nodes of all trees
    n_values: int  # Numbers that each node holds for the target
    n_bytes: float  # Of scikit-learn's trees


def foresee_size(n_rows: int, n_trees: int, target: Target | None) -> Foreseen:
    """Estimate how large a forest will be, before it is grown."""
    n_values = 2
    if target is None or target.y is None:
        n_rows *= 2  # a forest without a target is also trained on a shuffled copy
    else:
        outputs = target.y.reshape(len(target.y), -1)
        n_values = sum(len(set(k)) for k in outputs.T) if target.is_classification else outputs.shape[1]
    n_nodes = 2 * _LEAVES_PER_ROW * n_rows * n_trees
    return Foreseen(n_nodes, n_values, n_nodes * (_NODE_BYTES + 8 * n_values))


def grow_forest(
    X: Any,
    target: Target,
    *,
    forest: Any = None,
    own: bool = False,
    n_trees: int = 500,
    sample_weight: ArrayLike | None = None,
    groups: IntArray | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    report: Report | None = None,
    for_votes: bool = False,
) -> Grown:
    """Grow a forest for a target, on bags of rows or of whole groups, or take the fitted one that was passed.

    If none is passed, ours is grown by our kernels, and so is one passed as our `own`; any other, and every forest on
    sparse data, is fitted by scikit-learn. If rows are placed by its votes, equal rows are drawn in halves.
    """
    from sklearn.base import clone

    given = check_forest(forest)
    if given is not None and groups is not None:
        check_group_forest(given, is_fitted=is_grown(given))
    rows = None if target.labelled.all() else np.flatnonzero(target.labelled)
    if given is not None and is_grown(given):
        n_seen = n_rows_drawn(given)
        return Grown(given, rows if rows is not None and n_seen <= len(rows) else None)
    with threads(n_jobs) as n_threads, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # as `read_target` says
        if target.task == "unsupervised":
            if sample_weight is not None:
                raise ParameterError(
                    "sample_weight has no meaning for task='unsupervised', whose forest has no target. Drop it.",
                    parameter="sample_weight",
                )
            about: dict[str, Any] = {"groups": groups, "random_state": random_state, "report": report}
            return contrast_forest(X, n_trees=n_trees, forest=given, own=own, **about)
        model = default_forest(target, n_trees).set_params(n_jobs=n_threads) if given is None else clone(given)
        if model.random_state is None:
            model.set_params(random_state=as_seed(random_state))
        if for_votes and groups is None and given is None and not is_sparse(X):
            groups = halves_of_equal_rows(X, model.random_state)
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[target.labelled]
        train = X if rows is None else X[rows]
        together = groups if rows is None else sub_groups(groups, rows)
        if given is None and target.task == "classification" and target.y is not None:
            seed = model.random_state
            width = split_width(train, target.y, weight=weight, seed=seed, n_jobs=n_threads, groups=together)
            model.set_params(max_features=width)
        y: Any = target.y
        scale = _scale_for_trees(y) if given is None and not target.is_classification else None
        if scale is None:
            heard = report if given is None else None
            fit_forest(model, train, y, weight, own=own or given is None, groups=together, report=heard)
        else:
            even = ((y.reshape(len(y), -1) - scale.center) / scale.unit).reshape(y.shape)
            fit_forest(model, train, even, weight, own=True, groups=together, report=report)
            for tree in model.estimators_:
                values = tree.tree_.value  # (nodes, outputs, 1)
                values[...] = values * scale.unit + scale.center[:, np.newaxis]
    return Grown(model, rows)


class _Scale(NamedTuple):
    center: FloatArray  # (n_outputs,)
    unit: float


def _scale_for_trees(y: Array) -> _Scale | None:
    """Find how to scale numbers that trees would not split: scikit-learn calls a variance below 2e-16 pure."""
    moments = [mean_and_spread(column) for column in y.reshape(len(y), -1).T]
    spread = max(spread for _, spread in moments)
    if spread == 0.0 or not (spread < _FINE or any(abs(mean) > _FAR * spread for mean, _ in moments)):
        return None
    return _Scale(np.array([mean for mean, _ in moments]), float(np.ldexp(1.0, np.frexp(spread)[1])))


# --- a few trees at a time, so that progress is reported and the work can be stopped ---------------------------------


def fit_forest(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    own: bool = False,
    groups: IntArray | None = None,
    report: Report | None = None,
) -> Any:
    """Fit a forest, in parts if there is a listener: one of our own by our kernels where possible, any other as it is.

    A warm start skips the seeds that the first trees have used, so the forest has the same bits either way.
    """
    if own and can_grow(model, X, y):
        return grow_trees(model, X, y, sample_weight, groups=groups, report=report)
    if groups is not None:
        return fit_by_groups(model, X, y, groups, sample_weight, report=report)
    if report is None:
        return fit_quietly(model, X, y, sample_weight)
    n_trees, n_threads = model.n_estimators, model.n_jobs or 1
    if has_executor():  # its number of threads is not known here: it gets all trees at once
        n_threads = n_trees
    part = n_threads * -(-n_trees // (PARTS * n_threads))  # a multiple, so that no thread waits at the end of a part
    report(0, n_trees)
    model.set_params(warm_start=True)
    for grown in [*range(part, n_trees, part), n_trees]:
        fit_quietly(model.set_params(n_estimators=grown), X, y, sample_weight)
        report(grown, n_trees)
    return model.set_params(warm_start=False)


# --- on bags of whole groups -----------------------------------------------------------------------------------------


def fit_by_groups(
    model: Any,
    X: Any,
    y: Array,
    groups: IntArray,
    sample_weight: FloatArray | None = None,
    *,
    report: Report | None = None,
) -> Any:
    """Grow the trees of a forest with its parameters, each on a bag of whole groups; weights multiply the counts.

    Existing trees stay, so that a forest can be extended. scikit-learn does the same with bags of rows: the counts are
    the weights with which a tree is fitted.
    """
    n_trees, seed = model.n_estimators, as_seed(model.random_state)
    if "in_bag_counts_" not in vars(model):
        stump = begin(model.set_params(random_state=seed), X, y)
    else:
        stump = model.estimators_[0]
    trees, first = list(model.estimators_), len(model.estimators_)
    share = drawn_share(model, len(y))
    counts = draw_groups(groups, n_trees - first, seed, first=first, share=share, weight=sample_weight)
    one_tree = _tree_grower(model, stump, X, y, sample_weight, seed)
    step = -(-n_trees // PARTS) if report is not None else n_trees
    for start in range(first, n_trees, step):
        if report is not None:
            report(start, n_trees)
        parts = [(t, counts[t - first]) for t in range(start, min(start + step, n_trees))]
        trees += map_blocks(lambda part: one_tree(*part), parts)
    if report is not None:
        report(n_trees, n_trees)
    model.estimators_ = trees
    model.in_bag_counts_ = np.concatenate([model.in_bag_counts_, counts])
    return model


def _tree_grower(
    model: Any, stump: Any, X: Any, y: Array, sample_weight: FloatArray | None, seed: int
) -> Callable[[int, IntArray], Any]:
    """Make the function that grows tree t of a forest from the counts of its bag."""
    from sklearn.base import clone, is_classifier

    rows, gaps = single_precision(X), has_missing(X)
    if is_sparse(rows):
        rows = rows.tocsc()  # the form that trees are grown from; CSR would be converted for each of them
        rows.sort_indices()
    outputs = y.reshape(len(y), -1)
    weigh = weigher(model, y, sample_weight)
    if is_classifier(model):  # a forest's trees know codes of classes
        outputs = np.column_stack([np.unique(column, return_inverse=True)[1].ravel() for column in outputs.T])
    codes = np.ascontiguousarray(outputs, dtype=np.float64)

    def one_tree(t: int, drawn: IntArray) -> Any:
        weight = weigh(drawn)
        held = drawn.astype(np.float64) if weight is None else drawn * weight
        tree_seed = int(np.random.default_rng((seed, t, 1)).integers(np.iinfo(np.int32).max))
        tree = clone(stump).set_params(max_depth=model.max_depth, random_state=tree_seed)
        # Its own check finds columns with missing values; without any, it is skipped, as in a forest.
        return tree.fit(rows, codes, sample_weight=held, check_input=gaps)

    return one_tree


def out_of_bag_right(model: Any, X: Any, y: Array) -> BoolArray:
    """Find the rows on which the trees that left their group out vote right; not those that every tree has seen."""
    rows, counts = single_precision(X), model.in_bag_counts_
    votes = np.zeros((len(y), len(model.classes_)))
    for tree, drawn in zip(model.estimators_, counts, strict=True):
        out = np.flatnonzero(drawn == 0)
        if len(out):
            votes[out] += tree.predict_proba(rows[out])
    return np.asarray((model.classes_[np.argmax(votes, axis=1)] == y) & votes.any(axis=1))


# --- without a target ------------------------------------------------------------------------------------------------


def contrast_forest(
    X: ArrayLike,
    *,
    n_trees: int = 500,
    forest: Any = None,
    own: bool = False,
    groups: IntArray | None = None,
    random_state: RandomState = None,
    report: Report | None = None,
) -> Grown:
    """Grow a forest that tells the data, class 1, from a copy whose columns are shuffled independently.

    With groups, a row and its copy are drawn together, so that every bag holds as much of the copy as of the data.
    """
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    data = check_matrix(X, allow_nan=True, min_rows=2)
    n = data.shape[0]
    generator = as_generator(random_state)
    copy = shuffled_columns(data, generator)
    model = RandomForestClassifier(n_trees, n_jobs=current_n_jobs()) if forest is None else clone(forest)
    model.set_params(random_state=as_seed(generator))
    both, label = np.vstack([data, copy]), np.repeat([1, 0], n)
    twice = None if groups is None else np.concatenate([groups, groups])
    heard = report if forest is None else None
    fit_forest(model, both, label, own=own or forest is None, groups=twice, report=heard)
    train_rows = np.concatenate([np.arange(n), np.full(n, -1)])
    return Grown(model, train_rows)


def shuffled_columns(X: Array, random_state: RandomState = None) -> Array:
    """Shuffle each column on its own."""
    generator = as_generator(random_state)
    return np.column_stack([generator.permutation(column) for column in X.T])


# --- how many columns a split tries ----------------------------------------------------------------------------------

# The square root of the number of columns, the usual choice, is too few if nearly all columns are noise: of 1,004
# columns it tries 31, and most splits see none of the four that separate the classes. A tenth or a third of them finds
# these, at three to ten times the work; if every column is a little informative, this gains nothing. Small forests,
# asked about rows that their trees have not seen, distinguish the two cases.

#: Up to here the square root is a tenth of the columns or more.
MANY_COLUMNS = 100
#: Starting with the narrowest, each is tried only if the one before was better than its predecessor.
WIDTHS: tuple[str | float, ...] = ("sqrt", 0.1, 1 / 3)
_TREES, _ROWS = 50, 1000
#: Number of standard errors by which a wider search has to be better: it costs time in every tree.
_ERRORS = 2.0


def split_width(
    X: Any, y: Array, *, weight: FloatArray | None, seed: int, n_jobs: int | None, groups: IntArray | None = None
) -> str | float:
    """Choose ``max_features`` of a forest of classes by out-of-bag votes.

    Forests of 50 trees on at most 1,000 rows try the square root of the number of columns, a tenth and a third. A
    wider one is taken if the rows that only it gets right outnumber those that only it gets wrong by two standard
    errors (McNemar's test), and the next is tried only then. With groups, whole groups are drawn and compared: their
    rows are right or wrong together.
    """
    if X.shape[1] <= MANY_COLUMNS:
        return WIDTHS[0]
    if X.shape[0] > _ROWS:
        generator = np.random.default_rng(seed)
        if groups is None:
            rows = np.sort(generator.permutation(X.shape[0])[:_ROWS])
        else:
            rows = draw_rows_by_groups(groups, _ROWS, generator)
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
        groups = sub_groups(groups, rows)
    chosen, right = WIDTHS[0], _right(X, y, weight, WIDTHS[0], seed, n_jobs, groups)
    for wider in WIDTHS[1:]:
        if np.count_nonzero(~right) <= _ERRORS**2:
            break  # even if it got all of these right, it could be luck
        also = _right(X, y, weight, wider, seed, n_jobs, groups)
        gained = also.astype(np.float64) - right
        by_unit = gained if groups is None else np.bincount(groups, gained)
        if by_unit.sum() <= _ERRORS * np.sqrt((by_unit**2).sum()):
            break
        chosen, right = wider, also
    return chosen


def _right(
    X: Any,
    y: Array,
    weight: FloatArray | None,
    width: Any,
    seed: int,
    n_jobs: int | None,
    groups: IntArray | None = None,
) -> BoolArray:
    """Rows on which the trees that have not seen them, or their group, vote right."""
    from sklearn.ensemble import RandomForestClassifier

    small = RandomForestClassifier(_TREES, max_features=width, random_state=seed)
    if groups is not None or can_grow(small, X, y):
        with threads(n_jobs):
            return out_of_bag_right(fit_forest(small, X, y, weight, own=True, groups=groups), X, y)
    forest = RandomForestClassifier(_TREES, max_features=width, oob_score=True, random_state=seed, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a row that every tree has seen: its vote is NaN, and not right
        fit_quietly(forest, X, y, weight)
    votes = np.nan_to_num(forest.oob_decision_function_, nan=-1.0)
    return np.asarray(forest.classes_[np.argmax(votes, axis=1)] == y)


# --- how many trees are enough ---------------------------------------------------------------------------------------

# Section III-A [3]: start with 50 trees and add 50 until the mean absolute change of the normalised Gram matrix of
# held-out rows falls below 0.01. Trees are added by warm start, and the Gram matrix by adding the common paths of the
# new trees, so that no tree is grown or walked twice.

#: Trees that are added at a time (section III-A).
STEP = 50


class SizedForest(NamedTuple):
    """A forest that has grown until it settled, or until it was large enough."""

    forest: Any  # Fitted
    n_trees: int  # Its size
    curve: FloatArray  # (k,): mean absolute change of the normalised Gram matrix with each addition of trees


def grow_until_stable(
    model: Any,
    X: Any,
    y: Any,
    held_out: Any,
    *,
    tol: float = 0.01,
    max_trees: int = 1000,
    own: bool = False,
    groups: IntArray | None = None,
    n_jobs: int | None = None,
    report: Callable[..., None] | None = None,
) -> SizedForest:
    """Grow a forest, on bags of rows or of groups, until the Gram matrix of held-out rows settles."""
    rows = single_precision(held_out)
    kernel = np.zeros((rows.shape[0], rows.shape[0]))
    curve: list[float] = []
    before, size = kernel, 0
    with threads(n_jobs) as n_threads, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # as `read_target` says
        model.set_params(warm_start=True, n_jobs=n_threads)
        while size < max_trees and not (curve and curve[-1] < tol):
            grown, size = size, min(size + STEP, max_trees)
            model.set_params(n_estimators=size)
            fit_forest(model, X, y, own=own, groups=groups)
            kernel += path_kernel(read_trees(model, first=grown), rows, normalize=None, roots=False, missing="native")
            length = np.sqrt(np.maximum(np.diagonal(kernel), 1.0))  # without a single split, everything is 0
            now = kernel / np.outer(length, length)
            if grown:
                curve.append(float(np.abs(now - before).mean()))
            before = now
            if report is not None:
                report(size, None, **({"change": curve[-1]} if curve else {}))
    return SizedForest(model.set_params(warm_start=False), size, np.array(curve))
