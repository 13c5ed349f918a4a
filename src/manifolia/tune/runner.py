"""The data of a study, and one run of one setting on them: map the sample, measure the map.

Every run uses one thread and its own seed, so that it gives the same figures wherever it runs and whatever runs beside
it. The runs are parallel, in separate processes, since not every estimator tolerates another in its process.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import operator
import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from manifolia._core.parallel import has_executor, map_blocks, resolve_n_jobs, threads
from manifolia._core.types import ArrayLike, FloatArray, IntArray
from manifolia.metrics.registry import Metric
from manifolia.metrics.registry import get as get_metric
from manifolia.registry import card_of
from manifolia.tune.presets import check_limits, check_used
from manifolia.tune.study import SEARCHED_STAGES, STAGES, Task, TrialRun, mixed_seed, run_seed
from manifolia.tune.subsample import sample_rows, sample_size, take_rows
from manifolia.tune.workers import end_with

_METRIC_ROWS = 5000  # beyond this, metrics over all pairs use a sample of this many rows
_DIED = "the process of this run died: it was killed, for want of memory perhaps, or crashed"


@dataclass(frozen=True)
class Job:
    """What a run needs, apart from the data."""

    arguments: dict[str, Any]  # Parameters of the estimator
    seed: int  # Its random state, if it has one
    rows: Any = field(default=None, repr=False)  # Rows to map; None is all


@dataclass(frozen=True)
class Bench:
    """Estimator, data and metrics of a study; it is sent to every process unchanged."""

    estimator: Any
    X: Any
    y: ArrayLike | None = None
    metric_X: ArrayLike | None = None  # The rows as metrics see them; None means `X`
    metrics: Sequence[Metric] = ()
    pass_target: bool | str = "auto"  # Whether the estimator gets `y`; "auto" is by its card
    sample: int = _METRIC_ROWS  # Rows that metrics look at
    groups: IntArray | None = None  # Rows that belong together

    @property
    def passes_target(self) -> bool:
        """Whether the target shapes the map, so that it has to be passed."""
        asked = card_of(self.estimator).supervised if self.pass_target == "auto" else self.pass_target
        return self.y is not None and bool(asked)

    def fitted(self, job: Job) -> tuple[Any, FloatArray]:
        """Fit a copy of the estimator and return it with its map."""
        model = clone(self.estimator).set_params(**job.arguments)
        states = [name for name in model.get_params() if name == "random_state" or name.endswith("__random_state")]
        model.set_params(**dict.fromkeys(states, job.seed))
        data = take_rows(self.X, job.rows)
        check_limits(model, data.shape[0])
        given = [take_rows(self.y, job.rows)] if self.passes_target else []
        groups = take_rows(self.groups, job.rows)
        more = {} if groups is None or not card_of(self.estimator).takes_groups else {"groups": groups}
        Y = model.fit_transform(data, *given, **more)
        check_used(model)
        return model, np.asarray(Y)

    def run(self, job: Job) -> TrialRun:
        """Run one job; whatever goes wrong is recorded, not raised."""
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught, threads(1):
            warnings.simplefilter("always")
            try:
                model, Y = self.fitted(job)
                values = tuple(self._measure(metric, Y, job) for metric in self.metrics)
                losses = {one.name: float(one.normalize(x)) for one, x in zip(self.metrics, values, strict=True)}
                wrong = [name for name, loss in losses.items() if not math.isfinite(loss)]
                error = f"{wrong[0]} is not a finite number" if wrong else ""
                own = card_of(model).loss_of(model)
                fingerprint = hashlib.sha256(np.ascontiguousarray(Y).tobytes()).hexdigest()[:12]
            except Exception as failure:
                error = _one_line(failure)
        seconds = time.perf_counter() - start
        notes = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
        if error:
            return TrialRun(seconds=seconds, error=error, notes=notes)
        return TrialRun(tuple(losses.values()), values, own, seconds, "", notes, fingerprint)

    def _measure(self, metric: Metric, Y: FloatArray, job: Job) -> float:
        given: dict[str, Any] = {"random_state": job.seed} if metric.accepts("random_state") else {}
        if self.sample < len(Y) and metric.accepts("sample"):
            given["sample"] = self.sample
        if self.groups is not None and metric.accepts("groups"):
            given["groups"] = take_rows(self.groups, job.rows)
        X = self.X if self.metric_X is None else self.metric_X
        return float(metric(take_rows(X, job.rows), Y, take_rows(self.y, job.rows), **given))


class Runner:
    """Runs the trials of a study, each repeat on its rows and with its seed."""

    def __init__(self, tuner: Any, bench: Bench, seed: int) -> None:
        self._tuner, self.bench, self._seed = tuner, bench, seed
        self.n_rows = int(bench.X.shape[0])
        self.rows = self._drawn(mixed_seed(seed, 0))

    def _drawn(self, seed: int) -> IntArray:
        size = sample_size(self._tuner.subsample, self.n_rows)
        data = self.bench.X
        if self._tuner.sampling == "leverage":
            data = data if self.bench.metric_X is None else self.bench.metric_X
            data = data.to_numpy() if hasattr(data, "iloc") else data
        about: dict[str, Any] = {"sampling": self._tuner.sampling, "y": self.bench.y, "groups": self.bench.groups}
        return sample_rows(data, size, **about, random_state=seed)

    def _rows_for(self, stage: str, repeat: int) -> IntArray | None:
        if stage == "full" or len(self.rows) == self.n_rows:
            return None
        if not self._tuner.resample:
            return self.rows
        # Fresh rows depend on the repeat, so that settings are compared on the same ones; rows that confirm an answer
        # must have had no part in it, so later stages draw their own.
        later = () if stage in SEARCHED_STAGES else (STAGES.index(stage),)
        return self._drawn(mixed_seed(self._seed, 4, repeat, *later))

    def run(self, tasks: list[Task]) -> list[TrialRun]:
        """Run tasks side by side."""
        jobs = []
        for trial, repeat in tasks:
            seed = run_seed(self._seed, trial.stage, trial.slot, repeat)
            jobs.append(Job(dict(trial.arguments), seed, self._rows_for(trial.stage, repeat)))
        return run_all(self.bench, jobs, n_jobs=self._tuner.n_jobs)


def check_metrics(given: Any, y: ArrayLike | None) -> list[Metric]:
    """One or several metrics, with different names and with what they need."""
    several = given if isinstance(given, Iterable) and not isinstance(given, (str, Metric)) else [given]
    metrics = [_as_metric(one) for one in several]
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"metrics must be one or several with different names, got {names}. Write functions with def: their names "
            "become columns."
        )
    for metric in metrics:
        unknown = set(metric.needs) - {"X", "Y", "y"}
        if unknown or ("y" in metric.needs and y is None):
            what = "y" if not unknown else " and ".join(sorted(unknown))
            raise ValueError(
                f"metric {metric.name!r} needs {what}, which the tuner does not have. Pass it, or another metric."
            )
    return metrics


def _as_metric(given: str | Metric | Callable[..., float]) -> Metric:
    """Find a metric by name, or take a user's function."""
    if isinstance(given, (str, Metric)):
        return get_metric(given)
    if not callable(given):
        raise TypeError(f"metrics must be names, metrics or functions, got {given!r}. See manifolia.metrics.names().")
    try:
        takes = list(inspect.signature(given).parameters)
    except ValueError:  # nothing is known about a builtin
        takes = []
    known = [name for name in takes if name in ("X", "Y", "y")]
    if "Y" not in known:
        raise TypeError(
            f"metric {given!r} must take the map as a parameter called Y (and may take X and y); it takes {takes}."
        )
    name = getattr(given, "__name__", type(given).__name__)
    return Metric(name, "higher", tuple(known), (-math.inf, math.inf), given, normalizer=operator.neg)


