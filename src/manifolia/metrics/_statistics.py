"""Correlations that are defined everywhere, and 95 % intervals of shares and means."""

from __future__ import annotations

import math

import numpy as np

from manifolia._core.types import FloatArray

#: Two-sided 95 % point of the standard normal distribution.
_Z95 = 1.959963984540054


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Pearson's correlation, 0 where one side does not vary."""
    x = a - a.mean()
    z = b - b.mean()
    # Differences of the size of the rounding error of the values are no variation.
    noise = 8 * np.finfo(np.float64).eps
    if np.abs(x).max() <= noise * np.abs(a).max() or np.abs(z).max() <= noise * np.abs(b).max():
        return 0.0
    x = x / np.abs(x).max()  # squares of tiny or huge values neither vanish nor overflow
    z = z / np.abs(z).max()
    return float(np.clip((x @ z) / math.sqrt((x @ x) * (z @ z)), -1.0, 1.0))


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's correlation, 0 where one side does not vary."""
    from scipy.stats import rankdata

    return correlation(rankdata(a), rankdata(b))


def r2(guess: FloatArray, truth: FloatArray) -> float:
    """R² over all columns together; 0 where the truth does not vary."""
    total = float(((truth - truth.mean(axis=0)) ** 2).sum())
    return 1.0 - float(((guess - truth) ** 2).sum()) / total if total > 0 else 0.0


def share_interval(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson 1927)."""
    z2 = _Z95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_interval(values: FloatArray, *, population: int | None = None) -> tuple[float, float]:
    """95 % interval of a mean from the values of a sample (Student's t)."""
    m = values.shape[0]
    mean = float(values.mean())
    if population is not None and m >= population:
        return mean, mean
    if m < 2:
        return -math.inf, math.inf
    from scipy.special import stdtrit

    fraction = 1.0 if population is None else (population - m) / (population - 1)
    half = stdtrit(m - 1, 0.975) * float(values.std(ddof=1)) / math.sqrt(m) * math.sqrt(fraction)
    return mean - float(half), mean + float(half)
