"""Acquisitions, surrogates, fronts and proposals, against closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from manifolia.tune.acquisition import expected_improvement, lower_confidence_bound, probability_of_improvement
from manifolia.tune.aggregate import aggregate, check_aggregate, choose_aggregate, standard_error
from manifolia.tune.evaluation import Run
from manifolia.tune.parameters import Normalized
from manifolia.tune.pareto import crowding, hypervolume, knee, layers, non_dominated
from manifolia.tune.proposal import Evidence, pilot_design, propose
from manifolia.tune.space import Space
from manifolia.tune.spread import local_spread, pooled_spread
from manifolia.tune.study import Trial
from manifolia.tune.subsample import leverage_scores, sample_rows, sample_size
from manifolia.tune.surrogate import ForestSurrogate, ProcessSurrogate


def test_acquisitions_are_integrals_over_the_posterior() -> None:
    mean, sd, best = np.array([0.0, 0.5, 2.0]), np.array([1.0, 0.3, 0.7]), 0.4
    values = np.linspace(-12, 12, 200_001)
    for i in range(3):
        density = norm.pdf(values, mean[i], sd[i])
        ei = np.trapezoid(np.maximum(best - values, 0) * density, values)
        assert expected_improvement(mean, sd, best)[i] == pytest.approx(ei, abs=1e-6)
        assert probability_of_improvement(mean, sd, best)[i] == pytest.approx(norm.cdf(best, mean[i], sd[i]))
    np.testing.assert_allclose(lower_confidence_bound(mean, sd, kappa=2.0), [2.0, 0.1, -0.6])


def test_acquisitions_without_doubt() -> None:
    mean, sd = np.array([0.2, 0.6]), np.zeros(2)
    np.testing.assert_allclose(expected_improvement(mean, sd, 0.5), [0.3, 0.0])
    np.testing.assert_allclose(probability_of_improvement(mean, sd, 0.5), [1.0, 0.0])


def test_a_process_is_the_textbooks() -> None:
    """Its mean and its leave-one-out predictions are those of the formulas, computed without it."""
    rng = np.random.default_rng(0)
    X = rng.random((12, 1))
    y, noise = np.sin(5 * X[:, 0]), np.full(12, 0.05)
    model = ProcessSurrogate().fit(X, y, noise)
    kernel = model._process.kernel_
    scale, center = np.std(y), np.mean(y)
    K = kernel(X) + np.diag((noise / scale) ** 2)
    T = rng.random((5, 1))
    expected = kernel(T, X) @ np.linalg.solve(K, (y - center) / scale) * scale + center
    np.testing.assert_allclose(model.predict(T)[0], expected, atol=1e-8)
    for i in range(12):
        rest = np.arange(12) != i
        left = kernel(X[[i]], X[rest]) @ np.linalg.solve(K[np.ix_(rest, rest)], ((y - center) / scale)[rest])
        assert model.leave_one_out()[i] == pytest.approx(float(left[0]) * scale + center, abs=1e-8)


def test_noise_is_not_part_of_a_prediction() -> None:
    """Many noisy values of a constant: how far the mean may be off shrinks, with known and with fitted noise."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.linspace(0, 1, 8), 12)[:, None]
    y = 0.3 + np.sin(3 * X[:, 0]) + rng.normal(scale=0.2, size=96)
    for noise in (np.full(96, 0.2), None):
        model = ProcessSurrogate().fit(X, y, noise)
        sd = model.predict(X)[1]
        assert sd.max() < 0.12
        draws = model.draw(X[::12], 400, rng)
        np.testing.assert_allclose(draws.std(axis=0), sd[::12], rtol=0.3)


def test_a_forest_does_not_see_what_it_leaves_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = rng.normal(size=40)  # nothing to learn: fitted values follow it, left-out predictions do not
    model = ForestSurrogate(0).fit(X, y, None)
    assert np.corrcoef(model.predict(X)[0], y)[0, 1] > 0.8
    assert np.corrcoef(model.leave_one_out(), y)[0, 1] < 0.3


def naive_front(losses: np.ndarray) -> np.ndarray:
    def beaten(i: int) -> bool:
        return any(np.all(row <= losses[i]) and np.any(row < losses[i]) for row in losses)

    return np.array([not beaten(i) for i in range(len(losses))])


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_front_is_what_no_one_beats(m: int) -> None:
    for seed in range(20):
        losses = np.random.default_rng(seed).integers(0, 5, (12, m)).astype(float)  # with ties
        np.testing.assert_array_equal(non_dominated(losses), naive_front(losses))


