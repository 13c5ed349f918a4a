"""A map of a table beyond memory: made of a sample of its rows, with all of them placed on it.

The folder of such a run is written at once, as any other, with a manifest of what is to be placed in ``placed/``. What
follows goes on from there however often it is killed: the files of ``placed/`` one by one, then the page and the report
with what is known of all rows, then the last line of the manifest.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia import registry
from manifolia._core.files import clear_stages, draft
from manifolia._core.memory import give_back
from manifolia._core.messages import Message
from manifolia._core.optional import import_extra
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia.distributed import use
from manifolia.exceptions import ParameterError, TableError
from manifolia.explorer import write_page
from manifolia.runs.density_of_all import with_all_rows
from manifolia.runs.request import FORCE, REPORT, Request, check_format, check_free, make_run, place_of
from manifolia.runs.stages import Listener
from manifolia.stream import (
    Placing,
    look_through,
    manifest_header,
    place_in_folder,
    placing_of,
    row_names,
)
from manifolia.tables.bottom_k import BottomK, Drawn
from manifolia.tables.digest import Digest
from manifolia.tables.frames import open_source
from manifolia.tables.naming import counted
from manifolia.tables.roles import check_roles
from manifolia.tables.sink import begin_folder, read_manifest
from manifolia.tables.stream import Stream, open_stream
from manifolia.tables.survey import LookedAt
from manifolia.tables.table import Table, make_table

if TYPE_CHECKING:
    from manifolia.runs.folder import Run

PLACED = "placed"  #: The folder in a run with a file for each file of the table
FIT_ROWS = 100_000
_SAMPLE = "sample.npz"  # which rows of the table the map was made of
_MOST_LISTED = 1000  # classes in a report
_MOST_MB = 7.0  # of the page: with the counts of all rows under its points it has at most 10
_ON_PAGE = 2  # dimensions of a map under whose points all rows are drawn
_CONNECT = 10  # seconds that a scheduler has to answer
_FEWEST = 1000  # rows to make a map of a large table of


def map_stream(
    source: Any,
    request: Request,
    out: str | os.PathLike[str] | None,
    fit_rows: int | None,
    listener: Listener | None,
    writing: Mapping[str, Any],
    scheduler: str | None = None,
) -> Run:
    """Make a map of some rows of a table, and place all of them; go on with what an earlier call began."""
    from manifolia.runs.folder import digest_of_model, open_run

    if out is None:
        raise ParameterError(
            f"{source} is read some rows at a time, and what is placed is written file by file. Name the folder of the "
            f"run with out.",
            parameter="out",
        )
    n = FIT_ROWS if fit_rows is None else int(fit_rows)
    if n < _FEWEST:
        raise ParameterError(
            f"fit_rows must be at least {_FEWEST:,}, got {n}: a map of fewer rows is no map of a large table.",
            parameter="fit_rows",
        )
    check_format(writing.get("table_format", "csv"))
    _check_method(request)
    request = replace(request, max_mb=min(request.max_mb, _MOST_MB))
    stream = open_stream(source, **request.reading)
    if stream.frames is not None:
        raise TableError(f"a map of a {type(source).__name__} is made in memory: leave fit_rows out.",
                         parameter="fit_rows")  # fmt: skip
    if scheduler is not None:
        stream = stream.for_others()
    folder = place_of(out)
    settings = _settings(request, n, writing)
    reporter = Reporter(listener)
    with threads(request.n_jobs), cluster_at(scheduler):
        force = bool(writing.get("force", False))
        if not _is_begun(folder, stream, settings, force=force):
            check_free(Path(out), force=force)
            _begin(stream, request, out, n, settings, writing, reporter, listener)
            give_back()  # what the map was made of, and the model as it was fitted, before the model is read
        else:
            clear_stages(folder)  # of an earlier call that was killed just after the run had come to its place
        run = open_run(folder)
        placing = _placing(run.model, run.report, folder, request, writing)
        place_in_folder(
            placing,
            stream,
            folder / PLACED,
            header=manifest_header(placing, stream, digest_of_model(run), **settings),
            total=run.report["stream"]["rows"],
            reporter=reporter,
            finish=lambda lines: _finish(run, folder, lines),
        )
    return open_run(out)


def _begin(
    stream: Stream,
    request: Request,
    out: str | os.PathLike[str],
    n: int,
    settings: Mapping[str, Any],
    writing: Mapping[str, Any],
    reporter: Reporter,
    listener: Listener | None,
) -> None:
    """Make the map and write its folder, with a manifest of what is to be placed; keep nothing in memory."""
    from manifolia.runs.folder import Run, digest_of_model, write_run

    run, drawn = _fit(stream, request, n, reporter, listener)

    def begin(place: Path) -> None:
        np.savez_compressed(place / _SAMPLE, part=drawn.part.astype(str), row=drawn.row)
        placing = _placing(run.model, run.report, place, request, writing)
        digest = digest_of_model(Run(run.report, place))
        begin_folder(place / PLACED, manifest_header(placing, stream, digest, **settings))

    write_run(run, out, more=begin, **writing)


@contextlib.contextmanager
def cluster_at(address: str | None) -> Iterator[None]:
    """Do the heavy parts on the cluster with this scheduler, if there is one."""
    if address is None:
        yield
        return
    dask = import_extra("distributed", extra="dask", purpose="A scheduler")
    try:
        client = dask.Client(address, timeout=_CONNECT)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"no Dask scheduler answers at {address!r}. Pass the address that it prints, such as tcp://host:8786.",
            parameter="scheduler",
        ) from error
    with client, use(client):
        yield


def _check_method(request: Request) -> None:
    """Refuse a method that places no new rows, before anything is read."""
    card = registry.find(request.method or registry.default_method(supervised=bool(request.target)))
    if not card.places:
        raise ParameterError(
            f"{card.name} has no formula for new rows, so that it can map only the rows that it was fitted on. Choose "
            f"a method that has one, such as guided-map.",
            parameter="method",
        )


def _settings(request: Request, n: int, writing: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a run was asked for, so that the same is known again."""
    asked = {name: value for name, value in asdict(replace(request, study=None)).items() if name != "n_jobs"}
    more = {name: value for name, value in writing.items() if name != "force"}
    return dict(json.loads(json.dumps({"request": asked, "fit_rows": n, "writing": more}, default=repr)))


