"""Rows that are pictures: their pixels, and which of them matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray, IntArray
from manifolia._core.validate import check_number, is_sparse
from manifolia.exceptions import ParameterError
from manifolia.explorer.parts.part import Part
from manifolia.tables import Table

__all__ = ["check_shape", "images_part", "pixels_of", "pixels_of_table", "saliency_part", "salient_pixels"]


def check_shape(images: Sequence[int], n_columns: int) -> tuple[int, int, int]:
    """Check the shape of pictures."""
    shape = tuple(check_number(size, "images", low=1, integer=True) for size in images)
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
        message = f"images is {tuple(images)}. Use (height, width), or (height, width, channels) with 1 or 3 channels."
        raise ParameterError(message, parameter="images")
    height, width, channels = (*shape, 1)[:3]
    if height * width * channels != n_columns:
        message = (
            f"images is {tuple(images)}, which is {height * width * channels:,} pixels, and X has {n_columns:,} "
            f"columns. Pass the height and width of the pictures that the rows are."
        )
        raise ParameterError(message, parameter="images")
    return height, width, channels


def images_part(pixels: Any, shape: tuple[int, int, int]) -> Part:
    """Code the pictures."""
    values = _numbers(pixels)
    low, high = (float(np.nanmin(values)), float(np.nanmax(values))) if values.size else (0.0, 1.0)
    height, width, channels = shape
    meta = {"height": height, "width": width, "channels": channels, "low": low, "high": high}
    return Part("images", meta, rows={"pixels": pixels_of(values, meta)})


def pixels_of(pixels: Any, meta: dict[str, Any]) -> Any:
    """Code pictures as those of the map are."""
    span = meta["high"] - meta["low"]
    share = (_numbers(pixels) - meta["low"]) / (span if span > 0 else 1.0)
    return np.rint(255 * np.clip(np.nan_to_num(share), 0.0, 1.0)).astype(np.uint8)


def pixels_of_table(table: Table, names: list[str]) -> FloatArray | None:
    """Take the raw columns of a table that are pixels."""
    if not set(names) <= set(table.feature_names):
        return None
    if isinstance(table.features, pd.DataFrame):
        cells = table.features.loc[:, names].apply(pd.to_numeric, errors="coerce")
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    place = {name: i for i, name in enumerate(table.feature_names)}
    found = table.features[:, [place[name] for name in names]]
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def saliency_part(
    weights: FloatArray, rows: IntArray, n: int, names: list[str], columns: list[str], shape: tuple[int, int, int],
    note: str,
) -> Part | None:  # fmt: skip
    """Code which pixels matter for each picture."""
    height, width, channels = shape
    place = {name: i for i, name in enumerate(columns)}
    at = np.array([place.get(name, -1) for name in names])
    if (at < 0).any():
        return None
    meta = {
        "height": height, "width": width, "channels": channels, "scale": float(weights.max()) or 1.0, "note": note,
        "at": at.tolist(),
    }  # fmt: skip
    values = np.zeros((n, height * width), dtype=np.uint8)
    values[rows] = salient_pixels(weights, meta)
    return Part("saliency", meta, rows={"values": values})


def salient_pixels(weights: FloatArray, meta: dict[str, Any]) -> Any:
    """Code which pixels matter, as for the pictures of the map."""
    n_pixels, channels = meta["height"] * meta["width"], meta["channels"]
    values = np.zeros((len(weights), n_pixels), dtype=np.uint8)
    for start in range(0, len(weights), 1024):
        part = weights[start : start + 1024]
        wide = np.zeros((len(part), n_pixels * channels), dtype=np.float32)
        wide[:, meta["at"]] = part
        strength = wide.reshape(len(part), n_pixels, channels).max(axis=2)
        values[start : start + 1024] = np.rint(255 * np.clip(strength / meta["scale"], 0.0, 1.0))
    return values


def _numbers(pixels: Any) -> FloatArray:
    return np.asarray(pixels.toarray() if is_sparse(pixels) else pixels, dtype=np.float32)
