"""`read`: a path or an object in memory → `Table`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from manifolia._core.messages import Argument, Message
from manifolia._core.validate import is_sparse
from manifolia.exceptions import TableError
from manifolia.tables.frames import is_text, read_columnar, take_source
from manifolia.tables.matrices import read_numpy
from manifolia.tables.naming import column_names, labels, nearest
from manifolia.tables.table import Table, make_table
from manifolia.tables.text import READABLE, read_text

_ARROW = (".arrow", ".feather", ".ipc")
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".xlsm")
#: How like its name a file must be to be suggested for one that is not there.
_LIKE_FILE = 0.75


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
            raise TableError(
                f"sep and decimal are for text files, and source is a {type(source).__name__}. Leave them out."
            )
        table = _from_memory(source, layer=layer, obsm=obsm)
        if marks and not table.is_matrix:
            table = _mark_missing(table, marks)
    if not table.n_rows:
        raise TableError(f"{table.source} has no rows. A table needs at least one row.")
    if not table.feature_names:
        raise TableError(f"{table.source} has no columns. A table needs at least one column.")
    return table


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise TableError(f"{path} is a folder. Pass a file: {READABLE}.")
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise TableError(f"there is no file {path}: the folder {folder} does not exist.")
    # Without suffixes, which would make any two tables alike; of the files with that name, the one most like it.
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    stems = nearest(Path(path.name).stem, [Path(name).stem for name in files], cutoff=_LIKE_FILE)
    near = nearest(path.name, [name for name in files if Path(name).stem in stems], cutoff=0.0)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TableError(f"there is no file {path}.{hint}")


def _read_file(path: Path, *, layer: str | None, obsm: str | None, **text: Any) -> Table:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        suffix = Path(path.stem).suffix.lower()
    if suffix != ".h5ad" and (layer is not None or obsm is not None):
        both = (Argument("layer"), " and ", Argument("obsm"))
        message: str = Message(*both, f" are for AnnData (.h5ad), and {path} is none. Leave them out.")
        raise TableError(message, parameter="layer" if obsm is None else "obsm")
    if suffix in _SPREADSHEETS:
        raise TableError(
            f"{path} is a spreadsheet, which is not read here. Save it as CSV, or pass pandas.read_excel(...)."
        )
    known = {".parquet", ".pq", ".npz", ".npy", ".h5ad", *_ARROW}
    if suffix in known:
        for name in ("sep", "decimal"):
            if text[name] is not None:
                raise TableError(f"{name} is for text files, and {path} is none. Leave it out.", parameter=name)
        if not path.stat().st_size:
            raise TableError(f"{path} is empty.")
    if suffix == ".h5ad":
        from manifolia.tables.anndata import read_anndata

        return read_anndata(path, layer=layer, obsm=obsm)
    if suffix in (".npz", ".npy"):
        return read_numpy(path)
    if suffix in (".parquet", ".pq") or suffix in _ARROW:
        table = _frame_table(read_columnar(path, suffix), source=str(path))
        return _mark_missing(table, text["na_values"]) if text["na_values"] else table
    if text["sep"] is None and suffix in (".tsv", ".tab"):
        text["sep"] = "\t"
    content = read_text(path, **text)
    columns = [str(name) for name in content.frame.columns]
    return make_table(content.frame, columns, str(path), row_names=content.row_names, notes=content.notes)


def _from_memory(source: Any, *, layer: str | None, obsm: str | None) -> Table:
    kind = type(source).__module__.partition(".")[0]
    if kind == "anndata":
        from manifolia.tables.anndata import from_anndata

        return from_anndata(source, layer=layer, obsm=obsm)
    if layer is not None or obsm is not None:
        raise TableError(f"layer and obsm are for AnnData, and source is a {type(source).__name__}. Leave them out.")
    if isinstance(source, Table):
        return source
    given = take_source(source, "a path, a table or a two-dimensional array")
    if isinstance(given.values, pd.DataFrame):
        return _frame_table(given.values, source="the table" if given.named else "the array")
    what = "the sparse matrix" if is_sparse(given.values) else "the array"
    return make_table(given.values, given.names, what)


def _frame_table(frame: pd.DataFrame, *, source: str) -> Table:
    """Make a table of a frame; an index that is not just the rows' numbers names the rows."""
    names = column_names(frame.columns, source=source)
    if list(frame.columns) != names:
        frame = frame.set_axis(names, axis=1)
    index = frame.index
    plain = isinstance(index, pd.RangeIndex) or (index.nlevels == 1 and index.dtype.kind in "iu" and index.name is None)
    return make_table(frame, names, source, row_names=None if plain else labels(index))


def _mark_missing(table: Table, marks: list[str]) -> Table:
    frame = table.features.copy(deep=False)
    for name in frame.columns:
        column = frame[name]
        if is_text(column):
            missing = column.isin(marks)
            if missing.any():
                frame[name] = column.mask(missing)
    return replace(table, features=frame)
