"""Loops over the leaves of a forest: proximities as products of leaf-incidence factors, formed or not.

Every separable forest kernel is P = Q Wᵀ with one column per leaf (Aumon et al. 2026), so that row i of P is a sum,
over the trees that row i may query, of the weights of its leaf's members. Trees are always added in order, each row
by one thread: the result does not depend on threads or on blocks. Hot loops index by unsigned integers: numba adds a
test for negative indices otherwise, which costs half the speed here.

==============  =====================================================================  ==================
symbol          meaning                                                                shape
==============  =====================================================================  ==================
T, n, m         trees, training rows (members), rows that ask (queries)
L               leaves of all trees; a leaf's id is its tree's offset plus its rank
leaf            leaf id of each member                                                 (T, n) int32
query           leaf id of each query, −1 where the tree is not asked                  (m, T) int32
starts          where a leaf's members begin in ``members``                            (L + 1) int64
members         member rows, leaf by leaf                                              (starts[L]) int32
weights         weight of each entry of ``members``; empty where all are 1             (starts[L]) or (0)
leaf_scale      factor of all entries of a leaf; empty where it is 1                   (L) or (0)
parts           how often a row takes part in a tree: 1 for every row, its in-bag      (T, n) uint8/16/32
                count c_j(t), or 1 where it is out of bag
==============  =====================================================================  ==================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import ZERO, kernel

# Position of the lowest set bit by de Bruijn multiplication (Leiserson, Prokop and Randall 1998).
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_OF = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _BIT_OF[((0x03F79D71B4CB0A89 << _bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit
#: Logarithm of the weight of a label that is out of the race; if all combinations have one, the best still counts.
_NO_SAY = -27.0
_ONE, _SHIFT_58, _SHIFT_6, _MASK_63 = np.uint64(1), np.uint64(58), np.uint64(6), np.uint64(63)
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H01, _S1, _S2, _S4, _S56 = (
    np.uint64(0x0101010101010101),
    np.uint64(1),
    np.uint64(2),
    np.uint64(4),
    np.uint64(56),
)


@kernel()
def leaf_mass(leaf, parts, row_weight, first, last, mass, size):
    """For trees first … last − 1: add to each leaf the weights (``mass``) and the number (``size``) of its members."""
    for t in range(first, last):
        for i in range(leaf.shape[1]):
            where = np.uint64(leaf[t, i])
            mass[where] += parts[t, i] * row_weight[i]
            size[where] += parts[t, i] > 0


@kernel()
def fill_leaves(leaf, offsets, parts, row_weight, first, last, starts, members, weights):
    """For trees first … last − 1: each leaf's members in row order and, unless ``weights`` is empty, part × weight.

    An empty ``row_weight`` stands for ones, so that in-bag counts can stay small integers.
    """
    for t in range(first, last):
        base = offsets[t]
        cursor = starts[base : offsets[t + 1]].copy()
        for i in range(leaf.shape[1]):
            if parts[t, i] != 0:
                where = np.uint64(leaf[t, i] - base)
                place = cursor[where]
                cursor[where] += 1
                members[place] = i
                if weights.shape[0] > 0:
                    weights[place] = parts[t, i] if row_weight.shape[0] == 0 else parts[t, i] * row_weight[i]


@kernel()
def fill_queries(leaf, parts, first, last, out):
    """For rows first … last − 1: their leaves, row by row, −1 where the row does not take part in the tree."""
    for t in range(leaf.shape[0]):
        for i in range(first, last):
            out[i, t] = leaf[t, i] if parts[t, i] != 0 else -1


@kernel()
def product_bound(query, starts, n_members, bound):
    """An upper bound of the non-zeros of each row of Q Wᵀ: the sizes of its leaves added up."""
    for i in range(query.shape[0]):
        total = 0
        for t in range(query.shape[1]):
            where = query[i, t]
            if where >= 0:
                total += starts[where + 1] - starts[where]
        bound[i] = min(total, n_members)


@kernel()
def _add_members(total, leaves, starts, members, weights, leaf_scale):
    """Add the weights of the members of a row's leaves, trees in order."""
    for t in range(leaves.shape[0]):
        where = leaves[t]
        if where >= 0:
            scale = 1.0 if leaf_scale.shape[0] == 0 else leaf_scale[where]
            if weights.shape[0] == 0:
                for k in range(starts[where], starts[where + 1]):
                    total[np.uint64(members[k])] += scale
            else:
                for k in range(starts[where], starts[where + 1]):
                    total[np.uint64(members[k])] += weights[k] * scale


