"""Comparing maps up to what a layout leaves open: shift, rotation and reflection, not scale."""

from __future__ import annotations

import numpy as np


def align(Y, reference):
    """Shift, rotate and reflect `Y` so that it lies on `reference` as well as possible (orthogonal Procrustes).

    Rows correspond. Missing dimensions of either map count as zeros; the result has the dimensions of the larger.
    """
    Y, reference = np.asarray(Y, dtype=float), np.asarray(reference, dtype=float)
    p = max(Y.shape[1], reference.shape[1])
    Y = np.pad(Y, ((0, 0), (0, p - Y.shape[1])))
    reference = np.pad(reference, ((0, 0), (0, p - reference.shape[1])))
    centre = reference.mean(axis=0)
    Y = Y - Y.mean(axis=0)
    left, _, right = np.linalg.svd(Y.T @ (reference - centre))
    return Y @ (left @ right) + centre
