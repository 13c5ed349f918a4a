"""Shapley values by their definition: every coalition of players is asked about."""

from __future__ import annotations

import itertools
import math

import numpy as np


def add_effects(value, x, background, player):
    """Shapley values of one row: `value` takes rows and returns what is said of each; `player` is that of each column.

    The value of a coalition is the mean of `value` over the background rows, with the row's values for its members.
    """
    players = sorted(set(player))
    worth = {}
    for size in range(len(players) + 1):
        for coalition in itertools.combinations(players, size):
            mixed = np.array(background)
            for column, own in enumerate(player):
                if own in coalition:
                    mixed[:, column] = x[column]
            worth[coalition] = np.mean(np.asarray(value(mixed), dtype=float), axis=0)
    n = len(players)
    out = []
    for own in players:
        others = [p for p in players if p != own]
        total = 0.0
        for size in range(n):
            factor = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for coalition in itertools.combinations(others, size):
                joined = tuple(sorted((*coalition, own)))
                total = total + factor * (worth[joined] - worth[coalition])
        out.append(total)
    return np.array(out)


def _voted_place(votes, leaves, own_leaf, their_leaf):
    """Where trees put a mixture of rows, with the votes of the row itself held fixed.

    `votes` are those of `log_votes`.
    """
    counts, shrink = np.exp(votes[0]), votes[1]
    starts, group, content, _, _, spread = leaves
    c = content.shape[1] - 1
    total = np.zeros(c)
    for own, theirs in zip(own_leaf, their_leaf, strict=True):
        weight = sum(content[e, 0] * counts[group[e]] for e in range(starts[own], starts[own + 1]))
        where = theirs if starts[theirs] < starts[theirs + 1] else own
        mass, place = 0.0, np.zeros(c)
        for e in range(starts[where], starts[where + 1]):
            g, share = group[e], content[e, 0]
            mean, (factor, reach), middle, center = content[e, 1:] / share, *np.split(spread[g], [2, 2 + c])
            away = mean - middle
            scale = shrink[g]
            if scale == 0.0:
                scale = factor / math.sqrt(1.0 + float((factor * away) @ (factor * away)) / reach**2)
            place += counts[g] * share * (center + scale * away)
            mass += counts[g] * share
        total += weight * place / mass
    return total


def log_votes(leaves, own_leaf, decides=None, prior=0.0):
    """For a row: the logarithm of what a unit of each group's share counts, and the factor of deviations."""
    """For a row, the logarithm of what a unit of a group's share counts, and the factor of deviations from a centre."""
    starts, group, content, columns, cut, spread = leaves
    c = content.shape[1] - 1
    sums = np.zeros((len(columns), 1 + c))
    sums[:, 0], sums[:, 1:] = prior, prior * spread[:, 2 : 2 + c]
    votes = np.full(columns.max() + 1, prior)
    for own in own_leaf:
        for e in range(starts[own], starts[own + 1]):
            sums[group[e]] += content[e]
            for column in columns[group[e]]:
                votes[column] += content[e, 0]
    decides = votes if decides is None else decides
    counts, shrink = np.zeros(len(columns)), np.zeros(len(columns))
    for g in range(len(columns)):
        counts[g] = 1.0
        for label, column in enumerate(columns[g]):
            leader = max(decides[other] for other in set(columns[:, label]))
            share = decides[column] / leader if leader > 0 else 0.0
            fade = ((share**4 - cut**4) / (1.0 - cut**4)) ** 0.25 if share > cut else 0.0
            counts[g] *= max(fade, math.exp(-27.0)) / (votes[column] if votes[column] > 0 else 1.0)
        if sums[g, 0] > 0:
            away = spread[g, 0] * (sums[g, 1:] / sums[g, 0] - spread[g, 2 : 2 + c])
            shrink[g] = spread[g, 0] / math.sqrt(1.0 + float(away @ away) / spread[g, 1] ** 2)
    return np.log(counts / (counts @ sums[:, 0])), shrink


def add_voted_effects(votes, leaves, leaf_of, x, background, player, constant=0.0):
    """Shapley values of the place of a row, with its votes held fixed, and what they add up to."""
    own = leaf_of(np.array([x]))[:, 0]

    def place(rows):
        return [constant + _voted_place(votes, leaves, own, at) for at in leaf_of(np.asarray(rows)).T]

    effects = add_effects(place, x, background, player)
    return effects, place(np.array([x]))[0], np.mean(place(background), axis=0)
