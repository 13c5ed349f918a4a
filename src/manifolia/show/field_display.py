"""Where one feature grows: its arrows over the map, as a smoothed field on a grid or row by row.

Arrows are slopes: they point where the feature grows, and a longer one is a steeper slope. Many arrows of a map mean
little, because most features of a row do not vary along any direction that a plane can show. Those are hidden: on the
grid where reliability is low or where arrows about a node disagree, and row by row where reliability is low.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_map, check_number, check_option
from manifolia.explain.gradients import arrow_grid
from manifolia.show._arrows import draw_arrows, draw_map_beneath
from manifolia.show._features import (
    choose_plane,
    explained_model,
    feature_number,
    name_features,
    nearest_gap,
    spread_rows,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FeatureFieldDisplay"]

_STEEP = 95.0  # percentile of the slopes that is drawn as long as nodes are apart
_LONGEST = 1.4  # times that length at most
_ROW_REACH = 1.3  # the same for arrows at rows, in distances to the next


class _Arrows(NamedTuple):
    positions: FloatArray
    arrows: FloatArray
    reach: float
    n_hidden: int


class FeatureFieldDisplay:
    """Arrows of one feature over the map; make one with `from_estimator` or `from_arrows`.

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
        What the axes are called.

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

    def __init__(
        self,
        Y: FloatArray,
        positions: FloatArray,
        arrows: FloatArray,
        *,
        values: FloatArray | None = None,
        name: str | None = None,
        reach: float = 1.0,
        n_hidden: int = 0,
        axis_names: list[str] | None = None,
    ) -> None:
        self.Y = Y
        self.positions = positions
        self.arrows = arrows
        self.values = values
        self.name = name
        self.reach = reach
        self.n_hidden = n_hidden
        self.axis_names = axis_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        feature: Any,
        *,
        at: str = "grid",
        smooth: bool = True,
        n_nodes: int = 40,
        min_reliability: float = 0.2,
        min_agreement: float = 0.5,
        max_arrows: int = 300,
        feature_names: Sequence[Any] | None = None,
        components: Sequence[int] | None = None,
    ) -> FeatureFieldDisplay:
        """Take the arrows of a fitted FeatureMAP.

        Parameters
        ----------
        estimator : FeatureMAP or Pipeline
            Fitted; of a pipeline, its last step.
        feature : int or str
            Which feature, by number or by name.
        at : {"grid", "rows"}, default="grid"
            As for `from_arrows`.
        smooth : bool, default=True
            Whether each arrow is averaged with those of its row's neighbours.
        n_nodes : int, default=40
            As for `from_arrows`.
        min_reliability : float, default=0.2
            As for `from_arrows`.
        min_agreement : float, default=0.5
            As for `from_arrows`.
        max_arrows : int, default=300
            As for `from_arrows`.
        feature_names : sequence of str, default=None
            Names of all features; None takes those that the estimator was fitted with.
        components : sequence of int, default=None
            As for `from_arrows`.

        Returns
        -------
        FeatureFieldDisplay
            Ready to `plot`.
        """
        model = explained_model(estimator, "FeatureFieldDisplay")
        names = name_features(estimator, feature_names, model.n_features_in_)
        number = feature_number(feature, names)
        return cls.from_arrows(
            model.embedding_,
            model.feature_gradients(features=number, smooth=smooth)[:, 0],
            values=model.feature_values(features=number)[:, 0],
            reliability=model.arrow_reliability(features=number)[:, 0],
            name=names[number],
            at=at,
            n_nodes=n_nodes,
            min_reliability=min_reliability,
            min_agreement=min_agreement,
            max_arrows=max_arrows,
            components=components,
        )

    @classmethod
    def from_arrows(
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
            Arrows with less are hidden: at rows their own, on the grid the mean about a node.
        min_agreement : float, default=0.5
            Nodes are hidden about which the mean arrow is shorter than so much of the mean length.
        max_arrows : int, default=300
            At rows: how many at most; of more those are drawn that cover the map evenly.
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
        plane = choose_plane(components, places.shape[1], "FeatureFieldDisplay")
        slopes = np.asarray(arrows, dtype=np.float64)
        if slopes.shape != places.shape:
            message = (
                f"arrows must be of the shape of the map, {places.shape}, one arrow a row, got shape {slopes.shape}."
            )
            raise ValueError(message)
        n = places.shape[0]
        places, slopes = places[:, plane.components].astype(np.float64), slopes[:, plane.components]
        trust = np.ones(n) if reliability is None else _row(reliability, n, "reliability")
        colors = None if values is None else _row(values, n, "values")
        if at == "grid":
            found = _on_grid(places, slopes, trust, n_nodes, min_reliability, min_agreement)
        else:
            found = _at_rows(places, slopes, trust, min_reliability, max_arrows)
        if not len(found.positions):
            message = (
                f"no arrow of {name or 'the feature'} is reliable enough to draw (min_reliability={min_reliability}). "
                f"Lower it, or choose a feature that varies along the map."
            )
            raise ValueError(message)
        return cls(
            places,
            found.positions,
            found.arrows,
            values=colors,
            name=name,
            reach=found.reach,
            n_hidden=found.n_hidden,
            axis_names=plane.axis_names,
        )

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
            Of the arrows; None is that of text, with a rim in the colour of the background.
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
        import_extra("matplotlib", extra="plot", purpose="FeatureFieldDisplay.plot")
        self.map_, chosen = draw_map_beneath(
            self.Y,
            self.values,
            ax,
            axis_names=self.axis_names,
            theme=theme,
            options={"legend": legend} | points,
            name=self.name,
            kind="continuous",
        )
        ax = self.map_.ax_
        self.arrows_: Any = draw_arrows(
            ax, self.positions, self._drawn(lengths), color=color, theme=chosen, width=0.0028, zorder=6
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _drawn(self, lengths: str) -> FloatArray:
        """Arrows as long as they are drawn."""
        slope = np.linalg.norm(self.arrows, axis=1, keepdims=True)
        unit = np.divide(self.arrows, slope, out=np.zeros_like(self.arrows), where=slope > 0.0)
        if lengths == "equal":
            return 0.85 * self.reach * unit
        steep = float(np.percentile(slope, _STEEP)) or 1.0
        return self.reach * np.minimum(slope / steep, _LONGEST) * unit


def _row(values: ArrayLike, n: int, name: str) -> FloatArray:
    checked = np.asarray(values, dtype=np.float64)
    if checked.shape != (n,):
        message = f"{name} must have one number for each of {n} rows, got shape {checked.shape}."
        raise ValueError(message)
    return checked


def _on_grid(
    Y: FloatArray, slopes: FloatArray, trust: FloatArray, n_nodes: int, min_reliability: float, min_agreement: float
) -> _Arrows:
    """Field on a grid; the mean reliability about a node is the second "feature", one of equal weights."""
    both = np.stack([slopes, np.column_stack([trust, np.zeros(len(Y))])], axis=1)
    weights = np.column_stack([trust, np.ones(len(Y))])
    field = arrow_grid(Y, both, n_nodes=n_nodes, weights=weights, min_count=1.5)
    mean_trust = field.arrows[:, 1, 0]
    shown = (field.agreement[:, 0] >= min_agreement) & (mean_trust >= min_reliability)
    shown &= (field.arrows[:, 0] != 0.0).any(axis=1)
    reach = float(np.ptp(Y, axis=0).max()) / (n_nodes - 1)
    return _Arrows(field.positions[shown], field.arrows[shown, 0], reach, int((~shown).sum()))


def _at_rows(Y: FloatArray, slopes: FloatArray, trust: FloatArray, min_reliability: float, max_arrows: int) -> _Arrows:
    shown = (trust >= min_reliability) & (slopes != 0.0).any(axis=1)
    rows = np.flatnonzero(shown)
    rows = rows[spread_rows(Y[rows], max_arrows)] if rows.size else rows
    return _Arrows(Y[rows], slopes[rows], _ROW_REACH * nearest_gap(Y[rows]), int((~shown).sum()))
