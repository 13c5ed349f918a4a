"""New rows on a finished map that does not move: each finds its place among its neighbours, alone.

A row begins at the weighted mean of its neighbours' places and descends by the forces of the layout
(``manifolia.layout.edge_sgd``): attraction to those neighbours, repulsion of points of the map drawn at random. The
draws depend on the row's neighbours and weights alone, so that a row has the same place, to the bit, in any batch.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.random import as_key
from manifolia._core.types import ArrayLike, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_map, check_number
from manifolia.exceptions import ParameterError, ParameterTypeError
from manifolia.layout.edge_sgd import (
    N_NEGATIVES,
    REPULSION,
    adam_rates,
    curve_parameters,
    force_table,
    padded,
    push_per_draw,
)

_EPOCHS = 50  # 100 gave the same accuracy on 10,000 new digits, 30 lost 0.001, the start alone 0.037
_FIRST_STEP = 0.25  # of the layout's: the start is near, and a step of 1 forgets it
_ROWS = 256  # per piece of work, some 2 ms


def place_anchored(
    Y: ArrayLike,
    indices: IntArray,
    weights: FloatArray,
    *,
    min_dist: float = 0.1,
    n_epochs: int = _EPOCHS,
    n_negatives: int = N_NEGATIVES,
    repulsion: float = REPULSION,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> FloatArray:
    """Place new rows on a map."""
    from manifolia.kernels.anchored import anchored_rows

    Y = check_map(Y)
    near, strengths = _check_neighbors(indices, weights, Y.shape[0])
    n_epochs = check_number(n_epochs, "n_epochs", low=0, integer=True)
    table = force_table(*curve_parameters(min_dist), push_per_draw(repulsion, n_negatives))
    rates = adam_rates(n_epochs, _FIRST_STEP)
    positions = padded(Y)
    key = as_key(random_state)
    out = np.empty((near.shape[0], positions.shape[1]), dtype=np.float32)

    def run(rows: slice) -> None:
        anchored_rows(positions, near, strengths, table, rates, float(n_negatives), key, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(near.shape[0], _ROWS), n_jobs=n_jobs)
    return out[:, : Y.shape[1]].astype(Y.dtype)


def _check_neighbors(indices: IntArray, weights: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    near = np.ascontiguousarray(indices)
    strengths = np.ascontiguousarray(weights, dtype=np.float32)
    if near.dtype.kind not in "iu":
        raise ParameterTypeError(
            f"indices must be integers, got {near.dtype}. Pass the numbers of the neighbours.", parameter="indices"
        )
    if near.ndim != 2 or near.shape != strengths.shape or near.shape[1] == 0:
        raise ParameterError(
            f"indices and weights must have one shape (m, k) with k at least 1, got {near.shape} and "
            f"{strengths.shape}.",
            parameter="indices",
        )
    if near.size and (near.min() < 0 or near.max() >= n):
        raise ParameterError(
            f"indices must lie in 0 … {n - 1}, the points of the map, got {near.min()} … {near.max()}.",
            parameter="indices",
        )
    if not np.isfinite(strengths).all() or (strengths < 0).any():
        raise ParameterError(
            "weights must be finite and not negative. Pass the membership strengths, not distances.",
            parameter="weights",
        )
    return near.astype(np.int64), strengths
