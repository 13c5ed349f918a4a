"""One run of one setting: map the sample, measure the map.

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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from manifolia import registry
from manifolia._core.parallel import has_executor, map_blocks, resolve_n_jobs, threads
from manifolia._core.types import ArrayLike, FloatArray
from manifolia.metrics.registry import Metric
from manifolia.metrics.registry import get as get_metric
from manifolia.tune.limits import check_limits, check_used

__all__ = ["Job", "Run", "as_metric", "fitted_map", "own_loss", "run_all", "run_once", "takes_target"]

#: Where estimators keep the loss that they minimised.
_OWN_LOSSES = ("kl_divergence_", "stress_", "loss_", "reconstruction_error_", "reconstruction_err_")

_DIED = "the process of this run died: it was killed, for want of memory perhaps, or crashed"


@dataclass(frozen=True)
class Job:
    """What a run needs, apart from the data."""

    arguments: dict[str, Any]  # Parameters of the estimator
    seed: int  # Its random state, where it has one
    rows: Any = field(default=None, repr=False)  # Rows to map; None is all


@dataclass(frozen=True)
class Run:
    """What a run gave."""

    # One per metric, in [0, 1] where the metric has a range, smaller being better; empty after an error
    losses: tuple[float, ...] = ()
    values: tuple[float, ...] = ()  # The metrics themselves
    own_loss: float = math.nan  # What the estimator minimised, where it tells; NaN otherwise
    seconds: float = 0.0  # Time of the map and the metrics
    error: str = ""  # What went wrong, in one line; empty if nothing did
    notes: tuple[str, ...] = ()  # Warnings of the estimator
    fingerprint: str = ""  # Of the map: two runs with the same one made the same map

    def to_dict(self) -> dict[str, Any]:
        """Return what a stored study keeps."""
        return {
            "losses": list(self.losses),
            "values": list(self.values),
            "own_loss": None if math.isnan(self.own_loss) else self.own_loss,
            "seconds": self.seconds,
            "error": self.error,
            "notes": list(self.notes),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Run:
        """Read what a stored study kept."""
        own = kept["own_loss"]
        return cls(
            tuple(kept["losses"]),
            tuple(kept["values"]),
            math.nan if own is None else own,
            kept["seconds"],
            kept["error"],
            tuple(kept["notes"]),
            kept["fingerprint"],
        )


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
    return Metric(name, "higher", tuple(known), (-math.inf, math.inf), source=given, normalizer=_negative)


def _negative(value: Any) -> Any:
    return -value


def takes_target(estimator: Any) -> bool:
    """Tell whether the target shapes the map, so that it has to be passed."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    path = f"{type(last).__module__}:{type(last).__name__}"
    for name in registry.names(installed=False):
        if registry.find(name).path == path:
            return registry.find(name).supervised
    tags = getattr(last, "__sklearn_tags__", None)
    return bool(tags().target_tags.required) if tags is not None else False


def own_loss(estimator: Any) -> float:
    """Return the loss that an estimator minimised."""
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    told = [getattr(last, name, None) for name in _OWN_LOSSES]
    for value in (*told, getattr(getattr(last, "embedding_", None), "kl_divergence", None)):  # openTSNE's map has it
        if isinstance(value, (int, float, np.number)) and math.isfinite(value):
            return float(value)
    return math.nan


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


def run_once(
    estimator: Any,
    job: Job,
    X: ArrayLike,
    y: ArrayLike | None,
    metrics: Sequence[Metric],
    options: Mapping[str, Any],
) -> Run:
    """Run one job; whatever goes wrong is recorded, not raised."""
    start = time.perf_counter()
    rows = job.rows
    data, target = _take(X, rows), None if y is None else _take(y, rows)
    judged = data if options["metric_X"] is None else _take(options["metric_X"], rows)
    with warnings.catch_warnings(record=True) as caught, threads(1):
        warnings.simplefilter("always")
        try:
            model, Y = fitted_map(estimator, job, data, target, pass_target=options["pass_target"])
            values = tuple(_measure(metric, judged, Y, target, job.seed, options["sample"]) for metric in metrics)
            losses = tuple(float(metric.normalize(value)) for metric, value in zip(metrics, values, strict=True))
            wrong = [metric.name for metric, loss in zip(metrics, losses, strict=True) if not math.isfinite(loss)]
            error = f"{wrong[0]} is not a finite number" if wrong else ""
            own = own_loss(model)
            fingerprint = hashlib.sha256(np.ascontiguousarray(Y).tobytes()).hexdigest()[:12]
        except Exception as failure:
            error = _one_line(failure)
    seconds = time.perf_counter() - start
    notes = tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
    if error:
        return Run(seconds=seconds, error=error, notes=notes)
    return Run(losses, values, own, seconds, "", notes, fingerprint)


def _take(values: Any, rows: Any) -> Any:
    """Take rows of an array, a list or a DataFrame."""
    if rows is None:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values[rows] if hasattr(values, "shape") else np.asarray(values)[rows]


def _measure(metric: Metric, X: Any, Y: FloatArray, y: Any, seed: int, sample: int | None) -> float:
    parameters: dict[str, Any] = {}
    if metric.accepts("random_state"):
        parameters["random_state"] = seed
    if sample is not None and sample < len(Y) and metric.accepts("sample"):
        parameters["sample"] = sample
    return float(metric(X, Y, y, **parameters))


def _one_line(failure: Exception) -> str:
    where = traceback.extract_tb(failure.__traceback__)[-1]
    text = " ".join(str(failure).split())
    return f"{type(failure).__name__}: {text} ({where.name}, line {where.lineno})"


def run_all(
    estimator: Any,
    jobs: Sequence[Job],
    X: ArrayLike,
    y: ArrayLike | None,
    metrics: Sequence[Metric],
    options: Mapping[str, Any],
    *,
    n_jobs: int | None = None,
) -> list[Run]:
    """Run several jobs side by side."""
    n_workers = len(jobs) if has_executor() else min(resolve_n_jobs(n_jobs), len(jobs))
    if n_workers <= 1 and not has_executor():
        return [run_once(estimator, job, X, y, metrics, options) for job in jobs]
    try:
        return _side_by_side(n_workers, estimator, jobs, X, y, metrics, options)
    except BrokenExecutor:  # one of them killed its process, and the pool does not tell which: one by one, then
        found = []
        for job in jobs:
            try:
                found.extend(_side_by_side(n_workers, estimator, [job], X, y, metrics, options))
            except BrokenExecutor:
                found.append(Run(error=_DIED))
        return found


def _side_by_side(
    n_workers: int,
    estimator: Any,
    jobs: Sequence[Job],
    X: ArrayLike,
    y: ArrayLike | None,
    metrics: Sequence[Metric],
    options: Mapping[str, Any],
) -> list[Run]:
    if has_executor():
        run = functools.partial(_run_job, estimator, X, y, metrics, options)
        return map_blocks(run, jobs, anywhere=True)
    # A new one every time: after a broken pool it returns runs of the batch before.
    parallel = joblib.Parallel(n_workers, backend="loky", mmap_mode="c")
    return list(parallel(joblib.delayed(run_once)(estimator, job, X, y, metrics, options) for job in jobs))


def _run_job(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    metrics: Sequence[Metric],
    options: Mapping[str, Any],
    job: Job,
) -> Run:
    return run_once(estimator, job, X, y, metrics, options)
