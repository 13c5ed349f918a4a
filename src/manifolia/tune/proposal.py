"""Which setting to try next.

A proposal depends only on the seed, the slot's number and the finished trials in the order of their slots: so a study
that was killed resumes as if nothing had happened, for any number of threads.

- **Pilots** are points of a Latin hypercube (or a Sobol sequence), all drawn at once.
- **One loss**: a surrogate of the loss, and among many candidates the one that promises most.
- **Several losses**: each slot draws weights and tunes the augmented Tchebycheff mixture of the losses
  (ParEGO, Knowles 2006), so that the slots together walk along the front.
- **NSGA-II** (Deb et al. 2002) breeds from the front instead.

Several proposals at once (`batch_size`) are made one after another, each as if those before it had returned what the
surrogate expects.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import qmc

from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray
from manifolia.tune.parameters import Choice
from manifolia.tune.pareto import crowding, layers, widths
from manifolia.tune.space import SearchSpace, Setting, key_of
from manifolia.tune.surrogate import (
    Observations,
    expected_improvement,
    lower_confidence_bound,
    make_surrogate,
    probability_of_improvement,
)

SURROGATES = ("gp-ei", "gp-pi", "gp-lcb", "forest", "random", "grid", "nsga2")
DESIGNS = ("lhs", "sobol")

_N_CANDIDATES = 2048
_N_NEAR = 64  # candidates around each of the best settings, at three scales
_SCALES = (0.1, 0.03, 0.01)
_TCHEBYCHEFF = 0.05  # share of the plain sum in ParEGO's mixture
_BEYOND = 0.25  # how far past its parents a child may lie, in their distance
_LEAST_PARENTS = 4
_MUTATION = 0.2  # standard deviation of a mutated number
_TRIES = 200  # attempts to find a setting that was not tried yet


class Proposal(NamedTuple):
    """A setting to try."""

    setting: Setting  # The setting
    expected_gain: float  # Expected improvement of the loss over the best so far; NaN if no surrogate was used
    best: float = math.nan  # The smallest expected loss of a setting that was tried; NaN if no surrogate was used
    best_sd: float = math.nan  # How far that may be off


def pilot_design(space: SearchSpace, n: int, seed: int, *, design: str = "lhs") -> list[Setting]:
    """Spread the first settings over the space."""
    d = len(space.parameters)
    if design == "sobol":
        points = qmc.Sobol(d, seed=np.random.default_rng(seed)).random(2 ** math.ceil(math.log2(max(n, 1))))[:n]
    else:
        points = qmc.LatinHypercube(d, seed=np.random.default_rng(seed)).random(n)
    settings = [space.at(point) for point in points]
    if math.isinf(space.n_points):
        return settings
    different = {key_of(setting): setting for setting in settings}
    rng = np.random.default_rng([seed, 1])
    for _ in range(_TRIES * n):  # repeats in a small space are replaced by other settings
        if len(different) >= min(n, space.n_points):
            break
        setting = space.at(rng.random(d))
        different.setdefault(key_of(setting), setting)
    return list(different.values())


@threads(1)  # a BLAS with several threads takes ten times as long for matrices of this size
def propose(
    space: SearchSpace, observed: Observations, kind: str, seed: int, *, pending: Sequence[Setting] = ()
) -> Proposal:
    """Choose the next setting."""
    rng = np.random.default_rng(seed)
    known = {space.key(setting) for setting in (*observed.settings, *pending)}
    if kind == "random" or len(observed.settings) < 2:
        return Proposal(_untried(space, known, lambda: space.at(rng.random(len(space.parameters)))), math.nan)
    if kind == "nsga2":
        return Proposal(_untried(space, known, lambda: _bred(space, observed, rng)), math.nan)
    loss, noise = _one_loss(observed, rng)
    model = make_surrogate(kind, int(rng.integers(2**31)))
    features = space.features(observed.settings)
    model.fit(features, loss, noise)
    if pending:  # assumed to return what the surrogate expects, with as much noise as the rest
        waiting = space.features(list(pending))
        believed = np.concatenate((loss, model.predict(waiting)[0]))
        more = None if noise is None else np.concatenate((noise, np.full(len(pending), float(np.median(noise)))))
        features = np.vstack((features, waiting))
        model.fit(features, believed, more)
    expected, doubt = model.predict(features)
    at = int(np.argmin(expected))
    best = float(expected[at])  # the smallest *expected* loss: the smallest one seen was lucky
    candidates = _candidates(space, observed, loss, known, rng)
    mean, sd = model.predict(space.features(candidates))
    gain = expected_improvement(mean, sd, best)
    worth = {"gp-pi": probability_of_improvement(mean, sd, best), "gp-lcb": lower_confidence_bound(mean, sd)}
    chosen = int(np.argmax(worth.get(kind, gain)))
    return Proposal(candidates[chosen], float(gain[chosen]), best, float(doubt[at]))


def _one_loss(observed: Observations, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    """The loss itself, or ParEGO's mixture with weights of this slot, each loss in its own range."""
    losses, noise = observed.losses, observed.noise
    if losses.shape[1] == 1:
        return observed.of_metric(0)
    low, width = losses.min(axis=0), widths(losses)
    weights = rng.dirichlet(np.ones(losses.shape[1]))
    weighted = weights * (losses - low) / width
    mixed = weighted.max(axis=1) + _TCHEBYCHEFF * weighted.sum(axis=1)
    if noise is None:
        return mixed, None
    at = weighted.argmax(axis=1)  # the loss that decides contributes its noise
    rows = np.arange(len(mixed))
    return mixed, (weights[at] + _TCHEBYCHEFF) * noise[rows, at] / width[at]


