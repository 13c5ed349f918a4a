"""NumPy's files: one matrix with what is known about its rows, a sparse matrix, or columns side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia._core.files import load_arrays
from manifolia._core.types import Array
from manifolia._core.validate import to_csr
from manifolia.exceptions import TableError
from manifolia.tables.naming import column_names, listing
from manifolia.tables.table import Table, make_table

#: The arrays that are taken for the matrix if a file has several, in this order.
_MATRICES = ("X", "x", "data", "arr_0")
#: The arrays that name its columns and rows.
_COLUMNS = ("feature_names", "columns", "var_names")
_ROWS = ("row_names", "sample_names", "obs_names")


def read_numpy(path: Path) -> Table:
    """Read an npz or npy file.

    A file with one matrix gives the matrix; one-dimensional arrays beside it with one entry per row describe the rows
    (``Table.meta``), and ``feature_names`` names the columns. A file that SciPy's ``save_npz`` wrote gives a sparse
    matrix. A file with only one-dimensional arrays gives a frame.
    """
    try:
        with path.open("rb") as stream:  # NumPy would leave the file open if it fails
            packed = stream.read(2) == b"PK"
            stream.seek(0)
            arrays = load_arrays(path) if packed else {"": np.load(stream, allow_pickle=False)}
    except (OSError, ValueError, EOFError, MemoryError) as error:
        if "memory limit" in str(error):
            raise TableError(f"{path} is not read: {error}.") from error
        if "pickle" in str(error).lower() and "Object arrays" in str(error):
            raise TableError(
                f"{path} holds objects that only pickle could load, which might run foreign code. Save numbers and "
                f"texts with a type of their own, such as array.astype(str)."
            ) from error
        raise TableError(f"{path} cannot be read as a NumPy file; it may be damaged or of another kind.") from error
    if {"data", "format", "shape"} <= set(arrays):
        try:
            matrix = to_csr(sp.load_npz(path))
        except (ValueError, KeyError, TypeError) as error:
            raise TableError(f"{path} cannot be read as a sparse matrix: {error}.") from error
        return _matrix(path, matrix, {})
    if "" not in arrays:
        return _from_several(path, arrays)
    values = arrays[""]
    if values.dtype.names and values.ndim == 1:
        return _from_columns(path, {name: values[name] for name in values.dtype.names})
    return _matrix(path, values, {})


def _from_several(path: Path, arrays: dict[str, Array]) -> Table:
    wide = [name for name, values in arrays.items() if values.ndim >= 2]
    chosen = next((name for name in _MATRICES if name in wide), wide[0] if len(wide) == 1 else None)
    if chosen is not None:
        rest = {name: values for name, values in arrays.items() if name != chosen}
        return _matrix(path, arrays[chosen], rest)
    shapes = {values.shape for values in arrays.values()}
    if not wide and len(shapes) == 1 and len(next(iter(shapes))) == 1:
        return _from_columns(path, arrays)
    shown = ", ".join(f"{name} {values.shape}" for name, values in arrays.items()) or "nothing"
    raise TableError(
        f"{path} holds {shown}, of which none can be told to be the table. Name the matrix X, or save columns of equal "
        f"length."
    )


def _from_columns(path: Path, arrays: dict[str, Array]) -> Table:
    frame = pd.DataFrame({name: _plain(values) for name, values in arrays.items()})
    return make_table(frame, column_names(frame.columns, source=str(path)), str(path))


def _plain(values: Array) -> Array:
    """Return texts as objects; an empty one is missing, as `write` saves it."""
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    if values.dtype.kind != "U":
        return values
    texts = values.astype(object)
    texts[values == ""] = None
    return texts


def _matrix(path: Path, values: Any, beside: dict[str, Array]) -> Table:
    notes: list[str] = []
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim == 0:
        raise TableError(f"{path} holds a single value. A table needs rows and columns.")
    if values.ndim > 2:
        notes.append(
            f"{path.name}: the array of shape {values.shape} was taken as {values.shape[0]:,} rows, flattened."
        )
        values = values.reshape(len(values), -1)
    n_rows, n_columns = values.shape
    beside = {name: np.atleast_1d(other) for name, other in beside.items()}
    columns, rows = _names(beside, _COLUMNS, n_columns), _names(beside, _ROWS, n_rows)
    names = [f"x{i}" for i in range(n_columns)] if columns is None else column_names(columns, source=str(path))
    meta, aside = _describe_rows(beside, n_rows)
    if aside:
        notes.append(f"{path.name}: arrays without one entry per row were left aside: {listing(aside)}.")
    if values.dtype.kind not in "biuf":
        values = pd.DataFrame({name: _plain(values[:, i]) for i, name in enumerate(names)})
    return make_table(values, names, str(path), meta=meta, row_names=rows, notes=notes)


def _names(beside: dict[str, Array], known: tuple[str, ...], length: int) -> Array | None:
    return next(
        (beside[name].astype(str) for name in known if name in beside and beside[name].shape == (length,)), None
    )


def _describe_rows(beside: dict[str, Array], n_rows: int) -> tuple[pd.DataFrame, list[str]]:
    """Return what describes rows, a matrix with one column for each of its own, and the names of the rest."""
    columns: dict[str, Array] = {}
    aside = []
    for name, values in beside.items():
        if name in _ROWS or name in _COLUMNS:
            continue
        if values.shape == (n_rows,):
            columns[name] = _plain(values)
        elif values.ndim == 2 and values.shape[0] == n_rows:
            columns |= {f"{name}_{j}": _plain(values[:, j]) for j in range(values.shape[1])}
        else:
            aside.append(name)
    return pd.DataFrame(columns, index=range(n_rows)), aside
