"""What a map made from a forest can say beyond coordinates: proximities, novelty, importance.

`ForestAnswers` gives these to an estimator. Each is computed when it is first asked for; what needs the training rows
says so once they are gone, because a saved model does not carry them.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, FloatArray, Sparse
from manifolia._core.validate import check_is_fitted, validate_data
from manifolia.forest.importances import Importance, contrast_importance, importance_from_counts
from manifolia.forest.leaf_tables import LeafTable, check_leaves, leaf_ids
from manifolia.forest.node_ranges import novelty, ranges_from_counts
from manifolia.forest.proximities import proximity_from_leaves
from manifolia.forest.targets import Target
from manifolia.forest.trees import check_forest, check_forest_input, read_trees

__all__ = ["ForestAnswers"]

_NOT_SAVED = ("_X", "_target")  # a saved model does not carry the data


class ForestAnswers:
    """Mixin for an estimator whose map comes from a forest.

    The estimator has the parameters ``proximity`` and ``n_jobs``; its ``fit`` ends with `_keep` and sets
    ``embedding_``.
    """

    proximity: str
    n_jobs: int | None
    forest_: Any

    def _keep(
        self, X: Any, target: Target, table: LeafTable, weight: FloatArray | None, seeds: tuple[int, int | None]
    ) -> None:
        """Remember what the answers need: the rows, the forest's leaves, and the seeds of permutation and contrast."""
        self._X = X
        self._target = target
        self._table = table
        self._weight = weight
        self._permutation_seed, self._contrast_seed = seeds

    def _forget(self) -> None:
        """Drop the answers of an earlier fit, so that one that is stopped leaves no half-new model."""
        for name in ("embedding_", "oob_prediction_", "_importance", "_ranges", "_own_novelty"):
            vars(self).pop(name, None)

    def proximity_matrix(self, X: ArrayLike | None = None) -> Sparse:
        """Compute the forest's proximities.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            New rows against the training rows; None: the training rows among themselves.

        Returns
        -------
        csr_array of shape (n, n) or (m, n)
            Of the kind that the map was made with.
        """
        check_is_fitted(self, "embedding_")
        new_leaf = None
        with threads(self.n_jobs):
            if X is not None:
                checked = check_forest_input(self.forest_, self._check_new(X))
                new_leaf = leaf_ids(self._table.trees, checked)
            return proximity_from_leaves(
                self._table, kind=self.proximity, new_leaf=new_leaf, sample_weight=self._weight
            )

    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Score how unlike the training rows of its leaves each row is; see `manifolia.forest.node_ranges`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            New rows, each scored alone by all trees. None: the training rows, each scored by the trees that left it
            out of their bag: the yardstick for new rows. It needs the training data, which is not saved with a model,
            and is kept once computed.

        Returns
        -------
        ndarray of shape (m,) or (n,)
            From 0, every value on its way lies among those of training rows, to 1, far outside; NaN for a training
            row that is in every bag.
        """
        check_is_fitted(self, "embedding_")
        with threads(self.n_jobs):
            if X is not None:
                return novelty(self.forest_, self._check_new(X), self._node_ranges())
            if "_own_novelty" not in vars(self):
                rows = self._training_rows("novelty() of the training rows")
                self._own_novelty = novelty(self.forest_, rows, self._node_ranges(), counts=self._table.counts)
            return self._own_novelty

    def _node_ranges(self) -> Any:
        """What novelty needs of the training rows: found when first asked for, or when the model is saved."""
        if "_ranges" not in vars(self):
            self._ranges = ranges_from_counts(self.forest_, self._training_rows("novelty"), self._table.counts)
        return self._ranges

    @property
    def feature_importances_(self) -> FloatArray:
        """Permutation importance of each feature on out-of-bag rows, computed on first access and kept.

        Returns
        -------
        ndarray of shape (d,)
            Mean over trees of what the error rate, or the mean squared error, grows by; see
            `manifolia.forest.importances`. With ``task="unsupervised"`` the error is that of telling the data from
            its shuffled copy.
        """
        return self._measured_importance().mean

    @property
    def importances_std_(self) -> FloatArray:
        """Standard deviation of `feature_importances_` over trees.

        Returns
        -------
        ndarray of shape (d,)
            Divided by the root of the number of trees, the standard error.
        """
        return self._measured_importance().std

    def _measured_importance(self) -> Importance:
        check_is_fitted(self, "embedding_")
        if "_importance" not in vars(self):
            if not self._table.bootstrap:
                message = "feature_importances_ needs rows out of bag. Pass a forest with bootstrap=True."
                raise AttributeError(message)
            with threads(self.n_jobs):
                self._importance = self._measure_importance(self._training_rows("feature_importances_"))
        return self._importance

    def _measure_importance(self, X: Any) -> Importance:
        seed, y, labelled = self._permutation_seed, self._target.y, self._target.labelled
        if y is not None:
            rows, counts = (X, self._table.counts) if labelled.all() else (X[labelled], self._table.counts[:, labelled])
            return importance_from_counts(self.forest_, rows, y, counts, random_state=seed)
        if self._contrast_seed is None:
            message = (
                "feature_importances_ needs the target that the given forest was fitted on. Pass it with the forest to "
                "manifolia.forest.permutation_importance."
            )
            raise AttributeError(message)
        return contrast_importance(self.forest_, X, contrast_state=self._contrast_seed, random_state=seed)

    def _training_rows(self, name: str) -> Any:
        """Return the rows given to ``fit``, unless they are gone or were changed since."""
        X = vars(self).get("_X")
        if X is None:
            message = (
                f"{name}: the training rows are needed for it and are not saved with the model. "
                f"Ask for it once before saving, or fit again."
            )
            raise AttributeError(message)
        leaf = leaf_ids(self._table.trees, check_forest_input(self.forest_, X))
        if not np.array_equal(leaf, self._table.leaf):
            message = (
                f"{name}: the array that was given to fit has been changed in place since. "
                f"Fit again, or give fit a copy."
            )
            raise ValueError(message)
        return X

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training data out of what is saved, but take along what novelty needs of it."""
        if "embedding_" in vars(self) and "_X" in vars(self):
            # Rows that were changed in place since fit: novelty of the copy then says that it needs them.
            with contextlib.suppress(ValueError), threads(self.n_jobs):
                self._node_ranges()
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]  # the estimator's, not object's
        return {name: value for name, value in state.items() if name not in _NOT_SAVED}

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit the forest: kernels index with them and do not look."""
        state = vars(self)
        if "embedding_" not in state:
            return
        if check_forest(self.forest_) is not self.forest_:
            message = "the model holds a wrapped forest."
            raise ValueError(message)
        trees, n = read_trees(self.forest_), self._table.n_rows
        self._table = self._table._replace(trees=trees)
        check_leaves(self._table.leaf, self._table.counts, trees)
        fits = self.forest_.n_features_in_ == state["n_features_in_"] and state["embedding_"].shape[0] == n
        if self._weight is not None:
            fits = fits and self._weight.shape == (n,) and self._weight.dtype == np.float64
        if "_leaves" in state:
            values, filled = state["_leaves"]
            fits = fits and values.ndim == 2 and values.dtype == np.float64 and len(values) == trees.n_leaves
            fits = fits and filled.shape == (trees.n_leaves,) and filled.dtype == bool
        if "_ranges" in state:
            low, high, span = self._ranges
            fits = fits and low.shape == high.shape == (len(trees.low),) and span.shape == (state["n_features_in_"],)
            fits = fits and low.dtype == high.dtype == span.dtype == np.float32
        if not fits:
            message = "the leaves, ranges or weights of the model do not fit its forest."
            raise ValueError(message)

    def _check_new(self, X: ArrayLike) -> Any:
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite="allow-nan"
        )
