"""From a table to a run: prepare, fit, measure, explain, and put it on a page and on record."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from manifolia import registry
from manifolia._core.messages import Argument, Message
from manifolia._core.types import FloatArray
from manifolia._core.validate import is_sparse
from manifolia._core.warnings import collected_warnings
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.explorer.build import build_page, describe
from manifolia.explorer.column_weights import importances_of, takes_long
from manifolia.explorer.context import Known, PageOptions, context_of
from manifolia.explorer.findings import prediction_by_rows
from manifolia.explorer.parts.images import check_shape
from manifolia.explorer.parts.trust import add_trust
from manifolia.forest.targets import read_target, taken_as
from manifolia.runs.folder import TEXTS, Run, columns_of_text
from manifolia.runs.nearby import find_near
from manifolia.runs.new_rows import kept_reading
from manifolia.runs.report import coordinates_of, report_of, row_index
from manifolia.runs.request import ASKED, KEPT_BYTES, OWN, READING, WRITING, Checked, Request
from manifolia.runs.scores import score_model
from manifolia.runs.stages import Stages
from manifolia.runs.target import Labels, RowGroups
from manifolia.tables import Table, TablePreparer
from manifolia.tables.columns import kind_of
from manifolia.tables.copies import column_copies_note, empty_rows_note, row_copies_note, totals_note
from manifolia.tables.files import file_name
from manifolia.tables.repeated import group_notes

#: Whose votes place the rows of a guided map if nobody says so. On none of the twelve tables that decided it did the
#: map show less of held-out rows than with the forest's votes, beyond noise; it took 1.0 to 1.7 times as long, and on a
#: table of words 2.2 times (docs/results/guided.md).
_GUIDE = "auto"


def carry_out(checked: Checked, stages: Stages) -> Run:
    """Make a map of a table that was looked at, with all that belongs to it."""
    table, request, labels, groups, _ = checked
    stem = Path(file_name(table.source)).stem
    card, estimator = choose_method(request, labels)
    task, taken = read_task(estimator, labels)
    with collected_warnings() as warned:
        with stages.stage("prepare"):
            preparer, X = prepare(checked, card)
            nearby, held = find_near(request, card, estimator, table, checked.features.source)
            table = _with_texts(table, leave=preparer.used_)
        Y = _fit(estimator, X, labels, groups, card, stages, nearby)
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
    if labels.y is not None and not card.supervised:
        colours = f"{card.label} takes no target: {labels.name} colours the map, and does not guide it."
        said = [*said, colours]
    suspected = _suspected(context.table or table, labels, known.task) if groups is None else _of_groups(groups, card)
    copies = column_copies_note(preparer, X, importance=bool(importances))
    y = labels.y if card.supervised else None
    copies += empty_rows_note(table, preparer) + totals_note(table)
    copies += row_copies_note(table, preparer, X, y, None if groups is None else groups.codes)
    notes = [*table.notes, *labels.notes, *preparer.notes_, *held, *copies, *taken, *suspected, *said, *warned]
    with stages.stage("page"):
        context.options = replace(context.options, notes=notes)
        payload = build_page(context)
    coordinates = coordinates_of(table, labels, context, groups)
    about: dict[str, Any] = {"target": request.target, "excluded": request.left_out, "key": request.key}
    report = report_of(table, context, task=known.task, **about)
    report["data"]["reading"] = kept_reading(request.reading)
    report[TEXTS] = columns_of_text(coordinates)
    if nearby:
        near = nearby["near"]
        report["near"] = {"rows": near.n_shared, "found_by": near.found_by, "strength": near.strength}
    report["notes"], report["left_out_of_page"] = notes, list(payload.left_out)
    report["seconds"] = {name: round(value, 3) for name, value in stages.seconds.items()}
    small = is_sparse(X) or X.size * 8 <= KEPT_BYTES
    return Run(
        report,
        model=model,
        coordinates=coordinates,
        payload=payload,
        rows=X if small and request.keep_rows else None,
        context=context,
        index=row_index(coordinates["row"], request.key, table.features),
    )


def choose_method(request: Request, labels: Labels) -> tuple[registry.Card, Any]:
    """Make the estimator that a request asks for."""
    card, kind, known = check_settings(request)
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


def check_settings(request: Request) -> tuple[registry.Card, Any, dict[str, Any]]:
    """Find a request's method with its parameters, and refuse arguments that are none of them."""
    card = registry.find(request.method or registry.default_method(supervised=bool(request.target)))
    kind = card.load()
    known = kind().get_params()
    for name in request.settings:
        if name not in known:
            others = [one for one in (*OWN, *known, *sorted(ASKED), *READING, *WRITING) if one != name]
            near = [one for one in others if one.startswith(f"{name}_")] or difflib.get_close_matches(name, others)
            if near and near[0] in OWN:
                raise ParameterError(f"there is no argument {name!r}. Did you mean {near[0]!r}?", parameter="settings")
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"{card.name} has no parameter {name!r}.{hint} It has: {', '.join(sorted(known))}.",
                parameter="settings",
            )
    return card, kind, known


