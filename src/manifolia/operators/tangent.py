"""Tangent spaces: weighted local principal component analysis, stored as coordinates of the neighbours (Eq. 2 and 3).

With weights w_j of the k neighbours of a point (they sum to 1) and their centre μ, the local data matrix has the rows
√w_j (x_j − μ). Its k × k Gram matrix gives the singular values σ_l and left vectors U, and with them everything else:

    t_jl = U_jl σ_l / √w_j = v_l · (x_j − μ)          tangent coordinates of the neighbours
    v_l  = Σ_j a_jl (x_j − q),   a_jl = w_j t_jl / σ_l²      tangent directions, on demand

so that a point keeps k × m numbers whatever the number of features p; n × p × m numbers are never formed.

======  ====================================================================  =========
symbol  meaning                                                               shape
======  ====================================================================  =========
X       rows that neighbours are taken from                                   (n, p)
Q, q    the points themselves: X again, or new rows                           (n_q, p)
w       weights, normalised                                                   (n_q, k)
μ       weighted mean of the neighbours, or q                                 (p,)
T       tangent coordinates                                                   (n_q, k, m)
σ       singular values, largest first                                        (n_q, m)
d_i     least number of directions that capture a share of the variance       (n_q,)
d       median of d_i                                                         scalar
======  ====================================================================  =========

Departures from the paper. The paper centres at the point itself: the first direction is then mostly the one from the
point to the middle of its neighbours, which is the point's own noise; ``center="point"`` does that. It leaves the
weights unnormalised, so that σ² depends on their sum. Directions have no sign of their own: the neighbour with the
largest absolute t_jl gets a positive coordinate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray, IntArray, Sparse
from manifolia._core.validate import check_number, check_option, row_numbers
from manifolia.exceptions import ParameterError

_BLOCK_NUMBERS = 1 << 20  # numbers of Gram matrices that a thread holds at once
_GATHERED = 1 << 22  # numbers of neighbours' features that a thread gathers at once
_MOST_ROWS = 512  # per piece of work: its working set stays in the cache
#: Eigenvalues below this share of the sum are rounding errors of the Gram matrix.
_ROUNDING = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}


class TangentSpaces(NamedTuple):
    """Tangent spaces of some points, in terms of their neighbours."""

    indices: IntArray  # (n, k): the neighbours
    # (n, k, m): T: coordinates of the neighbours along the directions, 0 along directions that the neighbours do not
    # span
    coordinates: FloatArray
    singular_values: FloatArray  # (n, m): σ, largest first
    weights: FloatArray  # (n, k): weights of the neighbours, which sum to 1
    # (n,): d_i: directions that capture the wanted share of the variance, at most m; 0 where all neighbours coincide
    dims: IntArray
    dim: int  # d: the median of d_i, at least 1

    def fit_together(self, n: int) -> bool:
        """Return whether arrays that came from a file fit together, of n points among themselves."""
        k, m = self.coordinates.shape[1:]
        shapes = self.indices.shape == self.weights.shape == (n, k) and self.dims.shape == (n,)
        shapes = shapes and self.coordinates.shape == (n, k, m) and self.singular_values.shape == (n, m) and k < n
        return bool(shapes and self.indices.dtype == np.intp and self.indices.min() >= 0 and self.indices.max() < n)


def tangent_spaces(
    X: Any,
    indices: IntArray,
    weights: FloatArray,
    *,
    query: Any = None,
    center: str = "mean",
    captured: float = 0.8,
    max_dim: int = 7,
    dim: int | None = None,
    n_jobs: int | None = None,
) -> TangentSpaces:
    """Find the tangent space at every point by weighted local principal component analysis (Eq. 2).

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, p)
        Rows that neighbours are taken from, floats.
    indices : ndarray of int of shape (n_q, k)
        Neighbours of each point among the rows of X.
    weights : ndarray of shape (n_q, k)
        Their weights, at least 0 and not all 0, such as the strengths of Eq. (1). They are normalised.
    query : ndarray or csr_array of shape (n_q, p), default=None
        The points, of the same kind and dtype as `X`; None: the rows of X.
    center : {"mean", "point"}, default="mean"
        Where neighbourhoods are centred: at their weighted mean, or at the point as in the paper.
    captured : float, default=0.8
        Share of a neighbourhood's variance that the directions counted in `dims` capture.
    max_dim : int, default=7
        Maximum number of directions kept.
    dim : int, default=None
        Dimension d, if it is already known, as for new rows; None takes the median of `dims`.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    TangentSpaces
        Coordinates of the neighbours, singular values and dimensions.

    References
    ----------
    Singer, Wu, "Vector diffusion maps and the connection Laplacian", 2012: the span of the directions approximates the
    tangent space (Theorem 3.1 of FeatureMAP).

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.neighbors import kneighbors
    >>> from manifolia.operators.tangent import bases, tangent_spaces
    >>> line = np.outer(np.arange(10.0), [0.6, 0.8, 0.0])
    >>> near = kneighbors(line, 4)
    >>> spaces = tangent_spaces(line, near.indices, np.ones((10, 4)))
    >>> spaces.dim, np.abs(bases(spaces, line, [5])[0, :, 0]).round(3).tolist()
    (1, [0.6, 0.8, 0.0])
    """
    check_option(center, "center", ("mean", "point"))
    check_number(captured, "captured", low=0.0, high=1.0, open_low=True)
    check_number(max_dim, "max_dim", low=1, integer=True)
    Q = X if query is None else query
    nearest, w = _checked(X, Q, indices, weights)
    n, k = nearest.shape
    w = w / w.sum(axis=1, keepdims=True)
    m = min(max_dim, k)
    T = np.empty((n, k, m), dtype=X.dtype)
    top = float(np.finfo(X.dtype).max)
    sigma = np.empty((n, m))
    dims = np.empty(n, dtype=np.intp)
    rounding = _ROUNDING[np.dtype(np.float64)] if sp.issparse(X) else _ROUNDING[X.dtype]

    def run(part: slice) -> None:
        G = _gram(Q, X, nearest, part)
        found = _local_pca(G, w[part], m, center=center, captured=captured, rounding=rounding)
        coordinates, sigma[part], dims[part] = found
        T[part] = np.clip(coordinates, -top, top)  # directions due to rounding alone may leave single precision

    height = min(_MOST_ROWS, max(1, _BLOCK_NUMBERS // (k * k)))
    map_blocks(run, row_blocks(n, height), n_jobs=n_jobs)
    if dim is None:
        dim = max(1, int(np.median(dims))) if n else 1
    return TangentSpaces(nearest.astype(np.intp, copy=False), T, sigma, w, dims, min(dim, m))


def _checked(X: Any, Q: Any, indices: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Check neighbours, their weights and the points: kernels index with them unchecked."""
    nearest, w = np.asarray(indices), np.ascontiguousarray(weights, dtype=np.float64)
    if nearest.dtype.kind not in "iu" or nearest.ndim != 2 or nearest.shape != w.shape or nearest.shape[1] == 0:
        raise ParameterError(
            f"indices (ints) and weights must have one shape (n, k) with k at least 1, got {nearest.dtype} of shape "
            f"{nearest.shape} and {w.shape}.",
            parameter="indices",
        )
    if nearest.size and (nearest.min() < 0 or nearest.max() >= X.shape[0]):
        raise ParameterError(
            f"indices must lie between 0 and {X.shape[0] - 1}, the rows of X, got {nearest.min()} to {nearest.max()}.",
            parameter="indices",
        )
    if sp.issparse(Q) != sp.issparse(X) or Q.shape != (len(nearest), X.shape[1]):
        raise ParameterError(
            f"the points must be of the same kind as X, one for each row of indices: ({len(nearest)}, {X.shape[1]}), "
            f"got shape {Q.shape}.",
            parameter="query",
        )
    return nearest.astype(np.int64), w


