"""The sets of the FeatureMAP paper that can be had, others beside them, and its Table 1 as printed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from manifolia import datasets

KEYS = ("trust", "continuity", "knn", "shepard", "triplets")
#: Columns of the table of maps: the paper's, and what else is measured. Lower is better in LOWER.
COLUMNS = {
    "trust": "trustworthiness",
    "continuity": "continuity",
    "knn": "k-NN",
    "shepard": "Shepard",
    "triplets": "triplets",
    "torn": "torn classes",
    "radius": "radius correlation",
    "cpu": "processor seconds",
}
LOWER = ("torn", "cpu")
METHODS = ("t-SNE", "h-NNE", "UMAP", "triMAP", "PaCMAP", "densMAP", "spaceMAP", "PHATE", "FeatureMAP")
#: Table 1 as printed, in the order of METHODS.
PAPER = {
    "mnist": {
        "trust": (0.98, 0.96, 0.96, 0.95, 0.95, 0.93, 0.95, 0.83, 0.95),
        "continuity": (0.97, 0.93, 0.97, 0.96, 0.96, 0.97, 0.96, 0.88, 0.98),
        "knn": (0.97, 0.96, 0.97, 0.96, 0.97, 0.96, 0.97, 0.76, 0.97),
        "shepard": (0.39, 0.20, 0.39, 0.17, 0.28, 0.51, 0.26, 0.15, 0.43),
        "stress": (0.95, 1.00, 1.00, 0.96, 0.99, 0.99, 0.93, 0.99, 0.99),
        "triplets": (0.65, 0.70, 0.69, 0.67, 0.71, 0.70, 0.69, 0.69, 0.70),
    },
    "fashion_mnist": {
        "trust": (0.99, 0.95, 0.98, 0.97, 0.97, 0.96, 0.97, 0.83, 0.96),
        "continuity": (0.99, 0.95, 0.99, 0.99, 0.98, 0.98, 0.98, 0.86, 0.99),
        "knn": (0.82, 0.84, 0.79, 0.76, 0.77, 0.76, 0.80, 0.62, 0.84),
        "shepard": (0.61, 0.40, 0.61, 0.66, 0.60, 0.65, 0.66, 0.11, 0.66),
        "stress": (0.96, 1.00, 0.99, 0.96, 0.99, 0.99, 0.93, 0.99, 0.99),
        "triplets": (0.70, 0.75, 0.82, 0.85, 0.80, 0.82, 0.81, 0.45, 0.82),
    },
    "coil20": {
        "trust": (1.00, 0.98, 0.99, 0.99, 0.99, 0.98, 0.98, 0.95, 0.99),
        "continuity": (0.99, 0.97, 1.00, 0.99, 0.99, 1.00, 0.99, 0.97, 0.99),
        "knn": (0.95, 0.89, 0.87, 0.82, 0.84, 0.92, 0.86, 0.80, 0.94),
        "shepard": (0.52, 0.65, 0.18, 0.30, 0.39, 0.25, 0.21, 0.03, 0.39),
        "stress": (0.99, 0.99, 1.00, 0.99, 1.00, 1.00, 0.97, 0.99, 1.00),
        "triplets": (0.74, 0.73, 0.60, 0.65, 0.69, 0.58, 0.63, 0.55, 0.70),
    },
}
#: Rows that repeat others: CIFAR-10's k-NN accuracies are Fashion-MNIST's, the RNA set's columns are MNIST's.
REPEATED = {
    "CIFAR-10": {
        "trust": (0.93, 0.83, 0.84, 0.85, 0.84, 0.80, 0.90, 0.83, 0.92),
        "continuity": (0.92, 0.76, 0.94, 0.94, 0.94, 0.93, 0.92, 0.91, 0.94),
        "knn": (0.82, 0.84, 0.79, 0.76, 0.77, 0.77, 0.31, 0.75, 0.83),
        "shepard": (0.65, 0.24, 0.68, 0.74, 0.72, 0.78, 0.61, 0.88, 0.74),
        "triplets": (0.93, 0.67, 0.92, 0.91, 0.92, 0.92, 0.86, 0.90, 0.93),
    },
    "RNA-seq": {
        "trust": (0.99, 0.96, 0.96, 0.95, 0.95, 0.93, 0.98, 0.82, 0.98),
        "continuity": (0.97, 0.94, 0.97, 0.96, 0.96, 0.97, 0.97, 0.90, 0.97),
        "knn": (0.66, 0.69, 0.64, 0.63, 0.62, 0.62, 0.67, 0.76, 0.70),
        "shepard": (0.44, 0.18, 0.39, 0.17, 0.28, 0.50, 0.67, 0.28, 0.65),
        "triplets": (0.74, 0.60, 0.79, 0.84, 0.79, 0.79, 0.76, 0.90, 0.80),
    },
}
TITLES = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "coil20": "COIL-20",
    "scrna_pbmc3k": "PBMC 3k",
    "usps": "USPS",
    "optdigits": "optdigits",
    "pendigits": "pendigits",
    "satimage": "satimage",
    "scrna_neurons10k": "neurons 10k",
}
SETS = tuple(TITLES)
LARGE = ("mnist", "fashion_mnist")
#: From small to large, as they are computed.
BY_SIZE = (
    "coil20", "scrna_pbmc3k", "optdigits", "satimage", "usps", "scrna_neurons10k", "pendigits", "mnist",
    "fashion_mnist",
)  # fmt: skip


def load(name, n_rows=None):
    """Rows of a set, dense and in single precision, and their classes or None; all of them, or a sample in order."""
    bunch = datasets.load(name)
    data = bunch.data if sp.issparse(bunch.data) else np.asarray(bunch.data)
    rows = np.random.default_rng(0).permutation(data.shape[0])
    rows = np.sort(rows if n_rows is None else rows[:n_rows])
    X = data[rows]
    X = X.toarray() if sp.issparse(X) else X
    y = None if bunch.target is None else np.asarray(bunch.target)[rows]
    return np.ascontiguousarray(X, dtype=np.float32), y
