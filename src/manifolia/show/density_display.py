"""Where the rows of each class lie densest in a plane, one panel a class (Vens and Costa 2011, Fig. 8).

Points of many rows cover one another and show their outline only. A density shows peaks: two classes that share a
region can still be told apart if their peaks are elsewhere. All panels have one range and one scale of colours.
Rows are counted in cells, and counts are smoothed by a Gaussian whose width follows Scott's rule, σ n^(−1/6) on each
axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_map, check_number
from manifolia.show._map_colors import class_codes
from manifolia.show._style import apply_theme, choose_components, color_map, plain, resolve_theme, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Densities", "DensityDisplay"]

_MARGIN = 3.0  # widths of the Gaussian around the outermost rows
_PANEL = 3.2  # inches
_LONGEST = 40  # letters of a panel's title


class Densities(NamedTuple):
    """Densities of the classes on one grid."""

    # (n_classes, n_cells, n_cells): density of each class by cell, first and second component; each integrates to 1
    values: FloatArray
    x_edges: FloatArray  # (n_cells + 1,): borders of the cells
    y_edges: FloatArray  # (n_cells + 1,): borders of the cells
    names: list[str]  # The classes
    counts: list[int]  # Their rows

    @property
    def overlap(self) -> float:
        """What two classes have in common: ∫ min(p, q), 0 if they are apart and 1 if they are alike; mean of pairs."""
        area = float(np.diff(self.x_edges)[0] * np.diff(self.y_edges)[0])
        n = len(self.values)
        pairs = [np.minimum(self.values[a], self.values[b]).sum() * area for a in range(n) for b in range(a)]
        return float(np.mean(pairs)) if pairs else 1.0


class DensityDisplay:
    """Picture of the classes' densities in a plane; make one with `from_map` or `from_estimator`.

    Parameters
    ----------
    data : Densities
        What to draw.

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
    >>> DensityDisplay.from_map(Y, y).data.overlap < 0.01
    True
    """

    def __init__(self, data: Densities) -> None:
        self.data = data

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
            Passed on to `from_map`.

        Returns
        -------
        DensityDisplay
            Ready to `plot`.
        """
        return cls.from_map(estimator.transform(X), y, **options)

    @classmethod
    def from_map(
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
        places = check_map(Y, n_rows=None if y is None else len(np.asarray(y)))
        chosen = choose_components(components if components is not None else (0, 1), places.shape[1])
        if len(chosen) != 2:
            message = f"components must be two, got {components!r}."
            raise ValueError(message)
        check_number(n_cells, "n_cells", low=2, integer=True)
        check_number(smoothing, "smoothing", low=0.0, open_low=True)
        points = places[:, chosen].astype(np.float64)
        if y is None:
            return cls(_densities(points, np.zeros(len(points), dtype=np.intp), ["all rows"], n_cells, smoothing))
        classes = class_codes(y, None, None, class_names, new=False)
        return cls(_densities(points, classes.codes, classes.names, n_cells, smoothing))

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
            Density with the last colour; None is the highest of all panels.

        Returns
        -------
        DensityDisplay
            Itself, with `axes_`, `figure_` and `images_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        ValueError
            If there are not as many axes as classes.
        """
        import_extra("matplotlib", extra="plot", purpose="DensityDisplay.plot")
        n = len(self.data.values)
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", extra="plot", purpose="DensityDisplay.plot")
            figure = pyplot.figure(figsize=(_PANEL * n, _PANEL), layout="constrained")
            axes = list(figure.subplots(1, n, squeeze=False)[0])
        else:
            axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            message = f"ax must be one axes for each of the {n} classes, got {len(axes)}."
            raise ValueError(message)
        highest = float(self.data.values.max()) if vmax is None else vmax
        corners = (self.data.x_edges[0], self.data.x_edges[-1], self.data.y_edges[0], self.data.y_edges[-1])
        self.images_ = []
        for panel, values, name, count in zip(axes, self.data.values, self.data.names, self.data.counts, strict=True):
            chosen = resolve_theme(theme, panel)
            apply_theme(panel, chosen, backgrounds=theme != "auto")
            look = {"cmap": color_map(chosen) if cmap is None else cmap, "vmin": 0.0, "vmax": highest}
            image = panel.imshow(values.T, origin="lower", extent=corners, aspect="auto", **look)
            panel.set(xticks=[], yticks=[])
            plain(panel.set_title(f"{shorten(name, _LONGEST)} ({count} rows)"))
            self.images_.append(image)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def _densities(points: FloatArray, codes: Any, names: list[str], n_cells: int, smoothing: float) -> Densities:
    from scipy.ndimage import gaussian_filter

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
    return Densities(values, edges[0], edges[1], names, [len(group) for group in groups])


def _spread(group: FloatArray) -> FloatArray:
    # A class of one row, or on a line, still gets a spot.
    found = group.std(axis=0)
    return np.where(found > 0, found, max(float(found.max(initial=0.0)), 1.0))
