"""Rows of a kernel map: checked at the door, in the frame of the centres, measured against them.

Which rows are like which depends on the metric, and with distances given in advance there are no features at all. The
rest of `manifolia.KernelMap` does not need to know.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia._core.validate import validate_data
from manifolia.extension.kernel_formula import KINDS, Frame, frame_of, framed
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.neighbors.rows import check_rows, prepare

__all__ = ["KernelRows", "calibration_rows", "check_distances"]

_KTH = 5  # neighbour whose distance tells how far a row is: the first of all is too easily a duplicate
_MOST = 10_000  # rows whose distances are the yardstick
_ENOUGH = 200  # rows beside the centres from which on they are it


def check_distances(D: FloatArray, *, square: bool) -> None:
    """Refuse what cannot be distances."""
    if square and D.shape[0] != D.shape[1]:
        message = (
            f"X must be square with metric='precomputed', got shape {D.shape}. Pass the distances of all rows to all "
            f"rows."
        )
        raise ValueError(message)
    if D.min(initial=0.0) < 0.0:
        message = f"X must hold distances with metric='precomputed', got the negative value {D.min():.6g}."
        raise ValueError(message)


def calibration_rows(n: int, centers: IntArray) -> IntArray | None:
    """Choose the rows whose distances are the yardstick of novelty."""
    others = np.setdiff1d(np.arange(n), centers)
    return others[:: max(1, -(-len(others) // _MOST))] if len(others) >= _ENOUGH else None


class KernelRows:
    """Rows of a `manifolia.KernelMap`; it needs the attributes that ``KernelMap.fit`` sets."""

    mapping: str
    metric: str
    n_features_in_: int
    center_indices_: IntArray
    centers_: FloatArray
    places_: FloatArray
    bandwidth_: FloatArray
    coefficients_: FloatArray
    _frame: Frame
    _calibration: FloatArray
    _index: NeighborIndex

    def _checked(self, X: ArrayLike, *, reset: bool = False) -> FloatArray:
        """Check rows at the door."""
        checked: FloatArray = validate_data(self, X, reset=reset, dtype=(np.float64, np.float32), order="C")
        if self.metric != "precomputed":
            return np.asarray(check_rows(checked, self.metric))
        check_distances(checked, square=reset)
        return checked

    def _find_frame(self) -> Frame:
        if self.metric in ("euclidean", "manhattan"):
            return frame_of(self.centers_)
        spread = float(self.centers_.max(initial=0.0)) if self.metric == "precomputed" else 0.0
        scale = float(np.ldexp(1.0, -int(np.frexp(spread)[1]))) if spread > 0.0 else 1.0
        return Frame(np.zeros(1), scale, np.inf)

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

    def _searched(self, X: FloatArray) -> FloatArray:
        """Rows as the index takes them: the cosine is prepared by the index itself."""
        return X if self.metric == "cosine" else self._framed(X)

    def _search_index(self) -> NeighborIndex:
        """Return the index of the centres, built again in a model that was loaded."""
        if "_index" not in vars(self):
            rows = self.centers_ if self.metric == "cosine" else self._framed_centers()
            self._index = NeighborIndex(rows, metric=self.metric, random_state=0)
        return self._index

    def _neighbors(self, X: FloatArray, k: int) -> Neighbors:
        return self._search_index().query(self._searched(X), k)

    @property
    def _kth(self) -> int:
        return max(1, min(_KTH, len(self.places_) - 1))

    def _distance(self, X: FloatArray) -> FloatArray:
        """Distance to the 5th centre, in the frame."""
        return np.asarray(self._neighbors(X, self._kth).distances[:, -1], dtype=np.float64)

    def _own_distance(self) -> FloatArray:
        """Return the same of the centres, each without itself."""
        if len(self.places_) == 1:
            return np.zeros(1)
        return self._search_index().neighbors(self._kth).distances[:, -1].astype(np.float64)

    def _calibrate(self, X: FloatArray) -> None:
        """Measure rows of ``fit``, as they would be measured if they were new."""
        rows = calibration_rows(len(X), self.center_indices_)
        self._calibration = self._own_distance() if rows is None else self._distance(np.ascontiguousarray(X[rows]))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search index, which is made again from the centres."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]  # the estimator's, not object's
        return {name: value for name, value in state.items() if name != "_index"}

    def _check_restored(self) -> None:
        """Check that arrays which came from a file fit together: kernels index with them and do not look."""
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
            message = "the centres, places or widths of the kernel map do not fit together."
            raise ValueError(message)
