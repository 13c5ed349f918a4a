"""What a fitted model says of rows beside their places: predictions and novelty."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from manifolia._core.types import Array, FloatArray

__all__ = [
    "NOVEL",
    "Told",
    "far_rows",
    "forest_predictions",
    "new_told",
    "novelty_level",
    "own_novelty",
    "told_columns",
]

#: Columns that a model adds: what they are, to name, role and values.
Told = dict[str, tuple[str, str, Array]]

NOVEL = 0.5  #: Novelty from which a row is called unlike the others, where the model has no threshold of its own.


def forest_predictions(model: Any, X: Any) -> Array | None:
    """Predict the target of new rows by the forest behind a map."""
    forest = getattr(model, "forest_", None)
    if forest is None or not hasattr(model, "oob_prediction_"):
        return None
    before = forest.n_jobs
    forest.set_params(n_jobs=1)  # threads add trees in the order of arrival, and so do not always agree on a tie
    rows = X.to_numpy() if hasattr(X, "to_numpy") else X  # the forest was grown on rows without names
    try:
        return np.asarray(forest.predict(rows))
    finally:
        forest.set_params(n_jobs=before)


def own_novelty(model: Any) -> FloatArray | None:
    """Tell how unlike the others each row of a map is."""
    if not hasattr(model, "novelty"):
        return None
    try:
        return np.asarray(model.novelty(), dtype=np.float64)
    except (AttributeError, TypeError, ValueError):  # a loaded model without its rows, or one that wants them
        return None


def novelty_level(model: Any) -> tuple[float, float | None]:
    """Tell from which novelty on rows are unlike those of the map."""
    level = float(getattr(model, "novelty_threshold_", NOVEL))
    return level, 1.0 - level if hasattr(model, "novelty_threshold_") else None


def far_rows(model: Any) -> str:
    """Say what a method does with rows that are far from all."""
    if hasattr(model, "forest_"):
        return "The forest sends every row to a leaf: one far from all lies among the rows that share its leaves."
    far = getattr(getattr(model, "map_", model), "far", None)
    if far == "nearest":
        return "A row far from all is put at the place of its nearest rows."
    if far == "nan":
        return "A row far from all has no place."
    return "A row far from all is put among its nearest rows." if hasattr(model, "novelty") else ""


def told_columns(
    model: Any, n: int, wanted: Collection[str], taken: Collection[str], target_kinds: Mapping[str, str]
) -> tuple[Told, dict[str, str]]:
    """Gather what a model says of the rows of its map."""
    told: Told = {}
    kinds: dict[str, str] = {}

    def name_of(name: str) -> str:
        return f"{name} (model)" if name in taken else name

    if "model" in wanted:
        predicted = getattr(model, "oob_prediction_", None)
        if predicted is not None and len(predicted) == n:
            lines = np.asarray(predicted).reshape(n, -1)
            for j, values in enumerate(lines.T):
                label = "predicted" if lines.shape[1] == 1 else f"predicted {j}"
                told[label] = name_of(label), "model", values
                if target_kinds:
                    kinds[name_of(label)] = "class"
        reliability = getattr(model, "reliability_", None)
        if reliability is not None and len(reliability) == n:
            told["reliability"] = name_of("reliability of arrows"), "model", np.asarray(reliability)
    novelty = own_novelty(model) if "novelty" in wanted else None
    if novelty is not None and len(novelty) == n and "novelty" not in taken:
        told["novelty"] = "novelty", "novelty", novelty
    return told, kinds


def new_told(model: Any, X: Any, told: Told) -> tuple[dict[str, Array], FloatArray | None]:
    """Tell the same of new rows."""
    columns: dict[str, Array] = {}
    predicted = forest_predictions(model, X)
    names = [name for label, (name, _, _) in told.items() if label.startswith("predicted")]
    if predicted is not None:
        columns.update(zip(names, predicted.reshape(len(predicted), -1).T, strict=False))
    novelty = None
    if "novelty" in told:
        novelty = np.asarray(model.novelty(X), dtype=np.float64)
        columns["novelty"] = novelty
    return columns, novelty
