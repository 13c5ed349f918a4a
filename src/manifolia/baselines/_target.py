"""The target as the baselines see it: a factor F of its kernel, L = F Fᵀ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manifolia._core.types import Array, ArrayLike, FloatArray
from manifolia.exceptions import ParameterError
from manifolia.forest.targets import read_target

_MAX_RANK = 100
_TOLERANCE = 1e-6  # of the trace: what is left of the kernel when the factor stops growing


class Factor(NamedTuple):
    """A factor of the target's kernel."""

    F: FloatArray  # (n, r): columns centred
    classes: Array | None  # The classes, if the target has any


def complete_target(y: ArrayLike | None, n: int, task: str, name: str) -> Any:
    """Read a target that has a value for every row."""
    target: Any = read_target(y, n, task)
    if len(target.y) < n:
        raise ParameterError(
            f"y has {n - len(target.y)} missing values, and {name} needs all. Drop those rows first.", parameter="y"
        )
    return target


def target_factor(y: ArrayLike | None, n: int, *, task: str = "auto", kernel: str = "auto") -> Factor:
    """Factor the kernel of a target."""
    target = complete_target(y, n, task, "this method")
    if target.task == "classification" and kernel in ("auto", "delta"):
        classes, codes = np.unique(target.y, return_inverse=True)
        one_hot = np.eye(len(classes))[codes]
        return Factor(one_hot - one_hot.mean(axis=0), classes)
    if target.task not in ("classification", "regression", "multilabel", "multioutput") or kernel == "delta":
        raise ParameterError(
            f"kernel='delta' compares classes, and the target was taken for {target.task}. Use 'linear' or 'rbf'.",
            parameter="kernel",
        )
    if target.y.dtype.kind not in "biuf":
        raise ParameterError(
            f"y has {target.y.shape[1]} columns of classes that are not numbers. Pass one column of classes, or zeros "
            f"and ones.",
            parameter="y",
        )
    numbers = np.asarray(target.y, dtype=np.float64).reshape(n, -1)
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    F = numbers if kernel in ("auto", "linear") else _gaussian_factor(numbers)
    return Factor(F - F.mean(axis=0), None)


def _gaussian_factor(values: FloatArray) -> FloatArray:
    """Pivoted Cholesky factor of a Gaussian kernel: its spectrum falls fast, so few columns suffice."""
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


def target_classes(y: ArrayLike | None, n: int, *, name: str) -> tuple[Array, Array]:
    """Return the classes and the number of each row's class; refuse numbers."""
    target = complete_target(y, n, "auto", name)
    if target.task != "classification":
        raise ParameterError(
            f"{name} compares classes, and y was taken for {target.task}. Pass one column of classes, cut numbers into "
            "bins first, or use a method that takes numbers, such as SupervisedPCA.",
            parameter=name,
        )
    classes, codes = np.unique(target.y, return_inverse=True)
    return classes, codes
