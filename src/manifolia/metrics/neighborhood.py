"""How well a map keeps small neighbourhoods: trustworthiness, continuity and neighbour recall.

========  =====================================================================
symbol    meaning
========  =====================================================================
n, k      points, and neighbours of each
ρ_ij      rank of j among the points nearest to i in the data, from 1
r_ij      the same in the map
G_k       the greatest penalty one point can have: k (2n − 3k − 1)/2 for k < n/2,
          (n − k)(n − k − 1)/2 from there on
========  =====================================================================

====================  ===============================================  ==========================================
measure               formula                                          what lowers it
====================  ===============================================  ==========================================
`trustworthiness`     1 − Σ_i Σ_{r_ij ≤ k} max(0, ρ_ij − k) / (n G_k)  points near in the map and far in the data
`continuity`          1 − Σ_i Σ_{ρ_ij ≤ k} max(0, r_ij − k) / (n G_k)  points near in the data and far in the map
`neighbor_recall`     Σ_i #{j : ρ_ij ≤ k and r_ij ≤ k} / (n k)         neighbours that are not kept
====================  ===============================================  ==========================================

Each is a mean over points; ``pointwise=True`` returns the terms. Several k cost hardly more than the largest alone. Of
two points at equal distance the one that comes first in the data has the lower rank, in the data and in the map alike.
A constant map then gives all points the same neighbours: a recall near k/(n − 1), which is chance.

All is exact: distances in float64, ranks among all n points, rows in blocks on threads. With `sample` the mean is taken
over this many random points, each still ranked among all, so that it has no bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_option
from manifolia.metrics._ranks import neighbor_ranks
from manifolia.metrics._sampling import (
    Estimate,
    check_sample,
    check_sizes,
    draw_rows,
    exact,
    jackknife_factor,
    one_of,
    spread,
)
from manifolia.metrics._spaces import Space, spaces, tiles
from manifolia.metrics.registry import card

#: Number of neighbours when the user does not say.
DEFAULT_K = 10
_NAMES = ("trustworthiness", "continuity", "neighbor_recall")


def _worst(k: IntArray, n: int) -> FloatArray:
    """G_k: all of a point's k neighbours in one space are its farthest in the other."""
    few = k * (2 * n - 3 * k - 1)
    many = (n - k) * (n - k - 1)
    return np.where(2 * k < n, few, many) / 2.0


def _terms(data: Space, plane: Space, rows: IntArray, ks: IntArray, names: Sequence[str]) -> dict[str, IntArray]:
    """Penalties, or neighbours kept, of some rows for each k; shape (h, n_ks)."""
    keys, k_most = (data.keys(rows), plane.keys(rows)), int(ks.max())
    out: dict[str, IntArray] = {}
    if "continuity" in names:
        found = neighbor_ranks(keys[1], keys[0], rows, data.n, k_most)
        out["continuity"] = np.stack([np.maximum(found[:, :k] - k, 0).sum(axis=1) for k in ks], axis=1)
    if "trustworthiness" in names or "neighbor_recall" in names:
        found = neighbor_ranks(keys[0], keys[1], rows, data.n, k_most)
        if "trustworthiness" in names:
            out["trustworthiness"] = np.stack([np.maximum(found[:, :k] - k, 0).sum(axis=1) for k in ks], axis=1)
        if "neighbor_recall" in names:
            out["neighbor_recall"] = np.stack([(found[:, :k] <= k).sum(axis=1) for k in ks], axis=1)
    return out


def _collect(
    data: Space, plane: Space, rows: IntArray, ks: IntArray, names: Sequence[str], n_jobs: int | None
) -> dict[str, IntArray]:
    """Terms of all given rows, in their order."""
    pieces = [tile for part in tiles(rows, 1, data, plane) for tile in part]
    found = map_blocks(lambda tile: _terms(data, plane, tile, ks, names), pieces, n_jobs=n_jobs, anywhere=True)
    return {name: np.concatenate([terms[name] for terms in found]) for name in names}


def _score(name: str, terms: Any, count: Any, ks: IntArray, n: int) -> FloatArray:
    """Turn sums of terms over `count` rows into the measure."""
    if name == "neighbor_recall":
        return np.asarray(terms / (ks * count), dtype=np.float64)
    return np.asarray(1.0 - terms / (_worst(ks, n) * count), dtype=np.float64)


