"""Blocks of rows of one fixed height, so that a row's result never depends on the rows beside it.

A BLAS product of one row takes a different path from a product of many and rounds differently. Every block passed to
BLAS here has the same height (the last one is padded with zeros) and runs on one BLAS thread, so that row i of a
product has the same bits whether it came alone or among a million.

In single precision, the height is not enough: OpenBLAS's AVX2 kernel for ``sgemm`` gives equal rows different bits
depending on their place in a block (seen with 17 or more columns, at every height tried), while ``dgemm`` does not. So
products are computed in double precision and rounded once, and before a shape is used for the first time, a block of
equal rows is multiplied: if BLAS treats them unequally, that shape is computed row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import Array, FloatArray

#: A multiple of the register tiles (2, 4, 6, 8, 12, 16, 24, 48) of the common BLAS kernels, so that no row of a block
#: is computed by an edge kernel; high enough that BLAS reaches its speed.
BLOCK_HEIGHT = 192


def row_blocks(n_rows: int, height: int = BLOCK_HEIGHT) -> list[slice]:
    """Cut rows into slices of one height, the last one shorter."""
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
    """Apply a function of a block of rows to all rows, in blocks of a fixed height."""
    blocks = row_blocks(X.shape[0], height)
    if not blocks:
        return function(np.zeros((height, *X.shape[1:]), dtype=X.dtype))[:0]

    def run(rows: slice) -> Array:
        return function(_padded(X[rows], height))[: rows.stop - rows.start]

    return np.concatenate(map_blocks(run, blocks, n_jobs=n_jobs))


def fixed_gemm(A: FloatArray, B: FloatArray, *, height: int = BLOCK_HEIGHT, n_jobs: int | None = None) -> FloatArray:
    """Multiply ``A @ B`` so that a row of the result depends on that row of `A` and on `B` alone, to the bit."""
    dtype = np.result_type(A.dtype, B.dtype)
    if dtype.kind != "f":
        dtype = np.dtype(np.float64)
    factor = np.ascontiguousarray(B, dtype=np.float64)
    multiply = np.matmul if _treats_rows_equally(*factor.shape, height) else _by_row

    def run(block: Array) -> Array:
        return multiply(block.astype(np.float64, copy=False), factor).astype(dtype, copy=False)

    return map_rows(run, np.ascontiguousarray(A), height=height, n_jobs=n_jobs)


def _by_row(block: FloatArray, factor: FloatArray) -> FloatArray:
    return np.stack([row @ factor for row in block])


@functools.lru_cache(maxsize=256)
def _treats_rows_equally(k: int, m: int, height: int) -> bool:
    """Multiply a block of equal rows and see whether the rows of the product are equal too."""
    values = np.sin(np.arange(1.0, k * m + k + 1))  # full mantissas, so that a changed order of additions shows
    with threads(1):
        product = np.tile(values[:k], (height, 1)) @ values[k:].reshape(k, m)
    return bool((product == product[0]).all())


def standard_project(X: FloatArray, mean: FloatArray, components: FloatArray) -> FloatArray:
    """Project rows on principal components, each row alone."""
    return fixed_gemm(X - mean, np.ascontiguousarray(components.T))
