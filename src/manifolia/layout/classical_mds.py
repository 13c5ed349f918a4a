"""Classical multidimensional scaling: the coordinates whose inner products are nearest to those the distances imply.

With the squared distances D² and the centring J = I − 11ᵀ/n,

    B = −½ J D² J,        B u_k = λ_k u_k,        Y = [√λ_1 u_1, …, √λ_p u_p],

(Torgerson 1952, Gower 1966), with the largest λ first. Only these p pairs are computed. For small n LAPACK does it on
one double copy of D. Above that, B is never formed: a block Krylov iteration needs only products B V = −½ J (D² (J V)),
computed in blocks of rows that are squared in double precision as they are read, so besides D it holds one block of
rows per thread and two bases of n × about 80 numbers: no n × n copy at all.

References
----------
Torgerson, W. S. (1952). Multidimensional scaling: I. Theory and method. Psychometrika 17, 401-419.
Gower, J. C. (1966). Some distance properties of latent root and vector methods. Biometrika 53, 325-338.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray, RandomState
from manifolia._core.validate import check_matrix, check_number
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError

_DENSE_ROWS = 400  # below this LAPACK takes about 10 ms, no more than the iteration
_EXTRA = 6  # extra vectors: one reading of D serves them all, and they widen the gap
_BASIS_BLOCKS = 10  # the basis restarts at this many blocks
_TOLERANCE = 1e-10  # of ‖B u − λ u‖ against the largest |λ|; the error of λ is its square
_MAX_PASSES = 500  # pure noise, where no gap helps, took 112 at 2,000 rows; distances with any structure 3 to 10
_FIXED_SEED = 0
_TILE = 512  # side of the tiles in which D is compared with its transpose; two of them fit into a core's cache
_LARGEST = 1e150
_TIE = 1e-6  # entries this close to the largest count as equally large when the sign is fixed


class ClassicalMDS(NamedTuple):
    """What `classical_mds` returns."""

    Y: FloatArray  # (n, n_components): centred coordinates in the dtype of the distances, along the principal axes
    # (n_components,): the leading eigenvalues of B, unchanged: a value that is not positive belongs to a column of
    # zeros
    eigenvalues: FloatArray


def classical_mds(
    D: ArrayLike, n_components: int = 2, *, random_state: RandomState = None, n_jobs: int | None = None
) -> ClassicalMDS:
    """Place rows by classical multidimensional scaling.

    Parameters
    ----------
    D : array-like of shape (n, n)
        Distances: symmetric, not negative, zero diagonal. float32 is read as it is; sums run in double precision.
    n_components : int, default=2
        Dimensions of the map.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the start of the iteration that runs above 400 rows; it changes the result only by rounding. None is a
        fixed start, so the result is the same in every run.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    ClassicalMDS
        Coordinates `Y` and `eigenvalues`. In each column the entry of largest size is positive.

    Raises
    ------
    TypeError
        If `D` is sparse, or `n_components` is not an int.
    ValueError
        If `D` is not a matrix of distances, or `n_components` is below 1.

    Warns
    -----
    ManifoliaWarning
        If fewer than `n_components` eigenvalues are positive; the columns left over are zeros.

    Examples
    --------
    >>> from manifolia.layout.classical_mds import classical_mds
    >>> classical_mds([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]).eigenvalues.round(3).tolist()
    [12.964, 3.703]
    """
    D, mirrored = _checked(D, "D")
    n_components = check_number(n_components, "n_components", low=1, integer=True)
    n = D.shape[0]
    n_pairs = min(n_components, n)
    with threads(n_jobs):
        if n <= max(_DENSE_ROWS, (_BASIS_BLOCKS + 1) * (n_components + _EXTRA)):
            values, vectors = _leading_dense(D, n_pairs)
        else:
            generator = as_generator(_FIXED_SEED if random_state is None else random_state)
            values, vectors = _leading_krylov(D, n_pairs, generator, mirrored=mirrored)
    # Rounding of D (first term) and of the products (second) leaves this much of an eigenvalue that should be 0.
    noise = 10 * (np.finfo(D.dtype).eps + np.sqrt(n) * np.finfo(np.float64).eps) * np.abs(values).max()
    used = values > noise
    Y = np.zeros((n, n_components), dtype=D.dtype)
    Y[:, :n_pairs][:, used] = fix_signs(vectors[:, used]) * np.sqrt(values[used])
    eigenvalues = np.zeros(n_components)
    eigenvalues[:n_pairs] = values
    if used.sum() < n_components:
        warn(
            f"only {used.sum()} of the n_components={n_components} leading eigenvalues of the centred squared "
            f"distances are positive, so the other columns of the map are zero. Ask for fewer components."
        )
    return ClassicalMDS(Y, eigenvalues)


def check_distances(D: ArrayLike, *, name: str = "D") -> FloatArray:
    """Check a matrix of distances.

    Symmetry and diagonal are checked on squares, where rounding is even: distances found from inner products carry an
    error that is small against the largest square, not against a small distance.
    """
    return _checked(D, name)[0]


def _checked(D: ArrayLike, name: str) -> tuple[FloatArray, bool]:
    """Check distances, and return whether they are symmetric to the bit."""
    checked: FloatArray = check_matrix(D, name=name)
    n, n_columns = checked.shape
    if n != n_columns:
        raise ParameterError(
            f"{name} must be square, one row and one column per point, got shape {checked.shape}.", parameter=name
        )
    least, largest = float(checked.min()), float(checked.max())
    if least < 0:
        raise ParameterError(
            f"{name} must not be negative, got {least:g} as its least value. Pass distances, not similarities.",
            parameter=name,
        )
    if largest > _LARGEST:
        raise ParameterError(
            f"{name} must be at most {_LARGEST:g}, got {largest:g}: its square has no double. Divide it by a constant.",
            parameter=name,
        )
    scale = largest or 1.0
    tolerance = 1e-5 if checked.dtype == np.float32 else 1e-10
    diagonal = float(checked.diagonal().max())
    if (diagonal / scale) ** 2 > tolerance:
        raise ParameterError(
            f"{name} must be 0 on its diagonal, got {diagonal:g} there. A point has no distance to itself: pass "
            f"distances, not similarities, or set the diagonal with numpy.fill_diagonal({name}, 0).",
            parameter=name,
        )
    mirrored = True
    blocks = row_blocks(n, _TILE)
    for index, rows in enumerate(blocks):
        for columns in blocks[index:]:
            a, b = checked[rows, columns], checked[columns, rows].T
            if np.array_equal(a, b):
                continue
            mirrored = False
            gap = np.abs(a - b)
            if float((gap / scale * (a / scale + b / scale)).max()) > tolerance:  # |a² − b²|
                raise ParameterError(
                    f"{name} must be symmetric, but {name}[i, j] and {name}[j, i] differ by up to {gap.max():g} where "
                    f"the largest distance is {largest:g}. Pass ({name} + {name}.T) / 2 if that is what you mean.",
                    parameter=name,
                )
    return checked, mirrored


def _leading_dense(D: FloatArray, n_pairs: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenpairs of B by LAPACK, largest first; needs one double copy of D."""
    from scipy.linalg import eigh

    n = D.shape[0]

    def centred() -> FloatArray:
        B = np.add(D, D.T, dtype=np.float64)
        B *= B
        B *= -0.125  # −½ of the squares of half the sums
        B -= B.mean(axis=0)
        B -= B.mean(axis=1)[:, np.newaxis]
        return B

    values, vectors = eigh(centred(), subset_by_index=[n - n_pairs, n - 1], overwrite_a=True, check_finite=False)
    if len(values) < n_pairs:  # LAPACK may find none of the requested ones if many are equal
        values, vectors = (part[..., n - n_pairs :] for part in np.linalg.eigh(centred()))
    return values[::-1], vectors[:, ::-1]


