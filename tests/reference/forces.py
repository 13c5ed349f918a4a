"""Naive twins of the kernels of the force layout: plain loops and NumPy in double precision."""

from __future__ import annotations

import numpy as np


def all_pairs(Y):
    """Potential without the point itself, and repulsion, of every point."""
    gaps = Y[:, None] - Y[None]
    q = 1.0 / (1.0 + (gaps**2).sum(axis=-1))
    np.fill_diagonal(q, 0.0)
    return q.sum(axis=1), (q[..., None] ** 2 * gaps).sum(axis=1)


def spline(x):
    """Cubic B-spline with nodes at the integers, by its definition."""
    x = abs(x)
    if x < 1.0:
        return 2.0 / 3.0 - x**2 + x**3 / 2.0
    return (2.0 - x) ** 3 / 6.0 if x < 2.0 else 0.0


def spline_slope(x):
    """Its derivative, by central differences of the definition."""
    return (spline(x + 1e-6) - spline(x - 1e-6)) / 2e-6


def cell(place, corner, inverse, n_nodes):
    """Node before a coordinate, among those with a node before and two behind, and the share beyond it."""
    at = (place - corner) * inverse
    node = int(np.clip(np.floor(at), 1, n_nodes - 3))
    return node, float(np.clip(at - node, 0.0, 1.0))


def spread_plane(Y, corner, spacing, shape):
    """Charges in two dimensions."""
    return _spread(Y, corner, spacing, shape)


def spread_space(Y, corner, spacing, shape):
    """Charges in three dimensions."""
    return _spread(Y, corner, spacing, shape)


def read_plane(Y, corner, spacing, nodes):
    """Potential and repulsion in two dimensions."""
    return read(Y, corner, spacing, nodes)


def read_space(Y, corner, spacing, nodes):
    """Potential and repulsion in three dimensions."""
    return read(Y, corner, spacing, nodes)


def _spread(Y, corner, spacing, shape):
    """Sum the charges of all points at every node."""
    charges = np.zeros(shape)
    for node in np.ndindex(*shape):
        for y in Y:
            weight = 1.0
            for m, index in enumerate(node):
                weight *= spline((y[m] - corner[m]) / spacing - index)
            charges[node] += weight
    return charges


def read(Y, corner, spacing, nodes):
    """Potential and repulsion of every place, from the nodes."""
    potential, push = np.zeros(len(Y)), np.zeros(Y.shape)
    for i, y in enumerate(Y):
        for node in np.ndindex(*nodes.shape):
            at = [(y[m] - corner[m]) / spacing - index for m, index in enumerate(node)]
            if max(map(abs, at)) >= 2.0:
                continue
            values = [spline(x) for x in at]
            potential[i] += np.prod(values) * nodes[node]
            for m in range(len(at)):
                others = np.prod([value for k, value in enumerate(values) if k != m])
                push[i, m] -= 0.5 * spline_slope(at[m]) / spacing * others * nodes[node]
    return potential, push


def attraction(W, Y):
    """Σ_j w_ij q_ij (y_j − y_i) of a dense matrix of weights."""
    gaps = Y[None] - Y[:, None]
    q = 1.0 / (1.0 + (gaps**2).sum(axis=-1))
    return ((W * q)[..., None] * gaps).sum(axis=1)


def move_points(W, push, extra, step, Y, velocity, gain):
    """One iteration with momentum and gains; returns the new positions, velocities and gains."""
    scale, strength, momentum, length, box = step
    force = scale * attraction(W, Y) + strength * push + extra
    gain = np.maximum(np.where(force * velocity > 0, gain + 0.2, gain * 0.8), 0.01)
    velocity = momentum * velocity + length * gain * force
    way = np.linalg.norm(velocity, axis=1, keepdims=True)
    velocity = velocity * np.minimum(1.0, 5.0 / np.maximum(way, 1e-300))
    return np.clip(Y + velocity, -box, box), velocity, gain


def divergence(W, Y):
    """Kullback-Leibler divergence of the map's affinities from those of a dense matrix."""
    P = W / W.sum()
    gaps = Y[:, None] - Y[None]
    Q = 1.0 / (1.0 + (gaps**2).sum(axis=-1))
    np.fill_diagonal(Q, 0.0)
    Q = Q / Q.sum()
    held = P > 0
    return float(np.sum(P[held] * np.log(P[held] / Q[held])))


def edge_cost(W, Y):
    """Σ_j w_ij log w_ij and Σ_j w_ij log(1 + s_ij)."""
    s = ((Y[:, None] - Y[None]) ** 2).sum(axis=-1)
    return np.stack([(W * np.log(np.where(W > 0, W, 1.0))).sum(axis=1), (W * np.log1p(s)).sum(axis=1)])
