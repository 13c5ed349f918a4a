"""Kernels of the Fisher metric against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels import fisher as kernels
from reference import fisher as reference


@pytest.fixture
def masses(rng):
    """Weights of 4 classes for a tile, one class without any weight in half of it, on wild scales."""
    p = rng.random((4, 5, 7)) + 1e-3
    p[2, :, 3:] = 0.0
    s = rng.normal(size=p.shape) * p
    scale = 10.0 ** rng.integers(-150, 150, size=p.shape[1:])
    return p * scale, s * scale


def test_constants():
    assert (kernels.ARCS, kernels.ROOTS, kernels.SQUARES) == (reference.ARCS, reference.ROOTS, reference.SQUARES)


def test_add_arcs(masses):
    p, _ = masses
    roots, twin = np.zeros(p.shape), np.zeros(p.shape)
    out, expected = np.full(p.shape[1:], 0.5), np.full(p.shape[1:], 0.5)
    for first, at in ((True, p), (False, p[::-1].copy()), (False, p)):
        kernels.add_arcs(at, roots, first, out)
        reference.add_arcs(at, twin, first, expected)
        np.testing.assert_allclose(roots, twin, rtol=1e-12)
        np.testing.assert_allclose(out, expected, rtol=1e-9)
    assert out.max() > 1.0


def test_an_arc_from_one_certain_class_to_another_is_pi():
    roots, out = np.zeros((2, 1, 1)), np.zeros((1, 1))
    kernels.add_arcs(np.array([3.0, 0.0]).reshape(2, 1, 1), roots, True, out)
    kernels.add_arcs(np.array([0.0, 1e-9]).reshape(2, 1, 1), roots, False, out)
    assert out[0, 0] == pytest.approx(np.pi, abs=1e-14)


@pytest.mark.parametrize("rule", [kernels.ROOTS, kernels.SQUARES])
def test_add_tangents(masses, rule):
    p, s = masses
    out, expected = np.full(p.shape[1:], 0.5), np.full(p.shape[1:], 0.5)
    kernels.add_tangents(p, s, rule, out)
    reference.add_tangents(p, s, rule, expected)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert (out > 0.6).any()


def test_sums_that_vanish_are_marked():
    p = np.array([[[1e-250, 1.0]], [[0.0, 1.0]]])
    out, roots = np.zeros((1, 2)), np.zeros((2, 1, 2))
    kernels.add_tangents(p, p.copy(), kernels.ROOTS, out)
    np.testing.assert_array_equal(np.isnan(out), [[True, False]])
    out[:] = 0.0
    kernels.add_arcs(p, roots, True, out)
    kernels.add_arcs(np.ones((2, 1, 2)), roots, False, out)
    np.testing.assert_array_equal(np.isnan(out), [[True, False]])


@pytest.mark.parametrize("rule", [kernels.ARCS, kernels.ROOTS, kernels.SQUARES])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1e5])
def test_path_lengths(rng, rule, spread):
    U = spread * rng.random((6, 12))
    offsets = np.array([0, 3, 4, 12])
    rows, columns = np.array([0, 5, 2, 3, 3]), np.array([1, 4, 2, 0, 5])
    shares = np.linspace(0.0, 1.0, 8)
    out, expected = np.full(5, -1.0), np.full(5, -1.0)
    kernels.path_lengths(U, offsets, shares, rule, rows, columns, out, 1, 5)
    reference.path_lengths(U, offsets, shares, rule, rows, columns, expected, 1, 5)
    np.testing.assert_allclose(out, expected, rtol=1e-8, atol=1e-7)
    assert out[0] == -1.0
    assert out[2] == 0.0
