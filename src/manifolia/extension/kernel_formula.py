"""The formula of a kernel map: its frame, its widths, its coefficients (section 3 of the paper).

    y(x) = Σ_j α_j k_j(x) / Σ_l k_l(x),    k_j(x) = exp(−½ d(x, x_j)²/σ_j²)

**Frame.** Rows are shifted to the mean of the centres and scaled by a power of two, so that neither the square of 1e-30
nor that of 1e+30 leaves the range of the arithmetic. Rows farther than 1,024 radii of the centres from their mean are
pulled back to that distance, along their direction: from there on, which centre is nearest depends on the direction
alone, while the differences between the distances get lost in rounding.

**Width.** The paper gives each centre the multiple of the distance d1_j to its nearest neighbour. An isolated centre
then gets a wide kernel, and rows far away belong to it. One width for all, a multiple of the median of the d1, places
new rows better. Which multiple depends on the map, smooth or in pieces; `choose_width`
finds it by leaving out each centre in turn. It takes the mean of log(1 + e²/m²), with e the error and m the median
distance to the 10th neighbour in the map: the square of e would count the few rows on the border of two clusters and
no others.

**Coefficients.** α = Y (Nadaraya and Watson), or the least squares of the paper.

=========  ==============================================  ===========
symbol     meaning                                         shape
=========  ==============================================  ===========
C          centres                                         (m, d)
d1         distance of a centre to the nearest other one   (m,)
α          coefficients                                    (m, c)
K          weights of the centres, rows sum to 1           (n, m)
λ          ridge                                           scalar
=========  ==============================================  ===========
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import Array, FloatArray, IntArray, RandomState
from manifolia.neighbors import kneighbors

__all__ = [
    "KINDS",
    "Frame",
    "choose_centers",
    "choose_width",
    "evaluate",
    "frame_of",
    "framed",
    "formula",
    "map_scale",
    "nearest_gaps",
    "solve",
]

#: Numbers of the metrics in the kernels.
KINDS = {"euclidean": 0, "manhattan": 1, "cosine": 2, "precomputed": 3}
#: Multiples of the median distance between nearest centres, among which `choose_width` chooses.
FACTORS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5)
_ROWS = 2048  # rows mapped at once by a thread: small enough to stay in cache
_RADII = 1024.0
_JUDGES = 1000  # centres that are left out in turn to judge a width
_MAP_NEIGHBOR = 10
_LLOYD = 20  # rounds of k-means; centres need to be spread, not optimal


class Frame(NamedTuple):
    """Where the origin of the centres is, and their unit."""

    shift: FloatArray  # (d,): mean of the centres
    scale: float  # A power of two
    limit: float  # Largest distance from the origin, in the frame


def frame_of(C: FloatArray) -> Frame:
    """Find the frame of centres."""
    shift = C.mean(axis=0, dtype=np.float64)
    spread = float(np.abs(C - shift).max(initial=0.0))
    scale = float(np.ldexp(1.0, -int(np.frexp(spread)[1]))) if spread > 0.0 else 1.0
    radius = float(np.sqrt((((C - shift) * scale) ** 2).sum(axis=1).max(initial=0.0)))
    return Frame(shift, scale, _RADII * (radius if radius > 0.0 else 1.0))


def framed(X: FloatArray, frame: Frame, dtype: Any) -> FloatArray:
    """Bring rows into a frame, each alone."""
    from manifolia.kernels.kernel_map import framed_rows

    out = np.empty(X.shape, dtype=dtype)

    def run(rows: slice) -> None:
        framed_rows(X, frame.shift, frame.scale, frame.limit, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(X.shape[0], _ROWS))
    return out


def formula(C: FloatArray, sigma: FloatArray, values: FloatArray, *, metric: str, dtype: Any) -> Any:
    """Put a formula together, in the precision that it is computed in."""
    from manifolia.kernels.kernel_map import Formula

    across = np.ascontiguousarray(C.T if metric != "precomputed" else np.empty((1, len(C))), dtype=dtype)
    precision = (0.5 / np.asarray(sigma, dtype=np.float64) ** 2).astype(dtype)
    return Formula(across, precision, np.ascontiguousarray(values, dtype=np.float64), KINDS[metric])


def evaluate(Z: FloatArray, made: Any, *, own: IntArray | None = None) -> FloatArray:
    """Map rows by a formula, each alone."""
    from manifolia.kernels.kernel_map import mapped_rows

    out = np.empty((Z.shape[0], made.values.shape[1]))
    nobody = _nobody(Z.shape[0]) if own is None else own

    def run(rows: slice) -> None:
        mapped_rows(Z, made, nobody, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(Z.shape[0], _ROWS))
    return out


def _nobody(n: int) -> IntArray:
    return np.full(n, -1, dtype=np.int64)


def nearest_gaps(C: FloatArray, *, metric: str) -> FloatArray:
    """Measure how far the nearest centre at another place is."""
    m = C.shape[0]
    if m < 2:
        return np.ones(m)
    near = kneighbors(C, min(8, m - 1), metric=metric, exact=True)
    found = np.where(near.distances > 0.0, near.distances, np.inf).min(axis=1).astype(np.float64)
    positive = found[np.isfinite(found)]
    found[~np.isfinite(found)] = np.median(positive) if positive.size else 1.0
    return found


def map_scale(Y: FloatArray) -> float:
    """Measure how far neighbours are apart in a map."""
    if len(Y) < 2:
        return 1.0
    k = min(_MAP_NEIGHBOR, len(Y) - 1)
    return float(np.median(kneighbors(Y, k, exact=True).distances[:, -1])) or 1.0


def choose_width(C: FloatArray, Y: FloatArray, unit: float, *, metric: str, dtype: Any) -> float:
    """Choose one width for all centres by leaving out each in turn."""
    m = len(C)
    if m < 3:
        return FACTORS[0]
    judges = np.unique(np.linspace(0, m - 1, min(m, _JUDGES)).astype(np.int64))
    rows = np.ascontiguousarray(C[judges], dtype=dtype)
    square = map_scale(Y) ** 2
    losses = []
    for factor in FACTORS:
        made = formula(C, np.full(m, factor * unit), Y, metric=metric, dtype=dtype)
        error = ((evaluate(rows, made, own=judges) - Y[judges]) ** 2).sum(axis=1)
        losses.append(float(np.log1p(error / square).mean()))
    return FACTORS[int(np.argmin(losses))]


def choose_centers(Z: FloatArray, n_centers: int, *, kind: str, random_state: RandomState = None) -> IntArray:
    """Choose rows to be centres."""
    rng = as_generator(random_state)
    n = Z.shape[0]
    drawn = rng.choice(n, n_centers, replace=False).astype(np.intp)
    if kind == "farthest":
        return np.sort(_farthest(Z, drawn))
    if kind == "kmeans":
        from manifolia.neighbors import NeighborIndex

        means = Z[drawn].astype(np.float64)
        for _ in range(_LLOYD):
            group = NeighborIndex(means, exact=True).query(Z, 1).indices[:, 0]
            size = np.bincount(group, minlength=n_centers)
            totals = np.stack([np.bincount(group, weights=column, minlength=n_centers) for column in Z.T], axis=1)
            means = np.where(size[:, None] > 0, totals / np.maximum(size, 1)[:, None], means)
        chosen = np.unique(NeighborIndex(Z, exact=True).query(means, 1).indices[:, 0])
        # Two means may have the same nearest row; rows drawn before fill up.
        rest = drawn[~np.isin(drawn, chosen)]
        drawn = np.concatenate([chosen, rest])[:n_centers]
    return np.sort(drawn)


def _farthest(Z: FloatArray, drawn: IntArray) -> IntArray:
    chosen = np.empty(len(drawn), dtype=np.intp)
    chosen[0] = drawn[0]
    nearest = ((Z - Z[chosen[0]]) ** 2).sum(axis=1)
    for i in range(1, len(drawn)):
        # With nothing but duplicates left, any row not yet chosen will do.
        nearest[chosen[:i]] = -1.0
        chosen[i] = int(np.argmax(nearest))
        nearest = np.minimum(nearest, ((Z - Z[chosen[i]]) ** 2).sum(axis=1))
    return chosen


def solve(Z: FloatArray, Y: FloatArray, made: Any, *, ridge: float) -> FloatArray:
    """Find the coefficients by least squares over all rows."""
    n, m = Z.shape[0], made.values.shape[0]
    if ridge == 0.0:
        memory.require(
            24.0 * n * m, step=f"least squares of {n} rows on {m} centres", remedy="Set ridge above 0, or n_centers."
        )
        K = _gram(Z, made)
        with threads(1):
            return np.asarray(np.linalg.lstsq(K, Y.astype(np.float64), rcond=None)[0])
    left = np.zeros((m, m))
    right = np.zeros((m, Y.shape[1]))
    for rows in row_blocks(n, _ROWS):
        K = _gram(Z[rows], made)
        with threads(1):
            left += K.T @ K
            right += K.T @ (Y[rows] - K @ made.values)
    left[np.diag_indices(m)] += ridge
    with threads(1):
        return made.values + np.linalg.solve(left, right)


def _gram(Z: Array, made: Any) -> FloatArray:
    from manifolia.kernels.kernel_map import weight_rows

    K = np.zeros((Z.shape[0], made.values.shape[0]))
    nobody = _nobody(len(Z))

    def run(rows: slice) -> None:
        weight_rows(Z, made, nobody, K, rows.start, rows.stop)

    map_blocks(run, row_blocks(len(Z), 256))
    return K
