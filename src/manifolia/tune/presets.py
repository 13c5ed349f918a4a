"""What the cards of methods say about tuning: parameters that shape the map, over sensible ranges, and their limits.

A run that an engine has capped must not count for the uncapped value. Ranges that exceed a limit of the card are cut
before the search, with a warning; a value that still gets through fails its run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from manifolia import registry
from manifolia._core.pipelines import last_step
from manifolia._core.types import ArrayLike
from manifolia._core.warnings import warn
from manifolia.forest.grow import default_forest
from manifolia.forest.targets import read_target
from manifolia.tune.parameters import Choice, Integer, Normalized, Parameter, Real, When
from manifolia.tune.space import SearchSpace, as_argument

_SLACK = 1e-9  # a fraction of n that is meant to be the limit itself


def preset(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """Return a known method, which may be given by name, and its space."""
    if isinstance(estimator, str):
        estimator = registry.get(estimator)()
    space = registry.card_of(estimator).space
    if not space:
        known = [name for name in registry.names(installed=False) if registry.find(name).space]
        raise ValueError(
            f"there is no preset for {last_step(estimator)!r}. Pass a space to Tuner, such as "
            "{'n_neighbors': (5, 50)}; presets: " + ", ".join(known) + "."
        )
    prefix = f"{estimator.steps[-1][0]}__" if last_step(estimator) is not estimator else ""
    return estimator, {prefix + name: _parameter(one) for name, one in space.items()}


def _parameter(given: registry.Range) -> Parameter:
    """The parameter object of a range on a card."""
    if given.kind == "choice":
        return Choice(given.choices)
    if given.kind == "share":
        return Normalized(given.low, given.high)
    if given.kind == "integer":
        return Integer(int(given.low), int(given.high), log=given.log)
    return Real(given.low, given.high, log=given.log)


def forest_space(estimator: Any) -> dict[str, Any]:
    """Return what to tune in the forest behind a map; that of a pipeline stays as it is."""
    space = registry.card_of(estimator).forest_space if last_step(estimator) is estimator else {}
    return {name: _parameter(one) for name, one in space.items()}


def with_forest(estimator: Any, names: Iterable[str], y: ArrayLike | None, n_rows: int) -> Any:
    """Give an estimator the forest that it would make, so that the forest's own parameters can be tuned."""
    wanted = any(str(name).startswith("forest__") for name in names)
    known = estimator.get_params(deep=False)
    if not wanted or "forest" not in known or known["forest"] is not None:
        return estimator
    target = read_target(y, n_rows, known.get("task", "auto"))
    return clone(estimator).set_params(forest=default_forest(target, known.get("n_trees", 500)))


def limit_of(model: Any, name: str, n_rows: int) -> tuple[float, str] | None:
    """Find the maximum of a parameter on this many rows, and the reason."""
    prefix, _, plain = name.rpartition("__")
    owner = model.get_params()[prefix] if prefix else model
    limit = registry.card_of(owner).limits.get(plain)
    return None if limit is None else (limit.most(last_step(owner), n_rows), limit.why)


def check_limits(model: Any, n_rows: int) -> None:
    """Refuse values that an engine would change silently."""
    for name, value in model.get_params().items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        most, why = limit_of(model, name, n_rows) or (math.inf, "")
        if value > most + _SLACK * n_rows:
            plain = name.rpartition("__")[2]
            raise ValueError(f"{plain} {value:g} on {n_rows} rows: {why}. Lower the upper end of its range.")


def check_used(model: Any) -> None:
    """Refuse a map whose estimator says that it used a different value from the one requested."""
    last = last_step(model)
    for name in registry.card_of(model).capped:
        asked, used = getattr(last, name), getattr(last, f"{name}_")
        if isinstance(asked, (int, float)) and used < asked * (1 - _SLACK):
            raise ValueError(f"{name} {asked:g} was capped at {used:.4g}. Lower the upper end of its range.")


def cut_to_limits(space: SearchSpace, model: Any, shape: tuple[int, int]) -> SearchSpace:
    """Fit a space to a sample: ranges that reach beyond what the estimator takes on this many rows are cut."""
    current = model.get_params()
    out: dict[str, Any] = {}
    for name, one in space.parameters.items():
        kept = one
        limit = limit_of(model, name, shape[0])
        if limit is not None and not isinstance(one, Choice):
            kept = _cut(name, one, limit, shape, current.get(name))
        condition = space.conditions.get(name)
        out[name] = kept if condition is None else When(kept, on=condition.on, among=condition.among)
    return SearchSpace(out, shape, current)


def _cut(name: str, one: Any, limit: tuple[float, str], shape: tuple[int, int], current: Any) -> Parameter:
    n = shape[0]
    most, why = limit
    # A fraction that is rounded may end half a step higher than it says.
    greatest = as_argument(one, one.high, shape, current)
    if greatest <= most + _SLACK * n:
        return one  # type: ignore[no-any-return]
    if isinstance(one, Integer) or isinstance(greatest, int):
        most = math.floor(most + _SLACK)
    high = most / n if isinstance(one, Normalized) else most
    if high <= one.low:
        raise ValueError(
            f"space[{name!r}] begins at {one.low:g}, but on {n} rows it can be {high:.4g} at most: {why}. Lower "
            "it, or take more rows."
        )
    what = f"{one.high:g} of n" if isinstance(one, Normalized) else f"{one.high:g}"
    warn(f"space[{name!r}] reaches {what}, and on {n} rows {why}: it is searched up to {high:.4g}.")
    return replace(one, high=high)  # type: ignore[no-any-return]
