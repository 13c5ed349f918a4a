"""Back from a payload to a table: to ask it about a row, or to put new rows on a page that was made before."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia.show.explorer.payload import NewRows, Payload, build_payload

__all__ = ["Decoded", "decode", "with_new_rows"]


class Decoded(NamedTuple):
    """What a payload holds, in the order of the rows that it was made from.

    Attributes
    ----------
    Y : ndarray of shape (n, 2)
        Coordinates, as exact as the page has them.
    columns : DataFrame of n lines
        Columns that points can be coloured by.
    kinds : dict of str to str
        What each column is.
    row_names : list of str or None
        Names of the rows.
    """

    Y: FloatArray
    columns: pd.DataFrame
    kinds: dict[str, str]
    row_names: list[Any] | None


def decode(payload: Payload) -> Decoded:
    """Read the rows of a map, without new ones, back from its payload.

    Parameters
    ----------
    payload : Payload
        From `manifolia.show.explorer.build_payload`, or loaded.

    Returns
    -------
    Decoded
        Numbers are as exact as the page has them: float32 for small maps, 1/65,534 of the range for large ones.
    """
    meta, arrays = payload.meta, payload.arrays
    n = int(meta["n_rows"])
    back = np.argsort(arrays["row"], kind="stable")
    Y = np.column_stack(
        [
            arrays[axis][:n].astype(np.float64) * meta["coordinates"][axis]["scale"]
            + meta["coordinates"][axis]["offset"]
            for axis in ("x", "y")
        ]
    )[back]
    columns: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    row_names = None
    for column in meta["columns"]:
        values = _values(column, arrays, n)
        ordered = [values[i] for i in back] if isinstance(values, list) else values[back]
        if column["role"] == "name":
            row_names = list(ordered)
        else:
            columns[column["name"]] = ordered
            kinds[column["name"]] = column["kind"]
    return Decoded(Y, pd.DataFrame(columns, index=pd.RangeIndex(n)), kinds, row_names)


def _values(column: dict[str, Any], arrays: dict[str, Any], n: int) -> Any:
    key, kind = column["id"], column["kind"]
    if kind == "text":
        texts = json.loads(arrays[f"{key}.text"].tobytes().decode("ascii"))
        if not column["coded"]:
            return np.array(texts[:n], dtype=object)
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


def with_new_rows(payload: Payload, new: NewRows, *, max_mb: float = 25.0) -> Payload:
    """Put new rows on a map that was made before.

    Parameters
    ----------
    payload : Payload
        Of the map; new rows that it has are replaced.
    new : NewRows
        The rows.
    max_mb : float, default=25.0
        Size of the page in MB above which columns are left out.

    Returns
    -------
    Payload
        With the same rows, columns, words and first colouring.
    """
    meta, known = payload.meta, decode(payload)
    first = meta["color_by"]
    built = build_payload(
        known.Y,
        known.columns,
        title=meta["title"],
        subtitle=meta["subtitle"],
        color_by=None if first is None else meta["columns"][first]["name"],
        kinds=known.kinds,
        row_names=known.row_names,
        new=new,
        notes=meta["notes"],
        findings=meta["findings"],
        importances={
            item["name"]: item["value"] if item["error"] is None else (item["value"], item["error"])
            for item in meta["importances"]
        },
        max_mb=max_mb,
    )
    built.meta["left_out"][:0] = [text for text in meta["left_out"] if text not in built.meta["left_out"]]
    return built
