"""Do the features that matter for the target shape the map, and does a kernel see the target?

`importance_alignment` compares two importances of every feature f, both measured on rows that were not used to learn:

======  ==================================================================================================
symbol  meaning
======  ==================================================================================================
I_f     fall of the score of k nearest neighbours X → y when feature f is permuted
E_f     fall of R² of k nearest neighbours X → Y (the map) when feature f is permuted: local
G_f     Spearman's correlation of the distances |x_if − x_jf| in one feature with those in the map: global
======  ==================================================================================================

The score is Spearman's correlation of I with E or with G over the features. k nearest neighbours of X serve y and Y
alike, so one search per permuted feature gives I_f and E_f; and permuting one feature changes squared distances by one
term, so the search costs O(n²) per feature and not O(n² d).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks, resolve_n_jobs
from manifolia._core.random import spawn_seeds
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_bool, check_map, check_matrix, check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.metrics._labels import Classes, check_target, vote
from manifolia.metrics._sampling import check_sample, draw_pairs
from manifolia.metrics._statistics import correlation, mean_interval, r2, rank_correlation
from manifolia.metrics.registry import card

#: Random pairs for each sampled row: a correlation from 5,000 pairs is good to 0.015.
_PAIRS_PER_ROW = 50


@card(
    "What matters spreads the map",
    "Do distances in the columns that predict the target resemble those in the map? Correlation over columns.",
    name="importance_alignment_global",
    needs=("X", "Y", "y"),
    range=(-1.0, 1.0),
    parameters={"scope": "global"},
)
@card(
    "What matters shapes the map",
    "Are the columns that predict the target those that predict the place in the map? Correlation over columns.",
    needs=("X", "Y", "y"),
    range=(-1.0, 1.0),
)
def importance_alignment(
    X: ArrayLike,
    Y: ArrayLike,
    y: ArrayLike,
    *,
    scope: str = "local",
    task: str = "auto",
    n_neighbors: int = 5,
    n_repeats: int = 10,
    n_permutations: int = 3,
    test_size: float = 0.3,
    sample: int | None = None,
    random_state: RandomState = 0,
    return_ci: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Measure whether the features that matter for the target are those that shape the map.

    Distances are Euclidean in `X` as it is: scale its columns as for the map. R² of the map is computed over all its
    components together, so that rotating the map changes nothing.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, with at least two features.
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,)
        Target: classes or numbers.
    scope : {"local", "global"}, default="local"
        "local": compare with each feature's importance for predicting the map from neighbours. "global": with the
        correlation of distances in the feature and in the map.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read `y`. "auto": floats with a fraction are numbers, and so are whole numbers with more than 20
        different values; all else are classes.
    n_neighbors : int, default=5
        Neighbours that predict.
    n_repeats : int, default=10
        Random splits; the result is the mean over them.
    n_permutations : int, default=3
        Permutations of each feature in a split.
    test_size : float, default=0.3
        Share of rows on which importance is measured.
    sample : int, default=None
        Use this many rows, drawn afresh in each repeat, and 50 pairs for each of them for the distances; None uses all.
        Time grows with the square of this number.
    random_state : int, RandomState, Generator or None, default=0
        Seed of samples, splits and permutations; the default is fixed, so that several maps get the same ones.
    return_ci : bool, default=False
        Also return the 95 % interval of the mean over the repeats. They share rows, so it is somewhat too narrow.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float or tuple
        In [−1, 1], higher is better, about 0 for a map that is unrelated to the target's features; with `return_ci` a
        tuple ``(value, (low, high))``.

    References
    ----------
    The structure-importance alignment of RF-PHATE's and RF-AE's evaluations, which measure importance on the training
    rows; here it is measured on rows held out.
    """
    check_bool(return_ci, "return_ci")
    data = check_matrix(X, min_rows=4, min_columns=2).astype(np.float64)
    coordinates = check_map(Y, n_rows=data.shape[0]).astype(np.float64)
    n = data.shape[0]
    check_option(scope, "scope", ("local", "global"))
    check_number(n_repeats, "n_repeats", low=1, integer=True)
    check_number(n_permutations, "n_permutations", low=1, integer=True)
    check_number(test_size, "test_size", low=0.0, high=0.9, open_low=True)
    m = check_sample(sample, low=4, high=n, what="rows") or n
    n_test = min(max(round(test_size * m), 2), m - 1)
    n_learn = m - n_test
    hint = f"{n_learn} rows are there to learn from."
    check_number(n_neighbors, "n_neighbors", low=1, high=n_learn, integer=True, hint=hint)
    labels, target = check_target(y, task, n_rows=n, purpose="importance_alignment")
    fewer = "Pass sample= to use fewer rows."
    require(8 * n_test * n_learn, step=f"importance_alignment on {m} rows", remedy=fewer)
    whole = None
    if scope == "global" and m == n:  # the same in every repeat
        n_pairs = n * (n - 1) // 2
        needed = (4 + 5 * resolve_n_jobs(n_jobs)) * 8 * n_pairs
        require(needed, step=f"the distances of {n_pairs} pairs", remedy=fewer)
        whole = _distance_correlations(data, coordinates, *np.triu_indices(n, 1), n_jobs)
    scores = np.empty(n_repeats)
    for repeat, seed in enumerate(spawn_seeds(random_state, n_repeats)):
        rows = np.random.default_rng(seed).permutation(n)[:m]
        split = _Split(data, coordinates, target, labels, learn=rows[n_test:], test=rows[:n_test])
        for_target, for_map = _falls(split, n_neighbors, n_permutations, seed, n_jobs)
        shape = for_map if scope == "local" else whole
        if shape is None:
            shape = _distance_correlations(data, coordinates, *draw_pairs(n, _PAIRS_PER_ROW * m, seed), n_jobs)
        scores[repeat] = rank_correlation(for_target, shape)
    value = float(scores.mean())
    return (value, mean_interval(scores)) if return_ci else value


