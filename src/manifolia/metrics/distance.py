"""How well a map keeps distances: order, proportion, size.

Over all pairs of points, d is the distance in the data and e the distance in the map.

======================  ==========================================================  ==============  ===============
measure                 formula                                                     perfect map     constant map
======================  ==========================================================  ==============  ===============
`shepard_goodness`      Spearman's correlation of d and e                           1               0
`distance_correlation`  Pearson's correlation of d and e                            1               0
`normalized_stress`     √(Σ (d − α e)² / Σ d²), α = Σ d e / Σ e²                    0               1
`distance_ratio`        mean of min(d, s e) / max(d, s e), s = Σ d / Σ e            1               0
======================  ==========================================================  ==============  ===============

The size of a map does not matter: α and s are the scales that fit best (least squares, equal mean), unless
``scale="none"`` asks for the map as it is. A correlation with something that does not vary is 0 by definition here.

Exact values need no n × n matrix: rows are measured in blocks on threads and only sums are kept. Only Spearman's
correlation needs the rank of each distance among all n (n − 1)/2: up to 2²² pairs (2,896 points) they are sorted;
beyond that they are counted in 131,000 cells of nearly equal share, and distances that fall into the same cell count as
tied. That moved the coefficient by less than 10⁻⁷ in all cases tried, and cannot move it by more than 10⁻³.

With `sample`, this many pairs are drawn at random, with replacement, and the measure of these is returned; `return_ci`
adds a 95 % interval for the exact value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_bool, check_option
from manifolia.metrics._sampling import (
    N_GROUPS,
    Estimate,
    check_sample,
    draw_pairs,
    exact,
    jackknife_factor,
    one_of,
    spread,
)
from manifolia.metrics._spaces import Space, spaces, tiles
from manifolia.metrics.registry import card

_NAMES = ("shepard_goodness", "distance_correlation", "normalized_stress", "distance_ratio")
_SCALES = ("best", "none")
#: Maximum number of pairs that are ranked by sorting: two arrays of 32 MB and their ranks.
_MAX_SORTED = 2**22
#: Distances sampled to place the edges of the cells, intervals between edges (each has 32 cells), steps of the guide.
_PILOT = 2**18
_STRETCHES = 4096
_GUIDE = 2**16
#: Parts of the counting, each with its own counts (2 MB).
_N_PARTS = 32
#: Fewest pairs of a sample: with fewer than ten in a group, the spread over groups says little.
_MIN_SAMPLE = 10 * N_GROUPS
#: Deviations of the size of rounding errors of the mean are no variation.
_NOISE = 8 * float(np.finfo(np.float64).eps)


class _Moments(NamedTuple):
    """Sums over pairs: their number, means, centred sums, Σ (x − α y)² and Σ (x − y)²."""

    n_pairs: float
    mean_x: float
    mean_y: float
    sum_xx: float
    sum_yy: float
    sum_xy: float
    left: float
    apart: float

    def correlation(self) -> float:
        """Pearson's, 0 where one side does not vary."""
        flat_x = self.sum_xx <= self.n_pairs * (_NOISE * self.mean_x) ** 2
        flat_y = self.sum_yy <= self.n_pairs * (_NOISE * self.mean_y) ** 2
        if flat_x or flat_y:
            return 0.0
        return min(1.0, max(-1.0, self.sum_xy / math.sqrt(self.sum_xx) / math.sqrt(self.sum_yy)))

    def stress(self, scale: str, *, squared: bool) -> float:
        share = (self.left if scale == "best" else self.apart) / (self.sum_xx + self.n_pairs * self.mean_x**2)
        return share if squared else math.sqrt(share)

    def scale(self, scale: str) -> float:
        """What makes the mean distances of data and map equal."""
        return self.mean_x / self.mean_y if scale == "best" and self.mean_y > 0.0 else 1.0


def _combine(rows: FloatArray) -> _Moments:
    """Add up the moments of rows (Chan, Golub and LeVeque 1979)."""
    weights, along = rows[:, 0], rows[:, 6]
    count = weights.sum()
    mean_x = (weights * rows[:, 1]).sum() / count
    mean_y = (weights * rows[:, 2]).sum() / count
    dx, dy = rows[:, 1] - mean_x, rows[:, 2] - mean_y
    squares = (along * along).sum()
    alpha = (rows[:, 7] * along).sum() / squares if squares > 0.0 else 0.0
    # In each row x − α y has a part along y, and what is left of x at right angles to it.
    left = rows[:, 8] ** 2 + (rows[:, 7] - alpha * along) ** 2
    sums = (
        count,
        mean_x,
        mean_y,
        rows[:, 3].sum() + (weights * dx * dx).sum(),
        rows[:, 4].sum() + (weights * dy * dy).sum(),
        rows[:, 5].sum() + (weights * dx * dy).sum(),
        left.sum(),
        rows[:, 9].sum(),
    )
    return _Moments(*(float(value) for value in sums))


