"""How many rows of all lie in each cell of a map that shows a sample of them: what its page draws under the points."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia.explorer import Payload
from manifolia.explorer.decode import with_part
from manifolia.explorer.parts.part import Part
from manifolia.tables.columns import as_keys
from manifolia.tables.frames import open_parquet

_MOST_SIDE, _LEAST_SIDE, _SMALLEST = 1024, 128, 64  # cells across: for many and for few rows, and after all
_ROWS_PER_CELL = 4  # if they lay evenly; they never do
_BYTES = 2_000_000  # that the counts may take on the page, packed
_MOST_CLASSES = 24  # that are counted apart
_ROWS = 2**18  # that are read together


def with_all_rows(payload: Payload, files: Sequence[Path], axes: Sequence[str], target: Sequence[str]) -> Payload:
    """Put on a page how many of the rows in some files lie in each cell of its map."""
    levels, name = _levels(payload, target)
    low, high, n = np.full(2, np.inf), np.full(2, -np.inf), 0
    for places, _ in _placed(files, axes, None):
        low, high, n = np.fmin(low, places.min(axis=0)), np.fmax(high, places.max(axis=0)), n + len(places)
    span = np.where(high > low, high - low, 1.0)
    side = int(np.clip(2 ** int(np.log2(max(n / _ROWS_PER_CELL, 1.0)) / 2.0 + 0.5), _LEAST_SIDE, _MOST_SIDE))
    totals = np.zeros(max(len(levels), 1), np.int64)
    counts = np.zeros((len(totals), side, side), np.uint32)
    column = name if levels else None
    for places, labels in _placed(files, axes, column):
        cell = np.minimum(((places - low) / span * side).astype(np.intp), side - 1)
        level = np.zeros(len(places), np.intp)
        if labels is not None:
            found = pd.Index(levels).get_indexer(pd.Index(as_keys(labels)))
            cell, level = cell[found >= 0], found[found >= 0]
        totals += np.bincount(level, minlength=len(totals))
        np.add.at(counts, (level, cell[:, 1], cell[:, 0]), 1)
    while counts.shape[1] > _SMALLEST and len(zlib.compress(_packed(counts).tobytes(), 6)) > _BYTES:
        side //= 2
        counts = counts.reshape(len(totals), side, 2, side, 2).sum(axis=(2, 4), dtype=np.uint32)
    box = [*low.tolist(), *(low + span).tolist()]
    meta = {"rows": n, "side": side, "box": box, "totals": totals.tolist()}
    columns = {"class": name} if levels else {}
    return with_part(payload, Part("stream", meta, fixed={"counts": _packed(counts).ravel()}, columns=columns))


def _packed(counts: Array) -> Array:
    return np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)


def _levels(payload: Payload, target: Sequence[str]) -> tuple[list[str], str]:
    """Return the classes of the target as the page has them, in order; none if it is not a column of few classes."""
    name = target[0] if target else ""
    for column in payload.meta["columns"]:
        if column["name"] == name and column["kind"] == "class" and 1 < len(column["levels"]) <= _MOST_CLASSES:
            return [str(level) for level in column["levels"]], name
    return [], name


def _placed(files: Sequence[Path], axes: Sequence[str], label: str | None) -> Iterator[tuple[FloatArray, Any]]:
    """Read places and labels of rows that were placed."""
    wanted = [*axes[:2], *([] if label is None else [label])]
    for path in files:
        for frame in _frames(path, wanted):
            if len(frame):
                yield frame[list(axes[:2])].to_numpy(np.float64), None if label is None else frame[label].to_numpy()


def _frames(path: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    if path.suffix == ".csv":
        yield from pd.read_csv(path, usecols=columns, chunksize=_ROWS)
        return
    try:
        with open_parquet(path) as stored:
            for batch in stored.iter_batches(_ROWS, columns=columns, use_threads=False):
                yield batch.to_pandas()
    except OSError as error:
        raise OSError(
            f"{path} was placed, and cannot be read again: {str(error).rstrip('.')}. Remove it, and the same call "
            f"places its rows anew."
        ) from error
