"""Extension: where a new row goes on a finished map, each row on its own."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__, submodules=["anchored", "kernel_formula", "kernel_map", "leaf_map", "novelty", "subset_map"]
)
