"""Blocks: a row of a product has the same bits alone, in any batch and on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifolia._core import blocks
from manifolia._core.blocks import BLOCK_HEIGHT, fixed_gemm, map_rows, row_blocks, standard_project

SHAPES = [(1, 1), (2, 1), (3, 2), (5, 17), (17, 5), (64, 2), (100, 33), (257, 50), (784, 3)]
HEIGHTS = [1, BLOCK_HEIGHT - 1, BLOCK_HEIGHT, BLOCK_HEIGHT + 1, 3 * BLOCK_HEIGHT - 5]


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    np.testing.assert_array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))


@given(n=st.integers(0, 1000), height=st.integers(1, 300))
def test_blocks_cover_the_rows_once_and_in_order(n, height):
    cut = row_blocks(n, height)
    assert [i for piece in cut for i in range(n)[piece]] == list(range(n))
    assert all(piece.stop - piece.start == height for piece in cut[:-1])
    assert len(cut) == -(-n // height)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("k", "m"), SHAPES)
def test_one_row_equals_its_row_in_a_batch(rng, dtype, k, m):
    A = rng.normal(size=(2 * BLOCK_HEIGHT + 7, k)).astype(dtype)
    B = rng.normal(size=(k, m)).astype(dtype)
    whole = fixed_gemm(A, B)
    assert whole.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    exact = A.astype(np.longdouble) @ B.astype(np.longdouble)
    np.testing.assert_allclose(whole, exact, rtol=0, atol=tolerance * k)
    for i in (0, 1, BLOCK_HEIGHT - 1, BLOCK_HEIGHT, len(A) - 1):
        same_bits(fixed_gemm(A[i : i + 1], B), whole[i : i + 1])
    for n in HEIGHTS:
        same_bits(fixed_gemm(A[:n], B), whole[:n])
    order = rng.permutation(len(A))
    same_bits(fixed_gemm(A[order], B), whole[order])
    same_bits(fixed_gemm(A[3:], B), whole[3:])  # every row at another place in its block


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(rng, dtype):
    A = rng.normal(size=(1500, 40)).astype(dtype)
    B = rng.normal(size=(40, 9)).astype(dtype)
    same_bits(fixed_gemm(A, B, n_jobs=1), fixed_gemm(A, B, n_jobs=2))


@pytest.mark.parametrize("layout", ["fortran", "reversed", "strided", "transposed factor", "unaligned"])
def test_the_layout_in_memory_changes_no_bit(rng, layout):
    A, B = rng.normal(size=(300, 31)), rng.normal(size=(31, 6))
    expected = fixed_gemm(A, B)
    if layout == "fortran":
        A = np.asfortranarray(A)
    elif layout == "reversed":
        A = A[::-1].copy()[::-1]
    elif layout == "strided":
        A = np.repeat(A, 2, axis=1)[:, ::2]
    elif layout == "transposed factor":
        B = np.ascontiguousarray(B.T).T
    else:
        shifted = np.empty(A.size + 1)[1:].reshape(A.shape)
        shifted[:] = A
        A = shifted
    same_bits(fixed_gemm(A, B), expected)


def test_other_rows_may_hold_anything(rng):
    A, B = rng.normal(size=(50, 20)), rng.normal(size=(20, 4))
    expected = fixed_gemm(A, B)
    spoilt = A.copy()
    spoilt[::2] = np.nan
    spoilt[10] = np.inf
    with np.errstate(invalid="ignore"):
        same_bits(fixed_gemm(spoilt, B)[1::2], expected[1::2])


@pytest.mark.parametrize(("n", "k", "m"), [(0, 3, 2), (5, 0, 2), (5, 3, 0), (0, 0, 0)])
def test_empty_products_have_numpys_shape(n, k, m):
    got = fixed_gemm(np.ones((n, k)), np.ones((k, m)))
    np.testing.assert_array_equal(got, np.ones((n, k)) @ np.ones((k, m)))
    assert got.shape == (n, m)


def test_integers_become_double():
    A, B = np.arange(6).reshape(2, 3), np.arange(3, dtype=np.float32).reshape(3, 1)
    assert fixed_gemm(A, A.T).dtype == np.float64
    np.testing.assert_array_equal(fixed_gemm(A, A.T), A @ A.T)
    assert fixed_gemm(A.astype(np.uint8), A.T.astype(np.uint8)).dtype == np.float64
    assert fixed_gemm(B.T, B).dtype == np.float32


def test_the_way_out_row_by_row_keeps_the_promise(rng, monkeypatch):
    # As with a BLAS that treats equal rows unequally by their place in a block.
    A, B = rng.normal(size=(250, 23)).astype(np.float32), rng.normal(size=(23, 8)).astype(np.float32)
    usual = fixed_gemm(A, B)
    calls = []
    by_row = blocks._by_row
    monkeypatch.setattr(blocks, "_treats_rows_equally", lambda *_: False)
    monkeypatch.setattr(blocks, "_by_row", lambda *args: calls.append(1) or by_row(*args))
    whole = fixed_gemm(A, B)
    assert calls
    np.testing.assert_allclose(whole, usual, rtol=1e-5, atol=1e-6)
    order = rng.permutation(len(A))
    same_bits(fixed_gemm(A[order], B, n_jobs=2), whole[order])
    same_bits(fixed_gemm(A[7:8], B), whole[7:8])
    assert fixed_gemm(A[:0], B).shape == (0, 8)


def test_an_unequal_blas_is_noticed(monkeypatch):
    # A product whose last row is added up in another order, as an edge kernel would.
    class Uneven(np.ndarray):
        def __matmul__(self, other):
            out = np.asarray(self) @ np.asarray(other)
            out[-1] = np.nextafter(out[-1], np.inf)
            return out

    blocks._treats_rows_equally.cache_clear()
    tile = np.tile
    try:
        assert blocks._treats_rows_equally(13, 3, 8)
        blocks._treats_rows_equally.cache_clear()
        monkeypatch.setattr(np, "tile", lambda *args: tile(*args).view(Uneven))
        assert not blocks._treats_rows_equally(13, 3, 8)
    finally:
        blocks._treats_rows_equally.cache_clear()


def test_functions_always_see_the_full_height(rng):
    X = rng.normal(size=(50, 3))
    seen = []

    def double(block):
        seen.append(block.shape)
        assert block.flags.c_contiguous
        return 2 * block

    np.testing.assert_array_equal(map_rows(double, X, height=16, n_jobs=1), 2 * X)
    assert seen == [(16, 3)] * 4
    assert map_rows(double, X[:0], height=16).shape == (0, 3)


def test_rows_may_have_any_shape(rng):
    X = rng.normal(size=(10, 2, 3))
    np.testing.assert_array_equal(map_rows(lambda block: block.sum(axis=2), X, height=4), X.sum(axis=2))
    assert map_rows(lambda block: block.sum(axis=2), X[:0], height=4).shape == (0, 2)


def test_projection_is_that_of_principal_components(rng):
    X = rng.normal(size=(40, 6))
    mean, components = rng.normal(size=6), rng.normal(size=(2, 6))
    got = standard_project(X, mean, components)
    np.testing.assert_allclose(got, (X - mean) @ components.T, atol=1e-12)
    same_bits(standard_project(X[5:6], mean, components), got[5:6])
