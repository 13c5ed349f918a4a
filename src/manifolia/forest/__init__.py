"""Forests: what a fitted scikit-learn forest says about rows. Leaves, bags, proximities, paths, importances."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "evidence": "manifolia.forest.tools",
        "impute": "manifolia.forest.tools",
        "operator": "manifolia.forest.operators",
        "outlier_scores": "manifolia.forest.tools",
        "path_kernel": "manifolia.forest.path_kernels",
        "permutation_importance": "manifolia.forest.importances",
        "prototypes": "manifolia.forest.tools",
        "proximity": "manifolia.forest.proximities",
    },
)
