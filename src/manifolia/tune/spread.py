"""How much runs of a setting vary, from its own runs and those of settings near by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifolia._core.types import FloatArray
from manifolia.tune.study import Trial

__all__ = ["local_spread", "pooled_spread"]

_NEAR = 0.1  # of a parameter's range: within it runs of other settings tell how much runs vary
_PRIOR = 4.0  # degrees of freedom that the spread over all settings counts for


def pooled_spread(trials: Sequence[Trial]) -> FloatArray:
    """Pool the standard deviation of one run over settings."""
    m = trials[0].losses.shape[1]
    squares, freedom = np.zeros(m), 0
    for trial in trials:
        if len(trial.losses) > 1:
            squares += (len(trial.losses) - 1) * np.var(trial.losses, axis=0, ddof=1)
            freedom += len(trial.losses) - 1
    return np.sqrt(squares / freedom) if freedom else np.zeros(m)


def local_spread(trials: Sequence[Trial], features: FloatArray) -> FloatArray:
    """Estimate the standard deviation of one run at each setting from the runs there and near it.

    Runs may vary ten times as much at some settings as at others (1 − NMI of t-SNE does: 0.17 where the clusters part
    now and then, 0.00 where they never do), and two or three runs do not tell by how much. So variances are averaged
    over settings, by degrees of freedom and by nearness, together with a few degrees of freedom of all.
    """
    whole = pooled_spread(trials) ** 2
    freedom = np.array([max(len(t.losses) - 1, 0) for t in trials], dtype=np.float64)
    variances = np.array([np.var(t.losses, axis=0, ddof=1) if len(t.losses) > 1 else whole for t in trials])
    gaps = np.sum((features[:, None, :] - features[None, :, :]) ** 2, axis=2)
    weights = np.exp(-0.5 * gaps / _NEAR**2) * freedom
    return np.sqrt((weights @ variances + _PRIOR * whole) / (weights.sum(axis=1, keepdims=True) + _PRIOR))
