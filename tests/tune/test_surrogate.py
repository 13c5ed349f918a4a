"""Acquisitions and surrogates, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from manifolia.tune.surrogate import (
    ForestSurrogate,
    ProcessSurrogate,
    expected_improvement,
    lower_confidence_bound,
    probability_of_improvement,
)


def test_acquisitions_are_integrals_over_the_posterior() -> None:
    mean, sd, best = np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.3, 0.7]), 0.4
    values = np.linspace(-12, 12, 200_001)
    for i in range(3):
        density = norm.pdf(values, mean[i], sd[i])
        ei = trapezoid(np.maximum(best - values, 0) * density, values)
        assert expected_improvement(mean, sd, best)[i] == pytest.approx(ei, abs=1e-6)
        assert probability_of_improvement(mean, sd, best)[i] == pytest.approx(norm.cdf(best, mean[i], sd[i]))
    np.testing.assert_allclose(lower_confidence_bound(mean, sd, kappa=2.0), [2.0, 0.1, -0.6])


def test_acquisitions_without_doubt() -> None:
    mean, sd = np.array([0.2, 0.6]), np.zeros(2)
    np.testing.assert_allclose(expected_improvement(mean, sd, 0.5), [0.3, 0.0])
    np.testing.assert_allclose(probability_of_improvement(mean, sd, 0.5), [1.0, 0.0])


def test_a_process_is_the_textbooks() -> None:
    """Its mean and its leave-one-out predictions are those of the formulas, computed without it."""
    rng = np.random.default_rng(0)
    X = rng.random((12, 1))
    y, noise = np.sin(5 * X[:, 0]), np.full(12, 0.05)
    model = ProcessSurrogate().fit(X, y, noise)
    kernel = model._process.kernel_
    scale, center = np.std(y), np.mean(y)
    K = kernel(X) + np.diag((noise / scale) ** 2)
    T = rng.random((5, 1))
    expected = kernel(T, X) @ np.linalg.solve(K, (y - center) / scale) * scale + center
    np.testing.assert_allclose(model.predict(T)[0], expected, atol=1e-8)
    for i in range(12):
        rest = np.arange(12) != i
        left = kernel(X[[i]], X[rest]) @ np.linalg.solve(K[np.ix_(rest, rest)], ((y - center) / scale)[rest])
        assert model.leave_one_out()[i] == pytest.approx(float(left[0]) * scale + center, abs=1e-8)


def test_noise_is_not_part_of_a_prediction() -> None:
    """Many noisy values of a constant: how far the mean may be off shrinks, with known and with fitted noise."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0, 1, 8), 12)[:, None]
    y = 0.3 + np.sin(3 * X[:, 0]) + rng.normal(scale=0.2, size=96)
    for noise in (np.full(96, 0.2), None):
        model = ProcessSurrogate().fit(X, y, noise)
        sd = model.predict(X)[1]
        assert sd.max() < 0.12
        draws = model.draw(X[::12], 400, rng)
        np.testing.assert_allclose(draws.std(axis=0), sd[::12], rtol=0.3)


def test_a_forest_does_not_see_what_it_leaves_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = rng.normal(size=40)  # nothing to learn: fitted values follow it, left-out predictions do not
    model = ForestSurrogate(0).fit(X, y, None)
    assert np.corrcoef(model.predict(X)[0], y)[0, 1] > 0.8
    assert np.corrcoef(model.leave_one_out(), y)[0, 1] < 0.3
