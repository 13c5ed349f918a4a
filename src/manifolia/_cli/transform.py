"""``manifolia transform``."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from manifolia._cli.console import Console
from manifolia._cli.map import FAILED
from manifolia._core.progress import Reporter
from manifolia.exceptions import ParameterError
from manifolia.explorer import write_page
from manifolia.explorer.decode import with_new_rows
from manifolia.runs import Run, open_run
from manifolia.runs.folder import context_for, write_h5ad
from manifolia.runs.new_rows import Placed, place_new, read_new, stream_reading
from manifolia.runs.streamed import placement_words
from manifolia.runs.watching import watch, write_drift_page
from manifolia.stream import place_in_folder, placing_of
from manifolia.tables import write
from manifolia.tables.stream import is_folder, open_stream
from manifolia.tables.writing import without_formulas, write_csv
from manifolia.trust.drift import Drift


def run_transform(
    console: Console,
    run: Path,
    data: Path,
    *,
    out: Path | None,
    page: Path | None,
    report: Path | None,
    fail_on: str | None,
    force: bool,
    escape_formulas: bool,
    **reading: Any,
) -> None:
    """Place new rows and write them."""
    folder = open_run(run)
    if is_folder(data):
        for option, asked in (("page", page), ("report", report), ("fail_on", fail_on)):
            if asked is not None:
                raise ParameterError(
                    f"{option} is about the new rows of one file, and {data} is a folder. Leave it out.",
                    parameter=option,
                )
        _place_folder(console, folder, data, out, escape_formulas=escape_formulas, reading=reading)
        return
    for file in (out, page, report):
        if file is not None and file.exists() and not force:
            raise FileExistsError(f"{file} is there already. Choose another name, or replace it with --force.")
    if out is None and sys.stdout is None:
        raise ValueError("standard output is closed, so that the coordinates would be lost. Name a file with -o.")
    table = read_new(data, folder.report, reading)
    with console.noting_warnings():
        placed = place_new(context_for(folder, page=page is not None), table, folder.report, folder.coordinates)
    console.notes(table.notes)
    if out is None and not console.as_json:
        shown = without_formulas(placed.frame) if escape_formulas else placed.frame
        text = io.StringIO()
        write_csv(shown, text)
        console.table(text.getvalue())
    elif out is not None and out.suffix == ".h5ad":
        write_h5ad(data, out, folder.report, placed.frame, {})
    elif out is not None:
        write(placed.frame, out, escape_formulas=escape_formulas)
    if page is not None:
        write_page(with_new_rows(folder.payload, placed.new), page)
    watched = None
    if report is not None or fail_on == "drift":
        watched = watch(folder, table)
        if report is not None:
            write_drift_page(watched, folder, f"{data}", report)
    _tell(console, placed, out, page, watched, report)
    if fail_on == "drift" and watched is not None and watched.alarm:
        raise click.exceptions.Exit(FAILED)


def _place_folder(
    console: Console, run: Run, data: Path, out: Path | None, *, escape_formulas: bool,
    reading: dict[str, Any],
) -> None:  # fmt: skip
    """Place the files of a folder, one by one."""
    if out is None:
        raise ParameterError(f"{data} is a folder, whose files are placed one by one. Name a folder with -o.",
                             parameter="out")  # fmt: skip
    placing = replace(placing_of(run.model, run.report), escape_formulas=escape_formulas)
    placed = place_in_folder(placing, open_stream(data, **stream_reading(run.report, reading)), out,
                             reporter=Reporter(console))  # fmt: skip
    console.notes(placed.notes)
    console.data({**placed._asdict(), "files": [str(path) for path in placed.files]})
    before = f", {placed.skipped:,} of them before" if placed.skipped else ""
    console.heading(f"{placed.rows:,} rows of {len(placed.files):,} files placed{before}: {out}")
    for text in placement_words(placed._asdict(), run.report["target"]["columns"]):
        console.result(f"- {text}")


def _tell(
    console: Console, placed: Placed, out: Path | None, page: Path | None, watched: Drift | None, report: Path | None
) -> None:
    n = len(placed.frame)
    limit = placed.novel_from
    n_novel = None if limit is None else int((placed.frame["novelty"] >= limit).sum())
    console.data(
        {
            "rows": n,
            "novel": n_novel,
            "accuracy": placed.accuracy,
            "rows_of_the_fit": placed.n_known,
            "out": None if out is None else str(out),
            "page": None if page is None else str(page),
            **({} if watched is None else {"drift": watched.to_dict()}),
            **({"coordinates": placed.frame.to_dict("records")} if out is None else {}),
        }
    )
    if out is None or console.quiet:
        if watched is not None:
            for finding in watched.findings:
                console.note(finding.text)
        return
    console.heading(f"{n:,} {'row' if n == 1 else 'rows'} placed: {out}")
    if n_novel is not None and limit is not None:
        if n == 1:
            told = "It looks" if n_novel else "It does not look"
        else:
            told = f"{n_novel:,} of them {'looks' if n_novel == 1 else 'look'}" if n_novel else "None of them looks"
        console.result(
            f"- {told} unlike the rows of the map (novelty of at least {limit:.3g}, as {1 - limit:.1%} of rows like "
            f"those have)."
        )
        if placed.n_unseen:
            rows = "row has" if placed.n_unseen == 1 else "rows have"
            console.result(f"  Novelty does not see levels that were not in the fit: {placed.n_unseen:,} {rows} such.")
    if placed.compared:
        console.result(f"- {placed.compared}")
        if placed.n_known and placed.accuracy is not None:
            rows = "row looks" if placed.n_known == 1 else "rows look"
            told = "to the forest exactly like rows of the fit, whose answers it has seen."
            console.result(f"  But {placed.n_known:,} {rows} {told}")
    if watched is not None:
        console.heading("Do they come from the same source as the rows of the map?")
        for finding in watched.findings:
            console.result(f"- {finding.text}")
    if report is not None:
        console.heading(f"Open the report: {report}")
    if page is not None:
        console.heading(f"Open the page: {page}")
