"""Errors and notes as the users of a command know things: one sentence, options instead of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from shlex import quote

import click

from manifolia._core.messages import Argument, Message, Word
from manifolia.exceptions import ManifoliaError

_NOT_HERE = "\0"  # in place of an argument that the running command has no option for
_EXPECTED = (ManifoliaError, ValueError, TypeError, OSError, ImportError, MemoryError)


def in_options(text: str) -> str:
    """Say in options of the running command what the library says in arguments."""
    if not isinstance(text, Message):
        return text
    told = "".join(_written(part) if isinstance(part, Argument) else part for part in text.parts)
    if _NOT_HERE not in told:
        return told
    # What only another command can be asked for is no remedy here: the sentence is left out, unless it says more.
    kept = [one for one in re.split(r"(?<=[.!?]) (?=[A-Z\0])", told) if _NOT_HERE not in one]
    return " ".join(kept) if kept else str(text)


def sentence(error: BaseException) -> str:
    """Say an error in one line, and name the option that is at fault."""
    message = error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)
    text = " ".join(in_options(message).split())
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        text = f"{error.filename}: {error.strerror.lower()}."
    parameter = getattr(error, "parameter", None) or ""
    option = _option(parameter)
    if option is not None and text.startswith(f"{parameter} "):
        text = option + text.removeprefix(parameter)
    elif option is not None and option not in text:
        text = f"{option}: {text}"
    if isinstance(error, _EXPECTED) and text:
        return text if text.endswith((".", "!", "?", ")", "…")) else f"{text}."
    return f"this should not have happened ({type(error).__name__}: {text}). --debug shows where; please report it."


def _option(parameter: str) -> str | None:
    """The option that sets a parameter: its own, or one such as ``--set`` that was given a value for it."""
    context = click.get_current_context()
    options = {option.name: option.opts[-1] for option in context.command.params if isinstance(option, click.Option)}
    if parameter in options:
        return options[parameter]
    given = [name for name, value in context.params.items() if isinstance(value, Mapping) and parameter in value]
    return f"{options[given[0]]} {parameter}" if given else None


def _elsewhere(parameter: str) -> bool:
    """Return whether another command has an option that sets a parameter."""
    group = click.get_current_context().find_root().command
    commands = group.commands.values() if isinstance(group, click.Group) else ()
    return any(option.name == parameter for command in commands for option in command.params)


def _written(argument: Argument) -> str:
    option, value = _option(argument.name), argument.value
    if option is None:
        return _NOT_HERE if _elsewhere(argument.name) else str(argument)
    if isinstance(value, Mapping):
        pairs = [(name, "<".join(role) if isinstance(role, list) else role) for name, role in value.items()]
        values = [f"{name}={role}" if isinstance(name, Word) else quote(f"{name}={role}") for name, role in pairs]
    else:
        plain = value if isinstance(value, list) else [""] if value is None or value is True else [value]
        values = [one if isinstance(one, Word) or one == "" else quote(str(one)) for one in plain]
    return " ".join(f"{option} {one}".rstrip() for one in values)
