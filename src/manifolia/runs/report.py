"""What a run puts on record: the table of coordinates, and how the map was made and what it shows."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.types import Array, FloatArray
from manifolia._version import __version__
from manifolia.explorer import Payload
from manifolia.explorer.findings import Finding
from manifolia.runs.request import Request
from manifolia.runs.scores import Score
from manifolia.runs.target import Labels
from manifolia.tables import Table, TablePreparer

__all__ = ["ImportanceMeaning", "Measured", "column_names", "coordinates_of", "report_of", "versions"]

_AXES = {1: ["map_x"], 2: ["map_x", "map_y"], 3: ["map_x", "map_y", "map_z"]}


class ImportanceMeaning(NamedTuple):
    """What the importance of a column means."""

    purpose: str  # What columns matter for
    measure: str  # What the numbers are


@dataclass
class Measured:
    """What the report and the page say of a map."""

    task: str  # What the target asked for
    importance: ImportanceMeaning  # What the importances mean
    # Raw column to importance and its standard error; empty if it was not measured
    importances: dict[str, tuple[float, float]] = field(default_factory=dict)
    novelty: FloatArray | None = None  # (n,): how unlike the others each row is
    predicted: Array | None = None  # (n,) or (n, n_targets): what trees that did not see a row say of it
    scores: list[Score] = field(default_factory=list)  # How good the map is
    findings: list[Finding] = field(default_factory=list)  # The same in words
    notes: list[str] = field(default_factory=list)  # What was decided on the way


def column_names(n_components: int) -> list[str]:
    """Name the coordinates of a map."""
    return _AXES.get(n_components) or [f"map_{i + 1}" for i in range(n_components)]


def versions() -> dict[str, str]:
    """Tell the versions that a result depends on."""
    from importlib.metadata import version

    packages = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    return {
        "manifolia": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "platform": platform.platform(),
    }


def coordinates_of(table: Table, Y: FloatArray, labels: Labels, found: Measured) -> pd.DataFrame:
    """Make the table of coordinates."""
    columns: dict[str, Any] = {"row": table.row_names}
    columns.update(zip(column_names(Y.shape[1]), Y.T, strict=True))
    for name in labels.frame.columns:
        columns[f"{name} (target)" if name in columns else str(name)] = labels.frame[name].to_numpy()
    columns.update(_prediction_columns(labels, found.predicted, columns))
    if found.novelty is not None:
        columns["novelty"] = found.novelty
    return pd.DataFrame(columns)


def _prediction_columns(labels: Labels, predicted: Array | None, taken: Mapping[str, Any]) -> dict[str, Array]:
    """Name what the forest says of the targets."""
    if predicted is None:
        return {}
    names = [f"predicted {name}" for name in labels.frame.columns]
    names = [f"{name} (forest)" if name in taken else name for name in names]
    return dict(zip(names, predicted.reshape(len(predicted), -1).T, strict=True))


def report_of(
    table: Table, estimator: Any, method: registry.Card, preparer: TablePreparer,
    found: Measured, request: Request, payload: Payload, n_components: int,
) -> dict[str, Any]:  # fmt: skip
    """Write down how the map was made and what it shows."""

    def value(name: str) -> float | None:
        number = getattr(estimator, name, None)
        return float(number) if number is not None and np.isfinite(number) else None

    return {
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "data": {
            "source": Path(table.source).name,
            "rows": table.n_rows,
            "columns": len(table.feature_names),
            "roles": _shortened(preparer.roles_),
        },
        "target": {"columns": list(request.target), "task": found.task},
        "excluded": list(request.exclude),
        "axes": column_names(n_components),
        "method": method.name,
        "parameters": {name: _plain(item) for name, item in estimator.get_params(deep=False).items()},
        "random_state": request.random_state,
        "versions": versions(),
        "model": {
            name.rstrip("_"): value(name) for name in ("t_", "stress_", "oob_score_", "over_separation_")
            if value(name) is not None
        },
        "scores": [score._asdict() for score in found.scores],
        "importance": found.importance._asdict(),
        "importances": [
            {"column": name, "importance": mean, "standard_error": error}
            for name, (mean, error) in sorted(found.importances.items(), key=lambda item: -item[1][0])
        ],
        "findings": [finding._asdict() for finding in found.findings],
        "notes": found.notes,
        "left_out_of_page": list(payload.left_out),
    }  # fmt: skip


def _shortened(roles: Mapping[str, Any], limit: int = 1000) -> dict[str, Any]:
    """Roles for the report; of a very wide table only the first."""
    return dict(list(roles.items())[:limit])


def _plain(item: Any) -> Any:
    """A parameter as JSON can hold it."""
    return item if isinstance(item, (str, int, float, bool, type(None))) else repr(item)
