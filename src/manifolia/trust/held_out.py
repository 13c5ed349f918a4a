"""What can be learned about a target on held-out rows: by a forest, by neighbours, by a linear rule.

None of the three has seen the row that it is asked about, nor another one of its group. The best of them is what a map
may show of the target; a single one would mistake its own weakness for a fault of the map.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ParameterError
from manifolia.extension.guide import Learner, Question, cross_fit
from manifolia.extension.guide_models import Linear, Output, fit_linear
from manifolia.extension.leaf_map import leaf_values, place_training
from manifolia.forest.grow import default_forest, grow_forest
from manifolia.forest.leaf_tables import LeafTable, leaf_table
from manifolia.forest.targets import Target
from manifolia.metrics._labels import vote

_TREES = 100
_ROWS_PER_TREE = 2000  # of a larger table each tree draws this many
_COLUMNS_PER_SPLIT = 40  # at most, where the target is numbers: a third of all, as usual, takes too long of wide tables
_AHEAD = 1e-9  # of a vote, for the winner of several classes with equally many
_MOST_COLUMNS = 600  # beyond this a linear rule would take longer than all the rest
_MOST_WORK = 2e8  # rows that a linear rule learns from, times the square of the columns


class HeldOut(NamedTuple):
    """What one way of learning predicts for rows that it has not seen."""

    name: str  # In a sentence
    said: FloatArray  # (n, n_classes): its votes, in each row summing to 1; or (n, 1): the number that it expects


def outputs_of(y: Array, n_classes: int) -> FloatArray:
    """Spread class codes over indicators; numbers are one column."""
    return np.eye(n_classes)[y] if n_classes else np.asarray(y, dtype=np.float64)[:, np.newaxis]


def votes_of(near: IntArray, y: Array, n_classes: int) -> FloatArray:
    """Let the nearest rows vote, or average their numbers."""
    said = outputs_of(y, n_classes)[near].mean(axis=1)
    if n_classes:  # equally many votes are decided as `knn_accuracy` decides them
        said[np.arange(len(near)), vote(y[near], n_classes)] += _AHEAD
    return said


def by_forest(
    rows: Any, y: Array, n_classes: int, *, groups: IntArray | None = None, random_state: RandomState = None
) -> HeldOut:
    """Ask the trees of a small forest for which a row, or its group, is out of bag."""
    n = len(y)
    task = "classification" if n_classes else "regression"
    target = Target(y, np.ones(n, dtype=bool), task)
    share = None if n <= _ROWS_PER_TREE else _ROWS_PER_TREE / n
    small = default_forest(target, _TREES).set_params(max_samples=share, random_state=spawn_seeds(random_state, 1)[0])
    if not n_classes:
        small.set_params(max_features=min(small.max_features, _COLUMNS_PER_SPLIT / rows.shape[1]))
    grown = grow_forest(rows, target, forest=small, groups=groups)
    return HeldOut("a forest", votes_out_of_bag(leaf_table(grown.forest, rows), outputs_of(y, n_classes)))


def votes_out_of_bag(table: LeafTable, outputs: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    """Average the outputs in a row's leaves over the trees that left it out; the mean where all trees have seen it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\d+ of \d+ rows fall")  # of rows that no tree left out
        said = place_training(table, leaf_values(table, outputs, row_weight=weight))
    seen = ~(table.counts == 0).any(axis=0)
    said[seen] = outputs.mean(axis=0)
    return said


def by_neighbors(near: IntArray, y: Array, n_classes: int) -> HeldOut:
    """Ask the nearest rows, which are those of other groups."""
    return HeldOut("neighbours in the data", votes_of(near, y, n_classes))


def by_linear_rule(
    X: FloatArray, y: Array, n_classes: int, *, groups: IntArray | None = None, random_state: RandomState = None
) -> HeldOut | None:
    """Ask the linear model that may guide a map, trained on the other folds; None if that is slow or impossible."""
    n, d = X.shape
    if d > _MOST_COLUMNS or is_sparse(X):
        return None
    seed, most = spawn_seeds(random_state, 1)[0], int(_MOST_WORK / d**2)

    def fit(rows: FloatArray, outputs: list[Output], hold: BoolArray, *_: Array) -> Linear:
        some = np.random.default_rng(seed).permutation(len(rows))[:most]
        return fit_linear(rows[some], [Output(values[some], k) for values, k in outputs], hold[some])

    target = Target(y, np.ones(n, dtype=bool), "classification" if n_classes else "regression")
    # A column that is constant in the other folds is 0 there, exactly; else its width is what rounding leaves of it.
    question = Question(X - np.median(X, axis=0), target, groups, None, None, seed)
    try:
        votes = cross_fit(Learner("a linear rule", fit, is_quiet=True), question, Reporter())
    except ParameterError:  # it could not be trained, or says infinity
        return None
    said = np.zeros((n, max(n_classes, 1)))
    said[:, np.unique(y) if n_classes else [0]] = votes  # a sample may lack a class
    return HeldOut("a linear rule", said)
