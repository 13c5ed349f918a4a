"""Multi-label sets (section III-D) and projections for plots (section III-E)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from reproduce.forest_features.binary import COSTS, best_cost, sized, svm
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC

from manifolia import ForestFeatures, datasets
from manifolia.baselines import MLkNN

SENSITIVITY = 0.7978
PLANES = 20  # random ones
#: The two groups of the stand-in: of one kind, so that single words do not give them away.
GROUPS = ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware")
_WIDTHS = (1.0, 0.1, 0.01, 0.001)  # gamma of the Gaussian SVM in units of 1 / (columns × variance)


def multilabel(name, seed, n_train=None):
    """Table IV: micro-averaged AUC of ML-kNN on the given split, the size chosen on 30 % of the training rows.

    With `n_train` only this many rows are trained on and as many tested.
    """
    bunch = datasets.load(f"mulan_{name}")
    X, Y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target).astype(int)
    train = np.asarray(bunch.split) == "train"
    if n_train is not None:
        kept = np.sort(np.concatenate([np.flatnonzero(train)[:n_train], np.flatnonzero(~train)[:n_train]]))
        X, Y, train = X[kept], Y[kept], train[kept]
    order = np.random.default_rng(seed).permutation(np.flatnonzero(train))
    val, rest = order[: int(0.3 * len(order))], order[int(0.3 * len(order)) :]
    _, size = sized(X[rest], Y[rest], X[val][:500], seed)
    model = ForestFeatures(size, random_state=seed).fit(X[train], Y[train])
    codes = model.transform(X[train]), model.transform(X[~train])
    seen = Y[~train].ravel()
    out = {"trees": size, "nodes": model._trees.n_nodes}
    white = StandardScaler().fit(X[train])
    spaces = {
        "induced": (codes, "euclidean"),
        "induced_cosine": (codes, "cosine"),
        "original": ((X[train], X[~train]), "euclidean"),
        "original_white": ((white.transform(X[train]), white.transform(X[~train])), "euclidean"),
    }
    for key, ((first, second), metric) in spaces.items():
        knn = MLkNN(metric=metric).fit(first, Y[train])
        out[key] = float(roc_auc_score(seen, knn.predict_proba(second).ravel()))
    return out


def newsgroups():
    """Two groups as sparse counts with the given split: X, y, X_test, y_test; the second group is positive."""
    bunch = datasets.load("newsgroups20_w1000")
    names = np.asarray(bunch.target).astype(str)
    kept = np.isin(names, GROUPS)
    X, y = sp.csr_array(bunch.data)[kept].astype(np.float32), (names[kept] == GROUPS[1]).astype(int)
    train = np.asarray(bunch.split)[kept] == "train"
    return X[train], y[train], X[~train], y[~train]


def coded(X, y, n_columns, seed):
    """Section III-E: 150 trees, their nodes hashed by a modulo onto as many columns as the data have."""
    return ForestFeatures(150, n_features_out=n_columns, hash="modulo", random_state=seed).fit(X, y)


def projected(points, seed):
    """A random projection to the plane, in units of its own spread."""
    Y = SparseRandomProjection(2, random_state=seed, dense_output=True).fit_transform(points)
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)


def overlap(Y, y, cells=12):
    """Common area of both classes' densities in the plane, from 0 (apart) to 1 (the same), by counts in cells."""
    edges = [np.quantile(Y[:, j], np.linspace(0, 1, cells + 1)) for j in (0, 1)]
    shares = [np.histogram2d(*Y[y == c].T, bins=edges)[0] / (y == c).sum() for c in (0, 1)]
    return float(np.minimum(*shares).sum())


def principal(points, others):
    """The plane of the first two principal components of some rows, and others in it, in units of their spread."""
    Y = PCA(2, svd_solver="arpack", random_state=0).fit(points).transform(others)
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)


def by_chance(Y, y, rng):
    """The overlap when rows get the classes of other rows: cells with few rows keep it below 1."""
    return float(np.mean([overlap(Y, rng.permutation(y)) for _ in range(20)]))


def planes(seed):
    """Section III-E on the stand-in: how far the classes of test rows overlap in random and in principal planes."""
    X, y, X_test, y_test = newsgroups()
    hashed = coded(X, y, X.shape[1], seed)
    whole = ForestFeatures(forest=hashed.forest_, random_state=seed).fit(X, y)
    spaces = {
        name: (model.transform(X), model.transform(X_test)) for name, model in (("hashed", hashed), ("all", whole))
    }
    rng = np.random.default_rng(seed)
    found = {}
    for name, (first, second) in (spaces | {"original": (X, X_test)}).items():
        random = [projected(second, plane) for plane in range(PLANES)]
        Y = principal(first, second)
        found[name] = {
            "random": float(np.mean([overlap(one, y_test) for one in random])),
            "random_chance": float(np.mean([by_chance(one, y_test, rng) for one in random])),
            "principal": overlap(Y, y_test),
            "principal_chance": by_chance(Y, y_test, rng),
        }
    return found


def specificity(y, scores):
    """Specificity at the paper's sensitivity, linear between the points of the curve."""
    false, true, _ = roc_curve(y, scores, drop_intermediate=False)
    return float(1 - np.interp(SENSITIVITY, true, false))


def gaussian_svm(X, y, X_test, y_test, rng):
    """C and γ chosen on 30 % of the training rows; specificity on the test rows."""
    order = rng.permutation(len(y))
    val, rest = order[: int(0.3 * len(y))], order[int(0.3 * len(y)) :]
    unit = 1 / (X.shape[1] * (X.multiply(X).mean() - X.mean() ** 2))
    grid = [(C, g * unit) for C in COSTS for g in _WIDTHS]
    tried = [SVC(C=C, gamma=g).fit(X[rest], y[rest]).score(X[val], y[val]) for C, g in grid]
    C, g = grid[int(np.argmax(tried))]
    return specificity(y_test, SVC(C=C, gamma=g).fit(X, y).decision_function(X_test))


def unhashed(seed):
    """The same without a hash: an SVM on the normalised kernel of the whole code, C chosen on 30 % of the rows."""
    X, y, X_test, y_test = newsgroups()
    order = np.random.default_rng(seed).permutation(len(y))
    val, rest = order[: int(0.3 * len(y))], order[int(0.3 * len(y)) :]
    inner = ForestFeatures(150, random_state=seed).fit(X[rest], y[rest])
    C = best_cost(inner.kernel(X[rest]), inner.kernel(X[val], X[rest]), y[rest], y[val])
    model = ForestFeatures(150, random_state=seed).fit(X, y)
    scores, _ = svm(model.kernel(X), model.kernel(X_test, X), y, y_test, C)
    return {"specificity": specificity(y_test, scores)}


def projection(seed):
    """Section III-E on the stand-in: specificities, and how crowded the hashed code is."""
    X, y, X_test, y_test = newsgroups()
    model = coded(X, y, X.shape[1], seed)
    codes, codes_test = model.transform(X), model.transform(X_test)
    forest = RandomForestClassifier(150, random_state=seed, n_jobs=2).fit(X, y)
    rng = np.random.default_rng(seed)
    return {
        "induced": gaussian_svm(codes, y, codes_test, y_test, rng),
        "original": gaussian_svm(X, y, X_test, y_test, rng),
        "forest": specificity(y_test, forest.predict_proba(X_test)[:, 1]),
        "rows": len(y),
        "rows_test": len(y_test),
        "filled": float(codes_test.nnz / len(y_test)),
        "filled0": float(X_test.nnz / len(y_test)),
    }
