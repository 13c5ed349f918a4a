"""t-SNE from our own neighbours and starts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.exceptions import ManifoliaWarning
from manifolia.kernels.kernel_map import perplexity_rows
from manifolia.layout.initialize import pca_start
from manifolia.layout.tsne import perplexity_graph, tsne, tsne_layout, tsne_neighbors
from manifolia.metrics import knn_accuracy
from manifolia.neighbors import kneighbors
from reference import forces as naive


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


@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_groups_come_apart(groups, c):
    X, labels = groups
    near, start = kneighbors(X, tsne_neighbors(10, 90)), pca_start(X, c, random_state=0)
    Y = tsne(near, start, perplexity=10, n_jobs=1)
    assert Y.tobytes() == tsne(near, start, perplexity=10, n_jobs=2).tobytes()
    assert knn_accuracy(Y, labels, 3) > 0.9
    assert c > 2 or knn_accuracy(start, labels, 3) < 0.9  # four components tell the groups apart as they are


def test_only_the_shape_of_the_start_counts(groups):
    X, _ = groups
    near, start = kneighbors(X, tsne_neighbors(10, 90)), pca_start(X, 2, random_state=0)
    np.testing.assert_array_equal(tsne(near, start, perplexity=10), tsne(near, 1024.0 * start, perplexity=10))


def test_the_divergence_is_as_low_as_that_of_opentsne(rng):
    """The same affinities, start and number of iterations; both descents are chaotic, so divergences are compared."""
    open_tsne = pytest.importorskip("openTSNE", reason="openTSNE is not installed")
    from openTSNE.affinity import PrecomputedAffinities

    X = rng.normal(size=(400, 10)) + 6.0 * np.eye(10)[np.arange(400) % 10]
    P = perplexity_graph(kneighbors(X, tsne_neighbors(20, 400)), 20)
    start = pca_start(X, 2, random_state=0)
    start = (start - start.mean(axis=0)) * 1e-4 / start[:, 0].std()
    ours = tsne_layout(P, start)
    theirs = open_tsne.TSNEEmbedding(
        start, PrecomputedAffinities(sp.csr_matrix(P), normalize=False), negative_gradient_method="bh", random_state=0
    )
    theirs.optimize(250, inplace=True, exaggeration=12.0, momentum=0.5, learning_rate=400 / 12)
    theirs.optimize(500, inplace=True, momentum=0.8, learning_rate=400)
    assert ours.n_iterations == 750
    dense = P.toarray()
    assert ours.divergence == pytest.approx(naive.divergence(dense, ours.Y), rel=1e-4)
    assert ours.divergence < 1.02 * naive.divergence(dense, np.asarray(theirs))


@pytest.mark.parametrize("perplexity", [30, 60, 89])
def test_any_perplexity_up_to_all_other_rows(groups, perplexity):
    """Affinities have the entropy that was asked for, also where every row is a neighbour."""
    X, _ = groups
    near = kneighbors(X, tsne_neighbors(perplexity, 90))
    P = np.empty(near.distances.shape)
    perplexity_rows(near.distances, float(perplexity), P, 0, 90)
    np.testing.assert_allclose(np.exp(-(P * np.log(P)).sum(axis=1)), perplexity, rtol=1e-3)
    assert np.isfinite(tsne(near, X[:, :2], perplexity=perplexity)).all()
    with pytest.warns(ManifoliaWarning, match="perplexity=90 needs more than 90 rows: 89 is used"):
        tsne(kneighbors(X, 89), X[:, :2], perplexity=90)


def test_refusals(groups):
    X, _ = groups
    near = kneighbors(X, 89)
    with pytest.raises(ValueError, match="must lie between 0 and 89"):
        tsne(near._replace(indices=near.indices + 1), X[:, :2])
    with pytest.raises(ValueError, match="perplexity must be at least 1"):
        tsne(near, X[:, :2], perplexity=0.5)


@pytest.mark.parametrize(("n", "perplexity"), [(12, 4), (20, 10), (60, 30), (60, 59), (200, 30)])
def test_noise_does_not_shrink_to_a_point_or_a_line(n, perplexity, rng):
    """Where a graph has no slow direction, exaggerated attraction shrinks all: the shape must survive that."""
    X = rng.normal(size=(n, 30))
    near = kneighbors(X, tsne_neighbors(perplexity, n))
    Y = tsne(near, pca_start(X, 2, random_state=0), perplexity=perplexity)
    spread = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False)
    # With all rows as equal neighbours a point is the best map; it stays small, and has two dimensions all the same.
    assert spread[0] > (1e-5 if perplexity == n - 1 else 1.0)
    assert spread[1] > 0.3 * spread[0]
