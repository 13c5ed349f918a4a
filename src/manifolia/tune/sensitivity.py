"""Which parameters matter: Sobol indices and Shapley effects of the surrogate, or a refusal.

With independent parameters, uniform over the tuned scale (logarithmic where the space says so), the variance of the
surrogate's mean splits into parts. S1 is a parameter's own share, ST its share including all its interactions, S2 what
two have together beyond their own, and Shapley effects divide interactions evenly, so that they add up to 1.

Up to eight parameters the variances of all subsets are computed by quadrature, on fewer points per parameter where
there are more of them; beyond eight, S1 and ST come from `scipy.stats.sobol_indices`, and there are no Shapley effects.
Intervals come from refitting the surrogate to resampled trials and repeats, so that they include the surrogate's own
uncertainty: a Monte-Carlo interval of the design alone is far too narrow.

The paper feeds the tuning samples to a formula made for another design, and prints total indices of 1.9 with intervals
of 10²⁵ (Tables 2 and 3). A table like that is refused here: below a leave-one-out R² of 0.5 the surrogate does not know
the loss; below the noise there is no variance to divide; and if every interval covers more than half of an index's
range, and resampled trials do not even agree on which of two parameters matters more, there is no table either.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray
from manifolia.exceptions import ManifoliaError
from manifolia.tune.parameters import Choice
from manifolia.tune.space import SearchSpace
from manifolia.tune.study import mixed_seed
from manifolia.tune.surrogate import Observations, fit_surrogate

_QUADRATURE = 24  # maximum points per parameter: the surrogate is smooth
_MOST_POINTS = 2**16  # points of the whole grid, which leaves 16 per parameter for four parameters and 4 for eight
_MOST_EXACT = 8
_N_SALTELLI = 2**12
_LEAST_R2 = 0.5
_N_BOOTSTRAP = 50
_WIDE = 0.5  # share of [0, 1]: a wider interval leaves more open than it settles
_SURE = 0.95  # share of the resamples that must agree on the order of two parameters before it counts

Function = Callable[[FloatArray], FloatArray]


class SensitivityRefusedError(ManifoliaError, ValueError):
    """The trials do not support a table of sensitivities; the message says why."""


class Shares(NamedTuple):
    """Shares of the variance."""

    first: FloatArray  # (p,): S1
    total: FloatArray  # (p,): ST
    shapley: FloatArray  # (p,): shapley effects; NaN beyond eight parameters
    second: FloatArray  # (p, p): S2, symmetric, zero on the diagonal; NaN beyond eight parameters
    variance: float  # The variance that is divided


class Sensitivity(NamedTuple):
    """The table, and what it rests on."""

    table: pd.DataFrame  # A row per parameter: S1, ST and Shapley effect, each with the ends of its 90 % interval
    interactions: pd.DataFrame  # S2 of each pair
    r2: float  # Leave-one-out R² of the surrogate
    variance: float  # Variance of the surrogate's mean over the space
    noise: float  # Mean variance of a trial's figure


def effects(function: Function, n_parameters: int, *, levels: Sequence[int] | None = None, seed: int = 0) -> Shares:
    """Split the variance of a function on the unit cube."""
    if n_parameters <= _MOST_EXACT:
        return _by_quadrature(function, levels or [0] * n_parameters)
    indices = stats.sobol_indices(
        func=lambda x: function(x.T),
        n=_N_SALTELLI,
        dists=[stats.uniform()] * n_parameters,
        random_state=np.random.default_rng(seed),
    )
    unknown = np.full((n_parameters, n_parameters), math.nan)
    variance = float(np.var(function(np.random.default_rng(seed).random((_N_SALTELLI, n_parameters)))))
    first, total = np.asarray(indices.first_order), np.asarray(indices.total_order)
    return Shares(first, total, unknown[0], unknown, variance)


def _axis(n_options: int, n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of one parameter: Gauss and Legendre's, or the middles of the options."""
    if n_options:
        return (np.arange(n_options) + 0.5) / n_options, np.full(n_options, 1.0 / n_options)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def _nodes(levels: Sequence[int]) -> int:
    """Number of nodes per parameter that keeps the grid small; options take one each."""
    n_smooth = sum(not n_options for n_options in levels)
    room = _MOST_POINTS / math.prod(n_options for n_options in levels if n_options)
    return min(_QUADRATURE, max(4, int(room ** (1 / n_smooth) + 1e-9))) if n_smooth else 0


