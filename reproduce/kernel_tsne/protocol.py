"""What is measured of a kernel map, and how; `kernel_tsne.run` runs it and writes the page."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from manifolia import KernelMap, KernelTSNE, datasets, metrics
from manifolia.affinity.fisher import distances
from manifolia.exceptions import ManifoliaWarning
from manifolia.neighbors import NeighborIndex

#: Table 2 in %, training and test rows.
PAPER = {
    "letter": {"kernel": (84.1, 80.1), "Fisher": (85.5, 80.4)},
    "mnist": {"kernel": (90.7, 85.8), "Fisher": (91.1, 86.3)},
    "usps": {"kernel": (90.5, 84.8), "Fisher": (96.6, 87.4)},
}
#: The same of parametric t-SNE, and Table 1: seconds of kernel t-SNE and of parametric t-SNE.
PARAMETRIC = {"letter": (21.3, 27.8), "mnist": (85.4, 62.5), "usps": (86.5, 58.6)}
SECONDS = {"letter": (124, 275), "mnist": (145, 340), "usps": (38, 126)}
N_TRAIN = {"letter": 2000, "mnist": 2000, "usps": 1000}
N_ROWS = {"letter": 20_000, "mnist": 60_000, "usps": 9298}
PCS = 30

#: Ways to place rows on a finished map: parameters of `manifolia.KernelMap`, or None for a copy of the nearest.
MAPPINGS = {
    "paper's rule, σ_j = 0.1 d_j, pseudo-inverse": {"bandwidth": "paper", "coefficients": "lstsq", "ridge": 0.0},
    "one width, 0.1 median d, means": {"bandwidth": "global", "coefficients": "nadaraya-watson"},
    "one width, 0.1 median d, least squares": {"bandwidth": "global", "coefficients": "lstsq"},
    "one width, chosen by leaving out, means": {"bandwidth": "auto", "coefficients": "nadaraya-watson"},
    "mode, perplexity 5": {"mapping": "mode", "mode_perplexity": 5.0},
    "mode, perplexity 15": {"mapping": "mode", "mode_perplexity": 15.0},
    "copy of the nearest training row": None,
}
PAPER_RULE, DEFAULT = "paper's rule, σ_j = 0.1 d_j, pseudo-inverse", "mode, perplexity 5"
#: Algorithms 1 and 2 as written: the formula, and for the second the distances that are laid out.
WRITTEN_FORMULA = {"bandwidth": "paper", "factor": "auto", "coefficients": "lstsq", "ridge": 0.0}
WRITTEN_FISHER = {"euclidean_mix": 0.0, "fisher_rule": "paper"}
RANKED = 500  # test rows that are ranked among all others
SMALL, REPEATS = 100, 10  # the paper's samples, section 5
FEW = 500  # rows in which training sets of any size are compared
KTH = 5  # neighbour whose distance tells how far a row is
CURVE = 60  # sizes of neighbourhood at which a curve is kept, evenly spaced on the logarithm
SAME_PLACE = 1e-6  # of the width of the map: single precision leaves a few 1e-8


class Data(NamedTuple):
    """A data set, cut to this many rows."""

    X: np.ndarray
    y: np.ndarray


class Fit(NamedTuple):
    """A map of all rows, and which of them it was made from."""

    Y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    seconds: float  # of processor time, all threads together


def load(name, n_rows=None):
    """The set as the paper uses it: MNIST's first 60,000 rows; fewer rows are drawn at random."""
    bunch = datasets.load(name)
    X, y = np.ascontiguousarray(bunch.data, dtype=np.float32), np.asarray(bunch.target).astype(str)
    X, y = X[: N_ROWS[name]], y[: N_ROWS[name]]
    if n_rows is not None and n_rows < len(X):
        rows = np.sort(np.random.default_rng(0).choice(len(X), n_rows, replace=False))
        X, y = X[rows], y[rows]
    return Data(X, y)


