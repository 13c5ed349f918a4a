"""Layouts: coordinates for the rows, from distances between them."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules=["classical_mds", "metric_mds"])
