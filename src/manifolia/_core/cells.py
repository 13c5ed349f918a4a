"""The cells of a table as numbers; for a cell that is not one, the error names its column, its content and what to do.

Arrays, lists, sparse matrices and data frames of every library are read without importing one: a frame of pandas
column by column, so that each keeps its type, others as the array that they make of themselves.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import numbers
import re
import reprlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.types import Array, ArrayLike, FloatArray, Sparse
from manifolia.exceptions import ParameterError, ParameterTypeError

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_NUMBERS = "biuf"
#: In scikit-learn's words, which its users look for.
_RULE = "Cells of this argument must be numbers, or strings that read as numbers."


class Cells:
    """A table's numbers, dense or sparse, and the names of its columns."""

    def __init__(self, X: ArrayLike, name: str, taker: str = "") -> None:
        self.name = name
        self.taker = taker  # the estimator that takes the table
        self.names = column_names(X)
        self.numbers: Any = self._read(X)

    def column(self, j: int) -> str:
        """Name a column in a sentence."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def error(self, told: str, kind: type[ParameterError | ParameterTypeError] = ParameterError) -> Exception:
        """Make the error, with a message about it."""
        return kind(f"{self.name} {told}", parameter=self.name.partition("[")[0])

    def _read(self, X: ArrayLike) -> Any:
        is_frame = hasattr(X, "iloc") and hasattr(X, "dtypes") and getattr(X, "ndim", 0) == 2  # of pandas
        if is_frame and X.shape[1] and all(_is_sparse(dtype) for dtype in X.dtypes):
            X = sp.csr_array(X.sparse.to_coo())
        elif self.names is not None and not is_frame and hasattr(X, "to_pandas"):
            with contextlib.suppress(Exception):  # without Arrow it is read as an array, all columns alike
                X, is_frame = X.to_pandas(), True
        if sp.issparse(X):
            return self._of_sparse(X)
        if is_frame:
            return self._of_frame(X)
        mask = np.ma.getmaskarray(X) if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X) else None
        if type(X).__module__.partition(".")[0] == "anndata":
            taker = self.taker or "This function"
            raise self.error(f"is an AnnData. {taker} takes numbers; use mf.map, or pass its X.", ParameterTypeError)
        if isinstance(X, str | bytes | bytearray | dict | set | frozenset) or X is None:
            raise self._no_table(X, None)
        values = as_array(X, self.name)
        if values.ndim != 2:
            raise self._no_table(X, values)
        found = self._floats(values, lambda j: j)
        return found if mask is None else np.where(mask, np.asarray(np.nan, dtype=found.dtype), found)

    def _no_table(self, X: Any, values: Array | None) -> Exception:
        """Say that there are not two dimensions; if there is one, say how to make two."""
        if values is None or values.ndim == 0:
            got = "None" if X is None else f"{_example(X)} ({type(X).__name__})"
            told = f"must be a two-dimensional array, a data frame or a sparse matrix, got {got}."
            return self.error(told, ParameterTypeError)
        told = f"must have two dimensions, rows and columns, got an array of shape {values.shape}."
        if values.ndim == 1:
            told += (
                f" Reshape your data: {self.name}.reshape(-1, 1) makes one column of it, "
                f"{self.name}.reshape(1, -1) one row."
            )
        return self.error(told)

    def _of_frame(self, X: Any) -> FloatArray:
        single = X.shape[1] > 0 and all(dtype == np.float32 for dtype in X.dtypes)
        found = np.empty(X.shape, dtype=np.float32 if single else np.float64)
        for j in range(X.shape[1]):
            values = X.iloc[:, j]
            if isinstance(values.dtype, np.dtype) or getattr(values.dtype, "kind", "O") not in _NUMBERS:
                values = np.asarray(values)
            else:  # a type of pandas, whose missing values NumPy does not know
                values = values.to_numpy(dtype=np.float64, na_value=np.nan)
            found[:, j] = self._floats(values, lambda _, j=j: j)  # type: ignore[misc]
        return found

    def _of_sparse(self, X: Sparse) -> Sparse:
        check_indices(X, self.name)
        if X.dtype.kind not in _NUMBERS:
            kind = "Complex data not supported: it" if X.dtype.kind == "c" else "it"
            raise self.error(
                f"is a sparse matrix that cannot be used. {kind} holds {X.dtype} values. Pass real numbers."
            )
        out = sp.csr_array(X)
        if out.dtype not in _FLOATS:
            with np.errstate(over="ignore"):
                out = out.astype(np.float64)
        if not out.has_canonical_format:
            out = out.copy()  # the arrays may be the user's
            out.sum_duplicates()  # sorts too
        if out.indices.dtype != np.int32 or out.indptr.dtype != np.int32:
            if max(*out.shape, out.nnz) > np.iinfo(np.int32).max:
                raise self.error(
                    f"is a sparse matrix of {out.shape[0]} × {out.shape[1]} with {out.nnz} entries, more than 32-bit "
                    f"indices can count. Pass fewer rows."
                )
            parts = (out.data, out.indices.astype(np.int32), out.indptr.astype(np.int32))
            out = sp.csr_array(parts, shape=out.shape)
            out.has_canonical_format = True
        return out

    def _floats(self, values: Array, column_of: Callable[[int], int]) -> FloatArray:
        """Turn an array of any type into floats; one-dimensional ones are columns."""
        kind = values.dtype.kind
        if kind in _NUMBERS:
            with np.errstate(over="ignore"):
                return values if values.dtype in _FLOATS else values.astype(np.float64)
        if kind in "US":
            try:
                return values.astype(np.float64)
            except (ValueError, OverflowError):
                pass  # the cell at fault is found below
        if kind in "cmMV":
            if values.size == 0:
                return np.empty(values.shape)
            raise self._no_number(values.ravel()[0], column_of(0))
        cells = values.astype(object)
        found = np.empty(values.shape)
        for place, cell in np.ndenumerate(cells):
            number = _number(cell)
            if number is None:
                raise self._no_number(cell, column_of(place[-1]))
            found[place] = number
        return found

    def _no_number(self, cell: Any, j: int) -> Exception:
        """Say which column holds something that is not a number."""
        where = self.column(j)
        if isinstance(cell, complex | np.complexfloating):
            return self.error(
                f"cannot be used. Complex data not supported: {where} holds complex numbers, such as {cell}. Pass real "
                f"and imaginary parts as columns of their own."
            )
        if isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, np.timedelta64):
            return self.error(f"cannot be used: {where} holds {_example(cell)}, which no 64-bit float can hold.")
        is_text = isinstance(cell, str | bytes)
        if isinstance(cell, datetime.date | np.datetime64):
            what = "dates"
        elif isinstance(cell, datetime.timedelta | np.timedelta64):
            what = "durations"
        else:
            what = "text" if is_text else f"values of type {type(cell).__name__}"
        shown = re.sub(r"(T00:00:00)?\.0+$", "", str(cell)) if what in ("dates", "durations") else _example(cell)
        kind = ParameterError if is_text else ParameterTypeError
        return self.error(f"cannot be used: {where} holds {what}, such as {shown}. {_RULE} {self._remedy()}", kind)

    def _remedy(self) -> str:
        if self.taker:
            return f"{self.taker} takes numbers; use mf.map, or put TablePreparer before it."
        return "Prepare the table with manifolia.tables.TablePreparer, or drop the column."


def as_array(X: ArrayLike, name: str) -> Array:
    """Read whatever can be read as an array; name what cannot."""
    try:
        return np.asarray(X)
    except Exception as error:  # reading an unknown class may raise anything
        lengths = {len(row) if hasattr(row, "__len__") else 0 for row in X} if isinstance(X, Sequence) else set()
        told = (
            f"cannot be read as an array ({type(X).__name__}). Pass a two-dimensional array or a data frame of numbers"
        )
        if len(lengths) > 1:
            told = f"has rows of {min(lengths)} and of {max(lengths)} values. Pass equally many in every row"
        kind = ParameterError if len(lengths) > 1 else ParameterTypeError
        raise kind(f"{name} {told}.", parameter=name.partition("[")[0]) from error


def check_indices(X: Sparse, name: str = "X") -> None:
    """Refuse a sparse matrix whose indices lie outside it: SciPy's loops do not check, and crash the process."""
    if X.ndim != 2:
        told = f"must have two dimensions, rows and columns, got a sparse array of shape {X.shape}."
        raise ParameterError(f"{name} {told}", parameter=name.partition("[")[0])
    if not _fits_together(X):
        raise ParameterError(
            f"{name} is a sparse matrix whose index arrays do not fit together. Build it again from rows, columns and "
            f"values.",
            parameter=name.partition("[")[0],
        )


