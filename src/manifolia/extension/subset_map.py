"""A map of some rows and a formula for all: what kernel t-SNE and Fisher kernel t-SNE hold when they are fitted.

Some rows were laid out, by whatever method; the formula places every row by its distances to these, in the features or
in their principal components. A row's distance from what the map knows combines its distance to the fifth centre and,
at right angles to it, that to the components; rows of ``fit`` that were not laid out are the yardstick.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import fixed_gemm
from manifolia._core.random import as_generator, draw_by_class
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.extension.kernel_map import KernelMap, calibration_rows
from manifolia.extension.novelty import remoteness, tail_share, threshold
from manifolia.operators.projection import Projection


class SubsetMap(NamedTuple):
    """A fitted map of a subset."""

    rows: IntArray  # (m,): rows of fit that were laid out, ascending
    projection: Projection | None  # principal components of these rows, if they were reduced
    formula: KernelMap  # places rows by their distances to those laid out
    distances: FloatArray  # (n,): how far each row of fit is from what the map knows
    yardstick: FloatArray  # (k,): the same for ordinary rows

    def place(self, X: Any) -> FloatArray:
        """Place checked rows; with ``far="nan"`` of the formula, NaN beyond all rows of ``fit``."""
        Z = self.seen(X)
        if self.formula.far == "nearest":
            return self.formula.transform(Z)
        placed, near = self.formula._placed(Z, with_distance=True)
        placed[remoteness(near / self.formula._frame.scale, X, Z, self.projection) > self.yardstick.max()] = np.nan
        return placed

    def novelty(self, X: Any) -> FloatArray:
        """Compute the share of ordinary rows that is nearer to what the map knows; None: of the rows of ``fit``."""
        if X is None:
            return tail_share(self.distances, self.yardstick)
        Z = self.seen(X)
        return tail_share(remoteness(self.formula.distance(Z), X, Z, self.projection), self.yardstick)

    @property
    def threshold(self) -> float:
        """Novelty above which a row is called unlike those of ``fit``."""
        return threshold(len(self.yardstick))

    def jacobian(self, X: Any, rows: IntArray | slice = slice(None)) -> FloatArray:
        """Differentiate at some of the checked rows, or of the centres, with respect to the features."""
        J = self.formula.jacobian((self.formula.centers_ if X is None else self.seen(X))[rows])
        if self.projection is None:
            return J
        m, c, k = J.shape
        return fixed_gemm(J.reshape(m * c, k), self.projection.components.astype(np.float64)).reshape(m, c, -1)

    def seen(self, X: Any) -> Any:
        """Checked rows as the formula takes them."""
        return seen_rows(X, self.rows, self.projection, self.formula.metric)

    def check_restored(self, n_rows: int, n_features: int) -> None:
        """Check that arrays which came from a file fit together."""
        fits = self.yardstick.ndim == 1 and self.yardstick.size > 0 and self.distances.shape == (n_rows,)
        if self.projection is not None:
            mean, components = self.projection
            fits = fits and components.shape == (self.formula.n_features_in_, n_features)
            fits = fits and mean.shape == (n_features,)
        if not fits:
            raise ValueError("the components, the yardstick or the map of the model do not fit together.")


def choose_rows(n: int, n_train: int | None, labels: Array | None, seed: int) -> IntArray:
    """Choose the rows to lay out, ascending: at random, or in proportion to classes."""
    size = n if n_train is None else min(int(n_train), n)
    if size == n:
        return np.arange(n, dtype=np.intp)
    if labels is not None:
        return draw_by_class(np.unique(labels, return_inverse=True)[1], size, seed)
    return np.sort(as_generator(seed).choice(n, size, replace=False))


def seen_rows(X: Any, rows: IntArray, projection: Projection | None, metric: str) -> Any:
    """Rows as the formula takes them: distances to the rows laid out, principal components, or the features."""
    if metric == "precomputed":
        return np.ascontiguousarray(X[:, rows])
    return X if projection is None else projection.apply(X, X.dtype)


def place_all(
    X: Any,
    Z: Any,
    rows: IntArray,
    projection: Projection | None,
    formula: KernelMap,
    places: FloatArray,
) -> tuple[FloatArray, SubsetMap]:
    """Place all rows by the formula, those laid out where they were, and measure the yardstick of novelty."""
    embedding, near = formula._placed(Z, with_distance=True)
    embedding[rows] = places
    near[rows[formula.center_indices_]] = formula._own_distance()
    distances = remoteness(near / formula._frame.scale, X, Z, projection)
    ordinary = calibration_rows(X.shape[0], rows)
    yardstick = distances[rows if ordinary is None else ordinary]
    return embedding, SubsetMap(rows, projection, formula, distances, yardstick)
