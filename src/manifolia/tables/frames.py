"""Tables in memory and in columnar files: the only place that tells pandas from polars from Arrow.

Whatever a user passes becomes a `Source`: a pandas frame, an array of numbers or a sparse matrix, with names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.cells import as_array
from manifolia._core.optional import import_extra
from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse, to_csr
from manifolia.exceptions import TableError
from manifolia.tables.naming import column_names, complex_numbers
from manifolia.tables.table import Table

_PARQUET = (".parquet", ".pq")


def as_frame(source: Any) -> pd.DataFrame | None:
    """Return a pandas frame of a pandas, polars or Arrow table, or of a structured array."""
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, pd.Series):
        return source.to_frame()
    if isinstance(source, np.ndarray):
        return pd.DataFrame.from_records(source) if source.dtype.names and source.ndim == 1 else None
    kind = type(source).__module__.partition(".")[0]
    if kind == "polars" and hasattr(source, "collect"):
        raise TableError("source is a LazyFrame, which is not computed yet. Pass source.collect().")
    if kind not in ("polars", "pyarrow") and not hasattr(source, "__arrow_c_stream__"):
        return pd.api.interchange.from_dataframe(source) if hasattr(source, "__dataframe__") else None
    pa = import_extra("pyarrow", extra="parquet", purpose=f"Taking a table of {kind}")
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = source if isinstance(source, pa.Table) else pa.Table.from_batches([source])
    else:
        table = source.to_arrow() if hasattr(source, "to_arrow") else source
        if not isinstance(table, pa.Table):
            if getattr(table, "ndim", 1) == 1 and not hasattr(table, "__arrow_c_stream__"):
                return None  # one column: there are not two dimensions
            table = pa.table(table)
    return from_arrow(table)


def read_columnar(path: Path, suffix: str) -> pd.DataFrame:
    """Read a Parquet or Arrow file."""
    import_extra("pyarrow", extra="parquet", purpose=f"Reading {suffix} files")
    import pyarrow as pa

    try:
        if suffix in _PARQUET:
            with open_parquet(path) as stored:
                return from_arrow(stored.read())
        with pa.memory_map(str(path)) as stream:
            try:
                return from_arrow(pa.ipc.open_file(stream).read_all())
            except pa.ArrowInvalid:
                stream.seek(0)
                return from_arrow(pa.ipc.open_stream(stream).read_all())
    except (pa.ArrowException, OSError, ValueError) as error:
        what = "a Parquet file" if suffix in _PARQUET else "an Arrow file"
        message = f"{path} cannot be read as {what}: {error}"
        raise TableError(message.rstrip(".") + ".") from error


def open_parquet(path: Path, **options: Any) -> Any:
    """Open a Parquet file; pages that carry a checksum are held against it when they are read."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, page_checksum_verification=True, **options)


def from_arrow(table: Any) -> pd.DataFrame:
    """Turn a table of Arrow into a pandas frame."""
    import pyarrow as pa

    column_names(table.column_names)  # pandas' own message about repeated names does not name them
    # Older versions of pandas need categories that are numbered by signed integers.
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and pa.types.is_unsigned_integer(field.type.index_type):
            column = table.column(i).unify_dictionaries()
            signed = [
                pa.DictionaryArray.from_arrays(
                    chunk.indices.cast(pa.int64()), chunk.dictionary, ordered=field.type.ordered
                )
                for chunk in column.chunks
            ]
            table = table.set_column(i, field.name, pa.chunked_array(signed) if signed else column.cast(pa.string()))
    return table.to_pandas(date_as_object=False)


def write_columnar(frame: pd.DataFrame, path: Path, suffix: str) -> None:
    """Write a Parquet or Arrow file; of Parquet, each page with a checksum."""
    import_extra("pyarrow", extra="parquet", purpose=f"Writing {suffix} files")
    if suffix in _PARQUET:
        frame.to_parquet(path, engine="pyarrow", write_page_checksum=True)
    else:
        frame.to_feather(path)


def as_pandas(values: Any) -> Any:
    """Return a column or a table of another library as pandas; anything else unchanged."""
    return values.to_pandas() if hasattr(values, "to_pandas") else values


def is_text(column: pd.Series) -> bool:
    """Return whether a column may hold texts."""
    return column.dtype == object or isinstance(column.dtype, pd.StringDtype)


def without_blanks(frame: pd.DataFrame) -> pd.DataFrame:
    """Remove blanks from both ends of texts; a text of blanks alone is missing."""
    changed: dict[int, Any] = {}
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if isinstance(column.dtype, pd.CategoricalDtype):
            blank = [level for level in column.cat.categories if isinstance(level, str) and not level.strip()]
            if blank:
                changed[place] = column.cat.remove_categories(blank)
        elif is_text(column) and any(isinstance(value, str) and value.strip() != (value or " ") for value in column):
            changed[place] = column.map(lambda value: (value.strip() or None) if isinstance(value, str) else value)
    if changed:
        frame = frame.copy(deep=False)
        for place, column in changed.items():
            frame.isetitem(place, column)
    return frame