def _check_spread(distance: float) -> None:
    """Refuse data whose greatest, or mean, distance is 0."""
    if distance == 0.0:
        raise ValueError(
            "the rows of X that were compared are all equal, so there are no distances to keep. "
            "Check X, or leave this measure out."
        )


def _first(rows: IntArray) -> int:
    """First column to measure for pairs i < j: the start of the panel of the tile's first row."""
    from manifolia.kernels.panels import WIDTH

    return int(rows[0]) // WIDTH * WIDTH


def _row_values(
    data: Space,
    plane: Space,
    width: int,
    kernel: Callable[[FloatArray, FloatArray, IntArray, int, int, FloatArray], None],
    n_jobs: int | None,
) -> FloatArray:
    """Let a kernel write `width` numbers for each row from the distances of its pairs i < j; shape (n, width)."""

    def run(rows: IntArray) -> FloatArray:
        first = _first(rows)
        out = np.empty((rows.shape[0], width))
        kernel(data.distances(rows, first), plane.distances(rows, first), rows, first, data.n, out)
        return out

    pieces = [tile for part in tiles(np.arange(data.n), 1, data, plane) for tile in part]
    return np.concatenate(map_blocks(run, pieces, n_jobs=n_jobs, anywhere=True))


def _moments(data: Space, plane: Space, n_jobs: int | None) -> _Moments:
    from manifolia.kernels import pairs

    def kernel(x: FloatArray, y: FloatArray, rows: IntArray, first: int, n: int, out: FloatArray) -> None:
        pairs.row_moments(x, y, rows, first, n, out)  # not the kernel itself, which would be compiled again elsewhere

    return _combine(_row_values(data, plane, pairs.N_MOMENTS, kernel, n_jobs))


def _ratio(data: Space, plane: Space, scale: float, n_jobs: int | None) -> float:
    from manifolia.kernels import pairs

    def kernel(x: FloatArray, y: FloatArray, rows: IntArray, first: int, n: int, out: FloatArray) -> None:
        pairs.row_ratios(x, y, rows, first, n, scale, out)

    totals = _row_values(data, plane, 1, kernel, n_jobs)
    return float(totals.sum() / (data.n * (data.n - 1) / 2))


class _Cells(NamedTuple):
    """Cells of nearly equal share of the distances, and a table that leads to them."""

    edges: FloatArray
    guide: IntArray
    guide_scale: float


