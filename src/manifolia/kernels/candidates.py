"""From products of rows to candidates, and from candidates to neighbours.

Blocks of products a·b come from BLAS, in single precision if that is enough, and their bits depend on the block. They
only say which rows may be near: with e bounding the relative error of ‖a‖² + ‖b‖² − 2 a·b, the k-th smallest of the
upper bounds

    u_j = (1 + e)(‖a‖² + ‖b_j‖²) − 2 a·b_j

is no less than the k-th smallest distance, so a row with a lower bound (1 − e)(…) − 2 a·b_j above it is not among the k
nearest. The others are measured from the differences, pair by pair in double precision, and ordered by (distance,
index). The neighbours of a row are therefore exact and do not depend on the rows beside it.

Few neighbours are kept in order by insertion. For many this takes k² / 4 moves per row, so these are kept in a heap,
the farthest first, and sorted at the end.

============  =====================================================================  ===================
symbol        meaning                                                                shape
============  =====================================================================  ===================
G             products of h rows with all n                                          (h, n)
lengths       ‖a‖² of the h rows                                                     (h,)
squares       ‖b‖² of the n rows                                                     (n,)
e, floor      relative and absolute error of the squared distance                    scalars
own           the row's own number among the n, −1 for a new row                     (h,)
k             how many neighbours                                                    scalar
candidates    who may be among them                                                  (h, n_candidates)
counts        how many candidates; −1 if they did not fit: everyone is               (h,)
Q, X          rows to measure from and to: (h, d) and (n, d), or parts of CSR        several
kind          0: squared Euclidean, 1: Manhattan                                     scalar
D             distances                                                              (h, n)
indices       the nearest, nearest first                                             (h, k)
distances     how far they are                                                       (h, k)
============  =====================================================================  ===================
"""

from __future__ import annotations

import numpy as np

from manifolia.kernels._jit import ZERO, kernel

#: Up to this many neighbours are inserted: at about this number a heap takes as long.
FEW = 64


@kernel()
def _sink(distances, indices, root, size):
    """Let the entry at `root` sink among the first `size` until every entry below it comes before it."""
    distance, index = distances[root], indices[root]
    child = 2 * root + 1
    while child < size:
        other = child + 1
        if other < size and (
            distances[other] > distances[child]
            or (distances[other] == distances[child] and indices[other] > indices[child])
        ):
            child = other
        if distance > distances[child] or (distance == distances[child] and index >= indices[child]):
            break
        distances[root] = distances[child]
        indices[root] = indices[child]
        root = child
        child = 2 * root + 1
    distances[root] = distance
    indices[root] = index


