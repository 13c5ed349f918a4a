"""Explanation: which features shape a map or the forest behind it."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__, submodules=["displacement"], names={"importance": "manifolia.explain.displacement"}
)
