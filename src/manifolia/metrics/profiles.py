"""How well a map keeps what a forest knows about the rows inside a class, by the rows' profiles of proximities."""

from __future__ import annotations

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.types import ArrayLike, FloatArray, Sparse
from manifolia._core.validate import check_map, check_matrix, check_number, to_csr
from manifolia.exceptions import ParameterError
from manifolia.metrics._labels import classes
from manifolia.metrics._spaces import near_one
from manifolia.metrics.registry import card

#: Differences due to rounding: of affinities, which are at most 1, and of distances, relative to the map's width.
_AFFINITY_ROUNDING = 1e-12
_DISTANCE_ROUNDING = 1e-9
#: Pairs of rows of a class that are compared at once, in numbers.
_BLOCK_NUMBERS = 1_000_000


@card(
    "Order inside classes kept",
    "Of the rows of its class that are most like a row to a forest, how many are among the nearest to it in the map?",
    needs=("P", "Y", "y"),
    n_classes=1,
)
def inner_structure(P: ArrayLike, Y: ArrayLike, y: ArrayLike, k: int = 5) -> float:
    """Share of a row's k nearest rows of its class, by proximity profile, that are also nearest in the map.

    A supervised map can separate classes and arrange each of them at random. This measure sees the inside of classes
    only: for each row it compares the k rows of the same class whose profiles are most like its own with the k rows of
    the same class that are nearest in the map, and it averages the share of common ones over rows.

    The profile of a row is its row of `P`, divided by its sum. The likeness of two profiles p and q is their Hellinger
    affinity, Σ_j √(p_j q_j): 1 for equal profiles, 0 for profiles that share nothing. Profiles are distributions over
    the training rows, and this compares them as such. The entry p_ij itself would be a poor judge of how alike rows i
    and j are: a row has few entries above 0 in its class, and many of them are equal.

    Rows that are equally near share the remaining places among the k evenly, so that the order of the rows does not
    matter. A map with all rows in one place scores like chance. In a class with k + 1 rows every map is right, so only
    classes of at least k + 2 rows are judged. A row whose profile is empty, being in every tree's bag, is not judged.

    Parameters
    ----------
    P : array-like or sparse matrix of shape (n, m)
        Proximities, none negative: row i is the profile of row i, such as ``model.proximity_matrix()``, where m = n. A
        sparse one stays sparse.
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Labels.
    k : int, default=5
        Number of nearest rows.

    Returns
    -------
    float
        In [0, 1], higher is better; 1 if the map keeps every order, about k / (m − 1) for random places in classes of
        m rows.

    Raises
    ------
    ValueError
        If an entry of `P` is negative, or no class has k + 2 rows, or these have no profiles.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.GuidedMap(n_trees=100, random_state=0).fit(X, y)
    >>> 0.2 < inner_structure(model.proximity_matrix(), model.embedding_, y) < 1.0
    True
    """
    from scipy.sparse import csr_array

    profiles = to_csr(csr_array(check_matrix(P, name="P", accept_sparse=True))).astype(np.float64)
    if (profiles.data < 0).any():
        raise ParameterError(
            f"P must hold proximities, none below 0, and its least entry is {profiles.data.min():g}. "
            "Pass for example model.proximity_matrix().",
            parameter="P",
        )
    coordinates = near_one(check_map(Y, n_rows=profiles.shape[0]).astype(np.float64))
    labels = classes(y, n_rows=profiles.shape[0], at_least=1, purpose="inner_structure")
    check_number(k, "k", low=1, integer=True, hint="It is a number of nearest rows.")
    sums = profiles.sum(axis=1)
    sizes = np.bincount(labels.codes)
    is_judged = (sizes[labels.codes] >= k + 2) & (sums > 0)
    if not is_judged.any():
        raise ValueError(
            f"inner_structure needs a class of at least {k + 2} rows, with proximities, for k={k}; the largest class "
            f"has {sizes.max()}. Pass a smaller k, or more rows."
        )
    # The affinity of two profiles is the product of their roots.
    profiles.data = np.sqrt(profiles.data / np.repeat(sums, np.diff(profiles.indptr)))
    rounding = _DISTANCE_ROUNDING * float(np.ptp(coordinates, axis=0).max())
    shares = np.zeros(labels.codes.shape[0])
    for code in np.unique(labels.codes[is_judged]):
        rows = np.flatnonzero(labels.codes == code)
        shares[rows] = _order_kept(profiles[rows], coordinates[rows], int(k), rounding)
    return float(shares[is_judged].mean())


def _order_kept(roots: Sparse, places: FloatArray, k: int, rounding: float) -> FloatArray:
    """For each row of a class, the share of its k nearest by profile that are among its k nearest by place."""
    from scipy.spatial.distance import cdist

    m = places.shape[0]
    transposed = roots.T.tocsr()
    shares = []
    for part in row_blocks(m, max(1, _BLOCK_NUMBERS // m)):
        unlike, apart = -(roots[part] @ transposed).toarray(), cdist(places[part], places)
        for order in (unlike, apart):
            np.fill_diagonal(order[:, part], np.inf)  # a row is not its own neighbour
        alike, near = _among_first(unlike, k, _AFFINITY_ROUNDING), _among_first(apart, k, rounding)
        shares.append((alike * near).sum(axis=1) / k)
    return np.concatenate(shares)


def _among_first(order: FloatArray, k: int, rounding: float) -> FloatArray:
    """For each row, 1 for its k smallest values and 0 for the others; values tied with the k-th share what is left."""
    border = np.partition(order, k - 1, axis=1)[:, k - 1 : k]
    before, at_border = order < border - rounding, np.abs(order - border) <= rounding
    left = k - before.sum(axis=1, keepdims=True)
    return before + at_border * (left / at_border.sum(axis=1, keepdims=True))
