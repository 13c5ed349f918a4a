"""One figure for the runs of a setting, and how sure it is."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.tune.noise import (
    aggregate,
    check_aggregate,
    choose_aggregate,
    local_spread,
    pooled_spread,
    standard_error,
)
from manifolia.tune.study import Trial, TrialRun


def test_variance_is_punished_and_not_rewarded() -> None:
    steady, wild = np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.5, 1.0])
    assert aggregate(wild, ("mean-var", 2.0)) > aggregate(steady, ("mean-var", 2.0))
    assert aggregate(wild, ("quantile", 0.75)) == 0.75
    assert aggregate(np.array([1.0, 2.0, 9.0]), "median") == 2.0
    with pytest.raises(ValueError, match="aggregate must be 'auto'"):
        check_aggregate("best")


def test_standard_errors_are_what_repeated_studies_scatter_by() -> None:
    rng = np.random.default_rng(0)
    for how in ("mean", "median", ("quantile", 0.75)):
        figures = [aggregate(rng.normal(size=40), how) for _ in range(2000)]
        claimed = np.mean([standard_error(rng.normal(size=40), how, 1.0) for _ in range(40)])
        assert claimed == pytest.approx(np.std(figures), rel=0.2)


def test_quick_errors_of_quantiles_are_those_of_the_aggregate() -> None:
    """The resampled figures are computed at once; one by one they are the same."""
    losses = np.random.default_rng(0).normal(size=7)
    for how in (("quantile", 0.75), ("mean-var", 2.0)):
        drawn = losses[np.random.default_rng(0).integers(0, 7, size=(200, 7))]
        expected = np.std([aggregate(row, how) for row in drawn]) * 0.3 / np.std(losses, ddof=1)
        assert standard_error(losses, how, 0.3) == pytest.approx(expected)


def test_the_median_where_runs_vary_more_than_settings() -> None:
    rng = np.random.default_rng(0)
    assert choose_aggregate([rng.normal(i, 0.1, 10) for i in range(5)]) == "mean"
    assert choose_aggregate([rng.normal(0, 1.0, 10) for i in range(5)]) == "median"
    assert choose_aggregate([np.zeros(1)] * 3) == "mean"


def trial(x: float, losses: list[float]) -> Trial:
    runs = [TrialRun((loss,), (1 - loss,), fingerprint=str(i)) for i, loss in enumerate(losses)]
    return Trial(0, "model", {"x": x}, {}, runs)


def test_spread_is_that_of_the_runs_near_by() -> None:
    """Wild on the left, steady on the right; two runs of the left that happen to agree do not make it sure."""
    rng = np.random.default_rng(0)
    places = np.linspace(0, 1, 11)
    trials = [trial(x, list(0.5 + (0.2 if x < 0.5 else 0.002) * rng.normal(size=10))) for x in places]
    lucky = trial(0.15, [0.1, 0.1])
    features = np.append(places, 0.15)[:, None]
    found = local_spread([*trials, lucky], features)[:, 0]
    assert found[:3].min() > 0.12
    assert found[8:11].max() < 0.09
    assert found[-1] > 0.12
    np.testing.assert_allclose(local_spread(trials, np.zeros((11, 1))), np.tile(pooled_spread(trials), (11, 1)))
