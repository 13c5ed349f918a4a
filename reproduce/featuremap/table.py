"""Table 1 of the FeatureMAP paper on nine sets: the figures of our maps and of other packages', and arrow fidelity.

Trustworthiness and continuity have 7 neighbours (Espadoto et al. 2019, whom the paper follows), k-NN accuracy is of a
vote of 10 with the row itself left out, Shepard goodness is Spearman's correlation of distances, triplets are of class
centres; torn classes and radius correlations (15 neighbours) are those of `manifolia.metrics`. Of more than 5,000 rows
the first two and the radii are estimated from 2,000 rows, ranked among all, and what is about distances from 2,000,000
pairs; everything else is exact. A set without classes has no figures that need them.
"""

from __future__ import annotations

import functools

import numpy as np
from reproduce.featuremap import peers
from reproduce.featuremap.data import LARGE, load
from reproduce.featuremap.peers import OURS
from scipy.stats import spearmanr
from sklearn.metrics import euclidean_distances

from manifolia import FeatureMAP, metrics
from manifolia.explain.gradients import correlation_arrows
from manifolia.metrics.neighborhood import neighborhood_scores

KNN = (1, 5, 10, 30)
#: Maps by the two methods that are held against each other: the places of clusters, and with them the triplets, change
#: from seed to seed. Of the other methods fewer, and one by all in a quick run.
SEEDED, SEEDS = (OURS, "UMAP"), 5
SEEDS_SMALL, SEEDS_LARGE = 3, 1
TEAR_SEEDS = 10  # of MNIST's torn classes
EXACT_ROWS, RANKED, PAIRS, QUERIES = 5_000, 2_000, 2_000_000, 2_000
QUICK_RANKED = 500  # rows in place of all those of a small set, in a quick run
ARROWS, ARROW_ROWS = 300, 10_000


@functools.cache
def pairs_of(name, n_rows):
    """Pairs of rows and their distances in the data, found once for all maps: of a small set all, else random ones."""
    X, _ = load(name, n_rows)
    n = len(X)
    if n <= EXACT_ROWS:
        first, second = np.triu_indices(n, 1)
        return first, second, euclidean_distances(X.astype(float))[first, second]
    rng = np.random.default_rng(0)
    first = rng.integers(0, n, PAIRS)
    second = (first + rng.integers(1, n, PAIRS)) % n
    blocks = (np.array_split(one, 100) for one in (first, second))
    apart = [np.linalg.norm(X[i] - X[j], axis=1) for i, j in zip(*blocks, strict=True)]
    return first, second, np.concatenate(apart).astype(float)


def far(name, n_rows, Y):
    """Shepard goodness, and stress at the best scale of the map and at its own."""
    first, second, D = pairs_of(name, n_rows)
    d = np.linalg.norm(np.asarray(Y[first] - Y[second], dtype=float), axis=1)
    whole = (D * D).sum()
    best = 1.0 - (D * d).sum() ** 2 / ((d * d).sum() * whole)
    return float(spearmanr(D, d).statistic), float(best), float(((D - d) ** 2).sum() / whole)


def scores(name, n_rows, X, Y, y):
    """The measures of the table, and the two that explain it: k-NN for several k, raw stress."""
    ranked = RANKED if n_rows is None or len(X) > EXACT_ROWS else QUICK_RANKED
    near = {"sample": ranked, "random_state": 0} if len(X) > (EXACT_ROWS if n_rows is None else ranked) else {}
    local = neighborhood_scores(X, Y, 7, names=("trustworthiness", "continuity"), **near)
    shepard, best, raw = far(name, n_rows, Y)
    found = {
        "trust": float(local["trustworthiness"].value),
        "continuity": float(local["continuity"].value),
        "shepard": shepard,
        "stress": 1.0 - best,
        "raw_stress": raw,
        "radius": float(metrics.radius_correlation(X, Y, **near)),
    }
    if y is None:
        return found
    by_k = metrics.knn_accuracy(Y, y, list(KNN))
    torn, which = metrics.torn_classes(Y, y, return_classes=True)
    return {
        **found,
        "knn": float(by_k[KNN.index(10)]),
        "triplets": float(metrics.centroid_triplet_accuracy(X, Y, y)),
        "torn": float(torn),
        "which": np.asarray(which).astype(str).tolist(),
        "by_k": [float(one) for one in by_k],
    }


