"""Pictures of a map's quality: rank curves of several maps, the co-ranking matrix, the Shepard diagram.

* `MetricsDisplay`: R_NX(K), the gain over a random map in neighbourhoods of K points, over the logarithm of K. The area
  under it is `manifolia.metrics.auc_r_nx`; a random map runs along 0.
* `CorankingDisplay`: how many times more often than by chance the point of rank k in the data has rank l in the map.
  Ranks are gathered in cells that grow with them, so that small neighbourhoods can be seen. A perfect map has all on
  the diagonal; to the left of it are intrusions (near in the map, far in the data), to the right extrusions.
* `ShepardDisplay`: how often pairs with one distance in the data have which distance in the map, with the median. A map
  that keeps the order of distances rises steadily; one that keeps distances is a straight line through 0. Pairs are
  counted in cells rather than drawn: a million overlapping points show only their outline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifolia._core.pipelines import last_step
from manifolia._core.random import as_generator, as_seed
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_map, check_matrix, check_number, check_option
from manifolia.exceptions import ParameterError
from manifolia.show._style import Axes, Display, color_bar, matplotlib_part, plain_legend
from manifolia.show.palette import DARK, class_colors

#: Number of colours. Lines also differ in their dashes, so that more of them, or a grey print, stay legible.
_N_COLORS = 7
_DASHES = ("-", "--", "-.", ":")
_CURVES = {"r_nx": "$R_{NX}(K)$: gain over a random map", "q_nx": "$Q_{NX}(K)$: share of neighbours kept"}
_CELLS = 80
_MEDIANS = 40


@dataclass(eq=False, repr=False)
class MetricsDisplay(Display):
    """Rank curves of one or several maps; make one with `from_data` or `from_estimator`.

    Parameters
    ----------
    curve : str
        Which curve: "r_nx" or "q_nx".
    values : dict of str to ndarray of shape (n - 2,)
        For each map its curve over K = 1 … n − 2.
    low, high : dict of str to ndarray of shape (n - 2,)
        95 % intervals, equal to the curve where it is exact.
    areas : dict of str to float
        For each map its `auc_r_nx`.
    baseline : ndarray of shape (n - 2,)
        The curve of a random map.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    artists_ : list
        After `plot`: the lines.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import MetricsDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> display = MetricsDisplay.from_data(X, {"first two": X[:, :2], "all": X})
    >>> display.areas["all"]
    1.0
    """

    curve: str
    values: dict[str, FloatArray]
    low: dict[str, FloatArray]
    high: dict[str, FloatArray]
    areas: dict[str, float]
    baseline: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, **options: Any) -> MetricsDisplay:
        """Judge the map of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with an ``embedding_``; of a pipeline, its last step.
        X : array-like of shape (n, d)
            The data it was fitted on.
        **options : object
            Passed on to `from_data`.

        Returns
        -------
        MetricsDisplay
            Ready to `plot`.
        """
        name, Y = _map_of(estimator)
        return cls.from_data(X, {name: Y}, **options)

    @classmethod
    def from_data(
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
            Estimate from this many rows, the same for all maps; None is exact.
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

        check_option(curve, "curve", tuple(_CURVES))
        named = dict(maps) if isinstance(maps, Mapping) else {"map": maps}
        if not named:
            raise ParameterError(
                "maps is empty. Pass one map, or several by name: {'t-SNE': Y1, 'UMAP': Y2}.", parameter="maps"
            )
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
            curve,
            values={name: estimate.value for name, estimate in curves.items()},
            low={name: estimate.low for name, estimate in curves.items()},
            high={name: estimate.high for name, estimate in curves.items()},
            areas={name: float(scores["auc_r_nx"].value) for name, scores in found.items()},
            baseline=random_baseline(n) if curve == "q_nx" else np.zeros(n - 2),
        )

    def plot(self, ax: Axes | None = None, *, theme: str = "auto", legend: bool = True) -> MetricsDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        legend : bool, default=True
            Whether curves are named in a legend, with their areas.

        Returns
        -------
        MetricsDisplay
            Itself, with `ax_`, `figure_` and `artists_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        ax, chosen = self._open(ax, theme, hide=("top", "right"))
        self.artists_: list[Any] = []
        names = ["random map"]
        colors = class_colors(_N_COLORS, dark=chosen is DARK)
        for place, (name, values) in enumerate(self.values.items()):
            sizes = np.arange(1, values.shape[0] + 1)
            color = colors[place % _N_COLORS]
            dashes = _DASHES[place % len(_DASHES)]  # 7 and 4 have no common factor: 28 different lines
            names.insert(place, f"{name} ({self.areas[name]:.3f})")
            self.artists_ += ax.plot(sizes, values, color=color, linestyle=dashes, linewidth=1.8)
            if (self.low[name] < self.high[name]).any():
                ax.fill_between(sizes, self.low[name], self.high[name], color=color, alpha=0.2, linewidth=0)
        n = self.baseline.shape[0] + 2
        self.artists_ += ax.plot(np.arange(1, n - 1), self.baseline, color="0.5", linewidth=1.0)
        ax.set_xscale("log")
        ax.set(xlim=(1, max(n - 2, 2)), xlabel="size of neighbourhood $K$", ylabel=_CURVES[self.curve])
        ax.set_ylim(top=1.02)
        if legend:
            small: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small"}
            box = plain_legend(ax, self.artists_, names, chosen, title="area under $R_{NX}$ in brackets", **small)
            box.get_title().set_color(chosen.text)
        return self


@dataclass(eq=False, repr=False)
class CorankingDisplay(Display):
    """The co-ranking matrix of a map; make one with `from_data` or `from_estimator`.

    Parameters
    ----------
    ratios : ndarray of shape (n_cells, n_cells)
        Pairs in a cell, by rank in the data (rows) and in the map (columns), divided by what a random map has.
    edges : ndarray of int of shape (n_cells + 1,)
        Ranks at which the cells begin; the last is `n`.
    n : int
        Number of points that were ranked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    artists_ : list
        After `plot`: the image and the line of equal ranks.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.show import CorankingDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> CorankingDisplay.from_data(X, X[:, :2]).n
    50
    """

    ratios: FloatArray
    edges: IntArray
    n: int

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, **options: Any) -> CorankingDisplay:
        """Judge the map of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with an ``embedding_``; of a pipeline, its last step.
        X : array-like of shape (n, d)
            The data it was fitted on.
        **options : object
            Passed on to `from_data`.

        Returns
        -------
        CorankingDisplay
            Ready to `plot`.
        """
        return cls.from_data(X, _map_of(estimator)[1], **options)

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        metric: str = "euclidean",
        max_points: int = 2_000,
        max_cells: int = 60,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> CorankingDisplay:
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
            If there are more points, this many are drawn at random and ranked among themselves.
        max_cells : int, default=60
            Maximum number of cells per side.
        random_state : int, RandomState, Generator or None, default=0
            Seed for drawing the points.
        n_jobs : int or None, default=None
            Threads; the result does not depend on it.

        Returns
        -------
        CorankingDisplay
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
        return cls(pairs / chance, edges, n)

    def plot(
        self, ax: Axes | None = None, *, theme: str = "auto", cmap: Any = "cividis", colorbar: bool = True
    ) -> CorankingDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        cmap : str or Colormap, default="cividis"
            Colours of the cells; the default reads the same with any colour vision and in grey.
        colorbar : bool, default=True
            Whether to add a colour bar, which takes its space from `ax`.

        Returns
        -------
        CorankingDisplay
            Itself, with `ax_`, `figure_` and `artists_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        ax, chosen = self._open(ax, theme)
        cells = np.ma.masked_equal(self.ratios, 0)
        top = max(float(self.ratios.max()), 2.0)
        norm = matplotlib_part("colors").LogNorm(1 / top, top)  # chance in the middle
        image = ax.pcolormesh(self.edges, self.edges, cells, cmap=cmap, norm=norm, rasterized=True)
        line = ax.plot([1, self.n], [1, self.n], color="black", linewidth=0.8)
        ax.set(xscale="log", yscale="log", xlim=(1, self.n), ylim=(self.n, 1), aspect="equal")
        ax.set(xlabel="rank in the map", ylabel="rank in the data")
        ax.set_title(f"Co-ranking matrix of {self.n:,} points", fontsize="medium")
        if colorbar:
            color_bar(ax, image, "pairs, as a multiple of chance", chosen, shrink=0.8)
        self.artists_ = [image, *line]
        return self


@dataclass(eq=False, repr=False)
class ShepardDisplay(Display):
    """Picture of how a map keeps distances; make one with `from_data` or `from_estimator`.

    Parameters
    ----------
    counts : ndarray of int of shape (n_cells, n_cells)
        Pairs, by distance in the data (rows) and in the map (columns).
    x_edges, y_edges : ndarray of shape (n_cells + 1,)
        Borders of the cells in the data and in the map.
    medians : ndarray of shape (n_medians, 2)
        Median distance in the data and in the map of pairs with similar distances in the data.
    goodness : float
        Spearman's correlation of these pairs.
    n_pairs : int
        Number of pairs.
    stress : float
        Their normalised stress at the best scale, as `manifolia.metrics.normalized_stress`; 1 for a map without extent.

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
    >>> ShepardDisplay.from_data(X, 2 * X).goodness
    1.0
    """

    counts: IntArray
    x_edges: FloatArray
    y_edges: FloatArray
    medians: FloatArray
    goodness: float
    n_pairs: int
    stress: float

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
        return cls.from_data(X, _map_of(estimator)[1], **options)

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
            If there are more pairs, this many are drawn at random.
        random_state : int, RandomState, Generator or None, default=0
            Seed for drawing the pairs.

        Returns
        -------
        ShepardDisplay
            Ready to `plot`.
        """
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
        return cls(counts.astype(np.int64), x_edges, y_edges, medians, goodness, a.shape[0], stress)

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
            Whether to add a colour bar, which takes its space from `ax`.

        Returns
        -------
        ShepardDisplay
            Itself, with `ax_`, `figure_` and `artists_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        ax, chosen = self._open(ax, theme, (6.0, 4.6), hide=("top", "right"))
        cells = np.ma.masked_equal(self.counts.T, 0)
        norm = matplotlib_part("colors").LogNorm(1, max(int(self.counts.max()), 2))
        image = ax.pcolormesh(self.x_edges, self.y_edges, cells, cmap=cmap, norm=norm, rasterized=True)
        # White under black stays visible on every colour of the image, and on both backgrounds.
        line = ax.plot(*self.medians.T, color="white", linewidth=3.4)
        line += ax.plot(*self.medians.T, color="black", linewidth=1.6, label="median")
        ax.set_xlabel("distance in the data", color=chosen.text)
        ax.set_ylabel("distance in the map", color=chosen.text)
        numbers = f"rank correlation {self.goodness:.3f}, stress {self.stress:.3f}"
        ax.set_title(f"Shepard diagram of {self.n_pairs:,} pairs\n{numbers}", fontsize="medium", color=chosen.text)
        ax.legend([tuple(line)], ["median"], loc="upper left", frameon=False, labelcolor=chosen.text, handlelength=1.6)
        if colorbar:
            color_bar(ax, image, "pairs", chosen).outline.set_visible(False)
        self.artists_ = [image, *line]
        return self


def _stress(high: FloatArray, low: FloatArray) -> float:
    """√(Σ (d − α e)² / Σ d²) with the scale α = Σ d e / Σ e² that makes it smallest."""
    extent, size = float(low @ low), float(high @ high)
    if size == 0.0:
        return 0.0 if extent == 0.0 else 1.0
    scale = float(high @ low) / extent if extent else 0.0
    rest = high - scale * low
    return float(np.sqrt(rest @ rest / size))


def _rank_edges(n: int, max_cells: int) -> IntArray:
    """Ranks 1 … n − 1 cut into cells that grow in proportion to the rank; each small rank has its own cell."""
    edges = np.unique(np.round(np.geomspace(1, n, max_cells + 1)).astype(np.int64))
    return edges if edges.shape[0] > 2 else np.array([1, n])


def _map_of(estimator: Any) -> tuple[str, FloatArray]:
    """Name and map of a fitted estimator."""
    last = last_step(estimator)
    check_is_fitted(last, "embedding_")
    return type(last).__name__, last.embedding_
