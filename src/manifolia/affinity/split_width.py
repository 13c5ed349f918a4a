"""How many columns a forest of classes tries at a split, where there are many.

The square root of the number of columns, the usual choice, is too few where nearly all columns are noise: of 1,004
columns it tries 31, and most splits see none of the four that tell the classes apart. A tenth or a third of them finds
these, at three to ten times the work; where every column tells a little it gains nothing. Small forests, asked about
rows that their trees have not seen, tell the two cases apart.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from manifolia._core.types import Array, BoolArray, FloatArray

__all__ = ["MANY_COLUMNS", "split_width"]

#: Up to here the square root is a tenth of the columns or more.
MANY_COLUMNS = 100
#: From the narrowest on, each is tried if the one before was better than its own.
WIDTHS: tuple[str | float, ...] = ("sqrt", 0.1, 1 / 3)
_TREES, _ROWS = 50, 1000
#: By how many standard errors a wider search has to be better: it costs time in every tree.
_ERRORS = 2.0


def split_width(X: Any, y: Array, *, weight: FloatArray | None, seed: int, n_jobs: int | None) -> str | float:
    """Choose ``max_features`` of a forest of classes by out-of-bag votes.

    Forests of 50 trees on at most 1,000 rows try the square root of the number of columns, a tenth and a third. A
    wider one is taken if the rows that it alone gets right are more than those that it alone gets wrong by two standard
    errors (McNemar's test), and the next is tried only then.
    """
    if X.shape[1] <= MANY_COLUMNS:
        return WIDTHS[0]
    if X.shape[0] > _ROWS:
        rows = np.sort(np.random.default_rng(seed).permutation(X.shape[0])[:_ROWS])
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
    chosen, right = WIDTHS[0], _right(X, y, weight, WIDTHS[0], seed, n_jobs)
    for wider in WIDTHS[1:]:
        if np.count_nonzero(~right) <= _ERRORS**2:
            break  # even if it got all of these right, that could be luck
        also = _right(X, y, weight, wider, seed, n_jobs)
        gained, lost = np.count_nonzero(also & ~right), np.count_nonzero(right & ~also)
        if gained - lost <= _ERRORS * np.sqrt(gained + lost):
            break
        chosen, right = wider, also
    return chosen


def _right(X: Any, y: Array, weight: FloatArray | None, width: Any, seed: int, n_jobs: int | None) -> BoolArray:
    """Which rows the trees that have not seen them vote right on."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(_TREES, max_features=width, oob_score=True, random_state=seed, n_jobs=n_jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a row that every tree has seen: its vote is NaN, and not right
        forest.fit(X, y, sample_weight=weight)
    votes = np.nan_to_num(forest.oob_decision_function_, nan=-1.0)
    return np.asarray(forest.classes_[np.argmax(votes, axis=1)] == y)