def test_layers_peel_off_fronts() -> None:
    losses = np.array([[0, 3], [1, 1], [3, 0], [1, 3], [3, 2], [4, 4.0]])
    assert layers(losses).tolist() == [0, 0, 0, 1, 1, 2]


def test_crowding_counts_the_gap_between_neighbours() -> None:
    losses = np.array([[0, 4], [1, 2], [4, 0.0]])
    np.testing.assert_allclose(crowding(losses), [np.inf, 2.0, np.inf])


def test_hypervolume_of_boxes() -> None:
    assert hypervolume(np.array([[0.2, 0.6], [0.5, 0.1]]), np.ones(2)) == pytest.approx(0.8 * 0.4 + 0.5 * 0.5)
    assert hypervolume(np.array([[0.5, 0.5, 0.5]]), np.ones(3)) == pytest.approx(0.125)
    assert hypervolume(np.array([[2.0, 2.0]]), np.ones(2)) == 0.0


@pytest.mark.parametrize("m", [2, 3])
def test_hypervolume_is_the_share_of_points_that_are_dominated(m: int) -> None:
    losses = np.random.default_rng(1).random((8, m))
    steps = (np.arange(60) + 0.5) / 60
    grid = np.array(list(itertools.product(steps, repeat=m)))
    share = np.mean(np.any(np.all(losses[None] <= grid[:, None], axis=2), axis=1))
    assert hypervolume(losses, np.ones(m)) == pytest.approx(share, abs=0.02)


def test_the_knee_gives_most_for_least() -> None:
    losses = np.array([[0.0, 1.0], [0.1, 0.2], [0.5, 0.1], [1.0, 0.0], [0.9, 0.9]])
    assert knee(losses) == 1
    assert knee(losses * [1000, 1]) == 1  # the units do not matter


def test_variance_is_punished_and_not_rewarded() -> None:
    steady, wild = np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.5, 1.0])
    assert aggregate(wild, ("mean-var", 2.0)) > aggregate(steady, ("mean-var", 2.0))
    assert aggregate(wild, ("quantile", 0.75)) == 0.75
    assert aggregate(np.array([1.0, 2.0, 9.0]), "median") == 2.0
    with pytest.raises(ValueError, match="aggregate must be 'auto'"):
        check_aggregate("best")


def test_standard_errors_are_what_repeated_studies_scatter_by() -> None:
    rng = np.random.default_rng(0)
    for how in ("mean", "median", ("quantile", 0.75)):
        figures = [aggregate(rng.normal(size=40), how) for _ in range(2000)]
        claimed = np.mean([standard_error(rng.normal(size=40), how, 1.0) for _ in range(40)])
        assert claimed == pytest.approx(np.std(figures), rel=0.2)


def test_the_median_where_runs_vary_more_than_settings() -> None:
    rng = np.random.default_rng(0)
    assert choose_aggregate([rng.normal(i, 0.1, 10) for i in range(5)]) == "mean"
    assert choose_aggregate([rng.normal(0, 1.0, 10) for i in range(5)]) == "median"
    assert choose_aggregate([np.zeros(1)] * 3) == "mean"


