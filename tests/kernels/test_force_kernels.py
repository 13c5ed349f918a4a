"""The kernels of the force layout against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.kernels import anchored
from manifolia.kernels import forces as kernels
from manifolia.layout.edge_sgd import adam_rates, check_graph
from reference import anchored as naive_anchored
from reference import forces as naive


def _places(n, c, rng, scale=2.0):
    return (scale * rng.standard_normal((n, c))).astype(np.float32)


def _pushed(Y, start=0, stop=None):
    n, c = Y.shape
    potential, push = np.full(n, np.nan, dtype=np.float32), np.full((n, c), np.nan, dtype=np.float32)
    kernels.all_pairs(np.ascontiguousarray(Y.T), potential, push, start, n if stop is None else stop)
    return potential, push


@pytest.mark.parametrize("c", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [1, 2, 255, 256, 600])
def test_all_pairs_equals_its_twin(n, c, rng):
    Y = _places(n, c, rng)
    Y[n // 2 :] = Y[: n - n // 2]  # duplicates
    potential, push = _pushed(Y)
    wanted, force = naive.all_pairs(Y.astype(np.float64))
    np.testing.assert_allclose(potential, wanted, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(push, force, rtol=1e-4, atol=1e-4 * n)


def test_all_pairs_of_a_block_are_those_of_all(rng):
    Y = _places(300, 2, rng)
    whole = _pushed(Y)
    part = _pushed(Y, 37, 201)
    for ours, theirs in zip(part, whole, strict=True):
        np.testing.assert_array_equal(ours[37:201], theirs[37:201])
        assert np.isnan(ours[:37]).all()
        assert np.isnan(ours[201:]).all()


@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.99, 1.0])
def test_spline_equals_its_twin(t):
    values, slopes = np.empty(4, dtype=np.float32), np.empty(4, dtype=np.float32)
    kernels.spline(np.float32(t), values)
    kernels.spline_slope(np.float32(t), slopes)
    np.testing.assert_allclose(values, [naive.spline(t - k) for k in (-1, 0, 1, 2)], atol=1e-6)
    np.testing.assert_allclose(slopes, [naive.spline_slope(t - k) for k in (-1, 0, 1, 2)], atol=1e-5)
    assert values.sum() == pytest.approx(1.0, abs=1e-6)
    assert slopes.sum() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("place", [-1e30, -3.0, 0.0, 1.0, 4.7, 99.0, 1e30, np.nan, np.inf])
def test_a_cell_always_has_its_four_nodes(place):
    node, share = kernels.cell(np.float32(place), np.float32(0.0), np.float32(1.0), 10)
    assert 1 <= node <= 7
    assert not share < 0.0
    assert not share > 1.0
    if np.isfinite(place):
        assert (node, share) == pytest.approx(naive.cell(place, 0.0, 1.0, 10), abs=1e-6)


@pytest.mark.parametrize(("d", "shape"), [(2, (9, 11)), (3, (8, 9, 10))])
def test_charges_are_spread_and_read_as_their_twins_do(d, shape, rng):
    spacing, corner = 0.5, -0.4 * np.arange(1, d + 1, dtype=np.float32)
    low, high = corner + 1.5 * spacing, corner + spacing * (np.array(shape) - 3)
    Y = (low + (high - low) * rng.random((12, d))).astype(np.float32)
    Y[3] = Y[4]
    charges = np.zeros(shape, dtype=np.int64)
    spread = kernels.spread_plane if d == 2 else kernels.spread_space
    spread(Y, corner, np.float32(1 / spacing), charges, 0, 5)
    spread(Y, corner, np.float32(1 / spacing), charges, 5, 12)
    naive_spread = naive.spread_plane if d == 2 else naive.spread_space
    wanted = naive_spread(Y.astype(np.float64), corner, spacing, shape)
    np.testing.assert_allclose(charges / kernels.UNIT, wanted, atol=1e-5)
    nodes = rng.standard_normal(shape).astype(np.float32)
    potential, push = np.empty(12, dtype=np.float32), np.empty((12, d), dtype=np.float32)
    read = kernels.read_plane if d == 2 else kernels.read_space
    read(Y, corner, np.float32(1 / spacing), nodes, potential, push, 0, 12)
    naive_read = naive.read_plane if d == 2 else naive.read_space
    values, slopes = naive_read(Y.astype(np.float64), corner, spacing, nodes.astype(np.float64))
    np.testing.assert_allclose(potential, values, atol=1e-5)
    np.testing.assert_allclose(push, slopes, atol=1e-4)


@pytest.mark.parametrize("c", [2, 3, 6])
@pytest.mark.parametrize("with_extra", [False, True])
def test_points_move_as_their_twin_does(c, with_extra, rng):
    n = 30
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    W = A + A.T
    graph = check_graph(sp.csr_array(W), n, n_negatives=0)
    W = W / W.max()
    Y = _places(n, c, rng)
    push, velocity = rng.standard_normal((2, n, c)).astype(np.float32)
    gain = (0.02 + rng.random((n, c))).astype(np.float32)
    gain[0] = 0.01
    extra = rng.standard_normal((n if with_extra else 0, c)).astype(np.float32)
    step = np.array([3.0, 2.0, 0.8, 0.7, 3.0], dtype=np.float32)
    step[3] *= 4  # some ways are cut, and some places
    wanted = naive.move_points(
        W, push, extra if with_extra else 0.0, step, Y.astype(np.float64), velocity.astype(float), gain.astype(float)
    )
    out = np.empty_like(Y)
    kernels.move_points(graph, push, extra, step, Y, velocity, gain, out, 0, 11)
    kernels.move_points(graph, push, extra, step, Y, velocity, gain, out, 11, n)
    for ours, theirs in zip((out, velocity, gain), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    assert (np.abs(out) == 3.0).any()
    cost = np.empty((2, n))
    kernels.edge_cost(graph, Y, cost, 0, n)
    np.testing.assert_allclose(cost, naive.edge_cost(W, Y.astype(np.float64)), rtol=1e-5)


@pytest.mark.parametrize("shape", [(14, 15), (13, 14, 15)])
def test_rows_in_a_field_are_placed_as_their_twin_does(shape, rng):
    d = len(shape)
    Y = (2.0 + 1.5 * rng.random((15, d))).astype(np.float32)
    nodes = (5.0 * rng.standard_normal(shape)).astype(np.float32)
    corner, spacing = np.zeros(d, dtype=np.float32), 0.5
    indices, weights = rng.integers(0, 15, (4, 3)), rng.random((4, 3)).astype(np.float32)
    weights[2] = 0.0
    rates = adam_rates(4, 0.1)
    out = np.empty((4, d), dtype=np.float32)
    anchored.field_rows(Y, indices, weights, nodes, corner, np.float32(2.0), np.float32(0.3), rates, out, 0, 4)
    wanted = naive_anchored.field_rows(Y, indices, weights, nodes.astype(float), corner, spacing, 0.3, rates)
    np.testing.assert_allclose(out, wanted, atol=1e-4)
