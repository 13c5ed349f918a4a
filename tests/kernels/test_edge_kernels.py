"""The kernels of the graph layout and of its density term against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.kernels import anchored as anchored_kernels
from manifolia.kernels import density as density_kernels
from manifolia.kernels import edge_sgd as kernels
from manifolia.layout.edge_sgd import check_graph, force_table
from reference import anchored as naive_anchored
from reference import density as naive_density
from reference import edge_sgd as naive

TABLE = force_table(1.577, 0.895)
KEY = np.uint64(0x9E3779B97F4A7C15)


def _graph(n, rng, share=0.3):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < share), 1)
    return check_graph(sp.csr_array(A + A.T), n)


def _positions(n, c, rng, scale=2.0):
    return (scale * rng.standard_normal((n, c))).astype(np.float32)


@pytest.mark.parametrize("s", [0.0, 1e-30, 2.0**-40, 1e-6, 0.3, 1.0, 1.0001, 7.7, 1e4, 2.0**24, 1e12])
@pytest.mark.parametrize("line", [0, 1, 2])
def test_look_up_equals_its_twin_and_the_function(s, line):
    a, b = 1.577, 0.895
    found = kernels.look_up(TABLE[line], np.float32(s))
    assert found == pytest.approx(naive.look_up(TABLE[line], s), rel=1e-5)
    if 2.0**-40 <= s <= 2.0**24:
        q = 1 / (1 + a * s**b)
        exact = [2 * a * b * s ** (b - 1) * q, 2 * b / (0.001 + s) * q, q][line]
        assert found == pytest.approx(exact, rel=2e-5)


@pytest.mark.parametrize("x", [-9.0, -4.0, 0.3, 4.0, 9.0])
def test_clipped_equals_its_twin(x):
    assert kernels.clipped(np.float32(x)) == pytest.approx(naive.clipped(x), rel=1e-6)


def test_stepped_equals_its_twin():
    ours, theirs = np.full((2, 3), 0.4, dtype=np.float32), np.full((2, 3), 0.4)
    rate = np.array([0.7, 1.3], dtype=np.float32)
    found = kernels.stepped(np.float32(2.0), np.float32(-1.7), ours, 1, rate)
    assert found == pytest.approx(naive.stepped(2.0, -1.7, theirs, 1, rate), rel=1e-6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("c", [2, 3, 10])
@pytest.mark.parametrize("with_extra", [False, True])
def test_epoch_equals_its_twin(c, with_extra, rng):
    n = 40
    graph = _graph(n, rng)
    extra = rng.standard_normal((n if with_extra else 0, c)).astype(np.float32)
    rate = np.array([0.8, 4.0], dtype=np.float32)
    start = _positions(n, c, rng)
    start[3] = start[4]  # two points in one place
    results = []
    for function in (kernels.edge_epoch, naive.edge_epoch):
        Y, moments, out = start.copy(), np.full((n, 2, c), 0.1, dtype=np.float32), np.empty((n, c), np.float32)
        for epoch in range(3):
            function(graph, TABLE, extra, KEY, epoch, rate, Y, moments, out, 0, n)
            Y, out = out, Y
        results.append((Y, moments))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)
    assert np.abs(results[0][0] - start).max() > 0.1


def test_an_epoch_has_the_same_bits_in_any_block(rng):
    n, c = 50, 2
    graph, Y = _graph(n, rng), _positions(n, c, rng)
    nothing, rate = np.zeros((0, c), np.float32), np.ones(2, np.float32)
    whole, parts = np.empty((n, c), np.float32), np.empty((n, c), np.float32)
    kernels.edge_epoch(graph, TABLE, nothing, KEY, 5, rate, Y, np.zeros((n, 2, c), np.float32), whole, 0, n)
    moments = np.zeros((n, 2, c), np.float32)
    for start, stop in [(30, 50), (0, 1), (1, 30)]:
        kernels.edge_epoch(graph, TABLE, nothing, KEY, 5, rate, Y, moments, parts, start, stop)
    np.testing.assert_array_equal(whole, parts)


def test_a_column_of_zeros_stays(rng):
    graph, Y = _graph(30, rng), _positions(30, 2, rng)
    Y[:, 1] = 0.0
    out, rate = np.empty_like(Y), np.ones(2, np.float32)
    moments, nothing = np.zeros((30, 2, 2), np.float32), np.zeros((0, 2), np.float32)
    kernels.edge_epoch(graph, TABLE, nothing, KEY, 0, rate, Y, moments, out, 0, 30)
    assert (out[:, 1] == 0).all()
    assert (out[:, 0] != Y[:, 0]).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (3, 3), (3, 5), (7, 10)])
def test_orthonormalised_is_the_polar_factor(shape, rng):
    M = rng.standard_normal(shape)
    expected = M.copy()
    naive_density.orthonormalised(expected)
    density_kernels.orthonormalised(M)
    np.testing.assert_allclose(M, expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (3, 4)])
def test_orthonormalised_fills_in_what_has_no_direction(shape):
    for M in (np.zeros(shape), np.ones(shape)):
        density_kernels.orthonormalised(M)
        np.testing.assert_allclose(M @ M.T, np.eye(shape[0]), atol=1e-12)


def _tangent(n, k, m, rng):
    """Neighbours with coordinates that are orthogonal under their weights."""
    indices = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], dtype=np.int32)
    weights = rng.random((n, k)) + 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    T, variances = np.empty((n, k, m)), np.empty((n, m))
    for i in range(n):
        left, values, _ = np.linalg.svd(rng.standard_normal((k, m)), full_matrices=False)
        T[i] = left * values / np.sqrt(weights[i])[:, np.newaxis]
        variances[i] = values**2
    return indices, T.astype(np.float32), weights.astype(np.float32), variances


@pytest.mark.parametrize(("c", "d"), [(1, 1), (2, 2), (3, 3), (5, 4)])
def test_gauges_equal_their_twin(c, d, rng):
    n, width = 20, max(c, 2)
    indices, T, weights, variances = _tangent(n, 8, 4, rng)
    Y = _positions(n, width, rng)
    ours, theirs = np.zeros((2, n, d, width), dtype=np.float32)
    density_kernels.density_gauges(indices, T, weights, variances, Y, ours, c, 0, n)
    naive_density.density_gauges(indices, T, weights, variances, Y, theirs, c, 0, n)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    np.testing.assert_allclose(np.einsum("ilc,imc->ilm", ours, ours), np.broadcast_to(np.eye(d), (n, d, d)), atol=1e-5)


@pytest.mark.parametrize("c", [2, 3])
def test_radii_and_forces_equal_their_twins(c, rng):
    n, d = 30, 2
    graph, Y = _graph(n, rng), _positions(n, c, rng)
    gauges = np.stack([np.linalg.qr(rng.standard_normal((c, c)))[0][:d] for _ in range(n)]).astype(np.float32)
    records = rng.standard_normal((n, d * (c + 1) + 1)).astype(np.float32)
    results = []
    for module in (density_kernels, naive_density):
        radii, mass, out = np.empty((n, d)), np.empty(n), np.empty((n, c), dtype=np.float32)
        module.density_radii(graph, TABLE, gauges, Y, radii, mass, 0, n)
        module.density_forces(graph, TABLE, records, d, Y, out, 0, n)
        results.append((radii, mass, out))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("c", [2, 3])
def test_anchored_rows_equal_their_twin(c, rng):
    Y = _positions(30, c, rng)
    indices = rng.integers(0, 30, (6, 5))
    weights = rng.random((6, 5)).astype(np.float32)
    weights[2] = 0.0
    rates = np.column_stack([np.linspace(0.3, 0.1, 6), np.full(6, 2.0)]).astype(np.float32)
    ours, theirs = np.empty((2, 6, c), dtype=np.float32)
    anchored_kernels.anchored_rows(Y, indices, weights, TABLE, rates, 2.0, KEY, ours, 0, 6)
    naive_anchored.anchored_rows(Y, indices, weights, TABLE, rates, 2.0, KEY, theirs, 0, 6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(ours[2], Y[indices[2]].mean(axis=0), atol=1e-5)
