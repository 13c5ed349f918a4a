"""One way to warn: the message points at the user's line, not at ours."""

from __future__ import annotations

import sys
import warnings

from manifolia.exceptions import ManifoliaWarning

__all__ = ["warn"]


def warn(message: str, category: type[Warning] = ManifoliaWarning) -> None:
    """Warn at the first frame outside manifolia and the libraries that call it back."""
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in {"manifolia", "sklearn", "joblib", "contextlib"}
