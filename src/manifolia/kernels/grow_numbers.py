"""One tree of numbers, or of several outputs at once, grown from codes.

A split into sides of weights W_l and W_r with sums L_k and R_k of output k is better the larger

    Σ_k L_k² / W_l + Σ_k R_k² / W_r,

which orders splits as the squared error summed over outputs does (Breiman et al. 1984, section 8.4). Classes of several
outputs are grown in the same way, each as a column of zeros and ones: their squared error is their Gini impurity. By
entropy, with f(x) = x log x, such columns are split where

    Σ_k f(L_k) + Σ_k f(R_k) − O f(W_l) − O f(W_r)

is largest, for O outputs: minus the entropies of the sides, each times its weight (section 4.3). `entropy` is None for
squares, so that the compiler leaves the logarithms out.

The rows of a node have their weight and outputs side by side, in the node's order; pairs have a row's place below.
Large nodes are first added up by codes. Missing values are tried on the right and on the left.

==========  ==========================================================================  ===============
symbol      meaning                                                                     shape
==========  ==========================================================================  ===============
outputs     what each row of the table is to be told by                                 (n, q)
parts       weight of each row in the bag, and its outputs                              (n_in, 1 + q)
left        sum of each output on the left                                              (q,)
total       sum of each output in the node                                              (q,)
whole       weight of the node                                                          scalar
best        the largest value of the formula so far                                     scalar
cells       weight and sums of each code                                                (256, 1 + q)
n_rows      rows of each code                                                           (256,)
entropy     O, and the entropy of equal shares of all classes summed over outputs
nodes       left and right child, column, threshold, impurity, rows, weight, whether    (capacity, 8)
            missing values go left: words, of which three are doubles
values      mean of each output                                                         (capacity, q)
==========  ==========================================================================  ===============
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia.kernels._jit import ZERO, kernel
from manifolia.kernels.column_codes import MISSING_CODE
from manifolia.kernels.node_search import (
    BINNED,
    COPIED,
    FEATURE,
    FEW_BINS,
    FEW_ROWS,
    GAPS_ALONE,
    GAPS_LEFT,
    GAPS_RIGHT,
    HALF,
    IMPURITY,
    KEY_ROWS,
    LAST_CODE,
    LAST_KEY,
    LEFT,
    MISSING_LEFT,
    N_ROWS,
    NEARLY,
    NO_CHILD,
    NO_FEATURE,
    NO_GAPS,
    NO_THRESHOLD,
    RIGHT,
    ROW,
    THRESHOLD,
    TWO,
    WEIGHT,
    clear_cells,
    count_values,
    draw_column,
    enlarged,
    gather_beside,
    gather_codes,
    list_used,
    mark_beside,
    mark_left,
    move_words,
    sort_by_code,
    sort_by_key,
    sort_pairs,
    threshold,
)
from manifolia.kernels.random import bits

_EPSILON = 2.0**-52  # an impurity up to this counts as none, as in scikit-learn
_COARSE = 2.0**12  # entropies are compared up to 2⁻⁴⁰ of the weight of a node


class Entropy(NamedTuple):
    """What turns sums into entropies."""

    n_outputs: float
    most: float  # Σ log K over outputs, of K classes each


@kernel()
def x_log_x(x):
    """x log x, and its limit at 0."""
    return x * np.log(x) if x > 0.0 else 0.0


@kernel()
def split_gain(left, total, w_left, w_right, entropy):
    """The value of a split times its unit, and the unit.

    For entropy the value is W (1 − mean entropy of the sides / its maximum): from 0 to W, as for squares. It is
    rounded, so that among splits that differ only in the last bits of logarithms every processor takes the first.
    """
    gain = 0.0
    if entropy is None:
        for k in range(len(total)):
            right = total[k] - left[k]
            gain += left[k] * left[k] * w_right + right * right * w_left
        return gain, w_left * w_right
    for k in range(len(total)):
        gain += x_log_x(left[k]) + x_log_x(total[k] - left[k])
    gain -= entropy.n_outputs * (x_log_x(w_left) + x_log_x(w_right))
    coarse = (w_left + w_right) * _COARSE
    return (w_left + w_right + gain / entropy.most + coarse) - coarse, 1.0


@kernel()
def node_error(parts, start, end, whole, means, entropy):
    """The squared error of a node's rows around the means, or their entropy times their weight."""
    error = 0.0
    if entropy is None:
        for k in range(len(means)):
            for i in range(start, end):
                error += parts[i, 0] * (parts[i, 1 + k] - means[k]) * (parts[i, 1 + k] - means[k])
        return error
    for k in range(len(means)):  # of shares: that of a node's only class is 1, and its logarithm is 0, exactly
        error -= whole * x_log_x(means[k])
    return error


