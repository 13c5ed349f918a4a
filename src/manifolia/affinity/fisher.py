"""The Fisher metric: distances that count only what changes the probabilities of the classes.

A direction is as long as p(c|x) changes along it (section 4 of the paper):

    d(x, x + dx)² = dxᵀ J(x) dx,    J(x) = E_{p(c|x)} [∂log p(c|x) ∂log p(c|x)ᵀ]

and the distance of two rows is the length of the straight path between them, in T pieces. With Parzen's p(c|x), all
that a path needs are the squared distances of its ends to the reference rows (`manifolia.kernels.fisher`), so that J is
never formed and the time, O(n² T R), does not depend on the number of features. The sums over reference rows are
products of matrices on one BLAS thread per tile of pairs; pairs whose weights would underflow there are measured one by
one in the log domain.

============  =======================================================================================================
rule          a path's length is
============  =======================================================================================================
"arcs"        Σ of great arcs between the images 2√p of T + 1 points: symmetric, never too long; a border of classes
              cannot hide between two points; half the time of the others; correlates best with the limit up to T = 5
"midpoint"    Σ √(dxᵀ J dx), J in the middle of each piece: symmetric, and the nearest from T = 20 on
"left"        Σ √(dxᵀ J dx), J at the left end of each piece: d(x, z) ≠ d(z, x)
"paper"       Σ dxᵀ J dx at left ends, to the letter: squares, whose sum vanishes as 1/T and is no metric
============  =======================================================================================================

Parzen's estimate over reference rows r_m with a class is

    p(c|x) = Σ_{m in c} exp(−½‖x − r_m‖²/σ²) / Σ_m exp(−½‖x − r_m‖²/σ²)                        (section 4)

The paper leaves σ open. Here it maximises the mean of log p(c_i|x_i) over the reference rows, each with itself left
out, computed in the log domain, so that no width is too narrow for it. If this mean does not exceed the same mean for
the class frequencies alone, the classes cannot be predicted from the data near a row, and a metric made from p(c|x)
would show accidents; `ParzenClasses.informative` says so.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.groups import sub_groups
from manifolia._core.parallel import current_n_jobs, map_blocks, threads
from manifolia._core.random import draw_by_class
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_bool, check_matrix, check_number, check_option
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning, ParameterError
from manifolia.forest.targets import read_target

#: Ways to sum the length of a path.
RULES = ("arcs", "midpoint", "left", "paper")

_TILE = 256  # rows of a tile of pairs: BLAS runs at full speed, and a class's sums stay in the cache
_TILE_VALUES = 4_000_000  # sums of all classes of a tile; with many classes tiles are smaller
# Each of two factors is scaled up by exp(320): their product, and its sums times an exponent, stay below exp(709),
# and weights as small as exp(−1,100) do not vanish.
_LIFT = 320.0
_BLOCK = 256  # rows whose distances are measured at once
_NARROWEST = 0.1  # of the median distance to the nearest neighbour: below, p(c|x) is the nearest row's class
_WIDEST = 10.0  # of the same, or the median distance of all pairs if that is more
_PAIR_ROWS = 500  # rows whose distances to all give that median
_RATIO = 1.25  # ratio of the widths that are tried first; the likelihood is smooth on this scale
_REFINEMENTS = 8  # golden sections of the interval around the best of them: to 0.5 % of the width
_AS_GOOD = 1e-3  # nats: the widest of the widths that tie is taken; far classes make all narrow ones tie
_SURE = 2.0  # standard errors by which the likelihood has to exceed that of the class frequencies


def distances(
    X: ArrayLike,
    y: ArrayLike,
    *,
    bandwidth: float | str = "auto",
    steps: int = 10,
    rule: str = "arcs",
    reference: int | None = None,
    task: str = "auto",
    n_bins: int = 5,
    fallback: bool = True,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Measure the Fisher distances of all pairs of rows.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows, features on comparable scales.
    y : array-like of shape (n,)
        Classes of any kind, or numbers, which are cut into bins. Rows whose target is missing get distances too.
    bandwidth : float or "auto", default="auto"
        Width of the Parzen windows; ``"auto"`` maximises the likelihood of left-out rows.
    steps : int, default=10
        Pieces T of a path.
    rule : {"arcs", "midpoint", "left", "paper"}, default="arcs"
        How a path's length is summed.
    reference : int or None, default=None
        Number of rows, drawn in proportion to the classes, from which p(c|x) is estimated; None: all. Fewer are faster
        and coarser.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether `y` is classes or numbers; see `manifolia.affinity.fisher.class_codes`.
    n_bins : int, default=5
        Bins of equal counts for numbers. Their order plays no part.
    fallback : bool, default=True
        Whether to warn and return Euclidean distances if the classes cannot be predicted from the data.
    random_state : int, RandomState, Generator or None, default=None
        Seed for `reference`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of float64 of shape (n, n)
        Distances; π is the length of a border between two classes that are certain on either side.

    Raises
    ------
    ValueError
        If there is no target, or it has one class; if an argument is out of range.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015, section 4.

    Examples
    --------
    >>> from manifolia.affinity import fisher
    >>> X = [[0.0, 0.0], [0.0, 3.0], [0.5, 1.0], [9.0, 0.0], [9.0, 3.0], [9.5, 1.0]]
    >>> D = fisher.distances(X, list("aaabbb"), bandwidth=1.0)
    >>> print(D[0].round(2))  # the second feature does not matter
    [0.   0.   0.   3.14 3.14 3.14]
    """
    X = check_matrix(X)
    check_option(rule, "rule", RULES)
    check_bool(fallback, "fallback")
    codes = class_codes(y, len(X), task=task, n_bins=n_bins)
    with threads(n_jobs):
        classes = parzen_classes(X, codes, bandwidth=bandwidth, reference=reference, random_state=random_state)
        if fallback and not says_something(classes):
            Z, scale = _centred(X)
            return np.sqrt(_squared_distances(Z, Z)) * scale
        return path_distances(X, classes, steps=steps, rule=rule)


