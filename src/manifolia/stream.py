"""Tables beyond memory: a sample of all rows to make a map from, and every row placed on it, batch by batch.

A method places each row on its own and to the bit, so rows that are read in batches get the places that they would get
together. Placed rows are written file by file: each file grows beside its target and is renamed when it is complete,
and a manifest (one line of JSON per file, flushed to disk) says which are done. So work that was killed resumes where
it stopped: at most the file that was being written is done again.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import joblib
import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.files import draft, hold
from manifolia._core.messages import Message
from manifolia._core.parallel import as_done, has_executor, threads
from manifolia._core.pipelines import last_step
from manifolia._core.progress import Reporter
from manifolia._core.validate import check_number
from manifolia._core.warnings import collected_warnings
from manifolia._version import __version__
from manifolia.exceptions import ParameterError, TableError
from manifolia.explorer.context import stored_context
from manifolia.explorer.place import place_rows, placed_frame
from manifolia.tables.bottom_k import FLOOR, BottomK
from manifolia.tables.columns import as_keys
from manifolia.tables.digest import Digest
from manifolia.tables.naming import place_of_row, unknown_name
from manifolia.tables.sink import MANIFEST, append_line, begin_folder, output_names, writing
from manifolia.tables.stream import Batch, Part, Stream, open_stream
from manifolia.tables.table import make_table

_AHEAD = 2  # batches that wait to be placed, or to be written
_SUFFIXES = {".parquet": "Parquet", ".csv": "text"}
_MOST_NOTES = 20  # of one file

Item = TypeVar("Item")


class Look(NamedTuple):
    """What one pass over a table finds out."""

    digest: Digest
    rows: BottomK
    counts: dict[str, int]  # part to its number of rows


class Placement(NamedTuple):
    """What `place` has done.

    Parameters
    ----------
    rows : int
        Number of rows that were placed.
    files : list of Path
        Files that hold them; empty if a function took them.
    skipped : int
        Number of files that an earlier call had placed.
    novel : int or None
        Number of rows that are unlike those of the map; None if the method cannot say, or was not asked.
    right : float or None
        Share of the predicted classes that are right, among rows whose class is present and known to the map.
    notes : list of str
        Remarks about some of the rows.
    """

    rows: int
    files: list[Path]
    skipped: int
    novel: int | None
    right: float | None
    notes: list[str]


# --- one pass: the survey and the sample ---


def sample(
    source: Any,
    n: int,
    *,
    target: str | Sequence[str] = (),
    groups: str | None = None,
    floor: int = FLOOR,
    random_state: int = 0,
    batch_rows: int | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Draw rows of a table that need not fit into memory, in one pass over it.

    The same rows come for any size of batches, order of files and number of workers: those with the smallest hashes of
    seed, file and row number.

    Parameters
    ----------
    source : path, frame, Arrow stream or iterator of frames
        A folder of Parquet, Arrow or CSV files (``year=2024/`` in a path is a column), one such file, anything with
        ``__arrow_c_stream__`` (polars, duckdb, pyarrow), a frame, or an iterator of frames.
    n : int
        Number of rows to draw; all rows if the table has fewer.
    target : str or sequence of str, default=()
        Column of classes, or several: each class has at least `floor` rows in the sample, or all of its rows. Numbers
        with fractions have no classes.
    groups : str, default=None
        Column that says which rows belong together: whole groups are drawn; a group larger than a fiftieth of `n` is
        drawn in parts of that size.
    floor : int, default=200
        See `target`; less if there are more than ``n / floor`` classes.
    random_state : int, default=0
        Seed.
    batch_rows : int, default=None
        Rows that are read at a time; None chooses by the width of the table and the free memory. Results do not depend
        on it.
    **reading : object
        How text files are read: ``sep``, ``decimal``, ``encoding``, ``na_values``.

    Returns
    -------
    DataFrame
        The rows, in the order of files and of rows; its index is "file:row".

    Raises
    ------
    TableError
        If a file cannot be read, or its columns differ from those of the first file; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> import manifolia as mf
    >>> frames = (pd.DataFrame({"x": range(i, i + 1000)}) for i in range(0, 10_000, 1000))
    >>> mf.stream.sample(frames, 500).shape
    (500, 1)
    """
    check_number(n, "n", low=1, integer=True)
    stream = open_stream(source, **reading)
    classes = (target,) if isinstance(target, str) else tuple(target)
    drawn = BottomK(n, seed=random_state, classes=classes, groups=groups, floor=floor)
    look = look_through(stream, None, drawn, batch_rows=batch_rows)
    found = look.rows.finish()
    return found.frame.set_axis(row_names(stream, found.part, found.row), axis=0)


