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
from manifolia.tables.files import READABLE, STANDARD_INPUT, TableFile, member_of, read_standard_input, refuse_address
from manifolia.tables.frames import read_columnar, take_source, with_missing, without_blanks
from manifolia.tables.matrices import read_numpy
from manifolia.tables.naming import column_names, labels, nearest
from manifolia.tables.records import JSON, SPREADSHEETS, as_lists, read_json, read_sheet
from manifolia.tables.table import Table, make_table
from manifolia.tables.text import read_text

_ARROW = (".arrow", ".feather", ".ipc")
_HEAD = 256  # bytes in which the first bracket of JSON is
#: How similar a file's name must be to be suggested for one that is not there.
_LIKE_FILE = 0.75


def read(
    source: Any,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    layer: str | None = None,
    obsm: str | None = None,
    na_values: Sequence[str] = (),
    sheet: str | int | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table from a file or take one from memory.

    Parameters
    ----------
    source : path, DataFrame, polars or Arrow table, ndarray, sparse matrix, AnnData or Table
        A path is read by its suffix; any other suffix is taken for delimited text. A zip archive with one table in it
        is read too, and "-" is standard input.
    sep : str, default=None
        Separator of a text file; None finds it (tab for .tsv). With a blank, several count as one.
    decimal : {".", ","}, default=None
        Decimal sign of a text file or of texts in a spreadsheet; None takes the point, or the comma if columns can only
        be read that way. With the point, a column such as 52,252 has separated thousands; with the comma, one such as
        1.234,56.
    layer : str, default=None
        The layer of AnnData to take instead of ``X``.
    obsm : str, default=None
        The entry of AnnData's ``obsm`` to take instead of ``X``.
    na_values : sequence of str, default=()
        Texts that mean "missing" (such as ``"?"``), besides those of `manifolia.tables.text.MISSING_TEXTS` in text
        files (the empty cell, ``NA``, ``NaN``, ``null``, …; ``None`` only among numbers).
    sheet : str or int, default=None
        Sheet of a spreadsheet, by its name or its number from 1; None takes the first that is not empty.
    encoding : str, default=None
        Encoding of a text file; None takes UTF-8, or what a byte order mark says, otherwise Latin-1 or Windows-1252.

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
        if not str(source):
            raise TableError(f"the path is empty. Pass a file: {READABLE}.")
        refuse_address(source)
        path = Path(source).expanduser()
        text = {"sep": sep, "decimal": decimal, "na_values": marks, "encoding": encoding}
        if str(source) == STANDARD_INPUT:
            table = _read_cells(read_standard_input(), sheet, text)
        else:
            _check_file(path)
            table = _read_file(path, sheet=sheet, layer=layer, obsm=obsm, **text)
    else:
        if any(option is not None for option in (sep, decimal, sheet, encoding)):
            raise TableError(
                f"sep, decimal, sheet and encoding are for files, and source is a {type(source).__name__}. Leave them "
                f"out."
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
    # Without suffixes, which would make any two tables similar; among files with that name, the most similar one.
    files = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    stems = nearest(Path(path.name).stem, [Path(name).stem for name in files], cutoff=_LIKE_FILE)
    near = nearest(path.name, [name for name in files if Path(name).stem in stems], cutoff=0.0)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise TableError(f"there is no file {path}.{hint}")


def _read_file(path: Path, *, sheet: str | int | None, layer: str | None, obsm: str | None, **text: Any) -> Table:
    file = member_of(path) if path.suffix.lower() == ".zip" else TableFile(str(path), path)
    suffix = file.suffix
    if suffix != ".h5ad" and (layer is not None or obsm is not None):
        both = (Argument("layer"), " and ", Argument("obsm"))
        message: str = Message(*both, f" are for AnnData (.h5ad), and {path} is none. Leave them out.")
        raise TableError(message, parameter="layer" if obsm is None else "obsm")
    known = {".parquet", ".pq", ".npz", ".npy", ".h5ad", *_ARROW}
    if suffix in known:
        for name in ("sep", "decimal", "encoding"):
            if text[name] is not None:
                raise TableError(f"{name} is for text files, and {path} is none. Leave it out.", parameter=name)
        _check_sheet(file, sheet)
        if file.member is not None:
            raise TableError(f"{file} is packed, and only text files are read so. Unpack it, and pass {file.member}.")
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
    return _read_cells(file, sheet, text)


def _check_sheet(file: TableFile, sheet: object) -> None:
    if sheet is not None:
        raise TableError(f"sheet is for spreadsheets, and {file} is none. Leave it out.", parameter="sheet")


def _read_cells(file: TableFile, sheet: str | int | None, text: dict[str, Any]) -> Table:
    """Read a file of cells: a spreadsheet, JSON, or delimited text, which the others become first."""
    suffix = file.suffix
    notes: list[str] = []
    lists: set[str] = set()
    if suffix in SPREADSHEETS:
        for name in ("sep", "encoding"):
            if text[name] is not None:
                raise TableError(f"{name} is for text files, and {file} is none. Leave it out.", parameter=name)
        cells, notes = read_sheet(file, sheet)
        text |= {"sep": "\t", "encoding": "utf-8"}
    else:
        _check_sheet(file, sheet)
        cells = file
        if suffix in JSON or (not suffix and file.head(_HEAD).lstrip()[:1] in (b"{", b"[")):
            cells, lists = read_json(file, text["encoding"])
            text |= {"sep": "\t", "encoding": "utf-8"}
        elif text["sep"] is None and suffix in (".tsv", ".tab"):
            text["sep"] = "\t"
    content = read_text(cells, **text)
    for name in lists.intersection(content.frame.columns):
        content.frame[name] = as_lists(content.frame[name])
    columns = [str(name) for name in content.frame.columns]
    frame = without_blanks(content.frame)
    return make_table(frame, columns, str(file), row_names=content.row_names, notes=[*notes, *content.notes])


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
    """Make a table from a frame; an index that does not just count the rows names them."""
    names = column_names(frame.columns, source=source)
    if list(frame.columns) != names:
        frame = frame.set_axis(names, axis=1)
    index = frame.index
    plain = index.nlevels == 1 and index.name is None and index.equals(pd.RangeIndex(len(index)))
    return make_table(without_blanks(frame), names, source, row_names=None if plain else labels(index))


def _mark_missing(table: Table, marks: list[str]) -> Table:
    return replace(table, features=with_missing(table.features, marks))
