"""``manifolia map``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from manifolia._cli.console import Console
from manifolia.runs import Request, map
from manifolia.runs.request import READING
from manifolia.tables import Table, read

FAILED = 3  #: Exit code where ``--fail-on`` asks for it.


def run_map(
    console: Console,
    data: Path,
    out: Path | None,
    *,
    explain: bool,
    method: str | None,
    settings: dict[str, Any],
    fail_on: str | None,
    **options: Any,
) -> None:
    """Make a run and say what it shows."""
    folder = out if out is not None else data.with_name(f"{'stdin' if str(data) == '-' else data.stem}-map")
    began = time.perf_counter()
    parts = "auto" if explain else None
    run = map(data, out=folder, method=method or "auto", parts=parts, callback=console, **{**options, **settings})
    report = run.report
    console.notes(run.notes)
    if report["data"]["key"] is None and run.coordinates["row"].iloc[0] == "0":
        console.note("Rows are numbered from 0: row 0 is the first below the names of the columns. --key COLUMN calls "
                     "them by a column.")  # fmt: skip
    console.data({"run": str(folder), "page": str(folder / "map.html"), **report})
    if not console.quiet:
        from manifolia.runs.folder import headline  # which needs scikit-learn, errors about the table do not

        console.heading(f"{headline(report)} in {time.perf_counter() - began:.1f} s")
        console.findings(report)
        if "stream" in report:
            from manifolia.runs.streamed import stream_words

            for text in stream_words(report, folder):
                console.result(f"- {text}")
        console.heading(f"Open the page: {folder / 'map.html'}")
    if fail_on == "not-earned" and (report["trust"] or {"map": {"earned": None}})["map"]["earned"] == "not earned":
        raise click.exceptions.Exit(FAILED)


def read_table(data: Path, options: dict[str, Any]) -> Table:
    """Read the table that a command was given."""
    return read(data, **{name: options[name] for name in READING})


def request_of(options: dict[str, Any], **more: Any) -> Request:
    """Gather what a command asks of a run: its options are named like the fields of a request."""
    reading = {name: options[name] for name in READING}
    asked = {name: value for name, value in options.items() if name not in READING}
    return Request(**asked, reading=reading, **more)
