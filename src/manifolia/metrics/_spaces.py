"""Data and map as spaces that give the distances of some rows to all, a block at a time.

How a distance is computed decides which distances are equal, so it is fixed here:

* Euclidean: squared differences in float64, added in the order of the columns. The result depends on the two rows
  alone: not on their place, on the block or on the number of threads. Duplicates are exactly 0 apart.
* Euclidean on whole numbers (pixels, counts, codes): ‖a‖² + ‖b‖² − 2 a·b by BLAS. All of its sums are integers below
  2⁵³, so it is exact and gives the same bits as the above, two to three times as fast.
* Cosine: 1 − cos = ‖a/‖a‖ − b/‖b‖‖² / 2, which keeps its digits for directions that almost agree.
* Manhattan: absolute differences, added in the order of the columns.
* Precomputed: the entries of the matrix; what rounding left below 0 counts as 0.

Squared distances are ranked where they are available; a root would only create ties.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_map, check_matrix, check_option
from manifolia.exceptions import ParameterError

METRICS = ("euclidean", "cosine", "manhattan", "precomputed")
#: Fewest rows: with two, every map is perfect.
MIN_ROWS = 3
#: Rows per block of distances where a block shares one pass over a lot of data: for BLAS, and above `_WIDE` columns. 72
#: MB for 70,000 points.
TALL = 128
_WIDE = 128
#: Rows per block elsewhere.
LOW = 32
#: With at least this many columns, BLAS beats the panels on whole numbers.
_BLAS_COLUMNS = 32
_EXACT = 2.0**53  # integers up to here are exact in float64
#: Squares of numbers beyond 2**±400 come close to the limits of float64; such data is rescaled by a power of two,
#: exactly.
_FAR_EXPONENT = 400
#: How far, as a share of the greatest distance, the two entries of a pair may differ and an entry may be below 0: more
#: than rounding errors, less than a mistake.
_ROUNDING = 1e-8
_CHUNK, _CHUNK_CELLS = 65_536, 2**23  # pairs measured at once, and numbers of these: 64 MiB


@dataclass(frozen=True)
class Space:
    """Points with a distance."""

    n: int  # Number of points
    kind: str  # What `keys` returns and how
    store: FloatArray  # Panels of points, the points (``"blas"``) or the distances (``"precomputed"``)
    squares: FloatArray | None = None  # (n,): squared norms, for ``"blas"``
    unit: float = 1.0  # What a distance is multiplied by, because the points were divided by it

    @property
    def height(self) -> int:
        """Rows to measure at once."""
        wide = self.kind != "precomputed" and self.store.shape[1] > _WIDE
        return TALL if wide or self.kind == "blas" else LOW

    def keys(self, rows: IntArray, first: int = 0) -> FloatArray:
        """Return numbers that order the distances of some rows to the points, starting at `first`."""
        if self.kind == "precomputed":
            return np.maximum(self.store[rows, first:], 0.0, dtype=np.float64)
        if self.kind == "blas":
            assert self.squares is not None
            out = self.store[rows] @ self.store[first:].T
            out *= -2.0
            out += self.squares[rows, None]
            out += self.squares[None, first:]
            return out
        from manifolia.kernels import panels

        width = panels.WIDTH
        out = np.empty((rows.shape[0], self.store.shape[0] * width - first))
        measure = panels.manhattan_distances if self.kind == "manhattan" else panels.squared_distances
        measure(self.points(rows), self.store, first // width, out)
        return out

    def distances(self, rows: IntArray, first: int = 0) -> FloatArray:
        """Return distances, as `keys` does."""
        return self._as_distance(self.keys(rows, first))

    def points(self, rows: IntArray) -> FloatArray:
        """Return coordinates, as they are stored."""
        if self.kind == "blas":
            return self.store[rows]
        width = self.store.shape[2]
        return np.ascontiguousarray(self.store[rows // width, :, rows % width])

    def pairs(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return the distances of given pairs."""
        if self.kind == "precomputed":
            return np.maximum(self.store[a, b], 0.0, dtype=np.float64)
        out = np.empty(a.shape[0])
        width = self.points(a[:1]).shape[1]
        for part in row_blocks(a.shape[0], min(_CHUNK, max(1, _CHUNK_CELLS // max(width, 1)))):
            difference = self.points(a[part]) - self.points(b[part])
            if self.kind == "manhattan":
                out[part] = np.abs(difference).sum(axis=1)
            else:
                out[part] = np.einsum("ij,ij->i", difference, difference)
        return self._as_distance(out)

    def subset(self, rows: IntArray) -> Space:
        """Return the space of some of its points."""
        m = rows.shape[0]
        if self.kind == "precomputed":
            return Space(m, self.kind, self.store[np.ix_(rows, rows)])
        if self.kind == "blas":
            assert self.squares is not None
            return Space(m, self.kind, self.store[rows], self.squares[rows], self.unit)
        return Space(m, self.kind, _packed(self.points(rows)), None, self.unit)

    def _as_distance(self, keys: FloatArray) -> FloatArray:
        """Turn keys into distances, in place."""
        if self.kind in {"squared", "blas"}:
            np.sqrt(keys, out=keys)
        elif self.kind == "half-squared":
            keys *= 0.5
        if self.unit != 1.0:
            keys *= self.unit
        return keys


def _packed(points: FloatArray) -> FloatArray:
    """Lay rows out in panels (see `manifolia.kernels.panels`), with zeros in place of missing rows."""
    from manifolia.kernels.panels import WIDTH

    n, d = points.shape
    n_panels = -(-n // WIDTH)
    out = np.zeros((n_panels, d, WIDTH))
    for p in range(n_panels):
        part = points[p * WIDTH : (p + 1) * WIDTH]
        out[p, :, : part.shape[0]] = part.T
    return out


def _largest(X: FloatArray) -> float:
    return max(float(X.max()), -float(X.min()))


def _rescaled(X: FloatArray) -> tuple[FloatArray, float]:
    """Divide by a power of two where squares would overflow or vanish; the division is exact."""
    largest = _largest(X)
    exponent = math.frexp(largest)[1]
    if abs(exponent) <= _FAR_EXPONENT or largest == 0.0:
        return X, 1.0
    return np.ldexp(X.astype(np.float64), -exponent), math.ldexp(1.0, exponent)


def _whole(X: FloatArray) -> bool:
    """Return whether all values are integers small enough that every sum in a squared distance is exact."""
    largest = _largest(X)
    if 4.0 * X.shape[1] * largest * largest >= _EXACT:
        return False
    return all(bool((X[part] == np.rint(X[part])).all()) for part in row_blocks(X.shape[0], 4096))


def _euclidean(X: FloatArray) -> Space:
    n = X.shape[0]
    if X.shape[1] >= _BLAS_COLUMNS and _whole(X):
        points = np.ascontiguousarray(X, dtype=np.float64)
        return Space(n, "blas", points, np.einsum("ij,ij->i", points, points))
    scaled, unit = _rescaled(X)
    return Space(n, "squared", _packed(scaled), None, unit)


def _cosine(X: FloatArray) -> Space:
    points = _rescaled(X)[0].astype(np.float64)
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    zero = np.flatnonzero(norms == 0.0)
    if zero.shape[0]:
        raise ValueError(
            f"metric='cosine' needs rows that have a direction, and X has {zero.shape[0]} rows of zeros "
            f"(the first is row {zero[0]}). Leave them out or choose another metric."
        )
    points /= norms[:, None]
    return Space(X.shape[0], "half-squared", _packed(points))


def _precomputed(D: FloatArray) -> Space:
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"metric='precomputed' takes a square matrix of distances, got X of shape {D.shape}. "
            f"Pass distances between all rows, or the data with metric='euclidean'."
        )
    largest = _largest(D)
    for part in row_blocks(n, TALL):
        if (D[part] < -_ROUNDING * largest).any():
            raise ParameterError(
                "X has negative entries and metric='precomputed' takes distances. Check the matrix.", parameter="X"
            )
        if (np.abs(D[part] - D[:, part].T) > _ROUNDING * largest).any():
            raise ParameterError(
                "X is not symmetric and metric='precomputed' takes distances. "
                "Pass (D + D.T) / 2 if that is what is meant.",
                parameter="X",
            )
    return Space(n, "precomputed", D)


def data_space(X: ArrayLike, metric: str = "euclidean") -> Space:
    """Check data and prepare its distances."""
    check_option(metric, "metric", METRICS)
    checked: FloatArray = check_matrix(X)
    if checked.shape[0] < MIN_ROWS:
        raise ParameterError(
            f"X must have at least {MIN_ROWS} rows, got {checked.shape[0]}. "
            f"With fewer, every map keeps every neighbourhood.",
            parameter="X",
        )
    if metric == "manhattan":
        return Space(checked.shape[0], "manhattan", _packed(checked))
    return {"precomputed": _precomputed, "cosine": _cosine, "euclidean": _euclidean}[metric](checked)


def spaces(X: ArrayLike, Y: ArrayLike, metric: str) -> tuple[Space, Space]:
    """Check data and map, and prepare the distances of both; those of the map are Euclidean."""
    data = data_space(X, metric)
    return data, _euclidean(check_map(Y, n_rows=data.n))


def tiles(rows: IntArray, n_parts: int, *of: Space) -> list[list[IntArray]]:
    """Distribute rows over parts of a computation, in tiles whose distances are computed at once."""
    pieces = [rows[part] for part in row_blocks(rows.shape[0], max(space.height for space in of))]
    n_parts = max(1, min(n_parts, len(pieces)))
    return [pieces[start::n_parts] for start in range(n_parts)]


def near_one(Y: FloatArray) -> FloatArray:
    """Scale a map by a power of two, without rounding, so that squares of tiny or huge coordinates are numbers."""
    return np.ldexp(Y, -np.frexp(np.abs(Y).max())[1]) + 0.0
