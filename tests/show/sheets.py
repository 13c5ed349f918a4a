"""A plane in four features, for pictures of what a model says about features."""

from __future__ import annotations

import numpy as np

NAMES = ["u", "v", "noise", "flat"]


def sheet(n=400):
    """A plane in four features: u and v span it, the third is little noise, the fourth constant."""
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(n, 2)) * [3.0, 1.0]
    return np.column_stack([plane, 0.01 * rng.normal(size=n), np.ones(n)])


def directions(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
