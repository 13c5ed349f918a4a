"""How many trees are enough: a forest grows until the kernel of rows that it has not seen stands still.

Vens and Costa (2011), section III-A: start with 50 trees and add 50 until the mean absolute change of the normalised
Gram matrix of held-out rows falls below 0.01. Trees are added by warm start, and the Gram matrix by adding the common
paths of the new trees, so that no tree is grown or walked twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.parallel import threads
from manifolia._core.types import FloatArray
from manifolia.affinity.node_paths import single_precision
from manifolia.affinity.node_table import table_of_trees
from manifolia.affinity.path_kernel import path_kernel

__all__ = ["STEP", "SizedForest", "grow_until_stable"]

#: Trees that are added at a time (section III-A).
STEP = 50


class SizedForest(NamedTuple):
    """A forest that has grown until it stood still, or until it was large enough."""

    forest: Any  # Fitted
    n_trees: int  # Its size
    curve: FloatArray  # (k,): mean absolute change of the normalised Gram matrix by each addition of trees


def grow_until_stable(
    model: Any,
    X: Any,
    y: Any,
    held_out: Any,
    *,
    tol: float = 0.01,
    max_trees: int = 1000,
    n_jobs: int | None = None,
    report: Callable[..., None] | None = None,
) -> SizedForest:
    """Grow a forest by warm start until the Gram matrix of held-out rows stands still."""
    rows = single_precision(held_out)
    kernel = np.zeros((rows.shape[0], rows.shape[0]))
    curve: list[float] = []
    before, size = kernel, 0
    with threads(n_jobs) as n_threads, warnings.catch_warnings():
        # As in `manifolia.affinity.grow`: scikit-learn's threads change the filters of warnings under each other.
        warnings.filterwarnings("ignore", message=r".*sklearn\.utils\.parallel\.delayed", category=UserWarning)
        model.set_params(warm_start=True, n_jobs=n_threads)
        while size < max_trees and not (curve and curve[-1] < tol):
            grown, size = size, min(size + STEP, max_trees)
            model.set_params(n_estimators=size).fit(X, y)
            new = table_of_trees(model.estimators_[grown:])
            kernel += path_kernel(new, rows, normalize=None, missing="native")
            length = np.sqrt(np.diagonal(kernel))
            now = kernel / np.outer(length, length)
            if grown:
                curve.append(float(np.abs(now - before).mean()))
            before = now
            if report is not None:
                report(size, None, **({"change": curve[-1]} if curve else {}))
    return SizedForest(model.set_params(warm_start=False), size, np.array(curve))
