"""Gram matrices of neighbourhoods against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.kernels import tangent as kernels
from reference import tangent as naive


def _case(n, p, k, rng, dtype=np.float64):
    X = rng.normal(size=(n, p)).astype(dtype)
    nearest = np.stack([rng.permutation(n)[:k] for _ in range(n)]).astype(np.int64)
    return X, nearest


def _parts(X):
    X = sp.csr_array(X)
    return X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-13)])
@pytest.mark.parametrize(("n", "p", "k"), [(3, 1, 1), (6, 5, 2), (20, 7, 5), (30, 784, 15), (16, 2500, 8)])
def test_dense_equals_its_twin(n, p, k, dtype, tolerance, rng):
    X, nearest = _case(n, p, k, rng, dtype)
    ours, theirs = np.full((n, k, k), np.nan), np.empty((n, k, k))
    kernels.gram_rows(X, X, nearest, 0, ours)
    naive.gram_rows(X, X, nearest, 0, theirs)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * p)
    np.testing.assert_array_equal(ours, ours.transpose(0, 2, 1))


@pytest.mark.parametrize(("n", "p", "k"), [(3, 1, 1), (6, 5, 2), (20, 40, 5), (30, 300, 15)])
def test_sparse_equals_its_twin(n, p, k, rng):
    X, nearest = _case(n, p, k, rng)
    X *= rng.random(X.shape) < 0.3
    ours, theirs = np.full((n, k, k), np.nan), np.empty((n, k, k))
    kernels.gram_rows_sparse(*_parts(X), *_parts(X), p, nearest, 0, ours)
    naive.gram_rows_sparse(*_parts(X), *_parts(X), p, nearest, 0, theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def test_new_rows(rng):
    X, nearest = _case(20, 6, 4, rng)
    Q = rng.normal(size=(5, 6))
    dense, sparse, expected = (np.empty((5, 4, 4)) for _ in range(3))
    kernels.gram_rows(Q, X, nearest[:5], 0, dense)
    kernels.gram_rows_sparse(*_parts(Q), *_parts(X), 6, nearest[:5], 0, sparse)
    naive.gram_rows(Q, X, nearest[:5], 0, expected)
    np.testing.assert_allclose(dense, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sparse, expected, rtol=1e-11, atol=1e-11)


def test_duplicates_have_no_extent_at_all(rng):
    X = np.repeat(rng.normal(size=(1, 50)) * 1e3, 6, axis=0)
    nearest = np.array([[1, 2, 3, 4, 5]])
    for G in (np.full((1, 5, 5), np.nan) for _ in range(2)):
        kernels.gram_rows(X, X, nearest, 0, G)
        np.testing.assert_array_equal(G, 0.0)
        kernels.gram_rows_sparse(*_parts(X), *_parts(X), 50, nearest, 0, G)
        np.testing.assert_array_equal(G, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_bits_in_any_block(dtype, rng):
    X, nearest = _case(40, 1100, 7, rng, dtype)
    whole = np.empty((40, 7, 7))
    kernels.gram_rows(X, X, nearest, 0, whole)
    for start, stop in [(0, 1), (7, 8), (3, 40)]:
        part = np.empty((stop - start, 7, 7))
        kernels.gram_rows(X, X, nearest, start, part)
        np.testing.assert_array_equal(part, whole[start:stop])
