"""The kernel of smooth radii against its naive twin."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels.fuzzy import membership_rows
from reference import fuzzy as naive


def _run(function, D, mean=1.0):
    n, k = D.shape
    rho, scale, P = np.full(n, np.nan), np.full(n, np.nan), np.full((n, k), np.nan)
    function(D, np.log2(k + 1.0), mean, rho, scale, P)
    return rho, scale, P


def _agree(D, mean=1.0):
    rho, scale, P = _run(membership_rows, D, mean)
    rho2, scale2, P2 = _run(naive.membership_rows, D, mean)
    np.testing.assert_array_equal(rho, rho2)
    # The bisection stops when the sum of strengths is right within 1e-5.
    np.testing.assert_allclose(P, P2, atol=2e-5)
    return scale, scale2


@pytest.mark.parametrize(("n", "k"), [(1, 2), (5, 3), (40, 15), (7, 60)])
def test_equals_its_twin(n, k, rng):
    D = np.sort(rng.gamma(2.0, size=(n, k)), axis=1)
    scale, expected = _agree(D)
    np.testing.assert_allclose(scale, expected, rtol=1e-3)


def test_no_rows():
    assert _run(membership_rows, np.empty((0, 4)))[2].shape == (0, 4)


def test_duplicates_and_equal_distances():
    D = np.array(
        [
            [0.0, 0.0, 0.0, 0.0],  # only duplicates: the scale is 1/1000 of the mean distance
            [0.0, 0.0, 1.0, 2.0],
            [1.0, 1.0, 1.0, 1.0],  # no scale makes four strengths of 1 add up to less
            [0.0, 0.0, 0.0, 5.0],
            [1.0, 1e6, 1e6, 1e6],
        ]
    )
    rho, scale, P = _run(membership_rows, D, mean=7.0)
    np.testing.assert_array_equal(rho, [0.0, 1.0, 1.0, 5.0, 1.0])
    np.testing.assert_allclose(scale[0], 7e-3)
    np.testing.assert_array_equal(P[0], 1.0)
    np.testing.assert_array_equal(P[2], 1.0)
    np.testing.assert_allclose(scale[2], 4.0 / 5 * 1e-3)  # 1/1000 of the mean distance of the point, itself included
    assert np.isfinite(P).all()
    assert np.isfinite(scale).all()
    _agree(D, mean=7.0)


def test_strengths_add_up(rng):
    D = np.sort(rng.gamma(2.0, size=(50, 12)), axis=1)
    P = _run(membership_rows, D)[2]
    np.testing.assert_allclose(P.sum(axis=1), np.log2(13.0), atol=1e-5)
    assert (P[:, 0] == 1.0).all()
    assert (np.diff(P, axis=1) <= 0.0).all()
