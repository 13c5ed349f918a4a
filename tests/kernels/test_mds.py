"""The kernels of multidimensional scaling against their naive twins, and what a sweep and a round promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifolia.kernels.mds import sgd_rounds, smacof_rows
from reference import mds as naive


def _problem(n, p, seed, dtype=np.float64):
    generator = np.random.default_rng(seed)
    D = generator.random((n, n))
    D = D + D.T
    np.fill_diagonal(D, 0.0)
    return D.astype(dtype), np.ascontiguousarray(generator.normal(size=(p, n)))


def _sweep(function, D, YT, start=0, stop=None):
    rows = (YT.shape[1] if stop is None else stop) - start
    out, stress = np.full((rows, YT.shape[0]), np.nan), np.full(rows, np.nan)
    function(D, YT, start, out, stress)
    return out, stress


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "p"), [(1, 2), (2, 1), (3, 2), (7, 5), (40, 3)])
def test_sweep_equals_its_twin(n, p, dtype):
    D, YT = _problem(n, p, seed=n, dtype=dtype)
    for ours, theirs in zip(_sweep(smacof_rows, D, YT), _sweep(naive.smacof_rows, D, YT), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_sweep_with_coinciding_points_equals_its_twin_and_is_finite():
    D, YT = _problem(9, 2, seed=0)
    YT[:, 4] = YT[:, 1]  # D[1, 4] stays positive: the pair adds to the stress, and pulls nowhere
    D[2, 6] = D[6, 2] = 0.0
    YT[:, 6] = YT[:, 2]
    out, stress = _sweep(smacof_rows, D, YT)
    expected, expected_stress = _sweep(naive.smacof_rows, D, YT)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    np.testing.assert_allclose(stress, expected_stress, rtol=1e-12)


def test_a_row_has_the_same_bits_in_any_block():
    D, YT = _problem(301, 2, seed=1, dtype=np.float32)
    out, stress = _sweep(smacof_rows, D, YT)
    for start, stop in [(0, 1), (5, 6), (3, 120), (300, 301)]:
        part, part_stress = _sweep(smacof_rows, D, YT, start, stop)
        np.testing.assert_array_equal(part, out[start:stop])
        np.testing.assert_array_equal(part_stress, stress[start:stop])


def test_sweep_keeps_a_map_that_is_exact():
    Y = np.random.default_rng(2).normal(size=(30, 2))
    Y -= Y.mean(axis=0)
    out, stress = _sweep(smacof_rows, cdist(Y, Y), np.ascontiguousarray(Y.T))
    np.testing.assert_allclose(out, Y, atol=1e-13)
    np.testing.assert_allclose(stress, 0.0, atol=1e-26)


def test_sweep_is_a_gradient_step():
    # ∇σ = 2n (Y − Ȳ) for centred Y and σ over pairs; checked against central differences of the stress itself.
    D, YT = _problem(12, 2, seed=3)
    YT -= YT.mean(axis=1, keepdims=True)
    out, _ = _sweep(smacof_rows, D, YT)
    numeric = np.empty_like(YT)
    h = 1e-6
    for index in np.ndindex(*YT.shape):
        up, down = YT.copy(), YT.copy()
        up[index] += h
        down[index] -= h
        numeric[index] = (_sweep(smacof_rows, D, up)[1].sum() - _sweep(smacof_rows, D, down)[1].sum()) / (4 * h)
    np.testing.assert_allclose(2 * 12 * (YT - out.T), numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 30, 31])
def test_rounds_of_an_epoch_are_disjoint_and_visit_every_pair_once(n):
    n_rounds = n - 1 + n % 2
    visited = []
    for r in range(n_rounds):
        pairs = naive.sgd_pairs(n, r)
        points = [point for pair in pairs for point in pair]
        assert len(points) == len(set(points))
        assert len(pairs) == n // 2
        visited += [frozenset(pair) for pair in pairs]
    assert len(visited) == len(set(visited)) == n * (n - 1) // 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "p"), [(1, 2), (2, 1), (3, 2), (4, 2), (8, 5), (21, 2), (22, 3)])
def test_each_round_equals_its_twin(n, p, dtype):
    D, start = _problem(n, p, seed=n, dtype=dtype)
    for r in range(n - 1 + n % 2):
        ours, theirs = start.copy(), start.copy()
        sgd_rounds(D, ours, r, r + 1, 0.3)
        naive.sgd_rounds(D, theirs, r, r + 1, 0.3)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
        assert n == 1 or not np.array_equal(ours, start)


def test_rounds_in_parts_equal_one_call():
    D, whole = _problem(20, 2, seed=5)
    parts = whole.copy()
    sgd_rounds(D, whole, 0, 19, 0.1)
    for first, last in [(0, 7), (7, 8), (8, 19)]:
        sgd_rounds(D, parts, first, last, 0.1)
    np.testing.assert_array_equal(parts, whole)


def test_a_full_step_makes_every_distance_of_the_round_right():
    D, YT = _problem(10, 2, seed=6)
    centre = YT.mean(axis=1)
    sgd_rounds(D, YT, 4, 5, 1.0)
    for i, j in naive.sgd_pairs(10, 4):
        assert np.linalg.norm(YT[:, i] - YT[:, j]) == pytest.approx(D[i, j], rel=1e-12)
    np.testing.assert_allclose(YT.mean(axis=1), centre, atol=1e-14)


def test_rounds_leave_coinciding_points_alone():
    D, _ = _problem(6, 2, seed=7)
    YT = np.zeros((2, 6))
    sgd_rounds(D, YT, 0, 5, 1.0)
    np.testing.assert_array_equal(YT, 0.0)
