"""Naive twins of the loops over the nodes that rows visit: explicit paths, dense codes, one pair at a time."""

from __future__ import annotations

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


def _path(parent, node):
    way = []
    while node >= 0:
        way.insert(0, int(node))
        node = parent[node]
    return way


def fill_paths(leaf, parent, depth, cursor, out):
    for i in range(leaf.shape[1]):
        whole = [node for t in range(leaf.shape[0]) for node in _path(parent, leaf[t, i])]
        out[cursor[i] : cursor[i] + len(whole)] = whole
        cursor[i] += len(whole)


def split_paths(tests, limits, roots, X, leaves_only, most, cursor, columns, weights):
    def visit(row, node, weight):
        feature = tests[node, 0]
        found = [(int(node), weight)] if feature < 0 or not leaves_only else []
        if feature < 0:
            return found
        if math.isnan(row[feature]):
            return found + visit(row, tests[node, 2], weight / 2) + visit(row, tests[node, 3], weight / 2)
        return found + visit(row, tests[node, 3 if row[feature] > limits[node, 1] else 2], weight)

    for i, row in enumerate(X):
        for root in roots[:-1]:
            for node, weight in visit(row, root, 1.0):
                if len(columns):
                    columns[cursor[i]], weights[cursor[i]] = node, weight
                cursor[i] += 1


def hash_nodes(key, n_columns, columns, signs):
    for node in range(len(columns)):
        columns[node] = int((_bits(key, 0, node) >> 11) / 2**53 * n_columns)
        if len(signs):
            signs[node] = -1 if _bits(key, 1, node) >> 63 else 1


def fold_rows(indptr, nodes, weights, columns, signs, n_columns, out_indptr, out_columns, out_values):
    used = out_indptr[0] = 0
    for i in range(len(indptr) - 1):
        dense = np.zeros(n_columns)
        for k in range(indptr[i], indptr[i + 1]):
            sign = signs[nodes[k]] if len(signs) else 1
            dense[columns[nodes[k]]] += sign * (float(weights[k]) if len(weights) else 1.0)
        for column in np.flatnonzero(dense):
            out_columns[used], out_values[used] = column, dense[column]
            used += 1
        out_indptr[i + 1] = used
    return used


def shared_paths(leaf, starts, members, lengths, low, high, parent, depth, out):
    rank_of = {int(low[node]): node for node in range(len(low)) if high[node] == low[node] + 1}
    for node in range(len(low)):  # of the nodes with one leaf below them the leaf is the deepest
        rank = int(low[node])
        if high[node] == rank + 1 and depth[node] >= depth[rank_of[rank]]:
            rank_of[rank] = node
    root_of = [_path(parent, node)[0] for node in range(len(parent))]
    for rank in range(len(starts) - 1):
        for k in range(starts[rank], starts[rank + 1]):
            theirs = _path(parent, rank_of[rank])
            for t, i in np.ndindex(leaf.shape):
                if root_of[leaf[t, i]] == theirs[0]:
                    own = _path(parent, leaf[t, i])
                    out[i, members[k]] += len(set(own) & set(theirs)) / (
                        max(len(own), len(theirs)) if len(lengths) else 1
                    )


def code_products(roots, indptr, nodes, weights, to_indptr, to_nodes, to_weights, longest, out):
    def dense(indptr, nodes, weights):
        codes = np.zeros((len(indptr) - 1, roots[-1]))
        for i in range(len(codes)):
            codes[i, nodes[indptr[i] : indptr[i + 1]]] = weights[indptr[i] : indptr[i + 1]]
        return codes

    A, B = dense(indptr, nodes, weights), dense(to_indptr, to_nodes, to_weights)
    for t in range(len(roots) - 1):
        a, b = A[:, roots[t] : roots[t + 1]], B[:, roots[t] : roots[t + 1]]
        scale = np.maximum((a**2).sum(1)[:, None], (b**2).sum(1)) if longest else 1.0
        out += a @ b.T / scale
