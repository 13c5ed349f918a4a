"""Optional dependencies: one function, one message."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from manifolia.exceptions import MissingExtraError


def import_extra(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional module, or say which package has it and which of our extras installs that."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name != top:
            raise
        raise MissingExtraError(
            f"{purpose} needs the package {top!r}, which is not installed. "
            f"Install it with: pip install {top.replace('_', '-')} (the extra {extra!r} of manifolia brings it)"
        ) from error


def is_installed(module: str) -> bool:
    """Return whether a package could be imported, without importing it."""
    return importlib.util.find_spec(module) is not None
