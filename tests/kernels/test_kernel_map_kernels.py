"""The kernels of the kernel map against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels import kernel_map as fast
from reference import kernel_map as naive


def made(rng, m=30, d=5, c=2, kind=0, dtype=np.float64):
    C = rng.normal(size=(m, d))
    C[3] = C[4]  # a duplicate
    sigma = rng.uniform(0.3, 1.0, size=m)
    return fast.Formula(
        np.ascontiguousarray(C.T, dtype=dtype), (0.5 / sigma**2).astype(dtype), rng.normal(size=(m, c)), kind
    )


def rows(rng, kind, n=20, m=30, d=5, dtype=np.float64):
    return np.abs(rng.normal(size=(n, m if kind == 3 else d))).astype(dtype)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("d", [1, 4, 7])
def test_means_and_weights(rng, kind, d, dtype, atol):
    formula = made(rng, d=d, kind=kind, dtype=dtype)
    Z = rows(rng, kind, d=d, dtype=dtype)
    own = np.where(np.arange(len(Z)) % 2, -1, np.arange(len(Z)))
    for name, shape in (("mapped_rows", (20, 2)), ("weight_rows", (20, 30))):
        one, two = np.zeros(shape), np.zeros(shape)
        getattr(fast, name)(Z, formula, own, one, 0, 20)
        getattr(naive, name)(Z, formula, own, two, 0, 20)
        np.testing.assert_allclose(one, two, atol=atol)
    np.testing.assert_allclose(one.sum(axis=1), 1.0, rtol=1e-12)  # a partition of unity
    assert (one[own >= 0, own[own >= 0]] == 0).all()


@pytest.mark.parametrize("d", [1, 6])
def test_jacobian(rng, d):
    formula, Z = made(rng, d=d), rows(rng, 0, d=d)
    nobody = np.full(20, -1)
    one, two = np.full((20, 2, d), np.nan), np.empty((20, 2, d))
    fast.jacobian_rows(Z, formula, nobody, one, 0, 20)
    naive.jacobian_rows(Z, formula, nobody, two, 0, 20)
    np.testing.assert_allclose(one, two, atol=1e-11)


def test_only_the_range_is_written(rng):
    formula, Z = made(rng), rows(rng, 0)
    out = np.full((20, 2), np.nan)
    fast.mapped_rows(Z, formula, np.full(20, -1), out, 5, 9)
    assert np.isfinite(out[5:9]).all()
    assert np.isnan(np.delete(out, range(5, 9), axis=0)).all()


def test_frame(rng):
    X = rng.normal(size=(10, 3)) * np.logspace(-3, 6, 10)[:, None]
    shift = rng.normal(size=3)
    one, two = np.empty((10, 3)), np.empty((10, 3))
    fast.framed_rows(X, shift, 0.5, 20.0, one, 0, 10)
    naive.framed_rows(X, shift, 0.5, 20.0, two, 0, 10)
    np.testing.assert_allclose(one, two, rtol=1e-12)
    assert np.linalg.norm(one, axis=1).max() == pytest.approx(20.0)


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("perplexity", [1.5, 5.0, 40.0])
def test_mode(rng, c, perplexity):
    Y = rng.normal(size=(50, c)) * 3
    indices = np.stack([rng.choice(50, 16, replace=False) for _ in range(25)])
    distances = np.sort(rng.gamma(3.0, size=(25, 16)), axis=1)
    distances[0, 0] = 0.0  # on a point
    distances[1] = 2.0  # all equally far
    distances[2, :4] = distances[2, 0]
    one, two = np.empty((25, c)), np.empty((25, c))
    for function, out in ((fast.mode_rows, one), (naive.mode_rows, two)):
        function(indices, distances, Y, perplexity, 0.8, out, 0, 25)
    np.testing.assert_allclose(one, two, atol=1e-3)
    np.testing.assert_array_equal(one[0], Y[indices[0, 0]])


def test_mode_of_one_neighbour():
    out = np.empty((1, 2))
    fast.mode_rows(np.zeros((1, 1), np.intp), np.ones((1, 1)), np.array([[3.0, 4.0]]), 5.0, 1.0, out, 0, 1)
    np.testing.assert_array_equal(out, [[3.0, 4.0]])


@pytest.mark.parametrize("perplexity", [1.2, 5.0, 12.0, 16.0])
def test_perplexity(rng, perplexity):
    D = np.sort(rng.gamma(3.0, size=(20, 16)), axis=1)
    D[0, :3] = 0.0
    one, two = np.empty_like(D), np.empty_like(D)
    fast.perplexity_rows(D, perplexity, one, 0, 20)
    naive.perplexity_rows(D, perplexity, two, 0, 20)
    np.testing.assert_allclose(one[1:], two[1:], atol=1e-5)
    entropy = -(one * np.log(np.maximum(one, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropy[1:]), perplexity, rtol=1e-4)