def row_names(stream: Stream, part: Any, row: Any) -> list[str]:
    """Name rows by file and number, or by number alone where there is one part."""
    if len(stream.parts) == 1:
        return [str(number) for number in row]
    return [f"{name}:{number}" for name, number in zip(part, row, strict=True)]


def look_through(
    stream: Stream,
    digest: Digest | None,
    rows: BottomK,
    *,
    batch_rows: int | None = None,
    reporter: Reporter | None = None,
) -> Look:
    """Go through a table once; parts are read wherever work is done, and added up in their order."""
    reporter = Reporter() if reporter is None else reporter
    counts: dict[str, int] = {}
    total, done = stream.n_rows, 0
    given, empty = None if digest is None else digest.given, rows.empty()

    def look(part: Part) -> Look:
        return _look_at(stream, part, given, empty, batch_rows)

    for part, seen in as_done(look, list(stream.parts), anywhere=stream.frames is None):
        counts[part.name] = seen.counts[part.name]
        rows.merge(seen.rows)
        if digest is not None:
            digest.merge(seen.digest)
        done += seen.counts[part.name]
        reporter.step("survey", done, total)
    return Look(digest or Digest(), rows, counts)


def _look_at(
    stream: Stream, part: Part, given: dict[str, Any] | None, rows: BottomK, batch_rows: int | None
) -> Look:  # fmt: skip
    own_digest, own_rows = Digest(given), rows.empty()
    file, n = stream.file_of(part), 0
    for batch in _ahead(stream.batches(part, batch_rows)):
        for name in (*rows.classes, rows.groups):
            if name is not None and name not in batch.frame.columns:
                raise unknown_name(name, list(batch.frame.columns), parameter="groups" if name == rows.groups
                                   else "target")  # fmt: skip
        if given is not None:
            own_digest.add(batch, file)
        own_rows.add(batch)
        n += len(batch.frame)
    return Look(own_digest, own_rows, {part.name: n})


# --- placing ---


@dataclass(frozen=True)
class Placing:
    """How rows are placed, and what is written about each."""

    model: Any  # A pipeline or an estimator
    targets: tuple[str, ...] = ()  # Columns of the target: written if present, and not features
    left_out: tuple[str, ...] = ()  # Further columns that are not features
    copied: tuple[str, ...] = ()  # Columns that are written as they are, such as a key
    places_only: bool = False  # Whether predictions and novelty are left out
    sampled: Mapping[str, Any] | None = None  # Part to the numbers of its rows that the map was made of
    escape_formulas: bool = False  # Whether texts that a spreadsheet would run get an apostrophe, in CSV files

    def frame_of(self, batch: Batch) -> tuple[pd.DataFrame, dict[str, int]]:
        """Place some rows; return what is written about them, and the counts."""
        card = registry.card_of(self.model)
        context = stored_context(self.model)
        context.hidden = {*self.targets, *self.left_out}
        table = make_table(batch.frame, [str(name) for name in batch.frame.columns], batch.part)
        arrivals = place_rows(context, table, places_only=self.places_only)
        rows = np.arange(batch.start, batch.start + len(batch.frame))
        frame = placed_frame(arrivals, rows, self.targets, self.copied)
        known = np.zeros(len(rows), dtype=bool)
        if self.sampled is not None:
            known = np.isin(rows, self.sampled.get(batch.part, ()))
            frame["in_sample"] = known
        counts: dict[str, int] = {}
        if arrivals.novelty is not None and card.novelty:
            counts["novel"] = int((arrivals.novelty >= last_step(self.model).novelty_threshold_)[~known].sum())
        classes = getattr(last_step(self.model), "classes_", None) if arrivals.predicted is not None else None
        if len(self.targets) == 1 and isinstance(classes, np.ndarray) and self.targets[0] in table.names:
            truth = as_keys(table.column(self.targets[0]).to_numpy())
            asked = np.isin(truth, as_keys(classes)) & ~known  # rows that it has seen, it knows
            asked[arrivals.empty] = False
            counts["asked"] = int(asked.sum())
            counts["right"] = int((truth == as_keys(np.asarray(arrivals.predicted)))[asked].sum())
        return frame, counts


