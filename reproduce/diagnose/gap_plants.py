"""Plants for what `manifolia.diagnose` says of gaps, of other runs and of regions."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from reproduce.diagnose import maps
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import manifolia as mf
from manifolia import datasets
from manifolia.baselines import TSNE
from manifolia.forest.proximities import proximity_from_leaves
from manifolia.trust import gaps, stability
from manifolia.trust.clusters import find_clusters, read_clusters
from manifolia.trust.regions import find_regions, labels_of, space_of
from manifolia.trust.sides import profiles_of
from manifolia.trust.valleys import judge_gaps, merge_islands

MAPS = ("t-SNE", "UMAP", "FeatureMAP")
WORDS = ("in the data", "made by the map", "cannot tell")


def placed(name, X, seed, *, few):
    """A map with the usual number of neighbours, or with so few that it breaks a cloud into islands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "t-SNE":
            return TSNE(perplexity=5 if few else 30, random_state=seed).fit_transform(X)
        if name == "UMAP":
            import umap

            near, apart = (4, 0.0) if few else (15, 0.1)
            return umap.UMAP(n_neighbors=near, min_dist=apart, random_state=seed, n_jobs=1).fit_transform(X)
        return mf.FeatureMAP(n_neighbors=5 if few else 15, random_state=seed).fit_transform(X)


def cloud(kind, rng, n=600):
    """Rows without any gap."""
    if kind == "ring":
        angle, radius = rng.uniform(0, 2 * np.pi, n), 1.0 + 0.1 * rng.normal(size=n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), 0.1 * rng.normal(size=(n, 3))])
    if kind == "strip":
        return np.column_stack([rng.uniform(0, 8, n), rng.random(n), 0.05 * rng.normal(size=(n, 3))])
    return rng.normal(size=(n, int(kind.rpartition(" ")[2])))


def separated(shape, rng, sizes=(200, 100, 60), apart=5.0):
    """Three clusters, each 5 standard deviations from the next, and their labels."""
    own = np.repeat([0, 1, 2], sizes)
    X = rng.normal(size=(len(own), 5))
    if shape == "round":
        X[:, :2] += apart * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])[own]
    elif shape == "long":
        X[:, 1] *= 4.0
        X[:, 0] += apart * own
    elif shape == "tight and wide":  # the largest is three times as wide as the others, and 5 of its own sd away
        X[own == 0] *= 3.0
        X[:, 0] += np.array([-3.0 * apart, 0.0, apart])[own]
    else:  # half moons, one inside the other: no straight line parts them
        angle = rng.uniform(0, np.pi, len(own))
        moon = 8.0 * np.column_stack([np.cos(angle), np.sin(angle)])
        moon[own == 1] = 8.0 * np.column_stack([1 - np.cos(angle), 0.5 - np.sin(angle)])[own == 1]
        X[own < 2] *= 0.7
        X[own < 2, :2] += moon[own < 2]
        X[own == 2, 1] += 18.0
    return X, own


def counted(found):
    """How many gaps got which verdict."""
    counts = Counter(gap.verdict for gap in found)
    return {word: counts.get(word, 0) for word in WORDS}


def fragments(kind, name, seed):
    """Verdicts on the gaps between the raw islands of a cloud."""
    X = cloud(kind, np.random.default_rng(seed))
    Y = np.asarray(placed(name, X, seed, few=True), dtype=float)
    islands = find_clusters(Y)
    merged, _ = merge_islands(Y, islands)
    return {"raw": counted(judge_gaps(X, Y, islands, None, 0.05, seed)),
            "merged": counted(judge_gaps(X, Y, merged, None, 0.05, seed))}  # fmt: skip


def real(shape, name, seed):
    """Verdicts on the gaps between three clusters."""
    X, own = separated(shape, np.random.default_rng(seed))
    return counted(gaps(X, placed(name, X, seed, few=False), own, random_state=seed))


