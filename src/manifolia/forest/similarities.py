"""Proximities as distances: the form for layouts that know nothing about forests.

A proximity K with a diagonal is a kernel, and is scaled to 1 there; RF-GAP has none, and is scaled by the largest entry
of each row:

    s_ij = K_ij / √(K_ii K_jj),        s_ij = (P_ij + P_ji) / (max_k P_ik + max_k P_jk)   for RF-GAP,
    d_ij = √(1 − s_ij)

s lies between 0 and 1. For a positive kernel d is a Euclidean distance, up to the factor √2 (Breiman and Cutler lay out
1 − s as squared distances). Rows that share no leaf are at distance 1, whatever they are.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manifolia._core.memory import require
from manifolia._core.sparse import largest_entries
from manifolia._core.types import FloatArray, Sparse
from manifolia._core.validate import check_number
from manifolia.neighbors import Neighbors

_SQUARES = 3  # n × n arrays of doubles that exist at the same time


def similarity(K: Sparse) -> Sparse:
    """Scale a proximity to between 0 and 1."""
    K = sp.csr_array(K)
    own = K.diagonal()
    # A row of RF-GAP that no other row reaches stays with itself: a diagonal of some rows is not that of a kernel.
    if len(own) and own.min() > 0:
        scale = sp.diags_array(1.0 / np.sqrt(own))
        S = scale @ K @ scale
        S = (S + S.T) * 0.5
    else:
        most = np.asarray(K.max(axis=1).todense(), dtype=np.float64).ravel()
        S = sp.coo_array(K + K.T)
        total = most[S.row] + most[S.col]
        S = sp.coo_array((S.data / np.where(total > 0, total, 1.0), (S.row, S.col)), shape=K.shape)
    S = sp.coo_array(S)
    others = (S.row != S.col) & (S.data > 0)
    out = sp.csr_array(sp.coo_array((np.minimum(S.data[others], 1.0), (S.row[others], S.col[others])), shape=K.shape))
    out.sort_indices()
    return out


def distances(S: Sparse) -> FloatArray:
    """Form the distances of all pairs, √(1 − s)."""
    n = S.shape[0]
    require(
        _SQUARES * 8.0 * n**2,
        step=f"the distances of {n} rows",
        remedy="Use layout='tsne' or 'umap', which need none, or fewer rows.",
    )
    D = np.sqrt(np.maximum(1.0 - S.toarray(), 0.0))
    D = np.maximum(D, D.T)
    np.fill_diagonal(D, 0.0)
    return D


def nearest_by_similarity(S: Sparse, k: int) -> Neighbors:
    """Find the k most similar rows of every row, without the distances of all pairs."""
    n = S.shape[0]
    k = check_number(k, "k", low=1, high=n - 1, integer=True)
    indices, similarities = largest_entries(S, k)
    distances = np.sqrt(np.maximum(1.0 - similarities, 0.0)).astype(np.float64)
    n_known = (indices >= 0).sum(axis=1)
    for row in np.flatnonzero(n_known < k):
        known = n_known[row]
        reached = (S[[row]] @ S).toarray().ravel()
        reached[row] = -1.0
        reached[indices[row, :known]] = -1.0
        indices[row, known:] = np.argsort(-reached, kind="stable")[: k - known]
    return Neighbors(indices, distances)
