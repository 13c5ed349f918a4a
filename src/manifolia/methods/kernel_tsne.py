"""Kernel t-SNE: lay out a subset of the rows, find a formula for the map, place all rows by it (Algorithm 1).

=====  ===============================================  ==========================================================
line   paper                                            here
=====  ===============================================  ==========================================================
2      selectTrainingSet                                `_choose`: at random, or in proportion to the classes
3      pairwise distances of the training rows          `neighbors`, after PCA fitted on these rows alone
5      t-SNE (or Isomap, LLE, any other: section 6.1)   `layout.tsne`, scikit-learn's, or the given estimator
6–10   widths and coefficients                          `extension.kernel_map.KernelMap`
11–14  places of all rows                               ``KernelMap.transform``
=====  ===============================================  ==========================================================

The paper places new rows by a mean of kernels. The default here is the mode of the neighbours' places, which keeps
classes apart better; ``mapping="kernel"`` with ``bandwidth="paper"`` is the paper's way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.decomposition import PCA

from manifolia._core.blocks import fixed_gemm, row_blocks, standard_project
from manifolia._core.parallel import threads
from manifolia._core.random import as_generator, as_seed, spawn_seeds
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import (
    check_is_fitted,
    check_labels,
    check_map,
    check_number,
    check_option,
    validate_data,
)
from manifolia.extension.kernel_map import KernelMap, tail_share
from manifolia.layout.initialize import pca_start, spectral_start
from manifolia.layout.tsne import perplexity_graph, tsne, tsne_neighbors
from manifolia.neighbors import kneighbors

__all__ = ["KernelTSNE"]

_BLOCK = 4096
_CALIBRATION = 10_000  # rows that were not laid out, from which novelty is judged
_ENOUGH = 200  # of them


class KernelTSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """t-SNE of a subset, with a formula that places all other rows, and new ones, in linear time.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map; t-SNE has 1 or 2.
    n_train : int or None, default=2000
        Rows that are laid out; None, or no more rows than that: all.
    perplexity : float, default=30.0
        Effective number of neighbours of t-SNE.
    embedder : {"tsne", "isomap", "lle"} or estimator, default="tsne"
        What lays the training rows out: kernel Isomap, kernel LLE, and so on. An estimator with ``fit_transform`` gets
        the training rows after PCA.
    pca : int or None, default=30
        Reduce the data to so many principal components of the training rows, if it has more features.
    mapping : {"mode", "kernel"}, default="mode"
        How rows are placed; see `manifolia.KernelMap`.
    mode_perplexity : float, default=5.0
        Effective number of neighbours for ``mapping="mode"``.
    bandwidth : {"auto", "global", "paper"} or float, default="auto"
        Width for ``mapping="kernel"``; see `manifolia.KernelMap`.
    coefficients : {"auto", "nadaraya-watson", "lstsq"}, default="auto"
        For ``mapping="kernel"``.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance, for the layout and the placing. With ``"precomputed"`` ``fit`` takes distances (n, n), and new rows
        are distances to the rows of ``fit``, (m, n).
    sampling : {"random", "stratified"}, default="random"
        Whether training rows are drawn from all, or in proportion to the classes, which ``fit`` then needs.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same bits for any `n_jobs`.
    n_jobs : int or None, default=None
        Threads; None is all cores.

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
    With ``mapping="mode"`` ``fit_transform`` and ``transform`` agree on the rows of ``fit``, but for duplicates among
    the training rows, which go to the first of them. With ``mapping="kernel"`` ``transform`` places training rows by
    the formula, which smooths.

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
        mapping: str = "mode",
        mode_perplexity: float = 5.0,
        bandwidth: str | float = "auto",
        coefficients: str = "auto",
        metric: str = "euclidean",
        sampling: str = "random",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_train = n_train
        self.perplexity = perplexity
        self.embedder = embedder
        self.pca = pca
        self.mapping = mapping
        self.mode_perplexity = mode_perplexity
        self.bandwidth = bandwidth
        self.coefficients = coefficients
        self.metric = metric
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> KernelTSNE:
        """Lay out the training rows and place all.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows without missing values, features on comparable scales; or distances.
        y : array-like of shape (n,), default=None
            Classes; used with ``sampling="stratified"`` only.

        Returns
        -------
        KernelTSNE
            Itself.
        """
        self._check_parameters()
        checked = validate_data(self, X, dtype=(np.float64, np.float32), order="C", ensure_min_samples=3)
        if self.metric == "precomputed" and checked.shape[0] != checked.shape[1]:
            message = (
                f"X must be square with metric='precomputed', got shape {checked.shape}. Pass the distances of all "
                f"rows to all rows."
            )
            raise ValueError(message)
        draw_seed, pca_seed, layout_seed = spawn_seeds(self.random_state, 3)
        with threads(self.n_jobs):
            self.train_indices_ = self._choose(len(checked), y, draw_seed)
            self._reduce(checked[self.train_indices_], pca_seed)
            Z = self._projected(checked)
            train = np.ascontiguousarray(Z[self.train_indices_])
            places = self._lay_out(train, layout_seed)
            self.map_ = KernelMap(
                mapping=self.mapping, mode_perplexity=self.mode_perplexity, bandwidth=self.bandwidth,
                coefficients=self.coefficients, metric=self.metric, n_centers=None,
            ).fit(train, places)  # fmt: skip
            self.embedding_ = self.map_.transform(Z)
            self.embedding_[self.train_indices_] = places
            self._calibrate(checked, Z)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows; or distances.
        y : array-like of shape (n,), default=None
            Classes; used with ``sampling="stratified"`` only.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the finished map, each alone: the same bits in any batch.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        checked = self._check_new(X)
        with threads(self.n_jobs):
            return self.map_.transform(self._projected(checked))

    def novelty(self, X: ArrayLike) -> FloatArray:
        """Tell how far rows are from what the map knows, what PCA leaves of them included.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m,)
            Share of ordinary rows that are nearer: 1 − novelty is the probability that such a row is as far. Ordinary
            rows are those of ``fit`` that were not laid out, or, with fewer than 200 of them, the training rows.
        """
        checked = self._check_new(X)
        with threads(self.n_jobs):
            return tail_share(self._distance(checked, self._projected(checked)), self._yardstick)

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (m, n_components, d)
            ∂y/∂x; only for ``mapping="kernel"`` with Euclidean distances.
        """
        checked = self._check_new(X)
        J = self.map_.jacobian(self._projected(checked))
        if self._components is None:
            return J
        m, c, k = J.shape
        return fixed_gemm(J.reshape(m * c, k), self._components.astype(np.float64)).reshape(m, c, -1)

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        if self.n_train is not None:
            check_number(self.n_train, "n_train", low=3, integer=True, hint="None lays out all rows.")
        check_number(self.perplexity, "perplexity", low=1.0)
        if not hasattr(self.embedder, "fit_transform"):
            check_option(self.embedder, "embedder", ("tsne", "isomap", "lle"))
        if self.pca is not None:
            check_number(self.pca, "pca", low=1, integer=True, hint="None uses the features as they are.")
        check_option(self.sampling, "sampling", ("random", "stratified"))
        if self.metric in ("cosine", "manhattan") and self.embedder == "lle":
            message = f"embedder='lle' measures Euclidean distances only, got metric={self.metric!r}."
            raise ValueError(message)
        if self.metric == "precomputed" and self.embedder == "lle":
            message = "embedder='lle' needs the features, got metric='precomputed'. Use 'tsne' or 'isomap'."
            raise ValueError(message)

    def _check_new(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self, "map_")
        checked: FloatArray = validate_data(self, X, reset=False, dtype=(np.float64, np.float32), order="C")
        return checked

    def _choose(self, n: int, y: ArrayLike | None, seed: int) -> IntArray:
        """Line 2: the training rows, ascending."""
        size = n if self.n_train is None else min(int(self.n_train), n)
        if self.sampling == "stratified":
            if y is None:
                message = "sampling='stratified' needs the classes of the rows. Pass y to fit."
                raise ValueError(message)
            labels = check_labels(y, n_rows=n)
            order = as_generator(seed).permutation(n)
            _, code = np.unique(labels, return_inverse=True)
            # Evenly spaced rows of the list sorted by class: every class in proportion, to the row.
            by_class = order[np.argsort(code[order], kind="stable")]
            return np.sort(by_class[(np.arange(size) * n) // size])
        if size == n:
            return np.arange(n, dtype=np.intp)
        return np.sort(as_generator(seed).choice(n, size, replace=False))

    def _reduce(self, train: FloatArray, seed: int) -> None:
        """Principal components of the training rows, if there are more features."""
        self._mean: FloatArray | None = None
        self._components: FloatArray | None = None
        if self.pca is None or self.metric == "precomputed" or self.pca >= min(train.shape):
            return
        found = PCA(self.pca, random_state=seed).fit(train)
        self._mean = np.ascontiguousarray(found.mean_, dtype=train.dtype)
        self._components = np.ascontiguousarray(found.components_, dtype=train.dtype)

    def _projected(self, X: FloatArray) -> FloatArray:
        if self.metric == "precomputed":
            return np.ascontiguousarray(X[:, self.train_indices_])
        if self._components is None or self._mean is None:
            return X
        dtype = X.dtype
        return standard_project(X, self._mean.astype(dtype), self._components.astype(dtype))

    def _lay_out(self, train: FloatArray, seed: int) -> FloatArray:
        """Line 5: places of the training rows."""
        n, c = len(train), self.n_components
        if self.embedder == "tsne":
            near = kneighbors(train, tsne_neighbors(self.perplexity, n), metric=self.metric, exact=True)
            if self.metric == "precomputed":
                graph = perplexity_graph(near, min(self.perplexity, max(1.0, (n - 1) / 3)))
                start = spectral_start(graph, c, random_state=seed)
            else:
                start = pca_start(train, c, random_state=seed)
            return tsne(near, start, perplexity=self.perplexity)
        if self.embedder == "isomap":
            from sklearn.manifold import Isomap

            made: Any = Isomap(n_components=c, n_neighbors=min(10, n - 1), metric=self.metric, n_jobs=1)
        elif self.embedder == "lle":
            from sklearn.manifold import LocallyLinearEmbedding

            made = LocallyLinearEmbedding(
                n_components=c, n_neighbors=min(12, n - 1), random_state=as_seed(seed), n_jobs=1
            )
        else:
            made = clone(self.embedder)
            if "random_state" in made.get_params() and made.random_state is None:
                made.set_params(random_state=as_seed(seed))
        return check_map(made.fit_transform(train), n_rows=n, name="the embedder's map").astype(np.float64)

    def _distance(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Distance to the centres and, at right angles to it, to the plane of the principal components."""
        near = self.map_.distance(Z)
        if self._components is None or self._mean is None:
            return near
        return np.asarray(np.hypot(near, self._residual(X, Z)))

    def _residual(self, X: FloatArray, Z: FloatArray) -> FloatArray:
        """Distance of each row to the plane of the principal components."""
        out = np.empty(len(X))
        if self._components is None or self._mean is None:
            return np.zeros(len(X))
        for rows in row_blocks(len(X), _BLOCK):
            left = (X[rows] - self._mean).astype(np.float64) - fixed_gemm(Z[rows].astype(np.float64), self._components)
            out[rows] = np.sqrt(np.square(left).sum(axis=1))
        return out

    def _calibrate(self, X: FloatArray, Z: FloatArray) -> None:
        others = np.setdiff1d(np.arange(len(X)), self.train_indices_)
        others = others[:: max(1, -(-len(others) // _CALIBRATION))]
        if len(others) >= _ENOUGH:  # as new to the map as new rows are
            self._yardstick = self._distance(X[others], np.ascontiguousarray(Z[others]))
            return
        own = self.map_.distance()
        if self._components is not None:
            own = np.hypot(own, self._residual(X[self.train_indices_], Z[self.train_indices_]))
        self._yardstick = own

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.sampling == "stratified"
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
