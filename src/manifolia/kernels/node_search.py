"""What a tree's node needs to examine one column, whatever the target: draw it, read it, sort by it, split by it.

The rows of a tree are in one array of 64-bit words; a node is a contiguous part of it. The word of a row has its number
in the lower half, and above it what the kind of tree needs beside a sorted value.

A node's rows are read as one-byte codes, from the columns while the node is large, and from the rows once it is small:
these then stay in cache for everything below it. They are sorted as *pairs*: code or key above, and below either the
upper half of the row's word or the row's place in the node.

=========  ====================================================================  =========
symbol     meaning                                                               shape
=========  ====================================================================  =========
table      named tuple of codes, keys and what is known of each column
words      upper half and number of each row in the bag, node after node         (n_in,)
order      the columns, those drawn by the present node first                    (d,)
codes      codes of the node's rows in one column                                (size,)
pairs      code or key of each row above, upper half of its word or place below  (size,)
count      room for counting                                                     (256,)
=========  ====================================================================  =========
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.column_codes import MISSING_CODE, MISSING_KEY
from manifolia.kernels.random import mix

#: Up to this size a node's pairs are sorted by insertion, beyond it by counting.
FEW_ROWS = 32
#: Up to this size the keys of a binned column decide, not its bins.
KEY_ROWS = 128
#: Maximum size of a node whose codes are copied before they are counted: they are read again if they lie in few bins.
COPIED = 8192
#: Keys also decide if a node's rows lie in fewer bins than this.
FEW_BINS = 8
_NEAR = 64  # up to this many rows in a bin, insertion sorts what counting has nearly sorted

#: What codes say about a column's values: their bins, their ranks, their ranks except that two values share one, or
#: which of only two values it is, with none missing.
BINNED, EXACT, NEARLY, TWO = range(4)

ROW = np.uint64(0xFFFFFFFF)  # the lower half of a word or of a pair
HALF = np.uint64(32)
#: The last code and the last key that values may have.
LAST_CODE, LAST_KEY = 254, 0xFFFFFFFE
#: Where a split sends missing values: there are none, they go left, only they go right, they go right with others.
NO_GAPS, GAPS_LEFT, GAPS_ALONE, GAPS_RIGHT = range(4)
#: The words of a node, those of scikit-learn's trees; threshold, impurity and weight are doubles.
LEFT, RIGHT, FEATURE, THRESHOLD, IMPURITY, N_ROWS, WEIGHT, MISSING_LEFT = range(8)
NO_CHILD, NO_FEATURE, NO_THRESHOLD = -1, -2, -2.0  # of a leaf, as in scikit-learn
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio
_SIGN = np.uint32(0x80000000)
_BYTE = np.uint64(255)
_FIRST_BYTE, _BYTE_BITS, _N_BYTES = 32, 8, 4  # of the keys in pairs


class Table(NamedTuple):
    """A table in the form that trees are grown from."""

    columns: Any  # (d, n): codes, column by column
    rows: Any  # (n, d): the same, row by row
    keys: Any  # (n, d): keys; of no rows if the codes of every column are ranks
    n_codes: Any  # (d,): codes of each column, without that of missing values
    kinds: Any  # (d,): what codes say about values: BINNED, EXACT, NEARLY or TWO
    low: Any  # (d, 256): least key of each code
    high: Any  # (d, 256): greatest key of each code


class Limits(NamedTuple):
    """When a node is split, and how many columns it examines."""

    n_tried: int
    min_split: int
    min_leaf: int
    max_depth: int
    by_row: int  # nodes of up to this many rows are read row by row


@kernel()
def draw_column(order, n_drawn, state):
    """Draw one of the columns that a node has not drawn, and move it to those that it has.

    `state` holds random bits of the node: its draws are SplitMix64's sequence from there.
    """
    drawn_bits = mix(state + np.uint64(n_drawn) * _GOLDEN) >> HALF
    other = n_drawn + np.int64((drawn_bits * np.uint64(len(order) - n_drawn)) >> HALF)
    drawn = order[other]
    order[other] = order[n_drawn]
    order[n_drawn] = drawn
    return drawn


@kernel()
def gather_codes(columns, rows, f, by_row, words, start, size, codes):
    """Read the codes of a node's rows in column f; return whether they differ."""
    differ = np.uint8(0)
    if by_row:
        first = rows[words[start] & ROW, f]
        for i in range(size):
            code = rows[words[start + i] & ROW, f]
            codes[i] = code
            differ |= code ^ first
    else:
        column = columns[f]
        first = column[words[start] & ROW]
        for i in range(size):
            code = column[words[start + i] & ROW]
            codes[i] = code
            differ |= code ^ first
    return differ != 0


@kernel()
def _insert(pairs, n):
    for i in range(1, n):
        pair = pairs[i]
        j = i - 1
        while j >= 0 and pairs[j] > pair:
            pairs[j + 1] = pairs[j]
            j -= 1
        pairs[j + 1] = pair


@kernel()
def _places(codes, size, n_codes, count):
    """Find where the rows of each code begin; return how many codes of values there are, and the most rows of one."""
    for c in range(n_codes):
        count[c] = 0
    count[MISSING_CODE] = 0
    for i in range(size):
        count[codes[i]] += 1
    at, n_used, most = 0, 0, count[MISSING_CODE]
    for c in range(n_codes):
        n = count[c]
        n_used += n > 0
        most = max(most, n)
        count[c] = at
        at += n
    count[MISSING_CODE] = at
    return n_used, most


