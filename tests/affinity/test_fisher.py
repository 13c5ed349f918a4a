"""The Fisher metric: against explicit matrices J(x), in limits, under symmetries, and where labels say nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

import manifolia as mf
from manifolia.affinity import fisher
from manifolia.exceptions import HonestyWarning, MemoryLimitError
from reference import fisher as reference


@pytest.fixture
def clouds(rng):
    """Three overlapping clouds in four dimensions, rows in random order."""
    y = rng.integers(0, 3, 40)
    return rng.normal(size=(40, 4)) + 2.5 * np.eye(4)[y], y


def all_pairs(X, measure):
    return np.array([[measure(x, z) for z in X] for x in X])


@pytest.mark.parametrize("rule", ["midpoint", "left", "paper"])
def test_tangents_are_those_of_the_explicit_matrix(clouds, rule):
    X, y = clouds
    D = fisher.distances(X, y, bandwidth=0.8, steps=4, rule=rule)
    expected = all_pairs(X, lambda x, z: reference.tangent_distance(x, z, X, y, 0.8, 4, rule))
    np.testing.assert_allclose(D, expected, rtol=1e-9, atol=1e-10)
    assert D.max() > 1.0


def test_arcs_are_those_of_the_probabilities(clouds):
    X, y = clouds
    D = fisher.distances(X, y, bandwidth=0.8, steps=4)
    expected = all_pairs(X, lambda x, z: reference.arc_distance(x, z, X, y, 0.8, 4))
    np.testing.assert_allclose(D, expected, atol=1e-9)


def test_all_rules_have_one_limit(clouds):
    X, y = clouds
    limit = fisher.distances(X, y, bandwidth=0.6, steps=400, rule="midpoint")
    for rule in ("arcs", "midpoint", "left"):
        errors = [np.abs(fisher.distances(X, y, bandwidth=0.6, steps=T, rule=rule) - limit).mean() for T in (5, 20, 80)]
        assert errors[0] > 2 * errors[1] > 4 * errors[2] > 0, rule
        assert errors[2] < 0.02, rule
    squares = [fisher.distances(X, y, bandwidth=0.6, steps=T, rule="paper").mean() for T in (50, 100)]
    assert squares[1] == pytest.approx(squares[0] / 2, rel=0.05)  # the sum of squares vanishes as 1/T


def test_arcs_grow_with_the_points_of_a_path(clouds):
    X, y = clouds
    lengths = [fisher.distances(X, y, bandwidth=0.6, steps=T) for T in (1, 2, 4, 8)]
    for fewer, more in itertools.pairwise(lengths):
        assert (more - fewer).min() > -1e-10
    assert (lengths[-1] - lengths[0]).max() > 0.1


def test_directions_that_do_not_change_the_classes_have_no_length():
    # Reference points on a grid, classes by the first coordinate: p(c|x) does not change along the second ...
    grid = np.stack(np.meshgrid([0.0, 1.0, 2.0, 3.0], np.arange(60.0)), axis=-1).reshape(-1, 2)
    y = (grid[:, 0] > 1.5).astype(int)
    inside = np.flatnonzero((grid[:, 1] > 27) & (grid[:, 1] < 33))
    classes = fisher.parzen_classes(grid, y, bandwidth=0.7)
    for rule in ("arcs", "midpoint"):
        D = fisher.path_distances(grid, classes, rule=rule)[np.ix_(inside, inside)]
        same = grid[inside, 0][:, None] == grid[inside, 0]
        assert D[same].max() < 1e-7
        assert D[~same].min() > 0.01


def test_two_far_classes_are_pi_apart():
    X = np.r_[np.zeros((3, 2)), np.full((3, 2), 5.0)] + 0.01 * np.arange(12).reshape(6, 2)
    for bandwidth in (1.0, 0.1, 1e-3):
        D = fisher.distances(X, [0, 0, 0, 1, 1, 1], bandwidth=bandwidth)
        np.testing.assert_allclose(D[:3, 3:], np.pi, atol=1e-4)
        assert D[:3, :3].max() < 1e-4


def test_a_border_between_two_points_is_seen_by_arcs_only():
    X = np.array([[0.0], [0.1], [9.9], [10.0]])
    arcs, middles = (fisher.distances(X, [0, 0, 1, 1], bandwidth=0.5, steps=3, rule=r)[0, 3] for r in ("arcs", "left"))
    assert arcs == pytest.approx(np.pi, abs=1e-6)
    assert middles < 1e-6


def test_the_closed_form_of_two_reference_points():
    # Two reference points: p is a logistic function of the position, √p = (cos φ, sin φ), tan φ = exp(z/2).
    X = np.array([[0.0], [1.0]])
    turn = 0.5 / 0.7**2
    expected = 2 * (np.arctan(np.exp(turn / 2)) - np.arctan(np.exp(-turn / 2)))
    arcs = fisher.distances(X, ["a", "b"], bandwidth=0.7, fallback=False)[0, 1]
    tangents = fisher.distances(X, ["a", "b"], bandwidth=0.7, steps=200, rule="midpoint", fallback=False)[0, 1]
    assert arcs == pytest.approx(expected, abs=1e-12)  # in one dimension arcs have no corners
    assert tangents == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rule", fisher.RULES)
def test_invariances(clouds, rule, rng):
    X, y = clouds
    D = fisher.distances(X, y, bandwidth=0.8, rule=rule)
    assert (D >= 0).all()
    np.testing.assert_array_equal(np.diag(D), 0)
    if rule in ("arcs", "midpoint"):
        np.testing.assert_array_equal(D, D.T)
    else:
        assert np.abs(D - D.T).max() > 0.01
    names = np.array(["one", "two", "three"])[(y + 1) % 3]
    np.testing.assert_allclose(fisher.distances(X, names, bandwidth=0.8, rule=rule), D, atol=1e-9)
    order = rng.permutation(len(X))
    moved = fisher.distances(X[order], y[order], bandwidth=0.8, rule=rule)
    np.testing.assert_allclose(moved, D[np.ix_(order, order)], atol=1e-9)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    np.testing.assert_allclose(fisher.distances(X @ Q + 3.0, y, bandwidth=0.8, rule=rule), D, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("rule", fisher.RULES)
def test_units_do_not_matter(clouds, scale, rule):
    X, y = clouds
    D = fisher.distances(X, y, rule=rule)
    assert np.isfinite(D).all()
    np.testing.assert_allclose(fisher.distances(X * scale, y, rule=rule), D, rtol=1e-6, atol=1e-9)
    rounded = fisher.distances((X * scale).astype(np.float32), y, rule=rule)
    np.testing.assert_allclose(rounded, D, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rule", fisher.RULES)
def test_exponents_beyond_the_range_of_numbers(clouds, rule):
    """Pairs that underflow in the product of matrices are measured in the log domain, with the same result."""
    X, y = clouds
    X = np.r_[X, [[1e4, 0, 0, 0], [-1e7, 0, 0, 0], [0, 1e30, 0, 0]]]
    y = np.r_[y, [0, 1, 2]]
    D = fisher.distances(X, y, bandwidth=0.8, steps=4, rule=rule, fallback=False)
    assert np.isfinite(D).all()
    if rule == "arcs":
        expected = all_pairs(X[-8:], lambda x, z: reference.arc_distance(x, z, X, y, 0.8, 4))
    else:
        expected = all_pairs(X[-8:], lambda x, z: reference.tangent_distance(x, z, X, y, 0.8, 4, rule))
    near = np.ix_(np.arange(7), np.arange(7))  # the explicit matrix loses its digits at 1e30
    np.testing.assert_allclose(D[-8:, -8:][near], expected[near], rtol=1e-5, atol=1e-6)


def test_duplicates_and_a_constant_column(clouds):
    X, y = clouds
    X = np.c_[np.r_[X, X, X[:3]], np.full(83, 7.0)]
    y = np.r_[y, y, (y[:3] + 1) % 3]  # the last ones have another class than their twins
    D = fisher.distances(X, y)
    assert np.isfinite(D).all()
    assert np.abs(D[np.arange(40), np.arange(40, 80)]).max() < 1e-6
    assert D[:3, 80:].diagonal().max() < 1e-6


def test_the_same_bits_for_any_number_of_threads(rng):
    y = rng.integers(0, 4, 600)
    X = rng.normal(size=(600, 5)) + np.eye(5)[y]
    for rule in ("arcs", "left"):
        one, two = (fisher.distances(X, y, rule=rule, reference=150, random_state=1, n_jobs=k) for k in (1, 2))
        np.testing.assert_array_equal(one, two)


@pytest.mark.filterwarnings("ignore:the classes cannot be told")  # by some seeds
def test_tiles_do_not_show(rng, monkeypatch):
    y = rng.integers(0, 3, 70)
    X = rng.normal(size=(70, 3)) + np.eye(3)[y]
    for rule in fisher.RULES:
        whole = fisher.distances(X, y, bandwidth=0.7, rule=rule)
        with monkeypatch.context() as patch:
            patch.setattr(fisher, "_TILE", 16)
            np.testing.assert_allclose(fisher.distances(X, y, bandwidth=0.7, rule=rule), whole, atol=1e-11)


def test_rows_without_a_class_are_measured_too(clouds):
    X, y = clouds
    labels = y.astype(object)
    labels[[3, 17]] = None
    D = fisher.distances(X, labels, bandwidth=0.8)
    known = np.delete(np.arange(40), [3, 17])
    expected = fisher.distances(X[known], y[known], bandwidth=0.8)
    np.testing.assert_allclose(D[np.ix_(known, known)], expected, atol=1e-10)
    assert D[3].max() > 0.5


# --- the width of the windows, and whether the classes say anything -------------------------------------------------


def left_out_likelihood(X, codes, width):
    exponent = -0.5 * cdist(X, X, "sqeuclidean") / width**2
    np.fill_diagonal(exponent, -np.inf)
    own = np.where(codes[:, None] == codes, exponent, -np.inf)
    return np.mean(logsumexp(own, axis=1) - logsumexp(exponent, axis=1))


def test_the_likelihood_is_that_of_left_out_rows(clouds):
    X, y = clouds
    found = fisher.parzen_classes(X, y, bandwidth=0.9)
    assert found.bandwidth == pytest.approx(0.9)
    assert found.likelihood == pytest.approx(left_out_likelihood(X, y, 0.9), rel=1e-9)
    counts = np.bincount(y)
    assert found.prior == pytest.approx(np.log((counts[y] - 1) / (len(y) - 1)).mean())


def test_the_accuracy_is_that_of_left_out_rows(clouds):
    X, y = clouds
    exponent = -0.5 * cdist(X, X, "sqeuclidean") / 0.9**2 + np.diag(np.full(40, -np.inf))
    voted = np.stack([np.exp(exponent[:, y == c]).sum(axis=1) for c in range(3)]).argmax(axis=0)
    assert fisher.parzen_classes(X, y, bandwidth=0.9).accuracy == pytest.approx(np.mean(voted == y))
    assert fisher.parzen_classes(X, 2 * y, bandwidth=0.9).accuracy == pytest.approx(np.mean(voted == y))  # gaps


def test_the_width_maximises_it(clouds):
    X, y = clouds
    found = fisher.parzen_classes(X, y)
    widths = np.geomspace(0.05, 10, 400)
    best = max(left_out_likelihood(X, y, width) for width in widths)
    assert found.likelihood == pytest.approx(best, abs=2e-3)
    wider = left_out_likelihood(X, y, 1.1 * found.bandwidth)
    assert wider < best - 1e-3  # the widest of those as good


def test_where_all_narrow_widths_are_as_good_the_widest_is_taken():
    X = np.r_[np.arange(20.0), 1000 + np.arange(20.0)][:, None]
    found = fisher.parzen_classes(X, np.repeat([0, 1], 20))
    assert found.informative
    assert found.likelihood > -2e-3
    assert found.bandwidth > 50  # the nearest neighbours are 1 apart


def test_a_row_alone_in_its_class_has_no_likelihood(clouds):
    X, y = clouds
    with_one = fisher.parzen_classes(np.r_[X, [[9.0, 9, 9, 9]]], np.r_[y, 3])
    assert np.isfinite(with_one.likelihood)
    assert with_one.informative
    alone = fisher.parzen_classes(X, np.arange(len(X)))
    assert np.isnan(alone.likelihood)
    assert not alone.informative


def test_reference_rows_are_drawn_in_proportion(rng):
    codes = np.repeat([0, 1, 2, -1], [60, 30, 10, 50])
    X = rng.normal(size=(150, 2))
    found = fisher.parzen_classes(X, codes, reference=20, random_state=0)
    np.testing.assert_array_equal(np.diff(found.offsets), [12, 6, 2])
    np.testing.assert_array_equal(codes[found.rows], np.repeat([0, 1, 2], [12, 6, 2]))
    again = fisher.parzen_classes(X, codes, reference=20, random_state=0)
    np.testing.assert_array_equal(found.rows, again.rows)
    assert set(found.rows) != set(fisher.parzen_classes(X, codes, reference=20, random_state=1).rows)


def test_shuffled_labels_are_not_believed(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    assert fisher.parzen_classes(X, y).informative
    with pytest.warns(HonestyWarning, match="cannot be told from the data"):
        D = fisher.distances(X, rng.permutation(y))
    np.testing.assert_allclose(D, np.linalg.norm(X[:, None] - X, axis=2), atol=1e-12)
    believed = fisher.distances(X, rng.permutation(y), fallback=False)
    assert np.abs(believed - D).max() > 0.1


def test_shuffled_labels_are_seldom_believed(rng):
    """Of 60 shuffles with two standard errors about 1 in 40 would pass by chance."""
    X = rng.normal(size=(80, 3))
    believed = sum(fisher.parzen_classes(X, rng.permutation(np.arange(80) % 3)).informative for _ in range(60))
    assert believed <= 6


def test_numbers_are_cut_into_bins(rng):
    y = rng.normal(size=101)
    codes = fisher.class_codes(y, 101, n_bins=4)
    assert np.bincount(codes).tolist() == [26, 25, 25, 25]
    np.testing.assert_array_equal(np.argsort(codes, kind="stable")[:5], np.flatnonzero(codes == 0)[:5])
    assert (np.diff(codes[np.argsort(y)]) >= 0).all()
    tied = np.r_[np.zeros(60), y[:41] ** 2 + 0.5]
    assert np.bincount(fisher.class_codes(tied, 101, task="regression", n_bins=4))[0] == 60
    X = np.c_[y + 0.1 * rng.normal(size=101), rng.normal(size=101)]
    D = fisher.distances(X, y, n_bins=3)
    low, high = y < np.quantile(y, 0.2), y > np.quantile(y, 0.8)
    assert np.median(D[np.ix_(low, high)]) > 5 * np.median(D[np.ix_(low, low)])


def test_classes_of_any_kind():
    for y in (["b", "a", "b"], [True, False, True], [1.0, 0.0, 1.0], np.array(["b", "a", "b"], dtype=object)):
        np.testing.assert_array_equal(fisher.class_codes(y, 3), [1, 0, 1])
    assert fisher.class_codes(["b", None, "a"], 3).tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([1, 1, 1, 1], "at least two classes, got one class"),
        ([0.5, 0.5, 0.5, 0.5], "at least two classes, got one value"),
        ([None] * 4, "every label of y is missing"),
        ([0, 1, 0], "for each of the 4 rows"),
        (np.eye(4), "one column of classes"),
    ],
)
def test_targets_that_do_not_suit(y, message):
    with pytest.raises(ValueError, match=message):
        fisher.distances(np.arange(8.0).reshape(4, 2), y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"rule": "right"}, "rule must be"),
        ({"bandwidth": 0.0}, "bandwidth must be above 0"),
        ({"bandwidth": "wide"}, "bandwidth must be"),
        ({"reference": 1}, "reference must be at least 2"),
        ({"n_bins": 1}, "n_bins must be at least 2"),
        ({"task": "multilabel"}, "task must be"),
    ],
)
def test_options_that_do_not_suit(clouds, options, message):
    with pytest.raises(ValueError, match=message):
        fisher.distances(*clouds, **options)


def test_the_memory_is_asked_for_first(clouds):
    with mf.memory_limit("10kB"), pytest.raises(MemoryLimitError, match="Fisher distances of 40 rows"):
        fisher.distances(*clouds)


def test_mixed(rng):
    F, X = np.abs(np.subtract.outer(rng.normal(size=5), np.arange(5.0))), rng.normal(size=(5, 3))
    F = F + F.T
    np.fill_diagonal(F, 0.0)
    E = cdist(X, X)
    above = np.triu_indices(5, 1)
    expected = np.sqrt((F / np.median(F[above])) ** 2 + 0.25 * (E / np.median(E[above])) ** 2)
    np.testing.assert_allclose(fisher.mixed(F, X, 0.5), expected)
    np.testing.assert_allclose(fisher.mixed(F, X, 0.0) * np.median(F[above]), F)
    np.testing.assert_allclose(fisher.mixed(np.zeros((5, 5)), X), E / np.median(E[above]))
    lopsided = np.triu(F)
    np.testing.assert_array_equal(fisher.mixed(lopsided, X), fisher.mixed(lopsided, X).T)
