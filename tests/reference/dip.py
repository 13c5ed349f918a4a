"""Naive twin of `manifolia.kernels.dip`: a linear program for every place of the mode."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def dip(x, upto):
    """Least distance from the sample's distribution function to one with a single mode; at least 1 / 2n."""
    n = float(upto[-1])
    x = np.asarray(x, dtype=float)
    F = np.asarray(upto, dtype=float) / n
    return max(min(_with_mode(x, F, mode) for mode in range(len(x))), 0.5 / n)


def _with_mode(x, F, mode):
    """Unknown are the function at x[0], …, just below x[mode], at x[mode], …, x[m − 1], and the distance d."""
    m = len(x)
    places = np.r_[x[: mode + 1], x[mode:]]  # the mode twice, for the jump
    rows, bounds = [], []

    def add(terms, most):
        row = np.zeros(m + 2)
        for at, factor in terms:
            row[at] += factor
        rows.append(row)
        bounds.append(most)

    d = m + 1
    for at in range(m + 1):
        i = at if at <= mode else at - 1
        below, above = F[i], F[i + 1]
        if at == mode:
            above = below
        elif at == mode + 1:
            below = above
        add([(at, -1.0), (d, -1.0)], -above)  # value ≥ above − d
        add([(at, 1.0), (d, -1.0)], below)  # value ≤ below + d
    for first, last, sign in ((0, mode, 1.0), (mode + 1, m, -1.0)):
        for at in range(first, last):
            add([(at, 1.0), (at + 1, -1.0)], 0.0)
        for at in range(first, last - 1):
            a, b = 1.0 / (places[at + 1] - places[at]), 1.0 / (places[at + 2] - places[at + 1])
            add([(at, sign * -a), (at + 1, sign * (a + b)), (at + 2, sign * -b)], 0.0)
    add([(mode, 1.0), (mode + 1, -1.0)], 0.0)
    costs = np.zeros(m + 2)
    costs[d] = 1.0
    solved = linprog(costs, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=[(0.0, 1.0)] * (m + 1) + [(0.0, None)])
    return float(solved.fun)
