"""A tree of classes by trying all splits."""

from __future__ import annotations

import numpy as np

from reference.column_codes import MISSING_CODE
from reference.naive_tree import as_words, grow
from reference.node_search import HALF, ROW, best_cut, best_split, gather_cells, read_beside

CLASS_BITS, COUNT_SHIFT = 2**16 - 1, 48


def read_word(word, weight):
    """Row, class and weight in the bag."""
    word = int(word)
    row = word & ROW
    return row, (word >> HALF) & CLASS_BITS, (word >> COUNT_SHIFT) * (weight[row] if len(weight) else 1.0)


def scan_classes(pairs, n_values, words, start, size, weight, left, total, whole, square, best, min_leaf):
    above = np.array([int(pair) >> HALF for pair in pairs[:size]])
    low = [int(pair) & ROW for pair in pairs[:size]]
    if len(weight):
        read = [read_word(words[start + place], weight)[1:] for place in low]
    else:
        read = [(half & CLASS_BITS, float(half >> 16)) for half in low]
    outputs = np.eye(len(total))[[k for k, _ in read]]
    missing = np.arange(size) >= n_values
    return best_split(*gather_cells(above, missing, np.array([w for _, w in read]), outputs), best, min_leaf)


def count_classes(column, codes, n_copied, words, start, size, weight, cells, n_rows):
    for i in range(size):
        row, k, w = read_word(words[start + i], weight)
        code = codes[i] if n_copied else column[row]
        cells[code, k] += w
        n_rows[code] += 1


def scan_cells(cells, n_rows, used, n_used, size, left, total, whole, square, best, min_leaf):
    listed = [(int(code), int(n_rows[code]), cells[code].sum(), cells[code]) for code in used[:n_used]]
    gap = None
    if n_rows[MISSING_CODE]:
        gap = int(n_rows[MISSING_CODE]), cells[MISSING_CODE].sum(), cells[MISSING_CODE]
    return best_split(listed, gap, best, min_leaf)


def refine_classes(pairs, n_near, marks, words, start, size, weight, left, total, whole, min_leaf):
    read = [read_word(word, weight)[1:] for word in words[start : start + size]]
    outputs, weights = np.eye(len(total))[[k for k, _ in read]], np.array([w for _, w in read])
    return best_cut(*read_beside(pairs, n_near, size), marks[:size].astype(bool), weights, outputs, min_leaf)


def class_words(bag, classes, weight):
    rows = [i for i in range(len(bag)) if bag[i] and (not len(weight) or weight[i] > 0)]
    return np.array([(int(bag[i]) << COUNT_SHIFT) | (int(classes[i]) << HALF) | i for i in rows], dtype=np.uint64)


def grow_classes(table, classes, bag, weight, n_classes, limits, seed, tree, nodes, values):
    weights = bag * (weight if len(weight) else 1.0)
    grown, shares, n_nodes, depth = grow(
        table,
        np.eye(n_classes)[classes],
        weights.astype(np.float64),
        limits,
        seed,
        tree,
        impurity=lambda outputs, w, means: 1.0 - (means**2).sum(),
        is_pure=lambda outputs, error: (outputs == outputs[0]).all(),
        is_best=lambda best, w, rows: best >= w.sum() * (1.0 - 1e-12),
    )
    return as_words(grown), shares, n_nodes, depth
