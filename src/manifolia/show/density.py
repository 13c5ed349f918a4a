"""How densely the rows lie in a plane: the density of each class, and how wide the data is around a row.

* `DensityDisplay` (Vens and Costa 2011, Fig. 8): points of many rows cover one another and show only their outline. A
  density shows peaks: two classes that share a region can still be told apart if their peaks differ. All panels have
  the same range and the same colour scale. Rows are counted in cells, and counts are smoothed by a Gaussian whose width
  follows Scott's rule, σ n^(−1/6) on each axis.
* `GaugeDisplay`: an ellipse represents the neighbourhood of a row. Its axes lie where the two main directions of the
  data lie in the map, and are as long as the data is wide along them (singular values), with all ellipses on one scale.
  Where ellipses are large the data is sparse; where they are thin it runs in one direction. With more than two
  components an ellipse is the shadow of the ellipsoid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_map, check_number, check_option, row_numbers
from manifolia.exceptions import ParameterError
from manifolia.show._colors import class_codes
from manifolia.show._features import explained_model, nearest_gap, spread_rows
from manifolia.show._style import Axes, Display, choose_components, color_map, matplotlib_part, plain, shorten
from manifolia.show.map import OverMap

_MARGIN = 3.0  # widths of the Gaussian around the outermost rows
_PANEL = 3.2  # inches
_LONGEST = 40  # letters of a panel's title
_ROOM = 0.6  # half the length of the median ellipse, in distances to the next


@dataclass(eq=False, repr=False)
class DensityDisplay(Display):
    """Picture of the classes' densities in a plane; make one with `from_data` or `from_estimator`.

    Parameters
    ----------
    values : ndarray of shape (n_classes, n_cells, n_cells)
        Density of each class by cell, first and second component; each integrates to 1.
    x_edges, y_edges : ndarray of shape (n_cells + 1,)
        Borders of the cells.
    names : list of str
        The classes.
    counts : list of int
        Their rows.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        After `plot`: one for each class.
    figure_ : matplotlib Figure
        After `plot`: their figure.
    images_ : list of matplotlib images
        After `plot`: the densities.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import DensityDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["left", "right"], 500)
    >>> Y = rng.normal(size=(1000, 2)) + np.where(y == "left", -4.0, 4.0)[:, np.newaxis]
    >>> DensityDisplay.from_data(Y, y).overlap < 0.01
    True
    """

    values: FloatArray
    x_edges: FloatArray
    y_edges: FloatArray
    names: list[str]
    counts: list[int]

    @property
    def overlap(self) -> float:
        """Share that two classes have in common, mean of all pairs.

        Returns
        -------
        float
            ∫ min(p, q): 0 if classes are separate and 1 if they are alike.
        """
        area = float(np.diff(self.x_edges)[0] * np.diff(self.y_edges)[0])
        n = len(self.values)
        pairs = [np.minimum(self.values[a], self.values[b]).sum() * area for a in range(n) for b in range(a)]
        return float(np.mean(pairs)) if pairs else 1.0

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, **options: Any) -> DensityDisplay:
        """Place rows with a fitted transformer, such as a pipeline that ends in a projection.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted; its ``transform`` gives the plane.
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows.
        y : array-like of shape (n,), default=None
            Their classes.
        **options : object
            Passed on to `from_data`.

        Returns
        -------
        DensityDisplay
            Ready to `plot`.
        """
        return cls.from_data(estimator.transform(X), y, **options)

    @classmethod
    def from_data(
        cls,
        Y: ArrayLike,
        y: ArrayLike | None = None,
        *,
        class_names: Sequence[Any] | Mapping[Any, Any] | None = None,
        components: Sequence[int] | None = None,
        n_cells: int = 100,
        smoothing: float = 1.0,
    ) -> DensityDisplay:
        """Take coordinates.

        Parameters
        ----------
        Y : array-like of shape (n, n_components)
            Coordinates.
        y : array-like of shape (n,), default=None
            Classes; rows without a label are left out. None: all rows are one class.
        class_names : sequence or mapping, default=None
            Names of the classes in sorted order, or by class.
        components : sequence of int, default=None
            Which two components; None is the first two.
        n_cells : int, default=100
            Cells along each axis.
        smoothing : float, default=1.0
            Width of the Gaussian in units of Scott's rule.

        Returns
        -------
        DensityDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If there are not two components, or lengths differ.
        """
        from scipy.ndimage import gaussian_filter

        places = check_map(Y, n_rows=None if y is None else len(np.asarray(y)))
        plane = choose_components(components, places.shape[1], plane="DensityDisplay")
        check_number(n_cells, "n_cells", low=2, integer=True)
        check_number(smoothing, "smoothing", low=0.0, open_low=True)
        points = places[:, plane.chosen].astype(np.float64)
        codes: IntArray = np.zeros(len(points), dtype=np.intp)
        names = ["all rows"]
        if y is not None:
            classes = class_codes(y, None, None, class_names, new=False)
            codes, names = classes.codes, classes.names
        groups = [points[codes == c] for c in range(len(names))]
        spread = np.array([_spread(group) * max(len(group), 1) ** (-1 / 6) for group in groups]) * smoothing
        known = points[codes >= 0]
        reach = _MARGIN * spread.max(axis=0)
        low, high = known.min(axis=0) - reach, known.max(axis=0) + reach
        edges = [np.linspace(low[j], high[j], n_cells + 1) for j in range(2)]
        cell = (high - low) / n_cells
        values = np.empty((len(names), n_cells, n_cells))
        for c, group in enumerate(groups):
            counted = np.histogram2d(group[:, 0], group[:, 1], bins=edges)[0]
            smooth = gaussian_filter(counted, spread[c] / cell, mode="constant", truncate=_MARGIN)
            values[c] = smooth / (smooth.sum() * cell.prod())
        return cls(values, edges[0], edges[1], names, [len(group) for group in groups])

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        theme: str = "auto",
        cmap: Any = None,
        vmax: float | None = None,
    ) -> DensityDisplay:
        """Draw one panel for each class.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            Where to draw, one for each class; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        cmap : str or Colormap, default=None
            Colours of the densities; None is our own scale.
        vmax : float, default=None
            Density of the last colour; None is the highest in any panel.

        Returns
        -------
        DensityDisplay
            Itself, with `axes_`, `figure_` and `images_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        ValueError
            If the number of axes is not that of the classes.
        """
        n = len(self.values)
        if ax is None:
            axes = list(self._new_figure((_PANEL * n, _PANEL)).subplots(1, n, squeeze=False)[0])
        else:
            axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            raise ParameterError(f"ax must be one axes for each of the {n} classes, got {len(axes)}.", parameter="ax")
        highest = float(self.values.max()) if vmax is None else vmax
        corners = (self.x_edges[0], self.x_edges[-1], self.y_edges[0], self.y_edges[-1])
        self.images_ = []
        for panel, values, name, count in zip(axes, self.values, self.names, self.counts, strict=True):
            _, chosen = self._open(panel, theme)
            look = {"cmap": color_map(chosen) if cmap is None else cmap, "vmin": 0.0, "vmax": highest}
            image = panel.imshow(values.T, origin="lower", extent=corners, aspect="auto", **look)
            panel.set(xticks=[], yticks=[])
            plain(panel.set_title(f"{shorten(name, _LONGEST)} ({count} rows)"))
            self.images_.append(image)
        self.axes_ = axes
        return self


def _spread(group: FloatArray) -> FloatArray:
    # A class of one row, or on a line, still gets a spot.
    found = group.std(axis=0)
    return np.where(found > 0, found, max(float(found.max(initial=0.0)), 1.0))


@dataclass(eq=False, repr=False)
class GaugeDisplay(OverMap):
    """Tangent frames over the map; make one with `from_estimator`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Map.
    rows : ndarray of int of shape (m,)
        Rows whose frames are drawn.
    frames : ndarray of shape (m, 2, c)
        Column l is where the l-th tangent direction lies in the plane.
    radii : ndarray of shape (m, c)
        Extents of the data along these directions.
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
        After `plot`: the rows of the map.
    ellipses_ : matplotlib EllipseCollection or None
        After `plot`: the ellipses, in the order of `rows`.
    frames_ : matplotlib LineCollection or None
        After `plot`: the arms of the frames, all first arms, then all second ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> model = mf.FeatureMAP(n_epochs=50, random_state=0).fit(load_iris().data)
    >>> mf.show.GaugeDisplay.from_estimator(model, n_shown=20).frames.shape[1:]
    (2, 2)
    """

    rows: IntArray
    frames: FloatArray
    radii: FloatArray
    _: KW_ONLY
    color: ArrayLike | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        color: ArrayLike | None = None,
        *,
        rows: Any = None,
        n_shown: int = 120,
        components: Sequence[int] | None = None,
    ) -> GaugeDisplay:
        """Take the gauges and singular values of a fitted FeatureMAP.

        Parameters
        ----------
        estimator : FeatureMAP or Pipeline
            Fitted; for a pipeline, its last step.
        color : array-like of shape (n,), default=None
            Labels or values that colour the rows of the map; None is grey.
        rows : int, slice, array-like of int or bool, default=None
            Rows whose frames are drawn; None chooses rows that cover the map evenly.
        n_shown : int, default=120
            Maximum number of these.
        components : sequence of int, default=None
            Which two components of the map to draw; None is the first two.

        Returns
        -------
        GaugeDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the map is a line.
        """
        model = explained_model(estimator, "GaugeDisplay")
        n, available = model.embedding_.shape
        plane = choose_components(components, available, plane="GaugeDisplay")
        Y = model.embedding_[:, plane.chosen].astype(np.float64)
        chosen = spread_rows(Y, n_shown) if rows is None else row_numbers(rows, n)
        frames = np.asarray(model.gauges_[chosen], dtype=np.float64)
        radii = np.asarray(model.singular_values_[chosen], dtype=np.float64)[:, : frames.shape[2]]
        frames = frames[:, plane.chosen, : radii.shape[1]]
        return cls(Y, chosen, frames, radii, color=color, axis_names=plane.axis_names)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        kind: str = "ellipse",
        scale: float | None = None,
        legend: bool = True,
        **points: Any,
    ) -> GaugeDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        kind : {"ellipse", "frame", "both"}, default="ellipse"
            Draw ellipses, the arms of the frames, or both.
        scale : float, default=None
            Units of the map for one unit of the data; None lets ellipses fill the map without covering it.
        legend : bool, default=True
            Whether the legend or colour bar of the rows is drawn.
        **points : dict
            How the rows are drawn, as for `MapDisplay.plot`: ``size``, ``alpha``, ``labels`` and so on.

        Returns
        -------
        GaugeDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        check_option(kind, "kind", ("ellipse", "frame", "both"))
        if scale is not None:
            check_number(scale, "scale", low=0.0, open_low=True)
        options = {"alpha": 0.4, "labels": False, "legend": legend} | points
        ax, chosen = self._open_map(ax, theme, self.color, **options)
        collections = matplotlib_part("collections")
        unit = self._unit() if scale is None else scale
        centres = self.Y[self.rows]
        self.ellipses_: Any = None
        self.frames_: Any = None
        if kind != "frame":
            half, angles = self.ellipses()
            self.ellipses_ = collections.EllipseCollection(
                *(2.0 * unit * half).T,
                angles,
                units="xy",
                offsets=centres,
                offset_transform=ax.transData,
                facecolors="none",
                edgecolors=chosen.text,
                linewidths=0.9,
                zorder=6,
            )
            ax.add_collection(self.ellipses_)
        if kind != "ellipse":
            arms = unit * self.frames * self.radii[:, None, :]
            ends = [centres + arms[:, :, one] for one in range(min(2, arms.shape[2]))]
            lines = np.concatenate([np.stack([centres, end], axis=1) for end in ends])
            widths = np.repeat([1.6, 0.8], len(centres))[: len(lines)]
            self.frames_ = collections.LineCollection(lines, colors=chosen.text, linewidths=widths, zorder=6)
            ax.add_collection(self.frames_)
        return self

    def ellipses(self) -> tuple[FloatArray, FloatArray]:
        """Return the half axes and angles of the ellipses, in units of the data.

        Returns
        -------
        tuple of ndarray
            Half axes of shape (m, 2), the longer first, and the angles of the longer ones in degrees.
        """
        stretched = self.frames * self.radii[:, None, :]
        squares, ways = np.linalg.eigh(np.matmul(stretched, stretched.transpose(0, 2, 1)))
        half = np.sqrt(np.maximum(squares[:, ::-1], 0.0))
        return half, np.degrees(np.arctan2(ways[:, 1, 1], ways[:, 0, 1]))

    def _unit(self) -> float:
        """Scale at which the median ellipse has space among those around it."""
        longer = float(np.median(self.ellipses()[0][:, 0])) or 1.0
        return _ROOM * nearest_gap(self.Y[self.rows]) / longer
