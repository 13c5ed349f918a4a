"""Naive twin of ``manifolia.kernels.anchored``: row by row, force by force, in double precision."""

from __future__ import annotations

import struct

import numpy as np

from reference.edge_sgd import advanced, clipped, drawn, look_up, stepped, words
from reference.forces import read


def anchored_rows(Y, indices, weights, table, rates, draws, key, out, start, stop):
    n, c = Y.shape
    for i in range(start, stop):
        w = weights[i].astype(float)
        own = int(key)
        for j, weight in zip(indices[i], weights[i], strict=True):
            own = words(own, int(j), struct.unpack("<i", struct.pack("<f", weight))[0] % 2**64)
        share = w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w))
        here = share @ Y[indices[i]].astype(float)
        moments = np.zeros((2, c))
        for epoch, rate in enumerate(rates):
            force = np.zeros(c)
            for j, weight in zip(indices[i], w, strict=True):
                gap = Y[j].astype(float) - here
                pull = look_up(table[0], float(gap @ gap))
                force += 2 * weight * np.array([clipped(pull * g) for g in gap])
            state = words(own, epoch, 0)
            for _ in range(int(draws * w.sum() + 0.5)):
                state = advanced(state)
                j = drawn(state, n)
                gap = Y[j].astype(float) - here
                push = look_up(table[1], float(gap @ gap))
                force -= np.array([clipped(push * g) for g in gap])
            here = np.array([stepped(here[m], force[m], moments, m, rate) for m in range(c)])
        out[i] = here


def field_rows(Y, indices, weights, nodes, corner, spacing, strength, rates):
    """Places of rows by the forces of a map, read from its potential on a grid."""
    out = np.zeros((len(indices), Y.shape[1]))
    for i, (near, w) in enumerate(zip(indices, weights.astype(float), strict=True)):
        share = w / w.sum() if w.sum() > 0 else np.full(len(w), 1 / len(w))
        here = share @ Y[near].astype(float)
        moments = np.zeros((2, Y.shape[1]))
        for rate in rates:
            gaps = Y[near].astype(float) - here
            pull = (share / (1.0 + (gaps**2).sum(axis=1))) @ gaps
            push = read(here[None], corner, spacing, nodes)[1][0]
            force = pull + strength * push
            here = np.array([stepped(here[m], force[m], moments, m, rate) for m in range(len(here))])
        out[i] = here
    return out
