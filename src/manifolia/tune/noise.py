"""How much runs of a setting vary, and the single figure that represents them, with its standard error.

Algorithm 1 of the paper takes the mean of the repeats if they vary little, and a quantile or the mean with a multiple
of the variance if they vary a lot. It writes "mean minus c times the variance" for a loss; that would *reward*
variance, so here the sign is plus.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number
from manifolia.tune.study import Trial

_N_BOOTSTRAP = 200
_NORMAL_MEDIAN = math.sqrt(math.pi / 2)  # the median's standard error relative to the mean's, for a normal distribution
_NEAR = 0.1  # share of a parameter's range within which runs of other settings show how much runs vary
_PRIOR = 4.0  # degrees of freedom given to the spread over all settings


def check_aggregate(how: Any) -> Any:
    """Check the way of aggregating."""
    if isinstance(how, str) and how in ("auto", "mean", "median"):
        return how
    if isinstance(how, tuple) and len(how) == 2 and isinstance(how[0], str) and how[0] in ("quantile", "mean-var"):
        high = 1.0 if how[0] == "quantile" else math.inf
        check_number(how[1], f"aggregate's {how[0]}", low=0.0, high=high)
        return how
    raise ValueError(f"aggregate must be 'auto', 'mean', 'median', ('quantile', q) or ('mean-var', c), got {how!r}.")


def aggregate(losses: FloatArray, how: Any) -> float:
    """Reduce the losses of several runs to one figure."""
    return float(_figures(losses, how))


def _figures(losses: FloatArray, how: Any) -> FloatArray:
    """One figure for the runs along the last axis."""
    if how in ("mean", "median"):
        return np.asarray((np.mean if how == "mean" else np.median)(losses, axis=-1))
    kind, number = how
    if kind == "quantile":
        return np.asarray(np.quantile(losses, number, axis=-1))
    variance = np.var(losses, axis=-1, ddof=1) if losses.shape[-1] > 1 else 0.0
    return np.asarray(np.mean(losses, axis=-1) + number * variance)


def standard_error(losses: FloatArray, how: Any, spread: float) -> float:
    """Estimate how far the figure of a setting may be off."""
    n = len(losses)
    if how == "median":
        return _NORMAL_MEDIAN * spread / math.sqrt(n)
    # Quantiles and variances have no simple formula: resample the runs, scaled to the pooled deviation.
    own = float(np.std(losses, ddof=1)) if n > 1 and how != "mean" else 0.0
    if own == 0.0:
        return spread / math.sqrt(n)
    drawn = losses[np.random.default_rng(0).integers(0, n, size=(_N_BOOTSTRAP, n))]
    return float(np.std(_figures(drawn, how))) * spread / own


def choose_aggregate(losses: list[FloatArray]) -> str:
    """Apply the paper's rule to what was seen: the mean, or the median if repeats vary a lot."""
    several = [one for one in losses if len(one) > 1]
    if len(several) < 2:
        return "mean"
    within = float(np.mean([np.var(one, ddof=1) for one in several]))
    between = float(np.var([np.mean(one) for one in several], ddof=1))
    return "median" if within > between else "mean"


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

    Runs may vary ten times as much at some settings as at others (1 − NMI of t-SNE does: 0.17 where the clusters
    sometimes separate, 0.00 where they never do), and two or three runs do not show by how much. So variances are
    averaged over settings, weighted by degrees of freedom and proximity, together with a few degrees of freedom from
    all settings.
    """
    whole = pooled_spread(trials) ** 2
    freedom = np.array([max(len(t.losses) - 1, 0) for t in trials], dtype=np.float64)
    variances = np.array([np.var(t.losses, axis=0, ddof=1) if len(t.losses) > 1 else whole for t in trials])
    gaps = np.sum((features[:, None, :] - features[None, :, :]) ** 2, axis=2)
    weights = np.exp(-0.5 * gaps / _NEAR**2) * freedom
    return np.sqrt((weights @ variances + _PRIOR * whole) / (weights.sum(axis=1, keepdims=True) + _PRIOR))
