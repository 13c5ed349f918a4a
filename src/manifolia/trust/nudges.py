"""How far does a small change of a row move it? For maps whose places come from a formula.

For row x with its ten nearest rows in the data, v_1, v_2 and v_3 are the first principal directions of these eleven
rows, h is half the distance to the fifth of them, and r the third smallest of the ten distances from its place in the
map to theirs. With the formula f,

    sensitivity = max over a of max(|f(x + h v_a) − f(x)|, |f(x − h v_a) − f(x)|) / r.

A linear map has about 1 at most, whatever it projects away. Where the map tears, the row's neighbours are on both sides
of the tear: r belongs to those on its own side, and a step that crosses it covers many r.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from manifolia import registry
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_map, check_matrix
from manifolia.exceptions import ParameterError
from manifolia.metrics._nearest import nearest

_NEAR, _STEP, _RADIUS = 10, 5, 3  # neighbours: those that are looked at, that of the step, that of the radius
_DIRECTIONS = 3


def sensitivity(model: Any, X: ArrayLike) -> FloatArray:
    """Measure the farthest that each row moves in a map under a small change of the row.

    Parameters
    ----------
    model : estimator or callable
        Places rows: an estimator with ``transform``, or a function from rows to coordinates.
    X : array-like of shape (n, d)
        Rows of the map, without gaps, on the scale by which they are compared.

    Returns
    -------
    ndarray of shape (n,)
        How far the row moves for a step of half the distance to its fifth nearest row, along one of the first three
        local principal directions, in units of the distances from its place to its nearest rows': about 1 in a
        linear map, many where the map tears. NaN for rows that have copies, from which no step leads.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.trust import sensitivity
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> torn = sensitivity(lambda rows: rows + 5.0 * (rows[:, :1] > 0.5), X)
    >>> bool(torn[abs(X[:, 0] - 0.5) < 0.01].min() > 5.0 > torn[abs(X[:, 0] - 0.5) > 0.2].max())
    True
    """
    rows: FloatArray = check_matrix(X)
    if callable(model):
        return sensitivities(model, rows)
    if not registry.card_of(model).places:
        raise ParameterError(
            f"model is a {type(model).__name__}, which places no rows. Pass an estimator with transform, or a "
            f"function.",
            parameter="model",
        )
    return sensitivities(model.transform, rows)


def is_explicit(model: Any) -> bool:
    """Whether the places of a map come from a smooth formula."""
    return registry.card_of(model).explains == "jacobian"


def sensitivities(place: Callable[[FloatArray], ArrayLike], rows: FloatArray) -> FloatArray:
    """The same, of checked rows and a function that places them."""
    X = np.asarray(rows, dtype=np.float64)
    n, found = len(X), np.full(len(X), np.nan)
    if n <= _NEAR:
        return found
    near = nearest(X, _NEAR)
    around = X[np.column_stack([np.arange(n), near.indices])]
    around = around - around.mean(axis=1, keepdims=True)
    # The right singular vectors of the eleven rows, from their products with each other.
    few = min(_DIRECTIONS, X.shape[1])
    strengths, left = np.linalg.eigh(around @ around.transpose(0, 2, 1))
    lengths = np.sqrt(np.maximum(strengths[:, -few:], 0.0))
    directions = left[:, :, -few:].transpose(0, 2, 1) @ around  # (n, few, d), as long as they are strong
    moves = lengths > 1e-9 * np.maximum(lengths[:, -1:], np.finfo(float).tiny)
    directions = directions / np.where(moves, lengths, np.inf)[:, :, np.newaxis]
    steps = 0.5 * near.distances[:, _STEP - 1, np.newaxis, np.newaxis] * directions
    tried = np.concatenate([X[:, np.newaxis], X[:, np.newaxis] + steps, X[:, np.newaxis] - steps], axis=1)
    Y = np.asarray(check_map(place(tried.reshape(-1, X.shape[1])), n_rows=tried.shape[0] * tried.shape[1]))
    Y = Y.reshape(n, 1 + 2 * few, -1)
    moved = np.linalg.norm(Y[:, 1:] - Y[:, :1], axis=2).max(axis=1)
    here = Y[:, 0]
    radius = np.partition(np.linalg.norm(here[near.indices] - here[:, np.newaxis], axis=2), _RADIUS - 1)[:, _RADIUS - 1]
    positive = radius[radius > 0.0]
    least = float(positive.min()) if len(positive) else 1.0
    known = near.distances[:, _STEP - 1] > 0.0
    found[known] = moved[known] / np.maximum(radius, least)[known]
    return found
