"""Tuning: settings of any map, chosen by evidence."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=["noise", "pareto", "sensitivity", "subsample", "surrogate"],
    names={
        "Choice": "manifolia.tune.parameters",
        "Integer": "manifolia.tune.parameters",
        "Normalized": "manifolia.tune.parameters",
        "Real": "manifolia.tune.parameters",
        "When": "manifolia.tune.parameters",
        "SurrogateSampler": "manifolia.tune.sampler",
        "Tuner": "manifolia.tune.tuner",
    },
)
