"""`write`: a frame to a file by its suffix; the file appears only when it is complete."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft
from manifolia._core.types import Array
from manifolia.exceptions import TableError
from manifolia.tables.frames import is_text, write_columnar
from manifolia.tables.naming import column_names

#: The suffixes that `write` knows.
WRITABLE = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npz", ".json")
_TEXT = (".csv", ".tsv")
#: How a cell begins that spreadsheets would run.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(
    frame: Any,
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    escape_formulas: bool = False,
) -> Path:
    """Write a table in the format given by the suffix.

    Numbers in text files are written with enough digits to restore the same float. A missing value is an empty cell,
    ``null`` in JSON, and in npz NaN or an empty text.

    Parameters
    ----------
    frame : DataFrame or mapping of str to array-like
        The columns; an index is not written.
    path : path
        One of ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``, ``.npz``, ``.json``. An existing file is
        replaced in one step.
    sep : str, default=None
        Separator of a text file; None takes the comma, the tab for .tsv, the semicolon if `decimal` is a comma.
    decimal : {".", ","}, default=None
        Decimal sign of a text file; None takes the point.
    escape_formulas : bool, default=False
        Whether texts in a text file, including column names, that a spreadsheet would run as a formula get an
        apostrophe in front: those that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return and are not
        numbers. Spreadsheets do not run other formats, which are written as they are.

    Returns
    -------
    Path
        Where it was written.

    Raises
    ------
    TableError
        If the suffix is not known, or `sep` or `decimal` do not fit it.
    MissingExtraError
        If the format needs a package that is not installed.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in WRITABLE:
        raise TableError(
            f"the format of {target} is not known by its suffix {suffix!r}. Use one of {', '.join(WRITABLE)}."
        )
    if suffix not in _TEXT and (sep is not None or decimal is not None):
        raise TableError(f"sep and decimal are for text files (.csv, .tsv), and {target} is none. Leave them out.")
    table = frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(dict(frame))
    table = table.set_axis(column_names(table.columns), axis=1).reset_index(drop=True)
    with replacing(target) as draft:
        if suffix in _TEXT:
            _write_text(without_formulas(table) if escape_formulas else table, draft, suffix, sep, decimal)
        elif suffix == ".npz":
            _write_arrays({name: _plain(table[name]) for name in table.columns}, draft)
        elif suffix == ".json":
            _write_json(table, draft)
        else:
            write_columnar(table, draft, suffix)
    return target


def without_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Put an apostrophe before texts that a spreadsheet would run as formulas; `with_formulas` removes it."""
    return _map_texts(table, _escaped)


def with_formulas(table: pd.DataFrame) -> pd.DataFrame:
    """Remove the apostrophes that `without_formulas` added."""
    return _map_texts(table, lambda text: text[1:] if text.startswith("'") and _escaped(text) != text else text)


def _map_texts(table: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    def changed(value: Any) -> Any:
        return change(value) if isinstance(value, str) else value

    out = table.rename(columns=changed)
    for i, name in enumerate(table.columns):
        if _has_texts(table[name]):
            out.isetitem(i, table[name].astype(object).map(changed).to_numpy())
    return out


def _has_texts(column: pd.Series) -> bool:
    return is_text(column) or isinstance(column.dtype, pd.CategoricalDtype)


def _escaped(text: str) -> str:
    """Return a text that no spreadsheet runs. A text that looks escaped is escaped again."""
    if not text.lstrip("'").startswith(_FORMULA) or (text[:1] in "+-" and _is_number(text)):
        return text
    return f"'{text}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _write_text(table: pd.DataFrame, draft: Path, suffix: str, sep: str | None, decimal: str | None) -> None:
    decimal = "." if decimal is None else decimal
    if sep is None:
        sep = "\t" if suffix == ".tsv" else ";" if decimal == "," else ","
    if len(sep) != 1 or decimal not in (".", ",") or sep == decimal:
        raise TableError(
            f"sep must be one character and decimal '.' or ',', and they must differ; got {sep!r} and {decimal!r}."
        )
    write_csv(table, draft, sep=sep, decimal=decimal)


def write_csv(
    table: pd.DataFrame, target: Path | IO[str], *, sep: str = ",", decimal: str = ".", header: bool = True
) -> None:
    """Write a table as delimited text."""
    texts = itertools.chain(table.columns, *(table[name] for name in table.columns if _has_texts(table[name])))
    # Until Python 3.13, csv leaves a carriage return without quotation marks, and readers end the line there.
    returns = any("\r" in text for text in texts if isinstance(text, str))
    quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    table.to_csv(
        target, sep=sep, decimal=decimal, header=header, index=False, encoding="utf-8", lineterminator="\n",
        quoting=quoting,
    )  # fmt: skip


def _write_arrays(arrays: dict[str, Array], draft: Path) -> None:
    # numpy.savez takes names as keyword arguments, so that a column could not be called "file".
    with zipfile.ZipFile(draft, "w", compression=zipfile.ZIP_DEFLATED) as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, values, allow_pickle=False)


def _write_json(table: pd.DataFrame, draft: Path) -> None:
    # pandas rounds to 15 digits; Python writes as many as restore the same float.
    columns = [[_json_value(value) for value in table[name].astype(object)] for name in table.columns]
    rows = [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]
    draft.write_text(json.dumps(rows, ensure_ascii=False, allow_nan=False), encoding="utf-8")


def _json_value(value: Any) -> Any:
    if pd.isna(value) or (isinstance(value, float) and math.isinf(value)):
        return None  # JSON knows no infinity
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (str, int, float)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _plain(column: pd.Series) -> Array:
    """Return a column as an array that needs no pickle."""
    kind = column.dtype.kind if isinstance(column.dtype, np.dtype) else "O"
    if kind in "biufmM":
        return column.to_numpy()
    if pd.api.types.is_numeric_dtype(column.dtype):  # masked numbers: a missing one is NaN
        return column.to_numpy(dtype=np.float64, na_value=np.nan) if column.isna().any() else column.to_numpy()
    return np.array(["" if pd.isna(value) else str(value) for value in column.astype(object)], dtype=str)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a draft beside a file, which replaces it if the block succeeds and is removed otherwise."""
    target = Path(path)
    if target.is_dir():
        raise TableError(f"{target} is a folder. Pass the name of a file.")
    if not target.parent.is_dir():
        raise TableError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    with draft(target) as beside:
        yield beside
