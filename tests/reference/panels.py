"""Naive twins of the distance kernels: unpacked rows, one column after the other."""

from __future__ import annotations

import numpy as np


def _unpacked(panels, first):
    n_panels, d, width = panels.shape
    return np.array([panels[p, :, j] for p in range(first, n_panels) for j in range(width)]).reshape(-1, d)


def squared_distances(A, panels, first, out):
    B = _unpacked(panels, first)
    for r in range(len(A)):
        total = np.zeros(len(B))
        for f in range(A.shape[1]):
            total = total + (A[r, f] - B[:, f]) ** 2
        out[r] = total


def manhattan_distances(A, panels, first, out):
    B = _unpacked(panels, first)
    for r in range(len(A)):
        total = np.zeros(len(B))
        for f in range(A.shape[1]):
            total = total + np.abs(A[r, f] - B[:, f])
        out[r] = total
