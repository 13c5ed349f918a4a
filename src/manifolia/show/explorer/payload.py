"""What a page shows, as a description and a few arrays: the one format behind files, live pages and notebooks.

Format version 1. ``meta`` is JSON: title, notes, findings, importances, and for each column its name, kind and the
way its values are coded (`manifolia.show.explorer.columns`). ``arrays`` are flat and little-endian:

=========  ==========================================================================================================
x, y       coordinates of all points: f4, or u2 codes of ``offset + scale * code`` from `PRECISE_ROWS` rows on
row        row number in the user's table of each training point (u2 or u4)
c0, c1, …  columns, one entry for each point
=========  ==========================================================================================================

The training points come first, in a random order that the seed fixes, so that the first m of them are a fair sample
while the map is moved; new rows follow in their own order.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, RandomState
from manifolia._core.validate import check_map, check_number
from manifolia.exceptions import ModelFileError
from manifolia.show.explorer.budget import fit_budget, pack, some_names
from manifolia.show.explorer.columns import (
    KINDS,
    PRECISE_ROWS,
    Encoded,
    encode_column,
    encode_texts,
    infer_kind,
    quantize,
)
from manifolia.show.palette import CONTINUOUS, CONTINUOUS_DARK, MAX_CLASSES, MISSING_COLOR, OTHER_COLOR, class_colors

__all__ = ["FORMAT_VERSION", "NewRows", "Payload", "build_payload"]

FORMAT_VERSION = 1
_FORMAT = "manifolia-explorer"
#: What reading a damaged archive raises, beside the errors of the archive itself.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_DTYPES = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "f4": "<f4", "f8": "<f8"}


@dataclass(frozen=True)
class NewRows:
    """Rows that were placed on a finished map.

    Attributes
    ----------
    Y : array-like of shape (m, n_components)
        Their coordinates.
    columns : DataFrame or mapping of str to array-like, default=None
        Their columns, with the names of the map's; what is missing there is missing on the page.
    row_names : sequence of str, default=None
        Their names.
    """

    Y: ArrayLike
    columns: pd.DataFrame | Mapping[str, ArrayLike] | None = None
    row_names: Sequence[Any] | None = None


@dataclass(eq=False)
class Payload:
    """What a page shows; make one with `build_payload`.

    Attributes
    ----------
    meta : dict
        The description, as it goes to JSON.
    arrays : dict of str to ndarray
        Coordinates, row numbers and columns.
    """

    meta: dict[str, Any]
    arrays: dict[str, Array]
    _packed: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was left out or changed, in sentences; the page lists them too.

        Returns
        -------
        tuple of str
            Empty if the page holds everything.
        """
        return tuple(self.meta["left_out"])

    def packed(self, name: str) -> str:
        """Compress an array for the page.

        Parameters
        ----------
        name : str
            Which.

        Returns
        -------
        str
            Its bytes, deflated, in base64.
        """
        if name not in self._packed:
            self._packed[name] = pack(self.arrays[name])
        return self._packed[name]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one ``.npz`` file, so that the page can be made again without fitting again.

        Parameters
        ----------
        path : str or path
            Where. A file that is there is replaced once the new one is complete.

        Returns
        -------
        Path
            Where it was written.
        """
        text = json.dumps(self.meta, separators=(",", ":"), allow_nan=False)
        buffer = io.BytesIO()
        stored: dict[str, Any] = {"meta": np.frombuffer(text.encode("ascii"), dtype=np.uint8), **self.arrays}
        np.savez_compressed(buffer, **stored)
        with draft(path) as file:
            file.write_bytes(buffer.getvalue())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Payload:
        """Read a file of `save`.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Payload
            What was saved.

        Raises
        ------
        ModelFileError
            If the file is damaged, of another program, or of a later format version.
        """
        # From memory: NumPy leaves a damaged file open.
        content = io.BytesIO(Path(path).read_bytes())
        try:
            with np.load(content, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(arrays.pop("meta").tobytes())
            foreign = meta["format"] != _FORMAT
            version = meta["version"]
        except (*_DAMAGE, zipfile.BadZipFile, zlib.error) as error:
            message = f"{os.fspath(path)!r} holds no page of manifolia, or is damaged ({error}). Make it again."
            raise ModelFileError(message) from error
        if foreign or version != FORMAT_VERSION:
            message = (
                f"{os.fspath(path)!r} has format {meta['format']!r}, version {version!r}, and manifolia reads "
                f"{_FORMAT!r}, version {FORMAT_VERSION}. Make the file again, or update manifolia."
            )
            raise ModelFileError(message)
        _check_arrays(meta, arrays, os.fspath(path))
        return cls(meta, arrays)


def build_payload(
    Y: ArrayLike,
    columns: pd.DataFrame | Mapping[str, ArrayLike] | None = None,
    *,
    title: str = "Map",
    subtitle: str = "",
    color_by: str | None = None,
    kinds: Mapping[str, str] | None = None,
    row_names: Sequence[Any] | None = None,
    new: NewRows | None = None,
    notes: Iterable[str] = (),
    findings: Iterable[str] = (),
    importances: Mapping[str, float | tuple[float, float]] | None = None,
    max_mb: float = 25.0,
    random_state: RandomState = 0,
) -> Payload:
    """Gather what a page shows.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        Coordinates; the page shows the first two.
    columns : DataFrame or mapping of str to array-like, default=None
        What the points can be coloured by and what the card of a point lists, in this order.
    title : str, default="Map"
        Heading.
    subtitle : str, default=""
        A few words on what made the map.
    color_by : str, default=None
        Column of the first colouring; None: the first column of classes, or else the first of numbers.
    kinds : mapping of str to {"class", "number", "date", "text"}, default=None
        What columns are, where that is not to be inferred from their values.
    row_names : sequence, default=None
        Names of the rows.
    new : NewRows, default=None
        Rows that were placed on the finished map.
    notes : iterable of str, default=()
        How the map was made and how to read it.
    findings : iterable of str, default=()
        What was found, in sentences.
    importances : mapping of str to float or (float, float), default=None
        Importance of features, or importance and its standard error.
    max_mb : float, default=25.0
        Size of the page in MB (10⁶ bytes) above which columns are left out: text first, then numbers are kept to
        1/254 of their range, then columns from the least important on.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the order in which points are stored.

    Returns
    -------
    Payload
        For `manifolia.show.explorer.write_page`.

    Raises
    ------
    ValueError
        If lengths do not match, or a name or kind is unknown.
    """
    Y = np.asarray(check_map(Y), dtype=np.float64)
    check_number(max_mb, "max_mb", low=0.0, open_low=True)
    n = Y.shape[0]
    table = _as_frame(columns, n, "columns")
    n_new, Y_all, table, names = _append_new(Y, table, row_names, new)
    order = np.concatenate([as_generator(random_state).permutation(n), np.arange(n, n + n_new)])
    precise = n + n_new < PRECISE_ROWS
    left_out = [f"The map has {Y.shape[1]} dimensions; the page shows the first two."] if Y.shape[1] > 2 else []
    meta: dict[str, Any] = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "title": str(title),
        "subtitle": str(subtitle),
        "n_rows": n,
        "n_new": n_new,
    }
    arrays, meta["coordinates"] = _encode_coordinates(Y_all[order], precise=precise)
    arrays["row"] = order[:n].astype("<u2" if n <= 2**16 else "<u4")
    ranked = _importances(importances)
    encoded = _encode_columns(table.iloc[order], dict(kinds or {}), precise=precise, left_out=left_out)
    if names is not None:
        encoded.insert(0, ("name", "name", encode_texts([names[i] for i in order])))
    first = _first_color(encoded, color_by)
    kept = fit_budget(encoded, arrays, first, [item["name"] for item in ranked], max_mb * 1e6, left_out)
    meta["columns"] = [_describe(f"c{i}", *entry, arrays) for i, entry in enumerate(kept)]
    meta["color_by"] = None if first is None else [coded for _, _, coded in kept].index(encoded[first][2])
    meta["importances"] = ranked
    meta["findings"] = [str(text) for text in findings]
    meta["notes"] = [str(text) for text in notes]
    meta["left_out"] = left_out
    meta["palette"] = _palette()
    meta["arrays"] = {name: {"dtype": _dtype_name(array), "length": len(array)} for name, array in arrays.items()}
    return Payload(meta, arrays)


def _as_frame(columns: Any, n: int, name: str) -> pd.DataFrame:
    if columns is None:
        return pd.DataFrame(index=pd.RangeIndex(n))
    if isinstance(columns, pd.DataFrame):
        table = columns.reset_index(drop=True)
    else:
        for key, values in columns.items():
            if len(values) != n:
                message = f"{name}: {key!r} has {len(values):,} values and the map has {n:,} rows."
                raise ValueError(message)
        parts = [pd.Series(values).reset_index(drop=True) for values in columns.values()]
        table = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=pd.RangeIndex(n))
        table.columns = list(columns)
    if len(table) != n:
        message = f"{name} has {len(table):,} rows and the map has {n:,}. Pass the same rows, in the same order."
        raise ValueError(message)
    table = table.copy(deep=False)
    table.columns = _distinct([str(column) for column in table.columns])
    return table


def _distinct(names: list[str]) -> list[str]:
    """Number names that occur again, so that each column can be asked for."""
    used: set[str] = set()
    found = []
    for name in names:
        unique, i = name, 2
        while unique in used:
            unique, i = f"{name} ({i})", i + 1
        used.add(unique)
        found.append(unique)
    return found


def _append_new(
    Y: FloatArray, table: pd.DataFrame, row_names: Sequence[Any] | None, new: NewRows | None
) -> tuple[int, FloatArray, pd.DataFrame, list[str | None] | None]:
    n = Y.shape[0]
    names: list[str | None] | None = None if row_names is None else [str(name) for name in row_names]
    if names is not None and len(names) != n:
        message = f"row_names has {len(names):,} entries and the map has {n:,} rows."
        raise ValueError(message)
    if new is None:
        return 0, Y, table, names
    Y_new = np.asarray(check_map(new.Y, name="new.Y"), dtype=np.float64)
    if Y_new.shape[1] != Y.shape[1]:
        message = f"new.Y has {Y_new.shape[1]} dimensions and the map has {Y.shape[1]}."
        raise ValueError(message)
    m = Y_new.shape[0]
    added = _as_frame(new.columns, m, "new.columns")
    both = {}
    for name in table.columns:
        ours = table[name]
        theirs = added[name] if name in added.columns else pd.Series([None] * m, dtype=object)
        both[name] = _joined(ours, theirs)
    joined = pd.DataFrame(both, index=pd.RangeIndex(n + m))
    if names is not None or new.row_names is not None:
        theirs_named = [None] * m if new.row_names is None else [str(name) for name in new.row_names]
        if len(theirs_named) != m:
            message = f"new.row_names has {len(theirs_named):,} entries and new.Y has {m:,} rows."
            raise ValueError(message)
        names = [*(names or [None] * n), *theirs_named]
    return m, np.vstack([Y, Y_new]), joined, names


def _joined(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Put a column of the map and that of the new rows under one another; the map's type decides."""
    if isinstance(ours.dtype, pd.CategoricalDtype):
        extra = [value for value in pd.unique(theirs.dropna()) if value not in ours.cat.categories]
        dtype = pd.CategoricalDtype([*ours.cat.categories, *extra], ordered=ours.cat.ordered)
        return pd.concat([ours.astype(dtype), theirs.astype(dtype)], ignore_index=True)
    if infer_kind(ours) == "number":
        numbers = pd.to_numeric(theirs, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.concatenate([ours.to_numpy(dtype=np.float64, na_value=np.nan), numbers]))
    if infer_kind(ours) == "date":
        return pd.concat([ours, pd.to_datetime(theirs, errors="coerce").astype(ours.dtype)], ignore_index=True)
    return pd.Series([*ours, *theirs], dtype=object)


