"""Tables and maps in which faults are planted: small, so that each plant can be repeated over many seeds."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.manifold import TSNE
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import scale

import manifolia as mf
from manifolia import datasets

N_TREES = 100
#: Tables by name; the regression is of house prices.
CLASSES = ("sonar", "wine", "optdigits", "german_credit_numeric")
NUMBERS = "ames_housing"
PIXELS = ("optdigits", "usps", "mnist")  # whose columns are on one scale already
GUIDED = ("GuidedMap", "RFPHATE", "RFPHATE original, its own layout")
#: Maps that are made with the target, by what they can take.
WITH_CLASSES = (*GUIDED, "supervised UMAP", "FisherKernelTSNE", "LDA", "NCA")
WITH_NUMBERS = (*GUIDED, "supervised UMAP")
UNGUIDED = ("FeatureMAP", "t-SNE", "UMAP")


def table(name, seed, most=400, *, raw=False):
    """Rows on one scale and their target; a sample that differs with the seed where there are more rows than that."""
    bunch = datasets.load(name)
    X, y = bunch.data, np.asarray(bunch.target)
    if hasattr(X, "select_dtypes"):
        X = X.select_dtypes("number")
        X = X.fillna(X.median()).to_numpy(dtype=float)
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:most])
    X = np.asarray(X, dtype=float)[rows]
    X = X[:, X.std(axis=0) > 0]
    return X if raw or name in PIXELS else scale(X), y[rows]


class Kept:
    """Maps by name, each fitted once and kept in a folder, so that other rules can be tried on the same maps."""

    folder = None  # None: nothing is kept

    @classmethod
    def get(cls, key, make):
        """Read a map, or make and keep it."""
        if cls.folder is None:
            return make()
        path = cls.folder / f"{key.replace(' ', '_').replace(',', '')}.pickle"
        if not path.exists():
            cls.folder.mkdir(parents=True, exist_ok=True)
            beside = path.with_suffix(".part")
            beside.write_bytes(pickle.dumps(make()))
            beside.replace(path)
        return pickle.loads(path.read_bytes())


def made(name, X, y, seed, groups=None):
    """What `diagnose` takes for a map by this name: a fitted model, or coordinates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "GuidedMap":
            return mf.GuidedMap(n_trees=N_TREES, random_state=seed).fit(X, y, groups=groups)
        if name == "RFPHATE":
            return mf.RFPHATE(n_trees=N_TREES, random_state=seed).fit(X, y, groups=groups)
        if name == "RFPHATE original, its own layout":
            # Judged as a map from elsewhere: what the rows look like in a layout that knows their labels.
            model = mf.RFPHATE(n_trees=N_TREES, proximity="original", placing="layout", random_state=seed)
            return model.fit_transform(X, y)
        if name == "supervised UMAP":
            import umap

            numbers = {"target_metric": "l2"} if y.dtype.kind == "f" else {}
            target = y if numbers else np.unique(y, return_inverse=True)[1]
            return umap.UMAP(random_state=seed, n_jobs=1, **numbers).fit_transform(X, target)
        if name == "UMAP":
            import umap

            return umap.UMAP(random_state=seed, n_jobs=1).fit_transform(X)
        if name == "FisherKernelTSNE":
            return mf.FisherKernelTSNE(random_state=seed).fit(X, y).embedding_
        if name == "LDA":
            few = min(2, len(np.unique(y)) - 1)
            return LinearDiscriminantAnalysis(n_components=few).fit_transform(X, y)
        if name == "NCA":
            return NeighborhoodComponentsAnalysis(2, random_state=seed, max_iter=50).fit_transform(X, y)
        if name == "FeatureMAP":
            return mf.FeatureMAP(random_state=seed).fit(X).embedding_
        if name == "t-SNE":
            return TSNE(random_state=seed, init="pca").fit_transform(X)
        if name == "PCA":
            return PCA(2).fit_transform(X)
    raise ValueError(name)
