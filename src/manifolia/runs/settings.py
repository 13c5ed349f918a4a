"""Settings for a table: prepare it as a run would, tune, and hand the request back with the best settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.warnings import collected_warnings
from manifolia.runs.request import Request, check_request
from manifolia.runs.run import choose_method, prepare, read_task
from manifolia.runs.stages import Listener
from manifolia.tables import Table
from manifolia.tables.plain_rows import PlainRows

_USUAL_METRIC = "auc_r_nx"  # where none is named


@dataclass(frozen=True)
class Tuning:
    """A tuned request."""

    request: Request  # The user's, with the settings that were found
    tuner: Any  # Fitted
    notes: list[str]  # What was said on the way


def tune_table(
    table: Table,
    request: Request,
    listener: Listener | None = None,
    *,
    metrics: Sequence[str] = (),
    space: dict[str, Any] | None = None,
    **options: Any,  # Other parameters of the tuner
) -> Tuning:
    """Choose the settings of a method for a table."""
    from manifolia.tune import Tuner
    from manifolia.tune.presets import preset

    checked = check_request(table, request)
    labels, groups = checked.labels, checked.groups
    card, estimator = choose_method(replace(request, n_jobs=1), labels)
    read_task(estimator, labels)  # the run that is made with the settings says what was chosen
    fixed: dict[str, Any] = dict(request.settings)
    if "guide" in estimator.get_params(deep=False) and request.guide is None and "guide" not in fixed:
        fixed["guide"] = None  # every setting is tried with the forest as guide, and so is the map that comes of it
        estimator.set_params(guide=None)
    preparer, X = prepare(checked, card)
    if not space:
        space = {name: one for name, one in preset(estimator)[1].items() if name not in fixed}
    tuner = Tuner(
        estimator,
        space,
        list(metrics) or [_USUAL_METRIC],
        refit=False,
        random_state=request.random_state,
        n_jobs=request.n_jobs,
        callback=listener,
        **options,
    )
    with collected_warnings() as notes:
        codes = None if groups is None else groups.codes
        tuner.fit(X, labels.y, metric_X=PlainRows(preparer).fit_transform(X), groups=codes)
    if not metrics and card.supervised and labels.y is not None:
        notes.append(
            Message(
                f"Tuned by {_USUAL_METRIC}, which asks how well the map keeps the neighbours that rows have in the "
                "table; a map for a target keeps those that count for the target. ",
                Argument("metrics", Word("NAME")),
                " chooses by another, such as knn_accuracy.",
            )
        )
    settings = {**fixed, **tuner.best_params_}
    return Tuning(replace(request, method=card.name, settings=settings), tuner, notes)