def _by_quadrature(function: Function, levels: Sequence[int]) -> Shares:
    p = len(levels)
    n_nodes = _nodes(levels)
    nodes, weights = zip(*[_axis(n_options, n_nodes) for n_options in levels], strict=True)
    points = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, p)
    values = np.asarray(function(points)).reshape([len(axis) for axis in nodes])
    mean = _integral(values, weights, range(p))
    closed: dict[tuple[int, ...], float] = {(): 0.0}  # variance of the mean given a subset
    for size in range(1, p + 1):
        for subset in itertools.combinations(range(p), size):
            rest = [axis for axis in range(p) if axis not in subset]
            given = _integral(values, weights, rest)
            kept = [weights[axis] for axis in subset]
            closed[subset] = float(_integral((given - mean) ** 2, kept, range(size)))
    whole = closed[tuple(range(p))]
    if whole <= 1e-24 * max(1.0, float(mean) ** 2):  # rounding of a constant
        nothing = np.zeros(p)
        return Shares(nothing, nothing.copy(), nothing.copy(), np.zeros((p, p)), 0.0)
    first = np.array([closed[(i,)] for i in range(p)]) / whole
    total = np.array([1.0 - closed[tuple(j for j in range(p) if j != i)] / whole for i in range(p)])
    second = np.zeros((p, p))
    for i, j in itertools.combinations(range(p), 2):
        second[i, j] = second[j, i] = closed[(i, j)] / whole - first[i] - first[j]
    shapley = np.zeros(p)
    for subset, variance in closed.items():
        # Of all orders of the parameters, this share has the subset first and then the parameter.
        share = 1.0 / (p * math.comb(p - 1, len(subset))) if len(subset) < p else 0.0
        for i in set(range(p)).difference(subset):
            shapley[i] += share * (closed[tuple(sorted((*subset, i)))] - variance)
    return Shares(first, total, shapley / whole, second, whole)


def _integral(values: FloatArray, weights: Sequence[FloatArray], axes: Sequence[int] | range) -> FloatArray:
    out = values
    for axis in sorted(axes, reverse=True):
        out = np.tensordot(out, weights[axis], axes=(axis, 0))
    return out


def r_squared(observed: Observations, space: SearchSpace, kind: str, seed: int, column: int = 0) -> float:
    """Measure how well the surrogate predicts a trial from the others."""
    loss, _ = observed.of_metric(column)
    model = fit_surrogate(space, observed, kind, seed, column)
    # The mean of the others, not of all: the comparison has to leave one out as well.
    others = (loss.sum() - loss) / (len(loss) - 1)
    scatter = float(np.sum((loss - others) ** 2))
    return 1.0 - float(np.sum((loss - model.leave_one_out()) ** 2)) / scatter if scatter > 0 else 0.0


