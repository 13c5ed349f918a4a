"""Gauges as the paper makes them: tangent spaces embedded separately (Eq. 5 to 11). For reproduction.

1. The bases V_i of neighbouring points are aligned, O_ij = the orthonormal matrix next to V_iᵀ V_j (Eq. 5), and every
   basis gets a rotation R_i such that V_i R_i is nearly V_j R_j along the graph: first along a spanning tree of the
   best aligned edges, then by power iterations over all edges.
2. The turned bases, flattened, are rows with cosine distances (Eq. 7); their fuzzy graph is Eq. (8), and it is laid out
   in c² dimensions by cosine distance (Eq. 9 to 11): points are directions there, moved by their angles alone.
3. The c × c numbers of each point are made orthonormal.

Departures from the paper. Without step 1 the signs of the directions are arbitrary and Eq. (7) is 0 on average whatever
the data; the paper does not say how it orients them. Eq. (5) prints V_j V_iᵀ, a p × p matrix, for V_iᵀ V_j. Eq. (11)
only attracts (Eq. 35 and 36) and is smallest for equal gauges, which the descent approaches on a closed surface: the
order of the angles is kept, not their size. With UMAP's repulsion added, the order was kept half as well.

======  ==============================================  =============
symbol  meaning                                         shape
======  ==============================================  =============
V_i     tangent basis                                   (n, p, c)
M_ij    V_iᵀ V_j for the edges (i, j) of the graph      (edges, c, c)
R_i     rotations that make the bases consistent        (n, c, c)
F_i     embedded frames                                 (n, c, c)
======  ==============================================  =============
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks
from manifolia._core.random import spawn_seeds
from manifolia._core.types import FloatArray, IntArray, RandomState, Sparse
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.exceptions import ParameterError
from manifolia.explain.pullback import Pullback, nearest_frame
from manifolia.layout.edge_sgd import edge_layout
from manifolia.layout.initialize import direction_start
from manifolia.neighbors import kneighbors
from manifolia.operators.tangent import TangentSpaces, bases

_GATHERED = 1 << 22
_POWER_STEPS = 10  # by then the mean alignment over edges has stopped growing


class EmbeddedGauges(NamedTuple):
    """Frames of the embedded tangent spaces, and the rotations that made the bases consistent."""

    rotations: FloatArray  # (n, c, c): R_i: the basis V_i R_i is consistent with those of its neighbours
    frames: FloatArray  # (n, c, c): F_i: where the directions of V_i R_i point to, as columns


def embedded_gauges(
    spaces: TangentSpaces,
    X: Any,
    graph: Sparse,
    n_components: int,
    *,
    random_state: RandomState = None,
) -> EmbeddedGauges:
    """Embed the tangent spaces separately (Eq. 5 to 11)."""
    n, c = spaces.indices.shape[0], n_components
    if spaces.coordinates.shape[2] < c:
        raise ParameterError(
            f"gauge='embedded' needs at least n_components={c} neighbours per row, there are "
            f"{spaces.indices.shape[1]}. Use gauge='regression', or more neighbours.",
            parameter="gauge",
        )
    require(
        3.0 * 8.0 * n * X.shape[1] * c,
        step=f"embedding the tangent bases of {n} rows with {X.shape[1]} features",
        remedy="Use gauge='regression', which needs no bases, or pca= to embed them in fewer features.",
    )
    V = bases(spaces, X, None, c)
    rotations = synchronize(V, graph)
    flat = np.matmul(V, rotations).astype(np.float32).reshape(n, -1)
    del V
    search_seed, layout_seed = spawn_seeds(random_state, 2)
    near = kneighbors(flat, spaces.indices.shape[1], metric="cosine", random_state=search_seed)
    angles = fuzzy_graph(near).graph  # Eq. (8)
    start = direction_start(flat, c * c)
    # Eq. (9) to (11): their derivative only attracts, Eq. (35) and (36)
    placed = edge_layout(angles, start, by_angle=True, n_negatives=0, repulsion=0.0, random_state=layout_seed).Y
    return EmbeddedGauges(rotations, nearest_frame(placed.reshape(n, c, c)))


def synchronize(V: FloatArray, graph: Sparse) -> FloatArray:
    """Find rotations that make neighbouring bases as equal as possible."""
    n, p, c = V.shape
    upper = sp.coo_array(sp.triu(graph, k=1))
    rows, columns, weights = upper.row, upper.col, upper.data.astype(np.float64)
    M = np.empty((rows.size, c, c))

    def run(part: slice) -> None:
        left = np.ascontiguousarray(V[rows[part]].transpose(0, 2, 1))
        M[part] = np.matmul(left, V[columns[part]])

    map_blocks(run, row_blocks(rows.size, max(1, _GATHERED // (p * c))))
    U, cosines, Wt = np.linalg.svd(M)
    aligned = np.matmul(U, Wt)  # Eq. (5)
    mismatch = 1.0 + 1e-9 - cosines.mean(axis=1)  # no edge of the tree may have length 0: it would not be stored
    R = _along_tree(n, rows, columns, aligned, mismatch)
    # Each edge in both directions: R_i ← the frame next to Σ_j w_ij O_ij R_j, with O_ji = O_ijᵀ.
    towards = np.concatenate([aligned, aligned.transpose(0, 2, 1)])
    ends, starts = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    add = sp.csr_array((np.tile(weights, 2), (ends, np.arange(ends.size))), shape=(n, ends.size))
    for _ in range(_POWER_STEPS):
        pulled = add @ np.matmul(towards, R[starts]).reshape(ends.size, c * c)
        R = nearest_frame(pulled.reshape(n, c, c) + R)
    return R


def _along_tree(n: int, rows: IntArray, columns: IntArray, aligned: FloatArray, mismatch: FloatArray) -> FloatArray:
    """Carry one basis along the spanning tree of the best aligned edges, part by part of the graph."""
    tree = minimum_spanning_tree(sp.csr_array((mismatch, (rows, columns)), shape=(n, n)))
    keys = rows.astype(np.int64) * n + columns
    by_key = np.argsort(keys)
    parts = connected_components(tree, directed=False)[1]
    R = np.tile(np.eye(aligned.shape[1]), (n, 1, 1))
    for root in np.unique(parts, return_index=True)[1]:
        order, before = breadth_first_order(tree, root, directed=False)
        children = order[1:].astype(np.int64)
        parents = before[children].astype(np.int64)
        wanted = np.minimum(children, parents) * n + np.maximum(children, parents)
        edges = by_key[np.searchsorted(keys, wanted, sorter=by_key)]
        for child, parent, edge in zip(children, parents, edges, strict=True):
            R[child] = (aligned[edge] if child < parent else aligned[edge].T) @ R[parent]
    return R


def embedded_pullback(embedded: EmbeddedGauges, reliability: FloatArray) -> Pullback:
    """Make arrows of embedded gauges: F_i (V_i R_i)ᵀ e_f."""
    gauges = np.matmul(embedded.frames, np.ascontiguousarray(embedded.rotations.transpose(0, 2, 1)))
    return Pullback(gauges, gauges, reliability)


def embedded_directions(embedded: EmbeddedGauges) -> FloatArray:
    """Where each tangent direction points to in the map, one row per direction: v_il of Eq. (14)."""
    gauges = np.matmul(embedded.frames, embedded.rotations.transpose(0, 2, 1))
    return np.ascontiguousarray(gauges.transpose(0, 2, 1))


def place_gauges(
    embedded: EmbeddedGauges, spaces: TangentSpaces, new: TangentSpaces, X: Any, query: Any
) -> EmbeddedGauges:
    """Give new rows gauges: align their basis with those of their neighbours, and take the neighbours' mean frame."""
    c = embedded.frames.shape[1]
    m = new.indices.shape[0]
    placed = EmbeddedGauges(np.empty((m, c, c)), np.empty((m, c, c)))
    for i in range(m):
        near, w = new.indices[i], new.weights[i][:, None, None]
        here = bases(new, X, [i], c, query=query)[0]
        there = np.matmul(bases(spaces, X, near, c), embedded.rotations[near])
        placed.rotations[i] = nearest_frame(np.matmul(here.T, (w * there).sum(axis=0))[None])[0]
        placed.frames[i] = nearest_frame((w * embedded.frames[near]).sum(axis=0)[None])[0]
    return placed