def _is_begun(folder: Path, stream: Stream, settings: Mapping[str, Any], *, force: bool) -> bool:
    """Return whether an earlier call with the same input and settings was killed while it placed rows."""
    found = read_manifest(folder / PLACED)
    if found is None or found[2] or not (folder / REPORT).is_file():
        return False
    header = found[0]
    same_input = header.get("input") == stream.written()
    if same_input and all(header["settings"].get(name) == value for name, value in settings.items()):
        return True
    if force:
        return False
    what = "its settings" if same_input else "the files of its table"
    raise FileExistsError(
        Message(
            f"{folder} holds a run whose rows are not all placed, and {what} were others. Choose another place, or "
            "replace it with ",
            FORCE,
            ".",
        )
    )


def _fit(
    stream: Stream, request: Request, n: int, reporter: Reporter, listener: Listener | None
) -> tuple[Run, Drawn]:  # fmt: skip
    """Go through the table once, and make a map of some of its rows, prepared as all of them need."""
    classes = () if request.task in ("regression", "multioutput") else request.target
    rows = BottomK(n, seed=request.random_state, classes=classes, groups=request.groups)
    look = look_through(stream, Digest(dict(request.roles)), rows, reporter=reporter)
    drawn = look.rows.finish()
    notes = [*stream.notes, *_notes(stream, drawn)]
    table = make_table(
        drawn.frame, [str(name) for name in drawn.frame.columns], stream.shown,
        row_names=row_names(stream, drawn.part, drawn.row), notes=notes,
    )  # fmt: skip

    give_back()  # the batches

    def decide(features: Table, given: dict[str, Any] | None) -> LookedAt:
        source = open_source(features)
        roles = check_roles(given, source.names)
        return LookedAt(source, roles, look.digest.survey(source, drawn.uniform, roles))

    run = make_run(table, request, listener, decide)
    run.report["stream"] = {
        "rows": drawn.n_rows, "files": len(stream.parts), "sample": len(drawn.frame), "floor": drawn.floor,
        "classes": drawn.class_counts if len(drawn.class_counts) <= _MOST_LISTED else {}, "placed": None,
    }  # fmt: skip
    return run, drawn


