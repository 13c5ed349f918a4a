"""Targets as the metrics need them: class codes, checked numbers, and the vote of a row's neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_labels, check_option
from manifolia.exceptions import ParameterError

_TASKS = ("auto", "classification", "regression")


class Classes(NamedTuple):
    """Class labels as codes."""

    # (n,): 0 … n_classes − 1, in the order in which the classes first appear, so that nothing depends on their names
    codes: IntArray
    names: Array  # (n_classes,): the label of each code


def classes(y: ArrayLike, *, n_rows: int, at_least: int = 2, purpose: str) -> Classes:
    """Check class labels and turn them into codes."""
    labels = check_labels(y, n_rows=n_rows)
    keys = labels
    if labels.dtype.kind == "O":  # mixed kinds cannot be sorted; their texts can
        keys = np.array([f"{type(label).__name__} {label!s}" for label in labels])
    _, first, sorted_codes = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    names = labels[first[order]]
    codes = np.argsort(order)[sorted_codes.ravel()]
    if names.shape[0] < at_least:
        raise ValueError(
            f"{purpose} needs at least {at_least} classes and y has {names.shape[0]}. "
            f"Pass labels with {at_least} or more distinct values."
        )
    return Classes(codes.astype(np.intp), names)


def is_classification(y: ArrayLike, task: str = "auto") -> bool:
    """Decide whether a target holds classes or numbers."""
    from manifolia.forest.targets import read_target

    check_option(task, "task", _TASKS)
    values = check_labels(y)
    return (read_target(values, values.shape[0]).task if task == "auto" else task) == "classification"


def _numbers(y: ArrayLike, *, n_rows: int) -> FloatArray:
    """Check a numeric target."""
    values = check_labels(y, n_rows=n_rows)
    try:
        out = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"y must hold numbers for a regression, got {values.dtype} values. Pass task='classification' for labels.",
            parameter="y",
        ) from error
    if not np.isfinite(out).all():
        n_infinite = int((~np.isfinite(out)).sum())
        raise ParameterError(
            f"y must be finite, and {n_infinite} values are infinite. Drop those rows first.", parameter="y"
        )
    if np.ptp(out) == 0:
        raise ParameterError(
            f"y holds the value {out[0]:g} only, so it says nothing. Pass a target that varies.", parameter="y"
        )
    return out


def check_target(y: ArrayLike, task: str, *, n_rows: int, purpose: str) -> tuple[Classes | None, Array]:
    """Check a target; return its classes (None if it holds numbers) and its codes or numbers."""
    if not is_classification(y, task):
        return None, _numbers(y, n_rows=n_rows)
    labels = classes(y, n_rows=n_rows, purpose=purpose)
    return labels, labels.codes


def vote(labels: IntArray, n_classes: int) -> IntArray:
    """Let each row's neighbours vote; of equally many votes, those for the class of the nearest count."""
    n, k = labels.shape
    rows = np.arange(n)[:, None]
    counts = np.bincount((rows * n_classes + labels).ravel(), minlength=n * n_classes).reshape(n, n_classes)
    votes = counts[rows, labels]
    first = np.argmax(votes == votes.max(axis=1, keepdims=True), axis=1) if k else np.zeros(n, dtype=np.intp)
    return labels[np.arange(n), first].astype(np.intp)
