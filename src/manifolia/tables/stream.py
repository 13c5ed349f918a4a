"""Tables that need not fit into memory: folders, files, Arrow streams and iterators, a few rows at a time.

A source is a list of *parts*, most often files, in the order of their names. A part gives *batches*: frames of rows in
order, each with the number of its first row. What is read from a row does not depend on its batch.

=====================  ====================================================================================
source                 parts
=====================  ====================================================================================
folder                 each Parquet, Arrow or text file below it; ``year=2024/`` in a path is a column
file                   the file: Parquet and Arrow by batches, delimited text by pieces of some megabytes
Arrow stream, frame    one: anything with ``__arrow_c_stream__`` (polars, duckdb, pyarrow) or a frame
iterator of frames     one: it can be gone through once only
=====================  ====================================================================================
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from manifolia._core.memory import limit_now
from manifolia._core.messages import Message
from manifolia._core.optional import import_extra
from manifolia.exceptions import TableError
from manifolia.tables.files import TableFile, find_encoding, refuse_address
from manifolia.tables.frames import as_frame, from_arrow, open_parquet, with_missing, without_blanks
from manifolia.tables.naming import column_names, listing
from manifolia.tables.text import read_text, sniff_separator

BATCH_ROWS = 65_536
_FEWEST_ROWS = 256  # of a batch, however wide
_COPIES = 24  # numbers per cell of a batch at the peak: read, prepared, and once for each worker
_SHARE = 8  # a batch may take one over this of the memory limit
_TEXT = 2**23  # characters of a piece of delimited text
_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
_DELIMITED = (".csv", ".tsv", ".tab", ".psv")
_KINDS = {**dict.fromkeys(_PARQUET, "Parquet"), **dict.fromkeys(_ARROW, "Arrow"), **dict.fromkeys(_DELIMITED, "text")}
#: How Hive and Spark write a missing value in a path.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_IN_PATH = re.compile(r"([^=/]+)=([^/]*)")


class Part(NamedTuple):
    """A piece of a source."""

    name: str  # Its path below the source, with "/": its rows are drawn by it, and its output is named after it
    path: Path | None
    n_rows: int | None  # None if only reading tells
    in_path: tuple[tuple[str, Any], ...] = ()  # Columns that its path holds, and their values


class Batch(NamedTuple):
    """Some rows of a part."""

    part: str
    start: int  # Number of the first row in its part
    frame: pd.DataFrame


@dataclass(frozen=True)
class Stream:
    """A source of rows; one that consists of files can be sent to other processes."""

    shown: str  # What messages call it
    parts: tuple[Part, ...]
    kind: str  # "Parquet", "Arrow", "text" or "frames"
    reading: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # Of the first part; empty if only reading tells
    types: Mapping[str, str] = field(default_factory=dict)  # Column to what it holds, if files say
    frames: Any = None  # What gives the frames, if there are no files
    notes: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if that is known without reading them."""
        counts = [part.n_rows for part in self.parts]
        return None if None in counts else sum(counts)  # type: ignore[arg-type]

    def batches(self, part: Part, batch_rows: int | None = None) -> Iterator[Batch]:
        """Read a part; its columns are those of the first, in their order."""
        start, columns = 0, list(self.columns)
        for frame in self._frames(part, batch_rows):
            for name, value in part.in_path:
                frame[name] = value
            names = column_names(frame.columns, source=self.file_of(part))
            if not columns:
                columns = names
            if names != columns:
                check_columns(self.file_of(part), names, columns, self.parts[0].name)
                frame = frame[columns]
            whole = without_blanks(frame)
            step = batch_rows or _rows_for(len(columns))
            for first in range(0, len(whole), step):
                yield Batch(part.name, start + first, whole.iloc[first : first + step].reset_index(drop=True))
            start += len(whole)

    def file_of(self, part: Part) -> str:
        """Say where a part is."""
        return self.shown if part.path is None else str(part.path)

    def for_others(self) -> Stream:
        """Return the same source with paths that are valid wherever the file system is mounted."""
        return replace(self, parts=tuple(part._replace(path=part.path and part.path.absolute()) for part in self.parts))

    def written(self) -> list[list[Any]]:
        """Describe the files by which the source is recognised: names, sizes and times of change."""
        known = [(part.name, part.path.stat()) for part in self.parts if part.path is not None]
        return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in known]

    def _frames(self, part: Part, batch_rows: int | None) -> Iterator[pd.DataFrame]:
        if part.path is None:
            yield from _frames_of(self.frames, batch_rows)
            return
        try:
            if self.kind == "text":
                yield from _text_frames(part.path, self.reading)
                return
            step = batch_rows or _rows_for(len(self.columns))
            batches = _parquet_batches(part.path, step) if self.kind == "Parquet" else _arrow_batches(part.path)
            marks = list(self.reading.get("na_values") or ())
            for table in batches:
                frame = from_arrow(table)
                yield with_missing(frame, marks) if marks else frame
        except (OSError, ValueError) as error:
            if isinstance(error, TableError):
                raise
            raise _unreadable(part.path, self.kind, error) from error


