"""Where a layout starts: the leading principal components, or the leading eigenvectors of the graph.

Both are scaled so that the widest direction of the start is 10 wide, as wide as the maps that the descent makes, and a
ten-thousandth of that is added as noise: a column of zeros, or points in one place, would never separate.

``pca_start`` keeps the data's large-scale arrangement and costs next to nothing. ``spectral_start`` knows only the
graph; it unrolls manifolds, and puts parts that the graph does not connect side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState, Sparse
from manifolia._core.validate import check_map, check_matrix, check_number, is_sparse, to_csr
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.layout.classical_mds import fix_signs

_WIDTH = 10.0
_NOISE = 1e-4  # of the width; UMAP's, too
_SAMPLE = 2_500  # rows from which the principal axes are found: enough for a start
_EXTRA = 8  # vectors beyond those asked for
_PASSES = 8  # rounds of the subspace iteration; axes not separated by then are equally good
_DENSE = 400  # points below which LAPACK finds the eigenvectors of a part of the graph
_TOLERANCE = 1e-4  # of the eigenvectors: a start
_WIDE = 40  # exponent of 2 beyond which numbers are scaled to near 1
_MAX_ITER = 100  # restarts of Lanczos per eigenvector


def start_of(init: Any, X: Any, graph: Sparse, n_components: int, *, random_state: RandomState = None) -> FloatArray:
    """Return where a descent starts: a given map, or what a word names."""
    if not isinstance(init, str):
        return check_map(init, name="init")
    if init == "spectral":
        return spectral_start(graph, n_components, random_state=random_state)
    return pca_start(X, n_components, random_state=random_state)


def pca_start(
    X: ArrayLike | Sparse, n_components: int = 2, *, random_state: RandomState = None, n_jobs: int | None = None
) -> FloatArray:
    """Start at the leading principal components."""
    X = check_matrix(X, accept_sparse=True)
    n_components = check_number(n_components, "n_components", low=1, integer=True)
    n, p = X.shape
    with threads(n_jobs):
        step = -(-n // _SAMPLE)
        sample = X[::step]
        mean = np.asarray(sample.mean(axis=0), dtype=np.float64).ravel()
        axes = _principal_axes(sample, mean, min(n_components, n, p))
        shift = mean @ axes
        factor = axes.astype(X.dtype)

        def run(rows: slice) -> FloatArray:
            return np.asarray(X[rows] @ factor, dtype=np.float64) - shift

        scores = np.concatenate(map_blocks(run, row_blocks(n)))
    Y = np.zeros((n, n_components))
    Y[:, : scores.shape[1]] = scores
    return _finished(Y, random_state).astype(X.dtype)


def direction_start(X: FloatArray, n_components: int) -> FloatArray:
    """Start at the leading components about the origin, whose products are closest to those of the rows."""
    axes = _principal_axes(X, np.zeros(X.shape[1]), min(n_components, *X.shape))
    Y = np.zeros((X.shape[0], n_components), dtype=X.dtype)
    Y[:, : axes.shape[1]] = np.concatenate(map_blocks(lambda rows: X[rows] @ axes, row_blocks(X.shape[0])))
    return Y


def _principal_axes(X: Any, mean: FloatArray, n_axes: int) -> FloatArray:
    """Return orthonormal principal axes as columns, by subspace iteration from a fixed start."""
    p = X.shape[1]
    width = min(n_axes + _EXTRA, p)
    V = np.linalg.qr(np.random.default_rng(0).standard_normal((p, width)))[0]
    dtype = X.dtype
    for last in range(_PASSES):
        # (X − 1μ')'(X − 1μ') V without a centred copy of X.
        scores = np.asarray(X @ V.astype(dtype), dtype=np.float64) - mean @ V
        exponent = np.frexp(np.abs(scores).max(initial=0.0))[1]
        if abs(exponent) > _WIDE:  # the axes do not depend on a common scale, and squares may leave single precision
            scores = np.ldexp(scores, -exponent)
        product = np.asarray(X.T @ scores.astype(dtype), dtype=np.float64) - np.outer(mean, scores.sum(axis=0))
        if last == _PASSES - 1:
            # Rayleigh and Ritz: the axes within the subspace, the widest first.
            _, turn = np.linalg.eigh(V.T @ product)
            V = V @ turn[:, ::-1]
        else:
            V = np.linalg.qr(product)[0]
    return fix_signs(V[:, :n_axes], tie=0.0)


def spectral_start(
    graph: Sparse, n_components: int = 2, *, random_state: RandomState = None, n_jobs: int | None = None
) -> FloatArray:
    """Start at the leading eigenvectors of the random walk on the graph, D^{-1} P, without the constant one."""
    from scipy.sparse.csgraph import connected_components

    if not is_sparse(graph):
        raise ParameterTypeError(
            f"graph must be a sparse matrix, got {type(graph).__name__}. Use scipy.sparse.csr_array(graph).",
            parameter="graph",
        )
    if graph.shape[0] != graph.shape[1]:
        raise ParameterError(f"graph must be square, got shape {graph.shape}.", parameter="graph")
    n_components = check_number(n_components, "n_components", low=1, integer=True)
    graph = to_csr(graph).astype(np.float64)
    with threads(n_jobs):
        n_parts, part = connected_components(graph, directed=False)
        if n_parts == 1:
            return _finished(_eigenvectors(graph, n_components), random_state)
        return _finished(_side_by_side(graph, part, n_parts, n_components), random_state)


def _side_by_side(graph: Sparse, part: IntArray, n_parts: int, n_components: int) -> FloatArray:
    """Place every connected part separately, and the parts on a grid."""
    sizes = np.bincount(part, minlength=n_parts)
    order = np.argsort(-sizes, kind="stable")
    members = np.split(np.argsort(part, kind="stable"), np.cumsum(sizes)[:-1])
    across = int(np.ceil(n_parts ** (1.0 / min(n_components, 2))))
    cell = 1.5 * np.sqrt(sizes.max())  # half of a part's width stays free between two parts
    Y = np.empty((graph.shape[0], n_components))
    for place, index in enumerate(order):
        rows = members[index]
        own = _eigenvectors(graph[rows][:, rows], n_components)
        width = np.ptp(own, axis=0).max(initial=0.0)
        corner = np.zeros(n_components)
        corner[:2] = (cell * np.array(divmod(place, across)))[::-1][:n_components]
        Y[rows] = corner + own * (np.sqrt(sizes[index]) / width if width > 0 else 0.0)
    return Y


def _eigenvectors(graph: Sparse, n_vectors: int) -> FloatArray:
    """Return the leading eigenvectors of a connected graph after the first, as columns; zeros beyond its rank."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = graph.shape[0]
    n_found = min(n_vectors, n - 1)
    Y = np.zeros((n, n_vectors))
    if n_found == 0:
        return Y
    degree = np.asarray(graph.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degree > 0, degree, 1.0))
    scale = sp.dia_array((1.0 / root[np.newaxis], [0]), shape=(n, n))
    normalised = scale @ graph @ scale
    if n <= max(_DENSE, 4 * (n_found + 1)):
        values, vectors = np.linalg.eigh(normalised.toarray())
    else:
        # Values lie in −1 … 1; a fixed start vector makes the result repeatable.
        start = root + np.random.default_rng(0).standard_normal(n) * root.mean()
        k, basis = n_found + 1, max(4 * (n_found + 1), 40)
        try:
            values, vectors = eigsh(
                normalised, k=k, which="LA", v0=start, ncv=min(basis, n - 1), tol=_TOLERANCE, maxiter=_MAX_ITER * k
            )
        except ArpackNoConvergence as error:  # what was found is enough for a start
            values, vectors = error.eigenvalues, error.eigenvectors
    order = np.argsort(-values, kind="stable")[1 : n_found + 1]
    # Those of the random walk D^{-1} P: degrees fall where the graph ends, and D^{1/2} would fold the ends back.
    Y[:, : len(order)] = fix_signs(vectors[:, order] / root[:, np.newaxis])
    return Y


def _finished(Y: FloatArray, random_state: RandomState) -> FloatArray:
    """Return a start of the usual width, centred, with noise that separates coinciding points."""
    middle = (Y.max(axis=0) + Y.min(axis=0)) / 2.0
    widest = float(np.ptp(Y, axis=0).max())
    scaled = (Y - middle) * (_WIDTH / widest if widest > 0 else 0.0)
    return scaled + _NOISE * _WIDTH * as_generator(random_state).standard_normal(Y.shape)
