"""Metric MDS: closed forms, scikit-learn's SMACOF as a peer, invariants, and the non-metric form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from scipy.stats import spearmanr
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import smacof

from manifolia._core.memory import memory_limit
from manifolia._core.progress import Reporter
from manifolia.exceptions import ManifoliaWarning, MemoryLimitError
from manifolia.layout import metric_mds as module
from manifolia.layout.classical_mds import classical_mds
from manifolia.layout.metric_mds import metric_mds
from reference.procrustes import align

SOLVERS = ["smacof", "sgd"]


def _points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.geomspace(3.0, 1.0, d)


def _distances(n=80, seed=0, d=8):
    X = _points(n, d, seed)
    return cdist(X, X)


def _clusters(n=200, seed=2):
    generator = np.random.default_rng(seed)
    centres = 3 * generator.normal(size=(6, 20))
    X = centres[generator.integers(0, 6, n)] + generator.normal(size=(n, 20))
    return cdist(X, X)


def _stress(D, Y):
    """The definition: √(Σ (D − d)² / Σ D²)."""
    d = cdist(Y.astype(float), Y.astype(float))
    return np.sqrt(((D - d) ** 2).sum() / (D.astype(float) ** 2).sum())


def _kruskal(D, Y):
    """Kruskal's stress-1 from its definition, by another isotonic regression; ties of D share a disparity."""
    given, d = D[np.triu_indices(len(D), 1)], pdist(Y)
    fitted = IsotonicRegression().fit(given, d).predict(given)
    return np.sqrt(((d - fitted) ** 2).sum() / (d**2).sum())


def _peer(D, start, **options):
    return smacof(D, n_components=start.shape[1], init=start, n_init=1, **options)[0]


def test_three_points_on_a_line():
    # Distances 1, 1, 1 in one dimension: at −a, 0, a the stress 2(1 − a)² + (1 − 2a)² is least for a = 2/3, where it
    # is 1/3, normalised √(1/9) = 1/3.
    result = metric_mds(1.0 - np.eye(3), [[-1.0], [0.0], [1.0]], tol=1e-12)
    np.testing.assert_allclose(result.Y.ravel(), [-2 / 3, 0, 2 / 3], atol=1e-9)
    assert result.stress == pytest.approx(1 / 3)


def test_four_equal_distances_in_the_plane_make_a_square():
    # The square of side s has four sides s and two diagonals s√2; the best s is Σd/Σd² = (4 + 2√2)/8.
    start = np.array([[1.0, 0.1], [0.0, 1.2], [-1.1, 0.0], [0.1, -1.0]])
    result = metric_mds(1.0 - np.eye(4), start, tol=0.0, max_iter=500)
    side = (4 + 2 * np.sqrt(2)) / 8
    np.testing.assert_allclose(np.sort(pdist(result.Y)), [side] * 4 + [side * np.sqrt(2)] * 2, rtol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 5])
