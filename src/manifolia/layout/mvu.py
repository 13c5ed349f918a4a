"""Maximum variance unfolding: as much variance as the distances of neighbours allow.

    max Σ_i ‖v_i‖²    subject to    Σ_i v_i = 0,    ‖v_i − v_j‖² = d_ij² for i, j near each other

(Weinberger and Saul 2006). With K = VVᵀ it is a semidefinite programme. Here V itself is sought, with few columns, by
an augmented Lagrangian (Burer and Monteiro 2003): no solver of semidefinite programmes is needed, and n r numbers
instead of n². Its steps are those of L-BFGS in the coordinates in which the graph's Laplacian is the identity: forces
act from neighbour to neighbour, and otherwise it takes thousands of steps until the ends of a roll affect each other.
The descent starts from the classical scaling of the distances along the graph, as in Isomap.

The result keeps the distances to about a thousandth. Its variance is not proven to be the largest. The leading
principal axes of V are the map; the variance along the others says how much of the unfolding does not fit into it.

A graph in pieces has no largest variance: nothing holds the pieces together. They are joined by their nearest pairs,
with a warning.

=========  ==============================================  ===========
symbol     meaning                                         shape
=========  ==============================================  ===========
V          unfolded rows, in units of the median distance  (n, r)
A          differences along edges                         (E, n)
c          ‖v_i − v_j‖²/d_ij² − 1, 0 where the edge fits   (E,)
λ          multipliers of the edges                        (E,)
μ          penalty                                         scalar
T          V = T W: the Laplacian's eigenvectors, scaled   (n, n − 1)
=========  ==============================================  ===========

References
----------
Weinberger, K. Q. and Saul, L. K. (2006). Unsupervised learning of image manifolds by semidefinite programming.
International Journal of Computer Vision 70.
Burer, S. and Monteiro, R. D. C. (2003). A nonlinear programming algorithm for solving semidefinite programs via
low-rank factorization. Mathematical Programming 95.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components, shortest_path

from manifolia._core import memory
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, check_number
from manifolia._core.warnings import warn
from manifolia.layout.classical_mds import fix_signs
from manifolia.neighbors import NeighborIndex
from manifolia.neighbors.rows import prepare

_SPARE = 30  # extra columns of V beyond those of the map: with ten, 2,000 digits do not fit and take six times as long
_PENALTY, _GROWTH = 10.0, 3.0  # first penalty, and how it grows
_ENOUGH = 0.3  # share of the last violation: if more is left, the penalty grows
_ROUNDS, _STEPS = 20, 100  # rounds of the multipliers, steps of L-BFGS in each
_MEMORY = 20  # pairs that L-BFGS remembers
_TOLERANCE = 1e-3  # root mean square of c
_SHORT = 0.1  # share of the median distance: shorter edges are not held more tightly
_NOISE = 1e-2  # share of the median distance: lets the descent leave the plane in which the start may lie


class Unfolding(NamedTuple):
    """An unfolded neighbourhood graph."""

    Y: FloatArray  # (n, n_components): the map: leading principal axes of the unfolded rows
    # (r,): variance along all axes of the unfolded rows, largest first: the map leaves out those beyond its own
    variances: FloatArray
    error: float  # Root mean square, over neighbours, of the relative errors of squared distances in all axes


class _Edges(NamedTuple):
    """Pairs of neighbours, each once."""

    first: IntArray
    second: IntArray
    lengths: FloatArray


def unfold(
    X: ArrayLike,
    n_components: int = 2,
    *,
    n_neighbors: int = 6,
    metric: str = "euclidean",
    random_state: RandomState = None,
    n_jobs: int | None = None,
    reporter: Reporter | None = None,
) -> Unfolding:
    """Unfold rows as far as the distances of neighbours allow."""
    data = check_matrix(X)
    check_number(n_components, "n_components", low=1, integer=True)
    check_number(n_neighbors, "n_neighbors", low=1, integer=True)
    n = len(data)
    memory.require(unfold_need(n), step=f"the unfolding of {n} rows", remedy="Unfold fewer rows.")
    heard = Reporter() if reporter is None else reporter
    with threads(n_jobs):
        edges = _connected(data, _edges(data, min(n_neighbors, n - 1), metric), metric)
        positive = edges.lengths[edges.lengths > 0.0]
        unit = float(np.median(positive)) if positive.size else 1.0
        edges = edges._replace(lengths=edges.lengths / unit)
        rng = as_generator(0 if random_state is None else random_state)
        V = _start(edges, n, min(n_components + _SPARE, n - 1), rng)
        with threads(1):
            V, error = _ascend(V, edges, heard)
            U, s, _ = np.linalg.svd(V, full_matrices=False)
    U = fix_signs(U, tie=0.0)
    Y = np.zeros((n, n_components))
    width = min(n_components, len(s))
    Y[:, :width] = U[:, :width] * (s[:width] * unit)
    return Unfolding(Y, (s * unit) ** 2 / n, error)


def unfold_need(n: int) -> float:
    """Estimate how much memory an unfolding takes."""
    return 8.0 * 5 * float(n) * n


def _edges(X: FloatArray, k: int, metric: str) -> _Edges:
    """Pairs of a row and its k nearest, and of two that are among the k nearest of the same row."""
    near = NeighborIndex(X, metric=metric, exact=True).neighbors(k)
    n = len(X)
    group = np.column_stack([np.arange(n), near.indices])
    one, other = np.triu_indices(k + 1, 1)
    low, high = np.sort([group[:, one].ravel(), group[:, other].ravel()], axis=0)
    low, high = np.divmod(np.unique(low * n + high), n)
    return _Edges(low, high, _measured(X, low, high, metric))


def _measured(X: FloatArray, low: IntArray, high: IntArray, metric: str) -> FloatArray:
    """Distances of pairs of rows."""
    if metric == "precomputed":
        return X[low, high].astype(np.float64)
    rows = prepare(X, metric).astype(np.float64)
    gaps = np.abs(rows[low] - rows[high])
    total = gaps.sum(axis=1) if metric == "manhattan" else np.sqrt((gaps * gaps).sum(axis=1))
    return np.asarray(total if metric != "cosine" else total * total / 2.0)


def _connected(X: FloatArray, edges: _Edges, metric: str) -> _Edges:
    """Join the pieces of the graph, the smallest first, each by the pair nearest to the rest."""
    n = len(X)
    found = 0
    while True:
        graph = sp.csr_array((np.ones(len(edges.first)), (edges.first, edges.second)), shape=(n, n))
        n_parts, part = connected_components(graph, directed=False)
        if n_parts == 1:
            break
        found = max(found, n_parts)
        inside = part == np.argmin(np.bincount(part))
        here, there = np.flatnonzero(inside), np.flatnonzero(~inside)
        distances, nearest = _nearest(X, here, there, metric)
        best = int(np.argmin(distances))
        edges = _Edges(
            np.append(edges.first, here[best]),
            np.append(edges.second, there[nearest[best]]),
            np.append(edges.lengths, distances[best]),
        )
    if found:
        warn(
            f"the graph of neighbours is in {found} pieces, which nothing holds together: they are joined by their "
            f"nearest pairs, and how far apart they are in the map means little. Take more neighbours."
        )
    return edges


def _nearest(X: FloatArray, here: IntArray, there: IntArray, metric: str) -> tuple[FloatArray, IntArray]:
    """For each row here, the distance to the nearest row there, and its number."""
    if metric == "precomputed":
        D = X[np.ix_(here, there)]
        nearest = D.argmin(axis=1)
        return D[np.arange(len(here)), nearest], nearest
    near = NeighborIndex(X[there], metric=metric, exact=True).query(X[here], 1)
    return near.distances[:, 0], near.indices[:, 0]


def _start(edges: _Edges, n: int, r: int, rng: np.random.Generator) -> FloatArray:
    """Classical scaling of the distances along the graph, with a little noise."""
    # csgraph takes a stored zero as no edge.
    lengths = np.maximum(edges.lengths, np.finfo(np.float64).tiny)
    # 32-bit indices: SciPy 1.12 finds no paths with others.
    ends = edges.first.astype(np.int32), edges.second.astype(np.int32)
    graph = sp.csr_array((lengths, ends), shape=(n, n))
    B = shortest_path(graph, directed=False) ** 2
    B -= B.mean(axis=0)
    B -= B.mean(axis=1, keepdims=True)
    with threads(1):
        values, vectors = scipy.linalg.eigh(-0.5 * B, subset_by_index=[n - r, n - 1])
    V: FloatArray = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    V += _NOISE * rng.standard_normal(V.shape)
    return V - V.mean(axis=0)


def _ascend(V: FloatArray, edges: _Edges, reporter: Reporter) -> tuple[FloatArray, float]:
    """Rounds of the augmented Lagrangian; returns V and the root mean square of c."""
    n, n_edges = len(V), len(edges.first)
    ends = np.concatenate([edges.first, edges.second])
    A = sp.csr_array((np.repeat([1.0, -1.0], n_edges), (np.tile(np.arange(n_edges), 2), ends)), shape=(n_edges, n))
    across = A.T.tocsr()
    weights = 1.0 / np.maximum(edges.lengths, _SHORT) ** 2
    targets = edges.lengths**2
    values, vectors = np.linalg.eigh((across @ sp.diags_array(weights) @ A).toarray())
    # The graph is connected: the constant vector is the only one without force. It is left out, V stays centred.
    # If lengths differ by many orders of magnitude, rounding makes small forces negative.
    roots = np.sqrt(np.maximum(values[1:], np.finfo(np.float64).eps * values[-1]))
    T = vectors[:, 1:] / roots
    W = (vectors[:, 1:] * roots).T @ V
    multipliers, penalty, last = np.zeros(n_edges), _PENALTY, np.inf
    error = 0.0

    def violation(V: FloatArray) -> tuple[Array, Array]:
        steps = A @ V
        return ((steps * steps).sum(axis=1) - targets) * weights, steps

    def lagrangian(flat: FloatArray) -> tuple[float, FloatArray]:
        V = T @ flat.reshape(W.shape)
        c, steps = violation(V)
        pull = multipliers + penalty * c
        value = -(V * V).sum() / n + ((multipliers + 0.5 * penalty * c) * c).sum()
        slope = 2.0 * (across @ ((pull * weights)[:, None] * steps) - V / n)
        return float(value), (T.T @ slope).ravel()

    for turn in range(_ROUNDS):
        options = {"maxiter": _STEPS, "maxcor": _MEMORY, "gtol": 1e-9, "ftol": 1e-14}
        W = minimize(lagrangian, W.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(W.shape)
        c, _ = violation(T @ W)
        error = float(np.sqrt((c * c).mean()))
        multipliers = multipliers + penalty * c
        stopped = reporter.update("layout", turn + 1, _ROUNDS, error=error)
        if error < _TOLERANCE or stopped:
            break
        if error > _ENOUGH * last:
            penalty *= _GROWTH
        last = error
    else:
        warn(
            f"after {_ROUNDS} rounds the squared distances of neighbours are off by {error:.2%} in the mean: they may "
            f"not be distances of points in {V.shape[1]} dimensions. Take fewer neighbours."
        )
    reporter.update("layout", _ROUNDS, _ROUNDS, error=error)
    return T @ W, error
