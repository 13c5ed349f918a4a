"""What a target asks for: its task, and which rows have a label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from manifolia._core.types import Array, ArrayLike, BoolArray
from manifolia._core.validate import check_option, missing_labels
from manifolia.exceptions import ParameterError
from manifolia.forest.trees import check_forest

#: What a target can ask for.
TASKS = ("classification", "regression", "multilabel", "multioutput", "unsupervised")

#: Whole numbers are classes unless they take more distinct values than this and than a tenth of the rows.
_MAX_CLASSES = 20


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


def read_target(y: ArrayLike | None, n_rows: int, task: str = "auto", *, forest: Any = None) -> Target:
    """Find out what the target asks for."""
    check_option(task, "task", ("auto", *TASKS))
    if task == "unsupervised":
        return Target(None, np.ones(n_rows, dtype=bool), task)
    if y is None:
        raise ValueError(
            "this map requires y to be passed, but the target y is None. Pass the target, or task='unsupervised' to "
            "contrast the data with a shuffled copy of itself."
        )
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim not in (1, 2) or values.shape[0] != n_rows:
        raise ParameterError(
            f"y must have a label, or a row of labels, for each of the {n_rows} rows, got shape {values.shape}.",
            parameter="y",
        )
    labelled = ~missing_labels(y)
    if not labelled.any():
        raise ValueError("every label of y is missing. Pass some labels, or task='unsupervised'.")
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
        raise ParameterError(
            f"task={task!r} does not suit a y of shape {values.shape}. Leave task='auto', or change y.",
            parameter="task",
        )
    if task == "multilabel" and not (values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all()):
        raise ParameterError(
            f"task='multilabel' needs zeros and ones in y, got {_example(values)}. Use task='multioutput'.",
            parameter="task",
        )
    if task == "regression" or (task == "multioutput" and values.dtype.kind in "f"):
        if values.dtype.kind not in "biuf":  # texts such as "1" are not taken for numbers
            raise ParameterError(
                f"task={task!r} needs numbers in y, got {_example(values)}. Use task='classification'.",
                parameter="task",
            )
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("y holds infinite values. Remove those rows, or mark them as missing with NaN.")
        return numbers
    if values.dtype.kind == "f":
        if (values != np.round(values)).any():
            raise ParameterError(
                f"task={task!r} needs classes in y, got unknown label type: continuous numbers such as "
                f"{_example(values[values != np.round(values)])}. Use task='regression'.",
                parameter="task",
            )
        return values.astype(np.int64)
    return values


def _example(values: Array) -> str:
    """The first value that is neither 0 nor 1, as a user would write it."""
    plain = values.ravel().tolist()
    return repr(next((value for value in plain if value not in (0, 1)), plain[0]))
