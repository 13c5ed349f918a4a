"""Trustworthiness, continuity and recall: five points by hand, twins, scikit-learn, zadu, samples, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from manifolia import metrics
from manifolia.metrics import neighborhood
from reference import ranks as naive

NAMES = ["trustworthiness", "continuity", "neighbor_recall"]
LINE = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
SWAPPED = LINE[[0, 1, 2, 4, 3]]


def cloud(seed=0, n=60, d=5):
    """A cloud and a map that keeps some of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.5 * rng.normal(size=(n, 2))


def tied(n=60):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    Y = rng.integers(0, 4, (n, 2)).astype(float)
    X[5], Y[5] = X[17], Y[17]
    return X, Y


def twin(name, D, E, k):
    if name == "neighbor_recall":
        return naive.neighbor_recall(D, E, k)
    return naive.trustworthiness(D, E, k) if name == "trustworthiness" else naive.trustworthiness(E, D, k)


def test_five_points_by_hand():
    """Only 3 and 4, which change places, have wrong neighbours up to k = 2; see the ranks in test_coranking."""
    # k = 1: penalties 4 − 1 of point 3 (its map neighbour 4 is its last in the data) and 2 − 1 of point 4; G = 3.
    # k = 2: 4 − 2 and 3 − 2; G = 3. k = 3: every point has one of rank 4 among three; G = 1.
    expected = [1 - 4 / 15, 1 - 3 / 15, 0.0]
    np.testing.assert_allclose(metrics.trustworthiness(LINE, SWAPPED, [1, 2, 3]), expected, rtol=1e-15)
    np.testing.assert_allclose(metrics.continuity(LINE, SWAPPED, [1, 2, 3]), expected, rtol=1e-15)
    np.testing.assert_allclose(metrics.neighbor_recall(LINE, SWAPPED, [1, 2, 3]), [3 / 5, 8 / 10, 10 / 15])
    np.testing.assert_allclose(metrics.trustworthiness(LINE, SWAPPED, 1, pointwise=True), [1, 1, 1, 0, 2 / 3])
    np.testing.assert_allclose(metrics.continuity(LINE, SWAPPED, 1, pointwise=True), [1, 1, 1, 2 / 3, 0])
    np.testing.assert_allclose(metrics.neighbor_recall(LINE, SWAPPED, 2, pointwise=True), [1, 1, 1, 0.5, 0.5])


