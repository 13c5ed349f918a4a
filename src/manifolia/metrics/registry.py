"""Cards of metrics: what each means, what it needs, which way is better, its range, and where it is shown.

``get("auc_r_nx")(X, Y)`` computes one, whatever it is called with beyond what it needs, so that a tuner or the command
line can treat all alike. `register` adds the user's own. The names of the package, the report, the page, the command
line and the reference are all read from the cards.
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

__all__ = ["PUBLIC", "Metric", "get", "names", "register", "shown"]

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
    meaning : str
        What it tells, in one sentence.
    classes_only : bool
        Whether ``y`` must hold classes.
    parameters : mapping
        Parameters that are bound to other values than the function's defaults.
    source : callable or str
        The function, or where it is: ``"module:name"``.
    normalizer : callable or None
        Turns a value into one of [0, 1] with smaller being better; None does it by `range` and `direction`.
    label : str
        Name for people, as the page writes it.
    shared_pass : str
        Family that computes it together with others in one pass: "coranking", "neighborhood", "distance" or "density".
    shown : tuple of str
        Where it is shown without being asked for: "run" (the report of a run, its page and ``manifolia score``), "page"
        (the page of a model). `report` and ``manifolia score --all`` show all, and the tuner takes all.
    n_classes : int
        The fewest classes that it can be had of.
    judged_on : str
        What it is computed from, where that is not what `report` is asked to use.
    """

    name: str
    direction: str
    needs: tuple[str, ...]
    range: tuple[float, float]
    meaning: str = ""
    classes_only: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)
    source: Callable[..., Any] | str = field(default="", repr=False)
    normalizer: Callable[[float], float] | None = field(default=None, repr=False)
    label: str = ""
    shared_pass: str = ""
    shown: tuple[str, ...] = ()
    n_classes: int = 2
    judged_on: str = ""

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


_SHARE, _SIGNED = (0.0, 1.0), (-1.0, 1.0)


def _card(
    family: str, name: str, label: str, meaning: str, range: tuple[float, float] = _SHARE, **about: Any
) -> Metric:
    """Make the card of a built-in metric; most are better when higher."""
    needs: tuple[str, ...] = about.pop("needs", ("X", "Y"))
    return Metric(
        name,
        about.pop("direction", "higher"),
        needs,
        range,
        meaning,
        classes_only=family == "supervised",
        source=f"manifolia.metrics.{family}:{about.pop('function', name)}",
        label=label,
        shared_pass=family if family in _PASSES else "",
        **about,
    )


_PASSES = ("coranking", "neighborhood", "distance", "density")
_RUN, _BOTH = ("run",), ("run", "page")
_ALL_THREE: dict[str, Any] = {"needs": ("X", "Y", "y")}
_LABELLED: dict[str, Any] = {"needs": ("Y", "y"), "shown": _RUN}

