"""``manifolia explain``: which columns shape a map, or why one row is where it is."""

from __future__ import annotations

from pathlib import Path

from manifolia._cli.console import Console
from manifolia.runs import open_run


def run_explain(console: Console, run: Path, *, row: str | None, top: int) -> None:
    """Print which columns shape a map, or one row's place in it."""
    position = row is not None and row.isdecimal() and row == str(int(row))  # if no row is called so
    explained = open_run(run).explain(int(row) if row is not None and position else row, top=top)
    console.data(explained.to_dict())
    heading, *lines = explained.lines()
    console.heading(heading)
    for line in lines:
        console.result(line)
