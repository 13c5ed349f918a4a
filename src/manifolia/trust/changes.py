"""What became of each cluster from one map to another: stayed, moved, split, merged, appeared or vanished.

Clusters are those visible in each map (`find_clusters`), and their borders would differ in another draw. So none of
these words rests on labels alone; each has evidence, a number above which it is used:

=========  ====================================================================  ==========================
word       evidence                                                              said from
=========  ====================================================================  ==========================
split      empty gap between its parts in the second map, in local radii, where  2, and at most 1 before
           there was none in the first
merged     the same, the maps exchanged                                          2, and at most 1 after
vanished   share of its rows that the second map lacks; or how many times as     0.8; 3
           far from one another those lie which it has
appeared   the same, the maps exchanged                                          0.8; 3
moved      way of its middle, in radii of the cluster, with the maps laid over   1.5, and 3 times the median
           one another by the clusters that did not move                         way of all clusters
=========  ====================================================================  ==========================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from manifolia._core.types import FloatArray, IntArray
from manifolia.metrics._nearest import nearest

STAYED, MOVED, SPLIT, MERGED, APPEARED, VANISHED = WORDS = (
    "stayed",
    "moved",
    "split",
    "merged",
    "appeared",
    "vanished",
)
#: Evidence from which a word is said.
LIMITS = {MOVED: 1.5, SPLIT: 2.0, MERGED: 2.0, APPEARED: 3.0, VANISHED: 3.0}
#: Of a map without the rows: the share of them from which the word is said.
GONE = 0.8
_TOGETHER = 1.0  # gap, in local radii, up to which rows lie side by side
_RESTLESS = 3.0  # times the median way of all clusters
_PART = 0.15  # share of a cluster's rows that counts as a part of it
_MOSTLY = 0.5
_MOST = 0.7
_RADIUS = 15  # the nearest row that is as far as a row's local radius
_CLOSE = 0.02  # quantile of distances that says how wide a gap is
_ENOUGH = 10  # rows of a part
_SCATTERED = 20  # rows that a cluster needs before it can be said that they are scattered


class Change(NamedTuple):
    """What became of one cluster."""

    word: str
    before: tuple[int, ...]  # clusters of the first map
    after: tuple[int, ...]  # clusters of the second map
    evidence: float
    n_rows: int  # rows it is about
    reason: str


class Sides(NamedTuple):
    """Two maps of shared rows, laid over one another, and the clusters of all of their rows."""

    first: FloatArray  # (m, c): places of the shared rows on the first map
    second: FloatArray  # (m, c): on the second, laid over it
    before: IntArray  # (m,): cluster of each shared row in the first; −1 for none
    after: IntArray  # (m,): in the second
    n_before: IntArray  # rows of each cluster of the first map, shared or not
    n_after: IntArray


def local_radii(Y: FloatArray) -> FloatArray:
    """Distance to the fifteenth nearest row of each row."""
    k = min(_RADIUS, len(Y) - 1)
    if k < 1:
        return np.ones(len(Y))
    radii = nearest(Y, k).distances[:, k - 1]
    return np.maximum(radii, max(1e-12 * float(np.abs(Y).max(initial=0.0)), np.finfo(np.float64).tiny))


def find_changes(sides: Sides, limits: dict[str, float] | None = None) -> list[Change]:
    """Say of every cluster of both maps what became of it."""
    limits = LIMITS if limits is None else limits
    n_before, n_after = len(sides.n_before), len(sides.n_after)
    overlap = np.zeros((n_before + 1, n_after + 1), dtype=np.int64)
    np.add.at(overlap, (sides.before, sides.after), 1)  # rows in none are the last line
    radii = local_radii(sides.first), local_radii(sides.second)
    done_before, done_after, changes = set[int](), set[int](), list[Change]()

    for a in range(n_before):  # a cluster in parts
        change = _parted(a, overlap, sides.before, sides.after, sides, radii, limits[SPLIT])
        if change is not None:
            changes.append(change)
            done_before.add(a)
            done_after.update(change.after)
    back = Sides(sides.second, sides.first, sides.after, sides.before, sides.n_after, sides.n_before)
    for b in range(n_after):
        if b in done_after:
            continue
        change = _parted(b, _exchanged(overlap), sides.after, sides.before, back, radii[::-1], limits[MERGED])
        if change is not None and not done_before & set(change.after):
            changes.append(_mirrored(change, MERGED))
            done_after.add(b)
            done_before.update(change.after)
    for a in set(range(n_before)) - done_before:
        change = _lost(a, sides, limits[VANISHED])
        if change is not None:
            changes.append(change)
            done_before.add(a)
    for b in set(range(n_after)) - done_after:
        change = _lost(b, back, limits[APPEARED])
        if change is not None:
            changes.append(_mirrored(change, APPEARED))
            done_after.add(b)
    changes += _stayed_or_moved(sorted(set(range(n_before)) - done_before), overlap, sides, limits[MOVED])
    order = {word: i for i, word in enumerate((SPLIT, MERGED, APPEARED, VANISHED, MOVED, STAYED))}
    return sorted(changes, key=lambda change: (order[change.word], -change.evidence, change.before, change.after))


def _exchanged(overlap: IntArray) -> IntArray:
    return overlap.T


def _mirrored(change: Change, word: str) -> Change:
    """The same change, seen from the other map."""
    if word == MERGED:
        told = change.reason.replace("in the second map", "in the first map", 1)
    else:
        told = change.reason.replace("the second map", "the FIRST map").replace("the first", "the second")
        told = told.replace("the FIRST map", "the first map")
    return change._replace(word=word, before=change.after, after=change.before, reason=told)


def _parted(
    a: int, overlap: IntArray, own: IntArray, other: IntArray, sides: Sides,
    radii: tuple[FloatArray, FloatArray], limit: float,
) -> Change | None:  # fmt: skip
    """Return whether a cluster lies in several clusters of the other map, with gaps that were not there before."""
    total = int(overlap[a].sum())
    parts = [
        b for b in np.argsort(-overlap[a, :-1], kind="stable")
        if overlap[a, b] >= max(_PART * total, _ENOUGH) and overlap[a, b] >= _MOSTLY * overlap[:-1, b].sum()
    ]  # fmt: skip
    if len(parts) < 2 or overlap[a, parts].sum() < _MOST * total:
        return None
    main = np.flatnonzero((own == a) & (other == parts[0]))
    kept, widest, before = [int(parts[0])], 0.0, 0.0
    for b in parts[1:]:
        part = np.flatnonzero((own == a) & (other == b))
        gap, was = _gap(sides.second, main, part, radii[1]), _gap(sides.first, main, part, radii[0])
        if gap >= limit and was <= _TOGETHER:
            kept.append(int(b))
            widest, before = max(widest, gap), max(before, was)
    if len(kept) < 2:
        return None
    told = (
        f"Its parts are {widest:.1f} local radii apart in the second map and lie side by side in the other "
        f"({before:.1f})."
    )
    return Change(SPLIT, (a,), tuple(kept), widest, total, told)


def _gap(Y: FloatArray, some: IntArray, others: IntArray, radii: FloatArray) -> float:
    """How far apart two groups are where they are nearest, in local radii."""
    way = cKDTree(Y[others]).query(Y[some])[0]
    back = cKDTree(Y[some]).query(Y[others])[0]
    near = min(float(np.quantile(way, _CLOSE)), float(np.quantile(back, _CLOSE)))
    return near / float(np.median(radii[np.concatenate([some, others])]))


def _lost(a: int, sides: Sides, limit: float) -> Change | None:
    """Return whether a cluster is gone: its rows are missing, or they are scattered."""
    rows, n = np.flatnonzero(sides.before == a), int(sides.n_before[a])
    gone = 1.0 - len(rows) / n
    if gone >= GONE:
        told = f"{n - len(rows):,} of its {n:,} rows are not in the second map."
        return Change(VANISHED, (a,), (), limit * (1.0 + gone), n, told)
    if len(rows) < _SCATTERED:
        return None
    wide = _spread(sides.second[rows]) / _spread(sides.first[rows])
    if wide < limit:
        return None
    told = f"Its rows lie {wide:.1f} times as far from one another in the second map as in the first."
    return Change(VANISHED, (a,), (), wide, n, told)


def _spread(Y: FloatArray) -> float:
    """Median distance from the middle; always above 0."""
    middle = np.median(Y, axis=0)
    return max(float(np.median(np.linalg.norm(Y - middle, axis=1))), np.finfo(np.float64).tiny)


def _stayed_or_moved(rest: list[int], overlap: IntArray, sides: Sides, limit: float) -> list[Change]:
    """Measure how far the middles of clusters that are whole in both maps have moved."""
    members = {a: np.flatnonzero(sides.before == a) for a in rest}
    ways = {
        a: float(np.linalg.norm(np.median(sides.second[rows], axis=0) - np.median(sides.first[rows], axis=0)))
        / _spread(sides.first[rows])
        for a, rows in members.items()
        if len(rows)
    }
    usual = float(np.median([*ways.values()])) if ways else 0.0
    changes = []
    for a, way in ways.items():
        same = int(np.argmax(overlap[a, :-1])) if overlap.shape[1] > 1 and overlap[a, :-1].any() else None
        after = () if same is None else (same,)
        moved = way >= limit and way >= _RESTLESS * usual
        told = f"Its middle lies {way:.1f} of its radii from where it was; the median cluster's {usual:.1f}."
        changes.append(Change(MOVED if moved else STAYED, (a,), after, way, len(members[a]), told))
    return changes