def says_something(classes: ParzenClasses) -> bool:
    """Return whether the data says anything about the classes, and warn if not."""
    if not classes.informative:
        warn(
            f"the classes cannot be told from the data: left-out rows have a mean log-likelihood of "
            f"{classes.likelihood:.3g}, with the class frequencies alone {classes.prior:.3g}. Euclidean distances are "
            f"used, since Fisher distances would show a separation that is not there.",
            HonestyWarning,
        )
    return classes.informative


def path_distances(X: ArrayLike, classes: ParzenClasses, *, steps: int = 10, rule: str = "arcs") -> FloatArray:
    """Measure the straight paths between all pairs of rows."""
    X = check_matrix(X)
    steps = check_number(steps, "steps", low=1, integer=True)
    check_option(rule, "rule", RULES)
    n = len(X)
    memory.require(
        fisher_memory(n, len(classes.rows), len(classes.offsets) - 1),
        step=f"the Fisher distances of {n} rows",
        remedy="Take fewer rows, or a smaller reference.",
    )
    Z, scale = _centred(X)
    U = _squared_distances(Z, Z[classes.rows])
    U -= U.min(axis=1, keepdims=True)
    U *= 0.5 / (classes.bandwidth / scale) ** 2
    paths = _Paths(U, classes.offsets, steps, rule)
    out = np.zeros((n, n))
    height = _tile_height(len(classes.offsets) - 1)
    cuts = row_blocks(n, height)
    both = rule in ("left", "paper")
    tiles = [(rows, columns) for rows in cuts for columns in cuts if both or columns.start >= rows.start]

    def run(tile: tuple[slice, slice]) -> None:
        rows, columns = tile
        lengths = paths.tile(rows, columns)
        if rows == columns and not both:  # equal to the last bit above and below the diagonal
            lengths = np.triu(lengths, 1)
            lengths += lengths.T
        out[rows, columns] = lengths
        if not both:
            out[columns, rows] = lengths.T

    map_blocks(run, tiles)
    np.fill_diagonal(out, 0.0)
    return out


