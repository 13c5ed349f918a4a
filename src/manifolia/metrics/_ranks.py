"""Ranks of distances, row by row: by NumPy for few rows, by a kernel for many.

The kernels sort three times as fast, but take longer to compile than the whole map of a small table takes. Both order
by (distance, index) and give the same counts.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.types import FloatArray, IntArray

#: Up to this many points NumPy sorts their distances in less time than a kernel takes to compile.
_FEW = 1000


def neighbor_ranks(rank_by: FloatArray, near_by: FloatArray, rows: IntArray, n: int, k: int) -> IntArray:
    """Return the rank in the first space of each row's k nearest in the second; shape (h, k)."""
    if n <= _FEW:
        near = _ordered(near_by, rows, n)[:, 1 : k + 1]
        return np.take_along_axis(_ranks(rank_by, rows, n), near, axis=1)
    from manifolia.kernels import ranks

    found = np.empty((rows.shape[0], k), dtype=np.int32)
    ranks.neighbor_ranks(rank_by, near_by, rows, n, found)
    return found


def add_greater_ranks(data: FloatArray, plane: FloatArray, rows: IntArray, histogram: IntArray) -> None:
    """Add to ``histogram[m]`` the number of pairs whose greater rank is m; n is its length."""
    n = histogram.shape[0]
    if n > _FEW:
        from manifolia.kernels import ranks

        ranks.max_rank_histogram(data, plane, rows, histogram)
        return
    greater = np.maximum(_ranks(data, rows, n), _ranks(plane, rows, n))
    histogram += np.bincount(greater[greater > 0], minlength=n)  # 0 is the row itself


def _ordered(distances: FloatArray, rows: IntArray, n: int) -> IntArray:
    """Order each row's points, itself first; of two at the same distance, the one with the lower index comes first."""
    own_first = distances[:, :n].copy()
    own_first[np.arange(rows.shape[0]), rows] = -np.inf
    return np.argsort(own_first, axis=1, kind="stable").astype(np.int32)


def _ranks(distances: FloatArray, rows: IntArray, n: int) -> IntArray:
    order = _ordered(distances, rows, n)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(n, dtype=np.int32)[None, :], axis=1)
    return rank
