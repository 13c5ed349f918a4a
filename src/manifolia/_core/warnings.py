"""One way to warn: the message points at the user's line, not at ours."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from manifolia.exceptions import ManifoliaWarning

_LIBRARIES = {"manifolia", "sklearn", "joblib", "contextlib"}
#: What a scikit-learn thread says if another thread has just emptied the list of filters that it was given. No filter
#: can suppress it then, and it says nothing about the user's data or calls.
LOST_FILTERS = r".*sklearn\.utils\.parallel\.delayed"


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
    """Collect the texts of warnings that are meant for the user, each once, instead of showing them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield texts
    said = dict.fromkeys(str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning))
    texts += [text for text in said if not re.match(LOST_FILTERS, text)]
