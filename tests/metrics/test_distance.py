"""Measures of distances: a triangle by hand, twins, perfect, constant and random maps, cells, samples, zadu."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

from manifolia import metrics
from manifolia.metrics import distance
from reference import pairs as naive

NAMES = ["shepard_goodness", "distance_correlation", "normalized_stress", "distance_ratio"]
PERFECT = {"shepard_goodness": 1.0, "distance_correlation": 1.0, "normalized_stress": 0.0, "distance_ratio": 1.0}
CONSTANT = {"shepard_goodness": 0.0, "distance_correlation": 0.0, "normalized_stress": 1.0, "distance_ratio": 0.0}
# Distances 3, 4, 5 in the data and 1, 1, 2 in the map.
TRIANGLE = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
SEGMENT = np.array([[0.0], [1.0], [-1.0]])


def cloud(seed=0, n=60, d=5):
    """A cloud and a map that keeps some of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.5 * rng.normal(size=(n, 2))


def test_a_triangle_by_hand():
    """Three points are also the fewest."""
    assert metrics.shepard_goodness(TRIANGLE, SEGMENT) == pytest.approx(np.sqrt(3) / 2, rel=1e-14)
    assert metrics.distance_correlation(TRIANGLE, SEGMENT) == pytest.approx(np.sqrt(3) / 2, rel=1e-14)
    # α = 17/6, and 50 − 17²/6 of 50 are left.
    assert metrics.normalized_stress(TRIANGLE, SEGMENT) == pytest.approx(np.sqrt(11 / 300), rel=1e-13)
    assert metrics.normalized_stress(TRIANGLE, SEGMENT, squared=True) == pytest.approx(11 / 300, rel=1e-13)
    assert metrics.normalized_stress(TRIANGLE, SEGMENT, scale="none") == pytest.approx(np.sqrt(22 / 50), rel=1e-14)
    # s = 12/4: 3, 3, 6 against 3, 4, 5.
    assert metrics.distance_ratio(TRIANGLE, SEGMENT) == pytest.approx((1 + 3 / 4 + 5 / 6) / 3, rel=1e-14)
    assert metrics.distance_ratio(TRIANGLE, SEGMENT, scale="none") == pytest.approx((1 / 3 + 1 / 4 + 2 / 5) / 3)


@pytest.mark.parametrize("n", [3, 4, 65, 300])
@pytest.mark.parametrize("name", NAMES)
def test_equal_to_the_definitions(name, n):
    X, Y = cloud(1, n=n)
    d, e = pdist(X), pdist(Y)
    assert getattr(metrics, name)(X, Y) == pytest.approx(getattr(naive, name)(d, e), abs=1e-12)
    if name in ("normalized_stress", "distance_ratio"):
        raw = getattr(naive, name)(d, e, 1.0)
        assert getattr(metrics, name)(X, Y, scale="none") == pytest.approx(raw, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_ties_and_duplicates(name):
    rng = np.random.default_rng(3)
    X, Y = rng.integers(0, 3, (80, 3)).astype(float), rng.integers(0, 3, (80, 2)).astype(float)
    assert getattr(metrics, name)(X, Y) == pytest.approx(getattr(naive, name)(pdist(X), pdist(Y)), abs=1e-12)


@pytest.mark.parametrize(("metric", "scipy_name"), [("cosine", "cosine"), ("manhattan", "cityblock")])
@pytest.mark.parametrize("name", NAMES)
def test_other_metrics(name, metric, scipy_name):
    X, Y = cloud()
    d = pdist(X, scipy_name)
    wanted = getattr(naive, name)(d, pdist(Y))
    assert getattr(metrics, name)(X, Y, metric=metric) == pytest.approx(wanted, abs=1e-12)
    assert getattr(metrics, name)(squareform(d), Y, metric="precomputed") == pytest.approx(wanted, abs=1e-12)


def test_scores_in_one_pass_equal_the_single_ones():
    X, Y = cloud()
    found = distance.distance_scores(X, Y)
    assert list(found) == NAMES
    sampled = distance.distance_scores(X, Y, sample=500, random_state=0)
    for name in NAMES:
        assert found[name].value == getattr(metrics, name)(X, Y)
        value, interval = getattr(metrics, name)(X, Y, sample=500, random_state=0, return_ci=True)
        assert sampled[name] == (value, *interval)


# What a map deserves


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_map_of_any_size_has_the_optimum(name):
    X, _ = cloud()
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))[0]
    for Y in (X, 2 * X, 3.7 * X @ turn + 100, 1e-9 * X):
        assert getattr(metrics, name)(X, Y) == pytest.approx(PERFECT[name], abs=1e-12)
    assert getattr(metrics, name)(X, X[::-1]) != pytest.approx(PERFECT[name], abs=0.05)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sample", [None, 300])
