"""New rows on the map of a run: where they go, what the forest says of them, how unlike the others they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia._core.warnings import warn
from manifolia.explorer import NewRows
from manifolia.explorer.context import Context
from manifolia.explorer.place import new_rows, place_rows
from manifolia.runs.report import column_names
from manifolia.tables import Table

_MATTERS = 0.1  # share of the importance from which an absent column is worth a warning


class Placed(NamedTuple):
    """New rows on the map of a run."""

    Y: FloatArray  # (m, n_components): their places
    frame: pd.DataFrame  # Row, coordinates, prediction, novelty, and the target where the file has it
    new: NewRows  # For the page
    accuracy: float | None  # Share of predictions that are right, or R², where the file has the target
    n_known: int  # Rows that fall, in every tree, where a row of the fit fell: most likely that row itself
    # Novelty above which a row is unlike those of the map, and the share of rows like those that are below it
    novel_from: float | None


def place_new(context: Context, table: Table, report: dict[str, Any]) -> Placed:
    """Place raw new rows on the map of a run, and compare predictions with the target where the table has it."""
    arrivals = place_rows(context, table)
    _warn_of_absent(context.model[0], table, report)
    columns: dict[str, Any] = {"row": table.row_names}
    columns.update(zip(column_names(arrivals.Y.shape[1]), arrivals.Y.T, strict=True))
    targets = list(report["target"]["columns"])
    known = {
        f"{name} (target)" if name in columns else name: table.column(name).to_numpy()
        for name in targets
        if name in table.names
    }
    columns.update(known)
    predicted = arrivals.predicted if targets else None
    if predicted is not None:
        for name, values in zip(targets, predicted.reshape(len(predicted), -1).T, strict=True):
            columns[f"predicted {name}"] = values
    if arrivals.novelty is not None:
        columns["novelty"] = arrivals.novelty
    accuracy = None
    if predicted is not None and len(known) == 1 and predicted.ndim == 1:
        accuracy = _accuracy(next(iter(known.values())), predicted, str(report["target"]["task"]))
    n_known = int(context.method._fitted_forest.n_known(arrivals.X)) if context.card.forest else 0
    new = new_rows(context, arrivals)
    novel_from = float(context.method.novelty_threshold_) if context.card.novelty else None
    return Placed(arrivals.Y, pd.DataFrame(columns), new, accuracy, n_known, novel_from)


def _warn_of_absent(preparer: Any, table: Table, report: dict[str, Any]) -> None:
    """Say so if a column that matters is not there: what stands in for it moves the rows."""
    total = sum(max(entry["importance"], 0.0) for entry in report["importances"])
    absent = set(preparer.used_) - set(table.feature_names)
    if preparer.sparse_ or not hasattr(preparer, "feature_names_in_"):
        return
    for entry in report["importances"]:
        if entry["column"] in absent and total > 0 and entry["importance"] > _MATTERS * total:
            warn(
                f"{entry['column']!r}, which is not in {table.source}, carries {entry['importance'] / total:.0%} of "
                f"what matters: without it the places, predictions and novelty of these rows are guesses."
            )


def _accuracy(y: Array, predicted: Array, task: str) -> float | None:
    known = ~pd.isna(y)
    if not known.any():
        return None
    if task == "classification":
        return float((_words(y[known]) == _words(predicted[known])).mean())
    from sklearn.metrics import r2_score

    return float(r2_score(y[known].astype(float), predicted[known])) if known.sum() > 1 else None


def _words(values: Array) -> Array:
    """Classes as texts, whole numbers without a fraction: 1, 1.0 and "1" are one class."""
    return np.array([str(int(v)) if isinstance(v, (int, float, np.number)) and v == int(v) else str(v) for v in values])
