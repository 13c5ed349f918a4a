"""What the pictures of features share: the estimator, the feature, the rows, and means over many rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.pipelines import before_last, last_step
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_number, row_numbers
from manifolia.exceptions import ParameterError
from manifolia.registry import card_of
from manifolia.show._style import check_shape

_BLOCK_ROWS = 256
_MOST_CELLS = 400  # along the longer side of a map, where rows are spread


class FeatureMeans(NamedTuple):
    """Features of one row, or their means over several."""

    arrows: FloatArray  # (p, n_components): arrows in the map; those with too little reliability count as zero
    importance: FloatArray  # (p,): importance (Eq. 4)
    reliability: FloatArray  # (p,): reliability of the arrows
    values: FloatArray  # (p,): the features themselves


def explained_model(estimator: Any, purpose: str) -> Any:
    """Extract the fitted FeatureMAP from what was passed."""
    last = last_step(estimator)
    if not card_of(last).arrows:
        raise TypeError(
            f"{purpose} needs arrows or importances of features, which {type(last).__name__} does not have. Pass a "
            f"fitted FeatureMAP; TopArrowsDisplay.from_data and FeatureTableDisplay.from_data take any map."
        )
    check_is_fitted(last, "embedding_")
    return last


def name_features(source: Any, names: Sequence[Any] | None, n_features: int) -> list[str]:
    """Name all features: as given, or as the estimator or the data frame knows them."""
    if names is None:
        before = before_last(source)
        fitted = getattr(source, "feature_names_in_", getattr(source, "columns", None))
        names = fitted if before is None else before.get_feature_names_out()
    found = [f"feature {i}" for i in range(n_features)] if names is None else [str(name) for name in names]
    if len(found) != n_features:
        raise ValueError(
            f"feature_names has {len(found)} entries and there are {n_features} features. Pass one for each."
        )
    return found


def feature_number(feature: Any, names: Sequence[str]) -> int:
    """Find a feature."""
    if isinstance(feature, str):
        if feature not in names:
            shown = ", ".join(names[:3])
            raise ValueError(
                f"there is no feature {feature!r} among the {len(names)} ({shown}, …). Pass its number or name."
            )
        return list(names).index(feature)
    return check_number(feature, "feature", low=0, high=len(names) - 1, integer=True)


def group_rows(groups: ArrayLike, n_rows: int, max_rows: int) -> list[tuple[str, IntArray]]:
    """Gather the rows of each class, at most `max_rows` of each."""
    from manifolia.show.palette import class_palette

    check_shape(groups, (n_rows,), "groups", "one label per row")
    palette = class_palette(groups)
    members = [np.flatnonzero(palette.codes == code) for code in range(len(palette.names))]
    return [(name, sample_rows(rows, max_rows)) for name, rows in zip(palette.names, members, strict=True)]


def sample_rows(rows: IntArray, max_rows: int) -> IntArray:
    """Take a sample of rows, the same each time, if there are too many."""
    check_number(max_rows, "max_rows", low=1, integer=True)
    if rows.size <= max_rows:
        return rows
    return np.sort(np.random.default_rng(0).permutation(rows)[:max_rows])


def feature_means(model: Any, rows: Any, *, smooth: bool, min_reliability: float, kind: str) -> FeatureMeans:
    """Average what a model says about all features over rows, block by block."""
    check_number(min_reliability, "min_reliability", low=0.0, high=1.0)
    points = row_numbers(rows, model.embedding_.shape[0])
    if not points.size:
        raise ParameterError("rows must name at least one row, got none.", parameter="rows")
    p, c = model.n_features_in_, model.embedding_.shape[1]
    arrows, importance, reliability, values = np.zeros((p, c)), np.zeros(p), np.zeros(p), np.zeros(p)
    for start in range(0, points.size, _BLOCK_ROWS):
        part = points[start : start + _BLOCK_ROWS]
        trust = model.arrow_reliability(rows=part)
        arrows += (model.feature_gradients(rows=part, smooth=smooth) * (trust >= min_reliability)[:, :, None]).sum(
            axis=0
        )
        importance += model.feature_importance(rows=part, kind=kind).sum(axis=0)
        reliability += trust.sum(axis=0)
        values += model.feature_values(rows=part).sum(axis=0)
    return FeatureMeans(*(total / points.size for total in (arrows, importance, reliability, values)))


def spread_rows(Y: FloatArray, n_shown: int) -> IntArray:
    """Choose rows that cover a map evenly: in each occupied cell of a grid, the row nearest to the mean of its rows."""
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
    """Measure how far apart marks are: the median distance to the nearest other one."""
    from scipy.spatial import cKDTree

    if len(places) < 2:
        return 1.0
    return float(np.median(cKDTree(places).query(places, 2)[0][:, 1])) or 1.0
