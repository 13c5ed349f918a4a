"""Columns of a table as small typed arrays: what kind each is, and how its values are coded.

=========  =======================================  =================================================================
kind       values                                   stored as
=========  =======================================  =================================================================
class      a few names                              codes (u1 or u2) of the names, which go into the description
number     whole numbers over a short range         u1 or u2, exact: ``offset + code``
number     any, fewer than `PRECISE_ROWS` rows      f4, or f8 where f4 would not do; NaN is missing
number     any, more rows                           u2: ``offset + scale * code``, error at most half a step
date       days, or instants in milliseconds        as a number
text       names that repeat                        codes (u2 or u4) and a JSON list of the names
text       names that hardly repeat                 a JSON list, one entry for each row, null for a missing one
=========  =======================================  =================================================================

Numbers and dates that were read from texts, such as $1,200, bring these along: a JSON list, one entry for each row.

The highest code of an unsigned type means missing. All are little-endian.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.precision import confused_columns
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.exceptions import ParameterError
from manifolia.show.palette import class_name

KINDS = ("class", "number", "date", "text")
#: Below this many rows numbers and coordinates keep all digits of float32: the page is small anyway.
PRECISE_ROWS = 20_000
#: A column of words with more distinct ones than this is text to search in, not classes to colour by.
MOST_CLASSES = 250
#: Longer texts are cut: nobody reads more of them in a card beside a point.
LONGEST_TEXT = 1000
_FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(eq=False)
class Encoded:
    """A column in the form of the page."""

    kind: str  # What it is
    arrays: dict[str, Array]  # Its arrays by their place: "" for the codes or values, ".text" for a JSON list as bytes
    spec: dict[str, Any]  # What the page needs to read them
    # What was changed, as ends of sentences that begin with the column's name
    remarks: list[str] = field(default_factory=list)


def infer_kind(values: pd.Series) -> str:
    """Find out what a column is from its type and its values."""
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "class"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_complex_dtype(dtype):
        return "number"
    present = values.dropna()
    if len(present) and all(isinstance(value, bool | np.bool_) for value in present):
        return "class"
    distinct = len({str(value) for value in present})
    few = distinct <= MOST_CLASSES and distinct <= max(12, len(present) / 2)
    return "class" if few else "text"


def color_column(columns: Sequence[tuple[str, str]], color_by: str, left_out: Sequence[str] = ()) -> int:
    """Find the column that is to colour the map among names and kinds; texts have no colours.

    `left_out` are sentences on what the page does not hold, which may be why the column is not there.
    """
    with_colors = {name: i for i, (name, kind) in enumerate(columns) if kind != "text"}
    if color_by in with_colors:
        return with_colors[color_by]
    is_text = (color_by, "text") in columns
    why = "a column of texts, which have no colours" if is_text else "not a column of the page"
    near = [] if is_text else difflib.get_close_matches(color_by, with_colors, n=1)
    if near:
        remedy = f". Did you mean {near[0]!r}?"
    elif with_colors:
        remedy = f". Use one of {some_names(with_colors)}."
    else:
        remedy = ", and the page has no other. Leave it out."
    missing = "" if is_text or not left_out else f" The page does not hold everything. {' '.join(left_out)}"
    raise ParameterError(f"color_by is {color_by!r}, which is {why}{remedy}{missing}", parameter="color_by")


def some_names(names: Iterable[str]) -> str:
    """List names for a sentence."""
    listed = [repr(name) for name in names]
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "") if listed else "none"


def encode_column(values: pd.Series, kind: str, *, precise: bool, n_new: int = 0) -> Encoded:
    """Code a column, of which the last `n_new` values are those of new rows."""
    if kind == "class":
        return _encode_classes(values, n_new)
    if kind == "text":
        cells = zip(values.array, values.isna(), strict=True)
        return encode_texts([None if missing else str(value) for value, missing in cells])
    if kind == "date":
        return _encode_dates(values)
    try:
        numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"kinds: the column {values.name!r} is to be a number and holds other values ({error})."
        ) from error
    return _encode_numbers(numbers, precise=precise)


def quantize(values: FloatArray, dtype: str) -> tuple[IntArray, float, float]:
    """Code numbers evenly over their range."""
    top = 2 ** (8 * int(dtype[1])) - 1
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(values.shape, top, dtype="<" + dtype), 0.0, 0.0
    low, high = float(values[finite].min()), float(values[finite].max())
    scale = high / (top - 1) - low / (top - 1)  # in two parts: the range itself may overflow
    codes = np.full(values.shape, top, dtype="<" + dtype)
    if scale > 0:
        steps = np.rint(values[finite] / scale - low / scale)
        codes[finite] = np.clip(steps, 0, top - 1)
    else:
        scale = 0.0
        codes[finite] = 0
    return codes, low, scale


def encode_texts(texts: Sequence[str | None]) -> Encoded:
    """Code a column of text."""
    remarks = []
    n_long = sum(text is not None and len(text) > LONGEST_TEXT for text in texts)
    if n_long:
        remarks.append(f"{n_long:,} texts of more than {LONGEST_TEXT:,} characters are cut")
        texts = [
            text if text is None or len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…" for text in texts
        ]
    distinct = sorted({text for text in texts if text is not None})
    if len(distinct) > len(texts) / 2:
        return Encoded("text", {".text": _json_bytes(texts)}, {"coded": False}, remarks)
    dtype = "u2" if len(distinct) < 2**16 - 1 else "u4"
    top = 2 ** (8 * int(dtype[1])) - 1
    place = {text: i for i, text in enumerate(distinct)}
    codes = np.array([top if text is None else place[text] for text in texts], dtype="<" + dtype)
    return Encoded(
        "text",
        {"": codes, ".text": _json_bytes(distinct)},
        {"coded": True, "missing": top, "texts": len(distinct)},
        remarks,
    )


def _encode_classes(values: pd.Series, n_new: int) -> Encoded:
    if isinstance(values.dtype, pd.CategoricalDtype):
        names, codes = [class_name(value) for value in values.cat.categories], values.cat.codes.to_numpy()
        used = np.unique(codes[codes >= 0])
        names = [names[i] for i in used]
        codes = np.where(codes < 0, -1, np.searchsorted(used, codes))
    else:
        if values.dtype == object:  # cells may hold what has no hash
            values = values.map(class_name, na_action="ignore")
        found, distinct = pd.factorize(values)
        own = [class_name(value) for value in distinct]
        names = _sorted_names(set(own))  # 1 and "1" are one class: nobody could tell them apart on the page
        place = {name: i for i, name in enumerate(names)}
        codes = np.array([*(place[name] for name in own), -1], dtype=np.int64)[found]
    dtype = "u1" if len(names) < 2**8 - 1 else "u2"
    top = 2 ** (8 * int(dtype[1])) - 1
    if len(names) > top:
        raise ValueError(f"kinds: the column {values.name!r} has {len(names):,} distinct values, too many for classes.")
    of_map = codes[: len(codes) - n_new]
    counts = np.bincount(of_map[of_map >= 0], minlength=len(names))
    order = np.argsort(counts == 0, kind="stable")  # what only new rows have comes last: the others keep their colours
    coded = np.where(codes < 0, top, np.append(np.argsort(order), top)[codes]).astype("<" + dtype)
    spec = {"levels": [names[i] for i in order], "counts": counts[order].tolist(), "missing": top}
    return Encoded("class", {"": coded}, spec)


def _encode_numbers(numbers: FloatArray, *, precise: bool) -> Encoded:
    remarks = []
    n_infinite = int(np.isinf(numbers).sum())
    if n_infinite:
        remarks.append(f"{n_infinite:,} infinite values are shown as missing")
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        codes, offset, scale = quantize(numbers, "u1")
        return Encoded("number", {"": codes}, {"offset": 0.0, "scale": 0.0, "missing": 255}, remarks)
    low, high = float(finite.min()), float(finite.max())
    whole = abs(low) < 2**53 and abs(high) < 2**53 and bool(np.all(finite == np.rint(finite)))
    if whole and high - low < 2**16 - 1:
        dtype = "u1" if high - low < 2**8 - 1 else "u2"
        top = 2 ** (8 * int(dtype[1])) - 1
        codes = np.full(numbers.shape, top, dtype="<" + dtype)
        codes[np.isfinite(numbers)] = finite - low
        return Encoded("number", {"": codes}, {"offset": low, "scale": 1.0, "missing": top, "whole": True}, remarks)
    if precise or not np.isfinite(high - low):
        fits = max(abs(low), abs(high)) < _FLOAT32_MAX and (not whole or max(abs(low), abs(high)) <= 2**24)
        fits = fits and not confused_columns(numbers[:, np.newaxis])  # 1e-50 would be shown as 0
        stored = numbers.astype("<f4" if fits else "<f8")
        return Encoded("number", {"": stored}, {"whole": whole}, remarks)
    codes, offset, scale = quantize(numbers, "u2")
    return Encoded("number", {"": codes}, {"offset": offset, "scale": scale, "missing": 2**16 - 1}, remarks)


def _encode_dates(values: pd.Series) -> Encoded:
    instants = pd.to_datetime(values)
    if getattr(instants.dt, "tz", None) is not None:
        instants = instants.dt.tz_convert("UTC").dt.tz_localize(None)
    stamps = instants.to_numpy(dtype="datetime64[ms]")
    missing = np.isnat(stamps)
    whole_days = bool(np.all(stamps[~missing] == stamps[~missing].astype("datetime64[D]")))
    unit = "day" if whole_days else "ms"
    counted = stamps.astype("datetime64[D]" if whole_days else "datetime64[ms]").astype(np.int64)
    coded = _encode_numbers(np.where(missing, np.nan, counted.astype(np.float64)), precise=True)
    return Encoded("date", coded.arrays, {**coded.spec, "unit": unit}, coded.remarks)


def _sorted_names(names: set[str]) -> list[str]:
    """Sort names of classes: numbers by value, others so that "a9" comes before "a10"."""
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names, key=_natural)


def _natural(text: str) -> tuple[list[tuple[int, float, str]], str]:
    """Sort key under which "9" comes before "10" and "a2" before "a10"."""
    parts = re.split(r"(\d{1,15})", text.casefold())
    # re.split alternates words and digits, the words first.
    return [(1, float(part), "") if i % 2 else (0, 0.0, part) for i, part in enumerate(parts)], text


def with_texts(coded: Encoded, texts: Sequence[str | None]) -> Encoded:
    """Add to a column of numbers or dates the texts that they were read from."""
    coded.arrays[".text"] = _json_bytes(texts)
    coded.spec["written"] = True
    return coded


def _json_bytes(texts: Sequence[str | None]) -> Array:
    return np.frombuffer(json.dumps(list(texts), separators=(",", ":")).encode("ascii"), dtype=np.uint8)


def as_frame(columns: Any, n: int, name: str) -> pd.DataFrame:
    """Bring columns into a table with names that differ."""
    if columns is None:
        return pd.DataFrame(index=pd.RangeIndex(n))
    if isinstance(columns, pd.DataFrame):
        table = columns.reset_index(drop=True)
    else:
        for key, values in columns.items():
            if len(values) != n:
                raise ParameterError(
                    f"{name}: {key!r} has {len(values):,} values and the map has {n:,} rows.", parameter=name
                )
        parts = [pd.Series(values).reset_index(drop=True) for values in columns.values()]
        table = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=pd.RangeIndex(n))
        table.columns = list(columns)
    if len(table) != n:
        raise ParameterError(
            f"{name} has {len(table):,} rows and the map has {n:,}. Pass the same rows, in the same order.",
            parameter=name,
        )
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


def joined_column(ours: pd.Series, theirs: pd.Series) -> pd.Series:
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