def place(
    model: Any,
    source: Any,
    sink: Any,
    *,
    copy: str | Sequence[str] = (),
    places_only: bool = False,
    batch_rows: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    callback: Any = None,
    **reading: Any,
) -> Placement:
    """Place the rows of a table that need not fit into memory, batch by batch: the same bits as ``model.transform``.

    Parameters
    ----------
    model : Run, estimator or pipeline
        A fitted map.
    source : path, frame, Arrow stream or iterator of frames
        As for `sample`.
    sink : path or callable
        A folder, which gets one file for each file of `source` and a manifest: if it was killed, call it again, and it
        resumes. A Parquet or CSV file, if `source` is one part. Or a function that takes each frame in order.
    copy : str or sequence of str, default=()
        Columns that are written as they are, such as a key.
    places_only : bool, default=False
        Whether predictions and novelty are left out.
    batch_rows : int, default=None
        Rows that are placed at a time; None chooses by the width of the table and the free memory. Results do not
        depend on it.
    n_jobs : int, default=None
        Threads; None uses all cores.
    verbose : bool, default=False
        Whether to show a bar.
    callback : callable, default=None
        Called with a `ProgressEvent` in rows; returning True stops, and what is done stays.
    **reading : object
        How text files are read: ``sep``, ``decimal``, ``encoding``, ``na_values``.

    Returns
    -------
    Placement
        ``rows``, ``files``, ``skipped``, ``novel``, ``right`` and ``notes``.

    Raises
    ------
    TableError
        If a file cannot be read, or its rows do not fit the model; the message names it.
    FileExistsError
        If the sink exists and is not this work, unfinished.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = mf.RFPHATE(n_trees=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = mf.stream.place(model, X, f"{folder}/placed.csv")
    >>> done.rows
    150
    """
    stream = open_stream(source, **reading)
    copied = (copy,) if isinstance(copy, str) else tuple(copy)
    match model:
        case object(report=dict() as report, model=fitted):  # a run
            placing = placing_of(fitted, report, copied)
        case _:
            placing = Placing(model, copied=copied)
    placing = replace(placing, places_only=places_only)
    reporter = Reporter(callback, verbose=verbose)
    with threads(n_jobs):
        if callable(sink):
            return _place_into(placing, stream, sink, batch_rows, reporter)
        path = Path(sink)
        if path.suffix.lower() in _SUFFIXES:
            return _place_in_file(placing, stream, path, batch_rows, reporter)
        return place_in_folder(placing, stream, path, batch_rows=batch_rows, reporter=reporter)


def placing_of(model: Any, report: Mapping[str, Any], copied: Sequence[str] = ()) -> Placing:
    """Say how rows are placed on the map of a run."""
    key = report["data"].get("key")
    return Placing(
        model,
        tuple(report["target"]["columns"]),
        tuple(report["excluded"]),
        tuple(dict.fromkeys([*([] if key is None else [key]), *copied])),
    )