@kernel()
def _add_and_mark_members(total, touched, leaves, starts, members, weights, leaf_scale):
    """The same, and a bit for every member that is met: one pass, since finding a leaf's members is the main cost."""
    for t in range(leaves.shape[0]):
        where = leaves[t]
        if where >= 0:
            scale = 1.0 if leaf_scale.shape[0] == 0 else leaf_scale[where]
            for k in range(starts[where], starts[where + 1]):
                j = np.uint64(members[k])
                total[j] += scale if weights.shape[0] == 0 else weights[k] * scale
                touched[j >> _SHIFT_6] |= _ONE << (j & _MASK_63)


@kernel()
def product_rows(query, scale, bound, starts, members, weights, leaf_scale, n_members, indptr, columns, values):
    """Rows of Q Wᵀ in CSR with sorted columns: ``scale[i]`` times its leaves' member weights, trees added in order.

    ``bound`` is at least the number of non-zeros of each row (`product_bound`, or ``n_members``); ``columns`` and
    ``values`` must hold its sum. ``indptr`` has one more entry than rows.
    """
    total = np.zeros(n_members, dtype=np.float64)
    touched = np.zeros((n_members + 63) >> 6, dtype=np.uint64)
    used = 0
    indptr[0] = 0
    for i in range(query.shape[0]):
        if bound[i] > n_members >> 2:  # dense enough: looking at every column costs less than marking the entries
            _add_members(total, query[i], starts, members, weights, leaf_scale)
            for j in range(n_members):
                if total[j] != 0.0:
                    columns[used] = j
                    values[used] = total[j] * scale[i]
                    used += 1
                    total[j] = 0.0
        else:
            _add_and_mark_members(total, touched, query[i], starts, members, weights, leaf_scale)
            for word in range(touched.shape[0]):  # reading the marks word by word gives the columns in order
                marks = touched[word]
                while marks != 0:
                    lowest = marks & (~marks + _ONE)
                    j = (word << 6) + _BIT_OF[(lowest * _DE_BRUIJN) >> _SHIFT_58]
                    marks ^= lowest
                    if total[j] != 0.0:
                        columns[used] = j
                        values[used] = total[j] * scale[i]
                        used += 1
                    total[j] = 0.0
                touched[word] = 0
        indptr[i + 1] = used


@kernel()
def _kth_largest(values, k):
    """Find the k-th largest value by Hoare's selection; NumPy's partition takes ten times as long to compile."""
    left = values.copy()
    first, last = 0, len(left) - 1
    while first < last:
        pivot = left[(first + last) >> 1]
        i, j = first, last
        while i <= j:
            while left[i] > pivot:
                i += 1
            while left[j] < pivot:
                j -= 1
            if i <= j:
                left[i], left[j] = left[j], left[i]
                i += 1
                j -= 1
        if k <= j + 1:
            last = j
        elif k > i:
            first = i
        else:  # between the two parts there are only values equal to the pivot
            break
    return left[k - 1]


@kernel()
def mark_largest(indptr, values, k, keep):
    """Mark the ``k`` largest entries of each row of a CSR matrix; ties go to those that come first."""
    for i in range(indptr.shape[0] - 1):
        row = values[indptr[i] : indptr[i + 1]]
        kept = keep[indptr[i] : indptr[i + 1]]
        if row.shape[0] <= k:
            for j in range(row.shape[0]):
                kept[j] = True
            continue
        least = _kth_largest(row, k)
        n_equal = k
        for j in range(row.shape[0]):
            n_equal -= row[j] > least
        for j in range(row.shape[0]):
            kept[j] = row[j] > least
            if row[j] == least and n_equal > 0:
                kept[j] = True
                n_equal -= 1


