"""Novelty as a tail probability: how many ordinary rows are as far from what a map knows as this row.

With the distances of n ordinary rows as the yardstick, a row at distance d has the novelty #{d_i < d} / (n + 1), and
1 − novelty is the p-value of "this row is like them". So novelty is uniform among ordinary rows: half of them are above
0.5, and one in a hundred is above 0.99, above which `threshold` calls a row novel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.types import FloatArray
from manifolia.operators.projection import Projection

_RARE = 0.99  # one ordinary row in a hundred is called novel


def tail_share(distance: FloatArray, calibration: FloatArray) -> FloatArray:
    """Compute the share of a yardstick that lies below each value."""
    return np.searchsorted(np.sort(calibration), distance, side="left") / (len(calibration) + 1.0)


def threshold(n: int) -> float:
    """Return the novelty above which a row is called unlike the others."""
    return min(_RARE, n / (n + 1.0))


def remoteness(near: FloatArray, X: Any, Z: FloatArray, projection: Projection | None) -> FloatArray:
    """Distance from what a map knows: to its rows and, at right angles to it, to the principal components."""
    return near if projection is None else np.hypot(near, projection.distance(X, Z))