def branin(x: float, y: float) -> float:
    return float(
        (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
    )


def tuned(kind: str, seed: int, n: int = 20) -> float:
    space = Space({"x": (-5.0, 10.0), "y": (0.0, 15.0)})
    settings = pilot_design(space, 5, seed)
    losses = [branin(**s) for s in settings]
    for slot in range(5, n):
        evidence = Evidence(settings, np.array(losses)[:, None], np.zeros((len(losses), 1)))
        settings = [*settings, propose(space, evidence, kind, 1000 * seed + slot).setting]
        losses.append(branin(**settings[-1]))
    return min(losses)


@pytest.mark.parametrize("kind", ["gp-ei", "gp-pi"])
def test_proposals_find_the_minimum_of_branin(kind: str) -> None:
    """Its minimum is 0.398. Random search over the same 20 settings is at about 4."""
    found = tuned(kind, 0)
    assert found < 1.0
    assert found < tuned("random", 0)


def test_the_lower_bound_explores_more_than_the_expected_gain() -> None:
    space = Space({"x": (0.0, 1.0)})
    xs = np.array([0.1, 0.15, 0.2, 0.25, 0.3])  # the right of the space is unknown
    evidence = Evidence([{"x": x} for x in xs], (0.5 + (xs - 0.2) ** 2)[:, None], np.full((5, 1), 1e-3))
    assert propose(space, evidence, "gp-lcb", 0).setting["x"] > 0.4


def test_a_proposal_is_near_the_best_of_a_dense_grid() -> None:
    space = Space({"x": (0.0, 1.0)})
    xs = np.array([0.05, 0.3, 0.55, 0.8, 0.95])
    loss = (xs - 0.42) ** 2
    noise = np.full((5, 1), 1e-3)
    proposal = propose(space, Evidence([{"x": x} for x in xs], loss[:, None], noise), "gp-ei", 0)
    model = ProcessSurrogate(0).fit(xs[:, None], loss, noise[:, 0])
    grid = np.linspace(0, 1, 2001)
    mean, sd = model.predict(grid[:, None])
    best = model.predict(xs[:, None])[0].min()
    ei = expected_improvement(mean, sd, best)
    assert proposal.expected_gain >= 0.97 * ei.max()
    assert abs(proposal.setting["x"] - grid[ei.argmax()]) < 0.05


def test_pending_settings_are_not_proposed_again() -> None:
    space = Space({"x": (0.0, 1.0)})
    xs = np.array([0.0, 0.3, 0.6, 1.0])
    evidence = Evidence([{"x": x} for x in xs], ((xs - 0.42) ** 2)[:, None], np.full((4, 1), 1e-3))
    first = propose(space, evidence, "gp-ei", 0).setting
    second = propose(space, evidence, "gp-ei", 0, pending=[first]).setting
    assert abs(first["x"] - second["x"]) > 0.01


@pytest.mark.parametrize("kind", ["gp-ei", "forest", "random", "nsga2"])
def test_a_small_space_is_gone_through_without_repeating(kind: str) -> None:
    space = Space({"n": (1, 6)})
    settings = [{"n": n} for n in (1, 3, 4, 5, 6)]
    losses = np.arange(5.0)[:, None]
    assert propose(space, Evidence(settings, losses, None), kind, 0).setting == {"n": 2}
    everything = Evidence([*settings, {"n": 2}], np.arange(6.0)[:, None], None)
    assert 1 <= propose(space, everything, kind, 0).setting["n"] <= 6  # used up: something is repeated


@pytest.mark.parametrize("kind", ["gp-ei", "nsga2"])
def test_several_losses_are_tried_along_the_front(kind: str) -> None:
    """x² against (x − 1)²: the whole of [0, 1] is the front, [−1, 0) and (1, 2] are not."""
    space = Space({"x": (-1.0, 2.0)})
    settings = pilot_design(space, 5, 0)
    for slot in range(5, 20):
        losses = np.array([[s["x"] ** 2, (s["x"] - 1) ** 2] for s in settings])
        settings.append(propose(space, Evidence(settings, losses, None), kind, slot).setting)
    tried = np.array([s["x"] for s in settings[5:]])
    assert np.mean((tried > -0.1) & (tried < 1.1)) > 0.6
    assert np.ptp(tried[(tried > 0) & (tried < 1)]) > 0.4


def test_designs_fill_every_row_and_column() -> None:
    points = np.array([[s["a"], s["b"]] for s in pilot_design(Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}), 8, 3)])
    for column in points.T:
        assert sorted((column * 8).astype(int)) == list(range(8))
    assert len(pilot_design(Space({"a": (0.0, 1.0)}), 5, 3, design="sobol")) == 5


def test_leverage_is_the_diagonal_of_the_hat_matrix() -> None:
    X = np.random.default_rng(0).normal(size=(30, 4))
    A = X - X.mean(axis=0)
    hat = A @ np.linalg.inv(A.T @ A) @ A.T
    np.testing.assert_allclose(leverage_scores(X, random_state=0), np.diag(hat), atol=1e-10)
    assert leverage_scores(np.ones((5, 2)), random_state=0).tolist() == [0.2] * 5


def test_rows_with_more_leverage_are_drawn_more_often() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[7] *= 30
    drawn = np.concatenate([sample_rows(X, 5, sampling="leverage", random_state=seed) for seed in range(50)])
    assert (drawn == 7).sum() > 40
    uniform = np.concatenate([sample_rows(X, 5, random_state=seed) for seed in range(50)])
    assert (uniform == 7).sum() < 20