class _Paths:
    """Lengths of the paths of tiles of pairs."""

    def __init__(self, U: FloatArray, offsets: IntArray, steps: int, rule: str) -> None:
        self.U, self.offsets = U, offsets
        self.arcs, self.squares = rule == "arcs", rule == "paper"
        self.steps = steps
        points = steps + 1 if rule == "arcs" else steps
        self.shares = (np.arange(points) + (0.5 if rule == "midpoint" else 0.0)) / steps
        # A speed is for the whole path; a piece of it has 1/T of the length, and 1/T² of its square.
        self.unit = 1.0 if self.arcs else (1.0 / steps**2 if self.squares else 1.0 / steps)

    def tile(self, rows: slice, columns: slice) -> FloatArray:
        """Lengths from some rows to others."""
        from manifolia.kernels import fisher as kernels

        A, B = self.U[rows], self.U[columns]
        out = np.zeros((len(A), len(B)))
        shape = (len(self.offsets) - 1, *out.shape)
        p, more = np.empty(shape), np.zeros(shape)
        rule = kernels.ARCS if self.arcs else kernels.SQUARES if self.squares else kernels.ROOTS
        # The right factor falls from point to point by the same ratio; the left one rises, and could not from 0.
        F, ratio = np.exp(_LIFT - self.shares[0] * B), np.exp(-B / self.steps)
        for t, share in enumerate(self.shares):
            E = np.exp(_LIFT - (1.0 - share) * A)
            if t > 0:
                F *= ratio
            self._products(E, F, p)
            if self.arcs:
                kernels.add_arcs(p, more, t == 0, out)
            else:
                with np.errstate(over="ignore", invalid="ignore"):  # such pairs are done again
                    # Σ E F (B − A) as one product: a reference row has two columns in either factor.
                    self._products(_beside(E, -E * A), _beside(F * B, F), more, width=2)
                kernels.add_tangents(p, more, rule, out)
        a, b = np.nonzero(~np.isfinite(out))
        if len(a):
            lengths = np.empty(len(a))
            first, last = a + rows.start, b + columns.start
            kernels.path_lengths(self.U, self.offsets, self.shares, rule, first, last, lengths, 0, len(a))
            out[a, b] = lengths
        return out * self.unit

    def _products(self, E: FloatArray, F: FloatArray, out: FloatArray, *, width: int = 1) -> None:
        """Sums over the reference rows of each class; each row has `width` columns."""
        for c, total in enumerate(out):
            own = slice(width * self.offsets[c], width * self.offsets[c + 1])
            np.matmul(E[:, own], F[:, own].T, out=total)


def _beside(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.stack([first, second], axis=2).reshape(len(first), -1)


def _tile_height(n_classes: int) -> int:
    return int(np.clip(np.sqrt(_TILE_VALUES / n_classes), 16, _TILE))


def fisher_memory(n: int, n_reference: int, n_classes: int) -> float:
    """Estimate the memory that the Fisher distances need at their peak."""
    height = _tile_height(n_classes)
    tile = 8 * height * n_reference + 3 * n_classes * height**2
    return 8.0 * (n**2 + n * n_reference + max(n_reference, 1) ** 2 + current_n_jobs() * tile)


def mixed(fisher: FloatArray, X: FloatArray, weight: float = 1.0) -> FloatArray:
    """Mix the Fisher distances of rows with their Euclidean ones, each in units of its median.

    d² = (d_F / median d_F)² + weight² (d_E / median d_E)²

    Fisher distances alone are near 0 within a class, whatever the rows look like; a share of Euclidean distance keeps
    the neighbourhoods within it.
    """
    weight = check_number(weight, "weight", low=0.0)
    Z, _ = _centred(X)
    euclidean = np.sqrt(_squared_distances(Z, Z))
    both = 0.5 * (fisher + fisher.T) / _typical(fisher)
    return np.hypot(both, weight * (euclidean / _typical(euclidean)))


def _typical(D: FloatArray) -> float:
    """Median of the distances that are not 0; 1 if all are."""
    positive = D[D > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0


class ParzenClasses(NamedTuple):
    """Reference rows in order of their classes, and the width of the windows around them."""

    rows: IntArray  # (R,): reference rows of the data, class after class
    offsets: IntArray  # (C + 1,): class c has ``rows[offsets[c]:offsets[c + 1]]``
    bandwidth: float  # σ, in the units of the data
    # Mean of log p(c_i|x_i) over the reference rows, each left out, in nats; NaN if every class has one row
    likelihood: float
    prior: float  # The same for the frequencies of the classes
    accuracy: float  # Share of the reference rows, each left out, whose own class is the most probable
    informative: bool  # Whether the likelihood at the best width exceeds the prior by more than two standard errors


def class_codes(y: ArrayLike | None, n_rows: int, *, task: str = "auto", n_bins: int = 5) -> IntArray:
    """Number the classes of a target from 0; numbers to regress on are cut into bins of equal counts."""
    if y is None:
        raise ValueError(
            "the Fisher metric requires y to be passed, but the target y is None. Pass the classes of the rows; "
            "KernelTSNE makes a map without them."
        )
    check_option(task, "task", ("auto", "classification", "regression"))
    n_bins = check_number(n_bins, "n_bins", low=2, integer=True)
    target = read_target(y, n_rows, task)
    if target.y is None or target.task not in ("classification", "regression"):
        raise ParameterError(
            f"y must be one column of classes or numbers, got shape {np.shape(y)}. Choose a column.", parameter="y"
        )
    values = target.y
    if target.task == "regression":
        cuts = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins))
        values = np.searchsorted(cuts, values, side="left")
    found, code = np.unique(values, return_inverse=True)
    if len(found) < 2:
        what = "one class" if target.task == "classification" else "one value"
        raise ParameterError(
            f"y must have at least two classes, got {what}. The Fisher metric is about what tells classes apart.",
            parameter="y",
        )
    codes = np.full(n_rows, -1, dtype=np.intp)
    codes[target.labelled] = code
    return codes


