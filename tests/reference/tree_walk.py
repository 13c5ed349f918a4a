"""Naive twins of the walks down a tree: every way from the root, every permuted column as an explicit copy."""

from __future__ import annotations

import itertools
import math

import numpy as np


def _way(splits, t, x):
    """Return the nodes that a row (feature → value) visits in tree t."""
    base = int(splits.roots[t])
    way = [base]
    while splits.left[way[-1]] >= 0:
        node = way[-1]
        value = float(x[splits.feature[node]])
        left = splits.missing_left[node] if math.isnan(value) else value <= splits.threshold[node]
        way.append(base + int(splits.left[node] if left else splits.right[node]))
    return way


def _loss(predicted, wanted, classes):
    return np.sum(predicted != wanted) if classes else np.sum((predicted - wanted) ** 2)


def permuted_losses(splits, t, X, rows, column, shift, leaf_value, y, classes, out):
    base = int(splits.roots[t])
    as_they_are = X[rows][:, column]
    for f in range(len(out)):
        permuted = as_they_are.copy()
        permuted[:, f] = np.roll(as_they_are[:, f], -shift[f])
        for i in range(len(rows)):
            before, after = (leaf_value[_way(splits, t, Z[i])[-1] - base] for Z in (as_they_are, permuted))
            out[f] += _loss(after, y[i], classes) - _loss(before, y[i], classes)


def node_ranges(splits, X, counts, first, last, low, high):
    for t in range(first, last):
        for x in X[counts[t] > 0]:
            way = _way(splits, t, x)
            for node, child in itertools.pairwise(way):
                low[child] = np.fmin(low[child], x[splits.feature[node]])
                high[child] = np.fmax(high[child], x[splits.feature[node]])


def _excess(splits, t, low, high, span, x):
    found = [0.0]
    way = _way(splits, t, x)
    for node, child in itertools.pairwise(way):
        f = splits.feature[node]
        value = float(x[f])
        if math.isnan(value) or low[child] <= value <= high[child]:
            continue
        children = int(splits.roots[t]) + np.array([splits.left[node], splits.right[node]])
        width = float(high[children].max()) - float(low[children].min())
        width = width if width > 0 else float(span[f])
        outside = max(float(low[child]) - value, value - float(high[child]))
        found.append(min(1.0, outside / width) if width > 0 else 1.0)
    return max(found)


def path_excess(splits, low, high, span, X, counts, out, n_asked):
    for i, x in enumerate(X):
        asked = [t for t in range(len(splits.roots) - 1) if counts.shape[1] == 0 or counts[t, i] == 0]
        for t in asked:
            out[i] += _excess(splits, t, low, high, span, x)
        n_asked[i] += len(asked)
