"""Every map of the comparison behind one call: fit on training rows, place held-out rows by ``transform``.

All run on one thread with their defaults, but for NCA, which gets the first 50 principal components of wider tables,
because its time grows with the number of columns. t-SNE is `KernelTSNE`, which is t-SNE with a formula for new rows.
"""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline

import manifolia as mf

NCA_COLUMNS = 50
AUTO, BOOSTED = "GuidedMap, guide auto", "GuidedMap, boosted guide"
#: How supervised UMAP compares targets.
_TARGET_METRIC = {"classification": "categorical", "regression": "l2", "multilabel": "hamming"}


class NotFor(Exception):
    """A map that cannot be had of a table, or here, with the reason."""


class Placed(NamedTuple):
    """Places of both parts, and the fitted model."""

    Y: np.ndarray
    Y_new: np.ndarray
    model: object


def _umap(seed, **options):
    if importlib.util.find_spec("umap") is None:
        raise NotFor("umap-learn is not installed")
    from umap import UMAP

    return UMAP(random_state=seed, n_jobs=1, **options)


def _classes_only(task):
    if task != "classification":
        raise NotFor(f"not for {'numbers' if task == 'regression' else 'several labels'}")


def _guided(seed, data):
    return mf.GuidedMap(task=data.task, random_state=seed, n_jobs=1)


def _guided_plain(seed, data):
    return mf.GuidedMap(sharpness=1.0, task=data.task, random_state=seed, n_jobs=1)


def _guided_auto(seed, data):
    return mf.GuidedMap(guide="auto", task=data.task, random_state=seed, n_jobs=1)


def _guided_boosted(seed, data):
    is_class = data.task == "classification"
    boosted = (HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor)(random_state=seed)
    return mf.GuidedMap(guide=boosted, task=data.task, random_state=seed, n_jobs=1)


def _rf_phate(seed, data):
    return mf.RFPHATE(task=data.task, random_state=seed, n_jobs=1)


def _forest_mds(seed, data):
    return mf.ForestMap(task=data.task, random_state=seed, n_jobs=1)


def _forest_tsne(seed, data):
    return mf.ForestMap("tsne", task=data.task, random_state=seed, n_jobs=1)


def _fisher(seed, data):
    if data.task == "multilabel":
        raise NotFor("not for several labels")
    return mf.FisherKernelTSNE(task=data.task, random_state=seed, n_jobs=1)


def _supervised_umap(seed, data):
    return _umap(seed, target_metric=_TARGET_METRIC[data.task])


def _lda_umap(seed, data):
    _classes_only(data.task)
    return make_pipeline(LinearDiscriminantAnalysis(), _umap(seed))


def _nca(seed, data):
    _classes_only(data.task)
    nca = NeighborhoodComponentsAnalysis(n_components=2, random_state=seed)
    wide = min(data.X.shape) > NCA_COLUMNS
    return make_pipeline(PCA(NCA_COLUMNS, random_state=seed), nca) if wide else nca


def _kernel_tsne(seed, data):
    return mf.KernelTSNE(random_state=seed, n_jobs=1)


def _featuremap(seed, data):
    return mf.FeatureMAP(random_state=seed, n_jobs=1)


#: Name to what makes the estimator; the last four never see the target.
GUIDED = {
    "GuidedMap": _guided,
    AUTO: _guided_auto,
    "GuidedMap, sharpness 1": _guided_plain,
    "RF-PHATE": _rf_phate,
    "ForestMap, MDS": _forest_mds,
    "ForestMap, t-SNE": _forest_tsne,
    "Fisher kernel t-SNE": _fisher,
    "supervised UMAP": _supervised_umap,
    "LDA + UMAP": _lda_umap,
    "NCA": _nca,
}
UNGUIDED = {
    "PCA": lambda seed, data: PCA(2, random_state=seed),
    "UMAP": lambda seed, data: _umap(seed),
    "kernel t-SNE": _kernel_tsne,
    "FeatureMAP": _featuremap,
}
MAPS = {**GUIDED, **UNGUIDED}
#: Of which only permuted labels are mapped.
OTHERS = {BOOSTED: _guided_boosted}


def place(name, data, seed):
    """Fit a map on the training rows and place the held-out ones."""
    model = {**MAPS, **OTHERS}[name](seed, data)
    y = None if name in UNGUIDED else _target(data)
    Y = model.fit_transform(data.X) if y is None else model.fit_transform(data.X, y)
    return Placed(np.asarray(Y, dtype=np.float64), np.asarray(model.transform(data.X_new), dtype=np.float64), model)


def _target(data):
    """The target as all libraries take it: classes as whole numbers."""
    return np.unique(data.y, return_inverse=True)[1] if data.task == "classification" else data.y