class _Split(NamedTuple):
    """Data, map and target, with the rows to learn from and the rows to predict."""

    data: FloatArray
    coordinates: FloatArray
    target: Array
    labels: Classes | None
    learn: IntArray
    test: IntArray

    def scores(self, near: IntArray) -> tuple[float, float]:
        """Score of the target and R² of the map, predicted by the nearest learning rows."""
        neighbors = self.learn[near]
        of_map = r2(self.coordinates[neighbors].mean(axis=1), self.coordinates[self.test])
        truth = self.target[self.test]
        if self.labels is None:
            return r2(self.target[neighbors].mean(axis=1), truth), of_map
        return float((vote(self.target[neighbors], self.labels.names.shape[0]) == truth).mean()), of_map


def _falls(split: _Split, k: int, n_permutations: int, seed: int, n_jobs: int | None) -> tuple[FloatArray, FloatArray]:
    """Fall of the target's and of the map's score for each permuted feature: I and E."""
    from scipy.spatial.distance import cdist

    from manifolia.kernels.permuted import permuted_neighbors

    learn, test = split.data[split.learn], split.data[split.test]
    squared = cdist(test, learn, "sqeuclidean")

    def scores(feature: int, source: IntArray) -> tuple[float, float]:
        near = np.empty((test.shape[0], k), dtype=np.int64)
        a, b = (np.ascontiguousarray(side[:, feature]) for side in (test, learn))
        permuted_neighbors(squared, a, b, source, near)
        return split.scores(near)

    before = np.array(scores(0, np.arange(test.shape[0])))

    def run(feature: int) -> FloatArray:
        if np.ptp(test[:, feature]) == 0:
            return np.zeros(2)
        generator = np.random.default_rng([seed, feature])
        after = [scores(feature, generator.permutation(test.shape[0])) for _ in range(n_permutations)]
        return before - np.mean(after, axis=0)

    falls = np.array(map_blocks(run, range(split.data.shape[1]), n_jobs=n_jobs, anywhere=True))
    return falls[:, 0], falls[:, 1]


