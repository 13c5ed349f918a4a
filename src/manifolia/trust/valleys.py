"""Is this gap between two clusters of a map in the data, or did the map make it?

*Along the way.* Linear discriminant analysis (covariance shrunken as Ledoit and Wolf do) of one half of both clusters
gives a direction. The other half is measured along it, in units in which the centres lie at 0 and 1. So are rows of
neither cluster that lie in the tube between them: without these every cut through a cloud would look like a gap. The
tube is as wide as three quarters of the clusters' own rows need, in the metric of the discriminant; in many dimensions
every row lies between any two others otherwise. Both halves change roles. The dip test asks whether all these rows
make a single hump. The larger cluster counts as many rows as the smaller, drawn at random, else the smaller would hide
in the slope of the larger; the median p of all draws counts.

*Across.* A link joins a row and one of its nearest rows. A row of the tube counts with the cluster whose centre is
nearer. For each cluster,

    ratio = links between the two sides ÷ links between the halves of the cluster,

the halves being its rows before and behind the median along the way. Of the two ratios the larger one counts where a
gap in the data is to be shown, and the smaller one where it is to be refuted. There rows of the tube that pass by, most
of whose links lead out of it, do not count: classes that touch would hang together by them.

The dip test is asked a second time of the half of either cluster that is nearer to the other: clusters that are bent
look like two humps along the straight line between their centres, and like one where they meet.

*In the data*: ratio ≤ 0.6, and the dip test refuses a single hump of all rows (p ≤ α/5) and of the nearer halves
(p ≤ α; the median of five ways); or ratio ≤ 0.6, and the steps of the best way across, in the graph of nearest rows,
are more than twice as long as the steps that join half of either cluster.
*Made by the map*: the map has a gap, or, where ratio > 1, nearly (steps 0.9 times as long as inside); ratio > 0.1; the
dip test sees nothing (p > α for all rows; or p > 2α for the nearer halves and ratio > 0.3); and the steps of the best
way across are not longer than those that join half of either cluster.
*Cannot tell*: all else. Two clusters that may hang together through others, or through rows of none, cannot be told
either: there is a way around. Clusters that are linked may hang together unless the gap between them is in the data;
rows of none count with the cluster of the nearest row that is in one.

A step is the mutual reachability distance of HDBSCAN, max(d(i, j), d(i, i's fifth nearest), d(j, j's fifth nearest)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.groups import read_groups
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_matrix
from manifolia.metrics._nearest import n_others, nearest
from manifolia.trust.clusters import NOISE, Clusters, find_clusters, read_clusters
from manifolia.trust.corridor import Way, fewer_columns, hump_between, measure_way, single_hump, without_passers
from manifolia.trust.earning import check_alpha
from manifolia.trust.words import BY_MAP, CANNOT_TELL, IN_DATA

N_BINS = 24  #: Into which the rows along a way are counted, from half a way before the first centre to half behind.
_FEWEST = 10  # rows, or groups, of a cluster
_CORE, _NEAR = 5, 10  # the neighbour that a step must reach at least, and neighbours in the graph
_EMPTY, _FULL, _SOME = 0.6, 0.3, 0.1  # ratio up to which links hardly cross, and above which they do, or some do
_NEARLY, _MANY = 0.9, 1.0  # steps across in the map that nearly make a gap, which is enough above this ratio
_SURE = 0.2  # of alpha: the level at which the dip test of all rows shows a gap
_HALF, _NEARER = 0.5, 20  # of a cluster's rows that are nearer to another one, and as many at least
_WAYS = 5  # whose median p counts where the nearer halves are asked
_CONTACT = 5  # links from which two clusters that are no neighbours in the map may hang together
_LONGER = 1.05  # steps across, in units of steps inside, up to which they are not longer
_NONE = 2.0  # the same, above which there is no way across
_MERGED = 1.5  # the same in the map, up to which one sees one cluster


class Gap(NamedTuple):
    """What the gap between two clusters says."""

    a: Any  # Name of the first cluster
    b: Any
    verdict: str  # "in the data", "made by the map" or "cannot tell"
    ratio: float  # Links across the gap, for each across the middle of a cluster; NaN where it was not measured
    p_dip: float  # Chance that a single hump is as uneven
    reason: str  # Why, in one sentence
    rows: tuple[int, int]  # The rows that are nearest to one another in the map
    density: tuple[float, ...]  # Rows along the way, in 24 bins


def gaps(
    X: ArrayLike,
    Y: ArrayLike,
    clusters: ArrayLike = "auto",
    *,
    groups: ArrayLike | None = None,
    alpha: float = 0.05,
    random_state: RandomState = None,
) -> list[Gap]:
    """Judge which gaps between neighbouring clusters of a map are in the data, and which the map made.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data, on the scale on which its rows are to be compared.
    Y : array-like of shape (n, n_components)
        Map of the same rows.
    clusters : array-like of shape (n,) or "auto", default="auto"
        Label of each row's cluster, missing for rows in none; or the clusters visible in the map.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, of which each counts once.
    alpha : float, default=0.05
        Level of the tests.
    random_state : int, RandomState, Generator or None, default=None
        Seed of halves and draws.

    Returns
    -------
    list of Gap
        For each pair of neighbours ``a`` and ``b`` the ``verdict`` ("in the data", "made by the map" or "cannot
        tell"), ``ratio``, ``p_dip`` and the ``reason``. Two clusters are neighbours if no third one lies between their
        nearest rows.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import gaps
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> X[200:, 0] += 7.0  # a real gap
    >>> Y = X[:, :2].copy()
    >>> Y[X[:, 1] > 0, 1] += 5.0  # and one that the map makes, through both
    >>> labels = 2 * (np.arange(300) >= 200) + (X[:, 1] > 0)
    >>> found = {(gap.a, gap.b): gap.verdict for gap in gaps(X, Y, labels, random_state=0)}
    >>> found["0", "1"], found["0", "2"]
    ('made by the map', 'in the data')
    """
    check_alpha(alpha)
    rows: FloatArray = check_matrix(X)
    places = np.asarray(check_map(Y, n_rows=len(rows)), dtype=np.float64)
    own = read_groups(groups, len(rows))
    if isinstance(clusters, str) and clusters == "auto":
        found = merge_islands(places, find_clusters(places))[0]
    else:
        found = read_clusters(clusters, len(rows))
    return judge_gaps(rows, places, found, own, alpha, random_state)


def merge_islands(Y: FloatArray, islands: Clusters) -> tuple[Clusters, list[list[int]]]:
    """Join islands of a map without a visible gap between them; also return the islands of each cluster."""
    m = len(islands.names)
    joined = np.arange(m)
    if m > 1:
        pairs = [(a, b) for a, b, _ in _neighbours(Y, islands)]
        for (a, b), steps in zip(pairs, _steps(Y, islands.codes, pairs), strict=True):
            if steps <= _MERGED:
                joined[joined == joined[b]] = joined[a]
    members = [np.flatnonzero(joined == root).tolist() for root in dict.fromkeys(joined.tolist())]
    codes = np.full(len(islands.codes), NOISE, dtype=np.int64)
    for code, own in enumerate(members):
        codes[np.isin(islands.codes, own)] = code
    return Clusters(codes, [f"cluster {i + 1}" for i in range(len(members))]), members


def judge_gaps(
    X: FloatArray,
    Y: FloatArray,
    clusters: Clusters,
    groups: IntArray | None,
    alpha: float,
    random_state: RandomState,
) -> list[Gap]:
    """Judge the gap between every two neighbouring clusters."""
    if len(clusters.names) < 2:
        return []
    pairs = _neighbours(Y, clusters)
    seeds = spawn_seeds(random_state, len(pairs) + 2)
    X = fewer_columns(np.asarray(X, dtype=np.float64), seeds[-1])
    near = nearest(X, min(_NEAR, n_others(len(X), groups)), groups=groups).indices
    filled = _filled(X, clusters.codes)
    linked = _in_contact(near, filled, len(clusters.names))
    asked = pairs + [pair for pair in linked if pair[:2] not in {known[:2] for known in pairs}]
    both = [(a, b) for a, b, _ in asked]
    drawn, apart = (_steps(S, clusters.codes, both) for S in (Y, X))
    seeds = [*seeds[:-2], *spawn_seeds(seeds[-2], len(asked) - len(pairs))]
    found = [
        _judge(X, near, clusters, filled, (a, b), ends, (float(inside_map), float(inside)), groups, alpha, seed)
        for (a, b, ends), inside_map, inside, seed in zip(asked, drawn, apart, seeds, strict=True)
    ]
    links = {pair[:2] for pair in linked}
    hang = [
        (gap.a, gap.b)
        for (a, b, _), (gap, together) in zip(asked, found, strict=True)
        if together or ((a, b) in links and gap.verdict != IN_DATA)
    ]
    told = without_ways_around([gap for gap, _ in found[: len(pairs)]], hang)
    # No way around is better than the best way.
    return [found[k][0] if apart[k] > _NONE else gap for k, gap in enumerate(told)]


def _filled(X: FloatArray, codes: IntArray) -> IntArray:
    """Codes of clusters, where rows of none have that of the nearest row in one."""
    none = codes < 0
    if not none.any() or none.all():
        return codes
    found = codes.copy()
    known = np.flatnonzero(~none)
    found[none] = codes[known[nearest(X[known], 1, queries=X[none]).indices[:, 0]]]
    return found


def _in_contact(near: IntArray, codes: IntArray, m: int) -> list[tuple[int, int, tuple[int, int]]]:
    """Pairs of m clusters between which there are links, with two rows that are linked."""
    i, j = np.repeat(np.arange(len(near)), near.shape[1]), near.ravel()
    some = codes[i] != codes[j]
    i, j = i[some], j[some]
    pair = np.minimum(codes[i], codes[j]) * m + np.maximum(codes[i], codes[j])
    keys, starts, counts = np.unique(pair, return_index=True, return_counts=True)
    return [
        (int(key) // m, int(key) % m, (int(i[start]), int(j[start])))
        for key, start, count in zip(keys, starts, counts, strict=True)
        if count >= _CONTACT
    ]


def untold_gaps(Y: FloatArray, clusters: Clusters, reason: str) -> list[Gap]:
    """Give every gap the verdict "cannot tell"."""
    return [
        Gap(clusters.names[a], clusters.names[b], CANNOT_TELL, np.nan, np.nan, reason, ends, (0.0,) * N_BINS)
        for a, b, ends in _neighbours(Y, clusters)
    ]


def _judge(
    X: FloatArray,
    near: IntArray,
    clusters: Clusters,
    filled: IntArray,
    pair: tuple[int, int],
    ends: tuple[int, int],
    steps: tuple[float, float],
    groups: IntArray | None,
    alpha: float,
    seed: int,
) -> tuple[Gap, bool]:
    """The gap between two clusters, and whether they hang together in the data."""
    names = [clusters.names[code] for code in pair]

    def told(verdict: str, reason: str, ratio: float = np.nan, p: float = np.nan, bins: Sequence[float] = ()) -> Gap:
        return Gap(names[0], names[1], verdict, ratio, p, reason, ends, tuple(bins) or (0.0,) * N_BINS)

    members = [np.flatnonzero(clusters.codes == code) for code in pair]
    counts = [len(rows if groups is None else np.unique(groups[rows])) for rows in members]
    if min(counts) < _FEWEST:
        what = "rows" if groups is None else "groups"
        name = names[int(np.argmin(counts))]
        return told(CANNOT_TELL, f"{name} has {min(counts)} {what}, and {_FEWEST} are needed."), False
    generator = as_generator(seed)
    way = measure_way(X, members, np.flatnonzero(~np.isin(clusters.codes, pair)), groups, generator)
    if way is None:
        return told(CANNOT_TELL, "Their centres are the same in the data."), False
    ratio, p = max(_links(near, members, way)), single_hump(way, groups, generator)
    p_near = p  # which is not asked where a single hump fits all rows
    if p <= alpha:
        first, second = _nearer(X, members)
        p_near = float(np.median([hump_between(X, first, second, groups, each) for each in spawn_seeds(seed, _WAYS)]))
    least = min(_links(near, members, without_passers(near, members, way)))
    bins = np.histogram(way.along, N_BINS, (-0.5, 1.5))[0].astype(float).tolist()
    in_map, in_data = steps
    fits = p > alpha or (p_near > 2.0 * alpha and least > _FULL)
    together = least > _SOME and fits and in_data <= _LONGER
    wider = [np.flatnonzero(filled == code) for code in pair]
    around = min(_links(near, members, way, wider)) > min(_links(near, members, way)) + _FULL
    if ratio <= _EMPTY and p <= _SURE * alpha and p_near <= alpha and not around:
        return told(IN_DATA, f"{_across(ratio)}, and a single hump does not fit ({_p(p)}).", ratio, p, bins), False
    if ratio <= _EMPTY and in_data > _NONE and groups is None:  # copies of few patients lie far apart
        why = f"{_across(ratio)}, and the best way takes {_times(in_data)} steps than inside."
        return told(IN_DATA, why, ratio, p, bins), False
    if together and in_map > (_NEARLY if least > _MANY else 1.0):
        where = "" if p > alpha else " where they meet"
        why = f"{_across(least)}, a single hump fits{where} ({_p(p if p > alpha else p_near)}), and the best way takes "
        return told(BY_MAP, f"{why}no longer steps than inside.", least, p, bins), True
    if in_map <= 1.0:
        why = f"{_across(ratio)}, but some of their rows touch in the map: there is no gap to speak of."
    elif not fits and around:
        why = f"{_across(ratio)}, but rows of no cluster may lead around the straight way between them."
    elif not fits and ratio > _EMPTY:
        why = f"{_across(ratio)}, but a single hump does not fit ({_p(p)}): the two do not agree."
    elif not fits:
        why = f"{_across(ratio)}, but a single hump may fit ({_p(max(p, p_near))}): too little to show a gap."
    elif least <= _SOME:
        why = f"{_across(least)}, but a single hump may fit ({_p(p)}): they do not agree, or the rows are too few."
    else:
        why = f"{_across(ratio)}, but the best way across takes longer steps than inside."
    return told(CANNOT_TELL, why, ratio, p, bins), together


def _nearer(X: FloatArray, members: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """The half of either cluster that is nearer to the other, by the distance to its fifth nearest row there."""
    found = []
    for own, others in (members, members[::-1]):
        apart = nearest(X[others], _CORE, queries=X[own]).distances[:, -1]
        few = min(len(own), max(_NEARER, int(np.ceil(_HALF * len(own)))))
        found.append(np.sort(own[np.argsort(apart, kind="stable")[:few]]))
    return found[0], found[1]


def _across(ratio: float) -> str:
    return f"{ratio:.0%} as many nearest rows are joined across the gap as through the middle of a cluster"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times longer" if ratio < 100.0 else "far longer"


def _p(p: float) -> str:
    return "p ≤ 0.001" if p <= 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def without_ways_around(found: Sequence[Gap], hang: Sequence[tuple[Any, Any]]) -> list[Gap]:
    """Take back gaps in the data between clusters that hang together, each pair of `hang` with the next."""
    piece = {name: name for pair in [*hang, *((gap.a, gap.b) for gap in found)] for name in pair}
    for a, b in hang:
        joined, other = piece[a], piece[b]
        piece = {name: joined if own == other else own for name, own in piece.items()}
    why = "The straight way between them is empty, but there is a way around, through clusters that hang together."
    return [
        gap._replace(verdict=CANNOT_TELL, reason=why)
        if gap.verdict == IN_DATA and piece[gap.a] == piece[gap.b]
        else gap
        for gap in found
    ]


def _neighbours(Y: FloatArray, clusters: Clusters) -> list[tuple[int, int, tuple[int, int]]]:
    """Pairs of clusters between whose nearest rows no third lies, with these rows."""
    from scipy.spatial import cKDTree

    members = [np.flatnonzero(clusters.codes == code) for code in range(len(clusters.names))]
    trees = [cKDTree(Y[rows]) if len(rows) else None for rows in members]
    found = []
    for a, first in enumerate(trees):
        for b in range(a + 1, len(trees)):
            second = trees[b]
            if first is None or second is None:
                continue
            small, large, rows, others = (first, second, members[a], members[b])
            distances, nearest_rows = large.query(small.data)
            i = int(distances.argmin())
            ends = int(rows[i]), int(others[nearest_rows[i]])
            centre, radius = Y[list(ends)].mean(axis=0), distances[i] / 2.0
            # The ball over the shortest line, as in a Gabriel graph.
            thirds = (tree for c, tree in enumerate(trees) if c not in (a, b) and tree is not None)
            if not any(tree.query(centre)[0] < radius for tree in thirds):
                found.append((a, b, ends))
    return found


def _steps(S: FloatArray, codes: IntArray, pairs: Sequence[tuple[int, int]]) -> FloatArray:
    """For each pair, the longest step of the best way across, in units of the longer one that joins half of either."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n, m = len(S), int(codes.max()) + 1
    found = nearest(S, min(_NEAR, n - 1))
    core = found.distances[:, min(_CORE, found.distances.shape[1]) - 1]
    i = np.repeat(np.arange(n), found.indices.shape[1])
    j, d = found.indices.ravel(), found.distances.ravel()
    known = np.isfinite(d)
    i, j, d = i[known], j[known], d[known]
    least = np.finfo(float).tiny  # a weight of 0 would be no edge
    weight = np.maximum(np.maximum(core[i], core[j]), np.maximum(d, least))
    first, second = np.minimum(i, j), np.maximum(i, j)
    _, once = np.unique(first * n + second, return_index=True)  # an edge that both rows list counts once
    tree = minimum_spanning_tree(coo_array((weight[once], (first[once], second[once])), shape=(n, n)).tocsr()).tocoo()
    order = np.argsort(tree.data, kind="stable")
    sizes = np.bincount(codes[codes >= 0], minlength=m)
    wanted = sizes * (sizes - 1) / 4.0  # half of the pairs of rows
    joined, inside, across = np.zeros(m), np.full(m, np.inf), np.full(len(pairs), np.inf)
    left, right = (np.array([pair[end] for pair in pairs], dtype=np.intp) for end in (0, 1))
    parent = np.arange(n)
    own = np.zeros((n, m))
    own[np.flatnonzero(codes >= 0), codes[codes >= 0]] = 1.0

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = int(parent[row])
        return row

    for edge in order:  # Kruskal's: pieces join by the shortest steps first
        a, b, cost = root(int(tree.row[edge])), root(int(tree.col[edge])), float(tree.data[edge])
        joined += own[a] * own[b]
        inside[np.isinf(inside) & (joined >= wanted) & (sizes > 1)] = cost
        meets = (own[a, left] > 0) & (own[b, right] > 0) | (own[a, right] > 0) & (own[b, left] > 0)
        across[np.isinf(across) & meets] = cost
        parent[b] = a
        own[a] += own[b]
    with np.errstate(invalid="ignore"):
        ratio = across / np.maximum(inside[left], inside[right])
    return np.where(np.isinf(across), np.inf, np.nan_to_num(ratio, nan=np.inf))


def _links(
    near: IntArray, members: Sequence[IntArray], way: Way, sides: Sequence[IntArray] | None = None
) -> list[float]:
    """Links across, or between other sides, in units of links through the middle of each of the two clusters."""
    if sides is None:
        tube, nearer_second = way.rows[way.side == 2], way.along[way.side == 2] >= 0.5
        sides = [np.concatenate([own, tube[nearer_second == bool(end)]]) for end, own in enumerate(members)]
    across = _joined(near, *sides)
    found = []
    for end in (0, 1):
        rows, along = way.rows[way.side == end], way.along[way.side == end]
        behind = along > np.median(along)
        found.append(float(across) / max(_joined(near, rows[~behind], rows[behind]), 1))
    return found


def _joined(near: IntArray, some: IntArray, others: IntArray) -> int:
    """Number of rows that are among the nearest of one on the other side."""
    place = np.zeros(len(near), dtype=np.int8)
    place[some], place[others] = 1, 2
    return int(np.count_nonzero(place[near[some]] == 2) + np.count_nonzero(place[near[others]] == 1))