def place_in_folder(
    placing: Placing,
    stream: Stream,
    folder: Path,
    *,
    header: Mapping[str, Any] | None = None,
    total: int | None = None,
    batch_rows: int | None = None,
    reporter: Reporter | None = None,
    finish: Callable[[list[dict[str, Any]]], object] | None = None,
) -> Placement:
    """Place the files of a table into a folder, or resume; `finish` is called before the work counts as done."""
    reporter = Reporter() if reporter is None else reporter
    made = manifest_header(placing, stream) if header is None else dict(header)
    if stream.frames is not None:
        raise ParameterError(
            f"a folder gets one file for each file of the source, and {stream.shown} is none. Name a file with the "
            f"suffix .parquet or .csv, or pass a function.",
            parameter="sink",
        )
    outputs = output_names(stream)
    known = begin_folder(folder, made)
    with hold(folder / MANIFEST) as manifest:
        lines = [line for line in known if (folder / str(line.get("out"))).is_file()]
        done = {line["file"]: line for line in lines}
        waiting = [part for part in stream.parts if part.name not in done]
        total = stream.n_rows if total is None else total
        placed = sum(line["rows"] for line in done.values())
        reporter.step("place", placed, total)

        so_far, here = placed, not has_executor()  # otherwise nobody could tell how far the work is

        def work(part: Part) -> dict[str, Any]:
            return _place_part(
                placing, stream, part, folder / outputs[part.name], batch_rows, advance if here else None
            )

        def advance(rows: int) -> None:
            nonlocal so_far
            so_far += rows
            reporter.step("place", so_far, total)

        try:
            for part, line in as_done(work, waiting, anywhere=True):
                line = {"file": part.name, "out": outputs[part.name], **line}
                append_line(manifest, line)
                done[part.name] = line
                placed += line["rows"]
                if not here:
                    advance(line["rows"])
        except OSError as error:
            n_done = len(done)
            raise OSError(
                f"{str(error).rstrip('.')}. {n_done:,} of {len(stream.parts):,} files are placed in {folder} and stay; "
                f"the same call goes on from there."
            ) from error
        ordered = [done[part.name] for part in stream.parts]
        if finish is not None:
            finish(ordered)
        append_line(manifest, {"finished": True, "rows": placed})
    return _summary(ordered, [folder / line["out"] for line in ordered], len(stream.parts) - len(waiting))


def manifest_header(placing: Placing, stream: Stream, digest: str | None = None, **more: Any) -> dict[str, Any]:
    """Say what a manifest belongs to: software, model, input and settings."""
    return {
        "manifolia": __version__,
        "model": joblib.hash(placing.model) if digest is None else digest,
        "input": stream.written(),
        "settings": {
            "targets": list(placing.targets), "left_out": list(placing.left_out), "copied": list(placing.copied),
            "places_only": placing.places_only, "reading": dict(sorted(stream.reading.items())), **more,
        },
    }  # fmt: skip


def _place_part(
    placing: Placing,
    stream: Stream,
    part: Part,
    out: Path,
    batch_rows: int | None,
    advance: Callable[[int], object] | None,
) -> dict[str, Any]:
    """Place a part and write it: beside its target, and renamed when it is complete."""
    totals: dict[str, int] = {}
    n = 0
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with collected_warnings() as notes, draft(out) as beside:
            with writing(beside, out.suffix, stream, escape_formulas=placing.escape_formulas) as write:
                for frame, counts in _placed(placing, stream, part, batch_rows):
                    write(frame)
                    n += len(frame)
                    for name, count in counts.items():
                        totals[name] = totals.get(name, 0) + count
                    if advance is not None:
                        advance(len(frame))
                if not n:
                    write(_nothing(placing, stream))
            with beside.open("rb") as written:
                os.fsync(written.fileno())
    except OSError as error:
        reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
        raise OSError(f"{out} cannot be written: {reason}") from error
    told = _alike(notes)
    return {"rows": n, **totals, **({"notes": told} if told else {})}


def _alike(notes: Sequence[str]) -> list[str]:
    """Keep one of several sentences that differ only in their numbers: batches are our own doing."""
    kept: dict[str, list[str]] = {}
    for note in notes:
        kept.setdefault(re.sub(r"[\d,]", "", str(note)), []).append(str(note))
    told = [f"{said[0]}{' (The like of further rows.)' * (len(said) > 1)}" for said in kept.values()]
    return told[:_MOST_NOTES]


def _placed(
    placing: Placing, stream: Stream, part: Part, batch_rows: int | None
) -> Iterator[tuple[pd.DataFrame, dict[str, int]]]:
    for batch in _ahead(stream.batches(part, batch_rows)):
        try:
            yield placing.frame_of(batch)
        except TableError as error:
            raise _in_file(error, stream.file_of(part), batch) from error


