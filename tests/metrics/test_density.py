"""Density: radii by hand, perfect and random maps, invariances, and what directions and shapes can tell apart."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from manifolia.metrics import density
from manifolia.metrics._nearest import nearest
from manifolia.metrics.density import anisotropy_correlation, radius_correlation

BOTH = [radius_correlation, anisotropy_correlation]
TURN = np.array([[0.6, -0.8], [0.8, 0.6]])


def clouds(seed: int = 0, n: int = 240, d: int = 2):
    """Clouds of different sizes, each stretched along a direction of its own."""
    rng = np.random.default_rng(seed)
    parts = []
    for size, stretch, angle in [(1.0, 4.0, 0.3), (0.3, 1.0, 1.0), (3.0, 9.0, 2.0), (0.1, 2.0, 0.0)]:
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        flat = size * rng.normal(size=(n // 4, 2)) * [stretch, 1.0] @ turn.T
        parts.append(flat + 100 * rng.normal(size=2))
    X = np.concatenate(parts)
    return X if d == 2 else X @ np.linalg.qr(rng.normal(size=(d, 2)))[0].T


def naive_radii(X, k):
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return np.log((np.sort(D, axis=1)[:, :k] ** 2).mean(axis=1))


# Neighbours, on which the rest stands


@pytest.mark.parametrize("d", [1, 2, 8, 9, 40])
def test_neighbours_are_exact_in_a_tree_and_in_blocks(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(150, d)) + 1000.0
    X[:5] = X[5]  # more duplicates than neighbours
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    found = nearest(X, 4)
    np.testing.assert_allclose(found.distances, np.sort(D, axis=1)[:, :4], atol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(D, found.indices, 1), found.distances, atol=1e-9)
    assert not (found.indices == np.arange(150)[:, None]).any()
    assert all(len(set(row)) == 4 for row in found.indices.tolist())
    rows = np.array([7, 3, 140])
    some = nearest(X, 4, rows=rows)
    np.testing.assert_array_equal(some.indices[:, 0], found.indices[rows, 0])
    np.testing.assert_allclose(some.distances, found.distances[rows], atol=1e-9)
    for n_jobs in (1, 2):
        again = nearest(X, 4, n_jobs=n_jobs)
        assert np.array_equal(again.indices, found.indices)
        assert np.array_equal(again.distances, found.distances)


def test_neighbours_are_exact_where_products_lose_all_digits():
    # Two tight clouds far apart: squared distances of 1e-6 from squares of 1e12.
    rng = np.random.default_rng(0)
    X = 1e-3 * rng.normal(size=(200, 20))
    X[100:] += 1e6
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(nearest(X, 3).distances, np.sort(D, axis=1)[:, :3], rtol=1e-6)


def test_neighbours_of_other_points_may_lie_on_top():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    found = nearest(X, 2, queries=np.array([[1.0, 0.0], [4.0, 0.0]]))
    np.testing.assert_array_equal(found.indices, [[1, 0], [2, 1]])
    np.testing.assert_array_equal(found.distances, [[0.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("n_columns", [2, 12])
def test_neighbours_at_the_bound_are_found_and_those_beyond_may_be_missing(n_columns):
    X = np.zeros((4, n_columns))
    X[:, 0] = [0.0, 0.1, 0.3, 0.9]
    found = nearest(X, 3, queries=X[:1], within=0.3)
    np.testing.assert_array_equal(found.indices[0], [0, 1, 2])
    np.testing.assert_array_equal(found.distances[0], [0.0, 0.1, 0.3])
    beyond = nearest(X, 2, queries=X[3:], within=0.3).distances[0]
    assert beyond[0] == 0.0
    assert beyond[1] > 0.3


def test_equal_distances_come_in_the_order_of_the_rows():
    X = np.array([[0.0], [1.0], [-1.0], [1.0], [-1.0]])
    np.testing.assert_array_equal(nearest(X, 4, rows=np.array([0])).indices, [[1, 2, 3, 4]])


# Isotropic radii


def test_four_points_on_a_line_by_hand():
    # One neighbour: squared radii 1, 1, 4, 16 in the data and 4, 1, 1, 9 in the map.
    X, Y = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([[0.0], [2.0], [3.0], [6.0]])
    expected = np.corrcoef(np.log([1, 1, 4, 16]), np.log([4, 1, 1, 9]))[0, 1]
    assert radius_correlation(X, Y, 1) == pytest.approx(expected, abs=1e-6)


def test_equals_the_naive_radii():
    rng = np.random.default_rng(1)
    X, Y = clouds(d=12), rng.normal(size=(240, 2))
    expected = np.corrcoef(naive_radii(X, 7), naive_radii(Y, 7))[0, 1]
    assert radius_correlation(X, Y, 7) == pytest.approx(expected, abs=1e-5)


def test_a_perfect_map_scores_1_at_any_scale():
    X = clouds(d=10)
    Y = clouds() @ TURN
    for scale in (1.0, 1e-6, 1e6):
        assert radius_correlation(X, scale * Y) == pytest.approx(1.0)
        np.testing.assert_allclose(radius_correlation(X, scale * Y, directions=True), 1.0)
        assert anisotropy_correlation(X, scale * Y) == pytest.approx(1.0)
    assert radius_correlation(X, Y, directions=True, center="point") == pytest.approx(1.0)
    assert anisotropy_correlation(X, Y, center="point") == pytest.approx(1.0)


def test_random_maps_score_near_0():
    iso, along, shape = [], [], []
    for seed in range(25):
        X = clouds(seed)
        Y = np.random.default_rng(1000 + seed).normal(size=(240, 2))
        iso.append(radius_correlation(X, Y, 8))
        along.append(radius_correlation(X, Y, 8, directions=True))
        shape.append(anisotropy_correlation(X, Y, 8))
    assert abs(np.mean(iso)) < 0.05
    assert np.abs(np.mean(along, axis=0)).max() < 0.1
    # Gauges from plain slopes or from covariances would be off by 0.1 to 0.3 here.
    assert abs(np.mean(shape)) < 0.04


@pytest.mark.parametrize("metric", BOTH)
def test_constant_maps_score_0(metric):
    X = clouds()
    assert metric(X, np.ones((240, 2))) == 0.0


@pytest.mark.parametrize("metric", BOTH)
def test_rotation_scale_and_order_do_not_matter(metric):
    rng = np.random.default_rng(4)
    X = clouds(d=5)
    Y = clouds() * [1.0, 0.3] + 0.2 * rng.normal(size=(240, 2))
    order = rng.permutation(240)
    value = metric(X, Y)
    assert 0.1 < value < 0.999
    assert metric(3 * X + 1, 0.01 * Y @ TURN) == pytest.approx(value)
    assert metric(X[order], Y[order]) == pytest.approx(value)


def test_duplicates_have_a_floor():
    X, Y = clouds(), clouds() @ TURN
    X[:30] = X[0]
    Y[:30] = Y[0]
    assert radius_correlation(X, Y, 5) == pytest.approx(1.0)
    assert np.isfinite(anisotropy_correlation(X, Y, 5))
    assert np.isfinite(radius_correlation(X, Y, 5, directions=True)).all()


def test_a_graph_gives_the_weighted_radii():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    W = rng.random((60, 60)) * (rng.random((60, 60)) < 0.3)
    np.fill_diagonal(W, 0)
    W[:, 0] += 0.1
    radii = [np.log((W * cdist(Z, Z) ** 2).sum(axis=1) / W.sum(axis=1)) for Z in (X, Y)]
    value = radius_correlation(X, Y, graph=sp.csr_array(W))
    assert value == pytest.approx(np.corrcoef(*radii)[0, 1], abs=1e-6)
    assert radius_correlation(X, Y, graph=sp.coo_matrix(5 * W), n_jobs=1) == pytest.approx(value)


# Directions


def naive_directions(X, Y, k, center="mean", gauges=None, curve=None):
    """σ² and R of every point by NumPy's SVD (Eq. 2, 12, 14)."""
    found = nearest(X, k).indices
    high, low = [], []
    for i, near in enumerate(found):
        dx, dy = X[near] - X[i], Y[near] - Y[i]
        q = np.ones(k) if curve is None else 1 / (1 + curve[0] * np.linalg.norm(dy, axis=1) ** (2 * curve[1]))
        q = q / q.sum()
        if center == "mean":
            dx, dy = dx - dx.mean(axis=0), dy - q @ dy
        u, s, _ = np.linalg.svd(dx, full_matrices=False)
        c = Y.shape[1]
        a, _, b = np.linalg.svd(dy.T @ u[:, :c])
        v = a @ b if gauges is None else gauges[i]
        high.append(s[:c] ** 2 / k)
        low.append([sum(q[j] * (dy[j] @ v[:, ell]) ** 2 for j in range(k)) for ell in range(c)])
    return np.array(high), np.array(low)


