"""Co-ranking: five points by hand, naive twins, perfect, random, constant and tied maps, invariances, samples."""

from __future__ import annotations

import tracemalloc

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import manifolia
from manifolia import metrics
from manifolia._core.parallel import threads
from manifolia.exceptions import MemoryLimitError
from manifolia.metrics import _spaces, coranking
from reference import ranks as naive

SCALARS = ["auc_r_nx", "q_local", "q_global", "k_max"]
CURVES = ["q_nx", "r_nx", "lcmc"]
needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="takes minutes without the JIT")

# The last two of five points on a line change places.
LINE = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
SWAPPED = LINE[[0, 1, 2, 4, 3]]


def cloud(seed=0, n=60, d=5):
    """A cloud and a map that keeps some of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.5 * rng.normal(size=(n, 2))


def turned(Y, angle=0.7):
    return Y @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def tied(n=60):
    """Integers with many equal distances, and duplicates in data and map."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (n, 4)).astype(float)
    Y = rng.integers(0, 4, (n, 2)).astype(float)
    X[5], Y[5] = X[17], Y[17]
    return X, Y


# By hand


def test_five_points_by_hand():
    """Ranks of the pairs, written out: 0, 1 and 2 see 3 and 4 exchanged; 3 and 4 see each other elsewhere."""
    Q = metrics.coranking_matrix(LINE, SWAPPED)
    np.testing.assert_array_equal(Q, [[3, 1, 0, 1], [1, 3, 1, 0], [0, 1, 0, 4], [1, 0, 4, 0]])
    np.testing.assert_allclose(metrics.q_nx(LINE, SWAPPED), [3 / 5, 8 / 10, 10 / 15], rtol=1e-15)
    np.testing.assert_allclose(metrics.r_nx(LINE, SWAPPED), [7 / 15, 3 / 5, -1 / 3], rtol=1e-14)
    np.testing.assert_allclose(metrics.lcmc(LINE, SWAPPED), [0.35, 0.3, -1 / 12], rtol=1e-14)
    assert metrics.auc_r_nx(LINE, SWAPPED) == pytest.approx((7 / 15 + 3 / 10 - 1 / 9) / (11 / 6), rel=1e-14)
    assert metrics.k_max(LINE, SWAPPED) == 1
    assert metrics.q_local(LINE, SWAPPED) == pytest.approx(0.6, rel=1e-15)
    assert metrics.q_global(LINE, SWAPPED) == pytest.approx((0.6 + 0.8 + 2 / 3) / 3, rel=1e-15)


def test_three_points_are_the_fewest():
    X = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_array_equal(metrics.coranking_matrix(X, X), 3 * np.eye(2))
    assert metrics.q_nx(X, X) == [1.0]
    assert metrics.auc_r_nx(X, X) == 1.0
    # Nearest in the data: 0→1, 1→0, 2→1; with the last two exchanged: 0→2, 1→2, 2→0. None is kept.
    assert metrics.q_nx(X, X[[0, 2, 1]]) == [0.0]
    assert metrics.r_nx(X, X[[0, 2, 1]]) == [-1.0]
    # With the first two exchanged: 0→1, 1→0, 2→0. Two are kept.
    assert metrics.q_nx(X, X[[1, 0, 2]]) == pytest.approx([2 / 3])


# Naive twins


@pytest.mark.parametrize("data", [cloud(), tied(), cloud(1, n=131, d=40)], ids=["cloud", "tied", "three blocks"])
def test_equal_to_the_definitions(data):
    X, Y = data
    D, E = naive.distances(X) ** 2, naive.distances(Y) ** 2
    if not np.allclose(X, X.round()):  # squares of roots are as good as distances where nothing is tied
        D, E = naive.distances(X), naive.distances(Y)
    else:
        D, E = D.round(), E.round()
    np.testing.assert_array_equal(metrics.coranking_matrix(X, Y), naive.coranking_matrix(D, E))
    np.testing.assert_allclose(metrics.q_nx(X, Y), naive.q_nx(D, E), rtol=1e-14)
    np.testing.assert_allclose(metrics.r_nx(X, Y), naive.r_nx(D, E), rtol=1e-10, atol=1e-13)
    for name in SCALARS:
        assert getattr(metrics, name)(X, Y) == pytest.approx(getattr(naive, name)(D, E), rel=1e-12), name


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_other_metrics_equal_the_definitions(metric):
    X, Y = cloud(n=40)
    D, E = naive.distances(X, metric), naive.distances(Y)
    np.testing.assert_allclose(metrics.q_nx(X, Y, metric=metric), naive.q_nx(D, E), rtol=1e-14)
    np.testing.assert_array_equal(metrics.q_nx(D, Y, metric="precomputed"), metrics.q_nx(X, Y, metric=metric))
    assert not np.array_equal(metrics.q_nx(X, Y), metrics.q_nx(X, Y, metric=metric))


