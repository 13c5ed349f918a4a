"""Partial least squares for classes (Barker and Rayens 2003): scores of the data that covary most with the classes.

Over scikit-learn's ``PLSRegression`` on one column of zeros and ones per class; with numbers it is PLS regression.

References
----------
.. [1] M. Barker and W. Rayens, "Partial least squares for discrimination", Journal of Chemometrics 17, 2003.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import PLSRegression

from manifolia._core.blocks import fixed_gemm
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_number, validate_data
from manifolia.baselines._placing import TargetMap
from manifolia.baselines._target import target_factor


class PLSDA(TargetMap, BaseEstimator):
    """Map by the scores of partial least squares.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    scale : bool, default=True
        Whether columns are brought to unit variance first.
    task : str, default="auto"
        What the target asks for, as for `manifolia.RFPHATE`; numbers give PLS regression.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    rotations_ : ndarray of shape (d, n_components)
        What scaled rows are multiplied with; ``x_rotations_`` of scikit-learn's model.
    mean_, scale_ : ndarray of shape (d,)
        What is subtracted from columns, and what they are divided by.
    classes_ : ndarray or None
        The classes, if the target has any.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import PLSDA
    >>> X, y = load_iris(return_X_y=True)
    >>> PLSDA().fit_transform(X, y).shape
    (150, 2)
    """

    def __init__(
        self, n_components: int = 2, *, scale: bool = True, task: str = "auto", n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.task = task
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike) -> PLSDA:
        """Fit partial least squares.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, n_outputs)
            Classes or numbers.

        Returns
        -------
        PLSDA
            Itself.
        """
        check_bool(self.scale, "scale")
        checked = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        n, d = checked.shape
        check_number(self.n_components, "n_components", low=1, high=min(n, d), integer=True)
        factor = target_factor(y, n, task=self.task)
        self.classes_ = factor.classes
        # Centred and scaled here, so that new rows need nothing but the model's public rotations.
        A, F = checked.astype(np.float64), factor.F
        self.mean_, self.scale_ = A.mean(axis=0), np.ones(d)
        if self.scale:
            self.scale_ = _deviation(A)
            F = F / _deviation(F)
        with threads(1):
            model = PLSRegression(self.n_components, scale=False).fit((A - self.mean_) / self.scale_, F)
        self.rotations_ = model.x_rotations_
        self._n_features_out = self.n_components
        return self

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
        # scikit-learn's own transform is one product of all rows, whose bits depend on how many there are.
        places = fixed_gemm((rows - self.mean_) / self.scale_, self.rotations_, n_jobs=self.n_jobs)
        return places.astype(dtype, copy=False)


def _deviation(A: FloatArray) -> FloatArray:
    spread = A.std(axis=0, ddof=1)
    return np.where(spread > 0, spread, 1.0)
