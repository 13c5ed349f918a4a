"""Naive twins of the forest kernels and of every proximity: loops over rows and trees, as the definitions read."""

from __future__ import annotations

import itertools

import numpy as np

# --- twins of manifolia.kernels.forest -------------------------------------------------------------------------------


def leaf_mass(leaf, parts, row_weight, first, last, mass, size):
    for t in range(first, last):
        for i in range(leaf.shape[1]):
            mass[leaf[t, i]] += int(parts[t, i]) * row_weight[i]
            size[leaf[t, i]] += parts[t, i] != 0


def fill_leaves(leaf, offsets, parts, row_weight, first, last, starts, members, weights):
    for t in range(first, last):
        for where in np.unique(leaf[t]):
            inside = [i for i in np.flatnonzero(leaf[t] == where) if parts[t, i] != 0]
            for k, i in enumerate(inside):
                members[starts[where] + k] = i
                if len(weights):
                    weights[starts[where] + k] = int(parts[t, i]) * (row_weight[i] if len(row_weight) else 1)


def fill_queries(leaf, parts, first, last, out):
    for i in range(first, last):
        out[i] = [leaf[t, i] if parts[t, i] else -1 for t in range(len(leaf))]


def product_bound(query, starts, n_members, bound):
    for i, leaves in enumerate(query):
        bound[i] = min(n_members, sum(starts[w + 1] - starts[w] for w in leaves if w >= 0))


def _scale(leaf_scale, where):
    return leaf_scale[where] if len(leaf_scale) else 1.0


def product_rows(query, scale, bound, starts, members, weights, leaf_scale, n_members, indptr, columns, values):
    used = 0
    indptr[0] = 0
    for i, leaves in enumerate(query):
        total = np.zeros(n_members)
        for where in leaves[leaves >= 0]:
            for k in range(starts[where], starts[where + 1]):
                total[members[k]] += (weights[k] if len(weights) else 1) * _scale(leaf_scale, where)
        for j in np.flatnonzero(total):
            columns[used], values[used] = j, total[j] * scale[i]
            used += 1
        indptr[i + 1] = used


def mark_largest(indptr, values, k, keep):
    for first, last in itertools.pairwise(indptr):
        best = sorted(range(first, last), key=lambda e: (-values[e], e))[:k]
        keep[first:last] = np.isin(np.arange(first, last), best)


def shared_bits(indptr, columns, query_bits, member_bits, out):
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            out[k] = sum(int(word).bit_count() for word in query_bits[i] & member_bits[columns[k]])


def leaf_apply(leaf, offsets, gives, takes, in_row, out_row, leaf_scale, V, out):
    n_trees, n = leaf.shape
    for t in range(n_trees):
        for i in range(n):
            for j in range(n):
                if leaf[t, i] == leaf[t, j]:
                    factor = takes[t, i] * out_row[i] * leaf_scale[leaf[t, i]] * gives[t, j] * in_row[j]
                    out[i] += factor * V[j]


def _path(node, parent):
    nodes = []
    while node >= 0:
        nodes.append(int(node))
        node = parent[node]
    return set(nodes)


def path_apply(leaf, leaf_node, parent, roots, in_row, out_row, V, out):
    n_trees, n = leaf.shape
    for t in range(n_trees):
        for i in range(n):
            for j in range(n):
                mine, other = (_path(leaf_node[leaf[t, r]], parent) for r in (i, j))
                out[i] += out_row[i] * len(mine & other) * in_row[j] * V[j]


def lump_rows(query, scale, order, group_starts, starts, groups, weights, leaf_scale, first, last, out):
    for a in range(first, last):
        for i in order[group_starts[a] : group_starts[a + 1]]:
            for where in query[i][query[i] >= 0]:
                for m in range(starts[where], starts[where + 1]):
                    out[a, groups[m]] += scale[i] * _scale(leaf_scale, where) * (weights[m] if len(weights) else 1)


def leaf_totals(leaf, parts, row_weight, V, first, last, out):
    for t in range(first, last):
        for i in range(leaf.shape[1]):
            out[leaf[t, i]] += int(parts[t, i]) * row_weight[i] * V[i]


def walk_out(leaf, parts, values, filled, first, last, out, n_asked):
    for i in range(first, last):
        for t in range(len(leaf)):
            if filled[leaf[t, i]] and (not len(parts) or parts[t, i]):
                out[i] += values[leaf[t, i]]
                n_asked[i] += 1


def _asked(leaf, parts, i):
    return [leaf[t, i] for t in range(len(leaf)) if not len(parts) or parts[t, i]]


def vote_out(leaf, parts, starts, group, content, columns, first, last, votes, n_asked):
    for i in range(first, last):
        for where in _asked(leaf, parts, i):
            entries = range(starts[where], starts[where + 1])
            n_asked[i] += len(entries) > 0
            for e in entries:
                for column in columns[group[e]]:
                    votes[i, column] += content[e, 0]


