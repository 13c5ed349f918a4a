"""Bags: which rows were drawn for which tree. Nothing else in the package draws or reads bootstrap samples.

Only a public attribute of scikit-learn's forests is used: ``estimators_samples_``, which draws every bag anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia.exceptions import ParameterError


def draws(forest: Any) -> list[IntArray]:
    """Return the rows that each tree of a fitted forest was trained on, repeated as often as they were drawn."""
    return list(forest.estimators_samples_)


def has_bags(forest: Any) -> bool:
    """Tell whether an estimator, fitted or not, is a forest whose bags and leaves can be read."""
    # Of the class: the property draws every bag anew. Bagging has bags too, but no leaves of its own.
    return hasattr(type(forest), "estimators_samples_") and hasattr(type(forest), "apply")


def n_rows_drawn(forest: Any) -> int:
    """At least how many rows a fitted forest was trained on."""
    return 1 + _last_row(draws(forest))


def _last_row(drawn: list[IntArray]) -> int:
    return max((int(rows.max(initial=-1)) for rows in drawn), default=-1)


def in_bag_counts(forest: Any, n_rows: int, train_rows: ArrayLike | None = None) -> IntArray:
    """Count how often each of `n_rows` rows was drawn for each tree: an array of shape (trees, rows)."""
    drawn = draws(forest)
    where = None if train_rows is None else np.asarray(train_rows, dtype=np.int64)
    n_trained = n_rows if where is None else where.shape[0]
    if _last_row(drawn) >= n_trained:
        raise ValueError(
            f"the forest was trained on more rows than the {n_trained} given. "
            f"Pass the X that it was fitted on, or relate the rows by train_rows."
        )
    if where is not None and (where.max(initial=-1) >= n_rows or where.min(initial=-1) < -1):
        raise ParameterError(
            f"train_rows must hold rows of X (0 to {n_rows - 1}) or -1, got {where.min()} to {where.max()}.",
            parameter="train_rows",
        )

    def count(rows: IntArray) -> IntArray:
        times = np.bincount(rows, minlength=n_trained)
        if where is None:
            return times
        kept = where >= 0
        return np.bincount(where[kept], weights=times[kept], minlength=n_rows).astype(np.int64)

    counted = map_blocks(count, drawn)
    largest = max((int(times.max(initial=0)) for times in counted), default=0)
    dtype = np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32
    return np.stack([times.astype(dtype) for times in counted])


def training_weights(forest: Any, sample_weight: ArrayLike | None) -> FloatArray | None:
    """Tell which weights multiply the in-bag counts.

    scikit-learn 1.9 draws the bootstrap samples by weight, so that the counts hold the weights already; earlier
    releases multiply the counts. The trees themselves tell: their root's weight is the number of draws, or is not.
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if not getattr(forest, "bootstrap", False):  # nothing is drawn: the weights go to the trees as they are
        return weights
    n_draws = len(draws(forest)[0])
    by_weight = np.isclose(forest.estimators_[0].tree_.weighted_n_node_samples[0], n_draws, rtol=1e-9)
    return None if by_weight else weights
