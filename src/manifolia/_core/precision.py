"""Numbers at the limits of floats: what single precision confuses, and moments whose squares overflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.types import Array, FloatArray

_CELLS = 2**22  # numbers that are processed together
#: Share of a column's rows that single precision gives the value of others; below it, a forest is not harmed.
_CONFUSED = 0.01
#: Values that differ by less than this share of their size differ only by rounding.
_ROUNDING = 1e-12
#: A range this small compared with the values themselves needs more digits than single precision has.
_NARROW = 1e-3
_MOST, _LEAST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
_EVEN = 1e140  # numbers up to here, and down to its inverse, can be squared and added up


class Unit(NamedTuple):
    """How numbers can be shifted and scaled so that single precision tells them apart."""

    center: float  # To be subtracted
    scale: float  # To be divided by: a power of two, so that nothing is rounded
    helps: bool  # Whether that is enough


def confused_columns(X: FloatArray) -> dict[int, Unit]:
    """Find the columns that single precision cannot hold: too large, or different values that become one."""
    n, d = X.shape
    step = max(1, _CELLS // max(n, 1))
    found: dict[int, Unit] = {}
    for first in range(0, d if X.dtype == np.float64 else 0, step):
        block = X[:, first : first + step]
        size = np.abs(block)
        most = np.fmax.reduce(size, axis=0)
        least = np.fmin.reduce(np.where(size > 0.0, size, np.nan), axis=0)
        span = np.fmax.reduce(block, axis=0) - np.fmin.reduce(block, axis=0)
        for j in np.flatnonzero((most > _MOST) | (least < _LEAST) | ((span < _NARROW * most) & (span > 0.0))):
            unit = _unit_of(block[:, j][~np.isnan(block[:, j])])
            if unit is not None:
                found[first + int(j)] = unit
    return found


def _unit_of(values: FloatArray) -> Unit | None:
    top = float(np.abs(values).max())
    if top <= _MOST and not _is_confused(values):
        return None
    narrow = float(np.ptp(values)) < _NARROW * top
    center = float(np.median(values)) if narrow else 0.0
    scale = float(np.ldexp(1.0, np.frexp(np.abs(values - center).max())[1] - 1))  # no power beyond the largest number
    return Unit(center, scale, not _is_confused((values - center) / scale))


def _is_confused(values: FloatArray) -> bool:
    """Whether single precision takes many values for others, by more than rounding."""
    ordered = np.sort(values)
    ends = np.append(np.flatnonzero(np.diff(ordered.astype(np.float32))) + 1, len(ordered))
    starts = np.append(0, ends[:-1])
    for k in np.flatnonzero(ends - starts > _CONFUSED * len(ordered)):
        group = ordered[starts[k] : ends[k]]
        others = len(group) - np.unique(group, return_counts=True)[1].max()
        if others > _CONFUSED * len(ordered) and np.ptp(group) > _ROUNDING * np.abs(group).max():
            return True
    return False


def mean_and_spread(values: Array) -> tuple[float, float]:
    """Mean and standard deviation, also of numbers whose squares overflow or vanish."""
    top = float(np.abs(values).max(initial=0.0))
    power = 0 if is_even(top) else int(np.frexp(top)[1])
    even = np.ldexp(values, -power) if power else values
    return float(np.ldexp(even.mean(), power)), float(np.ldexp(even.std(), power))


def is_even(top: float) -> bool:
    """Whether numbers up to this size can be squared and added up as they are."""
    return top == 0.0 or 1.0 / _EVEN < top < _EVEN
