"""The kernel map in plain NumPy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq


def framed_rows(X, shift, scale, limit, out, start, stop):
    for i in range(start, stop):
        row = (X[i].astype(float) - shift) * scale
        length = np.linalg.norm(row)
        out[i] = row * (limit / length) if length > limit else row


def _distances(z, formula):
    C = formula.C.T.astype(float)
    z = z.astype(float)
    if formula.kind == 0:
        return np.linalg.norm(z - C, axis=1)
    if formula.kind == 1:
        return np.abs(z - C).sum(axis=1)
    if formula.kind == 2:
        return np.sum((z - C) ** 2, axis=1) / 2
    return z


def _weights(z, formula, own):
    exponent = -formula.precision * _distances(z, formula) ** 2
    if own >= 0:
        exponent[own] = -np.inf
    w = np.exp(exponent - exponent.max())
    return w / w.sum()


def mapped_rows(Z, formula, own, out, start, stop):
    for i in range(start, stop):
        out[i] = _weights(Z[i], formula, own[i]) @ formula.values


def weight_rows(Z, formula, own, K, start, stop):
    for i in range(start, stop):
        K[i] = _weights(Z[i], formula, own[i])


def jacobian_rows(Z, formula, own, J, start, stop):
    for i in range(start, stop):
        w = _weights(Z[i], formula, own[i])
        y = w @ formula.values
        # Quotient rule: ∂w_j = w_j (g_j − Σ_l w_l g_l) with g_j the gradient of the exponent.
        g = 2 * formula.precision[:, None] * (formula.C.T - Z[i])
        J[i] = ((formula.values - y) * w[:, None]).T @ (g - w @ g)


def _perplexed(D, perplexity):
    step = D**2 - D.min() ** 2
    if step.max() == 0 or perplexity >= len(D):
        return np.full(len(D), 1 / len(D))
    step = step / step.max()

    def excess(log_beta):
        p = np.exp(-np.exp(log_beta) * step)
        p /= p.sum()
        return -np.sum(p * np.log(np.maximum(p, 1e-300))) - np.log(perplexity)

    if excess(-40.0) <= 0 or excess(40.0) >= 0:
        p = np.exp(-np.exp(-40.0 if excess(-40.0) <= 0 else 40.0) * step)
    else:
        p = np.exp(-np.exp(brentq(excess, -40.0, 40.0)) * step)
    return p / p.sum()


def perplexity_rows(distances, perplexity, P, start, stop):
    for i in range(start, stop):
        P[i] = _perplexed(distances[i], perplexity)


def mode_rows(indices, distances, Y, perplexity, square, out, start, stop):
    for i in range(start, stop):
        near = Y[indices[i]]
        if distances[i, 0] == 0:
            out[i] = near[0]
            continue
        p = _perplexed(distances[i], perplexity)
        apart = np.sum((near[:, None] - near[None]) ** 2, axis=2)
        y = near[np.argmax((p / (1 + apart / square)).sum(axis=1))]
        for _ in range(10):
            v = p / (1 + np.sum((near - y) ** 2, axis=1) / square) ** 2
            y = v @ near / v.sum()
        out[i] = y
