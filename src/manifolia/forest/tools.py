"""More uses of proximities (Breiman 2001; Breiman and Cutler's manual): outliers, prototypes, imputation, evidence.

Each function takes a matrix of proximities, such as `manifolia.forest.proximity` returns for any forest.

========  ================================================================================
symbol    meaning
========  ================================================================================
K         proximities of rows to rows, not negative; a row's own entry does not count
P̄(i)      Σ K_ij² over the other rows j of i's class
n / P̄     raw outlier measure; from it the class' median is taken, and it is divided by the
          class' mean absolute deviation from that median
========  ================================================================================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.random import as_seed
from manifolia._core.sparse import largest_entries
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_labels, check_matrix, check_number, check_same_length, missing_labels
from manifolia.exceptions import ParameterError
from manifolia.forest.grow import grow_forest
from manifolia.forest.proximities import proximity
from manifolia.forest.targets import read_target


class Prototype(NamedTuple):
    """A typical row of a class."""

    label: Any  # The class
    centre: int  # The row with most rows of the class among its nearest
    members: IntArray  # Those rows, nearest first
    values: FloatArray  # (d,): their median, feature by feature
    low: FloatArray  # (d,): their quartiles, which show how reliable the prototype is
    high: FloatArray  # (d,): their quartiles, which show how reliable the prototype is


class Evidence(NamedTuple):
    """The labelled rows that support each row's prediction."""

    rows: IntArray  # (m, k): labelled rows, nearest first; −1 where there are no more
    weights: FloatArray  # (m, k): their share of the row's proximity to all labelled rows; 0 where there are no more
    labels: Array  # (m, k): their labels, None where there are no more
    classes: Array  # (c,): the classes
    # (m, c): share of the proximity that goes to each class; for RF-GAP, the forest's own vote. NaN for a row that is
    # near no labelled row
    votes: FloatArray


class Imputed(NamedTuple):
    """Data with its missing values filled in."""

    X: FloatArray  # (n, d): the data; known values are unchanged
    missing: BoolArray  # (n, d): which values were filled in
    # (rounds,): root mean square change of the filled values in each round, in standard deviations of their columns
    change: FloatArray


