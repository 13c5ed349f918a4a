"""The k nearest rows of every row, or of new rows: exact where that is quick, through inverted lists above.

A row is never its own neighbour, but a duplicate of it is, at distance 0. Among rows at equal distance, the one with
the lower index comes first. Distances are computed from differences in double precision and returned in the dtype of
the data. The neighbours of a row depend only on that row and on the data: not on the other rows of the query, not on
`n_jobs`, and for a given `random_state` they have the same bits on every run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks
from manifolia._core.memory import require
from manifolia._core.parallel import map_blocks, resolve_n_jobs, threads
from manifolia._core.random import as_generator
from manifolia._core.sparse import largest_entries
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_matrix, check_number, check_option, check_pairwise
from manifolia.exceptions import ParameterError
from manifolia.neighbors.exact import exact_neighbors, join
from manifolia.neighbors.lists import Effort, InvertedLists, build_lists, choose_effort, project, search_lists
from manifolia.neighbors.rows import check_rows, finish, prepare, take

METRICS = ("euclidean", "cosine", "manhattan", "precomputed")
#: Multiplications up to which "auto" searches exactly: about a second on two cores.
_EXACT_WORK = {"euclidean": 4e10, "cosine": 4e10, "manhattan": 8e9}
_PAIR_WORK = 32  # what choosing candidates costs per pair, in multiplications
_JUDGES = 256  # rows whose exact neighbours decide the effort of an approximate search
_ENOUGH = 0.985  # "auto" searches exactly where the lists find a smaller share of the judges' neighbours
_SCAN_COST = 3  # a multiplication in the lists takes about as long as three in a large product
_MEASURE_COST = 8  # and one for a candidate, measured row by row in double precision, longer than eight


class Neighbors(NamedTuple):
    """The neighbours of each row, nearest first.

    Attributes
    ----------
    indices : ndarray of intp of shape (n, k)
        Rows of the data.
    distances : ndarray of shape (n, k)
        In the dtype of the data, never decreasing along a row.
    """

    indices: IntArray
    distances: FloatArray


def kneighbors(
    X: ArrayLike,
    k: int,
    *,
    metric: str = "euclidean",
    exact: bool | str = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Neighbors:
    """Find the k nearest other rows of every row.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or (n, n) with metric="precomputed"
        The data, without missing values. Sparse data is never made dense as a whole; the Manhattan distance needs dense
        data. Precomputed distances may be sparse: an entry that is not stored is not a neighbour, a stored zero is.
    k : int
        Neighbours per row, at most n − 1: a row is not its own neighbour. A duplicate of a row is, at distance 0.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        "cosine" is 1 − cos; a row of zeros is at distance 1 from all but other rows of zeros.
    exact : bool or "auto", default="auto"
        True: the exact neighbours, ties by index. False: inverted lists, with the effort that finds 98.7 % of the
        neighbours of a sample of rows. "auto": exact for data small enough for about a second of work, or where the
        lists would not be quicker.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the inverted lists; an exact search is not random.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    Neighbors
        Indices and distances of shape (n, k), nearest first.

    Raises
    ------
    TypeError
        If the data is sparse with metric="manhattan".
    ValueError
        If k is not between 1 and n − 1, or a value cannot be used.

    Examples
    --------
    >>> from manifolia.neighbors import kneighbors
    >>> found = kneighbors([[0.0], [1.0], [3.0], [3.0]], 2)
    >>> found.indices.tolist()
    [[1, 2], [0, 2], [3, 1], [2, 1]]
    >>> found.distances.tolist()
    [[1.0, 3.0], [1.0, 2.0], [0.0, 2.0], [0.0, 2.0]]
    """
    _check_k(k)
    return NeighborIndex(X, metric=metric, exact=exact, random_state=random_state, n_jobs=n_jobs).neighbors(k)


class NeighborIndex:
    """Rows, ready to be searched for their own neighbours and those of new rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or (n, n) with metric="precomputed"
        The data, as for `kneighbors`. It is kept, not copied, except for the cosine.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        As for `kneighbors`.
    exact : bool or "auto", default="auto"
        As for `kneighbors`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the inverted lists.
    n_jobs : int or None, default=None
        Threads, unless a search says otherwise; results do not depend on it.

    Attributes
    ----------
    n_rows : int
        Rows in the index.
    n_features : int
        Columns of the data.

    Examples
    --------
    >>> from manifolia.neighbors import NeighborIndex
    >>> index = NeighborIndex([[0.0], [1.0], [3.0]])
    >>> index.query([[2.5]], 2).indices.tolist()
    [[2, 1]]
    """

    def __init__(
        self,
        X: ArrayLike,
        *,
        metric: str = "euclidean",
        exact: bool | str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = check_option(metric, "metric", METRICS)
        exact = check_option(exact, "exact", (True, False, "auto"))
        resolve_n_jobs(n_jobs)
        self.n_jobs = n_jobs
        self._efforts: dict[int, Effort | None] = {}
        self._lists: InvertedLists | None = None
        if metric == "precomputed":
            self._X: Any = check_pairwise(check_matrix(X, accept_sparse=True), square=True)
            self.n_rows, self.n_features = self._X.shape
            return
        data = check_rows(X, metric)
        self.n_rows, self.n_features = data.shape
        self._X = prepare(data, metric)
        self._must_approximate = exact != "auto"
        if exact == "auto":
            exact = float(self.n_rows) ** 2 * (_terms(data) + _PAIR_WORK) <= _EXACT_WORK[metric]
        if exact:
            return
        require(
            self.n_rows * 1200.0,
            step=f"the inverted lists of {self.n_rows} rows",
            remedy="Search for the neighbours of fewer rows.",
        )
        rng = as_generator(random_state)
        judges = np.sort(rng.choice(self.n_rows, min(self.n_rows, _JUDGES), replace=False))
        self._judges = judges.astype(np.int64)
        with threads(n_jobs):
            self._lists, self._Z = build_lists(self._X, rng)

    def neighbors(self, k: int, *, n_jobs: int | None = None) -> Neighbors:
        """Find the k nearest other rows of every row in the index.

        Parameters
        ----------
        k : int
            Neighbours per row, at most n − 1.
        n_jobs : int or None, default=None
            Threads; the result does not depend on it.

        Returns
        -------
        Neighbors
            Indices and distances of shape (n, k).
        """
        _check_k(k)
        if k >= self.n_rows:
            raise ParameterError(
                f"k must be at most n - 1 = {self.n_rows - 1}, because a row is not its own neighbour, got k={k} with "
                f"n={self.n_rows} rows. Pass a smaller k, or more rows.",
                parameter="k",
            )
        rows = np.arange(self.n_rows, dtype=np.int64)
        return self._search(self._X, None if self._lists is None else self._Z, k, rows, n_jobs)

    def query(self, X: ArrayLike, k: int, *, n_jobs: int | None = None) -> Neighbors:
        """Find the k nearest rows of the index for new rows, each by itself: the same bits alone as in any batch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), or (m, n) with metric="precomputed"
            New rows, converted to the dtype of the index; or their distances to the rows of the index.
        k : int
            Neighbours per row, at most n.
        n_jobs : int or None, default=None
            Threads; the result does not depend on it.

        Returns
        -------
        Neighbors
            Indices and distances of shape (m, k).
        """
        _check_k(k)
        if k > self.n_rows:
            raise ParameterError(
                f"k must be at most the {self.n_rows} rows of the index, got k={k}. Pass a smaller k.", parameter="k"
            )
        if self.metric == "precomputed":
            rows = self._matching(check_pairwise(check_matrix(X, accept_sparse=True), square=False))
        else:
            rows = prepare(self._matching(check_rows(X, self.metric)), self.metric)
        return self._search(rows, None, k, np.full(rows.shape[0], -1, dtype=np.int64), n_jobs)

    def recall(self, k: int) -> float:
        """Compute the share of the true neighbours that the search finds.

        Parameters
        ----------
        k : int
            Neighbours per row, at most n − 1.

        Returns
        -------
        float
            1 for an exact search; otherwise the share found for a sample of at most 256 rows.
        """
        _check_k(k)
        with threads(self.n_jobs):
            effort = self._effort(min(k, self.n_rows - 1))
        return 1.0 if effort is None else effort.recall

    def _matching(self, X: Any) -> Any:
        """Convert new rows to the form of the index: width, dtype, dense or sparse."""
        if X.shape[1] != self.n_features:
            raise ParameterError(
                f"X has {X.shape[1]} columns and the index was built with {self.n_features}. Pass the same columns in "
                f"the same order.",
                parameter="X",
            )
        X = X.astype(self._X.dtype, copy=False)
        if sp.issparse(self._X):
            return X if sp.issparse(X) else sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else X

    def _search(self, Q: Any, Z: FloatArray | None, k: int, own: IntArray, n_jobs: int | None) -> Neighbors:
        with threads(self.n_jobs if n_jobs is None else n_jobs):
            if self.metric == "precomputed":
                return _from_distances(Q, k, own)
            # k = n has no effort of its own: the judges have n − 1 neighbours.
            effort = self._effort(min(k, self.n_rows - 1))
            if effort is None or self._lists is None:
                indices, distances = exact_neighbors(Q, self._X, k, metric=self.metric, own=own)
            else:
                Z = project(Q, self._lists) if Z is None else Z
                effort = effort._replace(n_candidates=max(effort.n_candidates, k))
                indices, distances = search_lists(Q, Z, self._X, self._lists, k, effort, metric=self.metric, own=own)
        return Neighbors(indices, finish(distances, self.metric, self._X.dtype))

    def _effort(self, k: int) -> Effort | None:
        """Return the effort for k neighbours, chosen when k is first asked for; None means an exact search."""
        if self._lists is None:
            return None
        if k not in self._efforts:
            Z = self._Z[self._judges]
            effort = choose_effort(self._X, Z, self._lists, self._judges, k, metric=self.metric)
            scan = effort.n_probes / self._lists.n_lists * Z.shape[1] * _SCAN_COST
            # With many columns of noise, nearly all rows are candidates; an exact search measures little more than k.
            terms = _terms(self._X)
            measuring = (effort.n_candidates - k) / self.n_rows * terms * _MEASURE_COST
            is_worth_it = effort.recall >= _ENOUGH and scan + measuring < terms + _PAIR_WORK
            self._efforts[k] = effort if is_worth_it or self._must_approximate else None
        return self._efforts[k]


def _from_distances(D: Any, k: int, own: IntArray) -> Neighbors:
    """Pick the k smallest of every row."""
    find = _stored_smallest if sp.issparse(D) else _smallest
    indices, distances = join(map_blocks(lambda part: find(take(D, part), k, own[part]), row_blocks(D.shape[0])), k)
    return Neighbors(indices, distances.astype(D.dtype, copy=False))


def _check_k(k: int) -> None:
    check_number(k, "k", low=1, integer=True, hint="Pass the number of neighbours wanted.")


def _terms(X: Any) -> float:
    """Return how many numbers a row has."""
    return X.nnz / X.shape[0] if sp.issparse(X) else float(X.shape[1])


def _smallest(D: FloatArray, k: int, own: IntArray) -> tuple[IntArray, FloatArray]:
    from manifolia.kernels import candidates as kernels

    indices = np.empty((D.shape[0], k), dtype=np.intp)
    distances = np.empty((D.shape[0], k))
    kernels.smallest(D, own, indices, distances)
    return indices, distances


def _stored_smallest(D: Any, k: int, own: IntArray) -> tuple[IntArray, FloatArray]:
    rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
    others = D.indices != own[rows]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[others], minlength=D.shape[0]))])
    nearness = sp.csr_array((-D.data[others].astype(np.float64), D.indices[others], starts), shape=D.shape)
    indices, values = largest_entries(nearness, k)
    if (indices < 0).any():
        raise ValueError(
            f"X stores {np.diff(starts).min()} distances from one of its rows to others and k={k}. Pass a smaller k, "
            f"or a matrix with at least k stored distances per row (a stored zero counts)."
        )
    return indices, -values
