"""The α-decay kernel: affinities that fall off sharply beyond a row's own neighbourhood (PHATE, Moon et al. 2019).

    K(x, y) = ½ exp(−(d(x, y) / ε_k(x))^α) + ½ exp(−(d(x, y) / ε_k(y))^α)

ε_k(x) is the distance of the k-th nearest other row, so that sparse places have wide neighbourhoods, and α says how
sharp their border is: 2 is a Gaussian, ∞ the k nearest neighbours with equal weight. A half below 10⁻⁴ is left out: the
search stops where there can be no more, at ε_k (−log 10⁻⁴)^(1/α), 1.06 ε_k for α = 40. A row's affinity to itself is 1.

A new row has only the first half: it is no other row's neighbour. Its weights do not depend on the rows that come with
it.

======  ===================================  ==============
symbol  meaning                              shape
======  ===================================  ==============
d       distances of rows to the data        (n, n)
ε_k     bandwidth                            (n,)
A       halves, exp(−(d / ε_k(x))^α)         (n, n) sparse
K       kernel, (A + Aᵀ) / 2                 (n, n) sparse
======  ===================================  ==============
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia._core.validate import check_matrix
from manifolia.neighbors import NeighborIndex, Neighbors

_LEAST = 1e-4  # halves below it are left out
_FIRST = 2  # neighbours in the first search, times k; rows with a wider neighbourhood are searched again
_MORE = 4  # times as many in each further search
_BYTES = 64.0  # of an entry while halves are joined and added to their transpose
_FORESEEN = 32  # rows from which the width of neighbourhoods is estimated
_WIDER = 2  # times the mean width: nearly all neighbourhoods end there
_ROWS = 2048  # rows that one thread weighs at a time


class Halves(NamedTuple):
    """Weights of the data for each row, by the row's own bandwidth."""

    weights: Sparse  # (m, n): exp(−(d / ε_k)^α), without a row itself
    bandwidth: FloatArray  # (m,): ε_k
    nearest: IntArray  # (m,): the row of the data at distance 0 (the first, if several); −1 if there is none


def alpha_decay(
    index: NeighborIndex, X: Any, k: int, decay: float | None, *, n_jobs: int | None = None
) -> tuple[Sparse, FloatArray]:
    """Compute the kernel of the rows of an index.

    Parameters
    ----------
    index : NeighborIndex
        Of the rows, or of their distances.
    X : ndarray or sparse matrix of shape (n, d) or (n, n)
        What the index was made of.
    k : int
        The neighbour that sets the bandwidth, at most n − 1.
    decay : float or None
        Exponent α; None gives the k nearest neighbours equal weight.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    K : csr_array of shape (n, n)
        Symmetric, 1 on the diagonal.
    bandwidth : ndarray of shape (n,)
        ε_k.

    Raises
    ------
    MemoryLimitError
        If the neighbourhoods, wide for a small α, hold more pairs than fit.

    Examples
    --------
    >>> from manifolia.affinity.alpha_decay import alpha_decay
    >>> from manifolia.neighbors import NeighborIndex
    >>> X = [[0.0], [1.0], [3.0]]
    >>> K, bandwidth = alpha_decay(NeighborIndex(X), X, 1, 2.0)
    >>> bandwidth.tolist(), K.toarray().round(3)[0].tolist()
    ([1.0, 1.0, 2.0], [1.0, 0.368, 0.053])
    """
    with threads(n_jobs):
        A, bandwidth, _ = decay_rows(index, check_matrix(X, accept_sparse=True), k, decay, own=True)
        K = sp.csr_array((A + A.T) * 0.5 + sp.eye_array(A.shape[0], format="csr"))
        K.sort_indices()
        return K, bandwidth


def foresee_width(X: Any, k: int, decay: float | None, *, metric: str) -> float:
    """Estimate from a few rows how many others are in a neighbourhood; with many columns it may be most of them."""
    from sklearn.metrics import pairwise_distances

    n = X.shape[0]
    if metric == "affinity":
        return X.nnz / n if sp.issparse(X) else float(n)
    if decay is None or n <= k + 1 or (metric == "precomputed" and sp.issparse(X)):
        return float(k)
    data = X if sp.issparse(X) or not hasattr(X, "to_numpy") else X.to_numpy()
    some = np.unique(np.linspace(0, n - 1, _FORESEEN).astype(int))
    D = data[some] if metric == "precomputed" else pairwise_distances(data[some], data, metric=metric)
    D = np.sort(D, axis=1)
    return float((D[:, k : k + 1] * _reach(decay) >= D).sum(axis=1).mean())


