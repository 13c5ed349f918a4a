"""Cards of metrics: what each means, what it needs, which direction is better, its range, and where it is shown.

``get("auc_r_nx")(X, Y)`` computes one, and ignores inputs that it does not need, so that a tuner or the command line
can treat all alike. `register` adds the user's own. A function of the package has its card above it (`card`), where the
report, the page, the command line, the tuner and the reference read it.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_option
from manifolia.exceptions import ParameterError, ParameterTypeError

_DIRECTIONS = ("higher", "lower")
#: What a metric may need: data, map, target, kernel, proximities and arrows.
_INPUTS = ("X", "Y", "y", "K", "P", "gradients")
#: Names of the parameter for the size of neighbourhood.
_SIZES = ("k", "n_neighbors")


@dataclass(frozen=True)
class Metric:
    """A metric that knows itself. Call it with ``(X, Y, y)``; it takes what it needs.

    Attributes
    ----------
    name : str
        Name in the registry.
    direction : {"higher", "lower"}
        Which values are better.
    needs : tuple of str
        Inputs, in the order of the function's parameters: of ``"X"`` (data), ``"Y"`` (map), ``"y"`` (target), ``"K"``
        (kernel), ``"P"`` (proximities) and ``"gradients"`` (arrows).
    range : tuple of float
        Least and greatest value. Values beyond, such as those of a map that is worse than random, are possible where
        the description says so, and are clipped when normalised.
    function : callable
        Computes it.
    meaning : str
        What it measures, in one sentence.
    parameters : mapping
        Parameters that are bound to other values than the function's defaults.
    normalizer : callable or None
        Maps a value to [0, 1] with smaller being better; None does this by `range` and `direction`.
    label : str
        Name for people, as the page writes it.
    shared_pass : str
        Family that computes it together with others in one pass: "coranking", "neighborhood", "distance" or "density".
    shown : tuple of str
        Where it is shown without being asked for: "run" (the report of a run, its page and ``manifolia score``), "page"
        (the page of a model). `report` and ``manifolia score --all`` show all, and the tuner takes all.
    n_classes : int
        The fewest classes that it needs; 0 if ``y`` need not hold classes.
    judged_on : str
        What it is computed from, if that is not what `report` is asked to use.
    """

    name: str
    direction: str
    needs: tuple[str, ...]
    range: tuple[float, float]
    function: Callable[..., Any] = field(repr=False)
    meaning: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    normalizer: Callable[[float], float] | None = field(default=None, repr=False)
    label: str = ""
    shared_pass: str = ""
    shown: tuple[str, ...] = ()
    n_classes: int = 0
    judged_on: str = ""

    @property
    def classes_only(self) -> bool:
        """Whether ``y`` must hold classes."""
        return self.n_classes > 0

    def __call__(
        self,
        X: ArrayLike | None = None,
        Y: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        K: ArrayLike | None = None,
        P: ArrayLike | None = None,
        gradients: FloatArray | None = None,
        **parameters: Any,
    ) -> Any:
        """Compute the metric from those of the inputs that it needs.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            Data.
        Y : array-like of shape (n, n_components), default=None
            Map.
        y : array-like of shape (n,), default=None
            Target.
        K : array-like or sparse matrix of shape (n, n), default=None
            Kernel.
        P : array-like or sparse matrix of shape (n, n), default=None
            Proximities of a forest.
        gradients : ndarray of shape (n, d, n_components), default=None
            Arrows.
        **parameters : object
            Passed on to the function, such as ``k=5`` or ``sample=1000``.

        Returns
        -------
        float
            The value, or what the function returns for these parameters.

        Raises
        ------
        ValueError
            If an input that it needs is missing.
        """
        given = {"X": X, "Y": Y, "y": y, "K": K, "P": P, "gradients": gradients}
        missing = [name for name in self.needs if given[name] is None]
        if missing:
            raise ValueError(
                f"metric {self.name!r} needs {' and '.join(self.needs)}, and {' and '.join(missing)} is missing."
            )
        return self.function(*(given[name] for name in self.needs), **{**self.parameters, **parameters})

    def accepts(self, parameter: str) -> bool:
        """Return whether the function has a parameter.

        Parameters
        ----------
        parameter : str
            Its name.

        Returns
        -------
        bool
            True if it can be passed.
        """
        known = inspect.signature(self.function).parameters
        return parameter in known or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())

    @property
    def size_name(self) -> str | None:
        """Name of its parameter for the size of neighbourhood; None if it has none."""
        known = inspect.signature(self.function).parameters
        return next((name for name in _SIZES if name in known), None)

    @property
    def size(self) -> int | None:
        """The size of neighbourhood that is used unless another is passed; None if it has none."""
        name = self.size_name
        if name is None:
            return None
        default = inspect.signature(self.function).parameters[name].default
        return self.parameters.get(name, None if default is inspect.Parameter.empty else default)

    def normalize(self, value: Any) -> Any:
        """Map a value to [0, 1] with smaller being better, as the tuner compares metrics.

        Parameters
        ----------
        value : float or ndarray
            Value of this metric.

        Returns
        -------
        float or ndarray
            0 for the best value; NaN stays NaN.

        References
        ----------
        Liao, Luo, Ma, "Efficient and robust Bayesian selection of hyperparameters in dimension reduction for
        visualization", footnote 1.
        """
        if self.normalizer is not None:
            return self.normalizer(value)
        low, high = self.range
        values = np.asarray(value, dtype=np.float64)
        if math.isinf(high):  # [low, ∞) onto [0, 1)
            share = 1.0 - 1.0 / (1.0 + np.maximum(values - low, 0.0))
        else:
            share = np.clip((values - low) / (high - low), 0.0, 1.0)
        out = share if self.direction == "lower" else 1.0 - share
        return float(out) if np.ndim(value) == 0 else out

    def better(self, a: float, b: float) -> bool:
        """Return whether one value is better than another.

        Parameters
        ----------
        a : float
            A value.
        b : float
            Another.

        Returns
        -------
        bool
            True if `a` is strictly better; NaN is never better.
        """
        return a > b if self.direction == "higher" else a < b


_BUILT_IN: dict[str, dict[str, Metric]] = {}  # module to the cards of its functions
_OWN: dict[str, Metric] = {}  # the user's
#: Families whose measures are computed together, in one pass of ``<family>_scores``.
_PASSES = ("coranking", "neighborhood", "distance", "density")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def card(
    label: str,
    meaning: str,
    *,
    name: str = "",
    direction: str = "higher",
    needs: Sequence[str] = ("X", "Y"),
    range: tuple[float, float] = (0.0, 1.0),
    **about: Any,
) -> Callable[[_Function], _Function]:
    """Give a function of the package its card, which all others read; `about` holds further fields of `Metric`."""

    def keep(function: _Function) -> _Function:
        own, family = name or function.__name__, function.__module__.rpartition(".")[2]
        metric = Metric(own, direction, tuple(needs), range, function, meaning, label=label, **about)
        metric = replace(metric, shared_pass=family if family in _PASSES else "")
        _BUILT_IN.setdefault(function.__module__, {})[own] = metric
        return function

    return keep


def _cards() -> dict[str, Metric]:
    """All cards, in the order of the package's families; these are imported when a card is first asked for."""
    modules = [f"manifolia.metrics.{family}" for family in importlib.import_module("manifolia.metrics").FAMILIES]
    for module in modules:
        importlib.import_module(module)
    return {**{name: one for module in modules for name, one in _BUILT_IN.get(module, {}).items()}, **_OWN}


