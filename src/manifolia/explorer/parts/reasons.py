"""The few columns that say most about each row, in few bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.effects import Block, Effects
from manifolia.explorer.parts.part import NO_FEATURE, Part

__all__ = ["Reasons", "new_reasons", "reasons_part"]

_TOP = 8
_BLOCK_NUMBERS = 1 << 21
_REACH = 0.08  # of the map's longer side: how long most arrows of rows are at most
_RELIABILITY = (
    "How much of the ways in which the data varies around this row the map shows: arrows of a row of low reliability "
    "mean little."
)
_MOST_NAMES = 2000  # features that are named even if no row has them


class Reasons(NamedTuple):
    """Reasons of the rows of a map."""

    part: Part  # For the page
    weights: FloatArray | None  # (n_rows, n_columns): all weights, if they were asked for


class _Top(NamedTuple):
    feature: IntArray
    weight: FloatArray
    arrows: FloatArray | None
    sign: IntArray


def reasons_part(effects: Effects, *, keep_weights: bool = False) -> Reasons:
    """Rank the columns for each row of a map."""
    subject, rows = effects.subject, effects.rows
    k = min(_TOP, len(effects.names))
    middle = _medians(subject.X)
    kept, tops = [], []
    for part in row_blocks(len(rows), max(1, _BLOCK_NUMBERS // max(1, subject.X.shape[1]))):
        block = effects.of_rows(rows[part])
        tops.append(_top(effects, block, subject.dense(rows[part]), middle, k))
        if keep_weights:
            kept.append(block.weight.astype(np.float32))
    top = _stacked(tops)
    scale = float(top.weight.max()) or 1.0
    # Slopes and displacements have units of their own: arrows are drawn to one scale, the longest cut.
    side = float(np.ptp(subject.plane, axis=0).max())
    stretch = 1.0
    if top.arrows is not None:
        lengths = np.linalg.norm(top.arrows, axis=2)
        usual = float(np.percentile(lengths, 98)) if lengths.size else 0.0
        stretch = _REACH * side / usual if usual > 0 else 1.0
    names, feature = _used_names(effects.names, top.feature)
    meta: dict[str, Any] = {
        "features": names,
        "k": k,
        "kind": "importance" if top.arrows is None else "gradient",
        "scale": scale,
        "arrow_scale": 1.5 * _REACH * side,
        "stretch": stretch,
        "title": effects.title,
        "note": effects.note,
        "sampled": None if len(rows) == subject.n else len(rows),
    }
    coded = _coded(top._replace(feature=feature), meta)
    lines = {key: _spread(values, rows, subject.n, key) for key, values in coded.items()}
    reliability = getattr(subject.model, "reliability_", None) if effects.kind == "tangent" else None
    if reliability is not None:
        meta["reliability_note"] = _RELIABILITY
        lines["reliability"] = np.rint(255 * np.clip(np.nan_to_num(reliability), 0.0, 1.0)).astype(np.uint8)
    return Reasons(
        Part("reasons", meta, rows=lines, sources=names), np.concatenate(kept) if keep_weights and kept else None
    )


def new_reasons(effects: Effects, X: Any, meta: Mapping[str, Any]) -> Part:
    """Rank the columns for new rows, coded as those of the map are."""
    known = {name: i for i, name in enumerate(meta["features"])}
    place = np.array([known.get(name, NO_FEATURE) for name in effects.names])
    middle = _medians(effects.subject.X)
    k = min(int(meta["k"]), len(effects.names))
    tops = []
    for part in row_blocks(X.shape[0], max(1, _BLOCK_NUMBERS // max(1, X.shape[1]))):
        block = effects.of_new(X[part])
        dense = np.asarray(X[part].toarray() if is_sparse(X) else X[part], dtype=np.float64)
        tops.append(_top(effects, block, dense, middle, k))
    top = _stacked(tops)
    feature = np.where(
        top.feature == NO_FEATURE, NO_FEATURE, place[np.where(top.feature == NO_FEATURE, 0, top.feature)]
    )
    return Part("reasons", dict(meta), rows=_coded(top._replace(feature=feature), meta))


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
    members = effects._members or effects.subject.groups.members
    first = np.array([columns[0] if len(columns) == 1 else -1 for columns in members])[few]
    own = np.take_along_axis(dense, np.maximum(first, 0), axis=1)
    sign = np.where((first < 0) | np.isnan(own), 0, np.sign(np.nan_to_num(own - middle[np.maximum(first, 0)])))
    return _Top(np.where(values > 0, few, NO_FEATURE), values, arrows, sign.astype(np.int8))


def _stacked(tops: list[_Top]) -> _Top:
    arrows = [top.arrows for top in tops if top.arrows is not None]
    return _Top(
        np.concatenate([top.feature for top in tops]),
        np.concatenate([top.weight for top in tops]),
        np.concatenate(arrows) if arrows else None,
        np.concatenate([top.sign for top in tops]),
    )


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
        "weight": np.rint(255 * np.clip(top.weight / meta["scale"], 0.0, 1.0)).astype(np.uint8),
        "sign": top.sign,
    }
    if top.arrows is not None and meta["kind"] == "gradient":
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


def _medians(X: Any) -> FloatArray:
    """Median of each column; missing values do not count."""
    if is_sparse(X):
        columns = X.tocsc()
        out = np.zeros(X.shape[1])  # where no more than half of a column is stored
        for f in np.flatnonzero(np.diff(columns.indptr) > X.shape[0] / 2):
            out[f] = np.median(columns[:, [f]].toarray())
        return out
    values = np.asarray(X, dtype=np.float64)
    gaps = np.isnan(values).any(axis=0)
    out = np.median(values, axis=0)
    for f in np.flatnonzero(gaps):
        known = values[~np.isnan(values[:, f]), f]
        out[f] = np.median(known) if len(known) else 0.0
    return np.asarray(out)
