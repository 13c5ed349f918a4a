"""Class probabilities p(c|x) by Parzen windows, their width by cross-validation, and whether they say anything.

    p(c|x) = Σ_{m in c} exp(−½‖x − r_m‖²/σ²) / Σ_m exp(−½‖x − r_m‖²/σ²)                        (section 4)

over reference rows r_m with a class. The paper leaves σ open. Here it maximises the mean of log p(c_i|x_i) over the
reference rows, each with itself left out, computed in the log domain, so that no width is too narrow for it. Where
this mean does not exceed the same mean for the class frequencies alone, the classes cannot be told from the data near
a row, and a metric made from p(c|x) would show accidents; `ParzenClasses.informative` says so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import draw_by_class
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, check_number, check_option
from manifolia.forest.targets import read_target

__all__ = ["ParzenClasses", "centred", "check_bandwidth", "class_codes", "parzen_classes", "squared_distances"]

_BLOCK = 256
_NARROWEST = 0.1  # of the median distance to the nearest neighbour: below, p(c|x) is the nearest row's class
_WIDEST = 10.0  # of the same, or the median distance of all pairs if that is more
_PAIR_ROWS = 500  # rows whose distances to all give that median
_RATIO = 1.25  # between the widths that are tried first; the likelihood is smooth on this scale
_REFINEMENTS = 8  # golden sections of the interval around the best of them: to 0.5 % of the width
_AS_GOOD = 1e-3  # nats: of widths as good as that the widest is taken, where classes are apart all narrow ones are
_SURE = 2.0  # standard errors by which the likelihood has to exceed that of the class frequencies


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
        message = (
            "the Fisher metric requires y to be passed, but the target y is None. Pass the classes of the rows; "
            "KernelTSNE makes a map without them."
        )
        raise ValueError(message)
    check_option(task, "task", ("auto", "classification", "regression"))
    n_bins = check_number(n_bins, "n_bins", low=2, integer=True)
    target = read_target(y, n_rows, task)
    if target.y is None or target.task not in ("classification", "regression"):
        message = f"y must be one column of classes or numbers, got shape {np.shape(y)}. Choose a column."
        raise ValueError(message)
    values = target.y
    if target.task == "regression":
        cuts = np.unique(np.quantile(values, np.arange(1, n_bins) / n_bins))
        values = np.searchsorted(cuts, values, side="left")
    found, code = np.unique(values, return_inverse=True)
    if len(found) < 2:
        what = "one class" if target.task == "classification" else "one value"
        message = f"y must have at least two classes, got {what}. The Fisher metric is about what tells classes apart."
        raise ValueError(message)
    codes = np.full(n_rows, -1, dtype=np.intp)
    codes[target.labelled] = code
    return codes


def parzen_classes(
    X: ArrayLike,
    codes: IntArray,
    *,
    bandwidth: float | str = "auto",
    reference: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ParzenClasses:
    """Estimate class probabilities."""
    X = check_matrix(X)
    check_bandwidth(bandwidth)
    rows = _chosen(codes, reference, random_state)
    offsets = np.searchsorted(codes[rows], np.arange(codes.max() + 2))
    Z, scale = centred(X[rows])
    with threads(n_jobs):
        D = squared_distances(Z, Z)
        np.fill_diagonal(D, np.inf)
        best = _best_width(D, offsets)
        width = best if bandwidth == "auto" else float(bandwidth) / scale
        gains, prior = _gains(D, offsets, width)
        likelihood = prior + float(gains.mean()) if len(gains) else np.nan
        accuracy = _accuracy(D, offsets, width)
        if width != best:  # a width that suits badly does not make the classes say nothing
            gains, _ = _gains(D, offsets, best)
    n = len(gains)
    informative = n > 0 and bool(float(gains.mean()) > _SURE * float(gains.std()) / np.sqrt(n))
    return ParzenClasses(rows, offsets, width * scale, likelihood, prior, accuracy, informative)


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


def centred(X: FloatArray) -> tuple[FloatArray, float]:
    """Shift and scale rows so that their squares neither overflow nor vanish."""
    Z = X.astype(np.float64)
    Z -= np.median(Z, axis=0)  # a mean would be drawn away by one far row, and the others lose their digits
    scale = float(np.abs(Z).max(initial=0.0))
    return (Z / scale, scale) if scale > 0.0 else (Z, 1.0)


def squared_distances(Z: FloatArray, R: FloatArray, *, n_jobs: int | None = None) -> FloatArray:
    """Squared Euclidean distances from differences, so that small ones keep their digits."""
    D = np.empty((len(Z), len(R)))

    def run(rows: slice) -> None:
        D[rows] = cdist(Z[rows], R, "sqeuclidean")

    map_blocks(run, row_blocks(len(Z), _BLOCK), n_jobs=n_jobs)
    return D


def _gains(D: FloatArray, offsets: IntArray, width: float) -> tuple[FloatArray, float]:
    """Gain in log p(c_i|x_i) of each row over the frequencies of the others' classes, and the mean of log of these.

    `D` has infinity on the diagonal. Rows that are alone in their class have no such probability and are left out.
    """
    n = len(D)
    counts = np.diff(offsets)
    pieces = [
        (slice(start, min(start + _BLOCK, offsets[c + 1])), slice(offsets[c], offsets[c + 1]))
        for c in range(len(counts))
        if counts[c] > 1
        for start in range(offsets[c], offsets[c + 1], _BLOCK)
    ]
    precision = 0.5 / width**2

    def run(piece: tuple[slice, slice]) -> FloatArray:
        rows, own = piece
        return _log_sum(D[rows, own], precision) - _log_sum(D[rows], precision)

    if not pieces:
        return np.empty(0), np.nan
    logs = np.concatenate(map_blocks(run, pieces))
    several = counts[counts > 1]
    prior = np.repeat(np.log((several - 1) / (n - 1)), several)
    return logs - prior, float(prior.mean())


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
    if not len(near):  # rows that are all alike have no width; any will do
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
