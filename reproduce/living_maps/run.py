"""Maps that live: how far rows stay near an earlier map, what a comparison says, and when a batch raises an alarm.

    python -m reproduce.living_maps.run [--seeds 5] [--store build/living-maps] [--out docs/results/living-maps.md]

1. Near: 90 % of the training rows are mapped; then all of them, freely and ``near`` the first map. A tenth of all rows
   is held out. Movement is the median row's, in local radii (distance to its fifteenth nearest row in the first map);
   the free map is first laid over the first one.
2. A new class: the first map lacks a class that is a tenth of the rows or less; it is looked for as a cluster.
3. Comparisons: six clusters of which one is moved, split, merged or gone; a mirrored map; a map of noise; two seeds.
4. Drift: batches of the same source, a shift of half a standard deviation in one column, rows from elsewhere.

Each part is kept in the store, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import warnings

import numpy as np
import sklearn
from reproduce._shared.markdown import table
from reproduce._shared.store import Store
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import manifolia as mf
from manifolia import datasets
from manifolia.metrics import auc_r_nx
from manifolia.trust.changes import local_radii
from manifolia.trust.clusters import find_clusters

N_TREES = 200
METHODS = {
    "GuidedMap": lambda seed: mf.GuidedMap(n_trees=N_TREES, random_state=seed),
    "RFPHATE": lambda seed: mf.RFPHATE(n_trees=N_TREES, random_state=seed),
    "PHATE": lambda seed: mf.PHATE(random_state=seed),
    "FeatureMAP": lambda seed: mf.FeatureMAP(random_state=seed),
}
GUIDED = ("GuidedMap", "RFPHATE")
SETS = ("digits", "wine", "vehicle", "pbmc", "mnist")
SMALL = ("wine", "vehicle")  # a tenth of their rows are few: more seeds
PLANTS = ("moved", "split", "merged", "vanished", "mirrored", "noise")
SEEDS_OF_METHODS = ("GuidedMap", "RFPHATE", "FeatureMAP")


def read(name):
    """Rows and classes of a set, on comparable scales."""
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    if name == "made":  # 1,500 rows of 12 columns that come from 4 hidden ones, one of them rounded and one of 0 and 1
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 4)) @ rng.normal(size=(4, 12)) + rng.normal(size=(1500, 12))
        X[:, 3], X[:, 4] = np.round(X[:, 3]), X[:, 4] > 0
        return X, (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=1500) > 0).astype(int)
    if name == "pbmc":
        data = datasets.load("scrna_pbmc3k")
        counts = data.data.toarray() if hasattr(data.data, "toarray") else np.asarray(data.data)
        logged = np.log1p(1e4 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
        most = np.argsort(-logged.var(axis=0), kind="stable")[:1000]
        centred = logged[:, most] - logged[:, most].mean(axis=0)
        left, size, _ = np.linalg.svd(centred, full_matrices=False)
        return left[:, :50] * size[:50], np.asarray(data.target)
    data = datasets.load(name)
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target)
    if name == "mnist":
        some = np.random.default_rng(0).permutation(len(X))[:10_000]
        return X[some], y[some]
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), y


def fit(method, seed, X, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method](seed).fit(X, y if method in GUIDED else None, **more)


def way(new, old):
    """How far the median row lies from where it was, in local radii."""
    return float(np.median(np.linalg.norm(new - old, axis=1) / local_radii(old)))


def near(name, method, seed):
    """A map of nine tenths, and of all rows freely and near it."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(X))
    held_out, rows = order[: len(X) // 10], order[len(X) // 10 :]
    early = np.sort(rows[len(rows) // 10 :])
    rows = np.sort(rows)
    both = np.isin(rows, early)
    old = fit(method, seed, X[early], y[early])
    free = fit(method, seed + 1000, X[rows], y[rows])
    held = fit(method, seed + 1000, X[rows], y[rows], near=old)
    judged = np.random.default_rng(0).permutation(len(rows))[:3000]
    found = {}
    for word, model in (("free", free), ("near", held)):
        Y = model.embedding_
        places = Y[both] if word == "near" else mf.align(Y[both], to=old.embedding_)
        vote = KNeighborsClassifier(10).fit(Y, y[rows])
        found[word] = {
            "moved": way(places, old.embedding_),
            "auc": float(auc_r_nx(X[rows][judged], Y[judged])),
            "accuracy": float(vote.score(model.transform(X[held_out]), y[held_out])),
        }
    return found


def new_class(name, method, seed):
    """Whether a class that the first map lacks is a cluster of its own, freely and near it."""
    X, y = read(name)
    classes, counts = np.unique(y, return_counts=True)
    able = classes[(counts <= 0.12 * len(y)) & (counts >= 30)]
    chosen = able[seed % len(able)]
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(X))[: int(0.9 * len(X))])
    X, y = X[rows], y[rows]
    lacks = y != chosen
    old = fit(method, seed, X[lacks], y[lacks])
    found = {}
    for word, more in (("free", {}), ("near", {"near": old})):
        Y = fit(method, seed + 1000, X, y, **more).embedding_
        close = NearestNeighbors(n_neighbors=11).fit(Y).kneighbors(Y[~lacks], return_distance=False)[:, 1:]
        codes = find_clusters(Y).codes
        best = 0.0
        for c in np.unique(codes[codes >= 0]):
            inside = codes == c
            best = max(best, float((inside & ~lacks).sum() / (inside | ~lacks).sum()))
        found[word] = {"jaccard": best, "purity": float((y[close] == chosen).mean())}
    return found


def clusters(rng, k=6, n=100):
    """Round clusters at random places that are far enough from one another."""
    while True:
        centres = rng.uniform(-50, 50, size=(k, 2))
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2)[np.triu_indices(k, 1)]
        if gaps.min() > 22:
            break
    labels = np.repeat(np.arange(k), n)
    return centres[labels] + 2.0 * rng.normal(size=(k * n, 2)), labels


