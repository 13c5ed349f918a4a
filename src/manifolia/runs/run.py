"""From a table to a run: prepare, fit, measure, and put it into words and a page."""

from __future__ import annotations

import difflib
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.progress import ProgressEvent
from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ParameterError, TableError
from manifolia.explorer import Payload
from manifolia.explorer.build import build_page, describe
from manifolia.explorer.context import Context, Known, PageOptions, context_of, importances_of
from manifolia.runs.report import ImportanceMeaning, Measured, coordinates_of, report_of
from manifolia.runs.request import Request
from manifolia.runs.scores import compared_by, plain_rows, score_map
from manifolia.runs.target import Labels, read_labels, take_column
from manifolia.tables import Table, TablePreparer

__all__ = ["Listener", "Run", "make_estimator", "make_run", "prepare"]

#: Hears every event; returning True stops the work.
Listener = Callable[[ProgressEvent], bool | None]

_MIN_ROWS = 5
_IMPORTANCE_STEPS = 2e10  # rows × trees × features up to which importance is measured without being asked for
_KEPT_BYTES = 64 * 2**20  # size up to which the prepared rows are kept in the run


@dataclass(frozen=True, eq=False)
class Run:
    """What a run holds; `manifolia.runs.folder` writes and reads it."""

    model: Any  # `TablePreparer` and the fitted method: takes raw rows
    coordinates: pd.DataFrame  # One line a row: its name, its place, its target and what is known of it
    payload: Payload  # The page's content
    report: dict[str, Any]  # Parameters, versions, timings, scores, findings: plain data for JSON
    rows: Any = None  # The prepared rows
    context: Any = None  # What the page was made of; tells of new rows what is known of those of the map


def make_run(table: Table, request: Request, listener: Listener | None = None) -> Run:
    """Make a map of a table, with all that belongs to it."""
    if table.n_rows < _MIN_ROWS:
        rows = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
        message = f"{table.source} has {rows}; a map needs at least {_MIN_ROWS}."
        raise TableError(message)
    stages = _Stages(listener)
    labels = read_labels(table, request.target)
    for name in request.exclude:
        take_column(table, name, "exclude")  # a misspelt one is reported
    method = registry.find(request.method or registry.default_method(supervised=labels.y is not None))
    estimator = make_estimator(method, request, labels)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with stages.stage("prepare"):
            features, preparer, X = prepare(table, request, method)
        Y = _fit(estimator, X, labels, method, stages)
        measured = _measure(estimator, preparer, X, Y, labels, request, features, stages)
        coordinates = coordinates_of(table, Y, labels, measured)
        model = _pipeline(preparer, estimator)
        with stages.stage("explanations"):
            context = _context(model, table, X, Y, labels, measured, request)
            describe(context)
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    measured.notes = [*table.notes, *preparer.notes_, *measured.notes, *dict.fromkeys(said)]
    measured.findings = context.findings
    context.options = replace(context.options, notes=measured.notes)
    with stages.stage("page"):
        payload = build_page(context)
    report = report_of(table, estimator, method, preparer, measured, request, payload, Y.shape[1])
    report["seconds"] = {name: round(value, 3) for name, value in stages.seconds.items()}
    small = X.shape[0] * X.shape[1] * 8 <= _KEPT_BYTES or is_sparse(X)
    kept = X if small and request.keep_rows else None
    return Run(model, coordinates, payload, report, kept, context)


def prepare(table: Table, request: Request, method: registry.Card) -> tuple[Table, TablePreparer, Any]:
    """Turn the columns that take part into numbers, as a method needs them."""
    features = table.without({*request.target, *request.exclude} & set(table.feature_names))
    missing = "keep" if method.takes_missing else "impute"
    preparer = TablePreparer(dict(request.roles) or None, missing=missing, scale=method.needs_scale)
    return features, preparer, preparer.fit_transform(features)


def make_estimator(method: registry.Card, request: Request, labels: Labels) -> Any:
    """Make the estimator that a request asks for."""
    kind = method.load()
    known = kind().get_params()
    for name in request.settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            message = f"{method.name} has no parameter {name!r}.{hint} It has: {', '.join(sorted(known))}."
            raise ParameterError(message, parameter="settings")
    settings: dict[str, Any] = {"random_state": request.random_state, "n_jobs": request.n_jobs, "n_components": 2}
    if "task" in known:
        settings["task"] = "unsupervised" if labels.y is None else request.task
    elif request.task != "auto":
        message = f"{method.name} takes no task. Leave it out, or use a method that a target guides, such as rf-phate."
        raise ParameterError(message, parameter="task")
    if labels.y is not None and not method.supervised and request.method is None:
        message = f"{method.name} is not guided by a target."  # the default for a target always is
        raise ValueError(message)
    settings = {name: value for name, value in settings.items() if name in known}
    return kind(**{**settings, **request.settings})


