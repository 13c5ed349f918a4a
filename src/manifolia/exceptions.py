"""Errors and warnings of manifolia, each also a builtin, so that existing handlers keep working."""

from __future__ import annotations


class ManifoliaError(Exception):
    """Base of every error that only manifolia raises."""

    parameter: str | None = None


class _OfParameter(ManifoliaError):
    def __init__(self, *args: object, parameter: str | None = None) -> None:
        super().__init__(*args)
        self.parameter = parameter


class ParameterError(_OfParameter, ValueError):
    """A parameter has a value that is not allowed.

    Parameters
    ----------
    *args : object
        The message.
    parameter : str, default=None
        Name of the parameter at fault, kept as an attribute; None if there is none, or more than one.
    """


class ParameterTypeError(_OfParameter, TypeError):
    """A parameter has a value of the wrong kind.

    Parameters
    ----------
    *args : object
        The message.
    parameter : str, default=None
        Name of the parameter at fault, kept as an attribute; None if there is none, or more than one.
    """


# MemoryError first: it has its own constructor, which tools that send errors between processes call.
class MemoryLimitError(MemoryError, ManifoliaError):
    """A step would need more memory than the limit allows; raised before the step starts."""


class MissingExtraError(ManifoliaError, ImportError):
    """An optional dependency is needed but not installed; the message names the extra."""


class StoppedByCallbackError(ManifoliaError, RuntimeError):
    """A callback returned True in a stage that has no usable intermediate result."""


class TuningError(ManifoliaError, RuntimeError):
    """No setting of a study could be judged; the message says why."""


class DataHomeError(ManifoliaError, FileNotFoundError):
    """A data set is not in the data home; the message lists what is there."""

    # FileNotFoundError formats its arguments as (errno, text); ours has only the text.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class TableError(_OfParameter, ValueError):
    """A table cannot be read, or lacks what a step needs; the message says what to change.

    Parameters
    ----------
    *args : object
        The message.
    parameter : str, default=None
        Name of the parameter at fault, kept as an attribute; None if there is none, or more than one.
    """


class ModelFileError(ManifoliaError, ValueError):
    """A saved model is damaged, not one of ours, of an unknown version, or holds what a model may not hold."""


class ManifoliaWarning(UserWarning):
    """Base of every warning that only manifolia gives."""


class HonestyWarning(ManifoliaWarning):
    """A result would show more structure than the data supports."""
