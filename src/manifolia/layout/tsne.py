"""t-SNE: affinities of a given perplexity, laid out by neighbour forces.

    p_{j|i} ∝ exp(−β_i d_ij²),    p_ij = (p_{j|i} + p_{i|j}) / 2n

over the 3 × perplexity nearest neighbours, with β_i such that the effective number of neighbours is the perplexity
(section 2 of the kernel t-SNE paper). The descent is ``manifolia.layout.forces``: t-SNE's own gradient, without random
draws. It starts at a thousandth of the map's final width or less, so that exaggerated attraction can sort the rows.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.progress import Reporter
from manifolia._core.types import Callback, FloatArray, Sparse
from manifolia._core.validate import check_map, check_number
from manifolia._core.warnings import warn
from manifolia.affinity.fuzzy import check_neighbors
from manifolia.layout.forces import ForceLayout, Schedule, neighbor_forces, resized
from manifolia.neighbors import Neighbors

_START = 1e-4  # standard deviation of the start along its first axis: the early forces need room


def tsne_neighbors(perplexity: float, n: int) -> int:
    """Return how many neighbours t-SNE needs."""
    return min(int(3 * perplexity) + 1, n - 1)


def perplexity_graph(near: Neighbors, perplexity: float) -> Sparse:
    """Turn neighbours into the joint probabilities of t-SNE."""
    from manifolia.kernels.kernel_map import perplexity_rows

    n, k = near.indices.shape
    distances = np.ascontiguousarray(near.distances, dtype=np.float64)
    P = np.empty((n, k))

    def run(rows: slice) -> None:
        perplexity_rows(distances, float(perplexity), P, rows.start, rows.stop)

    map_blocks(run, row_blocks(n, 1024))
    directed = sp.csr_array((P.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = sp.csr_array((directed + directed.T) / (2.0 * n))
    joint.sort_indices()
    return joint


def usable_perplexity(perplexity: float, n: int) -> float:
    """Return the perplexity for n rows: above n − 1 it is lowered to that, with a warning."""
    most = max(1.0, float(n - 1))
    if perplexity > most:
        warn(f"perplexity={perplexity:g} needs more than {n} rows: {most:g} is used.")
    return min(float(perplexity), most)


def tsne(
    near: Neighbors,
    start: FloatArray,
    *,
    perplexity: float = 30.0,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> FloatArray:
    """Lay rows out by t-SNE, from their neighbours and a start, of which only the shape matters."""
    near = Neighbors(*check_neighbors(near))
    n = len(near.indices)
    Y = check_map(start, n_rows=n, name="start")
    check_number(perplexity, "perplexity", low=1.0)
    P = perplexity_graph(near, usable_perplexity(perplexity, n))
    return tsne_layout(P, Y, n_jobs=n_jobs, callback=callback).Y


def tsne_layout(
    P: Sparse,
    start: FloatArray,
    *,
    exaggeration: float = 12.0,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> ForceLayout:
    """Lay joint probabilities out by t-SNE, from a start of which only the shape matters."""
    Y, schedule = resized(start, _START), Schedule(exaggeration=exaggeration)
    return neighbor_forces(P, Y, schedule=schedule, symmetric=True, n_jobs=n_jobs, callback=callback)
