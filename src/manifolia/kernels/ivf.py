"""Inverted lists: which members of some lists are nearest to a row.

The members of each list are packed in panels of `WIDTH` as differences from its centre, one coordinate after the other,
so that the inner loop runs over adjacent numbers. With r = x − c and s = q − c,

    ‖q − x‖² = ‖s‖² + (‖r‖² − 2 s·r),

where all three terms are of the size of the distance itself: single precision is enough however far a list lies from
the origin. A score depends on its row and its member alone, so a query gets the same candidates in any batch. Which
lists are nearest to a row is the same question: the centres are the members of one list around the origin.

Scores are not negative, so their bit patterns, read as integers, are in the same order. Score and member go into one
64-bit key, and candidates are sorted by (score, member) at the cost of one comparison.

===========  ====================================================================  =======================
symbol       meaning                                                               shape
===========  ====================================================================  =======================
Q            rows to search for, in the lists' coordinates                         (h, m)
centres      centre of each list; m is even                                        (n_lists, m)
panels       ``panels[p, f, j]``: coordinate f of place p · WIDTH + j              (n_panels, m, WIDTH)
squares      squared lengths of what is in the panels; infinite where no one is    (n_panels, WIDTH)
starts       list l has the panels starts[l] … starts[l + 1] − 1                   (n_lists + 1,)
members      row at each place, −1 where no one is                                 (n_panels · WIDTH,)
visits       list and row of Q, in the order of the lists                          (n_visits, 2)
lists        named tuple of centres, starts, panels, squares and members
own          the row's own number among the members, −1 for a new row              (h,)
keys         score · 2³² + member for the least scores, least first                (h, n_candidates)
counts       how many keys there are                                               (h,)
===========  ====================================================================  =======================
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia.kernels._jit import kernel

#: Members per panel: eight vectors of eight floats, enough independent sums to keep the arithmetic units busy.
WIDTH = 64
#: Coordinates per sweep over a panel.
STEP = 2
#: Rows that are multiplied with a panel at once: each of its numbers is loaded once for four rows. Together with two
#: coordinates per sweep this is the fastest of the shapes tried, at three quarters of the speed of a BLAS product.
_TILE = 4
_SCORE_SHIFT = 32  # a key has the score's bits above the member's number
_FINITE = np.int32(0x7F7FFFFF)  # bits of the largest single-precision number


class Panels(NamedTuple):
    """What `scan_lists` needs to know about the lists."""

    centres: Any  # (n_lists, m): centre of each list
    starts: Any  # (n_lists + 1,): first panel of each list
    panels: Any  # (n_panels, m, WIDTH): members minus their centre
    squares: Any  # (n_panels, WIDTH): squared lengths of those, infinite where no one is
    members: Any  # (n_panels · WIDTH,): row at each place, −1 where no one is


@kernel()
def _dots(tile, panel, out):
    """Fill ``out[t, j]`` with Σ_f tile[t, f] panel[f, j], term after term in the order of f."""
    out0, out1, out2, out3 = out[0], out[1], out[2], out[3]
    for j in range(WIDTH):
        out0[j] = out1[j] = out2[j] = out3[j] = 0.0
    for f in range(0, tile.shape[1], STEP):
        a0, a1, a2, a3 = tile[0, f], tile[1, f], tile[2, f], tile[3, f]
        b0, b1, b2, b3 = tile[0, f + 1], tile[1, f + 1], tile[2, f + 1], tile[3, f + 1]
        first, second = panel[f], panel[f + 1]
        for j in range(WIDTH):
            x = first[j]
            y = second[j]
            out0[j] = (out0[j] + a0 * x) + b0 * y
            out1[j] = (out1[j] + a1 * x) + b1 * y
            out2[j] = (out2[j] + a2 * x) + b2 * y
            out3[j] = (out3[j] + a3 * x) + b3 * y


@kernel()
def _score(dots, squares, base):
    """Turn products into squared distances, in place; what rounding has made negative is 0."""
    for j in range(WIDTH):
        dots[j] = max(base + (squares[j] - np.float32(2.0) * dots[j]), np.float32(0.0))


@kernel()
def _count(bits, limit):
    """Count the scores that are not above a limit, all as bit patterns."""
    hits = np.int32(0)
    for j in range(WIDTH):
        hits += np.int32(bits[j] <= limit)
    return hits


@kernel()
def _insert(key, keys, count):
    """Insert a key among the smallest ones so far; return the new count."""
    p = count
    if count == keys.shape[0]:
        if key > keys[count - 1]:
            return count
        p = count - 1
    while p > 0 and keys[p - 1] > key:
        keys[p] = keys[p - 1]
        p -= 1
    keys[p] = key
    return min(count + 1, keys.shape[0])


@kernel()
def scan_lists(Q, visits, lists, own, keys, counts):
    """Fill ``keys[r]`` with the members of row r's lists that have the smallest scores, smallest first.

    All rows that probe a list visit it before the next list is visited: its members stay in the core's cache.
    """
    m = Q.shape[1]
    most = keys.shape[1]
    tile = np.zeros((_TILE, m), np.float32)
    bases = np.zeros(_TILE, np.float32)
    dots = np.empty((_TILE, WIDTH), np.float32)
    bits = dots.view(np.int32)
    for r in range(Q.shape[0]):
        counts[r] = 0
    start = 0
    while start < visits.shape[0]:
        number = visits[start, 0]
        stop = start + 1
        while stop < visits.shape[0] and visits[stop, 0] == number:
            stop += 1
        for first in range(start, stop, _TILE):
            size = min(_TILE, stop - first)
            for t in range(size):
                bases[t] = 0.0
                for f in range(m):
                    tile[t, f] = Q[visits[first + t, 1], f] - lists.centres[number, f]
                    bases[t] += tile[t, f] * tile[t, f]
            for p in range(lists.starts[number], lists.starts[number + 1]):
                _dots(tile, lists.panels[p], dots)
                for t in range(size):
                    r = visits[first + t, 1]
                    limit = np.int32(keys[r, most - 1] >> _SCORE_SHIFT) if counts[r] == most else _FINITE
                    _score(dots[t], lists.squares[p], bases[t])
                    if _count(bits[t], limit) == 0:
                        continue
                    for j in range(WIDTH):
                        if bits[t, j] <= limit:
                            member = lists.members[p * WIDTH + j]
                            if member != own[r]:
                                key = (np.int64(bits[t, j]) << _SCORE_SHIFT) | member
                                counts[r] = _insert(key, keys[r], counts[r])
        start = stop
