"""One way to warn: the message points at the user's line, not at ours."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from manifolia.exceptions import ManifoliaWarning

_LIBRARIES = {"manifolia", "sklearn", "joblib", "contextlib"}


def warn(message: str, category: type[Warning] = ManifoliaWarning) -> None:
    """Warn at the first frame outside manifolia and the libraries that call it back."""
    level = 2  # the caller of this function
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the texts of warnings, each once, instead of showing them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    texts += dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning))
