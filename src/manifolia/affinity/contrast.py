"""A forest without a target: Breiman's contrast of the data with a copy whose columns are shuffled.

The copy has the same marginals and no dependence between columns. A forest that tells the two apart has to learn which
combinations of values occur, so that rows which share its leaves are alike in what the data itself cares about.

References
----------
.. [1] L. Breiman and A. Cutler, "Random forests", manual, section on unsupervised learning, 2003.
.. [2] T. Shi and S. Horvath, "Unsupervised learning with random forest predictors", JCGS 15, 2006.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import threads
from manifolia._core.random import as_generator, as_seed
from manifolia._core.types import Array, ArrayLike, IntArray, RandomState
from manifolia._core.validate import check_matrix
from manifolia.affinity.growth import Report, fit_forest

__all__ = ["ContrastForest", "contrast_forest", "shuffled_columns"]


class ContrastForest(NamedTuple):
    """A forest grown on data and contrast."""

    forest: Any  # Fitted on 2 n rows, class 1 for the data
    # (2 n,): what `manifolia.affinity.forest.proximity` needs to relate the forest's rows to the data: −1 for the copy
    train_rows: IntArray


def contrast_forest(
    X: ArrayLike,
    *,
    n_trees: int = 500,
    forest: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> ContrastForest:
    """Grow a forest that tells the data from a copy whose columns are shuffled independently."""
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier

    data = check_matrix(X, allow_nan=True, min_rows=2)
    n = data.shape[0]
    generator = as_generator(random_state)
    copy = shuffled_columns(data, generator)
    model = RandomForestClassifier(n_trees) if forest is None else clone(forest)
    model.set_params(random_state=as_seed(generator))
    with threads(n_jobs) as n_threads:
        if forest is None:
            model.set_params(n_jobs=n_threads)
        both, label = np.vstack([data, copy]), np.repeat([1, 0], n)
        fit_forest(model, both, label, report=report if forest is None else None)
    train_rows = np.concatenate([np.arange(n), np.full(n, -1)])
    return ContrastForest(model, train_rows)


def shuffled_columns(X: Array, random_state: RandomState = None) -> Array:
    """Shuffle each column on its own."""
    generator = as_generator(random_state)
    return np.column_stack([generator.permutation(column) for column in X.T])