def open_stream(source: Any, **reading: Any) -> Stream:
    """Take a source of rows: a folder, a file, an Arrow stream, a frame, or an iterator of frames."""
    reading = {name: value for name, value in reading.items() if not (value is None or value == ())}
    if isinstance(source, Stream):
        return source
    if not isinstance(source, str | os.PathLike):
        return _from_memory(source)
    refuse_address(source)
    path = Path(source).expanduser()
    if path.is_dir():
        return _open_folder(path, reading)
    if not path.is_file():
        raise TableError(f"there is no file or folder {path}.")
    kind = _kind_of(path)
    if kind is None:
        raise TableError(f"{path} cannot be read some rows at a time. {_STREAMED}")
    return _look_at_files(str(path), [(path.name, path)], kind, reading)


_STREAMED = "These can be: Parquet (.parquet), Arrow (.arrow, .feather) and delimited text (.csv, .tsv, also .gz)."


def is_folder(source: Any) -> bool:
    """Return whether a source is a folder, which is read as a stream."""
    return isinstance(source, str | os.PathLike) and bool(str(source)) and Path(source).expanduser().is_dir()


def check_columns(file: str, names: list[str], columns: list[str], first: str) -> None:
    """Refuse a file whose columns are not those of the first; their order does not matter."""
    absent, more = [n for n in columns if n not in names], [n for n in names if n not in columns]
    if absent or more:
        told = [f"it lacks {listing(absent)}"] * bool(absent) + [f"it has {listing(more)} besides"] * bool(more)
        raise TableError(
            f"{file} has other columns than {first}, the first file: {' and '.join(told)}. All files of a table must "
            f"have the same columns."
        )


def _from_memory(source: Any) -> Stream:
    n_rows = len(source) if isinstance(source, pd.DataFrame) else getattr(source, "num_rows", None)
    known = as_frame(source) is not None if hasattr(source, "collect") else True  # a LazyFrame says what to do
    if known and not isinstance(source, pd.DataFrame) and not hasattr(source, "__arrow_c_stream__"):
        if not isinstance(source, Iterable) or isinstance(source, bytes | Mapping):
            raise TableError(
                f"{type(source).__name__} is no source of rows. Pass a folder, a file, a frame, an object with "
                f"__arrow_c_stream__ or an iterator of frames.",
                parameter="source",
            )
        n_rows = None
    return Stream("the table", (Part("", None, n_rows if isinstance(n_rows, int) else None),), "frames", frames=source)


