"""Does one column alone predict the target? Then it may be a copy of it, or only be known after it.

A column with few different values is cut by value, any other into runs of adjacent values. Each row is guessed from the
other rows of its piece: their most frequent class, or their mean. A column predicts the target if that leaves at most a
fiftieth of the rows wrong and a tenth of what blind guessing leaves, or at most a fiftieth of the variance.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.types import Array, FloatArray, IntArray

_MOST_VALUES = 50  # different values of a column that is cut by value
_PER_PIECE = 8  # rows of a piece of another
_MOST_WRONG = 0.02
_OF_BLIND = 0.1
_FEWEST = 30
_SCREENED = 1000  # rows on which columns are first examined
_WORTH_A_LOOK = 0.9  # of what they tell there


class Leak(NamedTuple):
    """A column that predicts the target on its own."""

    column: str
    score: float  # Share of rows that it guesses right, or of the variance that it explains


def telling_columns(columns: Iterable[tuple[str, Array]], y: Array, *, classes: bool) -> list[Leak]:
    """Find the columns that predict a target on their own, the best first."""
    known = ~pd.isna(y)
    if known.sum() < _FEWEST:
        return []
    target = np.unique(y[known].astype(str), return_inverse=True)[1].ravel() if classes else y[known].astype(np.float64)
    if len(np.unique(target)) < 2:  # nothing to tell
        return []
    least = 1.0 - _MOST_WRONG
    if classes:
        least = max(least, 1.0 - _OF_BLIND * (1.0 - np.bincount(target).max() / len(target)))
    some = np.arange(0, len(target), max(1, len(target) // _SCREENED))  # most columns of a wide table predict nothing
    found = []
    for name, values in columns:
        column = pd.Series(values)[known].reset_index(drop=True)
        if _score(column[some], target[some], classes=classes) < _WORTH_A_LOOK:
            continue
        score = _score(column, target, classes=classes)
        if score >= least:
            found.append(Leak(str(name), score))
    return sorted(found, key=lambda leak: -leak.score)


def _score(column: pd.Series, target: Array, *, classes: bool) -> float:
    """How well a single column predicts a target."""
    pieces = _pieces(column)
    return 0.0 if pieces is None else _told(pieces, target, classes=classes)


def _pieces(column: pd.Series) -> IntArray | None:
    """Cut a column into pieces of rows with the same, or adjacent, values; None if that is uninformative."""
    codes, different = pd.factorize(column, use_na_sentinel=False)
    few = min(_MOST_VALUES, len(column) / _PER_PIECE)  # a few rows that repeat one another prove nothing by agreeing
    if len(different) <= few or not pd.api.types.is_numeric_dtype(column.dtype):
        return codes.astype(np.int64) if 1 < len(different) <= len(column) / 2 else None
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    ranks = np.empty(len(values), dtype=np.int64)
    order = np.argsort(values, kind="stable")
    ranks[order] = np.arange(len(values))
    pieces = ranks // _PER_PIECE
    # Equal values stay together: each goes where the first of them is.
    first = pd.Series(pieces).groupby(codes).transform("min").to_numpy()
    return np.unique(first, return_inverse=True)[1].ravel().astype(np.int64)


def _told(pieces: IntArray, target: Array, *, classes: bool) -> float:
    """Guess each row by the others of its piece."""
    size = np.bincount(pieces)[pieces] - 1.0
    if classes:
        n_classes = int(target.max()) + 1
        counts = np.bincount(pieces * n_classes + target, minlength=(pieces.max() + 1) * n_classes)
        others: FloatArray = counts.reshape(-1, n_classes)[pieces].astype(np.float64)
        others[np.arange(len(target)), target] -= 1.0
        own = others[np.arange(len(target)), target]
        others[np.arange(len(target)), target] = -1.0
        return float((own > others.max(axis=1)).mean())  # a tie is not a guess, nor is a row alone
    sums = np.bincount(pieces, target)[pieces] - target
    guess = np.where(size > 0, sums / np.maximum(size, 1.0), target.mean())
    variance = float(target.var())
    return 1.0 - float(((target - guess) ** 2).mean()) / variance if variance > 0 else 0.0
