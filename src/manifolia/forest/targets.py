"""What a target requires: its task, and which rows have a label."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier, is_regressor

from manifolia._core.groups import read_groups
from manifolia._core.messages import Argument, Message
from manifolia._core.precision import mean_and_spread
from manifolia._core.types import Array, ArrayLike, BoolArray, IntArray
from manifolia._core.validate import check_option, label_array, missing_labels
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterError
from manifolia.forest.trees import check_forest
from manifolia.tables.number_formats import as_number, number_sign, reads

#: The possible tasks.
TASKS = ("classification", "regression", "multilabel", "multioutput", "unsupervised")

#: Whole numbers are classes unless they take more distinct values than this, however many rows there are.
MOST_CLASSES = 20
#: Importances for numbers are squares, and their spread squares of squares: these have to be finite and above 0.
_MOST_SPREAD = 1e70
_MOST_WHOLE = 2.0**53  # larger floats have no fractions, whatever they mean
_WHOLE = 2.0**62  # whole floats below it are integers of 64 bits


class Target(NamedTuple):
    """A target that has been read."""

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
    """Find out what the target requires."""
    check_option(task, "task", ("auto", *TASKS))
    if task == "unsupervised":
        return Target(None, np.ones(n_rows, dtype=bool), task)
    if y is None:
        raise ValueError(
            "this map requires y to be passed, but the target y is None. Pass the target, or task='unsupervised' to "
            "contrast the data with a shuffled copy of itself."
        )
    values = label_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim not in (1, 2) or values.shape[0] != n_rows or values.shape[-1] == 0:
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
    values = _as_task(values, task)
    n_classes = len(np.unique(values)) if task == "classification" else 0
    if n_classes > len(values) / 2 and len(values) > MOST_CLASSES:
        warn(
            f"y has {n_classes} classes in {len(values)} rows, so that most have one row, which tells little about a "
            f"class. If these are numbers, use task='regression'."
        )
    if n_classes > MOST_CLASSES and values.dtype.kind == "U" and _is_written_numbers(np.unique(values).tolist()):
        warn(
            f"y holds texts that read as numbers, such as {str(values[0])!r}, and each of the {n_classes} different "
            f"ones is taken as a class. Pass numbers to have them taken as numbers."
        )
    return Target(values, labelled, task)


def _is_written_numbers(texts: list[str]) -> bool:
    """Return whether texts are like 99.6%, 5.43 bar or 1.5; plain whole numbers may well be names of classes."""
    sign = number_sign(texts, [1] * len(texts))
    return not all(map(str.isdecimal, texts)) and all(reads(as_number, text, sign) for text in texts)


def target_groups(groups: ArrayLike | None, target: Target) -> IntArray | None:
    """Read groups of rows, and refuse groups with which nothing about a target could be learned."""
    classes = target.y if target.is_classification else None
    return read_groups(groups, len(target.labelled), y=classes, labelled=target.labelled)


def _plain(values: Array) -> Array:
    """Objects become numbers if they all are numbers, otherwise texts."""
    if values.dtype.kind != "O":
        return values
    if any(isinstance(value, (str, bytes)) for value in values.ravel()):
        return values.astype(str)
    try:
        plain = np.array(values.tolist())
        if plain.dtype.kind in "iu" and plain.shape == values.shape:
            return plain
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(str)


def _guess(values: Array, forest: Any) -> tuple[str, Array]:
    """Name the task, and turn whole numbers that are regressed on into floats if several outputs need it."""
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
    return len(np.unique(values)) > MOST_CLASSES


def taken_as(target: Target, name: str = "y") -> Message | None:
    """Say what a target of whole numbers was taken as, and how to change that; None for other targets."""
    values = target.y
    if values is None or values.ndim > 1 or values.dtype.kind not in "iuf":
        return None
    if (values != np.round(values)).any() or np.abs(values).max() > _MOST_WHOLE:
        return None
    kinds = {"classification": "classes", "regression": "numbers"}
    other = "regression" if target.task == "classification" else "classification"
    told = f"{name} taken as {kinds[target.task]} ({target.task}); "
    return Message(told, Argument("task", other), f" takes them as {kinds[other]}.")


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
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y holds infinite values. Remove those rows, or mark them as missing with NaN.")
    if task == "regression" or (task == "multioutput" and values.dtype.kind in "f"):
        if values.dtype.kind not in "biuf":  # texts such as "1" are not taken for numbers
            raise ParameterError(
                f"task={task!r} needs numbers in y, got {_example(values)}. Use task='classification'.",
                parameter="task",
            )
        with np.errstate(over="ignore"):
            numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("y holds infinite values. Remove those rows, or mark them as missing with NaN.")
        for column in numbers.reshape(len(numbers), -1).T:
            _, spread = mean_and_spread(column)
            if spread > _MOST_SPREAD or 0.0 < spread < 1.0 / _MOST_SPREAD:
                raise ParameterError(
                    f"the target y must have a standard deviation from {1.0 / _MOST_SPREAD:g} to {_MOST_SPREAD:g} to "
                    f"be regressed on, got {spread:.3g}: squares would overflow or vanish. Divide it by a constant.",
                    parameter="y",
                )
        return numbers
    if values.dtype.kind == "f":
        if (values != np.round(values)).any():
            raise ParameterError(
                f"task={task!r} needs classes in y, got unknown label type: continuous numbers such as "
                f"{_example(values[values != np.round(values)])}. Use task='regression'.",
                parameter="task",
            )
        return values.astype(np.int64) if (np.abs(values) < _WHOLE).all() else values.astype(str)
    return values


def _example(values: Array) -> str:
    """The first value that is neither 0 nor 1, as a user would write it."""
    plain = values.ravel().tolist()
    return repr(next((value for value in plain if value not in (0, 1)), plain[0]))
