"""The walk: affinities made a Markov operator P, and P to the power t (steps 2 and 4 of RF-PHATE, Algorithm 1).

========  ======================================================================  ========
symbol    meaning                                                                 shape
========  ======================================================================  ========
K         affinity, not negative                                                  (n, n)
P         Markov operator, rows sum to 1                                          (n, n)
t         number of steps
β         damping: with probability 1 − β the walker jumps to a row at random
========  ======================================================================  ========
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import fixed_gemm
from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number


def markov(K: Any) -> Any:
    """Divide every row of an affinity by its sum.

    Parameters
    ----------
    K : ndarray or sparse array of shape (n, n)
        Affinities, not negative.

    Returns
    -------
    ndarray or csr_array of shape (n, n)
        P, of the same kind. A row without any affinity stays where it is: 1 on the diagonal.
    """
    sums = np.asarray(K.sum(axis=1), dtype=np.float64).ravel()
    alone = sums <= 0
    inverse = np.divide(1.0, sums, out=np.zeros_like(sums), where=~alone)
    if sp.issparse(K):
        P = sp.csr_array(sp.diags_array(inverse) @ K)
        return P + sp.diags_array(alone.astype(np.float64), format="csr") if alone.any() else P
    P = K * inverse[:, np.newaxis]
    P[alone, alone] = 1.0
    return P


def power(P: FloatArray, t: int) -> FloatArray:
    """Raise a dense operator to an integer power by repeated squaring."""
    t = check_number(t, "t", low=1, integer=True)
    square, result = P, P.copy()
    for bit in range(1, t.bit_length()):
        square = fixed_gemm(square, square)
        if (t >> bit) & 1:
            # P itself is the first factor if t is odd; otherwise it is the first square that counts.
            result = fixed_gemm(result, square) if (t & ((1 << bit) - 1)) else square
    return result


def diffuse(P: FloatArray, t: int, *, damping: float = 1.0, n_jobs: int | None = None) -> FloatArray:
    """Walk t steps, with damping.

    With jumps, the operator is R = β P + (1 − β) 1 uᵀ with u = 1/n, and because P 1 = 1

        Rᵗ = βᵗ Pᵗ + 1 vᵀ,   vᵀ = (1 − β) Σ_{s < t} βˢ uᵀ Pˢ.

    Jumps add the same row v to every row of the walk: a floor below which no probability falls, made from the data,
    where RF-PHATE's logarithm would otherwise need a constant.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Markov operator.
    t : int
        Steps.
    damping : float, default=1.0
        Probability β of taking a step of the walk. 1 is the plain walk.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    ndarray of shape (n, n)
        Rᵗ; rows sum to 1.
    """
    beta = check_number(damping, "damping", low=0.0, high=1.0)
    with threads(n_jobs):
        walked = power(P, t)
        if beta == 1.0:
            return walked
        here = np.full(P.shape[0], 1.0 / P.shape[0])
        floor = np.zeros(P.shape[0])
        for step in range(t):
            if beta**step == 0.0:
                break
            floor += (1.0 - beta) * beta**step * here
            here = here @ P
        return beta**t * walked + floor
