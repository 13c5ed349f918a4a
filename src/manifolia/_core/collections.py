"""Lazy tables, computed in parts, possibly on other machines: Dask's arrays and frames.

Estimators take them wherever they take tables: questions about single rows are answered lazily, and a fit takes a
sample. `manifolia.distributed` knows how; it is above all estimators and is looked up when such a table comes.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def is_lazy(X: Any) -> bool:
    """Return whether a table is one of Dask's."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def row_by_row(method: Method) -> Method:
    """Let a method that answers for each row on its own answer lazily for a lazy table."""

    @functools.wraps(method)
    def answer(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        if not is_lazy(X):
            return method(estimator, *args, **kwargs)
        if method.__name__ == "fit_transform":
            return estimator.fit(*args, **kwargs).transform(X)
        more = {name: value for name, value in kwargs.items() if name != "X"}
        return _distributed().answer_lazily(estimator, method.__name__, X, args[1:], more)

    return cast(Method, answer)


def sampled(X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Replace a lazy table, and what belongs to its rows, by a sample in memory."""
    return _distributed().sample_rows(X, args, kwargs)


def _distributed() -> Any:
    return importlib.import_module("manifolia.distributed")
