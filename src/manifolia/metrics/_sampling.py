"""Estimates from a sample: which rows or pairs, and an interval for what they say of all.

The sample is cut at random into groups, the measure is computed again without each group in turn, and the spread of
these values gives the standard error (the delete-a-group jackknife). That needs no formula of its own for each measure
and also holds for those that are no averages, such as a correlation or a mean up to a point that is itself estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray, RandomState
from manifolia._core.validate import check_number

__all__ = ["N_GROUPS", "Estimate", "check_sample", "draw_pairs", "draw_rows", "exact", "jackknife_factor", "spread"]

#: Groups of a sample. With 20 the quantile of Student's t is 7 % above the normal one, and a group of 100 rows has 5.
N_GROUPS = 20
LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its interval."""

    value: Any  # The measure, or a curve of it
    low: Any  # 95 % interval; both equal to the value where nothing was sampled
    high: Any  # 95 % interval; both equal to the value where nothing was sampled

    def within(self, low: float, high: float) -> Estimate:
        """Cut the interval to the values that the measure can have."""
        if np.ndim(self.value):
            return Estimate(self.value, np.clip(self.low, low, high), np.clip(self.high, low, high))
        return Estimate(self.value, min(max(self.low, low), high), min(max(self.high, low), high))

    def result(self, *, return_ci: bool) -> Any:
        """Give what a metric returns."""
        return (self.value, (self.low, self.high)) if return_ci else self.value


def exact(value: Any) -> Estimate:
    """Wrap a value that was not estimated."""
    return Estimate(value, value, value)


def check_sample(sample: int | None, *, low: int, high: int | None, what: str) -> int | None:
    """Check the size of a sample."""
    if sample is None:
        return None
    limit = np.inf if high is None else high
    hint = f"It is a number of {what}; None uses all of them."
    return int(check_number(sample, "sample", low=low, high=limit, integer=True, hint=hint))


def draw_rows(n: int, size: int, random_state: RandomState) -> list[IntArray]:
    """Draw different rows, in random groups."""
    rows = as_generator(random_state).permutation(n)[:size].astype(np.int64)
    return [np.sort(group) for group in np.array_split(rows, min(N_GROUPS, size))]


def draw_pairs(n: int, size: int, random_state: RandomState) -> tuple[IntArray, IntArray]:
    """Draw pairs of different points, with replacement."""
    generator = as_generator(random_state)
    a = generator.integers(0, n, size=size)
    b = generator.integers(0, n - 1, size=size)
    return a, b + (b >= a)


def spread(value: Any, others: Sequence[Any] | FloatArray, *, factor: float) -> Estimate:
    """Set an interval around a value from other values of the same measure."""
    if factor <= 0.0:  # nothing was left out
        return exact(value)
    values = np.asarray(others, dtype=np.float64)
    if values.shape[0] < 2:
        half: Any = np.full(np.shape(value), np.inf)[()]
    else:
        from scipy.special import stdtrit

        deviations = values - values.mean(axis=0)
        error = np.sqrt((deviations * deviations).sum(axis=0) * factor)
        half = error * stdtrit(values.shape[0] - 1, 0.5 + LEVEL / 2)
    if np.ndim(value) == 0:
        return Estimate(value, float(value - half), float(value + half))
    return Estimate(value, value - half, value + half)


def jackknife_factor(n_groups: int, *, share: float = 0.0) -> float:
    """Give the factor for `spread` if each of the other values leaves out one group."""
    return (n_groups - 1) / n_groups * (1.0 - share)
