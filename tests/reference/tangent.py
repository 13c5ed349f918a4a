"""Naive twins of ``manifolia.kernels.tangent``: one product of differences after the other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def gram_rows(Q, X, nearest, start, G):
    for row in range(len(G)):
        steps = X[nearest[start + row]].astype(np.float64) - Q[start + row]
        G[row] = steps @ steps.T


def gram_rows_sparse(own_values, own_columns, own_starts, values, columns, starts, n_columns, nearest, start, G):
    Q = sp.csr_array((own_values, own_columns, own_starts), shape=(len(own_starts) - 1, n_columns)).toarray()
    X = sp.csr_array((values, columns, starts), shape=(len(starts) - 1, n_columns)).toarray()
    gram_rows(Q, X, nearest, start, G)
