"""Anchors: places in an earlier map, towards which the rows that both maps share are pulled in a new layout.

Row i of weight w_i is pulled to its place t_i by a quadratic term, λ w_i ‖y_i − t_i‖² in metric scaling and a force ρ λ
w_i (t_i − y_i) among neighbour forces. A row whose neighbours have changed is let go: with T the places of the earlier
map and W the affinities of the new one,

    q_i = Σ_j W_ij ‖t_i − t_j‖ / Σ_j W_ij   over the rows j that have a place,      w_i = min(1, (2 m / q_i)²)

with m the median of q. Rows without a place are free: w_i = 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.progress import Reporter
from manifolia._core.types import BoolArray, Callback, FloatArray, Sparse
from manifolia._core.validate import to_csr
from manifolia.layout.alignment import motion_between
from manifolia.layout.density import DensityTerm
from manifolia.layout.edge_sgd import EdgeLayout, edge_layout
from manifolia.layout.forces import ForceLayout, Schedule, neighbor_forces, resized

_KEPT = 2.0  # multiple of the usual distance to its neighbours, in the earlier map, up to which a row is held fully
_NEAR = 15  # rows whose distances show whether a neighbourhood has changed
_ROWS = 4096
#: λ of neighbour forces, whose attraction is about 1 per row, and of scaling, per row of the table.
FORCE, STRESS = 0.05, 2.5
_SPREAD = 2.0  # standard deviation of a start along the first axis
_USUAL = 0.4  # that of a map along its first axis, times the square root of its number of rows
_EDGE_SPREADS = (2.0, 10.0)  # of maps along drawn pairs, which have the same size whatever the number of rows
_EDGES = 60.0  # forces along drawn pairs are larger by this factor
_ALIKE = 0.1  # minimum share of a row's affinities with placed rows for these to say where it starts


class Anchors(NamedTuple):
    """Where rows are pulled to."""

    places: FloatArray  # (n, c); NaN for free rows
    weights: FloatArray  # (n,): from 0 (free) to 1

    @property
    def held(self) -> BoolArray:
        """Rows that have a place."""
        return np.isfinite(self.places[:, 0])

    def some(self, rows: np.ndarray) -> Anchors:
        """Take the anchors of some rows."""
        return Anchors(self.places[rows], self.weights[rows])


class AnchorForce:
    """The force for one layout: called by the descent with iteration, ρ and positions.

    A layout by forces has its own size, which grows with its rows. So rows are pulled to s (t_i − t̄) + ȳ, with the
    means and the size s of the present map: s = Σ w (y_i − ȳ)ᵀ(t_i − t̄) / Σ w ‖t_i − t̄‖².
    """

    def __init__(self, anchors: Anchors, strength: float = 1.0) -> None:
        held = np.flatnonzero(anchors.held & (anchors.weights > 0.0))
        self._rows, self._share = held, anchors.weights[held] / max(float(anchors.weights[held].sum()), 1e-300)
        self._pull = FORCE * strength * anchors.weights[held, None]
        self._places = anchors.places[held] - self._share @ anchors.places[held]
        self._size = float(self._share @ (self._places**2).sum(axis=1))

    def __call__(self, iteration: int, rho: float, Y: FloatArray) -> FloatArray:
        """Return the force on every row."""
        c = self._places.shape[1]
        own = Y[self._rows, :c].astype(np.float64)
        middle = self._share @ own
        own -= middle
        size = float(self._share @ (own * self._places).sum(axis=1)) / self._size if self._size > 0.0 else 1.0
        force = np.zeros_like(Y)
        force[self._rows, :c] = rho * self._pull * (size * self._places - own)
        return force


def anchored_by(W: Sparse, places: FloatArray) -> Anchors:
    """Hold rows by their places, less firmly if their neighbours in a graph of affinities lie far from them."""
    graph, held = to_csr(W), np.isfinite(places[:, 0])
    far, total = np.zeros(len(places)), np.zeros(len(places))
    for rows in row_blocks(len(places), _ROWS):
        block = graph[rows]
        row = np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr))
        both = held[row] & held[block.indices] & (row != block.indices)
        row, other, weight = row[both], block.indices[both], block.data[both].astype(np.float64)
        gap = np.linalg.norm(places[row] - places[other], axis=1)
        far += np.bincount(row, weight * gap, minlength=len(places))
        total += np.bincount(row, weight, minlength=len(places))
    known = held & (total > 0)
    q = np.divide(far, total, out=np.zeros(len(places)), where=known)
    usual = float(np.median(q[known])) if known.any() else 0.0
    kept = np.divide(_KEPT * usual, q, out=np.ones(len(places)), where=q > 0.0)
    return Anchors(places, np.where(held, np.minimum(kept, 1.0) ** 2, 0.0))


def nearest_graph(D: FloatArray) -> Sparse:
    """Join each row of a matrix of distances with its nearest, for `anchored_by`."""
    n = len(D)
    k = min(_NEAR, n - 1)
    near = np.concatenate([np.argpartition(D[rows], k, axis=1)[:, : k + 1] for rows in row_blocks(n, _ROWS)])
    return sp.csr_array((np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, k + 1)), shape=(n, n))


def laid_over(Y: FloatArray, places: FloatArray, *, scale: bool = True) -> FloatArray:
    """Lay a map over places that some of its rows have."""
    held, own = np.isfinite(places[:, 0]), Y.astype(np.float64)
    return motion_between(own[held], places[held], np.ones(int(held.sum())), scale=scale)(own)


def begin(start: FloatArray, W: Sparse, anchors: Anchors) -> FloatArray:
    """Start at the places of rows that have one; others start at the mean of those that they are like.

    A row that is like none of them starts where the free layout has it, laid over the places.
    """
    places, held = anchors.places, anchors.held
    Y = laid_over(start, places)
    Y[held] = places[held]
    if held.all():
        return Y
    graph = to_csr(W)
    total = np.asarray(graph.sum(axis=1)).ravel()
    to_held = np.asarray(graph @ held.astype(np.float64)).ravel()
    like = ~held & (to_held > _ALIKE * total)
    means = np.asarray(graph @ np.where(held[:, None], places, 0.0))
    Y[like] = means[like] / to_held[like, None]
    return Y


def anchored_forces(
    W: Sparse,
    start: FloatArray,
    near: FloatArray,
    strength: float,
    schedule: Schedule,
    *,
    density: DensityTerm | None = None,
    callback: Callback | Reporter = None,
) -> ForceLayout:
    """Lay a symmetric graph out from the places of an earlier map, pulled towards them, in the frame of that map.

    The attraction is not exaggerated: that would contract a map that already has its size.
    """
    about: dict[str, Any] = {"density": density, "symmetric": True, "callback": callback}
    if not np.isfinite(near).any():  # none of the rows to lay out has a place
        return neighbor_forces(W, resized(start, _SPREAD), schedule=schedule, **about)
    anchors = anchored_by(W, near)
    Y0 = begin(start, W, anchors)
    usual, spread = _USUAL * np.sqrt(len(Y0)), float(Y0[:, 0].std())
    Y0 = resized(Y0, float(np.clip(spread, usual / 2.0, usual * 2.0)))
    calm = schedule._replace(exaggeration=1.0)
    made = neighbor_forces(W, Y0, schedule=calm, extra=AnchorForce(anchors, strength), **about)
    return made._replace(Y=laid_over(made.Y, near))


def arranged_edges(
    W: Sparse, start: FloatArray, *, near: FloatArray | None = None, near_strength: float = 1.0, **options: Any
) -> EdgeLayout:
    """Lay a graph out along drawn pairs; near an earlier map, as `anchored_forces` does with all pairs."""
    if near is None:
        return edge_layout(W, start, **options)
    anchors = anchored_by(W, near)
    Y0 = begin(start, W, anchors)
    Y0 = resized(Y0, float(np.clip(Y0[:, 0].std(), *_EDGE_SPREADS)))
    made = edge_layout(W, Y0.astype(start.dtype), extra=AnchorForce(anchors, _EDGES * near_strength), **options)
    return made._replace(Y=laid_over(made.Y, near).astype(start.dtype))
