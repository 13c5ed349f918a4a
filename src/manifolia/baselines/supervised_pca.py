"""Supervised principal components: directions along which the data depends most on the target (Barshan et al. 2011).

Dependence is measured by the Hilbert–Schmidt criterion with a kernel L of the target,

    max tr(Uᵀ Xᵀ H L H X U)    subject to    Uᵀ U = I,

H the centring. With L = F Fᵀ the solution is the left singular vectors of Xᵀ H F: no n × n matrix is formed. In the
feature space of a kernel K the coefficients are β = H F V S⁻¹ from the eigenvectors V and eigenvalues S² of
Fᵀ H K H F, which is small if the target is narrow.

The target has only a few directions (one fewer than classes). Components beyond them are the principal components of
what is left of the data, in the same space; the papers do not say what they use.

References
----------
.. [1] E. Barshan, A. Ghodsi, Z. Azimifar and M. Zolghadri Jahromi, "Supervised principal component analysis:
   visualization, classification and regression on subspaces and submanifolds", Pattern Recognition 44, 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import pairwise_kernels

from manifolia._core import memory
from manifolia._core.blocks import fixed_gemm, map_rows
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_number, check_option, validate_data
from manifolia.baselines._placing import TargetMap, signs
from manifolia.baselines._target import target_factor
from manifolia.exceptions import ParameterError

_KERNELS = ("rbf", "linear", "poly")
_TARGET_KERNELS = ("auto", "delta", "linear", "rbf")
_LEFT_ARRAYS = 4  # copies of the rows, or of their kernel, while components are found in what is left of them
_FACTOR = 6  # columns of the factor of a target of some classes
_RANK = 1e-9  # of the largest singular value: smaller ones are rounding


class SupervisedPCA(TargetMap):
    """Linear map along which the data depends most on the target.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    target_kernel : {"auto", "delta", "linear", "rbf"}, default="auto"
        How targets are compared: as equal or not (classes), by product or by a Gaussian (numbers). ``"auto"``: equality
        for classes, product for numbers.
    task : str, default="auto"
        The kind of task, as for `manifolia.RFPHATE`.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, d)
        Orthonormal directions.
    mean_ : ndarray of shape (d,)
        Centre of the data.
    n_supervised_ : int
        Number of components that the target determines; the rest are principal components of what is left.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import SupervisedPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> SupervisedPCA().fit_transform(X, y).shape
    (150, 2)
    """

    def __init__(
        self, n_components: int = 2, *, target_kernel: str = "auto", task: str = "auto", n_jobs: int | None = None
    ) -> None:
        self.n_components = n_components
        self.target_kernel = target_kernel
        self.task = task
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> SupervisedPCA:
        """Find the directions.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, features on comparable scales.
        y : array-like of shape (n,) or (n, n_outputs)
            Classes or numbers.

        Returns
        -------
        SupervisedPCA
            Itself.
        """
        check_option(self.target_kernel, "target_kernel", _TARGET_KERNELS)
        checked = validate_data(self, X, min_rows=2)
        n, d = checked.shape
        check_number(self.n_components, "n_components", low=1, high=d, integer=True)
        memory.require(self._memory_need(checked, y), step=f"directions of {n} rows", remedy="Take fewer rows.")
        factor = target_factor(y, n, task=self.task, kernel=self.target_kernel)
        self.mean_ = checked.mean(axis=0, dtype=np.float64)
        with threads(1):
            A = checked - self.mean_
            U, S, _ = svd(A.T @ factor.F, full_matrices=False)
            U = U[:, _RANK * max(S[0], np.finfo(float).tiny) < S][:, : self.n_components]
            self.n_supervised_ = U.shape[1]
            missing = self.n_components - U.shape[1]
            if missing:
                _, left, V = svd(A - (A @ U) @ U.T, full_matrices=False)
                U = np.hstack((U, V[left > _RANK * max(left[0], np.finfo(float).tiny)][:missing].T))
                # Where no variance is left, any direction at right angles to the others will do.
                U = np.hstack((U, np.linalg.qr(np.hstack((U, np.eye(d))))[0][:, U.shape[1] : self.n_components]))
        self.components_ = (U * signs(U)).T
        self._n_features_out = self.n_components
        return self

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the centred rows, and a factor of the target's kernel."""
        n, d = X.shape
        is_enough = _directions(y, n, self.task, self.target_kernel) >= self.n_components
        return 8.0 * n * (d * (1 if is_enough else _LEFT_ARRAYS) + _FACTOR)

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows, each alone; a target plays no part.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        rows, dtype = self._check_new(X)
        return fixed_gemm(rows - self.mean_, self.components_.T, n_jobs=self.n_jobs).astype(dtype, copy=False)


