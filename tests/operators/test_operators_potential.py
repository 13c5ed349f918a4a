"""Potentials and their distances, against loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manifolia.operators.potential import POTENTIALS, potential, potential_distances


def walk(rng, n=30, m=None):
    P = rng.random((n, m or n)) ** 4
    P[P < 0.05] = 0.0
    P[:, 0] += 0.1  # no empty row
    return P / P.sum(axis=1, keepdims=True)


def naive_potential(P, kind):
    n, m = P.shape
    U = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            U[i, j] = -math.log(P[i, j] + 1e-7 / m) if kind == "log" else 2 * math.sqrt(P[i, j])
    return U


def naive_distances(U):
    n = len(U)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            D[i, j] = math.sqrt(sum((a - b) ** 2 for a, b in zip(U[i], U[j], strict=True)))
    return D


@pytest.mark.parametrize("kind", POTENTIALS)
def test_against_loops(rng, kind):
    P = walk(rng)
    U = potential(P, kind=kind)
    np.testing.assert_allclose(U, naive_potential(P, kind), rtol=1e-14)
    np.testing.assert_allclose(potential_distances(U), naive_distances(U), rtol=1e-10, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 191, 192, 193, 400])
def test_symmetric_to_the_bit_with_a_zero_diagonal(rng, n):
    D = potential_distances(potential(walk(rng, n)))
    assert D.shape == (n, n)
    assert (D == D.T).all()
    assert (np.diagonal(D) == 0).all()
    assert (D >= 0).all()


def test_blocks_agree_with_plain_differences(rng):
    U = rng.normal(size=(250, 7)) + 1e6  # far from the origin: squares would cancel to nothing
    expected = np.sqrt(((U[:, np.newaxis] - U) ** 2).sum(axis=2))
    np.testing.assert_allclose(potential_distances(U), expected, rtol=1e-7, atol=1e-6)


def test_equal_rows_have_no_distance(rng):
    U = rng.normal(size=(20, 5))
    U[7] = U[3]
    D = potential_distances(U)
    assert D[3, 7] < 1e-6
    np.testing.assert_allclose(D[3], D[7], atol=1e-6)


def test_square_root_distances_are_bounded():
    # Hellinger: two walks that share no row are 2 √2 apart.
    P = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    assert potential_distances(potential(P, kind="sqrt"))[0, 1] == pytest.approx(2 * math.sqrt(2))


def test_the_floor_of_the_logarithm_is_relative_to_the_uniform_probability(rng):
    for n in (10, 1000):
        U = potential(np.eye(n)[:2])
        assert U.max() - U.min() == pytest.approx(math.log(1e7 * n + 1))
        uniform = potential(np.full((1, n), 1 / n))
        assert U.max() - uniform[0, 0] == pytest.approx(math.log(1e7 + 1))  # the same for every n


def test_rounding_below_zero_is_zero():
    P = np.array([[1.0 + 1e-17, -1e-17]])
    for kind in POTENTIALS:
        np.testing.assert_array_equal(potential(P, kind=kind), potential(np.maximum(P, 0), kind=kind))


def test_same_bits_for_any_number_of_threads(rng):
    U = rng.normal(size=(500, 40))
    one, two = (potential_distances(U, n_jobs=n) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_an_unknown_potential_is_refused():
    with pytest.raises(ValueError, match="potential must be one of 'log', 'sqrt', got 'square'"):
        potential(np.eye(2), kind="square")
