"""One part of a page: a description and arrays, in the order of the rows until the page is put together."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manifolia._core.types import Array, IntArray

NO_FEATURE = 2**16 - 1
NO_POINT = 2**32 - 1


@dataclass(eq=False)
class Part:
    """What a panel of the page shows."""

    name: str  # As registered in `manifolia.explorer.parts`
    meta: dict[str, Any]  # Its description, as it goes to JSON
    # Arrays with one line per row of the map, in the order of the rows
    rows: dict[str, Array] = field(default_factory=dict)
    # Arrays of row numbers with one line per row; −1 is none
    links: dict[str, IntArray] = field(default_factory=dict)
    fixed: dict[str, Array] = field(default_factory=dict)  # Arrays that do not belong to rows
    sources: Sequence[str] | None = None  # For each feature that the part speaks of, the column that shows its values
    columns: Mapping[str, str] | None = None  # Columns that belong to the part, by what they are

    def without_rows(self) -> Part | None:
        """Keep what it says beyond single rows: columns, which have a size of their own; None if that is nothing."""
        kept = copy.copy(self)
        kept.rows, kept.links = {}, {}
        return kept if self.columns else None

    def cut(self, k: int) -> Part:
        """Keep the first k entries of each row."""
        kept = copy.copy(self)
        kept.meta = {**self.meta, "k": min(k, self.meta["k"])}
        kept.rows = {key: values[:, :k] if values.ndim > 1 else values for key, values in self.rows.items()}
        kept.links = {key: values[:, :k] for key, values in self.links.items()}
        return kept


def join_parts(parts: Iterable[Part], new: Mapping[str, Part], n: int, n_new: int) -> list[Part]:
    """Put what is known of new rows under what is known of the rows of the map."""
    everything = []
    for part in parts:
        theirs = new.get(part.name)
        if theirs is not None and not any((part.rows, part.links, theirs.rows, theirs.links)):
            everything.append(theirs)
            continue
        joined = copy.copy(part)
        for place, none in (("rows", 0), ("links", -1)):
            both = {}
            for key, values in getattr(part, place).items():
                if len(values) != n:
                    raise ValueError(f"parts: {part.name}.{key} has {len(values):,} lines and the map has {n:,} rows.")
                fill = NO_FEATURE if key == "feature" else none
                lines = np.full((n_new, *values.shape[1:]), fill, dtype=values.dtype)
                given = None if theirs is None else getattr(theirs, place).get(key)
                if given is not None and lines.ndim > 1:
                    wide = min(lines.shape[1], given.shape[1])
                    lines[:, :wide] = given[:, :wide]
                elif given is not None:
                    lines[:] = given
                both[key] = np.concatenate([values, lines])
            setattr(joined, place, both)
        everything.append(joined)
    known = {part.name for part in everything}
    return everything + [part for part in new.values() if part.name not in known and not part.rows and not part.links]


def placed_arrays(part: Part, order: IntArray) -> dict[str, Array]:
    """Bring the arrays of a part into the order of the points."""
    point_of_row = np.empty(len(order) + 1, dtype=np.int64)
    point_of_row[order] = np.arange(len(order))
    point_of_row[-1] = NO_POINT  # where a row number is −1
    arrays: dict[str, Array] = {f"{part.name}.{key}": values[order] for key, values in part.rows.items()}
    for key, values in part.links.items():
        arrays[f"{part.name}.{key}"] = point_of_row[values[order]].astype("<u4")
    arrays.update({f"{part.name}.{key}": values for key, values in part.fixed.items()})
    little = {name: values.astype(values.dtype.newbyteorder("<"), copy=False) for name, values in arrays.items()}
    return {name: np.ascontiguousarray(values).ravel() for name, values in little.items()}


def resolved_meta(part: Part, column_names: Sequence[str]) -> dict[str, Any]:
    """Write the description of a part with columns as numbers, and the entries per line of its arrays."""
    place = {name: i for i, name in enumerate(column_names) if name}
    meta = dict(part.meta)
    # What a line of an array holds: a number of entries, or None for one bare value.
    for kind, arrays in (("rows", part.rows), ("links", part.links)):
        if arrays:
            meta[kind] = {key: values.shape[1] if values.ndim > 1 else None for key, values in arrays.items()}
    if part.sources is not None:
        meta["columns"] = [place.get(name, -1) for name in part.sources]
    if part.columns is not None:
        meta["columns"] = {label: place[name] for label, name in part.columns.items() if name in place}
    return meta


def part_of_page(
    name: str, meta: Mapping[str, Any], arrays: Mapping[str, Array], order: IntArray, column_names: Sequence[str]
) -> Part:
    """Read a part back from a payload, in the order of the rows."""
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    row_of_point = np.append(order, -1).astype(np.int64)
    part = Part(name, {key: value for key, value in meta.items() if key not in ("columns", "rows", "links")})
    for full, values in arrays.items():
        owner, _, key = full.partition(".")
        if owner != name:
            continue
        if key in meta.get("links", ()):
            points = np.where(values == NO_POINT, len(order), values.astype(np.int64)).reshape(len(order), -1)
            part.links[key] = row_of_point[points][back]
        elif key in meta.get("rows", ()):
            part.rows[key] = (values if meta["rows"][key] is None else values.reshape(len(order), -1))[back]
        else:
            part.fixed[key] = values
    columns = meta.get("columns")
    if isinstance(columns, list):
        part.sources = [column_names[i] if i >= 0 else "" for i in columns]
    elif columns is not None:
        part.columns = {label: column_names[i] for label, i in columns.items()}
    return part
