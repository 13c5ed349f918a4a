"""The data of a study, and one run of one setting on them: map the sample, measure the map.

Every run is on one thread and has a seed of its own, so that it gives the same figures wherever and beside whatever it
runs; the runs are what is parallel, in processes, since not every estimator survives a neighbour in its own.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
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
from manifolia.tune.subsample import sample_rows, sample_size

__all__ = ["Bench", "Job", "Runner", "as_metric", "fitted_map", "run_all", "run_once"]

_METRIC_ROWS = 5000  # beyond, metrics with all pairs look at a sample of this many rows
_DIED = "the process of this run died: it was killed, for want of memory perhaps, or crashed"


@dataclass(frozen=True)
class Job:
    """What a run needs, apart from the data."""

    arguments: dict[str, Any]  # Parameters of the estimator
    seed: int  # Its random state, where it has one
    rows: Any = field(default=None, repr=False)  # Rows to map; None is all


@dataclass(frozen=True)
class Bench:
    """What all runs of a study share; it goes to every process as it is."""

    estimator: Any
    X: Any
    y: ArrayLike | None
    metric_X: ArrayLike | None  # The rows as metrics see them; None is as `X`
    metrics: Sequence[Metric]
    pass_target: bool  # Whether the estimator gets `y`
    sample: int = _METRIC_ROWS  # Rows that metrics look at


class Runner:
    """Runs the trials of a study, each repeat on its rows and with its seed."""

    def __init__(
        self,
        tuner: Any,
        estimator: Any,
        X: Any,
        y: ArrayLike | None,
        metric_X: ArrayLike | None,
        metrics: Sequence[Metric],
        seed: int,
    ) -> None:
        given = tuner.pass_target
        pass_target = y is not None and bool(card_of(estimator).supervised if given == "auto" else given)
        self.bench = Bench(estimator, X, y, metric_X, metrics, pass_target, tuner.metric_sample or _METRIC_ROWS)
        self._tuner, self._seed = tuner, seed
        self.n_rows = int(X.shape[0])
        self.rows = self._drawn(mixed_seed(seed, 0))

    def _drawn(self, seed: int) -> IntArray:
        size = sample_size(self._tuner.subsample, self.n_rows)
        if size == self.n_rows:
            return np.arange(self.n_rows)
        data = self.bench.X
        if self._tuner.sampling == "leverage":
            data = data if self.bench.metric_X is None else self.bench.metric_X
            data = data.to_numpy() if hasattr(data, "iloc") else data
        return sample_rows(data, size, sampling=self._tuner.sampling, y=self.bench.y, random_state=seed)

    def _rows_for(self, stage: str, repeat: int) -> IntArray | None:
        if stage == "full" or len(self.rows) == self.n_rows:
            return None
        if not self._tuner.resample:
            return self.rows
        # Fresh rows depend on the repeat, so that settings are compared on the same ones; what confirms an answer must
        # not have had a part in it, so that later stages draw their own.
        later = () if stage in SEARCHED_STAGES else (STAGES.index(stage),)
        return self._drawn(mixed_seed(self._seed, 4, repeat, *later))

    def run(self, tasks: list[Task]) -> list[TrialRun]:
        """Run tasks side by side."""
        jobs = [
            Job(
                dict(trial.arguments),
                run_seed(self._seed, trial.stage, trial.slot, repeat),
                self._rows_for(trial.stage, repeat),
            )
            for trial, repeat in tasks
        ]
        return run_all(self.bench, jobs, n_jobs=self._tuner.n_jobs)

    def fitted(self, arguments: dict[str, Any], seed: int) -> tuple[Any, FloatArray]:
        """Fit a setting to all rows."""
        bench = self.bench
        with threads(1):  # as its run was made
            return fitted_map(bench.estimator, Job(arguments, seed), bench.X, bench.y, pass_target=bench.pass_target)


def as_metric(given: str | Metric | Callable[..., float]) -> Metric:
    """Find a metric by name, or take a function of the user's."""
    if isinstance(given, (str, Metric)):
        return get_metric(given)
    if not callable(given):
        message = f"metrics must be names, metrics or functions, got {given!r}. See manifolia.metrics.names()."
        raise TypeError(message)
    known = [name for name in inspect.signature(given).parameters if name in ("X", "Y", "y")]
    if "Y" not in known:
        message = (
            f"metric {given!r} must take the map as a parameter called Y (and may take X and y); it takes "
            f"{list(inspect.signature(given).parameters)}."
        )
        raise TypeError(message)
    name = getattr(given, "__name__", type(given).__name__)
    return Metric(name, "higher", tuple(known), (-math.inf, math.inf), given, normalizer=_negative)


