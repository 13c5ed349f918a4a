"""What a forest says about rows: proximities, outliers, prototypes, evidence, imputed values, and the walk over them.

* `ProximityDisplay`: rows of one class are together, in the order of the data: sorting them by their own proximities
  would draw a pattern into noise. A matrix of many rows is averaged over cells, so that no entry is lost between the
  pixels; cells never straddle the border of two classes. A row's proximity to itself says nothing about other rows and
  is left out.
* `EntropyDisplay`: the entropy falls fast while steps remove noise and slowly once they remove structure; the knee lies
  in between. If the map places rows through the leaves of a forest, placing is itself a step: the walk takes one step
  less than the knee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.pipelines import last_step
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, Sparse
from manifolia._core.validate import check_is_fitted, check_labels, check_map, check_matrix, check_number
from manifolia.exceptions import ParameterError
from manifolia.forest.tools import Evidence, Imputed, Prototype, evidence, outlier_scores, prototypes
from manifolia.operators.entropy import choose_t
from manifolia.show._features import name_features
from manifolia.show._style import (
    UNDERLINED,
    Axes,
    Display,
    legend_beside,
    matplotlib_part,
    name_ticks,
    point_size,
    shorten,
)
from manifolia.show.palette import DARK, class_colors

_GAMMA = 0.5  # square root: proximities between classes, some thirty times smaller than within, stay visible
_BRIGHTEST = 0.999  # share of the cells below the end of the scale: a few rows near each other do not set it
_LIMIT = 10.0  # above this Breiman and Cutler call a row an outlier
_NAMED = 3  # rows of a class that are named
_NAME = 24  # characters of a class or feature
_WIDEST = 5.0  # points: a line of weight 1
_SHOWN = 4  # times the knee: beyond that, the curve only continues
_SHOWN_LEAST = 20


@dataclass(eq=False, repr=False)
class ProximityDisplay(Display):
    """Heat map of proximities ordered by class; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    cells : ndarray of shape (n_cells, n_cells)
        Mean proximity of each cell.
    edges : ndarray of int of shape (n_cells + 1,)
        Rows, in drawing order, at which the cells begin and end.
    order : ndarray of int of shape (n,)
        The rows of the matrix in drawing order.
    class_names : ndarray of shape (n_classes,)
        The classes in drawing order.
    class_edges : ndarray of int of shape (n_classes + 1,)
        Rows, in drawing order, at which the classes begin and end.
    class_shares : ndarray of shape (n_classes, n_classes)
        Share of the proximity from the rows of a class to all other rows that goes to each class; rows sum to 1. For
        RF-GAP this is the forest's mean out-of-bag vote for each class.
    title : str, default="proximity"
        What is drawn; labels the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where the map was drawn.
    image_ : matplotlib artist
        After `plot`: the cells.
    """

    cells: FloatArray
    _: KW_ONLY
    edges: IntArray
    order: IntArray
    class_names: Array
    class_edges: IntArray
    class_shares: FloatArray
    title: str = "proximity"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        kind: str = "gap",
        max_cells: int = 400,
        n_jobs: int | None = None,
    ) -> ProximityDisplay:
        """Compute the proximities of a fitted forest and arrange them.

        Parameters
        ----------
        estimator : scikit-learn forest
            Fitted on `X`.
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            The rows that the forest was trained on.
        y : array-like of shape (n,)
            The class of each row; not necessarily what the forest was trained on.
        kind : {"gap", "gap-sym", "oob", "original", "kerf", "path"}, default="gap"
            The proximity, as for `manifolia.forest.proximity`.
        max_cells : int, default=400
            As for `from_data`.
        n_jobs : int or None, default=None
            Threads; None is all cores.

        Returns
        -------
        ProximityDisplay
            Ready to `plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from manifolia.show import ProximityDisplay
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> ProximityDisplay.from_estimator(forest, X, y).class_shares.shape
        (3, 3)
        """
        from manifolia.forest.proximities import proximity

        K = proximity(estimator, X, kind=kind, n_jobs=n_jobs)
        return cls.from_data(K, y, max_cells=max_cells, title=f"{kind} proximity")

    @classmethod
    def from_data(
        cls, K: ArrayLike, y: ArrayLike, *, max_cells: int = 400, title: str = "proximity"
    ) -> ProximityDisplay:
        """Arrange a matrix of proximities.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities, none negative; need not be symmetric. Never made dense.
        y : array-like of shape (n,)
            The class of each row.
        max_cells : int, default=400
            Approximate maximum number of cells per side; a class has at least one. With fewer rows each row is a cell.
        title : str, default="proximity"
            What the proximities are.

        Returns
        -------
        ProximityDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If `K` is not square or has negative entries, or the number of labels is not that of the rows.
        """
        matrix = sp.csr_array(check_matrix(K, name="K", accept_sparse=True), dtype=np.float64)
        n = matrix.shape[0]
        if matrix.shape[1] != n:
            raise ParameterError(
                f"K must be square, the same rows on both sides, got shape {matrix.shape}.", parameter="K"
            )
        if matrix.nnz and matrix.data.min() < 0:
            raise ParameterError(
                f"K must not be negative, got {matrix.data.min():g}. Pass proximities, not distances.", parameter="K"
            )
        max_cells = check_number(max_cells, "max_cells", low=1, integer=True)
        labels = check_labels(y, n_rows=n)
        names, codes = np.unique(labels, return_inverse=True)
        codes = codes.ravel()
        matrix = matrix - sp.diags_array(matrix.diagonal(), format="csr")
        order = np.argsort(codes, kind="stable")
        class_edges = np.concatenate([[0], np.cumsum(np.bincount(codes))])
        edges = _cell_edges(class_edges, max_cells)
        members = _groups(codes, len(names))
        given = (members.T @ (matrix @ members)).toarray()
        totals = given.sum(axis=1, keepdims=True)
        return cls(
            _cell_means(matrix, order, edges),
            edges=edges,
            order=order,
            class_names=names,
            class_edges=class_edges,
            class_shares=np.divide(given, totals, out=np.zeros_like(given), where=totals > 0),
            title=title,
        )

    def plot(
        self, ax: Axes | None = None, *, cmap: Any = "magma_r", line_color: Any = "0.6", colorbar: bool = True
    ) -> ProximityDisplay:
        """Draw the heat map with the borders of the classes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        cmap : str or Colormap, default="magma_r"
            Colours on a square-root scale, from 0 to the value that one cell in a thousand exceeds.
        line_color : colour, default="0.6"
            Colour of the borders between classes.
        colorbar : bool, default=True
            Whether to add a colour bar, which takes its space from `ax`.

        Returns
        -------
        ProximityDisplay
            Itself, with `ax_` and `image_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        ax = self._new_figure(None).add_subplot() if ax is None else ax
        top = float(np.quantile(self.cells, _BRIGHTEST) or self.cells.max()) or 1.0  # the end of the colour scale
        norm = matplotlib_part("colors").PowerNorm(_GAMMA, vmin=0.0, vmax=top)
        image = ax.pcolorfast(self.edges, self.edges, self.cells, cmap=cmap, norm=norm)
        for edge in self.class_edges[1:-1]:
            ax.axhline(edge, color=line_color, linewidth=0.6)
            ax.axvline(edge, color=line_color, linewidth=0.6)
        n = self.edges[-1]
        centres = (self.class_edges[:-1] + self.class_edges[1:]) / 2
        ax.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xlabel="to row j, by class", ylabel="from row i, by class")
        for axis in (ax.xaxis, ax.yaxis):
            name_ticks(axis, centres, self.class_names, _NAME)
        if colorbar:
            extend = "max" if self.cells.max() > image.norm.vmax else "neither"
            ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend, label=f"mean {self.title}")
        self.ax_, self.figure_, self.image_ = ax, ax.figure, image
        return self


