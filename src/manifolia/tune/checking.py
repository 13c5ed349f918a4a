"""What a tuner checks before it begins, and what a stored study must share with the one that goes on with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from manifolia._core.parallel import resolve_n_jobs
from manifolia._core.types import ArrayLike
from manifolia._core.validate import check_bool, check_number, check_option
from manifolia.metrics.registry import Metric
from manifolia.tune.aggregate import check_aggregate
from manifolia.tune.evaluation import as_metric
from manifolia.tune.presets import with_forest
from manifolia.tune.proposal import DESIGNS, SURROGATES
from manifolia.tune.space import Space
from manifolia.tune.subsample import SAMPLINGS, sample_size

__all__ = ["check_tuner", "study_signature"]

_LOOKED_AT = 1000  # rows, evenly spread, by which data are known again


def check_tuner(tuner: Any, n: int, y: ArrayLike | None) -> tuple[Any, Space, list[Metric]]:
    """Check the parameters of a tuner at the door."""
    usable = hasattr(tuner.estimator, "fit_transform") and hasattr(tuner.estimator, "set_params")
    if isinstance(tuner.estimator, type) or not usable:
        message = (
            f"estimator must have fit_transform and set_params, as scikit-learn's do, got {tuner.estimator!r}. "
            "Pass an instance, such as mf.FeatureMAP(); openTSNE's is openTSNE.sklearn.TSNE."
        )
        raise TypeError(message)
    space = Space(tuner.space)
    estimator = with_forest(tuner.estimator, space.names, y, n)
    known = estimator.get_params()
    for name in space.names:
        check_option(name, "a parameter of space", list(known))
    given = [tuner.metrics] if isinstance(tuner.metrics, (str, Metric)) or callable(tuner.metrics) else tuner.metrics
    metrics = [as_metric(one) for one in given]
    names = [metric.name for metric in metrics]
    if not names or len(set(names)) < len(names):
        message = (
            f"metrics must be one or several with different names, got {names}. Write functions with def: their names "
            "become columns."
        )
        raise ValueError(message)
    for metric in metrics:
        unknown = set(metric.needs) - {"X", "Y", "y"}
        if unknown or ("y" in metric.needs and y is None):
            what = "y" if not unknown else " and ".join(sorted(unknown))
            message = f"metric {metric.name!r} needs {what}, which the tuner does not have. Pass it, or another metric."
            raise ValueError(message)
    check_option(tuner.sampling, "sampling", SAMPLINGS)
    check_option(tuner.surrogate, "surrogate", SURROGATES)
    check_option(tuner.design, "design", DESIGNS)
    check_aggregate(tuner.aggregate)
    check_number(tuner.n_repeats, "n_repeats", low=1, integer=True)
    check_number(tuner.n_pilot, "n_pilot", low=1, integer=True)
    check_number(tuner.n_trials, "n_trials", low=1, integer=True)
    check_number(tuner.batch_size, "batch_size", low=1, integer=True)
    check_number(tuner.n_confirm, "n_confirm", low=0, integer=True)
    check_number(tuner.n_full, "n_full", low=0, integer=True)
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
    for name in tuner.pilot_params or {}:
        check_option(name, "a parameter of pilot_params", list(known))
        if name in space.parameters:
            message = (
                f"pilot_params has {name!r}, which is tuned: every cheap run would be of the same setting. Drop it."
            )
            raise ValueError(message)
    _check_plan(tuner, space)
    if tuner.pass_target != "auto":
        check_bool(tuner.pass_target, "pass_target")
    resolve_n_jobs(tuner.n_jobs)
    sample_size(tuner.subsample, n)
    return estimator, space, metrics


def _check_plan(tuner: Any, space: Space) -> None:
    """What cannot be done together."""
    if tuner.surrogate == "grid":
        least = len(space.grid(tuner.n_trials))
        if least > tuner.n_trials:
            message = (
                f"a grid of {len(space.names)} parameters has at least {least} settings, more than n_trials="
                f"{tuner.n_trials}. Raise n_trials, or tune fewer parameters."
            )
            raise ValueError(message)
    if tuner.early_stop and (tuner.surrogate in ("random", "grid", "nsga2") or tuner.n_repeats < 2):
        message = (
            f"early_stop=True compares what a surrogate expects with the noise of repeats, which surrogate="
            f"{tuner.surrogate!r} with n_repeats={tuner.n_repeats} does not have. Take a Gaussian process or a forest "
            "and two or more repeats, or early_stop=False."
        )
        raise ValueError(message)


def study_signature(tuner: Any, X: Any, y: Any, metric_X: Any, n: int) -> dict[str, Any]:
    """Collect what has to be the same for a stored study to go on."""
    rows = np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(int))
    return {
        "data": _print_of((X.shape, _rows_of(X, rows))),
        "y": None if y is None else _print_of(_rows_of(y, rows)),
        "metric_X": None if metric_X is None else _print_of(_rows_of(metric_X, rows)),
        "estimator": repr(tuner.estimator),
        "pass_target": tuner.pass_target,
        "subsample": tuner.subsample,
        "sampling": tuner.sampling,
        "resample": tuner.resample,
        "n_repeats": tuner.n_repeats,
        "n_pilot": tuner.n_pilot,
        "surrogate": tuner.surrogate,
        "design": tuner.design,
        "pilot_params": repr(tuner.pilot_params),
        "aggregate": repr(tuner.aggregate),
        "race": tuner.race,
        "batch_size": tuner.batch_size,
        "metric_sample": tuner.metric_sample,
        # Points of a larger grid lie elsewhere, so that one cannot be made of the other.
        "n_trials": tuner.n_trials if tuner.surrogate == "grid" else None,
    }


def _rows_of(values: Any, rows: Any) -> Any:
    taken = values.iloc[rows].to_numpy() if hasattr(values, "iloc") else None
    if taken is None:
        taken = values[rows].toarray() if sp.issparse(values) else np.asarray(values)[rows]
    return taken.tolist()


def _print_of(values: Any) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]
