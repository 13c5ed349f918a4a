"""Affinities: which rows are alike, as matrices or as operators that are never formed."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules=["alpha_decay", "fisher", "fuzzy"])
