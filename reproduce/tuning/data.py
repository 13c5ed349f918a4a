"""Sets of the paper on tuning, and runs on them that are kept: the same run serves the grid and every search.

A run is a setting and a number; its figures (metrics, the method's own loss, seconds of the processor) are computed
when they are first asked for and kept on disk. `Pooled` is an estimator over such runs for `manifolia.Tuner`: it gives
the figures of run ``random_state`` modulo the size of the pool, as if it had just been computed. Runs with numbers from
there on are never given to a search; their mean is the *true* value of a setting.
"""

from __future__ import annotations

import functools
import json
import pathlib
import time
import warnings
from typing import NamedTuple

import numpy as np
from reproduce.tuning.exact_tsne import ExactTSNE, joint
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD

from manifolia import FeatureMAP, datasets, metrics
from manifolia.metrics.registry import Metric
from manifolia.tune.subsample import sample_rows

FIGURES = ("auc_r_nx", "q_global", "q_local", "distance_ratio", "nmi", "classification_error")
LABELLED = ("nmi", "classification_error")
#: Ten points of standard deviation 0.3 at a distance of 2.3 from the middle of fifty of standard deviation 1.
DIMENSION, APART, TIGHT = 5, 2.3, 0.3
KEPT = 1500  # rows of a set up to which probabilities of several perplexities are held


class Data(NamedTuple):
    """Rows, and their classes if they have any."""

    X: np.ndarray
    y: np.ndarray | None


def clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, DIMENSION))
    X[:10] *= TIGHT
    X[:10, 0] += APART
    return Data(X, np.repeat([0, 1], [10, 50]))


def coil():
    found = datasets.load("coil20")
    labels = np.asarray(found.target)
    rows = np.isin(labels, np.unique(labels)[:5])
    X = np.asarray(found.data)[rows].astype(np.float64) / 255.0
    return Data(PCA(50, random_state=0).fit_transform(X), labels[rows])


def sine():
    z = np.linspace(-np.pi, np.pi, 200)
    return Data(np.stack((z, np.sin(z), np.sin(2 * z), np.sin(3 * z)), axis=1), None)


def vehicle():
    found = datasets.load("vehicle")
    return Data(np.asarray(found.data, dtype=np.float64), np.asarray(found.target).astype(str))


def vehicle_scaled():
    X, y = vehicle()
    return Data((X - X.mean(axis=0)) / X.std(axis=0), y)


