"""New points on a finished map: each descends alone, among points that do not move.

In `anchored_rows` the forces are those of ``manifolia.kernels.edge_sgd``, attraction to the neighbours and repulsion of
points drawn at random. Random numbers are a function of the key and of the row's own neighbours and weights, so that a
row's place depends neither on the rows beside it nor on its position among them.

In `field_rows` they are those of ``manifolia.kernels.forces``: Σ_j w_ij q_ij (y_j − y) with Σ_j w_ij = 1, and the
repulsion of the whole map, read from the grid of its potential. Nothing is drawn.

========  ===============================================================  ============
symbol    meaning                                                          shape
========  ===============================================================  ============
Y         the finished map                                                 (n, c), c ≥ 2
indices   neighbours of each new row among the points of the map           (m, k)
weights   their weights w_ij of Eq. (1), float32                           (m, k)
table     A, B and Q over the squared distance                             (3, 8193)
rates     Adam's step and correction, epoch by epoch                       (E, 2)
draws     negative samples per epoch and unit of weight                    scalar
nodes     potential of the map on a grid, its corner and 1 / spacing       (Gx, Gy[, Gz])
strength  n / Z                                                            scalar
out       places of the new rows                                           (m, c)
========  ===============================================================  ============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.edge_sgd import advanced, clipped, drawn, look_up, stepped
from manifolia.kernels.forces import read_plane, read_space
from manifolia.kernels.random import bits

_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_TWO = np.float32(2.0)


@kernel()
def anchored_rows(Y, indices, weights, table, rates, draws, key, out, start, stop):
    """Place the rows `start` to `stop` − 1: from the weighted mean of their neighbours, a step per row of `rates`.

    As in the layout's epoch, the first two columns are kept in registers.
    """
    n, c = Y.shape
    k = indices.shape[1]
    attract, repel = table[0], table[1]
    near = np.empty((k, c), dtype=np.float32)
    here = np.empty(c, dtype=np.float32)
    force = np.empty(c, dtype=np.float32)
    gap = np.empty(c, dtype=np.float32)
    moments = np.empty((2, c), dtype=np.float32)
    for i in range(start, stop):
        own = key
        whole = 0.0
        for q in range(k):
            own = bits(own, indices[i, q], np.float32(weights[i, q]).view(np.int32))
            whole += weights[i, q]
        for m in range(c):
            total = 0.0
            for q in range(k):
                near[q, m] = Y[indices[i, q], m]
                # Without any weight the neighbours count alike.
                share = weights[i, q] / whole if whole > 0.0 else 1.0 / k
                total += share * near[q, m]
            here[m] = total
            moments[0, m] = _ZERO
            moments[1, m] = _ZERO
        n_draws = np.int64(draws * whole + 0.5)
        for epoch in range(rates.shape[0]):
            x, y = here[0], here[1]
            fx, fy = _ZERO, _ZERO
            for m in range(2, c):
                force[m] = _ZERO
            for q in range(k):
                gx, gy = near[q, 0] - x, near[q, 1] - y
                s = gx * gx + gy * gy
                for m in range(2, c):
                    gap[m] = near[q, m] - here[m]
                    s += gap[m] * gap[m]
                pull = look_up(attract, s)
                weight = _TWO * weights[i, q]
                fx += weight * clipped(pull * gx)
                fy += weight * clipped(pull * gy)
                for m in range(2, c):
                    force[m] += weight * clipped(pull * gap[m])
            state = bits(own, epoch, 0)
            for _ in range(n_draws):
                state = advanced(state)
                j = drawn(state, n)
                gx, gy = Y[j, 0] - x, Y[j, 1] - y
                s = gx * gx + gy * gy
                for m in range(2, c):
                    gap[m] = Y[j, m] - here[m]
                    s += gap[m] * gap[m]
                push = look_up(repel, s)
                fx -= clipped(push * gx)
                fy -= clipped(push * gy)
                for m in range(2, c):
                    force[m] -= clipped(push * gap[m])
            force[0], force[1] = fx, fy
            for m in range(c):
                here[m] = stepped(here[m], force[m], moments, m, rates[epoch])
        for m in range(c):
            out[i, m] = here[m]


@kernel()
def field_rows(Y, indices, weights, nodes, corner, inverse, strength, rates, out, start, stop):
    """Place the rows `start` to `stop` − 1 by a map's own forces, from the weighted mean of their neighbours."""
    c = Y.shape[1]
    k = indices.shape[1]
    share = np.empty(k, dtype=np.float32)
    here = np.empty((1, c), dtype=np.float32)
    push = np.empty((1, c), dtype=np.float32)
    potential = np.empty(1, dtype=np.float32)
    force = np.empty(c, dtype=np.float32)
    moments = np.empty((2, c), dtype=np.float32)
    for i in range(start, stop):
        whole = 0.0
        for q in range(k):
            whole += weights[i, q]
        for q in range(k):
            # Without any weight the neighbours count alike.
            share[q] = weights[i, q] / whole if whole > 0.0 else 1.0 / k
        for m in range(c):
            total = 0.0
            for q in range(k):
                total += share[q] * Y[indices[i, q], m]
            here[0, m] = total
            moments[0, m] = _ZERO
            moments[1, m] = _ZERO
        for step in range(rates.shape[0]):
            if nodes.ndim == 2:
                read_plane(here, corner, inverse, nodes, potential, push, 0, 1)
            else:
                read_space(here, corner, inverse, nodes, potential, push, 0, 1)
            for m in range(c):
                force[m] = strength * push[0, m]
            for q in range(k):
                s = _ONE
                for m in range(c):
                    gap = Y[indices[i, q], m] - here[0, m]
                    s += gap * gap
                pull = share[q] / s
                for m in range(c):
                    force[m] += pull * (Y[indices[i, q], m] - here[0, m])
            for m in range(c):
                here[0, m] = stepped(here[0, m], force[m], moments, m, rates[step])
        for m in range(c):
            out[i, m] = here[0, m]
