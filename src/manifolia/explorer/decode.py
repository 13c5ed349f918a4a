"""Back from a payload to a table: to ask it about a row, or to put new rows on a page that was made before."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia.explorer.findings import Finding
from manifolia.explorer.parts.part import Part, part_of_page, placed_arrays, resolved_meta
from manifolia.explorer.payload import NewRows, Payload, build_payload, dtype_name


class Decoded(NamedTuple):
    """What a payload holds, in the order of the rows that it was made from."""

    Y: FloatArray  # (n, 2) or (n, 3): coordinates, as exact as the page has them
    columns: pd.DataFrame  # Columns that points can be coloured by
    kinds: dict[str, str]  # What each column is
    row_names: list[Any] | None  # Names of the rows
    roles: dict[str, str]  # What columns are there for
    written: dict[str, list[str | None]]  # Texts that numbers and dates were read from


def decode(payload: Payload) -> Decoded:
    """Read the rows of a map, without new ones, back from its payload."""
    meta, arrays = payload.meta, payload.arrays
    n = int(meta["n_rows"])
    back = np.argsort(arrays["row"], kind="stable")
    axes = [(arrays[axis][:n], spec) for axis, spec in sorted(meta["coordinates"].items())]
    Y = np.column_stack([codes.astype(np.float64) * spec["scale"] + spec["offset"] for codes, spec in axes])[back]
    names = [list(_values(column, arrays, n)[back]) for column in meta["columns"] if column["role"] == "name"]
    shown = {column["name"]: column for column in meta["columns"] if column["role"] != "name"}
    columns = {name: _values(column, arrays, n)[back] for name, column in shown.items()}
    kinds, roles = ({name: column[key] for name, column in shown.items()} for key in ("kind", "role"))
    written = {
        name: list(_texts(column, arrays)[:n][back]) for name, column in shown.items() if column.get("written") is True
    }
    table = pd.DataFrame(columns, index=pd.RangeIndex(n))
    return Decoded(Y, table, kinds, names[0] if names else None, roles, written)


def decode_parts(payload: Payload) -> list[Part]:
    """Read what else a payload knows of a map, without what it knows of new rows."""
    meta, arrays = payload.meta, payload.arrays
    n = int(meta["n_rows"])
    names = [column["name"] for column in meta["columns"]]
    found = [part_of_page(name, item, arrays, payload.order, names) for name, item in meta["parts"].items()]
    for part in found:
        part.rows = {key: values[:n] for key, values in part.rows.items()}
        part.links = {key: np.where(rows[:n] < n, rows[:n], -1) for key, rows in part.links.items()}
    return [part for part in found if part.name != "novelty"]  # which is about new rows alone


def _texts(column: dict[str, Any], arrays: dict[str, Any]) -> Any:
    return np.array(json.loads(arrays[f"{column['id']}.text"].tobytes().decode("ascii")), dtype=object)


def _values(column: dict[str, Any], arrays: dict[str, Any], n: int) -> Any:
    key, kind = column["id"], column["kind"]
    if kind == "text":
        texts = _texts(column, arrays)
        if not column["coded"]:
            return texts[:n]
        return np.array([None if code == column["missing"] else texts[code] for code in arrays[key][:n]], dtype=object)
    codes = arrays[key][:n]
    if kind == "class":
        levels = column["levels"]
        return np.array([None if code == column["missing"] else levels[code] for code in codes], dtype=object)
    if codes.dtype.kind == "f":
        numbers = codes.astype(np.float64)
    else:
        exact = column["offset"] + column["scale"] * codes.astype(np.float64)
        numbers = np.where(codes == column["missing"], np.nan, exact)
    if kind == "date":
        known = np.isfinite(numbers)
        unit = "D" if column["unit"] == "day" else "ms"
        stamps = np.full(len(numbers), np.datetime64("NaT"), dtype=f"datetime64[{unit}]")
        stamps[known] = numbers[known].astype(np.int64).astype(f"datetime64[{unit}]")
        return stamps.astype("datetime64[ms]")
    return numbers


def with_part(payload: Payload, part: Part) -> Payload:
    """Put a part on a page that was made before, in place of the one of its name."""
    names = [column["name"] for column in payload.meta["columns"]]
    arrays = {name: values for name, values in payload.arrays.items() if not name.startswith(f"{part.name}.")}
    arrays |= placed_arrays(part, payload.order)
    meta = {**payload.meta, "parts": {**payload.meta["parts"], part.name: resolved_meta(part, names)}}
    meta["arrays"] = {name: {"dtype": dtype_name(array), "length": len(array)} for name, array in arrays.items()}
    return Payload(meta, arrays)


def with_new_rows(payload: Payload, new: NewRows, *, max_mb: float = 25.0) -> Payload:
    """Put new rows on a map that was made before."""
    meta, known = payload.meta, decode(payload)
    first, names = meta["color_by"], [column["name"] for column in meta["columns"]]
    built = build_payload(
        known.Y,
        known.columns,
        title=meta["title"],
        subtitle=meta["subtitle"],
        color_by=None if first is None else names[first],
        kinds=known.kinds,
        row_names=known.row_names,
        new=new,
        notes=meta["notes"],
        findings=[
            Finding(item["text"], tuple(item["rows"]), tuple(names[i] for i in item["columns"]))
            for item in meta["findings"]
        ],
        importances={
            item["name"]: item["value"] if item["error"] is None else (item["value"], item["error"])
            for item in meta["importances"]
        },
        roles=known.roles,
        written=known.written,
        parts=decode_parts(payload),
        max_mb=max_mb,
    )
    built.meta["left_out"][:0] = [text for text in meta["left_out"] if text not in built.meta["left_out"]]
    return built
