"""The walk: row sums, powers by products and by spectrum, and damping against the explicit operator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.operators.diffusion import diffuse, markov, power
from manifolia.operators.spectrum import conjugate


def affinity(rng, n=40, *, symmetric=False):
    K = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    K[np.arange(n), (np.arange(n) + 1) % n] += 0.1  # nobody is alone
    return K + K.T if symmetric else K


def test_rows_sum_to_one(rng):
    K = affinity(rng)
    P = markov(K)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(P, K / K.sum(axis=1, keepdims=True), rtol=1e-15)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.csc_array])
def test_sparse_equals_dense(rng, kind):
    K = affinity(rng)
    K[[3, 17]] = 0.0
    P = markov(kind(K))
    assert sp.issparse(P)
    assert P.format == "csr"
    np.testing.assert_allclose(P.toarray(), markov(K), rtol=1e-15)


def test_a_row_without_affinity_stays_where_it_is(rng):
    K = affinity(rng)
    K[[3, 17]] = 0.0
    P = markov(K)
    np.testing.assert_array_equal(P[[3, 17]], np.eye(len(K))[[3, 17]])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)


def test_the_affinity_is_not_changed(rng):
    K = affinity(rng)
    K[3] = 0.0
    for kernel in (K, sp.csr_array(K)):
        before = kernel.copy()
        markov(kernel)
        assert (abs(kernel - before)).sum() == 0


def test_counts_are_affinities():
    np.testing.assert_array_equal(markov(np.array([[1, 3], [0, 0]])), [[0.25, 0.75], [0.0, 1.0]])


@pytest.mark.parametrize("t", [1, 2, 3, 4, 5, 7, 12, 16, 31])
def test_power_equals_repeated_products(rng, t):
    P = markov(affinity(rng))
    expected = np.eye(len(P))
    for _ in range(t):
        expected = expected @ P
    np.testing.assert_allclose(power(P, t), expected, atol=1e-14)


@pytest.mark.parametrize("t", [1, 2, 5, 9])
def test_power_by_products_equals_power_by_spectrum(rng, t):
    # P = D^(−1/2) A D^(1/2) with A = V Λ Vᵀ, so Pᵗ = D^(−1/2) V Λᵗ Vᵀ D^(1/2).
    K = affinity(rng, symmetric=True)
    root = np.sqrt(K.sum(axis=1))
    values, vectors = np.linalg.eigh(conjugate(K))
    spectral = (vectors * values**t) @ vectors.T * root / root[:, np.newaxis]
    np.testing.assert_allclose(power(markov(K), t), spectral, atol=1e-13)


def test_the_first_power_is_a_copy(rng):
    P = markov(affinity(rng))
    once = power(P, 1)
    np.testing.assert_array_equal(once, P)
    assert not np.shares_memory(once, P)


def test_powers_have_the_same_bits_for_any_number_of_threads(rng):
    P = markov(affinity(rng, 400))  # three blocks of rows
    for t, damping in ((6, 1.0), (5, 0.9)):
        one, two = (diffuse(P, t, damping=damping, n_jobs=n) for n in (1, 2))
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("t", [1, 2, 6, 13])
@pytest.mark.parametrize("damping", [0.0, 0.3, 0.9, 1.0])
def test_damping_equals_the_power_of_the_damped_operator(rng, t, damping):
    P = markov(affinity(rng))
    n = len(P)
    R = damping * P + (1 - damping) / n * np.ones((n, n))
    walked = diffuse(P, t, damping=damping)
    np.testing.assert_allclose(walked, np.linalg.matrix_power(R, t), atol=1e-14)
    np.testing.assert_allclose(walked.sum(axis=1), 1.0, atol=1e-13)


def test_damping_gives_every_probability_a_floor(rng):
    # Two groups that never meet: without jumps half of all probabilities are 0.
    K = np.kron(np.eye(2), affinity(rng, 20))
    P = markov(K)
    assert (diffuse(P, 4)[:20, 20:] == 0).all()
    assert diffuse(P, 4, damping=0.9).min() >= 0.1 / 40


@pytest.mark.parametrize(("t", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_a_wrong_number_of_steps_is_refused(t, error):
    for walk in (power, diffuse):
        with pytest.raises(error, match="t must be"):
            walk(np.eye(2), t)


@pytest.mark.parametrize("damping", [-0.1, 1.1, float("nan")])
def test_a_wrong_damping_is_refused(damping):
    with pytest.raises(ValueError, match="damping must be at least 0 and at most 1"):
        diffuse(np.eye(2), 2, damping=damping)