class KernelSupervisedPCA(TargetMap):
    """Supervised principal components in the feature space of a kernel.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    kernel : {"rbf", "linear", "poly"}, default="rbf"
        Kernel of the rows; with ``"linear"`` it is `SupervisedPCA`.
    gamma : float or None, default=None
        Parameter of ``"rbf"`` and ``"poly"``; None: one over the median squared distance for the first, and one over
        the number of features for the second.
    degree : int, default=3
        Degree of ``"poly"``.
    target_kernel : {"auto", "delta", "linear", "rbf"}, default="auto"
        As for `SupervisedPCA`.
    task : str, default="auto"
        As for `SupervisedPCA`.
    n_jobs : int or None, default=None
        Threads; None is all cores.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, n_components)
        β: a row's place is k(x, X) β.
    n_supervised_ : int
        Number of components that the target determines.
    gamma_ : float
        The width that was used.
    n_features_in_ : int
        Features seen in ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import KernelSupervisedPCA
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelSupervisedPCA().fit_transform(X, y).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "rbf",
        gamma: float | None = None,
        degree: int = 3,
        target_kernel: str = "auto",
        task: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.target_kernel = target_kernel
        self.task = task
        self.n_jobs = n_jobs

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> KernelSupervisedPCA:
        """Find the coefficients.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, features on comparable scales.
        y : array-like of shape (n,) or (n, n_outputs)
            Classes or numbers.

        Returns
        -------
        KernelSupervisedPCA
            Itself.
        """
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_option(self.kernel, "kernel", _KERNELS)
        check_option(self.target_kernel, "target_kernel", _TARGET_KERNELS)
        check_number(self.degree, "degree", low=1, integer=True)
        if self.gamma is not None:
            check_number(self.gamma, "gamma", low=0.0, open_low=True, hint="None chooses it by the data.")
        checked = validate_data(self, X, min_rows=2)
        n = checked.shape[0]
        need = self._memory_need(checked, y)
        memory.require(need, step=f"the kernel of {n} rows", remedy="Take fewer rows, or SupervisedPCA.")
        factor = target_factor(y, n, task=self.task, kernel=self.target_kernel)
        with threads(1):
            self._X = np.array(checked, dtype=np.float64)
            self._center = self._X.mean(axis=0)
            self._X -= self._center
            self.gamma_ = self._width()
            K = self._kernel(self._X)
            values, V = eigh(factor.F.T @ K @ factor.F)  # F is centred: H F = F
            order = [i for i in np.argsort(-values) if values[i] > _RANK * max(values[-1], np.finfo(float).tiny)]
            kept = order[: self.n_components]
            beta = factor.F @ (V[:, kept] / np.sqrt(values[kept]))
            self.n_supervised_ = beta.shape[1]
            if self.n_supervised_ < self.n_components:
                beta = np.hstack((beta, self._left(K, beta)))
            places = K @ beta
            self._shift = places.mean(axis=0)
            self.dual_coef_, self._shift = beta * signs(places), self._shift * signs(places)
        self._n_features_out = self.n_components
        return self

    def _left(self, K: FloatArray, beta: FloatArray) -> FloatArray:
        """Principal components of the feature space without the directions that β has."""
        n, missing = len(K), self.n_components - beta.shape[1]
        along = K @ beta
        rest = K - along @ along.T
        rest = rest - rest.mean(axis=0) - rest.mean(axis=1, keepdims=True) + rest.mean()
        values, vectors = eigh(rest, subset_by_index=[max(0, n - missing), n - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        vectors = vectors - vectors.mean(axis=0)
        more = (vectors - beta @ (along.T @ vectors)) / np.sqrt(np.maximum(values, np.finfo(float).eps * n))
        if more.shape[1] < missing:
            raise ParameterError(
                f"n_components={self.n_components} is more than {n} rows can span. Lower it.", parameter="n_components"
            )
        return np.asarray(more)

    def _width(self) -> float:
        if self.gamma is not None:
            return float(self.gamma)
        if self.kernel != "rbf":
            return 1.0 / self._X.shape[1]
        picked = self._X[:: max(1, len(self._X) // 500)]
        squares = cdist(picked, picked, "sqeuclidean")
        positive = squares[squares > 0]
        return 1.0 / float(np.median(positive)) if positive.size else 1.0

    def _kernel(self, A: FloatArray) -> FloatArray:
        more = {"rbf": {"gamma": self.gamma_}, "linear": {}, "poly": {"gamma": self.gamma_, "degree": self.degree}}
        return np.asarray(pairwise_kernels(A, self._X, metric=self.kernel, **more[self.kernel]))

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the kernel of all pairs, and what is computed from it."""
        n, d = X.shape
        is_enough = _directions(y, n, self.task, self.target_kernel) >= self.n_components
        return 8.0 * n * (n * (1 if is_enough else _LEFT_ARRAYS) + d + _FACTOR)

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows, each alone; a target plays no part.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places.
        """
        rows, dtype = self._check_new(X)
        K = map_rows(self._kernel, np.ascontiguousarray(rows - self._center), n_jobs=self.n_jobs)
        places = fixed_gemm(K, self.dual_coef_, n_jobs=self.n_jobs) - self._shift
        return places.astype(dtype, copy=False)


def _directions(y: ArrayLike | None, n: int, task: str, kernel: str) -> int:
    """Return how many directions a target determines at most."""
    if y is None:
        return 0
    factor = target_factor(y, n, task=task, kernel=kernel)
    return factor.F.shape[1] - (factor.classes is not None)
