"""`read`: a path or an object in memory → `Table`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.optional import import_extra
from manifolia._core.validate import is_sparse, to_csr
from manifolia.exceptions import TableError
from manifolia.tables.matrices import default_row_names, read_numpy
from manifolia.tables.naming import column_names, nearest
from manifolia.tables.table import Table
from manifolia.tables.text import read_text

__all__ = ["as_frame", "read"]

_ARROW = (".arrow", ".feather", ".ipc")
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".xlsm")
#: How like its name a file must be to be suggested for one that is not there.
_LIKE_FILE = 0.75
READABLE = "CSV, TSV, Parquet (.parquet), Arrow (.arrow, .feather), NumPy (.npz, .npy) and AnnData (.h5ad) files"


def read(
    source: Any,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    layer: str | None = None,
    obsm: str | None = None,
    na_values: Sequence[str] = (),
) -> Table:
    """Read a table from a file or take one from memory.

    Parameters
    ----------
    source : path, DataFrame, polars or Arrow table, ndarray, sparse matrix, AnnData or Table
        A path is read by its suffix; any other suffix is taken for delimited text.
    sep : str, default=None
        Separator of a text file; None finds it (tab for .tsv).
    decimal : {".", ","}, default=None
        Decimal sign of a text file; None takes the point, or the comma where columns can only be read so. With the
        point, a column such as 52,252 has separated thousands.
    layer : str, default=None
        The layer of AnnData to take instead of ``X``.
    obsm : str, default=None
        The entry of AnnData's ``obsm`` to take instead of ``X``.
    na_values : sequence of str, default=()
        Texts that mean "missing" (such as ``"?"``), besides those of `manifolia.tables.text.MISSING_TEXTS` in text
        files (the empty cell, ``NA``, ``NaN``, ``null``, …; ``None`` only among numbers).

    Returns
    -------
    Table
        Features, what else is known of each row, row names.

    Raises
    ------
    TableError
        If it cannot be read; the message says why and what to do.
    MissingExtraError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> from manifolia import tables
    >>> table = tables.read(pd.DataFrame({"width": [1.0, 2.5], "kind": ["a", "b"]}))
    >>> table.n_rows, table.feature_names
    (2, ['width', 'kind'])
    """
    marks = [na_values] if isinstance(na_values, str) else [str(value) for value in na_values]
    if isinstance(source, (str, os.PathLike)):
        path = Path(source).expanduser()
        _check_file(path)
        table = _read_file(path, sep=sep, decimal=decimal, layer=layer, obsm=obsm, na_values=marks)
    else:
        if sep is not None or decimal is not None:
            message = f"sep and decimal are for text files, and source is a {type(source).__name__}. Leave them out."
            raise TableError(message)
        table = _from_memory(source, layer=layer, obsm=obsm)
        if marks and not table.is_matrix:
            table = _mark_missing(table, marks)
    if not table.n_rows:
        message = f"{table.source} has no rows. A table needs at least one row."
        raise TableError(message)
    if not table.feature_names:
        message = f"{table.source} has no columns. A table needs at least one column."
        raise TableError(message)
    return table


def _check_file(path: Path) -> None:
    if path.is_dir():
        message = f"{path} is a folder. Pass a file: {READABLE}."
        raise TableError(message)
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        message = f"there is no file {path}: the folder {folder} does not exist."
        raise TableError(message)
    # Without suffixes, which would make any two tables alike; of the files with that name, the one most like it.
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    stems = nearest(Path(path.name).stem, [Path(name).stem for name in files], cutoff=_LIKE_FILE)
    near = nearest(path.name, [name for name in files if Path(name).stem in stems], cutoff=0.0)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    message = f"there is no file {path}.{hint}"
    raise TableError(message)


def _read_file(path: Path, *, layer: str | None, obsm: str | None, **text: Any) -> Table:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    if suffix != ".h5ad" and (layer is not None or obsm is not None):
        message = f"layer and obsm are for AnnData (.h5ad), and {path} is none. Leave them out."
        raise TableError(message)
    if suffix in _SPREADSHEETS:
        message = f"{path} is a spreadsheet, which is not read here. Save it as CSV, or pass pandas.read_excel(...)."
        raise TableError(message)
    known = {".parquet", ".pq", ".npz", ".npy", ".h5ad", *_ARROW}
    if suffix in known:
        for name in ("sep", "decimal"):
            if text[name] is not None:
                message = f"{name} is for text files, and {path} is none. Leave it out."
                raise TableError(message)
        if not path.stat().st_size:
            message = f"{path} is empty."
            raise TableError(message)
    if suffix == ".h5ad":
        from manifolia.tables.annotated import read_anndata

        return read_anndata(path, layer=layer, obsm=obsm)
    if suffix in (".npz", ".npy"):
        return read_numpy(path)
    if suffix in (".parquet", ".pq") or suffix in _ARROW:
        table = _frame_table(_read_columnar(path, suffix), source=str(path))
        return _mark_missing(table, text["na_values"]) if text["na_values"] else table
    return _text_table(path, suffix, **text)


def _text_table(path: Path, suffix: str, **text: Any) -> Table:
    if text["sep"] is None and suffix in (".tsv", ".tab"):
        text["sep"] = "\t"
    found = read_text(path, **text)
    names = default_row_names(len(found.frame)) if found.row_names is None else np.array(found.row_names, dtype=object)
    columns = [str(name) for name in found.frame.columns]
    empty = pd.DataFrame(index=found.frame.index)
    return Table(found.frame, columns, empty, names, str(path), tuple(found.notes))


def _read_columnar(path: Path, suffix: str) -> pd.DataFrame:
    import_extra("pyarrow", extra="parquet", purpose=f"Reading {suffix} files")
    import pyarrow as pa

    try:
        if suffix in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as stored:
                return _from_arrow(stored.read())
        with pa.memory_map(str(path)) as stream:
            try:
                return _from_arrow(pa.ipc.open_file(stream).read_all())
            except pa.ArrowInvalid:
                stream.seek(0)
                return _from_arrow(pa.ipc.open_stream(stream).read_all())
    except (pa.ArrowException, OSError, ValueError) as error:
        what = "a Parquet file" if suffix in (".parquet", ".pq") else "an Arrow file"
        message = f"{path} cannot be read as {what}: {error}"
        raise TableError(message.rstrip(".") + ".") from error


def _from_arrow(table: Any) -> pd.DataFrame:
    names = [str(name) for name in table.column_names]
    column_names(names)  # pandas' own message on repeated names does not name them
    return _signed(table).to_pandas(date_as_object=False)


def _signed(table: Any) -> Any:
    """Return an Arrow table whose categories are numbered by signed integers, as older versions need it."""
    import pyarrow as pa

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
    return table


def _from_memory(source: Any, *, layer: str | None, obsm: str | None) -> Table:
    kind = type(source).__module__.partition(".")[0]
    if kind == "anndata":
        from manifolia.tables.annotated import from_anndata

        return from_anndata(source, layer=layer, obsm=obsm)
    if layer is not None or obsm is not None:
        message = f"layer and obsm are for AnnData, and source is a {type(source).__name__}. Leave them out."
        raise TableError(message)
    if isinstance(source, Table):
        return source
    if is_sparse(source):
        return _matrix_table(to_csr(source), source="the sparse matrix")
    frame = as_frame(source)
    if frame is not None:
        return _frame_table(frame, source="the table")
    values = np.asarray(source)
    if values.ndim != 2:
        message = (
            f"source must be a path, a table or a two-dimensional array, got {type(source).__name__} of "
            f"{values.ndim} dimensions. Pass one row for each thing to be mapped."
        )
        raise TableError(message)
    if values.dtype.kind in "biuf":
        return _matrix_table(values, source="the array")
    columns = [f"x{i}" for i in range(values.shape[1])]
    return _frame_table(pd.DataFrame(values, columns=columns).infer_objects(), source="the array")


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
        message = "source is a LazyFrame, which is not computed yet. Pass source.collect()."
        raise TableError(message)
    if kind not in ("polars", "pyarrow") and not hasattr(source, "__arrow_c_stream__"):
        return None
    pa = import_extra("pyarrow", extra="parquet", purpose=f"Taking a table of {kind}")
    if isinstance(source, (pa.Table, pa.RecordBatch)):
        table = source if isinstance(source, pa.Table) else pa.Table.from_batches([source])
    else:
        table = source.to_arrow() if hasattr(source, "to_arrow") else pa.table(source)
    return _from_arrow(table)


def _matrix_table(values: Any, *, source: str) -> Table:
    n_rows, n_columns = values.shape
    names = [f"x{i}" for i in range(n_columns)]
    return Table(values, names, pd.DataFrame(index=range(n_rows)), default_row_names(n_rows), source)


def _frame_table(frame: pd.DataFrame, *, source: str) -> Table:
    """Make a table of a frame; an index that is not just the rows' numbers names the rows."""
    names = column_names(frame.columns, source=source)
    if list(frame.columns) != names:
        frame = frame.set_axis(names, axis=1)
    index = frame.index
    plain = isinstance(index, pd.RangeIndex) or (index.nlevels == 1 and index.dtype.kind in "iu" and index.name is None)
    row_names = default_row_names(len(frame)) if plain else np.array(column_labels(index), dtype=object)
    return Table(frame, names, pd.DataFrame(index=index), row_names, source)


def column_labels(index: pd.Index) -> list[str]:
    """Write the labels of an index as texts; they need not be distinct."""
    return [" / ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in index]


def _mark_missing(table: Table, marks: list[str]) -> Table:
    frame = table.features.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            found = column.isin(marks)
            if found.any():
                frame[name] = column.mask(found)
    return replace(table, features=frame)