def with_missing(frame: pd.DataFrame, marks: list[str]) -> pd.DataFrame:
    """Treat some texts, and the numbers that they represent, as missing."""
    frame = frame.copy(deep=False)
    numbers = pd.to_numeric(pd.Series(marks, dtype=object), errors="coerce").dropna().tolist()
    for name in frame.columns:
        column = frame[name]
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if not numeric and not is_text(column):
            continue
        missing = column.isin(numbers if numeric else marks)
        if missing.any():
            frame[name] = column.mask(missing)
    return frame


class Source(NamedTuple):
    """A raw table as the preparer receives it."""

    values: Any  # The cells. An array holds numbers or booleans only
    names: list[str]  # The columns' names; x0, x1, … if there are none
    named: bool  # Whether the names are the user's

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        return int(self.values.shape[0]), int(self.values.shape[1])

    def numeric(self) -> np.ndarray:
        """Find which columns are numbers or booleans that NumPy holds."""
        if not isinstance(self.values, pd.DataFrame):
            return np.ones(self.shape[1], dtype=bool)
        kinds = [isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in self.values.dtypes]
        return np.array(kinds, dtype=bool)

    def booleans(self) -> np.ndarray:
        """Find which columns are booleans that NumPy holds."""
        if not isinstance(self.values, pd.DataFrame):
            return np.full(self.shape[1], self.values.dtype == bool)
        return np.array([dtype == np.dtype(bool) for dtype in self.values.dtypes], dtype=bool)

    def dtype(self) -> Any:
        """Return the type of the resulting numbers: float32 if every column is, otherwise float64."""
        if isinstance(self.values, pd.DataFrame):
            single = all(dtype == np.float32 for dtype in self.values.dtypes)
        else:
            single = self.values.dtype == np.float32
        return np.float32 if single else np.float64

    def block(self, positions: np.ndarray, dtype: Any = np.float64) -> FloatArray:
        """Return some numeric columns as a new array."""
        if isinstance(self.values, pd.DataFrame):
            return np.array(self.values.iloc[:, positions].to_numpy(dtype=dtype), order="C")
        return np.array(self.some(positions), dtype=dtype, order="C")

    def some(self, positions: np.ndarray) -> Any:
        """Return some columns of an array or a sparse matrix; all of them in their order without a copy."""
        whole = len(positions) == self.shape[1] and bool((np.diff(positions) == 1).all())
        return self.values if whole else self.values[:, positions]

    def column(self, position: int) -> pd.Series:
        """Return one column."""
        if isinstance(self.values, pd.DataFrame):
            return self.values.iloc[:, position].reset_index(drop=True)
        return pd.Series(self.values[:, position])


def take_source(X: Any, wanted: str = "a table or a two-dimensional array") -> Source:
    """Take whatever a user passed; `wanted` says in a message what may be passed."""
    if isinstance(X, Source):
        return X
    if isinstance(X, Table):
        return Source(X.features, X.feature_names, True)
    if is_sparse(X):
        return Source(to_csr(X), [f"x{i}" for i in range(X.shape[1])], False)
    frame = as_frame(X)
    if frame is not None:
        return Source(frame, column_names(frame.columns), True)
    values = as_array(X, "X")
    if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
        values = np.asarray(X, dtype=object)  # a list keeps its numbers and its None beside texts
    if isinstance(X, Mapping):
        raise TableError("the table is a dict. Pass a frame, such as pandas.DataFrame(table).")
    if values.ndim == 0:
        raise TableError(f"{X!r} is no table. Pass {wanted}.")
    if values.ndim != 2:
        raise TableError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data: pass {wanted}, one row for each "
            f"thing to be mapped, one column for each feature."
        )
    names = [f"x{i}" for i in range(values.shape[1])]
    if values.dtype.kind == "c":
        raise complex_numbers()
    if values.dtype.kind == "V":
        raise TableError(f"X holds records ({values.dtype}) in each cell. Pass numbers, texts or dates.", parameter="X")
    if values.dtype.kind in "biuf":
        return Source(values, names, False)
    try:
        return Source(pd.DataFrame(values, columns=names).infer_objects(), names, False)
    except OverflowError as error:
        raise TableError("X holds a whole number that no 64-bit float can hold. Pass it as text.") from error


def open_source(X: Any) -> Source:
    """Take what a user passed to ``fit`` or ``transform``."""
    source = take_source(X)
    if is_sparse(source.values) and source.values.dtype.kind not in "biuf":
        raise TableError(
            f"Complex data not supported: the sparse matrix holds {source.values.dtype}. Pass real numbers."
        )
    n_rows, n_columns = source.shape
    # scikit-learn's words, which its own checks and users look for.
    for count, what in ((n_rows, "sample"), (n_columns, "feature")):
        if count == 0:
            raise TableError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
            )
    return source


def index_names(source: Any) -> np.ndarray | None:
    """Names of the rows of a frame as texts; None if its index only numbers them or is not unique."""
    index = getattr(source, "index", None)
    if not isinstance(index, pd.Index) or not index.is_unique or index.equals(pd.RangeIndex(len(index))):
        return None
    return np.array([str(name) for name in index], dtype=str)
