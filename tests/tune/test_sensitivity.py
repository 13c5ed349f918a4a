"""Shares of a variance, against functions whose shares are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from manifolia.tune.proposal import pilot_design
from manifolia.tune.sensitivity import SensitivityRefusedError, effects, r_squared, sensitivity
from manifolia.tune.space import SearchSpace
from manifolia.tune.surrogate import Observations

# Ishigami and Homma (1990), a = 7, b = 0.1: the indices are known in closed form.
FIRST = np.array([0.3139, 0.4424, 0.0])
TOTAL = np.array([0.5576, 0.4424, 0.2437])


def ishigami(points: np.ndarray) -> np.ndarray:
    x = (2 * points - 1) * math.pi
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


def test_quadrature_gives_ishigamis_indices() -> None:
    found = effects(ishigami, 3)
    np.testing.assert_allclose(found.first, FIRST, atol=2e-4)
    np.testing.assert_allclose(found.total, TOTAL, atol=2e-4)
    assert found.second[0, 2] == pytest.approx(0.2437, abs=2e-4)
    assert found.shapley.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.shapley, (FIRST + TOTAL) / 2, atol=2e-4)  # interactions of pairs are halved


def test_four_parameters_on_a_thinner_grid() -> None:
    found = effects(lambda points: ishigami(points[:, :3]), 4)
    np.testing.assert_allclose(found.first, [*FIRST, 0.0], atol=2e-3)
    np.testing.assert_allclose(found.total, [*TOTAL, 0.0], atol=2e-3)
    np.testing.assert_allclose(found.shapley, [*(FIRST + TOTAL) / 2, 0.0], atol=2e-3)
    assert found.second[0, 2] == pytest.approx(0.2437, abs=2e-3)


@pytest.mark.parametrize("p", [4, 5, 6, 8])
def test_shapley_effects_of_a_product(p: int) -> None:
    """Sobol's g function, a product: subsets' variances are products, and Shapley effects follow by enumeration."""
    a = np.arange(p) / 2
    found = effects(lambda u: np.prod((3 * u**2 + a) / (1 + a), axis=1), p)  # each factor has mean 1
    variances = np.array([4 / 5 / (1 + one) ** 2 for one in a])  # of 3 u²: 9/5 − 1

    def closed(subset: tuple[int, ...]) -> float:
        return float(np.prod(1 + variances[list(subset)]) - 1)

    expected = np.zeros(p)
    for order in itertools.permutations(range(p)) if p < 7 else ():
        for place, i in enumerate(order):
            expected[i] += closed(order[: place + 1]) - closed(order[:place])
    whole = closed(tuple(range(p)))
    if p < 7:
        np.testing.assert_allclose(found.shapley, expected / math.factorial(p) / whole, atol=1e-9)
    assert found.shapley.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.first, variances / whole, atol=1e-9)
    assert np.all(found.first <= found.shapley)
    assert np.all(found.shapley <= found.total)


def test_options_take_their_part_of_the_grid() -> None:
    """Four parameters, one with 30 options: a sum, so that every share is a parameter's own."""
    found = effects(lambda u: u.sum(axis=1), 4, levels=[30, 0, 0, 2])
    own = np.array([(1 - 1 / 30**2) / 12, 1 / 12, 1 / 12, 1 / 16])
    np.testing.assert_allclose(found.shapley, own / own.sum(), atol=1e-9)
    np.testing.assert_allclose(found.second, 0.0, atol=1e-9)


def test_beyond_eight_parameters_by_sampling() -> None:
    found = effects(lambda points: ishigami(points[:, :3]), 9, seed=0)
    np.testing.assert_allclose(found.first, [*FIRST, *[0.0] * 6], atol=0.03)
    np.testing.assert_allclose(found.total, [*TOTAL, *[0.0] * 6], atol=0.05)
    assert np.isnan(found.shapley).all()


def test_the_same_as_salib() -> None:
    SALib = pytest.importorskip("SALib", reason="SALib is not installed")
    from SALib.analyze import sobol as analyze
    from SALib.sample import sobol as sample

    assert SALib is not None
    problem = {"num_vars": 3, "names": list("abc"), "bounds": [[0, 1]] * 3}
    theirs = analyze.analyze(problem, ishigami(sample.sample(problem, 4096, seed=1)), seed=1)
    ours = effects(ishigami, 3)
    np.testing.assert_allclose(ours.first, theirs["S1"], atol=0.02)
    np.testing.assert_allclose(ours.total, theirs["ST"], atol=0.02)


