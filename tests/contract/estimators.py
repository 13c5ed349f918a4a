"""Every public estimator, with settings small enough for the contract tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import manifolia as mf


class Entry(NamedTuple):
    """How to make an estimator, and which of scikit-learn's checks cannot hold for it."""

    make: Callable[[], Any]
    #: Name of scikit-learn's check to the reason why it fails by design.
    expected_failed_checks: Mapping[str, str] = {}


_TWO_PLACES = (
    "fit_transform places training rows by the trees that left them out of their bag, so that their own label does "
    "not help; transform places rows by all trees"
)
_DRAWN_ROWS = (
    "a forest's bootstrap draws rows: a row of weight 2 is in or out of a bag as one, two equal rows each by itself, "
    "so that weights and repeated rows do not agree to the digit"
)

_FOREST_CHECKS = {
    "check_transformer_general": _TWO_PLACES,
    "check_transformer_data_not_an_array": _TWO_PLACES,
    "check_sample_weight_equivalence_on_dense_data": _DRAWN_ROWS,
    "check_sample_weight_equivalence_on_sparse_data": _DRAWN_ROWS,
}

_WITHOUT_CLASS = "fit_transform makes the map of training rows with their classes; transform places rows without"

#: Name to entry; the settings are small: few trees, few epochs.
ESTIMATORS: dict[str, Entry] = {
    "EnhancedSupervisedIsomap": Entry(
        lambda: mf.baselines.EnhancedSupervisedIsomap(),
        {
            "check_transformer_general": _WITHOUT_CLASS,
            "check_transformer_data_not_an_array": _WITHOUT_CLASS,
        },
    ),
    "EnhancedSupervisedLLE": Entry(lambda: mf.baselines.EnhancedSupervisedLLE()),
    "FeatureMAP": Entry(lambda: mf.FeatureMAP(n_epochs=20)),
    'FeatureMAP(layout="edges")': Entry(lambda: mf.FeatureMAP(layout="edges", n_epochs=20)),
    'FeatureMAP(3, gauge="embedded", init="spectral", pca=2)': Entry(
        lambda: mf.FeatureMAP(3, gauge="embedded", init="spectral", pca=2, n_epochs=20)
    ),
    "FisherKernelTSNE": Entry(lambda: mf.FisherKernelTSNE(n_train=40, perplexity=5.0)),
    "FisherKernelTSNE(n_train=None, fisher_bandwidth=1.0, pca=3)": Entry(
        lambda: mf.FisherKernelTSNE(n_train=None, perplexity=4.0, fisher_bandwidth=1.0, pca=3)
    ),
    "ForestFeatures": Entry(lambda: mf.ForestFeatures(10)),
    'ForestFeatures("auto", max_trees=50, n_features_out=64, missing="split")': Entry(
        lambda: mf.ForestFeatures(max_trees=50, n_features_out=64, missing="split")
    ),
    'ForestMap("mds")': Entry(lambda: mf.ForestMap("mds", n_trees=20), _FOREST_CHECKS),
    'ForestMap("isomap")': Entry(lambda: mf.ForestMap("isomap", n_trees=20, n_neighbors=4), _FOREST_CHECKS),
    'ForestMap("lle")': Entry(lambda: mf.ForestMap("lle", n_trees=20, n_neighbors=4), _FOREST_CHECKS),
    'ForestMap("tsne")': Entry(lambda: mf.ForestMap("tsne", n_trees=20, perplexity=4.0), _FOREST_CHECKS),
    'ForestMap("umap")': Entry(lambda: mf.ForestMap("umap", n_trees=20, n_neighbors=4), _FOREST_CHECKS),
    "GuidedMap": Entry(lambda: mf.GuidedMap(n_trees=20), _FOREST_CHECKS),
    "KernelMap": Entry(lambda: mf.KernelMap()),
    'KernelMap(mapping="mode", metric="cosine")': Entry(lambda: mf.KernelMap(mapping="mode", metric="cosine")),
    'KernelMap(n_centers=9, centers="kmeans", metric="manhattan")': Entry(
        lambda: mf.KernelMap(n_centers=9, centers="kmeans", metric="manhattan")
    ),
    "KernelTSNE": Entry(lambda: mf.KernelTSNE(n_train=40, perplexity=5.0)),
    "KernelTSNE(n_train=None, perplexity=4.0, pca=3)": Entry(
        lambda: mf.KernelTSNE(n_train=None, perplexity=4.0, pca=3)
    ),
    'KernelTSNE(embedder="umap", metric="manhattan")': Entry(
        lambda: mf.KernelTSNE(n_train=15, embedder="umap", metric="manhattan")
    ),
    "KernelSupervisedPCA": Entry(lambda: mf.baselines.KernelSupervisedPCA()),
    "MLkNN": Entry(lambda: mf.baselines.MLkNN(5)),
    "MVU": Entry(lambda: mf.baselines.MVU()),
    "ParametricTSNE": Entry(
        lambda: mf.baselines.ParametricTSNE(hidden_layer_sizes=(8,), perplexity=5.0, n_pretrain=2, max_iter=5)
    ),
    "PHATE": Entry(lambda: mf.PHATE()),
    'PHATE(3, decay=None, gamma=0.0, metric="manhattan", mds="classic", n_landmarks=20)': Entry(
        lambda: mf.PHATE(3, decay=None, gamma=0.0, metric="manhattan", mds="classic", n_landmarks=20)
    ),
    "PLSDA": Entry(lambda: mf.baselines.PLSDA(1)),
    "RFPHATE": Entry(
        lambda: mf.RFPHATE(n_trees=20),  # with ten, some rows would be in every bag, which warns
        _FOREST_CHECKS,
    ),
    'RFPHATE(sharpness=3.0, placing="layout")': Entry(
        lambda: mf.RFPHATE(n_trees=20, sharpness=3.0, placing="layout"), _FOREST_CHECKS
    ),
    "SupervisedNMF": Entry(
        lambda: mf.baselines.SupervisedNMF(max_iter=20),
        {
            "check_transformer_general": _WITHOUT_CLASS,
            "check_transformer_data_not_an_array": _WITHOUT_CLASS,
        },
    ),
    "SupervisedPCA": Entry(lambda: mf.baselines.SupervisedPCA(1)),
    "TSNE": Entry(lambda: mf.baselines.TSNE(perplexity=5.0)),
    "TablePreparer": Entry(lambda: mf.tables.TablePreparer()),
    'TablePreparer(missing="impute", scale=True)': Entry(lambda: mf.tables.TablePreparer(missing="impute", scale=True)),
}
