"""Where an engine would change a setting without saying so, or with a word that no one reads.

A run that was capped must not count for the uncapped value. What is known of engines:

========================================  ==================================================================
scikit-learn's t-SNE                      a perplexity below n; above n/3 it looks at all pairs
openTSNE, and our t-SNE                   a perplexity of at most (n − 1)/3
kernel t-SNE                              the same, of the rows it trains on
parametric t-SNE                          the same, of a batch: it tells what it used
UMAP, PHATE and the graph methods         at most n − 1 neighbours
========================================  ==================================================================

Ranges that reach beyond are cut before the search, with a warning; what still gets through fails its run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from manifolia._core.warnings import warn
from manifolia.tune.parameters import Choice, Integer, Normalized, Parameter, When
from manifolia.tune.space import Space

__all__ = ["Limit", "check_limits", "check_used", "cut_to_limits", "limit_of"]

_NEIGHBORS = ("n_neighbors", "knn")
_SLACK = 1e-9  # a fraction of n that is meant to be the limit itself


class Limit(NamedTuple):
    """The most that an engine takes."""

    most: float  # Value
    why: str  # Reason, for a message


def limit_of(model: Any, name: str, n_rows: int) -> Limit | None:
    """Find the limit of a parameter."""
    prefix, _, plain = name.rpartition("__")
    owner = model.get_params()[prefix] if prefix else model
    if plain in _NEIGHBORS:
        return Limit(n_rows - 1, "there are no more than n − 1")
    if plain != "perplexity":
        return None
    kind = type(owner).__name__
    if type(owner).__module__.startswith("openTSNE"):
        return Limit((n_rows - 1) / 3, "openTSNE caps it at (n − 1)/3")
    if kind in ("KernelTSNE", "FisherKernelTSNE"):
        trained = n_rows if owner.n_train is None else min(n_rows, owner.n_train)
        return Limit((trained - 1) / 3, "it is capped at a third of the training rows") if _by_tsne(owner) else None
    if kind == "ForestMap":
        return Limit((n_rows - 1) / 3, "it is capped at (n − 1)/3") if owner.layout == "tsne" else None
    return Limit(n_rows - 1, "it must be below n")


def _by_tsne(owner: Any) -> bool:
    return isinstance(owner.embedder, str) and owner.embedder == "tsne"


def check_limits(model: Any, n_rows: int) -> None:
    """Refuse what an engine would change without saying so: a capped run must not count for the uncapped value."""
    for name, value in model.get_params().items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            continue
        limit = limit_of(model, name, n_rows)
        if limit is not None and value > limit.most + _SLACK * n_rows:
            plain = name.rpartition("__")[2]
            message = f"{plain} {value:g} on {n_rows} rows: {limit.why}. Lower the upper end of its range."
            raise ValueError(message)


def check_used(model: Any) -> None:
    """Refuse a map whose estimator tells that it used another perplexity than it was asked for."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    asked, used = getattr(last, "perplexity", None), getattr(last, "perplexity_", None)
    if isinstance(asked, (int, float)) and isinstance(used, (int, float)) and used < asked * (1 - _SLACK):
        message = f"perplexity {asked:g} was capped at {used:.4g}. Lower the upper end of its range."
        raise ValueError(message)


def cut_to_limits(space: Space, model: Any, shape: tuple[int, int]) -> Space:
    """Cut ranges that reach beyond what the estimator takes on so many rows."""
    current = model.get_params()
    out: dict[str, Any] = {}
    for name, one in space.parameters.items():
        kept = one
        limit = limit_of(model, name, shape[0])
        if limit is not None and not isinstance(one, Choice):
            kept = _cut(space, name, one, limit, shape, current)
        condition = space.conditions.get(name)
        out[name] = kept if condition is None else When(kept, on=condition.on, among=condition.among)
    return space if all(out[name] is one for name, one in space.parameters.items()) else Space(out)


def _cut(
    space: Space, name: str, one: Any, limit: Limit, shape: tuple[int, int], current: Mapping[str, Any]
) -> Parameter:
    n = shape[0]
    # A fraction that is rounded may end half a step higher than it says.
    greatest = space.resolve({name: one.high}, shape, current)[name]
    if greatest <= limit.most + _SLACK * n:
        return one  # type: ignore[no-any-return]
    whole = isinstance(one, Integer) or isinstance(greatest, int)
    most = math.floor(limit.most + _SLACK) if whole else limit.most
    high = most / n if isinstance(one, Normalized) else most
    if high <= one.low:
        message = (
            f"space[{name!r}] begins at {one.low:g}, but on {n} rows it can be {high:.4g} at most: {limit.why}. Lower "
            "it, or take more rows."
        )
        raise ValueError(message)
    what = f"{one.high:g} of n" if isinstance(one, Normalized) else f"{one.high:g}"
    warn(f"space[{name!r}] reaches {what}, and on {n} rows {limit.why}: it is searched up to {high:.4g}.")
    return replace(one, high=high)  # type: ignore[no-any-return]