def _centred_product(D: FloatArray, V: FloatArray, *, mirrored: bool) -> FloatArray:
    """Return B V without B; all blocks of rows have the same height, so the result does not depend on the threads.

    If D is symmetric only to rounding, its columns are read too: the iteration converges only for a symmetric B.
    """
    centred = _centred(V)

    def run(rows: slice) -> FloatArray:
        if mirrored:
            return np.multiply(D[rows], D[rows], dtype=np.float64) @ centred
        halves = np.add(D[rows], np.ascontiguousarray(D[:, rows].T), dtype=np.float64) / 2
        return np.square(halves, out=halves) @ centred

    return _centred(-0.5 * np.concatenate(map_blocks(run, row_blocks(D.shape[0]))))


def _leading_krylov(
    D: FloatArray, n_pairs: int, generator: np.random.Generator, *, mirrored: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenpairs of B, largest first, by a block Krylov iteration with thick restarts.

    Each pass multiplies one block, adds it to the orthonormal basis Q and solves the small problem T = QᵀBQ
    (Rayleigh and Ritz), which finds the algebraically largest values even if a negative one is larger in size. One
    reading of D serves a whole block, while a Lanczos iteration reads it for every vector, and a rank below the block's
    width, as for distances in a plane, needs no special case.
    """
    n = D.shape[0]
    width = n_pairs + _EXTRA
    block = np.linalg.qr(_centred(generator.standard_normal((n, width))))[0]
    Q = np.empty((n, 0))
    BQ = np.empty((n, 0))
    T = np.empty((0, 0))
    for _ in range(_MAX_PASSES):
        product = _centred_product(D, block, mirrored=mirrored)
        Q, BQ = np.hstack([Q, block]), np.hstack([BQ, product])
        coupling = Q.T @ product
        T = np.block([[T, coupling[:-width]], [coupling.T]])
        values, S = np.linalg.eigh((T + T.T) / 2)
        values, S = values[::-1], S[:, ::-1]
        vectors = Q @ S[:, :n_pairs]
        residual = np.linalg.norm(BQ @ S[:, :n_pairs] - vectors * values[:n_pairs], axis=0).max()
        scale = np.abs(values).max()
        if residual <= _TOLERANCE * scale:
            break
        block = product
        for _ in range(2):  # a column of rounding noise is orthogonal to Q only after it is scaled and projected again
            block = np.linalg.qr(block - Q @ (Q.T @ block))[0]
        if Q.shape[1] >= _BASIS_BLOCKS * width:
            kept = n_pairs + width
            Q, BQ, T = Q @ S[:, :kept], BQ @ S[:, :kept], np.diag(values[:kept])
    else:
        warn(
            f"the leading eigenvectors of the {n} × {n} distances were found to a relative residual of "
            f"{residual / scale:.1e} only: they are hardly apart. The coordinates are good as a start for metric MDS."
        )
    return values[:n_pairs], vectors


def _centred(V: FloatArray) -> FloatArray:
    return V - V.mean(axis=0)


def fix_signs(vectors: FloatArray, *, tie: float = _TIE) -> FloatArray:
    """Return the vectors, each with the sign that makes its largest entry (the first, if tied) positive."""
    sizes = np.abs(vectors)
    rows = np.argmax(sizes >= (1 - tie) * sizes.max(axis=0, initial=0.0), axis=0)
    signs = np.where(vectors[rows, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return vectors * signs
