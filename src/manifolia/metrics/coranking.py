"""How well a map keeps neighbourhoods of every size: the co-ranking framework of Lee and Verleysen.

Every point ranks all others by distance, in the data (ρ_ij) and in the map (r_ij), from 1 to n − 1.

==========  ==================================================================================
symbol      meaning
==========  ==================================================================================
Q_kl        number of pairs with ρ_ij = k and r_ij = l: the co-ranking matrix
Q_NX(K)     share of the K nearest in the data that are among the K nearest in the map;
            Q_m(k) of Gisbrecht, Schulz and Hammer 2015, section 5
K/(n − 1)   what Q_NX(K) is for a random map
LCMC(K)     Q_NX(K) − K/(n − 1), the gain over a random map (Chen and Buja 2009)
R_NX(K)     that gain as a share of the greatest possible one: 0 random, 1 perfect
AUC         Σ_K R_NX(K)/K / Σ_K 1/K, the mean of R_NX over the logarithm of K (Lee et al. 2015)
K_max       where LCMC is greatest; what is left of it is called local
Q_local     mean of Q_NX over K = 1 … K_max
Q_global    mean of Q_NX over K = K_max … n − 2
==========  ==================================================================================

Curves run over K = 1 … n − 2. At K = n − 1 every map has Q_NX = 1, and R_NX is 0/0.

**Ties.** Of two points at equal distance the one that comes first in the data has the lower rank, in the data and in
the map alike, so a map that puts duplicates in one place and keeps everything else is perfect. Beyond ties the order of
the rows does not matter, not even in the last bit. A constant map is one great tie: all points agree on one arbitrary
order, which gives an R_NX near 0, as for a random map, and R_NX(K) = 0 on average over all orders of the rows.

**Exact at any size.** Rows are ranked in blocks on threads; what is kept is one histogram of n numbers per part. 70,000
points take some minutes and less than a gigabyte beyond the data.

**Samples.** ``method="rows"`` ranks a random sample of rows among all n. Q_NX, R_NX, LCMC and AUC are means over rows,
so the estimate has no bias and the interval covers the exact value in 95 of 100 samples. ``method="subsets"`` is the
form of Gisbrecht et al.: the quality inside random subsets of M points, read at k M/n and averaged. It needs only M²
distances, but a subset is a thinner cloud with other neighbours, and below K = n/M it says nothing. Its interval covers
the spread of the subsets but not this bias, which is largest for AUC. For Q_local and Q_global an interval allows for
every K that may be K_max, so it is conservative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.metrics._ranks import add_greater_ranks
from manifolia.metrics._sampling import Estimate, check_sample, draw_rows, exact, jackknife_factor, one_of, spread
from manifolia.metrics._spaces import MIN_ROWS, Space, spaces, tiles
from manifolia.metrics.registry import card

#: Blocks of rows that are ranked before their pairs are counted together.
_TILES_PER_TURN = 8
#: Number of parts among which the rows are distributed; each holds one histogram until all are done.
_N_PARTS = 32
_N_REPEATS = 10
_METHODS = ("rows", "subsets")


def _histograms(data: Space, plane: Space, parts: list[list[IntArray]], n_jobs: int | None) -> IntArray:
    """Count, for each part, the pairs by the greater of their two ranks; shape (n_parts, n)."""

    def run(part: list[IntArray]) -> IntArray:
        histogram = np.zeros(data.n, dtype=np.int64)
        for rows in part:
            add_greater_ranks(data.keys(rows), plane.keys(rows), rows, histogram)
        return histogram

    return np.stack(map_blocks(run, parts, n_jobs=n_jobs, anywhere=True))


def _quality(histogram: IntArray) -> FloatArray:
    """Turn a histogram of the greater ranks into Q_NX."""
    n = histogram.shape[0]
    both = np.cumsum(histogram[1:])
    n_rows = both[-1] // (n - 1)  # each row has n − 1 pairs
    return both / (np.arange(1.0, n) * n_rows)


def _sizes(q: FloatArray) -> FloatArray:
    """K = 1 … n − 2, for a curve that runs to n − 1."""
    return np.arange(1.0, q.shape[-1])


def _gain(q: FloatArray) -> FloatArray:
    return q[..., :-1] - _sizes(q) / q.shape[-1]


def _relative(q: FloatArray) -> FloatArray:
    k, last = _sizes(q), q.shape[-1]
    return (last * q[..., :-1] - k) / (last - k)


def _area(q: FloatArray) -> float:
    weights = 1.0 / _sizes(q)
    return float((_relative(q) * weights).sum() / weights.sum())


def _left_means(q: FloatArray) -> FloatArray:
    """Mean of Q_NX over 1 … K, for each K."""
    return np.cumsum(q[..., :-1], axis=-1) / _sizes(q)


def _right_means(q: FloatArray) -> FloatArray:
    """Mean of Q_NX over K … n − 2, for each K."""
    return (np.cumsum(q[..., -2::-1], axis=-1) / _sizes(q))[..., ::-1]


#: How a measure is read from a curve, and its least and greatest value, to which intervals are cut.
_MEASURES: dict[str, tuple[Callable[[FloatArray], Any], float, float]] = {
    "auc_r_nx": (_area, -math.inf, 1.0),
    "lcmc": (_gain, -1.0, 1.0),
    "q_nx": (lambda q: q[:-1], 0.0, 1.0),
    "r_nx": (_relative, -math.inf, 1.0),
    "k_max": (_sizes, 1.0, math.inf),
    "q_global": (_right_means, 0.0, 1.0),
    "q_local": (_left_means, 0.0, 1.0),
}
#: What is read at K_max; the function gives it for every K that this could be.
_AT_PEAK = ("k_max", "q_global", "q_local")
NAMES = tuple(_MEASURES)


def _read(name: str, q: FloatArray) -> Any:
    """Read a measure from the curve."""
    values = _MEASURES[name][0](q)
    if name not in _AT_PEAK:
        return values
    at = int(np.argmax(_gain(q)))  # the first of several maxima
    return at + 1 if name == "k_max" else float(values[at])


def _read_with_interval(name: str, q: FloatArray, others: FloatArray, factor: float) -> Estimate:
    """Read a measure from the curve, and an interval from other curves of the same kind (see `spread`)."""
    value = _read(name, q)
    measure, *bounds = _MEASURES[name]
    if name not in _AT_PEAK:
        return spread(value, [measure(other) for other in others], factor=factor).within(*bounds)
    # Where the gain is flat, K_max is uncertain, and no standard error can describe how it jumps from sample to sample.
    # So every K whose gain is not clearly below the greatest may be K_max, and the interval covers the intervals of the
    # measure at each of them.
    gain, gains = _gain(q), _gain(others)
    at = int(np.argmax(gain))
    below = spread(gain[at] - gain, gains[:, [at]] - gains, factor=factor)
    may_be = np.flatnonzero(below.low <= 0.0)
    values = np.broadcast_to(measure(others), gains.shape)
    found = spread(measure(q)[may_be], values[:, may_be], factor=factor)
    return Estimate(value, float(found.low.min()), float(found.high.max())).within(*bounds)


def _subset_curves(
    data: Space, plane: Space, size: int, n_repeats: int, random_state: RandomState, n_jobs: int | None
) -> FloatArray:
    """Compute Q_NX inside random subsets and read each at the neighbourhood sizes of the whole; (n_repeats, n − 1)."""
    generator = as_generator(random_state)
    # Section 5 of Gisbrecht, Schulz and Hammer 2015: Q_m(k) ≈ Q_M(k M / m) for a subset of M of m points. (They print
    # m k / M, which would ask the subset for more neighbours than it has points.) A neighbourhood leaves out the point
    # itself, so the fraction taken here is (M − 1)/(m − 1); it carries the baseline k/(m − 1) onto itself.
    wanted = np.arange(1.0, data.n) * (size - 1) / (data.n - 1)
    curves = []
    for _ in range(n_repeats):
        rows = np.sort(generator.permutation(data.n)[:size]).astype(np.int64)
        both = data.subset(rows), plane.subset(rows)
        counts = _histograms(*both, tiles(np.arange(size), _N_PARTS, *both), n_jobs)
        # Below one neighbour there is nothing to read: the curve stays at Q_M(1).
        curves.append(np.interp(wanted, np.arange(1.0, size), _quality(counts.sum(axis=0))))
    return np.stack(curves)


def random_baseline(n: int) -> FloatArray:
    """Return Q_NX of a random map, the curve to compare every other with.

    Parameters
    ----------
    n : int
        Number of points, at least 3.

    Returns
    -------
    ndarray of shape (n - 2,)
        K/(n − 1) for K = 1 … n − 2.
    """
    check_number(n, "n", low=MIN_ROWS, integer=True)
    return np.arange(1.0, n - 1) / (n - 1)


def coranking_scores(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    names: Sequence[str] = ("auc_r_nx", "q_local", "q_global", "k_max"),
    metric: str = "euclidean",
    sample: int | None = None,
    method: str = "rows",
    n_repeats: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> dict[str, Estimate]:
    """Compute several measures of the co-ranking framework in one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data, or the distances between its rows.
    Y : array-like of shape (n, n_components)
        Map; its distances are Euclidean.
    names : sequence of str, default=("auc_r_nx", "q_local", "q_global", "k_max")
        Which.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance between rows of `X`.
    sample : int, default=None
        Estimate from this many rows; None is exact.
    method : {"rows", "subsets"}, default="rows"
        How the sample is used: its rows are ranked among all, or subsets of that size stand for the whole.
    n_repeats : int, default=None
        Number of subsets, for ``method="subsets"`` alone; None means 10.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    """
    for name in names:
        check_option(name, "names", NAMES)
    data, plane = spaces(X, Y, metric)
    check_option(method, "method", _METHODS)
    size = check_sample(sample, low=2 if method == "rows" else MIN_ROWS, high=data.n, what="rows")
    if n_repeats is not None and (sample is None or method != "subsets"):
        raise ParameterError(
            f"n_repeats={n_repeats} is the number of subsets and there are none. "
            f"Pass method='subsets' and the size of a subset as sample, or leave n_repeats out.",
            parameter="n_repeats",
        )
    repeats = _N_REPEATS if n_repeats is None else check_number(n_repeats, "n_repeats", low=1, integer=True)
    if size is None:
        parts = tiles(np.arange(data.n), _N_PARTS, data, plane)
        q = _quality(_histograms(data, plane, parts, n_jobs).sum(axis=0))
        return {name: exact(_read(name, q)) for name in names}
    if method == "rows":
        groups = draw_rows(data.n, size, random_state)
        # Each group is a separate part, because it is left out separately.
        parts = [part for group in groups for part in tiles(group, 1, data, plane)]
        counts = _histograms(data, plane, parts, n_jobs)
        whole = counts.sum(axis=0)
        q, others = _quality(whole), np.stack([_quality(whole - group) for group in counts])
        factor = jackknife_factor(len(groups), share=size / data.n)
    else:
        others = _subset_curves(data, plane, size, repeats, random_state, n_jobs)
        q = others.mean(axis=0)
        factor = 1.0 / (repeats * max(1, repeats - 1))  # variance of a mean
    return {name: _read_with_interval(name, q, others, factor) for name in names}


@one_of(coranking_scores)
def q_nx(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Share of neighbours that a map keeps, for every size of neighbourhood.

    Parameters
    ----------
    {options}

    Returns
    -------
    ndarray of shape (n - 2,)
        Q_NX(K) for K = 1 … n − 2, each in [0, 1]; 1 is perfect, `random_baseline` is chance.
        With `return_ci` a tuple ``(curve, (low, high))``, for each K by itself.

    References
    ----------
    Lee, Verleysen, "Quality assessment of dimensionality reduction: rank-based criteria", Neurocomputing 72, 2009.
    Gisbrecht, Schulz, Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE", Neurocomputing 147,
    2015, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
    >>> q_nx(X, X[[0, 1, 2, 4, 3]]).round(3)
    array([0.6  , 0.8  , 0.667])
    """