def _negative(value: Any) -> Any:
    return -value


def fitted_map(
    estimator: Any, job: Job, X: ArrayLike, y: ArrayLike | None, *, pass_target: bool
) -> tuple[Any, FloatArray]:
    """Fit a copy of the estimator and return it with its map."""
    model = clone(estimator).set_params(**job.arguments)
    states = [name for name in model.get_params() if name == "random_state" or name.endswith("__random_state")]
    model.set_params(**dict.fromkeys(states, job.seed))
    check_limits(model, X.shape[0])
    Y = model.fit_transform(X, y) if pass_target else model.fit_transform(X)
    check_used(model)
    return model, np.asarray(Y)


def run_once(bench: Bench, job: Job) -> TrialRun:
    """Run one job; whatever goes wrong is recorded, not raised."""
    start = time.perf_counter()
    data, target, judged = (_take(values, job.rows) for values in (bench.X, bench.y, bench.metric_X))
    with warnings.catch_warnings(record=True) as caught, threads(1):
        warnings.simplefilter("always")
        try:
            model, Y = fitted_map(bench.estimator, job, data, target, pass_target=bench.pass_target)
            seen = data if judged is None else judged
            values = tuple(_measure(metric, seen, Y, target, job.seed, bench.sample) for metric in bench.metrics)
            losses = tuple(float(metric.normalize(value)) for metric, value in zip(bench.metrics, values, strict=True))
            wrong = [metric.name for metric, loss in zip(bench.metrics, losses, strict=True) if not math.isfinite(loss)]
            error = f"{wrong[0]} is not a finite number" if wrong else ""
            own = card_of(model).loss_of(model)
            fingerprint = hashlib.sha256(np.ascontiguousarray(Y).tobytes()).hexdigest()[:12]
        except Exception as failure:
            error = _one_line(failure)
    seconds = time.perf_counter() - start
    notes = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    if error:
        return TrialRun(seconds=seconds, error=error, notes=notes)
    return TrialRun(losses, values, own, seconds, "", notes, fingerprint)


def _take(values: Any, rows: Any) -> Any:
    """Take rows of an array, a list or a DataFrame."""
    if rows is None or values is None:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else np.asarray(values)[rows]


def _measure(metric: Metric, X: Any, Y: FloatArray, y: Any, seed: int, sample: int) -> float:
    parameters: dict[str, Any] = {}
    if metric.accepts("random_state"):
        parameters["random_state"] = seed
    if sample < len(Y) and metric.accepts("sample"):
        parameters["sample"] = sample
    return float(metric(X, Y, y, **parameters))


def _one_line(failure: Exception) -> str:
    where = traceback.extract_tb(failure.__traceback__)[-1]
    text = " ".join(str(failure).split())
    return f"{type(failure).__name__}: {text} ({where.name}, line {where.lineno})"


def run_all(bench: Bench, jobs: Sequence[Job], *, n_jobs: int | None = None) -> list[TrialRun]:
    """Run several jobs side by side."""
    n_workers = len(jobs) if has_executor() else min(resolve_n_jobs(n_jobs), len(jobs))
    if n_workers <= 1 and not has_executor():
        return [run_once(bench, job) for job in jobs]
    try:
        return _side_by_side(n_workers, bench, jobs)
    except BrokenExecutor:  # one of them killed its process, and the pool does not tell which: one by one, then
        runs = []
        for job in jobs:
            try:
                runs.extend(_side_by_side(n_workers, bench, [job]))
            except BrokenExecutor:
                runs.append(TrialRun(error=_DIED))
        return runs


def _side_by_side(n_workers: int, bench: Bench, jobs: Sequence[Job]) -> list[TrialRun]:
    if has_executor():
        return map_blocks(functools.partial(run_once, bench), jobs, anywhere=True)
    # A new one every time: after a broken pool it returns runs of the batch before.
    parallel = joblib.Parallel(n_workers, backend="loky", mmap_mode="c")
    return list(parallel(joblib.delayed(run_once)(bench, job) for job in jobs))
