"""KernelMap: an explicit formula for any finished map, so that new rows have a place in it (section 3 of the paper).

The estimator checks rows, converts them to the frame of the centres and measures their distances to these; which rows
are alike depends on the metric, and with precomputed distances there are no features at all. The formula itself, its
widths, coefficients, derivative and the mode of the neighbours are functions of arrays in `extension.kernel_formula`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from manifolia._core import memory
from manifolia._core.blocks import row_blocks
from manifolia._core.cells import as_array
from manifolia._core.collections import row_by_row
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.parallel import threads
from manifolia._core.random import spawn_seeds
from manifolia._core.sparse import filled
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import (
    check_is_fitted,
    check_map,
    check_number,
    check_option,
    check_pairwise,
    feature_numbers,
    is_sparse,
    row_numbers,
    validate_data,
)
from manifolia.extension.kernel_formula import (
    KINDS,
    SOLVED_ROWS,
    Frame,
    choose_centers,
    choose_width,
    evaluate,
    formula,
    frame_of,
    framed,
    importance_from_jacobian,
    jacobian,
    map_scale,
    mode_neighbors,
    nearest_gaps,
    place_at_mode,
    sensitivity_from_jacobian,
    smallest_factor,
    solve,
)
from manifolia.extension.novelty import tail_share, threshold
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.neighbors.exact import search_need
from manifolia.neighbors.rows import check_squares, prepare, unit_scale

_FRAMING = 5  # copies of the centres while their frame is found
_BLOCK = 16_384  # rows that are processed at once
_CELLS = 1 << 23  # numbers of a sparse table that are filled in at once
_ALL_CENTERS = 5000  # up to here "auto" makes every row a centre of the formula
_FEW_CENTERS = 2000
_KTH = 5  # neighbour whose distance says how far away a row is: the first one is too easily a duplicate
_MOST = 10_000  # rows whose distances are the yardstick
_ENOUGH = 200  # if there are at least this many rows besides the centres, they are the yardstick


def calibration_rows(n: int, centers: IntArray) -> IntArray | None:
    """Choose the rows whose distances are the yardstick of novelty; None: the centres themselves."""
    others = np.setdiff1d(np.arange(n), centers)
    return others[:: max(1, -(-len(others) // _MOST))] if len(others) >= _ENOUGH else None


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Explicit formula for a finished map: places new rows, has a derivative, and says what it does not know.

    The map may come from anywhere: t-SNE, UMAP, Isomap, or drawn by hand. ``fit(X, Y)`` takes the rows and their
    places.

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
    factor : float or "auto", default=0.1
        For ``bandwidth="global"`` and ``"paper"``. ``"auto"`` is the paper's: the smallest factor for which all weights
        that the centres give one another are within the range of double precision; it comes near 1 and blurs the map.
    coefficients : {"auto", "nadaraya-watson", "lstsq"}, default="auto"
        ``"nadaraya-watson"``: the places of the centres. ``"lstsq"``: least squares over all rows, as in the paper.
        ``"auto"``: the first if every row is a centre, otherwise the second.
    ridge : float, default=0.001
        Keeps the coefficients of least squares near the places of the centres. 0 is the paper's pseudo-inverse.
    far : {"nearest", "nan"}, default="nearest"
        Where rows go that are farther from the centres than any row of the map is from the others: to the place of the
        nearest centres, or to NaN. `novelty` identifies them either way.
    metric : {"euclidean", "cosine", "manhattan", "precomputed"}, default="euclidean"
        Distance in the data. With ``"precomputed"`` ``fit`` takes distances (n, n), and new rows are distances to the
        rows of ``fit``, (m, n).
    n_centers : int, "auto" or None, default="auto"
        Maximum number of centres; None: all rows. ``"auto"``: all up to 5,000 rows, 2,000 beyond; all for
        ``mapping="mode"``.
    centers : {"random", "kmeans", "farthest"}, default="random"
        Which rows are centres, if not all.
    random_state : int, RandomState, Generator or None, default=None
        Seed for choosing the centres.
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
        Multiple of the distance between nearest centres, or of its median; not with a number for `bandwidth`.
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
        factor: float | str = 0.1,
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

    @all_or_nothing
    def fit(self, X: ArrayLike, Y: ArrayLike | None = None) -> KernelMap:
        """Find the formula of a map.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d), or (n, n) with metric="precomputed"
            Rows of the map, without missing values; or their distances.
        Y : array-like of shape (n, n_components) or (n,), default=None
            Their places; they are needed.

        Returns
        -------
        KernelMap
            Itself.
        """
        self._check_parameters()
        if Y is None:
            raise ValueError(
                "KernelMap requires y to be passed, but the target y is None. Pass the places of the rows."
            )
        with threads(self.n_jobs):
            checked = self._checked(X, reset=True)
            memory.require(
                self._memory_need(checked, None),
                step=f"the formula of a map of {checked.shape[0]} rows",
                remedy="Take fewer rows, or a smaller n_centers.",
            )
            places = Y if is_sparse(Y) else as_array(Y, "Y")
            places = check_map(places.reshape(-1, 1) if places.ndim == 1 else places, n_rows=checked.shape[0])
            for name in ("_index", "factor_", "bandwidth_", "coefficients_"):  # left by an earlier fit
                self.__dict__.pop(name, None)
            self.center_indices_ = self._choose(checked)
            self.centers_ = np.ascontiguousarray(filled(checked[self.center_indices_]))
            if self.metric == "precomputed":
                self.centers_ = np.ascontiguousarray(self.centers_[:, self.center_indices_])
            self.places_ = places[self.center_indices_].astype(np.float64)
            self._frame = self._find_frame()
            self._scale = map_scale(self.places_)
            self._calibration = self._calibrate(checked)
            if self.mapping == "kernel":
                self.bandwidth_ = self._find_widths()
                self.coefficients_ = self._find_coefficients(checked, places.astype(np.float64))
        self._n_features_out = self.places_.shape[1]
        return self

    @row_by_row
    def transform(self, X: ArrayLike) -> FloatArray:
        """Place rows on the map, each alone: the same bits in any batch, in time linear in the rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or (m, n) with metric="precomputed"
            Rows; or their distances to the rows of ``fit``.

        Returns
        -------
        ndarray of shape (m, n_components)
            Their places, in the dtype of `X`, in which they are computed too.
        """
        check_is_fitted(self, "places_")
        checked = self._checked(X)
        with threads(self.n_jobs):
            placed, distances = self._placed(checked, with_distance=self.far == "nan")
        if self.far == "nan":
            placed[distances > self._calibration.max()] = np.nan
        return placed

    def _placed(self, X: Any, *, with_distance: bool) -> tuple[FloatArray, FloatArray]:
        """Places of checked rows and, if asked for, their distances to the 5th centre in the frame."""
        n = X.shape[0]
        out = np.empty((n, self.places_.shape[1]), dtype=X.dtype)
        distances = np.empty(n if with_distance else 0)
        made = None if self.mapping == "mode" else self._formula(X.dtype)
        k = mode_neighbors(self.mode_perplexity, len(self.places_)) if made is None else 1
        for rows in self._blocks(X):
            block = filled(X[rows])
            if made is not None:
                out[rows] = evaluate(self._framed(block), made)
            if made is None or with_distance:
                near = self._neighbors(block, max(k, self._kth) if with_distance else k)
            if made is None:
                first = Neighbors(near.indices[:, :k], near.distances[:, :k])
                out[rows] = place_at_mode(first, self.places_, perplexity=self.mode_perplexity, scale=self._scale)
            if with_distance:
                distances[rows] = near.distances[:, self._kth - 1]
        return out, distances

    @row_by_row
    def novelty(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how far rows are from what the map knows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or (m, n) with metric="precomputed", default=None
            Rows; or their distances to the rows of ``fit``. None: the rows of the yardstick, which are those of ``fit``
            if all of them are centres.

        Returns
        -------
        ndarray of shape (m,)
            Share of the rows of ``fit`` whose 5th neighbour is nearer than this row's 5th centre, each row not counting
            itself: 1 − novelty is the probability that a row like those of ``fit`` is this far away. Of such rows, 1 %
            are above 0.99.
        """
        return tail_share(self.distance(X), self.distance())

    @property
    def novelty_threshold_(self) -> float:
        """Novelty above which a row is called unlike those of ``fit``: one in a hundred of these is above it."""
        check_is_fitted(self, "places_")
        return threshold(len(self._calibration))

    def distance(self, X: ArrayLike | None = None) -> FloatArray:
        """Measure how far rows are from the centres, which `novelty` judges.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), or (m, n) with metric="precomputed", default=None
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
            return self._distances(checked) / self._frame.scale

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """Differentiate the map with respect to the features.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d)
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
        return self._jacobian(self._checked(X))

    def _jacobian(self, X: Any) -> FloatArray:
        """Differentiate at checked rows."""
        if self.mapping != "kernel":
            raise ValueError(
                f"the derivative belongs to mapping='kernel', and this map has mapping={self.mapping!r}. Call smooth() "
                f"for the same map with a formula that has one."
            )
        if self.metric != "euclidean":
            raise ValueError(
                f"the derivative needs metric='euclidean', got {self.metric!r}: the formula is differentiated through "
                f"the features, by Euclidean distances."
            )
        double = filled(X).astype(np.float64, copy=False)
        with threads(self.n_jobs):
            return jacobian(double, self._framed(double), self._formula(np.float64), self._frame)

    def feature_gradients(self, X: ArrayLike | None = None, *, rows: Any = None, features: Any = None) -> FloatArray:
        """Draw the arrows along which rows move when features grow.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (m, d), default=None
            Rows; None: the centres.
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
            Rows; None: the centres.
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
            Rows; None: the centres.
        rows : int, slice, array-like of int or bool, default=None
            Which of these rows; None: all.

        Returns
        -------
        ndarray of shape (n_rows,)
            Largest singular value of the `jacobian`: large where the map tears.
        """
        return sensitivity_from_jacobian(self._derivative(X, rows))

    def smooth(self) -> KernelMap:
        """Give the same map a smooth formula, which has a derivative.

        Returns
        -------
        KernelMap
            The map itself if it has ``mapping="kernel"``; otherwise one whose formula is a mean of the places of near
            centres, to explain this one.
        """
        check_is_fitted(self, "places_")
        if self.mapping == "kernel":
            return self
        smooth: KernelMap = clone(self).set_params(mapping="kernel").fit(self.centers_, self.places_)
        if "feature_names_in_" in vars(self):
            smooth.feature_names_in_ = self.feature_names_in_
        return smooth

    def _derivative(self, X: ArrayLike | None, rows: Any) -> FloatArray:
        """Differentiate at some of the rows given, or of the centres."""
        check_is_fitted(self, "places_")
        checked = self.centers_ if X is None else self._checked(X)
        return self._jacobian(checked[row_numbers(rows, checked.shape[0])])

    def _check_parameters(self) -> None:
        check_option(self.mapping, "mapping", ("kernel", "mode"))
        check_number(self.mode_perplexity, "mode_perplexity", low=1.0)
        if isinstance(self.bandwidth, str):
            check_option(self.bandwidth, "bandwidth", ("auto", "global", "paper"))
        else:
            check_number(self.bandwidth, "bandwidth", low=0.0, open_low=True, hint="Or 'auto', 'global' or 'paper'.")
        check_number(self.factor, "factor", low=0.0, open_low=True, hint="Or 'auto'.", word="auto")
        check_option(self.coefficients, "coefficients", ("auto", "nadaraya-watson", "lstsq"))
        check_number(self.ridge, "ridge", low=0.0, hint="0 is the pseudo-inverse.")
        check_option(self.far, "far", ("nearest", "nan"))
        check_option(self.metric, "metric", tuple(KINDS))
        if self.n_centers is not None:
            hint = "Or 'auto', or None for all."
            check_number(self.n_centers, "n_centers", low=1, integer=True, hint=hint, word="auto")
        check_option(self.centers, "centers", ("random", "kmeans", "farthest"))

    def _choose(self, X: Any) -> IntArray:
        """Numbers of the rows that are centres."""
        n, m = X.shape[0], self._count(X.shape[0])
        if m == n:
            return np.arange(n, dtype=np.intp)
        Z = X if self.centers == "random" else filled(X)
        Z = prepare(Z, self.metric) if self.metric == "cosine" else Z
        return choose_centers(Z, m, kind=self.centers, random_state=spawn_seeds(self.random_state, 1)[0])

    def _count(self, n: int) -> int:
        """Centres among n rows."""
        if self.n_centers == "auto":
            return n if n <= _ALL_CENTERS or self.mapping == "mode" else _FEW_CENTERS
        return n if self.n_centers is None else min(int(self.n_centers), n)

    def _find_widths(self) -> FloatArray:
        """σ of every centre."""
        m = len(self.places_)
        if not isinstance(self.bandwidth, str):
            return np.full(m, float(self.bandwidth))
        C = self._framed_centers()
        gaps = nearest_gaps(self.centers_ if self.metric == "cosine" else C, metric=self.metric)
        units = gaps if self.bandwidth == "paper" else np.full(m, np.median(gaps))
        if self.bandwidth == "auto":
            self.factor_ = choose_width(C, self.places_, float(units[0]), metric=self.metric, dtype=C.dtype)
        elif self.factor == "auto":
            self.factor_ = smallest_factor(C, units, metric=self.metric)
        else:
            self.factor_ = float(self.factor)
        return self.factor_ * units / self._frame.scale

    def _find_coefficients(self, X: Any, Y: FloatArray) -> FloatArray:
        """α: the places of the centres, or least squares that start from them."""
        how = self.coefficients
        if how == "auto":
            how = "nadaraya-watson" if len(self.places_) == X.shape[0] else "lstsq"
        if how == "nadaraya-watson":
            return self.places_
        return solve(self._framed(filled(X)), Y, self._formula(X.dtype, self.places_), ridge=float(self.ridge))

    def _formula(self, dtype: Any, values: FloatArray | None = None) -> Any:
        """The formula in a precision; `values`: coefficients other than those found."""
        if self.metric == "precomputed":
            dtype = np.float64
        centers = self._framed_centers().astype(dtype, copy=False)
        sigma = self.bandwidth_ * self._frame.scale
        values = self.coefficients_ if values is None else values
        return formula(centers, sigma, values, metric=self.metric, dtype=dtype)

    def _checked(self, X: ArrayLike, *, reset: bool = False) -> Any:
        """Check rows on entry."""
        checked = validate_data(self, X, reset=reset, accept_sparse=self.metric != "precomputed")
        if self.metric != "precomputed":
            check_squares(checked)
            return checked
        return check_pairwise(checked, square=reset)

    def _find_frame(self) -> Frame:
        if self.metric in ("euclidean", "manhattan"):
            return frame_of(self.centers_)
        spread = float(self.centers_.max(initial=0.0)) if self.metric == "precomputed" else 0.0
        return Frame(np.zeros(1), unit_scale(spread), np.inf)

    def _framed(self, X: FloatArray) -> FloatArray:
        """Rows as the formula takes them."""
        if self.metric == "precomputed":
            return np.ascontiguousarray(X[:, self.center_indices_]).astype(np.float64) * self._frame.scale
        if self.metric == "cosine":
            return np.ascontiguousarray(prepare(X, "cosine"))
        return framed(X, self._frame, X.dtype)

    def _framed_centers(self) -> FloatArray:
        if self.metric == "precomputed":
            return self.centers_.astype(np.float64) * self._frame.scale
        return self._framed(self.centers_)

    def _search_index(self) -> NeighborIndex:
        """Return the index of the centres, built again in a model that was loaded."""
        if "_index" not in vars(self):
            rows = self.centers_ if self.metric == "cosine" else self._framed_centers()
            self._index = NeighborIndex(rows, metric=self.metric, random_state=0)
        return self._index

    def _neighbors(self, X: FloatArray, k: int) -> Neighbors:
        rows = X if self.metric == "cosine" else self._framed(X)  # the cosine is prepared by the index itself
        return self._search_index().query(rows, k)

    @property
    def _kth(self) -> int:
        return max(1, min(_KTH, len(self.places_) - 1))

    def _distance(self, X: FloatArray) -> FloatArray:
        """Distance to the 5th centre, in the frame."""
        return np.asarray(self._neighbors(X, self._kth).distances[:, -1], dtype=np.float64)

    def _blocks(self, X: Any) -> list[slice]:
        """Rows that are processed at once: for a sparse table, only as many as their filled-in numbers allow."""
        return row_blocks(X.shape[0], max(1, min(_BLOCK, _CELLS // X.shape[1])) if is_sparse(X) else _BLOCK)

    def _distances(self, X: Any) -> FloatArray:
        """The same of many rows."""
        return np.concatenate([self._distance(filled(X[rows])) for rows in self._blocks(X)])

    def _own_distance(self) -> FloatArray:
        """Return the same of the centres, each without itself."""
        if len(self.places_) == 1:
            return np.zeros(1)
        return self._search_index().neighbors(self._kth).distances[:, -1].astype(np.float64)

    def _calibrate(self, X: Any) -> FloatArray:
        """Measure rows of ``fit``, as they would be measured if they were new."""
        rows = calibration_rows(X.shape[0], self.center_indices_)
        return self._own_distance() if rows is None else self._distances(X[rows])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search index, which is made again from the centres."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_index"}

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together: kernels index with them unchecked."""
        if "places_" not in vars(self):
            return
        m = len(self.centers_)
        fits = self.metric in KINDS and self.centers_.ndim == 2 and self.centers_.dtype in (np.float32, np.float64)
        width = m if self.metric == "precomputed" else self.n_features_in_
        fits = fits and m > 0 and self.centers_.shape[1] == width and self.places_.ndim == 2
        fits = fits and len(self.places_) == m and self.places_.dtype == np.float64
        fits = (
            fits and self.center_indices_.shape == (m,) and self._calibration.ndim == 1 and self._calibration.size > 0
        )
        if self.metric in ("euclidean", "manhattan"):
            fits = fits and self._frame.shift.shape == (width,)
        if self.mapping == "kernel":
            fits = fits and self.bandwidth_.shape == (m,) and self.coefficients_.shape == self.places_.shape
        if not fits:
            raise ValueError("the centres, places or widths of the kernel map do not fit together.")

    def _memory_need(self, X: Any, y: ArrayLike | None) -> float:
        """Bytes at the peak of a fit."""
        n, d = X.shape
        m = self._count(n)
        # A sparse table is filled in a few rows at a time, unless centres are not drawn at random.
        held = 16.0 * (2 * _CELLS if is_sparse(X) and (m == n or self.centers == "random") else n * d)
        search = search_need(m, 0 if self.metric == "precomputed" else d, _KTH) + held
        search = max(search, _FRAMING * 8.0 * m * d)
        if (
            self.mapping == "mode"
            or (m == n and self.coefficients != "lstsq")
            or self.coefficients == "nadaraya-watson"
        ):
            return search
        solved = 16.0 * n * m if self.ridge == 0.0 else 8.0 * m * (3 * m + SOLVED_ROWS)
        return max(search, solved + 16.0 * n * d)

    def __sklearn_tags__(self) -> Any:
        """Say what input is accepted."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric != "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