def _groups(codes: IntArray, n_groups: int) -> Sparse:
    """Indicator of shape (n, n_groups): 1 where a row belongs to a group."""
    n = codes.shape[0]
    return sp.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, n_groups))


def _cell_edges(class_edges: IntArray, max_cells: int) -> IntArray:
    """Cut every class into cells of nearly equal height, in proportion to its rows."""
    sizes = np.diff(class_edges)
    n_cells = np.clip(np.round(sizes / class_edges[-1] * max_cells).astype(int), 1, sizes)
    cuts = [start + np.arange(m) * size // m for start, size, m in zip(class_edges, sizes, n_cells, strict=False)]
    return np.concatenate([*cuts, class_edges[-1:]])


def _cell_means(matrix: Sparse, order: IntArray, edges: IntArray) -> FloatArray:
    """Average over the pairs of different rows of each cell; 0 where there is none."""
    heights = np.diff(edges)
    cell = np.empty(order.shape[0], dtype=np.intp)
    cell[order] = np.repeat(np.arange(heights.shape[0]), heights)
    groups = _groups(cell, heights.shape[0])
    total = (groups.T @ (matrix @ groups)).toarray()
    n_pairs = np.outer(heights, heights) - np.diag(heights)
    return np.divide(total, n_pairs, out=np.zeros_like(total), where=n_pairs > 0)


@dataclass(eq=False, repr=False)
class OutlierDisplay(Display):
    """Outlier scores, one column of points for each class; make one with `from_data`.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        From `manifolia.forest.outlier_scores`.
    labels : ndarray of shape (n,)
        Classes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    named_ : list of int
        After `plot`: rows whose number is written beside their point.
    """

    scores: FloatArray
    labels: Array

    @classmethod
    def from_data(cls, K: ArrayLike, y: ArrayLike) -> OutlierDisplay:
        """Score the rows of a matrix of proximities.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities, such as those of `manifolia.forest.proximity`.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        OutlierDisplay
            Ready to `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from manifolia.show import OutlierDisplay
        >>> display = OutlierDisplay.from_data(np.ones((6, 6)), ["a"] * 3 + ["b"] * 3)
        >>> display.scores.shape
        (6,)
        """
        return cls(outlier_scores(K, y), check_labels(y))

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> OutlierDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        OutlierDisplay
            Itself, with `ax_` and `named_`. An infinite score is drawn as a triangle on top.
        """
        classes = np.unique(self.labels)
        width = float(np.clip(2.0 + 0.8 * len(classes), 4.0, 14.0))
        ax, chosen = self._open(ax, theme, (width, 4.2), hide=("top", "right"))
        finite = self.scores[np.isfinite(self.scores)]
        top = 1.08 * max(float(finite.max(initial=0.0)), 1.2 * _LIMIT)
        colors = class_colors(len(classes), dark=chosen is DARK)
        self.named_ = []
        for place, (label, color) in enumerate(zip(classes, colors, strict=True)):
            rows = np.flatnonzero(self.labels == label)
            order = rows[np.argsort(-self.scores[rows], kind="stable")]
            height = np.minimum(self.scores[rows], top)
            # Points of a class side by side in the order of the data, so that they do not hide each other.
            across = place + 0.6 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
            lost = np.isinf(self.scores[rows])
            ax.scatter(across[~lost], height[~lost], s=10, color=color, alpha=0.7, linewidths=0)
            ax.scatter(across[lost], height[lost], s=22, color=color, marker="^", linewidths=0)
            for row in order[:_NAMED]:
                if self.scores[row] > _LIMIT:
                    at = np.flatnonzero(rows == row)[0]
                    spot = (across[at], min(self.scores[row], top))
                    ax.annotate(str(row), spot, xytext=(4, 0), textcoords="offset points", fontsize=7, va="center",
                                color=chosen.text)  # fmt: skip
                    self.named_.append(int(row))
        ax.axhline(_LIMIT, color=chosen.muted, linewidth=0.8, linestyle="--")
        name_ticks(ax.xaxis, range(len(classes)), classes, _NAME, ticks=True)
        ax.set(ylabel="outlier score in its class", xlim=(-0.6, len(classes) - 0.4), ylim=(None, 1.05 * top))
        return self


@dataclass(eq=False, repr=False)
class PrototypeDisplay(Display):
    """Typical rows of each class, feature by feature, with their quartiles; make one with `from_data`.

    Parameters
    ----------
    found : list of Prototype
        From `manifolia.forest.prototypes`.
    names : list of str
        Features.
    centre : ndarray of shape (d,)
        Median of each feature over all rows: the zero of the drawing.
    spread : ndarray of shape (d,)
        Interquartile range over all rows: its unit.
    features : ndarray of int
        Features that are drawn: those in which the prototypes differ most.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    found: list[Prototype]
    names: list[str]
    centre: FloatArray
    spread: FloatArray
    features: IntArray

    @classmethod
    def from_data(
        cls,
        K: ArrayLike,
        X: ArrayLike,
        y: ArrayLike,
        *,
        feature_names: Sequence[Any] | None = None,
        n_prototypes: int = 1,
        top: int = 12,
    ) -> PrototypeDisplay:
        """Find the prototypes.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities.
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Classes.
        feature_names : sequence of str, default=None
            Names of the features.
        n_prototypes : int, default=1
            How many for each class.
        top : int, default=12
            Features to draw.

        Returns
        -------
        PrototypeDisplay
            Ready to `plot`.
        """
        data = check_matrix(X, allow_nan=True).astype(np.float64)
        top = check_number(top, "top", low=1, integer=True)
        found = prototypes(K, data, y, n_prototypes=n_prototypes)
        low, centre, high = np.nanquantile(data, (0.25, 0.5, 0.75), axis=0)
        spread = np.where(high > low, high - low, np.maximum(np.nanstd(data, axis=0), 1e-300))
        names = name_features(X, feature_names, data.shape[1])
        apart = np.ptp(np.array([one.values for one in found]) / spread, axis=0)
        features = np.sort(np.argsort(-apart, kind="stable")[:top])
        return cls(found, names, centre, spread, features)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> PrototypeDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        PrototypeDisplay
            Itself, with `ax_`.
        """
        n = len(self.features)
        ax, chosen = self._open(ax, theme, (6.8, float(np.clip(1.4 + 0.42 * n, 2.6, 14.0))), hide=UNDERLINED)
        labels = list(dict.fromkeys(one.label for one in self.found))
        colors = dict(zip(labels, class_colors(len(labels), dark=chosen is DARK), strict=True))
        named: dict[str, Any] = {}
        for k, one in enumerate(self.found):
            shift = 0.5 * ((k + 0.5) / len(self.found) - 0.5)
            places = np.arange(n) + shift
            low, middle, high = (
                (part[self.features] - self.centre[self.features]) / self.spread[self.features]
                for part in (one.low, one.values, one.high)
            )
            ax.hlines(places, low, high, color=colors[one.label], linewidth=1.6, alpha=0.6)
            dots = ax.scatter(middle, places, s=22, color=colors[one.label], zorder=3, linewidths=0)
            named.setdefault(shorten(one.label, _NAME), dots)
        name_ticks(ax.yaxis, range(n), [self.names[f] for f in self.features], _NAME)
        hidden = len(self.names) - n
        words = "from the median of all rows, in interquartile ranges"
        ax.set(ylim=(n - 0.5, -0.5), xlabel=words + (f"\n{hidden:,} more features" if hidden else ""))
        ax.axvline(0.0, color=chosen.muted, linewidth=0.8)
        legend_beside(ax, named, chosen)
        return self


@dataclass(eq=False, repr=False)
class EvidenceDisplay(Display):
    """A row, and the labelled rows that support its prediction, on the map; make one with `from_data`.

    Parameters
    ----------
    Y : ndarray of shape (n, 2)
        Places of the training rows.
    spot : ndarray of shape (2,)
        Place of the row.
    found : Evidence
        Of all rows.
    row : int
        Which of them is shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    Y: FloatArray
    spot: FloatArray
    found: Evidence
    row: int

    @classmethod
    def from_data(
        cls,
        K: ArrayLike,
        Y: ArrayLike,
        y: ArrayLike,
        row: int,
        *,
        places: ArrayLike | None = None,
        n_neighbors: int = 5,
    ) -> EvidenceDisplay:
        """Look up the evidence of one row.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (m, n)
            Proximities of rows to the n training rows.
        Y : array-like of shape (n, 2)
            The map of the training rows.
        y : array-like of shape (n,)
            Their classes; some may be missing.
        row : int
            Which row of `K`.
        places : array-like of shape (m, 2), default=None
            Places of the rows of `K`; None: they are the training rows.
        n_neighbors : int, default=5
            Number of labelled rows.

        Returns
        -------
        EvidenceDisplay
            Ready to `plot`.
        """
        matrix = check_matrix(K, name="K", accept_sparse=True)
        row = check_number(row, "row", low=0, high=matrix.shape[0] - 1, integer=True)
        Y = check_map(Y, n_rows=matrix.shape[1])
        own = Y if places is None else check_map(places, n_rows=matrix.shape[0], name="places")
        return cls(Y, own[row], evidence(matrix, y, n_neighbors=n_neighbors), row)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> EvidenceDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        EvidenceDisplay
            Itself, with `ax_`. A line is as wide as the row's share of the proximity.
        """
        ax, chosen = self._open(ax, theme, (6.4, 4.6))
        found, classes = self.found, list(self.found.classes)
        colors = dict(zip(classes, class_colors(len(classes), dark=chosen is DARK), strict=True))
        size = point_size(len(self.Y), ax)
        ax.scatter(self.Y[:, 0], self.Y[:, 1], s=size, color=chosen.faint, linewidths=0, zorder=1)
        named: dict[str, Any] = {}
        for other, weight, label in zip(
            found.rows[self.row], found.weights[self.row], found.labels[self.row], strict=True
        ):
            if other < 0:
                continue
            place = self.Y[other, :2]
            width = max(0.8, _WIDEST * weight)
            ax.plot(*np.array([self.spot[:2], place]).T, color=colors[label], linewidth=width, alpha=0.7, zorder=2)
            dot = ax.scatter(place[0], place[1], s=36, color=colors[label], zorder=3, linewidths=0)
            vote = found.votes[self.row][classes.index(label)]
            named.setdefault(f"{shorten(label, _NAME)}: {vote:.0%} of the proximity", dot)
        x, y = self.spot[:2]
        named[f"row {self.row}"] = ax.scatter(x, y, s=110, marker="*", color=chosen.text, zorder=4, linewidths=0)
        ax.set(xticks=[], yticks=[])
        legend_beside(ax, named, chosen)
        return self


@dataclass(eq=False, repr=False)
class ImputationDisplay(Display):
    """Known and imputed values of the columns with most missing values; make one with `from_data`.

    Parameters
    ----------
    values : ndarray of shape (n, c)
        Columns that are drawn, standardised by their known values.
    missing : ndarray of bool of shape (n, c)
        Which were filled in.
    names : list of str
        Of the columns.
    change : ndarray of shape (rounds,)
        Change in each round.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    """

    values: FloatArray
    missing: BoolArray
    names: list[str]
    change: FloatArray

    @classmethod
    def from_data(
        cls, found: Imputed, *, feature_names: Sequence[Any] | None = None, top: int = 8
    ) -> ImputationDisplay:
        """Take the result of `manifolia.forest.impute`.

        Parameters
        ----------
        found : Imputed
            Filled data.
        feature_names : sequence of str, default=None
            Names of the columns.
        top : int, default=8
            Columns to draw: those with most missing values.

        Returns
        -------
        ImputationDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If there was no missing value.
        """
        counts = found.missing.sum(axis=0)
        if not counts.any():
            raise ValueError("nothing was missing, so there is nothing to show.")
        top = check_number(top, "top", low=1, integer=True)
        columns = [f for f in np.argsort(-counts, kind="stable")[:top] if counts[f]]
        known = np.where(found.missing, np.nan, found.X)[:, columns]
        spread = np.nanstd(known, axis=0)
        values = (found.X[:, columns] - np.nanmean(known, axis=0)) / np.where(spread > 0, spread, 1.0)
        names = name_features(None, feature_names, len(counts))
        return cls(values, found.missing[:, columns], [names[f] for f in columns], found.change)

    def plot(self, ax: Axes | None = None, *, theme: str = "auto") -> ImputationDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds.

        Returns
        -------
        ImputationDisplay
            Itself, with `ax_`: known values in grey above the line of a column, imputed ones below.
        """
        n = len(self.names)
        ax, chosen = self._open(ax, theme, (6.6, float(np.clip(1.4 + 0.5 * n, 2.4, 14.0))), hide=UNDERLINED)
        color = class_colors(1, dark=chosen is DARK)[0]
        named: dict[str, Any] = {}
        for place in range(n):
            filled = self.missing[:, place]
            for label, here, shift, paint in (
                ("known", ~filled, -0.16, chosen.muted),
                ("filled in", filled, 0.16, color),
            ):
                values = self.values[here, place]
                # Spread over a narrow band in the order of the data, so that equal values can be told apart.
                across = place + shift + 0.22 * ((np.arange(len(values)) + 0.5) / max(len(values), 1) - 0.5)
                dots = ax.scatter(values, across, s=9, color=paint, alpha=0.6, linewidths=0)
                named.setdefault(label, dots)
        name_ticks(ax.yaxis, range(n), self.names, _NAME)
        last = f"; last change {self.change[-1]:.2g}" if len(self.change) else ""
        ax.set(ylim=(n - 0.5, -0.5), xlabel=f"standard deviations from the known mean\n{len(self.change)} rounds{last}")
        legend_beside(ax, named, chosen)
        return self


@dataclass(eq=False, repr=False)
class EntropyDisplay(Display):
    """Curve of the von Neumann entropy with the steps of the walk; make one with `from_estimator` or `from_data`.

    Parameters
    ----------
    entropy : ndarray of shape (t_max,)
        Entropy after 1, 2, … steps, in nats.
    t : int
        Steps that the walk took.
    knee : int or None, default=None
        Where the entropy stops falling fast, if `t` was read off the curve; None if `t` was given by hand.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where it was drawn.
    figure_ : matplotlib Figure
        After `plot`: the figure of `ax_`.
    line_ : matplotlib Line2D
        After `plot`: the curve.
    chosen_ : matplotlib Line2D
        After `plot`: the mark at `t`.
    knee_ : matplotlib Line2D or None
        After `plot`: the mark at the knee, if it is not `t`.

    Examples
    --------
    >>> import numpy as np
    >>> from manifolia.operators.entropy import von_neumann_entropy
    >>> from manifolia.show import EntropyDisplay
    >>> entropy = von_neumann_entropy(np.array([1.0, 0.9, 0.5, 0.2, 0.1]))
    >>> EntropyDisplay.from_data(entropy).t
    4
    """

    entropy: FloatArray
    t: int
    _: KW_ONLY
    knee: int | None = None

    @classmethod
    def from_estimator(cls, estimator: Any) -> EntropyDisplay:
        """Take the curve and the steps of a fitted estimator.

        Parameters
        ----------
        estimator : estimator or Pipeline
            Fitted, with ``entropy_`` and ``t_``; of a pipeline, its last step.

        Returns
        -------
        EntropyDisplay
            Ready to `plot`.
        """
        last = last_step(estimator)
        check_is_fitted(last, ("entropy_", "t_"))
        rule = last.get_params(deep=False).get("t_rule", "slowdown")
        chosen_by_curve = last.t == "auto"
        return cls(last.entropy_, int(last.t_), knee=choose_t(last.entropy_, rule=rule) if chosen_by_curve else None)

    @classmethod
    def from_data(cls, entropy: ArrayLike, t: int | None = None) -> EntropyDisplay:
        """Take a curve.

        Parameters
        ----------
        entropy : array-like of shape (t_max,)
            Entropy after 1, 2, … steps, from `manifolia.operators.entropy.von_neumann_entropy`.
        t : int, default=None
            Steps; None reads them off the curve.

        Returns
        -------
        EntropyDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If the curve is not a vector of finite numbers, or has fewer steps than `t`.
        """
        curve = np.asarray(entropy, dtype=np.float64)
        if curve.ndim != 1 or not curve.size or not np.isfinite(curve).all():
            raise ParameterError(
                f"entropy must be one row of finite numbers, H(1), H(2), …, got shape {curve.shape}.",
                parameter="entropy",
            )
        if t is None:
            knee = min(choose_t(curve), curve.size)
            return cls(curve, knee, knee=knee)
        return cls(curve, check_number(t, "t", low=1, high=curve.size, integer=True))

    def plot(self, ax: Axes | None = None, *, theme: str = "auto", t_max: int | None = None) -> EntropyDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        theme : {"auto", "light", "dark"}, default="auto"
            "light" and "dark" also set the backgrounds of axes and figure; "auto" leaves them and follows the axes.
        t_max : int, default=None
            Last step on the axis; None shows four times as many steps as up to the knee.

        Returns
        -------
        EntropyDisplay
            Itself, with `ax_` and what was drawn.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        if t_max is not None:
            check_number(t_max, "t_max", low=2, integer=True)
        ax, chosen = self._open(ax, theme, (6.0, 3.8), hide=("top", "right"))
        blue, orange = class_colors(2, dark=chosen is DARK)
        n = self.entropy.shape[0]
        knee = self.t if self.knee is None else self.knee
        last = min(n, t_max or max(_SHOWN * max(knee, self.t), _SHOWN_LEAST))
        shown = self.entropy[:last]
        steps = np.arange(1, last + 1)
        self.line_: Any = ax.plot(steps, shown, color=blue, linewidth=1.8, marker=".", markersize=5)[0]
        self.chosen_ = _mark(ax, self.t, self.entropy, color=orange, marker="o", label=self._words())
        self.knee_ = None
        if self.knee is not None and self.knee != self.t:
            label = f"knee of the curve: {self.knee} steps"
            self.knee_ = _mark(ax, self.knee, self.entropy, color=chosen.text, marker="D", label=label)
        ax.set(xlim=(0.5, last + 0.5), xlabel="steps of the walk t", ylabel="von Neumann entropy (nats)")
        ax.xaxis.set_major_locator(matplotlib_part("ticker").MaxNLocator(integer=True))
        ax.legend(frameon=False, labelcolor=chosen.text, fontsize=9)
        return self

    def _words(self) -> str:
        steps = f"{self.t} step{'s' * (self.t != 1)}"
        if self.knee is None:
            return f"t = {steps}, given"
        if self.knee == self.t + 1:
            return f"t = {steps} walked; one more places the rows"
        return f"t = {steps}"


def _mark(ax: Any, t: int, entropy: FloatArray, *, color: str, marker: str, label: str) -> Any:
    """Mark a step with a line down to the axis; the last point represents one beyond the curve."""
    height = float(entropy[min(t, entropy.shape[0]) - 1])
    ax.axvline(t, color=color, linewidth=0.9, linestyle=":", zorder=1)
    return ax.plot(
        [t], [height], linestyle="", marker=marker, markersize=8, color=color, markeredgecolor="none", label=label
    )[0]