def _candidates(
    space: SearchSpace, observed: Observations, loss: FloatArray, known: set[str], rng: np.random.Generator
) -> list[Setting]:
    """Sobol points over the space and points around the best settings, without those that were tried."""
    d = len(space.parameters)
    spread = qmc.Sobol(d, seed=rng).random(_N_CANDIDATES)
    best = [space.point(observed.settings[i]) for i in np.argsort(loss, kind="stable")[:3]]
    near = [np.clip(point + scale * rng.normal(size=(_N_NEAR, d)), 0.0, 1.0) for point in best for scale in _SCALES]
    fresh: dict[str, Setting] = {}
    for setting in (space.at(point) for point in np.vstack([spread, *near])):
        key = space.key(setting)
        if key not in known:
            fresh.setdefault(key, setting)
    # A small discrete space may be exhausted: then settings can only be repeated.
    return list(fresh.values()) or [space.at(point) for point in spread[:64]]


def _bred(space: SearchSpace, observed: Observations, rng: np.random.Generator) -> Setting:
    """One child of NSGA-II: two tournaments by front and crowding, a blend of the parents, now and then a mutation."""
    losses = observed.losses
    number = layers(losses)
    alone = np.zeros(len(losses))
    for front in np.unique(number):
        alone[number == front] = crowding(losses[number == front])

    ranked = sorted(range(len(losses)), key=lambda i: (number[i], -alone[i]))
    pool = ranked[: max(_LEAST_PARENTS, len(ranked) // 2)]  # the population: what survives of all that was tried

    def parent() -> FloatArray:
        a, b = rng.integers(0, len(pool), 2)
        return space.point(observed.settings[pool[min(a, b)]])

    first, second = parent(), parent()
    child = first + rng.uniform(-_BEYOND, 1 + _BEYOND, first.size) * (second - first)
    mutate = rng.random(first.size) < 0.5 / first.size
    child = np.clip(np.where(mutate, child + _MUTATION * rng.normal(size=first.size), child), 0.0, 1.0)
    for i, one in enumerate(space.parameters.values()):
        if isinstance(one, Choice):  # no order: nothing lies between two options
            child[i] = rng.random() if mutate[i] else (first, second)[rng.integers(2)][i]
    return space.at(child)


def _untried(space: SearchSpace, known: set[str], draw: Callable[[], Setting]) -> Setting:
    setting = draw()
    for _ in range(_TRIES if len(known) < space.n_points else 0):
        if space.key(setting) not in known:
            break
        setting = draw()
    return setting