def _gram(Q: Any, X: Any, nearest: IntArray, part: slice) -> FloatArray:
    """Gram matrices of the differences between some rows' neighbours and the rows themselves."""
    from manifolia.kernels import tangent as kernels

    k = nearest.shape[1]
    G = np.empty((part.stop - part.start, k, k))
    if sp.issparse(X):
        kernels.gram_rows_sparse(*_csr_parts(Q), *_csr_parts(X), X.shape[1], nearest, part.start, G)
    else:
        kernels.gram_rows(Q, X, nearest, part.start, G)
    return G


def _csr_parts(X: Sparse) -> tuple[FloatArray, IntArray, IntArray]:
    # SciPy's index type depends on the size; one type means one compiled version.
    return X.data, X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)


def _local_pca(
    G: FloatArray, w: FloatArray, m: int, *, center: str, captured: float, rounding: float
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Coordinates, singular values and captured dimensions from Gram matrices (rows, k, k) and weights (rows, k)."""
    if center == "mean":
        # Differences to the mean: G ← (I − 1wᵀ) G (I − w1ᵀ).
        from_mean = (G * w[:, None, :]).sum(axis=2)
        G = G - from_mean[:, :, None] - from_mean[:, None, :] + (from_mean * w).sum(axis=1)[:, None, None]
    root = np.sqrt(w)
    squares, U = np.linalg.eigh(root[:, :, None] * G * root[:, None, :])
    squares, U = squares[:, ::-1], U[:, :, ::-1]  # largest first
    total = np.maximum(squares.sum(axis=1), 0.0)
    squares = np.where(squares > rounding * total[:, None], squares, 0.0)
    share = np.cumsum(squares, axis=1)
    enough = captured * share[:, -1:] * (1.0 - 1e-9)  # all of the variance is enough for captured=1
    dims = np.where(total > 0.0, (share < enough).sum(axis=1) + 1, 0)
    sigma = np.sqrt(squares[:, :m])
    # T = G a with a = √w U / σ: where a weight is 0, U σ / √w would be 0 / 0.
    spanned = sigma > 0.0
    a = root[:, :, None] * U[:, :, :m] / np.where(spanned, sigma, 1.0)[:, None, :]
    T = np.matmul(G, np.where(spanned[:, None, :], a, 0.0))
    farthest = np.take_along_axis(T, np.abs(T).argmax(axis=1)[:, None, :], axis=1)
    T *= np.where(farthest < 0.0, -1.0, 1.0)
    return T, sigma, np.minimum(dims, m)


def coefficients(spaces: TangentSpaces, rows: IntArray | slice | None = None, *, d: int | None = None) -> FloatArray:
    """Return the a_jl with which neighbours add up to tangent directions: v_l = Σ_j a_jl (x_j − q)."""
    chosen = slice(None) if rows is None else rows
    d = spaces.dim if d is None else d
    squares = spaces.singular_values[chosen, :d] ** 2
    inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0.0)
    T = spaces.coordinates[chosen, :, :d].astype(np.float64)
    out: FloatArray = spaces.weights[chosen][:, :, None] * T * inverse[:, None, :]
    return out


def bases(
    spaces: TangentSpaces,
    X: Any,
    rows: Any = None,
    d: int | None = None,
    *,
    features: Any = None,
    query: Any = None,
    lift: FloatArray | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return tangent directions as vectors of features, for the points and features asked for (Eq. 3)."""
    d = spaces.dim if d is None else check_number(d, "d", low=1, high=spaces.coordinates.shape[2], integer=True)
    chosen = row_numbers(rows, spaces.indices.shape[0])
    columns = row_numbers(features, X.shape[1] if lift is None else lift.shape[1], "features")
    inner = columns if lift is None else np.arange(X.shape[1])
    back = None if lift is None else np.ascontiguousarray(lift[:, columns].T, dtype=np.float64)
    Q = X if query is None else query
    if sp.issparse(X) and lift is None and features is not None:
        X, Q, inner = X[:, columns], Q[:, columns], np.arange(columns.size)
    out = np.empty((chosen.size, columns.size, d))

    def run(part: slice) -> None:
        points = chosen[part]
        a = np.ascontiguousarray(coefficients(spaces, points, d=d).transpose(0, 2, 1))
        V = (_combine_sparse if sp.issparse(X) else _combine)(a, spaces.indices[points], X, Q, points, inner)
        V = np.ascontiguousarray(V.transpose(0, 2, 1))
        out[part] = V if back is None else np.matmul(back, V)

    height = max(1, min(_MOST_ROWS, _GATHERED // max(1, spaces.indices.shape[1] * inner.size)))
    map_blocks(run, row_blocks(chosen.size, height), n_jobs=n_jobs)
    return out


def _combine(
    a: FloatArray, nearest: IntArray, X: FloatArray, Q: FloatArray, points: IntArray, columns: IntArray
) -> FloatArray:
    """Σ_j a_jl (x_j − q), (rows, d, n_columns), of dense rows."""
    if columns.size == X.shape[1]:
        there, here = X[nearest].astype(np.float64), Q[points].astype(np.float64)
        if not np.array_equal(columns, np.arange(columns.size)):
            there, here = there[:, :, columns], here[:, columns]
    else:
        there = X[nearest[:, :, None], columns].astype(np.float64)
        here = Q[points[:, None], columns].astype(np.float64)
    out: FloatArray = np.matmul(a, np.ascontiguousarray(there - here[:, None, :]))
    return out


def _combine_sparse(
    a: FloatArray, nearest: IntArray, X: Sparse, Q: Sparse, points: IntArray, columns: IntArray
) -> FloatArray:
    """The same of sparse rows: Σ_j a_jl x_j − (Σ_j a_jl) q."""
    rows, d, k = a.shape
    starts = np.arange(0, rows * d * k + 1, k)
    from_near = sp.csr_array((a.ravel(), np.repeat(nearest, d, axis=0).ravel(), starts), shape=(rows * d, X.shape[0]))
    own = sp.csr_array(
        (a.sum(axis=2).ravel(), np.repeat(points, d), np.arange(rows * d + 1)), shape=(rows * d, Q.shape[0])
    )
    out: FloatArray = ((from_near @ X) - (own @ Q)).toarray().reshape(rows, d, X.shape[1])
    return out