def test_scores_in_one_pass_equal_the_single_ones():
    X, Y = cloud()
    found = coranking.coranking_scores(X, Y, names=(*SCALARS, *CURVES))
    for name in (*SCALARS, *CURVES):
        np.testing.assert_array_equal(found[name].value, getattr(metrics, name)(X, Y))


# What a map deserves


@pytest.mark.parametrize("data", [cloud()[0], tied()[0]], ids=["cloud", "duplicates"])
def test_a_perfect_map_has_the_optimum(data):
    n = len(data)
    np.testing.assert_array_equal(metrics.coranking_matrix(data, data), n * np.eye(n - 1))
    assert (metrics.q_nx(data, data) == 1).all()
    assert (metrics.r_nx(data, data) == 1).all()
    for name in ("auc_r_nx", "q_local", "q_global"):
        assert getattr(metrics, name)(data, data) == 1.0
    assert metrics.k_max(data, data) == 1


def test_a_random_map_gains_nothing(rng):
    X = rng.normal(size=(300, 8))
    areas = [metrics.auc_r_nx(X, rng.normal(size=(300, 2))) for _ in range(10)]
    # One map's area has a standard deviation of about 0.006 here.
    assert abs(np.mean(areas)) < 0.01
    Y = rng.normal(size=(300, 2))
    np.testing.assert_allclose(metrics.q_nx(X, Y)[20:], metrics.random_baseline(300)[20:], atol=0.03)
    assert metrics.auc_r_nx(X, X[:, :2]) > 0.1  # and what keeps something does gain


def test_a_constant_map_scores_as_a_random_one_on_average_over_orders(rng):
    X, _ = cloud(n=40)
    curves = []
    for _ in range(200):
        order = rng.permutation(40)
        curves.append(metrics.q_nx(X[order], np.full((40, 2), 2.5)))
    np.testing.assert_allclose(np.mean(curves, axis=0), metrics.random_baseline(40), atol=0.02)


def test_ties_go_to_the_lower_index():
    """In a constant map the first two points are the neighbours of all others: their in-degree in the data decides."""
    Y = np.zeros((5, 1))
    # Nearest in the data: 0→1, 1→0, 2→1, 3→2, 4→3. Nearest in the map: 0→1, the others→0.
    assert metrics.q_nx(LINE, Y)[0] == pytest.approx(2 / 5)
    assert metrics.q_nx(LINE[::-1], Y)[0] == pytest.approx(1 / 5)


# Invariances


@pytest.mark.parametrize("name", [*SCALARS, *CURVES])
def test_rotation_scale_and_order_do_not_matter(rng, name):
    X, Y = cloud(n=150)
    measure = getattr(metrics, name)
    value = measure(X, Y)
    for other in (turned(Y), 1e-3 * Y, 1e6 * Y - 3, -Y):
        np.testing.assert_array_equal(measure(X, other), value)
    np.testing.assert_array_equal(measure(100 * X + 7, Y), value)
    order = rng.permutation(150)
    np.testing.assert_array_equal(measure(X[order], Y[order]), value)
    assert not np.array_equal(measure(X, Y[order]), value)


def test_the_matrix_is_transposed_when_data_and_map_change_places():
    X, Y = cloud()
    np.testing.assert_array_equal(metrics.coranking_matrix(X, Y), metrics.coranking_matrix(Y, X).T)
    np.testing.assert_array_equal(metrics.q_nx(X, Y), metrics.q_nx(Y, X))


def test_same_bits_for_any_number_of_threads():
    X, Y = cloud(n=400)
    one = metrics.r_nx(X, Y, n_jobs=1)
    for n_jobs in (2, 3, None):
        np.testing.assert_array_equal(metrics.r_nx(X, Y, n_jobs=n_jobs), one)
    np.testing.assert_array_equal(metrics.coranking_matrix(X, Y, n_jobs=1), metrics.coranking_matrix(X, Y, n_jobs=2))
    one = metrics.r_nx(X, Y, sample=100, random_state=4, return_ci=True, n_jobs=1)
    two = metrics.r_nx(X, Y, sample=100, random_state=4, return_ci=True, n_jobs=2)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize("kind", ["float32", "int64", "uint8", "DataFrame", "Fortran", "list"])
