"""Exact neighbours: BLAS products find the candidates, and a kernel measures those in double precision.

Products of the centred rows are computed in single precision; a bound on their error decides which rows are measured
(``manifolia.kernels.candidates``), so the result depends neither on the block nor on the precision of the products.
Where the rows lie so close together, compared with their spread, that single precision leaves too many candidates,
products are computed in double precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import current_n_jobs, has_executor, map_blocks
from manifolia._core.types import FloatArray, IntArray
from manifolia.neighbors.rows import largest_value, measured, take, unit_scale

_BLOCK_NUMBERS = 1 << 24  # products held by a thread at once: 64 MiB in single precision
_LEAST_HEIGHT, _MOST_HEIGHT = 16, 384
_CHUNK = 2048  # rows that are centred and multiplied at once, if there is no centred copy of all
_COPY_BYTES = 1 << 26  # up to here a centred copy of all rows is kept during the search
_CENTRE_ROWS = 1024  # any centre gives the same result; a few rows find one that is good enough
#: Room for candidates: ties and the error of the products bring in more than k.
_ROOM = 4
_FEW, _FEW_DIFFERENCES = 1000, 2.0**25  # rows, and differences of numbers: a tenth of a second of one processor
_SAFE = 2.0**100  # differences of numbers above this, or below its inverse, may leave the range of single precision
_WHOLE_BYTES = 1 << 27  # up to here all products are held at once, and half of them are computed: 5,800 rows
_TRIAL, _TRIAL_AMONG = 32, 2048  # rows, and among how many, on which the precision of the products is chosen


def exact_neighbors(Q: Any, X: Any, k: int, *, metric: str, own: IntArray) -> tuple[IntArray, FloatArray]:
    """Find the k nearest rows of `X`, exactly, ties by index."""
    m, n = Q.shape[0], X.shape[0]
    room = min(_ROOM * (k + 64), n)
    products: _Products | None = None
    # With few rows, all are measured: compiling the kernel that chooses candidates would take longer.
    few = n <= _FEW and not sp.issparse(X) and float(m) * n * X.shape[1] <= _FEW_DIFFERENCES
    if metric != "manhattan" and not few:
        exactly = sp.issparse(X) or _crowded(Q, X, k, room)
        products = _products(X, np.float64 if exactly else np.float32)
    height = min(_MOST_HEIGHT, _BLOCK_NUMBERS // n, -(-m // current_n_jobs()))
    if sp.issparse(X):
        height = min(height, _BLOCK_NUMBERS // X.shape[1])  # a block of queries is made dense
    blocks = row_blocks(m, max(_LEAST_HEIGHT, height))
    # Half of the products can be mirrored, in an array that all blocks share: not with workers that have no such array.
    shared = Q is X and not has_executor()
    whole = products.of_all(blocks) if products is not None and shared else None

    def run(part: slice) -> tuple[IntArray, FloatArray]:
        block = take(Q, part)
        if products is None:
            candidates, counts = np.empty((block.shape[0], 1), np.int32), np.full(block.shape[0], -1, np.int64)
        else:
            G = None if whole is None else _mirrored(whole, part)
            candidates, counts = products.shortlist(block, own[part], k, room, G)
        return measured(block, X, k, metric=metric, own=own[part], candidates=candidates, counts=counts)

    return join(map_blocks(run, blocks, anywhere=True), k)


def search_need(n: int, d: int, k: int) -> float:
    """Estimate what a search for k neighbours of each of n rows takes: products, a centred copy, the result."""
    height = min(_MOST_HEIGHT, _BLOCK_NUMBERS // n, -(-n // current_n_jobs()))
    products = 4.0 * n * n if 4 * n * n <= _WHOLE_BYTES else 4.0 * n * max(_LEAST_HEIGHT, height) * current_n_jobs()
    copy = 4.0 * n * d if 4 * n * d <= _COPY_BYTES else 0.0
    # The copy is centred in double precision before it is rounded.
    return max(3 * copy, copy + products) + 32.0 * n * k


def _mirrored(G: FloatArray, part: slice) -> FloatArray:
    """Return some rows of the products; entries left of the diagonal block are found above it."""
    G[part, : part.start] = G[: part.start, part].T
    return G[part]


def _crowded(Q: FloatArray, X: FloatArray, k: int, room: int) -> bool:
    """Find out from some rows whether single precision leaves more candidates than there is room for."""
    some = X[:: max(1, X.shape[0] // _TRIAL_AMONG)]
    rows = take(Q, slice(0, None, max(1, Q.shape[0] // _TRIAL)))
    nobody = np.full(rows.shape[0], -1, dtype=np.int64)
    least = min(k, some.shape[0])
    counts = _products(some, np.float32).shortlist(rows, nobody, least, some.shape[0])[1]
    return float(np.median(counts - least)) * X.shape[0] / some.shape[0] > 0.5 * room


def join(parts: list[tuple[IntArray, FloatArray]], k: int) -> tuple[IntArray, FloatArray]:
    """Put the blocks of a search together."""
    if not parts:
        return np.empty((0, k), dtype=np.intp), np.empty((0, k))
    return np.concatenate([indices for indices, _ in parts]), np.concatenate([distances for _, distances in parts])


class _Products(NamedTuple):
    """Rows to multiply by, and how wrong a squared distance from their products can be."""

    X: Any
    copy: FloatArray | None  # centred and scaled, if all of it is kept
    centre: FloatArray
    scale: float
    squares: FloatArray
    dtype: Any
    error: float
    floor: float

    def of_all(self, blocks: list[slice]) -> FloatArray | None:
        """Return the products of all rows with each other, from the diagonal blocks to the right; None if too many."""
        rows = self.copy
        if rows is None or rows.shape[0] ** 2 * rows.itemsize > _WHOLE_BYTES:
            return None
        G = np.empty((rows.shape[0], rows.shape[0]), dtype=self.dtype)

        def run(part: slice) -> None:
            np.matmul(rows[part], rows[part.start :].T, out=G[part, part.start :])

        map_blocks(run, blocks)
        return G

    def shortlist(
        self, block: Any, own: IntArray, k: int, room: int, G: FloatArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return all rows that may be among the k nearest of each row of a block, whose products may be known."""
        from manifolia.kernels import candidates as kernels

        if sp.issparse(block):
            rows = block.toarray().astype(self.dtype) * self.scale
            G = np.ascontiguousarray((self.X @ rows.T).T)
        else:
            rows = _centred(block, self.centre, self.scale, self.dtype)
        if G is None:
            G = np.empty((block.shape[0], self.X.shape[0]), dtype=self.dtype)
            for part in row_blocks(self.X.shape[0], self.X.shape[0] if self.copy is not None else _CHUNK):
                np.matmul(rows, self.rows(part).T, out=G[:, part])
        lengths = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
        candidates = np.empty((block.shape[0], room), dtype=np.int32)
        counts = np.empty(block.shape[0], dtype=np.int64)
        kernels.shortlist(G, lengths, self.squares, self.error, self.floor, own, k, candidates, counts)
        return candidates, counts

    def rows(self, part: slice) -> FloatArray:
        if self.copy is not None:
            return self.copy[part]
        return _centred(self.X[part], self.centre, self.scale, self.dtype)


