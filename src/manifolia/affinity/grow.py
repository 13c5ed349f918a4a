"""The forest behind a supervised map: which task the target sets, and a forest grown for it.

Rows without a label are left out of the forest's training and are placed by it all the same.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from manifolia._core.parallel import threads
from manifolia._core.random import as_seed
from manifolia._core.types import Array, ArrayLike, BoolArray, FloatArray, IntArray, RandomState
from manifolia._core.validate import check_option, missing_labels
from manifolia.affinity.contrast import contrast_forest
from manifolia.affinity.growth import Report, fit_forest
from manifolia.affinity.split_width import split_width

__all__ = [
    "TASKS",
    "Grown",
    "Target",
    "check_forest",
    "default_forest",
    "grow_forest",
    "read_target",
    "training_weights",
]

#: What a target can ask for.
TASKS = ("classification", "regression", "multilabel", "multioutput", "unsupervised")

#: Whole numbers are classes unless they take more distinct values than this and than a tenth of the rows.
_MAX_CLASSES = 20
#: Breiman's defaults for regression, as in R's randomForest: a third of the variables, nodes of up to 5 rows unsplit.
_REGRESSION = {"max_features": 1 / 3, "min_samples_split": 6}


class Target(NamedTuple):
    """A target that has been looked at."""

    y: Array | None  # The labels of the labelled rows
    labelled: BoolArray  # (n,): which rows have a label
    task: str  # One of `TASKS`

    @property
    def is_classification(self) -> bool:
        """Whether the forest votes on classes."""
        return self.task in ("classification", "multilabel") or (
            self.task == "multioutput" and self.y is not None and self.y.dtype.kind not in "f"
        )


class Grown(NamedTuple):
    """A fitted forest and how its rows relate to the data."""

    forest: Any  # Fitted
    train_rows: IntArray | None  # For each row that the forest saw, its row in the data or −1; None: they are the same


def check_forest(forest: Any) -> Any:
    """Check that a forest is one whose leaves and bags can be read."""
    given = getattr(forest, "estimator", forest) if type(forest).__name__ == "FrozenEstimator" else forest
    # Of the class: the property draws every bag anew. Bagging has bags too, but no leaves of its own.
    if given is not None and not (hasattr(type(given), "estimators_samples_") and hasattr(type(given), "apply")):
        message = (
            f"forest must be a scikit-learn forest (RandomForest… or ExtraTrees…), fitted or not, or None, "
            f"got {given!r}. None builds one for the task."
        )
        raise TypeError(message)
    return given


def read_target(y: ArrayLike | None, n_rows: int, task: str = "auto", *, forest: Any = None) -> Target:
    """Find out what the target asks for."""
    check_option(task, "task", ("auto", *TASKS))
    if task == "unsupervised":
        return Target(None, np.ones(n_rows, dtype=bool), task)
    if y is None:
        message = (
            "this map requires y to be passed, but the target y is None. Pass the target, or task='unsupervised' to "
            "contrast the data with a shuffled copy of itself."
        )
        raise ValueError(message)
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim not in (1, 2) or values.shape[0] != n_rows:
        message = f"y must have a label, or a row of labels, for each of the {n_rows} rows, got shape {values.shape}."
        raise ValueError(message)
    labelled = ~missing_labels(y)
    if not labelled.any():
        message = "every label of y is missing. Pass some labels, or task='unsupervised'."
        raise ValueError(message)
    values = _plain(values[labelled])
    if task == "auto":
        task, values = _guess(values, check_forest(forest))
    return Target(_as_task(values, task), labelled, task)


def _plain(values: Array) -> Array:
    """Objects become numbers if they all are, else texts."""
    if values.dtype.kind != "O":
        return values
    if any(isinstance(value, (str, bytes)) for value in values.ravel()):
        return values.astype(str)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(str)


def _guess(values: Array, forest: Any) -> tuple[str, Array]:
    """Name the task, and turn whole numbers that are regressed on into floats where several outputs need telling."""
    classifier, regressor = (forest is not None and asks(forest) for asks in (is_classifier, is_regressor))
    if values.ndim == 1:
        if classifier or regressor:
            return "classification" if classifier else "regression", values
        return "regression" if _measures(values) else "classification", values
    if values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all() and not regressor:
        return "multilabel", values
    if values.dtype.kind in "iu" and not classifier and (regressor or any(_measures(column) for column in values.T)):
        values = values.astype(np.float64)
    return "multioutput", values


def _measures(values: Array) -> bool:
    """Whether one output is numbers to regress on."""
    if values.dtype.kind not in "iuf":
        return False
    if not np.isfinite(values).all() or (values != np.round(values)).any():
        return True
    return len(np.unique(values)) > max(_MAX_CLASSES, len(values) / 10)


def _as_task(values: Array, task: str) -> Array:
    if (values.ndim == 2) != (task in ("multilabel", "multioutput")):
        message = f"task={task!r} does not suit a y of shape {values.shape}. Leave task='auto', or change y."
        raise ValueError(message)
    if task == "multilabel" and not (values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all()):
        message = f"task='multilabel' needs zeros and ones in y, got {_example(values)}. Use task='multioutput'."
        raise ValueError(message)
    if task == "regression" or (task == "multioutput" and values.dtype.kind in "f"):
        if values.dtype.kind not in "biuf":  # texts such as "1" are not taken for numbers
            message = f"task={task!r} needs numbers in y, got {_example(values)}. Use task='classification'."
            raise ValueError(message)
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            message = "y holds infinite values. Remove those rows, or mark them as missing with NaN."
            raise ValueError(message)
        return numbers
    if values.dtype.kind == "f":
        if (values != np.round(values)).any():
            message = (
                f"task={task!r} needs classes in y, got unknown label type: continuous numbers such as "
                f"{_example(values[values != np.round(values)])}. Use task='regression'."
            )
            raise ValueError(message)
        return values.astype(np.int64)
    return values


def _example(values: Array) -> str:
    """The first value that is neither 0 nor 1, as a user would write it."""
    plain = values.ravel().tolist()
    return repr(next((value for value in plain if value not in (0, 1)), plain[0]))


def default_forest(target: Target, n_trees: int = 500) -> Any:
    """Make the forest that is grown for a target when none is given."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if target.is_classification or target.task == "unsupervised":  # tells the data from a shuffled copy
        return RandomForestClassifier(n_trees)
    return RandomForestRegressor(n_trees, **_REGRESSION)


