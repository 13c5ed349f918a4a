"""A map that shows much less of its target than the forest behind it knows, and what would show more.

What a map shows is the score of the 10 nearest rows (accuracy, or R² for numbers), what the forest knows its score on
rows out of bag. Both are of the same rows, so their difference is judged by its standard error over rows. What would
show more is tried: the forest is there already, and a map of some thousand rows takes seconds.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from manifolia import registry
from manifolia._core.groups import sub_groups
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia.explorer.context import Context
from manifolia.explorer.findings import Learned, Trial, can_win, more_than_chance
from manifolia.metrics.separation import blind_score, map_prediction, row_errors
from manifolia.tables.columns import as_keys

#: What a map must lose for something to be said. Every map loses a little: of 12 to 16 classes that overlap, guided
#: maps lost up to 3 points and RF-PHATE, where groups run into one another, 6 to 15.
_MUCH = 0.05
_WORTH = 0.02  # what another map must win to be named
_N_ERRORS = 2.0  # standard errors that both must exceed
#: What is tried takes up to about ten seconds: 2,000 rows and 500 trees.
_MOST_ROWS, _MOST_LEAVES = 2_000, 1_000_000
_THREE = "three dimensions (n_components=3)"
_CANNOT = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError)  # what a fit may raise on an odd table


def trials_of(context: Context, y: Array, predicted: Array, learned: Learned) -> list[Trial]:
    """Try what would show more of a target where a map shows much less than the forest knows; else there is none."""
    known = np.asarray(~pd.isna(y).reshape(len(y), -1).any(axis=1))
    truth, guesses = _comparable(y[known], predicted[known], classes=learned.classes)
    groups = sub_groups(learned.groups, known)
    errors = _errors(context.Y[known], truth, learned, groups)
    if errors is None or not more_than_chance(y, predicted, classes=learned.classes, groups=learned.groups):
        return []
    rows, shown = errors
    forest = row_errors(truth[rows], guesses[rows], classification=learned.classes)
    fair = np.ones(len(rows), dtype=bool)
    if learned.classes:  # a class of few rows lies in one place and is outvoted all the same
        fair = np.all([can_win(column)[rows] for column in truth.T], axis=0)
    lost, units = (shown - forest)[fair], None if groups is None else groups[rows][fair]
    knows = learned.score - blind_score(truth, classification=learned.classes)
    if len(lost) < 3 or not min(lost.mean(), knows) > max(_MUCH, _N_ERRORS * _standard_error(lost, units)):
        return []
    others = _others(context)
    n_leaves = context.n * len(context.method.forest_.estimators_)
    if context.n > _MOST_ROWS or n_leaves > _MOST_LEAVES:
        return [Trial(name) for name in others]
    if context.X is None:
        return []
    target = y if learned.classes else y.astype(np.float64)
    weight = context.method._fitted_forest.weight
    trials = []
    for name, model in others.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what there is to say was said of the map itself
                Y = model.fit(context.X, target, sample_weight=weight).embedding_
        except _CANNOT:
            continue
        tried = _errors(np.asarray(Y, dtype=np.float64)[known], truth, learned, groups)
        if tried is not None:
            won = shown - tried[1]
            doubt = _standard_error(won, None if groups is None else groups[rows])
            helps = bool(won.mean() > max(_WORTH, _N_ERRORS * doubt))
            trials.append(Trial(name, 1.0 - float(tried[1].mean()), helps))
    return trials


def _comparable(y: Array, predicted: Array, *, classes: bool) -> tuple[Array, Array]:
    """Targets and predictions as columns of numbers; classes as codes, the same for 1 and "1"."""
    truth, guesses = (values.reshape(len(values), -1).T for values in (y, predicted))
    if not classes:
        return truth.T.astype(np.float64), guesses.T.astype(np.float64)
    columns = []
    for own, guess in zip(truth, guesses, strict=True):
        names = list(dict.fromkeys(as_keys(own).tolist()))
        code = {name: k for k, name in enumerate(names)}
        columns.append([[code.get(name, -1) for name in as_keys(labels).tolist()] for labels in (own, guess)])
    first, second = np.array(columns).transpose(1, 2, 0)
    return first, second


def _errors(Y: FloatArray, truth: Array, learned: Learned, groups: IntArray | None) -> tuple[Array, FloatArray] | None:
    """What each row takes from the score of the nearest rows; None where there is nothing to score."""
    if len(Y) < 3 or not np.isfinite(Y).all():
        return None
    rows, voted = map_prediction(Y, truth, classification=learned.classes, groups=groups)
    return rows, row_errors(truth[rows], voted, classification=learned.classes)


def _standard_error(differences: FloatArray, groups: IntArray | None) -> float:
    if groups is not None:  # rows of a group differ together
        return float(np.linalg.norm(np.bincount(groups, differences - differences.mean())) / len(differences))
    return float(differences.std(ddof=1) / np.sqrt(len(differences)))


def _others(context: Context) -> dict[str, Any]:
    """Maps to try: the same forest, so that what it knows is the same."""
    method, card, n_components = context.method, context.card, context.Y.shape[1]
    same = {"forest": method.forest_, "task": method.task_, "verbose": False, "callback": None}
    found = {}
    if n_components < 3:
        found[_THREE] = clone(method).set_params(n_components=3, **same)
    if card.sharper and method.forest_.bootstrap:
        # A generator that the user passed is copied, not drawn from.
        same |= {name: getattr(clone(method), name) for name in ("random_state", "n_jobs")}
        found[card.sharper] = registry.get(card.sharper)(n_components=n_components, **same)
    return found
