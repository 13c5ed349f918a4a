"""FeatureMAP: a map whose directions mean something (Algorithm 1 of the paper).

=====  ====================================================  =====================================================
step   paper                                                 here
=====  ====================================================  =====================================================
1      neighbours and graph (Eq. 1)                          `neighbors`, `affinity.fuzzy`
2      tangent spaces by local PCA (Eq. 2, Theorem 3.1)      `operators.tangent`
3, 4   alignment and embedding of tangent spaces (Eq. 5–11)  `explain.pullback`, after the layout; `explain.embedded`
5      layout with anisotropic density (Eq. 12–16)           `layout.initialize`, `layout.edge_sgd`, `layout.density`
6      gradients and importance (Eq. 3, 4)                   `explain.gradients`
(7)    new rows, with the map held still                     `extension.anchored`
=====  ====================================================  =====================================================

The paper embeds the tangent spaces first and lays the points out along them. Arrows made that way do not point where
features grow in the map, so here the layout comes first and the tangent spaces are tied to it by regression;
``gauge="embedded"`` is the paper's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA

from manifolia._core import memory
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_map,
    check_number,
    check_option,
    validate_data,
)
from manifolia._core.warnings import warn
from manifolia.affinity.fuzzy import FuzzyGraph, check_neighbors, fuzzy_graph, mean_neighbor_distance
from manifolia.explain.embedded import embedded_gauges, embedded_pullback
from manifolia.explain.feature_answers import FeatureAnswers, Projection
from manifolia.explain.pullback import pullback
from manifolia.extension.anchored import place_anchored
from manifolia.layout.density import DensityTerm
from manifolia.layout.edge_sgd import edge_layout
from manifolia.layout.initialize import pca_start, spectral_start
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.operators.tangent import TangentSpaces, tangent_spaces

__all__ = ["FeatureMAP"]

_MAX_DIM = 7  # tangent directions kept: 15 neighbours do not show more
_CAPTURED = 0.8  # share of a neighbourhood's variance that its directions capture
_SPARSE_PCA = 2000  # features up to which the covariance of sparse data is formed


class FeatureMAP(FeatureAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Map of a neighbourhood graph that keeps local densities and says where features grow.

    The points are laid out as UMAP does, with the same bits for any `n_jobs`; in the last part of the descent the
    extents of neighbourhoods in the map, direction by direction, are drawn towards those in the data. The tangent space
    of every point tells which features vary there (`feature_importance`), and, tied to the map by regression, along
    which direction of the map they grow (`feature_gradients`).

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_neighbors : int, default=15
        Neighbours of a point, itself not counted. With fewer rows than that, all others.
    min_dist : float, default=0.1
        How near points of a dense place come to each other in the map.
    density_weight : float, default=0.03
        Weight λ of Eq. (16), in the paper's units (it uses 0.5). 0 gives a plain UMAP-type map; larger values follow
        the data's densities more closely and cost trustworthiness.
    density_fraction : float, default=0.3
        Share of the epochs, the last ones, in which densities count.
    n_epochs : int or "auto", default="auto"
        Rounds of the descent; ``"auto"``: 500 up to 10,000 rows, 200 beyond.
    gauge : {"auto", "regression", "embedded"}, default="auto"
        What arrows are made of. ``"regression"``, which ``"auto"`` takes, ties the tangent spaces to the map; its
        arrows point where features grow. ``"embedded"`` is the paper's, which embeds the tangent spaces by themselves;
        its arrows are no better than random ones and are there to reproduce the paper.
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        Distance by which neighbours are found. Tangent spaces are always of the features themselves. Sparse data takes
        the first two.
    init : {"auto", "pca", "spectral"} or ndarray of shape (n, n_components), default="auto"
        Where the descent starts. ``"auto"`` takes ``"pca"``, which keeps more of the global order.
    center : {"mean", "point"}, default="mean"
        Where neighbourhoods are centred for the tangent spaces: at their mean, or at the point itself as in the paper,
        where the first direction is mostly the point's own noise.
    pca : int or None, default=None
        Reduce the data to so many principal components first. Importances and arrows are carried back to the features.
    neighbors : Neighbors or tuple (indices, distances), default=None
        Neighbours of the rows that ``fit`` gets, if they are known: what `manifolia.neighbors.kneighbors` returns.
        None: they are searched. New rows are always searched for by `metric`.
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
        What arrows are made of: a feature with slopes g along the d tangent directions has slopes ``pullback_[i] @ g``
        along the axes of the map.
    reliability_ : ndarray of shape (n,)
        Share, between 0 and 1, of a neighbourhood's variance in the tangent space that the map shows.
    intrinsic_dim_ : int
        d: directions that capture 80 % of the variance of a neighbourhood, the median over points.
    intrinsic_dims_ : ndarray of shape (n,)
        The same, point by point, at most 7 (or `n_components`).
    singular_values_ : ndarray of shape (n, m)
        Extents of a neighbourhood along its tangent directions.
    radius_correlation_ : ndarray of shape (n_components,)
        Correlation over points of the logarithms of local radii in data and map, per direction (Eq. 21).
    anisotropy_correlation_ : float
        Correlation of log R₁/R₂ in data and map, which a map that keeps densities but not shapes does not reach; NaN
        with one component.
    n_epochs_ : int
        Epochs run.
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
    >>> model.embedding_.shape, model.feature_gradients([0]).shape, model.transform(X[:3] + 0.01).shape
    ((150, 2), (1, 4, 2), (3, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 15,
        min_dist: float = 0.1,
        density_weight: float = 0.03,
        density_fraction: float = 0.3,
        n_epochs: int | str = "auto",
        gauge: str = "auto",
        metric: str = "euclidean",
        init: str | FloatArray = "auto",
        center: str = "mean",
        pca: int | None = None,
        neighbors: Neighbors | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.density_weight = density_weight
        self.density_fraction = density_fraction
        self.n_epochs = n_epochs
        self.gauge = gauge
        self.metric = metric
        self.init = init
        self.center = center
        self.pca = pca
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> FeatureMAP:
        """Make the map and the tangent spaces.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows without missing values, features on comparable scales.
        y : object, default=None
            Not used.

        Returns
        -------
        FeatureMAP
            Itself.
        """
        self._check_parameters()
        checked = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", ensure_min_samples=2
        )
        n = checked.shape[0]
        given = None if self.neighbors is None else check_neighbors(self.neighbors, n_rows=n)
        if not isinstance(self.init, str):
            check_map(self.init, n_rows=n, name="init")
        reporter = Reporter(self.callback, verbose=self.verbose)
        self.__dict__.pop("_index", None)
        memory.require(
            self._memory_need(n, None), step=f"a map of {n} rows", remedy="Take fewer rows, or a smaller n_neighbors."
        )
        pca_seed, self._search_seed, start_seed, layout_seed, gauge_seed = spawn_seeds(self.random_state, 5)
        with threads(self.n_jobs):
            self._projection = self._reduce(checked, pca_seed)
            self._Z = checked if self._projection is None else self._project(checked)
            near = self._search(given, reporter)
            graph = fuzzy_graph(near)
            self._mean_distance = mean_neighbor_distance(near.distances)
            self._yardstick = self._remoteness(checked, self._Z, near.distances)
            spaces = self._span(near, graph, reporter)
            self._lay_out(graph, spaces, start_seed, layout_seed, reporter)
            self._tie(graph, spaces, gauge_seed, reporter)
        self.graph_ = graph.graph
        self._spaces = spaces
        self.intrinsic_dim_ = spaces.dim
        self.intrinsic_dims_ = spaces.dims
        self.singular_values_ = spaces.singular_values
        self._layout_seed = layout_seed
        self._n_features_out = self.n_components
        return self

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
            placed = place_anchored(
                self.embedding_,
                new.neighbors.indices,
                new.weights,
                min_dist=self.min_dist,
                random_state=self._layout_seed,
            )
        placed = np.where(new.same[:, None] >= 0, self.embedding_[new.same], placed)
        return placed.astype(checked.dtype, copy=False)

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.n_neighbors, "n_neighbors", low=2, integer=True)
        check_number(self.min_dist, "min_dist", low=0.0, high=1.0)
        check_number(self.density_weight, "density_weight", low=0.0, hint="0 gives a plain UMAP-type map.")
        check_number(self.density_fraction, "density_fraction", low=0.0, high=1.0)
        if self.n_epochs != "auto":
            check_number(self.n_epochs, "n_epochs", low=0, integer=True, hint="Or use 'auto'.")
        check_option(self.gauge, "gauge", ("auto", "regression", "embedded"))
        check_option(self.metric, "metric", ("euclidean", "cosine", "manhattan"))
        if isinstance(self.init, str):
            check_option(self.init, "init", ("auto", "pca", "spectral"))
        check_option(self.center, "center", ("mean", "point"))
        if self.pca is not None:
            check_number(self.pca, "pca", low=1, integer=True, hint="None uses the features as they are.")
        check_bool(self.verbose, "verbose")

    def _reduce(self, X: Any, seed: int) -> Projection | None:
        """Principal components, if asked for and fewer than there are features."""
        if self.pca is None:
            return None
        if self.pca >= min(X.shape):
            warn(f"pca={self.pca} is no fewer than the rows or features, {X.shape}: the features are used as they are.")
            return None
        solver = "auto"
        if sp.issparse(X):
            solver = "covariance_eigh" if X.shape[1] <= _SPARSE_PCA else "arpack"
        found = PCA(self.pca, svd_solver=solver, random_state=seed).fit(X)
        return Projection(
            np.ascontiguousarray(found.mean_, dtype=X.dtype), np.ascontiguousarray(found.components_, dtype=X.dtype)
        )

    def _search(self, given: tuple[Any, FloatArray] | None, reporter: Reporter) -> Neighbors:
        """Step 1, neighbours: those given, or those found."""
        reporter.step("neighbours", 0, 1)
        if given is not None:
            reporter.step("neighbours", 1, 1)
            return Neighbors(*given)
        n = self._Z.shape[0]
        k = min(self.n_neighbors, n - 1)
        if k < self.n_neighbors:
            warn(f"n_neighbors={self.n_neighbors} and there are {n} rows: every row has {k} neighbours.")
        self._index = NeighborIndex(self._Z, metric=self.metric, random_state=self._search_seed)
        near = self._index.neighbors(k)
        reporter.step("neighbours", 1, 1)
        return near

    def _span(self, near: Neighbors, graph: FuzzyGraph, reporter: Reporter) -> TangentSpaces:
        """Step 2, tangent spaces. Neighbours are weighted by the directed strengths, which new rows have too."""
        reporter.step("tangent spaces", 0, 1)
        spaces = tangent_spaces(
            self._Z,
            near.indices,
            graph.weights,
            center=self.center,
            captured=_CAPTURED,
            max_dim=max(_MAX_DIM, self.n_components),
        )
        reporter.step("tangent spaces", 1, 1)
        return spaces

    def _lay_out(
        self, graph: FuzzyGraph, spaces: TangentSpaces, start_seed: int, layout_seed: int, reporter: Reporter
    ) -> None:
        """Step 5: start, descent, densities."""
        if not isinstance(self.init, str):
            start = check_map(self.init, name="init")
        elif self.init == "spectral":
            start = spectral_start(graph.graph, self.n_components, random_state=start_seed)
        else:
            start = pca_start(self._Z, self.n_components, random_state=start_seed)
        term = DensityTerm(
            spaces.indices,
            spaces.coordinates,
            spaces.weights,
            spaces.singular_values**2,
            weight=self.density_weight,
            fraction=self.density_fraction,
        )
        found = edge_layout(
            graph.graph,
            start,
            min_dist=self.min_dist,
            n_epochs=self.n_epochs,
            density=term,
            random_state=layout_seed,
            callback=reporter,
        )
        self.embedding_ = found.Y.astype(self._Z.dtype, copy=False)
        self.n_epochs_ = found.n_epochs
        self.radius_correlation_ = np.full(self.n_components, np.nan)
        self.anisotropy_correlation_ = float("nan")
        if found.density is not None:
            self.radius_correlation_[: found.density.correlation.size] = found.density.correlation
            self.anisotropy_correlation_ = found.density.anisotropy

    def _tie(self, graph: FuzzyGraph, spaces: TangentSpaces, seed: int, reporter: Reporter) -> None:
        """Steps 3 and 4: the tangent spaces in the map."""
        reporter.update("gauges", 0, 1)
        self._pullback = pullback(spaces, self.embedding_)
        self._embedded = None
        if self.gauge == "embedded":
            if spaces.coordinates.shape[2] < self.n_components:
                message = (
                    f"gauge='embedded' needs at least n_components={self.n_components} neighbours a row, there are "
                    f"{spaces.indices.shape[1]}. Use gauge='regression', or more neighbours."
                )
                raise ValueError(message)
            self._embedded = embedded_gauges(spaces, self._Z, graph.graph, self.n_components, random_state=seed)
            self._pullback = embedded_pullback(self._embedded, self._pullback.reliability)
        self.pullback_, self.gauges_, self.reliability_ = self._pullback
        reporter.update("gauges", 1, 1)

    def _memory_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: neighbours, graph, tangent spaces, layout."""
        k, c = min(self.n_neighbors, max(n - 1, 1)), self.n_components
        m = max(_MAX_DIM, c)
        neighbours = 24.0 * k  # indices, distances, strengths
        graph = 8.0 * 8 * k  # both directions, and what their union takes
        tangent = 12.0 * k * m + 16 * m
        layout = 4.0 * (2 * k * m + 12 * c + 4 * c * c)
        return n * (neighbours + graph + tangent + layout + 8.0 * c * (c + m))

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "manhattan"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
