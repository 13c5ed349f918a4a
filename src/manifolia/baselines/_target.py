"""The target as the baselines see it: a factor F of its kernel, L = F Fᵀ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from manifolia._core.types import Array, ArrayLike, FloatArray
from manifolia.forest.targets import read_target

__all__ = ["Classes", "Factor", "target_classes", "target_factor"]

_MAX_RANK = 100
_TOLERANCE = 1e-6  # of the trace: what is left of the kernel when the factor stops growing


class Factor(NamedTuple):
    """A factor of the target's kernel.

    Attributes
    ----------
    F : ndarray of shape (n, r)
        Columns centred.
    task : str
        What the target was taken for.
    classes : ndarray or None
        The classes, if it has any.
    """

    F: FloatArray
    task: str
    classes: Array | None


class Classes(NamedTuple):
    """Classes of the rows.

    Attributes
    ----------
    classes : ndarray
        The classes.
    codes : ndarray of shape (n,)
        Number of each row's class.
    """

    classes: Array
    codes: Array


def target_factor(y: ArrayLike | None, n: int, *, task: str = "auto", kernel: str = "auto") -> Factor:
    """Factor the kernel of a target."""
    target = read_target(y, n, task)
    values: Any = target.y
    if target.task in ("classification", "multilabel"):
        check_classification_targets(values)
    if len(values) < n:
        message = f"y has {n - len(values)} missing values, and this method needs all. Drop those rows first."
        raise ValueError(message)
    if target.task == "classification" and kernel in ("auto", "delta"):
        classes, codes = np.unique(values, return_inverse=True)
        one_hot = np.eye(len(classes))[codes]
        return Factor(one_hot - one_hot.mean(axis=0), target.task, classes)
    if target.task not in ("classification", "regression", "multilabel", "multioutput") or kernel == "delta":
        message = f"kernel='delta' compares classes, and the target was taken for {target.task}. Use 'linear' or 'rbf'."
        raise ValueError(message)
    numbers = np.asarray(values, dtype=np.float64).reshape(n, -1)
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    F = numbers if kernel in ("auto", "linear") else _gaussian_factor(numbers)
    return Factor(F - F.mean(axis=0), target.task, None)


def _gaussian_factor(values: FloatArray) -> FloatArray:
    """Pivoted Cholesky factor of a Gaussian kernel: its spectrum falls fast, so few columns do."""
    n = len(values)
    picked = values[:: max(1, n // 500)]
    gaps = np.sqrt(((picked[:, None] - picked[None]) ** 2).sum(axis=2))
    width = float(np.median(gaps[gaps > 0])) if np.any(gaps > 0) else 1.0
    left = np.ones(n)
    columns: list[FloatArray] = []
    while len(columns) < min(n, _MAX_RANK) and left.sum() > _TOLERANCE * n:
        i = int(np.argmax(left))
        column = np.exp(-((values - values[i]) ** 2).sum(axis=1) / (2 * width**2))
        for other in columns:
            column = column - other * other[i]
        column = column / np.sqrt(left[i])
        columns.append(column)
        left = np.maximum(left - column**2, 0.0)
    return np.stack(columns, axis=1)


def target_classes(y: ArrayLike | None, n: int, *, name: str) -> Classes:
    """Read classes, and refuse numbers."""
    target = read_target(y, n, "auto")
    if target.task != "classification":
        message = (
            f"{name} compares classes, and y was taken for {target.task}. Pass one column of classes, cut numbers into "
            "bins first, or use a method that takes numbers, such as SupervisedPCA."
        )
        raise ValueError(message)
    values: Any = target.y
    check_classification_targets(values)
    if len(values) < n:
        message = f"y has {n - len(values)} missing values, and {name} needs all. Drop those rows first."
        raise ValueError(message)
    classes, codes = np.unique(values, return_inverse=True)
    return Classes(classes, codes)
