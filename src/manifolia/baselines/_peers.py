"""Forms of other projects' methods that have no class of their own there, made when they are asked for."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

__all__: list[str] = []  # DensMAP is reached by name, through the registry


def _dens_map() -> Any:
    UMAP: Any = importlib.import_module("umap").UMAP
    plain = inspect.signature(UMAP.__init__)
    own = [p.replace(default=True) if p.name == "densmap" else p for p in plain.parameters.values()]
    signature = plain.replace(parameters=own)

    class DensMAP(UMAP):  # type: ignore[misc]
        """UMAP that keeps local densities (Narayan et al. 2021): umap-learn's, with ``densmap=True`` for default."""

        def __init__(self, *args: Any, **settings: Any) -> None:
            given = signature.bind(self, *args, **settings)
            given.apply_defaults()
            super().__init__(*given.args[1:], **given.kwargs)

    # scikit-learn reads the parameters from the signature, and pickle finds the class by its names.
    DensMAP.__init__.__signature__ = signature  # type: ignore[attr-defined]
    DensMAP.__module__, DensMAP.__qualname__ = __name__, "DensMAP"
    return DensMAP


def __getattr__(name: str) -> Any:
    if name != "DensMAP":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = _dens_map()
    return globals()[name]
