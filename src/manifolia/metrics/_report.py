"""All metrics that apply, as a table."""

from __future__ import annotations

import importlib
import inspect
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from manifolia._core.progress import Reporter
from manifolia._core.random import as_seed
from manifolia._core.types import ArrayLike, Callback, FloatArray, RandomState
from manifolia._core.validate import check_bool, check_labels, check_map, check_matrix, check_number, check_option
from manifolia.exceptions import ParameterTypeError
from manifolia.metrics import registry
from manifolia.metrics._labels import is_classification
from manifolia.metrics._sampling import Estimate, check_sizes
from manifolia.metrics._spaces import METRICS
from manifolia.metrics.registry import Metric

if TYPE_CHECKING:
    import pandas as pd


#: Above this many rows, `sample="auto"` estimates the metrics whose cost grows with the square of the number.
_EXACT_ROWS = 5_000
#: Rows that are then judged against all rows; the interval of a mean over them is about ± 0.01.
_AUTO_ROWS = 1_000
#: Rows × all rows × columns that take some seconds to compare, and the fewest rows that are judged in a wide table.
_WORK = 20_000_000_000
_FEWEST_ROWS = 200
#: Pairs of rows that stand for one sampled row where pairs are sampled.
_PAIRS_PER_ROW = 200
#: m² d of the m rows that importance alignment uses: some seconds.
_IMPORTANCE = ("importance_alignment", "importance_alignment_global")
_IMPORTANCE_WORK = 200_000_000
_IMPORTANCE_ROWS = 100
_IMPORTANCE_REPEATS = 5
#: Neighbours for the density, where there are so many.
_DENSITY_NEIGHBORS = 15


_Row = dict[str, Any]  # one line of the table


class _Inputs(NamedTuple):
    """What is judged, and how."""

    given: dict[str, Any]  # by the names that metrics need
    n: int
    ks: list[int]
    sample: int | str | None
    rows: int | None  # that are judged; None: all
    options: dict[str, Any]  # of all metrics that take them
    strict: bool  # raise what does not apply, in place of a note


def report(
    X: ArrayLike,
    Y: ArrayLike,
    y: ArrayLike | None = None,
    *,
    metrics: Sequence[str | Metric] | None = None,
    k: int | Sequence[int] | None = None,
    metric: str = "euclidean",
    task: str = "auto",
    groups: ArrayLike | None = None,
    gradients: FloatArray | None = None,
    normalized: bool = False,
    sample: int | str | None = "auto",
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    callback: Callback = None,
    verbose: bool = False,
) -> pd.DataFrame:
    """Judge a map by every metric that applies.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data.
    Y : array-like of shape (n, n_components)
        Map.
    y : array-like of shape (n,), default=None
        Target: classes or numbers. Metrics that need a target are left out without one, and those for classes are left
        out for numbers.
    metrics : sequence of str or Metric, default=None
        Which metrics; None takes all registered ones that have the inputs they need.
    k : int or sequence of int, default=None
        Sizes of neighbourhood for the metrics with a parameter ``k``, one line each; None means 10, or n − 2 if that is
        less. The metrics of density, importance and arrows keep their own ``n_neighbors``, which is printed too.
    metric : {"euclidean", "cosine", "manhattan"}, default="euclidean"
        Distance between rows of `X`, for the metrics that offer a choice; the others are Euclidean.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read `y`. "auto": floats with a fraction are numbers, and so are whole numbers with more than 20
        different values; all else are classes.
    groups : array-like of shape (n,), default=None
        Labels of rows that belong together, such as one patient's, for the metrics that take them: those that predict
        the target of a row from other rows leave its group out.
    gradients : ndarray of shape (n, d, n_components), default=None
        Arrows of the features in the map, for ``arrow_fidelity``.
    normalized : bool, default=False
        Add a column with each value scaled to [0, 1], smaller being better.
    sample : int, "auto" or None, default="auto"
        Number of rows that are judged, against all others, by the metrics whose time grows with n²; those of distances
        take 200 pairs for each. "auto" takes 1,000 rows above n = 5,000, down to 200 if the table is so wide that more
        would take minutes, and for the importance alignment as many as take a few seconds. None judges all rows.
    random_state : int, RandomState, Generator or None, default=0
        Seed of samples, splits and starts; the default is fixed, so that several maps are judged alike.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    callback : callable, default=None
        Called with a ``ProgressEvent`` after each metric; if it returns True, the table so far is returned.
    verbose : bool, default=False
        Show a progress bar.

    Returns
    -------
    DataFrame
        One line per metric and size of neighbourhood: ``metric``; ``k``; ``value``; ``low`` and ``high``, the 95 %
        interval, NaN where the value is exact; ``direction``, which values are better; ``normalized`` if asked for;
        ``sample``, what the value was computed from; ``seconds``, shared by metrics that share a pass; and ``note``,
        why a value is missing.

    Raises
    ------
    ValueError
        If the inputs do not fit together, or a metric that was asked for by name cannot be computed.
    """
    import pandas as pd

    check_bool(normalized, "normalized")
    data = check_matrix(X, min_rows=3)
    n = data.shape[0]
    given: dict[str, Any] = {"X": data, "Y": check_map(Y, n_rows=n)}
    if y is not None:
        given["y"] = check_labels(y, n_rows=n)
    if gradients is not None:
        given["gradients"] = gradients
    chosen = _chosen(metrics, given, task)
    inputs = _Inputs(
        given=given,
        n=n,
        ks=[min(10, n - 2)] if k is None else check_sizes(k, n),
        sample=sample,
        rows=_sampled_rows(sample, *data.shape),
        options={
            "metric": check_option(metric, "metric", METRICS[:-1]),
            "task": task,
            "groups": groups,
            "random_state": as_seed(random_state),
            "n_jobs": n_jobs,
        },
        strict=metrics is not None,
    )
    reporter = Reporter(callback, verbose=verbose)
    jobs = _jobs(chosen, inputs)
    lines: list[_Row] = []
    done = 0
    for members, run in jobs:
        start = time.perf_counter()
        rows = run()
        seconds = (time.perf_counter() - start) / max(len(rows), 1)
        lines += [{**row, "seconds": seconds} for row in rows]
        done += len(members)
        if reporter.update("report", done, len(chosen)):
            break
    by_name = {metric.name: metric for metric in chosen}
    lines.sort(key=lambda line: list(by_name).index(line["metric"]))
    table = pd.DataFrame(lines)
    table["k"] = table["k"].astype("Int64")
    if normalized:
        scaled = [by_name[line["metric"]].normalize(line["value"]) for line in lines]
        table.insert(table.columns.tolist().index("direction") + 1, "normalized", scaled)
    return table


