"""Naive twins of the walks down a tree: every way from the root, every permuted column as an explicit copy."""

from __future__ import annotations

import itertools
import math

import numpy as np

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _bits(key, stream, counter):
    z = _mix((int(key) + _GOLDEN) & _MASK)
    z = _mix(z ^ ((int(stream) + _GOLDEN) & _MASK))
    return _mix(z ^ ((int(counter) + _GOLDEN) & _MASK))


def _way(tests, limits, missing_left, root, x):
    """Return the nodes that a row (feature → value) visits from a root on."""
    way = [int(root)]
    while tests[way[-1], 0] >= 0:
        node = way[-1]
        value = float(x[tests[node, 0]])
        left = missing_left[node] if math.isnan(value) else value <= limits[node, 1]
        way.append(int(tests[node, 2 if left else 3]))
    return way


def leaf_ranks(tests, roots, low, high):
    def visit(node, rank):
        low[node] = rank
        if tests[node, 0] < 0:
            rank += 1
        else:
            rank = visit(tests[node, 3], visit(tests[node, 2], rank))
        high[node] = rank
        return rank

    rank = 0
    for root in roots[:-1]:
        rank = visit(root, rank)
    return rank


def row_hashes(X, words, out):
    for i, row in enumerate(X):
        h = 0
        for j, x in enumerate(row):
            word = 0x7FC00000 if math.isnan(x) else 0 if x == 0 else int(np.float32(x).view(np.uint32))
            h = _bits(h, word, j)
        out[i] = h


def find_leaves(tests, limits, missing_left, roots, X, hashes, key, depth, leaf, lengths):
    for i, row in enumerate(X):
        for t, node in enumerate(roots[:-1]):
            while tests[node, 0] >= 0:
                x = row[tests[node, 0]]
                if math.isnan(x):
                    right = bool(_bits(key, hashes[i], node) >> 63) if len(hashes) else not missing_left[node]
                else:
                    right = x > limits[node, 1]
                node = tests[node, 3 if right else 2]
            leaf[t, i] = node
            lengths[i] += depth[node]


def _loss(predicted, wanted, classes):
    return np.sum(predicted != wanted) if classes else np.sum((predicted - wanted) ** 2)


def permuted_losses(tests, limits, missing_left, root, X, rows, column, shift, leaf_value, y, classes, out):
    walk = tests, limits, missing_left, root
    as_they_are = X[rows][:, column]
    for f in range(len(out)):
        permuted = as_they_are.copy()
        permuted[:, f] = np.roll(as_they_are[:, f], -shift[f])
        for i in range(len(rows)):
            before, after = (leaf_value[_way(*walk, Z[i])[-1] - root] for Z in (as_they_are, permuted))
            out[f] += _loss(after, y[i], classes) - _loss(before, y[i], classes)


def node_ranges(tests, limits, missing_left, roots, X, counts, first, last, low, high):
    for t in range(first, last):
        for x in X[counts[t] > 0]:
            way = _way(tests, limits, missing_left, roots[t], x)
            for node, child in itertools.pairwise(way):
                low[child] = np.fmin(low[child], x[tests[node, 0]])
                high[child] = np.fmax(high[child], x[tests[node, 0]])


def _excess(tests, limits, missing_left, root, low, high, span, x):
    found = [0.0]
    way = _way(tests, limits, missing_left, root, x)
    for node, child in itertools.pairwise(way):
        f = tests[node, 0]
        value = float(x[f])
        if math.isnan(value) or low[child] <= value <= high[child]:
            continue
        children = tests[node, 2:]
        width = float(high[children].max()) - float(low[children].min())
        width = width if width > 0 else float(span[f])
        outside = max(float(low[child]) - value, value - float(high[child]))
        found.append(min(1.0, outside / width) if width > 0 else 1.0)
    return max(found)


def path_excess(tests, limits, missing_left, roots, low, high, span, X, counts, out, n_asked):
    for i, x in enumerate(X):
        asked = [t for t in range(len(roots) - 1) if counts.shape[1] == 0 or counts[t, i] == 0]
        for t in asked:
            out[i] += _excess(tests, limits, missing_left, roots[t], low, high, span, x)
        n_asked[i] += len(asked)


def sort_rows(tests, limits, missing_left, root, rank, X, drawn, span, leaf, low, high, excess):
    roots = np.array([root])
    node_ranges(tests, limits, missing_left, roots, X, np.asarray(drawn)[None], 0, 1, low, high)
    for i, x in enumerate(X):
        leaf[i] = rank[_way(tests, limits, missing_left, root, x)[-1]]
        others = _excess(tests, limits, missing_left, root, low, high, span, x)
        excess[i] = 0.0 if drawn[i] > 0 else others
