"""The fuzzy neighbourhood graph of UMAP: strengths that fade with distance, on every point's own scale.

    P̃_{j|i} = exp(−max(d_ij − ρ_i, 0) / σ_i),      P_ij = P̃_{j|i} + P̃_{i|j} − P̃_{j|i} P̃_{i|j}      (Eq. 1)

ρ_i is the distance of the nearest neighbour that is not a duplicate; σ_i makes the strengths of the k neighbours add up
to log₂(k + 1). For the same neighbours the graph is that of umap-learn, which counts the point itself among its
`n_neighbors`: k here is its `n_neighbors` − 1.

======  =====================================  ============
symbol  meaning                                shape
======  =====================================  ============
d_ij    distances of the k neighbours          (n, k)
P̃       directed strengths                     (n, k)
P       symmetric graph, the fuzzy union       (n, n) sparse
ρ, σ    nearest distance, scale                (n,)
======  =====================================  ============
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia.exceptions import ParameterError
from manifolia.neighbors import Neighbors

_BLOCK = 4096


class Memberships(NamedTuple):
    """How strongly each neighbour belongs to a point's neighbourhood."""

    weights: FloatArray  # (n, k): strengths in (0, 1]; the nearest neighbour has 1
    rho: FloatArray  # (n,): distance of the nearest neighbour that is not a duplicate, 0 if all are
    scale: FloatArray  # (n,): σ


class FuzzyGraph(NamedTuple):
    """The graph of Eq. (1), and the directed strengths that it is made from."""

    graph: Sparse  # (n, n): P_ij: symmetric, sorted indices, nothing on the diagonal
    weights: FloatArray  # (n, k): P̃_{j|i} in the order of the neighbours
    rho: FloatArray  # (n,): ρ
    scale: FloatArray  # (n,): σ


def memberships(distances: FloatArray, *, mean_distance: float | None = None, n_jobs: int | None = None) -> Memberships:
    """Turn the distances of neighbours into strengths, each row by itself."""
    from manifolia.kernels.fuzzy import membership_rows

    D = np.ascontiguousarray(distances, dtype=np.float64)
    n, k = D.shape
    mean = mean_neighbor_distance(D) if mean_distance is None else float(mean_distance)
    found = Memberships(np.empty((n, k)), np.empty(n), np.empty(n))

    def run(part: slice) -> None:
        membership_rows(D[part], np.log2(k + 1.0), mean, found.rho[part], found.scale[part], found.weights[part])

    map_blocks(run, row_blocks(n, _BLOCK), n_jobs=n_jobs)
    return found


def mean_neighbor_distance(distances: FloatArray) -> float:
    """Return the mean over all rows of the distances of a point's neighbours and of itself, as UMAP takes it."""
    n, k = distances.shape
    return float(distances.sum(dtype=np.float64) / max(n * (k + 1), 1))


def fuzzy_graph(neighbors: Neighbors, *, n_jobs: int | None = None) -> FuzzyGraph:
    """Build the fuzzy neighbourhood graph (Eq. 1).

    Parameters
    ----------
    neighbors : Neighbors
        Indices and distances of the k nearest other rows of every row.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    FuzzyGraph
        The symmetric graph and the directed strengths.

    Raises
    ------
    ValueError
        If the neighbours are not those of the rows 0 … n − 1 among themselves.

    References
    ----------
    McInnes, Healy, Melville, "UMAP: Uniform manifold approximation and projection for dimension reduction", 2018.

    Examples
    --------
    >>> from manifolia.affinity.fuzzy import fuzzy_graph
    >>> from manifolia.neighbors import kneighbors
    >>> found = fuzzy_graph(kneighbors([[0.0], [1.0], [3.0]], 1))
    >>> found.graph.toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    indices, distances = check_neighbors(neighbors)
    n, k = indices.shape
    found = memberships(distances, n_jobs=n_jobs)
    strengths = found.weights.astype(np.float32).ravel()
    starts = np.arange(0, n * k + 1, k)
    directed = sp.csr_array((strengths, indices.astype(np.int32).ravel(), starts.astype(np.int32)), shape=(n, n))
    directed = directed.tocsc().tocsr()  # two passes sort the indices of each row faster than a sort
    transposed = directed.T.tocsr()
    graph = directed + transposed - directed.multiply(transposed)
    graph = sp.csr_array(graph)
    graph.eliminate_zeros()
    graph.sort_indices()
    return FuzzyGraph(graph, found.weights, found.rho, found.scale)


def check_neighbors(neighbors: Neighbors, *, n_rows: int | None = None) -> tuple[IntArray, FloatArray]:
    """Check neighbours that came from outside."""
    try:
        indices, distances = (np.asarray(part) for part in neighbors)
    except (TypeError, ValueError):
        raise ParameterError(
            f"neighbors must be a pair (indices, distances), got {type(neighbors).__name__}.", parameter="neighbors"
        ) from None
    n = indices.shape[0] if n_rows is None else n_rows
    fits = indices.ndim == 2 and indices.shape == distances.shape and indices.shape[0] == n and indices.shape[1] > 0
    if not fits or indices.dtype.kind not in "iu" or distances.dtype.kind not in "iuf":
        raise ParameterError(
            f"neighbors must be indices (ints) and distances of one shape ({n}, k), got {indices.dtype} of shape "
            f"{indices.shape} and {distances.dtype} of shape {distances.shape}. Pass what "
            f"manifolia.neighbors.kneighbors returns for the same rows.",
            parameter="neighbors",
        )
    if indices.min() < 0 or indices.max() >= n or (indices == np.arange(n)[:, None]).any():
        raise ValueError(
            f"neighbors.indices must lie between 0 and {n - 1} and no row may be its own neighbour. Leave the row "
            f"itself out (umap-learn's first column)."
        )
    ordered = np.sort(indices, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError(
            "neighbors.indices names a row twice among the neighbours of one row. Name every neighbour once."
        )
    checked: FloatArray = np.asarray(distances, dtype=None if distances.dtype.kind == "f" else np.float64)
    if not np.isfinite(checked).all() or checked.min() < 0.0 or (np.diff(checked, axis=1) < 0.0).any():
        raise ValueError(
            "neighbors.distances must be finite, at least 0 and never fall along a row. Sort the neighbours."
        )
    return indices.astype(np.intp, copy=False), checked