@kernel()
def scan_numbers(pairs, n_values, parts, start, size, left, total, whole, best, min_leaf, entropy):
    """Find the best split between sorted pairs, if any is better: its value, the codes or keys beside it, the gaps."""
    last, first, gaps = np.uint64(0), np.uint64(0), -1
    n_gaps, q = size - n_values, len(total)
    for side in range(2 if n_gaps > 0 else 1):
        w_left, n_left, only_left = 0.0, 0, 0.0
        for k in range(q):
            left[k] = 0.0
        if side == 1:
            n_left = n_gaps
            for i in range(n_values, size):
                at = start + np.int64(pairs[i] & ROW)
                w_left += parts[at, 0]
                for k in range(q):
                    left[k] += parts[at, 0] * parts[at, 1 + k]
            only_left = left[0]
        before = pairs[0] >> HALF
        for i in range(n_values + (1 if side == 0 and n_gaps > 0 else 0)):
            now = pairs[i] >> HALF  # after the last value comes the first that is missing
            if now != before:
                w_right = whole - w_left
                if q == 1:
                    right = total[0] - only_left
                    gain, unit = only_left * only_left * w_right + right * right * w_left, w_left * w_right
                else:
                    gain, unit = split_gain(left, total, w_left, w_right, entropy)
                if gain > best * unit and n_left >= min_leaf and size - n_left >= min_leaf:
                    best = gain / unit
                    last, first, gaps = before, now, side if i < n_values else GAPS_ALONE
                before = now
            if i < n_values:
                at = start + np.int64(pairs[i] & ROW)
                w = parts[at, 0]
                w_left += w
                n_left += 1
                if q == 1:  # a sum in a register: most regression forests have one output
                    only_left += w * parts[at, 1]
                else:
                    for k in range(q):
                        left[k] += w * parts[at, 1 + k]
    if gaps == NO_GAPS and n_gaps > 0:
        gaps = GAPS_RIGHT
    return best, np.int64(last), np.int64(first), gaps


@kernel()
def count_numbers(column, codes, n_copied, words, start, size, parts, cells, n_rows):
    """Add up weight and outputs of each code; codes are read from the column unless they are copied."""
    q = cells.shape[1] - 1
    for i in range(size):
        code = np.int64(codes[i]) if n_copied else np.int64(column[words[start + i] & ROW])
        n_rows[code] += 1
        w = parts[start + i, 0]
        cells[code, 0] += w
        if q == 1:
            cells[code, 1] += w * parts[start + i, 1]
        else:
            for k in range(1, q + 1):
                cells[code, k] += w * parts[start + i, k]


@kernel()
def scan_sums(cells, n_rows, used, n_used, size, left, total, whole, best, min_leaf, entropy):
    """Find the best split between codes that are in use, as `scan_numbers` does between rows."""
    last, first, gaps, q = 0, 0, -1, len(total)
    n_gaps = n_rows[MISSING_CODE]
    for side in range(2 if n_gaps > 0 else 1):
        w_left, n_left, before = 0.0, 0, -1
        for k in range(q):
            left[k] = 0.0
        # Missing values are the first to go left, or the last that do not.
        for u in range(-side, n_used + (1 if side == 0 and n_gaps > 0 else 0)):
            code = used[u] if 0 <= u < n_used else np.int64(MISSING_CODE)
            if before >= 0 and n_left >= min_leaf and size - n_left >= min_leaf:
                gain, unit = split_gain(left, total, w_left, whole - w_left, entropy)
                if gain > best * unit:
                    best = gain / unit
                    last, first, gaps = before, code, side if u < n_used else GAPS_ALONE
            w_left += cells[code, 0]
            n_left += n_rows[code]
            for k in range(q):
                left[k] += cells[code, 1 + k]
            before = code if u >= 0 else -1
    if gaps == NO_GAPS and n_gaps > 0:
        gaps = GAPS_RIGHT
    return best, last, first, gaps