def parzen_classes(
    X: ArrayLike,
    codes: IntArray,
    *,
    bandwidth: float | str = "auto",
    reference: int | None = None,
    groups: IntArray | None = None,
    random_state: RandomState = None,
) -> ParzenClasses:
    """Estimate class probabilities; with `groups`, all rows of a row's group are left out with it."""
    X = check_matrix(X)
    check_bandwidth(bandwidth)
    rows = _chosen(codes, reference, random_state)
    offsets = np.searchsorted(codes[rows], np.arange(codes.max() + 2))
    Z, scale = _centred(X[rows])
    D = _squared_distances(Z, Z)
    np.fill_diagonal(D, np.inf)
    units = sub_groups(groups, rows)
    if units is not None and units.any():  # a single group has no other to judge it
        D[units[:, np.newaxis] == units] = np.inf
    best = _best_width(D, offsets)
    width = best if bandwidth == "auto" else float(bandwidth) / scale
    gains, prior = _gains(D, offsets, width)
    likelihood = prior + float(gains.mean()) if len(gains) else np.nan
    accuracy = _accuracy(D, offsets, width)
    if width != best:  # a badly chosen width does not mean that the classes are unpredictable
        gains, _ = _gains(D, offsets, best)
    informative = len(gains) > 0 and _exceeds(gains, None if units is None else units[_n_left(D, offsets) > 0])
    return ParzenClasses(rows, offsets, width * scale, likelihood, prior, accuracy, informative)


def _exceeds(gains: FloatArray, groups: IntArray | None) -> bool:
    """Whether the mean gain exceeds 0 by two standard errors; rows of a group err together."""
    n = len(gains)
    error = float(gains.std()) / np.sqrt(n)
    if groups is not None:
        error = float(np.linalg.norm(np.bincount(groups, gains - gains.mean()))) / n
    return bool(float(gains.mean()) > _SURE * error)


def check_bandwidth(bandwidth: float | str, name: str = "bandwidth") -> None:
    """Refuse a width that is neither a positive number nor ``"auto"``."""
    if isinstance(bandwidth, str):
        check_option(bandwidth, name, ("auto",))
    else:
        check_number(bandwidth, name, low=0.0, open_low=True, hint="'auto' finds one.")


def _chosen(codes: IntArray, reference: int | None, random_state: RandomState) -> IntArray:
    """Reference rows, class after class."""
    labelled = np.flatnonzero(codes >= 0)
    by_class: IntArray = labelled[np.argsort(codes[labelled], kind="stable")]
    if reference is None:
        return by_class
    size = min(check_number(reference, "reference", low=2, integer=True), len(by_class))
    drawn = labelled[draw_by_class(codes[labelled], size, random_state)]
    return drawn[np.argsort(codes[drawn], kind="stable")]


def _centred(X: FloatArray) -> tuple[FloatArray, float]:
    """Shift and scale rows so that their squares neither overflow nor vanish."""
    Z = X.astype(np.float64)
    Z -= np.median(Z, axis=0)  # one far row would shift the mean, and the others would lose digits
    scale = float(np.abs(Z).max(initial=0.0))
    return (Z / scale, scale) if scale > 0.0 else (Z, 1.0)