def test_exact_distances_give_no_stress(solver, n_components):
    X = _points(60, n_components)
    result = metric_mds(cdist(X, X), n_components=n_components, solver=solver)
    assert result.stress < 1e-9
    np.testing.assert_allclose(align(result.Y, X), X, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_exact_distances_are_found_from_another_start(solver):
    X = _points(60, 2)
    start = X + 0.5 * np.random.default_rng(1).normal(size=X.shape)
    result = metric_mds(cdist(X, X), start, solver=solver, tol=1e-9, max_iter=100)
    assert result.history[0] > 0.1
    assert result.stress < 1e-4
    np.testing.assert_allclose(align(result.Y, X), X, atol=2e-3)


@pytest.mark.parametrize("metric", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_smacof_never_raises_the_stress(seed, metric):
    D = _distances(50, seed)
    start = np.random.default_rng(seed).normal(size=(50, 2)) * 10.0 ** (seed - 2)
    result = metric_mds(D, start, metric=metric, max_iter=60, tol=0.0)
    assert (np.diff(result.history) <= 1e-12 * result.history[:-1]).all()
    assert result.history[-1] < 0.9 * result.history[0]


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_result_is_what_it_says(solver):
    D = _clusters()
    start = classical_mds(D).Y
    result = metric_mds(D, start, solver=solver)
    assert result.history[0] == pytest.approx(_stress(D, start), rel=1e-12)
    assert result.stress == result.history.min() == pytest.approx(_stress(D, result.Y), rel=1e-9)
    assert result.stress < 0.9 * result.history[0]
    assert len(result.history) == result.n_iter + 1
    assert np.abs(result.Y.mean(axis=0)).max() < 1e-12
    np.testing.assert_array_equal(metric_mds(D, solver=solver).Y, result.Y)  # the classical start is the default


@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("make", [_distances, _clusters])
def test_stress_is_that_of_scikit_learn_within_one_percent(make, n_components):
    D = make()
    start = classical_mds(D, n_components).Y
    peer = _stress(D, _peer(D, start, max_iter=1000, eps=1e-9))
    assert _stress(D, start) > 1.05 * peer
    assert metric_mds(D, start).stress == pytest.approx(peer, rel=0.01)


@pytest.mark.parametrize("make", [_distances, _clusters])
def test_descent_ends_within_one_percent_of_majorisation(make):
    # Both end in a local minimum, not always the same one: the mean over several sets counts.
    ratios = [
        metric_mds(D, solver="sgd").stress / metric_mds(D, tol=1e-7, max_iter=1000).stress
        for D in (make(200, seed=seed) for seed in range(5))
    ]
    assert np.mean(ratios) < 1.01


def test_one_plain_sweep_is_that_of_scikit_learn():
    D = _distances()
    start = classical_mds(D).Y
    Y = metric_mds(D, start, max_iter=1).Y  # first and last step are plain
    np.testing.assert_allclose(Y, _peer(D, start, max_iter=1, eps=0.0), atol=1e-9)


def test_relaxed_steps_need_fewer_sweeps():
    D = _clusters()
    start = classical_mds(D).Y
    plain, history = start, [_stress(D, start)]
    while len(history) < 3 or history[-2] - history[-1] > 1e-4 * history[-2]:
        plain = metric_mds(D, plain, max_iter=1).Y
        history.append(_stress(D, plain))
    relaxed = metric_mds(D, start)
    assert relaxed.n_iter < 0.8 * (len(history) - 1)
    assert relaxed.stress < history[-1] * 1.0001


def test_tolerance_and_limit_end_the_run():
    D = _clusters()
    coarse, fine = metric_mds(D, tol=1e-2), metric_mds(D, tol=1e-6)
    assert coarse.n_iter < fine.n_iter < 200
    assert fine.stress < coarse.stress
    assert metric_mds(D, max_iter=3).n_iter == 3
    assert metric_mds(D, max_iter=3, solver="sgd").n_iter == 3
    for solver in SOLVERS:
        none = metric_mds(D, max_iter=0, solver=solver)
        assert none.n_iter == 0
        np.testing.assert_allclose(none.Y, classical_mds(D).Y, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_scaled_distances_scale_the_map(solver):
    D = _distances()
    result, scaled = metric_mds(D, solver=solver), metric_mds(D * 1e-3, solver=solver)
    assert scaled.n_iter == result.n_iter
    assert scaled.stress == pytest.approx(result.stress, rel=1e-6)
    np.testing.assert_allclose(scaled.Y, result.Y * 1e-3, atol=1e-7 * np.abs(result.Y).max() * 1e-3)


@pytest.mark.parametrize("metric", [True, False])
def test_permuted_rows_permute_the_map(metric):
    D = _distances()
    order = np.random.default_rng(3).permutation(len(D))
    permuted = metric_mds(D[np.ix_(order, order)], metric=metric).Y
    np.testing.assert_allclose(permuted, metric_mds(D, metric=metric).Y[order], atol=1e-7)


def test_a_rotated_start_rotates_the_map():
    D = _distances()
    start = classical_mds(D).Y
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    np.testing.assert_allclose(metric_mds(D, start @ turn).Y, metric_mds(D, start).Y @ turn, atol=1e-8)


def test_a_start_far_from_the_origin_is_as_good():
    D = _distances()
    start = np.rint(classical_mds(D).Y * 1024) / 1024  # so that the shift below is exact
    far = metric_mds(D, start + 2.0**36)
    np.testing.assert_allclose(far.Y, metric_mds(D, start).Y, atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"metric": False}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(options, dtype):
    D = _clusters(900).astype(dtype)  # more than one block of rows
    assert len(D) ** 2 > module._BLOCK_PAIRS
    one, two = (metric_mds(D, max_iter=4, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.Y, two.Y)
    np.testing.assert_array_equal(one.history, two.history)


def test_blocks_of_rows_equal_one_block(monkeypatch):
    D = _clusters()
    whole = metric_mds(D)
    monkeypatch.setattr(module, "_BLOCK_PAIRS", 1)  # a block per row
    np.testing.assert_array_equal(metric_mds(D, n_jobs=2).Y, whole.Y)
    epochs = metric_mds(D, solver="sgd")
    monkeypatch.setattr(module, "_ROUND_PAIRS", 1)  # a call per round
    np.testing.assert_array_equal(metric_mds(D, solver="sgd").Y, epochs.Y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_single_precision_is_kept_and_near(solver):
    D = _distances()
    single, double = metric_mds(D.astype(np.float32), solver=solver), metric_mds(D, solver=solver)
    assert (single.Y.dtype, double.Y.dtype) == (np.float32, np.float64)
    assert single.stress == pytest.approx(double.stress, rel=1e-5)
    np.testing.assert_allclose(single.Y, double.Y, atol=1e-3)


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"metric": False}])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_a_few_points(n, n_components, options):
    X = _points(n, 1)
    start = np.random.default_rng(0).normal(size=(n, n_components))
    result = metric_mds(cdist(X, X), start, **options)
    assert result.Y.shape == (n, n_components)
    assert np.isfinite(result.Y).all()
    assert np.isfinite(result.history).all()
    if n < 3 and options.get("metric", True):
        np.testing.assert_allclose(cdist(result.Y, result.Y), cdist(X, X), atol=0.05)


def test_too_many_components_warn_and_stay_zero():
    with pytest.warns(ManifoliaWarning, match="only 1 of the n_components=3"):
        Y = metric_mds([[0.0, 2.0], [2.0, 0.0]], n_components=3).Y
    np.testing.assert_allclose(Y, [[1, 0, 0], [-1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"solver": "sgd"}, {"metric": False}])
def test_all_distances_zero_put_all_points_in_one_place(options):
    result = metric_mds(np.zeros((5, 5)), _points(5, 2), **options)
    assert result.stress == 0.0
    assert (result.Y == 0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplicates_stay_together(solver):
    X = _points(40, 5)
    X[20:] = X[:20]
    Y = metric_mds(cdist(X, X), solver=solver).Y
    assert np.abs(Y[20:] - Y[:20]).max() < 0.05 * Y.std()


@pytest.mark.parametrize("solver", SOLVERS)
def test_points_that_start_in_one_place_part(solver):
    D = 1.0 - np.eye(12)
    stuck = metric_mds(D, np.zeros((12, 2)), max_iter=0, solver=solver, random_state=0)
    assert stuck.stress == pytest.approx(1.0, abs=1e-5)
    assert np.abs(stuck.Y.mean(axis=0)).max() < 1e-15
    result = metric_mds(D, np.zeros((12, 2)), solver=solver, random_state=0)
    assert result.stress < 0.45
    assert pdist(result.Y).min() > 0.1
    np.testing.assert_array_equal(result.Y, metric_mds(D, np.zeros((12, 2)), solver=solver, random_state=np.int64(0)).Y)


def test_only_points_with_a_distance_are_parted():
    X = _points(30, 3)
    X[10] = X[4]
    D = cdist(X, X)
    start = X[:, :2].copy()
    start[20] = start[7]  # these two have a distance and no direction; 4 and 10 have no distance
    moved = metric_mds(D, start, max_iter=0, random_state=0).Y
    changed = np.flatnonzero((np.abs((moved - moved[0]) - (start - start[0])) > 1e-12).any(axis=1))
    assert changed.tolist() == [7, 20]


def test_non_metric_finds_the_plane_behind_a_monotone_curve():
    X = _points(60, 2)
    D = cdist(X, X) ** 3  # the order of the distances is all that is left
    metric = metric_mds(D, tol=1e-6)
    ordinal = metric_mds(D, metric=False, tol=1e-6, max_iter=500)
    assert _kruskal(D, metric.Y) > 0.05
    assert _kruskal(D, ordinal.Y) < 0.01
    assert spearmanr(pdist(X), pdist(ordinal.Y)).statistic > 0.999 > spearmanr(pdist(X), pdist(metric.Y)).statistic


@pytest.mark.parametrize("decimals", [8, 0, -1])  # no ties, ties, groups of very unequal size
def test_disparities_are_those_of_another_isotonic_regression(decimals):
    D, Y = np.round(_distances(40), decimals), _points(40, 2, seed=5)
    upper = np.triu_indices(40, 1)
    expected = IsotonicRegression().fit(D[upper], pdist(Y)).predict(D[upper])
    expected *= np.sqrt((D**2).sum() / 2 / (expected**2).sum())
    ours = module._Disparities(D, float((D**2).sum())).of(Y)
    np.testing.assert_allclose(ours[upper], expected, rtol=1e-9)
    np.testing.assert_array_equal(ours, ours.T)


def test_non_metric_stress_is_kruskals():
    D = np.rint(_distances(40, d=6))  # with ties
    result = metric_mds(D, metric=False, tol=1e-9, max_iter=2000)
    assert result.stress == pytest.approx(_kruskal(D, result.Y), rel=1e-3)


def test_non_metric_sees_the_order_only():
    D = _distances(40, d=6)
    start = classical_mds(D).Y
    ranks = np.sqrt(D)  # the same order
    first, second = (metric_mds(given, start, metric=False) for given in (D, ranks))
    assert first.stress == pytest.approx(second.stress, rel=1e-9)
    scale = np.sqrt((ranks**2).sum() / (D**2).sum())
    np.testing.assert_allclose(second.Y, first.Y * scale, atol=1e-9)


def test_events_have_the_stress_and_the_last_one_closes_the_bar():
    for options in ({}, {"solver": "sgd"}, {"max_iter": 2}):
        events = []
        result = metric_mds(_clusters(), callback=events.append, **options)
        assert [event.done for event in events] == list(range(1, result.n_iter + 1))
        assert [event.metrics["stress"] for event in events] == result.history[1:].tolist()
        assert {event.stage for event in events} == {"layout"}
        assert events[-1].done == events[-1].total
        assert all(event.done < event.total for event in events[:-1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_callback_stops_the_run_with_what_there_is(solver):
    D = _clusters()
    result = metric_mds(D, solver=solver, callback=Reporter(lambda event: event.done == 3))
    assert result.n_iter == 3
    assert result.stress == result.history.min() == pytest.approx(_stress(D, result.Y), rel=1e-9)


def test_descent_that_ends_higher_returns_its_start():
    # From the converged map the large first steps go uphill, and one epoch is not enough to come back.
    D = _clusters()
    best = metric_mds(D, tol=1e-8, max_iter=1000)
    result = metric_mds(D, best.Y, solver="sgd", max_iter=1)
    assert result.history[1] > result.history[0]
    assert result.stress == result.history[0]
    np.testing.assert_allclose(result.Y, best.Y, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"solver": "smacoff"}, ValueError, "solver must be one of .* Did you mean 'smacof'"),
        ({"solver": "sgd", "metric": False}, ValueError, "solver must be 'smacof' for metric=False, got 'sgd'"),
        ({"metric": "non"}, TypeError, "metric must be True or False"),
        ({"max_iter": -1}, ValueError, "max_iter must be at least 0, got -1"),
        ({"max_iter": 2.5}, TypeError, "max_iter must be an int"),
        ({"tol": -0.1}, ValueError, "tol must be at least 0"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1"),
        ({"init": np.zeros((5, 2))}, ValueError, "init has 5 rows and the data has 80"),
        ({"init": np.full((80, 2), np.nan)}, ValueError, "init .*NaN"),
        ({"callback": 3}, TypeError, "callback must be callable"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
    ],
)
def test_bad_parameters_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        metric_mds(_distances(), **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda D: -D, "D must not be negative"),
        (lambda D: np.triu(D), "D must be symmetric"),
        (lambda D: np.where(np.eye(80) == 1, np.nan, D), "D .*NaN"),
    ],
)
def test_what_is_no_distance_matrix_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        metric_mds(change(_distances()))


def test_non_metric_asks_for_memory_first():
    with memory_limit("100KiB"), pytest.raises(MemoryLimitError, match=r"non-metric MDS of 80 points .* metric=True"):
        metric_mds(_distances(), metric=False)