def test_input_of_any_kind(kind):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 200, (30, 4)).astype(float)
    Y = rng.normal(size=(30, 2)).astype(np.float32)
    if kind == "DataFrame":
        import pandas as pd

        other = pd.DataFrame(X)
    else:
        other = X.tolist() if kind == "list" else np.asfortranarray(X) if kind == "Fortran" else X.astype(kind)
    np.testing.assert_array_equal(metrics.q_nx(other, Y), metrics.q_nx(X, Y.astype(float)))


# Distances


def test_whole_numbers_go_through_blas_with_the_same_bits():
    X = np.random.default_rng(0).integers(-300, 300, (200, 40)).astype(float)
    whole = _spaces.data_space(X)
    panels = _spaces.Space(200, "squared", _spaces._packed(X))
    rows = np.array([0, 3, 150, 199])
    assert whole.kind == "blas"
    np.testing.assert_array_equal(whole.keys(rows), panels.keys(rows)[:, :200])
    np.testing.assert_array_equal(whole.keys(rows, 128), panels.keys(rows, 128)[:, : 200 - 128])
    assert _spaces.data_space(X + 0.5).kind == "squared"
    assert _spaces.data_space(X * 1e6).kind == "squared"  # sums beyond 2**53 would be rounded
    assert _spaces.data_space(X[:, :3]).kind == "squared"  # too narrow to be worth it


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e300])
def test_squares_neither_overflow_nor_vanish(scale):
    X, Y = cloud(n=30)
    np.testing.assert_array_equal(metrics.q_nx(X * scale, Y * scale), metrics.q_nx(X, Y))


def test_pairs_subsets_and_blocks_measure_alike():
    X, _ = cloud(n=90, d=40)
    a, b = np.array([0, 5, 89]), np.array([1, 70, 88])
    for metric, points in [("euclidean", X), ("euclidean", X.round()), ("cosine", X), ("manhattan", X)]:
        space = _spaces.data_space(points, metric)
        D = naive.distances(points, metric)
        np.testing.assert_allclose(space.distances(np.arange(90))[:, :90], D, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(space.pairs(a, b), D[a, b], rtol=1e-12)
        part = space.subset(np.array([3, 80, 81]))
        np.testing.assert_allclose(part.distances(np.arange(3))[:, :3], D[[3, 80, 81]][:, [3, 80, 81]], atol=1e-14)
    again = _spaces.data_space(D, "precomputed")
    np.testing.assert_array_equal(again.pairs(a, b), D[a, b])
    np.testing.assert_array_equal(again.subset(a).distances(np.arange(3)), D[np.ix_(a, a)])


# Samples


def test_a_sample_of_all_rows_is_exact():
    X, Y = cloud()
    for name in (*CURVES, "auc_r_nx", "q_local", "q_global"):
        exact = getattr(metrics, name)(X, Y)
        value, (low, high) = getattr(metrics, name)(X, Y, sample=60, random_state=0, return_ci=True)
        for other in (value, low, high):
            np.testing.assert_allclose(other, exact, rtol=1e-14, err_msg=name)
        for other in np.stack([(answer := getattr(metrics, name)(X, Y, return_ci=True))[0], *answer[1]]):
            np.testing.assert_array_equal(other, exact)


def test_sampled_rows_are_ranked_among_all_and_have_no_bias():
    X, Y = cloud(n=50)
    D, E = naive.distances(X), naive.distances(Y)
    recall = naive.neighbor_recall(D, E, 7)
    values = [metrics.q_nx(X, Y, sample=10, random_state=seed)[6] for seed in range(200)]
    # Every sampled mean is one of ten rows' own shares: multiples of 1/70.
    np.testing.assert_allclose(np.array(values) * 70, np.round(np.array(values) * 70), atol=1e-9)
    error = recall.std(ddof=1) / np.sqrt(10 * 200)
    assert abs(np.mean(values) - recall.mean()) < 4 * error


@pytest.mark.parametrize("name", ["auc_r_nx", "q_local", "q_global"])
def test_the_interval_of_sampled_rows_covers_the_exact_value(name):
    X, Y = cloud(2, n=150)
    exact = getattr(metrics, name)(X, Y)
    inside, widths = 0, []
    for seed in range(100):
        _, (low, high) = getattr(metrics, name)(X, Y, sample=40, random_state=seed, return_ci=True)
        inside += low <= exact <= high
        widths.append(high - low)
    assert inside >= 88
    assert np.mean(widths) < 0.25  # and it says something


@needs_jit
@pytest.mark.slow
@pytest.mark.parametrize("name", ["auc_r_nx", "q_local", "q_global", "r_nx"])
def test_the_interval_covers_on_larger_data_of_other_shapes(name):
    rng = np.random.default_rng(0)
    t = 9 * rng.random(800)
    roll = np.column_stack([t * np.cos(t), t * np.sin(t), 20 * rng.random(800)])
    centres = 8 * rng.normal(size=(6, 10))
    blobs = centres[rng.integers(0, 6, 800)] + rng.normal(size=(800, 10))
    for X, Y in [(roll, roll[:, [0, 2]]), (blobs, blobs @ rng.normal(size=(10, 2)))]:
        exact = getattr(metrics, name)(X, Y)
        inside = 0
        for seed in range(100):
            _, (low, high) = getattr(metrics, name)(X, Y, sample=120, random_state=seed, return_ci=True)
            inside = inside + ((low <= exact) & (exact <= high))
        assert np.mean(inside) >= 88  # for the curve on average over K, each K being an interval of its own


def test_subsets_read_the_curve_at_the_same_share_of_points():
    """Points on a circle mapped onto itself twice around: thinning keeps the shape, so Q_M(k M/m) is near Q_m(k)."""
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False) + 1e-3 * np.random.default_rng(0).normal(size=400)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    Y = np.column_stack([np.cos(2 * angle), np.sin(2 * angle)])
    exact = metrics.q_nx(X, Y)
    curve = metrics.q_nx(X, Y, sample=100, method="subsets", n_repeats=20, random_state=0)
    assert curve.shape == exact.shape
    np.testing.assert_allclose(curve[20:], exact[20:], atol=0.05)
    # The paper's printed form would read the subset at m k / M, sixteen times as far out.
    assert np.abs(curve[20:90] - exact[np.minimum(16 * np.arange(20, 90), 397)]).max() > 0.2


