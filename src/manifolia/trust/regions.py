"""What are the regions of a map? Clusters of the data that return in halves of it, named by their columns.

Ward's method joins the rows of each of twenty halves of the data; where a forest guides the map, the rows' profiles
(`manifolia.trust.sides`). One such tree differs from the next, so all are made into one: two rows are as far apart as
the mean over the halves of

    log(share of the half's rows in the smallest cluster with both),

where a row stands for its three nearest rows of the half, and average linkage of these distances is the tree that
counts. It parts the rows again and again, into two clusters of at least ten rows and a fiftieth of all; rows on the way
that belong to neither are in no region. Such a cluster, if it has at most four fifths of the rows, is a region if

* in at least 80 % of the halves their tree has a cluster with three fifths of the rows that either has (Jaccard's
  index), and a single hump does not fit the way between the two clusters (`manifolia.trust.corridor`; the median p of
  five ways is at most α/5): a region does not end where rows go on;
* or both clusters return so with three quarters of the rows, and along the way from one of them to all other rows a
  single hump does not fit (p ≤ α): of few rows, the dip test sees no more.

Regions are nested; a region has the level 0, 1 or 2 by the number of regions around it, for three zooms. Of more than
three within one another, those between the outermost and the innermost that return least are left out, and so is one
that is nearly all of the region around it. A region is named after at most two columns in which it lies farthest from
all other rows, or from the other rows of the region around it: numbers by the chance that a row of the region has more
than another one, levels by their share. An inner region that no column identifies is left out; an outer one gets a
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.groups import deal_folds
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray, RandomState
from manifolia.metrics._nearest import nearest
from manifolia.trust.clusters import NOISE, Clusters
from manifolia.trust.corridor import fewer_columns, hump_between
from manifolia.trust.diagnosis import frame_of
from manifolia.trust.sides import Profiles

N_LEVELS = 3
_FEWEST, _LEAST, _MOST = 10, 0.02, 0.8  # rows of a region, and as shares of all
_HALVES = 20
_ALIKE, _MUCH_ALIKE = 0.6, 0.75  # Jaccard's index from which a cluster of a half is the same, and surely the same
_STAND_IN = 3  # rows of a half in whose place another row is put
_RETURNS = 0.8
_SURE = 0.2  # of alpha: the level at which the dip test shows a gap between two clusters
_WAYS = 5
_TELLS = 0.75  # chance above which a column of numbers sets a region apart from the rest
_SHARE = 0.3  # difference of shares above which a level does
_NAMED = 2  # columns in a name
_MOST_TOLD = 8_000  # rows that are compared with one another


class Region(NamedTuple):
    """A region of the data."""

    name: str
    rows: IntArray
    level: int  # 0 to 2
    parent: int  # The region around it; −1 is none
    returned: float  # Share of the halves in which it returned


def find_regions(
    space: FloatArray,
    columns: Sequence[tuple[str, Array]],
    groups: IntArray | None = None,
    *,
    alpha: float = 0.05,
    random_state: RandomState = None,
) -> list[Region]:
    """Find regions of rows that are compared by Euclidean distance, and name them by the user's columns."""
    from scipy.cluster.hierarchy import linkage

    n = len(space)
    if n < 4 * _FEWEST or n > _MOST_TOLD:
        return []
    seeds = spawn_seeds(random_state, 3)
    space = fewer_columns(np.asarray(space, dtype=np.float64), seeds[2])
    generator = as_generator(seeds[0])
    halves = [half for _ in range(_HALVES // 2) for half in deal_folds(n, None, groups, 2, generator)]
    trees = [linkage(space[half], "ward") for half in halves]
    low = max(_FEWEST, int(_LEAST * n))
    pairs = _pairs(_one_tree(space, halves, trees), low)
    clusters = [rows for pair in pairs for rows in pair]
    each = [_alike(clusters, half, tree, max(2, low // 4), n) for half, tree in zip(halves, trees, strict=True)]
    alike = np.reshape(each, (len(halves), len(pairs), 2))
    same, much = ((alike >= least).mean(axis=0) >= _RETURNS for least in (_ALIKE, _MUCH_ALIKE))
    often = (alike >= _ALIKE).mean(axis=0)
    kept = [
        (rows, float(share))
        for k, pair in enumerate(pairs)
        if same[k].any() and _parted(space, pair, groups, alpha, seeds[1], returns=bool(much[k].all()))
        for rows, share in zip(pair, often[k], strict=True)
        if share >= _RETURNS and len(rows) <= _MOST * n
    ]
    return _named(_nested(kept), columns, n)


def space_of(side: object, plain: FloatArray, metric: str) -> FloatArray:
    """Rows as points: the data, or the roots of profiles, whose inner products are their affinity."""
    if isinstance(side, Profiles):
        from sklearn.decomposition import TruncatedSVD

        few = min(50, min(side.roots.shape) - 1)
        return np.asarray(TruncatedSVD(few, random_state=0).fit_transform(side.roots))
    if metric == "cosine":
        lengths = np.linalg.norm(plain, axis=1, keepdims=True)
        return np.asarray(plain / np.where(lengths > 0.0, lengths, 1.0))
    return plain


def labels_of(regions: Sequence[Region], n: int) -> IntArray:
    """The innermost region of each row; −1 is none."""
    labels = np.full(n, NOISE, dtype=np.int64)
    for code, region in enumerate(regions):  # inner ones come later
        labels[region.rows] = code
    return labels


def region_of_clusters(regions: Sequence[Region], clusters: Clusters) -> list[str]:
    """For each cluster of the map, the region that it shows, if they share more than half of the rows of either."""
    found = []
    for code in range(len(clusters.names)):
        own = np.flatnonzero(clusters.codes == code)
        best, name = 0.5, ""
        for region in regions:
            both = len(np.intersect1d(own, region.rows))
            alike = both / max(len(own) + len(region.rows) - both, 1)
            if alike > best:
                best, name = alike, region.name
        found.append(name)
    return found


def _one_tree(space: FloatArray, halves: Sequence[IntArray], trees: Sequence[FloatArray]) -> FloatArray:
    """The tree of all rows by the sizes of the clusters that hold two of them in the trees of halves."""
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import squareform

    apart = np.zeros((len(space), len(space)), dtype=np.float32)
    for half, tree in zip(halves, trees, strict=True):
        by_size = tree.copy()
        by_size[:, 2] = np.log(np.maximum(tree[:, 3], _FEWEST) / _FEWEST)
        joined = squareform(cophenet(by_size)).astype(np.float32)
        for places in nearest(space[half], _STAND_IN, queries=space).indices.T:
            apart += joined[np.ix_(places, places)]
    np.fill_diagonal(apart, 0.0)
    return np.asarray(linkage(squareform(apart, checks=False), "average"))


def _members(tree: FloatArray) -> list[IntArray]:
    """The rows of each cluster of a tree, single rows first."""
    members = [np.array([i]) for i in range(len(tree) + 1)]
    for a, b in tree[:, :2].astype(np.int64):
        members.append(np.concatenate([members[a], members[b]]))
    return members


def _pairs(tree: FloatArray, low: int) -> list[tuple[IntArray, IntArray]]:
    """Where a tree parts rows into two clusters that are not small, from the top."""
    members, n = _members(tree), len(tree) + 1
    found, waiting = [], [2 * n - 2]
    while waiting:
        node = waiting.pop(0)
        while node >= n:
            a, b = sorted(tree[node - n, :2].astype(np.int64), key=lambda end: len(members[end]))
            if len(members[a]) >= low:
                found.append((np.sort(members[a]), np.sort(members[b])))
                waiting += [a, b]
                break
            node = b  # a few rows leave
    return found


def _parted(
    space: FloatArray,
    pair: tuple[IntArray, IntArray],
    groups: IntArray | None,
    alpha: float,
    seed: int,
    *,
    returns: bool,
) -> bool:
    """Whether there is a gap between two clusters, or, if both return, between one of them and all other rows."""

    def hump(own: IntArray, other: IntArray) -> float:
        units = min(len(rows if groups is None else np.unique(groups[rows])) for rows in (own, other))
        if units < _FEWEST:
            return 1.0
        return float(np.median([hump_between(space, own, other, groups, each) for each in spawn_seeds(seed, _WAYS)]))

    everyone = np.arange(len(space))
    if hump(*pair) <= _SURE * alpha:
        return True
    return returns and any(hump(own, np.setdiff1d(everyone, own)) <= alpha for own in pair)


def _alike(clusters: Sequence[IntArray], half: IntArray, tree: FloatArray, low: int, n: int) -> FloatArray:
    """Jaccard's index of each cluster, as far as it lies in a half, and the most similar one of its tree."""
    found = [half[rows] for rows in _members(tree) if len(rows) >= low]
    inside = np.zeros((len(found), n), dtype=bool)
    for k, rows in enumerate(found):
        inside[k, rows] = True
    sizes, in_half = inside.sum(axis=1), np.zeros(n, dtype=bool)
    in_half[half] = True
    alike = np.zeros(len(clusters))
    for i, rows in enumerate(clusters):
        own = rows[in_half[rows]]
        both = inside[:, own].sum(axis=1)
        alike[i] = (both / np.maximum(sizes + len(own) - both, 1)).max()
    return alike


def _nested(kept: Sequence[tuple[IntArray, float]]) -> list[Region]:
    """Put clusters of a tree into one another, at three levels, without names."""
    kept = sorted(kept, key=lambda one: -len(one[0]))
    while True:
        around = [[k for k in range(i) if np.isin(rows[0], kept[k][0])] for i, (rows, _) in enumerate(kept)]
        drop = [i for i, own in enumerate(around) if own and len(kept[i][0]) > _MOST * len(kept[own[-1]][0])]
        deep = {i for own in around if len(own) >= N_LEVELS for i in own[1:]}
        drop = drop[:1] or sorted(deep, key=lambda i: kept[i][1])[:1]
        if not drop:
            break
        kept = [*kept[: drop[0]], *kept[drop[0] + 1 :]]
    return [
        Region("", rows, len(own), own[-1] if own else -1, often)
        for (rows, often), own in zip(kept, around, strict=True)
    ]


def _named(found: Sequence[Region], columns: Sequence[tuple[str, Array]], n: int) -> list[Region]:
    """Name each after the columns that set it apart from the other rows, or by its number."""
    told = [_ways(name, pd.Series(values)) for name, values in columns]
    ways = [way for way in told if way is not None]
    inside, place = np.zeros((len(found), n), dtype=bool), dict[int, int]()
    named: list[Region] = []
    for code, region in enumerate(found):
        inside[code, region.rows] = True
        if region.parent >= 0 and region.parent not in place:
            continue  # what lies around it is not told
        within = inside[region.parent] if region.parent >= 0 else np.ones(n, dtype=bool)
        scored = sorted((way.tell(inside[code], within & ~inside[code]) for way in ways), key=lambda pair: -pair[0])
        words = [text for score, text in scored if score >= 0.0][:_NAMED]
        if not words and region.parent >= 0:
            continue  # no column tells it from the rest of the region around it
        place[code] = len(named)
        name = ", ".join(words) or f"region {len(named) + 1}"
        named.append(region._replace(name=name, parent=place.get(region.parent, -1)))
    return named


class _Numbers(NamedTuple):
    name: str
    ranks: FloatArray  # NaN where the value is missing

    def tell(self, inside: BoolArray, others: BoolArray) -> tuple[float, str]:
        """How well it separates some rows from others, beyond what is needed, and in which words."""
        own, rest = self.ranks[inside], self.ranks[others]
        own, rest = own[~np.isnan(own)], rest[~np.isnan(rest)]
        if len(own) < _FEWEST or len(rest) < _FEWEST:
            return -1.0, ""
        # Mann and Whitney: the chance that a row inside has more than one outside.
        low = np.searchsorted(np.sort(rest), own, side="left").sum()
        high = np.searchsorted(np.sort(rest), own, side="right").sum()
        chance = float(low + high) / (2.0 * len(own) * len(rest))
        return max(chance, 1.0 - chance) - _TELLS, f"{self.name} {'high' if chance > 0.5 else 'low'}"


class _Levels(NamedTuple):
    name: str
    codes: IntArray
    levels: Sequence[str]

    def tell(self, inside: BoolArray, others: BoolArray) -> tuple[float, str]:
        """The level whose share differs most from that of the others, as for numbers."""
        shares = [
            np.bincount(self.codes[part], minlength=len(self.levels)) / max(part.sum(), 1) for part in (inside, others)
        ]
        more = shares[0] - shares[1]
        best = int(more.argmax())
        # A level that most rows of the region have; half the difference is on the scale of a chance.
        if shares[0][best] <= 0.5:
            return -1.0, ""
        return 0.5 * (float(more[best]) - _SHARE), f"{self.name} {self.levels[best]}"


def _ways(name: str, values: pd.Series) -> _Numbers | _Levels | None:
    """How a column may identify a region: by its numbers, or by its levels."""
    if pd.api.types.is_bool_dtype(values):
        values = values.astype(str)
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return (
            _Numbers(name, pd.Series(numbers).rank().to_numpy(dtype=np.float64)) if np.isfinite(numbers).any() else None
        )
    known = values.notna()
    if not known.any():
        return None
    levels, codes = np.unique(values[known].astype(str), return_inverse=True)
    if len(levels) > max(2, len(values) // _FEWEST):
        return None
    full = np.full(len(values), len(levels))
    full[known.to_numpy()] = codes.ravel()
    return _Levels(name, full, [*levels.tolist(), "missing"])


def region_table(regions: Sequence[Region]) -> pd.DataFrame:
    """One line per region."""
    lines = [
        (code, region.name, len(region.rows), region.level, region.parent, region.returned)
        for code, region in enumerate(regions)
    ]
    return frame_of("regions", lines)