def test_a_constant_map_has_a_score(name, sample):
    X, _ = cloud()
    Y = np.full((60, 2), 0.1)
    score = getattr(metrics, name)(X, Y, sample=sample, random_state=0, return_ci=True)
    assert score == (pytest.approx(CONSTANT[name]), pytest.approx((CONSTANT[name],) * 2))


def test_equal_distances_everywhere_have_no_correlation():
    """The corners of a simplex: all distances are √2, up to rounding."""
    X = np.eye(6) @ np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    Y = np.random.default_rng(0).normal(size=(6, 2))
    assert metrics.distance_correlation(X, Y) == 0.0
    assert metrics.distance_correlation(Y, X) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_data_without_distances_is_refused(monkeypatch, name):
    Y = cloud()[1]
    for sample in (None, 300):
        with pytest.raises(ValueError, match="rows of X that were compared are all equal"):
            getattr(metrics, name)(np.ones((60, 3)), Y, sample=sample)
    monkeypatch.setattr(distance, "_MAX_SORTED", 10)
    with pytest.raises(ValueError, match="rows of X that were compared are all equal"):
        getattr(metrics, name)(np.ones((60, 3)), Y)


def test_a_random_map_has_no_correlation(rng):
    X, Y = rng.normal(size=(300, 5)), rng.normal(size=(300, 2))
    assert abs(metrics.shepard_goodness(X, Y)) < 0.1
    assert abs(metrics.distance_correlation(X, Y)) < 0.1
    better = {name: getattr(metrics, name)(X, X[:, :3]) for name in NAMES}
    assert better["shepard_goodness"] > 0.5
    assert better["normalized_stress"] < metrics.normalized_stress(X, Y)
    assert better["distance_ratio"] > metrics.distance_ratio(X, Y)


def test_raw_stress_depends_on_size_and_the_best_scale_does_not():
    X, Y = cloud()
    assert metrics.normalized_stress(X, 5 * Y) == pytest.approx(metrics.normalized_stress(X, Y), rel=1e-12)
    best = metrics.normalized_stress(X, Y)
    raw = [metrics.normalized_stress(X, factor * Y, scale="none") for factor in (0.1, 1.0, 10.0)]
    assert len({round(value, 6) for value in raw}) == 3
    assert min(raw) >= best
    alpha = (pdist(X) * pdist(Y)).sum() / (pdist(Y) ** 2).sum()
    assert metrics.normalized_stress(X, alpha * Y, scale="none") == pytest.approx(best, rel=1e-12)


def test_the_ratio_of_a_pair_that_is_together_on_one_side():
    X = np.array([[0.0], [0.0], [2.0]])
    Y = np.array([[0.0], [1.0], [1.0]])  # distances 0, 2, 2 and 1, 1, 0; both have the mean 4/3 after scaling
    assert metrics.distance_ratio(X, Y) == pytest.approx((0 + 1 + 0) / 3)
    assert metrics.distance_ratio(X, X[[1, 0, 2]]) == 1.0


# Invariances