def test_classes_are_drawn_in_proportion() -> None:
    y = np.repeat(["a", "b", "c"], [60, 30, 10])
    rows = sample_rows(np.zeros((100, 1)), 20, sampling="stratified", y=y, random_state=0)
    assert [(y[rows] == label).sum() for label in "abc"] == [12, 6, 2]
    assert len(sample_rows(np.zeros((100, 1)), 33, sampling="stratified", y=y, random_state=0)) == 33
    with pytest.raises(ValueError, match="needs y"):
        sample_rows(np.zeros((100, 1)), 20, sampling="stratified")


def test_sizes() -> None:
    assert (sample_size(None, 90), sample_size(0.5, 90), sample_size(20, 90), sample_size(1.0, 90)) == (90, 45, 20, 90)
    with pytest.raises(ValueError, match="more than the 90 rows"):
        sample_size(100, 90)
    with pytest.raises(ValueError, match="leaves 4 of 90 rows"):
        sample_size(0.05, 90)


def test_fractions_that_give_the_same_number_are_one_setting() -> None:
    space = Space({"p": Normalized(0.1, 0.9)})
    tried = [{"p": p} for p in (0.12, 0.2, 0.31, 0.4, 0.6, 0.7, 0.8, 0.9)]  # of ten rows: all but 5

    def resolve(setting: dict[str, float]) -> dict[str, int]:
        return {"p": round(10 * setting["p"])}

    evidence = Evidence(tried, np.linspace(0, 1, 8)[:, None], np.full((8, 1), 0.01))
    for kind in ("gp-ei", "random", "nsga2"):
        assert resolve(propose(space, evidence, kind, 0, resolve=resolve).setting) == {"p": 5}


def trial(x: float, losses: list[float]) -> Trial:
    runs = [Run((loss,), (1 - loss,), fingerprint=str(i)) for i, loss in enumerate(losses)]
    return Trial(0, "model", {"x": x}, {}, runs)


def test_spread_is_that_of_the_runs_near_by() -> None:
    """Wild on the left, steady on the right; two runs of the left that happen to agree do not make it sure."""
    rng = np.random.default_rng(0)
    places = np.linspace(0, 1, 11)
    trials = [trial(x, list(0.5 + (0.2 if x < 0.5 else 0.002) * rng.normal(size=10))) for x in places]
    lucky = trial(0.15, [0.1, 0.1])
    features = np.append(places, 0.15)[:, None]
    found = local_spread([*trials, lucky], features)[:, 0]
    assert found[:3].min() > 0.12
    assert found[8:11].max() < 0.09
    assert found[-1] > 0.12
    np.testing.assert_allclose(local_spread(trials, np.zeros((11, 1))), np.tile(pooled_spread(trials), (11, 1)))


def test_pilots_of_a_small_space_are_all_different() -> None:
    space = Space({"kind": ["a", "b", "c"], "n": (1, 2)})
    for seed in range(5):
        for design in ("lhs", "sobol"):
            found = pilot_design(space, 5, seed, design=design)
            assert len({repr(setting) for setting in found}) == len(found) == 5
    assert len(pilot_design(space, 20, 0)) == 6  # there are no more


def test_children_have_an_option_of_a_parent_or_a_mutant() -> None:
    """Of the first and the last of nine options the middle is no blend."""
    space = Space({"kind": list("abcdefghi"), "x": (0.0, 1.0)})
    settings = [{"kind": kind, "x": x} for kind, x in zip("aiaiai", np.linspace(0, 1, 6), strict=True)]
    losses = np.linspace(0, 1, 6)[:, None]
    children = [propose(space, Evidence(settings, losses, None), "nsga2", seed).setting["kind"] for seed in range(300)]
    assert sum(kind in "ai" for kind in children) > 225  # one in four is mutated; blends would leave about 205
    assert len(set(children)) > 2


def test_quick_errors_of_quantiles_are_those_of_the_aggregate() -> None:
    """The resampled figures are computed at once; one by one they are the same."""
    losses = np.random.default_rng(0).normal(size=7)
    for how in (("quantile", 0.75), ("mean-var", 2.0)):
        drawn = losses[np.random.default_rng(0).integers(0, 7, size=(200, 7))]
        expected = np.std([aggregate(row, how) for row in drawn]) * 0.3 / np.std(losses, ddof=1)
        assert standard_error(losses, how, 0.3) == pytest.approx(expected)
