"""Principal components: a table in fewer columns, and how far a row lies from them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import fixed_gemm, row_blocks, standard_project
from manifolia._core.types import FloatArray

_SPARSE_PCA = 2000  # features up to which the covariance of sparse data is formed
_ROWS, _CELLS = 4096, 1 << 22  # rows, and numbers, whose distance to the components is computed at once


class Projection(NamedTuple):
    """Principal components."""

    mean: FloatArray  # (p,): what is subtracted
    components: FloatArray  # (q, p): orthonormal rows

    def apply(self, X: Any, dtype: Any) -> FloatArray:
        """Project rows, dense or sparse, each alone."""
        mean, components = self.mean.astype(dtype, copy=False), self.components.astype(dtype, copy=False)
        if sp.issparse(X):
            product = X.astype(np.float64) @ components.T.astype(np.float64)
            return np.asarray(product - (mean.astype(np.float64) @ components.T)).astype(dtype)
        return standard_project(X.astype(dtype, copy=False), mean, components)

    def distance(self, X: Any, Z: FloatArray) -> FloatArray:
        """Measure how far rows X, whose projections are Z, lie from the components."""
        out = np.empty(X.shape[0])
        for rows in row_blocks(len(out), max(1, min(_ROWS, _CELLS // X.shape[1]))):
            block = X[rows].toarray() if sp.issparse(X) else X[rows]
            # From differences: a difference of squares would lose what is small compared with the row itself.
            left = (block - self.mean).astype(np.float64) - fixed_gemm(Z[rows].astype(np.float64), self.components)
            out[rows] = np.sqrt(np.square(left).sum(axis=1))
        return out


def find_projection(X: Any, n_components: int, random_state: int) -> Projection:
    """Find the principal components of rows, dense or sparse."""
    from sklearn.decomposition import PCA

    solver = "auto"
    if sp.issparse(X):
        solver = "covariance_eigh" if X.shape[1] <= _SPARSE_PCA else "arpack"
    with np.errstate(invalid="ignore"):  # identical rows have no variance to take a share of
        found = PCA(n_components, svd_solver=solver, random_state=random_state).fit(X)
    mean, components = (np.ascontiguousarray(part, dtype=X.dtype) for part in (found.mean_, found.components_))
    return Projection(mean, components)
