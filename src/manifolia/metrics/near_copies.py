"""Rows that come in near-identical clusters: a sign, though no proof, that they belong together.

A row has near copies if its j nearest rows are nearer than two thirds of the distance of the next one, for some j. In
evenly spread data of m dimensions the chance is about 1.5^(−jm), so rows of a table with more than a few columns seldom
have them; rows of one patient, measured repeatedly, do. They matter where labels go with them: if near copies share the
label far more often than the next rows do, trees that left a row out recognise it.

Only columns with many different values are considered: two rows of five categories can be equal without being copies.

Measured: with 200 patients, 5 rows each and 8 columns, 0.99 of the rows have near copies if rows of a patient differ by
a tenth of the difference between patients, 0.67 if by a fifth, 0.25 if by 0.3. Copies always share a random label, the
next rows in half of the cases. Of 21 tables without groups, haberman (two columns, 0.85) and titanic (0.65) have as
many, but these say no more than the next rows do; no other has more than 0.33.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.types import Array, FloatArray
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning
from manifolia.forest.targets import Target
from manifolia.metrics._nearest import nearest

_QUERIES, _FEWEST_QUERIES = 500, 100  # rows whose neighbours are searched for, fewer in large tables
_PAIRS = 50_000_000  # distances that are computed; beyond this number there are fewer queries
_AROUND = 40  # neighbours among which the gap is searched for
_GAP = 1.5  # the next row's distance over that of the farthest copy
_NEXT = 5  # rows beyond the gap that are asked
_DISTINCT = 0.1  # fewest different values of a measured column, as a share of the rows
_FEWEST_ROWS = 50
_COLUMNS, _LOOKED_AT = 100, 2000  # columns that are compared, and rows that decide whether a column is measured
_SHARE = 0.5  # share of rows that must have copies before anything is said
_MORE = 0.2  # how much better they must predict than the next rows, leaving at most half of what those leave open
_CLUSTERS_PER_CLASS = 3  # fewer may be the classes themselves


class NearCopies(NamedTuple):
    """How many rows have near copies, and how well these predict the target."""

    share: float  # Of the rows that have any
    inside: float  # How well near copies predict: agreement of classes, or the share of the variance in common
    outside: float  # The same for the next rows
    n_clusters: float  # About how many clusters of copies there are


def find_near_copies(X: FloatArray, y: Array, *, classes: bool) -> NearCopies | None:
    """Look for near copies among rows; None if nothing can be said."""
    n = len(X)
    if n < _FEWEST_ROWS:
        return None
    some = X[:: max(1, n // _LOOKED_AT)]
    candidates = np.unique(np.linspace(0, X.shape[1] - 1, min(X.shape[1], _COLUMNS)).astype(np.intp))
    measured = [j for j in candidates.tolist() if _is_measured(some[:, j])]
    if len(measured) < 2:
        return None
    Z = X[:, measured].astype(np.float64)
    if (missing := np.isnan(Z)).any():
        Z = np.where(missing, np.nanmedian(Z, axis=0), Z)
    Z -= Z.mean(axis=0)
    Z /= np.maximum(Z.std(axis=0), np.finfo(np.float64).tiny)
    n_queries = min(n, _QUERIES, max(_PAIRS // n, _FEWEST_QUERIES))
    rows = np.unique(np.linspace(0, n - 1, n_queries).astype(np.intp))
    k = min(_AROUND, n // 5)
    found = nearest(Z, k, rows=rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        jump = (found.distances[:, 1:] / found.distances[:, :-1])[:, : k - _NEXT]
    jump = np.nan_to_num(jump, nan=0.0, posinf=np.inf)  # exact copies among themselves, and from them to the next
    has = np.flatnonzero((jump > _GAP).any(axis=1))
    if not len(has):
        return NearCopies(0.0, 0.0, 0.0, 0.0)
    n_copies = np.argmax(jump[has], axis=1) + 1  # up to the widest gap
    place = np.arange(k)
    inner = place < n_copies[:, np.newaxis]
    outer = ~inner & (place < n_copies[:, np.newaxis] + _NEXT)
    like = _alike(y[rows[has], np.newaxis], y[found.indices[has]], y, classes=classes)
    inside, outside = (float((like * part).sum() / part.sum()) for part in (inner, outer))
    return NearCopies(len(has) / len(rows), inside, outside, float((1.0 / (n_copies + 1)).mean()) * n)


def suspect_near_copies(rows: FloatArray, target: Target) -> None:
    """Warn if rows of one target seem to belong together and no groups were given."""
    if target.y is not None and target.y.ndim == 1:
        y = np.unique(target.y, return_inverse=True)[1].ravel() if target.is_classification else target.y
        known = rows if target.labelled.all() else rows[target.labelled]  # no copy of a large table
        warn_of_near_copies(known, y, classes=target.is_classification)


def warn_of_near_copies(X: FloatArray, y: Array, *, classes: bool) -> None:
    """Warn if rows come in near-identical clusters by which their target is recognised."""
    found = find_near_copies(X, y, classes=classes)
    if found is None or found.share < _SHARE or found.inside - found.outside < _MORE:
        return
    n_classes = len(np.unique(y)) if classes else 1
    if 1.0 - found.inside > (1.0 - found.outside) / 2 or found.n_clusters < _CLUSTERS_PER_CLASS * n_classes:
        return
    unit = "share its label in {:.0%} of cases" if classes else "have {:.0%} of the variance of the target in common"
    warn(
        f"{found.share:.0%} of the rows have near copies, rows much nearer than the next ones. The copies "
        f"{unit.format(found.inside)}, the next rows {found.outside:.0%}: they may belong together, such as the rows "
        f"of one patient, and then a row that is left out is recognised by its copies and scores are too good. The "
        f"values alone cannot prove it. If a column says which rows belong together, pass it as groups.",
        HonestyWarning,
    )


def _is_measured(column: FloatArray) -> bool:
    known = column[~np.isnan(column)]
    return len(known) > 1 and len(np.unique(known)) >= _DISTINCT * len(column)


def _alike(one: Array, other: Array, y: Array, *, classes: bool) -> FloatArray:
    """1 for the same class, and on average 0 for unrelated numbers."""
    if classes:
        return (one == other).astype(np.float64)
    return 1.0 - (one - other) ** 2 / (2.0 * y.var())
