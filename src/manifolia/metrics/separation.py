"""How well a map, or a forest, predicts the target: one score for both, so that they can be compared.

A supervised map should not show the classes better separated than the forest behind it can tell them apart on rows that
it has not seen. The score is accuracy for classes (the mean over labels for several), R² for numbers (the mean over
outputs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.groups import n_units
from manifolia._core.random import as_generator
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.warnings import warn
from manifolia.exceptions import HonestyWarning
from manifolia.metrics._labels import vote
from manifolia.metrics._nearest import n_others, nearest

_K = 10
_MORE_THAN_EARNED = 0.02  # over-separation that is not noise, beyond two standard errors
_ROWS = 20_000  # rows that are scored at most: a standard error of 0.4 % at the worst


def one_hot_columns(y: Array) -> list[tuple[Array, FloatArray]]:
    """Spread every output of classes over indicator columns."""
    out: list[tuple[Array, FloatArray]] = []
    for column in y.reshape(len(y), -1).T:
        found, codes = np.unique(column, return_inverse=True)
        out.append((found, np.eye(len(found))[codes]))
    return out


def blind_score(y: Array, *, classification: bool) -> float:
    """Score the best prediction that looks at no data."""
    if not classification:
        return 0.0
    return float(np.mean([indicators.mean(axis=0).max() for _, indicators in one_hot_columns(np.asarray(y))]))


def earned_score(score: float, y: Array, *, classification: bool) -> float:
    """What a map may show of a target: what was learned about it or, if that is more, what a blind guess gets right.

    On held-out rows, a model that knows nothing does worse than always naming the commonest class (or the mean),
    because the row's own label is missing among its voters. A map that shows no more than such a guess shows nothing.
    """
    return max(score, blind_score(y, classification=classification))


def target_score(y: Array, predicted: Array, *, classification: bool) -> float:
    """Score predictions of a target."""
    truth, guess = (np.asarray(values).reshape(len(values), -1) for values in (y, predicted))
    if classification:
        return float((truth == guess).mean())
    total = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    residual = ((truth - guess) ** 2).sum(axis=0)
    return float(np.mean(1.0 - np.divide(residual, total, out=np.full(len(total), np.nan), where=total > 0)))


def row_errors(y: Array, predicted: Array, *, classification: bool) -> FloatArray:
    """Return what each row takes off the score: 1 minus their mean is `target_score`, so that two can be paired."""
    truth, guess = (np.asarray(values).reshape(len(values), -1) for values in (y, predicted))
    if classification:
        return np.asarray((truth != guess).mean(axis=1))
    return np.asarray(((truth - guess) ** 2 / truth.var(axis=0)).mean(axis=1))


def map_score(
    Y: FloatArray,
    y: Array,
    *,
    classification: bool,
    k: int = _K,
    groups: IntArray | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> float:
    """Score the target's prediction from a row's neighbours in the map, the row itself, or its group, left out."""
    if len(Y) < 2:
        return float("nan")
    about: dict[str, Any] = {"groups": groups, "random_state": random_state, "n_jobs": n_jobs}
    rows, predicted = map_prediction(Y, y, classification=classification, k=k, **about)
    return target_score(y[rows], predicted, classification=classification)


def map_prediction(
    Y: FloatArray,
    y: Array,
    *,
    classification: bool,
    k: int = _K,
    groups: IntArray | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> tuple[IntArray, Array]:
    """Predict the target of rows, a sample if there are very many, from their neighbours in the map."""
    n = len(Y)
    rows = np.arange(n) if n <= _ROWS else np.sort(as_generator(random_state).choice(n, _ROWS, replace=False))
    k = min(k, n_others(n, groups))
    neighbors = nearest(np.asarray(Y, dtype=np.float64), k, rows=rows, groups=groups, n_jobs=n_jobs).indices
    if not classification:
        return rows, np.asarray(y, dtype=np.float64)[neighbors].mean(axis=1)
    voted = []
    for column in np.asarray(y).reshape(len(Y), -1).T:
        found, codes = np.unique(column, return_inverse=True)
        voted.append(found[vote(codes[neighbors], len(found))])
    return rows, np.column_stack(voted)


def judge_separation(
    Y: FloatArray,
    y: Array,
    predicted: Array,
    left_out: BoolArray,
    *,
    classification: bool,
    groups: IntArray | None = None,
    knower: str = "the forest",
    also: float = -np.inf,
) -> tuple[float, float]:
    """Compare the map's score with a forest's on out-of-bag rows, or another model's, and warn if the map shows more.

    Returns the score, and what the map shows beyond it, or beyond a blind guess if that is better. `also` is the score
    of a second model that the map was made with: what that model has earned is no reason to warn.
    """
    if not left_out.any():
        return float("nan"), float("nan")
    score = target_score(y[left_out], predicted[left_out], classification=classification)
    shown = map_score(Y, y, classification=classification, groups=groups)
    if is_unearned(shown, max(score, also), y, classification=classification, groups=groups):
        k = min(_K, n_others(len(y), groups))
        near = "rows" if groups is None else "rows of other groups"
        warn(
            f"the map separates the target better ({shown:.3f}, by the {k} nearest {near}) than {knower} can tell "
            f"it on rows it was not trained on ({score:.3f}): part of the separation is not earned.",
            HonestyWarning,
        )
    return score, shown - earned_score(score, y, classification=classification)


def is_unearned(shown: float, score: float, y: Array, *, classification: bool, groups: IntArray | None = None) -> bool:
    """Return whether a map shows more of a target than was learned about it, by more than chance."""
    earned = earned_score(score, y, classification=classification)
    deviation = np.sqrt(max(earned * (1.0 - earned), 0.0)) if classification else 0.5
    return bool(shown - earned > _MORE_THAN_EARNED + 2.0 * deviation / np.sqrt(n_units(groups, len(y))))
