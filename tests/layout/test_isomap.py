"""Isomap: scikit-learn's, along a graph in one piece and in several, and on rows that are equal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist
from sklearn.manifold import Isomap

from manifolia.layout.isomap import geodesic_distances, isomap


def rows(n_groups, n=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)) + 40.0 * (np.arange(n) % n_groups)[:, None]


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_it_is_that_of_scikit_learn(n_groups):
    D = cdist(rows(n_groups), rows(n_groups))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a graph in parts
        theirs = Isomap(n_neighbors=5, metric="precomputed", eigen_solver="dense").fit(D)
    np.testing.assert_allclose(geodesic_distances(D, 5), theirs.dist_matrix_, rtol=1e-12)
    ours, expected = isomap(D, 2, n_neighbors=5), theirs.embedding_
    turned = ours @ orthogonal_procrustes(ours, expected)[0]
    np.testing.assert_allclose(turned, expected, atol=1e-8 * np.abs(expected).max())


def test_a_line_keeps_its_lengths():
    x = np.cumsum(np.linspace(0.1, 1.0, 30))
    bend = np.column_stack([np.cos(x / 6), np.sin(x / 6)]) * 6
    # Steps grow, so that the nearest row is the one before; a second neighbour would cut the corner at the end.
    found = isomap(cdist(bend, bend), 1, n_neighbors=1)[:, 0]
    steps = np.linalg.norm(np.diff(bend, axis=0), axis=1)
    np.testing.assert_allclose(np.abs(np.diff(found)), steps, rtol=1e-6)


def test_equal_rows_are_linked():
    X = np.repeat(rows(1, 10), 4, axis=0)
    found = geodesic_distances(cdist(X, X), 3)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[::4, ::4], found[1::4, 1::4])
    assert (np.diag(found, 1)[::4] == 0).all()
