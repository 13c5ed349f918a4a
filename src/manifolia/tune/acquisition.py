"""What trying a setting promises: expected improvement, its probability, and the lower confidence bound.

For a loss with posterior mean m and standard deviation s, and the best value so far f, with z = (f − m)/s:

====  =============================  =============================================================
EI    (f − m) Φ(z) + s φ(z)          how much better it is expected to be
PI    Φ(z)                           how likely it is better at all
LCB   −(m − κ s)                     how good it may be; κ = 1.96
====  =============================  =============================================================

All are larger where a trial is worth more.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from manifolia._core.types import FloatArray

__all__ = ["expected_improvement", "lower_confidence_bound", "probability_of_improvement"]

_KAPPA = 1.96  # as in scikit-optimize, which the paper used


def expected_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """Compute the expected improvement below `best`."""
    gain = best - np.asarray(mean, dtype=np.float64)
    sd = np.asarray(sd, dtype=np.float64)
    safe = np.where(sd > 0, sd, 1.0)
    z = gain / safe
    uncertain = gain * ndtr(z) + sd * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.maximum(np.where(sd > 0, uncertain, gain), 0.0)


def probability_of_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """Compute the probability of a loss below `best`."""
    gain = best - np.asarray(mean, dtype=np.float64)
    sd = np.asarray(sd, dtype=np.float64)
    return np.where(sd > 0, ndtr(gain / np.where(sd > 0, sd, 1.0)), (gain > 0).astype(np.float64))


def lower_confidence_bound(mean: FloatArray, sd: FloatArray, *, kappa: float = _KAPPA) -> FloatArray:
    """Compute how good a setting may be, as a figure that is larger for better ones."""
    return kappa * np.asarray(sd) - np.asarray(mean)
