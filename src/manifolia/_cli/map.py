"""``manifolia map``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import pandas as pd

from manifolia import registry
from manifolia._cli.console import Console
from manifolia.runs import Request, make_run, write_run
from manifolia.runs.folder import check_free
from manifolia.tables import Table, read, write_anndata
from manifolia.tables.naming import of_groups

FAILED = 3  #: Exit code where ``--fail-on`` asks for it.
_READING = ("sep", "decimal", "na_values", "layer", "obsm")


def run_map(
    console: Console,
    data: Path,
    out: Path | None,
    *,
    explain: bool,
    table_format: str,
    escape_formulas: bool,
    force: bool,
    fail_on: str | None,
    **options: Any,
) -> None:
    """Make a run and say what it shows."""
    folder = out if out is not None else data.with_name(f"{data.stem}-map")
    check_free(folder, force=force)
    table = read_table(data, options)
    request = request_of(options, parts="auto" if explain else None)
    began = time.perf_counter()
    run = make_run(table, request, console)
    report = run.report

    def annotate(place: Path) -> None:
        write_h5ad(data, place / data.name, report, run.coordinates, {
            "parameters": {name: str(value) for name, value in report["parameters"].items()},
            "importances": {entry["column"]: entry["importance"] for entry in report["importances"]},
            "findings": [finding["text"] for finding in report["findings"]],
        })  # fmt: skip

    with console.stage("write"):
        more = annotate if data.suffix == ".h5ad" else None
        write_run(run, folder, force=force, table_format=table_format, escape_formulas=escape_formulas, more=more)
    console.notes([*report["notes"], *report["left_out_of_page"]])
    console.data({"run": str(folder), "page": str(folder / "map.html"), **report})
    if console.quiet:
        _end(report, fail_on)
        return
    guided = report["target"]["columns"] and registry.find(report["method"]).supervised
    task = f", {report['target']['task']}" if guided else ""
    seconds = time.perf_counter() - began
    console.heading(f"{rows_of(report)} mapped by {report['method']}{task} in {seconds:.1f} s")
    console.findings(report)
    console.heading(f"Open the page: {folder / 'map.html'}")
    _end(report, fail_on)


def _end(report: dict[str, Any], fail_on: str | None) -> None:
    """End with a code of its own where the user asks for it."""
    if fail_on == "not-earned" and (report["trust"] or {"map": {"earned": None}})["map"]["earned"] == "not earned":
        raise click.exceptions.Exit(FAILED)


def rows_of(report: dict[str, Any]) -> str:
    """Say how many rows a run has, and of how many groups."""
    rows, groups = f"{report['data']['rows']:,} rows", report["groups"]
    return rows if groups is None else f"{rows} of {of_groups(groups['count'], groups['column'])}"


def read_table(data: Path, options: dict[str, Any]) -> Table:
    """Read the table that a command was given."""
    return read(data, **{name: options[name] for name in _READING})


def request_of(options: dict[str, Any], **more: Any) -> Request:
    """Gather what a command asks of a run: its options are named like the fields of a request."""
    return Request(**{name: value for name, value in options.items() if name not in _READING}, **more)


def write_h5ad(data: Path, out: Path, report: dict[str, Any], rows: pd.DataFrame, about: dict[str, Any]) -> None:
    """Write a copy of the data with places and novelty where scanpy's users look for them."""
    key = report["method"].replace("-", "")
    obs = {f"{key}_novelty": rows["novelty"].to_numpy()} if "novelty" in rows else {}
    uns = {key: about} if about else {}
    write_anndata(data, out, obsm={f"X_{key}": rows[report["axes"]].to_numpy()}, obs=obs, uns=uns)
