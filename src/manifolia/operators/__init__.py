"""Operators: affinities turned into walks, how long to walk, and how far apart two rows are afterwards."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__, submodules=["diffusion", "entropy", "landmarks", "potential", "spectrum", "tangent", "walk"]
)