@pytest.mark.parametrize("center", ["mean", "point"])
@pytest.mark.parametrize("curve", [None, (1.6, 0.9)])
@pytest.mark.parametrize("given", [False, True])
def test_directions_equal_a_loop_over_points(center, curve, given):
    rng = np.random.default_rng(5)
    X, Y = clouds(d=7, n=80), rng.normal(size=(80, 2))
    gauges = np.linalg.qr(rng.normal(size=(80, 2, 2)))[0] if given else None
    high, low = naive_directions(X, Y, 6, center, gauges, curve)
    values = radius_correlation(X, Y, 6, directions=True, center=center, gauges=gauges, curve=curve)
    expected = [np.corrcoef(np.log(high[:, ell]), np.log(low[:, ell]))[0, 1] for ell in range(2)]
    np.testing.assert_allclose(values, expected, atol=1e-5)
    if curve is None:
        shapes = [np.log(r[:, 0] / r[:, 1]) for r in (high, low)]
        value = anisotropy_correlation(X, Y, 6, center=center, gauges=gauges)
        assert value == pytest.approx(np.corrcoef(*shapes)[0, 1], abs=1e-5)


def test_three_components_have_three_directions():
    X = np.random.default_rng(0).normal(size=(100, 5))
    assert radius_correlation(X, X[:, :3], directions=True).shape == (3,)