def test_a_subset_of_all_rows_is_exact_and_repeats_agree():
    X, Y = cloud()
    value, (low, high) = metrics.auc_r_nx(
        X, Y, sample=60, method="subsets", n_repeats=3, random_state=0, return_ci=True
    )
    assert value == pytest.approx(metrics.auc_r_nx(X, Y), rel=1e-12)
    assert low == pytest.approx(high)


def test_subsets_carry_the_baseline_onto_itself(rng):
    X = rng.normal(size=(300, 5))
    Y = rng.normal(size=(300, 2))
    curve = metrics.r_nx(X, Y, sample=60, method="subsets", n_repeats=40, random_state=1)
    assert abs(curve[20:].mean()) < 0.02


def test_one_subset_has_no_spread_to_tell():
    X, Y = cloud()
    _, (low, high) = metrics.q_local(X, Y, sample=20, method="subsets", n_repeats=1, random_state=0, return_ci=True)
    assert (low, high) == (0.0, 1.0)


@pytest.mark.parametrize("method", ["rows", "subsets"])
def test_seeds(method):
    X, Y = cloud()
    draw = [metrics.auc_r_nx(X, Y, sample=20, method=method, random_state=seed) for seed in (0, 0, 1)]
    assert draw[0] == draw[1] != draw[2]
    generator = np.random.default_rng(0)
    first, second = (metrics.auc_r_nx(X, Y, sample=20, method=method, random_state=generator) for _ in range(2))
    assert first != second


# What is refused


@pytest.mark.parametrize("name", ["coranking_matrix", *SCALARS, *CURVES])
def test_bad_data_is_refused_at_the_door(name):
    measure = getattr(metrics, name)
    X, Y = cloud()
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        measure(broken, Y)
    broken = Y.copy()
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match="Y contains infinity"):
        measure(X, broken)
    with pytest.raises(ValueError, match="Y has 59 rows and the data has 60"):
        measure(X, Y[1:])
    with pytest.raises(ValueError, match="at least 3 rows, got 2"):
        measure(X[:2], Y[:2])
    with pytest.raises(TypeError, match="X is a sparse matrix"):
        measure(sp.csr_array(X), Y)
    with pytest.raises(ValueError, match=r"metric must be one of .*Did you mean 'cosine'"):
        measure(X, Y, metric="cosin")
    with pytest.raises(TypeError, match="n_jobs must be an int"):
        measure(X, Y, n_jobs="all")


