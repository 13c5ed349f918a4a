"""Naive twins of the rank kernels, and of the measures that rest on ranks: Python's sort on (distance, index)."""

from __future__ import annotations

import numpy as np

# --- twins of manifolia.kernels.ranks --------------------------------------------------------------------------------


def _order(distances, own, n):
    others = sorted((distances[j], j) for j in range(n) if j != own)
    return [own, *(j for _, j in others)]


def order_rows(D, rows, order):
    for r in range(len(D)):
        order[r] = _order(D[r], rows[r], order.shape[1])


def rank_rows(D, rows, rank):
    for r in range(len(D)):
        for place, j in enumerate(_order(D[r], rows[r], rank.shape[1])):
            rank[r, j] = place


def max_rank_histogram(D_data, D_map, rows, histogram):
    n = len(histogram)
    for r in range(len(D_data)):
        in_data, in_map = _order(D_data[r], rows[r], n), _order(D_map[r], rows[r], n)
        for j in range(n):
            if j != rows[r]:
                histogram[max(in_data.index(j), in_map.index(j))] += 1


def count_coranks(order, rank, start, stop, Q):
    for r in range(len(order)):
        for k in range(start, stop):
            Q[k - 1, rank[r, order[r, k]] - 1] += 1


def neighbor_ranks(D_rank, D_near, rows, n, out):
    for r in range(len(D_rank)):
        ranked, near = _order(D_rank[r], rows[r], n), _order(D_near[r], rows[r], n)
        for p in range(out.shape[1]):
            out[r, p] = ranked.index(near[p + 1])


# --- the measures, as their definitions read -------------------------------------------------------------------------


def distances(X, metric="euclidean"):
    X = np.asarray(X, dtype=float)
    n = len(X)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if metric == "euclidean":
                D[i, j] = np.sqrt(sum((X[i] - X[j]) ** 2))
            elif metric == "manhattan":
                D[i, j] = sum(abs(X[i] - X[j]))
            else:
                D[i, j] = 1 - X[i] @ X[j] / np.sqrt(X[i] @ X[i]) / np.sqrt(X[j] @ X[j])
    return D


def ranks(D):
    """Rank of each point among the others of a row; 0 for the row itself."""
    n = len(D)
    out = np.zeros((n, n), dtype=int)
    rank_rows(D, np.arange(n), out)
    return out


def coranking_matrix(D, E):
    n = len(D)
    rho, r = ranks(D), ranks(E)
    Q = np.zeros((n - 1, n - 1), dtype=int)
    for i in range(n):
        for j in range(n):
            if i != j:
                Q[rho[i, j] - 1, r[i, j] - 1] += 1
    return Q


def q_nx(D, E):
    n = len(D)
    Q = coranking_matrix(D, E)
    return np.array([Q[:k, :k].sum() / (k * n) for k in range(1, n - 1)])


def r_nx(D, E):
    n = len(D)
    return np.array([((n - 1) * q - k) / (n - 1 - k) for k, q in enumerate(q_nx(D, E), start=1)])


def auc_r_nx(D, E):
    curve = r_nx(D, E)
    return sum(r / k for k, r in enumerate(curve, start=1)) / sum(1 / k for k in range(1, len(curve) + 1))


def k_max(D, E):
    n = len(D)
    gains = [q - k / (n - 1) for k, q in enumerate(q_nx(D, E), start=1)]
    return 1 + gains.index(max(gains))


def q_local(D, E):
    return np.mean(q_nx(D, E)[: k_max(D, E)])


def q_global(D, E):
    return np.mean(q_nx(D, E)[k_max(D, E) - 1 :])


def trustworthiness(D, E, k):
    """One value per point; the greatest penalty is found by trying what the worst neighbours would cost."""
    n = len(D)
    rho, r = ranks(D), ranks(E)
    worst = sum(sorted((max(0, rank - k) for rank in range(1, n)), reverse=True)[:k])
    penalty = [sum(max(0, rho[i, j] - k) for j in range(n) if j != i and r[i, j] <= k) for i in range(n)]
    return 1 - np.array(penalty) / worst


def neighbor_recall(D, E, k):
    n = len(D)
    rho, r = ranks(D), ranks(E)
    return np.array([sum(j != i and rho[i, j] <= k and r[i, j] <= k for j in range(n)) / k for i in range(n)])