@kernel(fast=True)
def split_two_numbers(codes, parts, start, size, total, whole, best, min_leaf):
    """The value of the only split of a column of two codes, or `best` if that is better."""
    n_right, w_right, gain = 0, 0.0, 0.0
    for i in range(size):
        n_right += np.int64(codes[i])
        w_right += np.float64(codes[i]) * parts[start + i, 0]
    w_left = whole - w_right
    for k in range(len(total)):
        right = 0.0
        for i in range(size):
            right += np.float64(codes[i]) * parts[start + i, 0] * parts[start + i, 1 + k]
        left = total[k] - right
        gain += left * left * w_right + right * right * w_left
    unit = w_left * w_right
    if gain > best * unit and n_right >= min_leaf and size - n_right >= min_leaf:
        best = gain / unit
    return best


@kernel()
def refine_numbers(pairs, n_near, marks, parts, start, size, left, total, whole, min_leaf, entropy):
    """Find the best cut between sorted pairs of keys and places, marked rows to its left; return the keys beside it."""
    n_left, w_left, q = 0, 0.0, len(total)
    for k in range(q):
        left[k] = 0.0
    for i in range(size):
        if marks[i]:
            n_left += 1
            w_left += parts[start + i, 0]
            for k in range(q):
                left[k] += parts[start + i, 0] * parts[start + i, 1 + k]
    best, last, first, before = -1.0, np.uint64(0), np.uint64(0), pairs[0] >> HALF
    for i in range(n_near):
        now, at = pairs[i] >> HALF, start + np.int64(pairs[i] & ROW)
        if now != before:
            gain, unit = split_gain(left, total, w_left, whole - w_left, entropy)
            if gain > best * unit and n_left + i >= min_leaf and size - n_left - i >= min_leaf:
                best, last, first = gain / unit, before, now
            before = now
        w_left += parts[at, 0]
        for k in range(q):
            left[k] += parts[at, 0] * parts[at, 1 + k]
    return np.int64(last), np.int64(first)


@kernel()
def move_parts(parts, start, size, marks, moved):
    """Move the parts of marked rows before the others, keeping the order of both."""
    n_left, n_right = 0, 0
    for i in range(size):
        if marks[i]:
            for k in range(parts.shape[1]):
                parts[start + n_left, k] = parts[start + i, k]
            n_left += 1
        else:
            for k in range(parts.shape[1]):
                moved[n_right, k] = parts[start + i, k]
            n_right += 1
    for i in range(n_right):
        for k in range(parts.shape[1]):
            parts[start + n_left + i, k] = moved[i, k]


@kernel()
def number_parts(bag, outputs, weight):
    """List the rows that are in a bag and weigh something, and their weights and outputs."""
    n_in, q = 0, outputs.shape[1]
    for i in range(len(bag)):
        n_in += bag[i] > 0 and (len(weight) == 0 or weight[i] > 0.0)
    words, parts = np.empty(n_in, np.uint64), np.empty((n_in, 1 + q))
    at = 0
    for i in range(len(bag)):
        if bag[i] > 0 and (len(weight) == 0 or weight[i] > 0.0):
            words[at] = i
            parts[at, 0] = np.float64(bag[i]) * (weight[i] if len(weight) else 1.0)
            for k in range(q):
                parts[at, 1 + k] = outputs[i, k]
            at += 1
    return words, parts


