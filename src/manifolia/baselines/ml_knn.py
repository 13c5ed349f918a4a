"""ML-kNN: labels of a row by counting the labels of its nearest rows (Zhang and Zhou 2007).

For each label, with C the number of the k nearest training rows that have it: P(label | C) by Bayes' rule from the
share of rows that have the label, and from how often C occurs among training rows with and without it.

References
----------
.. [1] M.-L. Zhang and Z.-H. Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern Recognition 40,
   2007.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.neighbors import NearestNeighbors

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.types import Array, ArrayLike, FloatArray
from manifolia._core.validate import check_is_fitted, check_number, check_option, is_sparse, label_array, validate_data
from manifolia.baselines._target import complete_target
from manifolia.exceptions import ParameterError

_SPARSE = ("euclidean", "manhattan", "cosine")
_METRICS = (*_SPARSE, "sqeuclidean", "chebyshev", "minkowski", "canberra", "hamming")


class MLkNN(ClassifierMixin, Estimator):
    """Multi-label classifier by the label counts of the nearest rows.

    A single column of classes counts as one label per class, of which the likeliest is predicted.

    Parameters
    ----------
    n_neighbors : int, default=10
        Nearest rows that are counted; all others if there are fewer.
    smoothing : float, default=1.0
        Added to every count, s in the paper.
    metric : str, default="euclidean"
        Distance: euclidean, manhattan or cosine; of dense rows also sqeuclidean, chebyshev, minkowski (which is
        euclidean), canberra or hamming.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    classes_ : ndarray
        The classes, or the numbers of the labels.
    prior_ : ndarray of shape (n_labels,)
        Smoothed share of the training rows that have each label.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.baselines import MLkNN
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> Y = np.column_stack([X[:, 0] > 9, X[:, 0] < 5]).astype(int)
    >>> MLkNN(3).fit(X, Y).predict([[2.0], [16.0]])
    array([[0, 1],
           [1, 0]])
    """

    def __init__(
        self, n_neighbors: int = 10, *, smoothing: float = 1.0, metric: str = "euclidean", n_jobs: int | None = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.metric = metric
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> MLkNN:
        """Count the labels around each training row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Rows.
        y : array-like of shape (n, n_labels) or (n,)
            Zeros and ones, or classes.

        Returns
        -------
        MLkNN
            Itself.
        """
        check_number(self.n_neighbors, "n_neighbors", low=1, integer=True)
        s = check_number(self.smoothing, "smoothing", low=0.0, open_low=True)
        check_option(self.metric, "metric", _METRICS)
        checked = validate_data(self, X, accept_sparse=True, min_rows=2)
        if is_sparse(checked) and self.metric not in _SPARSE:
            raise ParameterError(
                f"metric={self.metric!r} needs dense data, got a sparse X. Use one of {', '.join(map(repr, _SPARSE))}.",
                parameter="metric",
            )
        given = None if y is None else label_array(y)
        if given is not None and given.dtype.kind == "f" and np.isinf(given).any():
            raise ValueError(
                "Input y contains infinity or a value too large for dtype('float64'). Pass classes, or 0 and 1."
            )
        is_many = given is not None and given.ndim == 2 and given.shape[1] > 1
        labels: Any = complete_target(y, checked.shape[0], "multilabel" if is_many else "classification", "MLkNN").y
        if is_many:
            self.classes_ = np.arange(labels.shape[1])
        else:
            self.classes_, codes = np.unique(labels, return_inverse=True)
            labels = np.eye(len(self.classes_), dtype=int)[codes]
        n = checked.shape[0]
        memory.require(self._memory_need(checked, labels), step=f"labels around {n} rows", remedy="Take fewer rows.")
        self._many, self._labels = is_many, labels.astype(np.int64)
        self._k = min(self.n_neighbors, n - 1)
        with threads(self.n_jobs) as n_threads:
            near = NearestNeighbors(n_neighbors=self._k, metric=self.metric, algorithm="brute", n_jobs=n_threads)
            counts = self._labels[near.fit(checked).kneighbors(return_distance=False)].sum(axis=1)
        self._rows = checked
        self.prior_ = (s + self._labels.sum(axis=0)) / (2 * s + n)
        sides = (self._labels == 1, self._labels == 0)
        occurs = np.stack([[(side & (counts == c)).sum(axis=0) for c in range(self._k + 1)] for side in sides])
        self._likelihood = (s + occurs) / (s * (self._k + 1) + occurs.sum(axis=1, keepdims=True))
        return self

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the neighbours, and the labels of each."""
        given = np.zeros((1, 2)) if y is None else np.asarray(y)
        n_labels = given.shape[1] if given.ndim == 2 else len(np.unique(given))
        return 8.0 * X.shape[0] * self.n_neighbors * (n_labels + 4)

    @row_by_row
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict how likely each label is.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_labels)
            Probabilities; of classes they sum to 1.
        """
        check_is_fitted(self)
        checked = validate_data(self, X, reset=False, accept_sparse=True)
        with threads(self.n_jobs) as n_threads:
            # Made here, so that the model holds rows and no object of scikit-learn, and can be saved.
            near = NearestNeighbors(n_neighbors=self._k, metric=self.metric, algorithm="brute", n_jobs=n_threads)
            counts = self._labels[near.fit(self._rows).kneighbors(checked, return_distance=False)].sum(axis=1)
        column = np.arange(counts.shape[1])
        has = self.prior_ * self._likelihood[0][counts, column]
        lacks = (1 - self.prior_) * self._likelihood[1][counts, column]
        shares: FloatArray = has / (has + lacks)
        return shares if self._many else shares / shares.sum(axis=1, keepdims=True)

    @row_by_row
    def predict(self, X: ArrayLike) -> Array:
        """Name the labels that are more likely than not, or the likeliest class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_labels) or (m,)
            Zeros and ones, or classes.
        """
        shares = self.predict_proba(X)
        return (shares > 0.5).astype(int) if self._many else self.classes_[shares.argmax(axis=1)]

    def _check_restored(self) -> None:
        """Check that a model which came from a file has the labels of its rows."""
        if "_rows" not in vars(self):
            return
        if self._rows.shape[0] != self._labels.shape[0] or not 1 <= self._k < self._rows.shape[0]:
            raise ValueError("the labels of the model are not those of its rows.")

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags
