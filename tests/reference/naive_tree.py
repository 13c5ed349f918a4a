"""A tree of classes or numbers, grown by trying every split of every column that a node draws, from sets of rows."""

from __future__ import annotations

import numpy as np

from reference.column_codes import MISSING_CODE, number_of
from reference.node_search import (
    FEW_BINS,
    GAPS_ALONE,
    GAPS_LEFT,
    KEY_ROWS,
    NO_GAPS,
    best_cut,
    best_split,
    draw_column,
    gather_cells,
)
from reference.random import bits

BINNED, EXACT, NEARLY = range(3)
LEAF = (-1, -1, -2, -2.0)


def column_values(table, f, rows):
    """What decides in a node: codes, or keys where bins would be too coarse; and which are missing."""
    codes = table.columns[f][rows].astype(np.int64)
    known = codes != MISSING_CODE
    by_key = table.kinds[f] == BINNED and (len(rows) <= KEY_ROWS or len(set(codes[known].tolist())) < FEW_BINS)
    by_key = by_key or (table.kinds[f] == NEARLY and len(set(codes.tolist())) == 1)
    return (table.keys[rows, f].astype(np.int64) if by_key else codes), ~known, by_key


def grow(table, outputs, weights, limits, seed, tree, *, impurity, is_pure, is_best, entropy=None):
    """Grow a tree on the rows that weigh something; return its nodes and values, their number and the depth."""
    nodes, values, depths = [], [], []
    d = len(table.columns)
    order, key = list(range(d)), bits(seed, tree, 0)

    def node(rows, depth, constant):
        own, w = len(nodes), weights[rows]
        means = (w[:, None] * outputs[rows]).sum(axis=0) / w.sum()
        error = impurity(outputs[rows], w, means)
        nodes.append([*LEAF, error, len(rows), w.sum(), 0])
        values.append(means)
        depths.append(depth)
        few = len(rows) < max(limits.min_split, 2 * limits.min_leaf)
        if is_pure(outputs[rows], error) or few or depth >= limits.max_depth:
            return own
        best, chosen, n_drawn, n_looked, known = -1.0, None, 0, 0, set(constant)
        while n_drawn < d and (n_drawn < limits.n_tried or n_looked == 0):
            f = draw_column(order, n_drawn, bits(key, own, 0))
            n_drawn += 1
            if f in constant:
                continue
            seen, missing, by_key = column_values(table, f, rows)
            if len(set(seen.tolist())) == 1:
                known.add(f)
                continue
            n_looked += 1
            cells = gather_cells(seen, missing, w, outputs[rows])
            value, last, first, gaps = best_split(*cells, best, limits.min_leaf, entropy)
            if gaps >= 0:
                best, chosen = value, (f, seen, missing, by_key, last, first, gaps)
                if is_best(best, w, rows):
                    break
        if chosen is None:
            return own
        f, seen, missing, by_key, last, first, gaps = chosen
        if table.kinds[f] == BINNED and not by_key and gaps != GAPS_ALONE:  # keys decide in the bins beside the cut
            near, below = (seen == last) | (seen == first), np.where(missing, gaps == GAPS_LEFT, seen < last)
            seen, by_key = table.keys[rows, f].astype(np.int64), True
            last, first = best_cut(seen, near, below, w, outputs[rows], limits.min_leaf, entropy)
        left = np.where(missing, gaps == GAPS_LEFT, seen <= last)
        if gaps == GAPS_ALONE:
            limit = np.inf
        else:
            ends = (last, first) if by_key else (table.high[f, last], table.low[f, first])
            limit = sum(number_of(end) for end in ends) / 2
        nodes[own][2:4] = f, limit
        nodes[own][7] = int(left.sum() > (~left).sum()) if gaps == NO_GAPS else int(gaps == GAPS_LEFT)
        nodes[own][0] = node(rows[left], depth + 1, known)
        nodes[own][1] = node(rows[~left], depth + 1, known)
        return own

    node(np.flatnonzero(weights), 0, set())
    return nodes, np.array(values), len(nodes), max(depths)


def as_words(nodes):
    """Nodes as a kernel leaves them."""
    words = np.zeros((len(nodes), 8), dtype=np.int64)
    doubles = words.view(np.float64)
    for i, fields in enumerate(nodes):
        for k, field in enumerate(fields):
            (doubles if k in (3, 4, 6) else words)[i, k] = field
    return words
