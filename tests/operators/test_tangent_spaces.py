"""Tangent spaces: equal to a plain SVD, true on surfaces that are known, and sound where neighbours degenerate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia._core.validate import row_numbers
from manifolia.affinity.fuzzy import fuzzy_graph
from manifolia.datasets import make_swiss_roll
from manifolia.neighbors import kneighbors
from manifolia.operators.tangent import bases, coefficients, tangent_spaces


def naive(X, nearest, w, *, center="mean", query=None):
    """The definition: singular value decompositions of the weighted, centred neighbours."""
    found = []
    for i, near in enumerate(nearest):
        weights = w[i] / w[i].sum()
        point = (X if query is None else query)[i]
        middle = weights @ X[near] if center == "mean" else point
        _, sigma, Vt = np.linalg.svd(np.sqrt(weights)[:, None] * (X[near] - middle), full_matrices=False)
        found.append((sigma, Vt.T))
    return found


def torus(n, rng, R=3.0, r=1.0):
    """Points of a torus and orthonormal bases, (n, 3, 2), of its tangent planes."""
    u, v = rng.uniform(0.0, 2.0 * np.pi, size=(2, n))
    ring = R + r * np.cos(v)
    X = np.stack([ring * np.cos(u), ring * np.sin(u), r * np.sin(v)], axis=1)
    around = np.stack([-np.sin(u), np.cos(u), np.zeros(n)], axis=1)
    across = np.stack([-np.sin(v) * np.cos(u), -np.sin(v) * np.sin(u), np.cos(v)], axis=1)
    return X, np.stack([around, across], axis=2)


def degrees(V, W):
    """Largest angle between two planes, point by point."""
    cosines = np.linalg.svd(np.matmul(V.transpose(0, 2, 1), W), compute_uv=False)
    return np.degrees(np.arccos(np.clip(cosines[:, -1], -1.0, 1.0)))


@pytest.mark.parametrize("center", ["mean", "point"])
@pytest.mark.parametrize("sparse", [False, True])
def test_they_are_those_of_a_plain_svd(center, sparse, rng):
    X = rng.normal(size=(80, 12)) * np.geomspace(3, 0.1, 12)
    if sparse:
        X *= rng.random(X.shape) < 0.5
    near = kneighbors(X, 9)
    w = rng.uniform(0.1, 1.0, size=(80, 9))
    spaces = tangent_spaces(sp.csr_array(X) if sparse else X, near.indices, w, center=center, max_dim=5)
    V = bases(spaces, sp.csr_array(X) if sparse else X, None, 5)
    for i, (sigma, directions) in enumerate(naive(X, near.indices, w, center=center)):
        np.testing.assert_allclose(spaces.singular_values[i], sigma[:5], rtol=1e-8)
        np.testing.assert_allclose(np.abs(V[i].T @ directions[:, :5]), np.eye(5), atol=1e-6)  # up to signs
        # The span up to rotation: projections on it agree.
        np.testing.assert_allclose(V[i] @ V[i].T, directions[:, :5] @ directions[:, :5].T, atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-4), (np.float64, 1e-9)])
@pytest.mark.parametrize("center", ["mean", "point"])
def test_frames_are_orthonormal_and_coordinates_are_products_with_them(center, dtype, tolerance, rng):
    X = rng.normal(size=(60, 20)).astype(dtype)
    near = kneighbors(X, 8)
    w = rng.uniform(0.1, 1.0, size=(60, 8))
    spaces = tangent_spaces(X, near.indices, w, center=center)
    assert spaces.coordinates.dtype == dtype
    V = bases(spaces, X, None, 5)
    np.testing.assert_allclose(np.matmul(V.transpose(0, 2, 1), V), np.tile(np.eye(5), (60, 1, 1)), atol=tolerance)
    weights = w / w.sum(axis=1, keepdims=True)
    middle = (weights[:, :, None] * X[near.indices]).sum(axis=1) if center == "mean" else X
    expected = np.matmul(X[near.indices] - middle[:, None, :], V)
    np.testing.assert_allclose(spaces.coordinates[:, :, :5], expected, atol=10 * tolerance)
    np.testing.assert_allclose(spaces.weights, weights)
    variance = (spaces.weights[:, :, None] * spaces.coordinates.astype(float) ** 2).sum(axis=1)
    np.testing.assert_allclose(variance, spaces.singular_values**2, rtol=10 * tolerance, atol=tolerance)


def test_planes_of_a_swiss_roll():
    roll = make_swiss_roll(2000, random_state=0)
    near = kneighbors(roll.data, 15)
    spaces = tangent_spaces(roll.data, near.indices, fuzzy_graph(near).weights)
    assert spaces.dim == 2
    angle = degrees(bases(spaces, roll.data), roll.tangent.transpose(0, 2, 1))
    assert np.median(angle) < 2.0
    assert np.quantile(angle, 0.95) < 5.0
    wrong = np.roll(roll.tangent.transpose(0, 2, 1), 1, axis=0)
    assert np.median(degrees(bases(spaces, roll.data), wrong)) > 20.0


def test_planes_of_a_torus(rng):
    X, tangent = torus(2000, rng)
    near = kneighbors(X, 15)
    spaces = tangent_spaces(X, near.indices, fuzzy_graph(near).weights)
    assert spaces.dim == 2
    angle = degrees(bases(spaces, X), tangent)
    assert np.median(angle) < 4.0
    assert np.quantile(angle, 0.95) < 10.0


def test_dimension_is_that_of_the_subspace(rng):
    for d in (1, 2, 3):
        X = rng.normal(size=(400, d)) @ np.linalg.qr(rng.normal(size=(10, d)))[0].T
        near = kneighbors(X, 15)
        spaces = tangent_spaces(X, near.indices, np.ones((400, 15)), captured=0.9)
        assert spaces.dim == d
        assert (spaces.singular_values[:, d:] == 0.0).all()
        assert (spaces.coordinates[:, :, d:] == 0.0).all()
        assert (bases(spaces, X, [0], 7)[0, :, d:] == 0.0).all()
        assert (tangent_spaces(X, near.indices, np.ones((400, 15)), captured=1.0).dims == d).all()


def test_captured_variance_by_hand():
    # Four neighbours on a cross: variances 2, 0.5 and nothing else.
    X = np.array([[0.0, 0, 0], [2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]])
    nearest, w = np.array([[1, 2, 3, 4]]), np.ones((1, 4))
    for captured, dims in [(0.5, 1), (0.79, 1), (0.81, 2), (1.0, 2)]:
        spaces = tangent_spaces(X, nearest, w, query=X[:1], captured=captured)
        np.testing.assert_allclose(spaces.singular_values[0] ** 2, [2.0, 0.5, 0.0, 0.0], atol=1e-15)
        assert spaces.dims.tolist() == [dims]
    assert tangent_spaces(X, nearest, w, query=X[:1], max_dim=1).coordinates.shape == (1, 4, 1)


def test_duplicates_have_no_directions(rng):
    X = np.repeat(rng.normal(size=(3, 4)), 6, axis=0)
    near = kneighbors(X, 5)
    spaces = tangent_spaces(X, near.indices, np.ones((18, 5)))
    assert (spaces.dims == 0).all()
    assert spaces.dim == 1
    assert (spaces.singular_values == 0.0).all()
    assert (bases(spaces, X) == 0.0).all()
    assert np.isfinite(spaces.coordinates).all()


def test_one_neighbour_and_weights_of_zero(rng):
    X = rng.normal(size=(10, 3))
    alone = tangent_spaces(X, kneighbors(X, 1).indices, np.ones((10, 1)))
    assert (alone.dims == 0).all()
    w = np.tile([1.0, 1.0, 1.0, 0.0], (10, 1))
    nearest = kneighbors(X, 4).indices
    spaces = tangent_spaces(X, nearest, w)
    fewer = tangent_spaces(X, nearest[:, :3], w[:, :3])
    np.testing.assert_allclose(spaces.singular_values[:, :2], fewer.singular_values[:, :2])
    V = bases(spaces, X, None, 2)
    middle = X[nearest[:, :3]].mean(axis=1)
    np.testing.assert_allclose(
        spaces.coordinates[:, 3, :2], np.einsum("ij,ijl->il", X[nearest[:, 3]] - middle, V), atol=1e-9
    )


def test_a_constant_feature_is_in_no_direction(rng):
    X = rng.normal(size=(60, 4))
    X[:, 2] = 7.0
    near = kneighbors(X, 10)
    V = bases(tangent_spaces(X, near.indices, np.ones((60, 10))), X)
    np.testing.assert_allclose(V[:, 2], 0.0, atol=1e-12)


def test_rows_features_and_parts(rng):
    X = rng.normal(size=(50, 9))
    near = kneighbors(X, 6)
    for data in (X, sp.csr_array(X)):
        spaces = tangent_spaces(data, near.indices, np.ones((50, 6)))
        whole = bases(spaces, data, None, 3)
        np.testing.assert_allclose(bases(spaces, data, [4, -1], 3), whole[[4, 49]], atol=1e-12)
        part = bases(spaces, data, [4], 3, features=[7, 0, 0])
        np.testing.assert_allclose(part, whole[[4]][:, [7, 0, 0]], atol=1e-12)
        mask = np.arange(9) % 2 == 0
        np.testing.assert_allclose(bases(spaces, data, slice(3, 5), 3, features=mask), whole[3:5, mask], atol=1e-12)
        turned = np.arange(9)[::-1]
        np.testing.assert_allclose(bases(spaces, data, [1], 3, features=turned), whole[[1]][:, turned], atol=1e-12)


def test_lifted_to_other_features(rng):
    X = rng.normal(size=(50, 9))
    lift = np.linalg.qr(rng.normal(size=(20, 9)))[0].T
    near = kneighbors(X, 6)
    spaces = tangent_spaces(X, near.indices, np.ones((50, 6)))
    V = bases(spaces, X, [3], 4, lift=lift)
    assert V.shape == (1, 20, 4)
    np.testing.assert_allclose(V[0].T @ V[0], np.eye(4), atol=1e-10)
    np.testing.assert_allclose(V[0], lift.T @ bases(spaces, X, [3], 4)[0], atol=1e-12)
    np.testing.assert_allclose(bases(spaces, X, [3], 4, lift=lift, features=[11])[0], V[0, [11]], atol=1e-12)


def test_same_bits_for_any_n_jobs_and_batch(rng):
    X = rng.normal(size=(5000, 10)).astype(np.float32)
    nearest = kneighbors(X, 15).indices
    w = rng.uniform(0.1, 1.0, size=(5000, 15))
    one, two = (tangent_spaces(X, nearest, w, n_jobs=n) for n in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    whole = bases(one, X, n_jobs=2)
    for i in (0, 4321):
        alone = tangent_spaces(X, nearest[i : i + 1], w[i : i + 1], query=X[i : i + 1], dim=one.dim)
        np.testing.assert_array_equal(alone.coordinates[0], one.coordinates[i])
        np.testing.assert_array_equal(bases(alone, X, query=X[i : i + 1])[0], whole[i])


def test_scale_and_rotation(rng):
    X = rng.normal(size=(60, 5))
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    nearest = kneighbors(X, 8).indices
    w = np.ones((60, 8))
    a, b = tangent_spaces(X, nearest, w), tangent_spaces(3.0 * X @ turn + 100.0, nearest, w)
    np.testing.assert_allclose(b.singular_values, 3.0 * a.singular_values, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(np.abs(b.coordinates[:, :, :3]), 3.0 * np.abs(a.coordinates[:, :, :3]), atol=1e-4)


def test_coefficients_add_up_to_nothing_about_the_mean(rng):
    X = rng.normal(size=(30, 4))
    nearest = kneighbors(X, 6).indices
    spaces = tangent_spaces(X, nearest, rng.uniform(0.1, 1.0, size=(30, 6)))
    np.testing.assert_allclose(coefficients(spaces).sum(axis=1), 0.0, atol=1e-12)


def test_wrong_parameters_are_refused(rng):
    X = rng.normal(size=(10, 3))
    nearest = kneighbors(X, 3).indices
    with pytest.raises(ValueError, match="center must be one of 'mean', 'point'"):
        tangent_spaces(X, nearest, np.ones((10, 3)), center="median")
    with pytest.raises(ValueError, match="captured must be above 0"):
        tangent_spaces(X, nearest, np.ones((10, 3)), captured=0.0)
    spaces = tangent_spaces(X, nearest, np.ones((10, 3)))
    with pytest.raises(ValueError, match="d must be at least 1 and at most 3"):
        bases(spaces, X, None, 4)
    with pytest.raises(ValueError, match="rows must lie between 0 and 9"):
        bases(spaces, X, [10])
    with pytest.raises(ValueError, match="features is a mask of 2"):
        bases(spaces, X, [1], features=[True, False])
    with pytest.raises(TypeError, match="rows must be numbers"):
        row_numbers([0.5], 10)
    assert row_numbers([], 10).size == 0
    assert row_numbers(3, 10).tolist() == [3]


def test_neighbours_that_are_not_there_are_refused(rng):
    X, weights = rng.normal(size=(10, 3)), np.ones((10, 2))
    near = kneighbors(X, 2).indices
    for wrong in (10, -1):
        with pytest.raises(ValueError, match=r"indices must lie between 0 and 9, the rows of X"):
            tangent_spaces(X, np.where(near == near[0, 0], wrong, near), weights)
    with pytest.raises(ValueError, match=r"one shape \(n, k\).*\(10, 2\) and \(10, 3\)"):
        tangent_spaces(X, near, np.ones((10, 3)))
    with pytest.raises(ValueError, match=r"got float64 of shape"):
        tangent_spaces(X, near.astype(float), weights)
    for query in (X[:4], X[:, :2], sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"the points must be of the same kind as X"):
            tangent_spaces(X, near, weights, query=query)