@one_of(coranking_scores)
def r_nx(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Gain of a map over a random one, for every size of neighbourhood.

    Parameters
    ----------
    {options}

    Returns
    -------
    ndarray of shape (n - 2,)
        R_NX(K) = ((n − 1) Q_NX(K) − K)/(n − 1 − K) for K = 1 … n − 2; 1 is perfect, 0 is chance.
        With `return_ci` a tuple ``(curve, (low, high))``, for each K by itself.

    References
    ----------
    Lee, Renard, Bernard, Dupont, Verleysen, "Type 1 and 2 mixtures of Kullback-Leibler divergences as cost functions in
    dimensionality reduction based on similarity preservation", Neurocomputing 112, 2013.
    """


@one_of(coranking_scores)
def lcmc(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Local continuity meta-criterion: what Q_NX has beyond chance.

    Parameters
    ----------
    {options}

    Returns
    -------
    ndarray of shape (n - 2,)
        Q_NX(K) − K/(n − 1) for K = 1 … n − 2; 0 is chance.
        With `return_ci` a tuple ``(curve, (low, high))``, for each K by itself.

    References
    ----------
    Chen, Buja, "Local multidimensional scaling for nonlinear dimension reduction, graph drawing, and proximity
    analysis", JASA 104, 2009.
    """


@card(
    "Area under R_NX",
    "Neighbourhoods of every size kept, small ones counted most: 0 is a random map, 1 a perfect one.",
    shown=("run",),
)
@one_of(coranking_scores)
def auc_r_nx(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Area under R_NX over the logarithm of K: one number for all sizes of neighbourhood.

    Weights 1/K give every doubling of K the same say, so small neighbourhoods count as much as large ones.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        At most 1, higher is better; 1 for a perfect map, 0 on average for a random one.
        With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Lee, Peluffo-Ordóñez, Verleysen, "Multi-scale similarities in stochastic neighbour embedding", Neurocomputing 169,
    2015.
    """


@card(
    "Small neighbourhoods kept",
    "Share of neighbours kept, averaged over the sizes of neighbourhood up to the one that gains most over chance.",
)
@one_of(coranking_scores)
def q_local(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Mean share of kept neighbours over small neighbourhoods, K = 1 … K_max.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        In [0, 1], higher is better; 1 for a perfect map.
        With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Lee, Verleysen, "Scale-independent quality criteria for dimensionality reduction", Pattern Recognition Letters 31,
    2010.
    """


@card(
    "Large neighbourhoods kept",
    "Share of neighbours kept, averaged over the sizes of neighbourhood from the one that gains most over chance.",
)
@one_of(coranking_scores)
def q_global(X: ArrayLike, Y: ArrayLike, **options: Any) -> Any:
    """Mean share of kept neighbours over large neighbourhoods, K = K_max … n − 2.

    A random map has about 1/2 here: the neighbourhoods are large.

    Parameters
    ----------
    {options}

    Returns
    -------
    float
        In [0, 1], higher is better; 1 for a perfect map.
        With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Lee, Verleysen, "Scale-independent quality criteria for dimensionality reduction", Pattern Recognition Letters 31,
    2010. Their sum ends at K = n − 1, where every map scores 1; it is left out.
    """


def k_max(X: ArrayLike, Y: ArrayLike, *, metric: str = "euclidean", n_jobs: int | None = None) -> int:
    """Size of neighbourhood at which a map gains most over a random one; it separates local from global.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data, or the distances between its rows.
    Y : array-like of shape (n, n_components)
        Map; its distances are Euclidean.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance between rows of `X`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    int
        The K in 1 … n − 2 with the greatest `lcmc`; the smallest, if there are several.

    References
    ----------
    Lee, Verleysen, "Scale-independent quality criteria for dimensionality reduction", Pattern Recognition Letters 31,
    2010.
    """
    found = coranking_scores(X, Y, names=("k_max",), metric=metric, n_jobs=n_jobs)
    return int(found["k_max"].value)


def coranking_matrix(X: ArrayLike, Y: ArrayLike, *, metric: str = "euclidean", n_jobs: int | None = None) -> IntArray:
    """Count pairs by their rank in the data and their rank in the map.

    The other measures do not need it; it is there for inspection.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data, or the distances between its rows.
    Y : array-like of shape (n, n_components)
        Map; its distances are Euclidean.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance between rows of `X`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of int32 of shape (n - 1, n - 1)
        Entry (k − 1, l − 1) is the number of ordered pairs (i, j) with rank k in the data and l in the map. Rows and
        columns sum to n; a perfect map has n on the diagonal.

    Raises
    ------
    MemoryLimitError
        If the matrix does not fit.

    References
    ----------
    Lee, Verleysen, "Quality assessment of dimensionality reduction: rank-based criteria", Neurocomputing 72, 2009.
    """
    from manifolia.kernels import ranks

    data, plane = spaces(X, Y, metric)
    n = data.n
    require(
        4.0 * (n - 1) ** 2,
        step=f"the {n - 1} × {n - 1} co-ranking matrix",
        remedy="Use q_nx or r_nx, which need no matrix, or pass fewer rows.",
    )
    Q = np.zeros((n - 1, n - 1), dtype=np.int32)
    pieces = [tile for part in tiles(np.arange(n), 1, data, plane) for tile in part]
    strips = [(int(s[0]), int(s[-1]) + 1) for s in np.array_split(np.arange(1, n), min(n - 1, 16))]
    for start in range(0, len(pieces), _TILES_PER_TURN):
        turn = pieces[start : start + _TILES_PER_TURN]

        def rank(rows: IntArray) -> tuple[IntArray, IntArray]:
            order = np.empty((rows.shape[0], n), dtype=np.int32)
            place = np.empty((rows.shape[0], n), dtype=np.int32)
            ranks.order_rows(data.keys(rows), rows, order)
            ranks.rank_rows(plane.keys(rows), rows, place)
            return order, place

        ranked = map_blocks(rank, turn, n_jobs=n_jobs)

        def count(strip: tuple[int, int], ranked: list[tuple[IntArray, IntArray]] = ranked) -> None:
            for order, place in ranked:  # each thread has its own rows of Q: no two write to the same entry
                ranks.count_coranks(order, place, strip[0], strip[1], Q)

        map_blocks(count, strips, n_jobs=n_jobs)
    return Q
