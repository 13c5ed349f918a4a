"""What the derivative of a map says about features, for every estimator that has one."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray
from manifolia.extension.kernel_jacobian import importance_from_jacobian, sensitivity_from_jacobian

__all__ = ["MapAnswers"]


class MapAnswers(ABC):
    """Arrows, importance and sensitivity from ``jacobian(X)``, which the estimator has."""

    @abstractmethod
    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (m, n_components, d)
            ∂y/∂x at each row.
        """

    def feature_gradients(self, X: ArrayLike) -> FloatArray:
        """Give the arrows along which rows move when features grow.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, d, n_components)
            The `jacobian`, arrow by arrow.
        """
        return np.ascontiguousarray(self.jacobian(X).transpose(0, 2, 1))

    def feature_importance(self, X: ArrayLike) -> FloatArray:
        """Tell how much each feature moves each row.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, d)
            Lengths of the arrows, as shares of the row's longest.
        """
        return importance_from_jacobian(self.jacobian(X))

    def sensitivity(self, X: ArrayLike) -> FloatArray:
        """Tell how far rows move for the small change of the data that moves them most.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m,)
            Largest singular value of the `jacobian`: large where the map tears.
        """
        return sensitivity_from_jacobian(self.jacobian(X))
