"""Arrows: exact on linear maps, nothing on random ones, and equal to a least-squares fit at every point."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.metrics.arrows import arrow_fidelity


def linear(seed: int = 0, n: int = 120, d: int = 5):
    """Data on a plane in d dimensions, its map Y = Z A, and the arrows: the gradients of each feature over Y."""
    rng = np.random.default_rng(seed)
    Z, A, B = rng.normal(size=(n, 2)), rng.normal(size=(2, 2)), rng.normal(size=(2, d))
    X, Y = Z @ B + 3.0, Z @ A
    slopes = np.linalg.inv(A) @ B  # X = Y A⁻¹ B: column f is the gradient of feature f
    return X, Y, np.tile(slopes.T, (n, 1, 1))


def test_a_linear_map_has_fidelity_1_whatever_the_lengths():
    X, Y, arrows = linear()
    assert arrow_fidelity(X, Y, arrows) == pytest.approx(1.0)
    assert arrow_fidelity(X, Y, arrows * np.random.default_rng(0).uniform(0.1, 9, size=(120, 5, 1))) == pytest.approx(
        1.0
    )
    assert arrow_fidelity(X, Y, -arrows) == pytest.approx(-1.0)
    quarter = np.stack([-arrows[..., 1], arrows[..., 0]], axis=-1)
    assert arrow_fidelity(X, Y, quarter) == pytest.approx(0.0, abs=1e-9)
    turned = np.stack([arrows[..., 0] - arrows[..., 1], arrows[..., 0] + arrows[..., 1]], axis=-1)
    assert arrow_fidelity(X, Y, turned) == pytest.approx(np.sqrt(0.5))


def test_random_arrows_score_near_0_and_so_do_true_ones_of_a_random_map():
    X, Y, arrows = linear(n=400)
    rng = np.random.default_rng(1)
    assert abs(arrow_fidelity(X, Y, rng.normal(size=arrows.shape))) < 0.05
    assert abs(arrow_fidelity(X, rng.normal(size=Y.shape), arrows)) < 0.05


def test_three_points_by_hand():
    # Feature values 0, 1, 2 over (0, 0), (1, 0), (0, 1): the plane is y₁ + 2 y₂, and the arrow (1, 0) is 1/√5 off.
    Y = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    arrows = np.zeros((1, 1, 2))
    arrows[0, 0] = [1.0, 0.0]
    assert arrow_fidelity(X, Y, arrows, rows=[0], n_neighbors=3) == pytest.approx(1 / np.sqrt(5))


@pytest.mark.parametrize("c", [1, 2, 3])
def test_equals_a_fit_with_an_intercept_at_every_point(c):
    rng = np.random.default_rng(c)
    X, Y, arrows = rng.normal(size=(60, 8)), rng.normal(size=(60, c)), rng.normal(size=(60, 8, c))
    importance = rng.random((60, 8))
    distances = np.linalg.norm(Y[:, None] - Y, axis=2)
    expected = []
    for i in range(60):
        near = np.argsort(distances[i])[:8]  # itself and seven others
        design = np.column_stack([np.ones(8), Y[near] - Y[i]])
        cosines = []
        for f in np.argsort(-importance[i])[:3]:
            slope = np.linalg.lstsq(design, X[near, f], rcond=None)[0][1:]
            cosines.append(slope @ arrows[i, f] / np.linalg.norm(slope) / np.linalg.norm(arrows[i, f]))
        expected.append(np.mean(cosines))
    values = arrow_fidelity(X, Y, arrows, n_neighbors=7, n_features=3, importance=importance, pointwise=True)
    np.testing.assert_allclose(values, expected, atol=1e-9)
    assert arrow_fidelity(X, Y, arrows, n_neighbors=7, n_features=3, importance=importance) == pytest.approx(
        np.mean(expected)
    )


def test_only_the_most_important_features_count():
    X, Y, arrows = linear()
    arrows[:, 2:] *= -1e-3  # short and wrong
    assert arrow_fidelity(X, Y, arrows, n_features=2) == pytest.approx(1.0)
    assert arrow_fidelity(X, Y, arrows, n_features=5) == pytest.approx((2 - 3) / 5)
    reverse = np.tile(np.arange(5.0), (120, 1))
    assert arrow_fidelity(X, Y, arrows, n_features=3, importance=reverse) == pytest.approx(-1.0)


def test_rows_are_the_rows_of_all():
    X, Y, arrows = linear()
    arrows = arrows + np.random.default_rng(0).normal(size=arrows.shape)
    whole = arrow_fidelity(X, Y, arrows, pointwise=True)
    rows = np.array([100, 3, 50])
    np.testing.assert_allclose(arrow_fidelity(X, Y, arrows[rows], rows, pointwise=True), whole[rows])


def test_what_has_no_direction_counts_0():
    X, Y, arrows = linear()
    assert arrow_fidelity(X, Y, np.zeros_like(arrows)) == 0.0
    flat = X.copy()
    flat[:, 0] = 1.0
    assert arrow_fidelity(flat, Y, arrows, n_features=5) == pytest.approx(4 / 5)
    assert arrow_fidelity(X, np.ones_like(Y), arrows) == 0.0  # a constant map


def test_a_map_on_a_line_is_judged_along_it():
    t = np.linspace(0, 1, 50)[:, None]
    Y, X = t * [3.0, 4.0], 2 * t
    along = np.tile([3.0, 4.0], (50, 1, 1))
    across = np.tile([-4.0, 3.0], (50, 1, 1))
    assert arrow_fidelity(X, Y, along) == pytest.approx(1.0)
    assert arrow_fidelity(X, Y, across) == pytest.approx(0.0, abs=1e-6)


def test_rotation_scale_and_order_do_not_matter():
    X, Y, arrows = linear()
    rng = np.random.default_rng(2)
    arrows = arrows + rng.normal(size=arrows.shape)
    value = arrow_fidelity(X, Y, arrows)
    assert 0.1 < value < 0.95
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert arrow_fidelity(X * 5, 0.01 * Y @ turn, arrows @ turn) == pytest.approx(value)
    order = rng.permutation(120)
    assert arrow_fidelity(X[order], Y[order], arrows[order]) == pytest.approx(value)


def test_threads_and_intervals():
    X, Y, arrows = linear(n=600)
    arrows = arrows + np.random.default_rng(0).normal(size=arrows.shape)
    exact, interval = arrow_fidelity(X, Y, arrows, return_ci=True)
    assert interval == (exact, exact)
    np.testing.assert_array_equal(
        arrow_fidelity(X, Y, arrows, pointwise=True, n_jobs=1), arrow_fidelity(X, Y, arrows, pointwise=True, n_jobs=2)
    )
    hits = 0
    for seed in range(100):
        rows = np.random.default_rng(seed).choice(600, 80, replace=False)
        value, (low, high) = arrow_fidelity(X, Y, arrows[rows], rows, return_ci=True)
        assert low < value < high
        hits += low <= exact <= high
    assert 88 <= hits < 100


def test_refusals():
    X, Y, arrows = linear(n=20)
    with pytest.raises(ValueError, match=r"gradients must be finite and of shape \(20, 5, 2\).*got shape \(20, 2, 5\)"):
        arrow_fidelity(X, Y, arrows.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="gradients must be finite"):
        arrow_fidelity(X, Y, np.full_like(arrows, np.nan))
    with pytest.raises(ValueError, match=r"importance must be finite and of shape \(20, 5\)"):
        arrow_fidelity(X, Y, arrows, importance=np.ones(5))
    with pytest.raises(ValueError, match="rows must lie between 0 and 19, got 5 to 20"):
        arrow_fidelity(X, Y, arrows[:2], [5, 20])
    with pytest.raises(TypeError, match="rows must be a list of row numbers"):
        arrow_fidelity(X, Y, arrows[:2], [0.5, 1.0])
    with pytest.raises(ValueError, match="n_neighbors must be at least 3 and at most 19, got 2"):
        arrow_fidelity(X, Y, arrows, n_neighbors=2)
    with pytest.raises(ValueError, match="n_features must be at least 1"):
        arrow_fidelity(X, Y, arrows, n_features=0)
    with pytest.raises(ValueError, match="Leave return_ci= out"):
        arrow_fidelity(X, Y, arrows, pointwise=True, return_ci=True)
    with pytest.raises(ValueError, match="NaN"):
        arrow_fidelity(X, np.full_like(Y, np.nan), arrows)
