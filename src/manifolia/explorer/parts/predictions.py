"""What the model says of rows beside their places: predictions and novelty, each as columns of the page.

``model`` has columns of role "model", under the labels "predicted", "target" and "reliability". ``novelty`` says how
unlike the rows of the map new rows are: one flag (u1) per new row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.types import Array
from manifolia.explorer.parts.part import Part

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context


def make(context: Context) -> Part | None:
    """Show what the forest behind a map predicts for its rows, and how reliable arrows are."""
    columns: dict[str, str] = {}
    targets = [str(name) for name in context.target.columns]
    if context.card.predicts:
        lines = np.asarray(context.method.oob_prediction_).reshape(context.n, -1)
        named = targets if len(targets) == lines.shape[1] else [""] * lines.shape[1]
        for j, (target, values) in enumerate(zip(named, lines.T, strict=True)):
            number = f" {j}" if j else ""
            name = f"predicted {target}" if target else f"predicted{number}"
            columns[f"predicted{number}"] = context.add(name, values, "model", "class" if context.is_classes else None)
            if target:
                columns[f"target{number}"] = target
    if context.card.arrows:
        columns["reliability"] = context.add("reliability of arrows", context.method.reliability_, "model")
    return Part("model", {}, columns=columns) if columns else None


def for_new(context: Context, arrivals: Arrivals) -> None:
    """Show what the forest predicts for new rows."""
    part = context.parts.get("model")
    if part is None or part.columns is None or arrivals.predicted is None:
        return
    names = [name for label, name in part.columns.items() if label.startswith("predicted")]
    arrivals.columns.update(zip(names, arrivals.predicted.reshape(len(arrivals.Y), -1).T, strict=False))


def forest_predictions(method: Any, X: Any) -> Array:
    """Predict the target of new rows by the forest behind a map, which was grown on rows without names."""
    forest = method.forest_
    before = forest.n_jobs
    forest.set_params(n_jobs=1)  # threads add trees in the order of arrival, and so do not always agree on a tie
    try:
        return np.asarray(forest.predict(X))
    finally:
        forest.set_params(n_jobs=before)


def make_novelty(context: Context) -> None:
    """Show how unlike the others each row of a map is."""
    values = context.novelty
    if values is None and context.card.novelty:
        try:
            values = np.asarray(context.method.novelty(), dtype=np.float64)
        except (AttributeError, TypeError, ValueError):  # a loaded model without its rows, or one that wants them
            return
    if values is not None and len(values) == context.n:
        context.add("novelty", values, "novelty")


def novelty_for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Flag new rows that are unlike those of the map."""
    name = next((name for name, column in context.added.items() if column.role == "novelty"), None)
    if name is None or arrivals.novelty is None:
        return None
    arrivals.columns[name] = arrivals.novelty
    level = float(context.method.novelty_threshold_)
    note = f"Rows of at least {level:.2f} are farther from the map's rows than {level:.0%} of these are."
    flags = (np.nan_to_num(arrivals.novelty, nan=1.0) >= level).astype(np.uint8)
    meta = {"level": level, "direction": "above", "note": note, "far": context.card.far_row}
    return Part("novelty", meta, fixed={"flag": flags}, columns={"novelty": name})
