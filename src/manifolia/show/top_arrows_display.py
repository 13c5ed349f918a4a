"""Which features grow where, at a row, in a class or over a whole map: the largest arrows, with their names.

From a FeatureMAP the arrows are slopes of features about a row, or their means over a class. Any other map has one
arrow per feature, its correlation with the axes (`manifolia.explain.gradients.correlation_arrows`): a biplot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_map, check_number, check_option
from manifolia.explain.gradients import correlation_arrows
from manifolia.operators.tangent import row_numbers
from manifolia.show._arrows import draw_arrows, draw_map_beneath
from manifolia.show._features import (
    FeatureMeans,
    choose_plane,
    explained_model,
    feature_means,
    group_rows,
    name_features,
    sample_rows,
)
from manifolia.show._labels import anchors, push_apart
from manifolia.show._style import plain, shorten
from manifolia.show.palette import DARK, class_colors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ArrowGroup", "TopArrowsDisplay"]

_NAME = 18
_TIE_FROM = 10.0  # pixels: a name that went farther is tied to its arrow
_CENTRAL = (2.0, 98.0)  # percentiles of the map within which it has its centre


class ArrowGroup(NamedTuple):
    """The largest arrows that start at one place."""

    name: str  # Row, class or map
    origin: FloatArray  # (2,): where the arrows start
    features: IntArray  # (k,): features, the first by rank first
    names: list[str]  # Their names
    arrows: FloatArray  # (k, 2): slopes along the axes, or correlations with them
    importance: FloatArray | None  # (k,): importance of each feature (Eq. 4)
    reliability: FloatArray | None  # (k,): reliability of each arrow


class TopArrowsDisplay:
    """The largest arrows at rows, classes or over a map; make one with `from_estimator` or `from_map`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    groups : list of ArrowGroup
        Arrows.
    color : array-like of shape (n,) or None, default=None
        What colours the rows of the map: labels or values; None is grey.
    axis_names : list of str, default=None
        What the axes are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    map_ : MapDisplay
        After `plot`: the rows under the arrows.
    arrows_ : list of matplotlib Quiver
        After `plot`: the arrows of each group.
    origins_ : matplotlib collection
        After `plot`: the dots where they start.
    labels_ : list of matplotlib Text
        After `plot`: names of features for which there was room.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> iris = load_iris(as_frame=True).data
    >>> model = mf.FeatureMAP(n_epochs=50, random_state=0).fit(iris)
    >>> display = mf.show.TopArrowsDisplay.from_estimator(model, 3, top=2)
    >>> display.groups[0].name, len(display.groups[0].names)
    ('row 3', 2)
    """

    def __init__(
        self,
        Y: FloatArray,
        groups: list[ArrowGroup],
        *,
        color: ArrayLike | None = None,
        axis_names: list[str] | None = None,
    ) -> None:
        self.Y = Y
        self.groups = groups
        self.color = color
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        rows: Any = None,
        *,
        groups: ArrayLike | None = None,
        top: int = 10,
        by: str = "arrow",
        smooth: bool = False,
        min_reliability: float = 0.2,
        color: ArrayLike | None = None,
        max_rows: int = 500,
        feature_names: Sequence[Any] | None = None,
        components: Sequence[int] | None = None,
    ) -> TopArrowsDisplay:
        """Take arrows of a fitted FeatureMAP at a row, over a selection of rows, or over each class.

        Parameters
        ----------
        estimator : FeatureMAP or Pipeline
            Fitted; of a pipeline, its last step.
        rows : int, slice, array-like of int or bool, default=None
            One row, or several, whose arrows are averaged.
        groups : array-like of shape (n,), default=None
            Labels of all rows, in the place of `rows`: averages over each class.
        top : int, default=10
            How many features for each row, selection or class.
        by : {"arrow", "importance"}, default="arrow"
            Whether the longest arrows are taken, or those of the features with the largest importance (Eq. 4).
        smooth : bool, default=False
            Whether each arrow is averaged with those of its row's neighbours first.
        min_reliability : float, default=0.2
            Arrows with less are left out, and count as zero in averages.
        color : array-like of shape (n,), default=None
            What colours the rows of the map; None takes `groups`, or grey.
        max_rows : int, default=500
            Of more rows a sample is averaged.
        feature_names : sequence of str, default=None
            Names of all features; None takes those that the estimator was fitted with.
        components : sequence of int, default=None
            Which two components of the map to draw; None is the first two.

        Returns
        -------
        TopArrowsDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If neither rows nor groups are given, or both, or no arrow is reliable enough.
        """
        check_option(by, "by", ("arrow", "importance"))
        check_number(top, "top", low=1, integer=True)
        model = explained_model(estimator, "TopArrowsDisplay")
        if (rows is None) == (groups is None):
            message = "pass rows (one row, or a selection to average) or groups (labels of all rows), one of the two."
            raise ValueError(message)
        n, available = model.embedding_.shape
        plane = choose_plane(components, available, "TopArrowsDisplay")
        Y = model.embedding_[:, plane.components].astype(np.float64)
        names = name_features(estimator, feature_names, model.n_features_in_)
        if groups is None:
            points = sample_rows(row_numbers(rows, n), max_rows)
            word = f"row {points[0]}" if points.size == 1 else f"{points.size} rows"
            members = [(word, points)]
        else:
            members = group_rows(groups, n, max_rows)
            color = groups if color is None else color
        found = []
        for word, points in members:
            means = feature_means(model, points, smooth=smooth, min_reliability=min_reliability, kind="gradient")
            origin = anchors(Y[points], np.zeros(points.size, dtype=np.intp), 1)[0]
            found.append(_largest(word, origin, means, plane.components, names, top, by))
        found = [group for group in found if len(group.names)]
        if not found:
            message = (
                f"no arrow there has a reliability of min_reliability={min_reliability} or more. Lower it, or look at "
                f"another row."
            )
            raise ValueError(message)
        return cls(Y, found, color=color, axis_names=plane.axis_names)

    @classmethod
    def from_map(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        arrows: ArrayLike | None = None,
        top: int = 10,
        color: ArrayLike | None = None,
        feature_names: Sequence[Any] | None = None,
        components: Sequence[int] | None = None,
    ) -> TopArrowsDisplay:
        """Take any map with its data: one arrow per feature, its correlation with the axes, from the middle of the map.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data.
        Y : array-like of shape (n, n_components)
            Map.
        arrows : array-like of shape (d, n_components), default=None
            Other arrows, such as the loadings of principal components.
        top : int, default=10
            How many features: those with the longest arrows.
        color : array-like of shape (n,), default=None
            What colours the rows of the map; None is grey.
        feature_names : sequence of str, default=None
            Names of all features; None takes the columns of a DataFrame.
        components : sequence of int, default=None
            Which two components of the map to draw; None is the first two.

        Returns
        -------
        TopArrowsDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If shapes do not fit, or no feature goes with an axis.
        """
        check_number(top, "top", low=1, integer=True)
        places = check_map(Y)
        plane = choose_plane(components, places.shape[1], "TopArrowsDisplay")
        found = correlation_arrows(X, places) if arrows is None else np.asarray(arrows, dtype=np.float64)
        d = np.shape(X)[1]
        if found.shape != (d, places.shape[1]):
            message = f"arrows must be of shape ({d}, {places.shape[1]}), one a feature, got shape {found.shape}."
            raise ValueError(message)
        given = getattr(X, "columns", None) if feature_names is None else feature_names
        names = name_features(None, given, d)
        flat = places[:, plane.components].astype(np.float64)
        low, high = np.percentile(flat, _CENTRAL, axis=0)
        nothing = np.zeros(d)
        means = FeatureMeans(found, nothing, nothing, nothing, len(flat))
        group = _largest("map", (low + high) / 2, means, plane.components, names, top, "arrow")
        if not len(group.names):
            message = "no feature goes with an axis of the map: all arrows are zero."
            raise ValueError(message)
        group = group._replace(importance=None, reliability=None)
        return cls(flat, [group], color=color, axis_names=plane.axis_names)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        reach: float = 0.28,
        label: bool = True,
        legend: bool = True,
        **points: Any,
    ) -> TopArrowsDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        reach : float, default=0.28
            Length of the longest arrow, as a share of the map's longer side.
        label : bool, default=True
            Whether features are named at their arrows; a name for which there is no room is left out.
        legend : bool, default=True
            Whether the legend or colour bar of the rows is drawn.
        **points : dict
            How the rows are drawn, as for `MapDisplay.plot`: ``size``, ``alpha``, ``labels`` and so on.

        Returns
        -------
        TopArrowsDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        import_extra("matplotlib", extra="plot", purpose="TopArrowsDisplay.plot")
        effects = import_extra("matplotlib.patheffects", extra="plot", purpose="TopArrowsDisplay.plot")
        check_number(reach, "reach", low=0.0, open_low=True)
        options = {"alpha": 0.35, "labels": False, "legend": legend} | points
        self.map_, chosen = draw_map_beneath(
            self.Y, self.color, ax, axis_names=self.axis_names, theme=theme, options=options
        )
        ax = self.map_.ax_
        accent = class_colors(2, dark=chosen is DARK)[1]
        longest = max(float(np.linalg.norm(group.arrows, axis=1).max()) for group in self.groups)
        scale = reach * float(np.ptp(self.Y, axis=0).max()) / (longest or 1.0)
        self.arrows_ = []
        for group in self.groups:
            starts = np.tile(group.origin, (len(group.names), 1))
            ways = scale * group.arrows
            self.arrows_.append(draw_arrows(ax, starts, ways, color=None, theme=chosen, width=0.0038, zorder=7))
        origins = np.array([group.origin for group in self.groups])
        dot: dict[str, Any] = {
            "s": 34,
            "color": accent,
            "edgecolors": chosen.background,
            "linewidths": 0.9,
            "zorder": 8,
        }
        self.origins_: Any = ax.scatter(origins[:, 0], origins[:, 1], **dot)
        tips = np.concatenate([group.origin + scale * group.arrows for group in self.groups])
        _make_room(ax, tips)
        self.labels_: list[Any] = []
        if label:
            self._name_tips(ax, scale, chosen, effects)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _name_tips(self, ax: Any, scale: float, theme: Any, effects: Any) -> None:
        """Write names just beyond the tips, the first of every group first, pushed apart."""
        entries = [
            (rank, group.origin, group.origin + scale * arrow, name)
            for group in self.groups
            for rank, (arrow, name) in enumerate(zip(group.arrows, group.names, strict=True))
        ]
        entries.sort(key=lambda entry: entry[0])
        halo = [effects.withStroke(linewidth=2.6, foreground=theme.background)]
        texts = []
        for _, _, tip, name in entries:
            text = ax.text(*tip, "", fontsize=8, ha="center", va="center", zorder=9, color=theme.text)
            plain(text)
            text.set(text=shorten(name, _NAME), path_effects=halo, in_layout=False)
            texts.append(text)
        transform, back = ax.transData, ax.transData.inverted()
        sizes = np.array([[box.width + 3.0, box.height + 1.0] for box in (text.get_window_extent() for text in texts)])
        tips = transform.transform([entry[2] for entry in entries])
        ways = tips - transform.transform([entry[1] for entry in entries])
        ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
        room = ax.get_window_extent().padded(-2.0)
        moved, clear = push_apart(tips + 0.6 * ways * sizes, sizes, (room.x0, room.y0, room.x1, room.y1))
        for text, tip, place, size, is_clear in zip(texts, tips, moved, sizes, clear, strict=True):
            if not is_clear:
                text.remove()
                continue
            text.set_position(back.transform(place))
            self.labels_.append(text)
            if (np.abs(place - tip) - size / 2).max() > _TIE_FROM:
                ends = back.transform([tip, place])
                ax.plot(*ends.T, color=theme.muted, linewidth=0.6, zorder=7, scalex=False, scaley=False)


def _largest(
    name: str, origin: FloatArray, means: FeatureMeans, plane: list[int], names: list[str], top: int, by: str
) -> ArrowGroup:
    """Features with an arrow, the longest or most important first."""
    arrows = means.arrows[:, plane]
    lengths = np.linalg.norm(arrows, axis=1)
    order = np.argsort(-(lengths if by == "arrow" else means.importance), kind="stable")
    chosen = order[lengths[order] > 0.0][:top]
    return ArrowGroup(
        name,
        np.asarray(origin, dtype=np.float64),
        chosen,
        [names[i] for i in chosen],
        arrows[chosen],
        means.importance[chosen],
        means.reliability[chosen],
    )


def _make_room(ax: Any, tips: FloatArray) -> None:
    """Widen the limits so that arrows and their names are inside."""
    ax.update_datalim(tips)
    ax.autoscale_view()
    ax.apply_aspect()