def outlier_scores(K: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
    """Measure how far each row lies from the rest of its class.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (n, n)
        Proximities.
    y : array-like of shape (n,), default=None
        Classes; rows whose label is missing are a class of their own. None: all rows are one class.

    Returns
    -------
    ndarray of shape (n,)
        About 0 for a usual row; above 10 Breiman and Cutler call a row an outlier (no row of a class of 10 or fewer
        gets there). Infinite for a row that is not near any other row of its class.

    Raises
    ------
    ValueError
        If `K` is not square or has negative entries, or the number of labels is not that of the rows.

    Examples
    --------
    >>> from manifolia.forest import outlier_scores
    >>> int(outlier_scores([[1, 0.9, 0.8, 0], [0.9, 1, 0.7, 0.1], [0.8, 0.7, 1, 0], [0, 0.1, 0, 1]]).argmax())
    3
    """
    matrix = _others(K)
    n = matrix.shape[0]
    codes = np.zeros(n, dtype=np.intp) if y is None else _codes(y, n)
    pairs = sp.coo_array(matrix)
    same = codes[pairs.row] == codes[pairs.col]
    near = np.bincount(pairs.row[same], pairs.data[same] ** 2, minlength=n)
    raw = np.divide(float(n), near, out=np.full(n, np.inf), where=near > 0)
    out = np.empty(n)
    for code in np.unique(codes):
        here = codes == code
        finite = raw[here & np.isfinite(raw)]
        middle = np.median(finite) if finite.size else 0.0
        spread = np.abs(finite - middle).mean() if finite.size else 0.0
        out[here] = (raw[here] - middle) / (spread if spread > 0 else 1.0)
    return out


def prototypes(
    K: ArrayLike, X: ArrayLike, y: ArrayLike, *, n_prototypes: int = 1, n_neighbors: int | None = None
) -> list[Prototype]:
    """Find typical rows of each class.

    The first prototype of a class is at the row with most rows of the class among its nearest; the next one is searched
    for among the rows that were not part of an earlier one.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (n, n)
        Proximities.
    X : array-like of shape (n, d)
        The rows; NaN is a missing value, which medians ignore.
    y : array-like of shape (n,)
        Classes; rows whose label is missing belong to none.
    n_prototypes : int, default=1
        How many per class, as far as there are rows.
    n_neighbors : int, default=None
        Number of nearest rows. None: the square root of the number of labelled rows, but at least 5.

    Returns
    -------
    list of Prototype
        Class by class.

    Raises
    ------
    ValueError
        If sizes do not fit.
    """
    matrix = _others(K)
    data = check_matrix(X, allow_nan=True)
    n = check_same_length(K=matrix, X=data, y=y)
    labels = check_labels(y, n_rows=n, allow_missing=True)
    known = ~missing_labels(y)
    n_prototypes = check_number(n_prototypes, "n_prototypes", low=1, integer=True)
    k = max(5, round(np.sqrt(known.sum()))) if n_neighbors is None else n_neighbors
    k = check_number(k, "n_neighbors", low=1, integer=True)
    near = [columns[columns >= 0] for columns in largest_entries(matrix, k)[0]]
    out = []
    texts = _comparable(labels)
    for label in np.unique(texts[known]):
        free = known & (texts == label)
        for _ in range(n_prototypes):
            counts = np.array([free[near[row]].sum() if free[row] else -1 for row in range(n)])
            centre = int(np.argmax(counts))
            members = near[centre][free[near[centre]]] if counts[centre] > 0 else np.empty(0, dtype=np.intp)
            if counts[centre] < 0:
                break
            members = np.concatenate([[centre], members]).astype(np.intp)
            low, values, high = np.nanquantile(data[members].astype(np.float64), (0.25, 0.5, 0.75), axis=0)
            out.append(Prototype(label, centre, members, values, low, high))
            free[members] = False
    return out


def evidence(K: ArrayLike, y: ArrayLike, *, n_neighbors: int = 5) -> Evidence:
    """Find the labelled rows that most support each row's prediction.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (m, n)
        Proximities of rows, training rows or new ones, to the n training rows. If it is square, a row does not count
        for itself.
    y : array-like of shape (n,)
        Classes of the training rows; those whose label is missing do not count.
    n_neighbors : int, default=5
        How many.

    Returns
    -------
    Evidence
        Rows, weights, labels and votes.

    Raises
    ------
    ValueError
        If sizes do not fit, or no row has a label.
    """
    given = check_matrix(K, name="K", accept_sparse=True)
    matrix = _others(K) if given.shape[0] == given.shape[1] else sp.csr_array(given, dtype=np.float64)
    labels = check_labels(y, n_rows=matrix.shape[1], allow_missing=True)
    known = ~missing_labels(y)
    if not known.any():
        raise ValueError("every label of y is missing, and only labelled rows can speak for others. Pass some labels.")
    k = check_number(n_neighbors, "n_neighbors", low=1, integer=True)
    spoken = sp.csr_array(matrix @ sp.diags_array(known.astype(np.float64)))
    spoken.eliminate_zeros()
    spoken.sort_indices()
    total = np.asarray(spoken.sum(axis=1), dtype=np.float64).ravel()
    texts = _comparable(labels)
    classes, codes = np.unique(texts[known], return_inverse=True)
    members = sp.csr_array((np.ones(len(codes)), (np.flatnonzero(known), codes)), shape=(len(labels), len(classes)))
    unit = np.where(total > 0, total, np.nan)[:, np.newaxis]
    votes = (spoken @ members).toarray() / unit
    rows, weights = largest_entries(spoken, k)
    weights /= np.maximum(total, np.finfo(float).tiny)[:, np.newaxis]
    named = texts[rows].astype(object)
    named[rows < 0] = None
    return Evidence(rows, weights, named, classes, votes)


def impute(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    categorical: ArrayLike | None = None,
    n_rounds: int = 5,
    n_trees: int = 100,
    kind: str = "gap",
    task: str = "auto",
    tol: float = 0.01,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Imputed:
    """Fill in missing values from rows that a forest takes for alike, in several rounds (Breiman and Cutler).

    Missing values start at the median of their column, or its most frequent value. A forest is grown on the filled
    data, each missing value becomes the mean of the known values of its column weighted by proximity (or the category
    with most weight), and the next forest is grown on that.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Numbers, NaN where they are missing.
    y : array-like of shape (n,), default=None
        Target; some labels may be missing. None: the forest learns to tell the data from a shuffled copy of it.
    categorical : array-like of int, default=None
        Columns whose numbers are codes of categories.
    n_rounds : int, default=5
        Maximum number of forests.
    n_trees : int, default=100
        Trees in each.
    kind : str, default="gap"
        Proximity, as for `manifolia.forest.proximity`.
    task : str, default="auto"
        The kind of task. ``"auto"``: numbers with fractions, and whole numbers with more than 20 different values, are
        regressed on; everything else is classes.
    tol : float, default=0.01
        The rounds end when values change by less than this, in standard deviations.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the forests.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    Imputed
        The filled data. A missing value in a row that is near no row with a known value keeps the median.

    Raises
    ------
    ValueError
        If a column has no known value.
    """
    data = check_matrix(X, allow_nan=True, min_rows=2).astype(np.float64)
    n, d = data.shape
    missing = np.isnan(data)
    if missing.all(axis=0).any():
        raise ValueError(f"column {int(np.argmax(missing.all(axis=0)))} of X has no known value. Drop it.")
    coded = np.zeros(d, dtype=bool)
    coded[np.asarray([] if categorical is None else categorical, dtype=np.intp)] = True
    n_rounds = check_number(n_rounds, "n_rounds", low=1, integer=True)
    tol = check_number(tol, "tol", low=0.0)
    seed = as_seed(random_state)  # the same seed in all rounds, so that values change only because values changed
    target = read_target(y, n, "unsupervised" if y is None else task)
    filled = np.where(missing, [_middle(data[:, f], coded=coded[f]) for f in range(d)], data)
    spread = np.nanstd(data, axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    change = []
    for _ in range(n_rounds if missing.any() else 0):
        grown = grow_forest(filled, target, n_trees=n_trees, random_state=seed, n_jobs=n_jobs)
        K = proximity(grown.forest, filled, kind=kind, train_rows=grown.train_rows, n_jobs=n_jobs)
        new = _weighted_fill(_others(K), data, filled, missing, coded)
        step = (((new - filled) / unit)[missing] ** 2).mean() ** 0.5
        filled = new
        change.append(float(step))
        if step < tol:
            break
    return Imputed(filled, missing, np.array(change))


def _weighted_fill(K: Sparse, data: FloatArray, filled: FloatArray, missing: BoolArray, coded: BoolArray) -> FloatArray:
    """One round: each missing value from the known values of its column, weighted by proximity."""
    out = filled.copy()
    for f in np.flatnonzero(missing.any(axis=0)):
        gaps, known = np.flatnonzero(missing[:, f]), np.flatnonzero(~missing[:, f])
        weights = K[gaps][:, known]
        total = np.asarray(weights.sum(axis=1)).ravel()
        reached = total > 0
        if coded[f]:
            codes, which = np.unique(data[known, f], return_inverse=True)
            members = sp.csr_array((np.ones(len(which)), (np.arange(len(which)), which)))
            best = codes[np.argmax((weights @ members).toarray(), axis=1)]
        else:
            best = (weights @ data[known, f]) / np.where(reached, total, 1.0)
        out[gaps[reached], f] = best[reached]
    return out


def _middle(column: FloatArray, *, coded: bool) -> float:
    known = column[~np.isnan(column)]
    if not coded:
        return float(np.median(known))
    values, counts = np.unique(known, return_counts=True)
    return float(values[np.argmax(counts)])


def _others(K: ArrayLike) -> Sparse:
    """Check a matrix of proximities and drop its diagonal."""
    matrix = sp.csr_array(check_matrix(K, name="K", accept_sparse=True), dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ParameterError(f"K must be square, the same rows on both sides, got shape {matrix.shape}.", parameter="K")
    if matrix.nnz and matrix.data.min() < 0:
        raise ParameterError(
            f"K must not be negative, got {matrix.data.min():g}. Pass proximities, not distances.", parameter="K"
        )
    pairs = sp.coo_array(matrix)
    apart = (pairs.row != pairs.col) & (pairs.data > 0)
    out = sp.csr_array(sp.coo_array((pairs.data[apart], (pairs.row[apart], pairs.col[apart])), shape=matrix.shape))
    out.sort_indices()
    return out


def _codes(y: ArrayLike, n: int) -> IntArray:
    """Number the classes; rows without a label form one more."""
    labels = check_labels(y, n_rows=n, allow_missing=True)
    known = ~missing_labels(y)
    codes = np.full(n, -1, dtype=np.intp)
    texts = _comparable(labels)
    codes[known] = np.unique(texts[known], return_inverse=True)[1]
    return codes


def _comparable(labels: Array) -> Array:
    """Labels that can be sorted: objects, which may be of several kinds, as texts."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels
