"""Partial least squares for classes (Barker and Rayens 2003): scores of the data that covary most with the classes.

Over scikit-learn's ``PLSRegression`` on one column of zeros and ones per class; with numbers it is PLS regression.

References
----------
.. [1] M. Barker and W. Rayens, "Partial least squares for discrimination", Journal of Chemometrics 17, 2003.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression

from manifolia._core import memory
from manifolia._core.blocks import fixed_gemm
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, BoolArray, FloatArray
from manifolia._core.validate import check_bool, check_number, validate_data
from manifolia._core.warnings import warn
from manifolia.baselines._placing import TargetMap
from manifolia.baselines._target import target_factor
from manifolia.exceptions import ParameterError

_ROUNDING = 1e-14  # share of a column's largest value: a spread that rounding alone may cause


class PLSDA(TargetMap):
    """Map by the scores of partial least squares.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    scale : bool, default=True
        Whether columns are scaled to unit variance first.
    task : str, default="auto"
        The kind of task, as for `manifolia.RFPHATE`; numbers give PLS regression.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    rotations_ : ndarray of shape (d, n_components)
        Matrix that scaled rows are multiplied by; ``x_rotations_`` of scikit-learn's model.
    mean_, scale_ : ndarray of shape (d,)
        What is subtracted from the columns, and what they are divided by.
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

    @all_or_nothing
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
        checked = validate_data(self, X, min_rows=2)
        n, d = checked.shape
        check_number(self.n_components, "n_components", low=1, high=min(n, d), integer=True)
        memory.require(self._memory_need(checked, y), step=f"least squares of {n} rows", remedy="Take fewer rows.")
        factor = target_factor(y, n, task=self.task)
        self.classes_ = factor.classes
        # Centred and scaled here, so that new rows need nothing but the model's public rotations.
        A, F = checked.astype(np.float64), factor.F
        self.mean_, self.scale_ = A.mean(axis=0), np.ones(d)
        if self.scale:
            self.scale_ = _deviation(A)
            F = F / _deviation(F)
        A = np.where(_varies(A), A - self.mean_, 0.0) / self.scale_
        for part, told in (
            (A, "every column of X is constant"),
            (F, "y has the same value, or one class, in every row"),
        ):
            if not np.any(part):
                raise ParameterError(f"{told}, so that there is no direction to find. Pass data that varies.")
        with threads(1), warnings.catch_warnings():
            # Components beyond what explains the target are empty; a power method that has not converged is close
            # enough.
            warnings.simplefilter("ignore", UserWarning)
            A /= np.ldexp(1.0, np.frexp(np.abs(A).max())[1] - 1)  # rotations do not depend on a common scale
            model = PLSRegression(self.n_components, scale=False).fit(A, F)
        self.rotations_ = model.x_rotations_
        n_found = int(np.any(self.rotations_ != 0, axis=0).sum())
        if n_found < self.n_components:
            warn(f"only {n_found} of {self.n_components} components tell about the target; the others are 0.")
        self._n_features_out = self.n_components
        return self

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: copies of the rows, centred, scaled and deflated, and the target beside them."""
        n, d = X.shape
        return 8.0 * n * (4 * d + 20)

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
        # scikit-learn's own transform is one product of all rows, whose bits depend on how many there are.
        places = fixed_gemm((rows - self.mean_) / self.scale_, self.rotations_, n_jobs=self.n_jobs)
        return places.astype(dtype, copy=False)


def _varies(A: FloatArray) -> BoolArray:
    """Find which columns differ by more than rounding."""
    return np.asarray(A.std(axis=0) > _ROUNDING * np.abs(A).max(axis=0))


def _deviation(A: FloatArray) -> FloatArray:
    return np.where(_varies(A), A.std(axis=0, ddof=1), 1.0)
