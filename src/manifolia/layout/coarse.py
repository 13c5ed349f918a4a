"""A weak force that keeps the large-scale arrangement of the data: places of cells' means follow a stress.

The rows are cut into m cells. With c_a the mean place of cell a in the map, D_ab the distance of the means of two cells
in the data, p_b the share of rows in cell b, d_ab = ‖c_a − c_b‖ and α the scale that fits best, a row of cell a feels

    G_a = ρ γ Σ_b p_b (α D_ab − d_ab) (c_a − c_b) / d_ab,    α = Σ p_a p_b D_ab d_ab / Σ p_a p_b D_ab²

the slope of a weighted stress. Cells are cut from the map, by k-means of its places, first at the start and again when
the rows have found their neighbours, so that no cell pulls apart what the graph holds together; D is computed from
their means in the data. γ falls with the exaggeration ρ: a strong late pull tears groups (seen at 0.03 and above).

It is passed to `manifolia.layout.forces.neighbor_forces` as ``extra``; `arranged_layout` does this for a start that
shows the arrangement. Sums over rows are computed in a fixed order, so that the bits do not depend on the number of
threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.progress import Reporter
from manifolia._core.types import ArrayLike, Callback, FloatArray, IntArray, Sparse
from manifolia._core.validate import check_matrix, check_number
from manifolia.layout.anchors import anchored_forces
from manifolia.layout.density import DensityTerm
from manifolia.layout.forces import ForceLayout, Schedule, neighbor_forces, resized

_CELLS = 64
_SAMPLE = 5_000  # rows that k-means uses
_PASSES = 10  # of k-means
_AGAIN = 50  # iterations after which cells are cut again
# γ while the attraction is exaggerated, and at the end. At the end, 0.003 instead of 0.01 keeps up to 0.007 more
# continuity and 0.01 more k-NN accuracy (3,000 rows of letter, yeast, vehicle, newsgroups), but tears more classes on
# two of them. A map is about as wide as the square root of its number of points, and G grows with the width while the
# pull of an edge does not: beyond _WIDE rows γ falls with that root. MNIST (70,000 rows) is torn with 0.01, but not
# with 0.003.
_EARLY, _LATE, _WIDE = 0.1, 0.01, 11_000
_ROWS = 4096  # assigned at a time
# Iterations of a whole layout, and the shares of them in which attraction is exaggerated and in which it falls to 1.
# With 350 iterations MNIST and Fashion-MNIST (10,000 rows) gain 0.001 of trustworthiness.
_ITERATIONS, _EXAGGERATED, _RELEASED = 250, 0.2, 0.3
_SPREAD = 2.0  # standard deviation of its start along the first axis: wide, so that the arrangement stays


def arranged_layout(
    W: Sparse,
    start: FloatArray,
    X: ArrayLike | Sparse,
    *,
    n_iterations: int | str = "auto",
    density: DensityTerm | None = None,
    near: FloatArray | None = None,
    near_strength: float = 1.0,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> ForceLayout:
    """Lay the symmetric graph of some rows out from a start, such as their principal components, whose shape counts.

    Near an earlier map it starts at that map's places, which hold the arrangement.
    """
    total = _ITERATIONS if n_iterations == "auto" else check_number(n_iterations, "n_iterations", low=0, integer=True)
    if near is not None:
        late = Schedule(early=0, release=0, late=total)
        return anchored_forces(W, start, near, near_strength, late, density=density, callback=callback)
    early, release = round(_EXAGGERATED * total), round(_RELEASED * total)
    schedule = Schedule(early=early, release=release, late=total - early - release)
    coarse = CoarseForce(X, again=early, exaggeration=schedule.exaggeration)
    Y = resized(start, _SPREAD)
    return neighbor_forces(
        W, Y, schedule=schedule, extra=coarse, density=density, symmetric=True, n_jobs=n_jobs, callback=callback
    )


class CoarseForce:
    """The force for one layout: called by the descent with iteration, ρ and positions."""

    def __init__(
        self,
        X: ArrayLike | Sparse,
        *,
        late: float | None = None,
        early: float = _EARLY,
        exaggeration: float = 12.0,
        again: int = _AGAIN,
    ) -> None:
        self._X = check_matrix(X, accept_sparse=True)
        if late is None:
            late = _LATE * min(1.0, (_WIDE / max(self._X.shape[0], 1)) ** 0.5)
        self._late = check_number(late, "late", low=0.0, open_low=True)
        self._early = check_number(early, "early", low=0.0, open_low=True)
        self._most = float(exaggeration)
        self._again = again

    def __call__(self, iteration: int, rho: float, Y: FloatArray) -> FloatArray:
        """Return the force on every row."""
        if iteration in (0, self._again):
            self._cut(Y)
        share = np.log(rho) / np.log(self._most) if self._most > 1.0 else 0.0
        gamma = self._late * (self._early / self._late) ** min(max(share, 0.0), 1.0)
        centres = np.column_stack([np.bincount(self._cell, axis) for axis in Y.T]) / self._count[:, None]
        gaps = centres[:, None] - centres[None]
        d = np.sqrt((gaps**2).sum(axis=-1))
        pairs = self._p[:, None] * self._p[None]
        fit = float((pairs * self._D**2).sum())
        alpha = float((pairs * self._D * d).sum()) / fit if fit > 0.0 else 0.0
        pull = np.divide(alpha * self._D - d, d, out=np.zeros_like(d), where=d > 0.0)
        force = rho * gamma * (self._p[None, :, None] * pull[..., None] * gaps).sum(axis=1)
        return force.astype(np.float32)[self._cell]

    def _cut(self, Y: FloatArray) -> None:
        """Cut cells by k-means of places; their distances are those of their means in the data."""
        places = Y.astype(np.float64)
        self._cell = _nearest(places, _centres(places[:: -(-len(places) // _SAMPLE)]))
        self._count = np.bincount(self._cell)
        self._p = self._count / len(places)
        means = self._means_in_data()
        squares = (means**2).sum(axis=1)
        self._D = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * means @ means.T, 0.0))
        np.fill_diagonal(self._D, 0.0)

    def _means_in_data(self) -> FloatArray:
        """Means of the cells' rows, a few rows at a time: the data may be large and in single precision."""
        n_cells, share = len(self._count), 1.0 / self._count
        means: Any = 0.0
        for rows in row_blocks(len(self._cell), _ROWS):
            cell = self._cell[rows]
            picks = sp.csr_array((share[cell], (cell, np.arange(len(cell)))), shape=(n_cells, len(cell)))
            means = means + picks @ self._X[rows]
        return means.toarray() if sp.issparse(means) else np.asarray(means)


