"""The formula of a kernel map: its frame, its widths, its coefficients, its derivative (section 3 of the paper).

    y(x) = Σ_j α_j k_j(x) / Σ_l k_l(x),    k_j(x) = exp(−½ d(x, x_j)²/σ_j²)

**Frame.** Rows are shifted to the mean of the centres and scaled by a power of two, so that neither the square of 1e-30
nor that of 1e+30 leaves the range of the arithmetic. Rows farther than 1,024 radii of the centres from their mean are
pulled back to that distance, along their direction: farther out, only the direction decides which centre is nearest,
while the differences between the distances get lost in rounding.

**Width.** The paper gives each centre the multiple of the distance d1_j to its nearest neighbour. An isolated centre
then gets a wide kernel, and rows far away belong to it. One width for all, a multiple of the median of the d1, places
new rows better. Which multiple depends on the map, smooth or in pieces; `choose_width`
finds it by leaving out each centre in turn. It uses the mean of log(1 + e²/m²), with e the error and m the median
distance to the 10th neighbour in the map: the square of e would be dominated by the few rows on the border of two
clusters.

The paper takes the smallest factor for which all entries of the matrix K of weights are representable: that of the
farthest centre must not underflow, ½ d²/(f d1)² + log Σ_l k_l ≤ −log of the smallest number. `smallest_factor` solves
this.

**Coefficients.** α = Y (Nadaraya and Watson), or the least squares of the paper.

**Derivative.** ∂y/∂x = Σ_j w_j (α_j − y)(x_j − x)ᵀ / σ_j², a c × d matrix for each row. Its column f is the arrow along
which the row moves when feature f grows; the length of the column says how much the feature matters there. The matrix's
largest singular value says how far the row moves under the small change of the data that moves it most: where it is
large, the map tears. A map of narrow kernels is a staircase: flat almost everywhere, steep between the steps. For
arrows, use the width that ``bandwidth="auto"`` finds, or a factor of 0.3 to 0.5.

**Mode.** A mean of neighbours that lie in two clusters is in neither. The mode is in one of them: with weights p_j of
the 3 × perplexity + 1 nearest centres, as t-SNE gives them, a row starts at the neighbour with the largest
Σ_l p_l / (1 + ‖y_j − y_l‖²/s²) and takes ten steps of mean shift ::

    y ← Σ_j v_j y_j / Σ_j v_j,    v_j = p_j / (1 + ‖y − y_j‖²/s²)²

with the map's own heavy-tailed kernel and s the median distance to the 10th neighbour in the map. A row at distance 0
of a centre is placed on it. It is an extension, not in the paper.

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
from scipy.spatial.distance import cdist

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import Array, FloatArray, IntArray, RandomState
from manifolia.exceptions import ParameterError
from manifolia.neighbors import Neighbors, kneighbors
from manifolia.neighbors.rows import unit_scale

#: Numbers of the metrics in the kernels.
KINDS = {"euclidean": 0, "manhattan": 1, "cosine": 2, "precomputed": 3}
#: Multiples of the median distance between nearest centres from which `choose_width` chooses.
FACTORS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5)
_ROWS = 2048  # rows mapped at once by a thread: small enough to stay in cache
#: Rows whose weights least squares holds in memory at once.
SOLVED_ROWS = 2048
_MODE_ROWS, _JACOBIAN_ROWS = 1024, 512
_RADII = 1024.0
_JUDGES = 1000  # centres that are left out in turn to judge a width
_MAP_NEIGHBOR = 10
_PAIR_ROWS = 256  # rows whose distances to all centres are held at once
#: Each step of `smallest_factor` multiplies the gap to the solution by a few thousandths.
_FACTOR_STEPS, _FACTOR_TOLERANCE = 20, 1e-12
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
    scale = unit_scale(spread)
    radius = float(np.sqrt((((C - shift) * scale) ** 2).sum(axis=1).max(initial=0.0)))
    return Frame(shift, scale, _RADII * (radius if radius > 0.0 else 1.0))


def framed(X: FloatArray, frame: Frame, dtype: Any) -> FloatArray:
    """Convert rows to a frame, each on its own."""
    from manifolia.kernels.kernel_map import framed_rows

    _check_columns(X, len(frame.shift))
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

    _check_formula(Z, made)
    out = np.empty((Z.shape[0], made.values.shape[1]))
    nobody = _nobody(Z.shape[0]) if own is None else own

    def run(rows: slice) -> None:
        mapped_rows(Z, made, nobody, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(Z.shape[0], _ROWS))
    return out


def _check_columns(X: FloatArray, n_columns: int) -> None:
    """Refuse rows that are not as wide as the centres: kernels do not check."""
    if X.shape[1] != n_columns:
        raise ParameterError(
            f"X has {X.shape[1]} columns and the centres of the map have {n_columns}. Pass the columns that the map "
            f"was fitted on.",
            parameter="X",
        )


def _check_formula(Z: FloatArray, made: Any) -> None:
    """Refuse rows, widths or coefficients that do not belong to the centres."""
    n_features, m = made.C.shape
    _check_columns(Z, m if made.kind == KINDS["precomputed"] else n_features)
    if made.precision.shape != (m,) or len(made.values) != m:
        raise ValueError(
            f"the map has {m} centres, {len(made.precision)} widths and {len(made.values)} coefficients. Fit it again."
        )


def _nobody(n: int) -> IntArray:
    return np.full(n, -1, dtype=np.int64)


def nearest_gaps(C: FloatArray, *, metric: str) -> FloatArray:
    """Measure how far away the nearest centre in another place is."""
    m = C.shape[0]
    if m < 2:
        return np.ones(m)
    near = kneighbors(C, min(8, m - 1), metric=metric, exact=True)
    found = np.where(near.distances > 0.0, near.distances, np.inf).min(axis=1).astype(np.float64)
    positive = found[np.isfinite(found)]
    found[~np.isfinite(found)] = np.median(positive) if positive.size else 1.0
    return found


def map_scale(Y: FloatArray) -> float:
    """Measure how far apart neighbours are in a map."""
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


def smallest_factor(C: FloatArray, gaps: FloatArray, *, metric: str) -> float:
    """Find the smallest factor for which no weight that the centres give one another underflows (section 3).

    With a_ij = ½ d_ij²/d1_j² it is the least f with a_ij/f² + log Σ_l exp(−a_il/f²) ≤ L for all pairs. The sum grows
    with f and is at most the number of centres, so that f ← max √(a_ij / (L − log Σ_l exp(−a_il/f²))) rises to it.
    """
    limit = -float(np.log(np.finfo(np.float64).tiny))
    blocks = row_blocks(len(C), _PAIR_ROWS)

    def exponents(rows: slice) -> FloatArray:
        if metric == "precomputed":
            D = np.asarray(C[rows], dtype=np.float64)
        else:
            D = cdist(C[rows], C, "cityblock" if metric == "manhattan" else "sqeuclidean").astype(np.float64)
            D = {"manhattan": D, "cosine": D / 2}.get(metric, np.sqrt(D))
        return np.asarray(0.5 * (D / gaps) ** 2)

    def step(factor: float) -> float:
        found = 0.0
        for rows in blocks:
            a = exponents(rows)
            total = np.exp(-a / factor**2).sum(axis=1) if factor > 0.0 else np.ones(len(a))
            found = max(found, float(np.sqrt(a.max(axis=1) / (limit - np.log(total))).max()))
        return found

    factor = step(0.0)
    if factor == 0.0:  # all centres in one place
        return 1.0
    for _ in range(_FACTOR_STEPS):
        before, factor = factor, max(factor, step(factor))
        if factor - before <= _FACTOR_TOLERANCE * factor:
            break
    return factor


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
        # Two means may have the same nearest row; rows drawn earlier fill the gaps.
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
            16.0 * n * m, step=f"least squares of {n} rows on {m} centres", remedy="Set ridge above 0, or n_centers."
        )
        K = _gram(Z, made)
        with threads(1):
            return np.asarray(np.linalg.lstsq(K, Y.astype(np.float64), rcond=None)[0])
    left = np.zeros((m, m))
    right = np.zeros((m, Y.shape[1]))
    for rows in row_blocks(n, SOLVED_ROWS):
        K = _gram(Z[rows], made)
        with threads(1):
            left += K.T @ K
            right += K.T @ (Y[rows] - K @ made.values)
    left[np.diag_indices(m)] += ridge
    with threads(1):
        return made.values + np.linalg.solve(left, right)


def _gram(Z: Array, made: Any) -> FloatArray:
    from manifolia.kernels.kernel_map import weight_rows

    _check_formula(Z, made)
    K = np.zeros((Z.shape[0], made.values.shape[0]))
    nobody = _nobody(len(Z))

    def run(rows: slice) -> None:
        weight_rows(Z, made, nobody, K, rows.start, rows.stop)

    map_blocks(run, row_blocks(len(Z), 256))
    return K


def jacobian(X: FloatArray, Z: FloatArray, made: Any, frame: Frame) -> FloatArray:
    """Differentiate a kernel map at rows, each alone."""
    from manifolia.kernels.kernel_map import jacobian_rows

    _check_formula(Z, made)
    n, d = Z.shape
    J = np.empty((n, made.values.shape[1], d))
    nobody = _nobody(n)

    def run(rows: slice) -> None:
        jacobian_rows(Z, made, nobody, J, rows.start, rows.stop)

    map_blocks(run, row_blocks(n, _JACOBIAN_ROWS))
    J *= frame.scale
    moved = (X.astype(np.float64) - frame.shift) * frame.scale
    for i in np.flatnonzero(np.abs(moved).max(axis=1) > frame.limit / np.sqrt(d)):
        top = np.abs(moved[i]).max()
        length = top * np.sqrt(((moved[i] / top) ** 2).sum())
        if length > frame.limit:
            away = moved[i] / length
            J[i] = (J[i] - np.outer((J[i] * away).sum(axis=1), away)) * (frame.limit / length)
    return J


def importance_from_jacobian(J: FloatArray) -> FloatArray:
    """Measure how much each feature matters at each row."""
    lengths: FloatArray = np.sqrt((J**2).sum(axis=1))
    longest = lengths.max(axis=1, keepdims=True)
    return np.divide(lengths, longest, out=np.zeros_like(lengths), where=longest > 0.0)


def sensitivity_from_jacobian(J: FloatArray) -> FloatArray:
    """Measure how far each row moves under the small change of the data that moves it most."""
    # The c × c Gram matrix has the same, squared, and c is 2 or 3.
    gram = np.einsum("iaf,ibf->iab", J, J)
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, -1], 0.0))


def mode_neighbors(perplexity: float, n_points: int) -> int:
    """Return how many neighbours a perplexity needs."""
    return min(int(3 * perplexity) + 1, n_points)


def place_at_mode(near: Neighbors, Y: FloatArray, *, perplexity: float, scale: float) -> FloatArray:
    """Place rows at the mode of their neighbours, each alone."""
    from manifolia.kernels.kernel_map import mode_rows

    n = near.indices.shape[0]
    out = np.empty((n, Y.shape[1]))
    points = np.ascontiguousarray(Y, dtype=np.float64)
    indices = np.ascontiguousarray(near.indices)
    if indices.size and (indices.min() < 0 or indices.max() >= len(points)):
        raise ValueError(f"the neighbours are rows {indices.min()} to {indices.max()} of {len(points)} on the map.")
    distances = np.ascontiguousarray(near.distances, dtype=np.float64)

    def run(rows: slice) -> None:
        mode_rows(indices, distances, points, float(perplexity), scale * scale, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(n, _MODE_ROWS))
    return out
