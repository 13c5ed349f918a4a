"""What the model says of rows beside their places: predictions and novelty, each as columns of the page.

``model`` has columns of role "model", under the labels "predicted", "target" and "reliability". Where the trees of a
forest vote on classes it also has, for the classes with most votes on each point, class (u2: its number in the
description's "classes", counted through all targets) and share (u1, in per cent; 0 is no vote). ``novelty`` says how
unlike the rows of the map new rows are: one flag (u1) per new row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from manifolia._core.blocks import row_blocks
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.explorer.parts.part import NO_FEATURE, Part
from manifolia.tables.columns import key_of

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context

FOREST = "the forest"
_MOST_CLASSES = 3  # with most votes, that a row has of each target
_MOST_TARGETS = 8  # of several, that a row has: those in greatest doubt
_BLOCK_NUMBERS = 1 << 22  # votes that are counted at once


def make(context: Context) -> Part | None:
    """Show what the forest behind a map, or another guide, predicts for its rows, and how reliable arrows are."""
    columns: dict[str, str] = {}
    targets = [str(name) for name in context.target.columns]
    if context.card.predicts:
        lines = np.asarray(getattr(context.method, context.card.prediction)).reshape(context.n, -1)
        named = targets if len(targets) == lines.shape[1] else [""] * lines.shape[1]
        for j, (target, values) in enumerate(zip(named, lines.T, strict=True)):
            number = f" {j}" if j else ""
            name = f"predicted {target}" if target else f"predicted{number}"
            columns[f"predicted{number}"] = context.add(name, values, "model", "class" if context.is_classes else None)
            if target:
                columns[f"target{number}"] = target
    if context.card.predicts and context.card.knower != FOREST:
        _add_disagreement(context)
    if context.card.arrows:
        columns["reliability"] = context.add("reliability of arrows", context.method.reliability_, "model")
    if not columns:
        return None
    classes = vote_classes(context.method) if context.card.predicts else []
    if not classes or sum(map(len, classes)) >= NO_FEATURE:
        return Part("model", {}, columns=columns)
    named = targets if len(targets) == len(classes) else [f"target {j}" for j in range(len(classes))]
    meta = {"targets": named, "classes": classes, "k": min(_MOST_CLASSES, max(map(len, classes)))}
    meta["voters"] = _voters(context)
    return Part("model", meta, rows=_coded_votes(context.method, meta), columns=columns)


def _voters(context: Context) -> list[str]:
    """Whose votes these are, of rows of the map and of new rows."""
    known, new = "Votes of the trees that did not train on this row.", "Votes of all trees of the forest."
    if context.card.knower != FOREST:
        known = f"Votes of {context.card.knower}, fitted without this row."
        if context.method._guide.model is not None:
            new = f"Votes of {context.card.knower}, fitted on the rows of the map."
    return [known, new]


def _add_disagreement(context: Context) -> None:
    """Make rows on which guide and forest disagree a column that a page can be coloured by."""
    guide, forest = (np.asarray(getattr(context.method, name)) for name in (context.card.prediction, "oob_prediction_"))
    if context.is_classes:
        differ = (guide != forest).reshape(context.n, -1).any(axis=1)
        context.add("guide and forest", np.where(differ, "disagree", "agree"), "model", "class")
    elif guide.ndim == 1:
        context.add("guide minus forest", guide - forest, "model")


def for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Show what the forest predicts for new rows, and how its trees vote."""
    part = context.parts.get("model")
    if part is None or part.columns is None or arrivals.predicted is None:
        return None
    names = [name for label, name in part.columns.items() if label.startswith("predicted")]
    arrivals.columns.update(zip(names, arrivals.predicted.reshape(len(arrivals.Y), -1).T, strict=False))
    return (
        Part("model", dict(part.meta), rows=_coded_votes(context.method, part.meta, arrivals.X)) if part.rows else None
    )


def vote_classes(method: Any) -> list[list[str]]:
    """Name the classes of each target that the trees behind a map vote on; none for numbers."""
    if not hasattr(method, "_fitted_forest") or not is_classifier(method.forest_):
        return []
    known = method.forest_.classes_
    return [
        [key_of(value) for value in classes.tolist()] for classes in (known if isinstance(known, list) else [known])
    ]


def _coded_votes(method: Any, meta: Mapping[str, Any], X: Any = None) -> dict[str, Array]:
    """Count the votes on the rows of a map, or on new ones, and keep the few that say most."""
    classes = meta["classes"]
    n = len(method.embedding_) if X is None else X.shape[0]
    first = np.cumsum([0, *map(len, classes)])
    lines = []
    for part in row_blocks(n, max(1, _BLOCK_NUMBERS // int(first[-1]))):
        votes = method._class_shares(part=part) if X is None else method._class_shares(X[part])
        lines.append(_most_votes([np.nan_to_num(shares) for shares in votes], first, meta["k"]))
    return {
        name: np.concatenate(values) for name, values in zip(("class", "share"), zip(*lines, strict=True), strict=True)
    }


def _most_votes(votes: list[FloatArray], first: IntArray, k: int) -> tuple[Array, Array]:
    """Take the k classes with most votes of each target, or of the targets in greatest doubt if there are many."""
    n, n_targets = len(votes[0]), len(votes)
    ranked: Array = np.zeros((n, n_targets, k), dtype=np.uint16)
    share: Array = np.zeros((n, n_targets, k), dtype=np.uint8)
    for j, shares in enumerate(votes):
        own = min(k, shares.shape[1])
        top = np.argsort(-shares, axis=1, kind="stable")[:, :own]
        ranked[:, j, :own] = first[j] + top
        share[:, j, :own] = in_percent(np.take_along_axis(shares, top, axis=1))
    if n_targets > _MOST_TARGETS:
        surest = np.column_stack([shares.max(axis=1) for shares in votes])
        doubtful = np.sort(np.argsort(surest, axis=1, kind="stable")[:, :_MOST_TARGETS], axis=1)[:, :, np.newaxis]
        ranked, share = (np.take_along_axis(values, doubtful, axis=1) for values in (ranked, share))
    return ranked.reshape(n, -1), share.reshape(n, -1)


def in_percent(shares: FloatArray) -> Array:
    """Round shares to whole per cents that, together with what is left of 1, add up to 100."""
    parts = 100.0 * np.column_stack([shares, np.maximum(1.0 - shares.sum(axis=1), 0.0)])
    whole = np.floor(parts + 1e-9)
    lacking = np.rint(100.0 - whole.sum(axis=1, keepdims=True))
    rank = np.argsort(np.argsort(whole - parts, axis=1, kind="stable"), axis=1)  # the largest fractions go up
    return (whole + (rank < lacking))[:, :-1].astype(np.uint8)


def predicted_targets(method: Any, X: Any) -> Array:
    """Predict the target of new rows by the forest behind a map, or by the guide that places them."""
    return np.asarray(method._predict(X) if hasattr(method, "_fitted_forest") else method.forest_.predict(X))


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
    flags = (np.nan_to_num(arrivals.novelty, nan=0.0) >= level).astype(np.uint8)
    meta = {"level": level, "direction": "above", "note": note, "far": context.card.far_row}
    return Part("novelty", meta, fixed={"flag": flags}, columns={"novelty": name})
