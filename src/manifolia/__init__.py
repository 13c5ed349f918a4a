"""Maps of high-dimensional data that are guided, explain themselves, take new rows and say how far to trust them.

The pipeline, one layer per word::

    data → neighbours → affinity → operator → layout → extension → explain / metrics
                                                                        │
                    command line ← show ← tune / diagnose ← methods wire them

Every public name is imported when it is first used, so ``import manifolia`` stays fast.
"""

from manifolia._core.lazy import attach
from manifolia._version import __version__
from manifolia.methods import METHODS

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[
        "affinity",
        "baselines",
        "datasets",
        "distributed",
        "exceptions",
        "explain",
        "extension",
        "forest",
        "layout",
        "methods",
        "metrics",
        "neighbors",
        "operators",
        "registry",
        "sc",
        "show",
        "stream",
        "tables",
        "trust",
        "tune",
    ],
    names={
        **METHODS,
        "Comparison": "manifolia.trust",
        "Diagnosis": "manifolia.trust",
        "Drift": "manifolia.trust.drift",
        "Explorer": "manifolia.explorer",
        "KernelMap": "manifolia.extension.kernel_map",
        "Normalized": "manifolia.tune.parameters",
        "Run": "manifolia.runs.folder",
        "Tuner": "manifolia.tune.tuner",
        "align": "manifolia.layout.alignment",
        "compare": "manifolia.trust",
        "diagnose": "manifolia.trust",
        "drift": "manifolia.trust.drift",
        "load": "manifolia.persist",
        "map": "manifolia.runs.request",
        "open_run": "manifolia.runs.folder",
        "explore": "manifolia.explorer",
        "estimate_memory": "manifolia._core.memory",
        "memory_limit": "manifolia._core.memory",
        "save": "manifolia.persist",
        "show_versions": "manifolia._core.installed",
    },
)
__all__ += ["__version__"]
