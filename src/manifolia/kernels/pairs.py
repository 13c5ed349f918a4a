"""Sums over the pairs of points i < j, row by row, without keeping a distance.

Each row has its own sums, so the total does not depend on how rows were cut into blocks. Moments are first centred
within the row; otherwise sums of squares of nearly constant distances would lose all their digits. For the same reason
the part of x that is not along y is summed separately instead of as a difference.

=========  =========================================================================  ==================
symbol     meaning                                                                    shape
=========  =========================================================================  ==================
x, y       distances in the data and in the map; column 0 is point `first`            (h, ≥ n − first)
rows       which row of the data each row of x and y belongs to                       (h,)
edges      cut points of the distances, growing; edges[0] ≤ all                       (m + 1,)
guide      for equal steps from edges[0] on, the stretch of `edges` to begin in       (n_guide,)
score      what a cell counts: its centred mean rank                                  (m · CELLS,)
=========  =========================================================================  ==================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

#: Equal cells in each interval between two edges: with 4,096 intervals the counts (1 MB) stay in the cache.
CELLS = 32
#: What `row_moments` writes for a row: pairs; means of x and y; centred sums of x², y² and xy; the length of y, the
#: length of x along y and the length of what is left of x; Σ (x − y)².
N_MOMENTS = 10


@kernel()
def row_moments(x, y, rows, first, n, out):
    """Fill ``out[r]`` with the moments of the pairs (rows[r], j), j > rows[r]."""
    for r in range(x.shape[0]):
        start = rows[r] + 1 - first
        stop = n - first
        count = stop - start
        for k in range(out.shape[1]):
            out[r, k] = 0.0
        if count < 1:
            continue
        sum_x = 0.0
        sum_y = 0.0
        for j in range(start, stop):
            sum_x += x[r, j]
            sum_y += y[r, j]
        mean_x = sum_x / count
        mean_y = sum_y / count
        sum_xx = 0.0
        sum_yy = 0.0
        sum_xy = 0.0
        square_y = 0.0
        product = 0.0
        apart = 0.0
        for j in range(start, stop):
            a = x[r, j] - mean_x
            b = y[r, j] - mean_y
            sum_xx += a * a
            sum_yy += b * b
            sum_xy += a * b
            square_y += y[r, j] * y[r, j]
            product += x[r, j] * y[r, j]
            apart += (x[r, j] - y[r, j]) * (x[r, j] - y[r, j])
        slope = product / square_y if square_y > 0.0 else 0.0
        left = 0.0
        for j in range(start, stop):
            a = x[r, j] - slope * y[r, j]
            left += a * a
        out[r, 0] = count
        out[r, 1] = mean_x
        out[r, 2] = mean_y
        out[r, 3] = sum_xx
        out[r, 4] = sum_yy
        out[r, 5] = sum_xy
        out[r, 6] = np.sqrt(square_y)
        out[r, 7] = product / np.sqrt(square_y) if square_y > 0.0 else 0.0
        out[r, 8] = np.sqrt(left)
        out[r, 9] = apart


@kernel()
def row_ratios(x, y, rows, first, n, scale, out):
    """Fill ``out[r, 0]`` with Σ_j min(x, scale · y) / max(x, scale · y); two zeros count 1."""
    for r in range(x.shape[0]):
        total = 0.0
        for j in range(rows[r] + 1 - first, n - first):
            a = x[r, j]
            b = scale * y[r, j]
            high = max(a, b)
            total += min(a, b) / high if high > 0.0 else 1.0
        out[r, 0] = total


@kernel(inline=True)  # a function call would count references to its arrays, which takes longer than the rest
def _cell(value, edges, guide, guide_scale):
    last = edges.shape[0] - 2
    step = (value - edges[0]) * guide_scale
    stretch = guide[np.int64(step)] if step < guide.shape[0] else last
    while stretch < last and edges[stretch + 1] <= value:
        stretch += 1
    share = (value - edges[stretch]) / (edges[stretch + 1] - edges[stretch])
    within = np.int64(share * CELLS) if share < 1.0 else CELLS - 1
    return stretch * CELLS + within


@kernel()
def cell_counts(x, rows, first, n, edges, guide, guide_scale, counts):
    """Add to `counts` the number of pairs (rows[r], j), j > rows[r], in each cell."""
    for r in range(x.shape[0]):
        for j in range(rows[r] + 1 - first, n - first):
            counts[_cell(x[r, j], edges, guide, guide_scale)] += 1


@kernel()
def cell_scores(x, rows, first, n, edges, guide, guide_scale, score):
    """Replace each distance of a pair (rows[r], j), j > rows[r], by the score of its cell."""
    for r in range(x.shape[0]):
        for j in range(rows[r] + 1 - first, n - first):
            x[r, j] = score[_cell(x[r, j], edges, guide, guide_scale)]