_CARDS = (
    _card(
        "coranking", "auc_r_nx", "Area under R_NX",
        "Neighbourhoods of every size kept, small ones counted most: 0 is a random map, 1 a perfect one.", shown=_RUN,
    ),
    _card(
        "coranking", "q_local", "Small neighbourhoods kept",
        "Share of neighbours kept, averaged over the sizes of neighbourhood up to the one that gains most over chance.",
    ),
    _card(
        "coranking", "q_global", "Large neighbourhoods kept",
        "Share of neighbours kept, averaged over the sizes of neighbourhood from the one that gains most over chance.",
    ),
    _card(
        "neighborhood", "trustworthiness", "Trustworthiness",
        "Is what lies close in the map close in the data? Falls when rows lie together that are far apart in the data.",
        shown=_BOTH,
    ),
    _card(
        "neighborhood", "continuity", "Continuity",
        "Is what is close in the data still together? Falls when the map tears neighbours apart.", shown=_BOTH,
    ),
    _card(
        "neighborhood", "neighbor_recall", "Neighbours kept",
        "Share of each row's nearest rows in the data that are also among its nearest in the map.", shown=_BOTH,
    ),
    _card(
        "distance", "shepard_goodness", "Order of distances",
        "Do pairs that are farther apart in the data lie farther apart in the map? Rank correlation over pairs.",
        _SIGNED, shown=_BOTH,
    ),
    _card(
        "distance", "distance_correlation", "Correlation of distances",
        "Correlation of the distances in the data and in the map, over pairs.", _SIGNED,
    ),
    _card(
        "distance", "normalized_stress", "Stress",
        "How far distances in the map are off, at the best common scale, as a share of those in the data.",
        direction="lower", shown=_RUN,
    ),
    _card(
        "distance", "distance_ratio", "Ratio of distances",
        "Mean over pairs of the smaller of the two distances, in the data and in the map at equal mean, divided by the "
        "larger; 1 if all agree.",
    ),
    _card(
        "density", "radius_correlation", "Density kept",
        "Do dense places stay dense and sparse ones sparse? Correlation of the radii of neighbourhoods.", _SIGNED,
        shown=_RUN,
    ),
    _card(
        "density", "anisotropy_correlation", "Shapes kept",
        "Do neighbourhoods that are stretched in the data stay stretched the same way?", _SIGNED,
    ),
    _card(
        "supervised", "centroid_triplet_accuracy", "Order of classes kept",
        "Of two class centres, is the same one nearer to a third in the data and in the map? 0.5 is chance.",
        n_classes=3, shown=_RUN, **_ALL_THREE,
    ),
    _card(
        "supervised", "class_distance_correlation", "Distances of classes kept",
        "Correlation of the distances between class centres in the data and in the map.", _SIGNED, n_classes=3,
        **_ALL_THREE,
    ),
    _card(
        "supervised", "knn_accuracy", "Class told by neighbours",
        "Share of rows whose nearest rows in the map vote for their own class.", needs=("Y", "y"), shown=_BOTH,
    ),
    _card(
        "supervised", "classification_error", "Error of a linear classifier",
        "Share of held-out rows whose class a logistic regression on the map's coordinates gets wrong.",
        direction="lower", judged_on="20 % held out", **_LABELLED,
    ),
    _card(
        "supervised", "nmi", "Agreement of clusters with classes",
        "Do k-means clusters of the map agree with the classes? 0 is no agreement, 1 is complete.", **_LABELLED,
    ),
    _card(
        "supervised", "silhouette", "Separation of classes",
        "Are rows nearer to their own class than to the next one in the map? From −1 to 1; around 0 classes overlap.",
        _SIGNED, **_LABELLED,
    ),
    _card(
        "importance", "importance_alignment", "What matters shapes the map",
        "Are the columns that predict the target those that predict the place in the map? Correlation over columns.",
        _SIGNED, **_ALL_THREE,
    ),
    _card(
        "importance", "target_alignment", "Kernel sees the target",
        "Are rows alike for the kernel when they are alike for the target?", _SIGNED, needs=("K", "y"),
    ),
    _card(
        "arrows", "arrow_fidelity", "Arrows point right",
        "Do the arrows of the most important columns point where those columns grow in the map? Mean cosine.", _SIGNED,
        needs=("X", "Y", "gradients"),
    ),
    _card(
        "importance", "importance_alignment_global", "What matters spreads the map",
        "Do distances in the columns that predict the target resemble those in the map? Correlation over columns.",
        _SIGNED, function="importance_alignment", parameters={"scope": "global"}, **_ALL_THREE,
    ),
)  # fmt: skip
_METRICS = {card.name: card for card in _CARDS}
#: Public functions of the package that give curves, matrices and tables instead of one number, by their module.
_TABLES = {
    "coranking": ("coranking_matrix", "k_max", "lcmc", "q_nx", "r_nx", "random_baseline"),
    "variables": ("variable_preservation", "variable_ranking"),
    "registry": ("Metric", "get", "names", "register"),
    "_report": ("report",),
}
#: Every public name of the package to its module.
PUBLIC = {
    **{str(card.source).partition(":")[2]: str(card.source).partition(":")[0] for card in _CARDS},
    **{name: f"manifolia.metrics.{module}" for module, names in _TABLES.items() for name in names},
}
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


def shown(place: str, given: Sequence[str], *, n_classes: int = 0) -> list[str]:
    """List the metrics that a place shows without being asked: "run" or "page"."""
    return [
        name
        for name in names(given)
        if place in _METRICS[name].shown and not (_METRICS[name].classes_only and n_classes < _METRICS[name].n_classes)
    ]


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
    meaning : str, default=""
        What it tells, in one sentence.
    label : str, default=""
        Name for people; the name with spaces if it is left out.
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
    spoken = label or name.replace("_", " ")
    metric = Metric(name, direction, tuple(needs), (low, high), meaning, classes_only, {}, function, normalize, spoken)
    with _lock:
        if name in _METRICS and not check_bool(overwrite, "overwrite"):
            message = f"a metric {name!r} is registered already. Choose another name, or pass overwrite=True."
            raise ValueError(message)
        _METRICS[name] = metric
    return metric
