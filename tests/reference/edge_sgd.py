"""Naive twins of ``manifolia.kernels.edge_sgd``: force by force, in double precision, with their own random words."""

from __future__ import annotations

import math
import struct

import numpy as np

MASK = (1 << 64) - 1


def words(key, stream, counter):
    """SplitMix64's finaliser, once per word, in Python's integers."""

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    z = mix((int(key) + golden) & MASK)
    z = mix(z ^ ((int(stream) + golden) & MASK))
    return mix(z ^ ((int(counter) + golden) & MASK))


def look_up(line, s):
    """Entries lie at the float32 whose lower 16 bits are 0; between two of them the value is on their chord."""
    word = struct.unpack("<I", struct.pack("<f", s))[0]
    entry = (word // 65536) - (127 - 40) * 128
    if entry < 0:
        return float(line[0])
    if entry >= 64 * 128:
        return float(line[64 * 128])
    share = (word % 65536) / 65536
    return (1 - share) * float(line[entry]) + share * float(line[entry + 1])


def clipped(x):
    return min(max(x, -4.0), 4.0)


def stepped(place, force, moments, m, rate):
    moments[0, m] = 0.5 * moments[0, m] + 0.5 * force
    moments[1, m] = 0.9 * moments[1, m] + 0.1 * force**2
    return place + rate[0] * moments[0, m] / (math.sqrt(moments[1, m] * rate[1]) + 1e-7)


def advanced(state):
    """Knuth's congruential generator, in Python's integers."""
    return (int(state) * 6364136223846793005 + 1442695040888963407) & MASK


def drawn(state, n):
    return ((int(state) >> 32) * n) >> 32


def negatives(key, row, epoch, wanted, n):
    """The points that repel a row in an epoch."""
    state = words(key, row, epoch)
    count = int(wanted) + ((state >> 32) / 2**32 < wanted - int(wanted))
    chosen = []
    for _ in range(count):
        state = advanced(state)
        chosen.append(drawn(state, n))
    return chosen


def edge_epoch(graph, table, extra, key, epoch, rate, Y, moments, out, start, stop):
    n, c = Y.shape
    place = Y.astype(float)
    for i in range(start, stop):
        force = np.zeros(c)
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            gap = place[graph.indices[e]] - place[i]
            pull = look_up(table[0], float(gap @ gap))
            force += 2 * float(graph.weights[e]) * np.array([clipped(pull * g) for g in gap])
        for j in negatives(key, i, epoch, float(graph.draws[i]), n):
            gap = place[j] - place[i]
            push = look_up(table[1], float(gap @ gap))
            force -= np.array([clipped(push * g) for g in gap])
        if len(extra):
            force += extra[i]
        for m in range(c):
            out[i, m] = stepped(place[i, m], force[m], moments[i], m, rate)
