"""Naive twin of ``manifolia.kernels.fuzzy``: the definition, with the root found by SciPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def membership_rows(D, target, mean, rho, scale, P):
    k = D.shape[1]
    for i, row in enumerate(D):
        positive = row[row > 0]
        rho[i] = positive[0] if len(positive) else 0.0
        gaps = np.maximum(row - rho[i], 0.0)

        def excess(sigma, gaps=gaps):
            return np.exp(-gaps / sigma).sum() - target

        low, high = 1e-12 * max(row[-1], 1e-300), 1e3 * max(row[-1], 1e-300)
        far = np.count_nonzero(gaps) > 0
        scale[i] = brentq(excess, low, high, xtol=1e-14) if far and excess(low) < 0 < excess(high) else 0.0
        typical = row.sum() / (k + 1) if rho[i] > 0 else mean
        scale[i] = max(scale[i], 1e-3 * typical)
        P[i] = np.where(gaps > 0, np.exp(-gaps / (scale[i] or 1.0)), 1.0)
