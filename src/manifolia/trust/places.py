"""Is a row where it belongs? Neighbours in the map against neighbours in the data, row by row.

With k neighbours in one space and K = 3k in the other, of N other rows, the number that a place drawn at random would
keep is hypergeometric, P(c) = Hypergeom(N, K, k). Row i has the p-value

    p_i = max(P(C ≥ hit_i), P(C ≥ back_i)),

hit_i counting the k map neighbours that are among the K data neighbours and back_i the k data neighbours that are among
the K map neighbours. The null is the fault here: a large p is the alarm, and no correction for many rows applies.

The torn share of a row is the share of its k data neighbours that are beyond rank max(5k, n / 10) in the map, the
r-th of them counting 1/√r: a tear is beside a row if its nearest are beyond it. (Precision at recall 0.8 on torn
Swiss rolls, if the truth is about 5, 10, 15 or 20 neighbours on the sheet: 0.78, 0.92, 0.98, 0.90; if all count the
same, 0.56, 0.79, 0.99, 0.86.) Two dimensions cannot hold every neighbourhood: of data with many of them each row has
some neighbours far away, in any map. So a row is torn above 0.25 plus what is usual in its map, which is twice the
upper quartile of all torn shares. The tear of a Swiss roll is where it was: there the quartile is 0.

Rows at the same distance as the last neighbour are neighbours too, so that a table with many equal rows is not judged
by the order of its rows: k and K are then the numbers of neighbours that there really are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.groups import read_groups
from manifolia._core.parallel import map_blocks, threads
from manifolia._core.types import ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_number
from manifolia.exceptions import ParameterError
from manifolia.metrics._spaces import spaces
from manifolia.trust.sides import Side

K_NEAREST = 15  #: Neighbours of a row.
WIDER = 3  # K / k
_FAR = 5  # ranks, in units of k, beyond which a neighbour is elsewhere, and at least `_FAR_SHARE` of the rows
_FAR_SHARE = 0.1
_ROWS_PER_NEIGHBOR = 12  # a table must have this many rows for each of the k neighbours
_HEIGHT = 64  # rows that are compared with all others at once
TORN_SHARE = 0.25  #: Torn share from which a row may be torn.
_USUAL = 2.0  # times the upper quartile of the torn shares, which is added
N_LISTED = 10  #: Neighbours of each row that are listed, for votes.


class RowPlaces(NamedTuple):
    """How many neighbours each row keeps, compared with what chance would keep."""

    p: FloatArray  # (n,): chance that a random place keeps as many, the worse of both ways
    hits: IntArray  # (n,): neighbours in the map that are neighbours in the data
    back: IntArray  # (n,): neighbours in the data that are neighbours in the map
    torn: FloatArray  # (n,): share of the neighbours in the data that lie far away in the map; the nearest count most
    k: int  # Neighbours that were looked at
    expected: float  # How many of them a random place keeps, on average


class Compared(NamedTuple):
    """Counts of a pass over all rows, and the nearest rows in both spaces."""

    counts: IntArray  # (n, 6): hits and back, and of each the rows that were drawn from and the rows that were hit
    n_far: IntArray  # (n,): neighbours in the data that lie far away in the map
    torn: FloatArray  # (n,)
    n_others: IntArray  # (n,): rows that may be neighbours of each
    near_data: IntArray  # (n, 10): nearest rows in the data
    distances: FloatArray  # (n, 10): their distances, as `Side.keys` has them
    near_map: IntArray  # (n, 10): nearest rows in the map


def resolve_k(n_rows: int, k: int = K_NEAREST) -> int:
    """Number of neighbours to use for this many rows: fewer in small tables."""
    return max(1, min(k, n_rows // _ROWS_PER_NEIGHBOR))


def row_places(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    k: int = K_NEAREST,
    metric: str = "euclidean",
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> RowPlaces:
    """Compare the place of every row with a random place.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    k : int, default=15
        Neighbours; a twelfth of the rows if that is fewer.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance of the data.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together: neighbours are then rows of other groups.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Returns
    -------
    RowPlaces
        With ``p`` of shape (n,), the chance that a random place keeps as many neighbours: a row with ``p`` above 0.025
        lies where chance could have put it. Also ``hits``, ``back`` and ``torn`` of shape (n,), ``k``, and
        ``expected``, the number of neighbours that chance keeps.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import row_places
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> left, right = X[:, 0].argsort()[[20, -20]]
    >>> Y = X.copy()
    >>> Y[[left, right]] = Y[[right, left]]
    >>> set(np.flatnonzero(row_places(X, Y).p > 0.025)) == {left, right}
    True
    """
    check_number(k, "k", low=1, integer=True, hint="It is a number of neighbours.")
    with threads(n_jobs):
        data, plane = spaces(X, Y, metric)
        return places_from(compare(data, plane, resolve_k(data.n, k), read_groups(groups, data.n)), data.n, k)


def torn_share(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    k: int = K_NEAREST,
    metric: str = "euclidean",
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Share of each row's nearest rows in the data that lie far away from it in the map, the nearest counting most.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    k : int, default=15
        Neighbours; a twelfth of the rows if that is fewer.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance of the data.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together: neighbours are then rows of other groups.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Returns
    -------
    ndarray of shape (n,)
        Between 0 and 1; `manifolia.diagnose` calls a row torn above 0.25 plus what is usual in the map.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import torn_share
    >>> X = np.linspace(0, 1, 300)[:, np.newaxis]
    >>> Y = X + 5.0 * (X > 0.5)  # a line, torn in the middle
    >>> torn = np.flatnonzero(torn_share(X, Y) >= 0.25)
    >>> int(torn.min()), int(torn.max())
    (147, 152)
    """
    return row_places(X, Y, k=k, metric=metric, groups=groups, n_jobs=n_jobs).torn


