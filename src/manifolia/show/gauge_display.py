"""How the data runs about rows of the map: their tangent frames, as ellipses whose axes are the extents of the data.

An ellipse stands for the neighbourhood of a row: its axes lie where the two main directions of the data lie in the map,
and are as long as the data is wide along them (singular values), all ellipses on one scale. Where ellipses are large
the data is sparse, where they are thin it runs one way. With more than two components an ellipse is the shadow of
the ellipsoid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_number, check_option
from manifolia.operators.tangent import row_numbers
from manifolia.show._arrows import draw_map_beneath
from manifolia.show._features import choose_plane, explained_model, nearest_gap, spread_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GaugeDisplay"]

_ROOM = 0.6  # half the length of the median ellipse, in distances to the next


class GaugeDisplay:
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
        What colours the rows of the map; None is grey.
    axis_names : list of str, default=None
        What the axes are called.

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

    def __init__(
        self,
        Y: FloatArray,
        rows: IntArray,
        frames: FloatArray,
        radii: FloatArray,
        *,
        color: ArrayLike | None = None,
        axis_names: list[str] | None = None,
    ) -> None:
        self.Y = Y
        self.rows = rows
        self.frames = frames
        self.radii = radii
        self.color = color
        self.axis_names = axis_names

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
            Fitted; of a pipeline, its last step.
        color : array-like of shape (n,), default=None
            What colours the rows of the map; None is grey.
        rows : int, slice, array-like of int or bool, default=None
            Rows whose frames are drawn; None chooses rows that cover the map evenly.
        n_shown : int, default=120
            How many of these at most.
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
        plane = choose_plane(components, available, "GaugeDisplay")
        Y = model.embedding_[:, plane.components].astype(np.float64)
        chosen = spread_rows(Y, n_shown) if rows is None else row_numbers(rows, n)
        frames = np.asarray(model.gauges_[chosen], dtype=np.float64)
        radii = np.asarray(model.singular_values_[chosen], dtype=np.float64)[:, : frames.shape[2]]
        frames = frames[:, plane.components, : radii.shape[1]]
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
        import_extra("matplotlib", extra="plot", purpose="GaugeDisplay.plot")
        collections = import_extra("matplotlib.collections", extra="plot", purpose="GaugeDisplay.plot")
        check_option(kind, "kind", ("ellipse", "frame", "both"))
        if scale is not None:
            check_number(scale, "scale", low=0.0, open_low=True)
        options = {"alpha": 0.4, "labels": False, "legend": legend} | points
        self.map_, chosen = draw_map_beneath(
            self.Y, self.color, ax, axis_names=self.axis_names, theme=theme, options=options
        )
        ax = self.map_.ax_
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
        self.ax_, self.figure_ = ax, ax.figure
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
        """Scale at which the median ellipse has room among those about it."""
        longer = float(np.median(self.ellipses()[0][:, 0])) or 1.0
        return _ROOM * nearest_gap(self.Y[self.rows]) / longer
