"""A weak force that keeps the large-scale arrangement of the data: places of cells' means follow a stress.

The rows are cut into m cells. With c_a the mean place of cell a in the map, D_ab the distance of the means of two cells
in the data, p_b the share of rows in cell b, d_ab = ‖c_a − c_b‖ and α the scale that fits best, a row of cell a feels

    G_a = ρ γ Σ_b p_b (α D_ab − d_ab) (c_a − c_b) / d_ab,    α = Σ p_a p_b D_ab d_ab / Σ p_a p_b D_ab²

the slope of a weighted stress. The first cells are those of the data (k-means of a sample); once the rows have found
their neighbours, cells are cut from the map itself, with means taken in the data, so that no cell pulls apart what the
graph holds together. γ falls with the exaggeration ρ: a strong late pull tears groups (seen at 0.03 and above).

It is passed to `manifolia.layout.forces.neighbor_forces` as ``extra``. Sums over rows are made in one order, so that
the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_matrix, check_number

_CELLS = 64
_SAMPLE, _MAP_SAMPLE = 2_500, 5_000  # rows that k-means looks at
_PASSES = 10  # of k-means
_OWN_CELLS = 50  # iterations after which cells are cut from the map
_EARLY, _LATE = 0.1, 0.01  # γ while the attraction is exaggerated, and at the end
_ROWS = 4096  # assigned at a time


class CoarseForce:
    """The force for one layout: called by the descent with iteration, ρ and positions."""

    def __init__(self, X: ArrayLike, *, late: float = _LATE, early: float = _EARLY, exaggeration: float = 12.0) -> None:
        self._X = check_matrix(X)
        self._late = check_number(late, "late", low=0.0, open_low=True)
        self._early = check_number(early, "early", low=0.0, open_low=True)
        self._most = float(exaggeration)
        self._cut(self._X, _SAMPLE)

    def __call__(self, iteration: int, rho: float, Y: FloatArray) -> FloatArray:
        """Return the force on every row."""
        if iteration == _OWN_CELLS:
            self._cut(Y.astype(np.float64), _MAP_SAMPLE)
        share = np.log(rho) / np.log(self._most) if self._most > 1.0 else 0.0
        gamma = self._late * (self._early / self._late) ** min(max(share, 0.0), 1.0)
        centres = self._means(Y)
        gaps = centres[:, None] - centres[None]
        d = np.sqrt((gaps**2).sum(axis=-1))
        pairs = self._p[:, None] * self._p[None]
        fit = float((pairs * self._D**2).sum())
        alpha = float((pairs * self._D * d).sum()) / fit if fit > 0.0 else 0.0
        pull = np.divide(alpha * self._D - d, d, out=np.zeros_like(d), where=d > 0.0)
        force = rho * gamma * (self._p[None, :, None] * pull[..., None] * gaps).sum(axis=1)
        return force.astype(np.float32)[self._cell]

    def stress(self, Y: FloatArray) -> float:
        """Weighted stress of the cells' places: 0 where they lie as in the data."""
        centres = self._means(Y)
        d = np.sqrt(((centres[:, None] - centres[None]) ** 2).sum(axis=-1))
        pairs = self._p[:, None] * self._p[None]
        alpha = (pairs * self._D * d).sum() / (pairs * self._D**2).sum()
        return float((pairs * (alpha * self._D - d) ** 2).sum() / (pairs * (alpha * self._D) ** 2).sum())

    def _cut(self, Z: FloatArray, sample: int) -> None:
        """Cut cells by k-means of places or rows; their distances are those of their means in the data."""
        self._cell = _nearest(Z, _centres(Z[:: -(-len(Z) // sample)].astype(np.float64)))
        self._count = np.bincount(self._cell).astype(np.float64)
        self._p = self._count / self._count.sum()
        means = self._means(self._X)
        squares = (means**2).sum(axis=1)
        self._D = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * means @ means.T, 0.0))
        np.fill_diagonal(self._D, 0.0)

    def _means(self, Z: FloatArray) -> FloatArray:
        """Means of the cells, column by column."""
        sums = [np.bincount(self._cell, column, len(self._count)) for column in np.asarray(Z).T]
        return np.column_stack(sums) / np.maximum(self._count, 1.0)[:, None]


def _centres(S: FloatArray) -> FloatArray:
    """Centres of cells, from a start of rows that are farthest from each other: nothing is drawn."""
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
    """Number of the nearest centre of every row, without numbers that nobody has."""
    squares = (centres**2).sum(axis=1)
    parts = [
        np.argmin(squares - 2.0 * np.asarray(Z[first : first + _ROWS], dtype=np.float64) @ centres.T, axis=1)
        for first in range(0, len(Z), _ROWS)
    ]
    return np.unique(np.concatenate(parts), return_inverse=True)[1]