def test_bad_matrices_of_distances_are_refused():
    X, Y = cloud()
    D = naive.distances(X)
    with pytest.raises(ValueError, match=r"square matrix of distances, got X of shape \(60, 5\)"):
        metrics.q_nx(X, Y, metric="precomputed")
    with pytest.raises(ValueError, match="negative"):
        metrics.q_nx(-D, Y, metric="precomputed")
    rounded = D - 1e-15 * (D == 0)  # what a rounding error leaves is 0
    np.testing.assert_array_equal(metrics.q_nx(rounded, Y, metric="precomputed"), metrics.q_nx(X, Y))
    lopsided = D.copy()
    lopsided[2, 9] += 1
    with pytest.raises(ValueError, match="not symmetric"):
        metrics.q_nx(lopsided, Y, metric="precomputed")
    X[4] = 0.0
    with pytest.raises(ValueError, match=r"1 rows of zeros \(the first is row 4\)"):
        metrics.q_nx(X, Y, metric="cosine")


def test_bad_options_are_refused():
    X, Y = cloud()
    with pytest.raises(ValueError, match="sample must be at least 2 and at most 60, got 61"):
        metrics.q_nx(X, Y, sample=61)
    with pytest.raises(TypeError, match=r"sample must be an int, got 0\.5"):
        metrics.q_nx(X, Y, sample=0.5)
    with pytest.raises(ValueError, match="sample must be at least 3"):
        metrics.q_nx(X, Y, sample=2, method="subsets")
    with pytest.raises(ValueError, match="method must be one of 'rows', 'subsets'"):
        metrics.q_nx(X, Y, sample=20, method="points")
    with pytest.raises(ValueError, match="n_repeats=5 is the number of subsets"):
        metrics.q_nx(X, Y, sample=20, n_repeats=5)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        metrics.q_nx(X, Y, sample=20, method="subsets", n_repeats=0)
    with pytest.raises(TypeError, match="return_ci must be True or False"):
        metrics.q_nx(X, Y, return_ci=1)
    with pytest.raises(ValueError, match="names must be one of"):
        coranking.coranking_scores(X, Y, names=("auc",))
    with pytest.raises(ValueError, match="n must be at least 3"):
        metrics.random_baseline(2)


# Memory


def test_the_matrix_is_refused_where_it_does_not_fit():
    X, Y = cloud(n=200)
    with manifolia.memory_limit(100_000), pytest.raises(MemoryLimitError, match="199 × 199 co-ranking matrix"):
        metrics.coranking_matrix(X, Y)


@needs_jit
def test_curves_need_no_square_of_n():
    X, Y = cloud(n=2000)
    metrics.auc_r_nx(X[:1500], Y[:1500])  # the kernels for many rows are compiled before the count begins
    tracemalloc.start()
    try:
        with threads(2):
            metrics.auc_r_nx(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2000 * 2000 * 8 / 8


# Peers


@pytest.mark.filterwarnings("ignore")
def test_pydrmetrics_counts_the_same_pairs():
    """The matrix is the same. Its other figures are not: it divides by n − 1 rows where there are n, so its Q_NX is
    n/(n − 1) times ours and a perfect map exceeds 1; its chance level is K/(n − 2); its AUC is a plain mean of Q_NX."""
    peer = pytest.importorskip("pyDRMetrics.coranking_matrix", reason="pyDRMetrics is not installed (extra 'peers')")
    X, Y = cloud(n=80)
    D, E = naive.distances(X), naive.distances(Y)
    Q = peer.coranking_matrix(peer.ranking_matrix(D), peer.ranking_matrix(E))
    np.testing.assert_array_equal(metrics.coranking_matrix(X, Y), Q[1:, 1:])
    _, _, qnn, auc, *_ = peer.coranking_matrix_metrics(Q)
    np.testing.assert_allclose(metrics.q_nx(X, Y), qnn[:-1] * 79 / 80, rtol=1e-13)
    assert auc == pytest.approx(np.append(metrics.q_nx(X, Y), 1.0).mean() * 80 / 79, rel=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_zadu_has_the_same_lcmc():
    peer = pytest.importorskip(
        "zadu.measures.local_continuity_meta_criteria", reason="zadu is not installed (extra 'peers')"
    )
    X, Y = cloud(n=80)
    curve = metrics.lcmc(X, Y)
    for k in (1, 5, 40):
        assert curve[k - 1] == pytest.approx(peer.measure(X, Y, k=k)["lcmc"], abs=1e-13)
