"""Which features put one row where it is, for any map that can place rows: give it other rows' values and look.

    s_g = mean over donors r of | f(x with x_g ← r_g) − f(x) |

f places a row, g is a feature or a group of features that belong together (the columns of one category). A feature
that the map does not use moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray, RandomState
from manifolia._core.validate import check_number, is_sparse

__all__ = ["substitution_effects"]

_CELLS = 4_000_000  # cells that are placed in one call


def substitution_effects(
    place: Callable[[FloatArray], FloatArray],
    X: Any,
    row: int,
    groups: Sequence[IntArray],
    *,
    n_donors: int = 64,
    random_state: RandomState = None,
) -> FloatArray:
    """Measure how far a row moves when features take other rows' values."""
    n = X.shape[0]
    row = check_number(row, "row", low=0, high=n - 1, integer=True)
    n_donors = check_number(n_donors, "n_donors", low=1, integer=True)
    others = np.delete(np.arange(n), row)
    if len(others) > n_donors:
        others = np.sort(as_generator(random_state).choice(others, size=n_donors, replace=False))
    own, donors = (part.toarray() if is_sparse(part) else np.asarray(part) for part in (X[[row]], X[others]))
    home = place(own)[0]
    part = max(1, _CELLS // max(own.shape[1] * len(others), 1))  # groups in one call: many small calls cost more
    moved = []
    for start in range(0, len(groups), part):
        chosen = groups[start : start + part]
        tried = np.repeat(own, len(chosen) * len(others), axis=0).reshape(len(chosen), len(others), -1)
        for k, columns in enumerate(chosen):
            tried[k][:, columns] = donors[:, columns]
        placed = place(tried.reshape(-1, own.shape[1])).reshape(len(chosen), len(others), -1)
        moved.append(np.linalg.norm(placed - home, axis=2).mean(axis=1))
    return np.concatenate(moved) if moved else np.zeros(0)
