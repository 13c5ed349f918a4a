"""What the preparer was given: a frame, an array or a sparse matrix, with or without names of its columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse, to_csr
from manifolia.exceptions import TableError
from manifolia.tables.naming import column_names
from manifolia.tables.reading import as_frame
from manifolia.tables.table import Table

__all__ = ["Source", "open_source"]


class Source(NamedTuple):
    """A raw table at the preparer's door."""

    values: Any  # The cells. An array holds numbers or booleans only
    names: list[str]  # The columns' names; x0, x1, … where there are none
    named: bool  # Whether the names are the user's

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    @property
    def is_frame(self) -> bool:
        """Tell whether columns have types of their own."""
        return isinstance(self.values, pd.DataFrame)

    def numeric(self) -> np.ndarray:
        """Tell which columns are numbers or booleans that NumPy holds."""
        if not isinstance(self.values, pd.DataFrame):
            return np.ones(self.shape[1], dtype=bool)
        kinds = [isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in self.values.dtypes]
        return np.array(kinds, dtype=bool)

    def booleans(self) -> np.ndarray:
        """Tell which columns are booleans that NumPy holds."""
        if not isinstance(self.values, pd.DataFrame):
            return np.full(self.shape[1], self.values.dtype == bool)
        return np.array([dtype == np.dtype(bool) for dtype in self.values.dtypes], dtype=bool)

    def dtype(self) -> Any:
        """Return the type of the numbers that come out: float32 if every column is, else float64."""
        if isinstance(self.values, pd.DataFrame):
            single = all(dtype == np.float32 for dtype in self.values.dtypes)
        else:
            single = self.values.dtype == np.float32
        return np.float32 if single else np.float64

    def block(self, positions: np.ndarray, dtype: Any = np.float64) -> FloatArray:
        """Return some numeric columns as a new array."""
        if isinstance(self.values, pd.DataFrame):
            return np.array(self.values.iloc[:, positions].to_numpy(dtype=dtype), order="C")
        whole = len(positions) == self.shape[1] and bool((np.diff(positions) == 1).all())
        return np.array(self.values if whole else self.values[:, positions], dtype=dtype, order="C")

    def column(self, position: int) -> pd.Series:
        """Return one column."""
        if isinstance(self.values, pd.DataFrame):
            return self.values.iloc[:, position].reset_index(drop=True)
        return pd.Series(self.values[:, position])


def open_source(X: Any) -> Source:
    """Take what a user passed to ``fit`` or ``transform``."""
    if isinstance(X, Table):
        source = Source(X.features, X.feature_names, True)
    elif is_sparse(X):
        source = Source(to_csr(X), [f"x{i}" for i in range(X.shape[1])], False)
    else:
        frame = as_frame(X)
        if frame is None:
            source = _from_array(X)
        else:
            source = Source(frame, column_names(frame.columns), True)
    if is_sparse(source.values) and source.values.dtype.kind not in "biuf":
        message = f"Complex data not supported: the sparse matrix holds {source.values.dtype}. Pass real numbers."
        raise TableError(message)
    n_rows, n_columns = source.shape
    # scikit-learn's words, which its own checks and users look for.
    if n_rows == 0:
        message = f"Found array with 0 sample(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
        raise TableError(message)
    if n_columns == 0:
        message = f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        raise TableError(message)
    return source


def _from_array(X: Any) -> Source:
    values = X if isinstance(X, np.ndarray) else np.asarray(X)
    if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
        values = np.asarray(X, dtype=object)  # a list keeps its numbers and its None beside texts
    if values.ndim != 2:
        message = (
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: one row for each thing to be "
            f"mapped, one column for each feature."
        )
        raise TableError(message)
    names = [f"x{i}" for i in range(values.shape[1])]
    if values.dtype.kind == "c":
        message = "Complex data not supported: the array holds complex numbers. Pass real and imaginary parts."
        raise TableError(message)
    if values.dtype.kind in "biuf":
        return Source(values, names, False)
    return Source(pd.DataFrame(values, columns=names).infer_objects(), names, False)
