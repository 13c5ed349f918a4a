"""Loops over the nodes that rows visit in a forest: their codes, the folding of codes by a hash, and common paths.

A walk repeats scikit-learn's own: single-precision values against thresholds. Thresholds are doubles there and are
rounded down to single precision here, which makes no difference to single-precision values. Each row is written by one
thread: the result does not depend on threads or on blocks. Hot loops index by unsigned integers, so that numba adds no
test for negative ones.

==============  =====================================================================================  ================
symbol          meaning                                                                                shape
==============  =====================================================================================  ================
T, N, L         trees, nodes and leaves of all trees; a node's id counts the nodes of the trees before it
n, m            rows that are coded (queries), rows that they are compared with (members)
roots           first node of each tree, and N                                                         (T + 1) int64
tests           feature (−1 at a leaf), threshold's bits, left and right child (a leaf's: itself)      (N, 4) int32
limits          the same memory seen as numbers: column 1 is the threshold                             (N, 4) float32
missing_left    whether the tree sends missing values left                                             (N) bool
parent          the node above, −1 at a root                                                           (N) int32
depth           nodes from the root to this one, both counted: \\|P(x)\\| at x's leaf; or one less,       (N) int32
                without the root
hashes          64 bits of a row's content; empty: missing values go where the tree sends them         (n) or (0) uint64
leaf            the leaf that a row comes to, as a node                                                (T, n) int32
low, high       range of the ranks of the leaves below a node                                          (N) int32
starts          where the members of the leaf with that rank begin                                     (L + 1) int64
==============  =====================================================================================  ================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.random import below, bits

_S63, _S6, _MASK_63, _ONE = np.uint64(63), np.uint64(6), np.uint64(63), np.uint64(1)


@kernel()
def fill_paths(leaf, parent, depth, cursor, out):
    """Write the nodes from root to leaf, tree after tree, for row i, starting at ``cursor[i]``, which is advanced."""
    for t in range(leaf.shape[0]):
        for i in range(leaf.shape[1]):
            node = leaf[t, i]
            place = cursor[i] + depth[np.uint64(node)]
            cursor[i] = place
            while node >= 0:
                place -= 1
                out[np.uint64(place)] = node
                node = parent[np.uint64(node)]


@kernel()
def split_paths(tests, limits, roots, X, leaves_only, most, cursor, columns, weights):
    """Every node that a row visits if a missing value goes both ways, each with half the mass (Vens and Costa, II-D).

    Row i is written starting at ``cursor[i]``, which is advanced; with an empty ``columns``, entries are only counted.
    ``most`` is the length of the longest path.
    """
    waiting = np.empty(most + 1, dtype=np.uint64)
    mass = np.empty(most + 1, dtype=np.float32)
    for t in range(roots.shape[0] - 1):
        for i in range(X.shape[0]):
            waiting[0] = np.uint64(roots[t])
            mass[0] = np.float32(1.0)
            top = 1
            while top > 0:
                top -= 1
                node, weight = waiting[top], mass[top]
                feature = tests[node, 0]
                if feature < 0 or not leaves_only:
                    if columns.shape[0] > 0:
                        columns[cursor[i]] = node
                        weights[cursor[i]] = weight
                    cursor[i] += 1
                if feature < 0:
                    continue
                x = X[i, np.uint64(feature)]
                if x != x:  # the left child is taken first: nodes come in the order of their ids
                    half = weight * np.float32(0.5)
                    waiting[top], mass[top] = np.uint64(tests[node, 3]), half
                    waiting[top + 1], mass[top + 1] = np.uint64(tests[node, 2]), half
                    top += 2
                else:
                    waiting[top] = np.uint64(tests[node, np.uint64(2) + np.uint64(x > limits[node, 1])])
                    mass[top] = weight
                    top += 1


@kernel()
def hash_nodes(key, n_columns, columns, signs):
    """A column for every node, and a sign unless ``signs`` is empty, each by a well-mixed hash of (key, node)."""
    for node in range(columns.shape[0]):
        columns[node] = below(key, 0, node, n_columns)
        if signs.shape[0] > 0:
            signs[node] = 1 - 2 * np.int64(bits(key, 1, node) >> _S63)


@kernel()
def fold_rows(indptr, nodes, weights, columns, signs, n_columns, out_indptr, out_columns, out_values):
    """Add up the entries of each row that share a column (Vens and Costa, Fig. 2, line 11); columns come out sorted.

    An empty ``weights`` or ``signs`` stands for ones. The outputs must hold as many entries as the input.
    """
    total = np.zeros(n_columns, dtype=np.float64)
    touched = np.zeros((n_columns + 63) >> 6, dtype=np.uint64)
    used = 0
    out_indptr[0] = 0
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            node = np.uint64(nodes[k])
            column = np.uint64(columns[node])
            weight = 1.0 if weights.shape[0] == 0 else np.float64(weights[k])
            total[column] += weight if signs.shape[0] == 0 else weight * signs[node]
            touched[column >> _S6] |= _ONE << (column & _MASK_63)
        for word in range(touched.shape[0]):  # reading the marks word by word gives the columns in order
            marks = touched[word]
            if marks == 0:
                continue
            touched[word] = np.uint64(0)
            for column in range(word << 6, min((word + 1) << 6, n_columns)):
                if total[column] != 0.0:
                    out_columns[used] = column
                    out_values[used] = total[column]
                    used += 1
                    total[column] = 0.0
        out_indptr[i + 1] = used
    return used


@kernel()
def shared_paths(leaf, starts, members, lengths, low, high, parent, depth, out):
    """Add to ``out[i, j]`` the length of the common path of query i and member j, trees in order (section II-F).

    With ``lengths``, of the members' paths, each tree's common length is first divided by that of the longer path
    (Torkkola and Tuv 2005, section II-G). Going up from the query's leaf, the members below a node are an interval
    that grows, and a common path ends at the first node that covers the member: each member is visited once.
    """
    for i in range(leaf.shape[1]):
        for t in range(leaf.shape[0]):
            node = np.int64(leaf[t, i])
            own = depth[node]
            common = own
            inner_low = starts[low[node]]
            inner_high = inner_low
            while node >= 0:
                outer_low, outer_high = starts[low[node]], starts[high[node]]
                for k in range(outer_low, outer_high - (inner_high - inner_low)):
                    place = np.uint64(k if k < inner_low else k + (inner_high - inner_low))
                    longest = 1 if lengths.shape[0] == 0 else max(own, lengths[place], 1)
                    out[i, np.uint64(members[place])] += common / longest
                inner_low, inner_high = outer_low, outer_high
                node = parent[node]
                common -= 1


@kernel()
def code_products(roots, indptr, nodes, weights, to_indptr, to_nodes, to_weights, longest, out):
    """Add to ``out[i, j]`` the inner product of code i of one list and code j of another, tree by tree.

    With ``longest`` each tree's product is divided by the larger of both codes' own products in that tree, which for
    codes of ones is the length of the longer path.
    """
    n_trees = roots.shape[0] - 1
    row = np.zeros(roots[n_trees], dtype=np.float64)
    own = np.zeros(n_trees, dtype=np.float64)
    tree_of = np.empty(roots[n_trees], dtype=np.int64)
    for t in range(n_trees):
        tree_of[roots[t] : roots[t + 1]] = t
    for i in range(indptr.shape[0] - 1):
        own[:] = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            row[nodes[k]] = weights[k]
            own[tree_of[nodes[k]]] += np.float64(weights[k]) ** 2
        for j in range(to_indptr.shape[0] - 1):
            k = to_indptr[j]
            while k < to_indptr[j + 1]:
                t = tree_of[to_nodes[k]]
                product = 0.0
                theirs = 0.0
                while k < to_indptr[j + 1] and to_nodes[k] < roots[t + 1]:
                    weight = np.float64(to_weights[k])
                    product += weight * row[to_nodes[k]]
                    theirs += weight**2
                    k += 1
                out[i, j] += product / max(own[t], theirs) if longest else product
        for k in range(indptr[i], indptr[i + 1]):
            row[nodes[k]] = 0.0
