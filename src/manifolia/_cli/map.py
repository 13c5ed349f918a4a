"""``manifolia map``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from manifolia._cli.console import Console
from manifolia._core.progress import ProgressEvent
from manifolia.exceptions import TableError
from manifolia.runs import Request, Run, make_run, write_run
from manifolia.runs.folder import check_free
from manifolia.tables import Table, read, write_anndata

__all__ = ["read_table", "run_map", "tell"]


def run_map(data: Path, out: Path | None, settings: dict[str, Any], options: dict[str, Any]) -> None:
    """Make a run and say what it shows."""
    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    folder = out if out is not None else data.with_name(f"{data.stem}-map")
    check_free(folder, force=options["force"])
    table = read_table(data, options)
    _check_overlap(options)
    request = Request(
        target=options["target"],
        method=options["method"],
        task=options["task"],
        exclude=options["exclude"],
        roles=options["roles"],
        settings=settings,
        title=options["title"],
        importance=options["importance"],
        keep_rows=options["keep_rows"],
        parts="auto" if options["explain"] else None,
        images=options["images"],
        max_mb=options["max_mb"],
        random_state=options["random_state"],
        n_jobs=options["n_jobs"],
    )
    began = time.perf_counter()
    run = make_run(table, request, console)
    console(ProgressEvent("write", 0, None, {}))
    write_run(run, folder, force=options["force"], table_format=options["table_format"])
    console(ProgressEvent("write", 1, 1, {}))
    if data.suffix == ".h5ad":
        _write_h5ad(data, folder, run)
    tell(console, run, folder, time.perf_counter() - began)


def read_table(data: Path, options: dict[str, Any]) -> Table:
    """Read the table that a command was given."""
    given = {name: options[name] for name in ("sep", "decimal", "na_values", "layer", "obsm")}
    return read(data, **given)


def _check_overlap(options: dict[str, Any]) -> None:
    both = set(options["target"]) & set(options["exclude"])
    if both:
        message = f"{', '.join(sorted(both))} is both target and excluded. A target takes no part as a feature anyway."
        raise TableError(message, parameter="exclude")


def tell(console: Console, run: Run, folder: Path, seconds: float) -> None:
    """Print what a run shows and where its page is."""
    report = run.report
    for text in [*report["notes"], *report["left_out_of_page"]]:
        console.note(text)
    console.data({"run": str(folder), "page": str(folder / "map.html"), **report})
    task = f", {report['target']['task']}" if report["target"]["columns"] else ""
    console.heading(f"{report['data']['rows']:,} rows mapped by {report['method']}{task} in {seconds:.1f} s")
    for finding in report["findings"]:
        console.result(f"- {finding['text']}")
    console.heading(f"Open the page: {folder / 'map.html'}")


def _write_h5ad(data: Path, folder: Path, run: Run) -> None:
    """Beside the run's own files, a copy of the data with map and explanations where scanpy's users look for them."""
    key = run.report["method"].replace("-", "")
    places = run.coordinates[[name for name in run.coordinates.columns if str(name).startswith("map_")]]
    obs = {f"{key}_novelty": run.coordinates["novelty"].to_numpy()} if "novelty" in run.coordinates else {}
    write_anndata(
        data,
        folder / data.name,
        obsm={f"X_{key}": places.to_numpy()},
        obs=obs,
        uns={
            key: {
                "parameters": {name: str(value) for name, value in run.report["parameters"].items()},
                "importances": {entry["column"]: entry["importance"] for entry in run.report["importances"]},
                "findings": [finding["text"] for finding in run.report["findings"]],
            }
        },
    )
