"""Tuning: the paper's experiments on t-SNE and UMAP, with its figures beside ours.

    python reproduce/tuning.py [--parts clusters,coil,...] [--work DIR] [--out docs/results/tuning.md]

Runs of a map are kept in ``--work`` and serve the grid and every search alike; results too, one file for each piece of
work. Nothing is computed again until the folder is emptied, so the whole may be cut into parts. From an empty folder it
takes about half an hour of one processor; with umap-learn importable its heat map is drawn too.

Protocol: a search gets five pilots and the rest as proposals; a setting up to ten runs with different random starts
(fewer where it cannot win: halving and racing, the tuner's defaults; no more than four on the sine set, vehicle and by
UMAP, three on text and cells). The surrogate works on a logarithmic axis of the fraction of the rows. "Seen" is the
least mean of a setting's runs, the figure that the paper prints; it is the least of many noisy means, and too good.
"True" is the mean of runs that no search ever got, and the figure to compare. Every search draws its runs from a pool
that is computed once for each setting (25 runs on the two clusters, 10 on COIL's third, 8 elsewhere), as if they had
just been made, now and then the same one twice; the true value comes from other runs (40, 12, 4).

t-SNE is exact, over all pairs, so that any perplexity below the number of rows means what it says: 1,000 iterations
from a random start, the schedule of scikit-learn's `method="exact"` (`reproduce/tuning_tsne.py`, which ends at the same
divergence as scikit-learn's within its scatter). UMAP is `FeatureMAP(density_weight=0)` from its own start; only its
sampling is random.

Verdicts. A figure is won if ours is at or better than the paper's, tied if within two standard errors, else lost. The
place of an optimum is won if ours is within a factor of 1.35 of the paper's, tied if the loss at the paper's place is
within two standard errors of the least, else lost. A claim ("tuned is as good as the grid") is won if it holds in the
mean over batches (of true values on text and cells, over the four runs of the only batch), tied if it fails by less
than two standard errors, else lost; maps of all text and cells are one of each, so that such a claim is never tied.
Spreads of four samples are tied within a factor of 1.5.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import tempfile
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import tuning_page as page
from tuning_pool import Pooled, carried, load, measure
from tuning_studies import Store, grid, grid_settings, loss_of, searches, space_of, true_numbers

import manifolia
from manifolia import Tuner
from manifolia.exceptions import ManifoliaError

FRACTIONS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
NEIGHBORS = (0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8)
SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0)
SURROGATES = ("gp-ei", "gp-pi", "gp-lcb", "forest", "random")


def perplexities(pool, fractions=FRACTIONS):
    n = pool.n_rows
    return [{"perplexity": p} for p in dict.fromkeys(min(max(2, round(f * n)), n - 1) for f in fractions)]


def curves(store, name, figures, n_runs, settings=None, method="tsne"):
    """Losses over settings: for each figure (settings, runs)."""

    def make():
        pool = store.pool(name, method, **({} if method == "tsne" else {"figures": figures}))
        some = perplexities(pool) if settings is None else settings(pool)
        found = {figure: pool.curve(some, range(n_runs), figure).tolist() for figure in figures}
        return {"n": pool.n_rows, "settings": [list(s.values()) for s in some], **found}

    return store.get(f"curves-{name.replace(':', '-')}-{method}", make)


def several_curves(store, whole, how, samples, n_runs, figures):
    """Curves of several samples drawn in one way."""
    return [curves(store, f"{whole}-{how}-{k}", figures, n_runs) for k in range(1, samples + 1)]


def clusters(store):
    """Fig. 2 to 4, and the claim against single runs."""
    pool = store.pool("clusters")
    every = grid_settings(pool, 60)
    found = {
        "curves": curves(store, "clusters", ("auc_r_nx", "distance_ratio", "nmi"), 25, lambda p: every),
        "grid": [store.get(f"grid-clusters-{b}", lambda b=b: grid(pool, "nmi", every, b)) for b in range(20)],
        "studies": searches(store, pool, "nmi", ("gp-ei",), 20),
    }
    found["studies"] |= searches(store, pool, "nmi", SURROGATES[1:], 5)
    found["single"] = searches(store, pool, "nmi", ("gp-ei",), 10, n_repeats=1)["gp-ei"]
    found["best"] = min(loss_of(pool, s, "nmi") for s in every)
    found["front"] = store.get("front-clusters", lambda: front(pool))
    return found


def front(pool):
    """Fig. 4: area against average ratio."""
    tuner = Tuner(
        Pooled(pool, 25), space_of(pool), carried(pool, "auc_r_nx", "distance_ratio"), n_trials=20, refit=False,
        random_state=0, n_jobs=1, aggregate="mean",
    ).fit(np.zeros((60, 2)))  # fmt: skip
    columns = ["auc_r_nx_loss", "distance_ratio_loss"]
    expected = tuner.expected_front()
    return {
        "tried": tuner.trials_[["perplexity", *columns]].to_numpy().tolist(),
        "front": tuner.pareto_[["perplexity", *columns]].to_numpy().tolist(),
        "expected": expected[["perplexity", "auc_r_nx_expected", "distance_ratio_expected"]].to_numpy().tolist(),
        "knee": tuner.knee_["perplexity"],
        "volume": tuner.hypervolume_,
    }


def coil(store):
    """Fig. 6, 7 and 12."""
    figures = ("auc_r_nx", "q_global", "distance_ratio", "nmi", "classification_error")
    pool, whole = store.pool("coil:third"), store.pool("coil")
    every = grid_settings(pool, 60)
    found = {
        "full": curves(store, "coil", figures, 4),
        "uniform": several_curves(store, "coil:third", "uniform", 4, 2, figures),
        "leverage": several_curves(store, "coil:third", "leverage", 4, 2, figures),
        "grid": [store.get(f"grid-coil-{b}", lambda b=b: grid(pool, "auc_r_nx", every, b)) for b in range(20)],
        "studies": searches(store, pool, "auc_r_nx", ("gp-ei",), 20),
        "best": min(loss_of(pool, s, "auc_r_nx") for s in every),
    }

    def carry():
        chosen = int(np.median([one["chosen"]["perplexity"] for one in found["studies"]["gp-ei"]]))
        ways = {"same number": chosen, "between": round((3 * chosen * chosen) ** 0.5), "same fraction": 3 * chosen}
        losses = {way: whole.curve([{"perplexity": p}], range(6), "auc_r_nx")[0].tolist() for way, p in ways.items()}
        return {"chosen": chosen, "perplexities": ways, "losses": losses}

    def maps():
        out = {}
        for figure in ("auc_r_nx", "q_global"):
            at = int(np.argmin(np.mean(found["full"][figure], axis=1)))
            perplexity = found["full"]["settings"][at][0]
            runs = [whole.map({"perplexity": perplexity}, number) for number in range(3)]
            out[perplexity] = {"Y": min(runs, key=lambda run: run[1])[0].tolist(), "y": load("coil").y.tolist()}
        return out

    found["carry"] = store.get("carry-coil", carry)
    found["maps"] = store.get("maps-coil", maps)
    return found


def pairs(pool, neighbors=NEIGHBORS, spreads=SPREADS):
    """A grid for UMAP."""
    return [{"n_neighbors": max(2, round(f * pool.n_rows)), "min_dist": d} for f in neighbors for d in spreads]


def true_runs(pool, figure, **found):
    """Losses of the runs that tell the true value of what searches and grids chose."""
    return {
        way: pool.curve([one["chosen"] for one in some], true_numbers(pool), figure).ravel().tolist()
        for way, some in found.items()
    }


def umap_searches(store, name, pool, figure, settings, batches, n_repeats):
    """UMAP by the tuner, 45 settings, and by a grid; and the runs that tell the true value of what they chose."""
    found = {
        "studies": searches(store, pool, figure, ("gp-ei",), batches, n_trials=45, n_repeats=n_repeats)["gp-ei"],
        "grid": [
            store.get(f"grid-{name}-umap-{b}", lambda b=b: grid(pool, figure, settings, b, n_repeats))
            for b in range(batches)
        ],
    }
    return {**found, "true": true_runs(pool, figure, **found), "rows": pool.n_rows}


def umap(store):
    """Fig. 5 and 7b, Tables 2 and 3."""
    found = {}
    methods = ["featuremap"] + (["umap-learn"] if importlib.util.find_spec("umap") else [])
    for method in methods:
        for name in ("coil", "coil:third"):
            if method == "umap-learn" and name == "coil":
                continue
            key = f"{method} {name}"
            found[key] = curves(store, name, ("auc_r_nx",), 3 if method == "featuremap" else 2, pairs, method)
    pool = store.pool("coil:third", "featuremap", figures=("auc_r_nx",))
    fine = pairs(pool, np.geomspace(2 / pool.n_rows, 0.8, 12), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    found |= umap_searches(store, "coil", pool, "auc_r_nx", fine, 3, 4)
    found["tables"] = {
        name: store.get(f"sobol-{name.replace(':', '-')}", lambda n=name: sobol(store, n))
        for name in ("clusters", "coil:third")
    }
    return found


def sobol(store, name):
    """Tables 2 and 3: indices of the surrogate, or why there are none."""
    pool = store.pool(name, "featuremap", figures=("auc_r_nx",))
    tuner = Tuner(
        Pooled(pool, 6), space_of(pool), carried(pool, "auc_r_nx"), n_trials=45, n_repeats=4, refit=False,
        random_state=0, n_jobs=1, race=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuner.fit(np.zeros((pool.n_rows, 2)))
    try:
        table = tuner.sensitivity()
    except ManifoliaError as refusal:
        return {"refused": str(refusal), "r2": tuner.r2_}
    return {"r2": table.r2, "table": table.table.reset_index(names="parameter").to_dict("records")}


def sine(store):
    """Fig. 13 and 14."""
    figures = ("auc_r_nx", "q_global", "q_local", "distance_ratio")
    found = {}
    for name in ("sine", "sine:third"):
        found[name] = curves(store, name, figures, 8)
        pool = store.pool(name)
        found[f"{name} studies"] = searches(store, pool, "q_global", ("gp-ei",), 2, n_repeats=4)["gp-ei"]
    return found


def vehicle(store):
    """Fig. 15 and 16."""
    found = {"third": curves(store, "vehicle:third", ("auc_r_nx", "q_global", "nmi", "classification_error"), 5)}
    pool = store.pool("vehicle:third")
    found["studies"] = searches(store, pool, "auc_r_nx", ("gp-ei",), 2, n_repeats=4)["gp-ei"]

    def maps():
        out = {}
        for name in ("vehicle", "vehicle_scaled"):
            whole = store.pool(name)
            Y, _ = whole.map({"perplexity": 51}, 0)
            out[name] = {"Y": Y.tolist(), "y": load(name).y.tolist(), "figures": measure(load(name), Y)}
        return out

    found["maps"] = store.get("maps-vehicle", maps)
    return found


def large(store, name, part, whole):
    """Text and cells: few rows, then many (Fig. 8 to 11 and 17)."""
    figures = ("nmi", "classification_error", "auc_r_nx")
    pool = store.pool(part, figures=figures)
    numbers = range(3)

    def landscape():
        some = perplexities(pool)
        values = {figure: pool.curve(some, numbers, figure).tolist() for figure in figures}
        return {"n": pool.n_rows, "settings": [list(s.values()) for s in some], **values}

    found = {"curves": store.get(f"curves-{name}-part", landscape)}
    options = {"n_trials": 25, "n_repeats": 3}
    found["studies"] = searches(store, pool, "nmi", ("gp-ei", "forest"), 1, **options)

    def thinned():
        means = np.mean(found["curves"]["nmi"], axis=1)
        chosen = perplexities(pool)[int(np.argmin(means))]
        true = loss_of(pool, chosen, "nmi")
        return {"chosen": chosen, "observed": means.min(), "true": true, "runs": len(means) * len(numbers)}

    found["grid"] = [store.get(f"grid-{name}", thinned)]
    found["true"] = true_runs(pool, "nmi", studies=found["studies"]["gp-ei"], grid=found["grid"])
    neighbors = store.pool(part, "featuremap", figures=("nmi",))
    n = neighbors.n_rows
    coarse = pairs(neighbors, np.geomspace(2 / n, 100 / n, 8))
    found["umap"] = umap_searches(store, name, neighbors, "nmi", coarse, 1, len(numbers))

    def maps():
        chosen = float(np.median([s["chosen"]["perplexity"] for s in found["studies"]["gp-ei"]])) / pool.n_rows
        out = {"fraction": chosen, "rows": len(load(whole).X)}
        small, big = store.pool(part), store.pool(whole)
        places = {"subsample": (small, chosen * small.n_rows), "all": (big, chosen * big.n_rows), "default": (big, 30)}
        for label, (source, perplexity) in places.items():
            Y, _ = source.map({"perplexity": round(perplexity)}, 0)
            data = load(source.name)
            out[label] = {
                "perplexity": round(perplexity),
                "Y": Y.tolist(),
                "y": data.y.tolist(),
                "figures": [measure(data, Y, figures)],
            }
        return out

    def same_number():
        big = store.pool(whole)
        perplexity = found["maps"]["subsample"]["perplexity"]
        Y, _ = big.map({"perplexity": perplexity}, 0)
        return {"perplexity": perplexity, "figures": [measure(load(whole), Y, figures)]}

    found["maps"] = store.get(f"maps-{name}", maps)
    found["same number"] = store.get(f"number-{name}", same_number)
    return found


def text(store):
    return large(store, "reuters", "reuters:twentieth", "reuters:third")


def cells(store):
    return large(store, "cells", "cells:tenth", "cells")


PARTS = {
    "clusters": clusters,
    "coil": coil,
    "umap": umap,
    "sine": sine,
    "vehicle": vehicle,
    "cells": cells,
    "text": text,
}


def stamp():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("scikit-learn", "optuna", "numpy"))
    return (
        f"Made by `reproduce/tuning.py` on {datetime.date.today()}, manifolia {manifolia.__version__}, {versions}, "
        f"Python {platform.python_version()}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "manifolia-tuning")
    parser.add_argument("--out", type=pathlib.Path, help="write the page to this file, and its pictures beside it")
    arguments = parser.parse_args()
    store = Store(arguments.work)
    images = (arguments.out.parent if arguments.out else store.folder) / "images" / "tuning"
    lines, verdicts = [], []
    for name in arguments.parts.split(","):
        more, said = getattr(page, name)(PARTS[name](store), images)
        lines += more
        verdicts += said
        print("\n".join(more), flush=True)
    top = [
        "# Tuning",
        "",
        page.tally(verdicts),
        "",
        stamp(),
        "",
        "Protocol" + __doc__.split("Protocol", 1)[1].rstrip(),
        "",
    ]
    top += page.summary(verdicts)
    missing = [name for name in PARTS if name not in arguments.parts.split(",")]
    top += [f"Not computed in this run: {', '.join(missing)}.", ""] if missing else []
    print("\n".join(top))
    if arguments.out:
        arguments.out.write_text("\n".join(top + lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
