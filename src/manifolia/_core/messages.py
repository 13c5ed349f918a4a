"""Messages that know which of their words are arguments, so that the command line can name its options instead."""

from __future__ import annotations

from typing import Any, NamedTuple


class Word(str):
    """A word that stands for what the user fills in: ``roles={column: 'drop'}``."""

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
