"""Eigenvalues of a walk, from its symmetric conjugate.

A walk P = D⁻¹ K with symmetric K has the eigenvalues of D^(−1/2) K D^(−1/2), which is symmetric. A directed kernel
(RF-GAP) is symmetrised first, K_s = (K + Kᵀ) / 2: its eigenvalues are then those of the walk that may also go back.
RF-GAP has a zero diagonal and so negative eigenvalues; entropy takes their size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, RandomState

_CONDITION = 1e7  # of a tall matrix, above which its Gram matrix has lost too many digits
_ROWS = 8192  # rows of a tall matrix that are multiplied together


class Spectrum(NamedTuple):
    """Leading eigenpairs of the symmetric conjugate of a walk."""

    values: FloatArray  # (r,): eigenvalues, largest size first
    vectors: FloatArray  # (n, r): right eigenvectors of the walk itself, D^(−1/2) times those of the conjugate


def conjugate(K: Any) -> FloatArray:
    """Form the symmetric conjugate of a kernel's walk."""
    dense = K.toarray() if sp.issparse(K) else np.asarray(K, dtype=np.float64)
    symmetric = 0.5 * (dense + dense.T)
    sums = symmetric.sum(axis=1)
    alone = sums <= 0
    root = np.divide(1.0, np.sqrt(sums), out=np.zeros_like(sums), where=~alone)
    symmetric *= root
    symmetric *= root[:, np.newaxis]
    symmetric[alone, alone] = 1.0
    return symmetric


def eigenvalues(K: Any, *, n_jobs: int | None = None) -> FloatArray:
    """Compute all eigenvalues of a kernel's walk."""
    from scipy.linalg import eigvalsh

    with threads(n_jobs):
        return eigvalsh(conjugate(K), check_finite=False, overwrite_a=True)


def leading_vectors(
    apply: Callable[[FloatArray], FloatArray],
    row_sums: FloatArray,
    n_vectors: int,
    *,
    n_passes: int = 2,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Spectrum:
    """Find leading eigenvectors of a walk that is known only by its products: randomised subspace iteration."""
    n = row_sums.shape[0]
    width = min(n, n_vectors + 8)  # a few more than asked for make the last ones accurate
    root = np.divide(1.0, np.sqrt(row_sums), out=np.zeros_like(row_sums), where=row_sums > 0)[:, np.newaxis]
    with threads(n_jobs):
        block = as_generator(random_state).standard_normal((n, width))
        for _ in range(n_passes + 1):
            basis = orthonormal_basis(block)
            block = root * apply(root * basis)
        small = _inner(basis, block)
        values, rotation = np.linalg.eigh(0.5 * (small + small.T))
        order = np.argsort(-np.abs(values), kind="stable")[:n_vectors]
        return Spectrum(values[order], root * (basis @ rotation[:, order]))


def orthonormal_basis(A: FloatArray, *, n_jobs: int | None = None) -> FloatArray:
    """Orthonormalise the columns of a tall matrix, on all threads.

    Cholesky's factor of AᵀA, twice: once leaves an error of the condition number squared, the second removes it
    (Fukaya et al. 2014). LAPACK's own factorisation, on one thread and several times slower, is used for columns that
    this cannot separate, with a condition number above about 1e7.
    """
    from scipy.linalg import solve_triangular

    with threads(n_jobs):
        Q = A
        for _ in range(2):
            try:
                factor = np.linalg.cholesky(_inner(Q, Q))
            except np.linalg.LinAlgError:
                return np.linalg.qr(A)[0]
            inverse = solve_triangular(factor, np.eye(len(factor)), lower=True).T
            if not np.linalg.cond(factor) < _CONDITION:
                return np.linalg.qr(A)[0]
            Q = np.concatenate(map_blocks(partial(_right_product, Q, inverse), row_blocks(len(Q), _ROWS)))
        return Q


def _right_product(A: FloatArray, B: FloatArray, rows: slice) -> FloatArray:
    return A[rows] @ B


def _inner(A: FloatArray, B: FloatArray) -> FloatArray:
    """AᵀB, its blocks of rows added in order."""
    parts = map_blocks(lambda rows: A[rows].T @ B[rows], row_blocks(len(A), _ROWS))
    return np.sum(parts, axis=0)
