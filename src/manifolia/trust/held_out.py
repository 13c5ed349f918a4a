"""What can be learned of a target on rows that were left out: by a forest, by neighbours, by a linear rule.

None of the three has seen the row that it is asked about, nor another of its group. The best of them is what a map may
show of the target; a single one would take its own weakness for a fault of the map.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.groups import deal_folds
from manifolia._core.random import as_generator, spawn_seeds
from manifolia._core.types import Array, FloatArray, IntArray, RandomState
from manifolia._core.validate import is_sparse
from manifolia.extension.leaf_map import leaf_values, place_training
from manifolia.forest.grow import default_forest, grow_forest
from manifolia.forest.leaf_tables import LeafTable, leaf_table
from manifolia.forest.targets import Target

_TREES = 100
_ROWS_PER_TREE = 2000  # of a larger table each tree draws this many
_FOLDS = 5
_MOST_COLUMNS = 600  # beyond which a linear rule would take longer than all the rest
_FEWEST_OF_CLASS = 3  # rows of a class from which a linear rule learns


class HeldOut(NamedTuple):
    """What one way of learning says of rows that it has not seen."""

    name: str  # In a sentence
    said: FloatArray  # (n, n_classes): its votes, in each row summing to 1; or (n, 1): the number that it expects


def outputs_of(y: Array, n_classes: int) -> FloatArray:
    """Spread class codes over indicators; numbers are one column."""
    return np.eye(n_classes)[y] if n_classes else np.asarray(y, dtype=np.float64)[:, np.newaxis]


def by_forest(
    rows: Any, y: Array, n_classes: int, *, groups: IntArray | None = None, random_state: RandomState = None
) -> HeldOut:
    """Ask the trees of a small forest that left a row, or its group, out of their bag."""
    n = len(y)
    task = "classification" if n_classes else "regression"
    target = Target(y, np.ones(n, dtype=bool), task)
    share = None if n <= _ROWS_PER_TREE else _ROWS_PER_TREE / n
    small = default_forest(target, _TREES).set_params(max_samples=share, random_state=spawn_seeds(random_state, 1)[0])
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
    return HeldOut("neighbours in the data", outputs_of(y, n_classes)[near].mean(axis=1))


def by_linear_rule(
    X: FloatArray, y: Array, n_classes: int, *, groups: IntArray | None = None, random_state: RandomState = None
) -> HeldOut | None:
    """Ask shrunken linear discriminants, or a ridge regression, of the other folds; None where that takes long."""
    n, d = X.shape
    if d > _MOST_COLUMNS or is_sparse(X):
        return None
    generator = as_generator(random_state)
    said = np.tile(outputs_of(y, n_classes).mean(axis=0), (n, 1))
    for fold in deal_folds(n, y if n_classes else None, groups, _FOLDS, generator):  # all classes in every fold
        train = np.setdiff1d(np.arange(n), fold)
        if n_classes:
            train = train[np.bincount(y[train], minlength=n_classes)[y[train]] >= _FEWEST_OF_CLASS]
        varies = np.ptp(X[train], axis=0) > 0 if len(train) else np.zeros(d, dtype=bool)
        if not len(fold) or not varies.any() or np.ptp(y[train]) == 0:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                said[fold] = _linear(X[train][:, varies], y[train], X[fold][:, varies], n_classes)
            except np.linalg.LinAlgError:  # columns that depend on one another beyond all digits
                return None
    return HeldOut("a linear rule", said) if np.isfinite(said).all() else None


def _linear(X: FloatArray, y: Array, new: FloatArray, n_classes: int) -> FloatArray:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import RidgeCV

    if not n_classes:
        scale = X.std(axis=0)
        model = RidgeCV(np.geomspace(1e-2, 1e4, 7) * len(X) / 100).fit(X / scale, y)
        return np.asarray(model.predict(new / scale))[:, np.newaxis]
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y)
    shares = np.zeros((len(new), n_classes))
    shares[:, model.classes_] = model.predict_proba(new)
    return shares
