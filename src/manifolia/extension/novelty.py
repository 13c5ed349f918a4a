"""Novelty as a tail probability: how many ordinary rows are as far from what a map knows as this one.

With the distances of n ordinary rows as the yardstick, a row at distance d has the novelty #{d_i < d} / (n + 1), and
1 − novelty is the p-value of "this row is like them". So novelty is even among ordinary rows: half of them are above
0.5, and one in a hundred is above 0.99, from where on `threshold` calls a row novel.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.types import FloatArray

__all__ = ["tail_share", "threshold"]

_RARE = 0.99  # one ordinary row in a hundred is called novel


def tail_share(distance: FloatArray, calibration: FloatArray) -> FloatArray:
    """Tell which share of a yardstick lies below each value."""
    return np.searchsorted(np.sort(calibration), distance, side="left") / (len(calibration) + 1.0)


def threshold(n: int) -> float:
    """Tell from which novelty on a row is called unlike the others."""
    return min(_RARE, n / (n + 1.0))
