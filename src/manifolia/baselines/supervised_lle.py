"""Enhanced supervised LLE: locally linear embedding among neighbours that the classes choose (Zhang 2009).

Neighbours are found by the distances of `manifolia.baselines.EnhancedSupervisedIsomap`; each row is then written as a
mean of its neighbours, Σ_j w_ij x_j with Σ_j w_ij = 1, and the map is the one that these weights reproduce best: the
eigenvectors of (I − W)ᵀ(I − W) with the smallest eigenvalues above 0. A new row is written as a mean of its nearest
training rows, by plain distances, and goes to the same mean of their places.

References
----------
.. [1] S.-Q. Zhang, "Enhanced supervised locally linear embedding", Pattern Recognition Letters 30, 2009.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_number, validate_data
from manifolia.baselines._classwise import classwise_distances, mean_distance
from manifolia.baselines._placing import ClassMap, signs
from manifolia.baselines._target import target_classes
from manifolia.neighbors import NeighborIndex

_SQUARE_ARRAYS = 5  # n × n arrays of doubles that exist at the same time


class EnhancedSupervisedLLE(ClassMap):
    """Locally linear embedding with neighbours chosen by distances that know the classes.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_neighbors : int, default=10
        Neighbours of a row; all others if there are fewer.
    alpha : float, default=0.5
        Between 0 and 1: how close rows of different classes may be.
    regularization : float, default=0.001
        Added to the neighbours' products, as a share of their trace.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map of the training rows, made with their classes.
    classes_ : ndarray
        The classes.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    If the classes fall apart into unconnected groups, LLE has as many answers as there are groups, and the map shows
    one point per group: with more classes than `n_components`, raise `n_neighbors` or `alpha`. ``transform`` places
    rows without their class; a training row is its own nearest row, and stays where it is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import EnhancedSupervisedLLE
    >>> X, y = load_iris(return_X_y=True)
    >>> EnhancedSupervisedLLE().fit(X, y).transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        alpha: float = 0.5,
        regularization: float = 0.001,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.regularization = regularization
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> EnhancedSupervisedLLE:
        """Make the map.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, features on comparable scales.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        EnhancedSupervisedLLE
            Itself.
        """
        check_number(self.n_neighbors, "n_neighbors", low=1, integer=True)
        check_number(self.alpha, "alpha", low=0.0, high=1.0)
        check_number(self.regularization, "regularization", low=0.0, open_low=True)
        checked = validate_data(self, X, min_rows=3)
        n = checked.shape[0]
        check_number(self.n_components, "n_components", low=1, high=n - 1, integer=True)
        self.classes_, codes = target_classes(y, n, name="EnhancedSupervisedLLE")
        memory.require(self._memory_need(checked, y), step=f"distances of {n} rows", remedy="Take fewer rows.")
        self._rows = checked.astype(np.float64)
        self._k = min(self.n_neighbors, n - 1)
        with threads(1):
            D = cdist(self._rows, self._rows)
            D = classwise_distances(D, codes, alpha=self.alpha, beta=mean_distance(D))
            np.fill_diagonal(D, np.inf)
            near = np.argsort(D, axis=1, kind="stable")[:, : self._k]
            W = np.eye(n)
            W[np.arange(n)[:, None], near] -= reconstruction(self._rows, self._rows, near, self.regularization)
            # The smallest eigenvector is constant and carries no information.
            vectors = eigh(W.T @ W, subset_by_index=[1, self.n_components])[1]
        self.embedding_ = (vectors * signs(vectors) * np.sqrt(n)).astype(checked.dtype)
        self._index = NeighborIndex(self._rows, exact=True)
        self._n_features_out = self.n_components
        return self

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the distances of all pairs, and what is computed from them."""
        n, d = X.shape
        return 8.0 * n * (_SQUARE_ARRAYS * n + 2 * d)

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows, each alone; a target plays no part.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        rows, dtype = self._check_new(X)
        if "_index" not in vars(self):
            self._index = NeighborIndex(self._rows, exact=True)
        near = self._index.query(rows, self._k, n_jobs=self.n_jobs).indices
        with threads(1):
            weights = reconstruction(rows, self._rows, near, self.regularization)
        places = np.sum(weights[:, :, None] * self.embedding_[near].astype(np.float64), axis=1)
        return np.asarray(places).astype(dtype, copy=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index out: it is made again when it is needed."""
        return {name: value for name, value in super().__getstate__().items() if name != "_index"}


def reconstruction(Q: FloatArray, X: FloatArray, near: IntArray, regularization: float) -> FloatArray:
    """Write rows as means of others: the weights that sum to 1 and come closest."""
    k = near.shape[1]
    out = np.empty(near.shape)
    for i, row in enumerate(Q):
        gaps = X[near[i]] - row
        G = gaps @ gaps.T
        trace = float(np.trace(G))
        G[np.diag_indices(k)] += regularization * (trace if trace > 0 else 1.0)
        weights = np.linalg.solve(G, np.ones(k))
        out[i] = weights / weights.sum()
    return out
