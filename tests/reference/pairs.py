"""Naive twins of the kernels that add up over pairs, and of the measures of distances."""

from __future__ import annotations

import numpy as np
from scipy.stats import pearsonr, spearmanr

# --- twins of manifolia.kernels.pairs --------------------------------------------------------------------------------


def row_moments(x, y, rows, first, n, out):
    for r, i in enumerate(rows):
        a, b = x[r, i + 1 - first : n - first], y[r, i + 1 - first : n - first]
        out[r] = 0.0
        if len(a):
            length = np.sqrt(b @ b)
            along = a @ b / length if length else 0.0
            rest = a - (a @ b) / (b @ b) * b if length else a
            out[r] = [
                len(a), a.mean(), b.mean(), len(a) * a.var(), len(a) * b.var(), len(a) * np.cov(a, b, bias=True)[0, 1],
                length, along, np.sqrt(rest @ rest), ((a - b) ** 2).sum(),
            ]  # fmt: skip


def row_ratios(x, y, rows, first, n, scale, out):
    for r, i in enumerate(rows):
        total = 0.0
        for j in range(i + 1 - first, n - first):
            a, b = x[r, j], scale * y[r, j]
            total += 1.0 if a == b else min(a / b if b else np.inf, b / a if a else np.inf)
        out[r, 0] = total


def _cell(value, edges, n_cells):
    stretch = int(np.searchsorted(edges[:-1], value, side="right")) - 1
    share = (value - edges[stretch]) / (edges[stretch + 1] - edges[stretch])
    return stretch * n_cells + min(int(share * n_cells), n_cells - 1)


def cell_counts(x, rows, first, n, edges, guide, guide_scale, counts):
    n_cells = len(counts) // (len(edges) - 1)
    for r, i in enumerate(rows):
        for j in range(i + 1 - first, n - first):
            counts[_cell(x[r, j], edges, n_cells)] += 1


def cell_scores(x, rows, first, n, edges, guide, guide_scale, score):
    n_cells = len(score) // (len(edges) - 1)
    for r, i in enumerate(rows):
        for j in range(i + 1 - first, n - first):
            x[r, j] = score[_cell(x[r, j], edges, n_cells)]


# --- the measures, as their definitions read, from vectors of distances -----------------------------------------------


def shepard_goodness(d, e):
    return spearmanr(d, e).statistic


def distance_correlation(d, e):
    return pearsonr(d, e).statistic


def normalized_stress(d, e, alpha=None):
    if alpha is None:
        alpha = (d * e).sum() / (e * e).sum()
    return np.sqrt(((d - alpha * e) ** 2).sum() / (d * d).sum())


def distance_ratio(d, e, scale=None):
    if scale is None:
        scale = d.mean() / e.mean()
    return np.mean([1.0 if a == b else min(a, b) / max(a, b) for a, b in zip(d, scale * e, strict=True)])