def _centres(S: FloatArray) -> FloatArray:
    """Centres of cells, starting from the rows that are farthest from each other: nothing is random."""
    centres = [S.mean(axis=0)]
    far = ((S - centres[0]) ** 2).sum(axis=1)
    for _ in range(min(_CELLS, len(S)) - 1):
        centres.append(S[int(far.argmax())])
        far = np.minimum(far, ((S - centres[-1]) ** 2).sum(axis=1))
    found = np.array(centres)
    for _ in range(_PASSES):
        cell = _nearest(S, found)
        count = np.bincount(cell, minlength=len(found))
        order = np.argsort(cell, kind="stable")
        sums = np.add.reduceat(S[order], np.r_[0, np.cumsum(count[count > 0])[:-1]], axis=0)
        found[count > 0] = sums / count[count > 0, None]
    return found


def _nearest(Z: FloatArray, centres: FloatArray) -> IntArray:
    """Number of the nearest centre of every row, without unused numbers."""
    squares = (centres**2).sum(axis=1)
    parts = [
        np.argmin(squares - 2.0 * np.asarray(Z[first : first + _ROWS], dtype=np.float64) @ centres.T, axis=1)
        for first in range(0, len(Z), _ROWS)
    ]
    return np.unique(np.concatenate(parts), return_inverse=True)[1]
