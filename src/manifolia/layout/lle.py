"""Locally linear embedding from distances alone (Roweis and Saul 2000).

Each row is reconstructed from its k nearest ones, Σ_j w_ij = 1, and the map keeps these weights. Only the inner
products of differences between rows are needed, and those follow from the distances (Saul and Roweis 2003, section 5):

    G_jl = (x_j − x_i)·(x_l − x_i) = ½ (d_ij² + d_il² − d_jl²),        (G + r tr(G) I) w_i ∝ 1
    Y: the eigenvectors 2 … c + 1 of (I − W)ᵀ (I − W), smallest eigenvalues first

scikit-learn's version takes only rows. For Euclidean distances both give the same map.

References
----------
Roweis, S. T. and Saul, L. K. (2000). Nonlinear dimensionality reduction by locally linear embedding. Science 290.
Saul, L. K. and Roweis, S. T. (2003). Think globally, fit locally: unsupervised learning of low dimensional manifolds.
JMLR 4, 119-155.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray, Sparse
from manifolia._core.validate import check_number
from manifolia.layout.classical_mds import check_distances, fix_signs
from manifolia.neighbors import Neighbors, kneighbors

_RIDGE = 1e-3  # r: scikit-learn's
_DENSE = 1500  # rows up to which LAPACK finds the eigenvectors
_SHIFT = -1e-9  # below the smallest eigenvalue, 0, so that the shifted matrix can be inverted


def local_weights(D: FloatArray, near: Neighbors, *, ridge: float = _RIDGE) -> Sparse:
    """Find the weights by which neighbours reconstruct each row."""
    n, k = near.indices.shape
    weights = np.empty((n, k))
    ones = np.ones(k)
    for i, mine in enumerate(near.indices):
        to_them = D[i, mine].astype(np.float64) ** 2
        gram = 0.5 * (to_them[:, np.newaxis] + to_them - D[np.ix_(mine, mine)].astype(np.float64) ** 2)
        trace = np.trace(gram)
        gram.flat[:: k + 1] += ridge * trace if trace > 0 else ridge
        found = np.linalg.solve(gram, ones)
        weights[i] = found / found.sum()
    return sp.csr_array((weights.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))


def lle(D: ArrayLike, n_components: int = 2, *, n_neighbors: int = 12) -> FloatArray:
    """Lay rows out by locally linear embedding of their distances.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances: symmetric, not negative, zero diagonal.
    n_components : int, default=2
        Dimensions of the map, below the number of rows.
    n_neighbors : int, default=12
        Number of rows from which each is reconstructed; with fewer rows than that, all others.

    Returns
    -------
    ndarray of float64 of shape (n, n_components)
        Columns of length 1, the entry of largest size positive.

    Raises
    ------
    ValueError
        If `D` is not a matrix of distances, or there are too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.layout.lle import lle
    >>> line = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0)))
    >>> steps = np.diff(lle(line, 1, n_neighbors=2)[:, 0])
    >>> bool((steps > 0).all() or (steps < 0).all())
    True
    """
    checked = check_distances(D)
    n = checked.shape[0]
    n_components = check_number(
        n_components, "n_components", low=1, high=n - 1, integer=True, hint="Pass more rows, or fewer components."
    )
    k = min(check_number(n_neighbors, "n_neighbors", low=1, integer=True), n - 1)
    with threads():
        W = local_weights(checked, kneighbors(checked, k, metric="precomputed"))
        rest = sp.csr_array(sp.eye_array(n, format="csr") - W)
        return fix_signs(_smallest(sp.csr_array(rest.T @ rest), n_components + 1)[:, 1:])


def _smallest(M: Sparse, n_vectors: int) -> FloatArray:
    """Eigenvectors of the smallest eigenvalues of a positive matrix, as columns."""
    n = M.shape[0]
    if n <= max(_DENSE, 3 * n_vectors):
        from scipy.linalg import eigh

        found: FloatArray = eigh(M.toarray(), subset_by_index=[0, n_vectors - 1])[1]
        return found
    from scipy.sparse.linalg import eigsh

    start = np.random.default_rng(0).standard_normal(n)  # fixed, so that the result is repeatable
    values, vectors = eigsh(sp.csc_matrix(M), k=n_vectors, sigma=_SHIFT, which="LM", v0=start)
    return np.asarray(vectors[:, np.argsort(values)])
