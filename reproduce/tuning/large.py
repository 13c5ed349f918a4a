"""Text and cells of the page on tuning: searched on few rows, then drawn for many."""

from __future__ import annotations

import numpy as np
from reproduce.tuning.data import load, measure, nearest_level
from reproduce.tuning.exact_tsne import joint
from reproduce.tuning.studies import FIFTHS, grid, searches

SURROGATES = ("gp-ei", "gp-pi", "gp-lcb", "forest", "random")
FIGURES = ("nmi", "classification_error", "auc_r_nx")
FACTORS = {"tsne": 1.05, "featuremap": 1.1}
DEFAULTS = {"tsne": {"perplexity": 30}, "featuremap": {"n_neighbors": 15, "min_dist": 0.1}}
MOST_NEIGHBORS = 100
MOST_PAIRS = 1_600_000  # rows times neighbours of a UMAP of all rows, which take some minutes of one processor


def thinned(pool, n):
    """The grid: perplexities up to nine tenths of the rows, or neighbours up to 100 with fifths of min_dist."""
    high = 0.9 * pool.n_rows if pool.method == "tsne" else MOST_NEIGHBORS
    some = sorted({nearest_level(value, pool.factor) for value in np.geomspace(2, high, n)})
    if pool.method == "tsne":
        return [{"perplexity": p} for p in some]
    return [{"n_neighbors": k, "min_dist": d} for k in some for d in FIFTHS]


def searched_by(store, pool, n_trials, n_grid):
    """Searches of every surrogate and grids, so many batches of each."""
    label = f"{pool.name.replace(':', '-')}-{pool.method}"
    kind = list(FACTORS).index(pool.method)
    batches, every, repeats = store.scale.large_batches[kind], store.scale.every[kind], store.scale.repeats[2]
    settings = thinned(pool, n_grid)
    return {
        "n": pool.n_rows,
        "grid settings": len(settings),
        "trials": n_trials,
        "grid": [
            store.get(f"grid-{label}-rounded-{b}", lambda b=b: grid(pool, "nmi", settings, b, repeats))
            for b in range(batches)
        ],
        "studies": searches(
            store, pool, "nmi", SURROGATES, batches, n_trials=n_trials, n_repeats=repeats, every=every
        ),
    }  # fmt: skip


def large(store, part, whole, n_maps):
    """Fig. 8 to 11 and 17."""
    scale = store.scale
    trials, n_perplexities, n_neighbors = scale.large
    pools = {
        "tsne": store.pool(part, figures=FIGURES, factor=FACTORS["tsne"]),
        "featuremap": store.pool(part, "featuremap", figures=FIGURES[:1], factor=FACTORS["featuremap"]),
    }
    name = part.replace(":", "-")

    def landscape():
        some = thinned(pools["tsne"], n_perplexities)
        values = {f: pools["tsne"].curve(some, range(scale.searched[3]), f).tolist() for f in FIGURES}
        return {"n": pools["tsne"].n_rows, "settings": [list(s.values()) for s in some], **values}

    found = {
        "curves": store.get(f"landscape-{name}", landscape),
        "tsne": searched_by(store, pools["tsne"], trials, n_perplexities),
        "featuremap": searched_by(store, pools["featuremap"], scale.umap_trials, n_neighbors),
        "rows": len(load(whole).X),
        "y": {"part": load(part).y.tolist(), "whole": load(whole).y.tolist()},
    }
    for method in ("tsne", "featuremap"):
        runs = n_maps if method == "tsne" else 1
        found[f"{method} maps"] = maps(store, found[method], method, part, whole, runs)
    return found


def middle(pool, studies):
    """The setting that the searches by GP with EI ended at, in the middle of its batches."""
    chosen = [one["chosen"] for one in studies["gp-ei"]]
    return {key: float(np.median([one[key] for one in chosen])) for key in chosen[0]}


def ways_of(setting, small, big):
    """A setting of few rows on many: the same fraction of the rows, the same number, and between."""
    key = next(iter(setting))
    ratio = big / small
    shares = {"same fraction": ratio, "between": ratio**0.5, "same number": 1.0}
    return {way: {**setting, key: round(setting[key] * share)} for way, share in shares.items()}


def maps(store, found, method, part, whole, n_runs):
    """Maps of few rows at the optimum, of many at it, carried over in three ways, and at the default."""
    small, big = store.pool(part, method), store.pool(whole, method)
    setting = middle(small, found["studies"])
    whole_setting = {key: round(value) if key != "min_dist" else value for key, value in setting.items()}
    places = ways_of(setting, small.n_rows, big.n_rows)
    if method == "featuremap":
        same = places["same fraction"]
        places = {"same fraction": {**same, "n_neighbors": min(same["n_neighbors"], MOST_PAIRS // big.n_rows)}}
    out = {"subsample": {"setting": whole_setting, "runs": runs_of(store, small, whole_setting, n_runs)}}
    for way, one in {**places, "default": DEFAULTS[method]}.items():
        out[way] = {"setting": one, "runs": runs_of(store, big, one, n_runs)}
    return out


def runs_of(store, pool, setting, n_runs):
    """Maps of a setting, each kept by itself."""
    held = []  # the probabilities, made once for all runs that are missing

    def make(number):
        data = load(pool.name)
        if pool.method == "tsne" and not held:
            held.append(joint(data.X, setting["perplexity"]))
        Y, loss = pool.map(setting, number, held[0] if held else None)
        return {"Y": np.round(Y, 4).tolist(), "figures": measure(data, Y, FIGURES), "loss": loss}

    key = "-".join(f"{value:g}" for value in setting.values())
    label = f"map-{pool.name.replace(':', '-')}-{pool.method}-{key}"
    return [store.get(f"{label}-{number}", lambda n=number: make(n)) for number in range(n_runs)]
