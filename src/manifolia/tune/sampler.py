"""Our proposals as an Optuna sampler, for studies that Optuna itself runs, and for `Tuner`.

    study = optuna.create_study(sampler=SurrogateSampler({"x": (0.0, 1.0)}, random_state=0))
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, n_trials=20)

A trial may carry the standard errors of its values as the user attribute ``"standard_errors"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from manifolia._core.random import as_seed
from manifolia._core.types import RandomState
from manifolia._core.validate import check_number, check_option
from manifolia.tune.parameters import Choice, Integer
from manifolia.tune.proposal import SURROGATES, pilot_design, propose
from manifolia.tune.space import SearchSpace, Setting
from manifolia.tune.study import mixed_seed
from manifolia.tune.surrogate import Observations


class SurrogateSampler(BaseSampler):
    """Proposes settings by a surrogate on scikit-learn's regressors.

    Parameters
    ----------
    space : SearchSpace or mapping
        The space of settings; suggestions must use the same names and limits.
    surrogate : str, default="gp-ei"
        One of ``"gp-ei"``, ``"gp-pi"``, ``"gp-lcb"``, ``"forest"``, ``"random"`` and ``"nsga2"``.
    n_pilot : int, default=5
        Trials of the space-filling design that come first.
    random_state : int, RandomState, Generator or None, default=None
        A proposal follows from it, the trial's number and the finished trials.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> sampler = SurrogateSampler({"x": (0.0, 1.0)}, random_state=0)
    >>> study = optuna.create_study(sampler=sampler)
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2, n_trials=12)
    >>> abs(study.best_params["x"] - 0.3) < 0.05
    True
    """

    def __init__(
        self,
        space: SearchSpace | Mapping[str, Any],
        surrogate: str = "gp-ei",
        *,
        n_pilot: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.space = space if isinstance(space, SearchSpace) else SearchSpace(space)
        self.surrogate = check_option(surrogate, "surrogate", [kind for kind in SURROGATES if kind != "grid"])
        self.n_pilot = check_number(n_pilot, "n_pilot", low=1, integer=True)
        self._seed = as_seed(random_state)
        #: A setting that the next trial must have; `Tuner` decides itself and only records it here.
        self.fixed: Setting | None = None

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return the space as Optuna's distributions.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The new trial.

        Returns
        -------
        dict
            Name to distribution.
        """
        return {} if self.fixed is not None else distributions(self.space)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose a setting.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The new trial.
        search_space : dict
            From `infer_relative_search_space`.

        Returns
        -------
        dict
            Name to value, of the parameters that apply.
        """
        if self.fixed is not None:
            return {}
        if trial.number < self.n_pilot:
            return pilot_design(self.space, self.n_pilot, self._seed)[trial.number]
        observed = self._observed(study)
        return propose(self.space, observed, self.surrogate, mixed_seed(self._seed, trial.number)).setting

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the value of a parameter that the proposal does not hold.

        Parameters
        ----------
        study : optuna.Study
            The study.
        trial : optuna.trial.FrozenTrial
            The new trial.
        param_name : str
            Parameter.
        param_distribution : optuna.distributions.BaseDistribution
            What the trial asks for.

        Returns
        -------
        object
            The fixed value, or one at random for a parameter outside the space.
        """
        if self.fixed is not None:
            return self.fixed[param_name]
        draw = optuna.samplers.RandomSampler(seed=mixed_seed(self._seed, trial.number))
        return draw.sample_independent(study, trial, param_name, param_distribution)

    def _observed(self, study: Study) -> Observations:
        finished = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        usable = [t for t in finished if all(name in self.space.parameters for name in t.params)]
        signs = np.array([1.0 if d == StudyDirection.MINIMIZE else -1.0 for d in study.directions])
        losses = np.array([t.values for t in usable], dtype=np.float64).reshape(len(usable), signs.size) * signs
        errors = [t.user_attrs.get("standard_errors") for t in usable]
        noise = None if not errors or any(one is None for one in errors) else np.array(errors, dtype=np.float64)
        return Observations([dict(t.params) for t in usable], losses, noise)


def distributions(space: SearchSpace, names: Sequence[str] | None = None) -> dict[str, BaseDistribution]:
    """Write parameters as Optuna's distributions."""
    out: dict[str, BaseDistribution] = {}
    for name in space.names if names is None else names:
        one = space.parameters[name]
        if isinstance(one, Choice):
            out[name] = CategoricalDistribution(one.labels)
        elif isinstance(one, Integer):
            out[name] = IntDistribution(one.low, one.high, log=one.log)
        else:
            out[name] = FloatDistribution(one.low, one.high, log=one.log)
    return out
