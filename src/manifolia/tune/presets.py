"""What to tune of the methods that are known: parameters that shape the map, over ranges that make sense."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import clone

from manifolia import registry
from manifolia._core.types import ArrayLike
from manifolia._core.validate import check_option
from manifolia.forest.grow import default_forest
from manifolia.forest.targets import read_target
from manifolia.tune.parameters import Choice, Integer, Normalized, Real

__all__ = ["forest_space", "preset", "with_forest"]

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
    "manifolia.methods.phate:PHATE": {
        "n_neighbors": Integer(3, 50, log=True), "decay": Real(2.0, 100.0, log=True), "t": Integer(1, 100, log=True),
    },
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
#: What shapes a forest's map, by its layout; scaling of all distances has nothing to tune but the forest.
_FOREST_MAPS: dict[str, dict[str, Any]] = {
    "phate": {"t": Integer(1, 60, log=True)},
    "mds": {"mds": Choice(["metric", "classic", "nonmetric"])},
    "isomap": {"n_neighbors": Integer(3, 100, log=True)},
    "lle": {"n_neighbors": Integer(4, 100, log=True)},
    "umap": {"n_neighbors": Integer(5, 100, log=True)},
    "tsne": {"perplexity": Normalized(0.01, 0.33)},
}
_MTRY = Real(0.1, 1.0)  # share of the features that a split may choose from


def preset(estimator: Any) -> tuple[Any, dict[str, Any]]:
    """Find the space of a known method."""
    if isinstance(estimator, str):
        estimator = registry.get(estimator)()
    if hasattr(estimator, "steps"):
        step, last = estimator.steps[-1]
        return estimator, {f"{step}__{name}": one for name, one in preset(last)[1].items()}
    for base in type(estimator).__mro__:
        package = base.__module__.partition(".")[0]
        if base.__name__ == "ForestMap" and package == "manifolia":
            return estimator, dict(_FOREST_MAPS[check_option(estimator.layout, "layout", list(_FOREST_MAPS))])
        for path, space in _SPACES.items():
            module, _, name = path.partition(":")
            # A class may live in a private module of its package (sklearn.manifold._t_sne).
            if base.__name__ == name and package == module.partition(".")[0]:
                return estimator, dict(space)
    known = sorted({path.partition(":")[2] for path in _SPACES} | {"ForestMap"})
    message = (
        f"there is no preset for {type(estimator).__name__}. Pass a space to Tuner, such as "
        "{'n_neighbors': (5, 50)}; presets: " + ", ".join(known) + "."
    )
    raise ValueError(message)


def forest_space(estimator: Any) -> dict[str, Any]:
    """Find what to tune of the forest behind a map."""
    known = estimator.get_params(deep=False)
    forest = known.get("forest")
    if "forest" not in known or hasattr(forest, "estimators_"):
        return {}
    return {"forest__max_features": _MTRY} if forest is None or hasattr(forest, "max_features") else {}


def with_forest(estimator: Any, names: Iterable[str], y: ArrayLike | None, n_rows: int) -> Any:
    """Give an estimator the forest that it would make, so that the forest's own parameters can be tuned."""
    known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    wanted = any(str(name).startswith("forest__") for name in names)
    if not wanted or "forest" not in known or known["forest"] is not None:
        return estimator
    target = read_target(y, n_rows, known.get("task", "auto"))
    return clone(estimator).set_params(forest=default_forest(target, known.get("n_trees", 500)))
