"""Metric multidimensional scaling: one sweep of SMACOF, and rounds of stochastic descent.

Both lower the raw stress  σ(Y) = Σ_{i<j} (D_ij − d_ij)²  with  d_ij = ‖y_i − y_j‖.

The coordinates are transposed, one contiguous line per dimension, so that every inner loop runs along rows of memory
and is vectorised for any number of dimensions.

========  =================================================================  ==============
symbol    meaning                                                            shape
========  =================================================================  ==============
D         distances (or disparities) to reproduce, float32 or float64        (n, n)
YT        coordinates, transposed, float64                                   (p, n)
weight    D_ij / d_ij, and 0 where the two points coincide                   (n,)
out       the Guttman transform of a range of rows                           (rows, p)
stress    Σ_j (D_ij − d_ij)² of those rows: each pair counts in both rows    (rows,)
step      share of a pair's error that one visit removes, in (0, 1]          scalar
========  =================================================================  ==============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel


@kernel(fast=True)
def smacof_rows(D, YT, start, out, stress):
    """Guttman transform and stress of as many rows as `out` has, starting at `start`, in one pass over `D`.

    De Leeuw (1977) with unit weights: row i of B(Y)Y / n is Σ_j (D_ij / d_ij)(y_i − y_j) / n. Sums run over j in an
    order that depends on n alone, so a row has the same bits in any block and on any thread.
    """
    p, n = YT.shape
    weight = np.empty(n)
    for row in range(out.shape[0]):
        i = start + row
        delta = D[i]
        for j in range(n):
            weight[j] = 0.0
        for k in range(p):
            here, line = YT[k, i], YT[k]
            for j in range(n):
                weight[j] += (here - line[j]) * (here - line[j])
        error, total = 0.0, 0.0
        for j in range(n):
            d = np.sqrt(weight[j])
            residual = delta[j] - d
            error += residual * residual
            ratio = delta[j] / d if d > 0.0 else 0.0
            weight[j] = ratio
            total += ratio
        for k in range(p):
            line = YT[k]
            pulled = 0.0
            for j in range(n):
                pulled += weight[j] * line[j]
            out[row, k] = (total * YT[k, i] - pulled) / n
        stress[row] = error


@kernel(fast=True)
def sgd_rounds(D, YT, first, last, step):
    """Visit the pairs of rounds `first` to `last` − 1 of a round robin and move both points of each, in `YT`.

    Circle method: with N = n or n − 1, whichever is odd, round r holds the pairs with i + j ≡ r (mod N), and for
    even n the one point left over meets point n − 1. The pairs of a round are disjoint, so their order cannot matter.
    N rounds are an epoch and visit every pair once. Each point of a pair moves by step/2 of the pair's error along the
    line between them (Zheng, Pawar and Goodman 2019, section 2, with unit weights).
    """
    p, n = YT.shape
    odd = n - 1 + n % 2
    move = np.empty(n)
    for r in range(first, last):
        for part in range(3):
            # Runs of pairs (low + q, high − q), q = 0 … m − 1: i + j = r, then i + j = r + N, then the one left over.
            if part == 0:
                low, high = 0, r
                m = (r + 1) // 2
            elif part == 1:
                low, high = r + 1, odd - 1
                m = (odd - r - 1) // 2
            else:
                low, high = (r + odd * (r % 2)) // 2, n - 1
                m = n - odd
            lower = D[low : low + m]
            move[:m] = 0.0
            for k in range(p):
                up, down = YT[k, low : low + m], YT[k, high - m + 1 : high + 1]
                for q in range(m):
                    gap = up[q] - down[m - 1 - q]
                    move[q] += gap * gap
            for q in range(m):
                d = np.sqrt(move[q])
                move[q] = 0.5 * step * (d - lower[q, high - q]) / d if d > 0.0 else 0.0
            for k in range(p):
                up, down = YT[k, low : low + m], YT[k, high - m + 1 : high + 1]
                for q in range(m):
                    shift = move[q] * (up[q] - down[m - 1 - q])
                    up[q] -= shift
                    down[m - 1 - q] += shift
