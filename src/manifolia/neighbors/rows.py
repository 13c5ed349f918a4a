"""Rows in the form in which distances are computed, and the computation itself.

Euclidean and Manhattan distances use the rows as they are. For the cosine distance every row is scaled to length 1 and
gets one more feature, which is 1 if all others are 0: half the squared Euclidean distance is then 1 − cos, a row of
zeros is at distance 1 from every other row and at distance 0 from another row of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia._core.validate import check_matrix
from manifolia.exceptions import ParameterError, ParameterTypeError

#: Squares of differences of larger numbers are infinite in double precision.
_MOST = 1e150
_MOST_EXPONENT = 1000  # 2 to the power of 1,074, the inverse of the least number above 0, is infinite
_MANHATTAN = 1  # the kernel's number of the metric; 0 is Euclidean


def check_rows(X: Any, metric: str, *, name: str = "X") -> Any:
    """Check data on entry."""
    if sp.issparse(X) and metric == "manhattan":
        raise ParameterTypeError(
            f"{name} is a sparse matrix and metric='manhattan' measures dense data only. Pass {name}.toarray() if it "
            f"fits into memory, or use 'euclidean' or 'cosine'.",
            parameter=name,
        )
    checked = check_matrix(X, name=name, accept_sparse=True)
    check_squares(checked, name=name)
    return checked


def check_squares(X: Any, *, name: str = "X") -> None:
    """Refuse values whose squares are infinite."""
    largest = largest_value(X)
    if largest > _MOST:
        raise ParameterError(
            f"{name} holds values up to {largest:.3g}, and the squares of values above {_MOST:g} overflow. Rescale it.",
            parameter=name,
        )


def largest_value(X: Any) -> float:
    """Return the largest absolute value."""
    values = X.data if sp.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def unit_scale(largest: float) -> float:
    """Return the power of two (so that scaling does not round) that brings values up to this one below 1.

    For values below the smallest normal number it brings the largest as close to 1 as a double can.
    """
    return float(np.ldexp(1.0, min(-int(np.frexp(largest)[1]), _MOST_EXPONENT))) if largest > 0.0 else 1.0


def prepare(X: Any, metric: str) -> Any:
    """Convert checked rows to the form that `measured` needs."""
    if metric != "cosine":
        return X
    if sp.issparse(X):
        return _unit_sparse(X)
    out = np.zeros((X.shape[0], X.shape[1] + 1), dtype=X.dtype)
    for start in range(0, X.shape[0], 4096):  # in parts: the doubles of all rows at once would take twice the data
        block = X[start : start + 4096].astype(np.float64)
        top = np.abs(block).max(axis=1, initial=0.0)
        block /= np.where(top > 0.0, top, 1.0)[:, None]  # so that no square under- or overflows
        length = np.sqrt(np.einsum("ij,ij->i", block, block))
        out[start : start + 4096, :-1] = block / np.where(top > 0.0, length, 1.0)[:, None]
        out[start : start + 4096, -1] = top == 0.0
    return out


def _unit_sparse(X: Sparse) -> Sparse:
    n, d = X.shape
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    values = X.data.astype(np.float64)
    top = np.zeros(n)
    np.maximum.at(top, row, np.abs(values))
    values /= np.where(top > 0.0, top, 1.0)[row]
    length = np.sqrt(np.bincount(row, values * values, minlength=n))
    values /= np.where(top > 0.0, length, 1.0)[row]
    unit = sp.csr_array((values.astype(X.dtype), X.indices, X.indptr), shape=(n, d))
    empty = sp.csr_array((top == 0.0).astype(X.dtype)[:, None])
    return sp.csr_array(sp.hstack([unit, empty], format="csr"))


def take(X: Any, rows: slice | IntArray) -> Any:
    """Return some rows, with CSR's own arrays in C order."""
    return X[rows] if sp.issparse(X) else np.ascontiguousarray(X[rows])


def measured(
    Q: Any, X: Any, k: int, *, metric: str, own: IntArray, candidates: IntArray, counts: IntArray
) -> tuple[IntArray, FloatArray]:
    """Measure candidates in double precision and keep the k nearest, by (distance, index)."""
    from manifolia.kernels import candidates as kernels

    # With fewer candidates than neighbours, the rest would be whatever memory holds: then all rows are candidates.
    counts = np.where(counts < k, -1, counts)
    indices = np.full((own.shape[0], k), -1, dtype=np.intp)
    distances = np.empty((own.shape[0], k))
    if sp.issparse(X):
        kernels.measure_sparse(*_csr_parts(Q), *_csr_parts(X), own, candidates, counts, indices, distances)
    else:
        kind = _MANHATTAN if metric == "manhattan" else 0
        kernels.measure(Q, X, kind, own, candidates, counts, indices, distances)
    return indices, distances


def _csr_parts(X: Sparse) -> tuple[FloatArray, IntArray, IntArray]:
    # SciPy's index type depends on the size; one type means one compiled version.
    return X.data, X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)


def finish(distances: FloatArray, metric: str, dtype: Any) -> FloatArray:
    """Turn what the kernels measure into distances."""
    if metric == "euclidean":
        distances = np.sqrt(distances)
    elif metric == "cosine":
        distances = 0.5 * distances
    return distances.astype(dtype, copy=False)
