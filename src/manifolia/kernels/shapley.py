"""Shapley values of a weighted forest, interventional: a row's values against those of background rows.

A coalition of players keeps the row's values and takes a background row's for the others. Along the path to a leaf each
player is bound by its tests: the row meets them all or not, the background row meets them all or not. A leaf is reached
by the coalitions that hold all players whose tests only the row meets (p of them) and none whose tests only the
background row meets (q of them), so that, with v the leaf's value, ::

    φ of each of the p:  +v (p − 1)! q! / (p + q)!        φ of each of the q:  −v p! (q − 1)! / (p + q)!

and 0 for all others (Lundberg et al. 2020, Algorithm 3). Both depend only on two patterns: the players on the path
whose tests the row meets, and those whose tests the background row meets. Many rows have the same pattern at a leaf,
and so do many background rows: each pair of patterns that together meet all tests is worked out once for all of them.
Trees and leaves are added in order, and a row's values are made only from its own pattern, so that nothing depends on
threads or on blocks.

==============  ===========================================================================  ======================
symbol          meaning                                                                      shape
==============  ===========================================================================  ======================
T, N, L         trees, nodes, leaves of all trees
n, m, d         rows, background rows, columns
tests … rank    a forest as in `manifolia.kernels.tree_walk`; ``rank``: id of a leaf         (N) int32
player          which player a column belongs to                                             (d)
odds            p! q! / (p + q + 1)!                                                         (P, P), P > p, q
met, met_by     players on the way, whose tests a row and a background row meet, as bits     (levels, words, n or m)
weights         what each tree counts for each row                                           (n, T)
leaf            leaf id of each row                                                          (T, n)
out             Shapley values                                                               (n, players, outputs)
==============  ===========================================================================  ======================

References
----------
.. [1] S. M. Lundberg et al., "From local explanations to global understanding with explainable AI for trees", Nature
   Machine Intelligence 2, 2020.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia.kernels._jit import kernel
from manifolia.kernels.forest import _BIT_OF, _DE_BRUIJN, _H01, _M1, _M2, _M4, _NO_SAY, _S1, _S2, _S4, _S56

_ONE, _S58, _S63, _NONE, _MIX = np.uint64(1), np.uint64(58), np.uint64(63), np.uint64(0), np.uint64(0x9E3779B97F4A7C15)
_S32 = np.uint64(32)
#: For up to this many pairs of rows, every node checks whether any of them can still meet all tests.
_FEW_PAIRS = 1024


class Forest(NamedTuple):
    """The nodes of all trees."""

    tests: np.ndarray
    limits: np.ndarray
    missing_left: np.ndarray
    roots: np.ndarray
    rank: np.ndarray
    most: np.ndarray  # (2,): nodes on the longest path down, both ends included; players


class Exchange(NamedTuple):
    """Rows, and the background rows with which their values are exchanged."""

    columns: np.ndarray  # (d, n) float32: the rows, a column's values side by side
    background: np.ndarray  # (d, m) float32
    player: np.ndarray
    odds: np.ndarray


class _Way(NamedTuple):
    """The path to a node, and the patterns at a leaf."""

    met: np.ndarray
    met_by: np.ndarray
    node: np.ndarray  # (levels,): the nodes on the path
    stage: np.ndarray  # (levels,): children that were seen
    added: np.ndarray  # (levels,): the player that the path to a node added, −1: none
    state: np.ndarray  # (2,): level, players on the path
    place: np.ndarray  # (players,): bit of a player, −1: not on the path
    players: np.ndarray  # (levels,): players on the path, by bit
    pattern: np.ndarray  # (n,): the pattern of each row, numbered by first occurrence; −1: it is not asked
    first: np.ndarray  # (n,): the row in which a pattern first occurs
    other: np.ndarray  # (m,): the same for background rows
    other_first: np.ndarray
    other_count: np.ndarray  # (m,): how many have it
    other_p: np.ndarray  # (m,): players whose tests they do not meet
    slots: np.ndarray  # a power of 2: a hash table of patterns
    pulls: np.ndarray  # (n, levels): for each pattern of rows, what a unit of the leaf's value gives to each player
    moves: np.ndarray  # (n,): whether it gives anything


@kernel()
def _start(forest, exchange):
    """Allocate memory for the path down."""
    n, m = exchange.columns.shape[1], exchange.background.shape[1]
    levels, n_players = forest.most[0] + 1, forest.most[1]
    words = (min(levels, n_players) + 63) >> 6
    n_slots = 4
    while n_slots < 2 * max(n, m):
        n_slots *= 2
    return _Way(
        np.zeros((levels, words, n), dtype=np.uint64),
        np.zeros((levels, words, m), dtype=np.uint64),
        np.empty(levels, dtype=np.int64),
        np.empty(levels, dtype=np.int64),
        np.full(levels, -1),
        np.zeros(2, dtype=np.int64),
        np.full(n_players, -1),
        np.empty(levels, dtype=np.int64),
        np.full(n, -1),
        np.empty(n, dtype=np.int64),
        np.full(m, -1),
        np.empty(m, dtype=np.int64),
        np.empty(m),
        np.empty(m, dtype=np.int64),
        np.full(n_slots, -1),
        np.empty((n, levels)),
        np.zeros(n, dtype=np.bool_),
    )


@kernel()
def _number_of_bits(x):
    x = x - ((x >> _S1) & _M1)
    x = (x & _M2) + ((x >> _S2) & _M2)
    x = (x + (x >> _S4)) & _M4
    return np.int64((x * _H01) >> _S56)


@kernel()
def _test(values, limit, missing, goes_left, place, before, after):
    """Record which rows meet a test of the player at a bit, if they met its earlier tests (or it has none)."""
    for word in range(before.shape[0]):
        if word != place >> 6:
            for i in range(before.shape[1]):
                after[word, i] = before[word, i]
    old, new, bit = before[place >> 6], after[place >> 6], _ONE << np.uint64(place & 63)
    for i in range(values.shape[0]):
        x = values[i]
        fails = ((x <= limit) | ((x != x) & missing)) != goes_left
        new[i] = old[i] & ~(bit * np.uint64(fails))


@kernel()
def _is_met(met, met_by, n_players):
    """Whether some row and some background row together meet all tests."""
    for i in range(met.shape[1]):
        for b in range(met_by.shape[1]):
            missing = 0
            for word in range(met.shape[0]):
                missing += _number_of_bits(met[word, i] | met_by[word, b])
            if missing == n_players:
                return True
    return False


@kernel()
def _next_leaf(forest, exchange, way):
    """Move on to the next leaf that can be reached, depth first; return its node, or −1 at the end of the tree."""
    level = way.state[0]
    while level >= 0:
        node = way.node[level]
        if forest.tests[node, 0] < 0 or way.stage[level] == 2:
            if way.added[level] >= 0:
                way.place[way.added[level]] = -1
                way.state[1] -= 1
            level -= 1
            continue
        goes_left = way.stage[level] == 0
        way.stage[level] += 1
        f = forest.tests[node, 0]
        own = exchange.player[f]
        place = way.place[own]
        way.added[level + 1] = -1
        if place < 0:
            place = way.state[1]
            way.place[own], way.players[place], way.added[level + 1] = place, own, own
            way.state[1] += 1
            bit, word = _ONE << np.uint64(place & 63), place >> 6
            for i in range(way.met.shape[2]):  # a player without tests meets them all
                way.met[level, word, i] |= bit
            for b in range(way.met_by.shape[2]):
                way.met_by[level, word, b] |= bit
        limit, missing = forest.limits[node, 1], forest.missing_left[node]
        _test(exchange.columns[f], limit, missing, goes_left, place, way.met[level], way.met[level + 1])
        _test(exchange.background[f], limit, missing, goes_left, place, way.met_by[level], way.met_by[level + 1])
        level += 1
        way.node[level], way.stage[level] = forest.tests[node, 2 if goes_left else 3], 0
        if way.met.shape[2] * way.met_by.shape[2] <= _FEW_PAIRS and not _is_met(
            way.met[level], way.met_by[level], way.state[1]
        ):
            way.stage[level] = 2
        elif forest.tests[way.node[level], 0] < 0:
            way.state[0] = level
            return way.node[level]
    return -1


@kernel()
def _number_patterns(met, slots, pattern, first):
    """Number the patterns of rows that are asked, by first occurrence; return how many there are."""
    n_found, mask = 0, np.uint64(slots.shape[0] - 1)
    for at in range(slots.shape[0]):
        slots[at] = -1
    for i in range(met.shape[1]):
        if pattern[i] < 0:
            continue
        h = _NONE
        for word in range(met.shape[0]):
            h = (h ^ met[word, i]) * _MIX
            h ^= h >> _S32
        at = h & mask
        while slots[at] >= 0:
            same = True
            for word in range(met.shape[0]):
                same &= met[word, first[slots[at]]] == met[word, i]
            if same:
                break
            at = (at + _ONE) & mask
        if slots[at] < 0:
            slots[at] = n_found
            first[n_found] = i
            n_found += 1
        pattern[i] = slots[at]
    return n_found


@kernel()
def _share_out(exchange, way):
    """Work out, for each pattern of rows at a leaf, what a unit of the leaf's value gives to each player.

    Returns the number of players on the path.
    """
    level, n_players = way.state[0], way.state[1]
    met, met_by, words = way.met[level], way.met_by[level], way.met.shape[1]
    for b in range(way.other.shape[0]):
        way.other[b] = 0
    n_others = _number_patterns(met_by, way.slots, way.other, way.other_first)
    for k in range(n_others):
        way.other_count[k] = 0.0
    for b in range(way.other.shape[0]):
        way.other_count[way.other[b]] += 1.0
    for k in range(n_others):
        p = n_players
        for word in range(words):
            p -= _number_of_bits(met_by[word, way.other_first[k]])
        way.other_p[k] = p
    for r in range(_number_patterns(met, way.slots, way.pattern, way.first)):
        i = way.first[r]
        q = n_players
        for word in range(words):
            q -= _number_of_bits(met[word, i])
        pulls = way.pulls[r]
        for place in range(n_players):
            pulls[place] = 0.0
        moves, against = False, 0.0
        for k in range(n_others):
            b = way.other_first[k]
            uncovered = _NONE
            for word in range(words):
                full = _full(n_players, word)
                uncovered |= full & ~(met[word, i] | met_by[word, b])
            if uncovered:
                continue
            p = way.other_p[k]
            if p > 0:
                odds = way.other_count[k] * exchange.odds[p - 1, q]
                for word in range(words):
                    bits = _full(n_players, word) & ~met_by[word, b]
                    while bits:
                        lowest = bits & (~bits + _ONE)
                        pulls[(word << 6) + _BIT_OF[(lowest * _DE_BRUIJN) >> _S58]] += odds
                        bits ^= lowest
            if q > 0:
                against += way.other_count[k] * exchange.odds[p, q - 1]
            moves |= p + q > 0
        if q > 0:
            for place in range(n_players):
                if not (met[place >> 6, i] >> np.uint64(place & 63)) & _ONE:
                    pulls[place] = -against
        way.moves[r] = moves
    return n_players


@kernel()
def _full(n_players, word):
    """Bits of all players in a word."""
    left = n_players - (word << 6)
    return ~_NONE if left >= 64 else (_ONE << np.uint64(left)) - _ONE


@kernel()
def _begin_tree(forest, way, t):
    way.node[0], way.stage[0], way.state[0], way.state[1] = forest.roots[t], 0, 0, 0


@kernel()
def add_effects(forest, exchange, weights, leaf, starts, columns, values, out):
    """Add the Shapley values of a forest whose leaves hold the same values for every row.

    A leaf's entries, starting at ``starts[leaf]``, are outputs (``columns``) with their ``values``. If a leaf has none,
    the row's own leaf takes its place: the tree does not move the row.
    """
    way = _start(forest, exchange)
    scale = 1.0 / exchange.background.shape[1]
    for t in range(forest.roots.shape[0] - 1):
        _begin_tree(forest, way, t)
        for i in range(out.shape[0]):
            way.pattern[i] = -1 if weights[i, t] == 0.0 else 0
        node = _next_leaf(forest, exchange, way)
        while node >= 0:
            n_players = _share_out(exchange, way)
            ranked = np.int64(forest.rank[node])
            for i in range(out.shape[0]):
                r = way.pattern[i]
                if r < 0 or not way.moves[r]:
                    continue
                where = ranked if starts[ranked] < starts[ranked + 1] else np.int64(leaf[t, i])
                for e in range(starts[where], starts[where + 1]):
                    part = weights[i, t] * scale * values[e]
                    for place in range(n_players):
                        out[i, way.players[place], columns[e]] += part * way.pulls[r, place]
            node = _next_leaf(forest, exchange, way)


@kernel()
def log_votes(leaf, parts, entries, say, prior, counts, shrink):
    """The weight of each group of labels for each row, as in `place_by_votes`, and how it is spread out.

    ``entries`` are those of the leaves: starts, group, content, columns, spread. ``counts`` gets the logarithm of the
    weight of a unit of the group's share, such that the weights of all shares that the row meets add up to 1;
    ``shrink`` the factor of deviations from the group's centre, or 0 for a group that the row does not meet. Labels
    that no tree votes for (``say`` is infinite) count next to nothing.
    """
    starts, group, content, columns, spread = entries
    n_groups = columns.shape[0]
    sums = np.empty((n_groups, content.shape[1]))
    for i in range(counts.shape[0]):
        for g in range(n_groups):
            for c in range(content.shape[1]):
                sums[g, c] = 0.0
        if prior > 0.0:
            for g in range(n_groups):
                sums[g, 0] = prior
                for c in range(1, content.shape[1]):
                    sums[g, c] = prior * spread[g, 1 + c]
        for t in range(leaf.shape[0]):
            if parts.shape[0] == 0 or parts[t, i] != 0:
                for e in range(starts[leaf[t, i]], starts[leaf[t, i] + 1]):
                    for c in range(content.shape[1]):
                        sums[group[e], c] += content[e, c]
        largest, total = -np.inf, 0.0
        for g in range(n_groups):
            counts[i, g] = 0.0
            for label in range(columns.shape[1]):
                own = say[i, columns[g, label]]
                counts[i, g] += _NO_SAY if own == -np.inf else own
            if sums[g, 0] > 0.0:
                largest = max(largest, counts[i, g])
        for g in range(n_groups):
            shrink[i, g] = 0.0
            if sums[g, 0] > 0.0:
                total += np.exp(counts[i, g] - largest) * sums[g, 0]
                length = 0.0
                for c in range(1, content.shape[1]):
                    length += (spread[g, 0] * (sums[g, c] / sums[g, 0] - spread[g, 1 + c])) ** 2
                shrink[i, g] = spread[g, 0] / np.sqrt(1.0 + length / spread[g, 1] ** 2)
        for g in range(n_groups):
            counts[i, g] -= largest + np.log(total)


@kernel()
def _voted_place(where, entries, counts, shrink, place):
    """Where a leaf puts a row, given the weights of its votes."""
    starts, group, content, _columns, spread = entries
    n_axes = place.shape[0]
    for c in range(n_axes):
        place[c] = 0.0
    largest, total = -np.inf, 0.0
    for e in range(starts[where], starts[where + 1]):
        largest = max(largest, counts[group[e]])
    for e in range(starts[where], starts[where + 1]):
        g, share = group[e], content[e, 0]
        weight = share * np.exp(counts[g] - largest)
        factor = shrink[g]
        if factor == 0.0:  # the row meets none of this group: the leaf's few are spread out on their own
            length = 0.0
            for c in range(n_axes):
                length += (spread[g, 0] * (content[e, 1 + c] / share - spread[g, 2 + c])) ** 2
            factor = spread[g, 0] / np.sqrt(1.0 + length / spread[g, 1] ** 2)
        for c in range(n_axes):
            own = spread[g, 2 + n_axes + c] + factor * (content[e, 1 + c] / share - spread[g, 2 + c])
            place[c] += weight * own
        total += weight
    for c in range(n_axes):
        place[c] /= total


@kernel()
def add_voted_effects(forest, exchange, leaf, parts, entries, counts, shrink, out):
    """Add the Shapley values of the places of rows, with their votes held fixed.

    Each tree counts for a row as the votes let its leaf count (``counts``, `log_votes`), and puts a coalition where its
    leaf's groups are, weighted by the same votes. A leaf without entries does not move the row.
    """
    way = _start(forest, exchange)
    starts, group, content = entries[0], entries[1], entries[2]
    place, weights = np.empty(out.shape[2]), np.empty(out.shape[0])
    for t in range(forest.roots.shape[0] - 1):
        _begin_tree(forest, way, t)
        for i in range(out.shape[0]):
            weights[i] = 0.0
            if parts.shape[0] == 0 or parts[t, i] != 0:
                for e in range(starts[leaf[t, i]], starts[leaf[t, i] + 1]):
                    weights[i] += content[e, 0] * np.exp(counts[i, group[e]])
            way.pattern[i] = -1 if weights[i] == 0.0 else 0
            weights[i] /= exchange.background.shape[1]
        node = _next_leaf(forest, exchange, way)
        while node >= 0:
            n_players = _share_out(exchange, way)
            ranked = np.int64(forest.rank[node])
            for i in range(out.shape[0]):
                r = way.pattern[i]
                if r < 0 or not way.moves[r]:
                    continue
                where = ranked if starts[ranked] < starts[ranked + 1] else np.int64(leaf[t, i])
                _voted_place(where, entries, counts[i], shrink[i], place)
                for c in range(place.shape[0]):
                    part = weights[i] * place[c]
                    for k in range(n_players):
                        out[i, way.players[k], c] += part * way.pulls[r, k]
            node = _next_leaf(forest, exchange, way)
