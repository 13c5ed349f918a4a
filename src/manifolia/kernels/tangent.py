"""Gram matrices of neighbourhoods: all that local principal component analysis needs from the features.

For row i with neighbours j₁ … j_k the kernels compute

    G_ab = (x_{j_a} − q_i) · (x_{j_b} − q_i),

k² numbers, whatever the number of features.

=========  ============================================================  ============
symbol     meaning                                                       shape
=========  ============================================================  ============
Q          the points themselves: X again, or new rows                   (m, p)
X          the rows that neighbours are taken from                       (n, p)
nearest    neighbours of each row of Q                                   (m, k)
start      first row of Q to work on                                     scalar
G          Gram matrices of the rows from `start` on                     (rows, k, k)
CSR        values, columns and row starts of a sparse Q or X             several
=========  ============================================================  ============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

_CHUNK = 1024  # features at once: k rows of differences stay in the second-level cache


@kernel(fast=True)
def gram_rows(Q, X, nearest, start, G):
    """Fill the Gram matrices of as many rows as `G` has, from dense rows.

    Differences have the precision of the data; sums of up to 1,024 products too, sums of those are doubles. The order
    of additions depends on the number of features alone.
    """
    k, p = nearest.shape[1], X.shape[1]
    even = k + k % 2  # rows share what they load two by two; a row of zeros makes the number even
    steps = np.zeros((even, min(p, _CHUNK)), X.dtype)
    for row in range(G.shape[0]):
        i = start + row
        G[row] = 0.0
        for first in range(0, p, _CHUNK):
            width = min(_CHUNK, p - first)
            here = Q[i, first : first + width]
            for a in range(k):
                there = X[nearest[i, a], first : first + width]
                for f in range(width):
                    steps[a, f] = there[f] - here[f]
            for a in range(0, even, 2):
                one, two = steps[a, :width], steps[a + 1, :width]
                for b in range(0, a + 2, 2):
                    three, four = steps[b, :width], steps[b + 1, :width]
                    s13 = s14 = s23 = s24 = here[0] - here[0]  # a zero of the data's own type
                    for f in range(width):
                        s13 += one[f] * three[f]
                        s14 += one[f] * four[f]
                        s23 += two[f] * three[f]
                        s24 += two[f] * four[f]
                    G[row, a, b] += s13
                    if b + 1 < k:
                        G[row, a, b + 1] += s14
                    if a + 1 < k:
                        G[row, a + 1, b] += s23
                        if b + 1 < k:
                            G[row, a + 1, b + 1] += s24
        for a in range(k):
            for b in range(a + 1, k):
                G[row, a, b] = G[row, b, a]


@kernel()
def gram_rows_sparse(own_values, own_columns, own_starts, values, columns, starts, n_columns, nearest, start, G):
    """Fill the Gram matrices of as many rows as `G` has, from CSR rows, without making them dense.

    Products of rows are summed in double precision over the entries of one of them, and differences are taken between
    products: (a − q)·(b − q) = a·b − a·q − b·q + q·q.
    """
    k = nearest.shape[1]
    spread = np.zeros(n_columns)
    with_own = np.empty(k)
    for row in range(G.shape[0]):
        i = start + row
        own_square = 0.0
        for e in range(own_starts[i], own_starts[i + 1]):
            spread[own_columns[e]] = own_values[e]
            own_square += np.float64(own_values[e]) * own_values[e]
        for a in range(k):
            total = 0.0
            for e in range(starts[nearest[i, a]], starts[nearest[i, a] + 1]):
                total += spread[columns[e]] * values[e]
            with_own[a] = total
        for e in range(own_starts[i], own_starts[i + 1]):
            spread[own_columns[e]] = 0.0
        for a in range(k):
            first, last = starts[nearest[i, a]], starts[nearest[i, a] + 1]
            for e in range(first, last):
                spread[columns[e]] = values[e]
            for b in range(a + 1):
                total = 0.0
                for e in range(starts[nearest[i, b]], starts[nearest[i, b] + 1]):
                    total += spread[columns[e]] * values[e]
                G[row, a, b] = total - with_own[a] - with_own[b] + own_square
                G[row, b, a] = G[row, a, b]
            for e in range(first, last):
                spread[columns[e]] = 0.0
