"""Laying one map over another: the rigid motion, with or without a change of size, that fits best.

Over all y ↦ s (y − a) Q + b, with Q orthogonal (a map and its mirror image say the same), minimise Σ w_i ‖s (y_i − a) Q
+ b − t_i‖²: a and b are the weighted means, and Q = U Vᵀ of the singular value decomposition of Σ w_i (y_i − a)ᵀ (t_i −
b) (Schönemann 1966). s is the ratio of the spreads of the two maps, not the least squares value, which shrinks a map
towards a point where the two do not agree.

Least squares is distorted by a group that lies elsewhere in one map. So the motion is found from a few rows at a time,
many times, and the one under which the median row is nearest to its target is the start (least median of squares,
Rousseeuw 1984); from there rows far from their targets count less and less (Tukey's biweight), until nothing changes.

References
----------
Schönemann, P. H. (1966). A generalized solution of the orthogonal Procrustes problem. Psychometrika 31, 1-10.
Rousseeuw, P. J. (1984). Least median of squares regression. JASA 79, 871-880.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_map
from manifolia.exceptions import ParameterError

_TRIED = 200  # motions from few rows each
_FEW = 4  # rows, beyond the dimensions, for each of them: with fewer, the rounding of small maps decides
_JUDGES = 500  # rows by which motions are compared
_BIWEIGHT = 4.685  # scales beyond which a row does not count: 95 % efficiency if no group has moved
_PER_SCALE = 0.6745  # median of the absolute value of a standard normal number
_ROUNDS = 50
_ENOUGH = 1e-10  # change of a weight at which the rounds end
_EXACT = 1e-12  # share of a map's size: residuals below it are rounding


class Motion(NamedTuple):
    """y ↦ size (y − origin) turn + target."""

    size: float
    turn: FloatArray  # (c, c), orthogonal
    origin: FloatArray  # (c,)
    target: FloatArray  # (c,)

    def __call__(self, Y: FloatArray) -> FloatArray:
        """Move places."""
        return self.size * (Y - self.origin) @ self.turn + self.target


def align(
    Y: ArrayLike, to: ArrayLike, weights: ArrayLike | None = None, *, scale: bool = True, robust: bool = True
) -> FloatArray:
    """Lay a map over another one of the same rows: rotated, mirrored, shifted and, if it helps, resized.

    Only the map's position, orientation and size change: distances keep their ratios.

    Parameters
    ----------
    Y : array-like of shape (n, n_components)
        The map to move.
    to : array-like of shape (n, n_components)
        Where its rows lie in the other map; NaN for rows that are not in it, which are moved along.
    weights : array-like of shape (n,), default=None
        How much each row counts; None: all alike.
    scale : bool, default=True
        Whether the map may also be made larger or smaller.
    robust : bool, default=True
        Whether to ignore rows that have moved between the maps, up to almost half of them: a group that has moved then
        leaves the rest in place. False: least squares over all rows.

    Returns
    -------
    ndarray of shape (n, n_components)
        The map, moved.

    Raises
    ------
    ValueError
        If no row is in both maps, or they have different dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> import manifolia as mf
    >>> old = np.random.default_rng(0).normal(size=(50, 2))
    >>> mirrored = 3.0 * old[:, ::-1] + [5.0, 1.0]
    >>> bool(np.allclose(mf.align(mirrored, to=old), old))
    True
    """
    places = check_map(Y, name="Y").astype(np.float64)
    targets = check_targets(to, len(places), places.shape[1], "to")
    shared = np.isfinite(targets).all(axis=1)
    w = np.ones(len(places))
    if weights is not None:
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != (len(places),) or not np.isfinite(w).all() or (w < 0).any():
            raise ParameterError(
                f"weights must be {len(places)} numbers that are not negative, one per row of Y.", parameter="weights"
            )
    shared &= w > 0
    if not shared.any():
        raise ParameterError(
            "to shares no row with Y: each of its rows is NaN, or has no weight. Pass the places of rows that both "
            "maps have.",
            parameter="to",
        )
    check_bool(robust, "robust")
    motion = motion_between(places[shared], targets[shared], w[shared], scale=check_bool(scale, "scale"), robust=robust)
    return motion(places)


def check_targets(to: ArrayLike, n: int, c: int, name: str) -> FloatArray:
    """Check places of some rows; rows without one are NaN in all columns."""
    try:
        targets = np.array(to, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"{name} must be an array of places, one row per row, with NaN for rows without one.", parameter=name
        ) from error
    if targets.ndim != 2 or len(targets) != n:
        raise ParameterError(
            f"{name} must have one place per row, {n} of them, got shape {targets.shape}.", parameter=name
        )
    if targets.shape[1] != c:
        raise ParameterError(
            f"{name} has {targets.shape[1]} dimensions and the map has {c}. Both need the same number.", parameter=name
        )
    if np.isinf(targets).any():
        raise ParameterError(f"{name} has infinite values. Use NaN for rows without a place.", parameter=name)
    targets[np.isnan(targets).any(axis=1)] = np.nan
    return targets


def motion_between(Y: FloatArray, T: FloatArray, w: FloatArray, *, scale: bool = True, robust: bool = True) -> Motion:
    """Find the motion that lays places over targets."""
    n, c = Y.shape
    motion = _least_squares(Y, T, w, scale=scale)
    if not robust or n <= c + _FEW:
        return motion
    generator = as_generator(0)  # fixed, so that the same maps are always laid over one another in the same way
    judges = np.arange(n) if n <= _JUDGES else generator.choice(n, _JUDGES, replace=False)
    best = _typical(motion, Y[judges], T[judges], w[judges])
    share = w / w.sum()
    for _ in range(_TRIED):
        few = generator.choice(n, min(c + _FEW, int((w > 0).sum())), replace=False, p=share)
        tried = _least_squares(Y[few], T[few], w[few], scale=scale)
        typical = _typical(tried, Y[judges], T[judges], w[judges])
        if typical < best:
            motion, best = tried, typical
    size = float(np.sqrt(((T - T.mean(axis=0)) ** 2).sum(axis=1).mean()))
    counted = np.zeros(n)
    for _ in range(_ROUNDS):
        residual = np.linalg.norm(motion(Y) - T, axis=1)
        unit = max(_weighted_median(residual, w) / _PER_SCALE, _EXACT * size, np.finfo(np.float64).tiny)
        before, counted = counted, np.clip(1.0 - (residual / (_BIWEIGHT * unit)) ** 2, 0.0, None) ** 2
        motion = _least_squares(Y, T, w * counted, scale=scale)
        if np.abs(counted - before).max() < _ENOUGH:
            break
    return motion


def _least_squares(Y: FloatArray, T: FloatArray, w: FloatArray, *, scale: bool) -> Motion:
    share = w / w.sum()
    origin, target = share @ Y, share @ T
    A, B = Y - origin, T - target
    left, _, right = np.linalg.svd((share[:, None] * A).T @ B)
    size = 1.0
    if scale:
        own, other = float(share @ (A**2).sum(axis=1)), float(share @ (B**2).sum(axis=1))
        size = np.sqrt(other / own) if own > 0.0 and other > 0.0 else 1.0
    return Motion(float(size), left @ right, origin, target)


def _typical(motion: Motion, Y: FloatArray, T: FloatArray, w: FloatArray) -> float:
    return _weighted_median(np.linalg.norm(motion(Y) - T, axis=1), w)


def _weighted_median(values: FloatArray, w: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(w[order])
    return float(values[order[np.searchsorted(upto, upto[-1] / 2.0)]])
