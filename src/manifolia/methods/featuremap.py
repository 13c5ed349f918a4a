"""FeatureMAP: a map whose directions mean something (Algorithm 1 of the paper).

=====  ====================================================  =====================================================
step   paper                                                 here
=====  ====================================================  =====================================================
1      neighbours and graph (Eq. 1)                          `neighbors`, `affinity.fuzzy`
2      tangent spaces by local PCA (Eq. 2, Theorem 3.1)      `operators.tangent`
3, 4   alignment and embedding of tangent spaces (Eq. 5–11)  `explain.embedded`; `explain.pullback`, after the layout
5      layout with anisotropic density (Eq. 12–16):          `layout.initialize`, `layout.density`
       the paper's, ``layout="edges"``                       `layout.edge_sgd`
       ours, the default: t-SNE's forces in its place        `layout.forces`, `layout.coarse`
6      gradients and importance (Eq. 3, 4)                   `explain.gradients`, when they are asked for
(7)    new rows, with the map held still                     `extension.anchored`
=====  ====================================================  =====================================================

The paper embeds the tangent spaces first and lays the points out along them. Arrows made that way do not point where
features grow in the map, so by default the layout comes first and the tangent spaces are tied to it by regression;
``gauge="embedded"`` is the paper's way.

The paper's layout minimises UMAP's cross entropy (Eq. 13) along drawn pairs; ``layout="edges"`` does. The default does
not: it uses the same graph, density term and start with t-SNE's full gradient over all pairs, and a weak force that
keeps the global arrangement of the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manifolia._core import memory
from manifolia._core.blocks import standard_project
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import resolve_n_jobs, threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, Callback, FloatArray, IntArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_map,
    check_number,
    check_option,
    feature_numbers,
    row_numbers,
    validate_data,
)
from manifolia._core.warnings import warn
from manifolia.affinity.fuzzy import check_neighbors, fuzzy_graph, mean_neighbor_distance, memberships
from manifolia.exceptions import ParameterError
from manifolia.explain import gradients
from manifolia.explain.embedded import embedded_directions, embedded_gauges, embedded_pullback, place_gauges
from manifolia.explain.pullback import Pullback, pullback
from manifolia.extension.anchored import MapField, map_field, place_anchored, place_in_field
from manifolia.extension.novelty import remoteness, tail_share, threshold
from manifolia.layout.anchors import arranged_edges
from manifolia.layout.coarse import arranged_layout
from manifolia.layout.density import DensityReport, DensityTerm
from manifolia.layout.forces import forces_need
from manifolia.layout.initialize import start_of
from manifolia.methods._near import anchored, known_rows, read_near
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.neighbors.exact import search_need
from manifolia.neighbors.rows import largest_value
from manifolia.operators.projection import Projection, find_projection
from manifolia.operators.tangent import TangentSpaces, tangent_spaces
from manifolia.tables.naming import counted

_MOST = 1e18  # larger values have squares that single precision cannot hold
_THREAD_BYTES = 12e6  # that a thread works on
_REMOTE = 5  # the neighbour whose distance is a row's novelty
_MOST_GRID = 3  # components of a map whose forces have a grid
_MIN_DIST = 0.1  # the default


class _Beside(NamedTuple):
    """New rows and the training rows beside them."""

    Q: Any  # (m, q): the rows, in the features in which neighbours are searched
    neighbors: Neighbors  # Their k nearest training rows; one that equals the row itself does not count
    weights: FloatArray  # (m, k): strengths of Eq. (1)
    same: IntArray  # (m,): the training row at distance 0, or −1


class FeatureMAP(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Map of a neighbourhood graph that keeps local densities and says where features grow.

    UMAP's graph of neighbours is laid out by t-SNE's forces, or with ``layout="edges"`` as UMAP and the paper do; the
    bits are the same for any `n_jobs`. In the last part of the descent the extents of neighbourhoods in the map are
    pulled, direction by direction, towards those in the data. The tangent space of every point says which features vary
    there (`feature_importance`), and, tied to the map by regression, along which direction of the map they grow
    (`feature_gradients`).

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    layout : {"auto", "grid", "edges"}, default="auto"
        How points are laid out. ``"grid"``, which ``"auto"`` uses for at most 3 components, has t-SNE's forces between
        all points of the graph, and a weak force that keeps the global arrangement of the data: it does not minimise
        Eq. (13). ``"edges"``, which ``"auto"`` uses for more components, does: UMAP's cross entropy along sampled
        pairs, as in the paper.
    n_neighbors : int, default=15
        Neighbours of a point, not counting itself. With fewer rows than that, all others.
    min_dist : float, default=0.1
        How close points in a dense place come to each other in the map. It applies to ``layout="edges"`` only; the
        other layout has no such distance, and warns if a value other than the default is given.
    density_weight : float, default=0.03
        Weight λ of Eq. (16), in the paper's units (it uses 0.5). 0 gives a map without the term; larger values follow
        the data's densities more closely and cost trustworthiness.
    density_fraction : float, default=0.3
        Share of the epochs, at the end, in which densities count.
    n_epochs : int or "auto", default="auto"
        Rounds of the descent. ``"auto"``: with ``layout="grid"`` 250, with ``"edges"`` 500 up to 10,000 rows and 200
        beyond.
    gauge : {"auto", "regression", "embedded"}, default="auto"
        How arrows are made. ``"regression"``, which ``"auto"`` uses, ties the tangent spaces to the map; its arrows
        point where features grow. ``"embedded"`` is the paper's way, which embeds the tangent spaces separately; its
        arrows are no better than random ones and are there to reproduce the paper. The density term then also measures
        along these directions, as the paper projects, which requires ``layout="edges"``.
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        Distance by which neighbours are found. Tangent spaces are always those of the features themselves. Sparse data
        allows the first two.
    init : {"auto", "pca", "spectral"} or ndarray of shape (n, n_components), default="auto"
        Where the descent starts. ``"auto"`` uses ``"pca"``, which keeps more of the global order. With
        ``layout="grid"`` every start is scaled to one width.
    center : {"mean", "point"}, default="mean"
        Where neighbourhoods are centred for the tangent spaces: at their mean, or at the point itself as in the paper,
        where the first direction is mostly the point's own noise.
    captured : float, default=0.8
        Share of the variance of a neighbourhood that its tangent directions capture; it decides `intrinsic_dim_`.
    max_dim : int, default=7
        Maximum number of tangent directions of a point; `n_components` if that is more.
    pca : int or None, default=None
        Reduce the data to this many principal components first. Importances and arrows are mapped back to the features.
    neighbors : Neighbors or tuple (indices, distances), default=None
        Neighbours of the rows passed to ``fit``, if they are known: what `manifolia.neighbors.kneighbors` returns.
        None: they are searched for. Neighbours of new rows are always searched for by `metric`.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True stops. A stopped layout is kept as it is.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map.
    graph_ : csr_array of shape (n, n)
        The fuzzy neighbourhood graph of Eq. (1), symmetric.
    gauges_ : ndarray of shape (n, n_components, n_components)
        Orthonormal frames: column l is where the l-th tangent direction of a point lies in the map.
    pullback_ : ndarray of shape (n, n_components, d)
        Turns slopes into arrows: a feature with slopes g along the d tangent directions has slopes ``pullback_[i] @ g``
        along the axes of the map.
    reliability_ : ndarray of shape (n,)
        Share, between 0 and 1, of a neighbourhood's variance in the tangent space that the map shows, among the
        neighbours that it keeps together.
    intrinsic_dim_ : int
        d: directions that capture the share `captured` of the variance of a neighbourhood, the median over points.
    intrinsic_dims_ : ndarray of shape (n,)
        The same, point by point, at most `max_dim` (or `n_components`).
    singular_values_ : ndarray of shape (n, m)
        Extents of a neighbourhood along its tangent directions.
    radius_correlation_ : ndarray of shape (n_components,)
        Correlation over points of the logarithms of local radii in data and map, per direction (Eq. 21).
    anisotropy_correlation_ : float
        Correlation of log R₁/R₂ in data and map; low for a map that keeps densities but not shapes. NaN with one
        component.
    layout_ : str
        The layout that was used, ``"grid"`` or ``"edges"``.
    n_epochs_ : int
        Rounds of the descent that were run.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    The rows given to ``fit`` are kept, not copied: arrows and new rows need them. Do not change them in place. A row
    given to ``transform`` that equals a training row is placed on it, so ``fit_transform`` and ``transform`` agree on
    the training rows; duplicates among these go to the first of them.

    References
    ----------
    .. [1] "Interpretable dimensionality reduction by feature-preserving manifold approximation and projection"
       (FeatureMAP), under review at ICLR 2025.
    .. [2] L. McInnes, J. Healy and J. Melville, "UMAP: Uniform manifold approximation and projection for dimension
       reduction", 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X = load_iris().data
    >>> model = mf.FeatureMAP(n_epochs=50, random_state=0).fit(X)
    >>> model.embedding_.shape, model.feature_gradients(rows=[0]).shape, model.transform(X[:3] + 0.01).shape
    ((150, 2), (1, 4, 2), (3, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        layout: str = "auto",
        n_neighbors: int = 15,
        min_dist: float = _MIN_DIST,
        density_weight: float = 0.03,
        density_fraction: float = 0.3,
        n_epochs: int | str = "auto",
        gauge: str = "auto",
        metric: str = "euclidean",
        init: str | FloatArray = "auto",
        center: str = "mean",
        captured: float = 0.8,
        max_dim: int = 7,
        pca: int | None = None,
        neighbors: Neighbors | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.layout = layout
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.density_weight = density_weight
        self.density_fraction = density_fraction
        self.n_epochs = n_epochs
        self.gauge = gauge
        self.metric = metric
        self.init = init
        self.center = center
        self.captured = captured
        self.max_dim = max_dim
        self.pca = pca
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, near: Any = None, near_strength: float = 1.0) -> FeatureMAP:
        """Make the map and the tangent spaces.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows without missing values, features on comparable scales.
        y : object, default=None
            Not used.
        near : estimator or array-like of shape (n, n_components), default=None
            The last map of the same thing, a fitted model of this library: rows that are in both are pulled towards
            where they lie on it, less firmly if their neighbours have changed. They are found by the index of a frame,
            or by equal values. Or places of the rows, with NaN for free ones.
        near_strength : float, default=1.0
            How strongly, as a multiple of the default; 0 only starts from those places.

        Returns
        -------
        FeatureMAP
            Itself.
        """
        self._check_parameters()
        with threads(self.n_jobs):
            checked = validate_data(self, X, accept_sparse=True, min_rows=2)
            largest = largest_value(checked)
            if largest > _MOST:
                raise ParameterError(
                    f"X must hold values up to {_MOST:g}, whose squares single precision can hold, got {largest:.3g}. "
                    f"Divide X by a constant.",
                    parameter="X",
                )
            n, c = checked.shape[0], self.n_components
            given = None if self.neighbors is None else Neighbors(*check_neighbors(self.neighbors, n_rows=n))
            if not isinstance(self.init, str):
                check_map(self.init, n_rows=n, name="init")
            need = self._memory_need(checked, None)
            memory.require(need, step=f"a map of {n} rows", remedy="Take fewer rows, or a smaller n_neighbors.")
            nearby = read_near(near, near_strength, X, checked, c)
            reporter = Reporter(self.callback, verbose=self.verbose)
            pca_seed, search_seed, start_seed, layout_seed, gauge_seed = spawn_seeds(self.random_state, 5)
            projection = self._find_projection(checked, pca_seed)
            Z = checked if projection is None else projection.apply(checked, checked.dtype)

            # 1: neighbours and their graph, Eq. (1)
            reporter.step("neighbours", 0, 1)
            found, index = self._search(Z, given, search_seed)
            reporter.step("neighbours", 1, 1)
            graph = fuzzy_graph(found)

            # 2: tangent spaces, Eq. (2). Neighbours are weighted by the directed strengths, which new rows have too
            reporter.step("tangent spaces", 0, 1)
            spaces = tangent_spaces(
                Z, found.indices, graph.weights, center=self.center, captured=self.captured,
                max_dim=max(self.max_dim, c),
            )  # fmt: skip
            reporter.step("tangent spaces", 1, 1)

            # 3, 4: alignment and embedding of the tangent spaces, Eq. (5) to (11), if asked for
            embedded = None
            if self.gauge == "embedded":
                embedded = embedded_gauges(spaces, Z, graph.graph, c, random_state=gauge_seed)

            # 5: layout with anisotropic density, Eq. (12) to (16)
            shapes = (spaces.indices, spaces.coordinates, spaces.weights, spaces.singular_values**2)
            start = start_of(self.init, Z, graph.graph, self.n_components, random_state=start_seed)
            along = None if embedded is None else embedded_directions(embedded)
            term = DensityTerm(*shapes, weight=self.density_weight, fraction=self.density_fraction, gauges=along)
            how = {"density": term, "callback": reporter, **anchored(nearby)}
            Y, n_epochs, density = self._lay_out(Z, graph.graph, start, layout_seed, how)
            embedding = Y.astype(Z.dtype, copy=False)

            # ours, in place of 3 and 4: the tangent spaces are tied to the map by regression
            reporter.update("gauges", 0, 1)
            back = pullback(spaces, embedding)
            if embedded is not None:
                back = embedded_pullback(embedded, back.reliability)
            reporter.update("gauges", 1, 1)
            yardstick = self._remoteness(checked, Z, found.distances, projection)
            field = map_field(embedding) if self._layout_name() == "grid" else None

        self.embedding_, self.n_epochs_, self.layout_ = embedding, n_epochs, self._layout_name()
        self.graph_ = graph.graph
        self.intrinsic_dim_, self.intrinsic_dims_ = spaces.dim, spaces.dims
        self.singular_values_ = spaces.singular_values
        self.pullback_, self.gauges_, self.reliability_ = back
        self.radius_correlation_ = np.full(c, np.nan)
        self.anisotropy_correlation_ = float("nan")
        if density is not None:
            self.radius_correlation_[: density.correlation.size] = density.correlation
            self.anisotropy_correlation_ = density.anisotropy
        # 6: gradients and importance, Eq. (3) and (4), are computed from these when they are asked for
        self._Z, self._projection, self._spaces, self._pullback, self._embedded = Z, projection, spaces, back, embedded
        self._mean_distance, self._yardstick = mean_neighbor_distance(found.distances), yardstick
        self._index, self._search_seed, self._layout_seed = index, search_seed, layout_seed
        self._field: MapField | None = field
        self._n_features_out, self.near_, self._known_rows = c, nearby, known_rows(X, checked, embedding)
        return self

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows.
        y : object, default=None
            Not used.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the finished map, which does not move; each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places; a row that equals a training row is on it.
        """
        check_is_fitted(self, "embedding_")
        checked = self._check_new(X)
        with threads(self.n_jobs):
            new = self._describe(checked)
            placed = self._place(new.neighbors.indices, new.weights)
        placed = np.where(new.same[:, None] >= 0, self.embedding_[new.same], placed)
        return placed.astype(checked.dtype, copy=False)

    def feature_importance(
        self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None, kind: str = "gradient"
    ) -> FloatArray:
        """Measure how much each feature varies along the data around a point: its saliency (Eq. 4).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.
        kind : {"gradient", "variance"}, default="gradient"
            Length of the feature's gradient (Eq. 4), in which each of the `intrinsic_dim_` directions counts alike; or
            directions weighted by their variance.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Between 0 and 1. An image's importances, reshaped, are its saliency map.
        """
        check_is_fitted(self, "embedding_")
        with threads(self.n_jobs):
            spaces, query, _ = self._described(X)
            columns = feature_numbers(features, self)
            points = self._require(rows, spaces, columns.size)
            importance = gradients.feature_importance(
                spaces, self._Z, points, columns, kind=kind, d=self.intrinsic_dim_, query=query, lift=self._lift
            )
        return importance.astype(self.embedding_.dtype, copy=False)

    def feature_gradients(
        self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None, smooth: bool = False
    ) -> FloatArray:
        """Draw the arrows along which features grow in the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.
        smooth : bool, default=False
            Average each arrow with those of the row's neighbours. This makes arrows more accurate where features vary
            smoothly over the data, such as pixels, but not for sparse counts.

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_components)
            Growth of the feature per unit of the map along each axis. Look at `arrow_reliability` too: many features of
            a point may not vary in any direction that the map shows.
        """
        check_is_fitted(self, "embedding_")
        check_bool(smooth, "smooth")
        with threads(self.n_jobs):
            spaces, query, back = self._described(X)
            columns = feature_numbers(features, self)
            points = self._require(rows, spaces, columns.size * back.B.shape[1])
            arrows = gradients.feature_gradients(spaces, back, self._Z, points, columns, query=query, lift=self._lift)
            if smooth:
                around, place = np.unique(spaces.indices[points], return_inverse=True)
                theirs = gradients.feature_gradients(
                    self._spaces, self._pullback, self._Z, around, columns, lift=self._lift
                )
                arrows = gradients.with_neighbors(arrows, theirs, place.reshape(len(points), -1))
        return arrows.astype(self.embedding_.dtype, copy=False)

    def arrow_reliability(self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None) -> FloatArray:
        """Measure how far each arrow can be trusted: how well it predicts its feature at the row's neighbours.

        A neighbour that the map moved far away from the others counts for less, as it does for the arrow itself.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Squared correlation between 0 and 1; hide unreliable arrows. With ``pca=`` the feature is what the principal
            components keep of it.
        """
        check_is_fitted(self, "embedding_")
        with threads(self.n_jobs):
            spaces, query, back = self._described(X)
            columns = feature_numbers(features, self)
            points = self._require(rows, spaces, columns.size * back.B.shape[1])
            arrows = gradients.feature_gradients(spaces, back, self._Z, points, columns, query=query, lift=self._lift)
            data, asked = self._Z, columns
            if self._lift is not None:
                data = standard_project(self._Z, np.zeros(self._Z.shape[1], self._Z.dtype), self._lift[:, columns].T)
                asked = np.arange(columns.size)
            share = gradients.arrow_reliability(spaces, arrows, data, self.embedding_, points, asked)
        return share.astype(self.embedding_.dtype, copy=False)

    def feature_values(self, *, rows: Any = None, features: Any = None) -> FloatArray:
        """Return the features of training rows, as the map knows them; pictures colour points by them.

        Parameters
        ----------
        rows : int, slice, array-like of int or bool, default=None
            Which training rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Values, dense; with ``pca=`` what the principal components keep of them.
        """
        check_is_fitted(self, "embedding_")
        columns = feature_numbers(features, self)
        points = self._require(rows, self._spaces, columns.size)
        if self._projection is not None:
            mean, components = self._projection
            return np.asarray(self._Z[points] @ components[:, columns] + mean[columns])
        values: Any = self._Z[points][:, columns]
        return np.asarray(values.toarray() if sp.issparse(values) else values)

    @row_by_row
    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how unlike the rows of ``fit`` these rows are, by the distance to their fifth neighbour among them.

        With ``pca=`` and Euclidean distances, what the principal components leave of a row counts too.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: those of ``fit``.

        Returns
        -------
        ndarray of shape (m,)
            Share of the rows of ``fit`` that are nearer to their own fifth neighbour: 1 − novelty is the probability
            that such a row is this far away.
        """
        check_is_fitted(self, "embedding_")
        if X is None:
            return tail_share(self._yardstick, self._yardstick)
        checked = self._check_new(X)
        with threads(self.n_jobs):
            new = self._describe(checked)
            distance = self._remoteness(checked, new.Q, new.neighbors.distances, self._projection)
        return tail_share(distance, self._yardstick)

    @property
    def novelty_threshold_(self) -> float:
        """Novelty above which a row is called unlike those of ``fit``: one in a hundred of these is above it."""
        check_is_fitted(self, "embedding_")
        return threshold(len(self._yardstick))

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_option(self.layout, "layout", ("auto", "grid", "edges"))
        if self.layout == "grid" and self.n_components > _MOST_GRID:
            raise ParameterError(
                f"layout='grid' makes maps of at most {_MOST_GRID} components, and n_components is "
                f"{self.n_components}. Use layout='edges'.",
                parameter="layout",
            )
        check_number(self.n_neighbors, "n_neighbors", low=2, integer=True)
        check_number(self.min_dist, "min_dist", low=0.0, high=1.0)
        check_number(self.density_weight, "density_weight", low=0.0, hint="0 gives a map without the term.")
        check_number(self.density_fraction, "density_fraction", low=0.0, high=1.0)
        if self._layout_name() == "grid" and self.min_dist != _MIN_DIST:
            warn(f"min_dist={self.min_dist} has no effect: layout='grid' has no least distance. Set layout='edges'.")
        check_number(self.n_epochs, "n_epochs", low=0, integer=True, hint="Or use 'auto'.", word="auto")
        check_option(self.gauge, "gauge", ("auto", "regression", "embedded"))
        if self.layout == "grid" and self._is_projected():
            raise ParameterError(
                "layout='grid' has no density term along embedded gauges. Use layout='edges', or density_weight=0.",
                parameter="layout",
            )
        check_option(self.metric, "metric", ("euclidean", "cosine", "manhattan"))
        if isinstance(self.init, str):
            check_option(self.init, "init", ("auto", "pca", "spectral"))
        check_option(self.center, "center", ("mean", "point"))
        check_number(self.captured, "captured", low=0.0, high=1.0, open_low=True)
        check_number(self.max_dim, "max_dim", low=1, integer=True)
        if self.pca is not None:
            check_number(self.pca, "pca", low=1, integer=True, hint="None uses the features as they are.")
        check_bool(self.verbose, "verbose")

    def _find_projection(self, X: Any, seed: int) -> Projection | None:
        """Principal components, if asked for and fewer than there are features."""
        if self.pca is None:
            return None
        if self.pca >= min(X.shape):
            warn(f"pca={self.pca} is no fewer than the rows or features, {X.shape}: the features are used as they are.")
            return None
        return find_projection(X, self.pca, seed)

    def _search(self, Z: Any, given: Neighbors | None, seed: int) -> tuple[Neighbors, NeighborIndex | None]:
        """Neighbours: those given, or those found, with the index that found them."""
        if given is not None:
            return given, None
        n = Z.shape[0]
        k = min(self.n_neighbors, n - 1)
        if k < self.n_neighbors:
            warn(f"n_neighbors={self.n_neighbors} and there are {n} rows: every row has {counted(k, 'neighbour')}.")
        index = NeighborIndex(Z, metric=self.metric, random_state=seed)
        return index.neighbors(k), index

    def _layout_name(self) -> str:
        """Which layout is used."""
        by_grid = self.n_components <= _MOST_GRID and not self._is_projected()
        return ("grid" if by_grid else "edges") if self.layout == "auto" else self.layout

    def _is_projected(self) -> bool:
        """Whether the density term measures along embedded tangent spaces, as the paper projects."""
        return self.gauge == "embedded" and self.density_weight > 0.0 and self.density_fraction > 0.0

    def _lay_out(
        self, Z: Any, graph: Any, start: FloatArray, seed: int, how: dict[str, Any]
    ) -> tuple[FloatArray, int, DensityReport | None]:
        """Places, rounds of the descent, and how far densities are kept."""
        if self._layout_name() == "grid":
            made = arranged_layout(graph, start, Z, n_iterations=self.n_epochs, **how)
            return made.Y, made.n_iterations, made.density
        about: Any = {"min_dist": self.min_dist, "n_epochs": self.n_epochs, "random_state": seed, **how}
        found = arranged_edges(graph, start, **about)
        return found.Y, found.n_epochs, found.density

    def _place(self, indices: IntArray, weights: FloatArray) -> FloatArray:
        """Places of new rows, by the forces of the layout that made the map."""
        if self.layout_ == "edges":
            return place_anchored(
                self.embedding_, indices, weights, min_dist=self.min_dist, random_state=self._layout_seed
            )
        field: MapField | None = vars(self).get("_field")
        if field is None:
            field = self._field = map_field(self.embedding_)
        return place_in_field(field, indices, weights)[:, : self.embedding_.shape[1]]

    def _remoteness(self, X: Any, Z: Any, distances: FloatArray, projection: Projection | None) -> FloatArray:
        """Distance to the fifth neighbour and, where distances are Euclidean, to the principal components."""
        near = distances[:, min(_REMOTE, distances.shape[1]) - 1].astype(np.float64)
        return remoteness(near, X, Z, projection if self.metric == "euclidean" else None)

    @property
    def _lift(self) -> FloatArray | None:
        return None if self._projection is None else self._projection.components

    def _described(self, X: ArrayLike | None) -> tuple[TangentSpaces, Any, Pullback]:
        """Tangent spaces, the points themselves (None: training rows) and pull-backs."""
        if X is None:
            return self._spaces, None, self._pullback
        new = self._describe(self._check_new(X))
        spaces = tangent_spaces(
            self._Z, new.neighbors.indices, new.weights, query=new.Q, center=self.center, captured=self.captured,
            max_dim=self._spaces.coordinates.shape[2], dim=self.intrinsic_dim_,
        )  # fmt: skip
        back = pullback(spaces, self.embedding_, self.intrinsic_dim_)
        if self._embedded is not None:
            placed = place_gauges(self._embedded, self._spaces, spaces, self._Z, new.Q)
            back = embedded_pullback(placed, back.reliability)
        return spaces, new.Q, back

    def _describe(self, X: Any) -> _Beside:
        """Find the neighbours of checked new rows. A training row that equals the row does not count as one."""
        Q = self._project(X)
        k = self._spaces.indices.shape[1]
        near = self._neighbor_index().query(Q, k + 1)
        same = near.distances[:, 0] == 0.0
        indices = np.where(same[:, None], near.indices[:, 1:], near.indices[:, :-1])
        distances = np.where(same[:, None], near.distances[:, 1:], near.distances[:, :-1])
        weights = memberships(distances, mean_distance=self._mean_distance).weights
        where = np.where(same, near.indices[:, 0], -1).astype(np.intp)
        return _Beside(Q, Neighbors(indices, distances), weights, where)

    def _project(self, X: Any) -> Any:
        """Convert checked rows to the features, kind and dtype in which neighbours are searched."""
        if self._projection is not None:
            return self._projection.apply(X, self._Z.dtype)
        X = X.astype(self._Z.dtype, copy=False)
        if sp.issparse(self._Z):
            return X if sp.issparse(X) else sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else np.ascontiguousarray(X)

    def _neighbor_index(self) -> NeighborIndex:
        """Return the index of the training rows, built again in a model that was loaded."""
        index = vars(self).get("_index")
        if index is None:
            index = self._index = NeighborIndex(self._Z, metric=self.metric, random_state=self._search_seed)
        return index

    def _require(self, rows: Any, spaces: TangentSpaces, n_numbers: int) -> IntArray:
        """Check which rows are asked for, and that the answer will fit."""
        points = row_numbers(rows, spaces.indices.shape[0])
        memory.require(
            8.0 * 2.0 * points.size * n_numbers,
            step=f"the answer for {points.size} rows",
            remedy="Ask for fewer rows or features at once.",
        )
        return points

    def _check_new(self, X: ArrayLike) -> Any:
        return validate_data(self, X, reset=False, accept_sparse=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the neighbour index and the map's field, which are made again when they are needed."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_index", "_field")}

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together: kernels index with them unchecked."""
        if "embedding_" not in vars(self):
            return
        n, c = self.embedding_.shape
        spaces, Z = self._spaces, self._Z
        width = self.n_features_in_ if self._projection is None else self._projection.components.shape[0]
        fits = self.layout_ == "edges" or (self.layout_ == "grid" and c <= _MOST_GRID)
        fits = fits and Z.shape == (n, width) and Z.dtype in (np.float32, np.float64)
        fits = fits and self.embedding_.dtype.kind == "f"
        fits = fits and spaces.fit_together(n) and 1 <= self.intrinsic_dim_ <= spaces.coordinates.shape[2]
        fits = fits and self._pullback.B.shape[:2] == (n, c) and self._pullback.reliability.shape == (n,)
        fits = fits and self._yardstick.shape == (n,)
        if self._projection is not None:
            fits = fits and self._projection.components.shape[1] == self.n_features_in_ == self._projection.mean.size
        if not fits:
            raise ValueError("the rows, tangent spaces or pull-backs of the model do not fit its map.")

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: neighbours, graph, tangent spaces, layout."""
        n, d = X.shape
        k, c = min(self.n_neighbors, max(n - 1, 1)), self.n_components
        width, reduced = (d, 0.0) if self.pca is None else (min(self.pca, d), 16.0 * n * (d + min(self.pca, d)))
        m = min(max(self.max_dim, c), k)
        neighbours = 24.0 * k  # indices, distances, strengths
        graph = 8.0 * 8 * k  # both directions, and what their union takes
        tangent = 12.0 * k * m + 16 * m
        layout = 4.0 * (2 * k * m + 12 * c + 4 * c * c)
        made = n * (neighbours + graph + tangent + layout + 8.0 * c * (c + m))
        if self._layout_name() == "grid":
            made += forces_need(n, 2.0 * n * k, c)
        work = _THREAD_BYTES * resolve_n_jobs(self.n_jobs)
        return work + max(reduced, search_need(n, width, k) + 8.0 * n * min(width, 96), made)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "manhattan"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