def test_options_count_by_their_number() -> None:
    """Of three options one is 1 and the others 0: the variance of the option is 2/9, of 0.1 u it is 0.01/12."""
    found = effects(lambda u: (u[:, 0] < 1 / 3).astype(float) + 0.1 * u[:, 1], 2, levels=[3, 0])
    whole = 2 / 9 + 0.01 / 12
    np.testing.assert_allclose(found.first, [2 / 9 / whole, 0.01 / 12 / whole], atol=1e-6)
    assert found.variance == pytest.approx(whole)


def test_a_constant_has_nothing_to_share() -> None:
    found = effects(lambda u: np.full(len(u), 100.0), 2)
    assert found.variance == 0.0
    assert not found.total.any()


def observed_of(function: object, n: int, noise: float, seed: int = 0) -> tuple[SearchSpace, Observations]:
    space = SearchSpace({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    settings = pilot_design(space, n, seed)
    rng = np.random.default_rng(seed)
    loss = np.array([function(s["a"], s["b"]) for s in settings]) + noise * rng.normal(size=n)  # type: ignore[operator]
    return space, Observations(settings, loss[:, None], np.full((n, 1), max(noise, 1e-4)))


def test_the_table_of_a_study() -> None:
    """f = sin(3a) + b/2 has no interactions; its shares follow from the variances of its terms."""
    space, observed = observed_of(lambda a, b: math.sin(3 * a) + b / 2, 25, 0.01)
    found = sensitivity(space, observed, n_bootstrap=12)
    u = (np.arange(10_000) + 0.5) / 10_000
    share = np.var(np.sin(3 * u)) / (np.var(np.sin(3 * u)) + 1 / 48)
    assert found.table.loc["a", "S1"] == pytest.approx(share, abs=0.05)
    assert found.table.loc["b", "ST"] == pytest.approx(1 - share, abs=0.05)
    assert found.table["Shapley"].sum() == pytest.approx(1.0)
    assert np.all(found.table["ST"] <= 1.0 + 1e-9)
    assert found.r2 > 0.95
    assert found.table.loc["a", "ST low"] <= share <= found.table.loc["a", "ST high"] + 0.02


def test_no_table_where_the_surrogate_knows_nothing() -> None:
    space, observed = observed_of(lambda a, b: 0.5, 20, 0.2)
    assert r_squared(observed, space, "gp-ei", 0) < 0.5
    with pytest.raises(SensitivityRefusedError, match=r"below 0\.5 its sensitivities mean nothing"):
        sensitivity(space, observed)


def test_no_table_of_a_handful_of_trials() -> None:
    space, observed = observed_of(lambda a, b: a, 5, 0.0)
    with pytest.raises(SensitivityRefusedError, match="5 trials that worked are too few"):
        sensitivity(space, observed)


def test_no_table_where_trials_leave_everything_open() -> None:
    """The surrogate predicts well enough, but resampled trials give a parameter anything between nothing and all."""
    space, observed = observed_of(lambda a, b: math.sin(3 * a) + b / 2 + a * b, 10, 0.2)
    assert r_squared(observed, space, "gp-ei", 0) > 0.5
    with pytest.raises(
        SensitivityRefusedError, match=r"the narrowest of the 90% intervals, of .*, is 0\.0.*matters more"
    ):
        sensitivity(space, observed, n_bootstrap=20)
    space, observed = observed_of(lambda a, b: math.sin(3 * a) + b / 2 + a * b, 40, 0.1)
    table = sensitivity(space, observed, n_bootstrap=20).table  # more trials and less noise: it is told
    assert min(table["S1 high"] - table["S1 low"]) < 0.5


def test_one_parameter_has_all_of_it() -> None:
    space = SearchSpace({"a": (0.0, 1.0)})
    settings = pilot_design(space, 8, 0)
    loss = np.array([[s["a"] ** 2] for s in settings])
    table = sensitivity(space, Observations(settings, loss, np.full((8, 1), 0.01)), n_bootstrap=10).table
    assert table.loc["a", ["S1", "ST", "Shapley"]].tolist() == pytest.approx([1.0, 1.0, 1.0])
