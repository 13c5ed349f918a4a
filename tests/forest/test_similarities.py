"""Proximities as distances: by loops, for every kind, and nearest rows without all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest import proximity
from manifolia.forest.proximities import KINDS
from manifolia.forest.similarities import distances, nearest_by_similarity, similarity


@pytest.fixture(scope="module")
def forest():
    X, y = load_iris(return_X_y=True)
    return RandomForestClassifier(40, random_state=0).fit(X, y), X


@pytest.mark.parametrize("kind", KINDS)
def test_equals_its_definition(forest, kind):
    K = proximity(*forest, kind=kind)
    S, dense = similarity(K), K.toarray()
    expected = np.zeros_like(dense)
    for i in range(150):
        for j in range(150):
            if kind.startswith("gap"):
                expected[i, j] = (dense[i, j] + dense[j, i]) / (dense[i].max() + dense[j].max())
            else:
                expected[i, j] = dense[i, j] / np.sqrt(dense[i, i] * dense[j, j])
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(S.toarray(), expected, rtol=1e-12, atol=1e-15)
    D = distances(S)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_allclose(D**2 + expected, 1.0 - np.eye(150), atol=1e-12)


def test_a_kernel_gives_euclidean_distances(forest):
    D = distances(similarity(proximity(*forest, kind="original")))
    centre = np.eye(150) - 1 / 150
    assert np.linalg.eigvalsh(-0.5 * centre @ D**2 @ centre).min() > -1e-9


def test_nearest_rows_are_those_of_the_distances(forest):
    S = similarity(proximity(*forest, kind="oob"))
    near = nearest_by_similarity(S, 5)
    D = distances(S) + np.diag(np.full(150, np.inf))
    np.testing.assert_allclose(near.distances, np.sort(D, axis=1)[:, :5], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(D, near.indices, axis=1), near.distances, atol=1e-12)


def test_rows_with_few_alike_take_those_of_their_like():
    S = sp.csr_array(np.array([[0, 0.5, 0, 0], [0.5, 0, 0, 0.25], [0, 0, 0, 0.1], [0, 0.25, 0.1, 0]]))
    near = nearest_by_similarity(S, 3)
    assert near.indices[0].tolist() == [1, 3, 2]  # 3 through 1, then what is left
    np.testing.assert_allclose(near.distances[0], [np.sqrt(0.5), 1.0, 1.0])
    assert all(len(set(row)) == 3 for row in near.indices.tolist())