def _pipeline(preparer: TablePreparer, estimator: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([("prepare", preparer), ("map", estimator)])


def _fit(estimator: Any, X: Any, labels: Labels, method: registry.Card, stages: _Stages) -> FloatArray:
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
    stages: _Stages,
) -> Measured:  # fmt: skip
    """Ask the model and the metrics what the report and the page say."""
    task = str(getattr(estimator, "task_", "") or _guess_task(labels))
    found = Measured(task, importance=_meaning(estimator, labels))
    classes = labels.y is not None and labels.y.ndim == 1 and task == "classification"
    if hasattr(estimator, "forest_"):
        steps = float(X.shape[0]) * X.shape[1] * len(estimator.forest_.estimators_)
        if request.importance or (request.importance is None and steps <= _IMPORTANCE_STEPS):
            with stages.stage("importance"):
                found.importances = importances_of(estimator, X, preparer.sources_)
        elif request.importance is None:
            found.notes.append("Importance was not measured: it would take long on this table. Ask for it.")
        found.predicted = getattr(estimator, "oob_prediction_", None)
    elif hasattr(estimator, "feature_importance") and request.importance is not False:
        with stages.stage("importance"):
            found.importances = importances_of(estimator, X, preparer.sources_)
    if hasattr(estimator, "novelty"):
        with stages.stage("novelty"):
            found.novelty = estimator.novelty()
    with stages.stage("quality"):
        plain = plain_rows(preparer, X)
        one = labels.y if labels.y is not None and labels.y.ndim == 1 else None
        found.scores = score_map(plain, Y, one, metric=compared_by(estimator), classes=classes)
    return found


def _guess_task(labels: Labels) -> str:
    from manifolia.forest.targets import read_target

    return "unsupervised" if labels.y is None else read_target(labels.y, len(labels.y), "auto").task


def _meaning(estimator: Any, labels: Labels) -> ImportanceMeaning:
    """What the importance of a column means with this method."""
    if hasattr(estimator, "forest_"):
        purpose = labels.name or "telling the rows from shuffled copies of them"
        return ImportanceMeaning(purpose, "growth of the error when a column is shuffled")
    if hasattr(estimator, "smooth"):
        measure = "how far a row moves when a column changes, as a share of the column that moves it most"
        return ImportanceMeaning("where a row lies in the map", measure)
    return ImportanceMeaning(
        "the directions in which the rows differ", "how much a column varies along the data, from 0 to 1"
    )


def _context(
    model: Any, table: Table, X: Any, Y: FloatArray, labels: Labels, measured: Measured, request: Request
) -> Context:
    """Hand over to the page what the run knows."""
    targets = [str(name) for name in labels.frame.columns]
    shown = table.without([name for name in targets if name in table.names])
    stem = Path(table.source).stem if os.sep in table.source or "." in table.source else table.source
    options = PageOptions(
        title=request.title or (f"{stem} by {labels.name}" if labels.name else stem),
        importances=measured.importances,
        parts=request.parts,
        images=request.images,
        study=request.study,
        max_mb=request.max_mb,
    )
    known = Known(
        X,
        Y,
        labels.y,
        measured.task,
        scores=[score._asdict() for score in measured.scores],
        novelty=measured.novelty,
        hidden={*request.target, *request.exclude},
        random_state=request.random_state,
    )
    return context_of(model, shown, labels.frame if targets else None, options, known)


class _Stages:
    """Announces stages to a listener and keeps how long each took."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self._running: str | None = None
        self._since = 0.0
        self.seconds: dict[str, float] = {}

    def __call__(self, event: ProgressEvent) -> bool | None:
        """Take an event of a method that reports its own stages."""
        if event.stage != self._running:
            self._begin(event.stage)
        return self._listener(event) if self._listener is not None else None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Announce and time a piece of work that does not report by itself."""
        self(ProgressEvent(name, 0, None, {}))
        yield
        self(ProgressEvent(name, 1, 1, {}))
        self.end()

    def end(self) -> None:
        """Stop the clock of the running stage."""
        if self._running is not None:
            self.seconds[self._running] = self.seconds.get(self._running, 0.0) + time.perf_counter() - self._since
            self._running = None

    def _begin(self, name: str) -> None:
        self.end()
        self._running, self._since = name, time.perf_counter()
        self.seconds.setdefault(name, 0.0)
