"""A tree of numbers by trying all splits."""

from __future__ import annotations

import numpy as np

from reference import node_search
from reference.column_codes import MISSING_CODE
from reference.naive_tree import as_words, grow
from reference.node_search import HALF, ROW, best_cut, best_split, entropy_of, gather_cells, read_beside


def scan_numbers(pairs, n_values, parts, start, size, left, total, whole, best, min_leaf, entropy):
    above = np.array([int(pair) >> HALF for pair in pairs[:size]])
    own = parts[[start + (int(pair) & ROW) for pair in pairs[:size]]]
    return best_split(*gather_cells(above, np.arange(size) >= n_values, own[:, 0], own[:, 1:]), best, min_leaf, entropy)


def count_numbers(column, codes, n_copied, words, start, size, parts, cells, n_rows):
    for i in range(size):
        code = codes[i] if n_copied else column[int(words[start + i]) & ROW]
        w = parts[start + i, 0]
        cells[code] += w * np.concatenate([[1.0], parts[start + i, 1:]])
        n_rows[code] += 1


def scan_sums(cells, n_rows, used, n_used, size, left, total, whole, best, min_leaf, entropy):
    listed = [(int(code), int(n_rows[code]), cells[code, 0], cells[code, 1:]) for code in used[:n_used]]
    gap = None
    if n_rows[MISSING_CODE]:
        gap = int(n_rows[MISSING_CODE]), cells[MISSING_CODE, 0], cells[MISSING_CODE, 1:]
    return best_split(listed, gap, best, min_leaf, entropy)


def split_two_numbers(codes, parts, start, size, total, whole, best, min_leaf):
    own = parts[start : start + size]
    cells = gather_cells(codes[:size].astype(np.int64), np.zeros(size, dtype=bool), own[:, 0], own[:, 1:])
    return best_split(*cells, best, min_leaf)[0]


def refine_numbers(pairs, n_near, marks, parts, start, size, left, total, whole, min_leaf, entropy):
    own = parts[start : start + size]
    below = marks[:size].astype(bool)
    return best_cut(*read_beside(pairs, n_near, size), below, own[:, 0], own[:, 1:], min_leaf, entropy)


def move_parts(parts, start, size, marks, moved):
    own = parts[start : start + size].copy()
    flags = marks[:size].astype(bool)
    parts[start : start + size] = np.concatenate([own[flags], own[~flags]])


def number_parts(bag, outputs, weight):
    weights = bag * (weight if len(weight) else 1.0)
    rows = np.flatnonzero(weights)
    return rows.astype(np.uint64), np.column_stack([weights[rows], outputs[rows]])


def x_log_x(x):
    return x * np.log(x) if x > 0 else 0.0


def split_gain(left, total, w_left, w_right, entropy):
    return node_search.split_gain(left, w_left, total - left, w_right, entropy)


def node_error(parts, start, end, whole, means, entropy):
    if entropy is not None:
        return entropy_of(means * whole, whole)
    return (parts[start:end, :1] * (parts[start:end, 1:] - means) ** 2).sum()


def grow_numbers(table, outputs, bag, weight, scale, entropy, limits, seed, tree, nodes, values):
    weights = bag * (weight if len(weight) else 1.0)
    grown, means, n_nodes, depth = grow(
        table,
        outputs,
        weights.astype(np.float64),
        limits,
        seed,
        tree,
        impurity=lambda own, w, means: (
            scale * node_error(np.column_stack([w, own]), 0, len(w), w.sum(), means, entropy) / w.sum()
        ),
        is_pure=lambda own, error: error <= 2.0**-52,
        is_best=lambda best, w, rows: len(rows) == 2,
        entropy=entropy,
    )
    return as_words(grown), means, n_nodes, depth