@kernel()
def sort_by_code(codes, words, start, size, n_codes, by_place, pairs, count):
    """Sort a node's rows by their codes; return how many codes hold values, or at least that there are enough."""
    if size <= FEW_ROWS:
        for i in range(size):
            low = np.uint64(i) if by_place else words[start + i] >> HALF
            pairs[i] = (np.uint64(codes[i]) << HALF) | low
        _insert(pairs, size)
        return FEW_BINS
    n_used, _ = _places(codes, size, n_codes, count)
    for i in range(size):
        code = codes[i]
        low = np.uint64(i) if by_place else words[start + i] >> HALF
        pairs[count[code]] = (np.uint64(code) << HALF) | low
        count[code] += 1
    return n_used


@kernel()
def _sort_bytes(pairs, spare, n, count):
    """Sort pairs by their keys, byte by byte."""
    for b in range(_N_BYTES):
        shift = np.uint64(_FIRST_BYTE + b * _BYTE_BITS)
        for c in range(256):
            count[c] = 0
        for i in range(n):
            count[(pairs[i] >> shift) & _BYTE] += 1
        at = 0
        for c in range(256):
            here = count[c]
            count[c] = at
            at += here
        for i in range(n):
            byte = (pairs[i] >> shift) & _BYTE
            spare[count[byte]] = pairs[i]
            count[byte] += 1
        pairs, spare = spare, pairs  # an even number of times, so that the last pass fills the original array


@kernel()
def sort_by_key(keys, f, codes, words, start, size, n_codes, by_place, pairs, spare, count):
    """Sort a node's rows by their keys in column f; codes nearly sort them first."""
    most = 0
    if size > FEW_ROWS:
        _, most = _places(codes, size, n_codes, count)
    for i in range(size):
        word = words[start + i]
        low = np.uint64(i) if by_place else word >> HALF
        pair = (np.uint64(keys[word & ROW, f]) << HALF) | low
        if size > FEW_ROWS:
            pairs[count[codes[i]]] = pair
            count[codes[i]] += 1
        else:
            pairs[i] = pair
    if most <= _NEAR:
        _insert(pairs, size)
    else:
        _sort_bytes(pairs, spare, size, count)


@kernel()
def gather_beside(table, f, by_row, words, start, size, last, first, gaps_left, marks, pairs):
    """Make pairs of the rows whose codes in column f are `last` or `first`, by key; return how many there are.

    The other rows are marked by whether they go left at every cut between two of these.
    """
    n_near = 0
    for i in range(size):
        row = words[start + i] & ROW
        code = table.rows[row, f] if by_row else table.columns[f, row]
        marks[i] = code < last or (gaps_left and code == MISSING_CODE)
        if code in (last, first):
            pairs[n_near] = (np.uint64(table.keys[row, f]) << HALF) | np.uint64(i)
            n_near += 1
    return n_near


@kernel()
def sort_pairs(pairs, spare, n, count):
    """Sort pairs by their keys."""
    if n <= FEW_ROWS:
        _insert(pairs, n)
    else:
        _sort_bytes(pairs, spare, n, count)


@kernel()
def mark_beside(pairs, n_near, last, marks):
    """Mark the rows beside a cut by whether their keys are at most `last`."""
    for i in range(n_near):
        marks[pairs[i] & ROW] = np.int64(pairs[i] >> HALF) <= last


@kernel()
def count_values(pairs, size, by_key):
    """How many of the sorted pairs are values: missing ones come last."""
    missing = np.uint64(MISSING_KEY) if by_key else np.uint64(MISSING_CODE)
    while size > 0 and pairs[size - 1] >> HALF == missing:
        size -= 1
    return size


@kernel()
def list_used(n_rows, n_codes, used):
    """List the codes that have rows, in order; return how many there are."""
    n_used = 0
    for code in range(n_codes):
        used[n_used] = code
        n_used += n_rows[code] != 0  # without an unpredictable branch
    return n_used


@kernel()
def clear_cells(cells, n_rows, used, n_used):
    """Forget what was counted."""
    used[n_used] = MISSING_CODE
    for u in range(n_used + (n_rows[MISSING_CODE] > 0)):
        code = used[u]
        n_rows[code] = 0
        for k in range(cells.shape[1]):
            cells[code, k] = 0.0


@kernel()
def threshold(last, first, keys, numbers):
    """The number midway between two keys; `numbers` is a view of `keys`, which has room for two of them.

    Halves of single-precision numbers and their sum are exact in double precision, or rounded to between the two.
    """
    for i in range(2):
        key = np.uint32(last if i == 0 else first)
        keys[i] = key ^ _SIGN if key & _SIGN else ~key
    return np.float64(numbers[0]) / 2.0 + np.float64(numbers[1]) / 2.0


@kernel()
def mark_left(columns, rows, keys, f, by_key, by_row, words, start, size, last, missing_left, marks):
    """Mark the node's rows that go left at a split of column f after the code or key `last`."""
    if by_key:
        for i in range(size):
            key = keys[words[start + i] & ROW, f]
            marks[i] = key <= last or (missing_left and key == MISSING_KEY)
    else:
        for i in range(size):
            row = words[start + i] & ROW
            code = rows[row, f] if by_row else columns[f, row]
            marks[i] = code <= last or (missing_left and code == MISSING_CODE)


@kernel()
def move_words(words, start, size, marks, moved):
    """Move the marked rows of a node before the others, keeping the order of both; return how many are marked."""
    n_left, n_right = 0, 0
    for i in range(size):
        word = words[start + i]
        words[start + n_left] = word
        moved[n_right] = word
        stays = np.int64(marks[i])
        n_left += stays
        n_right += 1 - stays
    for i in range(n_right):
        words[start + n_left + i] = moved[i]
    return n_left


@kernel()
def enlarged(array, capacity):
    """Copy an array into one with more rows."""
    out = np.empty((capacity, array.shape[1]), array.dtype)
    for i in range(len(array)):
        for j in range(array.shape[1]):
            out[i, j] = array[i, j]
    return out