@pytest.mark.parametrize("name", NAMES)
def test_rotation_scale_and_order_do_not_matter(rng, name):
    X, Y = cloud(n=150)
    value = getattr(metrics, name)(X, Y)
    order = rng.permutation(150)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    for other, plane in [(X, Y @ turn), (X, 1e4 * Y + 3), (0.01 * X - 5, Y), (X[order], Y[order])]:
        assert getattr(metrics, name)(other, plane) == pytest.approx(value, rel=1e-10)
    assert getattr(metrics, name)(X, Y[order]) != pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_for_any_number_of_threads(name):
    X, Y = cloud(n=400)
    one = getattr(metrics, name)(X, Y, n_jobs=1)
    for n_jobs in (2, None):
        assert getattr(metrics, name)(X, Y, n_jobs=n_jobs) == one


def test_moments_keep_their_digits_where_distances_hardly_vary():
    """Two groups so far apart that all distances between them are 1e6, give or take 1e-3."""
    rng = np.random.default_rng(0)
    D = np.full((60, 60), 1e6) + 1e-3 * rng.random((60, 60))
    D = np.triu(D, 1) + np.triu(D, 1).T
    Y = rng.normal(size=(60, 2))
    wanted = naive.distance_correlation(D[np.triu_indices(60, 1)] - 1e6, pdist(Y))
    assert metrics.distance_correlation(D, Y, metric="precomputed") == pytest.approx(wanted, abs=1e-6)


# Ranks in cells


@pytest.mark.parametrize("kind", ["cloud", "integers", "atoms", "outlier", "near ties"])
def test_ranks_in_cells_equal_sorted_ones(monkeypatch, rng, kind):
    X, Y = cloud(n=250)
    if kind == "integers":
        X, Y = rng.integers(0, 4, (250, 3)).astype(float), rng.integers(0, 9, (250, 1)).astype(float)
    elif kind == "atoms":  # three places in the map, with a few points just beside them
        Y = rng.integers(0, 3, (250, 1)) + 1e-7 * (rng.random((250, 1)) < 0.1) * rng.random((250, 1))
    elif kind == "outlier":
        X[0], Y[1] = 1e9, -1e7
    elif kind == "near ties":
        X = np.round(X) + 1e-9 * X
    sorted_value = metrics.shepard_goodness(X, Y)
    monkeypatch.setattr(distance, "_MAX_SORTED", 10)
    monkeypatch.setattr(distance, "_PILOT", 2**15)
    value = metrics.shepard_goodness(X, Y)
    assert value == pytest.approx(sorted_value, abs=1e-6 if kind in ("cloud", "integers") else 1e-4)
    assert value == metrics.shepard_goodness(X, Y, n_jobs=1)
    assert metrics.shepard_goodness(X, 3 * X) == pytest.approx(1.0, abs=1e-6)


