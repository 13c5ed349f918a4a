"""Supervised NMF: parts of the data that rows of a class share and rows of different classes do not (Jia et al. 2019).

    min ‖X − V U‖² + λ_s tr(Vᵀ L V) + λ_d tr(Vᵀ D V) + ρ ‖U‖²    over    V, U ≥ 0

L = diag(S 1) − S is the Laplacian of the similarities S (1 within a class), and D is 1 between classes: as V is not
negative, Vᵢ·Vⱼ is small only if two rows have no part in common. Both are scaled by the number of rows, so that the
weights mean the same for any number. The last term is ours: without it a smaller V and a larger U would evade the
others. The updates multiply by the ratio of the gradient's negative part to its positive part, and never raise the
objective. Sums over classes replace S V and D V, so that no n × n matrix is formed.

References
----------
.. [1] Y. Jia, S. Kwong, J. Hou and W. Wu, "Semi-supervised non-negative matrix factorization with dissimilarity and
   similarity regularization", IEEE Transactions on Neural Networks and Learning Systems, 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from manifolia._core import memory
from manifolia._core.collections import row_by_row
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, RandomState
from manifolia._core.validate import check_number, validate_data
from manifolia.baselines._placing import ClassMap
from manifolia.baselines._target import target_classes

_HOLD = 0.001  # ρ, per row
_EPSILON = 1e-12  # keeps ratios finite where a part vanishes


class SupervisedNMF(ClassMap):
    """Non-negative factors that pull each class together and push classes apart.

    Parameters
    ----------
    n_components : int, default=2
        Parts; the dimensions of the map.
    similarity : float, default=1.0
        Weight λ_s of pulling the rows of a class together.
    dissimilarity : float, default=1.0
        Weight λ_d of keeping classes from sharing parts.
    max_iter : int, default=500
        Maximum number of updates.
    tol : float, default=1e-5
        Relative change of the objective, over ten updates, below which to stop.
    random_state : int, RandomState, Generator or None, default=None
        Where the factors start.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        V, made with the classes.
    components_ : ndarray of shape (n_components, d)
        U, the parts.
    objective_ : ndarray
        Objective after each update; it never rises.
    n_iter_ : int
        Updates made.
    shift_ : ndarray of shape (d,)
        What is subtracted from columns so that their smallest value is 0.
    classes_ : ndarray
        The classes.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    Columns are shifted to start at 0, since factors cannot be negative; values of new rows below that count as 0.
    ``transform`` finds the parts of rows without their class, so it differs from ``fit_transform``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from manifolia.baselines import SupervisedNMF
    >>> X, y = load_iris(return_X_y=True)
    >>> SupervisedNMF(random_state=0).fit(X, y).transform(X[:3]).shape
    (3, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        similarity: float = 1.0,
        dissimilarity: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-5,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.similarity = similarity
        self.dissimilarity = dissimilarity
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @all_or_nothing
    def fit(self, X: ArrayLike, y: ArrayLike) -> SupervisedNMF:
        """Find parts and shares.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Classes.

        Returns
        -------
        SupervisedNMF
            Itself.
        """
        check_number(self.n_components, "n_components", low=1, integer=True)
        check_number(self.similarity, "similarity", low=0.0)
        check_number(self.dissimilarity, "dissimilarity", low=0.0)
        check_number(self.max_iter, "max_iter", low=1, integer=True)
        check_number(self.tol, "tol", low=0.0)
        checked = validate_data(self, X, min_rows=2)
        n, d = checked.shape
        memory.require(self._memory_need(checked, y), step=f"the factors of {n} rows", remedy="Take fewer rows.")
        self.classes_, codes = target_classes(y, n, name="SupervisedNMF")
        self.shift_ = checked.min(axis=0).astype(np.float64)
        A = checked.astype(np.float64) - self.shift_
        self._scale = float(np.sqrt(np.mean(A**2))) or 1.0  # so that the weights mean the same in any unit
        A /= self._scale
        rng = as_generator(self.random_state)
        start = np.sqrt(max(A.mean(), _EPSILON) / self.n_components)
        V = start * rng.uniform(0.5, 1.5, (n, self.n_components))
        U = start * rng.uniform(0.5, 1.5, (self.n_components, d))
        with threads(1):
            V, U, self.objective_ = self._descend(A, V, U, codes, len(self.classes_))
        self.n_iter_ = len(self.objective_)
        self.embedding_ = V.astype(checked.dtype)
        self.components_ = U * self._scale
        self._n_features_out = self.n_components
        return self

    def _descend(
        self, A: FloatArray, V: FloatArray, U: FloatArray, codes: Array, n_classes: int
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = len(A)
        one_hot = np.eye(n_classes)[codes]
        sizes = one_hot.sum(axis=0)
        draw, part, hold = self.similarity / n, self.dissimilarity / n, _HOLD * n
        history: list[float] = []
        for step in range(self.max_iter):
            U = U * (V.T @ A) / (V.T @ V @ U + hold * U + _EPSILON)
            together = one_hot @ (one_hot.T @ V)  # S V
            apart = V.sum(axis=0) - together  # D V
            above = A @ U.T + draw * together
            below = V @ (U @ U.T) + part * apart + draw * sizes[codes][:, None] * V + _EPSILON
            V = V * above / below
            history.append(self._objective(A, V, U, one_hot, sizes, codes))
            if step >= 10 and history[-11] - history[-1] < self.tol * abs(history[-11]):
                break
        return V, U, np.array(history)

    def _objective(
        self, A: FloatArray, V: FloatArray, U: FloatArray, one_hot: FloatArray, sizes: FloatArray, codes: Array
    ) -> float:
        sums = one_hot.T @ V
        squares = float(np.sum(sizes[codes][:, None] * V**2))
        within = float(np.sum(sums**2))
        between = float(np.sum(V.sum(axis=0) ** 2)) - within
        n = len(A)
        fit = float(np.sum((A - V @ U) ** 2))
        kept = _HOLD * n * float(np.sum(U**2))
        return fit + self.similarity / n * (squares - within) + self.dissimilarity / n * between + kept

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit: the shifted rows, what the factors make of them, and the difference."""
        n, d = X.shape
        return 8.0 * n * (3 * d + 10 * self.n_components)

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
        parts, shifted = self.components_.T, np.maximum(rows - self.shift_, 0.0)
        with threads(1):
            shares = np.array([nnls(parts, row)[0] for row in shifted]).reshape(len(rows), self.n_components)
        return shares.astype(dtype, copy=False)
