"""Rows to tune on."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.tune.subsample import leverage_scores, sample_rows, sample_size


def test_leverage_is_the_diagonal_of_the_hat_matrix() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    A = X - X.mean(axis=0)
    hat = A @ np.linalg.inv(A.T @ A) @ A.T
    np.testing.assert_allclose(leverage_scores(X, random_state=0), np.diag(hat), atol=1e-10)
    assert leverage_scores(np.ones((5, 2)), random_state=0).tolist() == [0.2] * 5


def test_rows_with_more_leverage_are_drawn_more_often() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[7] *= 30
    drawn = np.concatenate([sample_rows(X, 5, sampling="leverage", random_state=seed) for seed in range(50)])
    assert (drawn == 7).sum() > 40
    uniform = np.concatenate([sample_rows(X, 5, random_state=seed) for seed in range(50)])
    assert (uniform == 7).sum() < 20


def test_classes_are_drawn_in_proportion() -> None:
    y = np.repeat(["a", "b", "c"], [60, 30, 10])
    rows = sample_rows(np.zeros((100, 1)), 20, sampling="stratified", y=y, random_state=0)
    assert [(y[rows] == label).sum() for label in "abc"] == [12, 6, 2]
    assert len(sample_rows(np.zeros((100, 1)), 33, sampling="stratified", y=y, random_state=0)) == 33
    with pytest.raises(ValueError, match="needs y"):
        sample_rows(np.zeros((100, 1)), 20, sampling="stratified")


def test_sizes() -> None:
    assert (sample_size(None, 90), sample_size(0.5, 90), sample_size(20, 90), sample_size(1.0, 90)) == (90, 45, 20, 90)
    with pytest.raises(ValueError, match="more than the 90 rows"):
        sample_size(100, 90)
    with pytest.raises(ValueError, match="leaves 4 of 90 rows"):
        sample_size(0.05, 90)