def grow_forest(
    X: Any,
    target: Target,
    *,
    forest: Any = None,
    n_trees: int = 500,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    report: Report | None = None,
) -> Grown:
    """Grow a forest for a target, or take the fitted one that is given."""
    from sklearn.base import clone

    given = check_forest(forest)
    rows = None if target.labelled.all() else np.flatnonzero(target.labelled)
    if given is not None and hasattr(given, "estimators_"):
        n_seen = _rows_seen(given)
        return Grown(given, rows if rows is not None and n_seen <= len(rows) else None)
    # scikit-learn's threads each save, change and restore the process's warning filters: where two overlap, what stays
    # is the wrong ones. (With two threads, 50 of 60 forests left other filters behind.) Where one empties the list
    # that another was given, that one warns of a list that is missing.
    with threads(n_jobs) as n_threads, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*sklearn\.utils\.parallel\.delayed", category=UserWarning)
        if target.task == "unsupervised":
            if sample_weight is not None:
                message = "sample_weight has no meaning for task='unsupervised', whose forest has no target. Drop it."
                raise ValueError(message)
            return Grown(*contrast_forest(X, n_trees=n_trees, forest=given, random_state=random_state, report=report))
        model = default_forest(target, n_trees).set_params(n_jobs=n_threads) if given is None else clone(given)
        if model.random_state is None:
            model.set_params(random_state=as_seed(random_state))
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[target.labelled]
        train = X if rows is None else X[rows]
        if given is None and target.task == "classification" and target.y is not None:
            width = split_width(train, target.y, weight=weight, seed=model.random_state, n_jobs=n_threads)
            model.set_params(max_features=width)
        fit_forest(model, train, target.y, weight, report=report if given is None else None)
    return Grown(model, rows)


def _rows_seen(forest: Any) -> int:
    """At least how many rows a fitted forest was trained on."""
    return 1 + max((int(drawn.max(initial=-1)) for drawn in forest.estimators_samples_), default=-1)


def training_weights(forest: Any, sample_weight: ArrayLike | None) -> FloatArray | None:
    """Tell which weights multiply the in-bag counts.

    scikit-learn 1.9 draws the bootstrap samples by weight, so that the counts hold the weights already; earlier
    releases multiply the counts. The trees themselves tell: their root's weight is the number of draws, or is not.
    """
    if sample_weight is None:
        return None
    if not getattr(forest, "bootstrap", False):  # nothing is drawn: the weights go to the trees as they are
        return np.asarray(sample_weight, dtype=np.float64)
    drawn = forest.estimators_samples_[0]
    if np.isclose(forest.estimators_[0].tree_.weighted_n_node_samples[0], len(drawn), rtol=1e-9):
        return None
    return np.asarray(sample_weight, dtype=np.float64)
