"""What a map keeps of its rows, so that the next map of the same thing finds them again and can lie as this one does.

Rows are found by their names, which are the index of a frame, or by their values: a 64-bit fingerprint of all of them
in single precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.pipelines import last_step
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_number, is_sparse
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError
from manifolia.layout.alignment import check_targets, motion_between
from manifolia.tables.frames import index_names

_ROWS = 4096
_ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


#: How much an earlier place counts against what the leaves say about a row, or the walk from it to the landmarks. (For
#: leaves, 5 moved the rows of PBMC by 0.24 local radii instead of 0.37, and cost held-out accuracy: one seed.)
BY_LEAVES, BY_WALK = 3.0, 5.0
_MOVED = 4.0  # a row this many median distances from its earlier place counts as moved, and is let go


class KnownRows(NamedTuple):
    """Rows of a map, as a later one finds them again."""

    prints: Array  # (n,): fingerprints, uint64
    names: Array | None  # (n,): texts of the index of the frame; None where the rows have no names
    layout: FloatArray  # (n, c): what the layout gave, before rows were placed on it


class Nearness(NamedTuple):
    """How a map was held near an earlier one."""

    found_by: str  # "index", "equality", "key" or "places"
    layout: FloatArray  # (n, c): where the layout pulled the rows; NaN for free ones
    places: FloatArray  # (n, c): where they lay on the map
    strength: float  # Times the default

    @property
    def n_shared(self) -> int:
        """Rows that both maps have."""
        return int(np.isfinite(self.places[:, 0]).sum())


def row_prints(X: Any) -> Array:
    """Make a fingerprint of each row from its values in single precision; zeros add nothing, so sparse equals dense."""
    n = X.shape[0]
    out = np.zeros(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for rows in row_blocks(n, _ROWS):
            block = X[rows]
            if is_sparse(block):
                block = block.tocsr()
                row = np.repeat(np.arange(rows.start, rows.stop), np.diff(block.indptr))
                np.add.at(out, row, _mixed(block.data, block.indices))
            else:
                values = np.asarray(block)
                out[rows] = _mixed(values, np.arange(values.shape[1])).sum(axis=1, dtype=np.uint64)
    return out


def _mixed(values: Array, columns: Array) -> Array:
    """Mix the bits of values with their columns (splitmix64); 0 for zeros."""
    single = values.astype(np.float32)
    bits = np.where(np.isnan(single), np.float32(np.nan), single).view(np.uint32).astype(np.uint64)
    z = (columns.astype(np.uint64) + np.uint64(1)) * _ODD[0] ^ bits * _ODD[2]
    for shift, factor in ((np.uint64(30), _ODD[1]), (np.uint64(27), _ODD[2])):
        z = (z ^ (z >> shift)) * factor
    return np.where(single == 0.0, np.uint64(0), z ^ (z >> np.uint64(31)))


def known_rows(X: Any, rows: Any, layout: FloatArray) -> KnownRows:
    """Keep what is needed to find rows again: as the user gave them, and as they were checked."""
    names = index_names(X)
    return KnownRows(row_prints(rows), names, layout.astype(np.float64))


def find_shared(known: KnownRows, prints: Array, names: Array | None) -> tuple[IntArray, str]:
    """Find which earlier row each row is; −1 for a new one."""
    equal = _matched(known.prints, prints)
    if known.names is None or names is None:
        return equal, "equality"
    named = _matched(known.names, names)
    both = (equal >= 0) & (named >= 0)
    if (named >= 0).any() and (not both.any() or (equal[both] == named[both]).mean() >= 0.5):
        return named, "index"
    if (named >= 0).any():
        warn("the index of X gives the names of earlier rows to other rows: the rows are found by what they hold.")
    return equal, "equality"


def _matched(old: Array, new: Array) -> IntArray:
    """Number of the equal entry; among several equal ones the first takes the first, and so on."""
    tagged = [_with_turn(values) for values in (old, new)]
    place = {key: i for i, key in enumerate(zip(*tagged[0], strict=True))}
    return np.array([place.get(key, -1) for key in zip(*tagged[1], strict=True)], dtype=np.intp)


def _with_turn(values: Array) -> tuple[list[Any], list[int]]:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    turn = np.empty(len(values), dtype=np.intp)
    turn[order] = np.arange(len(values)) - starts
    return values.tolist(), turn.tolist()


def read_near(near: Any, strength: float, X: Any, rows: Any, n_components: int) -> Nearness | None:
    """Read what a map should stay near: an earlier model, places of its rows, or what a run found."""
    strength = check_number(strength, "near_strength", low=0.0, hint="1 is the default, 0 only begins there.")
    if near is None:
        return None
    n = rows.shape[0]
    if isinstance(near, Nearness):
        found_by, layout, places = near.found_by, near.layout, near.places
    elif hasattr(near, "fit"):
        known, embedding = known_of(near, n_components)
        shared, found_by = find_shared(known, row_prints(rows), index_names(X))
        layout, places = at(known.layout, shared), at(embedding, shared)
    else:
        found_by, layout = "places", check_targets(near, n, n_components, "near")
        places = layout
    if not np.isfinite(places[:, 0]).any():
        how = "all its rows are NaN" if found_by == "places" else "none has the same index or the same values"
        raise ParameterError(
            f"near shares no row with X: {how}. Pass a model of some of these rows, or their places as an array with "
            f"NaN for the others.",
            parameter="near",
        )
    return Nearness(found_by, layout, places, float(strength))


def known_of(near: Any, n_components: int) -> tuple[KnownRows, FloatArray]:
    """Ask an earlier model for its rows."""
    method = last_step(near)
    check_is_fitted(method, "embedding_")
    known: KnownRows | None = vars(method).get("_known_rows")
    if known is None:
        raise ParameterError(
            f"near is a {type(method).__name__} that did not keep what its rows are found by: it was fitted by another "
            f"version of manifolia, or its method does not. Fit it again, or pass the places of the rows as an array.",
            parameter="near",
        )
    c = method.embedding_.shape[1]
    if c != n_components:
        raise ParameterError(
            f"near has {c} dimensions and n_components is {n_components}. Both maps need the same number.",
            parameter="near",
        )
    return known, np.asarray(method.embedding_, dtype=np.float64)


def at(Y: FloatArray, rows: IntArray) -> FloatArray:
    """Places of some rows; NaN for those that are −1."""
    out = np.full((len(rows), Y.shape[1]), np.nan)
    out[rows >= 0] = Y[rows[rows >= 0]]
    return out


def anchored(near: Nearness | None) -> dict[str, Any]:
    """What is passed to a layout by forces."""
    return {} if near is None else {"near": near.layout, "near_strength": near.strength}


def by_landmark(near: Nearness | None, labels: IntArray, n_groups: int) -> dict[str, Any]:
    """The mean place of each group's rows for `mds_layout`, weighted by the share of rows that have one."""
    if near is None:
        return {}
    held = np.isfinite(near.layout[:, 0])
    counts, n_held = np.bincount(labels, minlength=n_groups), np.bincount(labels[held], minlength=n_groups)
    sums = np.column_stack([np.bincount(labels[held], axis, minlength=n_groups) for axis in near.layout[held].T])
    means = np.where(n_held[:, None] > 0, sums / np.maximum(n_held, 1)[:, None], np.nan)
    return {"near": means, "near_strength": near.strength, "near_weights": n_held / np.maximum(counts, 1)}


def moved_along(Y: FloatArray, places: FloatArray, near: Nearness) -> FloatArray:
    """Move a layout so that the places that a forest derives from it lie over the earlier map.

    How far a row's classes are pulled together depends on which trees left it out: maps of few trees differ in size.
    """
    held = np.isfinite(near.places[:, 0])
    return motion_between(places[held].astype(np.float64), near.places[held], np.ones(int(held.sum())))(Y)


def drawn(places: FloatArray, near: Nearness, pull: float = BY_LEAVES) -> FloatArray:
    """Pull rows towards their earlier places, which came from another forest or walk.

    A row that lies unusually far from its earlier place for this map has moved and is let go.
    """
    made = places.astype(np.float64)
    held = np.isfinite(near.places[:, 0])
    gap = near.places[held] - made[held]
    far = np.linalg.norm(gap, axis=1)
    kept = np.minimum(np.divide(_MOVED * np.median(far), far, out=np.ones(len(far)), where=far > 0.0), 1.0) ** 2
    drawing = pull * near.strength * kept
    made[held] += (drawing / (1.0 + drawing))[:, None] * gap
    return made
