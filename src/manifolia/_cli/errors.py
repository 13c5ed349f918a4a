"""Errors as one sentence, for people who did not write the code that raised them."""

from __future__ import annotations

import re

from manifolia.exceptions import ManifoliaError

__all__ = ["in_options", "sentence"]

#: How the library names what the command line calls otherwise.
_OPTIONS = (
    (r"\bdecimal=','", "--decimal ,"),
    (r"\bdecimal='\.'", "--decimal ."),
    (r"\bdecimal=", "--decimal"),
    (r"\bsep=", "--sep"),
    (r"\bna_values=\[([^\]]*)\]", r"--na \1"),
    (r"\bna_values\b", "--na"),
    (r"\broles=\{'?([^:'}]+)'?: *'?([^}']+)'?\}", r"--role \1=\2"),
    (r"Set the role '(\w+)'", r"Use --role COLUMN=\1"),
)

_EXPECTED = (ManifoliaError, ValueError, TypeError, OSError, ImportError, MemoryError)


def in_options(text: str) -> str:
    """Say in options of the command line what the library says in arguments."""
    for argument, option in _OPTIONS:
        text = re.sub(argument, option, text)
    return text


def sentence(error: BaseException) -> str:
    """Say an error in one line."""
    text = in_options(" ".join(str(error).split()))
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror.lower()}."
    if isinstance(error, _EXPECTED) and text:
        return text if text.endswith((".", "!", "?", ")")) else f"{text}."
    return f"this should not have happened ({type(error).__name__}: {text}). --debug shows where; please report it."
