"""What the pictures of features share: which estimator, which feature, which rows, and means over many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_number
from manifolia.operators.tangent import row_numbers
from manifolia.show._style import axis_names, choose_components

__all__ = [
    "FeatureMeans",
    "Plane",
    "choose_plane",
    "explained_model",
    "feature_means",
    "feature_number",
    "group_rows",
    "name_features",
    "nearest_gap",
    "spread_rows",
]

_BLOCK_ROWS = 256
_MOST_CELLS = 400  # along the longer side of a map, where rows are spread


class FeatureMeans(NamedTuple):
    """Features of one row, or their means over several.

    Attributes
    ----------
    arrows : ndarray of shape (p, n_components)
        Arrows in the map; those with too little reliability count as zero.
    importance : ndarray of shape (p,)
        Importance (Eq. 4).
    reliability : ndarray of shape (p,)
        Reliability of the arrows.
    values : ndarray of shape (p,)
        The features themselves.
    n_rows : int
        How many rows stand behind them.
    """

    arrows: FloatArray
    importance: FloatArray
    reliability: FloatArray
    values: FloatArray
    n_rows: int


class Plane(NamedTuple):
    """Two components of a map.

    Attributes
    ----------
    components : list of int
        Which.
    axis_names : list of str or None
        What the axes are called, if the map has more.
    """

    components: list[int]
    axis_names: list[str] | None


def explained_model(estimator: Any, purpose: str) -> Any:
    """Take the fitted FeatureMAP out of what was given.

    Parameters
    ----------
    estimator : estimator or Pipeline
        The estimator; of a pipeline, its last step.
    purpose : str
        The picture, for the message.

    Returns
    -------
    FeatureMAP
        The fitted estimator.

    Raises
    ------
    TypeError
        If it does not explain features.
    """
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if not hasattr(last, "arrow_reliability"):
        message = (
            f"{purpose} needs arrows or importances of features, which {type(last).__name__} does not have. Pass a "
            f"fitted FeatureMAP; TopArrowsDisplay.from_map and FeatureTableDisplay.from_map take any map."
        )
        raise TypeError(message)
    check_is_fitted(last, "embedding_")
    return last


def name_features(estimator: Any, names: Sequence[Any] | None, n_features: int) -> list[str]:
    """Name all features.

    Parameters
    ----------
    estimator : estimator, Pipeline or None
        Whose names are taken if none are given: those it was fitted with, or those that a pipeline's steps make.
    names : sequence of str or None
        Names given.
    n_features : int
        How many there are.

    Returns
    -------
    list of str
        One name for each feature, ``"feature 0"``, … if there are none.

    Raises
    ------
    ValueError
        If there are more or fewer names than features.
    """
    if names is None and hasattr(estimator, "steps") and len(estimator.steps) > 1:
        names = estimator[:-1].get_feature_names_out()
    elif names is None:
        names = getattr(estimator, "feature_names_in_", None)
    found = [f"feature {i}" for i in range(n_features)] if names is None else [str(name) for name in names]
    if len(found) != n_features:
        message = f"feature_names has {len(found)} entries and there are {n_features} features. Pass one for each."
        raise ValueError(message)
    return found


def feature_number(feature: Any, names: Sequence[str]) -> int:
    """Find a feature.

    Parameters
    ----------
    feature : int or str
        Its number or its name.
    names : sequence of str
        Names of all features.

    Returns
    -------
    int
        Its number.

    Raises
    ------
    ValueError
        If there is none of that name or number.
    """
    if isinstance(feature, str):
        if feature not in names:
            shown = ", ".join(names[:3])
            message = f"there is no feature {feature!r} among the {len(names)} ({shown}, …). Pass its number or name."
            raise ValueError(message)
        return list(names).index(feature)
    return check_number(feature, "feature", low=0, high=len(names) - 1, integer=True)


def choose_plane(components: Sequence[int] | None, available: int, purpose: str) -> Plane:
    """Choose the two components in which arrows or frames are drawn.

    Parameters
    ----------
    components : sequence of int or None
        Which; None is the first two.
    available : int
        How many the map has.
    purpose : str
        The picture, for the message.

    Returns
    -------
    Plane
        Components and names of the axes.

    Raises
    ------
    ValueError
        If the map is a line, or other than two are asked for.
    """
    if available < 2:
        message = f"{purpose} draws in the plane, and the map has 1 component. Fit with n_components=2 or more."
        raise ValueError(message)
    chosen = choose_components((0, 1) if components is None else components, available)
    if len(chosen) != 2:
        message = f"{purpose} draws in the plane: components must name 2 of {available}, got {list(components or ())}."
        raise ValueError(message)
    return Plane(chosen, axis_names(chosen, available))


def group_rows(groups: ArrayLike, n_rows: int, max_rows: int) -> list[tuple[str, IntArray]]:
    """Gather the rows of each class, at most so many of each.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Labels; rows whose label is missing are in no group.
    n_rows : int
        Rows of the map.
    max_rows : int
        Of a larger group a sample is taken, the same each time.

    Returns
    -------
    list of tuple
        Name and rows of each group, in the order of the palette.

    Raises
    ------
    ValueError
        If lengths differ.
    """
    from manifolia.show.palette import class_palette

    if np.shape(groups) != (n_rows,):
        message = f"groups must have one label for each of {n_rows} rows, got shape {np.shape(groups)}."
        raise ValueError(message)
    palette = class_palette(groups)
    members = [np.flatnonzero(palette.codes == code) for code in range(len(palette.names))]
    return [(name, sample_rows(rows, max_rows)) for name, rows in zip(palette.names, members, strict=True)]


def sample_rows(rows: IntArray, max_rows: int) -> IntArray:
    """Take a sample of rows, the same each time, if there are too many.

    Parameters
    ----------
    rows : ndarray of int
        Rows.
    max_rows : int
        How many at most.

    Returns
    -------
    ndarray of int
        All rows, or so many of them, in order.
    """
    check_number(max_rows, "max_rows", low=1, integer=True)
    if rows.size <= max_rows:
        return rows
    return np.sort(np.random.default_rng(0).permutation(rows)[:max_rows])


def feature_means(model: Any, rows: Any, *, smooth: bool, min_reliability: float, kind: str) -> FeatureMeans:
    """Average what a model says about all features over rows, block by block.

    Parameters
    ----------
    model : FeatureMAP
        Fitted.
    rows : int, slice, array-like of int or bool, or None
        Which training rows; None: all.
    smooth : bool
        Whether each arrow is averaged with those of its row's neighbours first.
    min_reliability : float
        Arrows with less count as zero.
    kind : {"gradient", "variance"}
        Kind of importance.

    Returns
    -------
    FeatureMeans
        Means.
    """
    check_number(min_reliability, "min_reliability", low=0.0, high=1.0)
    points = row_numbers(rows, model.embedding_.shape[0])
    if not points.size:
        message = "rows must name at least one row, got none."
        raise ValueError(message)
    p, c = model.n_features_in_, model.embedding_.shape[1]
    arrows, importance, reliability, values = np.zeros((p, c)), np.zeros(p), np.zeros(p), np.zeros(p)
    for start in range(0, points.size, _BLOCK_ROWS):
        part = points[start : start + _BLOCK_ROWS]
        trust = model.arrow_reliability(part)
        arrows += (model.feature_gradients(part, smooth=smooth) * (trust >= min_reliability)[:, :, None]).sum(axis=0)
        importance += model.feature_importance(part, kind=kind).sum(axis=0)
        reliability += trust.sum(axis=0)
        values += model.feature_values(part).sum(axis=0)
    n = points.size
    return FeatureMeans(arrows / n, importance / n, reliability / n, values / n, n)


def spread_rows(Y: FloatArray, n_shown: int) -> IntArray:
    """Choose rows that cover a map evenly: of each occupied cell of a grid the row nearest to the middle of its rows.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    n_shown : int
        How many rows at most.

    Returns
    -------
    ndarray of int
        Rows, in order.
    """
    check_number(n_shown, "n_shown", low=1, integer=True)
    if len(Y) <= n_shown:
        return np.arange(len(Y))
    low, side = Y.min(axis=0), float(np.ptp(Y, axis=0).max()) or 1.0
    best = np.zeros(len(Y), dtype=np.intp)
    for n_cells in range(2, _MOST_CELLS):
        cells = np.floor((Y - low) / side * n_cells).astype(np.intp)
        found = np.unique(cells[:, 0] * (n_cells + 1) + cells[:, 1], return_inverse=True)[1]
        if found.max() + 1 > n_shown:
            break
        best = found
    counts = np.bincount(best)
    centres = np.stack([np.bincount(best, Y[:, a]) / counts for a in range(2)], axis=1)
    gaps = ((Y - centres[best]) ** 2).sum(axis=1)
    order = np.lexsort((gaps, best))
    first = np.append(0, np.cumsum(counts)[:-1])
    return np.sort(order[first])


def nearest_gap(places: FloatArray) -> float:
    """Measure how far marks are apart: the median distance to the nearest other one.

    Parameters
    ----------
    places : ndarray of shape (m, 2)
        Marks.

    Returns
    -------
    float
        Above 0; 1 for a single mark, or where all are in one place.
    """
    from scipy.spatial import cKDTree

    if len(places) < 2:
        return 1.0
    return float(np.median(cKDTree(places).query(places, 2)[0][:, 1])) or 1.0
