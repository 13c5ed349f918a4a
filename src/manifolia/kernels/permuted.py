"""Nearest neighbours after one feature of the queries has been permuted, without forming the changed distances.

Permuting a feature changes one term of a squared distance, so each distance is corrected on the fly and goes into a
list of the k smallest; nothing of the size of all pairs is written.

========  ===========================================================================  ========
symbol    meaning                                                                      shape
========  ===========================================================================  ========
squared   squared distances of the queries to the points, all features                 (m, n)
a, b      the feature's values in the queries and in the points                        (m,), (n,)
source    whose value query i gets: D²_ij = squared_ij − (a_i − b_j)² + (a_s − b_j)²   (m,)
out       indices of the k nearest, nearest first; of equals the lower index first     (m, k)
========  ===========================================================================  ========
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel


@kernel()
def permuted_neighbors(squared, a, b, source, out):
    """Fill `out` with the k nearest points of every query."""
    m, n = squared.shape
    k = out.shape[1]
    best = np.empty(k, np.float64)
    for i in range(m):
        before, after = a[i], a[source[i]]
        filled = 0
        for j in range(n):
            d = squared[i, j] - (before - b[j]) ** 2 + (after - b[j]) ** 2
            if filled == k and d >= best[k - 1]:
                continue
            place = min(filled, k - 1)  # of the last entry, which a full list loses
            while place > 0 and best[place - 1] > d:
                best[place] = best[place - 1]
                out[i, place] = out[i, place - 1]
                place -= 1
            best[place] = d
            out[i, place] = j
            filled = min(filled + 1, k)