def _one_line(failure: Exception) -> str:
    where = traceback.extract_tb(failure.__traceback__)[-1]
    text = " ".join(str(failure).split())
    return f"{type(failure).__name__}: {text} ({where.name}, line {where.lineno})"


def run_all(bench: Bench, jobs: Sequence[Job], *, n_jobs: int | None = None) -> list[TrialRun]:
    """Run several jobs side by side."""
    n_workers = len(jobs) if has_executor() else min(resolve_n_jobs(n_jobs), len(jobs))
    if n_workers <= 1 and not has_executor():
        return [bench.run(job) for job in jobs]
    try:
        return _side_by_side(n_workers, bench, jobs)
    except BrokenExecutor:  # one of them killed its process, and the pool does not say which: run them one by one
        runs = []
        for job in jobs:
            try:
                runs.extend(_side_by_side(n_workers, bench, [job]))
            except BrokenExecutor:
                runs.append(TrialRun(error=_DIED))
        return runs


def _side_by_side(n_workers: int, bench: Bench, jobs: Sequence[Job]) -> list[TrialRun]:
    if has_executor():
        return map_blocks(bench.run, jobs, anywhere=True)
    # A new pool every time: after a breakdown it returns runs of the previous batch.
    parallel = joblib.Parallel(n_workers, backend="loky", mmap_mode="c")
    return list(parallel(joblib.delayed(_run_for)(os.getpid(), bench, job) for job in jobs))


def _run_for(tuner: int, bench: Bench, job: Job) -> TrialRun:
    end_with(tuner)
    return bench.run(job)