@kernel()
def _keep(distance, index, distances, indices, count):
    """Keep a neighbour if it is among the first by (distance, index); return how many there are.

    They are in order or, if there is room for more than `FEW`, a heap once the room is full.
    """
    k = indices.shape[0]
    p = count
    if count == k:
        last = 0 if k > FEW else k - 1
        if distance > distances[last] or (distance == distances[last] and index > indices[last]):
            return count
        p = last
    if k > FEW:
        distances[p] = distance
        indices[p] = index
        if count == k:
            _sink(distances, indices, ZERO, k)
        elif count == k - 1:
            for root in range(k // 2 - 1, -1, -1):
                _sink(distances, indices, root, k)
        return min(count + 1, k)
    while p > 0 and (distances[p - 1] > distance or (distances[p - 1] == distance and indices[p - 1] > index)):
        distances[p] = distances[p - 1]
        indices[p] = indices[p - 1]
        p -= 1
    distances[p] = distance
    indices[p] = index
    return min(count + 1, k)


@kernel()
def _in_order(distances, indices, count):
    """Put what `_keep` has kept in order, nearest first."""
    if indices.shape[0] <= FEW:
        return
    for root in range(count // 2 - 1, -1, -1):
        _sink(distances, indices, root, count)
    for end in range(count - 1, 0, -1):
        distance, index = distances[0], indices[0]
        distances[0], indices[0] = distances[end], indices[end]
        distances[end], indices[end] = distance, index
        _sink(distances, indices, ZERO, end)


@kernel()
def shortlist(G, lengths, squares, e, floor, own, k, candidates, counts):
    """Fill ``candidates[r]`` with all rows that may be among the k nearest of row r."""
    n = G.shape[1]
    least = np.empty(k, np.float64)
    whose = np.empty(k, np.int64)
    farthest = 0 if k > FEW else k - 1
    for r in range(G.shape[0]):
        count = ZERO
        worst = np.inf
        for j in range(n):
            upper = (1.0 + e) * (lengths[r] + squares[j]) - 2.0 * G[r, j] + floor
            if upper < worst and j != own[r]:
                count = _keep(upper, j, least, whose, count)
                if count == k:
                    worst = least[farthest]
        count = 0
        for j in range(n):
            lower = (1.0 - e) * (lengths[r] + squares[j]) - 2.0 * G[r, j] - floor
            if lower <= worst and j != own[r]:
                if count == candidates.shape[1]:
                    count = -1
                    break
                candidates[r, count] = j
                count += 1
        counts[r] = count


# A sum over features must have the same order for every pair and every run, so it is compiled in one place only:
# inlined into `measure`. As a separate kernel it would be compiled on its own and again inside `measure`, with sums in
# another order; the process that compiles would call one, those that load the cache the other.
@kernel(fast=True, inline=True)
def _distance(a, b, kind):
    total = 0.0
    if kind == 0:
        for f in range(a.shape[0]):
            t = np.float64(a[f]) - np.float64(b[f])
            total += t * t
    else:
        for f in range(a.shape[0]):
            total += abs(np.float64(a[f]) - np.float64(b[f]))
    return total


@kernel(fast=True)
def measure(Q, X, kind, own, candidates, counts, indices, distances):
    """Fill ``indices[r]`` and ``distances[r]`` with the nearest among the candidates of row r."""
    for r in range(Q.shape[0]):
        everyone = counts[r] < 0
        total = X.shape[0] if everyone else counts[r]
        count = ZERO
        for c in range(total):
            j = c if everyone else np.int64(candidates[r, c])
            if j != own[r]:
                count = _keep(_distance(Q[r], X[j], kind), j, distances[r], indices[r], count)
        _in_order(distances[r], indices[r], count)


@kernel()
def _sparse_distance(values, columns, start, stop, x, x_columns, x_start, x_stop):
    """Σ (a_f − b_f)² over the features that either row has, in their order."""
    total = 0.0
    p = start
    q = x_start
    while p < stop or q < x_stop:
        f = columns[p] if p < stop else np.int64(1) << 62
        g = x_columns[q] if q < x_stop else np.int64(1) << 62
        t = 0.0
        if f <= g:
            t += values[p]
            p += 1
        if g <= f:
            t -= x[q]
            q += 1
        total += t * t
    return total


@kernel()
def measure_sparse(
    values, columns, starts, x, x_columns, x_starts, own, candidates, counts, indices, distances
):  # fmt: skip
    """`measure` with squared Euclidean distances for rows in CSR form."""
    for r in range(starts.shape[0] - 1):
        everyone = counts[r] < 0
        total = x_starts.shape[0] - 1 if everyone else counts[r]
        count = ZERO
        for c in range(total):
            j = c if everyone else np.int64(candidates[r, c])
            if j != own[r]:
                distance = _sparse_distance(
                    values, columns, starts[r], starts[r + 1], x, x_columns, x_starts[j], x_starts[j + 1]
                )
                count = _keep(distance, j, distances[r], indices[r], count)
        _in_order(distances[r], indices[r], count)


@kernel()
def smallest(D, own, indices, distances):
    """Fill ``indices[r]`` and ``distances[r]`` with the k smallest of row r, its own place left out."""
    for r in range(D.shape[0]):
        count = ZERO
        for j in range(D.shape[1]):
            if j != own[r]:
                count = _keep(np.float64(D[r, j]), j, distances[r], indices[r], count)
        _in_order(distances[r], indices[r], count)