def get(name: str | Metric, **parameters: Any) -> Metric:
    """Find a metric by its name.

    Parameters
    ----------
    name : str or Metric
        One of `names`; a metric is passed through.
    **parameters : object
        Parameters to bind, such as ``k=5``.

    Returns
    -------
    Metric
        To be called with ``(X, Y, y)``.

    Raises
    ------
    ValueError
        If there is no such metric; the nearest name is suggested. Or if it has no such parameter.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> get("trustworthiness", k=5)(X, X)
    1.0
    """
    metric = name if isinstance(name, Metric) else _cards()[check_option(name, "metric", names())]
    unknown = [parameter for parameter in parameters if not metric.accepts(parameter)]
    if unknown:
        known = [p for p in inspect.signature(metric.function).parameters if p not in metric.needs]
        raise ValueError(f"metric {metric.name!r} has no parameter {unknown[0]!r}. It has {', '.join(known)}.")
    return replace(metric, parameters={**metric.parameters, **parameters}) if parameters else metric


def names(given: Sequence[str] | None = None) -> list[str]:
    """List the metrics.

    Parameters
    ----------
    given : sequence of str, default=None
        Inputs at hand, of ``"X"``, ``"Y"``, ``"y"``, ``"K"``, ``"P"`` and ``"gradients"``: only metrics that need no
        more are listed. None lists all.

    Returns
    -------
    list of str
        Built-in ones in their order, then those that were registered.
    """
    metrics = list(_cards().values())
    if given is None:
        return [metric.name for metric in metrics]
    for one in given:
        check_option(one, "given", _INPUTS)
    return [metric.name for metric in metrics if set(metric.needs) <= set(given)]


