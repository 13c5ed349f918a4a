"""From a table to a run: prepare, fit, measure, and put it into words and a page."""

from __future__ import annotations

import datetime as dt
import difflib
import os
import platform
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.types import Array, FloatArray
from manifolia._core.validate import is_sparse
from manifolia._version import __version__
from manifolia.exceptions import TableError
from manifolia.runs import findings
from manifolia.runs.scores import score_map
from manifolia.runs.target import Labels, read_labels
from manifolia.runs.timing import Listener, Stages
from manifolia.show.explorer import Payload, build_payload
from manifolia.tables import Table, TablePreparer

__all__ = ["Request", "Run", "column_names", "fitted_map", "make_run", "versions"]

_MIN_ROWS = 5
_IMPORTANCE_STEPS = 2e10  # rows × trees × features up to which importance is measured without being asked for
_KEPT_BYTES = 64 * 2**20  # size up to which the prepared rows are kept in the run
_PAGE_COLUMNS = 200  # columns of a wide table that the page shows: those that matter most
_AXES = {1: ["map_x"], 2: ["map_x", "map_y"], 3: ["map_x", "map_y", "map_z"]}


@dataclass(frozen=True)
class Request:
    """What the user asks for.

    Attributes
    ----------
    target : tuple of str, default=()
        Columns that guide the map.
    method : str, default=None
        Name in `manifolia.registry`; None chooses by task.
    task : str, default="auto"
        What the target asks for, if the method has a choice.
    exclude : tuple of str, default=()
        Columns that are shown and do not take part.
    roles : mapping of str to object
        Column to role, for `manifolia.tables.TablePreparer`.
    settings : mapping of str to object
        Parameters of the method.
    title : str, default=None
        Heading of the page.
    importance : bool, default=None
        Whether to measure importance; None: if it does not take long.
    keep_rows : bool, default=True
        Whether the run keeps the prepared rows, which ``score`` and ``explain`` need.
    max_mb : float, default=25.0
        Size of the page above which columns are left out.
    random_state : int, default=0
        Seed.
    n_jobs : int or None, default=None
        Threads.
    """

    target: tuple[str, ...] = ()
    method: str | None = None
    task: str = "auto"
    exclude: tuple[str, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    title: str | None = None
    importance: bool | None = None
    keep_rows: bool = True
    max_mb: float = 25.0
    random_state: int = 0
    n_jobs: int | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """What a run holds; `manifolia.runs.folder` writes and reads it.

    Attributes
    ----------
    model : Pipeline
        `TablePreparer` and the fitted method: takes raw rows.
    coordinates : DataFrame
        One line a row: its name, its place, its target and what is known of it.
    payload : Payload
        The page's content.
    report : dict
        Parameters, versions, timings, scores, findings: plain data for JSON.
    rows : ndarray, sparse array or None
        The prepared rows.
    """

    model: Any
    coordinates: pd.DataFrame
    payload: Payload
    report: dict[str, Any]
    rows: Any = None


def make_run(table: Table, request: Request, listener: Listener | None = None) -> Run:
    """Make a map of a table, with all that belongs to it.

    Parameters
    ----------
    table : Table
        From `manifolia.tables.read`.
    request : Request
        What is asked for.
    listener : callable, default=None
        Called with a ``ProgressEvent`` as the work goes on.

    Returns
    -------
    Run
        Complete, in memory.

    Raises
    ------
    TableError
        If the table cannot be mapped.
    ValueError
        If a parameter is wrong.
    """
    if table.n_rows < _MIN_ROWS:
        rows = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
        message = f"{table.source} has {rows}; a map needs at least {_MIN_ROWS}."
        raise TableError(message)
    stages = Stages(listener)
    labels = read_labels(table, request.target)
    for name in request.exclude:
        table.column(name)  # a misspelt one is told
    method = registry.find(request.method or registry.default_method(supervised=labels.y is not None))
    estimator = _estimator(method, request, labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with stages.stage("prepare"):
            features = table.without({*request.target, *request.exclude} & set(table.feature_names))
            preparer = TablePreparer(
                dict(request.roles) or None,
                missing="keep" if method.takes_missing else "impute",
                scale=method.needs_scale,
            )
            X = preparer.fit_transform(features)
        Y = _fit(estimator, X, labels, method, stages)
        measured = _measure(estimator, preparer, X, Y, labels, request, features, stages)
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    measured["notes"] = [*table.notes, *preparer.notes_, *measured["notes"], *dict.fromkeys(said)]
    with stages.stage("page"):
        coordinates = _coordinates(table, Y, labels, measured)
        payload = _payload(table, Y, coordinates, labels, measured, method, request)
    report = _report(table, estimator, method, preparer, labels, measured, request, payload)
    report["seconds"] = {name: round(value, 3) for name, value in stages.seconds.items()}
    small = X.shape[0] * X.shape[1] * 8 <= _KEPT_BYTES or is_sparse(X)
    return Run(_pipeline(preparer, estimator), coordinates, payload, report, X if small and request.keep_rows else None)


def fitted_map(model: Any) -> Any:
    """Return the method inside a run's pipeline.

    Parameters
    ----------
    model : Pipeline
        Of a run.

    Returns
    -------
    estimator
        Its last step.
    """
    return model[-1]


def column_names(n_components: int) -> list[str]:
    """Name the coordinates of a map.

    Parameters
    ----------
    n_components : int
        Dimensions of the map.

    Returns
    -------
    list of str
        map_x, map_y and map_z, or map_1, map_2, … for more.
    """
    return _AXES.get(n_components) or [f"map_{i + 1}" for i in range(n_components)]


def versions() -> dict[str, str]:
    """Tell the versions that a result depends on.

    Returns
    -------
    dict of str to str
        Package to version.
    """
    from importlib.metadata import version

    packages = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    return {
        "manifolia": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "platform": platform.platform(),
    }


def _pipeline(preparer: TablePreparer, estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([("prepare", preparer), ("map", estimator)])


def _estimator(method: registry.Method, request: Request, labels: Labels) -> Any:
    kind = method.load()
    known = kind().get_params()
    for name in request.settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            message = f"{method.name} has no parameter {name!r}.{hint} It has: {', '.join(sorted(known))}."
            raise ValueError(message)
    settings: dict[str, Any] = {"random_state": request.random_state, "n_jobs": request.n_jobs, "n_components": 2}
    if "task" in known:
        settings["task"] = "unsupervised" if labels.y is None else request.task
    elif request.task != "auto":
        message = f"{method.name} takes no task. Leave it out, or use a method that a target guides, such as rf-phate."
        raise ValueError(message)
    if labels.y is not None and not method.supervised and request.method is None:
        message = f"{method.name} is not guided by a target."  # the default for a target always is
        raise ValueError(message)
    settings = {name: value for name, value in settings.items() if name in known}
    return kind(**{**settings, **request.settings})


def _fit(estimator: Any, X: Any, labels: Labels, method: registry.Method, stages: Stages) -> FloatArray:
    watched = "callback" in estimator.get_params()
    if watched:
        estimator.set_params(callback=stages)
        try:
            Y = estimator.fit_transform(X, labels.y)
        finally:
            estimator.set_params(callback=None)
        stages.end()
    else:
        with stages.stage("map"):
            Y = estimator.fit_transform(X, labels.y) if method.supervised else estimator.fit_transform(X)
    return np.asarray(Y)


def _measure(
    estimator: Any, preparer: TablePreparer, X: Any, Y: FloatArray, labels: Labels, request: Request, features: Table,
    stages: Stages,
) -> dict[str, Any]:  # fmt: skip
    """Ask the model and the metrics what the report and the page say."""
    found: dict[str, Any] = {"importances": {}, "novelty": None, "predicted": None, "notes": []}
    task = str(getattr(estimator, "task_", "") or _guess_task(labels))
    found["task"] = task
    classes = labels.y is not None and labels.y.ndim == 1 and task == "classification"
    if hasattr(estimator, "forest_"):
        steps = float(X.shape[0]) * X.shape[1] * len(estimator.forest_.estimators_)
        if request.importance or (request.importance is None and steps <= _IMPORTANCE_STEPS):
            with stages.stage("importance"):
                found["importances"] = _importances(estimator, preparer)
        elif request.importance is None:
            found["notes"].append("Importance was not measured: it would take long on this table. Ask for it.")
        with stages.stage("novelty"):
            found["novelty"] = estimator.novelty()
        found["predicted"] = getattr(estimator, "oob_prediction_", None)
    with stages.stage("quality"):
        plain = X
        if preparer.missing != "impute" or not preparer.scale:
            plain = TablePreparer(dict(request.roles) or None, missing="impute", scale=True).fit_transform(features)
        one = labels.y if labels.y is not None and labels.y.ndim == 1 else None
        found["scores"] = score_map(plain, Y, one, classes=classes)
    found["findings"] = _findings(estimator, Y, labels, found, features, classes=classes)
    return found


def _guess_task(labels: Labels) -> str:
    from manifolia.affinity.grow import read_target

    return "unsupervised" if labels.y is None else read_target(labels.y, len(labels.y), "auto").task


def _importances(estimator: Any, preparer: TablePreparer) -> dict[str, tuple[float, float]]:
    """Add importances up over the columns that one raw column became; standard errors over trees."""
    means, deviations = estimator.feature_importances_, estimator.importances_std_
    n_trees = len(estimator.forest_.estimators_)
    total: dict[str, list[float]] = {}
    for source, mean, deviation in zip(preparer.sources_, means, deviations, strict=True):
        entry = total.setdefault(source, [0.0, 0.0])
        entry[0] += float(mean)
        entry[1] += float(deviation) ** 2 / n_trees
    return {name: (mean, float(np.sqrt(square))) for name, (mean, square) in total.items()}


def _findings(
    estimator: Any, Y: FloatArray, labels: Labels, found: dict[str, Any], table: Table, *, classes: bool
) -> list[str]:
    scores = {score.metric: score.value for score in found["scores"]}
    target = labels.name
    one = labels.y if classes else None
    said = []
    if found["importances"]:
        said.append(findings.importance_finding(found["importances"], target))
    said.append(findings.neighbour_finding(estimator, Y, one, scores, target))
    if found["novelty"] is not None:
        said.append(findings.outlier_finding(found["novelty"], table.row_names))
    if one is not None and found["predicted"] is not None:
        surprise = findings.surprise_finding(one, found["predicted"], target, table.row_names)
        said += [surprise] if surprise else []
    return said


def _coordinates(table: Table, Y: FloatArray, labels: Labels, found: dict[str, Any]) -> pd.DataFrame:
    columns: dict[str, Any] = {"row": table.row_names}
    columns.update(zip(column_names(Y.shape[1]), Y.T, strict=True))
    for name in labels.frame.columns:
        columns[f"{name} (target)" if name in columns else str(name)] = labels.frame[name].to_numpy()
    columns.update(prediction_columns(labels, found["predicted"], columns))
    if found["novelty"] is not None:
        columns["novelty"] = found["novelty"]
    return pd.DataFrame(columns)


def prediction_columns(labels: Labels, predicted: Array | None, taken: Mapping[str, Any]) -> dict[str, Array]:
    """Name what the forest says of the targets.

    Parameters
    ----------
    labels : Labels
        The targets.
    predicted : ndarray of shape (n,) or (n, n_targets) or None
        Predictions.
    taken : mapping
        Names that are used already.

    Returns
    -------
    dict of str to ndarray
        Column to values; empty without predictions.
    """
    if predicted is None:
        return {}
    names = [f"predicted {name}" for name in labels.frame.columns]
    names = [f"{name} (forest)" if name in taken else name for name in names]
    return dict(zip(names, predicted.reshape(len(predicted), -1).T, strict=True))


def _payload(
    table: Table, Y: FloatArray, coordinates: pd.DataFrame, labels: Labels, found: dict[str, Any],
    method: registry.Method, request: Request,
) -> Payload:  # fmt: skip
    known = coordinates.drop(columns=["row", *column_names(Y.shape[1])])
    beside = [name for name in table.meta.columns if name not in labels.frame.columns]
    wide = _page_features(table, found["importances"], {*known.columns, *labels.frame.columns, *beside})
    columns = pd.concat([known, table.meta[beside].reset_index(drop=True), wide], axis=1)
    is_classes = found["task"] in ("classification", "multilabel")
    class_names = [name for name in known.columns if name != "novelty"] if is_classes else []
    stem = Path(table.source).stem if os.sep in table.source or "." in table.source else table.source
    return build_payload(
        Y,
        columns,
        title=request.title or (f"{stem} by {labels.name}" if labels.name else stem),
        subtitle=method.name,
        color_by=str(known.columns[0]) if len(labels.frame.columns) else None,
        kinds=dict.fromkeys(class_names, "class"),
        row_names=list(table.row_names),
        findings=found["findings"],
        notes=found["notes"],
        importances=found["importances"] or None,
        max_mb=request.max_mb,
    )


def _page_features(table: Table, importances: Mapping[str, tuple[float, float]], shown: set[str]) -> pd.DataFrame:
    """The raw columns that the page can colour by: all, or of a wide table those that matter most."""
    names = [name for name in table.feature_names if name not in shown]
    if len(names) > _PAGE_COLUMNS:
        rank = {name: i for i, name in enumerate(sorted(importances, key=lambda name: -importances[name][0]))}
        names = sorted(names, key=lambda name: rank.get(name, len(rank)))[:_PAGE_COLUMNS]
    if isinstance(table.features, pd.DataFrame):
        wide = table.features.loc[:, names].reset_index(drop=True)
    else:
        place = {name: i for i, name in enumerate(table.feature_names)}
        cells = table.features[:, [place[name] for name in names]]
        wide = pd.DataFrame(cells.toarray() if is_sparse(cells) else cells, columns=names)
    return wide


def _report(
    table: Table, estimator: Any, method: registry.Method, preparer: TablePreparer, labels: Labels,
    found: dict[str, Any], request: Request, payload: Payload,
) -> dict[str, Any]:  # fmt: skip
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
        "target": {"columns": list(request.target), "task": found["task"]},
        "excluded": list(request.exclude),
        "method": method.name,
        "parameters": {name: _plain(item) for name, item in estimator.get_params(deep=False).items()},
        "random_state": request.random_state,
        "versions": versions(),
        "model": {
            name.rstrip("_"): value(name) for name in ("t_", "stress_", "oob_score_", "over_separation_")
            if value(name) is not None
        },
        "scores": [score._asdict() for score in found["scores"]],
        "importances": [
            {"column": name, "importance": mean, "standard_error": error}
            for name, (mean, error) in sorted(found["importances"].items(), key=lambda item: -item[1][0])
        ],
        "findings": found["findings"],
        "notes": found["notes"],
        "left_out_of_page": list(payload.left_out),
    }  # fmt: skip


def _shortened(roles: Mapping[str, Any], limit: int = 1000) -> dict[str, Any]:
    """Roles for the report; of a very wide table only the first."""
    return dict(list(roles.items())[:limit])


def _plain(item: Any) -> Any:
    """A parameter as JSON can hold it."""
    return item if isinstance(item, (str, int, float, bool, type(None))) else repr(item)
