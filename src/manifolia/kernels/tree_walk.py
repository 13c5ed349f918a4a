"""Walks down the trees of a forest: what a row would lose with another value, and how far outside its way it lies.

A walk repeats scikit-learn's own: single-precision values against double-precision thresholds, missing values by the
node's own rule. Each tree, or each row, is written by one thread, and trees are added in order: the result does not
depend on threads or on blocks. Nodes are unsigned integers: a test for negative indices would cost a sixth of the time.

==============  ======================================================================================  ==============
symbol          meaning                                                                                 shape
==============  ======================================================================================  ==============
T, n, m         trees, rows of ``X``, rows out of a tree's bag
d, q            features, outputs of the target
splits          named tuple of arrays: roots, feature, threshold, left, right, missing_left
X               rows, single precision                                                                  (n, d)
rows            rows out of the bag of tree t, in a random order                                        (m)
column          column of ``X`` that holds feature f                                                    (d)
shift           how many places further in ``rows`` the partner for feature f stands                    (d)
leaf_value      what each node of the tree predicts: codes of classes, or numbers                       (nodes, q)
y               the target in the same form                                                             (m, q)
counts          in-bag multiplicity; (T, 0) where every tree is asked                                   (T, n)
low, high       range, among a node's in-bag rows, of the feature by which they came into the node      (all nodes)
span            range of each feature among all training rows                                           (d)
==============  ======================================================================================  ==============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel

__all__ = ["node_ranges", "path_excess", "permuted_losses"]


@kernel()
def _next_node(splits, base, node, x):
    goes_left = splits.missing_left[node] if np.isnan(x) else x <= splits.threshold[node]
    return base + np.uint64(splits.left[node] if goes_left else splits.right[node])


@kernel()
def _loss(predicted, wanted, classes):
    """Wrong classes, or squared errors, added up over the outputs."""
    total = 0.0
    for k in range(wanted.shape[0]):
        if classes:
            total += 1.0 if predicted[k] != wanted[k] else 0.0
        else:
            total += (predicted[k] - wanted[k]) ** 2
    return total


@kernel()
def permuted_losses(splits, t, X, rows, column, shift, leaf_value, y, classes, out):
    """Add to ``out[f]`` by how much the loss of tree t on ``rows`` grows if each takes feature f from its partner.

    Only the features on a row's path can change its leaf, and only from the first node on that asks for them.
    """
    base = np.uint64(splits.roots[t])
    m = rows.shape[0]
    last_seen = np.full(out.shape[0], -1, dtype=np.int64)
    asked = np.empty(out.shape[0], dtype=np.int64)
    first_node = np.empty(out.shape[0], dtype=np.uint64)
    for i in range(m):
        row = rows[i]
        n_asked = 0
        node = base
        while splits.left[node] >= 0:
            f = splits.feature[node]
            if last_seen[f] != i:
                last_seen[f] = i
                asked[n_asked] = f
                first_node[n_asked] = node
                n_asked += 1
            node = _next_node(splits, base, node, X[row, column[f]])
        before = _loss(leaf_value[node - base], y[i], classes)
        for k in range(n_asked):
            f = asked[k]
            partner = i + shift[f]
            if partner >= m:
                partner -= m
            value = X[rows[partner], column[f]]
            node = first_node[k]
            while splits.left[node] >= 0:
                g = splits.feature[node]
                node = _next_node(splits, base, node, value if g == f else X[row, column[g]])
            out[f] += _loss(leaf_value[node - base], y[i], classes) - before


@kernel()
def node_ranges(splits, X, counts, first, last, low, high):
    """For trees first … last − 1: widen the range of every node by the in-bag rows of ``X`` that come into it.

    Missing values compare as false and so leave the range as it is.
    """
    for t in range(first, last):
        base = np.uint64(splits.roots[t])
        for i in range(X.shape[0]):
            if counts[t, i] > 0:
                node = base
                while splits.left[node] >= 0:
                    x = X[i, splits.feature[node]]
                    node = _next_node(splits, base, node, x)
                    if x < low[node]:
                        low[node] = x
                    if x > high[node]:
                        high[node] = x


@kernel()
def path_excess(splits, low, high, span, X, counts, out, n_asked):
    """Add to ``out[i]``, trees in order, the largest excess on the way of row i; count the trees that were asked.

    The excess in a node is the distance from its range in units of the range of both children together, at most 1.
    """
    for t in range(splits.roots.shape[0] - 1):
        base = np.uint64(splits.roots[t])
        for i in range(X.shape[0]):
            if counts.shape[1] > 0 and counts[t, i] > 0:
                continue
            largest = 0.0
            node = base
            while splits.left[node] >= 0:
                f = splits.feature[node]
                x = X[i, f]
                left, right = base + np.uint64(splits.left[node]), base + np.uint64(splits.right[node])
                node = _next_node(splits, base, node, x)
                outside = max(np.float64(low[node]) - x, x - np.float64(high[node]))
                if outside > 0.0:
                    width = np.float64(max(high[left], high[right])) - min(low[left], low[right])
                    if not width > 0.0:
                        width = np.float64(span[f])
                    largest = max(largest, outside / width if outside < width else 1.0)
            out[i] += largest
            n_asked[i] += 1
