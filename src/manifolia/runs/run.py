"""From a table to a run: prepare, fit, measure, explain, and put it on a page and on record."""

from __future__ import annotations

import difflib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from manifolia import registry
from manifolia._core.messages import Argument, Message
from manifolia._core.progress import ProgressEvent
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number, is_sparse
from manifolia._core.warnings import collected_warnings
from manifolia.exceptions import ParameterError, TableError
from manifolia.explorer import Payload
from manifolia.explorer.build import build_page, describe
from manifolia.explorer.context import Context, Known, PageOptions, context_of, importances_of
from manifolia.explorer.parts.images import check_shape
from manifolia.explorer.parts.trust import add_trust
from manifolia.forest.targets import read_target, taken_as
from manifolia.runs.report import coordinates_of, report_of
from manifolia.runs.scores import prediction_by_rows, score_model
from manifolia.runs.target import Labels, RowGroups, read_group_column, read_labels, take_column
from manifolia.tables import Table, TablePreparer
from manifolia.tables.repeated import group_notes

#: Hears every event; returning True stops the work.
Listener = Callable[[ProgressEvent], bool | None]

_MIN_ROWS = 5
#: Whose votes place the rows of a guided map if nobody says so. On none of the twelve tables that decided it did the
#: map show less of held-out rows than with the forest's votes, beyond noise; it took 1.0 to 1.7 times as long, and on a
#: table of words 2.2 times (docs/results/guided.md).
_GUIDE = "auto"
_IMPORTANCE_STEPS = 2e10  # rows × trees × features up to which importance is measured without being asked for
_KEPT_BYTES = 64 * 2**20  # size up to which the prepared rows are kept in the run


@dataclass(frozen=True)
class Request:
    """What the user asks for."""

    target: tuple[str, ...] = ()  # Columns that guide the map
    method: str | None = None  # Name in `manifolia.registry`; None chooses by task
    task: str = "auto"  # What the target asks for, if the method has a choice
    exclude: tuple[str, ...] = ()  # Columns that are shown and do not take part
    groups: str | None = None  # Column that says which rows belong together; it does not take part
    guide: str | None = None  # Whose votes place the rows of a guided map: "forest", or what `GuidedMap` takes
    roles: Mapping[str, Any] = field(default_factory=dict)  # Column to role, for `manifolia.tables.TablePreparer`
    settings: Mapping[str, Any] = field(default_factory=dict)  # Parameters of the method
    title: str | None = None  # Heading of the page
    importance: bool | None = None  # Whether to measure importance; None: if it does not take long
    keep_rows: bool = True  # Whether the run keeps the prepared rows, which ``score`` and ``explain`` need
    parts: str | tuple[str, ...] | None = "auto"  # What the page tells beyond places and columns
    images: tuple[int, ...] | None = None  # Height and width, and channels, if the rows are pictures
    study: Any = None  # The study that chose the settings
    max_mb: float = 25.0  # Size of the page above which parts and columns are left out
    random_state: int = 0  # Seed
    n_jobs: int | None = None  # Threads

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        both = sorted({*self.target} & {*self.exclude})
        if both:
            raise ParameterError(
                f"{', '.join(both)} is both target and excluded. A target takes no part as a feature anyway.",
                parameter="exclude",
            )
        if self.groups in self.target:
            raise ParameterError(
                f"{self.groups} is both target and groups. Choose another column for one of them.", parameter="groups"
            )
        check_number(self.max_mb, "max_mb", low=0.0, open_low=True)
        check_number(self.random_state, "random_state", low=0, integer=True)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns other than the target that are no features."""
        own = () if self.groups is None or self.groups in self.exclude else (self.groups,)
        return (*self.exclude, *own)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run holds; `manifolia.runs.folder` writes and reads it."""

    model: Any  # `TablePreparer` and the fitted method: takes raw rows
    coordinates: pd.DataFrame  # One line per row: its name, its place, its target and what is known of it
    payload: Payload  # The page's content
    report: dict[str, Any]  # Parameters, versions, timings, scores, findings: plain data for JSON
    rows: Any  # The prepared rows; None if they are not kept
    context: Context  # What the page was made of; tells of new rows what is known of those of the map