def test_a_map_with_round_neighbourhoods_keeps_density_but_not_shape():
    # Every point keeps its place and its cloud's size, but the cloud's shape is drawn anew.
    rng = np.random.default_rng(6)
    n, k = 40, 9
    starts = 1000.0 * np.arange(n)
    sizes, stretches = np.exp(rng.normal(size=n)), np.exp(rng.normal(size=n))
    X, round_map = [], []
    for start, size, stretch in zip(starts, sizes, stretches, strict=True):
        shape = size * np.array([stretch, 1 / stretch])
        X.append(rng.normal(size=(k + 1, 2)) * shape + [start, 0])
        round_map.append(rng.normal(size=(k + 1, 2)) * size * np.hypot(*(shape / size)) + [start, 0])
    X, Y = np.concatenate(X), np.concatenate(round_map)
    assert radius_correlation(X, Y, k) > 0.8
    assert abs(anisotropy_correlation(X, Y, k)) < 0.25
    assert anisotropy_correlation(X, X @ TURN, k) == pytest.approx(1.0)


def test_scores_from_one_search_are_those_of_the_functions():
    X, Y = clouds(d=5, n=80), np.random.default_rng(0).normal(size=(80, 2))
    options = {"sample": 40, "random_state": 3}
    found = density.density_scores(X, Y, 6, **options)
    for metric in BOTH:
        assert found[metric.__name__].result(return_ci=True) == metric(X, Y, 6, **options, return_ci=True)
    assert list(density.density_scores(X, Y[:, :1], 6, names=["radius_correlation"])) == ["radius_correlation"]
    with pytest.raises(ValueError, match="names must be one of"):
        density.density_scores(X, Y, names=["density"])


# Samples and threads


@pytest.mark.parametrize("metric", BOTH)
def test_any_number_of_threads_gives_the_same_bits(metric):
    X, Y = clouds(d=20), np.random.default_rng(0).normal(size=(240, 2))
    assert metric(X, Y, n_jobs=1) == metric(X, Y, n_jobs=2)


