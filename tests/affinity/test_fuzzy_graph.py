"""The fuzzy neighbourhood graph: its definition, UMAP's own, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.affinity.fuzzy import check_neighbors, fuzzy_graph, mean_neighbor_distance, memberships
from manifolia.neighbors import Neighbors, kneighbors

UMAP_GRAPH = Path(__file__).with_name("umap_graph.csv")


def test_it_is_the_fuzzy_union_of_the_strengths(rng):
    X = rng.normal(size=(60, 4))
    near = kneighbors(X, 7)
    found = fuzzy_graph(near)
    A = np.zeros((60, 60))
    for i in range(60):
        A[i, near.indices[i]] = found.weights[i]
    expected = A + A.T - A * A.T
    np.testing.assert_allclose(found.graph.toarray(), expected, atol=1e-6)
    assert found.graph.dtype == np.float32
    assert found.graph.has_sorted_indices
    assert (found.graph.data > 0).all()
    assert (found.graph.diagonal() == 0).all()


def test_it_is_exactly_symmetric(rng):
    graph = fuzzy_graph(kneighbors(rng.normal(size=(80, 3)), 5)).graph
    np.testing.assert_array_equal(graph.toarray(), graph.toarray().T)


def test_scale_and_shift_of_the_data_do_not_matter(rng):
    X = rng.normal(size=(50, 3))
    near = kneighbors(X, 6)
    a = fuzzy_graph(near).graph
    b = fuzzy_graph(Neighbors(near.indices, 1000.0 * near.distances)).graph
    np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-4)


def test_same_bits_for_any_n_jobs(rng):
    near = kneighbors(rng.normal(size=(9000, 3)), 5)
    one, two = fuzzy_graph(near, n_jobs=1), fuzzy_graph(near, n_jobs=2)
    np.testing.assert_array_equal(one.weights, two.weights)
    np.testing.assert_array_equal(one.graph.data, two.graph.data)
    np.testing.assert_array_equal(one.graph.indices, two.graph.indices)


def test_a_row_does_not_depend_on_its_batch(rng):
    distances = np.sort(rng.gamma(2.0, size=(30, 6)), axis=1)
    distances[4] = 0.0
    mean = mean_neighbor_distance(distances)
    whole = memberships(distances, mean_distance=mean)
    for i in (0, 4, 29):
        alone = memberships(distances[i : i + 1], mean_distance=mean)
        np.testing.assert_array_equal(alone.weights[0], whole.weights[i])
        assert alone.scale[0] == whole.scale[i] > 0


def test_it_is_umaps():
    # umap_graph.csv holds what umap.umap_.fuzzy_simplicial_set of umap-learn 0.5.12 returns for these rows and their
    # neighbours, with n_neighbors=8 and each row as its own first neighbour at distance 0: the entries right of the
    # diagonal, to six digits. The last four rows repeat the first.
    X = np.sin(np.arange(40 * 3, dtype=float).reshape(40, 3) ** 1.5).round(3)
    X[36:] = X[:4]
    ours = fuzzy_graph(kneighbors(X.astype(np.float32), 7)).graph.toarray()
    rows, columns, weights = np.loadtxt(UMAP_GRAPH, delimiter=",", skiprows=1, unpack=True)
    theirs = np.zeros((40, 40))
    theirs[rows.astype(int), columns.astype(int)] = weights
    np.testing.assert_allclose(ours, theirs + theirs.T, atol=3e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i, d: (i[:, :2], d), "of one shape"),
        (lambda i, d: (i.astype(float), d), "indices .ints."),
        (lambda i, d: (np.where(i == i[0, 0], 99, i), d), "between 0 and 9"),
        (lambda i, d: (np.concatenate([np.arange(10)[:, None], i[:, :-1]], axis=1), d), "its own neighbour"),
        (lambda i, d: (np.repeat(i[:, :1], 3, axis=1), d), "twice"),
        (lambda i, d: (i, d[:, ::-1]), "never fall"),
        (lambda i, d: (i, d - 10), "at least 0"),
        (lambda i, d: (i, np.where(d == d[0, 0], np.nan, d)), "finite"),
    ],
)
def test_bad_neighbours_are_refused(change, message, rng):
    near = kneighbors(rng.normal(size=(10, 2)), 3)
    with pytest.raises(ValueError, match=message):
        check_neighbors(change(*near))


def test_what_is_no_pair_is_refused():
    with pytest.raises(ValueError, match="must be a pair"):
        check_neighbors(3)
    with pytest.raises(ValueError, match=r"shape \(12, k\)"):
        check_neighbors((np.ones((3, 2), int), np.ones((3, 2))), n_rows=12)


def test_two_groups_stay_apart(rng):
    X = np.concatenate([rng.normal(size=(20, 2)), 1000 + rng.normal(size=(20, 2))])
    n_parts, _ = sp.csgraph.connected_components(fuzzy_graph(kneighbors(X, 5)).graph)
    assert n_parts == 2
