"""Exact nearest neighbours for the metrics: a tree in few dimensions, blocks of distances in many.

Where a metric needs the neighbours of only some rows, or of other rows, only those are searched. Among points at
exactly equal distance the lower row number comes first; which of them falls off the end of a list is arbitrary, but the
same on every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray, IntArray

#: Up to here a k-d tree is faster than blocks of distances.
_TREE_DIMENSIONS = 8
#: Candidates beyond k that are measured again by their differences: products lose digits to cancellation.
_EXTRA = 16
#: Distances that a block holds at once.
_BLOCK_NUMBERS = 4_000_000
#: Up to this group size, a row's own group is dropped from a longer list; larger groups are left out of the search.
_LONG_LIST = 128


class Nearest(NamedTuple):
    """Neighbours of each query, nearest first."""

    indices: IntArray  # (m, k): rows
    distances: FloatArray  # (m, k): euclidean


def nearest(
    X: FloatArray,
    k: int,
    *,
    rows: IntArray | None = None,
    queries: FloatArray | None = None,
    within: float = np.inf,
    groups: IntArray | None = None,
    n_jobs: int | None = None,
) -> Nearest:
    """Find the k nearest rows of `X`, exactly; a row beyond `within` may be missing, with infinite distance.

    With `groups`, find the nearest rows of other groups; every row needs k such rows.
    """
    data = X.astype(np.float64, copy=False)
    if groups is not None:
        return _of_other_groups(data, k, np.arange(data.shape[0]) if rows is None else rows, groups, n_jobs)
    itself = None
    if queries is None:
        itself = np.arange(data.shape[0]) if rows is None else rows
        points = data[itself]
    else:
        points = queries.astype(np.float64, copy=False)
    wanted = k if itself is None else k + 1
    if data.shape[1] <= _TREE_DIMENSIONS:
        found = _by_tree(data, points, wanted, within, n_jobs)
    else:
        found = _by_blocks(data, points, wanted, n_jobs)
    return found if itself is None else _without_itself(found, itself)


def n_others(n: int, groups: IntArray | None) -> int:
    """How many neighbours every row can have: all rows except itself, or except its group."""
    return n - 1 if groups is None else n - int(np.bincount(groups).max())


def _of_other_groups(data: FloatArray, k: int, rows: IntArray, groups: IntArray, n_jobs: int | None) -> Nearest:
    sizes = np.bincount(groups)
    out = Nearest(np.empty((len(rows), k), dtype=np.intp), np.empty((len(rows), k)))
    size = sizes[groups[rows]]
    for g in np.unique(groups[rows[size > _LONG_LIST]]):
        own, others = np.flatnonzero(groups[rows] == g), np.flatnonzero(groups != g)
        found = nearest(data[others], k, queries=data[rows[own]], n_jobs=n_jobs)
        out.indices[own], out.distances[own] = others[found.indices], found.distances
    own = np.flatnonzero(size <= _LONG_LIST)
    if len(own):
        wanted = min(k + int(size[own].max()), data.shape[0])
        found = nearest(data, wanted, queries=data[rows[own]], n_jobs=n_jobs)
        foreign = groups[found.indices] != groups[rows[own], np.newaxis]
        kept = np.argsort(~foreign, axis=1, kind="stable")[:, :k]  # those of other groups, nearest first
        out.indices[own] = np.take_along_axis(found.indices, kept, 1)
        out.distances[own] = np.take_along_axis(found.distances, kept, 1)
    return out


def _by_tree(data: FloatArray, points: FloatArray, k: int, within: float, n_jobs: int | None) -> Nearest:
    from scipy.spatial import KDTree

    tree = KDTree(data)
    bound = within * (1.0 + 1e-9)  # the tree leaves out what is as far away as its bound

    def run(part: slice) -> Nearest:
        distances, indices = tree.query(points[part], k=np.arange(1, k + 1), distance_upper_bound=bound)
        return _ordered(indices, distances)

    return _joined(map_blocks(run, row_blocks(points.shape[0], 2048), n_jobs=n_jobs, anywhere=True), k)


def _by_blocks(data: FloatArray, points: FloatArray, k: int, n_jobs: int | None) -> Nearest:
    centre = data.mean(axis=0)  # near the origin the squares in ‖a‖² + ‖b‖² − 2 a·b cancel least
    centred = data - centre
    squares = np.einsum("ij,ij->i", centred, centred)
    n_candidates = min(k + _EXTRA, data.shape[0])
    largest = np.sqrt(squares.max())
    # Bound on the rounding error of a squared distance from products, per (‖a‖ + ‖b‖)².
    rounding = (data.shape[1] + 8) * np.finfo(np.float64).eps

    def run(part: slice) -> Nearest:
        block = points[part] - centre
        own = np.einsum("ij,ij->i", block, block)
        approximate = own[:, None] + squares - 2.0 * (block @ centred.T)
        candidates = np.argpartition(approximate, n_candidates - 1, axis=1)[:, :n_candidates]
        differences = data[candidates] - points[part][:, None, :]
        found = _ordered(candidates, np.sqrt(np.einsum("ijk,ijk->ij", differences, differences)))
        indices, distances = found.indices[:, :k], found.distances[:, :k]
        # Every row that was left out is at least this far away; where that does not settle it, measure all.
        left_out = np.take_along_axis(approximate, candidates, 1).max(axis=1) - rounding * (np.sqrt(own) + largest) ** 2
        doubtful = np.flatnonzero(distances[:, -1] ** 2 > left_out) if n_candidates < data.shape[0] else ()
        for row in doubtful:
            differences = data - points[part][row]
            everyone = np.sqrt(np.einsum("ij,ij->i", differences, differences))
            order = np.argsort(everyone, kind="stable")[:k]
            indices[row], distances[row] = order, everyone[order]
        return Nearest(indices, distances)

    height = max(1, min(64, _BLOCK_NUMBERS // max(data.shape[0], n_candidates * data.shape[1])))
    return _joined(map_blocks(run, row_blocks(points.shape[0], height), n_jobs=n_jobs, anywhere=True), k)


def _ordered(indices: IntArray, distances: FloatArray) -> Nearest:
    """Sort each row by distance, then by row number."""
    order = np.lexsort((indices, distances), axis=1)
    return Nearest(np.take_along_axis(indices, order, 1).astype(np.intp), np.take_along_axis(distances, order, 1))


def _joined(parts: list[Nearest], k: int) -> Nearest:
    if not parts:
        return Nearest(np.empty((0, k), dtype=np.intp), np.empty((0, k)))
    return Nearest(np.concatenate([p.indices for p in parts]), np.concatenate([p.distances for p in parts]))


def _without_itself(found: Nearest, itself: IntArray) -> Nearest:
    """Drop each query from its own list, or the last entry where duplicates have pushed it off the list."""
    m, wide = found.indices.shape
    own = found.indices == itself[:, None]
    own[~own.any(axis=1), wide - 1] = True
    keep = ~own
    return Nearest(found.indices[keep].reshape(m, wide - 1), found.distances[keep].reshape(m, wide - 1))