def test_three_points_are_the_fewest():
    X = np.array([[0.0], [1.0], [3.0]])
    for name in NAMES:
        assert getattr(metrics, name)(X, X, 1) == 1.0
        assert getattr(metrics, name)(X, X[[0, 2, 1]], 1) == 0.0  # no point keeps its nearest


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", [cloud(n=131), tied()], ids=["two blocks", "tied"])
def test_equal_to_the_definitions(name, data):
    X, Y = data
    n = len(X)
    D, E = naive.distances(X), naive.distances(Y)
    if np.array_equal(X, X.round()):
        D, E = (D**2).round(), (E**2).round()
    ks = [1, 2, 10, n // 2, n // 2 + 1, n - 2]
    got = getattr(metrics, name)(X, Y, ks, pointwise=True)
    assert got.shape == (n, len(ks))
    for column, k in enumerate(ks):
        np.testing.assert_allclose(got[:, column], twin(name, D, E, k), atol=1e-13, err_msg=f"k={k}")
    np.testing.assert_allclose(getattr(metrics, name)(X, Y, ks), got.mean(axis=0), atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_one_k_many_k_and_pointwise_agree(name):
    X, Y = cloud(n=200)
    measure = getattr(metrics, name)
    many = measure(X, Y, [3, 20, 1])
    single = [measure(X, Y, k) for k in (3, 20, 1)]
    assert all(type(value) is float for value in single)
    np.testing.assert_array_equal(many, single)
    np.testing.assert_array_equal(measure(X, Y, (3, 20, 1), pointwise=True)[:, 1], measure(X, Y, 20, pointwise=True))
    assert measure(X, Y) == measure(X, Y, 10)
    assert measure(X, Y, np.int32(7)) == measure(X, Y, 7)


def test_scores_in_one_pass_equal_the_single_ones():
    X, Y = cloud()
    found = neighborhood.neighborhood_scores(X, Y, [4, 9])
    assert list(found) == NAMES
    for name in NAMES:
        np.testing.assert_array_equal(found[name].value, getattr(metrics, name)(X, Y, [4, 9]))


@pytest.mark.parametrize("k", [1, 5, 33, 99])
def test_equal_to_scikit_learn(k):
    X, Y = cloud(1, n=200)
    assert metrics.trustworthiness(X, Y, k) == pytest.approx(sklearn_trustworthiness(X, Y, n_neighbors=k), abs=1e-12)
    assert metrics.continuity(X, Y, k) == pytest.approx(sklearn_trustworthiness(Y, X, n_neighbors=k), abs=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("k", [1, 5, 30])
def test_equal_to_zadu(k):
    peer = pytest.importorskip(
        "zadu.measures.trustworthiness_continuity", reason="zadu is not installed (extra 'peers')"
    )
    X, Y = cloud(1, n=150)
    scores, local = peer.measure(X, Y, k=k, return_local=True)
    for name in ("trustworthiness", "continuity"):
        assert getattr(metrics, name)(X, Y, k) == pytest.approx(scores[name], abs=1e-12)
        pointwise = getattr(metrics, name)(X, Y, k, pointwise=True)
        np.testing.assert_allclose(pointwise, local[f"local_{name}"], atol=1e-12)


def test_recall_is_q_nx():
    X, Y = cloud()
    ks = np.arange(1, 59)
    np.testing.assert_array_equal(metrics.neighbor_recall(X, Y, ks), metrics.q_nx(X, Y))


@pytest.mark.parametrize("name", NAMES)
def test_other_metrics(name):
    X, Y = cloud()
    for metric in ("cosine", "manhattan"):
        D = np.maximum(naive.distances(X, metric), 0)
        value = getattr(metrics, name)(X, Y, 5, metric=metric)
        assert value == pytest.approx(twin(name, D, naive.distances(Y), 5).mean(), abs=1e-13)
        assert getattr(metrics, name)(D, Y, 5, metric="precomputed") == value
        assert value != getattr(metrics, name)(X, Y, 5)


# What a map deserves


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_map_has_the_optimum(name):
    for X, _ in (cloud(), tied()):
        assert (getattr(metrics, name)(X, X, np.arange(1, 59), pointwise=True) == 1).all()


@pytest.mark.parametrize("name", ["trustworthiness", "continuity"])
def test_the_worst_map_has_zero(name):
    """Ranks turned around: whoever is nearest in the map is farthest in the data."""
    Y = cloud(n=30)[1]
    near = naive.distances(Y)
    far = near.max() + 1 - near
    np.fill_diagonal(far, 0)
    for k in (1, 7, 14, 15, 28):
        assert getattr(metrics, name)(far, Y, k, metric="precomputed") == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_random_and_constant_maps_score_as_chance(rng, name):
    X = rng.normal(size=(300, 6))
    # The mean penalty of a random rank, 280 · 279 / (2 · 299), against that of the 20 worst, G / 20 = 539 / 2.
    chance = 20 / 299 if name == "neighbor_recall" else 1 - 280 * 279 / (299 * 539)
    assert getattr(metrics, name)(X, rng.normal(size=(300, 2)), 20) == pytest.approx(chance, abs=0.03)
    # A constant map has 20 neighbours for all together, not 20 for each, so it strays farther from chance.
    assert getattr(metrics, name)(X, np.ones((300, 2)), 20) == pytest.approx(chance, abs=0.2)
    assert getattr(metrics, name)(X, X[:, :4], 20) > chance + 0.25


def test_trust_and_continuity_tell_the_two_errors_apart():
    """Two clouds laid over each other are new neighbours; one cloud torn in two has lost neighbours."""
    rng = np.random.default_rng(0)
    two = rng.normal(size=(100, 2)) + np.repeat([[0, 0], [40, 0]], 50, axis=0)
    over = two - np.repeat([[0, 0], [40, 0]], 50, axis=0)
    assert metrics.continuity(two, over, 10) > metrics.trustworthiness(two, over, 10) + 0.1
    assert metrics.trustworthiness(over, two, 10) > metrics.continuity(over, two, 10) + 0.1


@pytest.mark.parametrize("name", NAMES)
def test_rotation_scale_and_order_do_not_matter(rng, name):
    X, Y = cloud(n=150)
    measure = getattr(metrics, name)
    value = measure(X, Y, [1, 10, 70], pointwise=True)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for other in (Y @ turn, 1e-3 * Y, 1e6 * Y - 3):
        np.testing.assert_array_equal(measure(X, other, [1, 10, 70], pointwise=True), value)
    order = rng.permutation(150)
    np.testing.assert_array_equal(measure(X[order], Y[order], [1, 10, 70], pointwise=True), value[order])
    assert not np.array_equal(measure(X, Y[order], [1, 10, 70], pointwise=True), value)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_number_of_threads(name):
    X, Y = cloud(n=400)
    one = getattr(metrics, name)(X, Y, [5, 50], n_jobs=1)
    for n_jobs in (2, None):
        np.testing.assert_array_equal(getattr(metrics, name)(X, Y, [5, 50], n_jobs=n_jobs), one)


# Samples


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_covers_the_exact_value(name):
    X, Y = cloud(2, n=150)
    exact = getattr(metrics, name)(X, Y, [3, 30])
    inside, widths = np.zeros(2), []
    for seed in range(100):
        value, (low, high) = getattr(metrics, name)(X, Y, [3, 30], sample=50, random_state=seed, return_ci=True)
        assert (low <= value).all()
        assert (value <= high).all()
        inside += (low <= exact) & (exact <= high)
        widths.append(high - low)
    assert inside.min() >= 88
    assert np.mean(widths) < 0.2


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_a_mean_of_points_and_all_of_them_are_exact(name):
    X, Y = cloud()
    measure = getattr(metrics, name)
    points = measure(X, Y, 8, pointwise=True)
    value = measure(X, Y, 8, sample=2, random_state=0)
    assert np.isclose(value, (points[:, None] + points[None, :]) / 2, atol=1e-13).any()
    exact = measure(X, Y, 8)
    value, (low, high) = measure(X, Y, 8, sample=60, random_state=0, return_ci=True)
    assert (value, low, high) == pytest.approx((exact, exact, exact), abs=1e-14)
    assert measure(X, Y, 8, return_ci=True) == (exact, (exact, exact))
    assert measure(X, Y, 8, sample=20, random_state=0) != measure(X, Y, 8, sample=20, random_state=1)


# What is refused


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_refused_at_the_door(name):
    measure = getattr(metrics, name)
    X, Y = cloud()
    broken = X.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        measure(broken, Y, 5)
    with pytest.raises(ValueError, match="Y has 59 rows"):
        measure(X, Y[1:], 5)
    with pytest.raises(ValueError, match="at least 3 rows, got 2"):
        measure(X[:2], Y[:2], 1)
    with pytest.raises(TypeError, match="sparse"):
        measure(sp.csr_array(X), Y, 5)
    for k in (0, 59, [3, 100]):
        with pytest.raises(ValueError, match=r"k must be at least 1 and at most 58, got .* map of 60 points"):
            measure(X, Y, k)
    for k in (2.5, [3, "4"], True, "ten"):
        with pytest.raises(TypeError, match="k must be an int"):
            measure(X, Y, k)
    with pytest.raises(ValueError, match="empty"):
        measure(X, Y, [])
    with pytest.raises(ValueError, match="sample must be at least 2 and at most 60"):
        measure(X, Y, 5, sample=1)
    with pytest.raises(ValueError, match="pointwise=True returns the value of every point"):
        measure(X, Y, 5, sample=10, pointwise=True)
    with pytest.raises(TypeError, match="pointwise must be True or False"):
        measure(X, Y, 5, pointwise="yes")
    with pytest.raises(ValueError, match="names must be one of"):
        neighborhood.neighborhood_scores(X, Y, names=("trust",))