def say(votes, label_of, cut, guide=None):
    """f(r) / vote of every vote, with r the label's share of the guide's largest vote on the same label."""
    guide = votes if guide is None else guide
    weights = np.empty(len(votes))
    for k, vote in enumerate(votes):
        share = guide[k] / max(guide[label_of == label_of[k]].max(), 1e-300)
        fade = 1.0 if share == 1.0 else 0.0
        if cut < share < 1.0:
            fade = ((share**4 - cut**4) / (1 - cut**4)) ** 0.25
        weights[k] = max(fade, np.exp(-27.0)) / vote if vote > 0 else 1.0
    return weights


def weigh_votes(votes, guide, columns, cut, first, last, out):
    label_of = np.array([np.argmax((columns == k).any(axis=0)) for k in range(votes.shape[1])])
    for i in range(first, last):
        out[i] = np.log(say(votes[i], label_of, cut, guide[i]))


def place_by_votes(leaf, parts, starts, group, content, columns, say, prior, spread, first, last, out):
    c = out.shape[1]
    for i in range(first, last):
        entries = [e for where in _asked(leaf, parts, i) for e in range(starts[where], starts[where + 1])]
        held = {g: prior * np.array([1.0, *spread[g, 2 : 2 + c]]) for g in range(len(columns))} if prior else {}
        for e in entries:
            held[group[e]] = held.get(group[e], 0.0) + content[e]
        if held:
            weights = {g: np.exp(say[i, columns[g]].sum()) * total[0] for g, total in held.items()}
            places = {g: spread_out(total[1:] / total[0], *spread[g]) for g, total in held.items()}
            out[i] = sum(weights[g] * places[g] for g in held) / sum(weights.values())


def spread_out(mean, factor, reach, *centers):
    """A place moved away from its centre, never farther than the reach."""
    before, after = np.split(np.array(centers), 2)
    step = factor * (mean - before)
    return after + step / np.sqrt(1 + step @ step / reach**2)


def own_group_sums(leaf, parts, starts, group, content, own, first, last, out):
    for i in range(first, last):
        for where in _asked(leaf, parts, i):
            out[i] += sum(content[e] for e in range(starts[where], starts[where + 1]) if group[e] == own[i])


def place_by_values(leaf, parts, values, filled, guess, power, first, last, out):
    q = guess.shape[1]
    for i in range(first, last):
        held = [values[where] for where in _asked(leaf, parts, i) if filled[where]]
        weights = [np.exp(-power * np.sum((value[:q] - guess[i]) ** 2) / 2) for value in held]
        if held:
            out[i] = sum(w * value[q:] for w, value in zip(weights, held, strict=True)) / sum(weights)


# --- proximities as their definitions read, from scikit-learn's own arrays -------------------------------------------


def in_bag(forest, n):
    return np.array([np.bincount(drawn, minlength=n) for drawn in forest.estimators_samples_])


def proximity(forest, X, kind, new=None):
    """Definition by definition, with no shared code: loops over pairs and trees."""
    leaves = forest.apply(X)
    queries = leaves if new is None else forest.apply(new)
    n, n_trees = leaves.shape
    counts = in_bag(forest, n)
    K = np.zeros((len(queries), n))
    for i in range(len(queries)):
        for j in range(n):
            same = queries[i] == leaves[j]
            left_out_i = np.ones(n_trees, dtype=bool) if new is not None else counts[:, i] == 0
            left_out_j = counts[:, j] == 0
            if kind == "original":
                K[i, j] = same.mean()
            elif kind == "oob":
                both = left_out_i & left_out_j
                K[i, j] = 1.0 if new is None and i == j else (same & both).sum() / both.sum() if both.any() else 0.0
            elif kind == "kerf":
                K[i, j] = np.mean([same[t] / (leaves[:, t] == leaves[j, t]).sum() for t in range(n_trees)])
            elif kind == "gap":
                trees = np.flatnonzero(left_out_i)
                for t in trees:
                    if same[t]:
                        K[i, j] += counts[t, j] / counts[t][leaves[:, t] == queries[i, t]].sum() / len(trees)
    if kind == "path":
        own, _ = forest.decision_path(X)
        asked, _ = forest.decision_path(X if new is None else new)
        own, asked = own.toarray().astype(float), asked.toarray().astype(float)
        K = asked @ own.T / np.sqrt(np.outer((asked**2).sum(1), (own**2).sum(1)))
    return K


def fill_voted_leaves(leaf, base, mass, group, Y, sizes, groups, content):
    sizes[:], used = 0, 0
    for where in range(len(sizes)):
        rows = [i for i in range(len(leaf)) if leaf[i] == base + where and mass[i] > 0 and group[i] >= 0]
        for g in dict.fromkeys(group[rows].tolist()):
            own = [i for i in rows if group[i] == g]
            share = mass[own] / mass[rows].sum()
            groups[used], content[used] = g, [share.sum(), *(share @ Y[own])]
            sizes[where] += 1
            used += 1
    return used
