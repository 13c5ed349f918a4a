"""t-SNE over openTSNE, from our own neighbours, affinities and start, so that its bits do not depend on threads.

    p_{j|i} ∝ exp(−β_i d_ij²),    p_ij = (p_{j|i} + p_{i|j}) / 2n

over the 3 × perplexity nearest neighbours, with β_i such that the effective number of neighbours is the perplexity
(section 2 of the paper). With its own approximate neighbours openTSNE's result depends on the number of threads. Where
openTSNE is not installed scikit-learn's t-SNE is handed the same neighbours and start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.optional import is_installed
from manifolia._core.parallel import current_n_jobs, map_blocks, threads
from manifolia._core.progress import Reporter
from manifolia._core.types import Callback, FloatArray, Sparse
from manifolia._core.validate import check_map, check_number
from manifolia._core.warnings import warn
from manifolia.neighbors import Neighbors

_EARLY, _LATE = 250, 500  # iterations with exaggeration, and after it: openTSNE's
_EXAGGERATION = 12.0
_REPORTED = 50  # iterations between reports
_MOMENTUM = (0.5, 0.8)
_START = 1e-4  # standard deviation of the start along its first axis: the early forces need room
_ALONE = 1000  # points below which an iteration is too short to share: threads would mostly wait for each other
_FFT = 10_000  # points from which interpolation is faster than the Barnes-Hut tree


def tsne_neighbors(perplexity: float, n: int) -> int:
    """Tell how many neighbours t-SNE needs."""
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
    # openTSNE takes matrices, not arrays, of SciPy.
    directed = sp.csr_matrix((P.ravel(), near.indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    joint = (directed + directed.T) / (2.0 * n)
    joint.sort_indices()
    return joint


def tsne(
    near: Neighbors,
    start: FloatArray,
    *,
    perplexity: float = 30.0,
    n_jobs: int | None = None,
    callback: Callback | Reporter = None,
) -> FloatArray:
    """Lay rows out by t-SNE.

    Parameters
    ----------
    near : Neighbors
        Neighbours of each row, nearest first, itself not counted; `tsne_neighbors` says how many.
    start : ndarray of shape (n, c)
        Where to start; only its shape counts, not its size.
    perplexity : float, default=30.0
        Effective number of neighbours. Above a third of the rows it is lowered to that, with a warning.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    callback : callable or Reporter, default=None
        Gets a ``ProgressEvent`` every 50 iterations, with the divergence; returning True ends the descent with the map
        so far. scikit-learn's t-SNE reports its end only.

    Returns
    -------
    ndarray of float64 of shape (n, c)
        The map.

    Raises
    ------
    ValueError
        If the map is to have more than two dimensions.
    """
    n = len(near.indices)
    Y = check_map(start, n_rows=n, name="start").astype(np.float64)
    check_number(perplexity, "perplexity", low=1.0)
    if Y.shape[1] > 2:
        raise ValueError(f"t-SNE makes maps of 1 or 2 dimensions, got a start of {Y.shape[1]}. Use another layout.")
    most = max(1.0, (n - 1) / 3)
    if perplexity > most:
        warn(f"perplexity={perplexity} needs more than {n} rows: {most:.4g} is used.")
        perplexity = most
    Y -= Y.mean(axis=0)
    spread = float(Y[:, 0].std())
    Y *= _START / spread if spread > 0.0 else 1.0
    reporter = callback if isinstance(callback, Reporter) else Reporter(callback)
    with threads(n_jobs):
        if is_installed("openTSNE"):
            return _by_open_tsne(perplexity_graph(near, perplexity), Y, reporter)
        warn("openTSNE is not installed and scikit-learn's slower t-SNE is used: pip install 'manifolia[tsne]'.")
        laid_out = _by_scikit_learn(near, Y, perplexity)
        reporter.update("layout", 1, 1)
        return laid_out


def _by_open_tsne(P: Sparse, start: FloatArray, reporter: Reporter) -> FloatArray:
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PrecomputedAffinities

    n = len(start)
    made = TSNEEmbedding(
        start,
        PrecomputedAffinities(P, normalize=False),
        negative_gradient_method="bh" if n < _FFT else "fft",
        n_jobs=current_n_jobs() if n >= _ALONE else 1,
        random_state=0,  # nothing is drawn
    )
    rate = max(n / _EXAGGERATION, 50.0)
    stopped = False

    def listening(before: int) -> dict[str, Any]:
        """Options that report iterations; without a listener none, since each report measures the divergence."""

        def hear(iteration: int, divergence: float, _: Any) -> bool:
            nonlocal stopped
            stopped = reporter.update("layout", before + iteration, _EARLY + _LATE, divergence=float(divergence))
            return stopped

        return {"callbacks": [hear], "callbacks_every_iters": _REPORTED} if reporter.is_heard else {}

    steps = ((0, _EARLY, _EXAGGERATION, _MOMENTUM[0]), (_EARLY, _LATE, None, _MOMENTUM[1]))
    for before, n_steps, exaggeration, momentum in steps:
        if not stopped:
            made.optimize(
                n_steps, inplace=True, exaggeration=exaggeration, momentum=momentum, learning_rate=rate,
                **listening(before),
            )  # fmt: skip
    return np.array(made, dtype=np.float64)


def _by_scikit_learn(near: Neighbors, start: FloatArray, perplexity: float) -> FloatArray:
    from sklearn.manifold import TSNE

    n, k = near.indices.shape
    # scikit-learn looks for a row itself, too, among the stored distances.
    indices = np.column_stack([np.arange(n), near.indices])
    distances = np.column_stack([np.zeros(n), near.distances])
    D = sp.csr_matrix((distances.ravel(), indices.ravel(), np.arange(0, n * (k + 1) + 1, k + 1)), shape=(n, n))
    model = TSNE(
        start.shape[1],
        perplexity=perplexity,
        metric="precomputed",
        init=start.astype(np.float32),
        random_state=0,
        n_jobs=1,
    )
    return np.asarray(model.fit_transform(D), dtype=np.float64)
