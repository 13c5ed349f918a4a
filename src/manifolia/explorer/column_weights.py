"""How much each of the user's columns matters, by the measure that the method has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.pipelines import last_step
from manifolia._core.validate import is_sparse
from manifolia.explorer.parts.effects import Groups, columns_of_texts

_IMPORTANCE_STEPS = 2e10  # rows × trees × features up to which importance is measured without being asked for
_SALIENCY_ROWS = 500  # rows over which the importance of columns is averaged where each row has its own


def takes_long(model: Any, X: Any) -> bool:
    """Return whether measuring importance takes so long that it has to be asked for."""
    trees = len(last_step(model).forest_.estimators_) if registry.card_of(model).forest else 0
    return float(X.shape[0]) * X.shape[1] * trees > _IMPORTANCE_STEPS


def importances_of(model: Any, X: Any, sources: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Measure the importance of the user's columns, with standard errors.

    A forest's is added up over the columns that one raw column became, with errors over trees and, where they can be
    had, over groups of rows. Where each row has its own (how much a column varies along the data, or moves a row), it
    is the mean over rows of the largest of them.
    """
    card, method = registry.card_of(model), last_step(model)
    if card.forest or not card.importance:
        errors = method.importances_std_ if card.forest else np.full(len(sources), np.nan)
        n_trees = len(method.forest_.estimators_) if card.forest else 1
        sums: dict[str, list[float]] = {}
        for source, mean, error in zip(sources, method.feature_importances_, errors, strict=True):
            entry = sums.setdefault(source, [0.0, 0.0])
            entry[0] += float(mean)
            entry[1] += float(error) ** 2 / n_trees
        held = getattr(method, "_fitted_forest", None)
        groups = held.importance_by_group() if held is not None else None
        if groups is not None:
            for source, columns in zip(sums, Groups.of(list(sources)).members, strict=True):
                sums[source][1] += float(groups.values[:, columns].sum(axis=1).var(ddof=1)) * groups.share
        return {name: (mean, float(np.sqrt(square))) for name, (mean, square) in sums.items()}
    largest: dict[str, tuple[float, float]] = {}
    n = X.shape[0]
    rows = np.unique(np.linspace(0, n - 1, min(n, _SALIENCY_ROWS)).astype(np.intp))
    if card.explains == "gradients":
        values = np.asarray(method.feature_importance(rows=rows), dtype=np.float64)
    elif card.explains == "jacobian":
        smooth = method.smooth() if card.is_ours else method
        names = getattr(method, "feature_names_in_", None)  # without which it would warn
        some = X[rows] if names is None or is_sparse(X) else pd.DataFrame(X[rows], columns=names)
        values = np.asarray(smooth.feature_importance(some), dtype=np.float64)
    else:
        return {}
    errors = values.std(axis=0) / np.sqrt(len(rows))
    for source, mean, error in zip(sources, values.mean(axis=0), errors, strict=True):
        if mean >= largest.get(source, (-1.0, 0.0))[0]:
            largest[source] = float(mean), float(error)
    return largest


def by_column(importances: Mapping[str, tuple[float, float]], preparer: Any) -> dict[str, tuple[float, float]]:
    """Add up the importances of the features of a text, which is one column of the user's table."""
    column = columns_of_texts(preparer)
    sums: dict[str, tuple[float, float]] = {}
    for source, (mean, error) in importances.items():
        before = sums.get(column.get(source, source), (0.0, 0.0))
        sums[column.get(source, source)] = before[0] + mean, float(np.hypot(before[1], error))
    return sums