def _reach(decay: float) -> float:
    """How far a neighbourhood reaches, in bandwidths."""
    return float((-np.log(_LEAST)) ** (1.0 / decay))


def decay_rows(index: NeighborIndex, X: Any, k: int, decay: float | None, *, own: bool = False) -> Halves:
    """Weight the rows of an index for other rows or its own: search until the last neighbour is beyond the reach."""
    most = index.n_rows - own
    # What is not stored is not a neighbour: nothing to search.
    stored = index.metric == "precomputed" and sp.issparse(X)
    width = k if decay is None or stored else min(most, _FIRST * k)
    near = index.neighbors(width) if own else index.query(X, width)
    bandwidth = near.distances[:, k - 1].astype(np.float64)
    reach = bandwidth * (1.0 if decay is None else _reach(decay))
    nearest = np.where(near.distances[:, 0] == 0.0, near.indices[:, 0], -1).astype(np.intp)
    weigh = partial(_weighted, bandwidth=bandwidth, reach=reach, decay=decay)
    parts, rows = [], np.arange(X.shape[0])
    if stored and decay is not None:
        parts, rows = [_stored_entries(X, weigh, own=own)], rows[:0]
    while len(rows):
        # What is farther than the reach has no weight; a row whose last neighbour is within it may have more.
        done = (near.distances[:, -1] > reach[rows]) | (width >= most) | (decay is None)
        parts.append(_dense_entries(rows[done], Neighbors(near.indices[done], near.distances[done]), weigh))
        if own and width == _FIRST * k and not done.all():
            # With many columns of noise a neighbourhood may hold a tenth of all rows: small steps would not find it.
            width = max(width, int(_WIDER / _MORE * foresee_width(X, k, decay, metric=index.metric)))
        rows, width = rows[~done], min(most, _MORE * width)
        if len(rows):
            require(
                _BYTES * len(rows) * width,
                step=f"{len(rows)} neighbourhoods of {width} rows",
                remedy="Use a larger decay or a smaller n_neighbors.",
            )
            near = _without_self(index.query(X[rows], width + 1), rows) if own else index.query(X[rows], width)
    row, column, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    weights = sp.csr_array(sp.coo_array((value, (row, column)), shape=(X.shape[0], index.n_rows)))
    weights.sort_indices()
    return Halves(weights, bandwidth, nearest)


def _without_self(found: Neighbors, rows: IntArray) -> Neighbors:
    """Leave each row out of its own neighbours; if duplicates have displaced it, drop the last neighbour."""
    width = found.indices.shape[1] - 1
    itself = found.indices == rows[:, np.newaxis]
    place = np.where(itself.any(axis=1), np.argmax(itself, axis=1), width)
    kept = np.arange(width) + (np.arange(width) >= place[:, np.newaxis])
    return Neighbors(np.take_along_axis(found.indices, kept, axis=1), np.take_along_axis(found.distances, kept, axis=1))


def _dense_entries(rows: IntArray, near: Neighbors, weigh: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and weights of the pairs inside the neighbourhoods."""

    def block(part: slice) -> tuple[IntArray, IntArray, FloatArray]:
        width = near.indices.shape[1]
        return weigh(np.repeat(rows[part], width), near.indices[part].ravel(), near.distances[part].ravel())

    found = map_blocks(block, row_blocks(len(rows), _ROWS))
    if not found:
        return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    row, column, value = (np.concatenate(part) for part in zip(*found, strict=True))
    return row, column, value


def _stored_entries(X: Sparse, weigh: Any, *, own: bool) -> tuple[IntArray, IntArray, FloatArray]:
    csr = sp.csr_array(X)
    row = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    other = row != csr.indices if own else np.ones(len(row), dtype=bool)
    found: tuple[IntArray, IntArray, FloatArray] = weigh(row[other], csr.indices[other], csr.data[other])
    return found


def _weighted(
    row: IntArray, column: IntArray, distance: FloatArray, *, bandwidth: FloatArray, reach: FloatArray, decay: Any
) -> tuple[IntArray, IntArray, FloatArray]:
    """Keep the pairs within reach and weight them."""
    inside = distance <= reach[row]
    row, column, d = row[inside], column[inside].astype(np.intp), distance[inside].astype(np.float64)
    width = bandwidth[row]
    ratio = np.divide(d, width, out=np.zeros(len(d)), where=width > 0)  # of k duplicates, all are at distance 0
    return row, column, np.ones(len(d)) if decay is None else np.exp(-(ratio**decay))
