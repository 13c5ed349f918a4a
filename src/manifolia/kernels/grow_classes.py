"""One tree of classes, grown from codes.

A split into sides of weights W_l and W_r, of which L_k and R_k are in class k, is better the larger

    Σ_k L_k² / W_l + Σ_k R_k² / W_r,

which orders splits as the mean Gini impurity of the sides does (Breiman et al. 1984, section 4.3). The sums are updated
as rows move from the right to the left, so that a candidate costs a few operations, whatever the number of classes.
Large nodes are first counted by codes and classes. Missing values are tried on the right and on the left.

The word of a row (see ``node_search``) has its class and, above it, how often it is in the bag, 16 bits each. Sums are
whole numbers if rows have no weights, so that they do not depend on the order of the rows.

==========  ==========================================================================  ===============
symbol      meaning                                                                     shape
==========  ==========================================================================  ===============
weight      weights of rows, which multiply the counts; of no rows: all are 1           (n,) or (0,)
left        weight of each class on the left                                            (n_padded,)
total       weight of each class in the node                                            (n_padded,)
whole       weight of the node                                                          scalar
best        the largest value of the formula so far                                     scalar
cells       weight of each class in each code                                           (256, n_padded)
n_rows      rows of each code                                                           (256,)
nodes       left and right child, column, threshold, impurity, rows, weight, whether    (capacity, 8)
            missing values go left: words, of which three are doubles
values      share of each class                                                         (capacity, K)
==========  ==========================================================================  ===============
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import ZERO, kernel
from manifolia.kernels.column_codes import MISSING_CODE
from manifolia.kernels.node_search import (
    BINNED,
    COPIED,
    FEATURE,
    FEW_BINS,
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

_CLASS = np.uint64(0xFFFF)
_COUNT_SHIFT = np.uint64(48)  # of the count in a word
_PAIR_SHIFT = np.uint64(16)  # and in the lower half of a pair
# Counting by codes and classes costs about as much as sorting if there are this many times as many rows.
_CELLS_PER_ROW, _CELLS_BASE = 10, 6
_LANES = 4  # classes that are moved side by side; arrays over classes are padded to a multiple
_TINY = 8  # up to this many rows sorting is faster, whatever the codes
_PURE = 1.0 - 1e-12  # of the largest value that there is: both sides have one class


@kernel()
def _class_and_weight(pair, words, start, weight):
    """The class of a sorted row and its weight in the bag."""
    if len(weight):
        word = words[np.uint64(start) + (pair & ROW)]
        return (word >> HALF) & _CLASS, np.float64(np.int64(word >> _COUNT_SHIFT)) * weight[word & ROW]
    return pair & _CLASS, np.float64(np.int64((pair & ROW) >> _PAIR_SHIFT))


@kernel()
def scan_classes(pairs, n_values, words, start, size, weight, left, total, whole, square, best, min_leaf):
    """Find the best split between sorted pairs, if any is better: its value, the codes or keys beside it, the gaps."""
    last, first, gaps = np.uint64(0), np.uint64(0), -1
    n_gaps = size - n_values
    for side in range(2 if n_gaps > 0 else 1):
        on_left, on_right, w_left, n_left = 0.0, square, 0.0, 0
        for k in range(len(left)):
            left[k] = 0.0
        if side == 1:
            n_left = n_gaps
            for i in range(n_values, size):
                k, w = _class_and_weight(pairs[i], words, start, weight)
                on_left += w * (2.0 * left[k] + w)
                on_right -= w * (2.0 * (total[k] - left[k]) - w)
                left[k] += w
                w_left += w
        before = pairs[0] >> HALF
        for i in range(n_values):
            pair = pairs[i]
            now = pair >> HALF
            if now != before:
                w_right = whole - w_left
                gain, unit = on_left * w_right + on_right * w_left, w_left * w_right
                if gain > best * unit and n_left + i >= min_leaf and size - n_left - i >= min_leaf:
                    best = gain / unit
                    last, first, gaps = before, now, side
                before = now
            k, w = _class_and_weight(pair, words, start, weight)
            here = left[k]
            on_left += w * (2.0 * here + w)
            on_right -= w * (2.0 * (total[k] - here) - w)
            left[k] = here + w
            w_left += w
        if side == 0 and n_gaps > 0:
            w_right = whole - w_left
            gain, unit = on_left * w_right + on_right * w_left, w_left * w_right
            if gain > best * unit and n_values >= min_leaf and n_gaps >= min_leaf:
                best = gain / unit
                gaps = GAPS_ALONE
    if gaps == NO_GAPS and n_gaps > 0:
        gaps = GAPS_RIGHT
    return best, np.int64(last), np.int64(first), gaps


@kernel()
def count_classes(column, codes, n_copied, words, start, size, weight, cells, n_rows):
    """Add up the weight of each class in each code; codes are read from the column unless they are copied."""
    for i in range(size):
        word = words[start + i]
        code = np.uint64(codes[i]) if n_copied else np.uint64(column[word & ROW])
        w = np.float64(np.int64(word >> _COUNT_SHIFT))
        if len(weight):
            w *= weight[word & ROW]
        cells[code, (word >> HALF) & _CLASS] += w
        n_rows[code] += 1


@kernel(fast=True)
def _move_code(cells, code, left, total):
    """Move the rows of a code to the left; return by how much Σ L², Σ T L and the weight grow."""
    # Four sums side by side: the compiler's own loops suit many more classes than there usually are.
    a0 = a1 = a2 = a3 = 0.0
    t0 = t1 = t2 = t3 = 0.0
    w0 = w1 = w2 = w3 = 0.0
    for k in range(0, len(left), _LANES):
        c0, c1, c2, c3 = cells[code, k], cells[code, k + 1], cells[code, k + 2], cells[code, k + 3]
        l0, l1, l2, l3 = left[k], left[k + 1], left[k + 2], left[k + 3]
        a0 += c0 * (l0 + l0 + c0)
        a1 += c1 * (l1 + l1 + c1)
        a2 += c2 * (l2 + l2 + c2)
        a3 += c3 * (l3 + l3 + c3)
        t0 += c0 * total[k]
        t1 += c1 * total[k + 1]
        t2 += c2 * total[k + 2]
        t3 += c3 * total[k + 3]
        w0 += c0
        w1 += c1
        w2 += c2
        w3 += c3
        left[k], left[k + 1], left[k + 2], left[k + 3] = l0 + c0, l1 + c1, l2 + c2, l3 + c3
    return (a0 + a1) + (a2 + a3), (t0 + t1) + (t2 + t3), (w0 + w1) + (w2 + w3)


@kernel()
def scan_cells(cells, n_rows, used, n_used, size, left, total, whole, square, best, min_leaf):
    """Find the best split between codes that are in use, as `scan_classes` does between rows."""
    last, first, gaps = 0, 0, -1
    n_gaps = n_rows[MISSING_CODE]
    for side in range(2 if n_gaps > 0 else 1):
        for k in range(len(left)):
            left[k] = 0.0
        on_left, shared, w_left, n_left, before = 0.0, 0.0, 0.0, 0, -1
        # Missing values are the first to go left, or the last that do not.
        for u in range(-side, n_used + (n_gaps > 0) * (1 - side)):
            code = np.int64(used[u]) if 0 <= u < n_used else np.int64(MISSING_CODE)
            if before >= 0 and n_left >= min_leaf and size - n_left >= min_leaf:
                w_right = whole - w_left
                # Σ R² = Σ (T − L)²
                gain, unit = on_left * w_right + (square - 2.0 * shared + on_left) * w_left, w_left * w_right
                if gain > best * unit:
                    best = gain / unit
                    last, first, gaps = before, code, side if u < n_used else GAPS_ALONE
            more, both, w = _move_code(cells, code, left, total)
            on_left += more
            shared += both
            w_left += w
            n_left += n_rows[code]
            before = code if u >= 0 else -1
    if gaps == NO_GAPS and n_gaps > 0:
        gaps = GAPS_RIGHT
    return best, last, first, gaps


@kernel()
def refine_classes(pairs, n_near, marks, words, start, size, weight, left, total, whole, min_leaf):
    """Find the best cut between sorted pairs of keys and places, marked rows to its left; return the keys beside it."""
    for k in range(len(left)):
        left[k] = 0.0
    n_left = 0
    for i in range(size):
        word = words[start + i]
        w = np.float64(np.int64(word >> _COUNT_SHIFT)) * np.float64(marks[i])
        if len(weight):
            w *= weight[word & ROW]
        left[(word >> HALF) & _CLASS] += w
        n_left += np.int64(marks[i])
    on_left, on_right, w_left = 0.0, 0.0, 0.0
    for k in range(len(left)):
        on_left += left[k] * left[k]
        on_right += (total[k] - left[k]) * (total[k] - left[k])
        w_left += left[k]
    best, last, first, before = -1.0, np.uint64(0), np.uint64(0), pairs[0] >> HALF
    for i in range(n_near):
        now, word = pairs[i] >> HALF, words[np.uint64(start) + (pairs[i] & ROW)]
        if now != before:
            w_right = whole - w_left
            gain, unit = on_left * w_right + on_right * w_left, w_left * w_right
            if gain > best * unit and n_left + i >= min_leaf and size - n_left - i >= min_leaf:
                best, last, first = gain / unit, before, now
            before = now
        k, w = (word >> HALF) & _CLASS, np.float64(np.int64(word >> _COUNT_SHIFT))
        if len(weight):
            w *= weight[word & ROW]
        here = left[k]
        on_left += w * (2.0 * here + w)
        on_right -= w * (2.0 * (total[k] - here) - w)
        left[k] = here + w
        w_left += w
    return np.int64(last), np.int64(first)


@kernel()
def class_words(bag, classes, weight):
    """Make the words of the rows that are in a bag and weigh something."""
    n_in = 0
    for i in range(len(bag)):
        n_in += bag[i] > 0 and (len(weight) == 0 or weight[i] > 0.0)
    words = np.empty(n_in, np.uint64)
    at = 0
    for i in range(len(bag)):
        if bag[i] > 0 and (len(weight) == 0 or weight[i] > 0.0):
            words[at] = (np.uint64(bag[i]) << _COUNT_SHIFT) | (np.uint64(classes[i]) << HALF) | np.uint64(i)
            at += 1
    return words


@kernel()
def grow_classes(table, classes, bag, weight, n_classes, limits, seed, tree, nodes, values):
    """Grow a tree; return its nodes and values, in the arrays given or in larger ones, their number and the depth."""
    columns, rows, keys, n_codes, kinds = table.columns, table.rows, table.keys, table.n_codes, table.kinds
    d, by_place, min_leaf = len(columns), len(weight) > 0, limits.min_leaf
    words = class_words(bag, classes, weight)
    n_in = len(words)
    key = bits(seed, tree, ZERO)
    n_padded = (n_classes + _LANES - 1) // _LANES * _LANES
    left, total = np.zeros(n_padded), np.zeros(n_padded)
    cells, n_rows = np.zeros((256, n_padded)), np.zeros(256, np.int64)
    used, count = np.empty(257, np.int64), np.empty(256, np.int64)
    codes = np.empty(n_in, np.uint8)
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
        for k in range(n_classes):
            total[k] = 0.0
        for i in range(start, end):
            word = words[i]
            w = np.float64(np.int64(word >> _COUNT_SHIFT))
            if by_place:
                w *= weight[word & ROW]
            total[(word >> HALF) & _CLASS] += w
        whole, n_present, square = 0.0, 0, 0.0
        for k in range(n_classes):
            whole += total[k]
            n_present += total[k] > 0.0
            square += total[k] * total[k]
        if n_nodes == len(nodes):
            nodes, values = enlarged(nodes, 2 * n_nodes), enlarged(values, 2 * n_nodes)
            doubles = nodes.view(np.float64)
        node = n_nodes
        n_nodes += 1
        if parent >= 0:
            nodes[parent, side] = node
        nodes[node, LEFT], nodes[node, RIGHT], nodes[node, FEATURE] = NO_CHILD, NO_CHILD, NO_FEATURE
        doubles[node, THRESHOLD], nodes[node, N_ROWS], nodes[node, MISSING_LEFT] = NO_THRESHOLD, size, 0
        doubles[node, IMPURITY], doubles[node, WEIGHT] = max(0.0, 1.0 - square / (whole * whole)), whole
        for k in range(n_classes):
            values[node, k] = total[k] / whole
        if n_present < 2 or size < limits.min_split or size < 2 * min_leaf or depth >= limits.max_depth:
            continue

        best, best_f, best_last, best_first, best_gaps, best_by_key = -1.0, -1, 0, 0, 0, False
        n_constant, n_drawn, n_looked = n_known, ZERO, 0
        state = bits(key, node, ZERO)
        by_row, copied = size <= limits.by_row, size <= COPIED
        while n_drawn < d and (n_drawn < limits.n_tried or n_looked == 0):
            f = draw_column(order, n_drawn, state)
            n_drawn += 1
            if place[f] < n_known and constant[place[f]] == f:
                continue
            m, differs, by_key, counted = np.int64(n_codes[f]), True, False, False
            if copied:
                differs = gather_codes(columns, rows, f, by_row, words, start, size, codes)
            kind = kinds[f]
            if kind in (BINNED, NEARLY):
                by_key = (kind == BINNED and size <= KEY_ROWS) or not differs
                differs = differs or codes[0] != MISSING_CODE
            value, last, first, gaps = best, 0, 0, -1
            if differs and not by_key and size > _TINY and _CELLS_PER_ROW * size >= m * (_CELLS_BASE + n_classes):
                count_classes(columns[f], codes, copied, words, start, size, weight, cells, n_rows)
                n_used = list_used(n_rows, m, used)
                n_gaps = n_rows[MISSING_CODE]
                differs = n_used > 1 or (n_used == 1 and (n_gaps > 0 or kind in (BINNED, NEARLY)))
                by_key = (kind == BINNED and n_used < FEW_BINS) or (kind == NEARLY and n_used == 1 and n_gaps == 0)
                if differs and not by_key:
                    value, last, first, gaps = scan_cells(
                        cells, n_rows, used, n_used, size, left, total, whole, square, best, min_leaf
                    )
                    counted = True
                clear_cells(cells, n_rows, used, n_used)
            if differs and not counted:
                if not copied:
                    gather_codes(columns, rows, f, by_row, words, start, size, codes)
                if not by_key:
                    n_used = sort_by_code(codes, words, start, size, m, by_place, pairs, count)
                    alike = pairs[0] >> HALF == pairs[size - 1] >> HALF
                    by_key = (kind == BINNED and n_used < FEW_BINS) or (kind == NEARLY and alike)
                if by_key:
                    sort_by_key(keys, f, codes, words, start, size, m, by_place, pairs, spare, count)
                differs = pairs[0] >> HALF != pairs[size - 1] >> HALF
                if differs:
                    n_values = count_values(pairs, size, by_key)
                    value, last, first, gaps = scan_classes(
                        pairs, n_values, words, start, size, weight, left, total, whole, square, best, min_leaf
                    )
            if not differs:
                constant[n_constant], place[f] = f, n_constant
                n_constant += 1
                continue
            n_looked += 1
            if gaps >= 0:
                best, best_f, best_last, best_first, best_gaps, best_by_key = value, f, last, first, gaps, by_key
                if best >= whole * _PURE:
                    break  # no split is better; the first of equals is kept
        if best_f < 0:
            continue

        gaps_left = best_gaps == GAPS_LEFT
        if best_gaps != GAPS_ALONE and not best_by_key and kinds[best_f] == BINNED:
            # Bins chose the column and roughly where; in the two bins beside the cut, keys decide.
            n_near = gather_beside(
                table, best_f, by_row, words, start, size, best_last, best_first, gaps_left, codes, pairs
            )
            sort_pairs(pairs, spare, n_near, count)
            best_last, best_first = refine_classes(
                pairs, n_near, codes, words, start, size, weight, left, total, whole, min_leaf
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