def _frames_of(source: Any, batch_rows: int | None) -> Iterator[pd.DataFrame]:
    if isinstance(source, pd.DataFrame):
        step = batch_rows or _rows_for(source.shape[1])
        yield from (source.iloc[first : first + step] for first in range(0, len(source), step))
        return
    if hasattr(source, "__arrow_c_stream__"):
        import_extra("pyarrow", extra="parquet", purpose="Reading an Arrow stream")
        import pyarrow as pa

        if not hasattr(pa.RecordBatchReader, "from_stream"):  # before pyarrow 15.0.1
            yield from_arrow(pa.table(source))
            return
        for batch in pa.RecordBatchReader.from_stream(source):
            yield from_arrow(pa.Table.from_batches([batch]))
        return
    for number, frame in enumerate(source):
        found = as_frame(frame)
        if found is None:
            raise TableError(
                f"item {number + 1:,} of the iterator is a {type(frame).__name__}, and frames are expected.",
                parameter="source",
            )
        yield found


def _kind_of(path: Path) -> str | None:
    name = Path(path.name.lower().removesuffix(".gz"))
    kind = _KINDS.get(name.suffix)
    return None if kind not in (None, "text") and path.name.lower().endswith(".gz") else kind


def _open_folder(folder: Path, reading: dict[str, Any]) -> Stream:
    below = sorted(
        (path.relative_to(folder).as_posix(), path)
        for path in folder.rglob("*")
        if path.is_file() and not any(part[0] in "._" for part in path.relative_to(folder).parts)
    )
    files = [(name, path) for name, path in below if _kind_of(path) is not None]
    if not files:
        what = f"holds no table, only {listing([name for name, _ in below])}" if below else "is an empty folder"
        raise TableError(f"{folder} {what}. Files of a table are {_STREAMED.partition(': ')[2]}")
    kinds = sorted({str(_kind_of(path)) for _, path in files})
    if len(kinds) > 1:
        examples = [next(name for name, path in files if _kind_of(path) == kind) for kind in kinds]
        raise TableError(
            f"{folder} holds files of several kinds, such as {listing(examples)}. The files of one table must be of "
            f"one kind: move the others elsewhere."
        )
    stream = _look_at_files(str(folder), files, kinds[0], reading)
    others = [name for name, path in below if _kind_of(path) is None]
    return replace(stream, notes=(f"Not read, because they are no tables: {listing(others)}.",)) if others else stream


def _look_at_files(shown: str, files: list[tuple[str, Path]], kind: str, reading: dict[str, Any]) -> Stream:
    """Read the files' metadata, and refuse files that do not belong together, before anything else is read."""
    _check_reading(shown, kind, reading)
    in_path = _columns_in_paths([name for name, _ in files], shown)
    if kind == "text":
        parts = tuple(Part(name, path, None, own) for (name, path), own in zip(files, in_path, strict=True))
        return Stream(shown, parts, kind, _text_reading(files[0][1], reading))
    import_extra("pyarrow", extra="parquet", purpose=f"Reading {kind} files")
    found: list[Part] = []
    columns: list[str] = []
    first: dict[str, str] = {}
    types: dict[str, str] = {}
    for (name, path), own in zip(files, in_path, strict=True):
        try:
            n_rows, schema = _look_at_columnar(path, kind)
            schema = _without_index(schema)
        except (OSError, ValueError) as error:
            raise _unreadable(path, kind, error) from error
        kinds = {field.name: _kind_of_type(field.type) for field in schema}
        names = [*column_names([field.name for field in schema], source=str(path)), *(column for column, _ in own)]
        if not found:
            columns = names
        check_columns(str(path), names, columns, files[0][0])
        for column, now in kinds.items():
            before = first.setdefault(column, now)
            if before == "missing":
                first[column] = now
            elif now not in (before, "missing"):
                raise changed_kind(column, before, files[0][0], now, str(path))
        types |= {field.name: _whole_or(kinds[field.name], field.type, types.get(field.name)) for field in schema}
        found.append(Part(name, path, n_rows, own))
    return Stream(shown, tuple(found), kind, reading, tuple(columns), types)


def changed_kind(column: str, before: str, first: str, now: str, where: str, example: str = "") -> TableError:
    """Make the error for a column whose content differs from that in earlier places."""
    such = f" such as {example!r}" if example else ""
    words = {"missing": "nothing", "number": "numbers", "boolean": "true and false", "duration": "lengths of time",
             "text": "texts", "date": "dates", "other": "lists or records"}  # fmt: skip
    return TableError(
        f"column {column!r} holds {words.get(before, before)} in {first} and {words.get(now, now)}{such} in {where}. "
        f"Write it the same way in all of the table."
    )


