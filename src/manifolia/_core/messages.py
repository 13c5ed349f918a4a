"""Sentences as records: findings about a map, and messages that know which of their words are arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

#: How notes are written on a page: in Python's words, unless a command is running.
wording: ContextVar[Callable[[str], str]] = ContextVar("wording", default=str)


class Finding(NamedTuple):
    """One thing that a map shows, or that one should know about it."""

    text: str  # The sentence
    rows: tuple[int, ...] = ()  # Rows of the map that it names, in the order of the sentence
    columns: tuple[str, ...] = ()  # Columns that it names, in the order of the sentence


class Word(str):
    """A word that stands for something that the user fills in: ``roles={column: 'drop'}``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Argument(NamedTuple):
    """An argument in a message, as Python writes it."""

    name: str
    value: Any = None  # None: only the name is meant

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


class Message(str):
    """A text for Python's users, made of words and arguments."""

    parts: tuple[str | Argument, ...]

    def __new__(cls, *parts: str | Argument) -> Message:
        """Join parts; those of a message that is a part are taken over."""
        message = super().__new__(cls, "".join(map(str, parts)))
        message.parts = tuple(
            inner for part in parts for inner in (part.parts if isinstance(part, Message) else (part,))
        )
        return message
