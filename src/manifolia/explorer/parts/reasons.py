"""The few columns that say most about each row, in few bytes.

``reasons`` has, for the k columns that say most about each point, feature (u2), weight (f4: `manifolia explain` gives
the same numbers) and sign (i1). With gradients it also has dx, dy (i1, ``code / 127 * arrow_scale`` in units of the
map), with pulls dx, dy (i1) as directions, along which the weight is measured in units of the map's ``spread``; and
reliability (u1, ``code / 255``) per point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.blocks import row_blocks
from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.effects import Block, Effects, bare_dense
from manifolia.explorer.parts.part import NO_FEATURE, Part

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context


_TOP = 8
_BLOCK_NUMBERS = 1 << 21
_REACH = 0.08  # of the map's longer side: how long most arrows of rows are at most
_RELIABILITY = (
    "How much of the ways in which the data varies around this row the map shows: arrows of a row of low reliability "
    "mean little."
)
_MOST_NAMES = 2000  # features that are named even if no row has them


class _Top(NamedTuple):
    feature: IntArray
    weight: FloatArray
    arrows: FloatArray | None
    sign: IntArray


def make(context: Context) -> Part | None:
    """Rank the columns for each row of a map."""
    effects = None if context.X is None else context.effects
    if effects is None:
        return None
    rows = effects.rows
    k = min(_TOP, len(effects.names))
    keep_weights = context.image_shape is not None and effects.kind in (
        "gradients",
        "jacobian",
    )  # for the saliency of pixels
    top, weights = _ranked(effects, context.X[rows], rows, k, keep_weights=keep_weights)
    context.weights = weights
    # Slopes have units of their own: arrows are drawn to one scale, the longest cut. Pulls are ways on the map.
    side = float(np.ptp(context.plane, axis=0).max())
    stretch, usual = 1.0, 0.0
    if top.arrows is not None:
        lengths = np.linalg.norm(top.arrows, axis=2)
        usual = float(np.percentile(lengths, 98)) if lengths.size else 0.0
        stretch = _REACH * side / usual if usual > 0 and effects.kind != "shapley" else 1.0
    names, feature = _used_names(effects.names, top.feature)
    meta: dict[str, Any] = {
        "features": names,
        "k": k,
        "kind": "importance" if top.arrows is None else "pull" if effects.kind == "shapley" else "gradient",
        "arrow_scale": 1.5 * (usual if effects.kind == "shapley" else _REACH * side),
        "spread": context.spread,
        "stretch": stretch,
        "title": effects.title,
        "note": effects.words,
    }
    coded = _coded(top._replace(feature=feature), meta)
    lines = {key: _spread(values, rows, context.n, key) for key, values in coded.items()}
    if context.card.arrows:
        meta["reliability_note"] = _RELIABILITY
        reliability = np.clip(np.nan_to_num(context.method.reliability_), 0.0, 1.0)
        lines["reliability"] = np.rint(255 * reliability).astype(np.uint8)
    return Part("reasons", meta, rows=lines, sources=names)


def complete(context: Context) -> None:
    """Add the rows that findings name: these are opened first. Say which rows have reasons."""
    part = context.parts.get("reasons")
    if part is None or context.effects is None:
        return
    k, effects = int(part.meta["k"]), context.effects
    named = np.unique([row for finding in context.findings for row in finding.rows]).astype(np.intp)
    more = np.setdiff1d(named, effects.rows)
    if len(more):
        top, _ = _ranked(effects, context.X[more], more, k)
        for key, values in _coded(_renamed(top, effects, part.meta), part.meta).items():
            part.rows[key][more] = values
    part.meta["of_run"] = context.of_run
    part.meta["n_known"] = int((part.rows["feature"] != NO_FEATURE).any(axis=1).sum())
    if len(effects.rows) < context.n:
        part.meta["note"] += f" Known for a fair sample of {len(effects.rows):,} rows"
        part.meta["note"] += ", and for the rows that findings name." if len(more) else "."


def for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Rank the columns for new rows, coded as those of the map are."""
    part = context.parts.get("reasons")
    effects = None if part is None or context.X is None else context.effects
    if part is None or effects is None:
        return None
    top, _ = _ranked(effects, arrivals.X, None, min(int(part.meta["k"]), len(effects.names)))
    return Part("reasons", dict(part.meta), rows=_coded(_renamed(top, effects, part.meta), part.meta))


def _renamed(top: _Top, effects: Effects, meta: Mapping[str, Any]) -> _Top:
    """Number features as a part that was made before does."""
    known = {name: i for i, name in enumerate(meta["features"])}
    place = np.array([known.get(name, NO_FEATURE) for name in effects.names])
    none = top.feature == NO_FEATURE
    return top._replace(feature=np.where(none, NO_FEATURE, place[np.where(none, 0, top.feature)]))