def compare(
    data: Side,
    plane: Side,
    k: int,
    groups: IntArray | None = None,
    *,
    report: Callable[[int, int], object] | None = None,
) -> Compared:
    """Count, for every row, which neighbours data and map have in common."""
    n = data.n
    largest = 1 if groups is None else int(np.bincount(groups).max())
    if n - largest < WIDER * k + 1:
        name, told = "X", f"X has {n} rows"
        if groups is not None:
            name, told = "groups", f"groups leave a row of the largest group {n - largest} other rows"
        raise ParameterError(
            f"{told}, too few to compare neighbours: at least {WIDER * k + 1} others are needed. Pass more rows.",
            parameter=name,
        )
    listed = min(N_LISTED, n - largest)
    far = min(max(_FAR * k, int(_FAR_SHARE * n)), n - largest)
    # The ranks, from 0, at which a row's distances are cut.
    cuts = sorted({k - 1, WIDER * k - 1, listed - 1, far - 1})

    def run(rows: slice) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, FloatArray, IntArray]:
        own = np.arange(rows.start, rows.stop)
        mine = own[:, np.newaxis] == np.arange(n) if groups is None else groups[own][:, np.newaxis] == groups
        D, M = (np.where(mine, np.inf, side.keys(own)[:, :n]) for side in (data, plane))
        near_data, near_map = (_nearest(keys, listed) for keys in (D, M))
        in_order = {key: np.partition(keys, cuts, axis=1) for key, keys in (("data", D), ("map", M))}

        def within(keys: FloatArray, key: str, rank: int) -> BoolArray:
            return np.asarray(keys <= in_order[key][:, rank - 1 : rank])

        map_k, data_k = within(M, "map", k), within(D, "data", k)
        map_wide, data_wide = within(M, "map", WIDER * k), within(D, "data", WIDER * k)
        sums = [map_k & data_wide, data_k & map_wide, map_k, data_wide, data_k, map_wide]
        counts = np.column_stack([part.sum(axis=1) for part in sums])
        away = data_k & ~within(M, "map", far)
        torn = _torn(D, np.sort(in_order["data"][:, :k], axis=1), data_k, away)
        apart = np.take_along_axis(D, near_data, 1)
        return counts, away.sum(axis=1), torn, n - mine.sum(axis=1), near_data, apart, near_map

    parts = []
    blocks = row_blocks(n, _HEIGHT)
    step = max(1, len(blocks) // 8)  # a callback hears of eighths, and may stop there
    for start in range(0, len(blocks), step):
        if report is not None:
            report(blocks[start].start, n)
        parts += map_blocks(run, blocks[start : start + step])
    return Compared(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _torn(keys: FloatArray, least: FloatArray, near: BoolArray, away: BoolArray) -> FloatArray:
    """Share of the near that are away, each with a weight by the number of rows that are nearer."""
    row, column = np.nonzero(near)
    nearer = (least[row] < keys[row, column][:, np.newaxis]).sum(axis=1)
    weight = 1.0 / np.sqrt(1.0 + nearer)
    return np.asarray(np.bincount(row, weight * away[row, column]) / np.bincount(row, weight))


def _nearest(keys: FloatArray, k: int) -> IntArray:
    """Columns of the k smallest keys of each row, smallest first, and by number if they are equal."""
    some = np.sort(np.argpartition(keys, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(np.take_along_axis(keys, some, 1), axis=1, kind="stable")
    return np.take_along_axis(some, order, 1)


def places_from(compared: Compared, n_rows: int, k: int = K_NEAREST) -> RowPlaces:
    """Turn counts into p-values."""
    from scipy.stats import hypergeom

    hits, back, *_ = counts = compared.counts.T
    p = np.zeros(len(hits))
    for found, drawn, marked in ((hits, counts[2], counts[3]), (back, counts[4], counts[5])):
        # Few combinations occur, and SciPy takes its time for each.
        cases = np.column_stack([found, compared.n_others, marked, drawn])
        different, where = np.unique(cases, axis=0, return_inverse=True)
        tail = hypergeom.sf(different[:, 0] - 1, *different[:, 1:].T)
        p = np.maximum(p, tail[where.ravel()])
    own = resolve_k(n_rows, k)
    expected = float((counts[2] * counts[3] / compared.n_others).mean())
    return RowPlaces(np.clip(p, 0.0, 1.0), hits, back, compared.torn, own, expected)


def torn_limit(torn: FloatArray) -> float:
    """The torn share from which a row of this map is torn."""
    return TORN_SHARE + _USUAL * float(np.quantile(torn, 0.75))


def remoteness(near: IntArray, distances: FloatArray, k: int = 5) -> FloatArray:
    """Distance of each row to its k nearest, in units of the same distance of these; 1 where both are 0."""
    k = min(k, near.shape[1])
    own = distances[:, :k].mean(axis=1)
    theirs = own[near[:, :k]].mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(own == theirs, 1.0, own / theirs)
