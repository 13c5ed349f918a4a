"""What are the regions of a map? Clusters of the data that return in halves of it, named by their columns.

Ward's method joins the rows of the data; where a forest guides the map, the rows' profiles (`manifolia.trust.sides`). A
cluster of its tree is a region if

* it has at least ten rows and a fiftieth of all, and at most four fifths;
* in at least 80 % of twenty halves the tree of the half has a cluster with three quarters of the rows that either has
  (Jaccard's index);
* along the way from it to the cluster that it is joined with, or to all other rows, a single hump does not fit
  (`manifolia.trust.corridor`; the median p of five ways is at most α): a region does not end where rows go on.

Rows in no region stay without one. Regions are nested; a region has the level 0, 1 or 2 by the number of regions around
it, for three zooms. One that is nearly all of the region around it is not reported again. A region is named after at
most two columns in which it lies farthest from all other rows, or from the other rows of the region around it: numbers
by the chance that a row of the region has more than another one, levels by their share. An inner region that no column
identifies is left out; an outer one gets a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.groups import deal_folds
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray, RandomState
from manifolia.trust.clusters import NOISE, Clusters
from manifolia.trust.corridor import fewer_columns, hump_between
from manifolia.trust.diagnosis import frame_of
from manifolia.trust.sides import Profiles

N_LEVELS = 3
_FEWEST, _LEAST, _MOST = 10, 0.02, 0.8  # rows of a region, and as shares of all
_HALVES = 20
_ALIKE = 0.75  # Jaccard's index from which a cluster of a half is the same
_RETURNS = 0.8
_WAYS = 5
_TELLS = 0.75  # chance above which a column of numbers sets a region apart from the rest
_SHARE = 0.3  # difference of shares above which a level does
_NAMED = 2  # columns in a name
_MOST_TOLD = 12_000  # rows that Ward's method compares with one another


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
    n = len(space)
    if n < 4 * _FEWEST or n > _MOST_TOLD:
        return []
    seeds = spawn_seeds(random_state, 3)
    space = fewer_columns(np.asarray(space, dtype=np.float64), seeds[2])
    low = max(_FEWEST, int(_LEAST * n))
    clusters, joined_with = _tree(space, low, int(_MOST * n))
    generator = as_generator(seeds[0])
    halves = [half for _ in range(_HALVES // 2) for half in deal_folds(n, None, groups, 2, generator)]
    returned = np.zeros(len(clusters))
    for half in halves:
        returned += _return(clusters, half, _tree(space[half], max(2, low // 4), len(half))[0], n)
    returned /= len(halves)
    kept = [
        i
        for i in np.flatnonzero(returned >= _RETURNS)
        if _stands_out(space, clusters[i], joined_with[i], groups, alpha, seeds[1])
    ]
    kept.sort(key=lambda i: -len(clusters[i]))
    found: list[Region] = []
    for i in kept:
        rows = np.sort(clusters[i])
        around = [k for k, region in enumerate(found) if np.isin(rows[0], region.rows)]
        level = len(around)
        if level < N_LEVELS and not (around and len(rows) > _MOST * len(found[around[-1]].rows)):
            found.append(Region("", rows, level, around[-1] if around else -1, float(returned[i])))
    return _named(found, columns, n)


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


def _tree(space: FloatArray, low: int, high: int) -> tuple[list[IntArray], list[IntArray]]:
    """Clusters of Ward's tree by size, each with the one that it is joined with."""
    from scipy.cluster.hierarchy import linkage

    n = len(space)
    members: list[IntArray] = [np.array([i]) for i in range(n)]
    clusters, joined_with = [], []
    for a, b in linkage(space, "ward")[:, :2].astype(np.int64):
        for own, other in ((a, b), (b, a)):
            if low <= len(members[own]) <= high:
                clusters.append(members[own])
                joined_with.append(members[other])
        members.append(np.concatenate([members[a], members[b]]))
    return clusters, joined_with


def _stands_out(
    space: FloatArray, own: IntArray, joined: IntArray, groups: IntArray | None, alpha: float, seed: int
) -> bool:
    """Whether rows have a hump of their own, beside the cluster that they are joined with or beside all others."""
    rest = np.setdiff1d(np.arange(len(space)), own)
    for other in (joined, rest):
        units = min(len(rows if groups is None else np.unique(groups[rows])) for rows in (own, other))
        if units < _FEWEST:
            continue
        p = [hump_between(space, own, other, groups, each) for each in spawn_seeds(seed, _WAYS)]
        if np.median(p) <= alpha:
            return True
    return False


def _return(clusters: Sequence[IntArray], half: IntArray, found: Sequence[IntArray], n: int) -> BoolArray:
    """Whether each cluster is among those of a half, which are given by places in it."""
    inside = np.zeros((len(found), n), dtype=bool)
    for k, rows in enumerate(found):
        inside[k, half[rows]] = True
    sizes, in_half = inside.sum(axis=1), np.zeros(n, dtype=bool)
    in_half[half] = True
    returned = np.zeros(len(clusters), dtype=bool)
    for i, rows in enumerate(clusters):
        own = rows[in_half[rows]]
        both = inside[:, own].sum(axis=1)
        alike = both / np.maximum(sizes + len(own) - both, 1)
        returned[i] = bool(len(alike)) and bool(alike.max() >= _ALIKE)
    return returned


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
