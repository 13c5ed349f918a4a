"""Which features vary around a point, and where they grow in the map.

    importance of feature f at a point:     ‖V_f‖ = (Σ_l v_fl²)^½                                        (Eq. 4)
    the same, weighted by variance:         (Σ_l σ_l² v_fl² / Σ_l σ_l²)^½
    arrow of feature f in the map:          B V_fᵀ

with v_l the tangent directions, V_f the row of feature f in them, σ_l their singular values and B the pull-back of the
point (`manifolia.explain.pullback`). Everything is computed only for the points and features asked for. Eq. (4) counts
every direction alike, so it depends strongly on the number of directions; the weighted form does not.

======  ==========================================================  ==================
symbol  meaning                                                     shape
======  ==========================================================  ==================
V_f     row of feature f in the tangent basis                       (d,)
g       arrows                                                      (rows, features, c)
Y       map                                                         (n, c)
======  ==========================================================  ==================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray
from manifolia._core.validate import (
    check_map,
    check_matrix,
    check_number,
    check_option,
    check_same_length,
    row_numbers,
)
from manifolia.exceptions import ParameterError
from manifolia.explain.pullback import Pullback, staying
from manifolia.operators.tangent import TangentSpaces, bases

_BLOCK_NUMBERS = 1 << 22
_MOST_ROWS = 1024


def feature_importance(
    spaces: TangentSpaces,
    X: Any,
    rows: Any = None,
    features: Any = None,
    *,
    kind: str = "gradient",
    d: int | None = None,
    query: Any = None,
    lift: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Measure how much each feature varies along the tangent space of a point (Eq. 4).

    Parameters
    ----------
    spaces : TangentSpaces
        Tangent spaces.
    X : ndarray or csr_array of shape (n, p)
        The rows that the neighbours are taken from.
    rows : int, slice, array-like of int or bool, default=None
        Which points; None: all.
    features : int, slice, array-like of int or bool, default=None
        Which features; None: all.
    kind : {"gradient", "variance"}, default="gradient"
        Length of the feature's gradient on the manifold (Eq. 4), or the same with directions weighted by their share of
        the neighbours' variance.
    d : int, default=None
        How many directions; None: ``spaces.dim``.
    query : ndarray or csr_array of shape (n_q, p), default=None
        The points; None: the rows of X.
    lift : ndarray of shape (p, p_original), default=None
        As for `manifolia.operators.tangent.bases`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of float64 of shape (n_rows, n_features)
        From 0 (the tangent space is perpendicular to the feature) to 1 (it contains the feature's axis).
    """
    check_option(kind, "kind", ("gradient", "variance"))
    d = spaces.dim if d is None else d
    points = row_numbers(rows, spaces.indices.shape[0])
    weights = np.ones((points.size, d))
    if kind == "variance":
        squares = spaces.singular_values[points, :d] ** 2
        total = squares.sum(axis=1, keepdims=True)
        weights = np.divide(squares, total, out=np.zeros_like(squares), where=total > 0.0)

    def lengths(part: slice) -> FloatArray:
        V = bases(spaces, X, points[part], d, features=features, query=query, lift=lift)
        out: FloatArray = np.sqrt(np.minimum((V**2 * weights[part, None, :]).sum(axis=2), 1.0))
        return out

    return _in_parts(lengths, points.size, d * (X.shape[1] if lift is None else lift.shape[1]), n_jobs)


