"""Pictures of a map's quality: rank curves of several maps, the Shepard diagram, the co-ranking matrix.

* Curves: R_NX(K), the gain over a random map in neighbourhoods of K points, over the logarithm of K. The area under it
  is `manifolia.metrics.auc_r_nx`; a random map runs along 0.
* Shepard diagram: how often pairs with one distance in the data have which distance in the map, with the median.
  A map that keeps the order of distances rises steadily.
* Co-ranking matrix: how many times more often than by chance the point of rank k in the data has rank l in the map.
  Ranks are gathered in cells that grow with them, so that small neighbourhoods can be seen. A perfect map has all on
  the diagonal; to the left of it are intrusions (near in the map, far in the data), to the right extrusions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.random import as_generator, as_seed
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_map, check_matrix, check_number, check_option
from manifolia.show._style import apply_theme, plain, resolve_theme
from manifolia.show.palette import DARK, Theme, class_colors
from manifolia.show.shepard_display import Shepard, count_pairs, draw_pairs_of_distances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Coranking", "Curves", "MetricsDisplay", "Shepard"]

#: So many colours. Lines differ in their dashes too, so that more of them, or a grey print, stay legible.
_N_COLORS = 7
_DASHES = ("-", "--", "-.", ":")


class Curves(NamedTuple):
    """R_NX or Q_NX of several maps."""

    name: str  # Which curve
    values: dict[str, FloatArray]  # (n - 2,): for each map its curve over K = 1 … n − 2
    low: dict[str, FloatArray]  # (n - 2,): 95 % intervals, equal to the curve where it is exact
    high: dict[str, FloatArray]  # (n - 2,): 95 % intervals, equal to the curve where it is exact
    areas: dict[str, float]  # For each map its `auc_r_nx`
    baseline: FloatArray  # (n - 2,): what a random map has


class Coranking(NamedTuple):
    """The co-ranking matrix in cells."""

    # (n_cells, n_cells): pairs in a cell, by rank in the data (rows) and in the map (columns), divided by what a random
    # map has
    ratios: FloatArray
    edges: IntArray  # (n_cells + 1,): ranks at which the cells begin; the last is n
    n: int  # Number of points that were ranked


class MetricsDisplay:
    """A picture of a map's quality; make one with `from_curves`, `from_shepard`, `from_coranking` or `from_estimator`.

    Parameters
    ----------
    data : Curves, Shepard or Coranking
        What to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    artists_ : list
        After `plot`: the lines, or the image and its lines.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import MetricsDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> display = MetricsDisplay.from_curves(X, {"first two": X[:, :2], "all": X})
    >>> display.data.areas["all"]
    1.0
    """

    def __init__(self, data: Curves | Shepard | Coranking) -> None:
        self.data = data

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, *, kind: str = "curves", **options: Any) -> MetricsDisplay:
        """Judge the map of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with an ``embedding_``.
        X : array-like of shape (n, d)
            The data it was fitted on.
        kind : {"curves", "shepard", "coranking"}, default="curves"
            Which picture.
        **options : object
            Passed on to `from_curves`, `from_shepard` or `from_coranking`.

        Returns
        -------
        MetricsDisplay
            Ready to `plot`.
        """
        check_option(kind, "kind", ("curves", "shepard", "coranking"))
        check_is_fitted(estimator, "embedding_")
        Y = estimator.embedding_
        if kind == "curves":
            return cls.from_curves(X, {type(estimator).__name__: Y}, **options)
        return cls.from_shepard(X, Y, **options) if kind == "shepard" else cls.from_coranking(X, Y, **options)

    @classmethod
    def from_curves(
        cls,
        X: ArrayLike,
        maps: Mapping[str, ArrayLike] | ArrayLike,
        *,
        curve: str = "r_nx",
        metric: str = "euclidean",
        sample: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> MetricsDisplay:
        """Compute the rank curves of one or several maps of the same data.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for metric="precomputed"
            Data, or the distances between its rows.
        maps : mapping of str to array-like of shape (n, n_components), or one such array
            Maps by name, in the order in which they are drawn.
        curve : {"r_nx", "q_nx"}, default="r_nx"
            The gain over a random map, or the share of kept neighbours.
        metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
            Distance between rows of `X`.
        sample : int, default=None
            Estimate from so many rows, the same for all maps; None is exact.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the sample.
        n_jobs : int or None, default=None
            Threads; the result does not depend on it.

        Returns
        -------
        MetricsDisplay
            Ready to `plot`.
        """
        from manifolia.metrics.coranking import coranking_scores, random_baseline

        check_option(curve, "curve", ("r_nx", "q_nx"))
        named = dict(maps) if isinstance(maps, Mapping) else {"map": maps}
        if not named:
            message = "maps is empty. Pass one map, or several by name: {'t-SNE': Y1, 'UMAP': Y2}."
            raise ValueError(message)
        seed = as_seed(random_state)
        found = {
            str(name): coranking_scores(
                X, Y, names=(curve, "auc_r_nx"), metric=metric, sample=sample, random_state=seed, n_jobs=n_jobs
            )
            for name, Y in named.items()
        }
        curves = {name: scores[curve] for name, scores in found.items()}
        n = next(iter(curves.values())).value.shape[0] + 2
        return cls(
            Curves(
                curve,
                values={name: estimate.value for name, estimate in curves.items()},
                low={name: estimate.low for name, estimate in curves.items()},
                high={name: estimate.high for name, estimate in curves.items()},
                areas={name: float(scores["auc_r_nx"].value) for name, scores in found.items()},
                baseline=random_baseline(n) if curve == "q_nx" else np.zeros(n - 2),
            )
        )

    @classmethod
    def from_shepard(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        metric: str = "euclidean",
        max_pairs: int = 200_000,
        random_state: RandomState = 0,
    ) -> MetricsDisplay:
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
        MetricsDisplay
            Ready to `plot`.
        """
        return cls(count_pairs(X, Y, metric=metric, max_pairs=max_pairs, random_state=random_state))

    @classmethod
    def from_coranking(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        metric: str = "euclidean",
        max_points: int = 2_000,
        max_cells: int = 60,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> MetricsDisplay:
        """Compute the co-ranking matrix and gather it in cells.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) for metric="precomputed"
            Data, or the distances between its rows.
        Y : array-like of shape (n, n_components)
            Map.
        metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
            Distance between rows of `X`.
        max_points : int, default=2000
            If there are more points, so many are drawn at random and ranked among themselves.
        max_cells : int, default=60
            Cells on a side at most.
        random_state : int, RandomState, Generator or None, default=0
            Draws the points.
        n_jobs : int or None, default=None
            Threads; the result does not depend on it.

        Returns
        -------
        MetricsDisplay
            Ready to `plot`.
        """
        from manifolia.metrics.coranking import coranking_matrix

        check_number(max_points, "max_points", low=3, integer=True)
        check_number(max_cells, "max_cells", low=2, integer=True)
        data = check_matrix(X, min_rows=3)
        n = data.shape[0]
        coordinates = check_map(Y, n_rows=n)
        if n > max_points:
            rows = np.sort(as_generator(random_state).choice(n, max_points, replace=False))
            data = data[np.ix_(rows, rows)] if metric == "precomputed" else data[rows]
            coordinates, n = coordinates[rows], max_points
        Q = coranking_matrix(data, coordinates, metric=metric, n_jobs=n_jobs)
        edges = _rank_edges(n, max_cells)
        pairs = np.add.reduceat(np.add.reduceat(Q, edges[:-1] - 1, axis=0, dtype=np.int64), edges[:-1] - 1, axis=1)
        widths = np.diff(edges)
        chance = np.outer(widths, widths) * (n / (n - 1))  # every entry of a random map's matrix has n / (n − 1)
        return cls(Coranking(pairs / chance, edges, n))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        theme: str = "auto",
        cmap: Any = "cividis",
        legend: bool = True,
        colorbar: bool = True,
    ) -> MetricsDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        cmap : str or Colormap, default="cividis"
            Colours of the Shepard diagram and of the co-ranking matrix; the default reads the same with any colour
            vision and in grey.
        legend : bool, default=True
            Whether curves are named in a legend, with their areas.
        colorbar : bool, default=True
            Whether to add a colour bar, which takes its room from `ax`.

        Returns
        -------
        MetricsDisplay
            Itself, with `ax_`, `figure_` and `artists_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        colors = import_extra("matplotlib.colors", extra="plot", purpose="MetricsDisplay.plot")
        if ax is None:
            ax = import_extra("matplotlib.pyplot", extra="plot", purpose="MetricsDisplay.plot").subplots()[1]
        chosen = resolve_theme(theme, ax)
        apply_theme(ax, chosen, backgrounds=theme != "auto")
        if isinstance(self.data, Curves):
            self.artists_ = _draw_curves(ax, self.data, chosen, legend=legend)
        elif isinstance(self.data, Shepard):
            self.artists_ = draw_pairs_of_distances(ax, self.data, cmap, theme=chosen, colorbar=colorbar)
        else:
            self.artists_ = _draw_coranking(ax, self.data, colors, cmap, chosen, colorbar=colorbar)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _rank_edges(n: int, max_cells: int) -> IntArray:
    """Ranks 1 … n − 1 cut into cells that grow in proportion to the rank; small ranks have a cell each."""
    edges = np.unique(np.round(np.geomspace(1, n, max_cells + 1)).astype(np.int64))
    return edges if edges.shape[0] > 2 else np.array([1, n])


def _draw_curves(ax: Any, data: Curves, theme: Theme, *, legend: bool) -> list[Any]:
    artists = []
    names = ["random map"]
    colors = class_colors(_N_COLORS, dark=theme is DARK)
    for place, (name, values) in enumerate(data.values.items()):
        sizes = np.arange(1, values.shape[0] + 1)
        color = colors[place % _N_COLORS]
        dashes = _DASHES[place % len(_DASHES)]  # 7 and 4 have no common factor: 28 different lines
        names.insert(place, f"{name} ({data.areas[name]:.3f})")
        artists += ax.plot(sizes, values, color=color, linestyle=dashes, linewidth=1.8)
        if (data.low[name] < data.high[name]).any():
            ax.fill_between(sizes, data.low[name], data.high[name], color=color, alpha=0.2, linewidth=0)
    n = data.baseline.shape[0] + 2
    artists += ax.plot(np.arange(1, n - 1), data.baseline, color="0.5", linewidth=1.0)
    top = {"r_nx": "$R_{NX}(K)$: gain over a random map", "q_nx": "$Q_{NX}(K)$: share of neighbours kept"}[data.name]
    ax.set_xscale("log")
    ax.set(xlim=(1, max(n - 2, 2)), xlabel="size of neighbourhood $K$", ylabel=top)
    ax.set_ylim(top=1.02)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        title = "area under $R_{NX}$ in brackets"
        stand_ins = ["map"] * len(artists)  # a name that begins with "_" would be left out
        box = ax.legend(
            artists,
            stand_ins,
            frameon=False,
            title=title,
            title_fontsize="small",
            fontsize="small",
            labelcolor=theme.text,
        )
        box.get_title().set_color(theme.text)
        for text, name in zip(box.get_texts(), names, strict=True):
            plain(text)
            text.set_text(name)
    return artists


def _draw_coranking(ax: Any, data: Coranking, colors: Any, cmap: Any, theme: Theme, *, colorbar: bool) -> list[Any]:
    cells = np.ma.masked_equal(data.ratios, 0)
    top = max(float(data.ratios.max()), 2.0)
    norm = colors.LogNorm(1 / top, top)  # chance in the middle
    image = ax.pcolormesh(data.edges, data.edges, cells, cmap=cmap, norm=norm, rasterized=True)
    line = ax.plot([1, data.n], [1, data.n], color="black", linewidth=0.8)
    ax.set(xscale="log", yscale="log", xlim=(1, data.n), ylim=(data.n, 1), aspect="equal")
    ax.set(xlabel="rank in the map", ylabel="rank in the data")
    ax.set_title(f"Co-ranking matrix of {data.n:,} points", fontsize="medium")
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
        bar.set_label("pairs, as a multiple of chance", color=theme.text)
        bar.ax.tick_params(which="both", colors=theme.muted, labelcolor=theme.text)
    return [image, *line]
