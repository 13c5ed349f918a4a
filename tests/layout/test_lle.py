"""LLE from distances: equal to scikit-learn's on rows, and right where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.manifold import LocallyLinearEmbedding

from manifolia.layout import lle as module
from manifolia.layout.lle import lle, local_weights
from manifolia.neighbors import kneighbors


@pytest.fixture
def rows(rng):
    t = np.sort(rng.uniform(0, 3, size=80))
    return np.column_stack([np.cos(t), np.sin(t), rng.uniform(0, 1, size=80)])


@pytest.mark.parametrize("dense", [True, False])
def test_equals_scikit_learn_on_euclidean_distances(rows, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(module, "_DENSE", 0)
    found = lle(cdist(rows, rows), 2, n_neighbors=8)
    peer = LocallyLinearEmbedding(n_neighbors=8, n_components=2, eigen_solver="dense").fit_transform(rows)
    for k in range(2):
        sign = np.sign(found[:, k] @ peer[:, k])
        np.testing.assert_allclose(found[:, k], sign * peer[:, k], atol=1e-5)


def test_weights_rebuild_rows_that_lie_flat(rng):
    X = rng.normal(size=(40, 2))
    D = cdist(X, X)
    W = local_weights(D, kneighbors(D, 6, metric="precomputed"), ridge=1e-10)
    np.testing.assert_allclose(np.asarray(W.sum(axis=1)).ravel(), 1.0)
    np.testing.assert_allclose(W @ X, X, atol=1e-4)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="n_components must be at least 1 and at most 2"):
        lle(1.0 - np.eye(3), 3)
    with pytest.raises(ValueError, match="D"):
        lle(np.array([[0.0, 1.0], [2.0, 0.0]]), 1)
