"""Blocks of rows of one fixed height, so that a row's result never depends on the rows beside it.

A BLAS product of one row takes another path than a product of many and rounds differently. Every block handed to BLAS
here has the same height (the last one is padded with zeros) and runs on one BLAS thread, so that row i of a product has
the same bits whether it came alone or among a million.

The height is not enough in single precision: OpenBLAS's AVX2 kernel for ``sgemm`` gives equal rows different bits by
their place inside a block (seen with 17 or more columns, at every height tried), while ``dgemm`` does not. So products
are computed in double precision and rounded once, and before a shape is used for the first time a block of equal rows
is multiplied: should a BLAS treat them unequally, that shape is computed row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import Array, FloatArray

__all__ = ["BLOCK_HEIGHT", "fixed_gemm", "map_rows", "row_blocks", "standard_project"]

#: A multiple of the register tiles (2, 4, 6, 8, 12, 16, 24, 48) of the common BLAS kernels, so that no row of a block
#: is computed by an edge kernel; high enough that BLAS reaches its speed.
BLOCK_HEIGHT = 192


def row_blocks(n_rows: int, height: int = BLOCK_HEIGHT) -> list[slice]:
    """Cut rows into slices of one height, the last one shorter.

    Parameters
    ----------
    n_rows : int
        How many rows; 0 gives no block.
    height : int, default=192
        Rows per block.

    Returns
    -------
    list of slice
        In order.
    """
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def _padded(block: Array, height: int) -> Array:
    """Return `block` as a C-contiguous array of exactly `height` rows, zeros below."""
    if block.shape[0] == height and block.flags.c_contiguous:
        return block
    out = np.zeros((height, *block.shape[1:]), dtype=block.dtype)
    out[: block.shape[0]] = block
    return out


def map_rows(
    function: Callable[[Array], Array], X: Array, *, height: int = BLOCK_HEIGHT, n_jobs: int | None = None
) -> Array:
    """Apply a function of a block of rows to all rows, in blocks of a fixed height.

    Parameters
    ----------
    function : callable
        Takes an array of exactly `height` rows and returns one with the same number of rows; rows must not mix.
    X : ndarray of shape (n, ...)
        The rows.
    height : int, default=192
        Rows per block.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n, ...)
        The function's rows.
    """
    blocks = row_blocks(X.shape[0], height)
    if not blocks:
        return function(np.zeros((height, *X.shape[1:]), dtype=X.dtype))[:0]

    def run(rows: slice) -> Array:
        return function(_padded(X[rows], height))[: rows.stop - rows.start]

    return np.concatenate(map_blocks(run, blocks, n_jobs=n_jobs))


def fixed_gemm(A: FloatArray, B: FloatArray, *, height: int = BLOCK_HEIGHT, n_jobs: int | None = None) -> FloatArray:
    """Multiply ``A @ B`` so that a row of the result depends on that row of `A` and on `B` alone, to the bit.

    Parameters
    ----------
    A : ndarray of shape (n, k)
        Rows to transform.
    B : ndarray of shape (k, m)
        The fixed factor.
    height : int, default=192
        Rows per BLAS call.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n, m)
        The product, in the common dtype of both; float64 for integers.
    """
    dtype = np.result_type(A.dtype, B.dtype)
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    factor = np.ascontiguousarray(B, dtype=np.float64)
    multiply = _by_block if _treats_rows_equally(*factor.shape, height) else _by_row

    def run(block: Array) -> Array:
        return multiply(block.astype(np.float64, copy=False), factor).astype(dtype, copy=False)

    return map_rows(run, np.ascontiguousarray(A), height=height, n_jobs=n_jobs)


def _by_block(block: FloatArray, factor: FloatArray) -> FloatArray:
    return block @ factor


def _by_row(block: FloatArray, factor: FloatArray) -> FloatArray:
    return np.stack([row @ factor for row in block])


@functools.lru_cache(maxsize=256)
def _treats_rows_equally(k: int, m: int, height: int) -> bool:
    """Multiply a block of equal rows and see whether the rows of the product are equal too."""
    values = np.sin(np.arange(1.0, k * m + k + 1))  # full mantissas, so that a changed order of additions shows
    with threads(1):
        product = np.tile(values[:k], (height, 1)) @ values[k:].reshape(k, m)
    return bool((product == product[0]).all())


def standard_project(
    X: FloatArray, mean: FloatArray, components: FloatArray, *, n_jobs: int | None = None
) -> FloatArray:
    """Project rows on principal components, each row alone.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    mean : ndarray of shape (d,)
        The centre that was subtracted when the components were found.
    components : ndarray of shape (k, d)
        One component per row, as in scikit-learn's ``components_``.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n, k)
        ``(X - mean) @ components.T``, row by row the same bits in any batch.
    """
    return fixed_gemm(X - mean, np.ascontiguousarray(components.T), n_jobs=n_jobs)
