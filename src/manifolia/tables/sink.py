"""What is written for a stream: a file for each part, and a manifest that says which are complete.

The manifest consists of lines of JSON, each flushed to disk: what the work is (software, model, input, settings), one
line for each finished part, and a last one when all are done. A line without an end was not written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from manifolia._core.files import clear_stages, draft, parse_json
from manifolia._core.optional import import_extra
from manifolia.exceptions import TableError
from manifolia.tables.naming import listing
from manifolia.tables.stream import Stream
from manifolia.tables.writing import without_formulas, write_csv

MANIFEST = "manifest.jsonl"


def read_manifest(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]], bool] | None:
    """Return the header of a manifest, a line per finished file, and whether all is done; None if there is none."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    whole = path.read_bytes().split(b"\n")[:-1]  # an unterminated line was not written
    try:
        records = [parse_json(line) for line in whole]
    except ValueError:
        return None
    if not records or not all(isinstance(record, dict) for record in records) or "input" not in records[0]:
        return None
    return records[0], [one for one in records[1:] if "file" in one], any("finished" in one for one in records)


def begin_folder(folder: Path, header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Make a folder for the placed rows, or find what was done in it before; refuse anything else in its place."""
    if folder.exists():
        clear_stages(folder / MANIFEST)  # from a call that was killed while it started
        there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else [folder.name]
        found = read_manifest(folder)
        if found is not None:
            before, lines, finished = found
            if finished:
                raise FileExistsError(f"{folder} is there already, and is complete. Choose another place.")
            if json.dumps(before, sort_keys=True) != json.dumps(dict(header), sort_keys=True):
                raise FileExistsError(f"{folder} holds unfinished work, and {_difference(before, header)}. Choose "
                                      f"another place, or remove it.")  # fmt: skip
            _cut(folder / MANIFEST)
            return lines
        if there and there != [MANIFEST]:
            raise FileExistsError(f"{folder} is there already. Choose another place.")
        if there and (folder / MANIFEST).read_bytes().strip():  # more than the start of its first line
            raise FileExistsError(f"{folder} is there already. Choose another place.")
    folder.mkdir(parents=True, exist_ok=True)
    with draft(folder / MANIFEST) as beside:
        beside.write_text(json.dumps(dict(header), sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return []


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if before.get("manifolia") != now.get("manifolia"):
        return f"manifolia {before.get('manifolia')} began it, and this is {now.get('manifolia')}"
    what = {"model": "another model began it", "input": "the files of the table are not those that it began with"}
    return next((told for name, told in what.items() if before.get(name) != now.get(name)), "its settings were others")


def _cut(manifest: Path) -> None:
    """Remove an unterminated line."""
    content = manifest.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with manifest.open("r+b") as stream:
            stream.truncate(len(whole))


def append_line(manifest: Any, line: Mapping[str, Any]) -> None:
    """Append a line and flush it to disk."""
    manifest.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
    manifest.flush()
    os.fsync(manifest.fileno())


def output_names(stream: Stream) -> dict[str, str]:
    """Say which file each part of a table is written to: in the same folders, as Parquet, or as CSV if it was text."""
    suffix = ".csv" if stream.kind == "text" else ".parquet"
    names: dict[str, str] = {}
    for part in stream.parts:
        stem = part.name.removesuffix(".gz").rpartition(".")[0]
        names[part.name] = f"{stem}{suffix}"
    taken = [name for name in names if list(names.values()).count(names[name]) > 1] if len(
        set(names.values())) < len(names) else []  # fmt: skip
    if taken:
        raise TableError(f"{listing(taken)} would be placed in one file. Rename one of them.")
    return names


@contextlib.contextmanager
def writing(
    beside: Path, suffix: str, stream: Stream, *, escape_formulas: bool
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that writes frames to a file, one after another."""
    if suffix.lower() == ".csv":
        with beside.open("w", encoding="utf-8", newline="") as text:
            begun = False

            def write_text(frame: pd.DataFrame) -> None:
                nonlocal begun
                write_csv(without_formulas(frame) if escape_formulas else frame, text, header=not begun)
                begun = True

            yield write_text
        return
    import_extra("pyarrow", extra="parquet", purpose="Writing Parquet files")
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None

    def write_table(frame: pd.DataFrame) -> None:
        nonlocal writer
        table = pa.Table.from_pandas(_steady(frame, stream), preserve_index=False)
        if writer is None:
            fields = [pa.field(f.name, pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
            writer = pq.ParquetWriter(beside, pa.schema(fields), write_page_checksum=True)
        writer.write_table(table.cast(writer.schema))

    try:
        yield write_table
    finally:
        if writer is not None:
            writer.close()


def _steady(frame: pd.DataFrame, stream: Stream) -> pd.DataFrame:
    """Give copied columns the same type in all batches of a file, with or without missing values."""
    frame = frame.copy(deep=False)
    wanted: dict[str, Any] = {"whole": pd.Int64Dtype(), "boolean": pd.BooleanDtype()}
    for name in frame.columns:
        kind = wanted.get(stream.types.get(str(name).removesuffix(" (target)"), ""))
        if kind is not None and not str(name).startswith("predicted "):
            frame[name] = frame[name].astype(kind)
    return frame