def planted(word, seed):
    """Whether a planted change, and nothing else, is said."""
    rng = np.random.default_rng(seed)
    a, labels = clusters(rng)
    b, one, names = a.copy(), labels == 2, [np.arange(600), np.arange(600)]
    if word == "moved":
        b[one] += 1.3 * np.ptp(a, axis=0) * [1, 0.5]
    elif word == "split":
        b[one] += np.where(a[one, :1] > np.median(a[one, 0]), 5.0, -5.0) * [1.0, 0.0]
    elif word == "merged":
        b[one] += np.median(a[labels == 3], axis=0) - np.median(a[one], axis=0) + [3.0, 0.0]
    elif word == "vanished":
        b, names[1] = b[~one], names[1][~one]
    elif word == "mirrored":
        b = b * [-1.0, 1.0]
    else:
        b = rng.normal(size=b.shape) * 30.0
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    b = rng.uniform(0.2, 5.0) * (b + 0.2 * rng.normal(size=b.shape)) @ turn
    found = mf.compare(a, b, key=names)
    said = set(found.clusters["change"]) - {"stayed"}
    if word == "mirrored":
        as_it_is = found.map["mirrored"] == bool(np.linalg.det(turn) > 0.0)
        return {"right": not said and as_it_is and found.map["auc_r_nx"] > 0.75}
    if word == "noise":
        return {"right": found.map["auc_r_nx"] < 0.1 and "little of their structure" in found.findings[0].text}
    return {"right": said == {word}, "said": sorted(said)}


def two_seeds(method, seed):
    """What is said of two seeds of one method: by itself, and beyond what two other seeds show."""
    X, y = read("digits")
    maps = [fit(method, 10 * seed + i, X, y) for i in range(4)]
    alone, beyond = mf.compare(maps[0], maps[1]), mf.compare(maps[0], maps[1], seeds=maps[2:])
    return {
        word: sorted(set(found.clusters["change"]) - {"stayed"})
        for word, found in (("alone", alone), ("beyond", beyond))
    }