@threads(1)
def sensitivity(
    space: SearchSpace,
    observed: Observations,
    *,
    kind: str = "gp-ei",
    seed: int = 0,
    column: int = 0,
    n_bootstrap: int = _N_BOOTSTRAP,
) -> Sensitivity:
    """Make the table of sensitivities, or refuse it."""
    if space.conditions:
        raise SensitivityRefusedError("sensitivities need parameters that always apply, and the space has conditions.")
    n = len(observed.settings)
    if n < 2 * len(space.parameters) + 2:
        raise SensitivityRefusedError(
            f"{n} trials that worked are too few for sensitivities of {len(space.parameters)} parameters."
        )
    r2 = r_squared(observed, space, kind, seed, column)
    if r2 < _LEAST_R2:
        raise SensitivityRefusedError(
            f"the surrogate explains {r2:.2f} of the differences between trials when each is predicted from the "
            f"others, and below {_LEAST_R2} its sensitivities mean nothing. Run more trials, or more repeats of each."
        )
    loss, noise = observed.of_metric(column)
    whole = _effects_of(space, observed, kind, seed, column)
    mean_noise = 0.0 if noise is None else float(np.mean(noise**2))
    if whole.variance <= mean_noise:
        raise SensitivityRefusedError(
            f"the loss varies by {math.sqrt(whole.variance):.2g} over the space, no more than the standard error "
            f"{math.sqrt(mean_noise):.2g} of a trial: there is nothing to share out."
        )
    rng = np.random.default_rng(mixed_seed(seed, 5))
    draws = []
    for b in range(n_bootstrap):
        rows = rng.integers(0, n, n)
        if len(np.unique(rows)) < len(space.parameters) + 2:
            continue
        # Repeats are resampled by their standard error: a mean of resampled runs scatters by exactly that.
        moved = loss[rows] + (0.0 if noise is None else noise[rows] * rng.normal(size=n))
        error = None if noise is None else noise[rows, None]
        resampled = Observations([observed.settings[i] for i in rows], moved[:, None], error)
        again = _effects_of(space, resampled, kind, seed + b)
        if again.variance > 0:
            draws.append(np.stack([again.first, again.total, again.shapley]))
    if len(draws) < n_bootstrap / 2:
        raise SensitivityRefusedError(
            f"of {n_bootstrap} resamples of the trials {n_bootstrap - len(draws)} have nothing to share out."
        )
    drawn = np.array(draws)
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    _require_some_told(space.names, drawn, low, high, r2)
    columns: dict[str, FloatArray] = {}
    for i, (name, values) in enumerate((("S1", whole.first), ("ST", whole.total), ("Shapley", whole.shapley))):
        columns |= {name: values, f"{name} low": low[i], f"{name} high": high[i]}
    names = space.names
    pairs = itertools.combinations(range(len(names)), 2)
    interactions = pd.DataFrame(
        [(names[i], names[j], whole.second[i, j]) for i, j in pairs], columns=["first", "second", "S2"]
    )
    return Sensitivity(pd.DataFrame(columns, index=names), interactions, r2, whole.variance, mean_noise)


def _require_some_told(names: Sequence[str], draws: FloatArray, low: FloatArray, high: FloatArray, r2: float) -> None:
    """Refuse a table that says nothing: neither a share, nor which of two parameters matters more."""
    widths = high - low
    total = draws[:, 1]
    sure = max((float(np.mean(total[:, i] > total[:, j])) for i, j in itertools.permutations(range(len(names)), 2)),
               default=1.0)  # fmt: skip
    if np.nanmin(widths) <= _WIDE or sure >= _SURE:
        return
    row, at = divmod(int(np.nanargmin(widths)), widths.shape[1])
    index = ("S1", "ST", "the Shapley effect")[row]
    raise SensitivityRefusedError(
        f"the surrogate explains {r2:.2f} of the differences between trials, but the trials leave open what each "
        f"parameter has to do with it: the narrowest of the 90% intervals, of {index} of {names[at]!r}, is "
        f"{low[row, at]:.2f} to {high[row, at]:.2f} of a share that lies between 0 and 1, and no parameter matters "
        f"more than another in more than {sure:.0%} of the resamples. Run more trials, or more repeats of each."
    )


def _effects_of(space: SearchSpace, observed: Observations, kind: str, seed: int, column: int = 0) -> Shares:
    model = fit_surrogate(space, observed, kind, seed, column)
    levels = [len(one.options) if isinstance(one, Choice) else 0 for one in space.parameters.values()]
    return effects(lambda points: model.predict(space.features_at(points))[0], len(levels), levels=levels, seed=seed)