def _squared_distances(Z: FloatArray, R: FloatArray) -> FloatArray:
    """Squared Euclidean distances from differences, so that small ones keep their digits."""
    D = np.empty((len(Z), len(R)))

    def run(rows: slice) -> None:
        D[rows] = cdist(Z[rows], R, "sqeuclidean")

    map_blocks(run, row_blocks(len(Z), _BLOCK))
    return D


def _gains(D: FloatArray, offsets: IntArray, width: float) -> tuple[FloatArray, float]:
    """Gain in log p(c_i|x_i) of each row over the class frequencies of the others, and the mean log of these.

    `D` has infinity on the diagonal, and wherever a row may not be used for another. Rows that are alone in their class
    have no such probability and are left out.
    """
    left = _n_left(D, offsets)
    pieces = [
        (np.arange(start, min(start + _BLOCK, last))[left[start : min(start + _BLOCK, last)] > 0], slice(first, last))
        for first, last in itertools.pairwise(offsets.tolist())
        for start in range(first, last, _BLOCK)
    ]
    precision = 0.5 / width**2

    def run(piece: tuple[IntArray, slice]) -> FloatArray:
        rows, own = piece
        block = D[rows]
        return _log_sum(block[:, own], precision) - _log_sum(block, precision)

    if not left.any():
        return np.empty(0), np.nan
    logs = np.concatenate(map_blocks(run, pieces))
    known = left > 0
    prior = np.log(left[known] / np.isfinite(D[known]).sum(axis=1))
    return logs - prior, float(prior.mean())


def _n_left(D: FloatArray, offsets: IntArray) -> IntArray:
    """Count for each row the others of its class that may be used for it."""
    left = [np.isfinite(D[first:last, first:last]).sum(axis=1) for first, last in itertools.pairwise(offsets.tolist())]
    return np.concatenate(left).astype(np.int64)


def _accuracy(D: FloatArray, offsets: IntArray, width: float) -> float:
    """Share of rows for which their own class is the most probable; `D` has infinity on the diagonal."""
    present = np.flatnonzero(np.diff(offsets))
    own = np.repeat(np.arange(len(present)), np.diff(offsets)[present])

    def run(rows: slice) -> int:
        least = D[rows].min(axis=1, keepdims=True)
        weights = np.exp((least - D[rows]) * (0.5 / width**2))
        sums = np.add.reduceat(weights, offsets[present], axis=1)
        return int((sums.argmax(axis=1) == own[rows]).sum())

    return sum(map_blocks(run, row_blocks(len(D), _BLOCK))) / len(D)


def _log_sum(D: FloatArray, precision: float) -> FloatArray:
    """Logarithm of Σ exp(−precision · D) of each row."""
    least = D.min(axis=1, keepdims=True)
    terms = D - least
    terms *= -precision
    np.exp(terms, out=terms)
    return np.asarray(np.log(terms.sum(axis=1)) - precision * least[:, 0])


def _best_width(D: FloatArray, offsets: IntArray) -> float:
    """Width of the largest cross-validated likelihood: by steps of a fixed ratio, then by golden section."""
    near = np.sqrt(D.min(axis=1, initial=np.inf))
    near = near[(near > 0.0) & np.isfinite(near)]
    if not len(near):  # identical rows have no width; any will do
        return 1.0
    unit = float(np.median(near))
    tried: dict[float, float] = {}

    def judge(step: float) -> float:
        if step not in tried:
            gains, _ = _gains(D, offsets, unit * _RATIO**step)
            tried[step] = float(gains.mean()) if len(gains) else 0.0
        return tried[step]

    some = D[:: max(1, len(D) // _PAIR_ROWS)]
    most = max(_WIDEST, float(np.sqrt(np.median(some[np.isfinite(some)]))) / unit)
    first, last = (int(np.floor(np.log(end) / np.log(_RATIO))) for end in (_NARROWEST, most))
    best = max(range(first, last + 1), key=judge)
    low, high = best - 1.0, best + 1.0
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for _ in range(_REFINEMENTS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if judge(left) < judge(right):
            low = left
        else:
            high = right
    top = max(tried.values())
    return float(unit * _RATIO ** max(step for step, value in tried.items() if value >= top - _AS_GOOD))