def _encode_coordinates(Y: FloatArray, *, precise: bool) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays: dict[str, Array] = {}
    spec: dict[str, Any] = {}
    Y = np.column_stack([Y, np.zeros((len(Y), 2))])[:, :2]
    # The page needs shape, not units: centred, and brought near 1 where float32 would overflow or lose digits.
    middle = np.median(Y, axis=0)
    reach = float(np.abs(Y - middle).max())
    unit = 1.0 if 1e-20 < reach < 1e20 or reach == 0 else reach
    for axis, name in enumerate(("x", "y")):
        if precise:
            arrays[name], offset, scale = ((Y[:, axis] - middle[axis]) / unit).astype("<f4"), float(middle[axis]), unit
        else:
            arrays[name], offset, scale = quantize(Y[:, axis], "u2")
        spec[name] = {"offset": offset, "scale": scale}
    return arrays, spec


def _importances(importances: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = []
    for name, value in (importances or {}).items():
        mean, error = value if isinstance(value, Sequence) else (value, None)
        if math.isfinite(float(mean)):
            spread = None if error is None or not math.isfinite(float(error)) else float(error)
            found.append({"name": str(name), "value": float(mean), "error": spread})
    return sorted(found, key=lambda item: -item["value"])


def _encode_columns(
    table: pd.DataFrame, kinds: dict[str, str], *, precise: bool, left_out: list[str]
) -> list[tuple[str, str, Encoded]]:
    for name, kind in kinds.items():
        if name not in table.columns:
            message = f"kinds names the column {name!r}, which is not in columns: {some_names(table.columns)}."
            raise ValueError(message)
        if kind not in KINDS:
            message = f"kinds: {name!r} is {kind!r}. Use one of {', '.join(map(repr, KINDS))}."
            raise ValueError(message)
    encoded = []
    for name in table.columns:
        values = table[name]
        coded = encode_column(values, kinds.get(name) or infer_kind(values), precise=precise)
        left_out += [f"{name}: {remark}." for remark in coded.remarks]
        encoded.append((name, "value", coded))
    return encoded


def _first_color(encoded: list[tuple[str, str, Encoded]], color_by: str | None) -> int | None:
    names = [name for name, role, _ in encoded if role == "value"]
    start = len(encoded) - len(names)
    if color_by is not None:
        if color_by not in names:
            message = f"color_by is {color_by!r}, which is no column. There are: {some_names(names)}."
            raise ValueError(message)
        return start + names.index(color_by)
    for kind in ("class", "number", "date"):
        for i, (_, role, coded) in enumerate(encoded):
            if role == "value" and coded.kind == kind:
                return i
    return None


def _describe(key: str, name: str, role: str, coded: Encoded, arrays: dict[str, Array]) -> dict[str, Any]:
    for place, array in coded.arrays.items():
        arrays[key + place] = array
    described = {"id": key, "name": name, "role": role, "kind": coded.kind, **coded.spec}
    counts = coded.spec.get("counts", ())
    if len(counts) > MAX_CLASSES:
        # As in the pictures: the largest have colours of their own, the rest share one.
        largest = np.argsort(-np.asarray(counts), kind="stable")[: MAX_CLASSES - 1]
        described["colored"] = np.sort(largest).tolist()
    return described


def _palette() -> dict[str, Any]:
    return {
        "light": {"classes": class_colors(MAX_CLASSES), "continuous": list(CONTINUOUS)},
        "dark": {"classes": class_colors(MAX_CLASSES, dark=True), "continuous": list(CONTINUOUS_DARK)},
        "other": OTHER_COLOR,
        "missing": MISSING_COLOR,
    }


def _dtype_name(array: Array) -> str:
    return f"{array.dtype.kind}{array.dtype.itemsize}"


def _check_arrays(meta: dict[str, Any], arrays: dict[str, Array], path: str) -> None:
    """Refuse a file whose arrays are not those that its description promises."""
    try:
        promised = {name: (item["dtype"], item["length"]) for name, item in meta["arrays"].items()}
        found = {name: (_dtype_name(array), len(array)) for name, array in arrays.items() if array.ndim == 1}
        fits = promised == found and len(arrays) == len(found) and all(kind in _DTYPES for kind, _ in found.values())
        n_points = meta["n_rows"] + meta["n_new"]
        fits = fits and len(arrays["x"]) == len(arrays["y"]) == n_points and len(arrays["row"]) == meta["n_rows"]
        listed = all(isinstance(meta[name], list) for name in ("columns", "notes", "findings", "left_out"))
    except (KeyError, TypeError) as error:
        message = f"{path!r} is damaged: {error}. Make it again."
        raise ModelFileError(message) from error
    if not (fits and listed):
        message = f"{path!r} is damaged: its arrays are not those it describes. Make it again."
        raise ModelFileError(message)
