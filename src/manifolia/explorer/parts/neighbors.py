"""Which rows are nearest to each: in what the method compared, and in the map.

``neighbors`` has data and map: the k nearest points (u4; 2³² − 1 is none).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.sparse import largest_entries
from manifolia._core.types import IntArray
from manifolia.explorer.parts.effects import plane_of
from manifolia.explorer.parts.part import Part
from manifolia.metrics._nearest import n_others, nearest
from manifolia.neighbors import NeighborIndex
from manifolia.tables.naming import group_words

if TYPE_CHECKING:
    from manifolia.explorer.context import Arrivals, Context


N_NEAREST = 10  #: Neighbours of a row that the page tells.
_BLOCK = 16_384  # rows whose neighbours are compared at once
_MOST_FOREST_ROWS = 6000  # up to here the forest's proximities of all pairs are computed
FOREST_SPACE = "forest proximity"


def make(context: Context) -> Part | None:
    """Find the neighbours of every row."""
    n = context.n
    k = min(N_NEAREST, n - 1)
    if k < 2 or context.space is None:
        return None
    by_forest = uses_forest(context)
    if by_forest:
        data = _strongest(context.method.proximity_matrix(), k, own=False)
    else:
        data = context.nearest.indices
    # A forest that left groups out finds a row's neighbours among others, and so they are compared with others.
    groups = context.row_groups if by_forest else None
    around = _around(context, k, groups)
    kept = np.empty(n)
    for rows in row_blocks(n, _BLOCK):
        same = (data[rows, :, None] == around[rows, None, :]) & (data[rows, :, None] >= 0)
        kept[rows] = same.sum(axis=(1, 2)) / k
    context.kept = kept
    space = FOREST_SPACE if by_forest else context.space.words
    note = f"The {k} nearest rows by {space}, and the {k} nearest in the map."
    if groups is not None:
        one, several = group_words(context.group_name)
        note += (
            f" For rows of the map, both are rows of other {several}: those of one {one} lie together in any map. A "
            f"new row may stand beside its own {one}."
        )
    if by_forest:
        note += " The map also brings together rows that have many rows near them in common, so it keeps few of these."
    return _part({"k": k, "metric": space, "note": note}, data, around)


def _around(context: Context, k: int, groups: IntArray | None) -> IntArray:
    """Neighbours in the map, of other groups where rows belong together; −1 where there are fewer."""
    if groups is None:
        return np.asarray(_map_index(context).neighbors(k, n_jobs=context.n_jobs).indices)
    found = np.full((context.n, k), -1, dtype=np.int64)
    fewer = min(k, n_others(context.n, groups))
    plane = np.asarray(context.plane, dtype=np.float64)
    found[:, :fewer] = nearest(plane, fewer, groups=groups, n_jobs=context.n_jobs).indices
    return found


def uses_forest(context: Context) -> bool:
    """Return whether neighbours are those of the forest behind the map."""
    return context.card.forest and context.n <= _MOST_FOREST_ROWS


def for_new(context: Context, arrivals: Arrivals) -> Part | None:
    """Find the neighbours, among the rows of the map, of new rows."""
    part = context.parts.get("neighbors")
    if part is None or context.space is None:
        return None
    k = min(int(part.meta["k"]), context.n)
    if part.meta["metric"] == FOREST_SPACE:
        data = _strongest(context.method.proximity_matrix(context.framed(arrivals.X)), k)
    else:
        data = context.index.query(context.space.of(arrivals.X), k).indices
    return _part(dict(part.meta), data, _map_index(context).query(plane_of(arrivals.Y), k).indices)


def _map_index(context: Context) -> NeighborIndex:
    return NeighborIndex(context.plane, random_state=context.random_state)


def _part(meta: dict[str, Any], data: IntArray, around: IntArray) -> Part:
    return Part("neighbors", meta, links={"data": data.astype(np.int64), "map": around.astype(np.int64)})


def _strongest(proximities: Any, k: int, *, own: bool = True) -> IntArray:
    """Columns of the k largest entries of each row, without a row's own unless wanted; −1 where there are fewer."""
    matrix = proximities.tocsr()
    if not own:
        matrix = matrix.copy()
        matrix.data[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)) == matrix.indices] = 0.0
    columns, values = largest_entries(matrix, k)
    return np.where(values > 0, columns, -1)
