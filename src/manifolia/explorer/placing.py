"""Raw new rows on a finished map, with all that the page tells of rows: places, columns, novelty, reasons."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array
from manifolia.exceptions import TableError
from manifolia.explorer.decode import decode_parts
from manifolia.explorer.describing import Describer, subject_of
from manifolia.explorer.parts.effects import effects_of
from manifolia.explorer.parts.images import pixels_of_table
from manifolia.explorer.parts.part import NO_FEATURE
from manifolia.explorer.parts.told import forest_predictions
from manifolia.explorer.payload import NewRows, Payload
from manifolia.tables import Table

__all__ = ["PlacedRows", "Placer", "describer_of", "reasons_of"]

_MOST_WARNINGS = 5


class PlacedRows(NamedTuple):
    """New rows on a map."""

    new: NewRows  # For the page
    notes: list[str]  # What was said on the way


@dataclass(eq=False)
class Placer:
    """Places raw rows on the map of a page."""

    model: Any  # Fitted
    describer: Describer  # Tells of new rows what is known of those of the map
    payload: Payload  # The page, whose columns the new rows get too
    hidden: Collection[str] = ()  # Columns that are no features: the target, and those that do not take part

    def __call__(self, table: Table) -> PlacedRows:
        """Place rows."""
        last = self.model[-1] if hasattr(self.model, "steps") else self.model
        if not hasattr(last, "transform"):
            message = f"{type(last).__name__} has no formula for new rows. Make the map with a method that has one."
            raise TableError(message)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = self._rows(table)
            Y = np.asarray(last.transform(rows))
            columns = self._columns(table, last, rows)
            novelty = columns.get("novelty")
            pixels = None
            if any(part.name == "images" for part in self.describer.parts):
                names = list(getattr(self.model[0], "roles_", ())) if hasattr(self.model, "steps") else []
                pixels = pixels_of_table(table, names or table.feature_names)
            parts = self.describer.new_parts(last, rows, Y, novelty=novelty, pixels=pixels)
        notes = list(dict.fromkeys(str(warning.message) for warning in caught))[:_MOST_WARNINGS]
        return PlacedRows(NewRows(Y, columns, list(table.row_names), parts), [*table.notes, *notes])

    def warm_up(self) -> None:
        """Place and describe one row of the map, so that what is compiled on first use is there when rows come."""
        subject = self.describer.subject
        if subject is None or not hasattr(subject.model, "transform"):
            return
        rows = subject.X[:1]
        Y = np.asarray(subject.model.transform(subject.framed(rows)))
        if hasattr(subject.model, "novelty"):
            subject.model.novelty(subject.framed(rows))
        self.describer.new_parts(subject.model, rows, Y)

    def _rows(self, table: Table) -> Any:
        """Rows as the last step takes them."""
        known = table.without(set(self.hidden) & set(table.feature_names))
        if hasattr(self.model, "steps") and hasattr(self.model[0], "sources_"):
            return self.model[:-1].transform(known)
        names = getattr(self.model, "feature_names_in_", None)
        cells = known.features
        if isinstance(cells, pd.DataFrame):
            if names is not None:
                missing = [str(name) for name in names if name not in cells.columns]
                if missing:
                    message = f"the rows have no column {missing[0]!r}, which the model needs."
                    raise TableError(message)
                cells = cells.loc[:, list(names)]
            elif getattr(self.model, "n_features_in_", cells.shape[1]) == cells.shape[1]:
                cells = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                message = f"the rows have {cells.shape[1]} columns and the model needs {self.model.n_features_in_}."
                raise TableError(message)
        return self.model[:-1].transform(cells) if hasattr(self.model, "steps") and len(self.model.steps) > 1 else cells

    def _columns(self, table: Table, last: Any, rows: Any) -> dict[str, Array]:
        """Columns that the page shows of the rows: what the model says, and their own."""
        meta = self.payload.meta
        columns: dict[str, Any] = {}
        if isinstance(table.features, pd.DataFrame):
            columns = {str(name): table.features[name].to_numpy() for name in table.features.columns}
        named = meta["parts"].get("model", {}).get("columns", {})
        wanted = [meta["columns"][i]["name"] for label, i in named.items() if label.startswith("predicted")]
        predicted = forest_predictions(last, rows) if wanted else None
        if predicted is not None:
            columns.update(zip(wanted, predicted.reshape(len(predicted), -1).T, strict=False))
        if hasattr(last, "novelty") and any(column["role"] == "novelty" for column in meta["columns"]):
            columns["novelty"] = np.asarray(last.novelty(rows), dtype=np.float64)
        return columns


def describer_of(model: Any, rows: Any, payload: Payload, importances: dict[str, float], *, seed: int = 0) -> Describer:
    """Describe new rows on a map that was made before."""
    parts = decode_parts(payload)
    preparer, last = model[0], model[-1]
    if rows is None or not hasattr(last, "embedding_"):
        return Describer(None, None, [part for part in parts if part.name == "images"])
    described = subject_of(last, rows, sources=preparer.sources_, labels=preparer.names_out_, seed=seed)
    subject, completer = described if described is not None else (None, None)
    effects = None
    if subject is not None and any(part.name == "reasons" for part in parts):
        effects = effects_of(subject, importances)
    return Describer(subject, effects, parts, completer)


def reasons_of(placed: PlacedRows) -> list[list[dict[str, Any]]] | None:
    """Write the reasons of placed rows in words and numbers."""
    for part in placed.new.parts:
        if part.name == "reasons":
            names, scale = part.meta["features"], part.meta["scale"]
            return [
                [
                    {"feature": names[f], "weight": float(w) / 255 * scale, "sign": int(s)}
                    for f, w, s in zip(features, weights, signs, strict=True)
                    if f != NO_FEATURE
                ]
                for features, weights, signs in zip(
                    part.rows["feature"], part.rows["weight"], part.rows["sign"], strict=True
                )
            ]
    return None
