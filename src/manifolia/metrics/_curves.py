"""The curve behind the co-ranking measures: how many pairs have both ranks at most K.

Q_NX(K) = #{(i, j) : ρ_ij ≤ K and r_ij ≤ K} / (K n), with ρ the rank in the data and r the rank in the map (Lee and
Verleysen 2009). Both ranks are at most K exactly when the greater of them is, so a histogram of max(ρ, r) has all that
the curve needs: n numbers in place of the (n − 1)² of the co-ranking matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.metrics._sampling import Estimate, check_sample, draw_rows, exact, jackknife, spread
from manifolia.metrics._spaces import MIN_ROWS, Space, spaces, tiles

__all__ = ["Options", "Statistic", "area", "estimate", "left_mean", "peak", "quality", "relative", "right_mean"]

#: Parts that the rows are dealt out to; each holds one histogram until all are done.
_N_PARTS = 32
_N_REPEATS = 10
_METHODS = ("rows", "subsets")
#: Takes the curve Q_NX(1 … n − 1) and gives a number or an array.
Statistic = Callable[[FloatArray], Any]


def _histograms(data: Space, plane: Space, parts: list[list[IntArray]], n_jobs: int | None) -> IntArray:
    """Count, for each part, the pairs by the greater of their two ranks; shape (n_parts, n)."""

    def run(part: list[IntArray]) -> IntArray:
        from manifolia.kernels import ranks

        histogram = np.zeros(data.n, dtype=np.int64)
        for rows in part:
            ranks.max_rank_histogram(data.keys(rows), plane.keys(rows), rows, histogram)
        return histogram

    return np.stack(map_blocks(run, parts, n_jobs=n_jobs))


def quality(histogram: IntArray) -> FloatArray:
    """Turn a histogram of the greater ranks into Q_NX.

    Parameters
    ----------
    histogram : ndarray of int of shape (n,)
        Of any number of rows; entry 0 is empty.

    Returns
    -------
    ndarray of shape (n - 1,)
        Q_NX(1 … n − 1), the last one 1.
    """
    n = histogram.shape[0]
    both = np.cumsum(histogram[1:])
    n_rows = both[-1] // (n - 1)  # each row has n − 1 pairs
    return both / (np.arange(1.0, n) * n_rows)


def relative(q: FloatArray) -> FloatArray:
    """Turn Q_NX into R_NX: 0 for a random map, 1 for a perfect one.

    Parameters
    ----------
    q : ndarray of shape (n - 1,)
        Q_NX(1 … n − 1).

    Returns
    -------
    ndarray of shape (n - 2,)
        ((n − 1) Q_NX(K) − K) / (n − 1 − K) for K = 1 … n − 2.
    """
    last = q.shape[0]
    k = np.arange(1.0, last)
    return (last * q[:-1] - k) / (last - k)


def area(q: FloatArray) -> float:
    """Average R_NX with weights 1/K.

    Parameters
    ----------
    q : ndarray of shape (n - 1,)
        Q_NX(1 … n − 1).

    Returns
    -------
    float
        Σ_K R_NX(K)/K / Σ_K 1/K over K = 1 … n − 2.
    """
    weights = 1.0 / np.arange(1.0, q.shape[0])
    return float((relative(q) * weights).sum() / weights.sum())


def peak(q: FloatArray) -> int:
    """Find K_max.

    Parameters
    ----------
    q : ndarray of shape (n - 1,)
        Q_NX(1 … n − 1).

    Returns
    -------
    int
        The first K in 1 … n − 2 at which Q_NX(K) − K/(n − 1) is greatest.
    """
    last = q.shape[0]
    return int(np.argmax(q[:-1] - np.arange(1.0, last) / last)) + 1


def left_mean(q: FloatArray) -> float:
    """Average Q_NX up to K_max.

    Parameters
    ----------
    q : ndarray of shape (n - 1,)
        Q_NX(1 … n − 1).

    Returns
    -------
    float
        Q_local.
    """
    return float(q[: peak(q)].mean())


def right_mean(q: FloatArray) -> float:
    """Average Q_NX from K_max on.

    Parameters
    ----------
    q : ndarray of shape (n - 1,)
        Q_NX(1 … n − 1).

    Returns
    -------
    float
        Q_global.
    """
    return float(q[peak(q) - 1 : -1].mean())


class Options(NamedTuple):
    """How the curve is computed; see `manifolia.metrics.coranking` for what each means.

    Attributes
    ----------
    metric : str
        Distance between rows of the data.
    sample : int or None
        Rows to use.
    method : {"rows", "subsets"}
        How a sample is used.
    n_repeats : int or None
        Subsets.
    random_state : int, RandomState, Generator or None
        Seed of the sample.
    n_jobs : int or None
        Threads.
    """

    metric: str
    sample: int | None
    method: str
    n_repeats: int | None
    random_state: RandomState
    n_jobs: int | None


def _check_repeats(options: Options) -> int:
    if options.n_repeats is None:
        return _N_REPEATS
    if options.sample is None or options.method != "subsets":
        message = (
            f"n_repeats={options.n_repeats} is the number of subsets and there are none. "
            f"Pass method='subsets' and the size of a subset as sample, or leave n_repeats out."
        )
        raise ValueError(message)
    return int(check_number(options.n_repeats, "n_repeats", low=1, integer=True))


def estimate(X: ArrayLike, Y: ArrayLike, statistics: dict[str, Statistic], options: Options) -> dict[str, Estimate]:
    """Compute statistics of the curve Q_NX, exactly or from a sample, in one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data.
    Y : array-like of shape (n, n_components)
        Map.
    statistics : dict of str to callable
        Each takes Q_NX(1 … n − 1) and returns a number or an array.
    options : Options
        Distance, sample and threads.

    Returns
    -------
    dict of str to Estimate
        By the same names.
    """
    data, plane = spaces(X, Y, options.metric)
    method = check_option(options.method, "method", _METHODS)
    fewest = 2 if method == "rows" else MIN_ROWS
    size = check_sample(options.sample, low=fewest, high=data.n, what="rows")
    n_repeats = _check_repeats(options)
    if size is None:
        parts = tiles(np.arange(data.n), _N_PARTS)
        q = quality(_histograms(data, plane, parts, options.n_jobs).sum(axis=0))
        return {name: exact(statistic(q)) for name, statistic in statistics.items()}
    if method == "rows":
        groups = draw_rows(data.n, size, options.random_state)
        # A group is a part of its own, because the jackknife leaves out its histogram.
        parts = [part for group in groups for part in tiles(group, 1)]
        counts = _histograms(data, plane, parts, options.n_jobs)
        return {
            name: jackknife(_of_counts(statistic), counts, share=size / data.n)
            for name, statistic in statistics.items()
        }
    curves = _subset_curves(data, plane, size, n_repeats, options)
    mean = curves.mean(axis=0)
    factor = 1.0 / (n_repeats * max(1, n_repeats - 1))  # variance of a mean
    return {
        name: spread(statistic(mean), [statistic(curve) for curve in curves], factor=factor)
        for name, statistic in statistics.items()
    }


def _of_counts(statistic: Statistic) -> Callable[[IntArray], Any]:
    return lambda counts: statistic(quality(counts))


def _subset_curves(data: Space, plane: Space, size: int, n_repeats: int, options: Options) -> FloatArray:
    """Compute Q_NX inside random subsets and read each at the neighbourhood sizes of the whole; (n_repeats, n − 1)."""
    generator = as_generator(options.random_state)
    # Section 5 of Gisbrecht, Schulz and Hammer 2015: Q_m(k) ≈ Q_M(k M / m) for a subset of M of m points. (They print
    # m k / M, which would ask the subset for more neighbours than it has points.) A neighbourhood leaves out the point
    # itself, so the fraction taken here is (M − 1)/(m − 1); it carries the baseline k/(m − 1) onto itself.
    wanted = np.arange(1.0, data.n) * (size - 1) / (data.n - 1)
    curves = []
    for _ in range(n_repeats):
        rows = np.sort(generator.permutation(data.n)[:size]).astype(np.int64)
        counts = _histograms(data.subset(rows), plane.subset(rows), tiles(np.arange(size), _N_PARTS), options.n_jobs)
        # Below one neighbour there is nothing to read: the curve stays at Q_M(1).
        curves.append(np.interp(wanted, np.arange(1.0, size), quality(counts.sum(axis=0))))
    return np.stack(curves)
