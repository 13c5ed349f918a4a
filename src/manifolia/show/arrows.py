"""Where features grow: the arrows of one feature over the map, or the largest arrows at a place.

Arrows are slopes: they point where the feature grows, and a longer one is a steeper slope.

* `FeatureFieldDisplay`: one feature, as a smoothed field on a grid or row by row. Many arrows of a map mean little,
  because most features of a row do not vary along any direction that a plane can show. Those are hidden: on the grid if
  reliability is low or arrows around a node disagree, and row by row if reliability is low.
* `TopArrowsDisplay`: the largest arrows at a row, in a class or over a whole map, with their names. From a FeatureMAP
  they are slopes around a row, or their means over a class. Any other map has one arrow per feature, its correlation
  with the axes (`manifolia.explain.gradients.correlation_arrows`): a biplot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_map, check_number, check_option, row_numbers
from manifolia.explain.gradients import arrow_grid, correlation_arrows
from manifolia.show._features import (
    FeatureMeans,
    explained_model,
    feature_means,
    feature_number,
    group_rows,
    name_features,
    nearest_gap,
    sample_rows,
    spread_rows,
)
from manifolia.show._labels import anchors, keep_clear, text_sizes, tie, write_name
from manifolia.show._style import Axes, check_shape, choose_components, matplotlib_part
from manifolia.show.map import OverMap
from manifolia.show.palette import DARK, Theme, class_colors

_STEEP = 95.0  # percentile of the slopes that is drawn as long as the distance between nodes
_LONGEST = 1.4  # maximum multiple of that length
_ROW_REACH = 1.3  # the same for arrows at rows, in distances to the next
_NAME = 18
_TIE_FROM = 10.0  # pixels: a name that moved farther is tied to its arrow
_CENTRAL = (2.0, 98.0)  # percentiles of the map within which it has its centre


@dataclass(eq=False, repr=False)
class FeatureFieldDisplay(OverMap):
    """Arrows of one feature over the map; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    positions : ndarray of shape (m, 2)
        Where arrows start: nodes of a grid, or rows.
    arrows : ndarray of shape (m, 2)
        Slopes of the feature along the axes.
    values : ndarray of shape (n,) or None, default=None
        The feature, which colours the rows.
    name : str or None, default=None
        Its name.
    reach : float, default=1.0
        Length in the map of a steep arrow (percentile 95 of the slopes).
    n_hidden : int, default=0
        Arrows that are not drawn because they are weak.
    axis_names : list of str, default=None
        Names of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    map_ : MapDisplay
        After `plot`: the rows under the arrows.
    arrows_ : matplotlib Quiver
        After `plot`: the arrows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> iris = load_iris(as_frame=True).data
    >>> model = mf.FeatureMAP(n_epochs=50, random_state=0).fit(iris)
    >>> mf.show.FeatureFieldDisplay.from_estimator(model, "petal length (cm)").name
    'petal length (cm)'
    """

    positions: FloatArray
    arrows: FloatArray
    _: KW_ONLY
    values: FloatArray | None = None
    name: str | None = None
    reach: float = 1.0
    n_hidden: int = 0

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        feature: Any,
        *,
        smooth: bool = True,
        feature_names: Sequence[Any] | None = None,
        **options: Any,
    ) -> FeatureFieldDisplay:
        """Take the arrows of a fitted FeatureMAP.

        Parameters
        ----------
        estimator : FeatureMAP or Pipeline
            Fitted; for a pipeline, its last step.
        feature : int or str
            Which feature, by number or by name.
        smooth : bool, default=True
            Whether each arrow is averaged with those of its row's neighbours.
        feature_names : sequence of str, default=None
            Names of all features; None takes those that the estimator was fitted with.
        **options : object
            Passed on to `from_data`: ``at``, ``n_nodes``, ``min_reliability``, ``min_agreement``, ``max_arrows``,
            ``components``.

        Returns
        -------
        FeatureFieldDisplay
            Ready to `plot`.
        """
        model = explained_model(estimator, "FeatureFieldDisplay")
        names = name_features(estimator, feature_names, model.n_features_in_)
        number = feature_number(feature, names)
        return cls.from_data(
            model.embedding_,
            model.feature_gradients(features=number, smooth=smooth)[:, 0],
            values=model.feature_values(features=number)[:, 0],
            reliability=model.arrow_reliability(features=number)[:, 0],
            name=names[number],
            **options,
        )

    @classmethod
    def from_data(
        cls,
        Y: ArrayLike,
        arrows: ArrayLike,
        *,
        values: ArrayLike | None = None,
        reliability: ArrayLike | None = None,
        name: str | None = None,
        at: str = "grid",
        n_nodes: int = 40,
        min_reliability: float = 0.2,
        min_agreement: float = 0.5,
        max_arrows: int = 300,
        components: Sequence[int] | None = None,
    ) -> FeatureFieldDisplay:
        """Take a map and arrows at its rows.

        Parameters
        ----------
        Y : array-like of shape (n, n_components)
            Map.
        arrows : array-like of shape (n, n_components)
            Slopes of a feature along the axes of the map at each row.
        values : array-like of shape (n,), default=None
            The feature, which colours the rows.
        reliability : array-like of shape (n,), default=None
            How far each arrow can be trusted, from 0 to 1; None trusts all.
        name : str, default=None
            The feature's name.
        at : {"grid", "rows"}, default="grid"
            Draw a smoothed field on a grid, or the arrows of rows.
        n_nodes : int, default=40
            Nodes along the longer side of the map.
        min_reliability : float, default=0.2
            Arrows with less are hidden: at rows their own reliability counts, on the grid the mean around a node.
        min_agreement : float, default=0.5
            Nodes are hidden if the mean arrow around them is shorter than this share of the mean length.
        max_arrows : int, default=300
            At rows: the maximum number; if there are more, those that cover the map evenly are drawn.
        components : sequence of int, default=None
            Which two components of the map to draw; None is the first two.

        Returns
        -------
        FeatureFieldDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If shapes do not fit, the map is a line, or no arrow is left.
        """
        check_option(at, "at", ("grid", "rows"))
        check_number(min_reliability, "min_reliability", low=0.0, high=1.0)
        check_number(min_agreement, "min_agreement", low=0.0, high=1.0)
        places = check_map(Y)
        plane = choose_components(components, places.shape[1], plane="FeatureFieldDisplay")
        slopes = np.asarray(arrows, dtype=np.float64)
        check_shape(slopes, places.shape, "arrows", "one arrow per row")
        n = places.shape[0]
        places, slopes = places[:, plane.chosen].astype(np.float64), slopes[:, plane.chosen]
        trust = np.ones(n) if reliability is None else np.asarray(reliability, dtype=np.float64)
        check_shape(trust, (n,), "reliability", "one number per row")
        colors = None if values is None else np.asarray(values, dtype=np.float64)
        if colors is not None:
            check_shape(colors, (n,), "values", "one number per row")
        if at == "grid":
            field = _on_grid(places, slopes, trust, n_nodes, min_reliability, min_agreement)
        else:
            field = _at_rows(places, slopes, trust, min_reliability, max_arrows)
        if not len(field["positions"]):
            raise ValueError(
                f"no arrow of {name or 'the feature'} is reliable enough to draw (min_reliability={min_reliability}). "
                f"Lower it, or choose a feature that varies along the map."
            )
        return cls(places, **field, values=colors, name=name, axis_names=plane.axis_names)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        lengths: str = "slope",
        color: Any = None,
        legend: bool = True,
        **points: Any,
    ) -> FeatureFieldDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        lengths : {"slope", "equal"}, default="slope"
            Whether a longer arrow is a steeper slope, or all are equally long.
        color : matplotlib colour, default=None
            Colour of the arrows; None is that of text, with a rim in the background colour.
        legend : bool, default=True
            Whether the colour bar is drawn.
        **points : dict
            How the rows are drawn, as for `MapDisplay.plot`: ``size``, ``alpha``, ``cmap``, ``limits``, ``center``.

        Returns
        -------
        FeatureFieldDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        check_option(lengths, "lengths", ("slope", "equal"))
        options = {"legend": legend, "name": self.name, "kind": "continuous"} | points
        ax, chosen = self._open_map(ax, theme, self.values, **options)
        drawn = self._drawn(lengths)
        self.arrows_ = _draw_arrows(ax, self.positions, drawn, color=color, theme=chosen, width=0.0028, zorder=6)
        return self

    def _drawn(self, lengths: str) -> FloatArray:
        """Arrows with the length at which they are drawn."""
        slope = np.linalg.norm(self.arrows, axis=1, keepdims=True)
        unit = np.divide(self.arrows, slope, out=np.zeros_like(self.arrows), where=slope > 0.0)
        if lengths == "equal":
            return 0.85 * self.reach * unit
        steep = float(np.percentile(slope, _STEEP)) or 1.0
        return self.reach * np.minimum(slope / steep, _LONGEST) * unit


def _on_grid(
    Y: FloatArray, slopes: FloatArray, trust: FloatArray, n_nodes: int, min_reliability: float, min_agreement: float
) -> dict[str, Any]:
    """Field on a grid; the mean reliability around a node is a second "feature" with equal weights."""
    both = np.stack([slopes, np.column_stack([trust, np.zeros(len(Y))])], axis=1)
    weights = np.column_stack([trust, np.ones(len(Y))])
    field = arrow_grid(Y, both, n_nodes=n_nodes, weights=weights, min_count=1.5)
    mean_trust = field.arrows[:, 1, 0]
    shown = (field.agreement[:, 0] >= min_agreement) & (mean_trust >= min_reliability)
    shown &= (field.arrows[:, 0] != 0.0).any(axis=1)
    reach = float(np.ptp(Y, axis=0).max()) / (n_nodes - 1)
    n_hidden = int((~shown).sum())
    return {"positions": field.positions[shown], "arrows": field.arrows[shown, 0], "reach": reach, "n_hidden": n_hidden}


def _at_rows(
    Y: FloatArray, slopes: FloatArray, trust: FloatArray, min_reliability: float, max_arrows: int
) -> dict[str, Any]:
    shown = (trust >= min_reliability) & (slopes != 0.0).any(axis=1)
    rows = np.flatnonzero(shown)
    rows = rows[spread_rows(Y[rows], max_arrows)] if rows.size else rows
    reach, n_hidden = _ROW_REACH * nearest_gap(Y[rows]), int((~shown).sum())
    return {"positions": Y[rows], "arrows": slopes[rows], "reach": reach, "n_hidden": n_hidden}


class ArrowGroup(NamedTuple):
    """The largest arrows that start at one place."""

    name: str  # Row, class or map
    origin: FloatArray  # (2,): where the arrows start
    features: IntArray  # (k,): features, in order of rank
    names: list[str]  # Their names
    arrows: FloatArray  # (k, 2): slopes along the axes, or correlations with them
    importance: FloatArray | None  # (k,): importance of each feature (Eq. 4)
    reliability: FloatArray | None  # (k,): reliability of each arrow


@dataclass(eq=False, repr=False)
class TopArrowsDisplay(OverMap):
    """The largest arrows at rows, classes or over a map; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    groups : list of ArrowGroup
        Arrows.
    color : array-like of shape (n,) or None, default=None
        Labels or values that colour the rows of the map; None is grey.
    axis_names : list of str, default=None
        Names of the axes.

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
        After `plot`: the names of features for which there was space.

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

    groups: list[ArrowGroup]
    _: KW_ONLY
    color: ArrayLike | None = None

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
            Fitted; for a pipeline, its last step.
        rows : int, slice, array-like of int or bool, default=None
            One row, or several, whose arrows are averaged.
        groups : array-like of shape (n,), default=None
            Labels of all rows, instead of `rows`: averages over each class.
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
            If there are more rows, a sample is averaged.
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
            If neither rows nor groups are given, or both are, or no arrow is reliable enough.
        """
        check_option(by, "by", ("arrow", "importance"))
        check_number(top, "top", low=1, integer=True)
        model = explained_model(estimator, "TopArrowsDisplay")
        if (rows is None) == (groups is None):
            raise ValueError(
                "pass rows (one row, or a selection to average) or groups (labels of all rows), one of the two."
            )
        n, available = model.embedding_.shape
        plane = choose_components(components, available, plane="TopArrowsDisplay")
        Y = model.embedding_[:, plane.chosen].astype(np.float64)
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
            found.append(_largest(word, origin, means, plane.chosen, names, top, by))
        found = [group for group in found if len(group.names)]
        if not found:
            raise ValueError(
                f"no arrow there has a reliability of min_reliability={min_reliability} or more. Lower it, or look at "
                f"another row."
            )
        return cls(Y, found, color=color, axis_names=plane.axis_names)

    @classmethod
    def from_data(
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
            Number of features: those with the longest arrows.
        color : array-like of shape (n,), default=None
            Labels or values that colour the rows of the map; None is grey.
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
        plane = choose_components(components, places.shape[1], plane="TopArrowsDisplay")
        found = correlation_arrows(X, places) if arrows is None else np.asarray(arrows, dtype=np.float64)
        d = np.shape(X)[1]
        check_shape(found, (d, places.shape[1]), "arrows", "one arrow per feature")
        names = name_features(X, feature_names, d)
        flat = places[:, plane.chosen].astype(np.float64)
        low, high = np.percentile(flat, _CENTRAL, axis=0)
        nothing = np.zeros(d)
        means = FeatureMeans(found, nothing, nothing, nothing)
        group = _largest("map", (low + high) / 2, means, plane.chosen, names, top, "arrow")
        if not len(group.names):
            raise ValueError("no feature goes with an axis of the map: all arrows are zero.")
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
            Whether features are named at their arrows; a name is left out if there is no space.
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
        check_number(reach, "reach", low=0.0, open_low=True)
        options = {"alpha": 0.35, "labels": False, "legend": legend} | points
        ax, chosen = self._open_map(ax, theme, self.color, **options)
        accent = class_colors(2, dark=chosen is DARK)[1]
        longest = max(float(np.linalg.norm(group.arrows, axis=1).max()) for group in self.groups)
        scale = reach * float(np.ptp(self.Y, axis=0).max()) / (longest or 1.0)
        self.arrows_ = []
        for group in self.groups:
            starts = np.tile(group.origin, (len(group.names), 1))
            ways = scale * group.arrows
            self.arrows_.append(_draw_arrows(ax, starts, ways, color=None, theme=chosen, width=0.0038, zorder=7))
        origins = np.array([group.origin for group in self.groups])
        look: dict[str, Any] = {"color": accent, "edgecolors": chosen.background, "linewidths": 0.9}
        self.origins_: Any = ax.scatter(origins[:, 0], origins[:, 1], s=34, zorder=8, **look)
        # Wider limits, so that arrows and their names are inside.
        ax.update_datalim(np.concatenate([group.origin + scale * group.arrows for group in self.groups]))
        ax.autoscale_view()
        ax.apply_aspect()
        self.labels_: list[Any] = []
        if label:
            self._name_tips(ax, scale, chosen)
        return self

    def _name_tips(self, ax: Any, scale: float, theme: Theme) -> None:
        """Write names just beyond the tips, the first of every group first, pushed apart."""
        entries = [
            (rank, group.origin, group.origin + scale * arrow, name)
            for group in self.groups
            for rank, (arrow, name) in enumerate(zip(group.arrows, group.names, strict=True))
        ]
        entries.sort(key=lambda entry: entry[0])
        look: dict[str, Any] = {"fontsize": 8, "zorder": 9, "color": theme.text}
        texts = [write_name(ax, tip, name, _NAME, theme, rim=2.6, **look) for _, _, tip, name in entries]
        sizes = text_sizes(texts)
        tips = ax.transData.transform([entry[2] for entry in entries])
        ways = tips - ax.transData.transform([entry[1] for entry in entries])
        ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)
        for i, place in keep_clear(ax, texts, tips + 0.6 * ways * sizes, sizes, margin=2.0):
            self.labels_.append(texts[i])
            if (np.abs(place - tips[i]) - sizes[i] / 2).max() > _TIE_FROM:
                tie(ax, tips[i], place, color=theme.muted, linewidth=0.6, zorder=7)


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


def _draw_arrows(
    ax: Any, starts: FloatArray, vectors: FloatArray, *, color: Any, theme: Theme, width: float, zorder: float
) -> Any:
    """Draw arrows with their length in units of the map, with a rim in the background colour."""
    effects = matplotlib_part("patheffects")
    return ax.quiver(
        *starts.T,
        *vectors.T,
        angles="xy",
        scale_units="xy",
        scale=1.0,
        color=theme.text if color is None else color,
        width=width,
        headwidth=4.0,
        headlength=4.5,
        headaxislength=4.0,
        zorder=zorder,
        path_effects=[effects.withStroke(linewidth=1.8, foreground=theme.background), effects.Normal()],
    )
