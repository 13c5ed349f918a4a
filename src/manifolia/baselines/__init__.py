"""Baselines: the methods that the papers compare with, as estimators."""

from manifolia._core.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    names={
        "EnhancedSupervisedIsomap": "manifolia.baselines.supervised_isomap",
        "EnhancedSupervisedLLE": "manifolia.baselines.supervised_lle",
        "KernelSupervisedPCA": "manifolia.baselines.supervised_pca",
        "MLkNN": "manifolia.baselines.ml_knn",
        "MVU": "manifolia.baselines.mvu",
        "PLSDA": "manifolia.baselines.pls_da",
        "ParametricTSNE": "manifolia.baselines.parametric_tsne",
        "SupervisedNMF": "manifolia.baselines.supervised_nmf",
        "SupervisedPCA": "manifolia.baselines.supervised_pca",
        "TSNE": "manifolia.baselines.tsne",
    },
)