def _cells(space: Space) -> _Cells:
    """Place edges by the quantiles of a fixed random sample of pairs."""
    a, b = draw_pairs(space.n, _PILOT, 0)
    values = np.sort(space.pairs(a, b))
    top = 2.0 * float(values[-1]) if values[-1] > 0.0 else 1.0  # values beyond it share the last cell
    quantiles = values[:: _PILOT // _STRETCHES]
    # A distance that many pairs share gets its own interval: nothing else may be tied with it.
    repeated = quantiles[1:][quantiles[1:] == quantiles[:-1]]
    edges = np.unique(np.concatenate([[0.0], quantiles, np.nextafter(repeated, np.inf), [top]]))
    scale = _GUIDE / top
    # One step early: rounding must not lead past the interval that holds the value.
    early = np.searchsorted(edges, (np.arange(_GUIDE) - 1.0) / scale, side="right") - 1
    return _Cells(edges, np.clip(early, 0, edges.shape[0] - 2), scale)


def _rank_scores(counts: IntArray) -> FloatArray:
    """Centred mean rank of each cell, in units of the number of pairs."""
    n_pairs = counts.sum()
    before = np.cumsum(counts) - counts
    return np.asarray((before + (counts + 1) / 2 - (n_pairs + 1) / 2) / n_pairs, dtype=np.float64)


def _spearman_by_cells(data: Space, plane: Space, n_jobs: int | None) -> float:
    from manifolia.kernels import pairs

    both = (data, _cells(data)), (plane, _cells(plane))

    def count(part: list[IntArray]) -> list[IntArray]:
        out = []
        for space, cells in both:
            counts = np.zeros((cells.edges.shape[0] - 1) * pairs.CELLS, dtype=np.int64)
            for rows in part:
                first = _first(rows)
                pairs.cell_counts(space.distances(rows, first), rows, first, space.n, *cells, counts)
            out.append(counts)
        return out

    counted = map_blocks(count, tiles(np.arange(data.n), _N_PARTS, data, plane), n_jobs=n_jobs, anywhere=True)
    scores = [_rank_scores(np.sum(counts, axis=0)) for counts in zip(*counted, strict=True)]

    def kernel(x: FloatArray, y: FloatArray, rows: IntArray, first: int, n: int, out: FloatArray) -> None:
        pairs.cell_scores(x, rows, first, n, *both[0][1], scores[0])
        pairs.cell_scores(y, rows, first, n, *both[1][1], scores[1])
        pairs.row_moments(x, y, rows, first, n, out)

    return _combine(_row_values(data, plane, pairs.N_MOMENTS, kernel, n_jobs)).correlation()


def _all_pairs(space: Space, n_jobs: int | None) -> FloatArray:
    """Distances of all pairs i < j, row by row."""

    def run(rows: IntArray) -> FloatArray:
        first = _first(rows)
        distances = space.distances(rows, first)
        return np.concatenate([line[i + 1 - first : space.n - first] for i, line in zip(rows, distances, strict=True)])

    pieces = [tile for part in tiles(np.arange(space.n), 1, space) for tile in part]
    return np.concatenate(map_blocks(run, pieces, n_jobs=n_jobs))


def _spearman(data: Space, plane: Space, n_jobs: int | None) -> float:
    if data.n * (data.n - 1) // 2 > _MAX_SORTED:
        return _spearman_by_cells(data, plane, n_jobs)
    return _rank_correlation(_all_pairs(data, n_jobs), _all_pairs(plane, n_jobs))


def _sample_moments(x: FloatArray, y: FloatArray) -> _Moments:
    from manifolia.kernels import pairs

    out = np.empty((1, pairs.N_MOMENTS))
    # One row of a larger triangle, whose own point is just before the first column.
    pairs.row_moments(x[None, :], y[None, :], np.array([-1]), 0, x.shape[0], out)
    moments = _combine(out)
    _check_spread(moments.mean_x)
    return moments


def _correlation(x: FloatArray, y: FloatArray) -> float:
    return _sample_moments(x, y).correlation()


def _rank_correlation(x: FloatArray, y: FloatArray) -> float:
    from scipy.stats import rankdata

    _check_spread(float(x.max()))
    return _correlation(rankdata(x), rankdata(y))


def _sample_ratio(x: FloatArray, y: FloatArray, *, scale: str) -> float:
    scaled = _sample_moments(x, y).scale(scale) * y
    high = np.maximum(x, scaled)
    return float(np.divide(np.minimum(x, scaled), high, out=np.ones_like(x), where=high > 0.0).mean())


def _from_sample(
    data: Space,
    plane: Space,
    size: int,
    random_state: RandomState,
    statistics: dict[str, Callable[[FloatArray, FloatArray], float]],
) -> dict[str, Estimate]:
    """Measure random pairs, and leave out each group of them in turn for the interval."""
    a, b = draw_pairs(data.n, size, random_state)
    x, y = data.pairs(a, b), plane.pairs(a, b)
    group = np.arange(size) % N_GROUPS
    out = {}
    for name, statistic in statistics.items():
        others = [statistic(x[group != g], y[group != g]) for g in range(N_GROUPS)]
        out[name] = spread(statistic(x, y), others, factor=jackknife_factor(N_GROUPS))
    return out


def distance_scores(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    names: Sequence[str] = _NAMES,
    metric: str = "euclidean",
    scale: str = "best",
    squared: bool = False,
    sample: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> dict[str, Estimate]:
    """Compute several distance measures in as few passes over the pairs as possible.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data, or the distances between its rows.
    Y : array-like of shape (n, n_components)
        Map; its distances are Euclidean.
    names : sequence of str
        Which; all by default.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance between rows of `X`.
    scale : {"best", "none"}, default="best"
        Fit the map's scale, or take the map as it is.
    squared : bool, default=False
        Leave out the root, as Joia et al. and Espadoto et al. do.
    sample : int, default=None
        Estimate from this many random pairs; None uses all pairs.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    """
    for name in names:
        check_option(name, "names", _NAMES)
    check_option(scale, "scale", _SCALES)
    check_bool(squared, "squared")
    data, plane = spaces(X, Y, metric)
    _check_spread(float(data.distances(np.array([0]))[0, : data.n].max()))  # all are equal if all equal the first
    size = check_sample(sample, low=_MIN_SAMPLE, high=math.inf, what="pairs")
    if size is None:
        moments = functools.cache(partial(_moments, data, plane, n_jobs))
        values: dict[str, Callable[[], float]] = {
            "shepard_goodness": lambda: _spearman(data, plane, n_jobs),
            "distance_correlation": lambda: moments().correlation(),
            "normalized_stress": lambda: moments().stress(scale, squared=squared),
            "distance_ratio": lambda: _ratio(data, plane, moments().scale(scale), n_jobs),
        }
        found = {name: exact(values[name]()) for name in names}
    else:
        statistics: dict[str, Callable[[FloatArray, FloatArray], float]] = {
            "shepard_goodness": _rank_correlation,
            "distance_correlation": _correlation,
            "normalized_stress": lambda x, y: _sample_moments(x, y).stress(scale, squared=squared),
            "distance_ratio": partial(_sample_ratio, scale=scale),
        }
        found = _from_sample(data, plane, size, random_state, {name: statistics[name] for name in names})
    limits = {
        "shepard_goodness": (-1.0, 1.0),
        "distance_correlation": (-1.0, 1.0),
        "normalized_stress": (0.0, 1.0 if scale == "best" else math.inf),
        "distance_ratio": (0.0, 1.0),
    }
    return {name: value.within(*limits[name]) for name, value in found.items()}


@card(
    "Order of distances",
    "Do pairs that are farther apart in the data lie farther apart in the map? Rank correlation over pairs.",
    range=(-1.0, 1.0),
    shown=("run", "page"),
)
@one_of(distance_scores, without=("scale", "squared"))
def shepard_goodness(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Rank correlation of the distances in the data and in the map: Spearman's of the Shepard diagram.

    See the module's notes on how more than 2,896 points are ranked.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        In [−1, 1], higher is better; 1 for a map that keeps the order of all distances, 0 for a constant one.
        With `return_ci` a tuple ``(value, (low, high))``.

    Raises
    ------
    ValueError
        Also if all rows of `X` are equal.

    References
    ----------
    Espadoto, Martins, Kerren, Hirata, Telea, "Toward a quantitative survey of dimension reduction techniques", IEEE
    TVCG 27, 2021.
    """


@card(
    "Correlation of distances",
    "Correlation of the distances in the data and in the map, over pairs.",
    range=(-1.0, 1.0),
)
@one_of(distance_scores, without=("scale", "squared"))
def distance_correlation(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Pearson's correlation of the distances in the data and in the map.

    Not the distance correlation of Székely, Rizzo and Bakirov, which measures dependence.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        In [−1, 1], higher is better; 1 for a map that keeps all distances up to scale and a constant.
        With `return_ci` a tuple ``(value, (low, high))``.

    Raises
    ------
    ValueError
        Also if all rows of `X` are equal.

    References
    ----------
    Liao, Luo, Ma, "Efficient and robust Bayesian selection of hyperparameters in dimension reduction for
    visualization", Table 1.
    """


@card(
    "Stress",
    "How far distances in the map are off, at the best common scale, as a share of those in the data.",
    direction="lower",
    shown=("run",),
)
@one_of(distance_scores)
def normalized_stress(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Size of the errors of the map's distances, as a share of the distances in the data.

    √(Σ (d − α e)² / Σ d²) over all pairs, with d in the data and e in the map. The scale α = Σ d e / Σ e² makes it
    smallest; the raw stress (α = 1) mostly measures how large the map was drawn.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        From 0, lower is better; 0 for a perfect map. At the best scale at most 1, which a constant map has.
        With `return_ci` a tuple ``(value, (low, high))``.

    Raises
    ------
    ValueError
        Also if all rows of `X` are equal.

    References
    ----------
    Joia, Coimbra, Cuminato, Paulovich, Nonato, "Local affine multidimensional projection", IEEE TVCG 17, 2011.
    Smelser, Miller, Kobourov, "Normalized stress is not normalized: how to interpret stress correctly", BELIV 2024, on
    the scale.
    """


@card(
    "Ratio of distances",
    "Mean over pairs of the smaller of the two distances, data and map at equal mean, divided by the larger.",
)
@one_of(distance_scores, without=("squared",))
def distance_ratio(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Mean ratio of the distances in the map and in the data, the smaller over the larger.

    Liao, Luo and Ma use an "average pairwise distance ratio" and give no formula. Taken as the mean of e/d it grows
    with the size of the map, is infinite for duplicates that the map separates, and errors in both directions cancel.
    Here it is the mean of min(d, s e)/max(d, s e) with s = Σ d / Σ e, so that both have the same mean distance; a pair
    that is 0 in both counts 1, one that is 0 in one counts 0. Its form in which smaller is better is 1 minus the value.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        In [0, 1], higher is better; 1 for a perfect map, 0 for a constant one.
        With `return_ci` a tuple ``(value, (low, high))``.

    Raises
    ------
    ValueError
        Also if all rows of `X` are equal.

    References
    ----------
    Liao, Luo, Ma, "Efficient and robust Bayesian selection of hyperparameters in dimension reduction for
    visualization", section 3.2.
    """
