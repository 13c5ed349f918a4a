"""Multidimensional scaling as PHATE and RF-PHATE use it: the classical solution, then metric or non-metric."""

from __future__ import annotations

from manifolia._core.progress import Reporter
from manifolia._core.types import FloatArray
from manifolia._core.validate import check_option
from manifolia.layout.classical_mds import classical_mds
from manifolia.layout.metric_mds import MetricMDS, metric_mds

__all__ = ["SCALINGS", "mds_layout"]

#: Kinds of scaling.
SCALINGS = ("metric", "classic", "nonmetric")


def mds_layout(
    D: FloatArray,
    n_components: int = 2,
    *,
    kind: str = "metric",
    random_state: int | None = None,
    reporter: Reporter | None = None,
) -> MetricMDS:
    """Lay distances out."""
    check_option(kind, "mds", SCALINGS)
    start = classical_mds(D, n_components, random_state=random_state).Y
    return metric_mds(
        D,
        start,
        n_components=n_components,
        metric=kind != "nonmetric",
        max_iter=0 if kind == "classic" else None,
        random_state=random_state,
        callback=reporter,
    )
