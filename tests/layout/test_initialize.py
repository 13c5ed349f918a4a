"""Starts of a layout: principal components and eigenvectors of the graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from manifolia.layout import initialize as module
from manifolia.layout.initialize import pca_start, spectral_start


def _cloud(n=300, d=12, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.geomspace(8, 0.5, d) + 3.0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_the_start_is_the_leading_components(kind):
    X = _cloud()
    found = pca_start(kind(X), 3, random_state=0)
    peer = PCA(3, svd_solver="full").fit_transform(X)
    for k in range(3):
        assert abs(np.corrcoef(found[:, k], peer[:, k])[0, 1]) > 0.9999
    # One scale for all axes: the shape of the cloud is kept.
    np.testing.assert_allclose(
        found.std(axis=0) / found.std(axis=0)[0], peer.std(axis=0) / peer.std(axis=0)[0], rtol=1e-2
    )
    assert np.ptp(found, axis=0).max() == pytest.approx(10.0, rel=1e-2)


def test_many_rows_are_sampled(monkeypatch):
    X = _cloud(500)
    whole = pca_start(X, random_state=0)
    monkeypatch.setattr(module, "_SAMPLE", 100)
    sampled = pca_start(X, random_state=0)
    assert not np.array_equal(whole, sampled)
    assert abs(np.corrcoef(whole[:, 0], sampled[:, 0])[0, 1]) > 0.95


def test_the_start_is_repeatable_on_any_number_of_threads():
    X = _cloud(1000)
    np.testing.assert_array_equal(pca_start(X, random_state=1, n_jobs=1), pca_start(X, random_state=1, n_jobs=2))
    assert not np.array_equal(pca_start(X, random_state=1), pca_start(X, random_state=2))


def test_signs_are_fixed():
    X = _cloud()
    np.testing.assert_allclose(pca_start(X, random_state=0), -pca_start(-X, random_state=0), atol=1e-2)


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.outer(np.arange(5.0), np.ones(3)), np.ones((3, 1)), np.eye(2)])
def test_what_coincides_is_parted_by_noise(X):
    found = pca_start(X, 4, random_state=0)
    assert found.shape == (len(X), 4)
    assert len(np.unique(found, axis=0)) == len(X)
    assert (np.ptp(found, axis=0) > 0).all()


def _ring(n, reach=1):
    rows = np.repeat(np.arange(n), reach)
    ahead = (rows + np.tile(np.arange(1, reach + 1), n)) % n
    ring = sp.csr_array((np.ones(n * reach), (rows, ahead)), shape=(n, n))
    return sp.csr_array(ring + ring.T)


def test_a_ring_is_laid_out_as_a_circle():
    # The second and third eigenvectors of a ring are cos and sin of the place on it.
    found = spectral_start(_ring(50), 2, random_state=0)
    radius = np.linalg.norm(found - found.mean(axis=0), axis=1)
    assert radius.std() < 0.03 * radius.mean()
    assert np.ptp(found, axis=0).max() == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("n", [100, 1000])
def test_a_strip_is_laid_out_in_its_order(n):
    strip = _ring(n, 10).tolil()
    strip[:20, -20:] = 0.0
    strip[-20:, :20] = 0.0
    found = spectral_start(sp.csr_array(strip), 1, random_state=0).ravel()
    place = np.corrcoef(np.argsort(np.argsort(found)), np.arange(n))[0, 1]
    assert abs(place) > 0.999
    assert np.ptp(found) == pytest.approx(10.0, rel=0.01)


def test_parts_that_are_not_connected_stand_apart():
    sizes = [200, 30, 5, 1, 1]
    graph = sp.csr_array(sp.block_diag([_ring(n) if n > 2 else sp.csr_array((n, n)) for n in sizes]))
    found = spectral_start(graph, 2, random_state=0)
    part = np.repeat(np.arange(len(sizes)), sizes)
    centres = np.array([found[part == p].mean(axis=0) for p in range(len(sizes))])
    for p in range(len(sizes)):
        reach = np.linalg.norm(found[part == p] - centres[p], axis=1).max()
        others = np.linalg.norm(found[part != p] - centres[p], axis=1).min()
        assert reach < others
    for c in (1, 3):
        assert np.isfinite(spectral_start(graph, c, random_state=0)).all()


def test_spectral_start_is_repeatable():
    graph = _ring(700)
    one, two = (spectral_start(graph, 2, random_state=0, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_graphs(n):
    found = spectral_start(sp.csr_array(np.ones((n, n)) - np.eye(n)), 2, random_state=0)
    assert found.shape == (n, 2)
    assert np.isfinite(found).all()


def test_errors():
    with pytest.raises(TypeError, match="sparse"):
        spectral_start(np.eye(3))
    with pytest.raises(ValueError, match="square"):
        spectral_start(sp.csr_array((2, 3)))
    with pytest.raises(ValueError, match="n_components"):
        pca_start(np.eye(3), 0)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_a_start_in_single_precision_does_not_depend_on_units(scale):
    X = _cloud().astype(np.float32)
    expected = pca_start(X, 2, random_state=0)
    np.testing.assert_allclose(pca_start((X * np.float32(scale)), 2, random_state=0), expected, rtol=1e-3, atol=1e-3)
