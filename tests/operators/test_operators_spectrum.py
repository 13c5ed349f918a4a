"""Eigenvalues of walks: closed forms, LAPACK on the walk itself, and the subspace iteration against both."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles

from manifolia.operators.diffusion import markov
from manifolia.operators.spectrum import conjugate, eigenvalues, leading_vectors, orthonormal_basis


def kernel(rng, n=60, width=0.8):
    X = rng.normal(size=(n, 2))
    return np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2) / width**2)


def test_the_conjugate_has_the_eigenvalues_of_the_walk(rng):
    K = kernel(rng)
    of_the_walk = np.linalg.eigvals(markov(K))
    assert np.abs(of_the_walk.imag).max() < 1e-10
    np.testing.assert_allclose(eigenvalues(K), np.sort(of_the_walk.real), atol=1e-10)


def test_complete_graph_without_loops():
    # Eigenvalues 1 and, n − 1 times, −1 / (n − 1).
    n = 9
    expected = np.append(np.full(n - 1, -1 / (n - 1)), 1.0)
    np.testing.assert_allclose(eigenvalues(np.ones((n, n)) - np.eye(n)), expected, atol=1e-14)


def test_cycle():
    # The walk round a ring of n rows has the eigenvalues cos(2 π k / n); an even ring has −1.
    n = 8
    ring = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    np.testing.assert_allclose(eigenvalues(ring), np.sort(np.cos(2 * np.pi * np.arange(n) / n)), atol=1e-14)


def test_one_eigenvalue_of_one_for_each_piece_and_each_row_alone(rng):
    K = sp.block_diag([kernel(rng, 10), kernel(rng, 7), np.zeros((2, 2))]).toarray()
    found = eigenvalues(K)
    assert (found > 1 - 1e-12).sum() == 4
    assert found.min() >= -1 - 1e-12
    np.testing.assert_array_equal(conjugate(K)[-2:], np.eye(19)[-2:])


def test_a_directed_kernel_is_made_symmetric(rng):
    K = rng.random((30, 30))
    np.testing.assert_allclose(eigenvalues(K), eigenvalues((K + K.T) / 2), atol=1e-12)
    np.testing.assert_allclose(conjugate(K), conjugate(K).T, rtol=1e-15)


def test_sparse_equals_dense_and_nothing_is_changed(rng):
    K = kernel(rng) * (rng.random((60, 60)) < 0.5)
    before = K.copy()
    np.testing.assert_allclose(eigenvalues(sp.csr_array(K)), eigenvalues(K), atol=1e-13)
    np.testing.assert_array_equal(K, before)


def leading(K, n_vectors, **options):
    return leading_vectors(lambda V: K @ V, K.sum(axis=1), n_vectors, **options)


def test_leading_vectors_span_the_leading_eigenspace(rng):
    K = kernel(rng, 200)
    found = leading(K, 6, n_passes=60, random_state=0)
    values, vectors = np.linalg.eigh(conjugate(K))
    order = np.argsort(-np.abs(values))[:6]
    np.testing.assert_allclose(found.values, values[order], rtol=1e-6)
    root = np.sqrt(K.sum(axis=1))[:, np.newaxis]
    assert np.rad2deg(subspace_angles(root * found.vectors, vectors[:, order]).max()) < 0.01
    np.testing.assert_allclose((root * found.vectors).T @ (root * found.vectors), np.eye(6), atol=1e-12)


def test_leading_vectors_are_right_eigenvectors_of_the_walk(rng):
    K = kernel(rng, 200)
    found = leading(K, 4, n_passes=60, random_state=0)
    np.testing.assert_allclose(markov(K) @ found.vectors, found.vectors * found.values, atol=1e-7)
    first = found.vectors[:, 0] / found.vectors[0, 0]
    np.testing.assert_allclose(found.values[0], 1.0, atol=1e-12)
    np.testing.assert_allclose(first, 1.0, atol=1e-8)  # P 1 = 1


def test_negative_eigenvalues_lead_by_their_size():
    n = 12
    ring = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    found = leading(ring, 2, n_passes=4, random_state=0)
    np.testing.assert_allclose(np.sort(found.values), [-1.0, 1.0], atol=1e-8)


def test_values_are_never_larger_than_the_true_ones(rng):
    K = kernel(rng, 150, width=0.3)
    truth = np.sort(np.abs(eigenvalues(K)))[::-1]
    for n_passes in (0, 1, 2):
        found = leading(K, 20, n_passes=n_passes, random_state=1)
        assert (np.diff(np.abs(found.values)) <= 0).all()
        assert (np.abs(found.values) <= truth[:20] + 1e-12).all()


def test_more_passes_come_closer(rng):
    K = kernel(rng, 150, width=0.3)
    truth = np.sort(np.abs(eigenvalues(K)))[::-1][:20]
    missing = [(truth - np.abs(leading(K, 20, n_passes=p, random_state=1).values)).sum() for p in (0, 2, 6)]
    assert missing[0] > 2 * missing[1] > 4 * missing[2]


def test_as_many_vectors_as_rows_are_all_of_them(rng):
    K = kernel(rng, 9)
    found = leading(K, 9, random_state=0)
    np.testing.assert_allclose(np.sort(found.values), eigenvalues(K), atol=1e-12)


def test_rows_without_affinity_get_no_coordinates(rng):
    K = kernel(rng, 30)
    K[4] = K[:, 4] = 0.0
    found = leading(K, 3, random_state=0)
    assert (found.vectors[4] == 0).all()
    assert np.isfinite(found.vectors).all()


def test_the_seed_and_not_the_threads_decide_the_bits(rng):
    K = kernel(rng, 500)
    one, two, other = (leading(K, 10, random_state=s, n_jobs=n).vectors.tobytes() for s, n in ((3, 1), (3, 2), (4, 1)))
    assert one == two
    assert one != other


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_eigenvalues_have_the_same_bits_for_any_number_of_threads(rng, n_jobs):
    K = kernel(rng, 300)
    assert eigenvalues(K, n_jobs=n_jobs).tobytes() == eigenvalues(K).tobytes()


@pytest.mark.parametrize("condition", [1.0, 1e5, 1e9, 1e14])
def test_a_basis_is_orthonormal_and_spans_the_columns_whatever_their_condition(rng, condition):
    U = np.linalg.qr(rng.normal(size=(20_000, 6)))[0]
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    A = U * np.geomspace(1.0, 1.0 / condition, 6) @ V.T
    Q = orthonormal_basis(A)
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-13)
    np.testing.assert_allclose(Q @ (Q.T @ A), A, atol=1e-14)


def test_a_basis_of_dependent_or_zero_columns_is_still_orthonormal(rng):
    column = rng.normal(size=(500, 1))
    for A in (np.hstack([column, 2 * column, column]), np.zeros((500, 3))):
        np.testing.assert_allclose(orthonormal_basis(A).T @ orthonormal_basis(A), np.eye(3), atol=1e-13)


def test_a_basis_has_the_same_bits_for_any_number_of_threads(rng):
    A = rng.normal(size=(30_000, 5))
    assert orthonormal_basis(A, n_jobs=1).tobytes() == orthonormal_basis(A, n_jobs=2).tobytes()
