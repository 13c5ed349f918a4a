"""The kernel map, row by row: distances to the centres, their weights, the weighted mean, its derivative, its mode.

    y(x) = Σ_j w_j α_j,    w_j = k_j / Σ_l k_l,    k_j = exp(−½ d_j²/σ_j²)                      (section 3)
    ∂y/∂x = Σ_j w_j (α_j − y)(x_j − x)ᵀ/σ_j²                                        (Euclidean distances)
    mode:  y ← Σ_j v_j y_j / Σ_j v_j,    v_j = p_j / (1 + ‖y − y_j‖²/s²)²

The smallest of the exponents ½ d_j²/σ_j² is subtracted before exp is taken, so that a row far from all centres still
has weights. Distances come from differences, centre by centre in a fixed order, so that a row's bits depend only on
that row and on the centres. The means are computed in double precision.

==========  ==============================================================================  ==========
symbol      meaning                                                                         shape
==========  ==============================================================================  ==========
X           rows as they came                                                               (n, d)
Z           rows in the frame of the centres; with kind 3 their distances to the centres    (n, d), (n, m)
C           centres, a column each; with kind 3 only its width counts                       (d, m)
precision   1 / 2σ_j²                                                                       (m,)
values      α_j                                                                             (m, c)
kind        what d_j is: 0 Euclidean, 1 Manhattan, 2 half the squared Euclidean, 3 given    scalar
own         number of the centre that a row is, which is left out; −1: none                 (n,)
K           weights w_j                                                                     (n, m)
J           derivatives                                                                     (n, c, d)
indices     nearest points of the map                                                       (n, k)
distances   how far they are, in the data, nearest first                                    (n, k)
Y           the finished map                                                                (N, c)
p, P        weights of neighbours with a given perplexity                                   (k,), (n, k)
s²          squared width of the mode's kernel, in the map                                  scalar
==========  ==============================================================================  ==========
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia.kernels._jit import kernel

#: A thousand terms of exp(−45), in single precision of exp(−25), are below the last bit of their sum with 1.
_NEGLIGIBLE, _NEGLIGIBLE_SINGLE = 45.0, 25.0
_MOST_BISECTIONS = 64
_TOLERANCE = 1e-6  # of the entropy in nats
_STEPS = 10  # of the mean shift; later ones move a point by less than a thousandth of s


class Formula(NamedTuple):
    """What a kernel map consists of; see the table above."""

    C: np.ndarray  # (d, m): centres, a column each
    precision: np.ndarray  # (m,): 1 / 2σ_j²
    values: np.ndarray  # (m, c): coefficients α_j
    kind: int  # Number of the distance


@kernel()
def framed_rows(X, shift, scale, limit, out, start, stop):
    """Shift and scale rows; pull those farther than `limit` from the origin back to it, along their direction."""
    d = X.shape[1]
    row = np.empty(d)
    for i in range(start, stop):
        largest = 0.0
        for f in range(d):
            row[f] = (X[i, f] - shift[f]) * scale
            largest = max(largest, abs(row[f]))
        if largest > 0.0:
            # The square of the largest may overflow, its share of the length does not.
            total = 0.0
            for f in range(d):
                share = row[f] / largest
                total += share * share
            root = np.sqrt(total)
            if largest > limit / root:
                for f in range(d):
                    row[f] = row[f] / largest * (limit / root)
        for f in range(d):
            out[i, f] = row[f]


@kernel()
def _squares(z, C, kind, gaps):
    """Fill `gaps` with the squared distances of one row to all centres."""
    d, m = C.shape
    if kind == 3:
        for j in range(m):
            gaps[j] = z[j] * z[j]
        return
    for j in range(m):
        gaps[j] = 0.0
    if kind == 1:
        for f in range(d):
            here = z[f]
            for j in range(m):
                gaps[j] += abs(here - C[f, j])
        for j in range(m):
            gaps[j] *= gaps[j]
        return
    # Four features at a time: the sums go to memory and back a quarter as often.
    whole = d - d % 4
    for f in range(0, whole, 4):
        z0, z1, z2, z3 = z[f], z[f + 1], z[f + 2], z[f + 3]
        c0, c1, c2, c3 = C[f], C[f + 1], C[f + 2], C[f + 3]
        for j in range(m):
            g0 = z0 - c0[j]
            g1 = z1 - c1[j]
            g2 = z2 - c2[j]
            g3 = z3 - c3[j]
            gaps[j] += (g0 * g0 + g1 * g1) + (g2 * g2 + g3 * g3)
    for f in range(whole, d):
        here = z[f]
        for j in range(m):
            gap = here - C[f, j]
            gaps[j] += gap * gap
    if kind == 2:
        for j in range(m):
            half = gaps[j] / 2
            gaps[j] = half * half


@kernel()
def _weigh(z, formula, own, gaps, heavy, weights):
    """Find the centres with a weight that matters; return their number; their weights sum to 1."""
    _squares(z, formula.C, formula.kind, gaps)
    m = gaps.shape[0]
    precision = formula.precision
    best = np.inf
    for j in range(m):
        gaps[j] *= precision[j]
        if j != own and gaps[j] < best:
            best = gaps[j]
    count = 0
    total = 0.0
    limit = _NEGLIGIBLE if gaps.itemsize == 8 else _NEGLIGIBLE_SINGLE
    for j in range(m):
        drop = np.float64(gaps[j]) - best
        if drop < limit and j != own:
            heavy[count] = j
            weights[count] = np.exp(-drop)
            total += weights[count]
            count += 1
    for q in range(count):
        weights[q] /= total
    return count


@kernel()
def mapped_rows(Z, formula, own, out, start, stop):
    """Map the rows `start` to `stop` − 1."""
    m, c = formula.values.shape
    gaps = np.empty(m, dtype=formula.C.dtype)
    heavy = np.empty(m, dtype=np.int64)
    weights = np.empty(m)
    for i in range(start, stop):
        count = _weigh(Z[i], formula, own[i], gaps, heavy, weights)
        for a in range(c):
            total = 0.0
            for q in range(count):
                total += weights[q] * formula.values[heavy[q], a]
            out[i, a] = total


@kernel()
def weight_rows(Z, formula, own, K, start, stop):
    """Fill the rows `start` to `stop` − 1 of the normalised Gram matrix, which holds zeros before."""
    m = formula.values.shape[0]
    gaps = np.empty(m, dtype=formula.C.dtype)
    heavy = np.empty(m, dtype=np.int64)
    weights = np.empty(m)
    for i in range(start, stop):
        count = _weigh(Z[i], formula, own[i], gaps, heavy, weights)
        for q in range(count):
            K[i, heavy[q]] = weights[q]


@kernel()
def jacobian_rows(Z, formula, own, J, start, stop):
    """Fill the derivatives of the rows `start` to `stop` − 1, with respect to Z."""
    m, c = formula.values.shape
    d = formula.C.shape[0]
    gaps = np.empty(m, dtype=formula.C.dtype)
    heavy = np.empty(m, dtype=np.int64)
    weights = np.empty(m)
    here = np.empty(c)
    for i in range(start, stop):
        count = _weigh(Z[i], formula, own[i], gaps, heavy, weights)
        for a in range(c):
            here[a] = 0.0
            for q in range(count):
                here[a] += weights[q] * formula.values[heavy[q], a]
            for f in range(d):
                J[i, a, f] = 0.0
        for q in range(count):
            j = heavy[q]
            inverse = 2.0 * formula.precision[j]
            for a in range(c):
                pull = weights[q] * (formula.values[j, a] - here[a]) * inverse
                for f in range(d):
                    J[i, a, f] += pull * (formula.C[f, j] - Z[i, f])


@kernel()
def _perplex(distances, perplexity, weights):
    """Fill weights exp(−β d²), summing to 1, with an entropy of log(perplexity), as in t-SNE."""
    k = distances.shape[0]
    unit = 0.0  # squares are measured against the widest step, so that β is near 1 whatever the units of the data
    for q in range(k):
        unit = max(unit, (distances[q] - distances[0]) * (distances[q] + distances[0]))
    if not unit > 0.0 or perplexity >= k:  # all are equally far away, or count alike
        for q in range(k):
            weights[q] = 1.0 / k
        return
    target = np.log(perplexity)
    low, high, beta = 0.0, np.inf, 1.0
    for _ in range(_MOST_BISECTIONS):
        total = 0.0
        moment = 0.0
        for q in range(k):
            step = (distances[q] - distances[0]) * (distances[q] + distances[0]) / unit
            weights[q] = np.exp(-beta * step)
            total += weights[q]
            moment += weights[q] * step
        entropy = np.log(total) + beta * moment / total
        if abs(entropy - target) < _TOLERANCE:
            break
        if entropy > target:
            low = beta
            beta = 2.0 * beta if high == np.inf else 0.5 * (low + high)
        else:
            high = beta
            beta = 0.5 * (low + high)
    for q in range(k):
        weights[q] /= total


@kernel()
def perplexity_rows(distances, perplexity, P, start, stop):
    """Fill the weights of the neighbours of the rows `start` to `stop` − 1, each row summing to 1."""
    for i in range(start, stop):
        _perplex(distances[i], perplexity, P[i])


@kernel()
def mode_rows(indices, distances, Y, perplexity, square, out, start, stop):
    """Place the rows `start` to `stop` − 1 at the mode of their neighbours; a row at distance 0 of one, on it."""
    k = indices.shape[1]
    c = Y.shape[1]
    weights = np.empty(k)
    here = np.empty(c)
    total = np.empty(c)
    for i in range(start, stop):
        if distances[i, 0] == 0.0:
            for a in range(c):
                out[i, a] = Y[indices[i, 0], a]
            continue
        _perplex(distances[i], perplexity, weights)
        best = -1.0
        first = indices[i, 0]
        for q in range(k):
            dense = 0.0
            for r in range(k):
                s = 0.0
                for a in range(c):
                    gap = Y[indices[i, q], a] - Y[indices[i, r], a]
                    s += gap * gap
                dense += weights[r] / (1.0 + s / square)
            if dense > best:
                best = dense
                first = indices[i, q]
        for a in range(c):
            here[a] = Y[first, a]
        for _ in range(_STEPS):
            mass = 0.0
            for a in range(c):
                total[a] = 0.0
            for q in range(k):
                j = indices[i, q]
                s = 0.0
                for a in range(c):
                    gap = Y[j, a] - here[a]
                    s += gap * gap
                root = 1.0 + s / square
                v = weights[q] / (root * root)
                mass += v
                for a in range(c):
                    total[a] += v * Y[j, a]
            for a in range(c):
                here[a] = total[a] / mass
        for a in range(c):
            out[i, a] = here[a]