def _in_file(error: TableError, file: str, batch: Batch) -> TableError:
    """Name the file in a message, and count rows from its start."""
    message = error.args[0]
    parts = message.parts if isinstance(message, Message) else (message,)
    told: list[Any] = [f"{file}: "]
    for part in parts:
        text = part
        if isinstance(part, str):
            for row in range(len(batch.frame)) if "(counting from 0)" in part else ():
                if place_of_row(row) in part:
                    text = part.replace(place_of_row(row), place_of_row(batch.start + row))
                    break
        told.append(text)
    return TableError(Message(*told), parameter=error.parameter)


def _place_into(
    placing: Placing, stream: Stream, sink: Callable[[pd.DataFrame], object], batch_rows: int | None, reporter: Reporter
) -> Placement:
    lines = []
    done = 0
    with collected_warnings() as notes:
        for part in stream.parts:
            line: dict[str, Any] = {"rows": 0}
            for frame, counts in _placed(placing, stream, part, batch_rows):
                sink(frame)
                for name, count in {"rows": len(frame), **counts}.items():
                    line[name] = line.get(name, 0) + count
                done += len(frame)
                reporter.step("place", done, stream.n_rows)
            lines.append(line)
    return _summary([*lines, {"rows": 0, "notes": _alike(notes)}], [], 0)


def _place_in_file(
    placing: Placing, stream: Stream, path: Path, batch_rows: int | None, reporter: Reporter
) -> Placement:  # fmt: skip
    if len(stream.parts) > 1:
        raise ParameterError(
            f"{stream.shown} has {len(stream.parts):,} files, and {path} is one. Name a folder, which gets a file for "
            f"each.",
            parameter="sink",
        )
    if path.exists():
        raise FileExistsError(f"{path} is there already. Choose another place.")
    done = 0

    def advance(rows: int) -> None:
        nonlocal done
        done += rows
        reporter.step("place", done, stream.n_rows)

    line = _place_part(placing, stream, stream.parts[0], path, batch_rows, advance)
    return _summary([line], [path], 0)


def _summary(lines: Sequence[Mapping[str, Any]], files: list[Path], skipped: int) -> Placement:
    def total(name: str) -> int | None:
        return sum(line.get(name, 0) for line in lines) if any(name in line for line in lines) else None

    asked, right = total("asked"), total("right")
    said: dict[str, list[str]] = {}
    for line in lines:
        for note in line.get("notes", ()):
            said.setdefault(str(note), []).append(str(line.get("file", "")))
    notes = [
        f"{where[0]}{f' and {len(where) - 1:,} other files' * (len(where) > 1)}: {note}" if where[0] else note
        for note, where in said.items()
    ]
    return Placement(
        total("rows") or 0,
        files,
        skipped,
        total("novel"),
        right / asked if asked and right is not None else None,
        notes,
    )


def _nothing(placing: Placing, stream: Stream) -> pd.DataFrame:
    """Return the columns of a part without rows."""
    from manifolia.explorer.place import axis_names

    method = last_step(placing.model)
    width = int(getattr(method, "n_components", 2))
    columns: dict[str, Any] = {"row": np.empty(0, np.int64)}
    columns |= {name: np.empty(0) for name in axis_names(width)}
    columns |= {name: np.empty(0, object) for name in (*placing.copied, *placing.targets) if name in stream.columns}
    return pd.DataFrame(columns)


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Let a thread fetch the next batch while the last is being processed."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(_AHEAD)
    stop = threading.Event()

    def put(message: tuple[str, Any]) -> bool:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(message, timeout=0.1)
                return True
        return False

    def fetch() -> None:
        try:
            for item in items:
                if not put(("item", item)):
                    return
            put(("end", None))
        except BaseException as error:  # raised below, in the caller's thread
            put(("error", error))

    context = contextvars.copy_context()
    reader = threading.Thread(target=context.run, args=(fetch,), name="manifolia-reader", daemon=True)
    reader.start()
    try:
        while True:
            what, item = waiting.get()
            if what == "end":
                return
            if what == "error":
                raise item
            yield item
    finally:
        stop.set()
        reader.join()
