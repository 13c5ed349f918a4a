"""KernelMap: an explicit formula for any finished map, so that new rows have a place in it (section 3 of the paper).

==============================  =================================================
what                            where
==============================  =================================================
frame, widths, coefficients     `extension.kernel_formula`
rows, metrics, distances        `extension.kernel_rows`
mode of the neighbours          `extension.mode_map`
derivative                      `extension.kernel_jacobian`
what the derivative says        `extension.map_answers`
novelty                         `extension.yardstick`
==============================  =================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import threads
from manifolia._core.random import spawn_seeds
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_is_fitted, check_map, check_number, check_option
from manifolia.extension.kernel_formula import (
    KINDS,
    choose_centers,
    choose_width,
    evaluate,
    formula,
    map_scale,
    nearest_gaps,
    solve,
)
from manifolia.extension.kernel_jacobian import jacobian
from manifolia.extension.kernel_rows import KernelRows
from manifolia.extension.map_answers import MapAnswers
from manifolia.extension.mode_map import mode_neighbors, place_at_mode
from manifolia.extension.yardstick import tail_share, threshold
from manifolia.neighbors import Neighbors
from manifolia.neighbors.rows import prepare

__all__ = ["KernelMap"]

_BLOCK = 16_384  # rows that are in hand at once
_ALL_CENTERS = 5000  # up to here "auto" makes every row a centre of the formula
_FEW_CENTERS = 2000


class KernelMap(KernelRows, MapAnswers, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Explicit formula for a finished map: places new rows, has a derivative, and says what it does not know.

    The map may be anyone's: of t-SNE, UMAP, Isomap, or drawn by hand. ``fit(X, Y)`` takes the rows and their places.

    Parameters
    ----------
    mapping : {"kernel", "mode"}, default="kernel"
        ``"kernel"``: the paper's formula, a mean of the places of near rows; smooth, and has a `jacobian`. ``"mode"``:
        a row goes to the densest spot among its neighbours' places, inside one cluster instead of between two.
    mode_perplexity : float, default=5.0
        Effective number of neighbours for ``mapping="mode"``. 5 keeps classes apart best, 15 keeps more of the order of
        neighbours.
    bandwidth : {"auto", "global", "paper"} or float, default="auto"
        Width σ of the kernels. ``"global"``: `factor` times the median distance from a centre to the nearest other one.
        ``"auto"``: the same, with the factor that places left-out centres best. ``"paper"``: each centre has its own,
        `factor` times the distance to its nearest; it places new rows worse, and rows far away belong to the centre
        with the widest kernel. A number: σ itself.
    factor : float, default=0.1
        For ``bandwidth="global"`` and ``"paper"``.
    coefficients : {"auto", "nadaraya-watson", "lstsq"}, default="auto"
        ``"nadaraya-watson"``: the places of the centres. ``"lstsq"``: least squares over all rows, as in the paper.
        ``"auto"``: the first where every row is a centre, else the second.
    ridge : float, default=0.001
        Keeps the coefficients of least squares near the places of the centres. 0 is the paper's pseudo-inverse.
    far : {"nearest", "nan"}, default="nearest"
        Rows farther from the centres than any row of the map is from the others: to the place of the nearest centres,
        or to NaN. `novelty` tells them either way.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance in the data. With ``"precomputed"`` ``fit`` takes distances (n, n), and new rows are distances to the
        rows of ``fit``, (m, n).
    n_centers : int, "auto" or None, default="auto"
        At most so many rows are centres; None: all. ``"auto"``: all up to 5,000 rows, 2,000 beyond; all for
        ``mapping="mode"``.
    centers : {"random", "kmeans", "farthest"}, default="random"
        Which rows are centres, if not all.
    random_state : int, RandomState, Generator or None, default=None
        Chooses the centres.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.

    Attributes
    ----------
    center_indices_ : ndarray of shape (m,)
        Rows of ``fit`` that are centres.
    centers_ : ndarray of shape (m, d)
        The centres; with ``metric="precomputed"`` their distances to each other.
    places_ : ndarray of shape (m, n_components)
        Their places in the map.
    coefficients_ : ndarray of shape (m, n_components)
        α of the formula; only with ``mapping="kernel"``.
    bandwidth_ : ndarray of shape (m,)
        Widths σ_j; only with ``mapping="kernel"``.
    factor_ : float
        Multiple of the median distance between nearest centres, with ``bandwidth="auto"`` or ``"global"``.
    n_features_in_ : int
        Features seen in ``fit``.

    Notes
    -----
    ``fit_transform`` is ``transform`` of the rows of ``fit``: their places by the formula, which smooths.

    References
    ----------
    .. [1] A. Gisbrecht, A. Schulz and B. Hammer, "Parametric nonlinear dimensionality reduction using kernel t-SNE",
       Neurocomputing, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.manifold import Isomap
    >>> import manifolia as mf
    >>> X = load_iris().data
    >>> Y = Isomap().fit_transform(X[::2])
    >>> model = mf.KernelMap().fit(X[::2], Y)
    >>> model.transform(X[1::2]).shape, model.jacobian(X[:3]).shape
    ((75, 2), (3, 2, 4))
    """

    def __init__(
        self,
        *,
        mapping: str = "kernel",
        mode_perplexity: float = 5.0,
        bandwidth: str | float = "auto",
        factor: float = 0.1,
        coefficients: str = "auto",
        ridge: float = 0.001,
        far: str = "nearest",
        metric: str = "euclidean",
        n_centers: int | str | None = "auto",
        centers: str = "random",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.mapping = mapping
        self.mode_perplexity = mode_perplexity
        self.bandwidth = bandwidth
        self.factor = factor
        self.coefficients = coefficients
        self.ridge = ridge
        self.far = far
        self.metric = metric
        self.n_centers = n_centers
        self.centers = centers
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, Y: ArrayLike) -> KernelMap:
        """Find the formula of a map.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) with metric="precomputed"
            Rows of the map, without missing values; or their distances.
        Y : array-like of shape (n, n_components) or (n,)
            Their places.

        Returns
        -------
        KernelMap
            Itself.
        """
        self._check_parameters()
        if Y is None:
            message = "KernelMap requires y to be passed, but the target y is None. Pass the places of the rows."
            raise ValueError(message)
        checked = self._checked(X, reset=True)
        places = np.asarray(Y)
        places = check_map(places.reshape(-1, 1) if places.ndim == 1 else places, n_rows=len(checked))
        self.__dict__.pop("_index", None)
        with threads(self.n_jobs):
            self.center_indices_ = self._choose(checked)
            self.centers_ = np.ascontiguousarray(checked[self.center_indices_])
            if self.metric == "precomputed":
                self.centers_ = np.ascontiguousarray(self.centers_[:, self.center_indices_])
            self.places_ = places[self.center_indices_].astype(np.float64)
            self._frame = self._find_frame()
            self._scale = map_scale(self.places_)
            self._calibrate(checked)
            if self.mapping == "kernel":
                self._find_widths()
                self._find_coefficients(checked, places.astype(np.float64))
        self._n_features_out = self.places_.shape[1]
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the map, each alone: the same bits in any batch, in time linear in the rows.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places, in the dtype of `X`, in which they are computed too.
        """
        check_is_fitted(self, "places_")
        checked = self._checked(X)
        with threads(self.n_jobs):
            return self._placed(checked, with_distance=self.far == "nan")[0]

    def _placed(self, X: FloatArray, *, with_distance: bool) -> tuple[FloatArray, FloatArray]:
        """Places of checked rows and, if asked for, their distances to the 5th centre in the frame."""
        out = np.empty((len(X), self.places_.shape[1]), dtype=X.dtype)
        distances = np.empty(len(X) if with_distance else 0)
        made = None if self.mapping == "mode" else self._formula(X.dtype)
        k = mode_neighbors(self.mode_perplexity, len(self.places_)) if made is None else 1
        for rows in row_blocks(len(X), _BLOCK):
            block = X[rows]
            if made is not None:
                out[rows] = evaluate(self._framed(block), made)
            if made is None or with_distance:
                near = self._neighbors(block, max(k, self._kth) if with_distance else k)
            if made is None:
                first = Neighbors(near.indices[:, :k], near.distances[:, :k])
                out[rows] = place_at_mode(first, self.places_, perplexity=self.mode_perplexity, scale=self._scale)
            if with_distance:
                distances[rows] = near.distances[:, self._kth - 1]
        if with_distance and self.far == "nan":
            out[distances > self._calibration.max()] = np.nan
        return out, distances

    def novelty(self, X: ArrayLike) -> FloatArray:
        """Tell how far rows are from what the map knows.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m,)
            Share of the rows of ``fit`` whose 5th neighbour is nearer than this row's 5th centre, each row not counting
            itself: 1 − novelty is the probability that a row like those of ``fit`` is as far. Of such rows, 1 % are
            above 0.99.
        """
        return tail_share(self.distance(X), self.distance())

    @property
    def novelty_threshold_(self) -> float:
        """Novelty from which on a row is called unlike those of ``fit``: one in a hundred of these is."""
        check_is_fitted(self, "places_")
        return threshold(len(self._calibration))

    def distance(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how far rows are from the centres, which `novelty` judges.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) with metric="precomputed", default=None
            Rows. None: the yardstick, the distances of rows of ``fit``, each not counting itself, in their order.

        Returns
        -------
        ndarray of float64 of shape (m,)
            Distances to the 5th centre, in the units of the data; rows beyond 1,024 radii of the centres count as if
            they were there.
        """
        check_is_fitted(self, "places_")
        if X is None:
            return self._calibration / self._frame.scale
        checked = self._checked(X)
        with threads(self.n_jobs):
            parts = [self._distance(checked[rows]) for rows in row_blocks(len(checked), _BLOCK)]
        return np.concatenate(parts) / self._frame.scale

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features.

        Parameters
        ----------
        X : array-like of shape (m, d)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (m, n_components, d)
            ∂y/∂x at each row.

        Raises
        ------
        ValueError
            If there is none: for ``mapping="mode"``, or distances that are not Euclidean.
        """
        check_is_fitted(self, "places_")
        if self.mapping != "kernel":
            message = f"jacobian belongs to mapping='kernel', and this map has mapping={self.mapping!r}. Fit another."
            raise ValueError(message)
        if self.metric != "euclidean":
            message = (
                f"jacobian needs metric='euclidean', got {self.metric!r}: the formula is differentiated through the "
                f"features, by Euclidean distances."
            )
            raise ValueError(message)
        checked = self._checked(X).astype(np.float64, copy=False)
        with threads(self.n_jobs):
            return jacobian(checked, self._framed(checked), self._formula(np.float64), self._frame)

    def _check_parameters(self) -> None:
        check_option(self.mapping, "mapping", ("kernel", "mode"))
        check_number(self.mode_perplexity, "mode_perplexity", low=1.0)
        if isinstance(self.bandwidth, str):
            check_option(self.bandwidth, "bandwidth", ("auto", "global", "paper"))
        else:
            check_number(self.bandwidth, "bandwidth", low=0.0, open_low=True, hint="Or 'auto', 'global' or 'paper'.")
        check_number(self.factor, "factor", low=0.0, open_low=True)
        check_option(self.coefficients, "coefficients", ("auto", "nadaraya-watson", "lstsq"))
        check_number(self.ridge, "ridge", low=0.0, hint="0 is the pseudo-inverse.")
        check_option(self.far, "far", ("nearest", "nan"))
        check_option(self.metric, "metric", tuple(KINDS))
        if self.n_centers is not None and self.n_centers != "auto":
            check_number(self.n_centers, "n_centers", low=1, integer=True, hint="Or 'auto', or None for all.")
        check_option(self.centers, "centers", ("random", "kmeans", "farthest"))

    def _choose(self, X: FloatArray) -> IntArray:
        """Numbers of the rows that are centres."""
        n = len(X)
        wanted = n if self.n_centers is None else self.n_centers
        if wanted == "auto":
            wanted = n if n <= _ALL_CENTERS or self.mapping == "mode" else _FEW_CENTERS
        if int(wanted) >= n:
            return np.arange(n, dtype=np.intp)
        Z = prepare(X, self.metric) if self.metric == "cosine" else X
        return choose_centers(Z, int(wanted), kind=self.centers, random_state=spawn_seeds(self.random_state, 1)[0])

    def _find_widths(self) -> None:
        m = len(self.places_)
        C = self._framed_centers()
        self.__dict__.pop("factor_", None)
        if not isinstance(self.bandwidth, str):
            self.bandwidth_ = np.full(m, float(self.bandwidth))
            return
        gaps = nearest_gaps(self.centers_ if self.metric == "cosine" else C, metric=self.metric)
        if self.bandwidth == "paper":
            sigma = self.factor * gaps
        else:
            unit = float(np.median(gaps))
            self.factor_ = float(self.factor)
            if self.bandwidth == "auto":
                self.factor_ = choose_width(C, self.places_, unit, metric=self.metric, dtype=C.dtype)
            sigma = np.full(m, self.factor_ * unit)
        self.bandwidth_ = sigma / self._frame.scale

    def _find_coefficients(self, X: FloatArray, Y: FloatArray) -> None:
        how = self.coefficients
        if how == "auto":
            how = "nadaraya-watson" if len(self.places_) == len(X) else "lstsq"
        self.coefficients_ = self.places_
        if how == "lstsq":
            self.coefficients_ = solve(self._framed(X), Y, self._formula(X.dtype), ridge=float(self.ridge))

    def _formula(self, dtype: Any) -> Any:
        if self.metric == "precomputed":
            dtype = np.float64
        centers = self._framed_centers().astype(dtype, copy=False)
        sigma = self.bandwidth_ * self._frame.scale
        return formula(centers, sigma, self.coefficients_, metric=self.metric, dtype=dtype)

    def _memory_need(self, n: int, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit."""
        m = n if self.n_centers is None else _FEW_CENTERS if self.n_centers == "auto" else int(self.n_centers)
        m = n if self.n_centers == "auto" and (n <= _ALL_CENTERS or self.mapping == "mode") else min(m, n)
        solved = self.mapping == "kernel" and (m < n or self.coefficients == "lstsq")
        need = 8.0 * n * 32 + 64e6
        if solved:
            need += 24.0 * n * m if self.ridge == 0.0 else 8.0 * (3 * m * m + 4096 * m)
        return need

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
