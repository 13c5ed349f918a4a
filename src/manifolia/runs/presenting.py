"""What a run puts before the user: the table of coordinates, the page's content and the report."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import is_sparse
from manifolia._version import __version__
from manifolia.explorer import Payload, build_payload
from manifolia.explorer.parts.gather import Gathered
from manifolia.runs.measured import Measured
from manifolia.runs.request import Request
from manifolia.runs.target import Labels
from manifolia.tables import Table, TablePreparer

__all__ = ["column_names", "coordinates_of", "payload_of", "prediction_columns", "report_of", "versions"]

_PAGE_COLUMNS = 200  # columns of a wide table that the page shows: those that matter most
_PAGE_PIXELS = 160  # of pictures fewer: a pixel is rarely asked for by its name
_AXES = {1: ["map_x"], 2: ["map_x", "map_y"], 3: ["map_x", "map_y", "map_z"]}


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
    columns.update(prediction_columns(labels, found.predicted, columns))
    if found.novelty is not None:
        columns["novelty"] = found.novelty
    return pd.DataFrame(columns)


def prediction_columns(labels: Labels, predicted: Array | None, taken: Mapping[str, Any]) -> dict[str, Array]:
    """Name what the forest says of the targets."""
    if predicted is None:
        return {}
    names = [f"predicted {name}" for name in labels.frame.columns]
    names = [f"{name} (forest)" if name in taken else name for name in names]
    return dict(zip(names, predicted.reshape(len(predicted), -1).T, strict=True))


def payload_of(
    table: Table, Y: FloatArray, coordinates: pd.DataFrame, labels: Labels, found: Measured,
    method: registry.Card, request: Request, gathered: Gathered,
) -> Payload:  # fmt: skip
    """Gather what the page shows."""
    known = coordinates.drop(columns=["row", *column_names(Y.shape[1])])
    beside = [name for name in table.meta.columns if name not in labels.frame.columns]
    shown = {*known.columns, *labels.frame.columns, *beside}
    most = _PAGE_COLUMNS if request.images is None else _PAGE_PIXELS
    wide, left_out = _page_features(table, found.importances, shown, most, gathered.preferred())
    gathered.rename({*shown, *wide.columns})
    judged = pd.DataFrame(gathered.columns, index=wide.index)
    columns = pd.concat([known, table.meta[beside].reset_index(drop=True), wide, judged], axis=1)
    is_classes = found.task in ("classification", "multilabel")
    told = [str(name) for name in known.columns[len(labels.frame.columns) :]]
    roles = {name: "novelty" if name == "novelty" else "model" for name in told} | dict.fromkeys(judged, "quality")
    class_names = [name for name in known.columns if name != "novelty"] if is_classes else []
    stem = Path(table.source).stem if os.sep in table.source or "." in table.source else table.source
    payload = build_payload(
        Y,
        columns,
        title=request.title or (f"{stem} by {labels.name}" if labels.name else stem),
        subtitle=method.name,
        color_by=str(known.columns[0]) if len(labels.frame.columns) else None,
        kinds=dict.fromkeys(class_names, "class"),
        row_names=list(table.row_names),
        findings=[finding.text for finding in found.findings],
        notes=found.notes,
        importances=found.importances or None,
        roles=roles,
        parts=gathered.parts,
        max_mb=request.max_mb,
    )
    payload.meta["left_out"][:0] = [*left_out, *gathered.left_out]
    return payload


def _page_features(
    table: Table,
    importances: Mapping[str, tuple[float, float]],
    shown: set[str],
    most: int,
    preferred: Sequence[str],
) -> tuple[pd.DataFrame, list[str]]:
    """The raw columns that the page can colour by: all, or of a wide table those that matter most, and that is said."""
    names = [name for name in table.feature_names if name not in shown]
    said = []
    if len(names) > most:
        which = "that matter most" if importances or preferred else "that come first"
        said = [f"Of {len(names):,} columns the {most} {which} are on the page."]
        by_importance = sorted(importances, key=lambda name: -importances[name][0])
        rank = {name: i for i, name in reversed(list(enumerate([*preferred[: most // 2], *by_importance])))}
        names = sorted(names, key=lambda name: rank.get(name, len(rank)))[:most]
    if isinstance(table.features, pd.DataFrame):
        wide = table.features.loc[:, names].reset_index(drop=True)
    else:
        place = {name: i for i, name in enumerate(table.feature_names)}
        cells = table.features[:, [place[name] for name in names]]
        wide = pd.DataFrame(cells.toarray() if is_sparse(cells) else cells, columns=names)
    return wide, said


def report_of(
    table: Table, estimator: Any, method: registry.Card, preparer: TablePreparer,
    found: Measured, request: Request, payload: Payload,
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