def seeds_of(name, n_rows, method):
    """How many maps a line of the table is the mean of."""
    if n_rows is not None:
        return 1
    if method in SEEDED:
        return SEEDS
    return SEEDS_LARGE if name in LARGE else SEEDS_SMALL


def map_part(name, n_rows, method, seed):
    """One map: its measures and its time, and of ours how true its arrows are."""
    X, y = load(name, n_rows)
    try:
        made = peers.timed(method, X, seed)
    except Exception as error:  # another package's: the page says what it said
        return {"failed": peers.plain(error)}
    if made is None:
        return None
    Y, wall, cpu, model = made
    if seed == 0:
        peers.keep(name, method, Y, y)
    found = {"rows": len(X), "wall": wall, "cpu": cpu, **scores(name, n_rows, X, Y, y)}
    if model is not None:
        rows = np.random.default_rng(0).permutation(len(X))[:ARROWS]
        importance = model.feature_importance(rows=rows)
        arrows = model.feature_gradients(rows=rows)
        true = metrics.arrow_fidelity(X, Y, arrows, rows, n_neighbors=30, importance=importance)
        found |= {"arrows": float(true), "directions": float(np.mean(model.radius_correlation_))}
    return found


def tear_part(name, seed):
    """Which classes a default map tears; of a seed beyond those of the table."""
    X, y = load(name)
    torn = metrics.torn_classes(peers.ours(OURS, seed).fit_transform(X), y, return_classes=True)[1]
    return {"which": np.asarray(torn).astype(str).tolist()}


def line(parts):
    """One line of the table from the maps of several seeds: means, standard deviations and ranges."""
    made = [one for one in parts if "failed" not in one]
    if not made:
        return parts[0]
    numbers = {key: np.array([one[key] for one in made]) for key in made[0] if key not in ("rows", "which")}
    return {
        "rows": made[0]["rows"],
        "seeds": len(made),
        "ranges": {key: [float(some.min()), float(some.max())] for key, some in numbers.items() if some.ndim == 1},
        "spread": {key: float(some.std()) for key, some in numbers.items() if some.ndim == 1},
        **{key: some.mean(axis=0).tolist() for key, some in numbers.items()},
    }


def limit_part(name, n_rows):
    """k-NN accuracy in the data itself; of a large set that of a sample of rows among all others."""
    X, y = load(name, n_rows)
    if y is None:
        return None
    if len(X) <= EXACT_ROWS:
        return {"by_k": [float(one) for one in metrics.knn_accuracy(X, y, list(KNN))], "asked": len(X)}
    asked = np.random.default_rng(1).permutation(len(X))[: min(QUERIES, len(X) // 4)]
    rest = np.setdiff1d(np.arange(len(X)), asked)
    right = metrics.knn_accuracy(X[rest], y[rest], list(KNN), test=(X[asked], y[asked]))
    return {"by_k": [float(one) for one in right], "asked": len(asked)}


def fidelity_part(name, n_rows):
    """Arrow fidelity of the regression, of the embedded gauges and of the global correlations."""
    X, _ = load(name, min(n_rows or ARROW_ROWS, ARROW_ROWS))
    model = FeatureMAP(random_state=0).fit(X)
    rows = np.random.default_rng(0).permutation(len(X))[:ARROWS]
    importance = model.feature_importance(rows=rows)
    kept = {"layout": "edges", "init": model.embedding_, "n_epochs": 0}  # the grid would change its width
    embedded = FeatureMAP(random_state=0, gauge="embedded", **kept).fit(X)
    everywhere = np.broadcast_to(correlation_arrows(X, model.embedding_), (len(rows), X.shape[1], 2))
    arrows = {
        "regression": model.feature_gradients(rows=rows),
        "smooth": model.feature_gradients(rows=rows, smooth=True),
        "embedded": embedded.feature_gradients(rows=rows),
        "correlation": np.asarray(everywhere),
    }
    found = {
        kind: float(metrics.arrow_fidelity(X, model.embedding_, one, rows, n_neighbors=30, importance=importance))
        for kind, one in arrows.items()
    }
    return {"rows": len(X), **found}
