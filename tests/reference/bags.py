"""Bags of whole groups as one would draw them by hand."""

from __future__ import annotations

import numpy as np


def group_counts(groups, n_trees, seed):
    """Count, tree after tree and row after row, how often the row's group was drawn."""
    names = list(dict.fromkeys(groups))
    counts = []
    forest = np.random.RandomState(seed)
    for _ in range(n_trees):
        own = forest.randint(np.iinfo(np.int32).max)
        drawn = np.random.RandomState(own).randint(0, len(names), len(names), dtype=np.int32)
        bag = [names[d] for d in drawn]
        counts.append([bag.count(group) for group in groups])
    return np.array(counts)


def group_vote(forest, X, y, groups, counts):
    """Ask, row after row, the trees in whose bag no row of the row's group is; each leaf votes by its in-bag rows."""
    classes = np.unique(y)
    votes = np.full((len(y), len(classes)), np.nan)
    leaf = forest.apply(X)
    for i, group in enumerate(groups):
        shares = []
        for t in range(counts.shape[0]):
            if any(counts[t, j] for j in range(len(y)) if groups[j] == group):
                continue
            mass = counts[t] * (leaf[:, t] == leaf[i, t])
            shares.append([mass[y == one].sum() / mass.sum() for one in classes])
        if shares:
            votes[i] = np.mean(shares, axis=0)
    return votes