def neighborhood_scores(
    X: ArrayLike,
    Y: ArrayLike,
    k: int | Sequence[int] = DEFAULT_K,
    *,
    names: Sequence[str] = _NAMES,
    metric: str = "euclidean",
    pointwise: bool = False,
    sample: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> dict[str, Estimate]:
    """Compute several measures of neighbourhoods in one pass over the rows.

    Parameters
    ----------
    X : array-like of shape (n, d), or (n, n) for metric="precomputed"
        Data, or the distances between its rows.
    Y : array-like of shape (n, n_components)
        Map; its distances are Euclidean.
    k : int or sequence of int, default=10
        Neighbours, from 1 to n − 2; several at once cost hardly more than the greatest.
    names : sequence of str, default=("trustworthiness", "continuity", "neighbor_recall")
        Which.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance between rows of `X`.
    pointwise : bool, default=False
        Return the value of every point instead of the mean.
    sample : int, default=None
        Estimate the mean from this many rows; None is exact.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the sample.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    """
    for name in names:
        check_option(name, "names", _NAMES)
    data, plane = spaces(X, Y, metric)
    n = data.n
    single, ks = np.ndim(k) == 0, np.asarray(check_sizes(k, n), dtype=np.int64)
    size = check_sample(sample, low=2, high=n, what="rows")

    def shaped(scores: FloatArray) -> Any:
        return float(scores[0]) if single else scores

    if size is None:
        terms = _collect(data, plane, np.arange(n), ks, names, n_jobs)
        if pointwise:
            scores = {name: _score(name, terms[name], 1, ks, n) for name in names}
            return {name: exact(values[:, 0] if single else values) for name, values in scores.items()}
        return {name: exact(shaped(_score(name, terms[name].sum(axis=0), n, ks, n))) for name in names}
    groups = draw_rows(n, size, random_state)
    terms = _collect(data, plane, np.concatenate(groups), ks, names, n_jobs)
    counts = np.array([group.shape[0] for group in groups])
    starts = np.cumsum(counts) - counts
    factor = jackknife_factor(len(groups), share=size / n)
    out = {}
    for name in names:
        sums = np.add.reduceat(terms[name], starts, axis=0)
        value = _score(name, sums.sum(axis=0), size, ks, n)
        others = _score(name, sums.sum(axis=0) - sums, (size - counts)[:, None], ks, n)
        out[name] = spread(shaped(value), others[:, 0] if single else others, factor=factor).within(0.0, 1.0)
    return out


@card(
    "Trustworthiness",
    "Is what lies close in the map close in the data? Falls when rows lie together that are far apart in the data.",
    shown=("run", "page"),
)
@one_of(neighborhood_scores)
def trustworthiness(X: ArrayLike, Y: ArrayLike, *k: Any, **options: Any) -> Any:
    """Measure how far neighbours in the map are neighbours in the data.

    Equal to ``sklearn.manifold.trustworthiness`` where no distances are tied and k < n/2, which that function requires.

    Parameters
    ----------
    {options}

    Returns
    -------
    float or ndarray
        In [0, 1], higher is better; 1 for a perfect map. An array with one value for each k if `k` is a
        sequence; of shape (n,) or (n, n_k) with `pointwise`. With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Venna, Kaski, "Local multidimensional scaling", Neural Networks 19, 2006.
    """


@card(
    "Continuity",
    "Is what is close in the data still together? Falls when the map tears neighbours apart.",
    shown=("run", "page"),
)
@one_of(neighborhood_scores)
def continuity(X: ArrayLike, Y: ArrayLike, *k: Any, **options: Any) -> Any:
    """Measure how far neighbours in the data are neighbours in the map.

    Trustworthiness with data and map swapped.

    Parameters
    ----------
    {options}

    Returns
    -------
    float or ndarray
        In [0, 1], higher is better; 1 for a perfect map. An array with one value for each k if `k` is a
        sequence; of shape (n,) or (n, n_k) with `pointwise`. With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Venna, Kaski, "Local multidimensional scaling", Neural Networks 19, 2006.
    """


@card(
    "Neighbours kept",
    "Share of each row's nearest rows in the data that are also among its nearest in the map.",
    shown=("run", "page"),
)
@one_of(neighborhood_scores)
def neighbor_recall(X: ArrayLike, Y: ArrayLike, *k: Any, **options: Any) -> Any:
    """Share of the k nearest neighbours in the data that are among the k nearest in the map.

    Q_NX at k (see `q_nx`); k/(n − 1) for a random map.

    Parameters
    ----------
    {options}

    Returns
    -------
    float or ndarray
        In [0, 1], higher is better; 1 for a perfect map. An array with one value for each k if `k` is a
        sequence; of shape (n,) or (n, n_k) with `pointwise`. With `return_ci` a tuple ``(value, (low, high))``.

    References
    ----------
    Lee, Verleysen, "Quality assessment of dimensionality reduction: rank-based criteria", Neurocomputing 72, 2009.
    """
