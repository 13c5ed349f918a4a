"""One epoch of the graph layout: every point moves by forces taken from the previous positions of all others.

Point i feels, with z_ij = y_j − y_i and s = z'z,

    2 Σ_j p_ij A(s) z_ij − Σ_{j drawn} B(s) z_ij,    A(s) = 2ab s^{b−1} / (1 + a s^b),
                                                    B(s) = 2b / ((ε + s)(1 + a s^b)),

the attraction along the edges of the graph, and the repulsion of points drawn at random (Eq. 33 of the FeatureMAP
paper, where the printed derivative of log(1 − Q) lacks the a). UMAP visits edge (i, j) in p_ij of the epochs and then
moves both ends, once from each side: hence the 2. Here every edge acts in every epoch with that weight. Each part of a
force is clipped at ±4, as UMAP does.

No row reads what another one writes in the same epoch, and random numbers are a function of (key, epoch, row): a row
has the same bits in any block and on any thread.

The functions of s are looked up by the bits of s as a float32: the exponent and the upper 7 bits of the mantissa choose
an entry, the other 16 interpolate linearly. The relative error is below 2e-5; a power costs more than all the rest, and
its bits differ between machines.

==========  ===================================================================  ==============
symbol      meaning                                                              shape
==========  ===================================================================  ==============
graph       indptr, indices, p_ij = P_ij / max P, and draws per row and epoch    named tuple
table       A, B and Q = 1 / (1 + a s^b) at 2^-40 … 2^24                         (3, 8193)
extra       force of the density term, or no rows                                (n, c) or (0, c)
rate        step / (1 − 0.5^t), 1 / (1 − 0.9^t): Adam with its two corrections   (2,)
Y, out      positions before and after                                           (n, c)
moments     Adam's running means of the force and of its square                  (n, 2, c)
==========  ===================================================================  ==============
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.random import bits

#: Upper 16 bits of 2^-40 as a float32: where the table begins.
LOWEST = (127 - 40) << 7
#: 64 binary orders of magnitude in 128 steps each.
N_ENTRIES = 64 << 7
_SHARE = np.float32(2.0**-16)
_CLIP = np.float32(4.0)
_TWO = np.float32(2.0)
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
# Adam's decays and its guard (Kingma and Ba 2015); 0.5 and 0.9 forget fast enough for a step that falls to 0.
_KEEP_MEAN, _KEEP_SQUARE, _GUARD = np.float32(0.5), np.float32(0.9), np.float32(1e-7)
# Knuth's 64-bit congruential generator; its upper half is used, and each row and epoch reseeds it.
_FACTOR, _STEP, _HALF = np.uint64(6364136223846793005), np.uint64(1442695040888963407), np.uint64(32)
_UNIT = np.float32(2.0**-32)


class EdgeGraph(NamedTuple):
    """The graph in the form that the kernels read."""

    indptr: np.ndarray  # (n + 1,): where each row's edges begin
    # (nnz,): their other ends; without a sign, so that no index needs to be checked for counting from the end
    indices: np.ndarray
    weights: np.ndarray  # (nnz,): P_ij / max P
    draws: np.ndarray  # (n,): expected number of negative samples per epoch


@kernel(inline=True)
def look_up(line, s):
    """Value of one line of the table at the squared distance `s`; beyond the ends, the value there."""
    word = np.float32(s).view(np.int32)
    entry = (word >> 16) - LOWEST
    if entry < 0:
        return line[0]
    if entry >= N_ENTRIES:
        return line[N_ENTRIES]
    share = np.float32(word & 0xFFFF) * _SHARE
    return line[entry] + share * (line[entry + 1] - line[entry])


@kernel(inline=True)
def clipped(x):
    """Return x within ±4."""
    return min(max(x, -_CLIP), _CLIP)


@kernel(inline=True)
def stepped(place, force, moments, m, rate):
    """Move one coordinate by Adam's step for its force, and its moments with it."""
    mean = _KEEP_MEAN * moments[0, m] + (_ONE - _KEEP_MEAN) * force
    square = _KEEP_SQUARE * moments[1, m] + (_ONE - _KEEP_SQUARE) * force * force
    moments[0, m] = mean
    moments[1, m] = square
    return place + rate[0] * mean / (np.sqrt(square * rate[1]) + _GUARD)


@kernel(inline=True)
def advanced(state):
    """Next state of the generator."""
    return state * _FACTOR + _STEP


@kernel(inline=True)
def drawn(state, n):
    """Point that a state of the generator stands for: its upper half, scaled to n; the bias is below n / 2^32."""
    return np.int64(((state >> _HALF) * np.uint64(n)) >> _HALF)


@kernel()
def edge_epoch(graph, table, extra, key, epoch, rate, Y, moments, out, start, stop):
    """Move the rows `start` to `stop` − 1 from `Y` to `out`, and their `moments` with them.

    There are at least two columns; a map of one dimension has a second column of zeros, which no force changes. The
    first two are kept in registers, which makes a plane 2.3 times as fast as a loop over the columns.
    """
    n, c = Y.shape
    attract, repel = table[0], table[1]
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
            s = gx * gx + gy * gy
            for m in range(2, c):
                gap[m] = Y[j, m] - here[m]
                s += gap[m] * gap[m]
            pull = look_up(attract, s)
            weight = _TWO * graph.weights[e]
            fx += weight * clipped(pull * gx)
            fy += weight * clipped(pull * gy)
            for m in range(2, c):
                force[m] += weight * clipped(pull * gap[m])
        state = bits(key, i, epoch)
        wanted = graph.draws[i]
        n_draws = np.int64(wanted)
        if np.float32(state >> _HALF) * _UNIT < wanted - np.float32(n_draws):
            n_draws += 1
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
        if extra.shape[0] > 0:
            for m in range(c):
                force[m] += extra[i, m]
        for m in range(c):
            out[i, m] = stepped(here[m], force[m], moments[i], m, rate)
