"""``manifolia explain``."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pandas as pd

from manifolia._cli.console import Console
from manifolia.exceptions import TableError
from manifolia.explorer.decode import decode
from manifolia.runs import open_run
from manifolia.runs.folder import Folder
from manifolia.runs.reasons import like_rows, row_reasons

__all__ = ["run_explain"]


def run_explain(path: Path, options: dict[str, Any]) -> None:
    """Print which columns shape a map, or one row's place in it."""
    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    run = open_run(path)
    if options["row"] is not None:
        _explain_row(console, run, options["row"], options["top"])
        return
    importances = run.report["importances"][: options["top"]]
    console.data({"importances": run.report["importances"]})
    if not importances:
        console.result(f"{run.report['method']} measured no importance of columns in this run.")
        return
    meaning = run.report.get("importance", {"purpose": "the map", "measure": "importance of columns"})
    console.heading(f"What matters for {meaning['purpose']}: {meaning['measure']}")
    largest = max(entry["importance"] for entry in importances)
    for entry in importances:
        bar = "█" * max(0, round(24 * entry["importance"] / largest)) if largest > 0 else ""
        console.result(
            f"  {entry['column'][:28]:28s} {entry['importance']:9.4f} ± {entry['standard_error']:.4f}  {bar}"
        )


def _explain_row(console: Console, run: Folder, name: str, top: int) -> None:
    coordinates, model, rows = run.coordinates(), run.model(), run.rows()
    row = _find_row(coordinates, name)
    if rows is None:
        message = f"{run.path} did not keep its rows, so that one cannot be explained. Map again with --keep-rows."
        raise TableError(message)
    line = coordinates.iloc[row]
    reasons = row_reasons(model, rows, row, importances=run.report["importances"])[:top]
    like = like_rows(model[-1], row) if hasattr(model[-1], "proximity_matrix") else []
    values = _values(run, row)
    console.data(
        {
            "row": {name: _plain(value) for name, value in line.items()},
            "reasons": [{**reason._asdict(), "value": values.get(reason.column)} for reason in reasons],
            "like": [{"row": str(coordinates["row"].iloc[i]), "proximity": share} for i, share in like],
        }
    )
    console.heading(f"Row {line['row']}: " + ", ".join(f"{k} {_short(v)}" for k, v in line.items() if k != "row"))
    console.result("How far it would move, in standard deviations of the map, with another row's value:")
    for reason in reasons:
        console.result(f"  {reason.column[:28]:28s} {_short(values.get(reason.column, '')):>14s}  {reason.shift:6.3f}")
    if like:
        target = run.report["target"]["columns"]
        console.result("The rows that speak most for it:")
        for i, share in like:
            told = ", ".join(f"{name} {_short(coordinates[name].iloc[i])}" for name in target if name in coordinates)
            console.result(f"  {coordinates['row'].iloc[i]!s:28s} {share:8.4f}  {told}")


def _find_row(coordinates: pd.DataFrame, name: str) -> int:
    names = coordinates["row"].astype(str).tolist()
    if name in names:
        return names.index(name)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    message = (
        f"there is no row {name!r}.{hint} Rows have the names in the first column of the coordinates: {names[0]} …"
    )
    raise TableError(message)


def _values(run: Folder, row: int) -> dict[str, Any]:
    """Raw values of a row, as far as the page has them."""
    line = decode(run.payload()).columns.iloc[row]
    return {str(name): _plain(value) for name, value in line.items()}


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _short(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