def _notes(stream: Stream, drawn: Drawn) -> list[str]:
    files = f" in {counted(len(stream.parts), 'file')}" if len(stream.parts) > 1 else ""
    some = f"the map is made of {len(drawn.frame):,} of them"
    if len(drawn.frame) == drawn.n_rows:
        some = "the map is made of all of them"
    elif drawn.floor:
        some += f", at least {drawn.floor:,} of each class or all that it has"
    return [f"{drawn.n_rows:,} rows{files}: {some}, and all are placed on it."]


def _placing(
    model: Any, report: Mapping[str, Any], folder: Path, request: Request, writing: Mapping[str, Any]
) -> Placing:
    with np.load(folder / _SAMPLE, allow_pickle=False) as held:
        part, row = held["part"], held["row"]
    sampled = {str(name): row[part == name] for name in np.unique(part)}
    about = {"excluded": request.left_out}
    return replace(
        placing_of(model, {**report, **about}),
        sampled=sampled,
        escape_formulas=bool(writing.get("escape_formulas", False)),
    )


def placement_words(placed: Mapping[str, Any], target: Sequence[str], others: str = "") -> list[str]:
    """Say what was found of rows that were placed; `others` says which of them are counted."""
    told = []
    if placed.get("novel") is not None:
        look = "row looks" if placed["novel"] == 1 else "rows look"
        count = f"{placed['novel']:,} {look}" if placed["novel"] else "No row looks"
        told.append(f"{count} unlike those that the map was made of{others}.")
    if placed.get("right") is not None:
        known = f"the rows with a {target[0]} that the map knows"
        told.append(f"The predictions are right about {placed['right']:.1%} of {known}{others}.")
    return told


def stream_words(report: Mapping[str, Any], folder: Path) -> list[str]:
    """Say how many rows were placed, and what was found of those that the map was not made of."""
    about = report["stream"]
    placed = about["placed"]
    share = placed["right"] / placed["asked"] if placed["asked"] else None
    counts = {"novel": placed["novel"] if placed["judged"] else None, "right": share}
    return [
        f"{about['rows']:,} rows of {counted(about['files'], 'file')} are placed in {folder / PLACED}.",
        *placement_words(counts, report["target"]["columns"], ", among the rows that it was not made of"),
    ]


def _finish(run: Run, folder: Path, lines: list[dict[str, Any]]) -> None:
    """Put what is known of all rows on record."""
    run.report["stream"]["placed"] = {
        **{name: sum(line.get(name, 0) for line in lines) for name in ("rows", "novel", "asked", "right")},
        "judged": any("novel" in line for line in lines),
    }
    axes = run.report["axes"]
    if len(axes) == _ON_PAGE:
        files = [folder / PLACED / line["out"] for line in lines]
        payload = with_all_rows(run.payload, files, axes, run.report["target"]["columns"])
        payload.save(folder / "payload.npz")
        write_page(payload, folder / "map.html")
    with draft(folder / REPORT) as beside:
        text = json.dumps(run.report, indent=2, ensure_ascii=False, allow_nan=False)
        beside.write_text(text + "\n", encoding="utf-8")
