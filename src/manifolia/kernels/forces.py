"""Forces of a t-SNE-type layout: attraction along a graph, repulsion of all pairs, exactly or through a grid.

With z_ij = y_j − y_i, s = z'z and q = 1 / (1 + s), point i feels

    ρ Σ_j w_ij q_ij z_ij − (n / Z) Σ_j q_ij² z_ij,    Z = Σ_{i ≠ j} q_ij,

a quarter of n times the negative gradient of t-SNE's divergence (van der Maaten and Hinton 2008, Eq. 5), the attraction
exaggerated by ρ. The second sum is half the gradient of the potential φ(y) = Σ_j q(‖y − y_j‖²).

On the grid every point spreads a charge of 1 over the nodes around it by cubic B-splines. Charges are integers, so that
their sums do not depend on the order of the points or on the thread that adds them. The potential at the nodes is then
read back, with its gradient, by the same splines. Positions are clamped to the nodes that exist, so that no value of
theirs, NaN included, reads or writes elsewhere.

==========  =================================================================  ================
symbol      meaning                                                            shape
==========  =================================================================  ================
columns     positions, one row per coordinate                                  (c, n)
Y, out      positions before and after                                         (n, c), c ≥ 2
corner      place of the grid's first node                                     (2,) or (3,)
inverse     1 / spacing of the grid                                            scalar
charges     sums of spread charges, in units of 1 / `UNIT`                     (Gx, Gy[, Gz])
nodes       potential at the nodes                                             (Gx, Gy[, Gz])
potential   φ(y_i) (`all_pairs`: without the point itself)                     (n,)
push        Σ_j q_ij² (y_i − y_j) = −∇φ(y_i) / 2                               (n, c)
graph       indptr, indices, weights                                           named tuple
extra       a further force, or no rows                                        (n, c) or (0, c)
cost        Σ_j w_ij log w_ij and Σ_j w_ij log(1 + s_ij)                       (2, n)
step        ρ × scale of the weights, n / Z, momentum, step, box               (5,)
==========  =================================================================  ================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

#: Charge of a point in units of the grid's integers: 2^33 points in one place do not overflow.
UNIT = 2.0**30
_CHUNK = 64  # pairs at a time; their sums are combined one by one at the end of a row
_HALF, _ZERO, _ONE = np.float32(0.5), np.float32(0.0), np.float32(1.0)
_SIXTH, _TWO, _THREE, _FOUR, _SIX = (
    np.float32(1 / 6),
    np.float32(2.0),
    np.float32(3.0),
    np.float32(4.0),
    np.float32(6.0),
)
# Gains of the steps, coordinate by coordinate (Jacobs 1988), with the constants of every t-SNE.
_RAISE, _LOWER, _LEAST = np.float32(0.2), np.float32(0.8), np.float32(0.01)
_LONGEST = np.float32(5.0)  # how far a point moves in one iteration


@kernel()
def all_pairs(columns, potential, push, start, stop):
    """Sum potential and repulsion of the rows `start` to `stop` − 1 over all other points.

    Sums run over places in a chunk, then over chunks: loops without a carried sum, which compile to vector
    instructions while the order of additions stays as written.
    """
    c, n = columns.shape
    q = np.empty(_CHUNK, dtype=np.float32)
    gaps = np.empty((c, _CHUNK), dtype=np.float32)
    sums = np.empty((c + 1, _CHUNK), dtype=np.float32)
    for i in range(start, stop):
        for m in range(c + 1):
            for k in range(_CHUNK):
                sums[m, k] = _ZERO
        for first in range(0, n, _CHUNK):
            size = min(_CHUNK, n - first)
            if c == 2:  # the usual map, in one loop
                x, y = columns[0, i], columns[1, i]
                xs, ys = columns[0, first : first + size], columns[1, first : first + size]
                fx, fy, whole = sums[0], sums[1], sums[2]
                for k in range(size):
                    gx, gy = x - xs[k], y - ys[k]
                    near = _ONE / (_ONE + gx * gx + gy * gy)
                    whole[k] += near
                    near *= near
                    fx[k] += near * gx
                    fy[k] += near * gy
                continue
            for k in range(size):
                q[k] = _ONE
            for m in range(c):
                here = columns[m, i]
                line, gap = columns[m, first : first + size], gaps[m]
                for k in range(size):
                    gap[k] = here - line[k]
                    q[k] += gap[k] * gap[k]
            whole = sums[c]
            for k in range(size):
                q[k] = _ONE / q[k]
                whole[k] += q[k]
                q[k] *= q[k]
            for m in range(c):
                gap, part = gaps[m], sums[m]
                for k in range(size):
                    part[k] += q[k] * gap[k]
        for m in range(c):
            total = 0.0
            for k in range(_CHUNK):
                total += sums[m, k]
            push[i, m] = total
        total = 0.0
        for k in range(_CHUNK):
            total += sums[c, k]
        potential[i] = total - 1.0  # the point itself


@kernel(inline=True)
def cell(place, corner, inverse, n_nodes):
    """Node before a coordinate, such that it and its neighbours exist, and the share of the spacing beyond it."""
    at = (place - corner) * inverse
    last = n_nodes - 3
    node = min(max(np.int64(min(max(at, _ONE), np.float32(last))), 1), last)  # the outer pair: NaN becomes any integer
    return node, min(max(at - np.float32(node), _ZERO), _ONE)


@kernel(inline=True)
def spline(t, out):
    """Cubic B-spline at the four nodes around a place with share t."""
    o, t2 = _ONE - t, t * t
    t3 = t2 * t
    out[0] = o * o * o * _SIXTH
    out[1] = (_FOUR - _SIX * t2 + _THREE * t3) * _SIXTH
    out[2] = (_ONE + _THREE * t + _THREE * t2 - _THREE * t3) * _SIXTH
    out[3] = t3 * _SIXTH


@kernel(inline=True)
def spline_slope(t, out):
    """Derivative of the cubic B-spline by t."""
    o, t2 = _ONE - t, t * t
    out[0] = -_HALF * o * o
    out[1] = _HALF * _THREE * t2 - _TWO * t
    out[2] = _HALF + t - _HALF * _THREE * t2
    out[3] = _HALF * t2


@kernel()
def spread_plane(Y, corner, inverse, charges, start, stop):
    """Add the charges of the rows `start` to `stop` − 1 to a grid of two dimensions."""
    wx, wy = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    for i in range(start, stop):
        ix, tx = cell(Y[i, 0], corner[0], inverse, charges.shape[0])
        iy, ty = cell(Y[i, 1], corner[1], inverse, charges.shape[1])
        spline(tx, wx)
        spline(ty, wy)
        for a in range(4):
            row, part = charges[ix + a - 1], UNIT * np.float64(wx[a])
            for b in range(4):
                row[iy + b - 1] += np.int64(part * np.float64(wy[b]))


@kernel()
def read_plane(Y, corner, inverse, nodes, potential, push, start, stop):
    """Read potential and repulsion of the rows `start` to `stop` − 1 from a grid of two dimensions."""
    wx, wy = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    dx, dy = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    slope = -_HALF * inverse
    for i in range(start, stop):
        ix, tx = cell(Y[i, 0], corner[0], inverse, nodes.shape[0])
        iy, ty = cell(Y[i, 1], corner[1], inverse, nodes.shape[1])
        spline(tx, wx)
        spline(ty, wy)
        spline_slope(tx, dx)
        spline_slope(ty, dy)
        value, gx, gy = _ZERO, _ZERO, _ZERO
        for a in range(4):
            row = nodes[ix + a - 1]
            along, across = _ZERO, _ZERO
            for b in range(4):
                node = row[iy + b - 1]
                along += wy[b] * node
                across += dy[b] * node
            value += wx[a] * along
            gx += dx[a] * along
            gy += wx[a] * across
        potential[i] = value
        push[i, 0] = slope * gx
        push[i, 1] = slope * gy


@kernel()
def spread_space(Y, corner, inverse, charges, start, stop):
    """Add the charges of the rows `start` to `stop` − 1 to a grid of three dimensions."""
    w = np.empty((3, 4), dtype=np.float32)
    at = np.empty(3, dtype=np.int64)
    for i in range(start, stop):
        for m in range(3):
            at[m], t = cell(Y[i, m], corner[m], inverse, charges.shape[m])
            spline(t, w[m])
        for a in range(4):
            for b in range(4):
                row = charges[at[0] + a - 1, at[1] + b - 1]
                part = UNIT * np.float64(w[0, a]) * np.float64(w[1, b])
                for d in range(4):
                    row[at[2] + d - 1] += np.int64(part * np.float64(w[2, d]))


@kernel()
def read_space(Y, corner, inverse, nodes, potential, push, start, stop):
    """Read potential and repulsion of the rows `start` to `stop` − 1 from a grid of three dimensions."""
    w, v = np.empty((3, 4), dtype=np.float32), np.empty((3, 4), dtype=np.float32)
    at = np.empty(3, dtype=np.int64)
    slope = -_HALF * inverse
    for i in range(start, stop):
        for m in range(3):
            at[m], t = cell(Y[i, m], corner[m], inverse, nodes.shape[m])
            spline(t, w[m])
            spline_slope(t, v[m])
        value, gx, gy, gz = _ZERO, _ZERO, _ZERO, _ZERO
        for a in range(4):
            for b in range(4):
                row = nodes[at[0] + a - 1, at[1] + b - 1]
                along, across = _ZERO, _ZERO
                for d in range(4):
                    node = row[at[2] + d - 1]
                    along += w[2, d] * node
                    across += v[2, d] * node
                value += w[0, a] * w[1, b] * along
                gx += v[0, a] * w[1, b] * along
                gy += w[0, a] * v[1, b] * along
                gz += w[0, a] * w[1, b] * across
        potential[i] = value
        push[i, 0] = slope * gx
        push[i, 1] = slope * gy
        push[i, 2] = slope * gz


@kernel()
def move_points(graph, push, extra, step, Y, velocity, gain, out, start, stop):
    """Move the rows `start` to `stop` − 1 from `Y` to `out` by all forces, with momentum and gains.

    There are at least two columns, of which the first two are kept in registers; a map of one dimension has a second
    column of zeros, which no force changes.
    """
    c = Y.shape[1]
    scale, strength, momentum, length, box = step[0], step[1], step[2], step[3], step[4]
    force = np.empty(c, dtype=np.float32)
    gap = np.empty(c, dtype=np.float32)
    for i in range(start, stop):
        here = Y[i]
        x, y = here[0], here[1]
        fx, fy = _ZERO, _ZERO
        for m in range(2, c):
            force[m] = _ZERO
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            gx, gy = Y[j, 0] - x, Y[j, 1] - y
            s = _ONE + gx * gx + gy * gy
            for m in range(2, c):
                gap[m] = Y[j, m] - here[m]
                s += gap[m] * gap[m]
            pull = graph.weights[e] / s
            fx += pull * gx
            fy += pull * gy
            for m in range(2, c):
                force[m] += pull * gap[m]
        force[0], force[1] = fx, fy
        way = _ZERO
        for m in range(c):
            f = scale * force[m] + strength * push[i, m]
            if extra.shape[0] > 0:
                f += extra[i, m]
            grown = gain[i, m] + _RAISE if f * velocity[i, m] > _ZERO else gain[i, m] * _LOWER
            gain[i, m] = max(grown, _LEAST)
            velocity[i, m] = momentum * velocity[i, m] + length * gain[i, m] * f
            way += velocity[i, m] * velocity[i, m]
        if way > _LONGEST * _LONGEST:
            shorter = _LONGEST / np.sqrt(way)
            for m in range(c):
                velocity[i, m] *= shorter
        for m in range(c):
            out[i, m] = min(max(here[m] + velocity[i, m], -box), box)


@kernel()
def edge_cost(graph, Y, cost, start, stop):
    """Sum w_ij log w_ij and w_ij log(1 + s_ij) over the edges of each of the rows `start` to `stop` − 1."""
    c = Y.shape[1]
    for i in range(start, stop):
        own, total = 0.0, 0.0
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            s = 0.0
            for m in range(c):
                gap = np.float64(Y[j, m]) - np.float64(Y[i, m])
                s += gap * gap
            weight = np.float64(graph.weights[e])
            own += weight * np.log(weight)
            total += weight * np.log1p(s)
        cost[0, i] = own
        cost[1, i] = total
