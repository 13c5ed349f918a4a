"""Smooth radii and membership strengths of a fuzzy neighbourhood graph.

A neighbour at distance d of a point belongs to its neighbourhood with the strength

    p = exp(−max(d − ρ, 0) / σ),

where ρ is the distance of the nearest neighbour that is not a duplicate and σ is such that the strengths of the k
neighbours add up to log₂(k + 1) (Eq. 1 of FeatureMAP; the k + 1 counts the point itself, as UMAP does).

=========  ==============================================================  =========
symbol     meaning                                                         shape
=========  ==============================================================  =========
D          distances of a row's neighbours, never falling                  (rows, k)
target     log₂(k + 1)                                                     scalar
mean       mean distance over all rows, for rows that have only duplicates scalar
rho        ρ of each row                                                   (rows,)
scale      σ of each row                                                   (rows,)
P          strengths                                                       (rows, k)
=========  ==============================================================  =========
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

_MOST_STEPS = 64  # bisections; by then the bracket is down to one number
_TOLERANCE = 1e-5  # of the sum of strengths, UMAP's
_LEAST_SCALE = 1e-3  # σ is at least this share of the mean distance, UMAP's


@kernel()
def membership_rows(D, target, mean, rho, scale, P):
    """Fill ``rho``, ``scale`` and ``P`` for every row of ``D``."""
    k = D.shape[1]
    for i in range(D.shape[0]):
        nearest = 0.0
        total = 0.0
        for j in range(k):
            total += D[i, j]
            if nearest == 0.0 and D[i, j] > 0.0:
                nearest = D[i, j]
        low, high, middle = 0.0, np.inf, 1.0
        for _ in range(_MOST_STEPS):
            strengths = 0.0
            for j in range(k):
                gap = D[i, j] - nearest
                strengths += np.exp(-gap / middle) if gap > 0.0 else 1.0
            if abs(strengths - target) < _TOLERANCE:
                break
            if strengths > target:
                high = middle
                middle = 0.5 * (low + high)
            else:
                low = middle
                middle = 2.0 * middle if high == np.inf else 0.5 * (low + high)
        # The point itself, at distance 0, counts in the mean.
        typical = total / (k + 1) if nearest > 0.0 else mean
        middle = max(middle, _LEAST_SCALE * typical)
        rho[i] = nearest
        scale[i] = middle
        for j in range(k):
            gap = D[i, j] - nearest
            P[i, j] = np.exp(-gap / middle) if gap > 0.0 and middle > 0.0 else 1.0
