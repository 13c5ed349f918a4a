"""A forest's proximities as a heat map, rows and columns ordered by class.

Rows of one class stand together, in the order of the data: to sort them by their own proximities would draw a pattern
into noise. A matrix of many rows is averaged over cells, so that no entry is lost between the pixels; cells never
straddle the border of two classes. A row's proximity to itself says nothing about other rows and is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.optional import import_extra
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray, Sparse
from manifolia._core.validate import check_labels, check_matrix, check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ProximityDisplay"]

_GAMMA = 0.5  # square root: proximities between classes are some thirty times smaller than within, and shall be seen
_BRIGHTEST = 0.999  # of the cells keep below the end of the scale: a few rows that speak for each other set no scale


class ProximityDisplay:
    """Heat map of proximities ordered by class; make one with `from_estimator` or `from_matrix`.

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
        Of the proximity that the rows of a class have to all other rows, the share that goes to each class; rows sum
        to 1. For RF-GAP this is the forest's mean out-of-bag vote for each class.
    title : str, default="proximity"
        What is drawn; labels the colour bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        After `plot`: where the map was drawn.
    image_ : matplotlib artist
        After `plot`: the cells.
    """

    def __init__(
        self,
        cells: FloatArray,
        *,
        edges: IntArray,
        order: IntArray,
        class_names: Array,
        class_edges: IntArray,
        class_shares: FloatArray,
        title: str = "proximity",
    ) -> None:
        self.cells = cells
        self.edges = edges
        self.order = order
        self.class_names = class_names
        self.class_edges = class_edges
        self.class_shares = class_shares
        self.title = title

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
            As for `from_matrix`.
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
        return cls.from_matrix(K, y, max_cells=max_cells, title=f"{kind} proximity")

    @classmethod
    def from_matrix(
        cls, K: ArrayLike, y: ArrayLike, *, max_cells: int = 400, title: str = "proximity"
    ) -> ProximityDisplay:
        """Arrange a matrix of proximities.

        Parameters
        ----------
        K : array-like or sparse matrix of shape (n, n)
            Proximities, none below 0; need not be symmetric. Never made dense.
        y : array-like of shape (n,)
            The class of each row.
        max_cells : int, default=400
            About the most cells on a side; a class has at least one. With fewer rows each row is a cell.
        title : str, default="proximity"
            What the proximities are.

        Returns
        -------
        ProximityDisplay
            Ready to `plot`.

        Raises
        ------
        ValueError
            If `K` is not square or has entries below 0, or there is not one label a row.
        """
        matrix = sp.csr_array(check_matrix(K, name="K", accept_sparse=True), dtype=np.float64)
        n = matrix.shape[0]
        if matrix.shape[1] != n:
            message = f"K must be square, the same rows on both sides, got shape {matrix.shape}."
            raise ValueError(message)
        if matrix.nnz and matrix.data.min() < 0:
            message = f"K must not be negative, got {matrix.data.min():g}. Pass proximities, not distances."
            raise ValueError(message)
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
            Of the borders between classes.
        colorbar : bool, default=True
            Whether to add a colour bar, which takes its room from `ax`.

        Returns
        -------
        ProximityDisplay
            Itself, with `ax_` and `image_`.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        colors = import_extra("matplotlib.colors", extra="plot", purpose="ProximityDisplay.plot")
        if ax is None:
            ax = import_extra("matplotlib.pyplot", extra="plot", purpose="ProximityDisplay.plot").subplots()[1]
        norm = colors.PowerNorm(_GAMMA, vmin=0.0, vmax=self._top())
        image = ax.pcolorfast(self.edges, self.edges, self.cells, cmap=cmap, norm=norm)
        for edge in self.class_edges[1:-1]:
            ax.axhline(edge, color=line_color, linewidth=0.6)
            ax.axvline(edge, color=line_color, linewidth=0.6)
        n = self.edges[-1]
        centres = (self.class_edges[:-1] + self.class_edges[1:]) / 2
        ax.set(xlim=(0, n), ylim=(n, 0), aspect="equal", xlabel="to row j, by class", ylabel="from row i, by class")
        ax.set_xticks(centres, [str(name) for name in self.class_names])
        ax.set_yticks(centres, [str(name) for name in self.class_names])
        ax.tick_params(length=0)
        if colorbar:
            extend = "max" if self.cells.max() > image.norm.vmax else "neither"
            ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend, label=f"mean {self.title}")
        self.ax_, self.image_ = ax, image
        return self

    def _top(self) -> float:
        """Return the end of the colour scale."""
        return float(np.quantile(self.cells, _BRIGHTEST) or self.cells.max()) or 1.0


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
