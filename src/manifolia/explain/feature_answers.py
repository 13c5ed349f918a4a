"""What a fitted FeatureMAP says about features and rows: importance, arrows, reliability, novelty; of all rows.

The mix-in reads the fitted state that ``FeatureMAP.fit`` leaves: the rows in which neighbours were searched, their
tangent spaces and the pull-backs, and it describes new rows by the same formulas, each alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manifolia._core.blocks import row_blocks, standard_project
from manifolia._core.memory import require
from manifolia._core.parallel import threads
from manifolia._core.types import ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import check_bool, check_is_fitted, row_numbers, validate_data
from manifolia.affinity.fuzzy import memberships
from manifolia.explain import gradients
from manifolia.explain.embedded import EmbeddedGauges, embedded_pullback, place_gauges
from manifolia.explain.pullback import Pullback, pullback
from manifolia.extension.novelty import tail_share, threshold
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.operators.projection import Projection
from manifolia.operators.tangent import TangentSpaces, tangent_spaces

__all__ = ["FeatureAnswers", "NewRows", "Projection"]

_NOT_SAVED = ("_index",)
_REMOTE = 5  # the neighbour whose distance is a row's novelty
_BLOCK = 256  # rows whose distance to the principal components is measured at once


class NewRows(NamedTuple):
    """New rows, described by the training rows about them."""

    Q: Any  # (m, q): the rows, in the features in which neighbours are searched
    neighbors: Neighbors  # Their k nearest training rows; one that equals the row itself does not count
    weights: FloatArray  # (m, k): strengths of Eq. (1)
    same: IntArray  # (m,): the training row at distance 0, or −1


class FeatureAnswers:
    """Answers of a fitted FeatureMAP; it needs the attributes that ``FeatureMAP.fit`` sets."""

    embedding_: FloatArray
    intrinsic_dim_: int
    n_features_in_: int
    n_jobs: int | None
    metric: str
    center: str
    _Z: Any
    _projection: Projection | None
    _spaces: TangentSpaces
    _pullback: Pullback
    _embedded: EmbeddedGauges | None
    _mean_distance: float
    _yardstick: FloatArray
    _search_seed: int
    _index: NeighborIndex

    def feature_importance(
        self, rows: Any = None, features: Any = None, *, X: ArrayLike | None = None, kind: str = "gradient"
    ) -> FloatArray:
        """Tell how much each feature varies along the data around a point: its saliency (Eq. 4).

        Parameters
        ----------
        rows : int, slice, array-like of int or bool, default=None
            Which rows, of the training rows or of `X`; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.
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
            columns = self._feature_numbers(features)
            points = self._require(rows, spaces, columns.size)
            found = gradients.feature_importance(
                spaces, self._Z, points, columns, kind=kind, d=self.intrinsic_dim_, query=query, lift=self._lift
            )
        return found.astype(self.embedding_.dtype, copy=False)

    def feature_gradients(
        self, rows: Any = None, features: Any = None, *, X: ArrayLike | None = None, smooth: bool = False
    ) -> FloatArray:
        """Draw the arrows along which features grow in the map.

        Parameters
        ----------
        rows : int, slice, array-like of int or bool, default=None
            Which rows, of the training rows or of `X`; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.
        smooth : bool, default=False
            Average each arrow with those of the row's neighbours. It makes arrows truer where features vary smoothly
            over the data, such as pixels, and no truer for sparse counts.

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
            columns = self._feature_numbers(features)
            points = self._require(rows, spaces, columns.size * back.B.shape[1])
            found = gradients.feature_gradients(spaces, back, self._Z, points, columns, query=query, lift=self._lift)
            if smooth:
                found = self._smoothed(found, spaces.indices[points], columns)
        return found.astype(self.embedding_.dtype, copy=False)

    def arrow_reliability(self, rows: Any = None, features: Any = None, *, X: ArrayLike | None = None) -> FloatArray:
        """Tell how far each arrow can be trusted: how well it predicts its feature at the row's neighbours.

        Parameters
        ----------
        rows : int, slice, array-like of int or bool, default=None
            Which rows, of the training rows or of `X`; None: all.
        features : int, str, slice, array-like of int, bool or str, default=None
            Which features, by number or by name; None: all.
        X : array-like or sparse matrix of shape (m, d), default=None
            New rows; None: the training rows.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Squared correlation between 0 and 1; hide arrows that have little. With ``pca=`` the feature is what the
            principal components keep of it.
        """
        check_is_fitted(self, "embedding_")
        with threads(self.n_jobs):
            spaces, query, back = self._described(X)
            columns = self._feature_numbers(features)
            points = self._require(rows, spaces, columns.size * back.B.shape[1])
            arrows = gradients.feature_gradients(spaces, back, self._Z, points, columns, query=query, lift=self._lift)
            data, asked = self._Z, columns
            if self._lift is not None:
                data = standard_project(self._Z, np.zeros(self._Z.shape[1], self._Z.dtype), self._lift[:, columns].T)
                asked = np.arange(columns.size)
            found = gradients.arrow_reliability(spaces, arrows, data, self.embedding_, points, asked)
        return found.astype(self.embedding_.dtype, copy=False)

    def feature_values(self, rows: Any = None, features: Any = None) -> FloatArray:
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
        columns = self._feature_numbers(features)
        points = self._require(rows, self._spaces, columns.size)
        if self._projection is not None:
            mean, components = self._projection
            return np.asarray(self._Z[points] @ components[:, columns] + mean[columns])
        found = self._Z[points][:, columns]
        return np.asarray(found.toarray() if sp.issparse(found) else found)

    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Tell how unlike the rows of ``fit`` rows are, by the distance to their fifth neighbour among these.

        With ``pca=`` and Euclidean distances, what the principal components leave of a row counts too.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: those of ``fit``.

        Returns
        -------
        ndarray of shape (m,)
            Share of the rows of ``fit`` that are nearer to theirs: 1 − novelty is the probability that such a row is
            as far.
        """
        check_is_fitted(self, "embedding_")
        if X is None:
            return tail_share(self._yardstick, self._yardstick)
        checked = self._check_new(X)
        with threads(self.n_jobs):
            new = self._describe(checked)
            return tail_share(self._remoteness(checked, new.Q, new.neighbors.distances), self._yardstick)

    @property
    def novelty_threshold_(self) -> float:
        """Novelty from which on a row is called unlike those of ``fit``: one in a hundred of these is."""
        check_is_fitted(self, "embedding_")
        return threshold(len(self._yardstick))

    def _remoteness(self, X: Any, Q: Any, distances: FloatArray) -> FloatArray:
        """Distance to the fifth neighbour, and at right angles to it the distance to the principal components."""
        near = distances[:, min(_REMOTE, distances.shape[1]) - 1].astype(np.float64)
        if self._projection is None or self.metric != "euclidean":
            return near
        mean = self._projection.mean.astype(np.float64)
        out = np.empty(len(near))
        for rows in row_blocks(len(near), _BLOCK):
            block = X[rows].toarray() if sp.issparse(X) else X[rows]
            whole = np.square(block.astype(np.float64) - mean).sum(axis=1)
            kept = np.square(Q[rows].astype(np.float64)).sum(axis=1)
            out[rows] = np.sqrt(np.square(near[rows]) + np.maximum(whole - kept, 0.0))
        return out

    @property
    def _lift(self) -> FloatArray | None:
        return None if self._projection is None else self._projection.components

    def _described(self, X: ArrayLike | None) -> tuple[TangentSpaces, Any, Pullback]:
        """Tangent spaces, the points themselves (None: training rows) and pull-backs."""
        if X is None:
            return self._spaces, None, self._pullback
        new = self._describe(self._check_new(X))
        spaces = tangent_spaces(
            self._Z,
            new.neighbors.indices,
            new.weights,
            query=new.Q,
            center=self.center,
            max_dim=self._spaces.coordinates.shape[2],
            dim=self.intrinsic_dim_,
        )
        back = pullback(spaces, self.embedding_, self.intrinsic_dim_)
        if self._embedded is not None:
            placed = place_gauges(self._embedded, self._spaces, spaces, self._Z, new.Q)
            back = embedded_pullback(placed, back.reliability)
        return spaces, new.Q, back

    def _describe(self, X: Any) -> NewRows:
        """Find the neighbours of checked new rows. A training row that equals the row does not count as one."""
        Q = self._project(X)
        k = self._spaces.indices.shape[1]
        near = self._neighbor_index().query(Q, k + 1)
        same: BoolArray = near.distances[:, 0] == 0.0
        indices = np.where(same[:, None], near.indices[:, 1:], near.indices[:, :-1])
        distances = np.where(same[:, None], near.distances[:, 1:], near.distances[:, :-1])
        found = memberships(distances, mean_distance=self._mean_distance)
        return NewRows(
            Q, Neighbors(indices, distances), found.weights, np.where(same, near.indices[:, 0], -1).astype(np.intp)
        )

    def _project(self, X: Any) -> Any:
        """Bring checked rows into the features, kind and dtype in which neighbours are searched."""
        if self._projection is not None:
            mean, components = self._projection
            if sp.issparse(X):
                product = X.astype(np.float64) @ components.T.astype(np.float64)
                return np.asarray(product - (mean.astype(np.float64) @ components.T)).astype(components.dtype)
            return standard_project(X.astype(components.dtype, copy=False), mean, components)
        X = X.astype(self._Z.dtype, copy=False)
        if sp.issparse(self._Z):
            return X if sp.issparse(X) else sp.csr_array(X)
        return X.toarray() if sp.issparse(X) else np.ascontiguousarray(X)

    def _neighbor_index(self) -> NeighborIndex:
        """Return the index of the training rows, built again in a model that was loaded."""
        if "_index" not in vars(self):
            self._index = NeighborIndex(self._Z, metric=self.metric, random_state=self._search_seed)
        return self._index

    def _smoothed(self, arrows: FloatArray, nearest: IntArray, columns: IntArray) -> FloatArray:
        """Average arrows with those of the training rows about them."""
        around = np.unique(nearest)
        theirs = gradients.feature_gradients(self._spaces, self._pullback, self._Z, around, columns, lift=self._lift)
        total = arrows.copy()
        for column in np.searchsorted(around, nearest).T:
            total += theirs[column]
        return total / (nearest.shape[1] + 1)

    def _feature_numbers(self, features: Any) -> IntArray:
        names = vars(self).get("feature_names_in_")
        asked = (
            np.atleast_1d(np.asarray(features)) if features is not None and not isinstance(features, slice) else None
        )
        if asked is not None and asked.dtype.kind in "UO":
            known = {} if names is None else {name: number for number, name in enumerate(names)}
            unknown = [name for name in asked if name not in known]
            if unknown:
                message = (
                    f"features: there is no feature {str(unknown[0])!r}. Pass column numbers, or names of a DataFrame "
                    f"given to fit."
                )
                raise ValueError(message)
            return np.array([known[name] for name in asked], dtype=np.intp)
        return row_numbers(features, self.n_features_in_, "features")

    def _require(self, rows: Any, spaces: TangentSpaces, n_numbers: int) -> IntArray:
        """Check which rows are asked for, and that the answer will fit."""
        points = row_numbers(rows, spaces.indices.shape[0])
        require(
            8.0 * 2.0 * points.size * n_numbers,
            step=f"the answer for {points.size} rows",
            remedy="Ask for fewer rows or features at once.",
        )
        return points

    def _check_new(self, X: ArrayLike) -> Any:
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index of neighbours, which is built again from the rows when it is needed."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]  # the estimator's, not object's
        return {name: value for name, value in state.items() if name not in _NOT_SAVED}

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together: kernels index with them and do not look."""
        if "embedding_" not in vars(self):
            return
        n, c = self.embedding_.shape
        spaces, Z = self._spaces, self._Z
        k, m = spaces.coordinates.shape[1:]
        width = self.n_features_in_ if self._projection is None else self._projection.components.shape[0]
        fits = Z.shape == (n, width) and Z.dtype in (np.float32, np.float64) and self.embedding_.dtype.kind == "f"
        fits = fits and spaces.indices.shape == spaces.weights.shape == (n, k) and spaces.dims.shape == (n,)
        fits = fits and spaces.coordinates.shape == (n, k, m) and spaces.singular_values.shape == (n, m)
        fits = fits and spaces.indices.dtype == np.intp and spaces.indices.min() >= 0 and spaces.indices.max() < n
        fits = fits and 1 <= self.intrinsic_dim_ <= m and k < n
        fits = fits and self._pullback.B.shape[:2] == (n, c) and self._pullback.reliability.shape == (n,)
        fits = fits and self._yardstick.shape == (n,)
        if self._projection is not None:
            fits = fits and self._projection.components.shape[1] == self.n_features_in_ == self._projection.mean.size
        if not fits:
            message = "the rows, tangent spaces or pull-backs of the model do not fit its map."
            raise ValueError(message)
