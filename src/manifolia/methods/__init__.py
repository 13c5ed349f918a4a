"""Methods: each file wires the stages of one paper, from the table to the map."""

from manifolia._core.lazy import attach

#: Estimators by the module that holds their paper; ``manifolia`` offers the same names.
METHODS = {
    "FeatureMAP": "manifolia.methods.featuremap",
    "FisherKernelTSNE": "manifolia.methods.kernel_tsne",
    "ForestFeatures": "manifolia.methods.forest_features",
    "ForestMap": "manifolia.methods.forest_map",
    "GuidedMap": "manifolia.methods.guided_map",
    "KernelTSNE": "manifolia.methods.kernel_tsne",
    "PHATE": "manifolia.methods.phate",
    "RFPHATE": "manifolia.methods.rf_phate",
}

__getattr__, __dir__, __all__ = attach(__name__, names=METHODS)
