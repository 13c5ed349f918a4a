"""The α-decay kernel: its definition by loops, its reach, duplicates, stored distances, new rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import manifolia as mf
from manifolia.affinity import alpha_decay as module
from manifolia.affinity.alpha_decay import alpha_decay, decay_rows
from manifolia.exceptions import MemoryLimitError
from manifolia.neighbors import NeighborIndex

LEAST = 1e-4


def naive(D, k, decay):
    """The definition, pair by pair; halves below 1e-4 are left out."""
    n = len(D)
    half = np.zeros((n, n))
    for i in range(n):
        others = np.sort(np.delete(D[i], i))
        for j in range(n):
            if i == j:
                half[i, j] = 1.0
            elif others[k - 1] == 0:
                half[i, j] = float(D[i, j] == 0)
            else:
                value = np.exp(-min((D[i, j] / others[k - 1]) ** decay, 700.0))
                half[i, j] = value if value >= LEAST else 0.0
    return 0.5 * (half + half.T)


@pytest.mark.parametrize(("k", "decay"), [(1, 40.0), (5, 40.0), (5, 2.0), (3, 0.7)])
def test_equals_its_definition(rng, k, decay):
    X = rng.normal(size=(70, 3))
    K, bandwidth = alpha_decay(NeighborIndex(X), X, k, decay)
    D = cdist(X, X)
    np.testing.assert_allclose(K.toarray(), naive(D, k, decay), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(bandwidth, np.sort(D, axis=1)[:, k], rtol=1e-12)
    assert (K != K.T).nnz == 0


def test_wide_neighbourhoods_are_searched_once_more_and_stay_the_same(rng, monkeypatch):
    """Many columns of noise: all rows lie about as far, and a neighbourhood holds a good part of them."""
    X = rng.normal(size=(500, 200))
    widths = []
    query = NeighborIndex.query
    monkeypatch.setattr(NeighborIndex, "query", lambda self, Q, k: widths.append((len(Q), k)) or query(self, Q, k))
    K, _ = alpha_decay(NeighborIndex(X), X, 5, 40.0)
    foreseen, widths[:] = widths.copy(), []
    monkeypatch.setattr(module, "_WIDER", 0)
    step_by_step, _ = alpha_decay(NeighborIndex(X), X, 5, 40.0)
    assert sum(rows for rows, _ in foreseen) < 600 < sum(rows for rows, _ in widths)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(K, name), getattr(step_by_step, name))
    np.testing.assert_allclose(K.toarray(), naive(cdist(X, X), 5, 40.0), rtol=1e-9, atol=1e-12)


def test_without_decay_it_is_the_graph_of_the_nearest(rng):
    X = rng.normal(size=(50, 2))
    K, _ = alpha_decay(NeighborIndex(X), X, 4, None)
    near = np.argsort(cdist(X, X), axis=1)[:, :5]
    graph = np.zeros((50, 50))
    np.put_along_axis(graph, near, 1.0, axis=1)
    np.testing.assert_array_equal(K.toarray(), 0.5 * (graph + graph.T))


def test_duplicates_are_at_no_distance(rng):
    X = np.repeat(rng.normal(size=(12, 2)), 5, axis=0)
    K, bandwidth = alpha_decay(NeighborIndex(X), X, 3, 40.0)
    assert (bandwidth == 0).all()
    np.testing.assert_array_equal(K.toarray(), np.kron(np.eye(12), np.ones((5, 5))))
    wide, _ = alpha_decay(NeighborIndex(X), X, 7, 2.0)
    np.testing.assert_allclose(wide.toarray(), naive(cdist(X, X), 7, 2.0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "stored"])
def test_distances_give_what_rows_give(rng, kind):
    X, new = rng.normal(size=(60, 4)), rng.normal(size=(9, 4))
    D, D_new = cdist(X, X), cdist(new, X)
    from_rows = alpha_decay(NeighborIndex(X), X, 4, 3.0)[0]
    new_from_rows = decay_rows(NeighborIndex(X), new, 4, 3.0)
    if kind == "stored":
        D = sp.csr_array((D.ravel(), np.indices(D.shape).reshape(2, -1)), shape=D.shape)  # with its zeros
        D_new = sp.csr_array(D_new)
    index = NeighborIndex(D, metric="precomputed")
    np.testing.assert_allclose(alpha_decay(index, D, 4, 3.0)[0].toarray(), from_rows.toarray(), rtol=1e-9)
    found = decay_rows(index, D_new, 4, 3.0)
    np.testing.assert_allclose(found.weights.toarray(), new_from_rows.weights.toarray(), rtol=1e-9)


def test_new_rows_have_the_first_half_and_know_their_equals(rng):
    X = rng.normal(size=(40, 3))
    new = np.vstack([rng.normal(size=(5, 3)), X[[17]]])
    found = decay_rows(NeighborIndex(X), new, 5, 40.0)
    D = cdist(new, X)
    width = np.sort(D, axis=1)[:, 4:5]
    expected = np.exp(-np.minimum((D / width) ** 40.0, 700.0))
    np.testing.assert_allclose(found.weights.toarray(), np.where(expected >= LEAST, expected, 0.0), rtol=1e-9)
    assert found.nearest.tolist() == [-1, -1, -1, -1, -1, 17]
    alone = decay_rows(NeighborIndex(X), new[2:3], 5, 40.0)
    np.testing.assert_array_equal(alone.weights.toarray()[0], found.weights.toarray()[2])


def test_wide_neighbourhoods_are_refused_before_they_are_made(rng):
    X = rng.normal(size=(600, 2))
    with mf.memory_limit("1MB"), pytest.raises(MemoryLimitError, match="larger decay"):
        alpha_decay(NeighborIndex(X), X, 5, 0.5)
