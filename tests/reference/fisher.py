"""The Fisher metric in plain NumPy: with matrices J(x) formed, and the kernels' sums pair by pair."""

from __future__ import annotations

import itertools

import numpy as np

ARCS, ROOTS, SQUARES = 0, 1, 2


def weights(x, reference, sigma):
    exponent = -0.5 * np.sum((x - reference) ** 2, axis=1) / sigma**2
    w = np.exp(exponent - exponent.max())
    return w / w.sum()


def probabilities(x, reference, labels, sigma):
    """Parzen's p(c|x), a value per class."""
    w = weights(x, reference, sigma)
    return np.array([w[labels == c].sum() for c in np.unique(labels)])


def fisher_matrix(x, reference, labels, sigma):
    """J(x) = E_{p(c|x)} b bᵀ / σ⁴ with b(x, c) = E_{ξ(i|x,c)} x_i − E_{ξ(i|x)} x_i (section 4)."""
    w = weights(x, reference, sigma)
    J = np.zeros((len(x), len(x)))
    for c in np.unique(labels):
        mine = labels == c
        if w[mine].sum() > 0:
            b = w[mine] @ reference[mine] / w[mine].sum() - w @ reference
            J += w[mine].sum() * np.outer(b, b)
    return J / sigma**4


def tangent_distance(x, z, reference, labels, sigma, steps, rule):
    """T-point distance with J at the left ends or the middles of the pieces; "paper" adds squares at left ends."""
    total = 0.0
    for t in range(steps):
        at = (t + 0.5) / steps if rule == "midpoint" else t / steps
        square = (z - x) @ fisher_matrix(x + at * (z - x), reference, labels, sigma) @ (z - x) / steps**2
        total += square if rule == "paper" else np.sqrt(square)
    return total


def angle(a, b):
    """Angle between unit vectors (Kahan), with all digits for small ones."""
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=0), np.linalg.norm(a + b, axis=0))


def arc_distance(x, z, reference, labels, sigma, steps):
    """Great arcs between the images 2√p of steps + 1 points of the path."""
    points = [np.sqrt(probabilities(x + t / steps * (z - x), reference, labels, sigma)) for t in range(steps + 1)]
    return sum(2 * angle(a, b) for a, b in itertools.pairwise(points))


def add_arcs(p, roots, first, out):
    new = np.sqrt(p / p.sum(axis=0))
    if not first:
        out += 2 * angle(new, roots)
    roots[:] = new


def add_tangents(p, s, rule, out):
    P = p / p.sum(axis=0)
    S = s / p.sum(axis=0)
    square = np.zeros(out.shape)
    for c in range(len(p)):
        mean = np.divide(S[c], P[c], out=S.sum(axis=0).copy(), where=P[c] > 0)
        square += P[c] * (mean - S.sum(axis=0)) ** 2
    out += square if rule == SQUARES else np.sqrt(square)


def path_lengths(U, offsets, shares, rule, rows, columns, out, start, stop):
    n_classes = len(offsets) - 1
    for q in range(start, stop):
        A, B = U[rows[q]], U[columns[q]]
        length, before = 0.0, None
        for a in shares:
            exponent = (1 - a) * A + a * B
            w = np.exp(exponent.min() - exponent)
            w /= w.sum()
            parts = [slice(offsets[c], offsets[c + 1]) for c in range(n_classes)]
            p = np.array([w[part].sum() for part in parts])
            if rule == ARCS:
                if before is not None:
                    length += 2 * angle(np.sqrt(p), before)
                before = np.sqrt(p)
                continue
            slope = B - A
            square = sum(
                p[c] * (w[part] @ slope[part] / p[c] - w @ slope) ** 2 for c, part in enumerate(parts) if p[c] > 0
            )
            length += square if rule == SQUARES else np.sqrt(square)
        out[q] = length