def _fits_together(X: Sparse) -> bool:
    if X.format in ("csr", "csc", "bsr"):
        n_rows, n_columns = (
            size // block for size, block in zip(X.shape, getattr(X, "blocksize", (1, 1)), strict=True)
        )
        major, minor = (n_columns, n_rows) if X.format == "csc" else (n_rows, n_columns)
        ends, within = np.asarray(X.indptr), np.asarray(X.indices)
        if ends.shape != (major + 1,) or ends[0] != 0 or np.any(np.diff(ends) < 0) or ends[-1] > len(within):
            return False
        return len(within) <= len(X.data) and _inside(within[: ends[-1]], minor)
    if X.format == "coo":
        return len(X.row) == len(X.col) == len(X.data) and _inside(X.row, X.shape[0]) and _inside(X.col, X.shape[1])
    if X.format == "lil":
        return all(_inside(np.asarray(row, dtype=np.int64), X.shape[1]) for row in X.rows)
    return True


def _is_sparse(dtype: Any) -> bool:
    """Whether a pandas column leaves out zeros; one that leaves out something else is read as dense."""
    return type(dtype).__name__ == "SparseDtype" and dtype.kind in _NUMBERS and dtype.fill_value == 0


def _inside(indices: Array, size: int) -> bool:
    return indices.size == 0 or (int(indices.min()) >= 0 and int(indices.max()) < size)


def _number(cell: Any) -> float | None:
    """Read a cell: a number, NaN if it is missing, None if it is neither."""
    if type(cell) is float:
        return cell
    if cell is None or type(cell).__name__ in {"NAType", "NaTType", "MaskedConstant"}:
        return math.nan
    if isinstance(cell, np.generic) and cell.dtype.kind not in "biufUS":
        return None  # np.timedelta64 is an int by its bases
    if not isinstance(cell, numbers.Real | Decimal | str | bytes | np.bool_):
        return None
    try:
        return float(cell)
    except (ValueError, OverflowError):
        return None


def _example(value: Any) -> str:
    """Show a value, cut if it is long."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = 40
    return " ".join(short.repr(value).split())


def column_names(X: Any) -> list[Any] | None:
    """List the names of a frame's columns, whatever library made it; None if it is not a frame."""
    if not hasattr(X, "__array__") or isinstance(X, np.ndarray) or sp.issparse(X):
        return None
    names = getattr(X, "column_names", None)  # of Arrow, whose columns are the columns themselves
    names = getattr(X, "columns", None) if names is None else names
    try:
        return None if names is None or callable(names) else list(names)
    except TypeError:
        return None
