"""Columns that seem to say which rows belong together: a patient's number, a name of a machine.

Such a column predicts the target of a row from other rows with the same value, and says nothing about a value that it
has not seen. A measured number predicts both, a column unrelated to the target neither. It is suspected only if it
predicts well: a category such as a district says a little about its rows, and is no reason for alarm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from manifolia._core.groups import draw_rows_by_groups, group_folds
from manifolia._core.messages import Argument, Message
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia.exceptions import TableError
from manifolia.tables.columns import kind_of

_FEWEST_VALUES, _MOST_EACH = 5, 200  # values of the column, and rows of one
_REPEATED = 0.5  # share of the rows whose value has two or more: some patients come once
_MUCH = 0.4  # share of the errors of a blind guess that rows of the same value must avoid
_NOTHING = 0.25  # maximum share of that for unseen values
_ROWS, _COLUMNS, _NOTES = 4000, 1000, 3  # examined, and maximum number of sentences
_TREES, _FOLDS = 30, 5


def group_notes(columns: Iterable[tuple[str, pd.Series]], y: Array, *, classes: bool) -> list[str]:
    """Name the columns by which rows of one value are recognised, with the argument that keeps these together."""
    notes: list[str] = []
    known = ~pd.isna(y)
    target = np.unique(y[known].astype(str), return_inverse=True)[1] if classes else y[known].astype(np.float64)
    for _, (name, column) in zip(range(_COLUMNS), columns, strict=False):
        values = _repeating(column[known], name)
        if values is None:
            continue
        n_values = len(np.unique(values[~np.isnan(values)]))
        present = _several(values)
        codes = np.unique(values[present], return_inverse=True)[1]
        if _spared_by_others(codes, target[present], classes=classes) < _MUCH:  # a forest could do no better
            continue
        rows = np.flatnonzero(present)
        if len(rows) > _ROWS:
            rows = rows[draw_rows_by_groups(codes, _ROWS, np.random.default_rng(0))]
        if _recognises(values[rows], target[rows], classes=classes):
            told = f"{name} has {n_values:,} values in {len(target):,} rows: if rows of one {name} belong together"
            notes.append(Message(f"{told}, say ", Argument("groups", name), "."))
    return notes[:_NOTES]


def _repeating(column: pd.Series, name: str) -> FloatArray | None:
    """Return a column of repeating whole numbers or texts as numbers, missing ones as NaN; None for any other."""
    try:
        kind = kind_of(column, name)
    except TableError:
        return None  # which the preparer reports
    if kind == "number":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.any(values % 1.0 > 0.0):  # for most columns this is all that is examined
            return None
    elif kind in ("text", "category"):
        codes, _ = pd.factorize(column.astype(object).map(str, na_action="ignore"), sort=True)
        values = np.where(codes < 0, np.nan, codes.astype(np.float64))
    else:
        return None
    counts = np.unique(values[~np.isnan(values)], return_counts=True)[1]
    if not _FEWEST_VALUES <= len(counts) <= counts.sum() / 2 or counts.max() > _MOST_EACH:
        return None
    return values if counts[counts > 1].sum() >= _REPEATED * counts.sum() else None


def _several(values: FloatArray) -> BoolArray:
    """Find which rows have a value that others have too; those alone can be recognised."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True, equal_nan=False)
    several: BoolArray = counts[codes] > 1
    return several


def _spared_by_others(codes: IntArray, target: Array, *, classes: bool) -> float:
    """Share of the errors of a blind guess that the other rows with a row's value avoid."""
    n = len(codes)
    if not classes:
        others = np.maximum(np.bincount(codes)[codes] - 1, 1)
        return _spared(target, (np.bincount(codes, target)[codes] - target) / others, classes=False)
    votes = np.zeros((int(codes.max()) + 1, int(target.max()) + 1))
    np.add.at(votes, (codes, target), 1.0)
    left = votes[codes]
    left[np.arange(n), target] -= 1.0
    left += 1e-6 * votes.sum(axis=0)  # among equal votes, the more frequent class
    return _spared(target, np.argmax(left, axis=1), classes=True)


def _recognises(values: FloatArray, target: Array, *, classes: bool) -> bool:
    """Return whether a small forest on one column predicts left-out rows, but not left-out values."""
    generator = np.random.default_rng(0)
    _, codes = np.unique(values, return_inverse=True)
    by_rows, by_values = (
        _spared(target, _predicted(values, target, folds, classes=classes), classes=classes)
        for folds in (np.array_split(generator.permutation(len(values)), _FOLDS), group_folds(codes, _FOLDS, generator))
    )
    return by_rows >= _MUCH and by_values <= _NOTHING * by_rows


def _predicted(values: FloatArray, target: Array, folds: Sequence[IntArray], *, classes: bool) -> Array:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    out = np.empty(len(target), dtype=target.dtype)
    for held in folds:
        learn = np.ones(len(target), dtype=bool)
        learn[held] = False
        forest = (RandomForestClassifier if classes else RandomForestRegressor)(_TREES, random_state=0)
        out[held] = forest.fit(values[learn, np.newaxis], target[learn]).predict(values[held, np.newaxis])
    return out


def _spared(target: Array, guess: Array, *, classes: bool) -> float:
    """Share of the errors of a blind guess that a prediction does not make; R² for numbers."""
    if classes:
        blind, errors = 1.0 - np.bincount(target).max() / len(target), float((guess != target).mean())
    else:
        blind, errors = float(target.var()), float(((guess - target) ** 2).mean())
    return 1.0 - errors / blind if blind > 0 else 0.0