def batches(name, seed):
    """Alarms on a batch of the same source, on a shifted one, and p-values of rows from elsewhere."""
    X, y = read(name)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    n_new = min(500, len(X) // 3)
    new, rows = order[:n_new], order[n_new:]
    model = fit("RFPHATE", seed, X[rows], y[rows])
    column = int(np.argmax(model.forest_.feature_importances_))
    spread = X[rows][:, column].std()
    shifted = X[new].copy()
    shifted[:, column] += 0.5 * spread
    same = mf.drift(model, X[new], y[new])
    moved = mf.drift(model, shifted)
    shuffled = np.column_stack([rng.permutation(values) for values in X[new].T])
    other = rng.normal(size=(n_new, X.shape[1])) * X.std(axis=0) + X.mean(axis=0)
    return {
        "rows": n_new,
        "alarm": bool(same.alarm),
        "same": same.p_value,
        "shift seen": bool(moved.alarm),
        "column named": bool(moved.alarm and any(f"column {column}" in one.columns for one in moved.findings)),
        "shuffled": mf.drift(model, shuffled).p_value,
        "scaled": mf.drift(model, X[new] * 1.2).p_value,
        "another table": mf.drift(model, other).p_value,
    }


def auroc(elsewhere, same):
    """Chance that a batch from elsewhere has the smaller p-value."""
    elsewhere, same = np.array(elsewhere)[:, None], np.array(same)[None]
    return float((elsewhere < same).mean() + 0.5 * (elsewhere == same).mean())


def share(found, what):
    """A share of some findings, as text."""
    return f"{np.mean([what(one) for one in found]):.0%}"


def gather(kept, options, name, n_seeds, make):
    """The findings of all seeds, or of those that are in the store."""
    if options.kept_only:
        paths = [kept.folder / f"{name}-{seed}.json" for seed in range(n_seeds)]
        return [kept.get(path.stem, None) for path in paths if path.exists()]
    return [kept.get(f"{name}-{seed}", lambda seed=seed: make(seed)) for seed in range(n_seeds)]


def page_plants(kept, options):
    lines = []
    for word in PLANTS:
        found = gather(kept, options, f"plant-{word}", options.plants, lambda seed, word=word: planted(word, seed))
        lines.append((word, len(found), share(found, lambda one: one["right"])))
    return ["## Planted comparisons", "", "Wanted: 90 %.", "", *table(("plant", "seeds", "said right"), lines)]


def page_drift(kept, options):
    lines = []
    for name in ("made", *(one for one in options.sets if one in ("digits", "vehicle", "wine"))):
        found = gather(kept, options, f"drift-{name}", options.plants, lambda seed, name=name: batches(name, seed))
        if not found:
            continue
        same = [one["same"] for one in found]
        lines.append((
            name, len(found), found[0]["rows"],
            *(share(found, lambda one, w=w: one[w]) for w in ("alarm", "shift seen", "column named")),
            *(f"{auroc([one[kind] for one in found], same):.3f}" for kind in ("shuffled", "scaled", "another table")),
        ))  # fmt: skip
    names = ("set", "seeds", "rows of a batch", "alarms, same source", "shift seen", "column named", "AUROC shuffled",
             "AUROC × 1.2", "AUROC another table")  # fmt: skip
    told = (
        "The shift is of 0.5 standard deviations in the most important column. Wanted: alarms at most 5 %, at 500 rows "
    )
    told += "the shift seen in 95 % and the column named in 90 %, AUROC 0.95."
    return ["## Drift", "", told, "", *table(names, lines)]


def page_seeds(kept, options):
    lines = []
    for method in SEEDS_OF_METHODS:
        found = gather(kept, options, f"seeds-{method}", options.seeds, lambda seed, m=method: two_seeds(m, seed))
        if found:
            nothing = [share(found, lambda one, w=word: not one[w]) for word in ("alone", "beyond")]
            lines.append((method, len(found), *nothing))
    told = "Digits: share of pairs of which nothing is said of any cluster but that it stayed."
    names = ("method", "pairs", "by themselves", "with two other seeds")
    return ["## Two seeds of one method", "", told, "", *table(names, lines)]


def page_near(kept, options):
    lines = []
    for name in options.sets:
        n_seeds = {"mnist": options.large_seeds, **dict.fromkeys(SMALL, options.small_seeds)}.get(name, options.seeds)
        for method in METHODS:
            found = gather(
                kept, options, f"near-{name}-{method}", n_seeds, lambda seed, n=name, m=method: near(n, m, seed)
            )
            if not found:
                continue
            cells = [
                f"{np.mean([one[word][what] for one in found]):.{digits}f}"
                for what, digits in (("moved", 2), ("auc", 3), ("accuracy", 3))
                for word in ("free", "near")
            ]
            lines.append((name, method, len(found), *cells))
    names = ("set", "method", "seeds", "moved, free", "near", "AUC of R_NX, free", "near", "held-out, free", "near")
    told = "Wanted: moved at most 0.25, AUC and held-out accuracy within 0.01 of the free map's."
    return ["## Near an earlier map", "", told, "", *table(names, lines)]


def page_new(kept, options):
    lines = []
    for method in METHODS:
        found = gather(
            kept, options, f"new-digits-{method}", options.plants, lambda seed, m=method: new_class("digits", m, seed)
        )
        if found:
            own = [share(found, lambda one, w=word: one[w]["jaccard"] >= 0.5) for word in ("free", "near")]
            pure = [f"{np.mean([one[word]['purity'] for one in found]):.3f}" for word in ("free", "near")]
            lines.append((method, len(found), *own, *pure))
    names = ("method", "seeds", "a cluster of its own, free", "near", "neighbours of its class, free", "near")
    return ["## A new class", "", "Digits. Wanted: a cluster of its own in 95 %.", "", *table(names, lines)]


PAGES = {"plants": page_plants, "drift": page_drift, "seeds": page_seeds, "near": page_near, "new": page_new}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--plants", type=int, default=20, help="seeds of plants, new classes and batches")
    parser.add_argument("--small-seeds", type=int, default=20, help="seeds of small tables")
    parser.add_argument("--large-seeds", type=int, default=5, help="seeds of MNIST")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS))
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(PAGES))
    parser.add_argument("--store", type=pathlib.Path, default=pathlib.Path("build/living-maps"))
    parser.add_argument("--kept-only", action="store_true", help="the page of what is in the store, without computing")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    options = parser.parse_args(arguments)
    kept = Store(options.store)
    parts = [PAGES[name](kept, options) for name in options.only]
    made = (
        f"{datetime.date.today():%Y-%m-%d}, manifolia {mf.__version__}, scikit-learn {sklearn.__version__}, "
        f"{platform.machine()}"
    )
    text = "\n\n".join("\n".join(part) for part in parts)
    if options.out is not None:
        told = f"Made by `python -m reproduce.living_maps.run` ({made})."
        remarks = pathlib.Path(__file__).with_name("remarks.md").read_text(encoding="utf-8").strip()
        page = f"# Maps that live: results\n\n{told}\n\n{remarks}\n\n{text}\n"
        options.out.write_text(page, encoding="utf-8")
    return text


if __name__ == "__main__":
    main()
