"""Metrics by name, with what is known about each: what it needs, which way is better, its range.

``get("auc_r_nx")(X, Y)`` computes one, whatever it is called with beyond what it needs, so that a tuner or the command
line can treat all alike. `register` adds the user's own.
"""

from __future__ import annotations

import importlib
import inspect
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from manifolia._core.types import ArrayLike, FloatArray
from manifolia._core.validate import check_bool, check_option

__all__ = ["Metric", "get", "names", "register"]

_DIRECTIONS = ("higher", "lower")
#: What a metric may need: data, map, target, kernel and arrows.
_INPUTS = ("X", "Y", "y", "K", "gradients")
#: What a size of neighbourhood is called among the parameters of a metric.
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
        (kernel) and ``"gradients"`` (arrows).
    range : tuple of float
        Least and greatest value; values beyond, such as those of a map that is worse than random, are possible where
        the description says so, and are clipped when normalised.
    description : str
        One line.
    classes_only : bool
        Whether ``y`` must hold classes.
    parameters : mapping
        Parameters that are bound to other values than the function's defaults.
    source : callable or str
        The function, or where it is: ``"module:name"``.
    normalizer : callable or None
        Turns a value into one of [0, 1] with smaller being better; None does it by `range` and `direction`.
    """

    name: str
    direction: str
    needs: tuple[str, ...]
    range: tuple[float, float]
    description: str = ""
    classes_only: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Callable[..., Any] | str = field(default="", repr=False)
    normalizer: Callable[[float], float] | None = field(default=None, repr=False)

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself, imported when it is first asked for."""
        if callable(self.source):
            return self.source
        module, _, name = self.source.partition(":")
        return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]

    def __call__(
        self,
        X: ArrayLike | None = None,
        Y: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        K: ArrayLike | None = None,
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
        given = {"X": X, "Y": Y, "y": y, "K": K, "gradients": gradients}
        missing = [name for name in self.needs if given[name] is None]
        if missing:
            message = f"metric {self.name!r} needs {' and '.join(self.needs)}, and {' and '.join(missing)} is missing."
            raise ValueError(message)
        return self.function(*(given[name] for name in self.needs), **{**self.parameters, **parameters})

    def accepts(self, parameter: str) -> bool:
        """Tell whether the function has a parameter.

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
        """What the size of neighbourhood is called among its parameters; None if it has none."""
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
        """Bring a value into [0, 1] with smaller being better, as the tuner compares metrics.

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
        """Tell whether one value is better than another.

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


def _built_in() -> dict[str, Metric]:
    share, signed = (0.0, 1.0), (-1.0, 1.0)
    high, low = _DIRECTIONS
    data, labelled, both = ("X", "Y"), ("Y", "y"), ("X", "Y", "y")
    rows: list[tuple[str, str, str, tuple[str, ...], tuple[float, float], str]] = [
        (
            "auc_r_nx",
            "coranking",
            high,
            data,
            share,
            "neighbourhoods of every size kept beyond chance (below 0: worse)",
        ),
        ("q_local", "coranking", high, data, share, "share of neighbours kept, small neighbourhoods"),
        ("q_global", "coranking", high, data, share, "share of neighbours kept, large neighbourhoods"),
        ("trustworthiness", "neighborhood", high, data, share, "neighbours in the map are near in the data"),
        ("continuity", "neighborhood", high, data, share, "neighbours in the data are near in the map"),
        ("neighbor_recall", "neighborhood", high, data, share, "share of the k nearest that are kept"),
        ("shepard_goodness", "distance", high, data, signed, "rank correlation of distances"),
        ("distance_correlation", "distance", high, data, signed, "correlation of distances"),
        ("normalized_stress", "distance", low, data, share, "misfit of distances at the best scale"),
        ("distance_ratio", "distance", high, data, share, "mean ratio of distances at the best scale"),
        ("radius_correlation", "density", high, data, signed, "the map is dense where the data is"),
        ("anisotropy_correlation", "density", high, data, signed, "neighbourhoods keep their shape"),
        ("centroid_triplet_accuracy", "supervised", high, both, share, "class centres keep the order of distances"),
        ("class_distance_correlation", "supervised", high, both, signed, "class centres keep their distances"),
        ("knn_accuracy", "supervised", high, labelled, share, "neighbours in the map vote for the right class"),
        ("classification_error", "supervised", low, labelled, share, "wrong predictions of a logistic regression"),
        ("nmi", "supervised", high, labelled, share, "k-means clusters of the map agree with the classes"),
        ("silhouette", "supervised", high, labelled, signed, "classes are apart in the map"),
        ("importance_alignment", "importance", high, both, signed, "features that matter for y predict the map"),
        ("target_alignment", "importance", high, ("K", "y"), signed, "the kernel sees the target"),
        ("arrow_fidelity", "arrows", high, ("X", "Y", "gradients"), signed, "arrows point where features grow"),
    ]
    out = {
        name: Metric(
            name, direction, needs, limits, text, module == "supervised", {}, f"manifolia.metrics.{module}:{name}"
        )
        for name, module, direction, needs, limits, text in rows
    }
    out["importance_alignment_global"] = replace(
        out["importance_alignment"],
        name="importance_alignment_global",
        description="distances in the features that matter for y resemble those in the map",
        parameters={"scope": "global"},
    )
    return out


_METRICS = _built_in()
_lock = threading.Lock()


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
    metric = name if isinstance(name, Metric) else _METRICS[check_option(name, "metric", names())]
    unknown = [parameter for parameter in parameters if not metric.accepts(parameter)]
    if unknown:
        known = [p for p in inspect.signature(metric.function).parameters if p not in metric.needs]
        message = f"metric {metric.name!r} has no parameter {unknown[0]!r}. It has {', '.join(known)}."
        raise ValueError(message)
    return replace(metric, parameters={**metric.parameters, **parameters}) if parameters else metric


def names(given: Sequence[str] | None = None) -> list[str]:
    """List the metrics.

    Parameters
    ----------
    given : sequence of str, default=None
        Inputs at hand, of ``"X"``, ``"Y"``, ``"y"``, ``"K"`` and ``"gradients"``: only metrics that need no more are
        listed. None lists all.

    Returns
    -------
    list of str
        Built-in ones in their order, then those that were registered.
    """
    with _lock:
        metrics = list(_METRICS.values())
    if given is None:
        return [metric.name for metric in metrics]
    for one in given:
        check_option(one, "given", _INPUTS)
    return [metric.name for metric in metrics if set(metric.needs) <= set(given)]


def register(
    name: str,
    function: Callable[..., Any],
    *,
    direction: str,
    needs: Sequence[str] = ("X", "Y"),
    range: tuple[float, float] = (0.0, 1.0),
    description: str = "",
    classes_only: bool = False,
    normalize: Callable[[float], float] | None = None,
    overwrite: bool = False,
) -> Metric:
    """Add a metric of the user's, for this process.

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
        Of ``"X"`` (data), ``"Y"`` (map), ``"y"`` (target), ``"K"`` (kernel) and ``"gradients"`` (arrows).
    range : tuple of float, default=(0.0, 1.0)
        Least and greatest value. The greatest may be infinite: it is then normalised by v ↦ 1 − 1/(1 + v − least).
    description : str, default=""
        One line.
    classes_only : bool, default=False
        Whether ``y`` must hold classes; `report` leaves the metric out for a numeric target.
    normalize : callable, default=None
        Turns a value into one of [0, 1] with smaller being better; None does it by `range` and `direction`.
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
        message = f"name must be a text that is a valid Python name, got {name!r}. Use letters, digits and underscores."
        raise ValueError(message)
    if not callable(function):
        message = f"function must be callable, got {function!r}. It takes the inputs that needs lists."
        raise TypeError(message)
    check_option(direction, "direction", _DIRECTIONS)
    if isinstance(needs, str) or not needs:
        message = f"needs must be a non-empty list of inputs, got {needs!r}. Pass for example ['X', 'Y']."
        raise ValueError(message)
    for one in needs:
        check_option(one, "needs", _INPUTS)
    low, high = (float(limit) for limit in range)
    if not low < high or math.isinf(low) or math.isnan(high):
        message = f"range must be (least, greatest) with a finite least below the greatest, got {range!r}."
        raise ValueError(message)
    check_bool(classes_only, "classes_only")
    metric = Metric(name, direction, tuple(needs), (low, high), description, classes_only, {}, function, normalize)
    with _lock:
        if name in _METRICS and not check_bool(overwrite, "overwrite"):
            message = f"a metric {name!r} is registered already. Choose another name, or pass overwrite=True."
            raise ValueError(message)
        _METRICS[name] = metric
    return metric
