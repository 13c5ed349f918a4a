"""How tangent directions lie in the map: gauges and pull-backs.

Two ways to tie the tangent space of a point to the map:

* by **regression**, from where the point's neighbours went. With t_j the tangent coordinates of the neighbours, y_j
  their places in the map, both about their weighted means, the pull-back B minimises Σ_j u_j ‖t_j − Bᵀ y_j‖²: a feature
  that grows by g along the tangent directions grows by B g along the axes of the map. The gauges are the orthonormal
  frames closest to the regression of y on t, which rotate the first directions into the map (the polar factor). A map
  moves some neighbours far away, and a few of these would decide the slope, so u_j is smaller for them: w_j / (1 +
  r_j²)², with the distance r_j from the neighbours' mean in units of twice its median.
* **embedded**, as in the paper (Eq. 5 to 11): the tangent bases are made consistent over the graph, embedded by
  themselves with their cosine distances, and orthonormalised. The embedding knows nothing about the layout of the
  points, its rotation and reflection are arbitrary, and arrows made from it do not point where features grow; it is
  there to reproduce the paper.

======  =================================================================  ============
symbol  meaning                                                            shape
======  =================================================================  ============
T, t    tangent coordinates of the neighbours                              (n, k, m)
Y, y    map                                                                (n, c)
w       weights of the neighbours                                          (n, k)
u       weights of the neighbours that stayed together in the map          (n, k)
B       pull-back                                                          (n, c, d)
F       gauges: column l is where direction l points to                    (n, c, c)
R²      share of the tangent coordinates' variance that the map explains   (n,)
O_ij    alignment of two bases (Eq. 5)                                     (c, c)
======  =================================================================  ============
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_number
from manifolia.operators.tangent import TangentSpaces

_BLOCK = 4096
#: A direction of the map in which a neighbourhood is thinner than this share of its extent (of variance) counts as
#: this wide: the slope along it would be noise divided by almost nothing.
_THIN = 1e-2
#: How often neighbours are reweighted by their distance in the map from their mean, whose place depends on the weights;
#: and, in medians, the distance at which a weight falls to a quarter.
_ROUNDS, _REACH = 4, 2.0


class Pullback(NamedTuple):
    """What arrows are made from."""

    # (n, c, d): pull-back: a feature's slopes along the tangent directions to its slopes along the axes of the map
    B: FloatArray
    gauges: FloatArray  # (n, c, c): orthonormal frames; column l is where tangent direction l points to in the map
    # (n,): R², between 0 and 1: how much of the neighbours' arrangement in the tangent space the map shows
    reliability: FloatArray


def pullback(spaces: TangentSpaces, Y: FloatArray, d: int | None = None, *, n_jobs: int | None = None) -> Pullback:
    """Tie tangent spaces to the map by regression over each point's neighbours.

    Parameters
    ----------
    spaces : TangentSpaces
        Of the rows of the map, or of new rows whose neighbours are on it.
    Y : ndarray of shape (n, n_components)
        The map of the rows that the neighbours are.
    d : int, default=None
        How many tangent directions are pulled back; None: ``spaces.dim``.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    Pullback
        Pull-backs, gauges and reliability.
    """
    d = spaces.dim if d is None else check_number(d, "d", low=1, high=spaces.coordinates.shape[2], integer=True)
    n, c = spaces.indices.shape[0], Y.shape[1]
    found = Pullback(np.empty((n, c, d)), np.empty((n, c, c)), np.empty(n))
    coordinates = np.asarray(Y, dtype=np.float64)

    def run(part: slice) -> None:
        w, T = spaces.weights[part], spaces.coordinates[part].astype(np.float64)
        y = coordinates[spaces.indices[part]]
        y = y - (w[:, :, None] * y).sum(axis=1, keepdims=True)
        T = T - (w[:, :, None] * T).sum(axis=1, keepdims=True)  # has no effect unless centred at the point
        across, variance, _ = _moments(w, y, T)
        inverse = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > np.finfo(np.float64).tiny)
        forward = np.zeros((w.shape[0], c, c))
        shared = min(c, T.shape[2])
        forward[:, :, :shared] = (across * inverse[:, None, :])[:, :, :shared]
        found.gauges[part] = nearest_frame(forward)
        u, about = staying(w, y)
        across, variance, extent = _moments(u, about, T - (u[:, :, None] * T).sum(axis=1, keepdims=True))
        found.B[part] = np.matmul(_inverse(extent), across[:, :, :d])
        explained = (found.B[part] * across[:, :, :d]).sum(axis=(1, 2))
        whole = variance[:, :d].sum(axis=1)
        share = np.divide(explained, whole, out=np.zeros_like(whole), where=whole > 0.0)
        found.reliability[part] = np.clip(share, 0.0, 1.0)

    map_blocks(run, row_blocks(n, _BLOCK), n_jobs=n_jobs)
    return found


def staying(w: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give less weight to neighbours that lie far away in the map.

    Parameters
    ----------
    w : ndarray of shape (n, k)
        Weights of the neighbours, which sum to 1.
    y : ndarray of shape (n, k, c)
        Their places.

    Returns
    -------
    tuple of ndarray
        The weights u, which sum to 1 too, and the places about their mean.
    """
    u = w
    about = y - (u[:, :, None] * y).sum(axis=1, keepdims=True)
    for _ in range(_ROUNDS):
        squares = (about**2).sum(axis=2)
        reach = _REACH**2 * np.median(squares, axis=1, keepdims=True)
        u = w / (1.0 + np.divide(squares, reach, out=np.zeros_like(squares), where=reach > 0.0)) ** 2
        u = u / u.sum(axis=1, keepdims=True)
        about = y - (u[:, :, None] * y).sum(axis=1, keepdims=True)
    return u, about


