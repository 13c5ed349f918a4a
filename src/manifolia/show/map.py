"""The map itself: rows as points, coloured by class or by a value, with new rows and wrong predictions marked.

The axes of a map mean nothing: it may be rotated, mirrored and scaled. Only nearness matters. So the picture has no
ticks, both axes have the same scale, and points are drawn in a shuffled order, so that no class covers another.
"""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import IO, Any

import numpy as np

from manifolia._core.optional import is_installed
from manifolia._core.pipelines import last_step
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_is_fitted, check_map, check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.show._colors import Classes, Values, are_classes, class_codes, scale_values
from manifolia.show._style import (
    LEGEND_NAME,
    Axes,
    Display,
    check_shape,
    choose_components,
    matplotlib_part,
    resolve_theme,
    shorten,
)
from manifolia.show.palette import Theme

__all__ = ["Classes", "MapDisplay", "OverMap", "Values", "write_map_picture"]

_KINDS = ("auto", "class", "continuous")
_NOTEBOOK_DPI = 110  # of a picture at the end of a cell, which is shown pixel by pixel
_SQUARE = 4.8  # inches of a new figure, without what is beside the map


@dataclass(eq=False, repr=False)
class MapDisplay(Display):
    """Picture of a map; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    Y : ndarray of shape (n, n_components)
        Coordinates of 1, 2 or 3 components.
    color : Classes, Values or None, default=None
        Colours of the points; None is one colour for all.
    new : ndarray of shape (m, n_components), default=None
        Coordinates of new rows.
    name : str, default=None
        What the colours mean; heads the legend or labels the colour bar.
    axis_names : list of str, default=None
        What the axes are called; None leaves them without names, as axes of a map mean nothing.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    order_ : ndarray of int of shape (n,)
        After `plot`: the rows in the order in which they were drawn.
    points_ : matplotlib collection
        After `plot`: the rows, in that order.
    new_points_ : matplotlib collection or None
        After `plot`: the new rows.
    wrong_points_ : matplotlib collection or None
        After `plot`: the rings around rows that were predicted wrongly, coloured by the prediction.
    labels_ : list of matplotlib Text
        After `plot`: the names on the map.
    legend_ : matplotlib Legend or None
        After `plot`: the legend.
    colorbar_ : matplotlib Colorbar or None
        After `plot`: the colour bar.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.RFPHATE(n_trees=100, random_state=0).fit(X, y)
    >>> display = mf.show.MapDisplay.from_estimator(model, y, class_names=["setosa", "versicolor", "virginica"])
    >>> display.color.names
    ['setosa', 'versicolor', 'virginica']
    """

    Y: FloatArray
    _: KW_ONLY
    color: Classes | Values | None = None
    new: FloatArray | None = None
    name: str | None = None
    axis_names: list[str] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        y: ArrayLike | None = None,
        *,
        X_new: ArrayLike | None = None,
        y_new: ArrayLike | None = None,
        predicted: ArrayLike | str | None = None,
        **options: Any,
    ) -> MapDisplay:
        """Take the map of a fitted estimator, and place new rows with its ``transform``.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with an ``embedding_``; of a pipeline, its last step.
        y : array-like of shape (n,), default=None
            Values that colour the rows: the target, or any other column.
        X_new : array-like or DataFrame of shape (m, d), default=None
            Rows to place; drawn as diamonds.
        y_new : array-like of shape (m,), default=None
            What colours them.
        predicted : array-like or "oob", default=None
            Predicted classes, of the new rows if there are any, otherwise of the rows of the map; where they differ
            from the label, the point gets a ring in the colour of the prediction. ``"oob"``: the out-of-bag
            predictions.
        **options : object
            Passed on to `from_data`: ``kind``, ``name``, ``class_names``, ``components``.

        Returns
        -------
        MapDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If lengths differ, or predictions come with a continuous colour.
        """
        last = last_step(estimator)
        check_is_fitted(last, "embedding_")
        if isinstance(predicted, str):
            check_option(predicted, "predicted", ("oob",))
            check_is_fitted(last, "oob_prediction_")
            if X_new is not None:
                raise ParameterError(
                    "predicted='oob' is for the rows of the map. Pass the predictions of the rows of X_new.",
                    parameter="predicted",
                )
            predicted = last.oob_prediction_
        new = None if X_new is None else estimator.transform(X_new)
        return cls.from_data(last.embedding_, y, new=new, new_color=y_new, predicted=predicted, **options)

    @classmethod
    def from_data(
        cls,
        Y: ArrayLike,
        color: ArrayLike | None = None,
        *,
        new: ArrayLike | None = None,
        new_color: ArrayLike | None = None,
        predicted: ArrayLike | None = None,
        kind: str = "auto",
        name: str | None = None,
        class_names: Sequence[Any] | Mapping[Any, Any] | None = None,
        components: Sequence[int] | None = None,
    ) -> MapDisplay:
        """Take coordinates.

        Parameters
        ----------
        Y : array-like of shape (n, n_components)
            Map.
        color : array-like of shape (n,), default=None
            What colours the rows: labels or values. NaN, None and NA are missing.
        new : array-like of shape (m, n_components), default=None
            Coordinates of new rows; drawn as diamonds.
        new_color : array-like of shape (m,), default=None
            What colours them. Without it, and without predictions, they are hollow.
        predicted : array-like of shape (m,) or (n,), default=None
            Predicted classes, of the new rows if there are any, otherwise of the rows of the map.
        kind : {"auto", "class", "continuous"}, default="auto"
            Whether colours are classes or a scale. "auto": a scale for dates, and for numbers unless they are at most
            20 different whole ones.
        name : str, default=None
            What the colours mean; None takes the name of `color`, if it has one.
        class_names : sequence or mapping, default=None
            Names to show: one for each class in sorted order, or from label to name.
        components : sequence of int, default=None
            Which 1, 2 or 3 components to draw; None is all if there are up to 3, and otherwise the first 2. If only
            part of the map is drawn, the axes say which.

        Returns
        -------
        MapDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If lengths differ, or predictions come with a continuous colour.
        """
        check_option(kind, "kind", _KINDS)
        places = check_map(Y)
        chosen, names = choose_components(components, places.shape[1])
        n = places.shape[0]
        placed = None if new is None else check_map(new, name="new")
        if placed is not None and placed.shape[1] != places.shape[1]:
            raise ParameterError(
                f"new has {placed.shape[1]} components and the map has {places.shape[1]}. Place new rows in it.",
                parameter="new",
            )
        if new_color is not None and placed is None:
            raise ParameterError(
                "new_color (y_new) was given without new rows. Pass them as new (X_new).", parameter="new_color"
            )
        m = n if placed is None else placed.shape[0]
        for entries, n_rows, what in ((color, n, "color"), (new_color, m, "new_color"), (predicted, m, "predicted")):
            if entries is not None:
                check_shape(entries, (n_rows,), what, "one entry per row")
        given = name if name is not None else getattr(color, "name", None)
        colors: Classes | Values | None = None
        if color is None and (new_color is not None or predicted is not None):
            raise ParameterError(
                "new_color and predicted need the colours of the rows of the map too. Pass color (y).",
                parameter="new_color",
            )
        if color is not None:
            if are_classes(color, kind, class_names, predicted):
                colors = class_codes(color, new_color, predicted, class_names, new=placed is not None)
            elif predicted is None:
                colors = scale_values(color, new_color)
            else:
                raise ParameterError(
                    "predicted marks wrong classes, and the colours are values. Pass kind='class' if not.",
                    parameter="predicted",
                )
        return cls(
            places[:, chosen],
            color=colors,
            new=None if placed is None else placed[:, chosen],
            name=None if given is None else str(given),
            axis_names=names,
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        legend: bool = True,
        labels: bool | str = "auto",
        size: float | None = None,
        alpha: float | None = None,
        cmap: Any = None,
        limits: str | tuple[float, float] = "full",
        center: float | None = None,
        shuffle: bool = True,
        rasterize_above: int = 5_000,
    ) -> MapDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw, with ``projection="3d"`` for 3 components; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        legend : bool, default=True
            Whether classes are named beside the map, with their counts, or the scale is shown as a colour bar; it takes
            its space from `ax`.
        labels : bool or "auto", default="auto"
            Whether classes are named on the map, where they are densest; "auto" does so in the plane. A name is left
            out if there is no space.
        size : float, default=None
            Area of a point in pt²; None follows the number of rows and the size of the axes.
        alpha : float, default=None
            Opacity; None follows the number of rows.
        cmap : str or Colormap, default=None
            Scale of values; None is `manifolia.show.palette.CONTINUOUS`, or `DIVERGING` if there is a `center`.
        limits : {"full", "robust"} or tuple of float, default="full"
            Ends of the scale: smallest and largest value, percentiles 1 and 99, or two numbers.
        center : float, default=None
            Middle of a diverging scale, such as 0 for values that have a sign.
        shuffle : bool, default=True
            Whether rows are drawn in a shuffled order, the same each time, or in their own order.
        rasterize_above : int, default=5000
            With more rows, points become an image in SVG and PDF; texts and lines stay vectors.

        Returns
        -------
        MapDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        ValueError
            If `ax` is flat and the map has 3 components.
        """
        from manifolia.show._draw import MapPainter

        check_bool(legend, "legend")
        check_option(labels, "labels", (True, False, "auto"))
        check_number(rasterize_above, "rasterize_above", low=0, integer=True)
        three = self.Y.shape[1] == 3
        if three and ax is not None and ax.name != "3d":
            raise ValueError(
                "the map has 3 components and ax is flat. Make it with figure.add_subplot(projection='3d'), or choose "
                "two components: components=(0, 1)."
            )
        ax, chosen = self._open(ax, theme, self._figure_size(legend=legend), projection="3d" if three else None)
        painter = MapPainter(self, ax, theme=chosen, size=size, alpha=alpha, rasterize_above=rasterize_above)
        painter.points(shuffle=shuffle, cmap=cmap, limits=limits, center=center)
        painter.frame()
        painter.key(legend=legend)
        painter.settle()
        painter.names(wanted=self.Y.shape[1] == 2 if labels == "auto" else bool(labels))
        self.order_, self.points_, self.new_points_ = painter.order, painter.drawn, painter.new
        self.wrong_points_, self.labels_ = painter.wrong, painter.texts
        self.legend_, self.colorbar_ = painter.legend, painter.colorbar
        return self

    def _repr_png_(self) -> bytes | None:
        """Return the picture, which a notebook shows at the end of a cell; None if it was drawn and is shown anyway."""
        if hasattr(self, "ax_") or not is_installed("matplotlib"):
            return None
        picture = io.BytesIO()
        write_map_picture(copy.copy(self), [picture], "", dpi=_NOTEBOOK_DPI)
        return picture.getvalue()

    def _figure_size(self, *, legend: bool) -> tuple[float, float]:
        """Give the map a square and its legend the width that it needs."""
        width = _SQUARE
        if legend and isinstance(self.color, Classes):
            longest = max([len(shorten(name, LEGEND_NAME)) for name in self.color.names], default=0)
            marks = 16 * (self.new is not None or self.color.wrong is not None)  # characters of "new rows (1,234)"
            n_columns = 1 + len(self.color.names) // 21
            width += n_columns * (0.3 + 0.075 * max(longest + 8, marks))
        elif legend and isinstance(self.color, Values):
            width += 0.8
        if self.Y.shape[1] > 1:
            return width, _SQUARE
        n_lanes = len(self.color.names) if isinstance(self.color, Classes) else 4
        return 7.0, float(np.clip(0.9 + 0.35 * n_lanes, 2.0, 10.0))


@dataclass(eq=False, repr=False)
class OverMap(Display):
    """A picture on top of the rows of a map."""

    Y: FloatArray  # (n, 2): the map
    _: KW_ONLY
    axis_names: list[str] | None = None  # What the axes are called

    def _open_map(
        self, ax: Any, theme: str, color: ArrayLike | None, *, name: str | None = None, kind: str = "auto", **look: Any
    ) -> tuple[Any, Theme]:
        """Draw the rows, grey without a colour, and return the axes with their theme."""
        self._need_matplotlib()
        self.map_ = MapDisplay.from_data(self.Y, color, name=name, kind=kind)
        self.map_.axis_names = self.axis_names
        self.map_.plot(ax, theme=theme, **look)
        self.ax_, self.figure_ = self.map_.ax_, self.map_.figure_
        chosen = resolve_theme(theme, self.ax_)
        if color is None:
            self.map_.points_.set_facecolor(chosen.muted)
        return self.ax_, chosen


def write_map_picture(
    display: MapDisplay, paths: Iterable[str | os.PathLike[str] | IO[bytes]], title: str, *, dpi: int = 200
) -> None:
    """Write a map to files, and close its figure."""
    figure: Any = display.plot().figure_
    try:
        display.ax_.set_title(title, parse_math=False)
        for path in paths:
            figure.savefig(path, dpi=dpi)
    finally:
        # pyplot keeps every figure that it made until it is told to close it.
        matplotlib_part("pyplot").close(figure)
