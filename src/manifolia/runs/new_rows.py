"""New rows on the map of a run: where they go, what the forest says of them, how unlike the others they are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message
from manifolia._core.types import Array, BoolArray, FloatArray
from manifolia._core.warnings import warn
from manifolia.exceptions import TableError
from manifolia.explorer import NewRows
from manifolia.explorer.context import Arrivals, Context
from manifolia.explorer.parts.predictions import FOREST
from manifolia.explorer.place import new_rows, place_rows, placed_frame
from manifolia.runs.report import group_column
from manifolia.runs.request import key_names
from manifolia.runs.target import numbers_of
from manifolia.tables import Table, read
from manifolia.tables.columns import as_keys
from manifolia.tables.naming import listing
from manifolia.tables.preparer import unseen_levels

#: How the table of a map was read, as far as it is kept for new rows.
_KEPT_READING = ("na_values", "sep", "decimal", "encoding")
_COUNTED = 100  # rows below which right predictions are counted, and not given in per cent
_MATTERS = 0.1  # share of the importance from which a column without known values is worth a warning


class Placed(NamedTuple):
    """New rows on the map of a run."""

    Y: FloatArray  # (m, n_components): their places
    frame: pd.DataFrame  # Row, coordinates, prediction, novelty, and the target where the file has it
    new: NewRows  # For the page
    accuracy: float | None  # Share of predictions that are right, or R², where the file has the target
    compared: str  # What this says, in a sentence
    # Of the compared rows, or of all if none is: those that fall, in every tree, where a row of the fit fell, so that
    # the forest cannot tell the two apart
    n_known: int
    n_unseen: int  # Rows with a level, in some column of categories, that the fit did not see
    # Novelty above which a row is unlike those of the map, and the share of rows like those that are below it
    novel_from: float | None


def kept_reading(reading: Mapping[str, Any]) -> dict[str, Any]:
    """Write down what was said of how the table is to be read, for new rows."""
    kept = {name: reading[name] for name in _KEPT_READING if reading.get(name)}
    marks = kept.get("na_values")
    if marks:
        kept["na_values"] = [marks] if isinstance(marks, str) else [str(text) for text in marks]
    return kept


def read_new(new: Any, report: Mapping[str, Any], reading: Mapping[str, Any]) -> Table:
    """Read new rows with what the user says, and else as the table of the map was read.

    Texts that meant "missing" mean it again. Separator, decimal sign and encoding are found anew; those that were given
    for the map count where that fails.
    """
    given = {
        name: one for name, one in reading.items() if not (one is None or (isinstance(one, tuple | list) and not one))
    }
    kept = report["data"].get("reading")
    kept = {name: kept[name] for name in _KEPT_READING if name in kept} if isinstance(kept, dict) else {}
    marks = kept.pop("na_values", None)
    marks = list(map(str, marks)) if isinstance(marks, list) and "na_values" not in given else []
    if marks:
        given["na_values"] = marks
    further = {name: value for name, value in kept.items() if name not in given and isinstance(value, str)}
    used: dict[str, Any] = {}
    try:
        table = read(new, **given)
    except TableError:
        if not further or not isinstance(new, str | os.PathLike):
            raise
        with contextlib.suppress(TableError):
            table, used = read(new, **given, **further), further
        if not used:
            raise
    again = [Argument(name, value) for name, value in {**({"na_values": marks} if marks else {}), **used}.items()]
    if not again:
        return table
    told = [part for one in again for part in (", ", one)][1:]
    return replace(table, notes=(*table.notes, Message("Read as the table of the map was, with ", *told, ".")))


def stream_reading(report: Mapping[str, Any], reading: Mapping[str, Any]) -> dict[str, Any]:
    """Say how the files of a folder are read: as the user says, with the texts that meant "missing" for the map."""
    given = {name: one for name, one in reading.items() if not (one is None or (isinstance(one, tuple) and not one))}
    kept = report["data"].get("reading")
    marks = kept.get("na_values") if isinstance(kept, dict) else None
    return {"na_values": list(map(str, marks)), **given} if isinstance(marks, list) else given


def place_new(context: Context, table: Table, report: dict[str, Any], coordinates: pd.DataFrame) -> Placed:
    """Place raw new rows on the map of a run, and compare predictions with the target where the table has it."""
    key = report["data"].get("key")
    if key in table.names:
        table = replace(table, row_names=np.array(key_names(table.column(key)), dtype=object))
    arrivals = place_rows(context, table)
    unseen = unseen_levels(context.model[0], arrivals.X)
    _warn_of_guesses(context.model[0], arrivals, unseen, report)
    targets = list(report["target"]["columns"])
    frame = placed_frame(arrivals, table.row_names, targets)
    known = [name for name in targets if name in table.names]
    predicted = arrivals.predicted if targets else None
    accuracy, compared, asked = None, "", np.zeros(table.n_rows, dtype=bool)  # asked: the rows that are compared
    if predicted is not None and len(known) == 1 and predicted.ndim == 1:
        forest, said_by = context.method.forest_, _predictions_of(context.card.knower)
        y = table.column(known[0]).mask(np.isin(np.arange(table.n_rows), arrivals.empty)).to_numpy()
        if hasattr(forest, "classes_"):
            accuracy, compared = _compare_classes(y, predicted, forest.classes_, targets[0], said_by)
            asked = ~pd.isna(y) & np.isin(as_keys(y), as_keys(forest.classes_))
        else:
            y = numbers_of(pd.Series(y), known[0]).to_numpy()
            accuracy, compared = _compare_numbers(y, predicted, targets[0], said_by)
            asked = ~pd.isna(y)
    name = (report["groups"] or {"column": ""})["column"]
    if name in table.names and group_column(name) in coordinates:
        own = table.column(name)
        if group_column(name) not in frame:
            frame[group_column(name)] = own.to_numpy()
        old = as_keys(coordinates[group_column(name)].to_numpy())
        seen = int((asked & np.isin(as_keys(own.to_numpy()), old)).sum())
        if seen and compared:
            rows = "1 of the rows is of a" if seen == 1 else f"{seen:,} of the rows are of a"
            compared += f" But {rows} {name} that the map was made with: no test of what it says of others."
    n_known = 0
    if context.card.forest:
        compared_rows = arrivals.X[np.flatnonzero(asked)] if asked.any() else arrivals.X
        n_known = int(context.method._fitted_forest.n_known(compared_rows))
    new = new_rows(context, arrivals)
    novel_from = float(context.method.novelty_threshold_) if context.card.novelty else None
    n_unseen = int(np.any([*unseen.values()], axis=0).sum()) if unseen else 0
    return Placed(arrivals.Y, frame, new, accuracy, compared, n_known, n_unseen, novel_from)


def _warn_of_guesses(
    preparer: Any, arrivals: Arrivals, unseen: Mapping[str, BoolArray], report: dict[str, Any]
) -> None:
    """Say so if a column that matters is absent, or has gaps or levels that are new: a stand-in moves the rows."""
    table, total = arrivals.table, sum(max(entry["importance"], 0.0) for entry in report["importances"])
    named = hasattr(preparer, "feature_names_in_") and not preparer.sparse_
    absent = set(preparer.used_) - set(table.feature_names) if named else set()
    complete = {name for name, had in zip(preparer.used_, preparer.had_missing_, strict=True) if not had}
    weights: dict[str, float] = {}
    for entry in report["importances"]:
        weights[entry["of"]] = weights.get(entry["of"], 0.0) + entry["importance"]
    matters = any(finding.get("columns") for finding in report["findings"])  # else all may be chance
    guesses = "places, predictions and novelty are guesses."
    for name, weight in weights.items():
        share = weight / total if total > 0 and matters else 0.0
        if share <= _MATTERS:
            continue
        if name in absent:
            warn(
                f"{name!r}, which is not in {table.source}, carries {share:.0%} of what matters: without it the "
                f"places, predictions and novelty of these rows are guesses."
            )
        elif name in unseen:
            n = int(unseen[name].sum())
            rows = "row has a level" if n == 1 else "rows have levels"
            warn(
                f"{n:,} {rows} of {name!r} that fit did not see. This column carries {share:.0%} of what matters: "
                f"without it {guesses}"
            )
        elif name in complete and name in table.feature_names:
            n = int(table.column(name).isna().sum()) - len(arrivals.empty)
            if n:
                rows = "row has" if n == 1 else "rows have"
                warn(f"{n:,} {rows} no {name!r}, which carries {share:.0%} of what matters: without it {guesses}")


def _predictions_of(name: str) -> str:
    return "The forest's predictions" if name == FOREST else f"The predictions of {name}"


def _compare_classes(
    y: Array, predicted: Array, classes: Array, name: str, said_by: str = "The forest's predictions"
) -> tuple[float | None, str]:
    """Compute the share of predicted classes that are right, among rows whose class could be learned."""
    labels, guesses, learned = as_keys(y), as_keys(predicted), as_keys(classes)
    known = ~pd.isna(y)
    foreign = known & ~np.isin(labels, learned)
    if not known.any():
        return None, ""
    others = listing(sorted(set(labels[foreign].tolist())))
    if foreign.sum() == known.sum():
        return None, (
            f"The predictions are not compared with {name} in the file, which has other classes ({others}) than the "
            f"map was made with ({listing(learned.tolist())})."
        )
    asked = known & ~foreign
    right = float((labels == guesses)[asked].mean())
    n, share = int(asked.sum()), f"{right:.1%} of the"
    if n < _COUNTED:  # per cent would be false precision
        share = "all" if right == 1.0 else "none of the" if right == 0.0 else f"{round(right * n)} of the"
    rows = f"{share} {n:,} rows" if n > 1 else "the one row"
    text = f"{said_by} are {'right' if right or asked.sum() > 1 else 'wrong'} about {rows} whose {name} is in the file."
    if foreign.any():
        rows = "row has a class" if foreign.sum() == 1 else "rows have classes"
        text += f" Not counted: {foreign.sum():,} {rows} that the fit did not see ({others})."
    return right, text


def _compare_numbers(
    y: Array, predicted: Array, name: str, said_by: str = "The forest's predictions"
) -> tuple[float | None, str]:
    """Compute the share of the variance that predicted numbers explain."""
    numbers = pd.to_numeric(pd.Series(y), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(numbers)
    strange = [value for value, missing, good in zip(y, pd.isna(y), known, strict=True) if not (missing or good)]
    if strange:
        return None, (
            f"The predictions are not compared with {name} in the file, where it has values that are no numbers, such "
            f"as {strange[0]!r}."
        )
    truth, guesses = numbers[known], predicted[known]
    if len(truth) < 2 or np.ptp(truth) == 0:
        return None, ""
    explained = 1.0 - float(((truth - guesses) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
    share = f"{explained:.1%}" if explained > 0 else f"none (R² is {explained:.3g})"
    return explained, (
        f"{said_by} explain {share} of the variance of {name} in the {len(truth):,} rows of the file that have it."
    )
