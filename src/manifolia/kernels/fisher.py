"""Lengths of straight paths in the Fisher metric, from exponents alone.

Along the path x(a) = (1 − a) x_i + a x_j the exponent of reference point m, ‖x(a) − r_m‖²/2σ², is
(1 − a) U_im + a U_jm up to a term that is the same for all m. So the class probabilities on the path,

    p_c(a) ∝ Σ_{m in c} exp(−(1 − a) U_im) · exp(−a U_jm),

are products of two matrices, and their speed needs the slopes B_m = U_jm − U_im only:

    ẋᵀ J(x(a)) ẋ = Σ_c p_c (ṗ_c / p_c)² = Σ_c p_c (E_c[B] − E[B])²                          (section 4)

with E_c and E the means of B over the weights of class c and over all weights. Neither J nor a feature appears.

Two ways to sum the length of a path. *Tangents*: the speed at one point of each of its T pieces, times 1/T. *Arcs*:
that sum of squares is also the squared speed of 2√p on the sphere of radius 2, so that the length of a path is the
length of its image there, and a polygon of great arcs between the images of T + 1 points comes close to it from below:

    d = Σ_t 4 arcsin(½ ‖√p(a_t) − √p(a_{t−1})‖)

=========  =====================================================================  ==========
symbol     meaning                                                                shape
=========  =====================================================================  ==========
U          exponents ‖x_i − r_m‖²/2σ² less their least in the row                 (n, R)
offsets    columns of class c are offsets[c] to offsets[c + 1] − 1                (C + 1,)
shares     the points a_t of a path where it is looked at                         (T,)
rule       ARCS, ROOTS or SQUARES: what is added up                               scalar
p          weights of the classes for a tile of pairs, on any scale, per pair     (C, h, w)
s          weighted sums of the slopes, Σ_{m in c} w_m B_m, on the same scale     (C, h, w)
roots      √p at the point before, and after the call at this one                 (C, h, w)
out        lengths, added to                                                      (h, w), (N,)
=========  =====================================================================  ==========
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

#: What `path_lengths` adds up: great arcs between points, speeds at points, or squares of speeds.
ARCS, ROOTS, SQUARES = 0, 1, 2

#: Sums of weights below this may have lost terms to underflow; such pairs become NaN and the caller repeats them.
_LEAST = 1e-200
#: Nats below the nearest reference point from which a term is left out. A length sees the root of a weight: exp(−30).
_NEGLIGIBLE = 60.0
_LANES = 16


@kernel(fast=True)
def add_arcs(p, roots, first, out):
    """Add the arcs from the point before to this one; at the first point of a path there is none."""
    n_classes, h, w = p.shape
    total = np.empty(w)
    chord = np.empty(w)
    for a in range(h):
        for b in range(w):
            total[b] = 0.0
            chord[b] = 0.0
        for c in range(n_classes):
            for b in range(w):
                total[b] += p[c, a, b]
        for b in range(w):
            total[b] = 1.0 / total[b] if total[b] > _LEAST else np.nan
        for c in range(n_classes):
            for b in range(w):
                root = np.sqrt(p[c, a, b] * total[b])
                step = root - roots[c, a, b]
                chord[b] += step * step
                roots[c, a, b] = root
        if not first:
            for b in range(w):
                half = 0.5 * np.sqrt(chord[b])
                # Rounding may take the half chord of a whole quarter circle above sin 45°, never above 1.
                out[a, b] += 4.0 * np.arcsin(half)


@kernel(fast=True)
def add_tangents(p, s, rule, out):
    """Add the speeds at this point, or their squares."""
    n_classes, h, w = p.shape
    total = np.empty(w)
    mean = np.empty(w)
    square = np.empty(w)
    for a in range(h):
        for b in range(w):
            total[b] = 0.0
            mean[b] = 0.0
            square[b] = 0.0
        for c in range(n_classes):
            for b in range(w):
                total[b] += p[c, a, b]
                mean[b] += s[c, a, b]
        for b in range(w):
            total[b] = 1.0 / total[b] if total[b] > _LEAST else np.nan
            mean[b] *= total[b]
        for c in range(n_classes):
            for b in range(w):
                mass = p[c, a, b] * total[b]
                off = s[c, a, b] * total[b] - mass * mean[b]
                square[b] += off * off / mass if mass > 0.0 else 0.0 * total[b]
        for b in range(w):
            out[a, b] += np.sqrt(square[b]) if rule == ROOTS else square[b]


@kernel(fast=True)
def _least_exponent(A, B, share, exponents):
    """Fill the exponents at one point of a path and return the least."""
    lanes = np.full(_LANES, np.inf)
    n = A.shape[0]
    rest = 1.0 - share
    for m in range(n):
        exponents[m] = rest * A[m] + share * B[m]
    # Several minima at a time: a single one is a chain that the processor has to wait for.
    whole = n - n % _LANES
    for m in range(0, whole, _LANES):
        for k in range(_LANES):
            lanes[k] = exponents[m + k] if exponents[m + k] < lanes[k] else lanes[k]
    for m in range(whole, n):
        lanes[0] = min(lanes[0], exponents[m])
    return lanes.min()


@kernel()
def _weigh(A, B, share, offsets, exponents, p, s):
    """Fill the probabilities of the classes and the means of their slopes, minus the mean of all, at one point."""
    least = _least_exponent(A, B, share, exponents)
    total = 0.0
    slope = 0.0
    for c in range(p.shape[0]):
        p[c] = 0.0
        s[c] = 0.0
        for m in range(offsets[c], offsets[c + 1]):
            drop = exponents[m] - least
            if drop < _NEGLIGIBLE:
                weight = np.exp(-drop)
                p[c] += weight
                s[c] += weight * (B[m] - A[m])
        total += p[c]
        slope += s[c]
    for c in range(p.shape[0]):
        s[c] = s[c] / p[c] - slope / total if p[c] > 0.0 else 0.0
        p[c] /= total


@kernel()
def path_lengths(U, offsets, shares, rule, rows, columns, out, start, stop):
    """Measure the paths from ``rows[q]`` to ``columns[q]``, q from `start` to `stop` − 1, whatever their exponents."""
    n_classes = offsets.shape[0] - 1
    p = np.empty(n_classes)
    s = np.empty(n_classes)
    roots = np.empty(n_classes)
    exponents = np.empty(U.shape[1])
    for q in range(start, stop):
        out[q] = 0.0
        for t in range(shares.shape[0]):
            _weigh(U[rows[q]], U[columns[q]], shares[t], offsets, exponents, p, s)
            square = 0.0
            for c in range(n_classes):
                if rule == ARCS:
                    step = np.sqrt(p[c]) - roots[c]
                    square += step * step
                    roots[c] = np.sqrt(p[c])
                else:
                    square += p[c] * s[c] * s[c]
            if rule == SQUARES:
                out[q] += square
            elif rule == ROOTS:
                out[q] += np.sqrt(square)
            elif t > 0:
                out[q] += 4.0 * np.arcsin(0.5 * np.sqrt(square))