def read_task(estimator: Any, labels: Labels) -> tuple[str, list[str]]:
    """Name what the target asks for, and set it; say so where whole numbers could be taken otherwise."""
    if labels.y is None:
        return "unsupervised", []
    parameters = estimator.get_params(deep=False)
    asked = parameters.get("task", "auto")
    target = read_target(labels.y, len(labels.y), asked, forest=parameters.get("forest"))
    told = taken_as(target, labels.name) if asked == "auto" and "task" in parameters else None
    if told is not None:
        estimator.set_params(task=target.task)
    unlabelled = labels.tell_missing(target.labelled) if registry.card_of(estimator).forest else []
    return target.task, [*([] if told is None else [told]), *unlabelled]


def prepare(checked: Checked, card: registry.Card) -> tuple[TablePreparer, Any]:
    """Turn the columns that take part into numbers, as a method needs them."""
    request = checked.request
    missing = "keep" if card.takes_missing else "impute"
    preparer = TablePreparer(dict(request.roles) or None, missing=missing, scale=card.needs_scale)
    X = preparer.fit(checked.features).transform(checked.features.source)
    if request.images is not None:
        check_shape(request.images, len(preparer.roles_))
    return preparer, X


def _with_texts(table: Table, leave: list[str]) -> Table:
    """Write cells that hold neither numbers nor texts as texts, in columns that take no part and are shown."""
    if table.is_matrix:
        return table
    frame = table.features
    for name in set(table.feature_names) - set(leave):
        try:
            kind_of(frame[name], name)
        except ParameterTypeError:
            frame = frame.assign(**{name: frame[name].map(str, na_action="ignore")})
    return replace(table, features=frame)


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
    estimator: Any, X: Any, labels: Labels, groups: RowGroups | None, card: registry.Card, stages: Stages,
    nearby: dict[str, Any],
) -> FloatArray:  # fmt: skip
    more = {} if groups is None or groups.codes is None or not card.takes_groups else {"groups": groups.codes}
    if "callback" not in estimator.get_params():
        with stages.stage("map"), _said_by(card):
            return np.asarray(estimator.fit_transform(X, labels.y) if card.supervised else estimator.fit_transform(X))
    estimator.set_params(callback=stages)
    try:
        with warnings.catch_warnings():  # the preparer's notes name the columns that the method knows by number
            warnings.filterwarnings("ignore", message="single precision, in which trees compare")
            if nearby:
                return np.asarray(estimator.fit(X, labels.y, **more, **nearby).embedding_)
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
    stages: Stages,
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
        written=labels.written,
        hidden={*request.target, *request.left_out},
        random_state=request.random_state,
        groups=codes,
        group_name="" if groups is None else groups.name,
        by_rows=by_rows,
    )


def _importances(
    model: Pipeline, X: Any, request: Request, stages: Stages
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Measure the importance of columns, with standard errors; or say why it was not."""
    card = registry.card_of(model)
    if not card.importance or request.importance is False:
        return {}, []
    if request.importance is None and takes_long(model, X):
        told = "Importance was not measured: it would take long on this table. Ask for it with "
        return {}, [Message(told, Argument("importance", True), ".")]
    with stages.stage("importance"):
        return importances_of(model, X, model[0].sources_), []
