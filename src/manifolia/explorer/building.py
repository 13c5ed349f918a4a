"""From places and columns to a payload: coded, in a fair order, within its size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, RandomState
from manifolia._core.validate import check_map, check_number
from manifolia.explorer.budget import fit_budget, fit_parts, some_names
from manifolia.explorer.columns import (
    KINDS,
    PRECISE_ROWS,
    Encoded,
    encode_column,
    encode_texts,
    infer_kind,
    quantize,
)
from manifolia.explorer.joining import append_new, as_frame
from manifolia.explorer.parts.part import Part, join_parts, placed_arrays, resolved_meta
from manifolia.explorer.payload import FORMAT, FORMAT_VERSION, NewRows, Payload, dtype_name
from manifolia.show.palette import CONTINUOUS, CONTINUOUS_DARK, MAX_CLASSES, MISSING_COLOR, OTHER_COLOR, class_colors

__all__ = ["build_payload"]

_ROLES = ("value", "quality", "novelty", "model")


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
    roles: Mapping[str, str] | None = None,
    parts: Iterable[Part] = (),
    max_mb: float = 25.0,
    random_state: RandomState = 0,
) -> Payload:
    """Gather what a page shows."""
    Y = np.asarray(check_map(Y), dtype=np.float64)
    check_number(max_mb, "max_mb", low=0.0, open_low=True)
    n = Y.shape[0]
    table = as_frame(columns, n, "columns")
    n_new, Y_all, table, names = append_new(Y, table, row_names, new)
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
    ranked = _importances(importances)
    encoded = _encode_columns(
        table.iloc[order], dict(kinds or {}), dict(roles or {}), precise=precise, left_out=left_out
    )
    if names is not None:
        encoded.insert(0, ("name", "name", encode_texts([names[i] for i in order])))
    first = _first_color(encoded, color_by)
    known = join_parts(parts, {} if new is None else {part.name: part for part in new.parts}, n, n_new)
    fitting = fit_parts(known, encoded, arrays, max_mb * 1e6, left_out)
    for part in fitting:
        arrays.update(placed_arrays(part, order))
    kept = fit_budget(encoded, arrays, first, [item["name"] for item in ranked], max_mb * 1e6, left_out)
    meta["columns"] = [_describe(f"c{i}", *entry, arrays) for i, entry in enumerate(kept)]
    meta["color_by"] = None if first is None else [coded for _, _, coded in kept].index(encoded[first][2])
    names_kept = ["" if role == "name" else name for name, role, _ in kept]
    meta["parts"] = {part.name: resolved_meta(part, names_kept) for part in fitting}
    meta["importances"] = ranked
    meta["findings"] = [str(text) for text in findings]
    meta["notes"] = [str(text) for text in notes]
    meta["left_out"] = left_out
    meta["palette"] = _palette()
    meta["arrays"] = {name: {"dtype": dtype_name(array), "length": len(array)} for name, array in arrays.items()}
    return Payload(meta, arrays)


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


def _importances(importances: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    found = []
    for name, value in (importances or {}).items():
        mean, error = value if isinstance(value, Sequence) else (value, None)
        if math.isfinite(float(mean)):
            spread = None if error is None or not math.isfinite(float(error)) else float(error)
            found.append({"name": str(name), "value": float(mean), "error": spread})
    return sorted(found, key=lambda item: -item["value"])


def _encode_columns(
    table: pd.DataFrame, kinds: dict[str, str], roles: dict[str, str], *, precise: bool, left_out: list[str]
) -> list[tuple[str, str, Encoded]]:
    for given, allowed, what in ((kinds, KINDS, "kinds"), (roles, _ROLES, "roles")):
        for name, value in given.items():
            if name not in table.columns:
                message = f"{what} names the column {name!r}, which is not in columns: {some_names(table.columns)}."
                raise ValueError(message)
            if value not in allowed:
                message = f"{what}: {name!r} is {value!r}. Use one of {', '.join(map(repr, allowed))}."
                raise ValueError(message)
    encoded = []
    for name in table.columns:
        values = table[name]
        coded = encode_column(values, kinds.get(name) or infer_kind(values), precise=precise)
        left_out += [f"{name}: {remark}." for remark in coded.remarks]
        encoded.append((name, roles.get(name, "value"), coded))
    return encoded


def _first_color(encoded: list[tuple[str, str, Encoded]], color_by: str | None) -> int | None:
    if color_by is not None:
        place = {name: i for i, (name, role, _) in enumerate(encoded) if role != "name"}
        if color_by not in place:
            message = f"color_by is {color_by!r}, which is no column. There are: {some_names(place)}."
            raise ValueError(message)
        return place[color_by]
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
