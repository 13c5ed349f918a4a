"""Kernel t-SNE and Fisher kernel t-SNE: lay out some rows, find a formula for the map, place all rows by it.

=====  ==========================================  ==================================================================
line   paper, Algorithm 1                          here
=====  ==========================================  ==================================================================
2      selectTrainingSet                           `extension.subset_map.choose_rows`
3, 5   distances, t-SNE (or Isomap, LLE, any       `layout.embed`, after `operators.projection` on the training rows
       other: section 6.1)
6–10   widths, coefficients                        ``KernelMap.fit``
4,     distances and places of all rows            `extension.subset_map.place_all`
11–14
=====  ==========================================  ==================================================================

Algorithm 2 lays out Fisher distances (its line 3: `affinity.fisher`) and is the same otherwise: rows are placed by
Euclidean distances, without their class.

Two departures. The paper places rows by a mean of kernels; the default here is the mode of the neighbours' places,
which keeps classes apart better. The paper lays out Fisher distances alone, which lose a class's inner structure; by
default half of a distance here is Euclidean, and ``euclidean_mix=0`` with ``fisher_rule="paper"`` is the paper's way.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.groups import read_groups, sub_groups
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import spawn_seeds
from manifolia._core.sparse import filled
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_labels,
    check_number,
    check_option,
    check_pairwise,
    feature_numbers,
    is_sparse,
    row_numbers,
    validate_data,
)
from manifolia.affinity.fisher import (
    RULES,
    check_bandwidth,
    class_codes,
    fisher_memory,
    mixed,
    parzen_classes,
    path_distances,
    says_something,
)
from manifolia.exceptions import ParameterTypeError
from manifolia.extension.kernel_formula import importance_from_jacobian, sensitivity_from_jacobian
from manifolia.extension.kernel_map import KernelMap
from manifolia.extension.subset_map import SubsetMap, choose_rows, place_all, seen_rows
from manifolia.layout.embed import check_embedder, embed, embed_need
from manifolia.metrics.near_copies import warn_of_near_copies
from manifolia.metrics.separation import earned_score, map_score
from manifolia.neighbors.exact import search_need
from manifolia.operators.projection import Projection, find_projection

_REMEDY = "Take fewer rows, or a smaller n_train."
_NEAR = 16  # neighbours that place a row by their mode
_SEARCH_BYTES = 8e6  # that threads hold while they place rows
_MANY_CLASSES = 64  # above this number the work space of the distances does not grow


class _KernelMethod(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """The checks that both methods share, and the answers of the subset map that they hold."""

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d), or (n, n) with metric="precomputed"
            Rows; or distances.
        y : array-like of shape (n,), default=None
            Target, as for ``fit``.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the finished map, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places. With ``far="nan"`` of the formula, NaN for rows farther from what the map knows than any row
            of ``fit``.
        """
        checked = self._check_new(X, needed=True)
        with threads(self.n_jobs):
            return self._subset.place(checked)

    @row_by_row
    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how far rows are from what the map knows, what PCA leaves of them included.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or (m, n) with metric="precomputed", default=None
            Rows; or their distances to the rows of ``fit``. None: the rows of ``fit``, training rows without
            themselves.

        Returns
        -------
        ndarray of shape (m,)
            Share of ordinary rows that are nearer: 1 − novelty is the probability that such a row is this far away.
            Ordinary rows are those of ``fit`` that were not laid out, or, with fewer than 200 of them, the training
            rows.
        """
        checked = self._check_new(X)
        with threads(self.n_jobs):
            return self._subset.novelty(checked)

    @property
    def novelty_threshold_(self) -> float:
        """Novelty above which a row is called unlike those of ``fit``: one in a hundred of these is above it."""
        check_is_fitted(self, "map_")
        return self._subset.threshold

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features, through the principal components.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (m, n_components, d)
            ∂y/∂x; only if the formula has ``mapping="kernel"`` and distances are Euclidean. `smooth` gives such a map.
        """
        return self._derivative(X, None)

    def feature_gradients(self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None) -> FloatArray:
        """Draw the arrows along which rows move when features grow.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: the centres of the formula, by default all rows that were laid out.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_components)
            The `jacobian`, arrow by arrow.
        """
        arrows = self._derivative(X, rows).transpose(0, 2, 1)
        return np.ascontiguousarray(arrows[:, feature_numbers(features, self)])

    def feature_importance(self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None) -> FloatArray:
        """Measure how much each feature moves each row.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: the centres of the formula, by default all rows that were laid out.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Lengths of the arrows, as shares of the row's longest.
        """
        return importance_from_jacobian(self._derivative(X, rows))[:, feature_numbers(features, self)]

    def sensitivity(self, X: ArrayLike | None = None, *, rows: Any = None) -> FloatArray:
        """Measure how far rows move under the small change of the data that moves them most.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: the centres of the formula, by default all rows that were laid out.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.

        Returns
        -------
        ndarray of shape (n_rows,)
            Largest singular value of the `jacobian`: large where the map tears.
        """
        return sensitivity_from_jacobian(self._derivative(X, rows))

    def smooth(self) -> Self:
        """Give the same map a smooth formula, which has a derivative.

        Returns
        -------
        KernelTSNE or FisherKernelTSNE
            A copy whose `map_` has ``mapping="kernel"``: training rows were laid out where they are here, and new rows
            go to a mean of near ones. Its `jacobian`, arrows and importances explain this map.
        """
        check_is_fitted(self, "map_")
        with threads(self.n_jobs):
            formula = self.map_.smooth()
        return copy.copy(self)._keep(self.embedding_, self._subset._replace(formula=formula))

    def _check_shared(self, metric: str) -> None:
        """Refuse parameters that no fit could use."""
        check_number(self.n_components, "n_components", low=1, integer=True)
        if self.n_train is not None:
            check_number(self.n_train, "n_train", low=3, integer=True, hint="None lays out all rows.")
        check_number(self.perplexity, "perplexity", low=1.0)
        if self.pca is not None:
            check_number(self.pca, "pca", low=1, integer=True, hint="None uses the features as they are.")
        check_option(self.sampling, "sampling", ("random", "stratified"))
        check_bool(self.verbose, "verbose")
        if self.map is not None and not isinstance(self.map, KernelMap):
            raise ParameterTypeError(
                f"map must be a KernelMap or None, got {type(self.map).__name__}. Pass manifolia.KernelMap(...).",
                parameter="map",
            )
        self._formula(metric, 0)._check_parameters()

    def _formula(self, metric: str, seed: int) -> KernelMap:
        """An unfitted formula with the metric of the layout; the one that was given stays as it is."""
        formula = KernelMap(mapping="mode", n_centers=None) if self.map is None else clone(self.map)
        if formula.random_state is None:
            formula.set_params(random_state=seed)
        return formula.set_params(metric=metric)

    def _projection(self, train: Any, metric: str, seed: int) -> Projection | None:
        """Principal components of the training rows, if these have more features."""
        if self.pca is None or metric == "precomputed" or self.pca >= min(train.shape):
            return None
        return find_projection(train, self.pca, seed)

    def _keep(self, embedding: FloatArray, subset: SubsetMap) -> Self:
        """Take what a fit has made."""
        self._subset = subset
        self.embedding_ = embedding
        self.train_indices_ = subset.rows
        self.map_ = subset.formula
        self._n_features_out = embedding.shape[1]
        return self

    def _check_new(self, X: ArrayLike | None, *, needed: bool = False) -> Any:
        check_is_fitted(self, "map_")
        if X is None and not needed:
            return None
        checked = validate_data(self, X, reset=False, accept_sparse=self.map_.metric != "precomputed")
        return check_pairwise(checked, square=False) if self.map_.metric == "precomputed" else checked

    def _derivative(self, X: ArrayLike | None, rows: Any) -> FloatArray:
        checked = self._check_new(X)
        n = (self.map_.centers_ if checked is None else checked).shape[0]
        with threads(self.n_jobs):
            return self._subset.jacobian(checked, row_numbers(rows, n))

    def _need(self, X: Any, m: int, metric: str) -> float:
        """Bytes of the rows as the formula takes them, of their places, and of layout or search for centres."""
        n, d = X.shape
        reduced = metric != "precomputed" and self.pca is not None and self.pca < min(m, d)
        width = m if metric == "precomputed" else int(self.pca) if reduced else d
        held = 0 if is_sparse(X) else d  # a sparse table stays as it is
        rows = 8.0 * n * (2 * width + held) if reduced else 8.0 * (m if is_sparse(X) else n) * width
        work = max(embed_need(self.embedder, m, self.perplexity), search_need(m, width, _NEAR))  # one after the other
        return rows + 8.0 * n * (3 * self.n_components + 8) + work + _SEARCH_BYTES

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together."""
        if "map_" in vars(self):
            self._subset.check_restored(len(self.embedding_), self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.sampling == "stratified"
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelTSNE(_KernelMethod):
    """t-SNE of a subset, with a formula that places all other rows, and new ones, in linear time.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_train : int or None, default=2000
        Rows that are laid out; None, or no more rows than that: all.
    perplexity : float, default=30.0
        Effective number of neighbours of t-SNE.
    embedder : {"tsne", "umap", "isomap", "lle", "mvu"} or estimator, default="tsne"
        What lays the training rows out: kernel Isomap, kernel LLE, and so on; see `manifolia.layout.embed`. An
        estimator with ``fit_transform`` gets the training rows after PCA, or their distances if these were given.
    pca : int or None, default=30
        Reduce the data to this many principal components of the training rows, if it has more features.
    map : KernelMap or None, default=None
        The formula that places rows, with its own parameters; ``fit`` uses a copy. None: ``KernelMap(mapping="mode",
        n_centers=None)``, which keeps classes apart better than the paper's mean of kernels. The paper's is
        ``KernelMap(bandwidth="paper", factor="auto", coefficients="lstsq", ridge=0.0)``. With ``far="nan"``, rows
        farther from what the map knows than any row of ``fit``, what PCA leaves of them included, get no place;
        `novelty` identifies them either way.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance, for the layout and for the formula, whatever `map` says. With ``"precomputed"`` ``fit`` takes
        distances (n, n), and new rows are distances to the rows of ``fit``, (m, n).
    sampling : {"random", "stratified"}, default="random"
        Whether training rows are drawn from all, or in proportion to the classes, which ``fit`` then needs.
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
        The map, a row for each row of ``fit``: training rows where they were laid out, the others by the formula.
    train_indices_ : ndarray of shape (n_train,)
        Rows that were laid out.
    map_ : KernelMap
        The formula.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    With the default formula ``fit_transform`` and ``transform`` agree on the rows of ``fit``, except for duplicates
    among the training rows, which go to the first of them. With ``KernelMap(mapping="kernel")`` ``transform`` places
    training rows by the formula, which smooths.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X = load_iris().data
    >>> model = mf.KernelTSNE(n_train=100, embedder="isomap", random_state=0).fit(X)
    >>> model.embedding_.shape, model.transform(X[:3]).shape
    ((150, 2), (3, 2))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_train: int | None = 2000,
        perplexity: float = 30.0,
        embedder: Any = "tsne",
        pca: int | None = 30,
        map: KernelMap | None = None,
        metric: str = "euclidean",
        sampling: str = "random",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_train = n_train
        self.perplexity = perplexity
        self.embedder = embedder
        self.pca = pca
        self.map = map
        self.metric = metric
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Lay out the training rows and place all rows: Algorithm 1.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d), or (n, n) with metric="precomputed"
            Rows without missing values, features on comparable scales; or distances.
        y : array-like of shape (n,), default=None
            Classes, for ``sampling="stratified"``; otherwise not used.

        Returns
        -------
        KernelTSNE
            Itself.
        """
        self._check_shared(self.metric)
        check_embedder(self.embedder, self.metric)
        with threads(self.n_jobs):
            checked = validate_data(self, X, accept_sparse=self.metric != "precomputed", min_rows=3)
            if self.metric == "precomputed":
                check_pairwise(checked, square=True)
            n = checked.shape[0]
            labels = None if self.sampling == "random" else _classes(y, n)
            reporter = Reporter(self.callback, verbose=self.verbose)
            memory.require(self._memory_need(checked, y), step=f"a map of {n} rows", remedy=_REMEDY)
            draw_seed, pca_seed, layout_seed = spawn_seeds(self.random_state, 3)
            rows = choose_rows(n, self.n_train, labels, draw_seed)  # line 2
            projection = self._projection(checked[rows], self.metric, pca_seed)  # ours: noise is left out
            Z = seen_rows(checked, rows, projection, self.metric)
            train = np.ascontiguousarray(filled(Z[rows]))
            places = embed(  # lines 3 and 5
                train,
                self.embedder,
                self.n_components,
                metric=self.metric,
                perplexity=self.perplexity,
                random_state=layout_seed,
                reporter=reporter,
            )
            reporter.update("placing", 0, n)
            formula = self._formula(self.metric, layout_seed).fit(train, places)  # lines 6 to 10
            embedding, subset = place_all(checked, Z, rows, projection, formula, places)  # lines 4 and 11 to 14
            reporter.update("placing", n, n)
        return self._keep(embedding, subset)

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the training rows' neighbours or distances, reduced rows, places, distances."""
        n = X.shape[0]
        m = n if self.n_train is None else min(int(self.n_train), n)
        return self._need(X, m, self.metric)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        return tags


