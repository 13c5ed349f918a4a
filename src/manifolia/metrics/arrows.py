"""Do a feature's arrows point where the feature grows in the map?

At a point i with neighbours j in the map (its k nearest and itself), the values of feature f are fitted by a plane:

    minimise Σ_j (x_jf − a − g·(y_j − y_i))²,

and the arrow that was drawn for f at i is compared with g by the cosine of their angle. 1: the arrow points where the
feature grows; 0: it says nothing; −1: it points the wrong way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_bool, check_map, check_matrix, check_number
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.metrics._nearest import nearest
from manifolia.metrics._statistics import mean_interval
from manifolia.metrics.registry import card

#: Directions of a neighbourhood thinner than this share of its extent are rounding errors of a line.
_THIN = 1e-9
_BLOCK_NUMBERS = 4_000_000


@card(
    "Arrows point right",
    "Do the arrows of the most important columns point where those columns grow in the map? Mean cosine.",
    needs=("X", "Y", "gradients"),
    range=(-1.0, 1.0),
)
def arrow_fidelity(
    X: ArrayLike,
    Y: ArrayLike,
    gradients: FloatArray,
    rows: ArrayLike | None = None,
    *,
    n_neighbors: int = 15,
    n_features: int = 10,
    importance: FloatArray | None = None,
    pointwise: bool = False,
    return_ci: bool = False,
    n_jobs: int | None = None,
) -> Any:
    """Mean cosine between the arrows of the most important features and the directions in which those grow in the map.

    An arrow of length 0 counts 0, and so does one for a feature that does not vary in the neighbourhood: it claims
    growth that is not there.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data: the values of the features.
    Y : array-like of shape (n, n_components)
        Map.
    gradients : ndarray of shape (n_rows, d, n_components)
        Arrows, such as ``FeatureMAP.feature_gradients()``.
    rows : array-like of int of shape (n_rows,), default=None
        The points that the arrows belong to; None: all, in order.
    n_neighbors : int, default=15
        Neighbours in the map, not counting the point itself; more than n_components.
    n_features : int, default=10
        How many features of each point are judged: the most important ones, or all if there are fewer.
    importance : ndarray of shape (n_rows, d), default=None
        Importance of each feature at each point, such as ``FeatureMAP.feature_importance()``; None takes the lengths
        of the arrows.
    pointwise : bool, default=False
        Return one value per point, the mean over its features.
    return_ci : bool, default=False
        Also return the 95 % interval over the points, for `rows` that are a random sample (no width for all points).
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Returns
    -------
    float, ndarray or tuple
        In [−1, 1], higher is better, about 0 for random arrows; with `pointwise` an array of shape (n_rows,), with
        `return_ci` a tuple ``(value, (low, high))``.
    """
    if check_bool(pointwise, "pointwise") and check_bool(return_ci, "return_ci"):
        raise ParameterError(
            "pointwise=True gives every point's value, so there is nothing to estimate. Leave return_ci= out.",
            parameter="pointwise",
        )
    data = check_matrix(X, min_rows=3)
    n, d = data.shape
    coordinates = check_map(Y, n_rows=n).astype(np.float64)
    c = coordinates.shape[1]
    points = _check_rows(rows, n)
    arrows = np.asarray(gradients, dtype=np.float64)
    if arrows.shape != (points.shape[0], d, c) or not np.isfinite(arrows).all():
        raise ParameterError(
            f"gradients must be finite and of shape ({points.shape[0]}, {d}, {c}), one arrow per point, feature and "
            f"component, got shape {arrows.shape}.",
            parameter="gradients",
        )
    lengths = np.linalg.norm(arrows, axis=2)
    weights = lengths if importance is None else np.asarray(importance, dtype=np.float64)
    if weights.shape != (points.shape[0], d) or not np.isfinite(weights).all():
        raise ParameterError(
            f"importance must be finite and of shape ({points.shape[0]}, {d}), got shape {weights.shape}.",
            parameter="importance",
        )
    hint = f"A plane over {c} components needs more than {c}, and the map has {n} points."
    check_number(n_neighbors, "n_neighbors", low=c + 1, high=n - 1, integer=True, hint=hint)
    top = min(check_number(n_features, "n_features", low=1, integer=True), d)
    neighbors = nearest(coordinates, n_neighbors, rows=points, n_jobs=n_jobs).indices
    neighbors = np.concatenate([points[:, None], neighbors], axis=1)

    def run(part: slice) -> FloatArray:
        chosen = np.argsort(-weights[part], axis=1, kind="stable")[:, :top]
        drawn = np.take_along_axis(arrows[part], chosen[:, :, None], axis=1)
        fitted = _growth(data, coordinates, neighbors[part], chosen)
        product = np.linalg.norm(drawn, axis=-1) * np.linalg.norm(fitted, axis=-1)  # 0 where one has no length
        cosines = np.divide((drawn * fitted).sum(axis=-1), product, out=np.zeros_like(product), where=product > 0)
        return cosines.mean(axis=1)

    height = max(1, min(1024, _BLOCK_NUMBERS // ((n_neighbors + 1) * max(top, c))))
    values = np.concatenate(map_blocks(run, row_blocks(points.shape[0], height), n_jobs=n_jobs))
    if pointwise:
        return values
    mean = float(values.mean())
    return (mean, mean_interval(values, population=n)) if return_ci else mean


def _check_rows(rows: ArrayLike | None, n: int) -> IntArray:
    if rows is None:
        return np.arange(n)
    points = np.asarray(rows)
    if points.ndim != 1 or points.dtype.kind not in "iu" or points.shape[0] == 0:
        raise ParameterTypeError(
            f"rows must be a list of row numbers, got {points.dtype} values of shape {points.shape}.", parameter="rows"
        )
    if points.min() < 0 or points.max() >= n:
        raise ParameterError(
            f"rows must lie between 0 and {n - 1}, got {points.min()} to {points.max()}.", parameter="rows"
        )
    return points.astype(np.intp)


def _growth(X: FloatArray, Y: FloatArray, neighbors: IntArray, features: IntArray) -> FloatArray:
    """Slopes of the least-squares planes, (rows, top, n_components); the shortest where the plane is not unique."""
    steps = Y[neighbors]
    steps = steps - steps.mean(axis=1, keepdims=True)  # centring takes the place of the intercept a
    values = X[neighbors[:, :, None], features[:, None, :]].astype(np.float64)
    varies = np.ptp(values, axis=1) > 0
    values = values - values.mean(axis=1, keepdims=True)
    slopes = np.linalg.pinv(steps, rcond=_THIN) @ values
    return np.where(varies[:, :, None], slopes.transpose(0, 2, 1), 0.0)
