"""The space of settings: what a parameter may be, as values, as points of a cube, and as what a surrogate sees.

Three forms of a setting:

========  ==========================================================  ===========================================
form      what it is                                                  made by
========  ==========================================================  ===========================================
point     one number of [0, 1] per parameter, for designs             scipy's Latin hypercube and Sobol sequences
setting   name → value; what is stored and shown                      `SearchSpace.at`
features  numbers a regressor can compare: numeric ones on [0, 1],    `SearchSpace.features`
          options one-hot, a parameter that does not apply at 0.5
========  ==========================================================  ===========================================

`SearchSpace.resolve` turns a setting into arguments of the estimator, and fractions of the sample into numbers; so a
space that is searched knows the shape of the sample and the estimator's own values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from manifolia._core.types import BoolArray, FloatArray
from manifolia.tune.parameters import Choice, Integer, Normalized, Parameter, When, as_parameter, label_of

Setting: TypeAlias = dict[str, Any]

_INACTIVE = 0.5  # value of a parameter that does not apply among the features: the middle says least


class SearchSpace:
    """Named parameters, and the three forms of a setting."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        shape: tuple[int, int] | None = None,
        current: Mapping[str, Any] | None = None,
    ) -> None:
        self._shape, self._current = shape, current or {}
        if not isinstance(parameters, Mapping) or not parameters:
            raise ValueError(
                f"space must be a non-empty mapping of parameter names to ranges, got {parameters!r}. Pass for example "
                "{'perplexity': Normalized(0.01, 0.9)}."
            )
        self.parameters: dict[str, Parameter] = {}
        self.conditions: dict[str, When] = {}
        for name, given in parameters.items():
            if isinstance(given, When):
                self.conditions[name] = given
                self.parameters[name] = given.parameter
            else:
                self.parameters[name] = as_parameter(given, f"space[{name!r}]")
        for name, condition in self.conditions.items():
            self._check_condition(name, condition)

    def _check_condition(self, name: str, condition: When) -> None:
        on = self.parameters.get(condition.on)
        if not isinstance(on, Choice) or condition.on in self.conditions:
            raise ValueError(
                f"space[{name!r}] depends on {condition.on!r}, which must be a choice of the same space without a "
                "condition of its own. Add it as a list of options."
            )
        unknown = [value for value in condition.among if value not in on.labels]
        if unknown:
            raise ValueError(
                f"space[{name!r}] applies for {condition.on}={unknown[0]!r}, which is not among {on.labels}."
            )

    @property
    def names(self) -> list[str]:
        """The parameters, in their order."""
        return list(self.parameters)

    @property
    def n_points(self) -> float:
        """Number of different settings; infinite with a continuous parameter."""
        sizes = [_size(one) for one in self.parameters.values()]
        if math.inf in sizes or not self.conditions:
            return math.prod(sizes)
        # A parameter that does not apply has effectively one value: count for each choice that decides.
        deciding = sorted({condition.on for condition in self.conditions.values()})
        choices = [self.parameters[name].labels for name in deciding]  # type: ignore[union-attr]
        total = 0.0
        for labels in itertools.product(*choices):
            given = dict(zip(deciding, labels, strict=True))
            rest = [name for name in self.names if name not in given]
            total += math.prod(_size(self.parameters[name]) for name in rest if self.active(given, name))
        return total

    def active(self, setting: Setting, name: str) -> bool:
        """Return whether a parameter applies."""
        condition = self.conditions.get(name)
        return condition is None or setting[condition.on] in condition.among

    def at(self, point: FloatArray) -> Setting:
        """Return the setting at a point of the cube."""
        values = {name: one.at(float(u)) for (name, one), u in zip(self.parameters.items(), point, strict=True)}
        return {name: value for name, value in values.items() if self.active(values, name)}

    def point(self, setting: Setting) -> FloatArray:
        """Return the point of a setting; a parameter that does not apply is in the middle."""
        return np.array(
            [one.place(setting[name]) if name in setting else _INACTIVE for name, one in self.parameters.items()]
        )

    def features(self, settings: Sequence[Setting]) -> FloatArray:
        """Return what a surrogate compares."""
        points = np.array([self.point(setting) for setting in settings]).reshape(len(settings), len(self.names))
        applies = np.array([[name in setting for name in self.names] for setting in settings]).reshape(points.shape)
        return np.asfortranarray(self.features_at(points, applies))  # BLAS rounding depends on the layout

    def features_at(self, points: FloatArray, applies: BoolArray | None = None) -> FloatArray:
        """Return what a surrogate compares, for points of the cube; whole numbers are not rounded."""
        columns = []
        for i, one in enumerate(self.parameters.values()):
            if isinstance(one, Choice):
                option = np.minimum((points[:, i] * len(one.options)).astype(int), len(one.options) - 1)
                here = 1.0 if applies is None else applies[:, [i]]
                columns.append(np.eye(len(one.options))[option] * here)
            else:
                columns.append(points[:, [i]])
        return np.hstack(columns)

    def resolve(self, setting: Setting, shape: tuple[int, int] | None = None) -> Setting:
        """Turn a setting into arguments of the estimator, for the sample of the space or another."""
        fitting = shape or self._shape
        return {
            name: as_argument(self.parameters[name], value, fitting, self._current.get(name))
            for name, value in setting.items()
        }

    def key(self, setting: Setting) -> str:
        """Return what two settings share if they are the same arguments."""
        return key_of(self.resolve(setting))

    def grid(self, n_points: int) -> list[Setting]:
        """Return a regular grid of about this many settings."""
        options = [len(one.options) for one in self.parameters.values() if isinstance(one, Choice)]
        numeric = len(self.parameters) - len(options)
        steps = max(2, math.floor((n_points / math.prod(options)) ** (1 / numeric) + 1e-9)) if numeric else 0
        axes = [
            [one.place(label) for label in one.labels]
            if isinstance(one, Choice)
            else list(np.linspace(0.0, 1.0, steps))
            for one in self.parameters.values()
        ]
        settings = (self.at(np.array(point)) for point in itertools.product(*axes))
        return list({key_of(setting): setting for setting in settings}.values())

    def picked(self, given: Mapping[str, Any]) -> Setting:
        """Read a user's setting, or a row of a table of trials."""
        setting = {name: _as_value(self.parameters[name], given[name]) for name in self.names if name in given}
        ready = all(condition.on in setting for condition in self.conditions.values())
        wanted = [name for name in self.names if not ready or self.active(setting, name)]
        missing = [name for name in wanted if name not in setting or _is_gap(setting[name])]
        if missing:
            raise ValueError(f"the setting {dict(given)!r} lacks {missing[0]!r}. Give all of {wanted}.")
        return self.check({name: setting[name] for name in wanted})

    def check(self, setting: Setting) -> Setting:
        """Check a setting that comes from outside, such as a stored study."""
        for name, value in setting.items():
            one = self.parameters.get(name)
            if one is None or (isinstance(one, Choice) and value not in one.labels):
                raise ValueError(f"{name}={value!r} is not part of the space, which has {self.names}.")
            if not isinstance(one, Choice) and not one.low - 1e-9 <= value <= one.high + 1e-9:
                raise ValueError(
                    f"{name}={value!r} lies outside {one.low:g} to {one.high:g}. Take a value of the space."
                )
        return setting


def as_argument(parameter: Parameter, value: Any, shape: tuple[int, int] | None, current: Any) -> Any:
    """Turn a value of a setting into an argument of the estimator, whose own value is `current`."""
    if isinstance(parameter, Choice):
        return parameter.options[parameter.labels.index(value)]
    if not isinstance(parameter, Normalized) or shape is None:
        return value
    whole = isinstance(current, (int, np.integer)) and not isinstance(current, bool)
    return parameter.number(value, shape, integer=whole)


def key_of(setting: Setting) -> str:
    """Return what two equal settings share."""
    return repr(sorted(setting.items()))


def _size(parameter: Parameter) -> float:
    if isinstance(parameter, Choice):
        return len(parameter.options)
    return parameter.high - parameter.low + 1 if isinstance(parameter, Integer) else math.inf


def _is_gap(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _as_value(parameter: Parameter, value: Any) -> Any:
    """A value in the space's own type: tables turn whole numbers into floats, and all into NumPy's types."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(parameter, Choice):
        return label_of(value)
    if isinstance(parameter, Integer) and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
