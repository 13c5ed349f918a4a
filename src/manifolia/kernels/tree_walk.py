"""The walk down the trees of a forest: the leaf of a row, what it would lose with another value, how far out it lies.

A walk repeats scikit-learn's own: single-precision values against thresholds, missing values by the node's own rule.
Thresholds are doubles there and are rounded down to single precision here, which makes no difference to
single-precision values. Each tree, or each row, is written by one thread, and trees are added in order: the result does
not depend on threads or on blocks. Nodes are unsigned integers: a test for negative indices would cost a sixth of the
time.

==============  ======================================================================================  ==============
symbol          meaning                                                                                 shape
==============  ======================================================================================  ==============
T, N            trees, nodes of all trees; a node's id counts the nodes of the trees before it
n, m            rows of ``X``, rows out of a tree's bag
d, q            features, outputs of the target
roots           first node of each tree, and N                                                          (T + 1) int64
tests           feature (−1 at a leaf), threshold's bits, left and right child (a leaf's: itself)       (N, 4) int32
limits          the same memory seen as numbers: column 1 is the threshold                              (N, 4) float32
missing_left    whether the tree sends missing values left                                              (N) bool
depth           nodes from the root to this one, both counted                                           (N) int32
hashes          64 bits of a row's content; empty: missing values go where the tree sends them          (n) or (0)
leaf            the leaf that a row comes to, as a node                                                 (T, n) int32
X               rows, single precision                                                                  (n, d)
rows            rows out of the bag of tree t, in a random order                                        (m)
column          column of ``X`` that holds feature f                                                    (d)
shift           how many places further in ``rows`` the partner for feature f stands                    (d)
leaf_value      what each node of the tree predicts: codes of classes, or numbers                       (nodes, q)
y               the target in the same form                                                             (m, q)
counts          in-bag multiplicity; (T, 0) where every tree is asked                                   (T, n)
low, high       range, among a node's in-bag rows, of the feature by which they came into the node      (all nodes)
span            range of each feature among all training rows                                           (d)
rank            of a leaf, its id                                                                       (N) int32
drawn           in-bag multiplicity in one tree                                                         (n)
==============  ======================================================================================  ==============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.random import bits

_NAN_WORD = np.uint32(0x7FC00000)  # the same word for every kind of NaN
_STRIDE = 3  # steps of a row before it is the next row's turn; fewer or more were slower
_TWO, _S63 = np.uint64(2), np.uint64(63)


@kernel()
def _side(limits, missing_left, node, x):
    """0 if a value goes left, 1 if it goes right."""
    return np.uint64(not missing_left[node]) if x != x else np.uint64(x > limits[node, 1])


@kernel()
def _next_node(tests, limits, missing_left, node, x):
    return np.uint64(tests[node, _TWO + _side(limits, missing_left, node, x)])


@kernel()
def leaf_ranks(tests, roots, low, high):
    """Number the leaves depth first, tree after tree; each node covers ranks low … high − 1. Returns their number."""
    stack = np.empty(low.shape[0] + 1, dtype=np.int64)
    n_leaves = 0
    for t in range(roots.shape[0] - 1):
        stack[0] = roots[t]
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            low[node] = n_leaves
            if tests[node, 0] < 0:
                n_leaves += 1
            else:
                stack[top] = tests[node, 3]  # the left child is popped first
                stack[top + 1] = tests[node, 2]
                top += 2
        for node in range(roots[t + 1] - 1, roots[t] - 1, -1):  # children have larger ids than their parent
            high[node] = low[node] + 1 if tests[node, 0] < 0 else high[tests[node, 3]]
    return n_leaves


@kernel()
def row_hashes(X, words, out):
    """64 bits from the values of each row, wherever it is: ``words`` is the memory of ``X``; −0 is 0, NaN is NaN."""
    for i in range(X.shape[0]):
        h = np.uint64(0)
        for j in range(X.shape[1]):
            x = X[i, j]
            word = words[i, j]
            if x != x:
                word = _NAN_WORD
            elif x == 0.0:
                word = np.uint32(0)
            h = bits(h, word, j)
        out[i] = h


@kernel()
def find_leaves(tests, limits, missing_left, roots, X, hashes, key, depth, leaf, lengths):
    """Leaf of each row in each tree; adds the length of each row's paths to ``lengths``.

    With ``hashes`` a missing value goes left or right by one bit of (key, row's content, node). All rows that have not
    arrived take a few steps each before any takes more, so that they do not wait for one another's memory. Leaves lead
    back to themselves, so that no step has to check for one.
    """
    n_rows = X.shape[0]
    row = np.empty(n_rows, dtype=np.uint32)
    at = np.empty(n_rows, dtype=np.uint32)
    for t in range(roots.shape[0] - 1):
        for i in range(n_rows):
            row[i] = i
            at[i] = roots[t]
        n_walking = n_rows
        while n_walking > 0:
            n_left = 0
            for k in range(n_walking):
                i = np.uint64(row[k])
                node = np.uint64(at[k])
                for _ in range(_STRIDE):
                    x = X[i, np.uint64(max(tests[node, 0], 0))]
                    if x != x and hashes.shape[0] > 0:
                        side = bits(key, hashes[i], node) >> _S63
                    else:
                        side = _side(limits, missing_left, node, x)
                    node = np.uint64(tests[node, _TWO + side])
                leaf[t, i] = node
                row[np.uint64(n_left)] = i
                at[np.uint64(n_left)] = node
                n_left += np.int64(tests[node, 0] >= 0)
            n_walking = n_left
        for i in range(n_rows):
            lengths[i] += depth[np.uint64(leaf[t, i])]


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
def permuted_losses(tests, limits, missing_left, root, X, rows, column, shift, leaf_value, y, classes, out):
    """Add to ``out[f]`` the growth of a tree's loss on ``rows`` if each row takes feature f from its partner.

    Only the features on a row's path can change its leaf, and only below the first node that asks for them.
    """
    base = np.uint64(root)
    m = rows.shape[0]
    last_seen = np.full(out.shape[0], -1, dtype=np.int64)
    asked = np.empty(out.shape[0], dtype=np.int64)
    first_node = np.empty(out.shape[0], dtype=np.uint64)
    for i in range(m):
        row = rows[i]
        n_asked = 0
        node = base
        while tests[node, 0] >= 0:
            f = tests[node, 0]
            if last_seen[f] != i:
                last_seen[f] = i
                asked[n_asked] = f
                first_node[n_asked] = node
                n_asked += 1
            node = _next_node(tests, limits, missing_left, node, X[row, column[f]])
        before = _loss(leaf_value[node - base], y[i], classes)
        for k in range(n_asked):
            f = asked[k]
            partner = i + shift[f]
            if partner >= m:
                partner -= m
            value = X[rows[partner], column[f]]
            node = first_node[k]
            while tests[node, 0] >= 0:
                g = tests[node, 0]
                node = _next_node(tests, limits, missing_left, node, value if g == f else X[row, column[g]])
            out[f] += _loss(leaf_value[node - base], y[i], classes) - before


@kernel()
def node_ranges(tests, limits, missing_left, roots, X, counts, first, last, low, high):
    """For trees first … last − 1: widen the range of every node by the in-bag rows of ``X`` that enter it.

    Missing values compare as false and so leave the range as it is.
    """
    for t in range(first, last):
        base = np.uint64(roots[t])
        for i in range(X.shape[0]):
            if counts[t, i] > 0:
                node = base
                while tests[node, 0] >= 0:
                    x = X[i, tests[node, 0]]
                    node = _next_node(tests, limits, missing_left, node, x)
                    if x < low[node]:
                        low[node] = x
                    if x > high[node]:
                        high[node] = x


@kernel()
def path_excess(tests, limits, missing_left, roots, low, high, span, X, counts, out, n_asked):
    """Add to ``out[i]``, trees in order, the largest excess on the path of row i; count the trees that were asked.

    The excess in a node is the distance from its range in units of the range of both children together, at most 1.
    """
    for t in range(roots.shape[0] - 1):
        base = np.uint64(roots[t])
        for i in range(X.shape[0]):
            if counts.shape[1] > 0 and counts[t, i] > 0:
                continue
            largest = 0.0
            node = base
            while tests[node, 0] >= 0:
                f = tests[node, 0]
                x = X[i, f]
                left, right = np.uint64(tests[node, 2]), np.uint64(tests[node, 3])
                node = _next_node(tests, limits, missing_left, node, x)
                outside = max(np.float64(low[node]) - x, x - np.float64(high[node]))
                if outside > 0.0:
                    width = np.float64(max(high[left], high[right])) - min(low[left], low[right])
                    if not width > 0.0:
                        width = np.float64(span[f])
                    largest = max(largest, outside / width if outside < width else 1.0)
            out[i] += largest
            n_asked[i] += 1


@kernel()
def sort_rows(tests, limits, missing_left, root, rank, X, drawn, span, leaf, low, high, excess):
    """Sort all rows down one tree, node by node: leaves, ranges of the in-bag rows, and how far others lie outside.

    It is `find_leaves`, `node_ranges` and `path_excess` in one. Each node reads its rows in sequence, in-bag rows
    first, and splits both kinds without a branch; no row waits for its own path. ``low`` and ``high`` must start
    infinite, since nodes without rows are not visited.
    """
    n = X.shape[0]
    inf = np.float32(np.inf)
    rows, aside = np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32)
    n_drawn = 0
    for i in range(n):
        n_drawn += drawn[i] > 0
    inside, outside = 0, n_drawn
    for i in range(n):
        if drawn[i] > 0:
            rows[inside] = i
            inside += 1
        else:
            rows[outside] = i
            outside += 1
        excess[i] = 0.0
    # Node, its in-bag rows, its other rows. Waiting nodes share no row, and each has one: there are at most n.
    waiting = np.empty((n + 1, 5), dtype=np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = root, 0, n_drawn, n_drawn, n
    top = 1
    while top > 0:
        top -= 1
        node = np.uint64(waiting[top, 0])
        begin, end, other_begin, other_end = waiting[top, 1], waiting[top, 2], waiting[top, 3], waiting[top, 4]
        if tests[node, 0] < 0:
            for k in range(begin, end):
                leaf[rows[k]] = rank[node]
            for k in range(other_begin, other_end):
                leaf[rows[k]] = rank[node]
            continue
        f, limit, missing = np.uint64(tests[node, 0]), limits[node, 1], missing_left[node]
        left, right = np.uint64(tests[node, 2]), np.uint64(tests[node, 3])
        least, most, left_high, right_low = inf, -inf, -inf, inf
        at, n_right = np.uint64(begin), np.uint64(0)
        for k in range(begin, end):
            i = np.uint64(rows[np.uint64(k)])
            x = X[i, f]
            goes_left = (x <= limit) | ((x != x) & missing)
            rows[at] = i  # the wrong one of the two places is overwritten, or is beyond the end
            aside[n_right] = i
            at += np.uint64(goes_left)
            n_right += np.uint64(not goes_left)
            least = x if x < least else least
            most = x if x > most else most
            to_left, to_right = x if x <= limit else -inf, x if x > limit else inf
            left_high = to_left if to_left > left_high else left_high
            right_low = to_right if to_right < right_low else right_low
        for k in range(n_right):
            rows[at + np.uint64(k)] = aside[np.uint64(k)]
        middle = np.int64(at)
        # All that go left have smaller values than all that go right.
        left_low, right_high = least if left_high > -inf else inf, most if right_low < inf else -inf
        low[left], high[left], low[right], high[right] = left_low, left_high, right_low, right_high
        width = np.float64(max(left_high, right_high)) - min(left_low, right_low)
        if not width > 0.0:
            width = np.float64(span[f])
        at, n_right = np.uint64(other_begin), np.uint64(0)
        for k in range(other_begin, other_end):
            i = np.uint64(rows[np.uint64(k)])
            x = X[i, f]
            goes_left = (x <= limit) | ((x != x) & missing)
            rows[at] = i
            aside[n_right] = i
            at += np.uint64(goes_left)
            n_right += np.uint64(not goes_left)
            lowest, highest = left_low if goes_left else right_low, left_high if goes_left else right_high
            if x < lowest or x > highest:
                beyond = max(np.float64(lowest) - x, x - np.float64(highest))
                excess[i] = max(excess[i], beyond / width if beyond < width else 1.0)
        for k in range(n_right):
            rows[at + np.uint64(k)] = aside[np.uint64(k)]
        other_middle = np.int64(at)
        if middle < end or other_middle < other_end:
            waiting[top, 0], waiting[top, 1], waiting[top, 2] = right, middle, end
            waiting[top, 3], waiting[top, 4] = other_middle, other_end
            top += 1
        if begin < middle or other_begin < other_middle:
            waiting[top, 0], waiting[top, 1], waiting[top, 2] = left, begin, middle
            waiting[top, 3], waiting[top, 4] = other_begin, other_middle
            top += 1
