"""What maps that place new rows have in common: the check of rows, and what they tell scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_is_fitted, validate_data


class PlacingMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A map with a formula for new rows; ``fit`` sets ``_n_features_out`` when it is done."""

    def _check_new(self, X: ArrayLike) -> tuple[FloatArray, Any]:
        """Return rows in double precision, and the dtype of their places."""
        check_is_fitted(self, "_n_features_out")
        checked = validate_data(self, X, reset=False)
        return np.ascontiguousarray(checked, dtype=np.float64), checked.dtype

    def __sklearn_tags__(self) -> Any:
        """Say what is kept."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class TargetMap(PlacingMap):
    """A map that is made with a target and places rows without one."""

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Make the map and return the places of its rows.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, n_outputs), default=None
            The target; it is needed.

        Returns
        -------
        ndarray of shape (n, n_components)
            Places of the training rows.
        """
        # scikit-learn's own version would leave out a y of None, and Python, not the method, would complain.
        model: Any = self
        return self._training_places(model.fit(X, y), X)

    def _training_places(self, fitted: Any, X: ArrayLike) -> FloatArray:
        """Return the places of the rows of ``fit``: those that ``transform`` gives."""
        places: FloatArray = fitted.transform(X)
        return places

    def __sklearn_tags__(self) -> Any:
        """Say what is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ClassMap(TargetMap):
    """A map of the training rows made with their classes: ``embedding_``, which ``transform`` does not reproduce."""

    def _training_places(self, fitted: Any, X: ArrayLike) -> FloatArray:
        """Return ``embedding_``, made with the classes."""
        places: FloatArray = fitted.embedding_
        return places

    def __sklearn_tags__(self) -> Any:
        """Say what is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.one_d_labels = True
        return tags


def signs(V: FloatArray) -> FloatArray:
    """Return the signs that make the largest entry of each column positive."""
    return np.where(V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])] < 0, -1.0, 1.0)
