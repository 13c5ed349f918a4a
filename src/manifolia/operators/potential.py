"""Potential distances: how differently two rows see the others after the walk (steps 5 and 6 of RF-PHATE, Algorithm 1).

The potential of row i is U_i = −log(Pᵗ_i + ε), or 2 √Pᵗ_i, and the distance of two rows is the Euclidean distance of
their potentials. Both are of the family of PHATE (Moon et al. 2019),

    U_i = 2 / (1 − γ) · (Pᵗ_i)^((1 − γ) / 2)   for −1 ≤ γ < 1,

the square root for γ = 0 and the probabilities themselves for γ = −1; the logarithm takes the place of γ = 1.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number, check_option

#: Transforms of the walk's probabilities.
POTENTIALS = ("log", "sqrt")

#: Added before taking the logarithm, in units of the uniform probability 1/n: RF-PHATE's constant 1e-7 is not
#: scale-free, since the entries themselves shrink like 1/n.
_FLOOR = 1e-7


def potential(walked: FloatArray, *, kind: str | float = "log") -> FloatArray:
    """Transform the probabilities after the walk."""
    if isinstance(kind, str):
        gamma = {"log": 1.0, "sqrt": 0.0}[check_option(kind, "potential", POTENTIALS)]
    else:
        gamma = check_number(kind, "gamma", low=-1.0, high=1.0)
    if gamma == 0.0:
        return 2.0 * np.sqrt(np.maximum(walked, 0.0))
    if gamma < 1.0:
        return 2.0 / (1.0 - gamma) * np.maximum(walked, 0.0) ** ((1.0 - gamma) / 2.0)
    floor = _FLOOR / walked.shape[1]
    return -np.log(np.maximum(walked, 0.0) + floor)


def potential_distances(U: FloatArray, *, n_jobs: int | None = None) -> FloatArray:
    """Compute the Euclidean distances between the rows of U.

    Parameters
    ----------
    U : ndarray of shape (n, m)
        Potentials.
    n_jobs : int or None, default=None
        Threads; the bits do not depend on it.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric to the bit, zero diagonal.
    """
    with threads(n_jobs):
        # The column means drop out of every difference; without them the squares are small and little cancels.
        centred = U - U.mean(axis=0)
        squares = np.einsum("ij,ij->i", centred, centred)
        D = np.empty((U.shape[0], U.shape[0]))

        def run(rows: slice) -> None:  # each pair once, and within a block twice
            later = slice(rows.start, None)
            gram = centred[rows] @ centred[later].T
            D[rows, later] = np.sqrt(np.maximum(squares[rows, np.newaxis] + squares[later] - 2.0 * gram, 0.0))
            own = D[rows, rows]
            D[rows, rows] = np.maximum(own, own.T)  # the two products of a pair may round differently
            D[rows.stop :, rows] = D[rows, rows.stop :].T

        map_blocks(run, row_blocks(U.shape[0]))
        np.fill_diagonal(D, 0.0)
        return D
