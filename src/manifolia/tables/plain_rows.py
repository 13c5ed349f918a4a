"""Rows in the form that distances need, made from what a `TablePreparer` prepared for a method."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from manifolia._core.types import FloatArray
from manifolia.tables.preparer import TablePreparer


class PlainRows:
    """Prepared rows in the form that distances need: no missing values, one scale, and each raw column by its role.

    The same, to the bit, as ``TablePreparer(missing="impute", scale=True)`` makes of the raw table, but from what
    another preparer made of it: this is what a map is compared with, whatever rows its method was given.
    """

    def __init__(self, preparer: TablePreparer | None = None) -> None:
        self.preparer = preparer  # what prepared the rows; without it, each column's role is found again

    def fit_transform(self, X: Any) -> Any:
        """Find the scale of rows, and make them plain."""
        own = self.preparer
        if self._is_plain():
            return X
        if own is None or own.sparse_:
            self._plain: Any = TablePreparer(missing="impute", scale=True)
            return self._plain.fit_transform(X)
        self._plain = copy.copy(own).set_params(missing="impute", scale=True)
        self._plain.center_ = self._plain.scale_ = None
        self._plain._set_output_columns()
        self._plain.center_, self._plain.scale_ = self._plain._find_scale(self._encoded(X))
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        """Make other rows plain, on the same scale."""
        if self._is_plain():
            return X
        if self.preparer is None or self.preparer.sparse_:
            return self._plain.transform(X)
        return self._plain._expand(self._encoded(X))

    def _is_plain(self) -> bool:
        return self.preparer is not None and self.preparer.missing == "impute" and self.preparer.scale

    def _encoded(self, X: FloatArray) -> FloatArray:
        """Undo `TablePreparer._expand`: one number per cell of the used columns, NaN for missing."""
        own = self.preparer
        assert own is not None
        if own.center_ is not None and own.scale_ is not None:
            X = X * own.scale_.astype(X.dtype) + own.center_.astype(X.dtype)
        blocks = [slice(own.starts_[j], own.starts_[j] + own._width(name)) for j, name in enumerate(own.used_)]
        texts = [X[:, blocks[own.used_.index(name)]] for name in own.texts_]
        encoded = np.hstack([X[:, own.starts_], *texts])
        for j, name in enumerate(own.used_):
            if name in own.texts_:
                encoded[:, j] = np.where(np.isnan(encoded[:, j]), np.nan, 0.0)
            if own.roles_[name] == "categorical":
                levels = X[:, blocks[j]]
                encoded[:, j] = np.where(levels.sum(axis=1) == 0, -1.0, levels.argmax(axis=1))
                encoded[np.isnan(levels[:, 0]), j] = np.nan
            if own.marks_[j] >= 0:
                encoded[X[:, own.marks_[j]] == 1, j] = np.nan
        return encoded