@kernel()
def shared_bits(indptr, columns, query_bits, member_bits, out):
    """For each stored entry (i, j) of a CSR pattern, how many bits row i and member j have in common."""
    for i in range(indptr.shape[0] - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = columns[k]
            total = np.uint64(0)
            for word in range(query_bits.shape[1]):
                x = query_bits[i, word] & member_bits[j, word]
                x = x - ((x >> _S1) & _M1)
                x = (x & _M2) + ((x >> _S2) & _M2)
                x = (x + (x >> _S4)) & _M4
                total += (x * _H01) >> _S56
            out[k] = total


@kernel()
def leaf_apply(leaf, offsets, gives, takes, in_row, out_row, leaf_scale, V, out):
    """Add K V to ``out`` without forming K: into the leaves, scale, and out again, tree by tree.

    ``gives`` and ``takes`` are the parts of the rows that put something into their leaf and that take from it:
    K_ij = Σ_t out_row_i takes_ti leaf_scale gives_tj in_row_j over the trees in which i and j share a leaf.
    """
    n_rows, width = V.shape
    for t in range(leaf.shape[0]):
        base = offsets[t]
        table = np.zeros((offsets[t + 1] - base, width), dtype=V.dtype)
        for i in range(n_rows):
            part = gives[t, i] * in_row[i]
            if part != 0.0:
                where = np.uint64(leaf[t, i] - base)
                for c in range(width):
                    table[where, c] += part * V[i, c]
        for where in range(table.shape[0]):
            for c in range(width):
                table[where, c] *= leaf_scale[base + where]
        for i in range(n_rows):
            part = takes[t, i] * out_row[i]
            if part != 0.0:
                where = np.uint64(leaf[t, i] - base)
                for c in range(width):
                    out[i, c] += part * table[where, c]


@kernel()
def path_apply(leaf, leaf_node, parent, roots, in_row, out_row, V, out):
    """Add K V to ``out`` for the common-path kernel: sums up the tree, then sums down the tree, O(nodes) per tree."""
    n_rows, width = V.shape
    for t in range(leaf.shape[0]):
        base = roots[t]
        table = np.zeros((roots[t + 1] - base, width), dtype=V.dtype)
        for i in range(n_rows):
            where = leaf_node[leaf[t, i]] - base
            for c in range(width):
                table[where, c] += in_row[i] * V[i, c]
        for node in range(table.shape[0] - 1, 0, -1):  # what passes through a node
            up = parent[base + node] - base
            for c in range(width):
                table[up, c] += table[node, c]
        for node in range(1, table.shape[0]):  # what passes through a node or any above it
            up = parent[base + node] - base
            for c in range(width):
                table[node, c] += table[up, c]
        for i in range(n_rows):
            where = leaf_node[leaf[t, i]] - base
            for c in range(width):
                out[i, c] += out_row[i] * table[where, c]


@kernel()
def lump_rows(query, scale, order, group_starts, starts, groups, weights, leaf_scale, first, last, out):
    """Rows first … last − 1 of the lumped product Cᵀ Q Wᵀ C, C the one-hot matrix of the groups of rows.

    Group a holds the queries ``order[group_starts[a]]`` …; ``groups`` is the group of each entry of ``members``.
    """
    for a in range(first, last):
        for k in range(group_starts[a], group_starts[a + 1]):
            i = order[k]
            for t in range(query.shape[1]):
                where = query[i, t]
                if where >= 0:
                    factor = scale[i] if leaf_scale.shape[0] == 0 else scale[i] * leaf_scale[where]
                    for m in range(starts[where], starts[where + 1]):
                        weight = 1.0 if weights.shape[0] == 0 else np.float64(weights[m])
                        out[a, np.uint64(groups[m])] += weight * factor


@kernel()
def leaf_totals(leaf, parts, row_weight, V, first, last, out):
    """For trees first … last − 1: add up part × row weight × V of each leaf's members."""
    for t in range(first, last):
        for i in range(leaf.shape[1]):
            part = parts[t, i] * row_weight[i]
            if part != 0.0:
                where = np.uint64(leaf[t, i])
                for c in range(V.shape[1]):
                    out[where, c] += part * V[i, c]


@kernel()
def walk_out(leaf, parts, values, filled, first, last, out, n_asked):
    """For rows first … last − 1: add the values of their leaves, trees in order, and count the trees that had a say.

    An empty ``parts`` lets every row ask every tree.
    """
    for t in range(leaf.shape[0]):
        for i in range(first, last):
            where = np.uint64(leaf[t, i])
            if filled[where] and (parts.shape[0] == 0 or parts[t, i] != 0):
                n_asked[i] += 1
                for c in range(values.shape[1]):
                    out[i, c] += values[where, c]


@kernel()
def fill_voted_leaves(leaf, base, mass, group, Y, sizes, groups, content):
    """Entries of one tree's leaves: for every group of rows in a leaf, its share, and that share times its mean place.

    ``leaf`` is that of the tree, whose first one is ``base``; rows without mass or group have no say. ``sizes`` gets
    the number of entries of each leaf, ``groups`` and ``content`` the entries, leaf by leaf, groups as they first
    occur. Returns their number.
    """
    n, n_leaves = leaf.shape[0], sizes.shape[0]
    total = np.zeros(n_leaves)
    starts = np.zeros(n_leaves + 1, dtype=np.int64)
    for i in range(n):
        if mass[i] > 0.0 and group[i] >= 0:
            where = np.uint64(leaf[i] - base)
            total[where] += mass[i]
            starts[where + _ONE] += 1
    n_groups = 0
    for where in range(n_leaves):
        starts[where + 1] += starts[where]
    rows = np.empty(starts[n_leaves], dtype=np.uint32)
    cursor = starts[:n_leaves].copy()
    for i in range(n):
        if mass[i] > 0.0 and group[i] >= 0:
            where = np.uint64(leaf[i] - base)
            rows[cursor[where]] = i
            cursor[where] += 1
            n_groups = max(n_groups, group[i] + 1)
    entry_of = np.full(n_groups, -1)  # where a group's last entry is: if before the leaf's first one, it has none here
    used = 0
    for where in range(n_leaves):
        first = used
        for k in range(starts[where], starts[where + 1]):
            i = rows[k]
            share = mass[i] / total[where]
            entry = entry_of[group[i]]
            if entry < first:
                entry = used
                entry_of[group[i]] = entry
                groups[entry] = group[i]
                for c in range(content.shape[1]):
                    content[entry, c] = 0.0
                used += 1
            content[entry, 0] += share
            for c in range(Y.shape[1]):
                content[entry, 1 + c] += share * Y[i, c]
        sizes[where] = used - first
    return used


@kernel()
def vote_out(leaf, parts, starts, group, content, columns, first, last, votes, n_asked):
    """For rows first … last − 1: add each group's share of their leaves to its columns of ``votes``, trees in order.

    ``starts`` are the leaves' entries: a group of rows with equal labels (``group``), and its share of the leaf
    (``content[:, 0]``). An empty leaf has no say; an empty ``parts`` lets every row ask every tree.
    """
    for t in range(leaf.shape[0]):
        for i in range(first, last):
            where = np.uint64(leaf[t, i])
            begin, end = starts[where], starts[where + _ONE]
            if begin < end and (parts.shape[0] == 0 or parts[t, i] != 0):
                n_asked[i] += 1
                for e in range(begin, end):
                    for label in range(columns.shape[1]):
                        votes[i, columns[group[e], label]] += content[e, 0]


@kernel()
def weigh_votes(votes, guide, columns, cut, first, last, say):
    """For rows first … last − 1: the logarithm of the weight of each unit of ``votes`` for a label, f(r) / vote.

    r is the label's share of the leader's votes by the ``guide``, among the columns that are about the same label, and
    f(r)⁴ = (r⁴ − c⁴) / (1 − c⁴) above the ``cut`` c. Below it a label has next to no say.
    """
    label_of = np.zeros(votes.shape[1], dtype=np.int64)  # the label that each column is about
    for g in range(columns.shape[0]):
        for label in range(columns.shape[1]):
            label_of[columns[g, label]] = label
    leaders = np.empty(columns.shape[1])
    for i in range(first, last):
        for label in range(columns.shape[1]):
            leaders[label] = 0.0
        for column in range(votes.shape[1]):
            leaders[label_of[column]] = max(leaders[label_of[column]], guide[i, column])
        for column in range(votes.shape[1]):
            if votes[i, column] > 0.0:
                say[i, column] = _log_fade(guide[i, column], leaders[label_of[column]], cut) - np.log(votes[i, column])
            else:  # no row meets it
                say[i, column] = 0.0


@kernel()
def _log_fade(vote, leader, cut):
    """Logarithm of f(r) for r = vote / leader; practically nothing at or below the cut."""
    if vote >= leader:
        return 0.0
    share = vote / leader
    if share <= cut:
        return _NO_SAY
    return max(0.25 * np.log((share**4 - cut**4) / (1.0 - cut**4)), _NO_SAY)


@kernel()
def place_by_votes(leaf, parts, starts, group, content, columns, say, prior, spread, first, last, out):
    """For rows first … last − 1: the mean of their groups' places, each weighted by its labels' votes.

    ``content`` is a group's share of the leaf, then that share times the group's mean place. Weights are relative to
    the largest of the groups that a row meets: of combinations of labels, none may have contenders only. A group's
    place is the mean m over leaves, spread out: with ``spread`` its factor a, its reach R and the centres b, c that are
    moved onto one another, c + d / √(1 + |d|² / R²) where d = a (m − b). With a ``prior`` every group has that much at
    b to begin with, whether a row meets it or not.
    """
    n_groups = columns.shape[0]
    weights = np.empty(n_groups)
    sums = np.empty((n_groups, content.shape[1]))
    met = np.empty(n_groups, dtype=np.int64)  # there may be many groups, of which a row meets few
    met_by = np.full(n_groups, -1)
    for i in range(first, last):
        n_met = ZERO
        largest = -np.inf
        if prior > 0.0:
            for g in range(n_groups):
                n_met, largest = _meet(g, i, say, columns, met, met_by, weights, sums, n_met, largest)
                sums[g, 0] = prior
                for c in range(out.shape[1]):
                    sums[g, c + 1] = prior * spread[g, 2 + c]
        for t in range(leaf.shape[0]):
            if parts.shape[0] == 0 or parts[t, i] != 0:
                where = np.uint64(leaf[t, i])
                for e in range(starts[where], starts[where + _ONE]):
                    g = np.int64(group[e])
                    if met_by[g] != i:
                        n_met, largest = _meet(g, i, say, columns, met, met_by, weights, sums, n_met, largest)
                    for c in range(content.shape[1]):
                        sums[g, c] += content[e, c]
        total = 0.0
        for m in range(n_met):
            g = met[m]
            weight = np.exp(weights[g] - largest) * sums[g, 0]
            shrink = _spread_out(sums[g], spread[g])
            total += weight
            for c in range(out.shape[1]):
                out[i, c] += weight * (spread[g, 2 + out.shape[1] + c] + shrink * sums[g, c + 1])
        if total > 0.0:
            for c in range(out.shape[1]):
                out[i, c] /= total


@kernel()
def _meet(g, i, say, columns, met, met_by, weights, sums, n_met, largest):
    """Start the sums of a group that row i meets for the first time."""
    met_by[g] = i
    met[n_met] = g
    weights[g] = 0.0
    for c in range(sums.shape[1]):
        sums[g, c] = 0.0
    for label in range(columns.shape[1]):
        weights[g] += say[i, columns[g, label]]
    return n_met + 1, max(largest, weights[g])


@kernel()
def _spread_out(total, spread):
    """Turn a group's sums into its deviation d from its centre, in place; return 1 / √(1 + |d|² / R²)."""
    length = 0.0
    for c in range(total.shape[0] - 1):
        total[c + 1] = spread[0] * (total[c + 1] / total[0] - spread[2 + c])
        length += total[c + 1] ** 2
    return 1.0 / np.sqrt(1.0 + length / spread[1] ** 2)


@kernel()
def own_group_sums(leaf, parts, starts, group, content, own, first, last, out):
    """For rows first … last − 1: the sum of what their leaves hold of their own group, trees in order."""
    for i in range(first, last):
        for t in range(leaf.shape[0]):
            if parts[t, i] != 0:
                where = np.uint64(leaf[t, i])
                for e in range(starts[where], starts[where + _ONE]):
                    if group[e] == own[i]:
                        for c in range(content.shape[1]):
                            out[i, c] += content[e, c]


@kernel()
def place_by_values(leaf, parts, values, filled, guess, power, first, last, out):
    """For rows first … last − 1: the mean of their leaves' places, each weighted by how close its value is to a guess.

    ``values`` holds a leaf's values in units of their error, one per column of ``guess``, then its mean place. The
    weight is exp(−power · ½ |value − guess|²), relative to that of the nearest.
    """
    n_values = guess.shape[1]
    for i in range(first, last):
        nearest = np.inf
        for t in range(leaf.shape[0]):
            where = np.uint64(leaf[t, i])
            if filled[where] and (parts.shape[0] == 0 or parts[t, i] != 0):
                nearest = min(nearest, _half_square(values[where], guess[i]))
        total = 0.0
        for t in range(leaf.shape[0]):
            where = np.uint64(leaf[t, i])
            if filled[where] and (parts.shape[0] == 0 or parts[t, i] != 0):
                weight = np.exp(-power * (_half_square(values[where], guess[i]) - nearest))
                total += weight
                for c in range(out.shape[1]):
                    out[i, c] += weight * values[where, n_values + c]
        if total > 0.0:
            for c in range(out.shape[1]):
                out[i, c] /= total


@kernel()
def _half_square(value, guess):
    total = 0.0
    for c in range(guess.shape[0]):
        total += (value[c] - guess[c]) ** 2
    return 0.5 * total
