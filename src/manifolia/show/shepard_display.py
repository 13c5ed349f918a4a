"""The Shepard diagram: how often pairs with one distance in the data have which distance in the map, with the median.

A map that keeps the order of distances rises steadily; one that keeps distances is a straight line through 0. Pairs are
counted in cells rather than drawn: a million points on one another show their outline only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_number
from manifolia.show._style import apply_theme, new_axes, resolve_theme
from manifolia.show.palette import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Shepard", "ShepardDisplay", "count_pairs", "draw_pairs_of_distances"]

_CELLS = 80
_MEDIANS = 40


class Shepard(NamedTuple):
    """Counts of pairs by their two distances."""

    counts: IntArray  # (n_cells, n_cells): pairs, by distance in the data (rows) and in the map (columns)
    x_edges: FloatArray  # (n_cells + 1,): borders of the cells in the data and in the map
    y_edges: FloatArray  # (n_cells + 1,): borders of the cells in the data and in the map
    # (n_medians, 2): median distance in the data and in the map of pairs with similar distances in the data
    medians: FloatArray
    goodness: float  # Spearman's correlation of these pairs
    n_pairs: int  # How many
    # Their normalised stress at the best scale, as `manifolia.metrics.normalized_stress`; 1 for a map without extent
    stress: float


def count_pairs(
    X: ArrayLike,
    Y: ArrayLike,
    *,
    metric: str = "euclidean",
    max_pairs: int = 200_000,
    random_state: RandomState = 0,
) -> Shepard:
    """Count pairs by their distances in the data and in the map."""
    from manifolia.metrics._sampling import draw_pairs
    from manifolia.metrics._spaces import spaces
    from manifolia.metrics._statistics import rank_correlation

    check_number(max_pairs, "max_pairs", low=2, integer=True)
    data, plane = spaces(X, Y, metric)
    n_pairs = data.n * (data.n - 1) // 2
    a, b = np.triu_indices(data.n, 1) if n_pairs <= max_pairs else draw_pairs(data.n, max_pairs, random_state)
    high, low = data.pairs(a, b), plane.pairs(a, b)
    limits = [(0.0, float(side.max()) or 1.0) for side in (high, low)]
    counts, x_edges, y_edges = np.histogram2d(high, low, bins=_CELLS, range=limits)
    order = np.argsort(high, kind="stable")
    groups = np.array_split(order, min(_MEDIANS, order.shape[0]))
    medians = np.array([[np.median(high[group]), np.median(low[group])] for group in groups])
    goodness, stress = rank_correlation(high, low), _stress(high, low)
    return Shepard(counts.astype(np.int64), x_edges, y_edges, medians, goodness, a.shape[0], stress)


def _stress(high: FloatArray, low: FloatArray) -> float:
    """√(Σ (d − α e)² / Σ d²) with the scale α = Σ d e / Σ e² that makes it smallest."""
    extent, size = float(low @ low), float(high @ high)
    if size == 0.0:
        return 0.0 if extent == 0.0 else 1.0
    scale = float(high @ low) / extent if extent else 0.0
    rest = high - scale * low
    return float(np.sqrt(rest @ rest / size))


class ShepardDisplay:
    """Picture of how a map keeps distances; make one with `from_data` or `from_estimator`.

    Parameters
    ----------
    data : Shepard
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    artists_ : list
        After `plot`: the image and the two lines of the median.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import ShepardDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> ShepardDisplay.from_data(X, 2 * X).data.goodness
    1.0
    """

    def __init__(self, data: Shepard) -> None:
        self.data = data

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, **options: Any) -> ShepardDisplay:
        """Compare the map of a fitted estimator with its data.

        Parameters
        ----------
        estimator : estimator
            Fitted, with an ``embedding_``.
        X : array-like of shape (n, d)
            The data it was fitted on.
        **options : object
            Passed on to `from_data`.

        Returns
        -------
        ShepardDisplay
            Ready to `plot`.
        """
        check_is_fitted(estimator, "embedding_")
        return cls.from_data(X, estimator.embedding_, **options)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        metric: str = "euclidean",
        max_pairs: int = 200_000,
        random_state: RandomState = 0,
    ) -> ShepardDisplay:
        """Count pairs by their distances in the data and in the map.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for metric="precomputed"
            Data, or the distances between its rows.
        Y : array-like of shape (n, n_components)
            Map.
        metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
            Distance between rows of `X`.
        max_pairs : int, default=200000
            If there are more pairs, so many are drawn at random.
        random_state : int, RandomState, Generator or None, default=0
            Draws the pairs.

        Returns
        -------
        ShepardDisplay
            Ready to `plot`.
        """
        return cls(count_pairs(X, Y, metric=metric, max_pairs=max_pairs, random_state=random_state))

    def plot(
        self, ax: Axes | None = None, *, theme: str = "auto", cmap: Any = "cividis", colorbar: bool = True
    ) -> ShepardDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        cmap : str or Colormap, default="cividis"
            Colours of the counts, on a logarithmic scale.
        colorbar : bool, default=True
            Whether to add a colour bar, which takes its room from `ax`.

        Returns
        -------
        ShepardDisplay
            Itself, with `ax_`, `figure_` and `artists_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        import_extra("matplotlib", extra="plot", purpose="ShepardDisplay.plot")
        if ax is None:
            ax = new_axes("ShepardDisplay.plot", (6.0, 4.6))
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        self.artists_ = draw_pairs_of_distances(ax, self.data, cmap, theme=chosen, colorbar=colorbar)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def draw_pairs_of_distances(ax: Any, data: Shepard, cmap: Any, *, theme: Theme, colorbar: bool) -> list[Any]:
    """Draw counted pairs and their median."""
    colors = import_extra("matplotlib.colors", extra="plot", purpose="a Shepard diagram")
    cells = np.ma.masked_equal(data.counts.T, 0)
    norm = colors.LogNorm(1, max(int(data.counts.max()), 2))
    image = ax.pcolormesh(data.x_edges, data.y_edges, cells, cmap=cmap, norm=norm, rasterized=True)
    # White under black stays visible on every colour of the image, and on both backgrounds.
    line = ax.plot(*data.medians.T, color="white", linewidth=3.4)
    line += ax.plot(*data.medians.T, color="black", linewidth=1.6, label="median")
    ax.set_xlabel("distance in the data", color=theme.text)
    ax.set_ylabel("distance in the map", color=theme.text)
    told = f"rank correlation {data.goodness:.3f}, stress {data.stress:.3f}"
    ax.set_title(f"Shepard diagram of {data.n_pairs:,} pairs\n{told}", fontsize="medium", color=theme.text)
    ax.legend([tuple(line)], ["median"], loc="upper left", frameon=False, labelcolor=theme.text, handlelength=1.6)
    ax.spines[["top", "right"]].set_visible(False)
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax)
        bar.set_label("pairs", color=theme.text)
        bar.ax.tick_params(which="both", colors=theme.muted, labelcolor=theme.text)
        bar.outline.set_visible(False)
    return [image, *line]