def in_words(meta: Mapping[str, Any], feature: IntArray, weight: FloatArray, sign: IntArray) -> list[dict[str, Any]]:
    """Write the coded reasons of one row as names and numbers."""
    return [
        {"feature": meta["features"][f], "weight": float(w), "sign": int(s)}
        for f, w, s in zip(feature, weight, sign, strict=True)
        if f != NO_FEATURE
    ]


def _ranked(
    effects: Effects, X: Any, rows: IntArray | None, k: int, *, keep_weights: bool = False
) -> tuple[_Top, FloatArray | None]:
    """Rank the columns for rows of the map, by their numbers, or for any rows; return all weights if asked to."""
    middle = medians(effects.context.X)
    tops, weights = [], []
    for part in row_blocks(X.shape[0], max(1, _BLOCK_NUMBERS // max(1, X.shape[1]))):
        block = effects.of_new(X[part]) if rows is None else effects.of_rows(rows[part])
        tops.append(_top(effects, block, bare_dense(X[part]), middle, k))
        if keep_weights:
            weights.append(block.weight.astype(np.float32))
    stacked: list[Any] = [None if parts[0] is None else np.concatenate(parts) for parts in zip(*tops, strict=True)]
    return _Top(*stacked), np.concatenate(weights) if weights else None


def _top(effects: Effects, block: Block, dense: FloatArray, middle: FloatArray, k: int) -> _Top:
    weight = np.nan_to_num(block.weight)
    few = (
        np.argpartition(-weight, k - 1, axis=1)[:, :k]
        if k < weight.shape[1]
        else np.tile(np.arange(k), (len(weight), 1))
    )
    values = np.take_along_axis(weight, few, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    few, values = np.take_along_axis(few, order, axis=1), np.take_along_axis(values, order, axis=1)
    arrows = None if block.arrows is None else np.take_along_axis(block.arrows, few[:, :, None], axis=1)
    members = effects._members or effects.context.groups.members
    first = np.array([columns[0] if len(columns) == 1 else -1 for columns in members])[few]
    own = np.take_along_axis(dense, np.maximum(first, 0), axis=1)
    sign = np.where((first < 0) | np.isnan(own), 0, np.sign(np.nan_to_num(own - middle[np.maximum(first, 0)])))
    return _Top(np.where(values > 0, few, NO_FEATURE), values, arrows, sign.astype(np.int8))


def _used_names(names: list[str], feature: IntArray) -> tuple[list[str], IntArray]:
    """Of very many features name only those that some row has."""
    if len(names) <= _MOST_NAMES:
        return list(names), feature
    used = np.unique(feature[feature != NO_FEATURE])
    at = np.searchsorted(used, np.minimum(feature, used[-1] if len(used) else 0))
    return [names[i] for i in used], np.where(feature == NO_FEATURE, NO_FEATURE, at)


def _coded(top: _Top, meta: Mapping[str, Any]) -> dict[str, Any]:
    lines: dict[str, Any] = {
        "feature": top.feature.astype(np.uint16),
        "weight": top.weight.astype(np.float32),
        "sign": top.sign,
    }
    if top.arrows is not None and meta["kind"] == "pull":
        # Directions as fine as bytes can be: how long an arrow is, the weight tells.
        lengths = np.linalg.norm(top.arrows, axis=2, keepdims=True)
        codes = np.rint(127 * top.arrows / np.where(lengths > 0, lengths, 1.0)).astype(np.int8)
        lines["dx"], lines["dy"] = codes[:, :, 0], codes[:, :, 1]
    elif top.arrows is not None:
        arrows = np.nan_to_num(top.arrows) * (meta["stretch"] / (meta["arrow_scale"] or 1.0))
        # Cut to the longest, not squeezed: directions stay.
        longest = np.maximum(np.abs(arrows).max(axis=2, keepdims=True), 1.0)
        codes = np.rint(127 * arrows / longest).astype(np.int8)
        lines["dx"], lines["dy"] = codes[:, :, 0], codes[:, :, 1]
    return lines


def _spread(values: Any, rows: IntArray, n: int, key: str) -> Any:
    """Lines of all rows; those that were not asked have none."""
    lines = np.full((n, *values.shape[1:]), NO_FEATURE if key == "feature" else 0, dtype=values.dtype)
    lines[rows] = values
    return lines


def medians(X: Any) -> FloatArray:
    """Median of each column; missing values do not count."""
    if is_sparse(X):
        columns = X.tocsc()
        out = np.zeros(X.shape[1])  # where no more than half of a column is stored
        for f in np.flatnonzero(np.diff(columns.indptr) > X.shape[0] / 2):
            out[f] = np.median(columns[:, [f]].toarray())
        return out
    return np.asarray(pd.DataFrame(X).median().fillna(0.0), dtype=np.float64)
