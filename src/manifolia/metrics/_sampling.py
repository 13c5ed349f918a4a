"""Estimates from a sample: which rows or pairs, and an interval for what they say about all.

The sample is cut at random into groups, the measure is computed again without each group in turn, and the spread of
these values gives the standard error (the delete-a-group jackknife). That needs no separate formula for each measure
and also holds for those that are not averages, such as a correlation or a mean up to a point that is itself estimated.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.random import as_generator
from manifolia._core.types import FloatArray, IntArray, RandomState
from manifolia._core.validate import check_bool, check_number
from manifolia.exceptions import ParameterError

#: Groups of a sample. With 20 the quantile of Student's t is 7 % above the normal one, and a group of 100 rows has 5.
N_GROUPS = 20
LEVEL = 0.95


class Estimate(NamedTuple):
    """A value with its interval."""

    value: Any  # The measure, or a curve of it
    low: Any  # 95 % interval; both equal to the value where nothing was sampled
    high: Any  # 95 % interval; both equal to the value where nothing was sampled

    def within(self, low: float, high: float) -> Estimate:
        """Clip the interval to the values that the measure can have."""
        if np.ndim(self.value):
            return Estimate(self.value, np.clip(self.low, low, high), np.clip(self.high, low, high))
        return Estimate(self.value, min(max(self.low, low), high), min(max(self.high, low), high))

    def result(self, *, return_ci: bool) -> Any:
        """Give what a metric returns."""
        return (self.value, (self.low, self.high)) if return_ci else self.value


def exact(value: Any) -> Estimate:
    """Wrap a value that was not estimated."""
    return Estimate(value, value, value)


def check_sample(sample: int | None, *, low: int, high: float, what: str) -> int | None:
    """Check the size of a sample."""
    if sample is None:
        return None
    hint = f"It is a number of {what}; None uses all of them."
    return int(check_number(sample, "sample", low=low, high=high, integer=True, hint=hint))


def check_sizes(k: int | Sequence[int], n: int) -> list[int]:
    """Check one or several sizes of neighbourhood among n points."""
    sizes: list[Any] = [k] if np.ndim(k) == 0 else list(k)  # type: ignore[arg-type]
    if not sizes:
        raise ParameterError(
            "k must be an int or a sequence of them, got an empty one. Pass for example k=10 or k=[5, 10, 50].",
            parameter="k",
        )
    hint = f"A map of {n} points has neighbourhoods of 1 to {n - 2} points that differ from chance."
    return [check_number(size, "k", low=1, high=n - 2, integer=True, hint=hint) for size in sizes]


def draw_rows(n: int, size: int, random_state: RandomState) -> list[IntArray]:
    """Draw different rows, in random groups."""
    rows = as_generator(random_state).permutation(n)[:size].astype(np.int64)
    return [np.sort(group) for group in np.array_split(rows, min(N_GROUPS, size))]


def draw_pairs(n: int, size: int, random_state: RandomState) -> tuple[IntArray, IntArray]:
    """Draw pairs of different points, with replacement."""
    generator = as_generator(random_state)
    a = generator.integers(0, n, size=size)
    b = generator.integers(0, n - 1, size=size)
    return a, b + (b >= a)


def spread(value: Any, others: Sequence[Any] | FloatArray, *, factor: float) -> Estimate:
    """Set an interval around a value from other values of the same measure."""
    if factor <= 0.0:  # nothing was left out
        return exact(value)
    values = np.asarray(others, dtype=np.float64)
    if values.shape[0] < 2:
        half: Any = np.full(np.shape(value), np.inf)[()]
    else:
        from scipy.special import stdtrit

        deviations = values - values.mean(axis=0)
        error = np.sqrt((deviations * deviations).sum(axis=0) * factor)
        half = error * stdtrit(values.shape[0] - 1, 0.5 + LEVEL / 2)
    if np.ndim(value) == 0:
        return Estimate(value, float(value - half), float(value + half))
    return Estimate(value, value - half, value + half)


def jackknife_factor(n_groups: int, *, share: float = 0.0) -> float:
    """Give the factor for `spread` if each of the other values leaves out one group."""
    return (n_groups - 1) / n_groups * (1.0 - share)


_WITH_INTERVAL = """return_ci : bool, default=False
    Also return a 95 % interval."""


def one_of(
    scores: Callable[..., dict[str, Estimate]], *, without: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function one of a family of scores: it gets their options, and their text in place of ``{options}``.

    `scores` takes ``names`` and returns an estimate for each; this function lacks the options in `without`.
    """
    parameters = dict(inspect.signature(scores).parameters)
    last = parameters.pop("n_jobs")
    interval = inspect.Parameter("return_ci", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool")
    kept = [parameter for name, parameter in parameters.items() if name not in ("names", *without)]
    signature = inspect.Signature([*kept, interval, last], return_annotation="Any")
    block = inspect.cleandoc(scores.__doc__ or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    entries = {entry.partition(" ")[0]: entry for entry in re.split(r"\n(?=\S)", block)}
    entries["return_ci"] = _WITH_INTERVAL
    text = "\n".join(entries.get(name, "") for name in signature.parameters).replace("\n", "\n    ")

    def dress(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__

        @functools.wraps(function)
        def score(*values: Any, **options: Any) -> Any:
            try:
                given = signature.bind(*values, **options).arguments
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
            with_interval = check_bool(given.pop("return_ci", False), "return_ci")
            sample = given.get("sample")
            if check_bool(given.get("pointwise", False), "pointwise") and (sample is not None or with_interval):
                raise ValueError(
                    f"pointwise=True returns the value of every point, so there is nothing to estimate: "
                    f"got sample={sample!r} and return_ci={with_interval}. Leave them out."
                )
            return scores(**given, names=(name,))[name].result(return_ci=with_interval)

        score.__signature__ = signature  # type: ignore[attr-defined]
        score.__doc__ = (function.__doc__ or "").replace("{options}", text)
        return score

    return dress