def fit(model, X, y=None):
    """Fit a model to all rows; it chooses the training rows, and principal components come from these alone."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        model.fit(X, y)
    seconds = time.process_time() - begin
    train = np.asarray(model.train_indices_)
    return Fit(model.embedding_, train, np.setdiff1d(np.arange(len(X)), train), seconds)


def fit_network(model, X, train):
    """Train a network on the given rows, without PCA, and send all rows through it."""
    begin = time.process_time()
    Y = model.fit(X[train]).transform(X)
    seconds = time.process_time() - begin
    return Fit(Y, train, np.setdiff1d(np.arange(len(X)), train), seconds)


def coincident(Y):
    """Share of points with another point in the same place."""
    width = float(np.ptp(Y, axis=0).max())
    nearest = cKDTree(Y).query(Y, k=2)[0][:, 1]
    return float((nearest <= SAME_PLACE * width).mean())


def drawn(rows, size, seed):
    """So many of the rows, or all."""
    return rows if size >= len(rows) else np.random.default_rng(seed).choice(rows, size, replace=False)


def held_out(data, made, seed=0):
    """All measures of the rows that were not laid out; accuracies are those of one nearest neighbour."""
    X, y = data
    train, test, Y = made.train, made.test, np.asarray(made.Y, dtype=np.float64)
    few = drawn(test, len(train), seed)
    ranked = None if len(test) <= RANKED + 1 else RANKED
    return {
        "among": metrics.knn_accuracy(Y[test], y[test], 1),
        "against": metrics.knn_accuracy(Y[train], y[train], 1, test=(Y[test], y[test])),
        "q_few": metrics.q_local(X[few], Y[few]),
        "q_all": metrics.q_local(X[test], Y[test], sample=ranked, random_state=seed),
        "coincident": coincident(Y[test]),
    }


def laid_out(data, made):
    """The measures of the training map."""
    X, y = data
    train, Y = made.train, np.asarray(made.Y, dtype=np.float64)
    return {"train": metrics.knn_accuracy(Y[train], y[train], 1), "q_train": metrics.q_local(X[train], Y[train])}


def reduced(X, train):
    """Principal components of the training rows, as `manifolia.KernelTSNE` takes them."""
    if X.shape[1] <= PCS:
        return X
    return PCA(PCS, random_state=0).fit(X[train]).transform(X).astype(np.float32)


def placed(X, made, mapping, Z=None):
    """The map with the rows outside of the training set placed in another way."""
    Z = reduced(X, made.train) if Z is None else Z
    Y = np.array(made.Y, dtype=np.float64)
    if mapping is None:
        index = NeighborIndex(Z[made.train], exact=True)
        Y[made.test] = Y[made.train][index.query(Z[made.test], 1).indices[:, 0]]
    else:
        Y[made.test] = KernelMap(n_centers=None, **mapping).fit(Z[made.train], Y[made.train]).transform(Z[made.test])
    return made._replace(Y=Y)


def unguarded(data, made, width):
    """The map by Fisher distances alone in a given width, though the labels may say nothing."""
    Z = reduced(data.X, made.train)
    D = distances(Z[made.train], data.y[made.train], bandwidth=width, fallback=False)
    Y = np.array(made.Y, dtype=np.float64)
    Y[made.train] = KernelTSNE(n_train=None, metric="precomputed", random_state=0).fit_transform(D)
    return placed(data.X, made._replace(Y=Y), MAPPINGS[DEFAULT], Z)


def small_curve(X, Y, rows, seed):
    """The paper's curve: Q(k) inside 100 rows, k = 1 … 98, the mean of ten draws."""
    rng = np.random.default_rng(seed)
    size = min(SMALL, len(rows))
    picks = [rng.choice(rows, size, replace=False) for _ in range(REPEATS)]
    return np.mean([metrics.q_nx(X[one], Y[one]) for one in picks], axis=0)


def full_curve(X, Y, rows):
    """Q(k) inside all the rows, at some k, as a pair (k, Q)."""
    Q = metrics.q_nx(X[rows], Y[rows])
    ks = np.unique(np.geomspace(1, len(Q), CURVE).round().astype(int))
    return ks, Q[ks - 1]


def curves(data, made, seed=0):
    """Both curves of training and test rows; the test rows of the full curve are as many as the training rows."""
    Y = np.asarray(made.Y, dtype=np.float64)
    found = {}
    for name, rows in (("train", made.train), ("test", made.test)):
        ks, Q = full_curve(data.X, Y, drawn(rows, len(made.train), seed))
        found[name] = {"small": small_curve(data.X, Y, rows, seed).tolist(), "k": ks.tolist(), "full": Q.tolist()}
    return found


def closeness(Y, edges):
    """Histogram over pairs of 1/(1 + ‖y_i − y_j‖²), which is q_ij on a scale where two points in one place have 1."""
    counts = np.zeros(len(edges) - 1)
    for start in range(0, len(Y), 1000):
        block = Y[start : start + 1000]
        near = 1.0 / (1.0 + cdist(block, Y, "sqeuclidean"))
        counts += np.histogram(near, bins=edges)[0]
    counts[-1] -= len(Y)  # each point with itself
    return counts / (len(Y) * (len(Y) - 1.0))


def alarms(novelty):
    """Share of rows that would be called new at the levels 0.05 and 0.01."""
    return [float((novelty >= 1.0 - level).mean()) for level in (0.05, 0.01)]


def detection(ordinary, strange):
    """Area under the ROC curve."""
    truth = np.concatenate([np.zeros(len(ordinary)), np.ones(len(strange))])
    return float(roc_auc_score(truth, np.concatenate([ordinary, strange])))


def garments(n_rows=10_000):
    """Fashion-MNIST: rows that do not belong on a map of digits."""
    return np.ascontiguousarray(datasets.load("fashion_mnist").data[:n_rows], dtype=np.float32)


def in_plane(train, *others):
    """Distances to the training rows within the plane of their principal components: what is left without it."""
    pca = PCA(PCS, random_state=0).fit(train)
    index = NeighborIndex(pca.transform(train), exact=True)
    return [index.query(pca.transform(rows), KTH).distances[:, -1] for rows in others]
