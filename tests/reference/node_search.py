"""What a node does with one column, and the search for a split, as one would do them by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reference.column_codes import MISSING_CODE, MISSING_KEY, number_of
from reference.random import mix

HALF, ROW = 32, 2**32 - 1
FEW_ROWS, FEW_BINS, KEY_ROWS = 32, 8, 128
GOLDEN = 0x9E3779B97F4A7C15
NO_GAPS, GAPS_LEFT, GAPS_ALONE, GAPS_RIGHT = range(4)


def entropy_of(sums, weight):
    """Weight times entropy, summed over the outputs whose classes the sums are of."""
    shares = sums[sums > 0] / weight
    return -weight * (shares * np.log(shares)).sum()


def split_gain(left, w_left, right, w_right, entropy=None):
    """What a split is worth, from the sums and weights of its sides, times a unit: squares, or weight less entropy."""
    if entropy is None:
        return (left**2).sum() * w_right + (right**2).sum() * w_left, w_left * w_right
    whole = w_left + w_right
    coarse = whole * 2.0**12  # last bits of logarithms decide nothing
    return (whole - (entropy_of(left, w_left) + entropy_of(right, w_right)) / entropy.most + coarse) - coarse, 1.0


def best_split(cells, gap, best, min_leaf, entropy=None):
    """Try every split between cells (value, rows, weight, sums), missing ones (rows, weight, sums) on either side.

    A split counts if it is better than `best` and than all before it; returned are its value, the values beside it and
    where missing ones go, −1 if none is better.
    """
    none = (0, 0.0, np.zeros_like(cells[0][3]) if cells else 0.0)
    gap = none if gap is None else gap
    chosen = 0, 0, -1

    def collect(parts):
        return tuple(sum((part[i] for part in parts), start=none[i]) for i in range(3))

    tries = []
    for missing_left in (False, True) if gap[0] else (False,):
        for cut in range(1, len(cells) + (bool(gap[0]) and not missing_left)):
            sides = [cell[1:] for cell in cells[:cut]], [cell[1:] for cell in cells[cut:]]
            sides[0 if missing_left else 1].append(gap)
            last, first = cells[cut - 1][0], cells[cut][0] if cut < len(cells) else None
            if cut == len(cells):
                where = GAPS_ALONE
            elif not gap[0]:
                where = NO_GAPS
            else:
                where = GAPS_LEFT if missing_left else GAPS_RIGHT
            tries.append((collect(sides[0]), collect(sides[1]), last, first, where))
    for left, right, last, first, where in tries:
        if left[0] < min_leaf or right[0] < min_leaf:
            continue
        gain, unit = split_gain(left[2], left[1], right[2], right[1], entropy)
        if gain > best * unit:
            best, chosen = gain / unit, (last, first, where)
    return best, *chosen


def gather_cells(values, missing, weights, outputs):
    """Put rows of one value together: what `best_split` takes."""
    cells = []
    for value in sorted(set(values[~missing].tolist())):
        rows = (values == value) & ~missing
        cells.append((value, int(rows.sum()), weights[rows].sum(), (weights[rows, None] * outputs[rows]).sum(axis=0)))
    gap = None
    if missing.any():
        sums = (weights[missing, None] * outputs[missing]).sum(axis=0)
        gap = int(missing.sum()), weights[missing].sum(), sums
    return cells, gap


def draw_column(order, n_drawn, state):
    drawn = mix((int(state) + n_drawn * GOLDEN) % 2**64) >> HALF
    other = n_drawn + (drawn * (len(order) - n_drawn) >> HALF)
    order[n_drawn], order[other] = order[other], order[n_drawn]
    return order[n_drawn]


def rows_of(words, start, size):
    return [int(word) & ROW for word in words[start : start + size]]


def gather_codes(columns, rows, f, by_row, words, start, size, codes):
    codes[:size] = columns[f][rows_of(words, start, size)]
    return len(set(codes[:size].tolist())) > 1


def _sorted_pairs(above, words, start, size, by_place, pairs, *, whole):
    made = [(int(above[i]) << HALF) | (i if by_place else int(words[start + i]) >> HALF) for i in range(size)]
    # By insertion whole pairs are in order; by counting those of one code keep the order of the rows.
    pairs[:size] = sorted(made) if whole else sorted(made, key=lambda pair: pair >> HALF)


def sort_by_code(codes, words, start, size, n_codes, by_place, pairs, count):
    _sorted_pairs(codes, words, start, size, by_place, pairs, whole=size <= FEW_ROWS)
    known = {int(code) for code in codes[:size] if code != MISSING_CODE}
    return FEW_BINS if size <= FEW_ROWS else len(known)


def sort_by_key(keys, f, codes, words, start, size, n_codes, by_place, pairs, spare, count):
    above = [keys[row, f] for row in rows_of(words, start, size)]
    _sorted_pairs(above, words, start, size, by_place, pairs, whole=True)


def count_values(pairs, size, by_key):
    missing = MISSING_KEY if by_key else MISSING_CODE
    return sum(int(pair) >> HALF != missing for pair in pairs[:size])


def list_used(n_rows, n_codes, used):
    found = [code for code in range(n_codes) if n_rows[code]]
    used[: len(found)] = found
    return len(found)


def clear_cells(cells, n_rows, used, n_used):
    cells[...] = 0
    n_rows[...] = 0


def threshold(last, first, keys, numbers):
    return (number_of(last) + number_of(first)) / 2


def mark_left(columns, rows, keys, f, by_key, by_row, words, start, size, last, missing_left, marks):
    for i, row in enumerate(rows_of(words, start, size)):
        value, missing = (keys[row, f], MISSING_KEY) if by_key else (columns[f, row], MISSING_CODE)
        marks[i] = missing_left if value == missing else value <= last


def move_words(words, start, size, marks, moved):
    own = words[start : start + size].copy()
    flags = marks[:size].astype(bool)
    words[start : start + size] = np.concatenate([own[flags], own[~flags]])
    return int(flags.sum())


def enlarged(array, capacity):
    out = np.empty((capacity, array.shape[1]), array.dtype)
    out[: len(array)] = array
    return out


def gather_beside(table, f, by_row, words, start, size, last, first, gaps_left, marks, pairs):
    rows = np.array(rows_of(words, start, size), dtype=np.int64)
    codes = table.columns[f][rows].astype(np.int64)
    marks[:size] = (codes < last) | (gaps_left & (codes == MISSING_CODE))
    near = [int(table.keys[rows[i], f]) << HALF | i for i in range(size) if codes[i] in (last, first)]
    pairs[: len(near)] = near
    return len(near)


def sort_pairs(pairs, spare, n, count):
    pairs[:n] = sorted(pairs[:n].tolist())


def mark_beside(pairs, n_near, last, marks):
    for pair in pairs[:n_near]:
        marks[int(pair) & ROW] = int(pair) >> HALF <= last


def read_beside(pairs, n_near, size):
    """The keys of the rows beside a cut, by their places in the node, and which rows these are."""
    keys, near = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
    for pair in pairs[:n_near]:
        keys[int(pair) & ROW], near[int(pair) & ROW] = int(pair) >> HALF, True
    return keys, near


def best_cut(keys, near, below, weights, outputs, min_leaf, entropy=None):
    """Try every cut between the keys of rows that are near, where those below go left; return the keys beside it."""
    best, chosen = -1.0, (0, 0)
    listed = sorted(set(keys[near].tolist()))
    for last, first in pairwise(listed):
        left = below | (near & (keys <= last))
        if left.sum() < min_leaf or (~left).sum() < min_leaf:
            continue
        sums = [(weights[side, None] * outputs[side]).sum(axis=0) for side in (left, ~left)]
        gain, unit = split_gain(sums[0], weights[left].sum(), sums[1], weights[~left].sum(), entropy)
        if gain > best * unit:
            best, chosen = gain / unit, (last, first)
    return chosen