def _chosen(metrics: Sequence[str | Metric] | None, given: dict[str, Any], task: str) -> list[Metric]:
    """Find the metrics that have what they need."""
    numeric = "y" in given and not is_classification(given["y"], task)
    if metrics is None:
        found = [registry.get(name) for name in registry.names(list(given))]
        return [metric for metric in found if not (numeric and metric.classes_only)]
    if isinstance(metrics, (str, Metric)) or not metrics:
        raise ParameterTypeError(
            f"metrics must be a non-empty list of names, got {metrics!r}. Pass for example ['auc_r_nx'].",
            parameter="metrics",
        )
    found = [registry.get(metric) for metric in metrics]
    for metric in found:
        missing = [need for need in metric.needs if need not in given]
        if missing:
            raise ValueError(f"metric {metric.name!r} needs {' and '.join(missing)}. Pass it, or leave the metric out.")
        if numeric and metric.classes_only:
            raise ValueError(
                f"metric {metric.name!r} needs classes and y holds numbers. "
                f"Leave it out, or pass task='classification' if they are labels."
            )
    return found


def judged_rows(n: int, d: int) -> int | None:
    """Number of rows to judge if the user does not say; None for all."""
    affordable = max(_FEWEST_ROWS, _WORK // (n * d))
    rows = min(n if n <= _EXACT_ROWS else _AUTO_ROWS, affordable)
    return None if rows >= n else rows


def _sampled_rows(sample: int | str | None, n: int, d: int) -> int | None:
    """Number of rows to judge; None for all."""
    if sample == "auto":
        return judged_rows(n, d)
    if sample is None:
        return None
    hint = "It is a number of rows; 'auto' decides by size and None judges all."
    size: int = check_number(sample, "sample", low=20, high=n, integer=True, hint=hint)
    return size if size < n else None


def _rows_for(metric: Metric, inputs: _Inputs) -> int | None:
    """Number of rows that a metric judges; importance alignment has its own."""
    if inputs.sample != "auto" or metric.name not in _IMPORTANCE:
        return inputs.rows
    size = max(_IMPORTANCE_ROWS, math.isqrt(_IMPORTANCE_WORK // inputs.given["X"].shape[1]))
    return size if size < inputs.n else None


_Job = tuple[list[Metric], Callable[[], list[_Row]]]


def _jobs(chosen: list[Metric], inputs: _Inputs) -> list[_Job]:
    """Divide the work into passes over the rows, and metrics that are computed alone."""
    jobs: list[_Job] = []
    rest = list(chosen)
    for family in dict.fromkeys(metric.shared_pass for metric in chosen if metric.shared_pass):
        together = [m for m in rest if m.shared_pass == family and not m.parameters]  # others are computed alone
        if together:
            rest = [metric for metric in rest if metric not in together]
            jobs.append((together, partial(_together, family, together, inputs)))
    return [*jobs, *(([metric], partial(_alone, metric, inputs)) for metric in rest)]


def _together(family: str, metrics: list[Metric], inputs: _Inputs) -> list[_Row]:
    """Compute several metrics in one pass over rows or pairs; one by one if not all of them apply."""
    try:
        found, ks, text = _pass(family, [metric.name for metric in metrics], inputs)
    except ValueError:
        return [row for metric in metrics for row in _alone(metric, inputs)]
    several = family == "neighborhood"
    return [
        _row(metric, k, *(part[place] if several else part for part in found[metric.name]), sample=text)
        for metric in metrics
        for place, k in enumerate(ks)
    ]


def _pass(family: str, names: list[str], inputs: _Inputs) -> tuple[dict[str, Estimate], Sequence[int | None], str]:
    """Return the estimates, the neighbourhood sizes they belong to, and what they were computed from."""
    scores = getattr(importlib.import_module(f"manifolia.metrics.{family}"), f"{family}_scores")
    per_row, what = (_PAIRS_PER_ROW, "pairs") if family == "distance" else (1, "rows")
    sample = None if inputs.rows is None else inputs.rows * per_row
    around = min(_DENSITY_NEIGHBORS, inputs.n - 1)
    sizes: dict[str, list[int | None]] = {"neighborhood": [*inputs.ks], "density": [around]}
    wanted = {**inputs.options, "names": names, "k": inputs.ks, "n_neighbors": around, "sample": sample}
    taken = inspect.signature(scores).parameters
    found = scores(
        inputs.given["X"], inputs.given["Y"], **{name: value for name, value in wanted.items() if name in taken}
    )
    return found, sizes.get(family, [None]), "all" if sample is None else f"{sample} {what}"


def _alone(metric: Metric, inputs: _Inputs) -> list[_Row]:
    """Compute a metric by itself, once for each size of neighbourhood."""
    name = metric.size_name
    sizes: list[int | None] = [None]
    if name == "k" and "k" not in metric.parameters:
        sizes = list(inputs.ks)
    elif name is not None and metric.size is not None:
        sizes = [metric.size if name in metric.parameters else min(metric.size, inputs.n - 1)]
    return [_once(metric, name, size, inputs) for size in sizes]


def _once(metric: Metric, size_name: str | None, size: int | None, inputs: _Inputs) -> _Row:
    rows = _rows_for(metric, inputs)
    wanted = {**inputs.options, "sample": rows, "return_ci": True}
    if metric.name in _IMPORTANCE:
        wanted["n_repeats"] = _IMPORTANCE_REPEATS
    if size_name is not None:
        wanted[size_name] = size
    options = {key: value for key, value in wanted.items() if key not in metric.parameters and metric.accepts(key)}
    try:
        found = metric(**inputs.given, **options)
    except ValueError as error:
        if inputs.strict:
            raise
        return _row(metric, size, math.nan, math.nan, math.nan, note=str(error))
    value, (low, high) = found if "return_ci" in options else (found, (math.nan, math.nan))
    text = metric.judged_on or ("all" if rows is None or "sample" not in options else f"{rows} rows")
    return _row(metric, size, value, low, high, sample=text)


def _row(metric: Metric, k: int | None, value: Any, low: Any, high: Any, *, sample: str = "", note: str = "") -> _Row:
    """Write a line of the table; an exact value has no interval."""
    exact = low == value == high
    return {
        "metric": metric.name,
        "k": k,
        "value": float(value),
        "low": math.nan if exact else float(low),
        "high": math.nan if exact else float(high),
        "direction": metric.direction,
        "sample": sample,
        "seconds": math.nan,
        "note": note,
    }
