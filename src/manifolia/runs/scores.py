"""How good the map of a run is: the scores of `manifolia.metrics.report`, against the prepared table."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import TableError
from manifolia.metrics import registry
from manifolia.metrics import report as metrics_report
from manifolia.tables import Table, TablePreparer

__all__ = ["Score", "score_map", "score_rows", "score_run"]

_DENSE_CELLS = 100_000_000  # cells of a sparse table that may be filled in for the comparison


class Score(NamedTuple):
    """One score of a map."""

    metric: str  # Its name in `manifolia.metrics`
    value: float | None  # Its value; None where there is none
    direction: str  # "higher" or "lower": which is better
    sample: str  # What it was computed on
    note: str  # Why there is no value


def score_map(
    X: Any, Y: FloatArray, y: Array | None = None, *, classes: bool = True, all_scores: bool = False
) -> list[Score]:
    """Score a map against the rows it was made of."""
    if y is not None:
        known = ~pd.isna(y)
        X, Y, y = X[known], Y[known], y[known].astype(str) if classes else y[known].astype(np.float64)
    if is_sparse(X):
        if X.shape[0] * X.shape[1] > _DENSE_CELLS:
            return []
        X = X.toarray()
    task = "classification" if classes else "regression"
    if all_scores:
        return _lines(metrics_report(X, Y, y, task=task))
    given = ["X", "Y"] if y is None else ["X", "Y", "y"]
    names = registry.shown("run", given, n_classes=len(set(y)) if y is not None and classes else 0)
    try:
        return _lines(metrics_report(X, Y, y, metrics=names, task=task))
    except ValueError:  # one of them cannot be had, of few rows or rare classes: each on its own
        return [line for name in names for line in _one(X, Y, y, name, task)]


def _one(X: Any, Y: FloatArray, y: Array | None, name: str, task: str) -> list[Score]:
    try:
        return _lines(metrics_report(X, Y, y, metrics=[name], task=task))
    except ValueError as error:
        return [Score(name, None, "", "", str(error))]


def _lines(table: pd.DataFrame) -> list[Score]:
    return [
        Score(
            str(line["metric"]),
            float(line["value"]) if math.isfinite(line["value"]) else None,
            str(line["direction"]),
            str(line["sample"]),
            str(line["note"]),
        )
        for line in table.to_dict("records")
    ]


def score_run(rows: Any, coordinates: pd.DataFrame, report: dict[str, Any]) -> list[Score]:
    """Compute every score of a run again."""
    if rows is None:
        message = "the run did not keep its rows: every score needs them. Map again with --keep-rows, or give --data."
        raise TableError(message)
    axes = report["axes"]
    target = report["target"]["columns"]
    y = coordinates.iloc[:, 1 + len(axes)].to_numpy(dtype=object) if len(target) == 1 else None
    complete = TablePreparer(missing="impute", scale=True).fit_transform(rows)
    classes = report["target"]["task"] == "classification"
    return score_map(complete, coordinates[axes].to_numpy(), y, classes=classes, all_scores=True)


def score_rows(model: Any, table: Table, report: dict[str, Any], *, all_scores: bool = False) -> list[Score]:
    """Score how rows of another table are placed."""
    no_features = {*report["target"]["columns"], *report["excluded"]} & set(table.feature_names)
    X = model[0].transform(table.without(no_features) if no_features else table)
    Y = np.asarray(model[-1].transform(X))
    target = [name for name in report["target"]["columns"] if name in table.names]
    y = table.column(target[0]).to_numpy(dtype=object) if len(target) == 1 else None
    complete = TablePreparer(missing="impute", scale=True).fit_transform(X)
    classes = report["target"]["task"] == "classification"
    return score_map(complete, Y, y, classes=classes, all_scores=all_scores)