def _moments(w: FloatArray, y: FloatArray, T: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Σ w y tᵀ, the variances Σ w t² and Σ w y yᵀ: (rows, c, m), (rows, m) and (rows, c, c)."""
    weighted = np.ascontiguousarray((w[:, :, None] * y).transpose(0, 2, 1))
    return np.matmul(weighted, T), (w[:, :, None] * T**2).sum(axis=1), np.matmul(weighted, y)


def _inverse(S: FloatArray) -> FloatArray:
    """Inverses of covariances (rows, c, c) whose thin directions count as wider; 0 where all points coincide."""
    values, vectors = np.linalg.eigh(S)
    widest = values[:, -1:]
    floor = np.where(widest > 0.0, _THIN * widest, 1.0)
    inverse = np.where(widest > 0.0, 1.0 / np.maximum(values, floor), 0.0)
    out: FloatArray = np.matmul(vectors * inverse[:, None, :], np.ascontiguousarray(vectors.transpose(0, 2, 1)))
    return out


def nearest_frame(J: FloatArray) -> FloatArray:
    """Return the orthonormal matrices next to given ones, their polar factors."""
    J = J.astype(np.float64, copy=False)
    if J.shape[1] == 2:
        # In the plane the polar factor is a rotation or a reflection, in closed form.
        mirror = np.where(J[:, 0, 0] * J[:, 1, 1] < J[:, 0, 1] * J[:, 1, 0], -1.0, 1.0)
        along, across = J[:, 0, 0] + mirror * J[:, 1, 1], J[:, 0, 1] - mirror * J[:, 1, 0]
        size = np.hypot(along, across)
        along = np.divide(along, size, out=np.ones_like(size), where=size > 0.0)  # no direction is given: take the axes
        across = np.divide(across, size, out=np.zeros_like(size), where=size > 0.0)
        return np.stack([along, across, -mirror * across, mirror * along], axis=1).reshape(-1, 2, 2)
    U, _, Vt = np.linalg.svd(J)
    out: FloatArray = np.matmul(U, Vt)
    return out