def make_run(table: Table, request: Request, listener: Listener | None = None) -> Run:
    """Make a map of a table, with all that belongs to it."""
    stages = _Stages(listener)
    labels, groups = _check(table, request)
    stem = Path(table.source).stem if os.sep in table.source or "." in table.source else table.source
    card, estimator = choose_method(request, labels)
    task, taken = read_task(estimator, labels)
    with collected_warnings() as warned:
        with stages.stage("prepare"):
            preparer, X = prepare(table, request, card)
        Y = _fit(estimator, X, labels, groups, card, stages)
        model = Pipeline([("prepare", preparer), ("map", estimator)])
        known = _measure(model, X, Y, labels, groups, task, request, stages)
        importances, said = _importances(model, X, request, stages)
        with stages.stage("explanations"):
            context = context_of(
                model,
                table.without([name for name in labels.frame.columns if name in table.names]),
                labels.frame if request.target else None,
                PageOptions(
                    title=request.title or (f"{stem} by {labels.name}" if labels.name else stem),
                    importances=importances,
                    parts=request.parts,
                    images=request.images,
                    study=request.study,
                    max_mb=request.max_mb,
                ),
                known,
            )
            describe(context)
        if context.diagnosis is None and request.parts is None:  # what may be trusted is always said
            with stages.stage("trust"):
                add_trust(context)
    suspected = _suspected(table, labels, known.task) if groups is None else _of_groups(groups, card)
    notes = [*table.notes, *preparer.notes_, *taken, *suspected, *said, *warned]
    with stages.stage("page"):
        context.options = replace(context.options, notes=notes)
        payload = build_page(context)
    coordinates = coordinates_of(table, labels, context, groups)
    report = report_of(table, context, task=known.task, target=request.target, excluded=request.left_out)
    report["notes"], report["left_out_of_page"] = notes, list(payload.left_out)
    report["seconds"] = {name: round(value, 3) for name, value in stages.seconds.items()}
    small = is_sparse(X) or X.size * 8 <= _KEPT_BYTES
    return Run(model, coordinates, payload, report, X if small and request.keep_rows else None, context)


def _check(table: Table, request: Request) -> tuple[Labels, RowGroups | None]:
    """Take the target out of the table, and refuse what cannot be mapped."""
    if table.n_rows < _MIN_ROWS:
        rows = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
        raise TableError(f"{table.source} has {rows}; a map needs at least {_MIN_ROWS}.")
    for name in request.exclude:
        take_column(table, name, "exclude")  # a misspelt one is reported
    return read_labels(table, request.target), read_group_column(table, request.groups)


def choose_method(request: Request, labels: Labels) -> tuple[registry.Card, Any]:
    """Make the estimator that a request asks for."""
    card = registry.find(request.method or registry.default_method(supervised=labels.y is not None))
    kind = card.load()
    known = kind().get_params()
    for name in request.settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"{card.name} has no parameter {name!r}.{hint} It has: {', '.join(sorted(known))}.",
                parameter="settings",
            )
    settings: dict[str, Any] = {"random_state": request.random_state, "n_jobs": request.n_jobs, "n_components": 2}
    if not card.is_ours:
        # Peers have words of their own for "all cores", and some talk on stdout, where results go.
        settings |= {"n_jobs": 1 if request.n_jobs is None else request.n_jobs, "verbose": 0}
    if "task" in known:
        settings["task"] = "unsupervised" if labels.y is None else request.task
    elif request.task != "auto":
        raise ParameterError(
            f"{card.name} takes no task. Leave it out, or use a method that a target guides, such as guided-map.",
            parameter="task",
        )
    guide = request.guide
    if guide is None and "guide" in known and labels.y is not None:
        guide = _GUIDE
    if guide is not None:
        if "guide" not in known or labels.y is None:
            raise ParameterError(
                f"guide is for maps with a target by a method that a guide can place, such as guided-map, not for "
                f"{card.name}{'' if labels.y is not None else ' without a target'}. Leave it out.",
                parameter="guide",
            )
        settings["guide"] = None if guide == "forest" else guide
    settings = {name: value for name, value in settings.items() if name in known}
    return card, kind(**{**settings, **request.settings})


def read_task(estimator: Any, labels: Labels) -> tuple[str, list[str]]:
    """Name what the target asks for, and set it; say so where whole numbers could be taken otherwise."""
    if labels.y is None:
        return "unsupervised", []
    parameters = estimator.get_params(deep=False)
    asked = parameters.get("task", "auto")
    target = read_target(labels.y, len(labels.y), asked, forest=parameters.get("forest"))
    told = taken_as(target, labels.name) if asked == "auto" and "task" in parameters else None
    if told is None:
        return target.task, []
    estimator.set_params(task=target.task)
    return target.task, [told]


