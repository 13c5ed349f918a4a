"""Landmarks: a large table diffuses on a few thousand groups of rows instead of on all of them.

Rows are grouped around m landmarks by their leading diffusion coordinates. The groups form their own chain: the
probability of going from group a to group b is what all rows of a send to all rows of b,

    K_ab = Σ_{i ∈ a} Σ_{j ∈ b} K_ij,   P_mm = K_mm with its rows divided by their sums

(lumping; Kemeny and Snell 1960). From a forest's factors it is found leaf by leaf: neither K (n × n) nor K C (n × m)
ever exists. If every row is its own landmark, it is the exact walk.

Rows of a sparse graph of neighbours are grouped along the graph instead (`graph_landmarks`), and added up the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_number
from manifolia.forest.operators import ForestOperator
from manifolia.operators.spectrum import leading_vectors

#: Landmarks that "auto" takes, and the number of rows up to which it needs none.
AUTO_LANDMARKS = 2000
#: Leading eigenvectors whose coordinates decide which landmark a row joins. With the 8 extra ones of the subspace
#: iteration there are 32 vectors: two of the blocks in which a forest's operator multiplies, one for each of two
#: threads.
N_COORDINATES = 24
#: Trees, rows and the smallest share of the rows from which these are found: one row in four.
_TREES, _ROWS, _ROWS_SHARE = 100, 50_000, 4


class Landmarks(NamedTuple):
    """Groups of rows."""

    labels: IntArray  # (n,): group of each row; every group has a row
    n_landmarks: int  # Number of groups


def resolve_n_landmarks(n_landmarks: int | str | None, n_rows: int) -> int | None:
    """Decide how many landmarks to use."""
    if n_landmarks is None:
        return None
    if isinstance(n_landmarks, str) and n_landmarks == "auto":
        wanted = AUTO_LANDMARKS
    else:
        wanted = check_number(n_landmarks, "n_landmarks", low=2, integer=True, hint="None is exact, 'auto' by size.")
    return None if wanted >= n_rows else wanted


def choose_landmarks(
    coordinates: FloatArray,
    n_landmarks: int,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Landmarks:
    """Group rows around landmarks."""
    drawn = as_generator(random_state).choice(coordinates.shape[0], size=n_landmarks, replace=False)
    nearest = nearest_landmark(coordinates, coordinates[np.sort(drawn)], n_jobs=n_jobs)
    used, labels = np.unique(nearest, return_inverse=True)
    return Landmarks(labels.astype(np.intp), len(used))


def landmark_chain(
    operator: ForestOperator,
    n_landmarks: int,
    *,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> tuple[FloatArray, Landmarks]:
    """Group the rows of an affinity around landmarks and add it up over the groups."""
    generator = as_generator(random_state)
    with threads(n_jobs):
        landmarks = choose_landmarks(_coordinates(operator, generator), n_landmarks, random_state=generator)
        return operator.lump(landmarks.labels, landmarks.n_landmarks), landmarks


def _coordinates(operator: ForestOperator, generator: np.random.Generator) -> FloatArray:
    """Find the leading diffusion coordinates of all rows, from some trees and, in large tables, some of the rows.

    They decide only which rows form a group: what groups send to one another is added up over all trees and rows. Rows
    for which the vectors were not computed get the vectors' mean under their proximities to the others, which is what a
    step of the walk makes of an eigenvector, up to its eigenvalue (Nyström).
    """
    whole = operator.of_trees(_TREES)
    n = whole.shape[0]
    m = max(_ROWS, n // _ROWS_SHARE)
    few = None if whole.kind != "gap" or m >= n else np.sort(generator.choice(n, m, replace=False))
    part = whole if few is None else whole.of_rows(few)
    sums = 0.5 * (part.row_sums + part.rmatmat(np.ones((part.shape[0], 1)))[:, 0])
    spectrum = leading_vectors(
        lambda V: 0.5 * (part.matmat(V) + part.rmatmat(V)),
        sums,
        min(N_COORDINATES, part.shape[0] - 1),
        random_state=generator,
    )
    return spectrum.vectors * spectrum.values if few is None else whole.extend(spectrum.vectors, few)


def graph_landmarks(K: Sparse, n_landmarks: int, *, random_state: RandomState = None) -> Landmarks:
    """Group rows around the landmark that is nearest along the graph of a sparse affinity.

    Leading eigenvectors, by which `landmark_chain` groups rows, take hundreds of products to settle on a graph of few
    neighbours, whose walk mixes slowly; on a forest's proximities two are enough. Shortest paths from all landmarks at
    once are found in one pass (Dijkstra), O(n k log n). A step between two rows has length 1 − log(K / max K).
    """
    from scipy.sparse.csgraph import connected_components, dijkstra

    n = K.shape[0]
    seeds = np.sort(as_generator(random_state).choice(n, size=n_landmarks, replace=False))
    pairs = sp.coo_array(K)
    linked = (pairs.row != pairs.col) & (pairs.data > 0)
    length = 1.0 - np.log(pairs.data[linked] / pairs.data.max(initial=1e-300))
    ends = pairs.row[linked].astype(np.int32), pairs.col[linked].astype(np.int32)  # for the oldest SciPy
    graph = sp.csr_array(sp.coo_array((length, ends), shape=(n, n)))
    distance, _, nearest = dijkstra(graph, directed=False, indices=seeds, min_only=True, return_predecessors=True)
    lost = np.isinf(distance)
    if lost.any():
        part = connected_components(graph, directed=False)[1]
        first = np.unique(part, return_index=True)[1]
        nearest = np.where(lost, first[part], nearest)
    used, labels = np.unique(nearest, return_inverse=True)
    return Landmarks(labels.astype(np.intp), len(used))


def graph_chain(
    K: Sparse, n_landmarks: int | None, *, random_state: RandomState = None
) -> tuple[FloatArray, Landmarks]:
    """Group the rows of a sparse affinity along its graph and add it up over the groups; None: every row is one."""
    n = K.shape[0]
    if n_landmarks is None:
        return K.toarray().astype(np.float64, copy=False), Landmarks(np.arange(n), n)
    groups = graph_landmarks(K, n_landmarks, random_state=random_state)
    C = sp.csr_array((np.ones(n), groups.labels, np.arange(n + 1)), shape=(n, groups.n_landmarks))
    return np.asarray((C.T @ (K @ C)).toarray(), dtype=np.float64), groups


def nearest_landmark(coordinates: FloatArray, centres: FloatArray, *, n_jobs: int | None = None) -> IntArray:
    """Find the nearest centre of every row."""
    # Scaled, because coordinates of many rows are small; single precision tells groups apart.
    unit = 1.0 / max(float(np.abs(centres).max(initial=0.0)), np.finfo(np.float64).tiny)
    scaled = (centres * unit).astype(np.float32)
    half_squares = np.float32(0.5) * np.einsum("ij,ij->i", scaled, scaled)
    turned = np.ascontiguousarray(scaled.T)
    out = np.empty(coordinates.shape[0], dtype=np.intp)

    def run(rows: slice) -> None:  # argmin of |x − c|² = |x|² − 2 (x·c − |c|² / 2)
        out[rows] = np.argmax((coordinates[rows] * unit).astype(np.float32) @ turned - half_squares, axis=1)

    map_blocks(run, row_blocks(coordinates.shape[0], 2 * 192), n_jobs=n_jobs)
    return out
