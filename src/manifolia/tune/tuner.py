"""`Tuner`: settings of any map, chosen by evidence (Algorithm 1 of the paper, and what it leaves open).

=====================  ==============================================================================
step                   where
=====================  ==============================================================================
rows to tune on        `tune.subsample`
pilots and proposals   `tune.search`, with `tune.proposal`, `tune.surrogate` and `tune.acquisition`
one run                `tune.evaluation`
what is kept           `tune.study`, in Optuna's storage
the answer             `tune.answer`: recommended, confirmed with fresh seeds
all rows               `tune.delivery`: the setting carried over, and the map
which settings matter  `tune.sensitivity`
=====================  ==============================================================================
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from manifolia._core.parallel import threads
from manifolia._core.progress import Reporter
from manifolia._core.random import as_seed
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_is_fitted, check_number, check_option, check_same_length
from manifolia._core.warnings import warn
from manifolia.metrics.registry import Metric
from manifolia.tune.answer import confirm, expected_losses, front_chances, is_flat, surrogate_front
from manifolia.tune.checking import check_tuner, study_signature
from manifolia.tune.delivery import carried, on_all_rows
from manifolia.tune.evaluation import Job, Run, fitted_map, run_all, takes_target
from manifolia.tune.pareto import hypervolume, knee
from manifolia.tune.presets import preset
from manifolia.tune.proposal import make_surrogate
from manifolia.tune.report import front_table, runs_table, study_dict, trials_table
from manifolia.tune.search import STAGES, Plan, Search, Task, mixed_seed, run_seed
from manifolia.tune.sensitivity import Sensitivity, r_squared, sensitivity
from manifolia.tune.study import Trial, TrialStore
from manifolia.tune.subsample import sample_rows, sample_size

__all__ = ["Tuner"]

_METRIC_ROWS = 5000  # beyond, metrics with all pairs look at a sample of so many rows


class Tuner(BaseEstimator):
    """Finds settings of a map for one or several metrics, on a subsample, with repeats, and says how sure it is.

    Parameters
    ----------
    estimator : object
        Anything with ``fit_transform``, from here or elsewhere; it is copied, not changed.
    space : mapping of str to parameter
        What to tune: ``(low, high)`` for a range, a list for a choice, or `Real`, `Integer`, `Normalized`, `Choice` and
        `When` of `manifolia.tune`.
    metrics : str, Metric, callable or list of these, default="auc_r_nx"
        What a good map is. A function takes ``Y`` and, if it names them, ``X`` and ``y``; larger is better.
    subsample : int, float or None, default=None
        Rows to tune on: a count, a fraction, or all.
    sampling : {"uniform", "leverage", "stratified"}, default="uniform"
        How rows are drawn.
    resample : bool, default=False
        Draw other rows for every repeat; the same ones for all settings.
    n_repeats : int, default=10
        Runs of a setting, with different seeds. A setting that is not random is run twice.
    aggregate : {"auto", "mean", "median"} or ("quantile", q) or ("mean-var", c), default="auto"
        What the runs of a setting are reduced to. ``"auto"``: the mean, or the median if runs vary more than settings.
    surrogate : {"gp-ei", "gp-pi", "gp-lcb", "forest", "random", "grid", "nsga2"}, default="gp-ei"
        What proposes settings. ``"grid"`` runs a regular grid of at most `n_trials`.
    n_pilot : int, default=5
        Settings of a space-filling design that come first.
    n_trials : int, default=20
        Settings in all; pilots and what the storage holds already count.
    design : {"lhs", "sobol"}, default="lhs"
        Of the pilots.
    pilot_params : mapping or None, default=None
        Arguments that make a run cheap, such as ``{"max_iter": 300}``. Twice as many settings are then tried with them
        first, three runs each, and the better half become the pilots; the cheap runs count for nothing else.
    race : bool, default=True
        Save runs of settings that cannot win (one metric only): halving among pilots, racing among proposals.
    batch_size : int, default=1
        Proposals that are made, and run, at once.
    early_stop : bool, default=False
        Stop when three proposals in a row promise less than the noise shows.
    n_confirm : int, default=3
        Candidates that are run again with fresh seeds before one is chosen.
    n_full : int, default=3
        After tuning on a subsample, runs on all rows of each way to carry fractions over; 0 trusts the fraction.
    timeout : float or None, default=None
        Seconds: after three quarters of them no further trial begins, the rest is for confirming.
    metric_sample : int or None, default=None
        Rows that metrics look at; None is all, up to 5,000.
    pass_target : bool or "auto", default="auto"
        Whether the estimator gets ``y``. ``"auto"``: if it is a supervised method.
    storage : str, Path or optuna storage, default=None
        A path of an SQLite file, or a database; the study can then be resumed after a kill, watched with
        optuna-dashboard, and shared by several processes that make the same call.
    study_name : str or None, default=None
        Name of the study in the storage.
    refit : bool or mapping, default=True
        Fit the recommended setting to all rows. A mapping is a setting of the user's own choice, for example a row of
        `pareto_`: with the storage of a finished study it is confirmed and fitted without searching again.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same study for any `n_jobs`.
    n_jobs : int or None, default=None
        Processes that run side by side; None is all cores.
    verbose : bool, default=False
        Show progress on stderr.
    callback : callable, default=None
        Called with a ``ProgressEvent``; returning True ends the search, and the answer is made of what there is.

    Attributes
    ----------
    best_params_ : dict
        Arguments for the estimator, on all rows.
    best_setting_ : dict
        The same as it was searched, fractions as fractions.
    best_score_ : float or ndarray
        The metric, or metrics, of the recommended setting in runs with fresh seeds; of the choice's own runs if there
        was no time for fresh ones (`confirmed_`).
    best_score_error_ : float or ndarray
        Standard error.
    confirmed_ : bool
        Whether `best_score_` comes from fresh runs.
    best_estimator_ : object
        Fitted to all rows, with the seed of the run whose own loss was least; only with ``refit=True``.
    embedding_ : ndarray of shape (n, n_components)
        Its map.
    trials_ : DataFrame
        Every setting: its loss, its standard error, what the surrogate expects, runs, seconds, error.
    runs_ : DataFrame
        Every run of these trials.
    pareto_ : DataFrame
        With several metrics the settings on the expected front, with the chance that they are on it.
    knee_ : dict
        With several metrics the setting at the knee of the front.
    hypervolume_ : float
        With several metrics the share of the unit cube of losses that the front commands.
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
        refit: bool | Mapping[str, Any] = True,
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
            Other parameters of the tuner; ``space=`` overrides single parameters of the preset.

        Returns
        -------
        Tuner
            Not fitted.
        """
        found, space = preset(estimator)
        return cls(found, {**space, **options.pop("space", {})}, **options)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, metric_X: ArrayLike | None = None) -> Tuner:
        """Search, confirm, and fit the recommended setting.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data, passed to the estimator as it is.
        y : array-like of shape (n,), default=None
            Target, for metrics, strata and supervised methods.
        metric_X : array-like of shape (n, p), default=None
            The same rows as metrics are to see them, where the estimator takes what they cannot: gaps, categories.
            None: as `X`.

        Returns
        -------
        Tuner
            Itself.
        """
        begun = time.monotonic()
        X = X if hasattr(X, "iloc") or sp.issparse(X) else np.asarray(X)
        n = check_same_length(X=X, y=y, metric_X=metric_X)
        self._metric_X = metric_X
        space, metrics = check_tuner(self, n, y)
        seed = as_seed(self.random_state)
        self.rows_ = self._draw(X, y, n, mixed_seed(seed, 0))
        shape = (len(self.rows_), X.shape[1])
        reporter = Reporter(self.callback, verbose=self.verbose)
        store = TrialStore(
            space,
            [metric.name for metric in metrics],
            storage=self.storage,
            study_name=self.study_name,
            signature=study_signature(self, X, n, seed),
        )
        current = self.estimator.get_params()
        plan = Plan(
            self.surrogate, self.n_pilot, self.n_trials, self.n_repeats, self.design, self.aggregate, self.race,
            self.batch_size, self.early_stop, seed, begun, math.inf if self.timeout is None else self.timeout,
        )  # fmt: skip
        search = Search(
            plan,
            space,
            store,
            run=lambda tasks: self._run(tasks, X, y, metrics, seed),
            resolve=lambda setting: space.resolve(setting, shape, current),
            cheap=dict(self.pilot_params or {}),
            reporter=reporter,
        )
        with threads(self.n_jobs):
            trials = search.trials()
            worked = [trial for trial in trials if trial.works]
            self._require_some(trials, worked)
            pick = dict(self.refit) if isinstance(self.refit, Mapping) else None
            answer = confirm(search, n_confirm=self.n_confirm, pick=pick)
            self._describe(search, trials, worked, metrics, seed)
            self._report(answer, worked, search, metrics)
            self.best_setting_ = answer.setting
            ways = carried(space, answer.setting, shape, X.shape, current)
            whole = answer.final if shape[0] == n else None
            self.best_params_, chosen = on_all_rows(search, answer.setting, ways, whole, n_runs=self.n_full)
            for name in ("best_estimator_", "embedding_"):
                self.__dict__.pop(name, None)
            if self.refit is not False:
                passed = self._options(y)["pass_target"]
                with threads(1):
                    self.best_estimator_, self.embedding_ = fitted_map(
                        self.estimator, Job(self.best_params_, chosen), X, y, pass_target=passed
                    )
        del self._metric_X
        self.stopped_ = search.stopped
        every = store.trials(STAGES)
        self.n_runs_ = sum(len(trial.runs) for trial in every)
        self._search_seed, self._space, self._metrics = seed, space, metrics
        if self.flat_:
            warn(
                f"{metrics[0].name} differs between settings no more than between runs of one setting: nothing is to "
                "be gained by tuning these parameters, and the method may not suit the data."
            )
        return self

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Tune, and return the map of the recommended setting.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Data.
        y : array-like of shape (n,), default=None
            Target.

        Returns
        -------
        ndarray of shape (n, n_components)
            `embedding_`.
        """
        if self.refit is False:
            message = "fit_transform needs refit=True: without it no map of all rows is made."
            raise ValueError(message)
        return self.fit(X, y).embedding_

    def sensitivity(self, metric: str | None = None) -> Sensitivity:
        """Tell which parameters matter, or why that cannot be told.

        Parameters
        ----------
        metric : str or None, default=None
            One of the metrics; None is the first.

        Returns
        -------
        Sensitivity
            Table of Sobol indices and Shapley effects with intervals, and the surrogate's R².

        Raises
        ------
        SensitivityRefusedError
            If the trials do not support such a table.
        """
        check_is_fitted(self, "best_params_")
        names = [one.name for one in self._metrics]
        column = 0 if metric is None else names.index(check_option(metric, "metric", names))
        return sensitivity(self._space, self._evidence, kind=self.surrogate, seed=self._search_seed, column=column)

    def expect(self, settings: Sequence[Mapping[str, Any]], metric: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Return what the surrogate expects of settings, tried or not.

        Parameters
        ----------
        settings : sequence of mapping
            Settings of the space, fractions as fractions.
        metric : str or None, default=None
            One of the metrics; None is the first.

        Returns
        -------
        tuple of ndarray
            Expected losses, and how far they may be off (standard deviation).
        """
        check_is_fitted(self, "best_params_")
        names = [one.name for one in self._metrics]
        column = 0 if metric is None else names.index(check_option(metric, "metric", names))
        given = [self._space.check(dict(setting)) for setting in settings]
        noise = None if self._evidence.noise is None else self._evidence.noise[:, column]
        model = make_surrogate(self.surrogate, mixed_seed(self._search_seed, 3))
        with threads(1):
            model.fit(self._space.features(self._evidence.settings), self._evidence.losses[:, column], noise)
            return model.predict(self._space.features(given))

    def expected_front(self, n_points: int = 4096) -> pd.DataFrame:
        """Return the front that the surrogates expect over the whole space, tried or not.

        Parameters
        ----------
        n_points : int, default=4096
            Settings that are looked at.

        Returns
        -------
        DataFrame
            Settings and their expected losses, ordered by the first. They were not run: take them as proposals, and
            fit one with ``refit=``.
        """
        check_is_fitted(self, "best_params_")
        check_number(n_points, "n_points", low=1, integer=True)
        with threads(1):
            settings, losses = surrogate_front(
                self._space, self._evidence, self.surrogate, mixed_seed(self._search_seed, 3), n_points=n_points
            )
        expected = {f"{one.name}_expected": losses[:, j] for j, one in enumerate(self._metrics)}
        return pd.DataFrame(settings).assign(**expected)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain values, for the explorer and for files.

        Returns
        -------
        dict
            Metrics, parameters, trials, the answer, the front and the sensitivities with the reason if refused.
        """
        check_is_fitted(self, "best_params_")
        return study_dict(self, [(one.name, one.direction) for one in self._metrics], self._space.names)

    # -- steps of fit

    def _draw(self, X: Any, y: ArrayLike | None, n: int, seed: int) -> Any:
        size = sample_size(self.subsample, n)
        if size == n:
            return np.arange(n)
        data = X
        if self.sampling == "leverage":
            data = X.to_numpy() if hasattr(X, "iloc") else X
        return sample_rows(data, size, sampling=self.sampling, y=y, random_state=seed)

    def _options(self, y: ArrayLike | None) -> dict[str, Any]:
        pass_target = takes_target(self.estimator) if self.pass_target == "auto" else self.pass_target
        return {
            "pass_target": bool(pass_target) and y is not None,
            "sample": self.metric_sample or _METRIC_ROWS,
            "metric_X": self._metric_X,
        }

    def _run(self, tasks: list[Task], X: Any, y: Any, metrics: Sequence[Metric], seed: int) -> list[Run]:
        n = X.shape[0]
        jobs = []
        for trial, repeat in tasks:
            rows = None
            if trial.stage != "full":
                # Fresh rows depend on the repeat alone: settings are compared on the same ones.
                fresh = self.resample and len(self.rows_) < n
                rows = self._draw(X, y, n, mixed_seed(seed, 4, repeat)) if fresh else self.rows_
                rows = None if len(rows) == n else rows
            jobs.append(Job(dict(trial.arguments), run_seed(seed, trial.stage, trial.slot, repeat), rows))
        return run_all(self.estimator, jobs, X, y, metrics, self._options(y), n_jobs=self.n_jobs)

    @staticmethod
    def _require_some(trials: Sequence[Trial], worked: Sequence[Trial]) -> None:
        if worked:
            return
        errors = list(dict.fromkeys(trial.error for trial in trials if trial.error))
        message = (
            f"none of {len(trials)} settings worked. The first error was: {errors[0]}"
            if errors
            else "no setting was finished within the time. Give it more, or a smaller subsample."
        )
        raise RuntimeError(message)

    def _describe(
        self, search: Search, trials: Sequence[Trial], worked: list[Trial], metrics: Sequence[Metric], seed: int
    ) -> None:
        """The tables."""
        evidence = search.evidence_of(worked)
        self._evidence = evidence
        self.aggregate_ = search.how
        own = mixed_seed(seed, 3)
        expected = expected_losses(search.space, evidence, self.surrogate, own)
        names = [metric.name for metric in metrics]
        self.trials_ = trials_table(trials, worked, evidence, expected, names)
        self.runs_ = runs_table(trials, names)
        enough = len(evidence.settings) >= 4
        self.r2_ = r_squared(evidence, search.space, self.surrogate, own) if enough else math.nan
        self.flat_ = is_flat(evidence)
        for name in ("pareto_", "knee_", "hypervolume_"):
            self.__dict__.pop(name, None)
        if len(metrics) > 1:
            chances = front_chances(search.space, evidence, self.surrogate, own)
            self.pareto_ = front_table(self.trials_, expected, chances, names)
            self.knee_ = dict(worked[knee(expected)].setting)
            self.hypervolume_ = hypervolume(expected, np.ones(len(metrics)))

    def _report(self, answer: Any, worked: list[Trial], search: Search, metrics: Sequence[Metric]) -> None:
        """The figure of the answer, from runs that had no part in it."""
        self.confirmed_ = answer.final is not None
        trial = answer.final
        if trial is None:
            trial = next((one for one in worked if one.setting == answer.setting), worked[0])
            warn(
                "there was no time to run the recommended setting again: its score is of the runs that it was chosen "
                "by, and too good. Give it more time."
            )
        values = np.array([run.values for run in trial.runs if not run.error])
        score = values.mean(axis=0)
        error = (
            values.std(axis=0, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else np.full(len(metrics), math.nan)
        )
        self.best_score_ = float(score[0]) if len(metrics) == 1 else score
        self.best_score_error_ = float(error[0]) if len(metrics) == 1 else error
