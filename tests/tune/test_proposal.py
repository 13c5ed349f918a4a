"""Which setting is tried next."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manifolia.tune.parameters import Normalized
from manifolia.tune.proposal import pilot_design, propose
from manifolia.tune.space import SearchSpace
from manifolia.tune.surrogate import Observations, ProcessSurrogate, expected_improvement


def branin(x: float, y: float) -> float:
    return float(
        (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10
    )


def tuned(kind: str, seed: int, n: int = 20) -> float:
    space = SearchSpace({"x": (-5.0, 10.0), "y": (0.0, 15.0)})
    settings = pilot_design(space, 5, seed)
    losses = [branin(**s) for s in settings]
    for slot in range(5, n):
        observed = Observations(settings, np.array(losses)[:, None], np.zeros((len(losses), 1)))
        settings = [*settings, propose(space, observed, kind, 1000 * seed + slot).setting]
        losses.append(branin(**settings[-1]))
    return min(losses)


@pytest.mark.parametrize("kind", ["gp-ei", "gp-pi"])
def test_proposals_find_the_minimum_of_branin(kind: str) -> None:
    """Its minimum is 0.398. Random search over the same 20 settings is at about 4."""
    found = tuned(kind, 0)
    assert found < 1.0
    assert found < tuned("random", 0)


def test_the_lower_bound_explores_more_than_the_expected_gain() -> None:
    space = SearchSpace({"x": (0.0, 1.0)})
    xs = np.array([0.1, 0.15, 0.2, 0.25, 0.3])  # the right of the space is unknown
    observed = Observations([{"x": x} for x in xs], (0.5 + (xs - 0.2) ** 2)[:, None], np.full((5, 1), 1e-3))
    assert propose(space, observed, "gp-lcb", 0).setting["x"] > 0.4


def test_a_proposal_is_near_the_best_of_a_dense_grid() -> None:
    space = SearchSpace({"x": (0.0, 1.0)})
    xs = np.array([0.05, 0.3, 0.55, 0.8, 0.95])
    loss = (xs - 0.42) ** 2
    noise = np.full((5, 1), 1e-3)
    proposal = propose(space, Observations([{"x": x} for x in xs], loss[:, None], noise), "gp-ei", 0)
    model = ProcessSurrogate(0).fit(xs[:, None], loss, noise[:, 0])
    grid = np.linspace(0, 1, 2001)
    mean, sd = model.predict(grid[:, None])
    best = model.predict(xs[:, None])[0].min()
    ei = expected_improvement(mean, sd, best)
    assert proposal.expected_gain >= 0.97 * ei.max()
    assert abs(proposal.setting["x"] - grid[ei.argmax()]) < 0.05


def test_pending_settings_are_not_proposed_again() -> None:
    space = SearchSpace({"x": (0.0, 1.0)})
    xs = np.array([0.0, 0.3, 0.6, 1.0])
    observed = Observations([{"x": x} for x in xs], ((xs - 0.42) ** 2)[:, None], np.full((4, 1), 1e-3))
    first = propose(space, observed, "gp-ei", 0).setting
    second = propose(space, observed, "gp-ei", 0, pending=[first]).setting
    assert abs(first["x"] - second["x"]) > 0.01


@pytest.mark.parametrize("kind", ["gp-ei", "forest", "random", "nsga2"])
def test_a_small_space_is_gone_through_without_repeating(kind: str) -> None:
    space = SearchSpace({"n": (1, 6)})
    settings = [{"n": n} for n in (1, 3, 4, 5, 6)]
    losses = np.arange(5.0)[:, None]
    assert propose(space, Observations(settings, losses, None), kind, 0).setting == {"n": 2}
    everything = Observations([*settings, {"n": 2}], np.arange(6.0)[:, None], None)
    assert 1 <= propose(space, everything, kind, 0).setting["n"] <= 6  # used up: something is repeated


@pytest.mark.parametrize("kind", ["gp-ei", "nsga2"])
def test_several_losses_are_tried_along_the_front(kind: str) -> None:
    """x² against (x − 1)²: the whole of [0, 1] is the front, [−1, 0) and (1, 2] are not."""
    space = SearchSpace({"x": (-1.0, 2.0)})
    settings = pilot_design(space, 5, 0)
    for slot in range(5, 20):
        losses = np.array([[s["x"] ** 2, (s["x"] - 1) ** 2] for s in settings])
        settings.append(propose(space, Observations(settings, losses, None), kind, slot).setting)
    tried = np.array([s["x"] for s in settings[5:]])
    assert np.mean((tried > -0.1) & (tried < 1.1)) > 0.6
    assert np.ptp(tried[(tried > 0) & (tried < 1)]) > 0.4


def test_designs_fill_every_row_and_column() -> None:
    points = np.array([[s["a"], s["b"]] for s in pilot_design(SearchSpace({"a": (0.0, 1.0), "b": (0.0, 1.0)}), 8, 3)])
    for column in points.T:
        assert sorted((column * 8).astype(int)) == list(range(8))
    assert len(pilot_design(SearchSpace({"a": (0.0, 1.0)}), 5, 3, design="sobol")) == 5


def test_fractions_that_give_the_same_number_are_one_setting() -> None:
    space = SearchSpace({"p": Normalized(0.1, 0.9)}, (10, 2), {"p": 30})
    tried = [{"p": p} for p in (0.12, 0.2, 0.31, 0.4, 0.6, 0.7, 0.8, 0.9)]  # of ten rows: all but 5

    observed = Observations(tried, np.linspace(0, 1, 8)[:, None], np.full((8, 1), 0.01))
    for kind in ("gp-ei", "random", "nsga2"):
        assert space.resolve(propose(space, observed, kind, 0).setting) == {"p": 5}


def test_pilots_of_a_small_space_are_all_different() -> None:
    space = SearchSpace({"kind": ["a", "b", "c"], "n": (1, 2)})
    for seed in range(5):
        for design in ("lhs", "sobol"):
            found = pilot_design(space, 5, seed, design=design)
            assert len({repr(setting) for setting in found}) == len(found) == 5
    assert len(pilot_design(space, 20, 0)) == 6  # there are no more


def test_children_have_an_option_of_a_parent_or_a_mutant() -> None:
    """Of the first and the last of nine options the middle is no blend."""
    space = SearchSpace({"kind": list("abcdefghi"), "x": (0.0, 1.0)})
    settings = [{"kind": kind, "x": x} for kind, x in zip("aiaiai", np.linspace(0, 1, 6), strict=True)]
    losses = np.linspace(0, 1, 6)[:, None]
    children = [
        propose(space, Observations(settings, losses, None), "nsga2", seed).setting["kind"] for seed in range(300)
    ]
    assert sum(kind in "ai" for kind in children) > 225  # one in four is mutated; blends would leave about 205
    assert len(set(children)) > 2
