"""Naive twin of the permuted-feature neighbours: Python's sort on (changed distance, index)."""

from __future__ import annotations


def permuted_neighbors(squared, a, b, source, out):
    for i in range(len(squared)):
        changed = [
            (squared[i, j] - (a[i] - b[j]) ** 2 + (a[source[i]] - b[j]) ** 2, j) for j in range(squared.shape[1])
        ]
        out[i] = [j for _, j in sorted(changed)[: out.shape[1]]]
