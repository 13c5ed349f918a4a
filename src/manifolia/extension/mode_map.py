"""New rows inside one cluster of a finished map, not between clusters.

A mean of neighbours that lie in two clusters is in neither. The mode is in one of them: with weights p_j of the
3 × perplexity + 1 nearest rows of the map, as t-SNE gives them, a row starts at the neighbour with the largest
Σ_l p_l / (1 + ‖y_j − y_l‖²/s²) and takes ten steps of mean shift ::

    y ← Σ_j v_j y_j / Σ_j v_j,    v_j = p_j / (1 + ‖y − y_j‖²/s²)²

with the map's own heavy-tailed kernel and s the median distance to the 10th neighbour in the map. A row at distance 0
of a row of the map is placed on it. It is an extension, not in the paper.
"""

from __future__ import annotations

import numpy as np

from manifolia._core.blocks import row_blocks
from manifolia._core.parallel import map_blocks
from manifolia._core.types import FloatArray
from manifolia.neighbors import Neighbors

__all__ = ["mode_neighbors", "place_at_mode"]

_ROWS = 1024


def mode_neighbors(perplexity: float, n_points: int) -> int:
    """Tell how many neighbours a perplexity needs."""
    return min(int(3 * perplexity) + 1, n_points)


def place_at_mode(near: Neighbors, Y: FloatArray, *, perplexity: float, scale: float) -> FloatArray:
    """Place rows at the mode of their neighbours, each alone."""
    from manifolia.kernels.kernel_map import mode_rows

    n = near.indices.shape[0]
    out = np.empty((n, Y.shape[1]))
    points = np.ascontiguousarray(Y, dtype=np.float64)
    indices = np.ascontiguousarray(near.indices)
    distances = np.ascontiguousarray(near.distances, dtype=np.float64)

    def run(rows: slice) -> None:
        mode_rows(indices, distances, points, float(perplexity), scale * scale, out, rows.start, rows.stop)

    map_blocks(run, row_blocks(n, _ROWS))
    return out