def test_cells_tell_equal_distances_from_near_ones(monkeypatch):
    """Half of all distances are exactly 1, and the pairs farthest apart in the map a little more: no tie with them."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(250, 2))
    e = pdist(Y)
    d = np.where(e < np.median(e), 1.0, 2.0 + rng.random(e.shape))
    d[np.argsort(e)[-2:]] = 1.0 + 1e-9  # so few that no edge falls on them
    D = squareform(d)
    wanted = metrics.shepard_goodness(D, Y, metric="precomputed")
    monkeypatch.setattr(distance, "_MAX_SORTED", 10)
    assert metrics.shepard_goodness(D, Y, metric="precomputed") == pytest.approx(wanted, abs=1e-5)


# Samples


@pytest.mark.parametrize("name", NAMES)
def test_the_interval_covers_the_exact_value(name):
    X, Y = cloud(2, n=150)
    exact = getattr(metrics, name)(X, Y)
    inside, widths = 0, []
    for seed in range(100):
        value, (low, high) = getattr(metrics, name)(X, Y, sample=1500, random_state=seed, return_ci=True)
        assert low <= value <= high
        inside += low <= exact <= high
        widths.append(high - low)
    assert inside >= 88
    assert np.mean(widths) < 0.2


@pytest.mark.parametrize("name", NAMES)
def test_samples_come_near_and_follow_the_seed(name):
    X, Y = cloud(n=100)
    exact = getattr(metrics, name)(X, Y)
    assert getattr(metrics, name)(X, Y, sample=100_000, random_state=0) == pytest.approx(exact, abs=0.02)
    assert getattr(metrics, name)(X, Y, return_ci=True) == (exact, (exact, exact))
    draw = [getattr(metrics, name)(X, Y, sample=300, random_state=seed) for seed in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]


def test_pairs_are_of_two_points_and_all_alike():
    from manifolia.metrics._sampling import draw_pairs

    a, b = draw_pairs(5, 20_000, 0)
    assert (a != b).all()
    counts = np.bincount(5 * a + b, minlength=25).reshape(5, 5)
    assert (np.diag(counts) == 0).all()
    # Twenty ordered pairs of 1,000 each, give or take five standard deviations.
    assert np.abs(counts[~np.eye(5, dtype=bool)] - 1000).max() < 160


# What is refused


@pytest.mark.parametrize("name", NAMES)
def test_bad_input_is_refused_at_the_door(name):
    measure = getattr(metrics, name)
    X, Y = cloud()
    broken = Y.copy()
    broken[0, 0] = np.nan
    with pytest.raises(ValueError, match="Y contains NaN"):
        measure(X, broken)
    with pytest.raises(ValueError, match="Y has 59 rows"):
        measure(X, Y[1:])
    with pytest.raises(ValueError, match="at least 3 rows, got 2"):
        measure(X[:2], Y[:2])
    with pytest.raises(TypeError, match="sparse"):
        measure(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match=r"sample must be at least 200, got 50\. It is a number of pairs"):
        measure(X, Y, sample=50)
    with pytest.raises(TypeError, match="return_ci must be True or False"):
        measure(X, Y, return_ci="yes")
    with pytest.raises(ValueError, match="metric must be one of"):
        measure(X, Y, metric="chebyshev")


def test_bad_options_are_refused():
    X, Y = cloud()
    with pytest.raises(ValueError, match="scale must be one of 'best', 'none'"):
        metrics.normalized_stress(X, Y, scale="raw")
    with pytest.raises(ValueError, match="scale must be one of 'best', 'none'"):
        metrics.distance_ratio(X, Y, scale=None)
    with pytest.raises(TypeError, match="squared must be True or False"):
        metrics.normalized_stress(X, Y, squared=1)
    with pytest.raises(ValueError, match="names must be one of"):
        distance.distance_scores(X, Y, names=("stress",))


# Peers


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("ours", "options", "module", "key"),
    [
        ("shepard_goodness", {}, "spearman_rho", "spearman_rho"),
        ("distance_correlation", {}, "pearson_r", "pearson_r"),
        ("normalized_stress", {}, "scale_normalized_stress", "scale_normalized_stress"),
        ("normalized_stress", {"scale": "none"}, "stress", "stress"),
    ],
)
def test_equal_to_zadu(ours, options, module, key):
    peer = pytest.importorskip(f"zadu.measures.{module}", reason="zadu is not installed (extra 'peers')")
    X, Y = cloud(n=150)
    assert getattr(metrics, ours)(X, Y, **options) == pytest.approx(peer.measure(X, Y)[key], abs=1e-12)


def test_pairs_of_wide_rows_are_measured_in_blocks(rng):
    """Some thousands of columns, such as counts of genes, took 65,536 differences of rows at once: gigabytes."""
    import tracemalloc

    from manifolia.metrics._spaces import data_space

    X = rng.normal(size=(60, 6000))
    space = data_space(X)
    a, b = rng.integers(0, 60, (2, 20_000))
    tracemalloc.start()
    found = space.pairs(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 6000 * 8 / 2
    np.testing.assert_array_equal(found[:50], space.pairs(a[:50], b[:50]))