def _centred(block: FloatArray, centre: FloatArray, scale: float, dtype: Any) -> FloatArray:
    out: FloatArray = block - centre
    out *= out.dtype.type(scale)
    return out.astype(dtype, copy=False)


def _products(X: Any, dtype: Any) -> _Products:
    n, d = X.shape
    scale = unit_scale(largest_value(X))  # centred values end below 2
    precision = np.finfo(dtype)
    if sp.issparse(X):
        centre = np.zeros(d)
        scaled = sp.csr_array((X.data.astype(dtype) * scale, X.indices, X.indptr), shape=X.shape)
        squares = np.asarray(scaled.multiply(scaled).sum(axis=1), dtype=np.float64).ravel()
        found = _Products(scaled, None, centre, scale, squares, dtype, 0.0, 0.0)
    else:
        centre = X[:: max(1, n // _CENTRE_ROWS)].mean(axis=0, dtype=np.float64)
        if _SAFE > scale > 1.0 / _SAFE:
            # Centring in single precision takes a third of the time, and is exact enough.
            centre = centre.astype(X.dtype)
        small = n * d * precision.dtype.itemsize <= _COPY_BYTES
        copy = _centred(X, centre, scale, dtype) if small else None
        found = _Products(X, copy, centre, scale, np.empty(n), dtype, 0.0, 0.0)

        def square(part: slice) -> None:
            rows = found.rows(part)
            found.squares[part] = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)

        map_blocks(square, row_blocks(n, _CHUNK))
    # |fl(a·b) − a·b| ≤ d u/(1 − d u) ‖a‖‖b‖ and 2‖a‖‖b‖ ≤ ‖a‖² + ‖b‖²; centring and rounding the rows adds 8u of it.
    # `eps` is 2u, which leaves room for the sums of squares. The floor is what is lost below the smallest normal
    # number.
    error = (d + 16) * float(precision.eps)
    return found._replace(error=error, floor=(d + 16) * 4.0 * float(precision.tiny))
