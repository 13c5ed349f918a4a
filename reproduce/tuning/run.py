"""Tuning: the paper's experiments on t-SNE and UMAP, with its figures beside ours.

    python -m reproduce.tuning.run [--full] [--parts clusters,coil,...] [--work DIR] [--out docs/results/tuning.md]

Without ``--full`` there are fewer searches, thinner grids and smaller samples, which takes about ten minutes of one
processor from an empty folder; with it an hour. Runs of a map are kept in ``--work`` (those of a quick run in its
folder ``quick``) and serve the grid and every search alike; results too, one file for each piece of work. Nothing is
computed again until the folder is emptied, so the whole may be cut into parts. With umap-learn importable its heat map
is drawn too.
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
from reproduce._shared import counts
from reproduce.tuning import large_page, page
from reproduce.tuning.data import Pooled, carried, load, measure
from reproduce.tuning.large import SURROGATES, large
from reproduce.tuning.studies import (
    FULL,
    N_PILOT,
    QUICK,
    Store,
    curves,
    grid,
    grid_settings,
    loss_of,
    pairs,
    searched,
    searches,
    setting_of,
    space_of,
)

import manifolia
from manifolia import Tuner
from manifolia.exceptions import ManifoliaError

#: What the smaller examples are searched with: the paper's surrogate, and random settings beside it.
BESIDE_RANDOM = ("gp-ei", "random")


def several_curves(store, whole, how, samples, n_runs, figures):
    """Curves of several samples drawn in one way."""
    return [curves(store, f"{whole}-{how}-{k}", figures, n_runs) for k in range(1, samples + 1)]


def clusters(store):
    """Fig. 2 to 4, and the claim against single runs."""
    pool = store.pool("clusters")
    every = grid_settings(pool, store.scale.grid)
    most, single = store.scale.batches
    runs = store.scale.searched[0]
    found = {
        "curves": curves(store, "clusters", ("auc_r_nx", "distance_ratio", "nmi"), runs, lambda p: every),
        "grid": [store.get(f"grid-clusters-{b}", lambda b=b: grid(pool, "nmi", every, b)) for b in range(most)],
        "studies": searches(store, pool, "nmi", SURROGATES, most),
    }
    found["single"] = searches(store, pool, "nmi", ("gp-ei",), single, n_repeats=1)["gp-ei"]
    found["best"] = min(loss_of(pool, s, "nmi") for s in every)
    found["front"] = store.get("front-clusters", lambda: front(pool))
    return found


def front(pool):
    """Fig. 4: area against average ratio."""
    tuner = Tuner(
        Pooled(pool, searched(pool)), space_of(pool), carried(pool, "auc_r_nx", "distance_ratio"), refit=False,
        n_trials=pool.scale.trials, n_repeats=pool.scale.repeats[0], random_state=0, n_jobs=1, aggregate="mean",
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
    scale = store.scale
    every, most, samples = grid_settings(pool, scale.grid), scale.batches[0], scale.samples
    found = {
        "full": curves(store, "coil", figures, scale.curve[0]),
        "uniform": several_curves(store, "coil:third", "uniform", samples, scale.curve[1], figures),
        "leverage": several_curves(store, "coil:third", "leverage", samples, scale.curve[1], figures),
        "grid": [store.get(f"grid-coil-{b}", lambda b=b: grid(pool, "auc_r_nx", every, b)) for b in range(most)],
        "studies": searches(store, pool, "auc_r_nx", BESIDE_RANDOM, most),
        "best": min(loss_of(pool, s, "auc_r_nx") for s in every),
    }

    def carry():
        chosen = int(np.median([one["chosen"]["perplexity"] for one in found["studies"]["gp-ei"]]))
        ways = {"same number": chosen, "between": round((3 * chosen * chosen) ** 0.5), "same fraction": 3 * chosen}
        numbers = range(scale.carried)
        losses = {way: whole.curve([{"perplexity": p}], numbers, "auc_r_nx")[0].tolist() for way, p in ways.items()}
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


def umap(store):
    """Fig. 5 and 7b, Tables 2 and 3."""
    found, scale = {}, store.scale
    methods = ["featuremap"] + (["umap-learn"] if importlib.util.find_spec("umap") else [])
    for method in methods:
        for name in ("coil", "coil:third"):
            if method == "umap-learn" and name == "coil":
                continue
            key, runs = f"{method} {name}", scale.umap_runs if method == "featuremap" else min(2, scale.umap_runs)
            found[key] = curves(store, name, ("auc_r_nx",), runs, pairs, method)
    pool = store.pool("coil:third", "featuremap", figures=("auc_r_nx",))
    across, along = scale.umap_grid
    fine = pairs(pool, np.geomspace(2 / pool.n_rows, 0.8, across), np.linspace(0.0, 1.0, along).round(2).tolist())
    repeats, batches = scale.repeats[1], range(scale.umap_batches)
    options = {"n_trials": scale.umap_trials, "n_repeats": repeats}
    found["studies"] = searches(store, pool, "auc_r_nx", BESIDE_RANDOM, len(batches), **options)
    found["grid"] = [
        store.get(f"grid-coil-umap-{b}", lambda b=b: grid(pool, "auc_r_nx", fine, b, repeats)) for b in batches
    ]
    found["rows"] = pool.n_rows
    found["tables"] = {
        f"{name} {way}": store.get(f"sobol-{name.replace(':', '-')}-{way}", lambda n=name, w=way: sobol(store, n, w))
        for name in ("clusters", "coil", "coil:third")
        for way in ("search", "design")
    }
    return found


def sobol(store, name, way):
    """Tables 2 and 3: indices of the surrogate of a search, as in the paper, or of a design, or why there are none."""
    pool, n_trials = store.pool(name, "featuremap", figures=("auc_r_nx",)), store.scale.umap_trials
    tuner = Tuner(
        Pooled(pool, 6), space_of(pool), carried(pool, "auc_r_nx"), n_trials=n_trials,
        n_pilot=n_trials if way == "design" else N_PILOT, n_repeats=store.scale.sobol[name == "coil"], n_confirm=1,
        refit=False, random_state=0, n_jobs=1, race=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuner.fit(np.zeros((pool.n_rows, 2)))
    settings = {tuple(setting_of(pool, one).values()) for one in tuner.trials_[list(tuner.space)].to_dict("records")}
    found = {"settings": len(settings), "runs": len(tuner.runs_), "r2": tuner.r2_}
    try:
        table = tuner.sensitivity()
    except ManifoliaError as refusal:
        return {**found, "refused": str(refusal)}
    return {**found, "table": table.table.reset_index(names="parameter").to_dict("records")}


def sine(store):
    """Fig. 13 and 14."""
    figures = ("auc_r_nx", "q_global", "q_local", "distance_ratio")
    found = {}
    for name in ("sine", "sine:third"):
        found[name] = curves(store, name, figures, store.scale.curve[2])
        pool, options = store.pool(name), {"n_repeats": store.scale.repeats[1]}
        found[f"{name} studies"] = searches(store, pool, "q_global", BESIDE_RANDOM, store.scale.batches[0], **options)
    return found


def vehicle(store):
    """Fig. 15 and 16."""
    figures = ("auc_r_nx", "q_global", "nmi", "classification_error")
    found = {"third": curves(store, "vehicle:third", figures, store.scale.curve[3])}
    pool, options = store.pool("vehicle:third"), {"n_repeats": store.scale.repeats[1]}
    found["studies"] = searches(store, pool, "auc_r_nx", BESIDE_RANDOM, store.scale.batches[0], **options)

    def maps():
        out = {}
        for name in ("vehicle", "vehicle_scaled"):
            whole = store.pool(name)
            Y, _ = whole.map({"perplexity": 51}, 0)
            out[name] = {"Y": Y.tolist(), "y": load(name).y.tolist(), "figures": measure(load(name), Y)}
        return out

    found["maps"] = store.get("maps-vehicle", maps)
    return found


def text(store):
    return large(store, *store.scale.text, store.scale.maps[0])


def cells(store):
    return large(store, "cells:tenth", "cells", store.scale.maps[1])


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
        f"Made by `reproduce/tuning/run.py` on {datetime.date.today()}, manifolia {manifolia.__version__}, {versions}, "
        f"Python {platform.python_version()}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all searches, the grids and samples of the page")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "manifolia-tuning")
    parser.add_argument("--out", type=pathlib.Path, help="write the page to this file, and its pictures beside it")
    arguments = parser.parse_args()
    store = Store(arguments.work, FULL) if arguments.full else Store(arguments.work / "quick", QUICK)
    images = (arguments.out.parent if arguments.out else store.folder) / "images" / "tuning"
    lines, verdicts = [], []
    for name in arguments.parts.split(","):
        module = large_page if name in ("text", "cells") else page
        more, said = getattr(module, name)(PARTS[name](store), images, store.scale)
        lines += more
        verdicts += said
        print("\n".join(more), flush=True)
    top = [
        "# Tuning",
        "",
        *counts.head([one for *_, one in verdicts if one is not None]),
        "",
        stamp(),
        "",
        *page.protocol(store.scale),
        "",
    ]
    top += page.summary(verdicts)
    missing = [name for name in PARTS if name not in arguments.parts.split(",")]
    top += [f"Not computed in this run: {', '.join(missing)}.", ""] if missing else []
    print("\n".join(top))
    if arguments.out:
        arguments.out.write_text("\n".join(top + lines) + "\n", encoding="utf-8")
        cells = [one for *_, one in verdicts if one is not None]
        counts.record(arguments.out.parent, "tuning", cells)


if __name__ == "__main__":
    main()
