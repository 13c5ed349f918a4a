"""Distances that know the classes: shrunk within a class, stretched between classes (Geng et al. 2005).

    D(x, z)² = 1 − exp(−d²/β)                 same class
    D(x, z)  = exp(d²/2β) − α                 different classes

with d the Euclidean distance and β its mean. Within a class D stays below 1; between classes it starts at 1 − α and
grows without limit, so that α says how close classes may still be. Ribeiro et al. (2008) write the same with a =
exp(d²/β): √((a − 1)/a) and √a − d₀.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.types import Array, FloatArray

_LARGEST = 80.0  # with larger exponents, places leave single precision; such rows are far apart in any case


def mean_distance(D: FloatArray) -> float:
    """Average the distances of different rows."""
    n = len(D)
    mean = float(D.sum()) / max(n * (n - 1), 1)
    return mean if mean > 0 else 1.0


def classwise_distances(D: FloatArray, codes: Array, *, alpha: float, beta: float) -> FloatArray:
    """Shrink distances within classes and stretch those between them."""
    squares = D**2 / beta
    same = codes[:, None] == codes[None]
    within = np.sqrt(-np.expm1(-squares))
    between = np.maximum(np.exp(np.minimum(squares / 2, _LARGEST)) - alpha, 0.0)
    out = np.where(same, within, between)
    np.fill_diagonal(out, 0.0)
    return out
