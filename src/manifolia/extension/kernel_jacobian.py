"""The derivative of a kernel map with respect to the features, and what it tells.

    ∂y/∂x = Σ_j w_j (α_j − y)(x_j − x)ᵀ / σ_j²

Of one row it is a c × d matrix. Its column f is the arrow along which the row moves when feature f grows; the length of
the column says how much the feature matters there; its largest singular value says how far the row moves for the
smallest change of the data that moves it most: where it is large, the map tears.

A map of narrow kernels is a staircase: flat almost everywhere, steep between the steps. For arrows, fit a map with a
width that ``bandwidth="auto"`` finds or a factor of 0.3 to 0.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray
from manifolia.extension.kernel_formula import Frame

__all__ = ["importance_from_jacobian", "jacobian", "sensitivity_from_jacobian"]

_ROWS = 512


def jacobian(X: FloatArray, Z: FloatArray, made: Any, frame: Frame) -> FloatArray:
    """Differentiate a kernel map at rows, each alone."""
    from manifolia.kernels.kernel_map import jacobian_rows

    n, d = Z.shape
    J = np.empty((n, made.values.shape[1], d))
    nobody = np.full(n, -1, dtype=np.int64)

    def run(rows: slice) -> None:
        jacobian_rows(Z, made, nobody, J, rows.start, rows.stop)

    map_blocks(run, row_blocks(n, _ROWS))
    J *= frame.scale
    moved = (X.astype(np.float64) - frame.shift) * frame.scale
    for i in np.flatnonzero(np.abs(moved).max(axis=1) > frame.limit / np.sqrt(d)):
        top = np.abs(moved[i]).max()
        length = top * np.sqrt(((moved[i] / top) ** 2).sum())
        if length > frame.limit:
            away = moved[i] / length
            J[i] = (J[i] - np.outer((J[i] * away).sum(axis=1), away)) * (frame.limit / length)
    return J


def importance_from_jacobian(J: FloatArray) -> FloatArray:
    """Tell how much each feature matters at each row."""
    lengths: FloatArray = np.sqrt((J**2).sum(axis=1))
    longest = lengths.max(axis=1, keepdims=True)
    return np.divide(lengths, longest, out=np.zeros_like(lengths), where=longest > 0.0)


def sensitivity_from_jacobian(J: FloatArray) -> FloatArray:
    """Tell how far each row moves for the smallest change of the data that moves it most."""
    # The c × c Gram matrix has the same, squared, and c is 2 or 3.
    gram = np.einsum("iaf,ibf->iab", J, J)
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, -1], 0.0))
