"""`Tuner`: settings of any map, chosen by evidence (Algorithm 1 of the paper, and what it leaves open).

=====================  ==============================================================================
step                   where
=====================  ==============================================================================
what engines take      `tune.presets`, from the cards of the methods
one run, and its rows  `tune.runner`, with `tune.subsample`
pilots and proposals   `tune.search`, with `tune.proposal` and `tune.surrogate`
what is kept           `tune.study`, in Optuna's storage; by several, `tune.workers`
the answer             `tune.answer`: recommended, confirmed with fresh seeds
all rows               `tune.refit`: the setting carried over, and the map
which settings matter  `tune.sensitivity`
=====================  ==============================================================================
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import clone

from manifolia._core.cells import as_array
from manifolia._core.estimators import Estimator
from manifolia._core.fitting import all_or_nothing
from manifolia._core.groups import read_groups
from manifolia._core.parallel import resolve_n_jobs, threads
from manifolia._core.random import as_seed
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import (
    check_bool,
    check_is_fitted,
    check_matrix,
    check_number,
    check_option,
    check_same_length,
    label_array,
)
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError, ParameterTypeError, TuningError
from manifolia.metrics.registry import Metric
from manifolia.tables.frames import as_pandas
from manifolia.tune.answer import (
    Answer,
    confirm,
    expected_losses,
    front_chances,
    front_table,
    is_flat,
    runs_table,
    study_dict,
    trials_table,
)
from manifolia.tune.noise import check_aggregate
from manifolia.tune.pareto import knee, non_dominated, unit_volume
from manifolia.tune.presets import cut_to_limits, forest_space, preset, with_forest
from manifolia.tune.proposal import DESIGNS, SURROGATES
from manifolia.tune.refit import carried, carried_table, on_all_rows
from manifolia.tune.runner import Bench, Job, Runner, check_metrics
from manifolia.tune.search import Search
from manifolia.tune.sensitivity import Sensitivity, r_squared, sensitivity
from manifolia.tune.space import SearchSpace
from manifolia.tune.study import STAGES, Trial, TrialStore, mixed_seed, study_signature
from manifolia.tune.subsample import SAMPLINGS, sample_size
from manifolia.tune.surrogate import fit_surrogate


class Tuner(Estimator):
    """Finds settings of a map for one or several metrics, on a subsample, with repeats, and says how certain they are.

    Parameters
    ----------
    estimator : object
        Anything with ``fit_transform``, from this library or elsewhere; it is copied, not changed.
    space : mapping of str to parameter
        What to tune: ``(low, high)`` for a range, a list for a choice, or `Real`, `Integer`, `Normalized`, `Choice` and
        `When` of `manifolia.tune`. A range beyond what the estimator takes on that many rows is cut, with a warning.
    metrics : str, Metric, callable or list of these, default="auc_r_nx"
        What a good map is. A function takes ``Y`` and, if it names them, ``X`` and ``y``; larger is better.
    subsample : int, float or None, default=None
        Rows to tune on: a count, a fraction, or all.
    sampling : {"uniform", "leverage", "stratified"}, default="uniform"
        How rows are drawn.
    resample : bool, default=False
        Draw other rows for every repeat: the same ones for all settings, and yet others to confirm the answer.
    n_repeats : int, default=10
        Runs of a setting, with different seeds. A setting that is not random is run twice.
    aggregate : {"auto", "mean", "median"} or ("quantile", q) or ("mean-var", c), default="auto"
        The figure to which the runs of a setting are reduced. ``"auto"``: the mean, or the median if runs vary more
        than settings in the first metric.
    surrogate : {"gp-ei", "gp-pi", "gp-lcb", "forest", "random", "grid", "nsga2"}, default="gp-ei"
        What proposes settings. ``"grid"`` runs a regular grid of at most `n_trials`.
    n_pilot : int, default=5
        Settings of a space-filling design that come first.
    n_trials : int, default=20
        Total number of settings, including pilots and what the storage already holds.
    design : {"lhs", "sobol"}, default="lhs"
        Design of the pilots.
    pilot_params : mapping or None, default=None
        Arguments that make a run cheap, such as ``{"max_iter": 300}``. Twice as many settings are then tried with them
        first, three runs each, and the better half become the pilots; the cheap runs count for nothing else.
    race : bool, default=True
        Save runs of settings that cannot win (one metric only): halving among pilots, racing among proposals.
    batch_size : int, default=1
        Number of proposals that are made, and run, at once.
    early_stop : bool, default=False
        Stop when three proposals in a row promise less than the noise shows; needs a surrogate and repeats.
    n_confirm : int, default=3
        Candidates that are run again with fresh seeds before one is chosen.
    n_full : int, default=3
        After tuning on a subsample, number of runs on all rows for each way to carry fractions over; 0 trusts the
        fraction.
    timeout : float or None, default=None
        Seconds: after three quarters of them no further trial starts; the rest is for confirming.
    metric_sample : int or None, default=None
        Number of rows that metrics use; None is all, up to 5,000.
    pass_target : bool or "auto", default="auto"
        Whether the estimator gets ``y``. ``"auto"``: if it is a supervised method.
    storage : str, Path or optuna storage, default=None
        Path of an SQLite file, or a database; the study can then be resumed after a kill or an interrupt, watched with
        optuna-dashboard, and shared by several processes that make the same call with the same `random_state`.
    study_name : str or None, default=None
        Name of the study in the storage.
    refit : bool, mapping or Series, default=True
        Fit the recommended setting to all rows. A mapping is a setting of the user's own choice, `knee_` or a row of
        `pareto_` for example: with the storage of a finished study it is confirmed and fitted without searching again.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same study for any `n_jobs`. None continues with the seed of a stored study.
    n_jobs : int or None, default=None
        Processes that run side by side; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``, which has the ``best`` loss so far and the ``seconds_left``; returning True
        ends the search, or the confirmation, and the answer rests on the runs so far.

    Attributes
    ----------
    best_params_ : dict
        Arguments for the estimator, on all rows; including an unfitted forest, if parameters of one were tuned.
    best_setting_ : dict
        The same as it was searched, fractions as fractions.
    best_score_ : float or ndarray
        The metric, or metrics, of the recommended setting in runs with fresh seeds; in the runs that led to the choice
        if there was no time for fresh ones (`confirmed_`).
    best_score_error_ : float or ndarray
        Standard error.
    confirmed_ : bool
        Whether `best_score_` comes from fresh runs.
    best_estimator_ : object
        Fitted to all rows, with the seed of the run with the smallest loss; only with ``refit=True``.
    embedding_ : ndarray of shape (n, n_components)
        Its map.
    carried_ : DataFrame
        After tuning on a subsample, the ways to carry the setting over to all rows, with the metrics there.
    trials_ : DataFrame
        Every setting: its loss, its standard error, what the surrogate expects, runs, seconds, error.
    runs_ : DataFrame
        Every run of these trials.
    pareto_ : DataFrame
        With several metrics the settings on the expected front, with the chance that they are on it.
    knee_ : dict
        With several metrics the setting at the knee of the front.
    hypervolume_ : float
        With several metrics, the share of the unit cube of losses that the front dominates; a user's function, which
        has no range, is measured within that of the trials.
    r2_ : float
        Leave-one-out R² of the surrogate of the first metric: whether it knows the loss at all.
    flat_ : bool
        Whether the metric hardly depends on the settings: a sign that the method does not suit the data.
    aggregate_ : object
        What ``aggregate="auto"`` chose.
    n_runs_ : int
        Runs of the estimator, apart from the last fit.
    stopped_ : str
        Why the search ended early; empty if it did not.
    rows_ : ndarray
        Rows tuned on.

    References
    ----------
    .. [1] Y.-T. Liao, H. Luo and A. Ma, "Efficient and robust Bayesian selection of hyperparameters in dimension
       reduction for visualization", 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.manifold import Isomap
    >>> import manifolia as mf
    >>> X = load_iris().data
    >>> tuner = mf.Tuner(Isomap(), {"n_neighbors": (5, 60)}, n_pilot=3, n_trials=5, random_state=0, n_jobs=1).fit(X)
    >>> sorted(tuner.best_params_), tuner.embedding_.shape
    (['n_neighbors'], (150, 2))
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any],
        metrics: Any = "auc_r_nx",
        *,
        subsample: float | None = None,
        sampling: str = "uniform",
        resample: bool = False,
        n_repeats: int = 10,
        aggregate: Any = "auto",
        surrogate: str = "gp-ei",
        n_pilot: int = 5,
        n_trials: int = 20,
        design: str = "lhs",
        pilot_params: Mapping[str, Any] | None = None,
        race: bool = True,
        batch_size: int = 1,
        early_stop: bool = False,
        n_confirm: int = 3,
        n_full: int = 3,
        timeout: float | None = None,
        metric_sample: int | None = None,
        pass_target: bool | str = "auto",
        storage: Any = None,
        study_name: str | None = None,
        refit: Any = True,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        callback: Callback = None,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.metrics = metrics
        self.subsample = subsample
        self.sampling = sampling
        self.resample = resample
        self.n_repeats = n_repeats
        self.aggregate = aggregate
        self.surrogate = surrogate
        self.n_pilot = n_pilot
        self.n_trials = n_trials
        self.design = design
        self.pilot_params = pilot_params
        self.race = race
        self.batch_size = batch_size
        self.early_stop = early_stop
        self.n_confirm = n_confirm
        self.n_full = n_full
        self.timeout = timeout
        self.metric_sample = metric_sample
        self.pass_target = pass_target
        self.storage = storage
        self.study_name = study_name
        self.refit = refit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    @classmethod
    def for_(cls, estimator: Any, **options: Any) -> Tuner:
        """Make a tuner with a sensible space for a known method.

        Parameters
        ----------
        estimator : object or str
            An estimator, or the name of a method as in `manifolia.registry.names`.
        **options : object
            Other parameters of the tuner; ``space=`` overrides single parameters of the preset, or adds to it.

        Returns
        -------
        Tuner
            Not fitted.
        """
        known, space = preset(estimator)
        return cls(known, {**space, **forest_space(known), **options.pop("space", {})}, **options)

    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        metric_X: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Tuner:
        """Search, confirm, and fit the recommended setting.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data, passed to the estimator as it is.
        y : array-like of shape (n,), default=None
            Target, for metrics, strata and supervised methods.
        metric_X : array-like of shape (n, p), default=None
            The same rows in the form that metrics should see, if the estimator takes what they cannot: missing values,
            categories. None: `X`.
        groups : array-like of shape (n,), default=None
            Labels of rows that belong together, such as one patient's: subsamples are made of whole groups, and they
            are passed to the estimator, if it is one of manifolia's that takes them, and to the metrics that do.

        Returns
        -------
        Tuner
            Itself.
        """
        begun = time.monotonic()
        X = check_matrix(X, accept_sparse=True, allow_nan=True) if sp.issparse(X) else as_pandas(X)
        X = X if hasattr(X, "iloc") or sp.issparse(X) else as_array(X, "X")
        y = y if y is None or hasattr(y, "iloc") else label_array(y)
        n = check_same_length(X=X, y=y, metric_X=metric_X)
        if X.ndim != 2:
            raise ParameterError(
                f"X must have rows and columns, got shape {X.shape}. Reshape it to (n, d).", parameter="X"
            )
        estimator, space, metrics = _checked(self, n, y)
        together, fewest = read_groups(groups, n), sample_size(self.subsample, n)
        if together is not None and fewest < n:  # the next group would not fit
            fewest = max(2, fewest - int(np.bincount(together).max()) + 1)
        space = cut_to_limits(space, estimator, (fewest, X.shape[1]))
        store = TrialStore(
            space,
            [metric.name for metric in metrics],
            storage=self.storage,
            study_name=self.study_name,
            signature=study_signature(self, X, y, metric_X, n, together),
            seed=None if self.random_state is None else as_seed(self.random_state),
        )
        seen = {} if self.metric_sample is None else {"sample": self.metric_sample}
        bench = Bench(estimator, X, y, metric_X, metrics, self.pass_target, groups=together, **seen)
        runner = Runner(self, bench, store.seed)
        self.rows_ = runner.rows
        search = Search(self, space, store, runner.run, begun)
        self._space, self._metrics, self._search_seed = space, metrics, store.seed
        for name in ("pareto_", "knee_", "hypervolume_", "best_estimator_", "embedding_", "carried_"):
            self.__dict__.pop(name, None)  # of an earlier fit, which may have set more
        with threads(self.n_jobs), store.at_work():
            trials = search.trials()
            self._require_some(trials)
            pick = None if isinstance(self.refit, bool) else space.picked(self.refit)
            answer = confirm(search, n_confirm=self.n_confirm, pick=pick)
            self._describe(search, trials)
            self._report(answer)
            self._deliver(search, answer, runner, carried(space, answer.setting, X.shape))
        self.stopped_ = search.stopped
        self.n_runs_ = sum(len(trial.runs) for trial in store.trials(STAGES))
        self._warn(trials)
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None) -> FloatArray:
        """Tune, and return the map of the recommended setting.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data.
        y : array-like of shape (n,), default=None
            Target.
        groups : array-like of shape (n,), default=None
            Which rows belong together, as for ``fit``.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        if self.refit is False:
            raise ValueError("fit_transform needs refit=True: without it no map of all rows is made.")
        return self.fit(X, y, groups=groups).embedding_

    # -- questions to a fitted tuner

    def sensitivity(self, metric: str | None = None) -> Sensitivity:
        """Say which parameters matter, or why the trials do not show it.

        Parameters
        ----------
        metric : str or None, default=None
            Name of the metric; None is the first.

        Returns
        -------
        Sensitivity
            Its ``table`` has one row per parameter: S1, ST and the Shapley effect with their 90 % intervals.

        Raises
        ------
        SensitivityRefusedError
            If the trials do not support such a table; the message says why.
        """
        column = self._column(metric)
        name = self._names[column]
        if name not in self._sensitivities:
            self._sensitivities[name] = sensitivity(
                self._space, self._observed, kind=self.surrogate, seed=self._search_seed, column=column
            )
        return self._sensitivities[name]

    def expect(self, settings: Sequence[Mapping[str, Any]], metric: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Return what the surrogate expects of settings, tried or not.

        Parameters
        ----------
        settings : list of dict
            Settings as in `best_setting_`.
        metric : str or None, default=None
            Name of the metric; None is the first.

        Returns
        -------
        mean : ndarray of shape (n_settings,)
            Expected losses.
        sd : ndarray of shape (n_settings,)
            Their standard deviations, without the noise of runs.
        """
        column = self._column(metric)
        features = self._space.features([self._space.check(dict(setting)) for setting in settings])
        with threads(1):
            seed = mixed_seed(self._search_seed, 3)
            return fit_surrogate(self._space, self._observed, self.surrogate, seed, column).predict(features)

    def expected_front(self, n_points: int = 4096) -> pd.DataFrame:
        """Return the front that the surrogates expect over the whole space, tried or not.

        Parameters
        ----------
        n_points : int, default=4096
            Number of settings examined.

        Returns
        -------
        DataFrame
            One row per setting on the front, with the expected loss of each metric, by the first of them.
        """
        check_is_fitted(self, "best_params_")
        check_number(n_points, "n_points", low=1, integer=True)
        space, seed = self._space, mixed_seed(self._search_seed, 3)
        points = np.random.default_rng(seed).random((n_points, len(space.parameters)))
        settings = [space.at(point) for point in points]
        with threads(1):
            losses = expected_losses(space, self._observed, self.surrogate, seed, settings)
        front = np.flatnonzero(non_dominated(losses))
        front = front[np.argsort(losses[front, 0], kind="stable")]
        expected = {f"{name}_expected": losses[front, j] for j, name in enumerate(self._names)}
        return pd.DataFrame([settings[i] for i in front]).assign(**expected)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain values, for the explorer and for files.

        Returns
        -------
        dict
            Plain values for ``json.dumps``, without NaN.
        """
        check_is_fitted(self, "best_params_")
        return study_dict(self, [(one.name, one.direction) for one in self._metrics], self._space.names)

    @property
    def _names(self) -> list[str]:
        return [metric.name for metric in self._metrics]

    def _column(self, metric: str | None) -> int:
        check_is_fitted(self, "best_params_")
        return 0 if metric is None else self._names.index(check_option(metric, "metric", self._names))

    # -- steps of fit

    @staticmethod
    def _require_some(trials: Sequence[Trial]) -> None:
        if any(trial.works for trial in trials):
            return
        errors = list(dict.fromkeys(trial.error for trial in trials if trial.error))
        if not errors:
            raise TuningError("no setting was finished within the time. Give it more, or a smaller subsample.")
        if len(errors) > 1:
            raise TuningError(f"none of {len(trials)} settings worked. The first error was: {errors[0]}")
        why = re.sub(r"^(?:Parameter(?:Type)?|Table|Value|Type)Error: | \(\S+, line \d+\)$", "", errors[0])
        raise TuningError(f"none of {len(trials)} settings worked, all for the same reason: {why}")

    def _describe(self, search: Search, trials: Sequence[Trial]) -> None:
        """The tables."""
        worked = [trial for trial in trials if trial.works]
        observed = search.observe(worked)
        self._observed = observed
        self._sensitivities: dict[str, Sensitivity] = {}
        self.aggregate_ = search.how
        own = mixed_seed(self._search_seed, 3)
        expected = expected_losses(search.space, observed, self.surrogate, own)
        names = self._names
        self.trials_ = trials_table(trials, worked, observed, expected, names)
        self.runs_ = runs_table(trials, names)
        enough = len(observed.settings) >= 4
        self.r2_ = r_squared(observed, search.space, self.surrogate, own) if enough else math.nan
        self.flat_ = is_flat(observed)
        if len(names) > 1:
            chances = front_chances(search.space, observed, self.surrogate, own)
            self.pareto_ = front_table(self.trials_, expected, chances, names)
            self.knee_ = dict(worked[knee(expected)].setting)
            self.hypervolume_ = unit_volume(expected, [math.isfinite(one.range[0]) for one in self._metrics])

    def _report(self, answer: Answer) -> None:
        """The figure of the answer, from runs that had no part in it."""
        self.best_setting_ = answer.setting
        self.confirmed_ = answer.final is not None
        values = answer.values
        if not self.confirmed_:
            why = (
                f"the recommended setting failed when it was run again ({answer.failure})"
                if answer.failure
                else "there was no time to run the recommended setting again"
            )
            what = "its score is of the runs that it was chosen by, and too good" if len(values) else "it has no score"
            warn(f"{why}: {what}.")
        nothing = np.full(len(self._metrics), math.nan)
        score = values.mean(axis=0) if len(values) else nothing
        error = values.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else nothing
        self.best_score_ = float(score[0]) if len(self._metrics) == 1 else score
        self.best_score_error_ = float(error[0]) if len(self._metrics) == 1 else error

    def _deliver(self, search: Search, answer: Answer, runner: Runner, ways: list[dict[str, Any]]) -> None:
        """The setting on all rows, and its map."""
        whole = answer.final if len(runner.rows) == runner.n_rows else None
        # Without a map to make, runs on all rows serve only to choose between the ways.
        n_runs = self.n_full if self.refit is not False or len(ways) > 1 else 0
        refit = on_all_rows(search, answer.setting, ways, whole, n_runs=n_runs)
        self.best_params_ = refit.arguments
        if runner.bench.estimator is not self.estimator:  # so that there is a forest for its parameters
            self.best_params_ = {"forest": clone(runner.bench.estimator.forest), **refit.arguments}
        if refit.tried:
            self.carried_ = carried_table(refit.tried, ways, refit.arguments, self._names)
        if self.refit is not False:
            with threads(1):  # as in its run
                self.best_estimator_, self.embedding_ = runner.bench.fitted(Job(refit.arguments, refit.seed))

    def _warn(self, trials: Sequence[Trial]) -> None:
        """Warn of what the user should not have to look for."""
        failed = [trial for trial in trials if trial.error]
        if failed:
            warn(
                f"{len(failed)} of {len(trials)} settings failed and count for nothing; the first, "
                f"{failed[0].setting}, by {failed[0].error}. trials_ has them all."
            )
        if self.flat_:
            warn(
                f"{self._names[0]} differs between settings no more than between runs of one setting: nothing is to "
                "be gained by tuning these parameters, and the method may not suit the data."
            )


def _checked(tuner: Tuner, n: int, y: ArrayLike | None) -> tuple[Any, SearchSpace, list[Metric]]:
    """Check the parameters of a tuner on entry."""
    usable = hasattr(tuner.estimator, "fit_transform") and hasattr(tuner.estimator, "set_params")
    if isinstance(tuner.estimator, type) or not usable:
        raise TypeError(
            f"estimator must have fit_transform and set_params, as scikit-learn's do, got {tuner.estimator!r}. "
            "Pass an instance, such as mf.FeatureMAP(); openTSNE's is openTSNE.sklearn.TSNE."
        )
    space = SearchSpace(tuner.space)
    estimator = with_forest(tuner.estimator, space.names, y, n)
    known = estimator.get_params()
    for name in space.names:
        check_option(name, "a parameter of space", list(known))
    metrics = check_metrics(tuner.metrics, y)
    check_option(tuner.sampling, "sampling", SAMPLINGS)
    check_option(tuner.surrogate, "surrogate", SURROGATES)
    check_option(tuner.design, "design", DESIGNS)
    check_aggregate(tuner.aggregate)
    for low, names in ((1, ("n_repeats", "n_pilot", "n_trials", "batch_size")), (0, ("n_confirm", "n_full"))):
        for name in names:
            check_number(getattr(tuner, name), name, low=low, integer=True)
    if tuner.timeout is not None:
        check_number(tuner.timeout, "timeout", low=0.0, open_low=True)
    if tuner.metric_sample is not None:
        check_number(tuner.metric_sample, "metric_sample", low=10, integer=True)
    for name in ("resample", "race", "early_stop", "verbose"):
        check_bool(getattr(tuner, name), name)
    if isinstance(tuner.refit, Mapping) or hasattr(tuner.refit, "to_dict"):  # a setting, or a row of a table
        space.picked(tuner.refit)
    else:
        check_bool(tuner.refit, "refit")
    if not isinstance(tuner.pilot_params, Mapping | None):
        raise ParameterTypeError(
            f"pilot_params must be a dict of parameters and values, or None, got {tuner.pilot_params!r}.",
            parameter="pilot_params",
        )
    for name in tuner.pilot_params or {}:
        check_option(name, "a parameter of pilot_params", list(known))
        if name in space.parameters:
            raise ValueError(
                f"pilot_params has {name!r}, which is tuned: every cheap run would be of the same setting. Drop it."
            )
    _check_plan(tuner, space)
    if not (isinstance(tuner.pass_target, str) and tuner.pass_target == "auto"):
        check_bool(tuner.pass_target, "pass_target")
    if not isinstance(tuner.study_name, str | None):
        raise ParameterTypeError(f"study_name must be text or None, got {tuner.study_name!r}.", parameter="study_name")
    resolve_n_jobs(tuner.n_jobs)
    sample_size(tuner.subsample, n)
    return estimator, space, metrics


def _check_plan(tuner: Tuner, space: SearchSpace) -> None:
    """Refuse combinations that are impossible."""
    if tuner.surrogate == "grid":
        least = len(space.grid(tuner.n_trials))
        if least > tuner.n_trials:
            raise ValueError(
                f"a grid of {len(space.names)} parameters has at least {least} settings, more than n_trials="
                f"{tuner.n_trials}. Raise n_trials, or tune fewer parameters."
            )
    if tuner.early_stop and (tuner.surrogate in ("random", "grid", "nsga2") or tuner.n_repeats < 2):
        raise ValueError(
            f"early_stop=True compares what a surrogate expects with the noise of repeats, which surrogate="
            f"{tuner.surrogate!r} with n_repeats={tuner.n_repeats} does not have. Take a Gaussian process or a forest "
            "and two or more repeats, or early_stop=False."
        )
