"""Is the map dense where the data is, and stretched the way the data is?

======  ===================  =============================================================================
symbol  shape                meaning
======  ===================  =============================================================================
w_j     (k,)                 weights of a point's neighbours, 1/k
R^o_i   (n,) or (n, c)       mean squared distance to the neighbours in the data; per direction, the variance
                             σ²_l of the neighbours along their l-th principal direction
R^e_i   (n,) or (n, c)       the same in the map; per direction, along the gauge v_l (Eq. 14)
v_l     (c,)                 gauge: where the l-th principal direction of the data points to in the map
======  ===================  =============================================================================

The measures are Pearson correlations over the points of log R^o with log R^e (Eq. 21), or of log R₁/R₂ in both for the
anisotropy. Equation numbers are those of the FeatureMAP paper; R without a direction is densMAP's local radius.

Departures from the paper, so that any two maps can be compared. Neighbours have equal weights, not those of a method's
own graph: Eq. (2) leaves σ² unnormalised, so that it would depend on Σ_j P_ij, and Eq. (14) weights by Q_ij, which
depends on the map's scale (`curve` brings Q back). Neighbourhoods are centred at their mean on both sides; with the
paper's choice, ``center="point"``, the first direction is mostly the point's own noise. Unless `gauges` are given, they
are found by regression of the map on the principal directions: gauges that are not fitted to the layout point anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_bool, check_map, check_matrix, check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.metrics._nearest import Nearest, nearest
from manifolia.metrics._sampling import N_GROUPS, Estimate, check_sample, draw_rows, exact, spread
from manifolia.metrics._statistics import correlation
from manifolia.metrics.registry import card

_NAMES = ("radius_correlation", "anisotropy_correlation")

#: Added to a radius, as a share of the mean radius, before taking its logarithm, because duplicates have radius 0.
#: densMAP adds 1e-8 in the units of the data, which would make the result depend on them.
_FLOOR = 1e-8
#: The fewest points of a sample: its groups must leave a correlation to compute.
_MIN_SAMPLE = 10
#: Numbers gathered at once by a block.
_BLOCK_NUMBERS = 4_000_000


@card(
    "Density kept",
    "Do dense places stay dense and sparse ones sparse? Correlation of the radii of neighbourhoods.",
    range=(-1.0, 1.0),
    shown=("run",),
)
def radius_correlation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 15,
    *,
    directions: bool = False,
    graph: Sparse | None = None,
    gauges: FloatArray | None = None,
    curve: tuple[float, float] | None = None,
    center: str = "mean",
    sample: int | None = None,
    random_state: RandomState = None,
    return_ci: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Correlation of the local radii in the data and in the map: is the map dense where the data is.

    Without `directions`, a point's radius is the mean squared distance to its `n_neighbors` nearest points: in the data
    to those nearest there, in the map to those nearest in the map, as a reader of the map would see it. With
    `directions`, the neighbours are those in the data, and radii are compared along each principal direction.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data.
    Y : array-like of shape (n, n_components)
        Map.
    n_neighbors : int, default=15
        Neighbours, the point itself not counted.
    directions : bool, default=False
        Compare along each of the first n_components principal directions (Eq. 14 and 21). Their sum is Eq. (15). The
        radii of a point along its directions go together, so a high value here does not show that shapes are kept: see
        `anisotropy_correlation`.
    graph : sparse matrix of shape (n, n), default=None
        Weights μ_ij ≥ 0 of the edges, in place of the nearest neighbours: both radii are then weighted means over a
        row's edges (densMAP). Only without `directions`.
    gauges : ndarray of shape (n, n_components, n_components), default=None
        Directions in the map, ``gauges[i, :, l]`` belonging to the l-th principal direction of the data at point i,
        such as ``FeatureMAP.gauges_``. None: the nearest rotation to the regression of the map on the principal
        directions, at each point. Only with `directions`.
    curve : tuple (a, b), default=None
        Weights Q_ij = 1 / (1 + a ‖y_i − y_j‖^{2b}) in the map's radii (Eq. 12 and 14). None: equal weights. Only with
        `directions`.
    center : {"mean", "point"}, default="mean"
        Where the neighbourhoods of `directions` are centred: at their mean, or at the point as in the paper.
    sample : int, default=None
        Use this many points, drawn at random, with their neighbours among all points; None uses all.
    random_state : int, RandomState, Generator or None, default=None
        Draws the sample.
    return_ci : bool, default=False
        Also return the 95 % interval of a sampled value; it has no width when exact.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float, ndarray of shape (n_components,) or tuple
        In [−1, 1], higher is better, 0 where radii do not vary; with `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Narayan, Berger, Cho, "Assessing single-cell transcriptomic variability through density-preserving data
    visualization", Nature Biotechnology 39, 2021. FeatureMAP, Eq. (12), (14), (15), (21).
    """
    check_bool(return_ci, "return_ci")
    pair = _checked(X, Y, n_neighbors, sample, random_state, n_components=1)
    if check_bool(directions, "directions"):
        if graph is not None:
            raise ParameterError(
                "graph weights the isotropic radius and directions=True measures another. Leave one of them out.",
                parameter="graph",
            )
        high, low = _directional_radii(pair, None, _Ways(gauges, curve, center), n_jobs)
        along = [_estimate(_log(a), _log(b), pair) for a, b in zip(high.T, low.T, strict=True)]
        values, lows, highs = (np.array(part) for part in zip(*along, strict=True))
        return (values, (lows, highs)) if return_ci else values
    if gauges is not None or curve is not None:
        raise ParameterError(
            "gauges and curve belong to directions=True. Pass directions=True, or leave them out.", parameter="gauges"
        )
    if graph is None:
        found = nearest(pair.data, n_neighbors, rows=pair.rows, n_jobs=n_jobs)
        return _round(pair, found, n_jobs).result(return_ci=return_ci)
    high, low = _graph_radii(pair, graph, n_jobs)
    return _estimate(_log(high), _log(low), pair).result(return_ci=return_ci)


