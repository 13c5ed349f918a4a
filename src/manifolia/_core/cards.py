"""What a method's card holds; `manifolia.registry` has the cards."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from manifolia._core.pipelines import last_step


class Range(NamedTuple):
    """The range of one parameter that the tuner searches."""

    kind: str  # "integer", "real", "share" (of the rows) or "choice"
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()


class Limit(NamedTuple):
    """The maximum of a parameter: (rows − 1) / divisor."""

    divisor: int
    why: str  # The reason, for a message
    rows: str = ""  # Parameter that limits the rows, such as "n_train"; empty is all rows

    def most(self, model: Any, n_rows: int) -> float:
        """Compute the limit for a model that gets this many rows."""
        own = getattr(model, self.rows) if self.rows else None
        return ((n_rows if own is None else min(n_rows, int(own))) - 1) / self.divisor


#: Limits of parameters that have the same name in every library.
LIMITS = {
    "n_neighbors": Limit(1, "there are no more than n − 1"),
    "knn": Limit(1, "there are no more than n − 1"),
    "perplexity": Limit(1, "it must be below n"),
}


@dataclass(frozen=True)
class Card:
    """What is known about a method.

    Fields that depend on a model's parameters or fit (marked †) hold the usual case on the card of a name, and the case
    of this model on ``card_of(model)``.

    Attributes
    ----------
    name : str
        As in ``--method``.
    path : str
        Where the class is, as ``"module:Class"``.
    summary : str
        One line.
    distribution : str, default="manifolia"
        What to install when it is missing, as ``pip`` names it.
    label : str, default=""
        Name as people write it, such as "RF-PHATE".
    supervised : bool, default=False
        Whether the target shapes the map, so that it has to be passed.
    takes_missing : bool, default=False
        Whether missing values may stay missing.
    needs_scale : bool, default=True
        Whether it compares distances, so that columns have to be on one scale.
    baseline : bool, default=False
        Whether it is here for comparison.
    package : str, default=""
        What has to be importable, if that is not the package of `path`.
    makes_map : bool, default=True
        Whether it makes a map of a table, and so is listed by name. Others extend a map or prepare for one.
    places : bool, default=True
        Whether it places new rows (``transform``).
    keeps_map : bool, default=True
        Whether the fitted model holds the map of its rows (``embedding_``).
    forest : bool, default=False
        Whether the map is made from a forest: ``forest_``, ``proximity_matrix``, ``feature_importances_`` and
        ``importances_std_``.
    predicts : bool, default=False
        Whether the forest, or another guide, predicted the target of rows that it was not trained on. †
    prediction : str
        Attribute that holds these predictions; ``oob_prediction_`` unless stated otherwise. †
    knower : str, default="the forest"
        Who made them, as in a sentence. †
    sharper : str, default=""
        Name of the method that shows more of what the same forest knows; the page tries it where a map shows much less.
    task : str, default=""
        What the target asked for (``task_``): "classification", "regression", "multilabel", "multioutput" or
        "unsupervised"; empty before the fit, and for methods that do not say. †
    metric : str, default="euclidean"
        How it compares rows. †
    explains : str, default="displacement"
        How it explains the place of a row. "gradients": ``feature_gradients`` and ``feature_importance`` along the
        data; "jacobian": derivative of the formula that places rows (``jacobian``, of ``smooth()`` where ``mapping`` is
        not "kernel"); "shapley": what each value adds to a place that trees give it (``feature_effects``);
        "displacement": rows are placed with other values; "": it cannot. †
    arrows : bool, default=False
        Whether features have arrows with a reliability (``arrow_reliability``, ``reliability_``).
    importance : str, default=""
        What the importance of a column measures; empty if it has none of its own. With a forest it is
        ``feature_importances_``, without one ``feature_importance``. †
    importance_for : str, default=""
        What columns are important for; empty is the target.
    novelty : str, default=""
        What its novelty means, in one sentence; empty if it has none. With one, ``novelty(X=None)`` lies in [0, 1] and
        ``novelty_threshold_`` says above which a row is called novel.
    far_row : str, default=""
        Where a row goes that is far from all others, in one sentence. †
    figures : tuple of str, default=()
        Fitted numbers that say how the fit went, such as ``oob_score_``; see `figures_of`.
    score : str, default=""
        The one of these figures that the map is reported with.
    score_means : str, default=""
        What that figure is, as a sentence to format with `measure` ("accuracy" or "R²") and `value`.
    loss : str, default=""
        Attribute that holds the loss it minimised; see `loss_of`.
    capped : tuple of str, default=()
        Parameters that the fit may lower; the value used is the attribute of that name with an underscore.
    space : dict of str to Range, default={}
        What the tuner searches if it is given no space. †
    forest_space : dict of str to Range, default={}
        What it may search of the forest behind the map. †
    limits : dict of str to Limit
        Maximum values of its parameters, given the number of rows. †
    of_model : callable, default=None
        Makes the card of one model from this one.
    """

    name: str
    path: str
    summary: str
    distribution: str = "manifolia"
    label: str = ""
    supervised: bool = False
    takes_missing: bool = False
    needs_scale: bool = True
    baseline: bool = False
    package: str = ""
    makes_map: bool = True
    places: bool = True
    keeps_map: bool = True
    forest: bool = False
    predicts: bool = False
    prediction: str = "oob_prediction_"
    knower: str = "the forest"
    sharper: str = ""
    task: str = ""
    metric: str = "euclidean"
    explains: str = "displacement"
    arrows: bool = False
    importance: str = ""
    importance_for: str = ""
    novelty: str = ""
    far_row: str = ""
    figures: tuple[str, ...] = ()
    score: str = ""
    score_means: str = ""
    loss: str = ""
    capped: tuple[str, ...] = ()
    space: Mapping[str, Range] = field(default_factory=dict)
    forest_space: Mapping[str, Range] = field(default_factory=dict)
    limits: Mapping[str, Limit] = field(default_factory=lambda: LIMITS)
    of_model: Callable[[Card, Any], Card] | None = field(default=None, repr=False, compare=False)

    @property
    def is_installed(self) -> bool:
        """Whether the package that holds it can be found."""
        return importlib.util.find_spec(self.package or self.root) is not None

    @property
    def is_ours(self) -> bool:
        """Whether manifolia defines it."""
        return self.distribution == "manifolia"

    @property
    def takes_groups(self) -> bool:
        """Whether its ``fit`` is told which rows belong together (``groups=``)."""
        return self.is_ours and "groups" in inspect.signature(self.load().fit).parameters

    @property
    def takes_near(self) -> bool:
        """Whether its ``fit`` may be told to stay near an earlier map (``near=``)."""
        return self.is_ours and "near" in inspect.signature(self.load().fit).parameters

    @property
    def root(self) -> str:
        """Name of the package that defines it."""
        return self.path.partition(":")[0].partition(".")[0]

    def load(self) -> Any:
        """Import the class.

        Returns
        -------
        type
            An estimator with ``fit_transform``.

        Raises
        ------
        ImportError
            If its package is not installed, or cannot be imported.
        """
        module, _, name = self.path.partition(":")
        command = f"pip install {self.distribution}"
        if not self.is_installed:
            raise ImportError(f"method {self.name!r} needs the package {self.distribution}: {command}")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ImportError(
                f"method {self.name!r} is in the package {self.distribution}, which is here but lacks something: "
                f"{error}. Try: {command} --upgrade"
            ) from error

    def figures_of(self, model: Any) -> dict[str, float]:
        """Read the figures of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted; of a pipeline its last step counts.

        Returns
        -------
        dict of str to float
            Name without the underscore to value; those that are not finite numbers are left out.
        """
        found = {name.rstrip("_"): getattr(last_step(model), name, None) for name in self.figures}
        return {name: float(value) for name, value in found.items() if value is not None and math.isfinite(value)}

    def loss_of(self, model: Any) -> float:
        """Read the loss that a fitted model minimised.

        Parameters
        ----------
        model : estimator
            Fitted; of a pipeline its last step counts.

        Returns
        -------
        float
            The loss; NaN where the model does not say.
        """
        try:
            value = float(attrgetter(self.loss)(last_step(model))) if self.loss else math.nan
        except (AttributeError, TypeError):
            return math.nan
        return value if math.isfinite(value) else math.nan
