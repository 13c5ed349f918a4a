"""A map of some rows and a formula for all: what kernel t-SNE and its kin have in common (Algorithm 1 of the paper).

=====  ===============================================  ==========================================================
line   paper                                            here
=====  ===============================================  ==========================================================
2      selectTrainingSet                                `SubsetMap._choose`: at random, or in proportion to classes
3      pairwise distances of the training rows          after PCA fitted on these rows alone
5      t-SNE, or another layout (section 6.1)           ``_lay_out`` of the method
6–10   widths and coefficients                          `extension.kernel_map.KernelMap`
11–14  places of all rows                               ``KernelMap.transform``
=====  ===============================================  ==========================================================

A method derives from `SubsetMap`, adds its parameters and says by ``_lay_out`` where the training rows go.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import PCA

from manifolia._core import memory
from manifolia._core.blocks import fixed_gemm, row_blocks, standard_project
from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_generator, draw_by_class, spawn_seeds
from manifolia._core.types import Array, ArrayLike, Callback, FloatArray, IntArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_labels,
    check_number,
    check_option,
    validate_data,
)
from manifolia.extension.kernel_map import KernelMap
from manifolia.extension.kernel_rows import calibration_rows, check_distances
from manifolia.extension.map_answers import MapAnswers
from manifolia.extension.yardstick import tail_share, threshold

__all__ = ["SubsetMap"]

_BLOCK = 4096


class SubsetMap(MapAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ABC):
    """What methods that lay out a subset of the rows have in common; they derive from it and from `BaseEstimator`."""

    n_components: int
    n_train: int | None
    pca: int | None
    mapping: str
    mode_perplexity: float
    bandwidth: str | float
    coefficients: str
    far: str
    metric: str
    sampling: str
    random_state: RandomState
    n_jobs: int | None
    verbose: bool
    callback: Callback

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Lay out the training rows and place all.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows without missing values, features on comparable scales; or distances.
        y : array-like of shape (n,), default=None
            Target, for methods that it guides and for ``sampling="stratified"``; else not used.

        Returns
        -------
        SubsetMap
            Itself.
        """
        self._check_parameters()
        checked = validate_data(self, X, dtype=(np.float64, np.float32), order="C", ensure_min_samples=3)
        if self.metric == "precomputed":
            check_distances(checked, square=True)
        n = len(checked)
        labels = self._labels(y, n)
        reporter = Reporter(self.callback, verbose=self.verbose)
        memory.require(
            self._memory_need(n, y), step=f"a map of {n} rows", remedy="Take fewer rows, or a smaller n_train."
        )
        draw_seed, pca_seed, layout_seed = spawn_seeds(self.random_state, 3)
        with threads(self.n_jobs):
            self.train_indices_: IntArray = self._choose(n, labels, draw_seed)
            self._reduce(checked[self.train_indices_], pca_seed)
            Z = self._projected(checked)
            train = np.ascontiguousarray(Z[self.train_indices_])
            known = None if labels is None else labels[self.train_indices_]
            places = self._lay_out(train, known, layout_seed, reporter)
            reporter.update("placing", 0, n)
            self.map_: KernelMap = self._formula(self.mapping).fit(train, places)
            self._place_all(checked, Z, places)
            reporter.update("placing", n, n)
        self._n_features_out = self.embedding_.shape[1]
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Make the map and return it.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows; or distances.
        y : array-like of shape (n,), default=None
            Target, as for ``fit``.

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
            Their places; with ``far="nan"`` NaN for rows farther from what the map knows than any row of ``fit``.
        """
        checked = self._check_new(X)
        with threads(self.n_jobs):
            Z = self._projected(checked)
            if self.far == "nearest":
                return self.map_.transform(Z)
            placed, near = self.map_._placed(Z, with_distance=True)
            placed[self._distance(checked, Z, near) > self._yardstick.max()] = np.nan
            return placed

    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Tell how far rows are from what the map knows, what PCA leaves of them included.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed", default=None
            Rows; or their distances to the rows of ``fit``. None: the rows of ``fit``, training rows without
            themselves.

        Returns
        -------
        ndarray of shape (m,)
            Share of ordinary rows that are nearer: 1 − novelty is the probability that such a row is as far. Ordinary
            rows are those of ``fit`` that were not laid out, or, with fewer than 200 of them, the training rows.
        """
        if X is None:
            check_is_fitted(self, "map_")
            return tail_share(self._own_distances, self._yardstick)
        checked = self._check_new(X)
        with threads(self.n_jobs):
            Z = self._projected(checked)
            near = self.map_.distance(Z) * self.map_._frame.scale
            return tail_share(self._distance(checked, Z, near), self._yardstick)

    @property
    def novelty_threshold_(self) -> float:
        """Novelty from which on a row is called unlike those of ``fit``: one in a hundred of these is."""
        check_is_fitted(self, "map_")
        return threshold(len(self._yardstick))

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features, through the principal components.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (m, n_components, d)
            ∂y/∂x; only for ``mapping="kernel"`` with Euclidean distances. `smooth` gives a map that has it.
        """
        checked = self._check_new(X)
        with threads(self.n_jobs):
            J = self.map_.jacobian(self._projected(checked))
            if self._components is None:
                return J
            m, c, k = J.shape
            return fixed_gemm(J.reshape(m * c, k), self._components.astype(np.float64)).reshape(m, c, -1)

    def smooth(self) -> Self:
        """Give the same map a smooth formula, which has a derivative.

        Returns
        -------
        SubsetMap
            A copy with ``mapping="kernel"``: training rows were laid out where they are here, and new rows go to a mean
            of near ones. Its `jacobian`, arrows and importances explain this map.
        """
        check_is_fitted(self, "map_")
        made = copy.copy(self)
        made.mapping = "kernel"
        with threads(self.n_jobs):
            made.map_ = made._formula("kernel").fit(self.map_.centers_, self.map_.places_)
        return made

    @abstractmethod
    def _lay_out(self, train: FloatArray, labels: Array | None, seed: int, reporter: Reporter) -> FloatArray:
        """Line 5: places of the training rows, which come after PCA, or as distances if these were given."""

    def _labels(self, y: ArrayLike | None, n: int) -> Array | None:
        """Classes of the rows if the method needs them, else None."""
        if self.sampling != "stratified":
            return None
        if y is None:
            message = "sampling='stratified' needs the classes of the rows. Pass y to fit."
            raise ValueError(message)
        return check_labels(y, n_rows=n)

    def _check_parameters(self) -> None:
        check_number(self.n_components, "n_components", low=1, integer=True)
        if self.n_train is not None:
            check_number(self.n_train, "n_train", low=3, integer=True, hint="None lays out all rows.")
        if self.pca is not None:
            check_number(self.pca, "pca", low=1, integer=True, hint="None uses the features as they are.")
        check_option(self.far, "far", ("nearest", "nan"))
        check_option(self.sampling, "sampling", ("random", "stratified"))
        check_bool(self.verbose, "verbose")
        self._formula(self.mapping)._check_parameters()

    def _formula(self, mapping: str) -> KernelMap:
        return KernelMap(
            mapping=mapping,
            mode_perplexity=self.mode_perplexity,
            bandwidth=self.bandwidth,
            coefficients=self.coefficients,
            metric=self.metric,
            n_centers=None,
        )

    def _check_new(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self, "map_")
        checked: FloatArray = validate_data(self, X, reset=False, dtype=(np.float64, np.float32), order="C")
        if self.metric == "precomputed":
            check_distances(checked, square=False)
        return checked

    def _choose(self, n: int, labels: Array | None, seed: int) -> IntArray:
        """Line 2: the training rows, ascending."""
        size = n if self.n_train is None else min(int(self.n_train), n)
        if size == n:
            return np.arange(n, dtype=np.intp)
        if self.sampling == "stratified":
            _, code = np.unique(np.asarray(labels), return_inverse=True)
            return draw_by_class(code, size, seed)
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

    def _place_all(self, X: FloatArray, Z: FloatArray, places: FloatArray) -> None:
        """Lines 11–14, and the yardstick of novelty."""
        self.embedding_, near = self.map_._placed(Z, with_distance=True)
        self.embedding_[self.train_indices_] = places
        near[self.train_indices_] = self.map_._own_distance()
        self._own_distances = self._distance(X, Z, near)
        rows = calibration_rows(len(X), self.train_indices_)
        self._yardstick = self._own_distances[self.train_indices_ if rows is None else rows]

    def _distance(self, X: FloatArray, Z: FloatArray, near: FloatArray) -> FloatArray:
        """Distance to the centres, in the frame, and at right angles to it the distance to the principal components."""
        near = near / self.map_._frame.scale
        if self._components is None or self._mean is None:
            return near
        out = np.empty(len(X))
        for rows in row_blocks(len(X), _BLOCK):
            left = (X[rows] - self._mean).astype(np.float64) - fixed_gemm(Z[rows].astype(np.float64), self._components)
            out[rows] = np.hypot(near[rows], np.sqrt(np.square(left).sum(axis=1)))
        return out

    def _memory_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the training rows' neighbours or distances, reduced rows, places, distances."""
        m = n if self.n_train is None else min(int(self.n_train), n)
        width = m if self.metric == "precomputed" else 32 if self.pca is None else int(self.pca)
        return self._layout_need(m) + 8.0 * n * (width + 3 * self.n_components + 8) + 64e6

    @abstractmethod
    def _layout_need(self, m: int) -> float:
        """Bytes at the peak of laying out m rows."""

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together."""
        if "map_" not in vars(self):
            return
        fits = self._yardstick.ndim == 1 and self._yardstick.size > 0
        fits = fits and self._own_distances.shape == (len(self.embedding_),)
        if self._components is not None and self._mean is not None:
            fits = fits and self._components.shape == (self.map_.n_features_in_, self.n_features_in_)
            fits = fits and self._mean.shape == (self.n_features_in_,)
        if not fits:
            message = "the components, the yardstick or the map of the model do not fit together."
            raise ValueError(message)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.sampling == "stratified"
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