def reuters():
    """Documents as tf-idf, 50 singular directions, rows of length 1."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    found = datasets.load("reuters_r52")
    words = TfidfVectorizer(max_features=5000, sublinear_tf=True).fit_transform(found.data.iloc[:, 0].astype(str))
    return Data(normalize(TruncatedSVD(50, random_state=0).fit_transform(words)), np.asarray(found.target).astype(str))


def cells():
    """Counts of cells at equal depth, log(1 + x), the 2,000 genes that vary most, 50 principal components."""
    found = datasets.load("scrna_pbmc3k")
    counts = found.data.astype(np.float64)
    depth = np.asarray(counts.sum(axis=1)).ravel()
    X = np.log1p(counts.multiply(1e4 / depth[:, None]).toarray())
    X = X[:, np.argsort(X.var(axis=0))[-2000:]]
    return Data(PCA(50, random_state=0).fit_transform(X - X.mean(axis=0)), np.asarray(found.target).astype(str))


SETS = {f.__name__: f for f in (clusters, coil, sine, vehicle, vehicle_scaled, reuters, cells)}


@functools.lru_cache(maxsize=32)
def load(name):
    """A set, or a part of one: ``coil:third``, ``coil:third-leverage-3`` (the third such sample), ``cells:tenth``."""
    whole, _, part = name.partition(":")
    if not part:
        return SETS[whole]()
    X, y = load(whole)
    size, *how = part.split("-")
    share = {"third": 1 / 3, "tenth": 0.1, "twentieth": 0.05}[size]
    seed = int(how[1]) if how else 0
    rows = sample_rows(X, round(share * len(X)), sampling=how[0] if how else "uniform", random_state=seed)
    return Data(X[rows], None if y is None else y[rows])


@functools.lru_cache(maxsize=128)
def affinities(name, perplexity):
    """Joint probabilities of a small set, which several searches ask for."""
    return joint(load(name).X, perplexity)


def nearest_level(value, factor):
    """The nearest whole number of a row in which each is about ``factor`` times the last."""
    k = round(float(np.log(value) / np.log(factor)))
    around = {max(1, round(factor**step)) for step in range(k - 1, k + 2)}
    return min(sorted(around), key=lambda level: abs(np.log(level / value)))


def measure(data, Y, names=FIGURES):
    """The figures of a map; NaN for those that need classes which the set has not."""
    found = []
    for name in names:
        if name in LABELLED:
            found.append(float(getattr(metrics, name)(Y, data.y)) if data.y is not None else float("nan"))
        else:
            found.append(float(getattr(metrics, name)(data.X, Y, n_jobs=1)))
    return found


class Pool:
    """Runs of one method on one set, kept in a folder with a file for each setting.

    ``figures`` are computed for every run. Settings are dictionaries of whole numbers and of numbers with two digits;
    with ``factor`` perplexities and neighbours are rounded to whole numbers so far apart, so that searches meet in the
    same settings, and minimal distances to fifths, as in the paper on its large sets.
    """

    def __init__(self, folder, name, method="tsne", figures=FIGURES, factor=None):
        self.name, self.method, self.figures, self.factor = name, method, figures, factor
        some = "" if figures == FIGURES else "-" + "-".join(figure[:3] for figure in figures)
        self.folder = pathlib.Path(folder) / f"{name.replace(':', '-')}-{method}{some}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._known = {}
        self.added = 0

    @property
    def n_rows(self):
        return len(load(self.name).X)

    def runs(self, setting, numbers):
        """Figures of the runs with these numbers, computed where they are missing: (runs, figures + own loss + s)."""
        key = "-".join(f"{value:g}" for value in setting.values())
        path = self.folder / f"{key}.json"
        if key not in self._known:
            kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            self._known[key] = {int(number): run for number, run in kept.items()}
        known = self._known[key]
        missing = [number for number in numbers if number not in known]
        if missing:
            known.update(zip(missing, self._compute(setting, missing), strict=True))
            self.added += len(missing)
            beside = path.with_suffix(".part")
            beside.write_text(json.dumps(known), encoding="utf-8")
            beside.replace(path)
        return np.array([known[number] for number in numbers])

    def _compute(self, setting, numbers):
        data = load(self.name)
        P = None
        if self.method == "tsne":
            small = len(data.X) <= KEPT
            P = affinities(self.name, setting["perplexity"]) if small else joint(data.X, setting["perplexity"])
        for number in numbers:
            start = time.process_time()
            Y, loss = self.map(setting, number, P)
            yield [*measure(data, Y, self.figures), loss, time.process_time() - start]

    def map(self, setting, number, P=None):
        """The map of a run and the method's own loss."""
        X = load(self.name).X
        if self.method == "tsne":
            model = ExactTSNE(setting["perplexity"], number)
            return model.fit_transform(X, P=P), model.kl_divergence_
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.method == "umap-learn":
                from umap import UMAP

                return UMAP(**setting, random_state=number, n_jobs=1).fit_transform(X), float("nan")
            model = FeatureMAP(**setting, layout="edges", density_weight=0.0, random_state=number, n_jobs=1)
            return model.fit_transform(X), float("nan")

    def curve(self, settings, numbers, figure):
        """Losses of settings, (settings, runs): 1 minus the figure, or the figure itself for an error."""
        at = self.figures.index(figure)
        values = np.array([self.runs(setting, numbers)[:, at] for setting in settings])
        return values if figure == "classification_error" else 1.0 - values


class Pooled(BaseEstimator):
    """A method over a pool; its "map" carries the figures to the metrics of `carried`."""

    def __init__(self, pool=None, size=30, perplexity=30, n_neighbors=15, min_dist=0.1, fifths=None, random_state=None):
        self.pool = pool
        self.size = size
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.min_dist = min_dist
        self.fifths = fifths
        self.random_state = random_state

    def __repr__(self):
        return f"Pooled({self.pool.name}, {self.pool.method}, {self.size})"

    def __sklearn_clone__(self):
        return Pooled(**self.get_params(deep=False))

    def setting(self):
        def whole(value):
            return round(value) if self.pool.factor is None else nearest_level(value, self.pool.factor)

        if self.pool.method == "tsne":
            return {"perplexity": whole(self.perplexity)}
        min_dist = round(20 * self.min_dist) / 20 if self.fifths is None else self.fifths / 5
        return {"n_neighbors": whole(self.n_neighbors), "min_dist": min_dist}

    def fit_transform(self, X):
        found = self.pool.runs(self.setting(), [int(self.random_state) % self.size])[0]
        Y = np.zeros((len(X), 2))
        Y[: len(found), 0] = np.nan_to_num(found)
        self.loss_ = float(found[-2])
        return Y


def carried(pool, *names):
    """Metrics that read what a `Pooled` wrote into its map."""
    out = []
    for name in names:
        at = pool.figures.index(name)
        direction = "lower" if name == "classification_error" else "higher"
        out.append(Metric(name, direction, ("Y",), (0.0, 1.0), lambda Y, at=at: float(Y[at, 0])))
    return out
