"""Raw new rows on a finished map: where they go, what the model says of them, and what the page tells of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Word
from manifolia._core.warnings import warn
from manifolia.exceptions import TableError
from manifolia.explorer.context import Arrivals, Context, bare_rows, own_names
from manifolia.explorer.parts import parts_for_new
from manifolia.explorer.parts.effects import columns_of_texts
from manifolia.explorer.parts.predictions import predicted_targets
from manifolia.explorer.payload import NewRows
from manifolia.tables import Table
from manifolia.tables.copies import empty_rows
from manifolia.tables.naming import listing
from manifolia.tables.roles import as_read


def place_rows(context: Context, table: Table, *, places_only: bool = False) -> Arrivals:
    """Place raw rows on a map: every way to do so, in Python, on a served page or by command, goes through here."""
    card, method = context.card, context.method
    if not card.places:
        raise TableError(
            f"{card.label or card.name} has no formula for new rows. Make the map with a method that has one, such as "
            f"guided-map, or map old and new rows together."
        )
    rows = context.prepared(table)
    bare = bare_rows(rows)
    empty = np.arange(0) if context.preparer is None else empty_rows(table, context.preparer)
    novelty = np.array(method.novelty(rows), dtype=np.float64) if card.novelty and not places_only else None
    if len(empty):
        count, its, one = (
            ("1 row has", "Its", True) if len(empty) == 1 else (f"{len(empty):,} rows have", "Their", False)
        )
        names, more = listing([Word(table.row_names[i]) for i in empty]), "" if one else "s"
        told = (
            f"{count} no value in any column that is used: {names}. {its} place{more} and prediction{more} say nothing"
        )
        warn(f"{told}: {'it is' if one else 'they are'} not counted, and {its.lower()} novelty is left out.")
        if novelty is not None:
            novelty[empty] = np.nan
    return Arrivals(
        table,
        bare,
        np.asarray(method.transform(rows)),
        predicted_targets(method, bare) if card.predicts and not places_only else None,
        novelty,
        empty=empty,
    )


_AXES = {1: ["map_x"], 2: ["map_x", "map_y"], 3: ["map_x", "map_y", "map_z"]}


def axis_names(n_components: int) -> list[str]:
    """Name the coordinates of a map."""
    return _AXES.get(n_components) or [f"map_{i + 1}" for i in range(n_components)]


def placed_frame(
    arrivals: Arrivals, row_names: Any, targets: Sequence[str], copied: Sequence[str] = ()
) -> pd.DataFrame:
    """Write down new rows: place, the target where the table has it, what is predicted of it, novelty."""
    table = arrivals.table
    columns: dict[str, Any] = {"row": row_names}
    columns.update(zip(axis_names(arrivals.Y.shape[1]), arrivals.Y.T, strict=True))
    for name in (*copied, *targets):
        if name in table.names:
            columns[f"{name} (target)" if name in columns else name] = table.column(name).to_numpy()
    if arrivals.predicted is not None and targets:
        for name, values in zip(targets, arrivals.predicted.reshape(len(arrivals.predicted), -1).T, strict=True):
            columns[f"predicted {name}"] = values
    if arrivals.novelty is not None:
        columns["novelty"] = arrivals.novelty
    return pd.DataFrame(columns)


def new_rows(context: Context, arrivals: Arrivals) -> NewRows:
    """Say about new rows what the page says about those of the map."""
    parts = parts_for_new(context, arrivals)
    table = arrivals.table
    columns: dict[str, Any] = {str(name): table.meta[name].to_numpy() for name in table.meta.columns}
    if isinstance(table.features, pd.DataFrame):
        read, _ = as_numbers(context, table.features)
        columns |= {str(name): read[name].to_numpy() for name in read.columns}
        columns |= {str(name): values.to_numpy() for name, values in text_features(context, arrivals.X).items()}
    elif isinstance(table.features, np.ndarray) and context.table is not None:
        names = context.table.feature_names
        columns |= dict(zip(names, table.features.T, strict=True)) if len(names) == table.features.shape[1] else {}
    return NewRows(arrivals.Y, {**columns, **arrivals.columns}, own_names(table), parts)


def as_numbers(context: Context, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str | None]]]:
    """Turn texts that were read as numbers or dates into these for the page; return the texts beside them."""
    frame, written = frame.reset_index(drop=True), {}
    for name in frame.columns:
        values = as_read(frame[name], str(name), context.preparer)
        if values is not None:
            cells = zip(frame[name], frame[name].isna(), strict=True)
            written[str(name)] = [None if missing else str(text) for text, missing in cells]
            frame[name] = values
    return frame, written


def text_features(context: Context, X: Any) -> pd.DataFrame:
    """Return the features of texts, which are named by their words, as columns of the page."""
    features = {} if X is None else columns_of_texts(context.preparer)
    return pd.DataFrame({context.labels[i]: X[:, i] for i, name in enumerate(context.sources) if name in features})


def warm_up(context: Context) -> None:
    """Place and describe one row of the map, so that what is compiled on first use is there when rows come."""
    if context.X is None or not context.card.places:
        return
    rows, method = context.X[:1], context.method
    novelty = np.asarray(method.novelty(context.framed(rows))) if context.card.novelty else None
    none = pd.DataFrame(index=pd.RangeIndex(1))
    table = Table(none, [], none, np.array(["0"]), "")
    parts_for_new(context, Arrivals(table, rows, np.asarray(method.transform(context.framed(rows))), None, novelty))
