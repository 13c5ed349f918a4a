"""Isomap: classical scaling of distances along the graph of nearest rows (Tenenbaum, de Silva and Langford 2000).

Unlinked parts of the graph are joined, each pair of parts where they are nearest to each other, as in scikit-learn. The
scaling is `manifolia.layout.classical_mds`, whose start is fixed: above 200 rows scikit-learn's own draws its start
from NumPy's global stream, and so gives different bits in each run.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

from manifolia._core.types import FloatArray
from manifolia.layout.classical_mds import classical_mds


def isomap(D: FloatArray, n_components: int = 2, *, n_neighbors: int = 10) -> FloatArray:
    """Lay rows out by the lengths of the shortest paths between them."""
    return classical_mds(geodesic_distances(D, n_neighbors), n_components).Y


def geodesic_distances(D: FloatArray, n_neighbors: int) -> FloatArray:
    """Compute the lengths of the shortest paths along the graph that links each row to its nearest rows."""
    n = len(D)
    others = D.copy()
    np.fill_diagonal(others, np.inf)  # a row is not its own neighbour, however many rows equal it
    nearest = np.argsort(others, axis=1, kind="stable")[:, :n_neighbors]
    ends = np.repeat(np.arange(n), n_neighbors), nearest.ravel()
    links = sp.coo_array((D[ends], ends), shape=(n, n))
    part = connected_components(links, directed=False)[1]
    joins = [_nearest_pair(D, *pair) for pair in itertools.combinations(_members(part), 2)]
    both = np.hstack([ends, np.array(joins, dtype=np.intp).reshape(-1, 2).T]).astype(np.int32)  # for the oldest SciPy
    # A link of length 0 is still an edge: SciPy takes stored zeros of a sparse graph as edges.
    graph = sp.csr_array(sp.coo_array((D[*both], tuple(both)), shape=(n, n)))
    return shortest_path(graph, directed=False)


def _members(part: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(part == one) for one in range(part.max() + 1)]


def _nearest_pair(D: FloatArray, one: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    i, j = np.unravel_index(np.argmin(D[np.ix_(one, other)]), (len(one), len(other)))
    return int(one[i]), int(other[j])
