"""What a parameter may be: a number, a whole number, a fraction of the sample, an option; perhaps on a condition."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np

from manifolia._core.validate import check_bool, check_number, check_option
from manifolia.exceptions import ParameterError, ParameterTypeError

#: Types that Optuna stores unchanged; other options are stored by their text.
_STORABLE = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class _Range:
    """A range between two limits."""

    low: float
    high: float
    _: KW_ONLY
    log: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self, Integer)
        low, high = (check_number(getattr(self, name), name, integer=whole) for name in ("low", "high"))
        check_bool(self.log, "log")
        if low >= high:
            raise ParameterError(
                f"low must be below high, got {self!r}. Leave a fixed value to the estimator.", parameter="low"
            )
        if self.log and low <= 0:
            raise ParameterError(
                f"log=True needs a low above 0, got {self!r}. Raise low, or pass log=False.", parameter="log"
            )

    def at(self, u: float) -> float:
        """Return the value at a place of [0, 1].

        Parameters
        ----------
        u : float
            Place.

        Returns
        -------
        float
            Value.
        """
        if not self.log:
            return self.low + u * (self.high - self.low)
        return min(max(self.low * (self.high / self.low) ** u, self.low), self.high)

    def place(self, value: float) -> float:
        """Return where a value lies on [0, 1].

        Parameters
        ----------
        value : float
            Value.

        Returns
        -------
        float
            Place.
        """
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


class Real(_Range):
    """A number between two limits.

    Attributes
    ----------
    low : float
        Least value.
    high : float
        Greatest value.
    log : bool, default=False
        Whether equal ratios count as equal steps.
    """


@dataclass(frozen=True)
class Integer(_Range):
    """A whole number between two limits, both included.

    Attributes
    ----------
    low : int
        Least value.
    high : int
        Greatest value.
    log : bool, default=False
        Whether equal ratios count as equal steps.
    """

    low: int
    high: int

    def _continuous(self) -> Real:
        # Half a step beyond each end, so that the ends are as likely as other values.
        return Real(self.low - 0.5, self.high + 0.5, log=self.log)

    def at(self, u: float) -> int:
        """Return the value at a place of [0, 1].

        Parameters
        ----------
        u : float
            Place.

        Returns
        -------
        int
            Value.
        """
        return int(min(max(math.floor(self._continuous().at(u) + 0.5), self.low), self.high))

    def place(self, value: float) -> float:
        """Return where a value lies on [0, 1].

        Parameters
        ----------
        value : int
            Value.

        Returns
        -------
        float
            Place.
        """
        return self._continuous().place(value)


@dataclass(frozen=True)
class Normalized(_Range):
    """A number measured as a fraction of the sample, such as a perplexity of 0.1 n.

    What is found on a subsample then has a meaning for all rows: the fraction is turned into the number that fits the
    rows at hand.

    Attributes
    ----------
    low : float
        Least fraction, above 0.
    high : float
        Greatest fraction, at most 1.
    log : bool, default=True
        Whether equal ratios count as equal steps, as they do for neighbourhood sizes.
    of : {"n_samples", "n_features"}, default="n_samples"
        What it is a fraction of.
    integer : bool or None, default=None
        Whether the number must be whole; None: if the estimator's own value is.
    """

    _: KW_ONLY
    log: bool = True
    of: str = "n_samples"
    integer: bool | None = None

    def __post_init__(self) -> None:
        check_option(self.of, "of", ("n_samples", "n_features"))
        for name in ("low", "high"):
            fraction = getattr(self, name)
            check_number(fraction, name, low=0.0, high=1.0, open_low=True, hint="It is a fraction of the sample.")
        if self.integer is not None:
            check_bool(self.integer, "integer")
        super().__post_init__()

    def number(self, fraction: float, shape: tuple[int, int], *, integer: bool) -> float:
        """Turn a fraction into the number that fits a sample.

        Parameters
        ----------
        fraction : float
            The setting.
        shape : tuple of int
            Rows and columns of the sample.
        integer : bool
            Whether the estimator wants a whole number, unless `integer` of this parameter says otherwise.

        Returns
        -------
        float or int
            The number.
        """
        exact = fraction * shape[0 if self.of == "n_samples" else 1]
        whole = integer if self.integer is None else self.integer
        return max(1, round(exact)) if whole else exact


@dataclass(frozen=True)
class Choice:
    """One of several options without an order.

    Attributes
    ----------
    options : tuple
        What to choose from.
    """

    options: tuple[Any, ...]

    def __init__(self, options: Sequence[Any]) -> None:
        if isinstance(options, str) or len(options) < 2:
            raise ValueError(
                f"a choice needs at least two options, got {options!r}. Leave a fixed value to the estimator."
            )
        object.__setattr__(self, "options", tuple(options))
        if len(set(self.labels)) < len(self.labels):
            raise ValueError(f"the options of a choice must differ, got {options!r}. Drop the repeated ones.")

    @property
    def labels(self) -> tuple[Any, ...]:
        """What represents the options in a stored study: themselves, or their text."""
        return tuple(label_of(option) for option in self.options)

    def at(self, u: float) -> Any:
        """Return the label of the option at a place of [0, 1].

        Parameters
        ----------
        u : float
            Place.

        Returns
        -------
        object
            Label.
        """
        return self.labels[min(int(u * len(self.options)), len(self.options) - 1)]

    def place(self, value: Any) -> float:
        """Return the middle of a label's part of [0, 1].

        Parameters
        ----------
        value : object
            Label.

        Returns
        -------
        float
            Place.
        """
        return (self.labels.index(value) + 0.5) / len(self.options)


@dataclass(frozen=True)
class When:
    """A parameter that applies only while another has certain values.

    Attributes
    ----------
    parameter : Real, Integer, Normalized or Choice
        What it may be while it applies.
    on : str
        Name of the parameter that decides, in the same space and without a condition of its own.
    among : tuple
        Values of that parameter for which this one applies, by their labels.
    """

    parameter: Any
    on: str
    among: tuple[Any, ...]

    def __init__(self, parameter: Any, *, on: str, among: Sequence[Any]) -> None:
        object.__setattr__(self, "parameter", as_parameter(parameter, "parameter of When"))
        object.__setattr__(self, "on", on)
        object.__setattr__(self, "among", tuple(label_of(option) for option in among))


Parameter: TypeAlias = Real | Integer | Normalized | Choice


def label_of(option: Any) -> Any:
    """Return what represents an option in a stored study."""
    return option if isinstance(option, _STORABLE) else repr(option)


def as_parameter(given: Any, name: str) -> Parameter:
    """Read the shorthand: a pair is a range, a list a choice."""
    if isinstance(given, (Real, Integer, Normalized, Choice)):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in given)
        low, high = given
        return Integer(int(low), int(high)) if whole else Real(low, high)
    if isinstance(given, (list, np.ndarray)):
        return Choice([value.item() if isinstance(value, np.generic) else value for value in given])
    raise ParameterTypeError(
        f"{name} must be a pair (low, high), a list of options, or one of Real, Integer, Normalized, Choice and When, "
        f"got {given!r}.",
        parameter=name,
    )