def _kind_of_type(kind: Any) -> str:
    """Say what an Arrow type holds; texts and categories are read alike."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return _kind_of_type(kind.value_type)
    if types.is_null(kind):
        return "missing"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_duration(kind):
        return "duration"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "other" if types.is_nested(kind) else "text"


def _whole_or(kind: str, type_: Any, before: str | None) -> str:
    """Find the columns that hold whole numbers in all files."""
    import pyarrow.types as types

    whole = types.is_integer(type_) and before in (None, "missing", "whole")
    return "whole" if whole else before if kind == "missing" and before else kind


def _check_reading(shown: str, kind: str, reading: dict[str, Any]) -> None:
    allowed = {"na_values", *(("sep", "decimal", "encoding") if kind == "text" else ())}
    for name in reading:
        if name not in allowed:
            raise TableError(f"{name} does not go with {kind} files, and {shown} is read as such. Leave it out.",
                             parameter=name)  # fmt: skip


def _columns_in_paths(names: list[str], shown: str) -> list[tuple[tuple[str, Any], ...]]:
    """Read columns such as year=2024 from the folders of files; whole numbers if all of them are."""
    matches = [[_IN_PATH.fullmatch(part) for part in name.split("/")[:-1]] for name in names]
    found = [{match[1]: match[2] for match in own if match is not None} for own in matches]
    for name, own in zip(names, found, strict=True):
        if set(own) != set(found[0]):
            raise TableError(f"{name} in {shown} lies in folders for {listing(own)}, and {names[0]} in folders for "
                             f"{listing(found[0])}. All files must lie in folders of the same columns.")  # fmt: skip
    values: dict[str, list[Any]] = {}
    for column in found[0]:
        texts = [urllib.parse.unquote(own[column]) for own in found]
        present = [text for text in texts if text != _NO_VALUE]
        whole = all(re.fullmatch(r"-?(?:0|[1-9]\d{0,17})", text) for text in present)
        kept = [None if text == _NO_VALUE else int(text) if whole else text for text in texts]
        values[column] = [float("nan") if whole and one is None else one for one in kept]
    return [tuple((column, values[column][i]) for column in found[0]) for i in range(len(names))]


def _rows_for(n_columns: int) -> int:
    """Return how many rows of a table are read together: fewer if they are wide or memory is short."""
    most = limit_now() // (_SHARE * _COPIES * 8 * max(n_columns, 1))
    return int(min(max(most, _FEWEST_ROWS), BATCH_ROWS))


def _unreadable(path: Path, kind: str, error: BaseException) -> TableError:
    what = {"Parquet": "a Parquet file", "Arrow": "an Arrow file", "text": "a table"}[kind]
    told = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return TableError(f"{path} cannot be read as {what}: {told}. Is it complete and undamaged?")


# --- Parquet and Arrow ---


def _without_index(schema: Any) -> Any:
    """Leave out the index that pandas has stored, which names rows and is not a column."""
    stored = (schema.pandas_metadata or {}).get("index_columns", ())
    for name in stored:
        if isinstance(name, str) and name in schema.names:
            schema = schema.remove(schema.get_field_index(name))
    return schema


def _look_at_columnar(path: Path, kind: str) -> tuple[int, Any]:
    """Return the number of rows and the schema of a file."""
    if kind == "Parquet":
        with open_parquet(path) as stored:
            return int(stored.metadata.num_rows), stored.schema_arrow
    n_rows, schema = 0, None
    with _open_arrow(path) as batches:
        schema = batches.schema
        if hasattr(batches, "num_record_batches"):
            n_rows = sum(batches.get_batch(i).num_rows for i in range(batches.num_record_batches))
        else:
            n_rows = sum(batch.num_rows for batch in batches)
    return n_rows, schema


def _parquet_batches(path: Path, batch_rows: int) -> Iterator[Any]:
    """Read a file through a small buffer; pyarrow's own data sets read ahead without bounds."""
    import pyarrow as pa

    with open_parquet(path, buffer_size=2**20) as stored:
        for batch in stored.iter_batches(batch_size=batch_rows, use_threads=False):
            yield pa.Table.from_batches([batch])


