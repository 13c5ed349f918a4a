"""``manifolia explain``: which columns shape a map, or why one row is where it is."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._cli.console import Console
from manifolia.exceptions import TableError
from manifolia.explain.displacement import row_displacements
from manifolia.explorer.decode import decode
from manifolia.explorer.parts.predictions import FOREST, vote_classes
from manifolia.runs import open_run
from manifolia.runs.folder import Folder

_COLUMNS = 60  # columns that are tried for a row: those of the greatest importance
_CLASSES = 3  # with most votes, that are named
_LIKE = 5  # rows that are listed as most alike


def run_explain(console: Console, run: Path, *, row: str | None, top: int) -> None:
    """Print which columns shape a map, or one row's place in it."""
    folder = open_run(run)
    if row is not None:
        _explain_row(console, folder, row, top)
        return
    importances = folder.report["importances"][:top]
    console.data({"importances": folder.report["importances"]})
    if not importances:
        console.result(_why_none(folder.report["method"]))
        return
    meaning = folder.report["importance"]
    console.heading(f"What matters for {meaning['purpose']}: {meaning['measure']}")
    largest = max(entry["importance"] for entry in importances)
    for entry in importances:
        bar = "█" * max(0, round(24 * entry["importance"] / largest)) if largest > 0 else ""
        console.result(
            f"  {entry['column'][:28]:28s} {entry['importance']:9.4f} ± {entry['standard_error']:.4f}  {bar}"
        )


def _why_none(method: str) -> str:
    """Say why a run has no importances."""
    if not registry.find(method).importance:
        return f"{method} has no measure of how much each column matters. guided-map, for example, has one."
    return "How much each column matters was not measured in this run. Map again with --importance."


def _explain_row(console: Console, folder: Folder, name: str, top: int) -> None:
    coordinates, rows = folder.coordinates(), folder.rows()
    row = _find_row(coordinates, name)
    if not registry.find(folder.report["method"]).places:
        raise TableError(
            f"{folder.report['method']} cannot say where a row with other values would lie, so which columns hold row "
            f"{name} in its place cannot be tried. Map again with a method that places new rows, such as guided-map."
        )
    if rows is None:
        raise TableError(
            f"{folder.path} did not keep its rows, so that one cannot be explained. Map again with --keep-rows."
        )
    model = folder.model()
    line = coordinates.iloc[row]
    spread = float(np.sqrt(coordinates[folder.report["axes"]].var(ddof=0).sum()))
    shifts = {column: shift / spread for column, shift in _shifts(folder, model, rows, row)[:top]}
    like = _like_rows(model[-1], row) if registry.card_of(model).forest else []
    votes = _votes(model[-1], row, folder.report["target"]["columns"])
    shown = decode(folder.payload()).columns.iloc[row]  # raw values, as far as the page has them
    values = {str(column): _plain(value) for column, value in shown.items()}
    console.data(
        {
            "row": {column: _plain(value) for column, value in line.items()},
            "reasons": [
                {"column": column, "shift": shift, "value": values.get(column)} for column, shift in shifts.items()
            ],
            "votes": votes,
            "like": [{"row": str(coordinates["row"].iloc[i]), "proximity": share} for i, share in like],
        }
    )
    console.heading(f"Row {line['row']}: " + ", ".join(f"{k} {_short(v)}" for k, v in line.items() if k != "row"))
    console.result("How far it would move, in standard deviations of the map, with another row's value:")
    for column, shift in shifts.items():
        console.result(f"  {column[:28]:28s} {_short(values.get(column, '')):>14s}  {shift:6.3f}")
    if votes:
        knower = registry.card_of(model).knower
        trees = "How the trees vote that did not train on it:"
        console.result(trees if knower == FOREST else f"How it is voted on by {knower}, fitted without it:")
    for target, shares in votes.items():
        told = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:_CLASSES])
        rest = sum(list(shares.values())[_CLASSES:])
        console.result(f"  {target[:28]:28s} {told}" + (f", others {rest:.0%}" if rest >= 0.005 else ""))
    if like:
        target = folder.report["target"]["columns"]
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
    raise TableError(
        f"there is no row {name!r}.{hint} Rows have the names in the first column of the coordinates: {names[0]} …",
        parameter="row",
    )


def _shifts(folder: Folder, model: Any, rows: Any, row: int) -> list[tuple[str, float]]:
    """Rank the raw columns by how far the row would move, on average, with another row's value there."""
    sources = np.array(model[0].sources_, dtype=object)
    names = list(dict.fromkeys(sources))
    if len(names) > _COLUMNS:
        ranked = [entry["column"] for entry in folder.report["importances"]]
        names = [name for name in ranked if name in set(names)][:_COLUMNS] or names[:_COLUMNS]
    groups = [np.flatnonzero(sources == name) for name in names]
    moved = row_displacements(model[-1].transform, rows, row, groups, random_state=0)
    return sorted(
        ((str(name), float(shift)) for name, shift in zip(names, moved, strict=True)), key=lambda one: -one[1]
    )


def _like_rows(method: Any, row: int) -> list[tuple[int, float]]:
    """List the training rows that speak most for a row in the forest."""
    line = method.proximity_matrix()[[row], :].toarray().ravel()
    line[row] = 0.0
    order = np.argsort(-line, kind="stable")[:_LIKE]
    return [(int(i), float(line[i])) for i in order if line[i] > 0]


def _votes(method: Any, row: int, targets: list[str]) -> dict[str, dict[str, float]]:
    """Count the votes on the classes of a training row, most first; none if the target is numbers, or there is none."""
    classes = vote_classes(method) if registry.card_of(method).predicts else []
    counted = method._class_shares(part=slice(row, row + 1)) if classes else []
    found = {}
    for target, names, shares in zip(targets, classes, counted, strict=False):
        order = np.argsort(-shares[0], kind="stable")
        found[target] = {names[k]: float(shares[0, k]) for k in order if shares[0, k] > 0}
    return {target: shares for target, shares in found.items() if shares}


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value


def _short(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
