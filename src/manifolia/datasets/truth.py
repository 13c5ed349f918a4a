"""What the toy sets share: how the truth is passed on, and labels in equal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from manifolia._core.types import Array, FloatArray, IntArray


def truth_bunch(
    data: FloatArray, target: Array, description: str, *, feature_names: list[str] | None = None, **truth: Any
) -> Bunch:
    """Put data, target and truth together."""
    names = feature_names if feature_names is not None else [f"x{j}" for j in range(data.shape[1])]
    return Bunch(data=data, target=target, feature_names=names, description=description, **truth)


def even_labels(rng: np.random.Generator, n_samples: int, n_labels: int) -> IntArray:
    """Draw labels whose counts differ by at most one, in random order."""
    return rng.permutation(np.arange(n_samples) % n_labels)
