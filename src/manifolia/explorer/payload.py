"""What a page shows, as a description and a few arrays: the one format behind files, live pages and notebooks.

Format version 4. ``meta`` is JSON: title, notes, findings, importances, and for each column its name, role, kind and
the way its values are coded (`manifolia.explorer.columns`). ``arrays`` are flat and little-endian:

=========  ==========================================================================================================
x, y       coordinates of all points: f4, or u2 codes of ``offset + scale * code`` from `PRECISE_ROWS` rows on
z          the same for a map of three dimensions or more, which the page can turn
row        row number in the user's table of each training point (u2 or u4)
c0, c1, …  columns, one entry for each point
part.key   arrays of a part; those with a line for each point follow the order of the points
=========  ==========================================================================================================

The training points come first, in a random order that the seed fixes, so that the first m of them are a fair sample
while the map is moved; new rows follow in their own order. ``meta["parts"]`` describes what else is known of the map; a
part that is not there is not shown. The docstring of each module in `manifolia.explorer.parts` lists the arrays of its
part. The description of a part names, under "rows" and "links", the arrays that have one line per point, with the
number of entries in a line; entries of "links" are points. ``meta["findings"]`` are records: a sentence, and the rows
and columns that it names, by number.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.files import draft, load_arrays, parse_json
from manifolia._core.messages import wording
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_number
from manifolia.exceptions import ModelFileError, ParameterError
from manifolia.explorer.budget import fit_budget, fit_parts, pack
from manifolia.explorer.columns import (
    KINDS,
    PRECISE_ROWS,
    Encoded,
    as_frame,
    color_column,
    encode_column,
    encode_texts,
    infer_kind,
    joined_column,
    quantize,
    some_names,
    with_texts,
)
from manifolia.explorer.findings import Finding
from manifolia.explorer.parts.part import Part, join_parts, placed_arrays, resolved_meta
from manifolia.show.palette import CONTINUOUS, CONTINUOUS_DARK, MAX_CLASSES, MISSING_COLOR, OTHER_COLOR, class_colors

FORMAT_VERSION = 4
FORMAT = "manifolia-explorer"
_DTYPES = ("u1", "u2", "u4", "i1", "i2", "f4", "f8")
_ROLES = ("value", "quality", "novelty", "model")


@dataclass(frozen=True)
class NewRows:
    """Rows that were placed on a finished map."""

    Y: ArrayLike  # (m, n_components): their coordinates
    # Their columns, with the names of the map's; what is missing there is missing on the page
    columns: pd.DataFrame | Mapping[str, ArrayLike] | None = None
    row_names: Sequence[Any] | None = None  # Their names
    parts: Sequence[Part] = ()  # What else is known of them, coded as the parts of the map are


@dataclass(eq=False)
class Payload:
    """What a page shows; make one with `manifolia.explorer.build_payload`."""

    meta: dict[str, Any]  # The description, as it goes to JSON
    arrays: dict[str, Array]  # Coordinates, row numbers, columns and what belongs to parts
    _packed: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was left out or changed, in sentences; the page lists them too."""
        return tuple(self.meta["left_out"])

    @property
    def order(self) -> IntArray:
        """Row number of each point; new rows count on from those of the map."""
        n = int(self.meta["n_rows"])
        return np.concatenate([self.arrays["row"].astype(np.int64), np.arange(n, n + self.meta["n_new"])])

    def packed(self, name: str) -> str:
        """Compress an array for the page."""
        if name not in self._packed:
            self._packed[name] = pack(self.arrays[name])
        return self._packed[name]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one ``.npz`` file, so that the page can be made again without fitting again."""
        text = json.dumps(self.meta, separators=(",", ":"), allow_nan=False)
        buffer = io.BytesIO()
        stored: dict[str, Any] = {"meta": np.frombuffer(text.encode("ascii"), dtype=np.uint8), **self.arrays}
        np.savez_compressed(buffer, **stored)
        with draft(path) as file:
            file.write_bytes(buffer.getvalue())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Payload:
        """Read a file of `save`."""
        try:
            arrays = load_arrays(Path(path))
            meta = parse_json(arrays.pop("meta").tobytes())
            foreign = meta["format"] != FORMAT
            version = meta["version"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ModelFileError(
                f"{os.fspath(path)!r} holds no page of manifolia, or is damaged ({error}). Make it again."
            ) from error
        if foreign or version != FORMAT_VERSION:
            raise ModelFileError(
                f"{os.fspath(path)!r} has format {meta['format']!r}, version {version!r}, and manifolia reads "
                f"{FORMAT!r}, version {FORMAT_VERSION}. Make the file again, or update manifolia."
            )
        _check_arrays(meta, arrays, os.fspath(path))
        return cls(meta, arrays)


def dtype_name(array: Array) -> str:
    """Name the type of an array in two characters."""
    return f"{array.dtype.kind}{array.dtype.itemsize}"


def _check_arrays(meta: dict[str, Any], arrays: dict[str, Array], path: str) -> None:
    """Refuse a file whose arrays are not those that its description promises."""
    try:
        promised = {name: (item["dtype"], item["length"]) for name, item in meta["arrays"].items()}
        found = {name: (dtype_name(array), len(array)) for name, array in arrays.items() if array.ndim == 1}
        fits = promised == found and len(arrays) == len(found) and all(kind in _DTYPES for kind, _ in found.values())
        n_points = meta["n_rows"] + meta["n_new"]
        placed = {"x", "y", *meta["coordinates"]}
        fits = fits and all(len(arrays[axis]) == n_points for axis in placed) and len(arrays["row"]) == meta["n_rows"]
        parts = meta["parts"]
        fits = fits and isinstance(parts, dict) and all(isinstance(part, dict) for part in parts.values())
        fits = fits and {name.split(".")[0] for name in arrays if "." in name and not name.endswith(".text")} <= set(
            parts
        )
        listed = all(isinstance(meta[name], list) for name in ("columns", "notes", "findings", "left_out"))
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"{path!r} is damaged: {error}. Make it again.") from error
    if not (fits and listed):
        raise ModelFileError(f"{path!r} is damaged: its arrays are not those it describes. Make it again.")


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
    findings: Iterable[Finding | str] = (),
    importances: Mapping[str, float | tuple[float, float]] | None = None,
    roles: Mapping[str, str] | None = None,
    written: Mapping[str, Sequence[str | None]] | None = None,
    first: Sequence[str] = (),
    parts: Iterable[Part] = (),
    max_mb: float = 25.0,
    random_state: RandomState = 0,
) -> Payload:
    """Gather what a page shows."""
    Y = np.asarray(check_map(Y), dtype=np.float64)
    check_number(max_mb, "max_mb", low=0.0, open_low=True)
    n = Y.shape[0]
    table = as_frame(columns, n, "columns")
    n_new, Y_all, table, names = _append_new(Y, table, row_names, new)
    order = np.concatenate([as_generator(random_state).permutation(n), np.arange(n, n + n_new)])
    precise = n + n_new < PRECISE_ROWS
    left_out = [f"The map has {Y.shape[1]} dimensions; the page shows the first three."] if Y.shape[1] > 3 else []
    meta: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "title": str(title),
        "subtitle": str(subtitle),
        "n_rows": n,
        "n_new": n_new,
    }
    arrays, meta["coordinates"] = _encode_coordinates(Y_all[order], precise=precise)
    arrays["row"] = order[:n].astype("<u2" if n <= 2**16 else "<u4")
    ranked = _ranked(importances)
    encoded = _encode_columns(
        table.iloc[order], n_new, dict(kinds or {}), dict(roles or {}), precise=precise, left_out=left_out
    )
    for name, _, coded in encoded:
        if name in (written or {}) and coded.kind in ("number", "date"):
            texts = [*(written or {})[name], *([None] * n_new)]
            with_texts(coded, [texts[i] for i in order])
    if names is not None:
        encoded.insert(0, ("name", "name", encode_texts([names[i] for i in order])))
    colored = _first_color(encoded, color_by)
    joined = join_parts(parts, {} if new is None else {part.name: part for part in new.parts}, n, n_new)
    fitting = fit_parts(joined, encoded, arrays, max_mb * 1e6, left_out)
    for part in fitting:
        arrays.update(placed_arrays(part, order))
    ranking = [*first, *(item["name"] for item in ranked)]
    kept = fit_budget(encoded, arrays, colored, ranking, max_mb * 1e6, left_out)
    meta["columns"] = [_describe(f"c{i}", *entry, arrays) for i, entry in enumerate(kept)]
    meta["color_by"] = None if colored is None else [coded for _, _, coded in kept].index(encoded[colored][2])
    names_kept = ["" if role == "name" else name for name, role, _ in kept]
    meta["parts"] = {part.name: resolved_meta(part, names_kept) for part in fitting}
    meta["importances"] = ranked
    meta["findings"] = [_record(finding, names_kept) for finding in findings]
    meta["notes"] = [wording.get()(text) for text in notes]
    meta["left_out"] = left_out
    meta["palette"] = _palette()
    meta["arrays"] = {name: {"dtype": dtype_name(array), "length": len(array)} for name, array in arrays.items()}
    return Payload(meta, arrays)


def _append_new(
    Y: FloatArray, table: pd.DataFrame, row_names: Sequence[Any] | None, new: NewRows | None
) -> tuple[int, FloatArray, pd.DataFrame, list[str | None] | None]:
    """Put new rows under those of the map."""
    n = Y.shape[0]
    names: list[str | None] | None = None if row_names is None else [str(name) for name in row_names]
    if names is not None and len(names) != n:
        raise ParameterError(f"row_names has {len(names):,} entries and the map has {n:,} rows.", parameter="row_names")
    if new is None:
        return 0, Y, table, names
    Y_new = np.asarray(check_map(new.Y, name="new.Y"), dtype=np.float64)
    if Y_new.shape[1] != Y.shape[1]:
        raise ValueError(f"new.Y has {Y_new.shape[1]} dimensions and the map has {Y.shape[1]}.")
    m = Y_new.shape[0]
    added = as_frame(new.columns, m, "new.columns")
    unknown = pd.Series([None] * m, dtype=object)
    both = {name: joined_column(table[name], added.get(name, unknown)) for name in table.columns}
    joined = pd.DataFrame(both, index=pd.RangeIndex(n + m))
    if names is not None or new.row_names is not None:
        theirs_named = [None] * m if new.row_names is None else [str(name) for name in new.row_names]
        if len(theirs_named) != m:
            raise ValueError(f"new.row_names has {len(theirs_named):,} entries and new.Y has {m:,} rows.")
        names = [*(names or [None] * n), *theirs_named]
    return m, np.vstack([Y, Y_new]), joined, names


def _encode_coordinates(Y: FloatArray, *, precise: bool) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays: dict[str, Array] = {}
    spec: dict[str, Any] = {}
    if Y.shape[1] < 2:
        Y = np.column_stack([Y, np.zeros(len(Y))])
    Y = Y[:, :3]
    # The page needs shape, not units: centred, and brought near 1 where float32 would overflow or lose digits.
    middle = np.median(Y, axis=0)
    reach = float(np.abs(Y - middle).max())
    unit = 1.0 if 1e-20 < reach < 1e20 or reach == 0 else reach
    for axis, name in zip(range(Y.shape[1]), "xyz", strict=False):
        if precise:
            arrays[name], offset, scale = ((Y[:, axis] - middle[axis]) / unit).astype("<f4"), float(middle[axis]), unit
        else:
            arrays[name], offset, scale = quantize(Y[:, axis], "u2")
        spec[name] = {"offset": offset, "scale": scale}
    return arrays, spec


def _record(finding: Finding | str, column_names: list[str]) -> dict[str, Any]:
    """Write a finding with columns as numbers; those that are not on the page are left out."""
    text, rows, columns = (finding, (), ()) if isinstance(finding, str) else finding
    place = {name: i for i, name in enumerate(column_names) if name}
    return {"text": text, "rows": list(rows), "columns": [place[name] for name in columns if name in place]}


def _ranked(importances: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    ranked = []
    for name, value in (importances or {}).items():
        mean, error = value if isinstance(value, Sequence) else (value, None)
        if math.isfinite(float(mean)):
            spread = None if error is None or not math.isfinite(float(error)) else float(error)
            ranked.append({"name": str(name), "value": float(mean), "error": spread})
    return sorted(ranked, key=lambda item: -item["value"])


def _encode_columns(
    table: pd.DataFrame, n_new: int, kinds: dict[str, str], roles: dict[str, str], *, precise: bool, left_out: list[str]
) -> list[tuple[str, str, Encoded]]:
    for given, allowed, what in ((kinds, KINDS, "kinds"), (roles, _ROLES, "roles")):
        for name, value in given.items():
            if name not in table.columns:
                raise ValueError(
                    f"{what} names the column {name!r}, which is not in columns: {some_names(table.columns)}."
                )
            if value not in allowed:
                raise ValueError(f"{what}: {name!r} is {value!r}. Use one of {', '.join(map(repr, allowed))}.")
    encoded = []
    for name in table.columns:
        values = table[name]
        coded = encode_column(values, kinds.get(name) or infer_kind(values), precise=precise, n_new=n_new)
        left_out += [f"{name}: {remark}." for remark in coded.remarks]
        encoded.append((name, roles.get(name, "value"), coded))
    return encoded


def _first_color(encoded: list[tuple[str, str, Encoded]], color_by: str | None) -> int | None:
    if color_by is not None:
        return color_column([(name, coded.kind) for name, _, coded in encoded], color_by)
    kinds = [coded.kind if role == "value" else "" for _, role, coded in encoded]
    return next((kinds.index(kind) for kind in ("class", "number", "date") if kind in kinds), None)


def _describe(key: str, name: str, role: str, coded: Encoded, arrays: dict[str, Array]) -> dict[str, Any]:
    for place, array in coded.arrays.items():
        arrays[key + place] = array
    described = {"id": key, "name": name, "role": role, "kind": coded.kind, **coded.spec}
    counts = coded.spec.get("counts", ())
    if len(counts) > MAX_CLASSES:
        # As in the pictures: the largest have colours of their own, the rest share one.
        n_own = MAX_CLASSES - int(np.count_nonzero(counts) > MAX_CLASSES)
        largest = np.argsort(-np.asarray(counts), kind="stable")[:n_own]
        described["colored"] = np.sort(largest).tolist()
    return described


def _palette() -> dict[str, Any]:
    return {
        "light": {"classes": class_colors(MAX_CLASSES), "continuous": list(CONTINUOUS)},
        "dark": {"classes": class_colors(MAX_CLASSES, dark=True), "continuous": list(CONTINUOUS_DARK)},
        "other": OTHER_COLOR,
        "missing": MISSING_COLOR,
    }
