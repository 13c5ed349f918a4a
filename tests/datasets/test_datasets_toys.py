"""The truth that comes with each toy set is the truth of its data."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist, pdist
from scipy.stats import kstest
from sklearn.datasets import load_iris

from manifolia import datasets

TOYS = {
    "make_tree": {"n_samples": 60},
    "make_swiss_roll": {"n_samples": 60, "noise": 0.1},
    "make_relevant_blobs": {"n_samples": 60},
    "make_sin_inverse": {"n_samples": 60},
    "make_unbalanced_clusters": {},
    "make_sine": {"n_samples": 60, "noise": 0.1},
    "make_iris_noise": {"n_noise": 20},
}


def test_every_toy_is_tested_here():
    assert {name for name in datasets.__all__ if name.startswith("make_")} == set(TOYS)


@pytest.mark.parametrize("name", TOYS)
def test_a_toy_gives_data_target_names_and_a_description(name):
    toy = getattr(datasets, name)(**TOYS[name], random_state=0)
    n_rows, n_columns = toy.data.shape
    assert toy.target.shape == (n_rows,)
    assert len(set(toy.feature_names)) == n_columns
    assert np.isfinite(toy.data).all()
    assert toy.description.endswith(".")


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("kind", [int, np.random.RandomState, np.random.default_rng])
def test_the_same_seed_draws_the_same_and_another_one_does_not(name, kind):
    make = getattr(datasets, name)
    first = make(**TOYS[name], random_state=kind(7))
    again = make(**TOYS[name], random_state=kind(7))
    other = make(**TOYS[name], random_state=kind(8))
    assert first.keys() == again.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(value, again[key], err_msg=key)
    assert not np.array_equal(first.data, other.data)


@pytest.mark.parametrize("name", TOYS)
def test_a_generator_is_advanced(name):
    make = getattr(datasets, name)
    rng = np.random.default_rng(0)
    assert not np.array_equal(make(**TOYS[name], random_state=rng).data, make(**TOYS[name], random_state=rng).data)


@pytest.mark.parametrize("name", TOYS)
def test_every_parameter_refuses_nonsense_by_name(name):
    make = getattr(datasets, name)
    for parameter in inspect.signature(make).parameters:
        with pytest.raises((TypeError, ValueError), match=rf"^{parameter} must be"):
            make(**{**TOYS[name], parameter: "many"})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("make_tree", {"n_samples": 4}, "n_samples must be at least 5, got 4. Every branch needs a row."),
        ("make_tree", {"n_features": 4}, "n_features must be at least 5, got 4. Each branch needs a direction"),
        ("make_tree", {"noise": -1.0}, "noise must be at least 0, got -1.0"),
        ("make_swiss_roll", {"height": 0}, "height must be above 0, got 0"),
        ("make_relevant_blobs", {"n_classes": 1}, "n_classes must be at least 2, got 1"),
        ("make_sin_inverse", {"x_min": 0.0}, "x_min must be above 0, got 0.0"),
        ("make_sin_inverse", {"x_min": 1.0}, "x_min must be below 1, the right end of the domain, got 1.0"),
        ("make_unbalanced_clusters", {"sizes": (10, 20, 30)}, r"sizes must be two ints.*got \(10, 20, 30\)"),
        ("make_unbalanced_clusters", {"sizes": (10, 0)}, r"sizes\[1\] must be at least 1, got 0"),
        ("make_sine", {"n_samples": 1}, "n_samples must be at least 2, got 1"),
    ],
)
def test_values_out_of_range_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(datasets, name)(**options)


# ---- tree


def test_tree_without_noise_is_its_coordinates_along_orthonormal_directions():
    tree = datasets.make_tree(200, n_branches=7, n_features=30, noise=0.0, random_state=1)
    np.testing.assert_allclose(tree.directions @ tree.directions.T, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(tree.data, tree.coordinates @ tree.directions, atol=1e-12)
    np.testing.assert_allclose(tree.coordinates[np.arange(200), tree.branch], tree.position)
    np.testing.assert_array_equal(tree.parent, [-1, 0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(np.bincount(tree.branch), [29, 29, 29, 29, 28, 28, 28])


def test_tree_distances_along_the_tree_are_those_of_a_walk_on_the_points():
    tree = datasets.make_tree(1500, n_branches=5, n_features=20, noise=0.0, random_state=2)
    # Without noise a walk from near point to near point follows the branches: neighbours within 0.05 only.
    straight = cdist(tree.data, tree.data)
    walk = shortest_path(np.where(straight < 0.05, straight, 0.0), directed=False)
    along = cdist(tree.coordinates, tree.coordinates, "cityblock")
    assert np.isfinite(walk).all()
    assert np.abs(walk - along).max() < 0.05  # corners at the forks are cut by at most one step
    # The straight way is another one: across a fork it is shorter.
    assert (along - straight).max() > 0.8


def test_tree_root_distance_counts_the_branches_walked_in_full():
    tree = datasets.make_tree(70, n_branches=7, n_features=10, noise=0.0, random_state=3)
    depth = np.array([0, 1, 1, 2, 2, 2, 2])
    np.testing.assert_allclose(tree.root_distance, depth[tree.branch] + tree.position)


def test_tree_noise_has_the_stated_standard_deviation():
    tree = datasets.make_tree(400, n_branches=3, n_features=200, noise=0.1, random_state=4)
    residual = tree.data - tree.coordinates @ tree.directions
    # 80,000 values: the standard error of the standard deviation is 0.1 / sqrt(160,000).
    assert residual.std() == pytest.approx(0.1, abs=5 * 0.1 / math.sqrt(160_000))


# ---- Swiss roll


def test_swiss_roll_is_locally_isometric_to_its_unrolled_coordinates():
    roll = datasets.make_swiss_roll(1500, random_state=0)
    near_points, near_truth = pdist(roll.data), pdist(roll.unrolled)
    close = near_truth < 0.5  # far below the roll's radius, 4.7 and more
    assert close.sum() > 300
    ratio = near_points[close] / near_truth[close]
    assert ratio.max() <= 1 + 1e-12  # a chord is never longer than the way
    assert ratio.min() > 1 - 0.5**2 / (24 * 4.0**2) * 1.5  # chord of an arc s of curvature 1/r: s (1 - s² / 24 r²)


def test_swiss_roll_arc_length_is_the_integral_of_the_speed():
    roll = datasets.make_swiss_roll(5, random_state=3)
    for angle, length in zip(roll.angle, roll.target, strict=True):
        assert length == pytest.approx(quad(lambda t: math.sqrt(1 + t**2), 1.5 * math.pi, angle)[0])
    # and the length of the curve that the data lies on
    t = np.linspace(1.5 * math.pi, roll.angle[0], 20_001)
    curve = np.column_stack([t * np.cos(t), t * np.sin(t)])
    np.testing.assert_allclose(curve[-1], roll.data[0, [0, 2]])
    assert roll.target[0] == pytest.approx(np.linalg.norm(np.diff(curve, axis=0), axis=1).sum(), rel=1e-6)
    np.testing.assert_array_equal(roll.unrolled, np.column_stack([roll.target, roll.data[:, 1]]))


def test_swiss_roll_tangents_are_orthonormal_and_are_the_derivatives():
    roll = datasets.make_swiss_roll(300, random_state=1)
    gram = roll.tangent @ roll.tangent.transpose(0, 2, 1)
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(2), gram.shape), atol=1e-12)
    step = 1e-6
    ahead, behind = roll.angle + step, roll.angle - step
    forward = np.column_stack([ahead * np.cos(ahead), roll.unrolled[:, 1], ahead * np.sin(ahead)])
    backward = np.column_stack([behind * np.cos(behind), roll.unrolled[:, 1], behind * np.sin(behind)])
    derivative = forward - backward
    derivative /= np.linalg.norm(derivative, axis=1, keepdims=True)
    np.testing.assert_allclose(roll.tangent[:, 0], derivative, atol=1e-8)
    np.testing.assert_array_equal(roll.tangent[:, 1], np.tile([0.0, 1.0, 0.0], (300, 1)))


# ---- blobs


def test_blobs_have_the_stated_relevant_columns_and_no_others():
    blobs = datasets.make_relevant_blobs(3000, n_classes=4, n_relevant=6, n_noise=14, separation=5, random_state=0)
    assert blobs.data.shape == (3000, 20)
    assert blobs.relevant.sum() == 6
    assert pdist(blobs.centers).min() == pytest.approx(5.0)
    np.testing.assert_array_equal(blobs.signal > 0, blobs.relevant)
    np.testing.assert_array_equal(np.bincount(blobs.target), [750] * 4)
    means = np.array([blobs.data[blobs.target == k].mean(axis=0) for k in range(4)])
    # The mean of 750 rows has a standard error of 0.037: five of them.
    assert np.abs(means - blobs.centers).max() < 5 / math.sqrt(750)
    within = blobs.data - blobs.centers[blobs.target]
    np.testing.assert_allclose(within.std(axis=0), 1.0, atol=0.1)


def test_blobs_hide_the_relevant_columns_at_random_places():
    masks = {tuple(datasets.make_relevant_blobs(6, random_state=seed).relevant) for seed in range(5)}
    assert len(masks) == 5


# ---- sin(1/x)


def test_sin_inverse_class_is_the_side_of_the_curve():
    concept = datasets.make_sin_inverse(random_state=0)
    x, y = concept.data.T
    assert concept.data.shape == (2000, 2)
    np.testing.assert_array_equal(concept.target, (y >= np.sin(1 / x)).astype(int))
    np.testing.assert_allclose(concept.margin, y - np.sin(1 / x))
    np.testing.assert_allclose(concept.boundary, np.sin(1 / x))
    assert set(np.unique(concept.target)) == {0, 1}


def test_sin_inverse_density_is_one_over_x():
    x_min = 0.02
    x, y = datasets.make_sin_inverse(5000, x_min=x_min, random_state=1).data.T
    # p(x) = 1 / (x log(1 / x_min)) has the distribution function 1 − log x / log x_min.
    assert kstest(x, lambda v: 1 - np.log(v) / math.log(x_min)).pvalue > 0.01
    assert kstest(y, "uniform", args=(-1, 2)).pvalue > 0.01
    assert kstest(x, "uniform", args=(x_min, 1 - x_min)).pvalue < 1e-6  # the test can tell
    assert x.min() >= x_min
    assert x.max() <= 1


@pytest.mark.parametrize(("n_samples", "x_min", "counts"), [(500, 0.03, [250, 250]), (31, 0.97, [15, 16])])
def test_sin_inverse_can_be_balanced(n_samples, x_min, counts):
    # On [0.97, 1] the border is near 0.84, so that class 1 is rare and more rows have to be drawn.
    concept = datasets.make_sin_inverse(n_samples, x_min=x_min, balanced=True, random_state=0)
    np.testing.assert_array_equal(np.bincount(concept.target), counts)
    x, y = concept.data.T
    np.testing.assert_array_equal(concept.target, (y >= np.sin(1 / x)).astype(int))
    assert not np.array_equal(concept.target, np.sort(concept.target))


# ---- two clusters, sine, Iris with noise


def test_unbalanced_clusters_have_the_papers_sizes_and_the_stated_distance():
    clusters = datasets.make_unbalanced_clusters(random_state=0)
    assert clusters.data.shape == (60, 10)
    np.testing.assert_array_equal(np.bincount(clusters.target), [10, 50])
    assert pdist(clusters.centers)[0] == pytest.approx(6.0)
    many = datasets.make_unbalanced_clusters((4000, 8000), n_features=3, separation=2.0, random_state=0)
    means = np.array([many.data[many.target == k].mean(axis=0) for k in range(2)])
    assert np.abs(means - many.centers).max() < 5 / math.sqrt(4000)
    np.testing.assert_allclose((many.data - many.centers[many.target]).std(axis=0), 1.0, atol=0.04)


def test_sine_is_the_papers_formula():
    sine = datasets.make_sine()
    assert sine.data.shape == (200, 4)
    i = np.arange(1, 201)
    z = 2 * math.pi / 199 * (i - 1) - math.pi  # appendix D
    np.testing.assert_allclose(sine.target, z, atol=1e-12)
    np.testing.assert_allclose(sine.data, np.column_stack([z, np.sin(z), np.sin(2 * z), np.sin(3 * z)]), atol=1e-12)
    noisy = datasets.make_sine(20_000, noise=0.3, random_state=0)
    exact = datasets.make_sine(20_000)
    np.testing.assert_allclose((noisy.data - exact.data).std(axis=0), 0.3, atol=0.01)


def test_iris_noise_keeps_iris_and_adds_noise_of_variance_one_around_uniform_means():
    made = datasets.make_iris_noise(random_state=0)
    iris = load_iris()
    assert made.data.shape == (150, 1004)
    np.testing.assert_array_equal(made.data[:, made.relevant], iris.data)
    np.testing.assert_array_equal(made.target, iris.target_names[iris.target])
    noise = made.data[:, ~made.relevant]
    assert noise.shape[1] == 1000
    assert kstest(made.noise_means, "uniform", args=(-1, 2)).pvalue > 0.01
    assert kstest(((noise - made.noise_means).ravel()), "norm").pvalue > 0.01
    assert kstest(noise.ravel(), "norm").pvalue < 1e-6  # with the means it is wider: the test can tell