@pytest.mark.parametrize("metric", BOTH)
def test_the_interval_holds_the_exact_value(metric):
    X = clouds(n=1200)
    Y = np.sign(X) * np.abs(X) ** 0.7 + 0.3 * np.random.default_rng(0).normal(size=X.shape)
    exact, (low, high) = metric(X, Y, return_ci=True)
    assert low == exact == high
    hits = 0
    for seed in range(100):
        value, (low, high) = metric(X, Y, sample=200, random_state=seed, return_ci=True)
        hits += low <= exact <= high
        assert -1 <= low <= value <= high <= 1
    assert 88 <= hits < 100


def test_a_sample_of_all_points_is_exact():
    X, Y = clouds(n=40), np.random.default_rng(0).normal(size=(40, 2))
    exact = radius_correlation(X, Y, 5)
    value, (low, high) = radius_correlation(X, Y, 5, sample=40, random_state=0, return_ci=True)
    assert value == pytest.approx(exact)
    assert low == value == high
    values, (lows, highs) = radius_correlation(X, Y, 5, directions=True, sample=20, random_state=0, return_ci=True)
    assert values.shape == lows.shape == highs.shape == (2,)
    assert (lows < values).all()
    assert (values < highs).all()


# Errors


def test_refusals():
    X, Y = clouds(n=20), clouds(n=20)
    with pytest.raises(ValueError, match=r"n_neighbors must be at least 1 and at most 19, got 20\. The data has 20"):
        radius_correlation(X, Y, 20)
    with pytest.raises(ValueError, match="n_neighbors must be at least 3, got 2"):
        anisotropy_correlation(X, Y, 2)
    with pytest.raises(ValueError, match="Y must have at least 2 components to have a shape, got 1"):
        anisotropy_correlation(X, Y[:, :1])
    with pytest.raises(ValueError, match="X has 1 features and Y 2 components"):
        radius_correlation(X[:, :1], Y, directions=True)
    with pytest.raises(ValueError, match="center must be one of"):
        radius_correlation(X, Y, directions=True, center="median")
    with pytest.raises(ValueError, match=r"gauges must be finite and of shape \(20, 2, 2\), got shape \(2, 2\)"):
        radius_correlation(X, Y, directions=True, gauges=np.eye(2))
    with pytest.raises(ValueError, match=r"curve must be a tuple \(a, b\) of two positive numbers"):
        radius_correlation(X, Y, directions=True, curve=(1.0, 0.0))
    with pytest.raises(ValueError, match="gauges and curve belong to directions=True"):
        radius_correlation(X, Y, curve=(1.0, 1.0))
    with pytest.raises(ValueError, match="Leave one of them out"):
        radius_correlation(X, Y, directions=True, graph=sp.eye_array(20))
    with pytest.raises(ValueError, match=r"graph must be a sparse matrix of shape \(20, 20\)"):
        radius_correlation(X, Y, graph=sp.eye_array(19))
    with pytest.raises(ValueError, match="graph has 20 rows without an edge"):
        radius_correlation(X, Y, graph=sp.csr_array((20, 20)))
    with pytest.raises(ValueError, match="weights of at least 0, got -1"):
        radius_correlation(X, Y, graph=-sp.eye_array(20))
    with pytest.raises(ValueError, match="NaN"):
        radius_correlation(np.where(X > 0, np.nan, X), Y)
    with pytest.raises(ValueError, match="Y has 19 rows and the data has 20"):
        radius_correlation(X, Y[1:])
    with pytest.raises(
        ValueError, match=r"sample must be at least 10 and at most 20, got 3\. It is a number of points"
    ):
        anisotropy_correlation(X, Y, 5, sample=3)


def test_the_floor_is_relative():
    radii = np.array([0.0, 1.0, 2.0])
    np.testing.assert_allclose(density._log(1e6 * radii) - density._log(radii), np.log(1e6))
    np.testing.assert_array_equal(density._log(np.zeros(3)), 0.0)
