"""Every way to judge a map that the papers use. Names are imported when they are first asked for."""

from manifolia._core.lazy import attach

#: Families of metrics, each a module, and their public functions.
FAMILIES = {
    "coranking": [
        "auc_r_nx",
        "q_local",
        "q_global",
        "q_nx",
        "r_nx",
        "lcmc",
        "k_max",
        "random_baseline",
        "coranking_matrix",
    ],
    "neighborhood": ["trustworthiness", "continuity", "neighbor_recall"],
    "distance": ["shepard_goodness", "distance_correlation", "normalized_stress", "distance_ratio"],
    "density": ["radius_correlation", "anisotropy_correlation"],
    "supervised": [
        *["centroid_triplet_accuracy", "class_distance_correlation"],
        *["knn_accuracy", "classification_error", "nmi", "silhouette", "torn_classes"],
    ],
    "profiles": ["inner_structure"],
    "importance": ["importance_alignment", "target_alignment"],
    "arrows": ["arrow_fidelity"],
    "variables": ["variable_preservation", "variable_ranking"],
}
_ABOUT = {"registry": ["Metric", "get", "names", "register"], "_report": ["report"]}

__getattr__, __dir__, __all__ = attach(
    __name__,
    submodules=[*FAMILIES, "registry", "separation"],
    names={name: f"{__name__}.{module}" for module, names in {**FAMILIES, **_ABOUT}.items() for name in names},
)
