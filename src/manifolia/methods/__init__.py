"""Methods: each file wires the stages of one paper, from the table to the map."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "FeatureMAP": "manifolia.methods.featuremap",
        "FisherKernelTSNE": "manifolia.methods.kernel_tsne",
        "ForestFeatures": "manifolia.methods.forest_features",
        "ForestMap": "manifolia.methods.forest_map",
        "KernelTSNE": "manifolia.methods.kernel_tsne",
        "PHATE": "manifolia.methods.phate",
        "RFPHATE": "manifolia.methods.rf_phate",
    },
)
