"""Maximum variance unfolding as an estimator (Weinberger and Saul 2006), over `manifolia.layout.mvu`.

References
----------
.. [1] K. Q. Weinberger and L. K. Saul, "Unsupervised learning of image manifolds by semidefinite programming",
   International Journal of Computer Vision 70, 2006.
"""

from __future__ import annotations

from typing import Any

from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_seed
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_number, validate_data
from manifolia.layout.mvu import unfold, unfold_need

_EDGE_BYTES = 8e3  # per row: the pairs whose distances are kept, and what is computed from them


class MVU(Estimator):
    """Map of largest variance that keeps the distances of neighbours.

    It has no formula for new rows; `manifolia.KernelTSNE` with ``embedder="mvu"`` gives it one.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_neighbors : int, default=6
        Neighbours of a row whose distances are kept; all others if there are fewer.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the small noise in the start.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True ends with the map so far.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map.
    variances_ : ndarray
        Variance along all axes of the unfolded rows: the map leaves out those beyond its components.
    distance_error_ : float
        Root mean square of the relative errors of neighbours' squared distances.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.baselines import MVU
    >>> t = np.linspace(0.0, 3.0, 60)
    >>> arc = np.column_stack([np.cos(t), np.sin(t)])
    >>> float(np.ptp(MVU(1, n_neighbors=2, random_state=0).fit_transform(arc)).round(2))
    3.0
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 6,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> MVU:
        """Unfold the rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, a few thousand at most.
        y : object, default=None
            Not used.

        Returns
        -------
        MVU
            Itself.
        """
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.n_neighbors, "n_neighbors", low=1, integer=True)
        checked = validate_data(self, X, min_rows=2)
        with threads(self.n_jobs):
            unfolded = unfold(
                checked,
                self.n_components,
                n_neighbors=self.n_neighbors,
                random_state=as_seed(self.random_state),
                reporter=Reporter(self.callback),
            )
        self.embedding_ = unfolded.Y.astype(checked.dtype, copy=False)
        self.variances_ = unfolded.variances
        self.distance_error_ = unfolded.error
        return self

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Unfold the rows and return the map.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit."""
        return unfold_need(X.shape[0]) + _EDGE_BYTES * X.shape[0]

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
