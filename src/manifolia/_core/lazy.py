"""Public names that are imported when they are first asked for.

``import manifolia`` must not pay for scikit-learn, pandas or numba: a package lists where its names live, and
the import happens on first access.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def attach(
    package: str, *, submodules: Iterable[str] = (), names: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make the ``__getattr__``, ``__dir__`` and ``__all__`` of a package that imports its contents on access."""
    modules = set(submodules)
    where = dict(names or {})
    public = sorted(modules | set(where))

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in where:
            value = getattr(importlib.import_module(where[name]), name)
            setattr(sys.modules[package], name, value)  # the next access is a plain lookup
            return value
        message = f"module {package!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[package])  # Python suggests a similar name

    return get, lambda: public, public
