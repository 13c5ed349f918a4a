"""Where columns grow over the map: a field of arrows on a grid, for the columns that matter most.

``arrows`` has dx and dy (i1) per feature on a grid of ny × nx cells over ``box``, and the weight (u1) of each cell.

Methods that have arrows of their own (`manifolia.explorer.parts.effects`) give the mean of the arrows about each
cell. For the others the field is read off the map: around each cell a plane is fitted to the column's values by least
squares, with Gaussian weights w, and its slope β is drawn, shortened by how well the plane fits,

    min over (a, β) of Σ_i w_i (v_i − a − β·(y_i − cell))²,        arrow = R² β

Which columns have a field: of a map that a target guides, those that matter most for it; of others, those that the map
shows best, by Moran's I: how far rows agree with the mean v̄_i of their neighbours in the map,

    I = Σ_i (v_i − v̄)(v̄_i − v̄) / Σ_i (v_i − v̄)²
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray
from manifolia.explorer.parts.effects import Effects, bare_dense, plane_of
from manifolia.explorer.parts.part import Part
from manifolia.neighbors import NeighborIndex

if TYPE_CHECKING:
    from manifolia.explorer.context import Context


_CELLS = 40  # along the longer side, at most
_LEAST_CELLS = 8
_ROWS_A_CELL = 0.8  # rows for each cell of a square map, so that of few rows several stand behind an arrow
_TOP = 16  # columns that have a field
_AGREEING = 10  # neighbours in the map whose agreement counts
_SAMPLE = 8000  # rows that stand behind a field
_WIDTH = 1.2  # standard deviation of the weights, in cells
_LEAST = 3.0  # points, by weight, below which a cell has no arrow
_BESIDE = 0.75  # cells from the nearest row beyond which a cell lies beside the rows, and has none
_REACH = 1.5  # in cells: how long most arrows are at most
_BLOCK = 100  # cells at once
_RIDGE = 1e-3  # added to the variance of places in a cell, in units of the weights' width


def make(context: Context) -> Part | None:
    """Lay the arrows of the columns that matter most over the map."""
    if context.X is None:
        return None
    ranked = {name: mean for name, (mean, _) in context.importances.items()} if context.card.forest else {}
    effects = context.effects
    rows = np.sort(as_generator(context.random_state).permutation(context.n)[:_SAMPLE])
    Y = context.plane[rows]
    # The most important first, a category by its levels.
    by_weight = sorted(range(len(context.sources)), key=lambda f: -ranked.get(context.sources[f], -np.inf))
    features = by_weight[:_TOP] if ranked else _shown_best(context, rows, Y)
    low, high = Y.min(axis=0), Y.max(axis=0)
    side = float((high - low).max())
    if not features or side <= 0:
        return None
    n_cells = int(np.clip(np.sqrt(len(rows) / _ROWS_A_CELL), _LEAST_CELLS, _CELLS))
    step = side / n_cells
    shape = np.maximum(1, np.ceil((high - low) / step - 1e-9)).astype(int)  # nx, ny
    corner = (low + high) / 2 - step * shape / 2
    axes = [corner[a] + step * (np.arange(shape[a]) + 0.5) for a in range(2)]
    cells = np.stack(np.meshgrid(axes[0], axes[1], indexing="xy"), axis=-1).reshape(-1, 2)  # row by row, ny × nx
    if effects is not None and effects.kind in ("gradients", "jacobian"):
        arrows = _own_arrows(effects, rows, features)
        field = _averaged(Y, cells, arrows, step * _WIDTH)
        note = "An arrow is the mean of the arrows of the rows about it."
    else:
        field = _fitted(Y, cells, context.dense(rows)[:, features], step * _WIDTH)
        note = (
            "An arrow points where the column's values grow over the map: the slope of a plane fitted to the rows "
            "about it, shortened where the plane fits badly."
        )
    lengths = np.linalg.norm(field, axis=2)
    count, nearest = _behind(Y, cells, step * _WIDTH)
    shown = (count >= _LEAST) & (nearest <= _BESIDE * step)
    usual = np.array([np.percentile(line[shown], 95) if shown.any() else 0.0 for line in lengths.T])
    drawn = usual > 0
    if not drawn.any():
        return None
    field, usual = field[:, drawn], usual[drawn]
    stretched = field / (1.5 * usual[:, None])  # 1 is the longest that is drawn
    longest = np.maximum(np.abs(stretched).max(axis=2, keepdims=True), 1.0)
    codes = np.rint(127 * stretched / longest).astype(np.int8)
    chosen = [f for f, keep in zip(features, drawn, strict=True) if keep]
    meta = {
        "features": [context.labels[f] for f in chosen],
        "nx": int(shape[0]),
        "ny": int(shape[1]),
        "box": [*corner.tolist(), *(corner + step * shape).tolist()],
        "scale": [1.5 * _REACH * step] * len(chosen),
        "note": f"{note} Lengths compare within a column, not between columns.",
    }
    strength = np.maximum(1, np.rint(255 * np.minimum(1.0, count / (4 * _LEAST))))
    fixed = {
        "dx": np.ascontiguousarray(codes[:, :, 0].T),
        "dy": np.ascontiguousarray(codes[:, :, 1].T),
        "weight": np.where(shown, strength, 0).astype(np.uint8),
    }
    return Part("arrows", meta, fixed=fixed, sources=[context.sources[f] for f in chosen])


def _shown_best(context: Context, rows: IntArray, Y: FloatArray) -> list[int]:
    """The columns that neighbours in the map agree on most (Moran's I with equal weights)."""
    k = min(_AGREEING, len(rows) - 1)
    if k < 1:
        return []
    near = NeighborIndex(Y, random_state=context.random_state).neighbors(k, n_jobs=context.n_jobs).indices
    W = sp.csr_array((np.full(near.size, 1.0 / k), near.ravel(), np.arange(0, near.size + 1, k)), shape=[len(rows)] * 2)
    agreement = np.empty(len(context.sources))
    narrow = context.X[rows]
    for part in row_blocks(len(agreement), _BLOCK):
        values = bare_dense(narrow[:, part])
        centred = np.where(np.isnan(values), 0.0, values - _known_means(values))
        squares = (centred**2).sum(axis=0)
        together = (centred * (W @ centred)).sum(axis=0)
        agreement[part] = np.divide(together, squares, out=np.zeros_like(squares), where=squares > 1e-12)
    order = np.argsort(-agreement, kind="stable")[:_TOP]
    return [int(f) for f in order if agreement[f] > 0]


def _own_arrows(effects: Effects, rows: IntArray, features: list[int]) -> FloatArray:
    """Arrows of the rows for some of the columns that the method got."""
    context = effects.context
    if effects.kind == "gradients":
        slopes = np.asarray(context.method.feature_gradients(rows=rows, features=features), dtype=np.float64)
        weight = np.asarray(context.method.arrow_reliability(rows=rows, features=features), dtype=np.float64)
        slopes = slopes * weight[:, :, None]
    else:
        slopes = np.concatenate(
            [
                effects.jacobian(context.dense(part))[:, :, features].transpose(0, 2, 1)
                for part in np.array_split(rows, max(1, len(rows) * context.X.shape[1] // (1 << 21)))
            ]
        )
    return plane_of(slopes)


def _weights(Y: FloatArray, cells: FloatArray, width: float) -> Iterator[tuple[slice, FloatArray]]:
    """Gaussian weights of the rows about each cell, some cells at a time."""
    for part in row_blocks(len(cells), _BLOCK):
        squares = ((cells[part, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
        yield part, np.exp(-0.5 * squares / width**2)


def _behind(Y: FloatArray, cells: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """How many rows, by weight, stand behind each cell, and how far the nearest is."""
    count, nearest = np.empty(len(cells)), np.empty(len(cells))
    for part, w in _weights(Y, cells, width):
        count[part] = w.sum(axis=1)
        nearest[part] = width * np.sqrt(-2.0 * np.log(np.maximum(w.max(axis=1), 1e-300)))
    return count, nearest


def _averaged(Y: FloatArray, cells: FloatArray, arrows: FloatArray, width: float) -> FloatArray:
    """Mean arrow about each cell."""
    field = np.empty((len(cells), *arrows.shape[1:]))
    for part, w in _weights(Y, cells, width):
        mass = np.maximum(w.sum(axis=1), 1e-300)[:, None]
        field[part] = ((w @ arrows.reshape(len(arrows), -1)) / mass).reshape(field[part].shape)
    return field


def _fitted(Y: FloatArray, cells: FloatArray, values: FloatArray, width: float) -> FloatArray:
    """Slope of each column about each cell, times R² of the plane; rows without a value do not count for a column."""
    known = ~np.isnan(values)
    one = known.astype(np.float64)
    # Moments are taken about the middle of the map and the mean of a column, in units of the weights' width.
    u = (Y - Y.mean(axis=0)) / width
    v = np.where(known, values - _known_means(values), 0.0)
    x, y = u[:, :1], u[:, 1:]
    moments = np.hstack([one, one * x, one * y, one * x * x, one * x * y, one * y * y, v, v * x, v * y, v * v])
    field = np.zeros((len(cells), values.shape[1], 2))
    for part, w in _weights(Y, cells, width):
        field[part] = _plane_slopes((w @ moments).reshape(len(w), 10, -1))
    return field / width


def _known_means(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def _plane_slopes(moments: FloatArray) -> FloatArray:
    """R² β from weighted sums of 1, x, y, x², xy, y², v, vx, vy and v²: (cells, 10, columns) to (cells, columns, 2)."""
    mass = np.maximum(moments[:, 0], 1e-300)
    x, y, xx, xy, yy, v, vx, vy, vv = (moments[:, i] / mass for i in range(1, 10))
    # Where all rows of a cell lie on a line or in a point, the slope across is taken as none.
    sxx, sxy, syy = xx - x * x + _RIDGE, xy - x * y, yy - y * y + _RIDGE
    tx, ty = vx - v * x, vy - v * y
    determinant = np.maximum(sxx * syy - sxy**2, 1e-300)
    slope = np.stack([(syy * tx - sxy * ty) / determinant, (sxx * ty - sxy * tx) / determinant], axis=2)
    variance = vv - v * v
    explained = slope[:, :, 0] * tx + slope[:, :, 1] * ty
    share = np.divide(explained, variance, out=np.zeros_like(variance), where=variance > 1e-9 * vv)
    return slope * np.clip(share, 0.0, 1.0)[:, :, None]