def table(source, seed, most=1000):
    """Rows and classes of a table of pictures or cells."""
    rng = np.random.default_rng(seed)
    if source == "pbmc":
        bunch = datasets.load("scrna_pbmc3k")
        counts = bunch.data.toarray() if hasattr(bunch.data, "toarray") else np.asarray(bunch.data)
        rows = np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True))
        rows = rows[:, np.argsort(-rows.var(axis=0))[:1000]]
        X, y = PCA(30, random_state=0).fit_transform(rows), np.asarray(bunch.target)
    elif source == "mnist":
        bunch = datasets.load("mnist")
        X, y = np.asarray(bunch.data, dtype=float) / 255.0, np.asarray(bunch.target)
    else:
        X, y = maps.table(source, seed, 10**9)
    some = np.sort(rng.permutation(len(X))[:most])
    X = X[some]
    return (PCA(50, random_state=0).fit_transform(X) if source == "mnist" else X), y[some]


def classes(source, name, seed):
    """Verdicts on the gaps between true classes, and between islands with other classes in the majority."""
    X, y = table(source, seed)
    Y = np.asarray(placed(name, X, seed, few=False), dtype=float)
    seen, _ = merge_islands(Y, find_clusters(Y))
    most = [Counter(y[seen.codes == code].tolist()).most_common(1)[0][0] for code in range(len(seen.names))]
    found = judge_gaps(X, Y, seen, None, 0.05, seed)
    other = [gap for gap in found if most[seen.names.index(gap.a)] != most[seen.names.index(gap.b)]]
    return {"labels": counted(gaps(X, Y, y, random_state=seed)), "islands": counted(other)}


def guided(kind, seed, n=400):
    """Verdicts on the gaps of a guided map, if profiles of out-of-bag proximities were taken for the data."""
    rng = np.random.default_rng(seed)
    if kind == "real clusters":
        X, y = separated("round", rng)
    else:  # a cloud, cut in the middle or not
        X = rng.normal(size=(n, 6))
        y = (X[:, 0] > 0).astype(int) if kind == "a cloud cut by its classes" else X[:, 0]
    model = maps.made("GuidedMap", X, y, seed)
    space = space_of(profiles_of(proximity_from_leaves(model._fitted_forest.table, kind="gap", top_k=300)), X, "")
    Y = np.asarray(model.embedding_, dtype=float)
    clusters = find_clusters(Y) if kind == "a cloud and a number" else read_clusters(y, len(X))
    return counted(judge_gaps(space, Y, clusters, None, 0.05, seed))


def ambiguous(seed, refits=200):
    """AUROC of ten maps for rows that lie between clusters, and for those that 200 maps find restless."""
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.normal(size=(4, 10))
    own = np.repeat(np.arange(4), 50)
    pairs = rng.permutation([(a, b) for a in range(4) for b in range(a)] * 2)
    X = np.vstack([centres[own], centres[pairs].mean(axis=1)]) + rng.normal(size=(len(own) + len(pairs), 10))
    between = np.arange(len(X)) >= len(own)

    def refit(rows, y, each):
        return TSNE(perplexity=15, random_state=each).fit(rows)

    ten = stability(X, refit, random_state=seed)
    many = stability(X, refit, n_runs=refits, random_state=seed + 1000)
    truth = many.restless > 2.0
    return {"planted": float(roc_auc_score(between, ten.restless)), "many": float(roc_auc_score(truth, ten.restless)),
            "called": int((ten.restless[between] > 2).sum()), "of": int(between.sum()),
            "others": int((ten.restless[~between] > 2).sum()), "n_others": int((~between).sum())}  # fmt: skip


def regions(source, seed):
    """Adjusted Rand index of the innermost regions: of two seeds, and of two halves that have no row in common."""
    rng = np.random.default_rng(seed)
    if source == "wine":
        X = maps.table("wine", seed)[0]
    elif source.startswith("noise"):
        X = rng.normal(size=(500, int(source.rpartition(" ")[2])))
    else:
        X = table(source, 0)[0]

    def found(rows, each):
        columns = [(f"column {j}", column) for j, column in enumerate(X[rows].T)]  # which tell inner regions
        return labels_of(find_regions(X[rows], columns, random_state=each), len(rows))

    everyone = np.arange(len(X))
    whole = [found(everyone, each) for each in (seed, seed + 1000)]
    order = rng.permutation(len(X))
    halves = (np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :]))
    # The rows of the other half get the region of their nearest rows.
    told = [KNeighborsClassifier(5).fit(X[half], found(half, seed)).predict(X) for half in halves]
    return {
        "n": len(np.unique(whole[0][whole[0] >= 0])),
        "seeds": float(adjusted_rand_score(*whole)),
        "halves": float(adjusted_rand_score(*told)),
    }
