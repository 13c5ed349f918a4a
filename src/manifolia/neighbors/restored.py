"""Is an index that came from a file safe to search? Kernels use its arrays as indices and do not look."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia.neighbors.lists import Effort, InvertedLists

__all__ = ["lists_fit", "rows_fit"]


def rows_fit(X: Any, n_rows: int, n_columns: int) -> bool:
    """Tell whether rows have the form that kernels read."""
    if sp.issparse(X):
        if X.format != "csr" or X.shape != (n_rows, n_columns) or X.dtype not in (np.float32, np.float64):
            return False
        pointers, columns = np.asarray(X.indptr), np.asarray(X.indices)
        return bool(
            pointers.shape == (n_rows + 1,)
            and pointers[0] == 0
            and pointers[-1] == columns.size == X.data.size
            and (np.diff(pointers) >= 0).all()
            and (columns.size == 0 or (columns.min() >= 0 and columns.max() < n_columns))
        )
    return _is(X, (n_rows, n_columns), np.float32) or _is(X, (n_rows, n_columns), np.float64)


def lists_fit(lists: Any, Z: Any, judges: Any, efforts: Any, n_rows: int, n_columns: int) -> bool:
    """Tell whether inverted lists, and what belongs to them, fit together."""
    if type(lists) is not InvertedLists or type(efforts) is not dict or getattr(Z, "ndim", 0) != 2:
        return False
    m = Z.shape[1]
    panels = [part for part in (lists.centres, lists.members) if type(part) is tuple and len(part) == 5]
    if len(panels) < 2 or not all(isinstance(array, np.ndarray) for part in panels for array in part):
        return False
    n_lists = lists.members[0].shape[0] if lists.members[0].ndim == 2 else 0
    width = lists.shift.size if isinstance(lists.shift, np.ndarray) else m + 1
    return bool(
        n_lists > 0
        and width <= m
        and _is(Z, (n_rows, m), np.float32)
        and _is(lists.shift, (width,), np.float64)
        and type(lists.scale) is float
        and (width == n_columns if lists.directions is None else _is(lists.directions, (n_columns, width), np.float64))
        and _is(lists.labels, (n_rows,), np.int32)
        and _within(lists.labels, 0, n_lists)
        and _panels_fit(lists.centres, 1, m, n_lists)
        and _panels_fit(lists.members, n_lists, m, n_rows)
        and _is(judges, np.shape(judges), np.int64)
        and judges.ndim == 1
        and _within(judges, 0, n_rows)
        and all(_effort_fits(effort, n_lists, n_rows) for effort in efforts.values())
    )


def _is(array: Any, shape: tuple[int, ...], dtype: Any) -> bool:
    return isinstance(array, np.ndarray) and array.shape == shape and array.dtype == dtype and array.flags.c_contiguous


def _within(numbers: Any, low: int, high: int) -> bool:
    return numbers.size == 0 or bool(numbers.min() >= low and numbers.max() < high)


def _panels_fit(parts: tuple[Any, ...], n_lists: int, m: int, n_members: int) -> bool:
    from manifolia.kernels.ivf import STEP, WIDTH

    centres, starts, panels, squares, members = parts
    n_panels = panels.shape[0] if panels.ndim else 0
    return bool(
        m % STEP == 0
        and _is(centres, (n_lists, m), np.float32)
        and _is(starts, (n_lists + 1,), np.int64)
        and starts[0] == 0
        and starts[-1] == n_panels
        and (np.diff(starts) >= 0).all()
        and _is(panels, (n_panels, m, WIDTH), np.float32)
        and _is(squares, (n_panels, WIDTH), np.float32)
        and _is(members, (n_panels * WIDTH,), np.int32)
        and _within(members, -1, n_members)
        and (members[np.isfinite(squares.ravel())] >= 0).all()
    )


def _effort_fits(effort: Any, n_lists: int, n_rows: int) -> bool:
    if effort is None:
        return True
    return type(effort) is Effort and 1 <= effort.n_probes <= n_lists and 1 <= effort.n_candidates <= n_rows
