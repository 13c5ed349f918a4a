"""Names written on a map: each at the densest part of its class, pushed apart where they would overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from manifolia._core.types import BoolArray, FloatArray, IntArray
from manifolia.show._style import matplotlib_part, plain, shorten
from manifolia.show.palette import Theme

_CELLS = 24  # of the longer side of the map; a group spans several
_ROUNDS = 200
_PULL = 0.03  # share of the way back to its place that a name takes in each round


def anchors(Y: FloatArray, codes: IntArray, n_groups: int) -> FloatArray:
    """Place of each group's name: the median of its rows in and around the cell where most of them are.

    If a class lies in several parts of the map, the median of all of its rows lies where none of them is.
    """
    places = np.full((n_groups, 2), np.nan)
    low = Y.min(axis=0)
    side = float(np.ptp(Y, axis=0).max()) / _CELLS or 1.0
    cells = np.floor((Y - low) / side).astype(np.intp)
    for group in range(n_groups):
        rows = np.flatnonzero(codes == group)
        if not rows.size:
            continue
        own = cells[rows]
        counts = np.zeros((_CELLS + 3, _CELLS + 3), dtype=np.intp)  # a margin of one cell, and the far border
        np.add.at(counts, (own[:, 0] + 1, own[:, 1] + 1), 1)
        around = sum(np.roll(counts, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        best = np.array(np.unravel_index(np.argmax(around), counts.shape)) - 1
        near = (np.abs(own - best) <= 1).all(axis=1)
        places[group] = np.median(Y[rows[near]], axis=0)
    return places


def push_apart(
    centres: FloatArray, sizes: FloatArray, bounds: tuple[float, float, float, float]
) -> tuple[FloatArray, BoolArray]:
    """Move overlapping boxes apart, each no farther from its place than necessary, all inside the bounds."""
    low = np.array(bounds[:2]) + sizes / 2
    high = np.maximum(np.array(bounds[2:]) - sizes / 2, low)
    places = np.clip(centres.astype(np.float64), low, high)
    m = places.shape[0]
    a, b = np.triu_indices(m, 1)
    reach = (sizes[a] + sizes[b]) / 2
    for turn in range(_ROUNDS):
        gap = places[a] - places[b]
        over = reach - np.abs(gap)
        hit = (over > 0).all(axis=1)
        if not hit.any():
            break
        axis = np.where(over[:, 0] < over[:, 1], 0, 1)  # the shorter way
        push = np.zeros_like(gap)
        rows = np.flatnonzero(hit)
        sign = np.where(gap[rows, axis[rows]] >= 0, 1.0, -1.0)
        push[rows, axis[rows]] = 0.5 * sign * over[rows, axis[rows]]
        step = np.zeros_like(places)
        np.add.at(step, a, push)
        np.add.at(step, b, -push)
        pull = _PULL * (centres - places) * (1 - turn / _ROUNDS)
        places = np.clip(places + step + pull, low, high)
    clear = np.ones(m, dtype=bool)
    for i in range(m):
        over = (sizes[i] + sizes[:i]) / 2 - np.abs(places[i] - places[:i])
        clear[i] = not ((over > 1.0).all(axis=1) & clear[:i]).any()
    return places, clear


def write_name(ax: Any, place: Any, name: Any, longest: int, theme: Theme, *, rim: float, **style: Any) -> Any:
    """Write a name on the map as it is, with a rim in the colour of the background."""
    text = ax.text(*place, "", ha="center", va="center", **style)
    plain(text)
    halo = [matplotlib_part("patheffects").withStroke(linewidth=rim, foreground=theme.background)]
    text.set(text=shorten(name, longest), path_effects=halo, in_layout=False)
    return text


def text_sizes(texts: list[Any]) -> FloatArray:
    """Measure names in pixels, with a little room around them."""
    return np.array([[box.width + 3.0, box.height + 1.0] for box in (text.get_window_extent() for text in texts)])


def keep_clear(
    ax: Any, texts: list[Any], centres: FloatArray, sizes: FloatArray, margin: float
) -> Iterator[tuple[int, FloatArray]]:
    """Push names apart and remove those without space; yield the number and the centre in pixels of each that stays."""
    room = ax.get_window_extent().padded(-margin)
    moved, clear = push_apart(centres, sizes, (room.x0, room.y0, room.x1, room.y1))
    for i, text in enumerate(texts):
        if clear[i]:
            text.set_position(ax.transData.inverted().transform(moved[i]))
            yield i, moved[i]
        else:
            text.remove()


def tie(ax: Any, start: FloatArray, end: FloatArray, **style: Any) -> None:
    """Draw a line between two places in pixels."""
    ends = ax.transData.inverted().transform([start, end])
    ax.plot(*ends.T, scalex=False, scaley=False, **style)