@kernel()
def grow_numbers(table, outputs, bag, weight, scale, entropy, limits, seed, tree, nodes, values):
    """Grow a tree; return its nodes and values, in the arrays given or in larger ones, their number and the depth.

    `scale` turns the squared error or the entropy summed over outputs into what scikit-learn calls the impurity.
    """
    columns, rows, keys, n_codes, kinds = table.columns, table.rows, table.keys, table.n_codes, table.kinds
    d, q, min_leaf = len(columns), outputs.shape[1], limits.min_leaf
    words, parts = number_parts(bag, outputs, weight)
    n_in = len(words)
    key = bits(seed, tree, ZERO)
    left, total = np.zeros(q), np.zeros(q)
    cells, n_rows = np.zeros((256, 1 + q)), np.zeros(256, np.int64)
    used, count = np.empty(257, np.int64), np.empty(256, np.int64)
    codes, moved_parts = np.empty(n_in, np.uint8), np.empty((n_in, 1 + q))
    moved, pairs, spare = np.empty(n_in, np.uint64), np.empty(n_in, np.uint64), np.empty(n_in, np.uint64)
    order = np.empty(d, np.int64)
    for f in range(d):
        order[f] = f
    # A column that is constant in a node is constant below it: it counts as drawn and is not examined.
    constant, place = np.zeros(d, np.int64), np.zeros(d, np.int64)
    stack = np.empty((64, 6), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4], stack[0, 5] = 0, n_in, 0, -1, 0, 0
    n_open, n_nodes, deepest = 1, ZERO, 0
    doubles = nodes.view(np.float64)
    two_keys = np.empty(2, np.uint32)
    two_numbers = two_keys.view(np.float32)
    while n_open > 0:
        n_open -= 1
        start, end, depth, parent = stack[n_open, 0], stack[n_open, 1], stack[n_open, 2], stack[n_open, 3]
        size = end - start
        side, n_known = stack[n_open, 4], stack[n_open, 5]
        deepest = max(deepest, depth)
        if n_nodes == len(nodes):
            nodes, values = enlarged(nodes, 2 * n_nodes), enlarged(values, 2 * n_nodes)
            doubles = nodes.view(np.float64)
        node = n_nodes
        n_nodes += 1
        whole = 0.0
        for i in range(start, end):
            whole += parts[i, 0]
        for k in range(q):
            total[k] = 0.0
            for i in range(start, end):
                total[k] += parts[i, 0] * parts[i, 1 + k]
            values[node, k] = total[k] / whole
        error = node_error(parts, start, end, whole, values[node], entropy) * (scale / whole)
        if parent >= 0:
            nodes[parent, side] = node
        nodes[node, LEFT], nodes[node, RIGHT], nodes[node, FEATURE] = NO_CHILD, NO_CHILD, NO_FEATURE
        doubles[node, THRESHOLD], nodes[node, N_ROWS], nodes[node, MISSING_LEFT] = NO_THRESHOLD, size, 0
        doubles[node, IMPURITY], doubles[node, WEIGHT] = error, whole
        if error <= _EPSILON or size < limits.min_split or size < 2 * min_leaf or depth >= limits.max_depth:
            continue

        best, best_f, best_last, best_first, best_gaps, best_by_key = -1.0, -1, 0, 0, 0, False
        n_constant, n_drawn, n_looked = n_known, ZERO, 0
        state = bits(key, node, ZERO)
        by_row, copied = size <= limits.by_row, size <= COPIED
        while n_drawn < d and (n_drawn < limits.n_tried or n_looked == 0):
            f = draw_column(order, n_drawn, state)
            n_drawn += 1
            kind = kinds[f]
            if place[f] < n_known and constant[place[f]] == f:
                continue
            m, differs, by_key, counted = np.int64(n_codes[f]), True, False, False
            if copied or kind == TWO:
                differs = gather_codes(columns, rows, f, by_row, words, start, size, codes)
            value, last, first, gaps = best, 0, 1, -1
            if kind == TWO and entropy is None:
                if differs:
                    value = split_two_numbers(codes, parts, start, size, total, whole, best, min_leaf)
                    gaps = NO_GAPS if value > best else -1
                counted = True
            elif kind in (BINNED, NEARLY):
                by_key = (kind == BINNED and size <= KEY_ROWS) or not differs
                differs = differs or codes[0] != MISSING_CODE
            if differs and not by_key and not counted and (size > FEW_ROWS or size >= m):
                count_numbers(columns[f], codes, copied, words, start, size, parts, cells, n_rows)
                n_used = list_used(n_rows, m, used)
                n_gaps = n_rows[MISSING_CODE]
                differs = n_used > 1 or (n_used == 1 and (n_gaps > 0 or kind in (BINNED, NEARLY)))
                by_key = (kind == BINNED and n_used < FEW_BINS) or (kind == NEARLY and n_used == 1 and n_gaps == 0)
                if differs and not by_key:
                    value, last, first, gaps = scan_sums(
                        cells, n_rows, used, n_used, size, left, total, whole, best, min_leaf, entropy
                    )
                    counted = True
                clear_cells(cells, n_rows, used, n_used)
            if differs and not counted:
                if not copied:
                    gather_codes(columns, rows, f, by_row, words, start, size, codes)
                if by_key:
                    sort_by_key(keys, f, codes, words, start, size, m, True, pairs, spare, count)
                else:
                    sort_by_code(codes, words, start, size, m, True, pairs, count)
                differs = pairs[0] >> HALF != pairs[size - 1] >> HALF
                if differs:
                    n_values = count_values(pairs, size, by_key)
                    value, last, first, gaps = scan_numbers(
                        pairs, n_values, parts, start, size, left, total, whole, best, min_leaf, entropy
                    )
            if not differs:
                constant[n_constant], place[f] = f, n_constant
                n_constant += 1
                continue
            n_looked += 1
            if gaps >= 0:
                best, best_f, best_last, best_first, best_gaps, best_by_key = value, f, last, first, gaps, by_key
                if size == 2:
                    break  # all splits of two rows are alike
        if best_f < 0:
            continue

        gaps_left = best_gaps == GAPS_LEFT
        if best_gaps != GAPS_ALONE and not best_by_key and kinds[best_f] == BINNED:
            # Bins chose the column and roughly where; in the two bins beside the cut, keys decide.
            n_near = gather_beside(
                table, best_f, by_row, words, start, size, best_last, best_first, gaps_left, codes, pairs
            )
            sort_pairs(pairs, spare, n_near, count)
            best_last, best_first = refine_numbers(
                pairs, n_near, codes, parts, start, size, left, total, whole, min_leaf, entropy
            )
            mark_beside(pairs, n_near, best_last, codes)
        else:
            if best_gaps == GAPS_ALONE:  # every value is below
                best_last = LAST_KEY if best_by_key else LAST_CODE
            mark_left(columns, rows, keys, best_f, best_by_key, by_row, words, start, size, best_last, gaps_left, codes)
            if not best_by_key and best_gaps != GAPS_ALONE:
                best_last = np.int64(table.high[best_f, best_last])
                best_first = np.int64(table.low[best_f, best_first])
        limit = np.inf if best_gaps == GAPS_ALONE else threshold(best_last, best_first, two_keys, two_numbers)
        n_left = move_words(words, start, size, codes, moved)
        move_parts(parts, start, size, codes, moved_parts)
        nodes[node, FEATURE], doubles[node, THRESHOLD] = best_f, limit
        # If a node has no missing values, they go to the larger side, as in scikit-learn.
        nodes[node, MISSING_LEFT] = 2 * n_left > size if best_gaps == NO_GAPS else gaps_left
        if n_open + 2 > len(stack):
            stack = enlarged(stack, 2 * len(stack))
        cut = start + n_left
        for child in range(2):  # the left one is taken first, so that nodes are numbered as in scikit-learn
            stack[n_open, 0] = cut if child == 0 else start
            stack[n_open, 1] = end if child == 0 else cut
            stack[n_open, 2], stack[n_open, 3] = depth + 1, node
            stack[n_open, 4], stack[n_open, 5] = RIGHT if child == 0 else LEFT, n_constant
            n_open += 1
    return nodes, values, n_nodes, deepest
