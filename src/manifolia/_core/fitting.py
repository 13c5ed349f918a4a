"""A fit that fails or is interrupted leaves the model as it was."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from manifolia._core.collections import is_lazy, sampled
from manifolia._core.estimators import fit_heard, has_callbacks

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Let ``fit`` work on a copy of the estimator, whose state replaces the original's if all of it succeeds.

    The state is swapped in one step, so that after an error or Ctrl-C at any moment, and for any other thread, there is
    either the old model or the new one, never a mixture. ``fit`` must not change in place what it finds. From a lazy
    table it gets a sample.
    """

    @functools.wraps(fit)
    def run(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        if is_lazy(X):
            X, rest, kwargs = sampled(X, args[1:], {name: one for name, one in kwargs.items() if name != "X"})
            args = (X, *rest)
        double = object.__new__(type(estimator))
        double.__dict__.update(vars(estimator))
        if has_callbacks(estimator):
            fit_heard(fit, estimator, double, args, kwargs)
        else:
            fit(double, *args, **kwargs)
        estimator.__dict__ = vars(double)
        return estimator

    return cast(Fit, run)
