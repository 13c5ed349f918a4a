"""What to tune of the methods that are known: parameters that shape the map, over ranges that make sense."""

from __future__ import annotations

from typing import Any

from manifolia import registry
from manifolia.tune.parameters import Choice, Integer, Normalized, Real

__all__ = ["preset"]

# Fractions of the sample. The best perplexity for some metrics lies near all of n (the paper finds 0.75 and 0.9), which
# scikit-learn's t-SNE takes; openTSNE takes no more than a third.
_SPACES: dict[str, dict[str, Any]] = {
    "sklearn.manifold:TSNE": {"perplexity": Normalized(0.01, 0.9), "early_exaggeration": Real(2.0, 48.0, log=True)},
    "openTSNE.sklearn:TSNE": {"perplexity": Normalized(0.01, 0.33), "early_exaggeration": Real(2.0, 48.0, log=True)},
    "umap:UMAP": {"n_neighbors": Integer(2, 100, log=True), "min_dist": Real(0.0, 1.0)},
    "manifolia.methods.featuremap:FeatureMAP": {
        "n_neighbors": Integer(5, 100, log=True),
        "min_dist": Real(0.0, 1.0),
        "density_weight": Choice([0.0, 0.01, 0.03, 0.1, 0.3]),
    },
    "manifolia.methods.rf_phate:RFPHATE": {"t": Integer(1, 60, log=True), "damping": Real(0.5, 1.0)},
    "manifolia.methods.kernel_tsne:KernelTSNE": {"perplexity": Real(5.0, 300.0, log=True)},
    "manifolia.methods.fisher_kernel_tsne:FisherKernelTSNE": {
        "perplexity": Real(5.0, 300.0, log=True),
        "euclidean_mix": Real(0.0, 2.0),
    },
    "sklearn.manifold:Isomap": {"n_neighbors": Integer(3, 100, log=True)},
    "sklearn.manifold:LocallyLinearEmbedding": {"n_neighbors": Integer(4, 100, log=True)},
    "manifolia.baselines.mvu:MVU": {"n_neighbors": Integer(3, 20, log=True)},
    "manifolia.baselines.parametric_tsne:ParametricTSNE": {"perplexity": Real(5.0, 100.0, log=True)},
    "manifolia.baselines.supervised_isomap:EnhancedSupervisedIsomap": {
        "n_neighbors": Integer(3, 100, log=True), "alpha": Real(0.0, 1.0),
    },
    "manifolia.baselines.supervised_lle:EnhancedSupervisedLLE": {
        "n_neighbors": Integer(4, 100, log=True), "alpha": Real(0.0, 1.0),
    },
    "manifolia.baselines.supervised_nmf:SupervisedNMF": {
        "similarity": Real(0.01, 100.0, log=True), "dissimilarity": Real(0.01, 100.0, log=True),
    },
    "manifolia.baselines.supervised_pca:KernelSupervisedPCA": {"gamma": Real(1e-4, 10.0, log=True)},
    "trimap:TRIMAP": {"n_inliers": Integer(4, 60, log=True), "n_outliers": Integer(2, 20, log=True)},
    "pacmap:PaCMAP": {"n_neighbors": Integer(5, 100, log=True), "MN_ratio": Real(0.1, 5.0, log=True)},
    "phate:PHATE": {"knn": Integer(3, 50, log=True), "t": Integer(1, 100, log=True)},
}  # fmt: skip


def preset(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """Find the space of a known method.

    Parameters
    ----------
    estimator : object or str
        An estimator, or the name of a method in the registry.

    Returns
    -------
    tuple
        The estimator, and its space.

    Raises
    ------
    ValueError
        If nothing is known about it.
    """
    if isinstance(estimator, str):
        estimator = registry.get(estimator)()
    for base in type(estimator).__mro__:
        for path, space in _SPACES.items():
            module, _, name = path.partition(":")
            # A class may live in a private module of its package (sklearn.manifold._t_sne).
            if base.__name__ == name and base.__module__.partition(".")[0] == module.partition(".")[0]:
                return estimator, dict(space)
    message = (
        f"there is no preset for {type(estimator).__name__}. Pass a space to Tuner, such as "
        "{'n_neighbors': (5, 50)}; presets: " + ", ".join(sorted(path.partition(":")[2] for path in _SPACES)) + "."
    )
    raise ValueError(message)
