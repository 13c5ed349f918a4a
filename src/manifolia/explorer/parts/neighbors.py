"""Which rows are nearest to each: in what the method compared, and in the map."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.types import FloatArray, IntArray
from manifolia.explorer.parts.part import Part
from manifolia.explorer.parts.subject import Subject, plane_of
from manifolia.neighbors import NeighborIndex

__all__ = ["FOREST_SPACE", "Near", "neighbors_part", "new_neighbors", "uses_forest"]

_K = 10
_BLOCK = 16_384  # rows whose neighbours are compared at once
_MOST_FOREST_ROWS = 6000  # up to here the forest's proximities of all pairs are computed
FOREST_SPACE = "forest proximity"


class Near(NamedTuple):
    """Neighbours of the rows of a map."""

    part: Part  # For the page
    kept: FloatArray  # (n,): share of a row's neighbours in the data that are its neighbours in the map


def neighbors_part(subject: Subject) -> Near | None:
    """Find the neighbours of every row."""
    n = subject.n
    k = min(_K, n - 1)
    if k < 2:
        return None
    space = FOREST_SPACE if uses_forest(subject) else subject.space
    if space == FOREST_SPACE:
        data = _strongest(subject.model.proximity_matrix(), k, own=np.arange(n))
    elif subject.plain is None:
        return None
    else:
        data = _index(subject).neighbors(k, n_jobs=subject.n_jobs).indices
    around = NeighborIndex(subject.plane, random_state=subject.random_state).neighbors(k, n_jobs=subject.n_jobs).indices
    kept = np.empty(n)
    for rows in row_blocks(n, _BLOCK):
        kept[rows] = (data[rows, :, None] == around[rows, None, :]).sum(axis=(1, 2)) / k
    note = f"The {k} nearest rows by {space}, and the {k} nearest in the map."
    if space == FOREST_SPACE:
        note += " The map also brings together rows that have many rows near them in common, so it keeps few of these."
    part = Part(
        "neighbors",
        {"k": k, "metric": space, "note": note},
        links={"data": data.astype(np.int64), "map": around.astype(np.int64)},
    )
    return Near(part, kept)


def uses_forest(subject: Subject) -> bool:
    """Tell whether neighbours are those of the forest behind the map."""
    return hasattr(subject.model, "proximity_matrix") and subject.n <= _MOST_FOREST_ROWS


def new_neighbors(subject: Subject, X: Any, plain: Any, Y: FloatArray, meta: dict[str, Any]) -> Part:
    """Find the neighbours, among the rows of the map, of new rows."""
    k, m = min(int(meta["k"]), subject.n), len(Y)
    data: IntArray = np.full((m, k), -1, dtype=np.int64)
    if meta["metric"] == FOREST_SPACE:
        data = _strongest(subject.model.proximity_matrix(subject.framed(X)), k)
    elif subject.plain is not None and plain is not None:
        data = _index(subject).query(plain, k).indices
    around = NeighborIndex(subject.plane, random_state=subject.random_state).query(plane_of(Y), k).indices
    return Part("neighbors", dict(meta), links={"data": data.astype(np.int64), "map": around.astype(np.int64)})


def _index(subject: Subject) -> NeighborIndex:
    return NeighborIndex(subject.plain, metric=subject.metric, random_state=subject.random_state)


def _strongest(proximities: Any, k: int, own: IntArray | None = None) -> IntArray:
    """Columns of the k largest entries of each row of a sparse matrix, the largest first; −1 where there are fewer."""
    matrix = proximities.tocsr()
    out = np.full((matrix.shape[0], k), -1, dtype=np.int64)
    for i in range(matrix.shape[0]):
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        columns, values = matrix.indices[part], matrix.data[part]
        kept = values > 0 if own is None else (values > 0) & (columns != own[i])
        columns, values = columns[kept], values[kept]
        order = np.argsort(-values, kind="stable")[:k]
        out[i, : len(order)] = columns[order]
    return out