@card(
    "Shapes kept",
    "Do neighbourhoods that are stretched in the data stay stretched the same way?",
    range=(-1.0, 1.0),
)
def anisotropy_correlation(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 15,
    *,
    gauges: FloatArray | None = None,
    center: str = "mean",
    sample: int | None = None,
    random_state: RandomState = None,
    return_ci: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Correlation of the shapes of neighbourhoods: is the map stretched where the data is, and in the same direction.

    Pearson's correlation over the points of log R₁/R₂ in the map with log σ₁²/σ₂² in the data. Where the l-th
    direction of the map is the image of the l-th principal direction of the data, this shows what
    ``radius_correlation(directions=True)`` does not: a map that keeps densities but makes all neighbourhoods round
    scores 0.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, with at least two features.
    Y : array-like of shape (n, n_components)
        Map, with at least two components.
    n_neighbors : int, default=15
        Neighbours in the data, the point itself not counted.
    gauges : ndarray of shape (n, n_components, n_components), default=None
        As in `radius_correlation`.
    center : {"mean", "point"}, default="mean"
        As in `radius_correlation`.
    sample : int, default=None
        Use this many points, drawn at random; None uses all.
    random_state : int, RandomState, Generator or None, default=None
        Draws the sample.
    return_ci : bool, default=False
        Also return the 95 % interval of a sampled value; it has no width when exact.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float or tuple
        In [−1, 1], higher is better, 0 where shapes do not vary; with `return_ci` a tuple ``(value, (low, high))``.
    """
    check_bool(return_ci, "return_ci")
    pair = _checked(X, Y, n_neighbors, sample, random_state, n_components=2)
    return _shape(pair, None, _Ways(gauges, None, center), n_jobs).result(return_ci=return_ci)


def density_scores(
    X: ArrayLike,
    Y: ArrayLike,
    n_neighbors: int = 15,
    *,
    names: Sequence[str] = _NAMES,
    sample: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> dict[str, Estimate]:
    """Compute both measures of density from one search for neighbours in the data."""
    for name in names:
        check_option(name, "names", _NAMES)
    n_components = 2 if "anisotropy_correlation" in names else 1
    pair = _checked(X, Y, n_neighbors, sample, random_state, n_components=n_components)
    found = nearest(pair.data, n_neighbors, rows=pair.rows, n_jobs=n_jobs)
    return {
        name: _round(pair, found, n_jobs) if name == "radius_correlation" else _shape(pair, found, _Ways(), n_jobs)
        for name in names
    }


class _Ways(NamedTuple):
    """How directions are computed: gauges, weights and centre, as the public functions explain."""

    gauges: FloatArray | None = None
    curve: tuple[float, float] | None = None
    center: str = "mean"


class _Pair(NamedTuple):
    """Data and map, the rows that are judged and how many neighbours each has."""

    data: FloatArray
    coordinates: FloatArray
    rows: IntArray
    k: int


def _checked(
    X: ArrayLike, Y: ArrayLike, n_neighbors: int, sample: int | None, random_state: RandomState, n_components: int
) -> _Pair:
    data = check_matrix(X, min_rows=3, min_columns=n_components)
    n = data.shape[0]
    coordinates = check_map(Y, n_rows=n).astype(np.float64)
    if coordinates.shape[1] < n_components:
        raise ParameterError(
            f"Y must have at least {n_components} components to have a shape, got {coordinates.shape[1]}.",
            parameter="Y",
        )
    check_number(n_neighbors, "n_neighbors", low=1, high=n - 1, integer=True, hint=f"The data has {n} points.")
    size = check_sample(sample, low=_MIN_SAMPLE, high=n, what="points")
    rows = np.arange(n) if size is None else np.concatenate(draw_rows(n, size, random_state))
    return _Pair(data, coordinates, rows, n_neighbors)


def _log(radii: FloatArray) -> FloatArray:
    """Logarithm, with a floor for duplicates."""
    mean = float(radii.mean())
    return np.log(radii + _FLOOR * mean) if mean > 0 else np.zeros_like(radii)


def _estimate(a: FloatArray, b: FloatArray, pair: _Pair) -> Estimate:
    """Correlation over the rows, with an interval from leaving out one group of a sample at a time."""
    n, m = pair.data.shape[0], pair.rows.shape[0]
    if m == n:
        return exact(correlation(a, b))
    groups = np.array_split(np.arange(m), min(N_GROUPS, m))  # the rows come in random order
    others = [correlation(np.delete(a, group), np.delete(b, group)) for group in groups]
    found = spread(correlation(a, b), others, factor=(1 - m / n) * (len(groups) - 1) / len(groups))
    return found.within(-1.0, 1.0)


def _graph_radii(pair: _Pair, graph: Sparse, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Weighted mean squared length of each row's edges, in the data and in the map."""
    weights = check_matrix(graph, name="graph", accept_sparse=True)
    n = pair.data.shape[0]
    if not sp.issparse(weights) or weights.shape != (n, n):
        raise ParameterError(
            f"graph must be a sparse matrix of shape ({n}, {n}), got {type(graph).__name__} of shape {weights.shape}.",
            parameter="graph",
        )
    weights = sp.csr_array(weights)[pair.rows]
    if weights.nnz and weights.data.min() < 0:
        raise ParameterError(f"graph must have weights of at least 0, got {weights.data.min():g}.", parameter="graph")
    sums = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    if (sums == 0).any():
        raise ParameterError(
            f"graph has {int((sums == 0).sum())} rows without an edge, whose radius is undefined. "
            f"Pass a graph in which every point has a neighbour.",
            parameter="graph",
        )

    def run(part: slice) -> FloatArray:
        edges = sp.coo_array(weights[part])
        i, j = pair.rows[part][edges.row], edges.col
        out = np.zeros((2, part.stop - part.start))
        for side, values in enumerate((pair.data, pair.coordinates)):
            differences = values[i].astype(np.float64) - values[j]
            squares = edges.data * np.einsum("ij,ij->i", differences, differences)
            out[side] = np.bincount(edges.row, weights=squares, minlength=out.shape[1])
        return out

    height = max(1, _BLOCK_NUMBERS // (pair.data.shape[1] * max(1, weights.nnz // weights.shape[0])))
    total = np.concatenate(map_blocks(run, row_blocks(pair.rows.shape[0], min(height, 4096)), n_jobs=n_jobs), axis=1)
    return total[0] / sums, total[1] / sums


def _round(pair: _Pair, found: Nearest, n_jobs: int | None) -> Estimate:
    """Correlate the mean squared distances to the nearest, in the data and in the map."""
    in_map = nearest(pair.coordinates, pair.k, rows=pair.rows, n_jobs=n_jobs).distances
    return _estimate(_log((found.distances**2).mean(axis=1)), _log((in_map**2).mean(axis=1)), pair)


def _shape(pair: _Pair, found: Nearest | None, ways: _Ways, n_jobs: int | None) -> Estimate:
    """Correlate the ratios of the first two radii."""
    radii = _directional_radii(pair, found, ways, n_jobs)
    in_data, in_map = (_log(side[:, 0]) - _log(side[:, 1]) for side in radii)
    return _estimate(in_data, in_map, pair)


def _check_ways(pair: _Pair, ways: _Ways) -> None:
    check_option(ways.center, "center", ("mean", "point"))
    n, c = pair.coordinates.shape
    needed = c + 1 if ways.center == "mean" else c
    check_number(pair.k, "n_neighbors", low=needed, integer=True, hint=f"{c} directions need this many neighbours.")
    if pair.data.shape[1] < c:
        raise ValueError(f"X has {pair.data.shape[1]} features and Y {c} components: there are fewer directions in X.")
    if ways.gauges is not None:
        gauges = np.asarray(ways.gauges)
        if gauges.shape != (n, c, c) or not np.isfinite(gauges).all():
            raise ValueError(f"gauges must be finite and of shape ({n}, {c}, {c}), got shape {gauges.shape}.")
    if ways.curve is not None and not (len(ways.curve) == 2 and min(ways.curve) > 0):
        raise ValueError(f"curve must be a tuple (a, b) of two positive numbers, got {ways.curve!r}.")


def _directional_radii(
    pair: _Pair, found: Nearest | None, ways: _Ways, n_jobs: int | None
) -> tuple[FloatArray, FloatArray]:
    """R^o and R^e per direction, each of shape (rows, n_components); missing neighbours are searched for."""
    _check_ways(pair, ways)
    c = pair.coordinates.shape[1]
    nearby = (found or nearest(pair.data, pair.k, rows=pair.rows, n_jobs=n_jobs)).indices

    def run(part: slice) -> FloatArray:
        rows, neighbors = pair.rows[part], nearby[part]
        high = pair.data[neighbors].astype(np.float64) - pair.data[rows][:, None, :]
        low = pair.coordinates[neighbors] - pair.coordinates[rows][:, None, :]
        if ways.curve is None:
            weights = np.full(neighbors.shape, 1.0 / pair.k)
        else:
            weights = 1.0 / (1.0 + ways.curve[0] * (low**2).sum(axis=2) ** ways.curve[1])  # Eq. (12)
            weights /= weights.sum(axis=1, keepdims=True)
        if ways.center == "mean":
            high = high - high.mean(axis=1, keepdims=True)
            low = low - (weights[:, :, None] * low).sum(axis=1, keepdims=True)
        # Local principal components (Eq. 2) from the k × k Gram matrix: σ² = λ, tangent coordinates √k u_l σ_l.
        values, vectors = np.linalg.eigh(high @ high.transpose(0, 2, 1) / pair.k)
        variances = np.maximum(values[:, ::-1][:, :c], 0.0)
        if ways.gauges is not None:
            gauges = np.asarray(ways.gauges, dtype=np.float64)[rows]
        else:
            # The nearest rotation to the regression of the map on the tangent coordinates, each divided by its σ_l.
            # With the plain slopes thin directions would dominate the rotation (their slopes are steep) and a random
            # map would score below 0; with the covariances wide ones would, and it would score above.
            left, _, right = np.linalg.svd(low.transpose(0, 2, 1) @ vectors[:, :, ::-1][:, :, :c])
            gauges = left @ right
        along = low @ gauges
        return np.stack([variances, (weights[:, :, None] * along**2).sum(axis=1)])  # Eq. (14)

    height = max(1, min(512, _BLOCK_NUMBERS // (pair.k * pair.data.shape[1])))
    radii = np.concatenate(map_blocks(run, row_blocks(pair.rows.shape[0], height), n_jobs=n_jobs), axis=1)
    return radii[0], radii[1]
