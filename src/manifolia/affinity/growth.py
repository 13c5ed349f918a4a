"""Growing a forest some trees at a time, so that progress can be told and the work be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Report", "fit_forest"]

#: Called with the trees that are grown and the trees in all; it may raise to stop.
Report = Callable[[int, int], None]

_PARTS = 20  # reports while a forest grows


def fit_forest(model: Any, X: Any, y: Any, sample_weight: Any = None, *, report: Report | None = None) -> Any:
    """Fit a forest, in parts if someone listens.

    A warm start skips the seeds that the first trees have used up, so that the forest has the same bits either way.
    """
    if report is None:
        return model.fit(X, y, sample_weight=sample_weight)
    n_trees, n_threads = model.n_estimators, model.n_jobs or 1
    part = n_threads * -(-n_trees // (_PARTS * n_threads))  # a multiple, so that no thread waits at the end of a part
    report(0, n_trees)
    model.set_params(warm_start=True)
    for grown in [*range(part, n_trees, part), n_trees]:
        model.set_params(n_estimators=grown).fit(X, y, sample_weight=sample_weight)
        report(grown, n_trees)
    return model.set_params(warm_start=False)