class FisherKernelTSNE(_KernelMethod):
    """t-SNE of a subset, guided by a target, with a formula that places all other rows, and new ones, without it.

    Distances of the training rows count what changes the probabilities of the classes, mixed with Euclidean ones.
    Rows are placed by Euclidean distances to the training rows, so that new rows need no class.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_train : int or None, default=2000
        Rows that are laid out; None, or no more rows than that: all. Time grows with its cube.
    perplexity : float, default=30.0
        Effective number of neighbours of t-SNE.
    embedder : {"tsne", "umap", "isomap", "mvu"} or estimator, default="tsne"
        What lays the training rows out, from their distances; see `manifolia.layout.embed`.
    fisher_bandwidth : float or "auto", default="auto"
        Width of the Parzen windows that estimate p(class|row), after PCA; ``"auto"`` maximises the likelihood of
        left-out rows.
    fisher_steps : int, default=10
        Pieces of the path between two rows.
    fisher_rule : {"arcs", "midpoint", "left", "paper"}, default="arcs"
        How a path's length is summed; see `manifolia.affinity.fisher`.
    fisher_reference : int or None, default=None
        Number of training rows from which p(class|row) is estimated; None: all.
    euclidean_mix : float, default=1.0
        Weight of Euclidean distances against Fisher distances, each in units of its median; 0: Fisher distances alone,
        which separate the training rows most and keep least of the data.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether the target is classes or numbers; ``"auto"`` looks at it.
    n_bins : int, default=5
        Bins of equal counts that numbers are cut into. Their order plays no part.
    pca : int or None, default=30
        Reduce the data to this many principal components of the training rows, if it has more features.
    map : KernelMap or None, default=None
        The formula that places rows, with its own parameters; ``fit`` uses a copy. None: ``KernelMap(mapping="mode",
        n_centers=None)``, which keeps classes apart better than the paper's mean of kernels. The paper's is
        ``KernelMap(bandwidth="paper", factor="auto", coefficients="lstsq", ridge=0.0)``. With ``far="nan"``, rows
        farther from what the map knows than any row of ``fit``, what PCA leaves of them included, get no place;
        `novelty` identifies them either way.
    sampling : {"stratified", "random"}, default="stratified"
        Whether training rows are drawn in proportion to the classes, or from all.
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
        The map, a row for each row of ``fit``: training rows where they were laid out, the others by the formula.
    train_indices_ : ndarray of shape (n_train,)
        Rows that were laid out.
    map_ : KernelMap
        The formula.
    layout_metric_ : str
        ``"fisher"``, or ``"euclidean"``, with a warning, if the classes cannot be predicted from the data.
    fisher_bandwidth_ : float
        Width of the Parzen windows.
    log_likelihood_ : float
        Mean of log p(class|row) over the training rows, each left out of its own estimate, in nats.
    prior_log_likelihood_ : float
        The same if only the frequencies of the classes are known.
    left_out_score_ : float
        Share of the training rows, each left out of its own estimate, whose class (or bin) is the most probable: what
        there is to show.
    over_separation_ : float
        Share of the training rows whose 10 nearest training rows in the map vote for their class, minus
        `left_out_score_` (or the largest class's share, if that is more): above 0 the map of the training rows shows
        more than is known about rows like them.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    How well the map separates the training rows' classes proves nothing: with random labels and Fisher distances they
    can be just as far apart. Judge the map by rows that were not laid out. Rows whose target is missing may be among
    those of ``fit``. See `manifolia.KernelTSNE` on ``fit_transform`` and ``transform``.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import manifolia as mf
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mf.FisherKernelTSNE(n_train=100, embedder="umap", random_state=0).fit(X, y)
    >>> model.embedding_.shape, model.transform(X[:3]).shape, model.layout_metric_
    ((150, 2), (3, 2), 'fisher')
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_train: int | None = 2000,
        perplexity: float = 30.0,
        embedder: Any = "tsne",
        fisher_bandwidth: float | str = "auto",
        fisher_steps: int = 10,
        fisher_rule: str = "arcs",
        fisher_reference: int | None = None,
        euclidean_mix: float = 1.0,
        task: str = "auto",
        n_bins: int = 5,
        pca: int | None = 30,
        map: KernelMap | None = None,
        sampling: str = "stratified",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.n_components = n_components
        self.n_train = n_train
        self.perplexity = perplexity
        self.embedder = embedder
        self.fisher_bandwidth = fisher_bandwidth
        self.fisher_steps = fisher_steps
        self.fisher_rule = fisher_rule
        self.fisher_reference = fisher_reference
        self.euclidean_mix = euclidean_mix
        self.task = task
        self.n_bins = n_bins
        self.pca = pca
        self.map = map
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @row_by_row
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows.
        y : array-like of shape (n,), default=None
            Target, as for ``fit``.
        groups : array-like of shape (n,), default=None
            Which rows belong together, as for ``fit``.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y, groups=groups).embedding_

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Lay out the training rows by what separates their classes, and place all rows: Algorithm 2.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows without missing values, features on comparable scales.
        y : array-like of shape (n,), default=None
            Classes, or numbers, which are cut into bins; they may be missing for some rows, but not for all.
        groups : array-like of shape (n,), default=None
            Labels of rows that belong together, such as one patient's. The width of the windows is chosen, and rows
            are judged, with a row's whole group left out. A missing label is a group of its own.

        Returns
        -------
        FisherKernelTSNE
            Itself.
        """
        self._check_parameters()
        with threads(self.n_jobs):
            checked = validate_data(self, X, accept_sparse=True, min_rows=3)
            n = checked.shape[0]
            codes = class_codes(y, n, task=self.task, n_bins=self.n_bins)
            if groups is None and not is_sparse(checked):
                warn_of_near_copies(checked[codes >= 0], codes[codes >= 0], classes=True)
            together = read_groups(groups, n, y=codes[codes >= 0], labelled=codes >= 0)
            reporter = Reporter(self.callback, verbose=self.verbose)
            memory.require(self._memory_need(checked, y), step=f"a map of {n} rows", remedy=_REMEDY)
            draw_seed, pca_seed, layout_seed = spawn_seeds(self.random_state, 3)
            rows = choose_rows(n, self.n_train, codes if self.sampling == "stratified" else None, draw_seed)  # line 2
            projection = self._projection(checked[rows], "euclidean", pca_seed)  # ours: noise is left out
            Z = seen_rows(checked, rows, projection, "euclidean")
            train, known = np.ascontiguousarray(filled(Z[rows])), codes[rows]
            reporter.step("Fisher distances", 0, 1)
            classes = parzen_classes(  # p(class|row), section 4
                train,
                known,
                bandwidth=self.fisher_bandwidth,
                reference=self.fisher_reference,
                groups=sub_groups(together, rows),
                random_state=layout_seed,
            )
            guided = says_something(classes)  # ours: uninformative labels would show a separation that is not there
            laid_out = train
            if guided:
                fisher = path_distances(train, classes, steps=self.fisher_steps, rule=self.fisher_rule)  # line 3
                laid_out = mixed(fisher, train, self.euclidean_mix)  # ours: the inner structure of classes stays
            reporter.step("Fisher distances", 1, 1)
            places = embed(  # line 6
                laid_out,
                self.embedder,
                self.n_components,
                metric="precomputed" if guided else "euclidean",
                perplexity=self.perplexity,
                random_state=layout_seed,
                reporter=reporter,
            )
            labelled = known >= 0
            left_out = sub_groups(together, rows[labelled])
            shown = map_score(places[labelled], known[labelled], classification=True, groups=left_out)
            reporter.update("placing", 0, n)
            formula = self._formula("euclidean", layout_seed).fit(train, places)  # lines 7 to 11
            embedding, subset = place_all(checked, Z, rows, projection, formula, places)  # lines 5 and 12 to 15
            reporter.update("placing", n, n)
        self.layout_metric_ = "fisher" if guided else "euclidean"
        self.fisher_bandwidth_ = classes.bandwidth
        self.log_likelihood_, self.prior_log_likelihood_ = classes.likelihood, classes.prior
        earned = earned_score(classes.accuracy, known[labelled], classification=True)
        self.left_out_score_, self.over_separation_ = classes.accuracy, shown - earned
        return self._keep(embedding, subset)

    def _check_parameters(self) -> None:
        self._check_shared("euclidean")
        check_embedder(self.embedder, "precomputed")
        check_bandwidth(self.fisher_bandwidth, "fisher_bandwidth")
        check_number(self.fisher_steps, "fisher_steps", low=1, integer=True)
        check_option(self.fisher_rule, "fisher_rule", RULES)
        if self.fisher_reference is not None:
            check_number(self.fisher_reference, "fisher_reference", low=2, integer=True, hint="None takes all.")
        check_number(self.euclidean_mix, "euclidean_mix", low=0.0, hint="0 leaves Fisher distances alone.")

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the training rows' distances, reduced rows, places, distances."""
        n = X.shape[0]
        m = n if self.n_train is None else min(int(self.n_train), n)
        reference = m if self.fisher_reference is None else min(int(self.fisher_reference), m)
        codes = None if y is None else class_codes(y, n, task=self.task, n_bins=self.n_bins)
        n_classes = _MANY_CLASSES if codes is None else min(_MANY_CLASSES, int(codes.max()) + 1)
        distances = fisher_memory(m, reference, n_classes) + 16.0 * m**2
        return distances + self._need(X, m, "euclidean")

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _classes(y: ArrayLike | None, n: int) -> Any:
    """The classes by which training rows are drawn in proportion."""
    if y is None:
        raise ValueError("sampling='stratified' needs the classes of the rows. Pass y to fit.")
    return check_labels(y, n_rows=n)
