"""t-SNE from our own neighbours and starts."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.exceptions import ManifoliaWarning
from manifolia.layout import tsne as module
from manifolia.layout.initialize import pca_start
from manifolia.layout.tsne import perplexity_graph, tsne, tsne_neighbors
from manifolia.metrics import knn_accuracy
from manifolia.neighbors import kneighbors


@pytest.fixture
def groups(rng):
    """Return nine groups along nine axes, of which two principal components cannot tell all apart."""
    labels = np.arange(90) % 9
    X = rng.normal(size=(90, 10))
    X[:, :9] += 8 * np.eye(9)[labels]
    return X, labels


def test_graph(groups):
    X, _ = groups
    P = perplexity_graph(kneighbors(X, tsne_neighbors(10, 90)), 10)
    assert abs(P - P.T).max() < 1e-15
    assert P.sum() == pytest.approx(1.0)
    assert P.diagonal().max() == 0.0
    assert tsne_neighbors(10, 90) == 31
    assert tsne_neighbors(50, 90) == 89


def test_graph_by_hand():
    # Three rows on a line, at 0, 1 and 3; with a perplexity of 2 both neighbours count alike.
    P = perplexity_graph(kneighbors([[0.0], [1.0], [3.0]], 2), 2).toarray()
    np.testing.assert_allclose(P, (np.ones((3, 3)) - np.eye(3)) / 6)


@pytest.mark.parametrize("peer", ["openTSNE", "scikit-learn"])
def test_groups_come_apart(groups, peer, monkeypatch):
    X, labels = groups
    near, start = kneighbors(X, tsne_neighbors(10, 90)), pca_start(X, 2, random_state=0)
    if peer == "openTSNE":
        pytest.importorskip("openTSNE", reason="the extra tsne is not installed")
        Y = tsne(near, start, perplexity=10, n_jobs=1)
        assert Y.tobytes() == tsne(near, start, perplexity=10, n_jobs=2).tobytes()
    else:
        monkeypatch.setattr(module, "is_installed", lambda _: False)
        with pytest.warns(ManifoliaWarning, match="openTSNE is not installed"):
            Y = tsne(near, start, perplexity=10)
    assert knn_accuracy(Y, labels, 3) > 0.9 > knn_accuracy(start, labels, 3)


def test_refusals(groups):
    X, _ = groups
    near = kneighbors(X, 89)
    with pytest.raises(ValueError, match="1 or 2 dimensions"):
        tsne(near, X[:, :3])
    with pytest.raises(ValueError, match="perplexity must be at least 1"):
        tsne(near, X[:, :2], perplexity=0.5)
