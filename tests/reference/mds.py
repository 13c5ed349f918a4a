"""Naive twins of ``manifolia.kernels.mds``: pair by pair, in plain Python."""

from __future__ import annotations

import math

import numpy as np


def smacof_rows(D, YT, start, out, stress):
    Y = YT.T
    n = len(Y)
    for row in range(len(out)):
        i = start + row
        pull = np.zeros(Y.shape[1])
        error = 0.0
        for j in range(n):
            d = math.dist(Y[i], Y[j])
            error += (float(D[i, j]) - d) ** 2
            if d > 0:
                pull += float(D[i, j]) / d * (Y[i] - Y[j])
        out[row] = pull / n
        stress[row] = error


def sgd_pairs(n, r):
    """The pairs of round r: i + j ≡ r modulo the odd one of n and n − 1; who is left over meets the last point."""
    odd = n if n % 2 else n - 1
    pairs = [(i, j) for i in range(odd) for j in range(i + 1, odd) if (i + j - r) % odd == 0]
    if odd < n:
        pairs += [(i, n - 1) for i in range(odd) if (2 * i - r) % odd == 0]
    return pairs


def sgd_rounds(D, YT, first, last, step):
    n = YT.shape[1]
    for r in range(first, last):
        for i, j in sgd_pairs(n, r):
            gap = YT[:, i] - YT[:, j]
            d = math.sqrt(float(gap @ gap))
            if d > 0:
                shift = 0.5 * step * (d - float(D[i, j])) / d * gap
                YT[:, i] -= shift
                YT[:, j] += shift
