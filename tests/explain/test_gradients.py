"""Importance, arrows, their reliability, averages and fields: closed forms and what they promise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.explain.gradients import (
    arrow_grid,
    arrow_reliability,
    correlation_arrows,
    feature_gradients,
    feature_importance,
    group_means,
    with_neighbors,
)
from manifolia.explain.pullback import nearest_frame, pullback, staying
from manifolia.metrics import arrow_fidelity
from manifolia.neighbors import kneighbors
from manifolia.operators.tangent import bases, tangent_spaces


@pytest.fixture
def flat(rng):
    """A plane in five features, along features 0 and 1, and its tangent spaces."""
    X = np.zeros((300, 5))
    X[:, :2] = rng.uniform(-1.0, 1.0, size=(300, 2))
    X[:, 3] = 4.0
    nearest = kneighbors(X, 12).indices
    return X, tangent_spaces(X, nearest, np.ones((300, 12)), captured=0.95)


def test_importance_is_1_along_the_manifold_and_0_across(flat):
    X, spaces = flat
    assert spaces.dim == 2
    importance = feature_importance(spaces, X)
    np.testing.assert_allclose(importance, np.tile([1.0, 1.0, 0.0, 0.0, 0.0], (300, 1)), atol=1e-12)


def test_importance_of_a_tilted_line(rng):
    X = np.outer(rng.uniform(size=100), [3.0, 4.0, 0.0])
    spaces = tangent_spaces(X, kneighbors(X, 8).indices, np.ones((100, 8)))
    np.testing.assert_allclose(feature_importance(spaces, X), np.tile([0.6, 0.8, 0.0], (100, 1)), atol=1e-12)


def test_variance_weights_the_directions():
    # Variances 2 and 0.5 along features 0 and 1: (2/2.5)^½ and (0.5/2.5)^½.
    X = np.array([[0.0, 0, 0], [2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]])
    spaces = tangent_spaces(X, np.array([[1, 2, 3, 4]]), np.ones((1, 4)), query=X[:1], captured=1.0)
    np.testing.assert_allclose(feature_importance(spaces, X, query=X[:1])[0], [1.0, 1.0, 0.0], atol=1e-12)
    weighted = feature_importance(spaces, X, query=X[:1], kind="variance")[0]
    np.testing.assert_allclose(weighted, [np.sqrt(0.8), np.sqrt(0.2), 0.0], atol=1e-12)
    np.testing.assert_allclose((weighted**2).sum(), 1.0)
    with pytest.raises(ValueError, match="kind must be one of 'gradient', 'variance'"):
        feature_importance(spaces, X, kind="shap")


def test_importances_square_to_the_dimension(rng):
    X = rng.normal(size=(80, 10))
    spaces = tangent_spaces(X, kneighbors(X, 12).indices, np.ones((80, 12)))
    importance = feature_importance(spaces, X)
    np.testing.assert_allclose((importance**2).sum(axis=1), spaces.dim, rtol=1e-10)  # Σ_f Σ_l v_fl² = d
    assert ((importance >= 0) & (importance <= 1)).all()
    some = feature_importance(spaces, X, [3, 7], [1, 9])
    np.testing.assert_allclose(some, importance[[3, 7]][:, [1, 9]], atol=1e-12)
    np.testing.assert_allclose(feature_importance(spaces, sp.csr_array(X)), importance, atol=1e-10)


def test_arrows_on_a_linear_manifold_are_the_loadings(rng):
    # The map is the plane of the principal components itself, turned and scaled: arrows are the loadings, turned.
    scores = rng.normal(size=(400, 2)) * [2.0, 1.0]
    loadings = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    X = scores @ loadings.T
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    Y = 0.5 * scores @ turn
    spaces = tangent_spaces(X, kneighbors(X, 12).indices, rng.uniform(0.1, 1, size=(400, 12)), captured=0.99)
    back = pullback(spaces, Y)
    arrows = feature_gradients(spaces, back, X)
    np.testing.assert_allclose(arrows, np.tile(2.0 * loadings @ turn, (400, 1, 1)), atol=1e-8)
    np.testing.assert_allclose(back.reliability, 1.0, atol=1e-8)
    np.testing.assert_allclose(arrow_reliability(spaces, arrows, X, Y), 1.0, atol=1e-8)
    assert arrow_fidelity(X, Y, arrows) > 0.999
    # The gauges turn the tangent directions into the map.
    V = bases(spaces, X, None, 2)
    np.testing.assert_allclose(np.matmul(V, back.gauges.transpose(0, 2, 1)), np.tile(loadings @ turn, (400, 1, 1)),
                               atol=1e-8)  # fmt: skip


def stayed(w, y):
    """Weights of the neighbours of one point, those less that lie far off in the map: a twin by plain loops."""
    u = w
    for _ in range(4):
        mean = sum(u[j] * y[j] for j in range(len(y)))
        apart = [np.linalg.norm(one - mean) for one in y]
        reach = 2.0 * np.sqrt(np.median(np.square(apart)))
        u = np.array([w[j] / (1.0 + (apart[j] / reach) ** 2) ** 2 for j in range(len(y))])
        u = u / u.sum()
    return u


def test_pullback_is_least_squares_among_the_neighbours_that_stayed(rng):
    X, Y = rng.normal(size=(50, 6)), rng.normal(size=(50, 2))
    nearest = kneighbors(X, 10).indices
    w = rng.uniform(0.1, 1.0, size=(50, 10))
    for center in ("mean", "point"):
        spaces = tangent_spaces(X, nearest, w, center=center)
        back = pullback(spaces, Y, 4)
        for i in (0, 17):
            weights = np.sqrt(stayed(spaces.weights[i], Y[nearest[i]]))[:, None]
            design = np.concatenate([Y[nearest[i]], np.ones((10, 1))], axis=1)
            slopes = np.linalg.lstsq(weights * design, weights * spaces.coordinates[i, :, :4], rcond=None)[0]
            np.testing.assert_allclose(back.B[i], slopes[:2], atol=1e-9)
        assert ((back.reliability >= 0) & (back.reliability <= 1)).all()


def test_weights_of_those_that_stayed(rng):
    w, y = rng.dirichlet(np.ones(9), size=20), rng.standard_cauchy(size=(20, 9, 2))
    u, about = staying(w, y)
    np.testing.assert_allclose(u, [stayed(*one) for one in zip(w, y, strict=True)], atol=1e-12)
    np.testing.assert_allclose(u.sum(axis=1), 1.0)
    np.testing.assert_allclose((u[:, :, None] * about).sum(axis=1), 0.0, atol=1e-9)
    # The map may be turned, moved and drawn larger.
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    np.testing.assert_allclose(staying(w, 7.0 * y @ turn + [3.0, -1.0])[0], u, atol=1e-9)
    # Where most neighbours lie in one place there is no width to measure by.
    y[:, :7] = 1.0
    assert np.isfinite(staying(w, y)[0]).all()
    np.testing.assert_allclose(staying(w, np.ones_like(y))[0], w)


def test_a_neighbour_that_the_map_took_far_away_does_not_turn_an_arrow(rng):
    scores = rng.normal(size=(300, 2))
    X = scores @ np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    spaces = tangent_spaces(X, kneighbors(X, 15).indices, np.ones((300, 15)), captured=0.99)
    true = feature_gradients(spaces, pullback(spaces, scores), X)
    Y = scores.copy()
    Y[rng.choice(300, 15, replace=False)] += 30.0  # torn off
    kept = np.flatnonzero(np.abs(Y - scores).max(axis=1) == 0.0)
    drawn = feature_gradients(spaces, pullback(spaces, Y), X)
    lengths = np.linalg.norm(drawn, axis=2) * np.linalg.norm(true, axis=2)
    cosine = (drawn * true).sum(axis=2) / np.maximum(lengths, 1e-12)
    assert np.median(cosine[kept]) > 0.999
    assert cosine[kept].mean() > 0.97


def test_gauges_are_orthonormal_in_any_number_of_components(rng):
    X = rng.normal(size=(60, 6))
    spaces = tangent_spaces(X, kneighbors(X, 8).indices, np.ones((60, 8)), max_dim=5)
    for c in (1, 2, 3, 10):
        gauges = pullback(spaces, rng.normal(size=(60, c))).gauges
        assert gauges.shape == (60, c, c)
        np.testing.assert_allclose(np.matmul(gauges.transpose(0, 2, 1), gauges), np.tile(np.eye(c), (60, 1, 1)),
                                   atol=1e-10)  # fmt: skip


@pytest.mark.parametrize("c", [1, 2, 3])
def test_nearest_frame_is_the_polar_factor(c, rng):
    J = rng.standard_normal((50, c, c)) * 10.0 ** rng.uniform(-8, 8, (50, 1, 1))
    left, _, right = np.linalg.svd(J)
    np.testing.assert_allclose(nearest_frame(J), left @ right, atol=1e-9)
    for flat in (np.zeros((1, c, c)), np.ones((1, c, c))):  # several frames are equally near: any of them
        frame = nearest_frame(flat)[0]
        np.testing.assert_allclose(frame @ frame.T, np.eye(c), atol=1e-12)
        assert np.isclose(np.trace(frame.T @ flat[0]), np.linalg.svd(flat[0], compute_uv=False).sum())


def test_nearest_frame_by_hand():
    np.testing.assert_allclose(nearest_frame(np.array([[[2.0, 0.0], [0.0, -3.0]]]))[0], np.diag([1.0, -1.0]))
    np.testing.assert_allclose(nearest_frame(np.array([[[0.0, 5.0], [5.0, 0.0]]]))[0], [[0.0, 1.0], [1.0, 0.0]])


def test_neighbours_in_one_place_or_on_a_line_of_the_map(rng):
    X = rng.normal(size=(40, 4))
    spaces = tangent_spaces(X, kneighbors(X, 8).indices, np.ones((40, 8)))
    together = pullback(spaces, np.zeros((40, 2)))
    assert (together.B == 0.0).all()
    assert (together.reliability == 0.0).all()
    line = np.zeros((40, 2))
    line[:, 0] = X[:, 0]
    on_a_line = pullback(spaces, line)
    assert np.isfinite(on_a_line.B).all()
    np.testing.assert_allclose(on_a_line.B[:, 1], 0.0, atol=1e-12)


def test_smoothing_is_a_mean_over_neighbours(rng):
    X = rng.normal(size=(30, 3))
    nearest = kneighbors(X, 4).indices
    arrows = rng.normal(size=(30, 3, 2))
    expected = np.array([(arrows[i] + arrows[nearest[i]].sum(axis=0)) / 5 for i in range(30)])
    np.testing.assert_allclose(with_neighbors(arrows, arrows, nearest), expected)


def test_reliability_is_a_squared_correlation_among_the_neighbours_that_stayed(rng):
    X, Y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    X[:, 2] = 1.0
    spaces = tangent_spaces(X, kneighbors(X, 10).indices, np.ones((40, 10)))
    arrows = rng.normal(size=(2, 3, 2))
    found = arrow_reliability(spaces, arrows, X, Y, [5, 6])
    for row, i in enumerate((5, 6)):
        for f in range(2):
            nearest = spaces.indices[i]
            u = stayed(spaces.weights[i], Y[nearest])
            C = np.cov(X[nearest, f], Y[nearest] @ arrows[row, f], aweights=u)
            r = C[0, 1] / np.sqrt(C[0, 0] * C[1, 1])
            np.testing.assert_allclose(found[row, f], max(r, 0.0) ** 2, atol=1e-12)
        assert found[row, 2] == 0.0
    sparse = arrow_reliability(spaces, arrows, sp.csr_array(X), Y, [5, 6])
    np.testing.assert_allclose(sparse, found, atol=1e-12)
    narrow = arrow_reliability(spaces, arrows[:, [1]], X, Y, [5, 6], [1])
    np.testing.assert_allclose(narrow, found[:, [1]])
    with pytest.raises(ValueError, match=r"gradients must be of shape \(2, 3, 2\)"):
        arrow_reliability(spaces, arrows[:1], X, Y, [5, 6])


def test_correlation_arrows_are_pearsons(rng):
    X, Y = rng.normal(size=(60, 4)) + 50.0, rng.normal(size=(60, 2)) + 9.0
    X[:, 3] = 2.5
    X[:, 0] = -3.0 * Y[:, 1]
    expected = np.corrcoef(np.concatenate([X[:, :3], Y], axis=1).T)[:3, 3:]
    for data in (X, sp.csr_array(X), X.astype(np.float32)):
        found = correlation_arrows(data, Y)
        np.testing.assert_allclose(found[:3], expected, atol=1e-5)
        np.testing.assert_array_equal(found[3], 0.0)
    np.testing.assert_allclose(correlation_arrows(X, Y)[0, 1], -1.0)
    np.testing.assert_allclose(correlation_arrows(X + 1000.0, Y - 1000.0)[:3], expected, atol=1e-8)  # centred


def test_group_means(rng):
    values = rng.normal(size=(6, 2, 3))
    groups = np.array(["b", "a", "b", "b", "a", "c"])
    found = group_means(values, groups)
    assert found.groups.tolist() == ["a", "b", "c"]
    assert found.sizes.tolist() == [2, 3, 1]
    for label, mean in zip(found.groups, found.means, strict=True):
        np.testing.assert_allclose(mean, values[groups == label].mean(axis=0))
    with pytest.raises(ValueError, match="equally many rows"):
        group_means(values, groups[:5])


def test_a_constant_field_stays_what_it_is(rng):
    Y = rng.uniform(size=(500, 2)) * [4.0, 2.0]
    grid = arrow_grid(Y, np.tile([1.0, -2.0], (500, 1)), n_nodes=9)
    np.testing.assert_allclose(grid.arrows, np.tile([1.0, -2.0], (len(grid.arrows), 1)))
    np.testing.assert_allclose(grid.agreement, 1.0)
    assert grid.positions.shape[1] == 2
    step = np.diff(np.unique(grid.positions[:, 0]))
    np.testing.assert_allclose(step, step[0])
    assert 9 * 4 <= len(grid.positions) <= 9 * 6


def test_a_field_follows_its_arrows_and_says_where_they_disagree(rng):
    Y = rng.uniform(-1.0, 1.0, size=(4000, 2))
    radial = np.stack([Y, rng.normal(size=(4000, 2))], axis=1)  # one feature grows outwards, one is noise
    grid = arrow_grid(Y, radial, n_nodes=11)
    inside = np.abs(grid.positions).max(axis=1) < 0.9
    np.testing.assert_allclose(grid.arrows[inside, 0], grid.positions[inside], atol=0.08)
    assert grid.agreement[:, 1].mean() < 0.4 < 0.8 < grid.agreement[:, 0].mean()
    assert grid.counts.min() >= 1.0


def test_weights_and_empty_places_of_a_field():
    Y = np.array([[0.0, 0.0], [0.0, 0.0], [10.0, 0.0]])
    arrows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    grid = arrow_grid(Y, arrows, n_nodes=6, weights=np.array([1.0, 0.0, 1.0]), bandwidth=0.3)
    assert grid.positions.tolist() == [[0.0, 0.0], [10.0, 0.0]]
    np.testing.assert_allclose(grid.arrows, [[1.0, 0.0], [0.0, 1.0]], atol=1e-9)
    one = arrow_grid(Y[:, :1], arrows[:, :1], n_nodes=6)
    assert one.positions.shape[1] == 1
    with pytest.raises(ValueError, match="gradients must end in 2 components"):
        arrow_grid(Y, arrows[:, :1])
