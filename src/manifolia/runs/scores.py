"""How good the map of a run is: the scores of `manifolia.metrics.report`.

A map is compared with its table in one way everywhere (report, page, ``manifolia score``): missing values are imputed
and flagged, numbers are on one scale, a category is one column per level. So the scores of a forest's map and of one by
distances can be compared, and a method's own view of the rows (missing values kept, no scale) does not leak into them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.groups import sub_groups
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import TableError
from manifolia.metrics import registry
from manifolia.metrics import report as metrics_report
from manifolia.registry import card_of
from manifolia.runs.report import group_column
from manifolia.runs.request import TO_KEEP_ROWS
from manifolia.runs.target import group_codes
from manifolia.tables import Table
from manifolia.tables.plain_rows import PlainRows

_DENSE_CELLS = 100_000_000  # cells of a sparse table that may be filled in for the comparison


class Score(NamedTuple):
    """One score of a map."""

    metric: str  # Its name in `manifolia.metrics`
    value: float | None  # Its value; None where there is none
    direction: str  # "higher" or "lower": which is better
    sample: str  # What it was computed on
    note: str  # Why there is no value


def score_map(
    X: Any,
    Y: FloatArray,
    y: Array | None = None,
    *,
    metric: str = "euclidean",
    classes: bool = True,
    groups: IntArray | None = None,
    all_scores: bool = False,
) -> list[Score]:
    """Score a map against plain rows; scores of the target are of the rows whose target is known."""
    if is_sparse(X):
        if X.shape[0] * X.shape[1] > _DENSE_CELLS:
            return []
        X = X.toarray()
    free = registry.names(["X", "Y"]) if all_scores else registry.shown("run", ["X", "Y"])
    scores = _scores(X, Y, None, free, metric, "auto")
    if y is None:
        return scores
    known = ~pd.isna(y)
    labels = y[known].astype(str) if classes else y[known].astype(np.float64)
    n_classes = len(set(labels)) if classes else 0
    given = ["X", "Y", "y"]
    wanted = registry.names(given) if all_scores else registry.shown("run", given, n_classes=n_classes)
    about = [name for name in wanted if "y" in registry.get(name).needs]
    about = [name for name in about if classes or not registry.get(name).classes_only]
    task = "classification" if classes else "regression"
    return [*scores, *_scores(X[known], Y[known], labels, about, metric, task, sub_groups(groups, known))]


def _scores(
    X: Any,
    Y: FloatArray,
    y: Array | None,
    names: list[str],
    metric: str,
    task: str,
    groups: IntArray | None = None,
) -> list[Score]:
    """Compute scores together; each on its own if one of them cannot be had, of few rows or rare classes."""
    if not names:
        return []
    try:
        table = metrics_report(X, Y, y, metrics=names, metric=metric, task=task, groups=groups)
    except ValueError as error:
        if len(names) == 1:
            return [Score(names[0], None, registry.get(names[0]).direction, "", str(error))]
        return [score for name in names for score in _scores(X, Y, y, [name], metric, task, groups)]
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


def score_run(model: Any, rows: Any, coordinates: pd.DataFrame, report: dict[str, Any]) -> list[Score]:
    """Compute every score of a run again."""
    if rows is None:
        raise TableError(
            f"the run did not keep its rows: every score needs them. Give the table with --data. {TO_KEEP_ROWS}"
        )
    axes, target = report["axes"], report["target"]
    y = coordinates.iloc[:, 1 + len(axes)].to_numpy(dtype=object) if len(target["columns"]) == 1 else None
    groups = groups_of(coordinates, report)
    about: dict[str, Any] = {"task": target["task"], "groups": groups, "all_scores": True}
    return score_model(model, rows, coordinates[axes].to_numpy(), y, **about)


def groups_of(table: pd.DataFrame | Table, report: dict[str, Any]) -> IntArray | None:
    """Which rows of a table belong together, by the column that the run was told; None if it was told none."""
    name = (report.get("groups") or {}).get("column")
    if name is None:
        return None
    if isinstance(table, Table):
        column = table.column(name) if name in table.names else None
    else:
        column = table.get(group_column(name))
    return None if column is None else group_codes(column, at_least=1)


def score_rows(model: Any, table: Table, report: dict[str, Any], *, all_scores: bool = False) -> list[Score]:
    """Score how rows of another table are placed."""
    no_features = {*report["target"]["columns"], *report["excluded"]} & set(table.feature_names)
    X = model[0].transform(table.without(no_features) if no_features else table)
    Y = np.asarray(model[-1].transform(X))
    target = [name for name in report["target"]["columns"] if name in table.names]
    y = table.column(target[0]).to_numpy(dtype=object) if len(target) == 1 else None
    about: dict[str, Any] = {"task": report["target"]["task"], "groups": groups_of(table, report)}
    return score_model(model, X, Y, y, all_scores=all_scores, **about)


def score_model(
    model: Any,
    X: Any,
    Y: FloatArray,
    y: Array | None,
    *,
    task: str,
    groups: IntArray | None = None,
    all_scores: bool = False,
) -> list[Score]:
    """Score a map against its prepared rows, by the method's own distance where metrics have it."""
    own = card_of(model).metric
    metric = own if own in ("cosine", "manhattan") else "euclidean"
    plain = PlainRows(model[0]).fit_transform(X)
    about: dict[str, Any] = {"metric": metric, "groups": groups, "all_scores": all_scores}
    return score_map(plain, Y, y, classes=task == "classification", **about)