def shown(place: str, given: Sequence[str], *, n_classes: int = 0) -> list[str]:
    """List the metrics that a place shows without being asked: "run" or "page"."""
    cards = [get(name) for name in names(given)]
    return [one.name for one in cards if place in one.shown and one.n_classes <= n_classes]


def register(
    name: str,
    function: Callable[..., Any],
    *,
    direction: str,
    needs: Sequence[str] = ("X", "Y"),
    range: tuple[float, float] = (0.0, 1.0),
    meaning: str = "",
    label: str = "",
    classes_only: bool = False,
    normalize: Callable[[float], float] | None = None,
    overwrite: bool = False,
) -> Metric:
    """Add the user's own metric, for this process.

    Parameters
    ----------
    name : str
        A name that no other metric has.
    function : callable
        Takes the inputs of `needs`, in that order, and returns a float. Where it has parameters called ``k`` or
        ``n_neighbors``, ``sample``, ``random_state``, ``n_jobs`` and ``return_ci`` with the meaning they have here,
        `report` makes use of them.
    direction : {"higher", "lower"}
        Which values are better.
    needs : sequence of str, default=("X", "Y")
        Of ``"X"`` (data), ``"Y"`` (map), ``"y"`` (target), ``"K"`` (kernel), ``"P"`` (proximities) and
        ``"gradients"`` (arrows).
    range : tuple of float, default=(0.0, 1.0)
        Least and greatest value. The greatest may be infinite: it is then normalised by v ↦ 1 − 1/(1 + v − least).
    meaning : str, default=""
        What it measures, in one sentence.
    label : str, default=""
        Name for people; the name with spaces if it is left out.
    classes_only : bool, default=False
        Whether ``y`` must hold classes; `report` leaves the metric out for a numeric target.
    normalize : callable, default=None
        Maps a value to [0, 1] with smaller being better; None does this by `range` and `direction`.
    overwrite : bool, default=False
        Replace a metric of that name.

    Returns
    -------
    Metric
        As `get` will find it.

    Raises
    ------
    TypeError, ValueError
        If something does not fit, or the name is taken.

    Examples
    --------
    >>> import numpy as np
    >>> def spread(Y):
    ...     return float(np.std(Y))
    >>> metric = register("spread", spread, direction="higher", needs=["Y"], range=(0.0, np.inf), overwrite=True)
    >>> metric(Y=np.array([[0.0], [2.0]]))
    1.0
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(
            f"name must be a text that is a valid Python name, got {name!r}. Use letters, digits and underscores.",
            parameter="name",
        )
    if not callable(function):
        raise ParameterTypeError(
            f"function must be callable, got {function!r}. It takes the inputs that needs lists.", parameter="function"
        )
    check_option(direction, "direction", _DIRECTIONS)
    if isinstance(needs, str) or not needs:
        raise ParameterError(
            f"needs must be a non-empty list of inputs, got {needs!r}. Pass for example ['X', 'Y'].", parameter="needs"
        )
    for one in needs:
        check_option(one, "needs", _INPUTS)
    low, high = (float(limit) for limit in range)
    if not low < high or math.isinf(low) or math.isnan(high):
        raise ParameterError(
            f"range must be (least, greatest) with a finite least below the greatest, got {range!r}.", parameter="range"
        )
    spoken = label or name.replace("_", " ")
    metric = Metric(
        name,
        direction,
        tuple(needs),
        (low, high),
        function,
        meaning,
        normalizer=normalize,
        label=spoken,
        n_classes=2 if check_bool(classes_only, "classes_only") else 0,
    )
    if name in _cards() and not check_bool(overwrite, "overwrite"):
        raise ValueError(f"a metric {name!r} is registered already. Choose another name, or pass overwrite=True.")
    _OWN[name] = metric
    return metric