def _distance_correlations(X: FloatArray, Y: FloatArray, a: IntArray, b: IntArray, n_jobs: int | None) -> FloatArray:
    """Spearman's correlation of the distances of pairs in each feature with those in the map: G."""
    from scipy.stats import rankdata

    in_map = np.zeros(a.shape[0])
    for component in Y.T:  # one column at a time: no (pairs, components) array
        in_map += (component[a] - component[b]) ** 2
    ranks = rankdata(in_map)

    def run(feature: int) -> float:
        column = X[:, feature]
        return correlation(rankdata(np.abs(column[a] - column[b])), ranks)

    return np.array(map_blocks(run, range(X.shape[1]), n_jobs=n_jobs, anywhere=True))


@card(
    "Kernel sees the target",
    "Are rows alike for the kernel when they are alike for the target?",
    needs=("K", "y"),
    range=(-1.0, 1.0),
)
def target_alignment(K: ArrayLike, y: ArrayLike, *, task: str = "auto", n_jobs: int | None = None) -> float:
    """Alignment of a kernel with the target, without the diagonal.

    A(K, T) = ⟨K, T⟩ / √(⟨K, K⟩ ⟨T, T⟩), where ⟨·, ·⟩ sums the products of all entries off the diagonal. For classes
    T is 1 where two rows have the same label and −1 elsewhere. For a numeric target, which the paper does not treat,
    T = z zᵀ with z the centred target.

    Parameters
    ----------
    K : array-like or sparse matrix of shape (n, n)
        The kernel; need not be symmetric. A sparse one stays sparse.
    y : array-like of shape (n,)
        Target: classes or numbers.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read `y`. "auto": floats with a fraction are numbers, and so are whole numbers with more than 20
        different values; all else are classes.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float
        In [−1, 1], higher is better.

    Raises
    ------
    ValueError
        If `K` is not square or is 0 off the diagonal, or `y` does not vary.

    References
    ----------
    Vens, Costa, "Random forest based feature induction", ICDM 2011, section III-C.2; Cristianini et al., "On
    kernel-target alignment", 2002.
    """
    kernel = check_matrix(K, name="K", accept_sparse=True, min_rows=2)
    n = kernel.shape[0]
    if kernel.shape[1] != n:
        raise ParameterError(
            f"K must be square, one row and one column per point, got shape {kernel.shape}. Pass a kernel of all "
            "pairs.",
            parameter="K",
        )
    labels, target = check_target(y, task, n_rows=n, purpose="target_alignment")
    if labels is not None:
        product, squares = _sums(kernel, lambda i, j: np.where(target[i] == target[j], 1.0, -1.0), n_jobs)
        of_target = float(n) * (n - 1)
    else:
        z = (target - target.mean()) / target.std()
        product, squares = _sums(kernel, lambda i, j: z[i] * z[j], n_jobs)
        of_target = float((z**2).sum() ** 2 - (z**4).sum())
    if squares == 0:
        raise ParameterError(
            "K is 0 everywhere off the diagonal, so its alignment is undefined. Pass a kernel with similarities.",
            parameter="K",
        )
    return float(np.clip(product / np.sqrt(squares * of_target), -1.0, 1.0))


def _sums(kernel: Any, target: Callable[[IntArray, IntArray], FloatArray], n_jobs: int | None) -> tuple[float, float]:
    """⟨K, T⟩ and ⟨K, K⟩ without the diagonal; T is made block by block and never whole."""
    columns = np.arange(kernel.shape[0])

    def run(rows: slice) -> tuple[float, float]:
        if sp.issparse(kernel):
            part = sp.coo_array(kernel[rows])
            i, j, values = part.row + rows.start, part.col, part.data.astype(np.float64)
        else:
            i, j = columns[rows, None], columns[None, :]
            values = kernel[rows].astype(np.float64)
        off = np.where(i == j, 0.0, values)
        return float((off * target(i, j)).sum()), float((off * off).sum())

    parts = np.array(map_blocks(run, row_blocks(kernel.shape[0]), n_jobs=n_jobs))
    product, squares = parts.sum(axis=0).tolist()
    return product, squares