def feature_gradients(
    spaces: TangentSpaces,
    pullback: Pullback,
    X: Any,
    rows: Any = None,
    features: Any = None,
    *,
    query: Any = None,
    lift: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Draw, for points and features, the arrow along which the feature grows in the map.

    Parameters
    ----------
    spaces : TangentSpaces
        Tangent spaces.
    pullback : Pullback
        Pull-backs of the same points.
    X : ndarray or csr_array of shape (n, p)
        The rows that the neighbours are taken from.
    rows : int, slice, array-like of int or bool, default=None
        Which points; None: all.
    features : int, slice, array-like of int or bool, default=None
        Which features; None: all.
    query : ndarray or csr_array of shape (n_q, p), default=None
        The points; None: the rows of X.
    lift : ndarray of shape (p, p_original), default=None
        As for `manifolia.operators.tangent.bases`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of float64 of shape (n_rows, n_features, n_components)
        Slope of each feature along the axes of the map, in units of the feature per unit of the map.
    """
    d = pullback.B.shape[2]
    points = row_numbers(rows, spaces.indices.shape[0])

    def arrows(part: slice) -> FloatArray:
        V = bases(spaces, X, points[part], d, features=features, query=query, lift=lift)
        return np.matmul(V, np.ascontiguousarray(pullback.B[points[part]].transpose(0, 2, 1)))

    return _in_parts(arrows, points.size, d * (X.shape[1] if lift is None else lift.shape[1]), n_jobs)


def _in_parts(run: Callable[[slice], FloatArray], n: int, numbers: int, n_jobs: int | None) -> FloatArray:
    """Compute something for n points, in parts that hold a limited count of numbers per thread."""
    height = min(_MOST_ROWS, max(1, _BLOCK_NUMBERS // max(1, numbers)))
    return np.concatenate(map_blocks(run, row_blocks(n, height) or [slice(0, 0)], n_jobs=n_jobs))


def with_neighbors(arrows: FloatArray, around: FloatArray, nearest: IntArray) -> FloatArray:
    """Average the arrows of every point with those of its neighbours, rows `nearest` of `around`.

    One pass removes the noise of single neighbourhoods; it helps where features vary smoothly over the data, such as
    pixels, but not for sparse counts.
    """
    total = arrows.copy()
    for column in nearest.T:
        total += around[column]
    return total / (nearest.shape[1] + 1)


def arrow_reliability(
    spaces: TangentSpaces,
    gradients: FloatArray,
    X: Any,
    Y: FloatArray,
    rows: Any = None,
    features: Any = None,
    *,
    n_jobs: int | None = None,
) -> FloatArray:
    """Measure how well each arrow predicts its feature at the neighbours of the point that the map keeps together."""
    points = row_numbers(rows, spaces.indices.shape[0])
    columns = row_numbers(features, X.shape[1], "features")
    if gradients.shape != (points.size, columns.size, Y.shape[1]):
        raise ParameterError(
            f"gradients must be of shape ({points.size}, {columns.size}, {Y.shape[1]}), one arrow for each point and "
            f"feature asked for, got shape {gradients.shape}.",
            parameter="gradients",
        )
    narrow = X[:, columns]
    coordinates = np.asarray(Y, dtype=np.float64)

    def run(part: slice) -> FloatArray:
        nearest = spaces.indices[points[part]]
        values = _gather(narrow, nearest)
        varies = np.ptp(values, axis=1) > 0.0
        u, y = staying(spaces.weights[points[part]], coordinates[nearest])
        w = u[:, :, None]
        values = values - (w * values).sum(axis=1, keepdims=True)
        predicted = np.matmul(y, gradients[part].astype(np.float64).transpose(0, 2, 1))
        together = (w * values * predicted).sum(axis=1)
        spread = (w * values**2).sum(axis=1) * (w * predicted**2).sum(axis=1)
        together = np.maximum(together, 0.0)
        share = np.divide(together**2, spread, out=np.zeros_like(spread), where=varies & (spread > 0.0))
        out: FloatArray = np.minimum(share, 1.0)
        return out

    return _in_parts(run, points.size, spaces.indices.shape[1] * columns.size, n_jobs)


def _gather(X: Any, nearest: Any) -> FloatArray:
    """Rows of neighbours as doubles, (rows, k, p)."""
    if sp.issparse(X):
        block = X[nearest.ravel()].toarray()
        return np.asarray(block.reshape(*nearest.shape, X.shape[1]), dtype=np.float64)
    return np.asarray(X[nearest], dtype=np.float64)


class GroupMeans(NamedTuple):
    """Averages over groups of points."""

    groups: Array  # (n_groups,): labels, sorted
    means: FloatArray  # (n_groups, ...): mean over the points of a group
    sizes: Array  # (n_groups,): points in each


def group_means(values: FloatArray, groups: ArrayLike) -> GroupMeans:
    """Average importances or arrows over classes, or over a selection."""
    labels = np.asarray(groups)
    check_same_length(values=values, groups=labels)
    names, which = np.unique(labels, return_inverse=True)
    sizes = np.bincount(which.ravel(), minlength=names.size)
    members = sp.csr_array((np.ones(labels.size), (which.ravel(), np.arange(labels.size))))
    flat = np.asarray(values, dtype=np.float64).reshape(labels.size, -1)
    means = (members @ flat) / sizes[:, None]
    return GroupMeans(names, means.reshape(names.size, *np.shape(values)[1:]), sizes)


def correlation_arrows(X: ArrayLike, Y: ArrayLike) -> FloatArray:
    """Draw one arrow per feature for any map: its correlation with each axis (A.2.5)."""
    data = check_matrix(X, accept_sparse=True, min_rows=2)
    coordinates = check_map(Y, n_rows=data.shape[0]).astype(np.float64)
    n = data.shape[0]
    y = coordinates - coordinates.mean(axis=0)
    if sp.issparse(data):
        mean = np.asarray(data.sum(axis=0), dtype=np.float64).ravel() / n
        squares = np.asarray(data.multiply(data).sum(axis=0), dtype=np.float64).ravel() - n * mean**2
        together = np.asarray(data.T.astype(np.float64) @ y)
    else:
        centred = data.astype(np.float64) - data.mean(axis=0, dtype=np.float64)
        squares = np.einsum("ij,ij->j", centred, centred)
        together = centred.T @ y
    largest = np.abs(data).max(axis=0)
    largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest, dtype=np.float64).ravel()
    varies = squares > 1e-12 * n * largest**2  # below this, the squares are rounding errors of a constant
    spread = np.sqrt(np.where(varies, squares, 1.0))[:, None] * np.sqrt((y**2).sum(axis=0))[None, :]
    out = np.divide(together, spread, out=np.zeros_like(together), where=varies[:, None] & (spread > 0.0))
    return np.clip(out, -1.0, 1.0)


class ArrowGrid(NamedTuple):
    """A field of arrows on a regular grid."""

    positions: FloatArray  # (m, n_components): nodes of the grid that have points around them
    arrows: FloatArray  # (m, ..., n_components): mean arrow there
    # (m, ...): length of the mean over the mean length: 1 where all arrows point one way, 0 where they cancel
    agreement: FloatArray
    counts: FloatArray  # (m,): how many points, by weight, support a node


def arrow_grid(
    Y: ArrayLike,
    gradients: FloatArray,
    *,
    n_nodes: int = 20,
    bandwidth: float = 0.5,
    min_count: float = 1.0,
    weights: FloatArray | None = None,
) -> ArrowGrid:
    """Smooth arrows into a field on a regular grid, for plots."""
    coordinates = check_map(Y).astype(np.float64)
    arrows = np.asarray(gradients, dtype=np.float64)
    check_same_length(Y=coordinates, gradients=arrows)
    if arrows.ndim not in (2, 3) or arrows.shape[-1] != coordinates.shape[1]:
        raise ParameterError(
            f"gradients must end in {coordinates.shape[1]} components, with one arrow per point or one for each point "
            f"and feature, got shape {arrows.shape}.",
            parameter="gradients",
        )
    check_number(n_nodes, "n_nodes", low=2, integer=True)
    check_number(bandwidth, "bandwidth", low=0.0, open_low=True)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    step = max(float((high - low).max()) / (n_nodes - 1), np.finfo(np.float64).tiny)
    axes = [low[a] + step * np.arange(int(np.ceil((high[a] - low[a]) / step - 1e-9)) + 1) for a in range(low.size)]
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    field = arrows if arrows.ndim == 3 else arrows[:, None, :]
    counted = np.ones(field.shape[:2]) if weights is None else np.asarray(weights, dtype=np.float64)
    counted = np.broadcast_to(counted.reshape(len(field), -1), field.shape[:2])
    mass, total, lengths = _spread(coordinates, nodes, field, counted, step * bandwidth)
    kept = mass[0] >= min_count
    behind = mass[1][kept]
    means = np.divide(total[kept], behind[:, :, None], out=np.zeros_like(total[kept]), where=behind[:, :, None] > 0)
    shown = np.linalg.norm(total[kept], axis=2)
    agreement = np.divide(shown, lengths[kept], out=np.zeros_like(shown), where=lengths[kept] > 0.0)
    if arrows.ndim == 2:
        means, agreement = means[:, 0], agreement[:, 0]
    return ArrowGrid(nodes[kept], means, agreement, mass[0][kept])


def _spread(
    Y: FloatArray, nodes: FloatArray, field: FloatArray, counted: FloatArray, width: float
) -> tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
    """Add up, at every node, Gaussian weights, weighted arrows and weighted lengths of the points around it."""
    flat = (field * counted[:, :, None]).reshape(len(field), -1)
    lengths = np.linalg.norm(field, axis=2) * counted
    near = np.empty(len(nodes))
    behind, long = np.empty((len(nodes), field.shape[1])), np.empty((len(nodes), field.shape[1]))
    total = np.empty((len(nodes), flat.shape[1]))
    height = max(1, _BLOCK_NUMBERS // len(Y))
    for part in row_blocks(len(nodes), height):
        squares = ((nodes[part, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
        gaussian = np.exp(-0.5 * squares / width**2)
        near[part] = gaussian.sum(axis=1)
        behind[part], total[part], long[part] = gaussian @ counted, gaussian @ flat, gaussian @ lengths
    return (near, behind), total.reshape(len(nodes), *field.shape[1:]), long
