"""New rows on the map of a run: where they go, what the forest says of them, how unlike the others they are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia._core.warnings import warn
from manifolia.exceptions import TableError
from manifolia.explorer import NewRows
from manifolia.explorer.describing import Describer
from manifolia.explorer.parts.images import pixels_of_table
from manifolia.explorer.parts.told import forest_predictions, novelty_level
from manifolia.runs.report import column_names
from manifolia.tables import Table

__all__ = ["Placed", "place_rows"]

_MATTERS = 0.1  # share of the importance from which an absent column is worth a warning


class Placed(NamedTuple):
    """New rows on a map."""

    Y: FloatArray  # (m, n_components): their places
    frame: pd.DataFrame  # Row, coordinates, prediction, novelty, and the target where the file has it
    new: NewRows  # For the page
    accuracy: float | None  # Share of predictions that are right, or R², where the file has the target
    n_known: int  # Rows that fall, in every tree, where a row of the fit fell: most likely that row itself
    novel_from: float  # Novelty from which on a row is unlike those of the map
    share: float | None  # Share of rows like those of the map that are above it; None where that is not known


def place_rows(model: Any, table: Table, report: dict[str, Any], describer: Describer | None = None) -> Placed:
    """Place raw new rows."""
    preparer, method = model[0], model[-1]
    if not hasattr(method, "transform"):
        message = (
            f"{report['method']} cannot place new rows: it has no formula for them. Make the map with rf-phate, or map "
            f"old and new rows together."
        )
        raise TableError(message)
    targets = list(report["target"]["columns"])
    no_features = {*targets, *report["excluded"]} & set(table.feature_names)
    X = preparer.transform(table.without(no_features) if no_features else table)
    Y = np.asarray(method.transform(X))
    _warn_of_absent(preparer, table, report)
    columns: dict[str, Any] = {"row": table.row_names}
    columns.update(zip(column_names(Y.shape[1]), Y.T, strict=True))
    known: dict[str, Any] = {}
    for name in targets:
        if name in table.names:
            known[f"{name} (target)" if name in columns else name] = table.column(name).to_numpy()
    columns.update(known)
    predicted = forest_predictions(method, X) if targets else None
    if predicted is not None:
        for name, values in zip(targets, predicted.reshape(len(predicted), -1).T, strict=True):
            columns[f"predicted {name}"] = values
    if hasattr(method, "novelty"):
        columns["novelty"] = method.novelty(X)
    frame = pd.DataFrame(columns)
    accuracy = None
    if predicted is not None and len(known) == 1 and predicted.ndim == 1:
        accuracy = _accuracy(next(iter(known.values())), predicted, str(report["target"]["task"]))
    beside = table.features if isinstance(table.features, pd.DataFrame) else pd.DataFrame(index=range(table.n_rows))
    beside = beside.reset_index(drop=True)
    own = frame.drop(columns=["row", *column_names(Y.shape[1])])
    shown = pd.concat([own, beside.loc[:, [name not in own.columns for name in beside.columns]]], axis=1)
    novel_from, share = novelty_level(method)
    parts = []
    if describer is not None:
        pictures = any(part.name == "images" for part in describer.parts)
        pixels = pixels_of_table(table, list(preparer.roles_)) if pictures else None
        parts = describer.new_parts(method, X, Y, novelty=columns.get("novelty"), pixels=pixels)
    new = NewRows(Y, shown, list(table.row_names), parts)
    return Placed(Y, frame, new, accuracy, _n_known(method, X), novel_from, share)


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


def _n_known(method: Any, X: Any) -> int:
    """Count rows that share all leaves with a row of the fit."""
    forest = getattr(method, "_fitted_forest", None)
    return 0 if forest is None else int(forest.n_known(X))


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
