"""Naive twins of ``manifolia.kernels.candidates``: whole rows of distances, sorted by (distance, index)."""

from __future__ import annotations

import numpy as np


def _nearest(distances, numbers, k):
    order = sorted(zip(distances, numbers, strict=True))[:k]
    return [distance for distance, _ in order], [number for _, number in order]


def shortlist(G, lengths, squares, e, floor, own, k, candidates, counts):
    for r in range(G.shape[0]):
        others = [j for j in range(G.shape[1]) if j != own[r]]
        size = lengths[r] + squares
        upper = (1 + e) * size - 2 * G[r].astype(float) + floor
        lower = (1 - e) * size - 2 * G[r].astype(float) - floor
        limit = np.sort(upper[others])[k - 1]
        may = [j for j in others if lower[j] <= limit]
        fits = len(may) <= candidates.shape[1]
        counts[r] = len(may) if fits else -1
        if fits:
            candidates[r, : len(may)] = may


def measure(Q, X, kind, own, candidates, counts, indices, distances):
    for r in range(Q.shape[0]):
        listed = range(X.shape[0]) if counts[r] < 0 else candidates[r, : counts[r]]
        numbers = [int(j) for j in listed if j != own[r]]
        difference = X[numbers].astype(float) - Q[r].astype(float)
        d = (difference**2).sum(axis=1) if kind == 0 else np.abs(difference).sum(axis=1)
        distances[r], indices[r] = _nearest(d, numbers, indices.shape[1])


def measure_sparse(values, columns, starts, x, x_columns, x_starts, own, candidates, counts, indices, distances):
    width = 1 + max([-1, *columns, *x_columns])
    dense = []
    for data, where, pointers in ((values, columns, starts), (x, x_columns, x_starts)):
        rows = np.zeros((len(pointers) - 1, width))
        for r in range(len(rows)):
            part = slice(pointers[r], pointers[r + 1])
            rows[r, where[part]] = data[part]
        dense.append(rows)
    measure(*dense, 0, own, candidates, counts, indices, distances)


def smallest(D, own, indices, distances):
    for r in range(D.shape[0]):
        others = [j for j in range(D.shape[1]) if j != own[r]]
        distances[r], indices[r] = _nearest(D[r, others].astype(float), others, indices.shape[1])
