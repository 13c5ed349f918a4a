"""The curve behind the co-ranking measures: how many pairs have both ranks at most K.

Q_NX(K) = #{(i, j) : ρ_ij ≤ K and r_ij ≤ K} / (K n), with ρ the rank in the data and r the rank in the map (Lee and
Verleysen 2009). Both ranks are at most K exactly when the greater of them is, so a histogram of max(ρ, r) has all that
the curve needs: n numbers in place of the (n − 1)² of the co-ranking matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.metrics._sampling import Estimate, check_sample, draw_rows, exact, jackknife_factor, spread
from manifolia.metrics._spaces import MIN_ROWS, Space, spaces, tiles

__all__ = ["NAMES", "Options", "estimate", "quality"]

#: Parts that the rows are dealt out to; each holds one histogram until all are done.
_N_PARTS = 32
_N_REPEATS = 10
_METHODS = ("rows", "subsets")


def _histograms(data: Space, plane: Space, parts: list[list[IntArray]], n_jobs: int | None) -> IntArray:
    """Count, for each part, the pairs by the greater of their two ranks; shape (n_parts, n)."""

    def run(part: list[IntArray]) -> IntArray:
        from manifolia.kernels import ranks

        histogram = np.zeros(data.n, dtype=np.int64)
        for rows in part:
            ranks.max_rank_histogram(data.keys(rows), plane.keys(rows), rows, histogram)
        return histogram

    return np.stack(map_blocks(run, parts, n_jobs=n_jobs, anywhere=True))


def quality(histogram: IntArray) -> FloatArray:
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


#: What is read from a curve as it is.
_PLAIN: dict[str, Callable[[FloatArray], Any]] = {
    "auc_r_nx": _area,
    "lcmc": _gain,
    "q_nx": lambda q: q[:-1],
    "r_nx": _relative,
}
#: What is read at K_max, for every K that this could be.
_AT_PEAK: dict[str, Callable[[FloatArray], FloatArray]] = {
    "k_max": _sizes,
    "q_global": _right_means,
    "q_local": _left_means,
}
NAMES = (*_PLAIN, *_AT_PEAK)
#: Least and greatest value; intervals are cut to them.
_BOUNDS = {
    "auc_r_nx": (-math.inf, 1.0),
    "k_max": (1.0, math.inf),
    "lcmc": (-1.0, 1.0),
    "q_global": (0.0, 1.0),
    "q_local": (0.0, 1.0),
    "q_nx": (0.0, 1.0),
    "r_nx": (-math.inf, 1.0),
}


def _read(name: str, q: FloatArray) -> Any:
    """Read a measure from the curve."""
    if name in _PLAIN:
        return _PLAIN[name](q)
    at = int(np.argmax(_gain(q)))  # of several greatest the first
    return at + 1 if name == "k_max" else float(_AT_PEAK[name](q)[at])


def _read_with_interval(name: str, q: FloatArray, others: FloatArray, factor: float) -> Estimate:
    """Read a measure from the curve, and an interval from other curves of the same kind (see `spread`)."""
    value = _read(name, q)
    if name in _PLAIN:
        found = spread(value, [_PLAIN[name](other) for other in others], factor=factor)
        return found.within(*_BOUNDS[name])
    # Where the gain is flat, K_max is uncertain, and its jumps from sample to sample are nothing that a standard
    # error could describe. So: every K whose gain is not clearly below the greatest may be K_max, and the interval
    # reaches over the intervals of the measure at each of them.
    gain, gains = _gain(q), _gain(others)
    at = int(np.argmax(gain))
    below = spread(gain[at] - gain, gains[:, [at]] - gains, factor=factor)
    may_be = np.flatnonzero(below.low <= 0.0)
    values = np.broadcast_to(_AT_PEAK[name](others), gains.shape)
    found = spread(_AT_PEAK[name](q)[may_be], values[:, may_be], factor=factor)
    return Estimate(value, float(found.low.min()), float(found.high.max())).within(*_BOUNDS[name])


class Options(NamedTuple):
    """How the curve is computed; see `manifolia.metrics.coranking` for what each means."""

    metric: str  # Distance between rows of the data
    sample: int | None  # Rows to use
    method: str  # How a sample is used
    n_repeats: int | None  # Subsets
    random_state: RandomState  # Seed of the sample
    n_jobs: int | None  # Threads


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


def estimate(X: ArrayLike, Y: ArrayLike, names: Sequence[str], options: Options) -> dict[str, Estimate]:
    """Compute measures of the co-ranking framework, exactly or from a sample, in one pass over the rows."""
    for name in names:
        check_option(name, "names", NAMES)
    data, plane = spaces(X, Y, options.metric)
    method = check_option(options.method, "method", _METHODS)
    fewest = 2 if method == "rows" else MIN_ROWS
    size = check_sample(options.sample, low=fewest, high=data.n, what="rows")
    n_repeats = _check_repeats(options)
    if size is None:
        parts = tiles(np.arange(data.n), _N_PARTS, data, plane)
        q = quality(_histograms(data, plane, parts, options.n_jobs).sum(axis=0))
        return {name: exact(_read(name, q)) for name in names}
    if method == "rows":
        groups = draw_rows(data.n, size, options.random_state)
        # A group is a part of its own, because it is left out by itself.
        counts = _histograms(
            data, plane, [part for group in groups for part in tiles(group, 1, data, plane)], options.n_jobs
        )
        whole = counts.sum(axis=0)
        q, others = quality(whole), np.stack([quality(whole - group) for group in counts])
        factor = jackknife_factor(len(groups), share=size / data.n)
    else:
        others = _subset_curves(data, plane, size, n_repeats, options)
        q = others.mean(axis=0)
        factor = 1.0 / (n_repeats * max(1, n_repeats - 1))  # variance of a mean
    return {name: _read_with_interval(name, q, others, factor) for name in names}


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
        both = data.subset(rows), plane.subset(rows)
        counts = _histograms(*both, tiles(np.arange(size), _N_PARTS, *both), options.n_jobs)
        # Below one neighbour there is nothing to read: the curve stays at Q_M(1).
        curves.append(np.interp(wanted, np.arange(1.0, size), quality(counts.sum(axis=0))))
    return np.stack(curves)
