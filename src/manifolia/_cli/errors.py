"""Errors as one sentence, for people who did not write the code that raised them."""

from __future__ import annotations

from manifolia.exceptions import ManifoliaError

__all__ = ["sentence"]

_EXPECTED = (ManifoliaError, ValueError, TypeError, OSError, ImportError, MemoryError)


def sentence(error: BaseException) -> str:
    """Say an error in one line.

    Parameters
    ----------
    error : BaseException
        What was raised.

    Returns
    -------
    str
        Its own words if it is of a kind that is meant for users, else what it is and what to do.
    """
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror.lower()}."
    if isinstance(error, _EXPECTED) and text:
        return text if text.endswith((".", "!", "?", ")")) else f"{text}."
    return f"this should not have happened ({type(error).__name__}: {text}). --debug shows where; please report it."
