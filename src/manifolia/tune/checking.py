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
from manifolia.tune.proposal import DESIGNS, SURROGATES
from manifolia.tune.space import Space
from manifolia.tune.subsample import SAMPLINGS, sample_size

__all__ = ["check_tuner", "study_signature"]


def check_tuner(tuner: Any, n: int, y: ArrayLike | None) -> tuple[Space, list[Metric]]:
    """Check the parameters of a tuner at the door.

    Parameters
    ----------
    tuner : Tuner
        Not fitted.
    n : int
        Rows there are.
    y : array-like or None
        Target.

    Returns
    -------
    tuple
        Space and metrics.
    """
    if not hasattr(tuner.estimator, "fit_transform") or not hasattr(tuner.estimator, "set_params"):
        message = (
            f"estimator must have fit_transform and set_params, as scikit-learn's do, got {tuner.estimator!r}. "
            "Pass an instance, such as mf.FeatureMAP(); openTSNE's is openTSNE.sklearn.TSNE."
        )
        raise TypeError(message)
    space = Space(tuner.space)
    known = tuner.estimator.get_params()
    for name in space.names:
        check_option(name, "a parameter of space", list(known))
    given = [tuner.metrics] if isinstance(tuner.metrics, (str, Metric)) or callable(tuner.metrics) else tuner.metrics
    metrics = [as_metric(one) for one in given]
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
    if isinstance(tuner.refit, Mapping):
        space.check(dict(tuner.refit))
    else:
        check_bool(tuner.refit, "refit")
    for name in tuner.pilot_params or {}:
        check_option(name, "a parameter of pilot_params", list(known))
    if tuner.pass_target != "auto":
        check_bool(tuner.pass_target, "pass_target")
    resolve_n_jobs(tuner.n_jobs)
    sample_size(tuner.subsample, n)
    return space, metrics


def study_signature(tuner: Any, X: Any, n: int, seed: int) -> dict[str, Any]:
    """Collect what has to be the same for a stored study to go on.

    Parameters
    ----------
    tuner : Tuner
        Not fitted.
    X : array-like of shape (n, d)
        Data; its shape and first rows count.
    n : int
        Rows there are.
    seed : int
        Of the study.

    Returns
    -------
    dict
        Plain values.
    """
    head = X.iloc[: min(n, 100)].to_numpy() if hasattr(X, "iloc") else X[: min(n, 100)]
    head = head.toarray() if sp.issparse(head) else head
    return {
        "data": hashlib.sha256(repr((X.shape, np.asarray(head).tolist())).encode()).hexdigest()[:16],
        "estimator": repr(tuner.estimator),
        "random_state": seed,
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
    }
