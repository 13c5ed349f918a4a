"""Enhanced supervised Isomap: Isomap on distances that know the classes (Geng et al. 2005, Ribeiro et al. 2008).

New rows have no class, so they cannot be measured by these distances. As in the paper they are placed by a generalised
regression network, which is a Nadaraya–Watson mean of the training rows' places: `manifolia.KernelMap`.

References
----------
.. [1] X. Geng, D.-C. Zhan and Z.-H. Zhou, "Supervised nonlinear dimensionality reduction for visualization and
   classification", IEEE Transactions on Systems, Man and Cybernetics B 35, 2005.
.. [2] B. Ribeiro, A. Vieira and J. Carvalho das Neves, "Supervised Isomap with dissimilarity measures in embedding
   learning", CIARP 2008.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.spatial.distance import cdist

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_number, validate_data
from manifolia.baselines._classwise import classwise_distances, mean_distance
from manifolia.baselines._placing import ClassMap
from manifolia.baselines._target import target_classes
from manifolia.extension.kernel_map import KernelMap
from manifolia.layout.classical_mds import classical_mds

_SQUARE_ARRAYS = 5  # n × n arrays of doubles that exist at the same time


class EnhancedSupervisedIsomap(ClassMap):
    """Isomap on distances that are shrunk within classes and stretched between them.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_neighbors : int, default=10
        Neighbours of a row; all others if there are fewer.
    alpha : float, default=0.5
        Between 0 and 1: how close rows of different classes may be.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map of the training rows, made with their classes.
    classes_ : ndarray
        The classes.
    beta_ : float
        Scale of the squared distances: the mean distance.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    Classes that lie apart are pieces of the graph of neighbours; pieces are joined by their nearest pairs.

    The map separates training rows of different classes by construction, even with shuffled labels. Judge it by new
    rows only: ``transform`` places rows without their class, training rows included, so ``fit_transform`` and
    ``transform`` differ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import EnhancedSupervisedIsomap
    >>> X, y = load_iris(return_X_y=True)
    >>> EnhancedSupervisedIsomap().fit(X, y).transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 10, alpha: float = 0.5, n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> EnhancedSupervisedIsomap:
        """Make the map.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, features on comparable scales.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        EnhancedSupervisedIsomap
            Itself.
        """
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.n_neighbors, "n_neighbors", low=1, integer=True)
        check_number(self.alpha, "alpha", low=0.0, high=1.0)
        checked = validate_data(self, X, min_rows=2)
        n = checked.shape[0]
        self.classes_, codes = target_classes(y, n, name="EnhancedSupervisedIsomap")
        memory.require(self._memory_need(checked, y), step=f"distances of {n} rows", remedy="Take fewer rows.")
        rows = checked.astype(np.float64)
        with threads(self.n_jobs):
            D = cdist(rows, rows)
            self.beta_ = mean_distance(D)
            D = classwise_distances(D, codes, alpha=self.alpha, beta=self.beta_)
            geodesic = along_graph(D, min(self.n_neighbors, n - 1))
            self.embedding_ = classical_mds(geodesic, min(self.n_components, n)).Y.astype(checked.dtype)
            self._map = KernelMap(n_jobs=self.n_jobs).fit(checked, self.embedding_)
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
        return np.asarray(self._map.transform(rows)).astype(dtype, copy=False)


def along_graph(D: FloatArray, k: int) -> FloatArray:
    """Measure distances along the graph of nearest neighbours; pieces are joined by their nearest pairs."""
    n = len(D)
    hidden = D.copy()
    np.fill_diagonal(hidden, np.inf)
    near = np.argsort(hidden, axis=1, kind="stable")[:, :k]
    # 32-bit indices: SciPy 1.12 finds no paths with others.
    rows = np.repeat(np.arange(n, dtype=np.int32), k)
    columns = near.ravel().astype(np.int32)
    least = np.finfo(np.float64).tiny  # an edge of length 0 would not be stored
    edges = csr_array((np.maximum(D[rows, columns], least), (rows, columns)), shape=(n, n))
    count, labels = connected_components(edges, directed=False)
    if count > 1:
        extra = _joins(D, labels, count)
        rows = np.concatenate((rows, extra[0]))
        columns = np.concatenate((columns, extra[1]))
        edges = csr_array((np.maximum(D[rows, columns], least), (rows, columns)), shape=(n, n))
    return np.asarray(shortest_path(edges, method="D", directed=False))


def _joins(D: FloatArray, labels: IntArray, count: int) -> IntArray:
    """The nearest rows of each pair of pieces."""
    pairs = []
    for here, there in itertools.combinations([np.flatnonzero(labels == piece) for piece in range(count)], 2):
        i, j = np.unravel_index(int(np.argmin(D[np.ix_(here, there)])), (len(here), len(there)))
        pairs.append((here[i], there[j]))
    return np.array(pairs, dtype=np.int32).T
