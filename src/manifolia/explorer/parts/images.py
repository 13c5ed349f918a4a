"""Rows that are pictures: their pixels, and which of them matter.

``images`` has pixels (u1), height × width × channels per point; ``saliency`` has values (u1), height × width per point,
``code / 255 * scale``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from manifolia._core.blocks import row_blocks
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number, is_sparse
from manifolia.exceptions import ParameterError
from manifolia.explorer.parts.part import Part
from manifolia.tables import Table

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context


#: What makes a pixel matter, by the kind of effects.
_MATTERS = {
    "gradients": "A pixel matters as much as it varies among the pictures most like this one.",
    "jacobian": "A pixel matters as much as it would move this picture on the map if it were brighter or darker.",
}


def check_shape(images: Sequence[int], n_columns: int) -> tuple[int, int, int]:
    """Check the shape of pictures."""
    shape = tuple(check_number(size, "images", low=1, integer=True) for size in images)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        raise ParameterError(
            f"images is {tuple(images)}. Use (height, width), or (height, width, channels) with 1 or 3 channels.",
            parameter="images",
        )
    height, width, channels = (*shape, 1)[:3]
    if height * width * channels != n_columns:
        raise ParameterError(
            f"images is {tuple(images)}, which is {height * width * channels:,} pixels, and X has {n_columns:,} "
            f"columns. Pass the height and width of the pictures that the rows are.",
            parameter="images",
        )
    return height, width, channels


def make(context: Context) -> Part | None:
    """Code the pictures that the rows are."""
    values = None if context.image_shape is None else _pixels_of_table(context.table, context.pixel_names)
    if values is None or context.image_shape is None:
        return None
    low, high = (float(np.nanmin(values)), float(np.nanmax(values))) if values.size else (0.0, 1.0)
    height, width, channels = context.image_shape
    meta = {"height": height, "width": width, "channels": channels, "low": low, "high": high}
    return Part("images", meta, rows={"pixels": _coded(values, meta)})


def for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Code new pictures as those of the map are."""
    part = context.parts.get("images")
    pixels = None if part is None else _pixels_of_table(arrivals.table, context.pixel_names)
    if part is None or pixels is None:
        return None
    return Part("images", dict(part.meta), rows={"pixels": _coded(pixels, part.meta)})


def _coded(pixels: FloatArray, meta: dict[str, Any]) -> Any:
    span = meta["high"] - meta["low"]
    share = (pixels - meta["low"]) / (span if span > 0 else 1.0)
    return np.rint(255 * np.clip(np.nan_to_num(share), 0.0, 1.0)).astype(np.uint8)


def _pixels_of_table(table: Table | None, names: list[str]) -> FloatArray | None:
    """Take the raw columns of a table that are pixels."""
    if table is None or not set(names) <= set(table.feature_names):
        return None
    if isinstance(table.features, pd.DataFrame):
        cells = table.features.loc[:, names].apply(pd.to_numeric, errors="coerce")
        return cells.to_numpy(dtype=np.float32, na_value=np.nan)
    place = {name: i for i, name in enumerate(table.feature_names)}
    cells = table.features[:, [place[name] for name in names]]
    return np.asarray(cells.toarray() if is_sparse(cells) else cells, dtype=np.float32)


def make_saliency(context: Context) -> Part | None:
    """Code which pixels matter for each picture, by all weights behind the reasons."""
    effects, weights = context.effects, context.weights
    if context.image_shape is None or effects is None or weights is None:
        return None
    height, width, channels = context.image_shape
    place = {name: i for i, name in enumerate(context.pixel_names)}
    at = np.array([place.get(name, -1) for name in effects.names])
    if (at < 0).any():
        return None
    meta = {
        "height": height, "width": width, "channels": channels, "scale": float(weights.max()) or 1.0,
        "note": _MATTERS[effects.kind], "at": at.tolist(),
    }  # fmt: skip
    values = np.zeros((context.n, height * width), dtype=np.uint8)
    values[effects.rows] = _salient(weights, meta)
    return Part("saliency", meta, rows={"values": values})


def saliency_for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Code which pixels matter for new pictures."""
    part = context.parts.get("saliency")
    effects = None if part is None else context.effects
    if part is None or effects is None:
        return None
    X = arrivals.X
    weights = [effects.of_new(X[rows]).weight for rows in row_blocks(X.shape[0], 256)]
    return Part("saliency", dict(part.meta), rows={"values": _salient(np.concatenate(weights), part.meta)})


def _salient(weights: FloatArray, meta: dict[str, Any]) -> Any:
    n_pixels, channels = meta["height"] * meta["width"], meta["channels"]
    values = np.zeros((len(weights), n_pixels), dtype=np.uint8)
    for start in range(0, len(weights), 1024):
        part = weights[start : start + 1024]
        wide = np.zeros((len(part), n_pixels * channels), dtype=np.float32)
        wide[:, meta["at"]] = part
        strength = wide.reshape(len(part), n_pixels, channels).max(axis=2)
        values[start : start + 1024] = np.rint(255 * np.clip(strength / meta["scale"], 0.0, 1.0))
    return values
