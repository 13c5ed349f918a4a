"""Rows to tune on: at random, by class, or by leverage.

Leverage (Ma, Mahoney and Yu, 2014): row i is drawn with probability proportional to ‖U_i‖², U the leading left singular
vectors of the centred data, so that rows that shape the data's directions are kept. The paper draws with replacement;
equal rows would form clumps in a map, so rows are drawn without.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from manifolia._core.groups import rows_of_first
from manifolia._core.random import as_generator, as_seed, draw_by_class
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_labels, check_number, check_option
from manifolia.exceptions import ParameterError

SAMPLINGS = ("uniform", "leverage", "stratified")
_MAX_RANK = 50  # directions from which leverages are computed
_LEAST_ROWS = 10  # a map of fewer rows says nothing about settings


def sample_size(size: float | None, n_rows: int) -> int:
    """Turn a fraction or a count into a number of rows."""
    if size is None:
        return n_rows
    check_number(size, "subsample", low=0.0, open_low=True, hint="A float up to 1 is a fraction, an int a count.")
    count = round(size * n_rows) if isinstance(size, float) and size <= 1.0 else int(size)
    if count > n_rows:
        raise ValueError(
            f"subsample={size!r} is more than the {n_rows} rows there are. Pass a fraction, or None for all."
        )
    if count < min(_LEAST_ROWS, n_rows):
        raise ValueError(f"subsample={size!r} leaves {count} of {n_rows} rows; take at least {_LEAST_ROWS}.")
    return count


def leverage_scores(X: ArrayLike, *, random_state: RandomState = None) -> FloatArray:
    """Compute the statistical leverage of rows."""
    n, d = X.shape
    A = X if sp.issparse(X) else _centred(X)
    U, S, _ = randomized_svd(A, min(n, d, _MAX_RANK), random_state=as_seed(random_state))
    if S[0] == 0:  # all rows are equal
        return np.full(n, 1.0 / n)
    least = S[0] * max(n, d) * np.finfo(np.float64).eps
    return np.asarray((U[:, least < S] ** 2).sum(axis=1))


def _centred(X: ArrayLike) -> FloatArray:
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sampling='leverage' needs numbers: {error}. Pass them as metric_X, or take sampling='uniform'."
        ) from error
    if not np.isfinite(values).all():
        raise ValueError(
            "sampling='leverage' needs data without gaps. Pass such as metric_X, or take sampling='uniform'."
        )
    return values - np.mean(values, axis=0, dtype=np.float64)


def sample_rows(
    X: ArrayLike,
    size: int,
    *,
    sampling: str = "uniform",
    y: ArrayLike | None = None,
    groups: IntArray | None = None,
    random_state: RandomState = None,
) -> IntArray:
    """Draw rows without replacement; with groups, whole ones, as many as fit."""
    check_option(sampling, "sampling", SAMPLINGS)
    n = X.shape[0]
    check_number(size, "size", low=1, high=n, integer=True)
    rng = as_generator(random_state)
    if size == n:
        return np.arange(n)
    if sampling == "stratified":
        if y is None:
            raise ParameterError(
                "sampling='stratified' needs y. Pass the classes, or take sampling='uniform'.", parameter="sampling"
            )
        labels = check_labels(y, n_rows=n)
        codes = np.unique(labels.astype(str), return_inverse=True)[1].ravel()
        if groups is None:
            return draw_by_class(codes, size, rng)
        return rows_of_first(groups, _by_class_in_turn(codes, groups, rng), size)
    chances = None
    if sampling == "leverage":
        scores = leverage_scores(X, random_state=rng)
        chances = (scores + 1e-12) / (scores + 1e-12).sum()  # rows at the mean have leverage 0 and must stay drawable
    if groups is not None:
        chances = None if chances is None else np.bincount(groups, chances)
        n_groups = int(groups.max()) + 1
        return rows_of_first(groups, rng.choice(n_groups, n_groups, replace=False, p=chances), size)
    return np.sort(rng.choice(n, size, replace=False, p=chances))


def _by_class_in_turn(codes: IntArray, groups: IntArray, rng: np.random.Generator) -> IntArray:
    """Order groups so that any number of the first ones have the classes of their first rows in proportion."""
    order = rng.permutation(int(groups.max()) + 1)
    own = codes[np.unique(groups, return_index=True)[1]][order]
    counts = np.bincount(own)
    place = np.empty(len(order))
    for code in np.unique(own):
        place[own == code] = (np.arange(counts[code]) + 0.5) / counts[code]
    return order[np.argsort(place, kind="stable")]


def take_rows(values: Any, rows: Any) -> Any:
    """Take rows of an array, a list or a DataFrame."""
    if rows is None or values is None:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else np.asarray(values)[rows]
