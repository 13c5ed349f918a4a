"""Several losses at once: the settings that no other beats in everything, the volume they dominate, and their knee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifolia._core.types import BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_matrix


def widths(losses: FloatArray) -> FloatArray:
    """Measure the range of each loss; 1 where all are equal."""
    width = np.ptp(losses, axis=0)
    return np.where(width > 0, width, 1.0)


def non_dominated(losses: FloatArray) -> BoolArray:
    """Find which rows no other row dominates: as good in all columns, better in one."""
    L = check_matrix(losses, name="losses")
    front = np.ones(len(L), dtype=bool)
    for i in range(len(L)):
        if front[i]:
            mine = L[i]
            worse = np.all(mine <= L, axis=1) & np.any(mine < L, axis=1)
            front[worse] = False
    return front


def layers(losses: FloatArray) -> IntArray:
    """Number the fronts: 0 for the front, 1 for the front of what is left, and so on."""
    out = np.zeros(len(losses), dtype=np.intp)
    left = np.arange(len(losses))
    number = 0
    while left.size:
        front = non_dominated(losses[left])
        out[left[front]] = number
        left = left[~front]
        number += 1
    return out


def crowding(losses: FloatArray) -> FloatArray:
    """Measure how isolated rows are: the sum over losses of the gap between their neighbours, each in its own range."""
    n, m = losses.shape
    out = np.zeros(n)
    for column in range(m):
        order = np.argsort(losses[:, column], kind="stable")
        values = losses[order, column]
        width = values[-1] - values[0]
        out[order[[0, -1]]] = np.inf
        if width > 0 and n > 2:
            out[order[1:-1]] += (values[2:] - values[:-2]) / width
    return out


def hypervolume(losses: FloatArray, reference: FloatArray) -> float:
    """Measure the space between a front and a reference point."""
    L = check_matrix(losses, name="losses")
    reference = np.asarray(reference, dtype=np.float64)
    inside = L[np.all(reference > L, axis=1)]
    return _volume(inside[non_dominated(inside)], reference) if len(inside) else 0.0


def _volume(front: FloatArray, reference: FloatArray) -> float:
    """Slice along the last loss: between two successive values the cross-section is constant."""
    if front.shape[1] == 1:
        return float(reference[0] - front[:, 0].min())
    order = np.argsort(front[:, -1], kind="stable")
    heights = np.append(front[order, -1], reference[-1])
    total = 0.0
    for i in range(len(order)):
        thickness = heights[i + 1] - heights[i]
        if thickness > 0:
            section = front[order[: i + 1], :-1]
            total += thickness * _volume(section[non_dominated(section)], reference[:-1])
    return float(total)


def unit_volume(losses: FloatArray, bounded: Sequence[bool]) -> float:
    """Measure a front in the unit cube of losses."""
    low = np.where(bounded, 0.0, losses.min(axis=0))
    return hypervolume((losses - low) / np.where(bounded, 1.0, widths(losses)), np.ones(losses.shape[1]))


def knee(losses: FloatArray) -> int:
    """Find the row of a front with the best trade-off: farthest below the plane through the ends."""
    L = check_matrix(losses, name="losses")
    front = np.flatnonzero(non_dominated(L))
    values = L[front]
    scaled = (values - values.min(axis=0)) / widths(values)
    # After scaling the ends span the plane Σ x = 1, and the distance below it grows as Σ x falls.
    return int(front[np.argmin(scaled.sum(axis=1))])