def prepare(table: Table, request: Request, card: registry.Card) -> tuple[TablePreparer, Any]:
    """Turn the columns that take part into numbers, as a method needs them."""
    features = table.without({*request.target, *request.left_out} & set(table.feature_names))
    missing = "keep" if card.takes_missing else "impute"
    preparer = TablePreparer(dict(request.roles) or None, missing=missing, scale=card.needs_scale)
    X = preparer.fit_transform(features)
    if request.images is not None:
        check_shape(request.images, len(preparer.roles_))
    return preparer, X


def _suspected(table: Table, labels: Labels, task: str) -> list[str]:
    """Name columns that seem to say which rows belong together, if nobody said so."""
    if labels.y is None or labels.y.ndim > 1 or task not in ("classification", "regression"):
        return []
    known = list(table.meta.columns) if is_sparse(table.features) else table.names  # counts name nobody
    others = (str(name) for name in known if name not in labels.frame.columns)
    return group_notes(((name, table.column(name)) for name in others), labels.y, classes=task == "classification")


def _of_groups(groups: RowGroups, card: registry.Card) -> list[str]:
    """Say what groups do not do."""
    if groups.codes is None:
        return [f"{groups.name} is different in every row: no rows belong together, and it changes nothing."]
    if card.takes_groups or not card.supervised:
        return []
    return [
        f"{card.label} is not told that rows of one {groups.name} belong together, so that its map may show what it "
        f"recognises. Only the scores leave a row's own {groups.name} out."
    ]


def _fit(
    estimator: Any, X: Any, labels: Labels, groups: RowGroups | None, card: registry.Card, stages: _Stages
) -> FloatArray:
    more = {} if groups is None or groups.codes is None or not card.takes_groups else {"groups": groups.codes}
    if "callback" not in estimator.get_params():
        with stages.stage("map"), _said_by(card):
            return np.asarray(estimator.fit_transform(X, labels.y) if card.supervised else estimator.fit_transform(X))
    estimator.set_params(callback=stages)
    try:
        with warnings.catch_warnings():  # the preparer's notes name the columns that the method knows by number
            warnings.filterwarnings("ignore", message="single precision, in which trees compare")
            return np.asarray(estimator.fit_transform(X, labels.y, **more))
    finally:
        estimator.set_params(callback=None)
        stages.end()


@contextmanager
def _said_by(card: registry.Card) -> Iterator[None]:
    """Say whose words an error of another library's method is in."""
    try:
        yield
    except (TypeError, ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
        if card.is_ours:
            raise
        raise TableError(
            f"{card.label} of {card.distribution} made no map of this table. It says: {str(error).rstrip('.')}. "
            f"Change the table or its settings, or use another method.",
            parameter="method",
        ) from error


def _measure(
    model: Pipeline,
    X: Any,
    Y: FloatArray,
    labels: Labels,
    groups: RowGroups | None,
    task: str,
    request: Request,
    stages: _Stages,
) -> Known:
    """Ask the model and the metrics what the report and the page say."""
    card, y = registry.card_of(model), labels.y
    novelty = None
    if card.novelty:
        with stages.stage("novelty"):
            novelty = model[-1].novelty()
    task = card.task or task
    codes = None if groups is None else groups.codes
    with stages.stage("quality"):
        scores = score_model(model, X, Y, y if y is not None and y.ndim == 1 else None, task=task, groups=codes)
        by_rows = prediction_by_rows(model[-1]) if card.predicts and card.takes_groups and codes is not None else None
    return Known(
        X,
        Y,
        y,
        task,
        scores=[score._asdict() for score in scores],
        novelty=novelty,
        hidden={*request.target, *request.left_out},
        random_state=request.random_state,
        groups=codes,
        group_name="" if groups is None else groups.name,
        by_rows=by_rows,
    )


def _importances(
    model: Pipeline, X: Any, request: Request, stages: _Stages
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Measure the importance of columns, with standard errors; or say why it was not."""
    card = registry.card_of(model)
    if not card.importance or request.importance is False:
        return {}, []
    steps = float(X.shape[0]) * X.shape[1] * len(model[-1].forest_.estimators_) if card.forest else 0.0
    if request.importance is None and steps > _IMPORTANCE_STEPS:
        told = "Importance was not measured: it would take long on this table. Ask for it with "
        return {}, [Message(told, Argument("importance", True), ".")]
    with stages.stage("importance"):
        return importances_of(model, X, model[0].sources_), []


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
            self.end()
            self._running, self._since = event.stage, time.perf_counter()
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
