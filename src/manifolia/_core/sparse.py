"""Sparse matrices: the largest entries of their rows, in one pass over all rows; and rows filled in."""

from __future__ import annotations

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import is_sparse


def places_in_rows(K: Sparse) -> IntArray:
    """Number each stored entry by its rank in its row: 0 for the largest; ties go to the lower column."""
    lengths = np.diff(K.indptr)
    order = np.lexsort((K.indices, -K.data, np.repeat(np.arange(K.shape[0]), lengths)))
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order)) - np.repeat(K.indptr[:-1], lengths)
    return places


def largest_entries(K: Sparse, k: int) -> tuple[IntArray, FloatArray]:
    """Return columns and values of the k largest stored entries of each row, largest first; −1 and 0 beyond them."""
    n = K.shape[0]
    columns, values = np.full((n, k), -1, dtype=np.intp), np.zeros((n, k), dtype=K.data.dtype)
    places = places_in_rows(K)
    kept = places < k
    rows = np.repeat(np.arange(n), np.diff(K.indptr))[kept]
    columns[rows, places[kept]], values[rows, places[kept]] = K.indices[kept], K.data[kept]
    return columns, values


def filled(X: ArrayLike) -> FloatArray:
    """Return rows with their zeros filled in; dense rows as they are."""
    return X.toarray() if is_sparse(X) else X
