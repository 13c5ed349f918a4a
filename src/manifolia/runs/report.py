"""What a run puts on record: the table of coordinates, and how the map was made and what it shows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from manifolia._core.installed import versions
from manifolia.explorer.build import importance_purpose
from manifolia.explorer.context import Context
from manifolia.explorer.parts.effects import columns_of_texts
from manifolia.explorer.parts.predictions import vote_classes
from manifolia.explorer.place import axis_names
from manifolia.runs.target import Labels, RowGroups
from manifolia.tables import Table
from manifolia.tables.files import file_name
from manifolia.tables.naming import labels as labels_of

_MOST_ROLES = 1000  # columns of a very wide table whose roles are listed


def row_index(names: Iterable[str], key: str | None = None, frame: Any = None) -> pd.Index:
    """Return names of rows as an index: that of the user's frame if they are its labels, else numbers or texts."""
    known = list(names)
    if key is None and isinstance(frame, pd.DataFrame) and labels_of(frame.index) == known:
        return frame.index
    numbers = all(name.isdecimal() and str(int(name)) == name for name in known)
    return pd.Index([int(name) for name in known] if numbers else known, name=key)


def coordinates_of(table: Table, labels: Labels, context: Context, groups: RowGroups | None = None) -> pd.DataFrame:
    """Make the table of coordinates."""
    columns: dict[str, Any] = {"row": table.row_names}
    columns.update(zip(axis_names(context.Y.shape[1]), context.Y.T, strict=True))
    for name in labels.frame.columns:
        columns[f"{name} (target)" if name in columns else str(name)] = labels.frame[name].to_numpy()
    if context.card.predicts:
        predicted = getattr(context.method, context.card.prediction)
        for name, values in zip(labels.frame.columns, predicted.reshape(len(predicted), -1).T, strict=True):
            said = f"predicted {name}"
            columns[f"{said} (model)" if said in columns else said] = values
        shares = context.method._class_shares() if vote_classes(context.method) else []
        for name, votes in zip(labels.frame.columns, shares, strict=False):  # few votes: between the classes
            columns[f"votes for predicted {name}"] = votes.max(axis=1)
    if context.novelty is not None:
        columns["novelty"] = context.novelty
    if groups is not None:
        columns[group_column(groups.name)] = groups.labels.to_numpy()
    return pd.DataFrame(columns)


def group_column(name: str) -> str:
    """Name the column of groups in the table of coordinates, where no other can be called so."""
    return f"{name} (groups)"


def report_of(
    table: Table, context: Context, *, task: str, target: Sequence[str], excluded: Sequence[str], key: str | None
) -> dict[str, Any]:
    """Write down how the map was made and what it shows."""
    card, preparer = context.card, context.model[0]
    texts = columns_of_texts(preparer)
    return {
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "data": {
            "source": file_name(table.source),
            "rows": table.n_rows,
            "columns": len(table.feature_names),
            "key": key,
            "roles": dict(list(preparer.roles_.items())[:_MOST_ROLES]),
        },
        "target": {"columns": list(target), "task": task},
        "groups": None if context.row_groups is None else {"column": context.group_name, "count": context.n_groups},
        "excluded": list(excluded),
        "axes": axis_names(context.Y.shape[1]),
        "method": card.name,
        "parameters": {name: _plain(value) for name, value in context.method.get_params(deep=False).items()},
        "random_state": context.random_state,
        "versions": versions(),
        "model": card.figures_of(context.model),
        "guide": guide_of(context),
        "scores": list(context.scores or ()),
        "importance": {"purpose": importance_purpose(context), "measure": card.importance},
        "importances": [
            {"column": name, "importance": mean, "standard_error": error, "of": texts.get(name, name)}
            for name, (mean, error) in sorted(context.importances.items(), key=lambda item: -item[1][0])
        ],
        "findings": [finding._asdict() for finding in context.findings],
        "trust": None if context.diagnosis is None else context.diagnosis.to_report(),
    }


def guide_of(context: Context) -> dict[str, Any] | None:
    """Who placed the rows, and how every model did that was compared; None where no target guides."""
    if not context.card.predicts:
        return None
    losses = getattr(context.method, "guide_losses_", {})
    return {"name": context.card.knower, "losses": {name: round(value, 6) for name, value in losses.items()}}


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