@contextlib.contextmanager
def _open_arrow(path: Path) -> Iterator[Any]:
    """Open a file of either format of Arrow, without reading it into memory."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as stream:
        try:
            yield pa.ipc.open_file(stream)
            return
        except pa.ArrowInvalid:
            stream.seek(0)
        yield pa.ipc.open_stream(stream)


def _arrow_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with _open_arrow(path) as batches:
        if hasattr(batches, "num_record_batches"):
            found: Iterable[Any] = (batches.get_batch(i) for i in range(batches.num_record_batches))
        else:
            found = batches
        for batch in found:
            yield pa.Table.from_batches([batch])


# --- delimited text ---


def _text_reading(path: Path, reading: dict[str, Any]) -> dict[str, Any]:
    """Find separator, decimal sign and encoding from the start of the first file: they apply to the whole table."""
    file = TableFile(str(path), path)
    encoding, _ = find_encoding(file, reading.get("encoding"))
    sep = reading.get("sep")
    if sep is None:
        sep = "\t" if file.suffix in (".tsv", ".tab") else sniff_separator(file, encoding)
    found = {**reading, "sep": sep}
    if "decimal" not in found:
        with io.TextIOWrapper(file.open(), encoding=encoding, newline="") as stream:
            head = "".join(itertools.islice(_pieces(stream), 1))
        found["decimal"] = read_text(TableFile(str(path), content=head.encode()), **found, encoding="utf-8").decimal
    return found


def _text_frames(path: Path, reading: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """Read a file piece by piece; each is a table with the header of the file."""
    file = TableFile(str(path), path)
    encoding, _ = find_encoding(file, reading.get("encoding"))
    options = {**reading, "encoding": "utf-8"}
    header, line = "", 1
    try:
        with io.TextIOWrapper(file.open(), encoding=encoding, newline="") as stream:
            for piece in _pieces(stream):
                if not header:
                    header, text, before = _first_line(piece), piece, 0
                elif not piece.strip():
                    continue
                else:
                    text, before = header + piece, line - 2  # the header is the first line of this piece
                try:
                    found = read_text(TableFile(str(path), content=text.encode()), **options)
                except TableError as error:
                    raise _with_lines(error, before) from error
                if not found.named:
                    raise TableError(
                        f"{path} has values in its first line, not names. A table that is read some rows at a time "
                        f"needs a line with the names of its columns."
                    )
                yield found.frame
                line += piece.count("\n")
    except UnicodeError as error:
        raise TableError(f"{path} is not {encoding} text from line {line:,} on: {error}.") from error


def _first_line(text: str) -> str:
    end = text.find("\n", len(text) - len(text.lstrip())) + 1
    while end and text.count('"', 0, end) % 2:
        end = text.find("\n", end) + 1
    return text[:end] if end else text


def _pieces(stream: io.TextIOBase) -> Iterator[str]:
    """Cut text at ends of lines that are not between quotation marks."""
    left = ""
    while text := stream.read(_TEXT):
        left += text
        end = left.rfind("\n") + 1
        while end and left.count('"', 0, end) % 2:
            end = left.rfind("\n", 0, end - 1) + 1
        if end:
            yield left[:end]
            left = left[end:]
    if left:
        yield left


def _with_lines(error: TableError, before: int) -> TableError:
    """Count the lines that a message names from the start of the file."""

    def moved(text: str) -> str:
        return re.sub(r", line (\d+)", lambda match: f", line {int(match[1]) + before}", text, count=1)

    message = error.args[0]
    parts = message.parts if isinstance(message, Message) else (message,)
    return TableError(
        Message(*(moved(part) if isinstance(part, str) else part for part in parts)), parameter=error.parameter
    )
