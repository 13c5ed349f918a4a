"""FeatureMAP's two layouts beside each other and umap-learn, on sets that ``layout="grid"`` was not tuned on.

    python -m reproduce.featuremap.layouts RESULTS [--sets usps,optdigits] [--maps "grid;edges"] [--seeds 5]
    python -m reproduce.featuremap.layouts RESULTS --out docs/results/featuremap.md

Maps that RESULTS, a file with one record per line, does not hold yet are made and added to it. With ``--out`` nothing
is made: what is there becomes the last section of the page, in place of the one before. The schedule of the layout and
the weight of its density term were chosen on 10,000 rows of MNIST and of Fashion-MNIST, on COIL-20 and on PBMC 3k.

Trustworthiness and continuity have 7 neighbours and are estimated from 1,000 rows, Shepard goodness from 200,000 pairs.
Seconds are of the processor, for a whole fit on one thread after one that compiled.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
import warnings

import numpy as np
from scipy.stats import spearmanr

from manifolia import FeatureMAP, datasets, metrics
from manifolia.metrics.neighborhood import neighborhood_scores

TITLE = "## Two layouts"
SETS = ("usps", "optdigits", "pendigits", "satimage")
MAPS = ("grid", "grid, λ = 0", "edges", "UMAP")
COLUMNS = {
    "trust": "trustworthiness",
    "continuity": "continuity",
    "knn": "k-NN",
    "shepard": "Shepard",
    "triplets": "triplets",
    "torn": "torn classes",
    "radius": "radius correlation",
    "arrows": "arrow fidelity",
    "seconds": "processor seconds",
}
RANKED, PAIRS, ARROWS = 1_000, 200_000, 300


def load(name):
    """Rows and their classes; the columns of each of these sets have one unit."""
    bunch = datasets.load(name)
    X = np.asarray(bunch.data, dtype=np.float32)
    return np.ascontiguousarray(X), np.asarray(bunch.target)


def fit(kind, X, seed):
    """A model of one kind."""
    if kind == "UMAP":
        import umap

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return umap.UMAP(random_state=seed, n_jobs=1).fit(X)
    layout, _, without = kind.partition(", ")
    return FeatureMAP(layout=layout, random_state=seed, n_jobs=1, **({"density_weight": 0.0} if without else {})).fit(X)


def scores(model, X, y):
    """What the table shows of a map."""
    Y = np.asarray(model.embedding_, dtype=np.float32)
    near = {"sample": min(RANKED, len(X)), "random_state": 0}
    local = neighborhood_scores(X, Y, 7, names=("trustworthiness", "continuity"), **near)
    rng = np.random.default_rng(0)
    i = rng.integers(0, len(X), PAIRS)
    j = (i + rng.integers(1, len(X), PAIRS)) % len(X)
    far, apart = (np.linalg.norm(Z[i] - Z[j], axis=1) for Z in (X, Y))
    found = {
        "trust": local["trustworthiness"].value,
        "continuity": local["continuity"].value,
        "knn": metrics.knn_accuracy(Y, y, 10),
        "shepard": spearmanr(far, apart).statistic,
        "triplets": metrics.centroid_triplet_accuracy(X, Y, y),
        "torn": metrics.torn_classes(Y, y),
    }
    if isinstance(model, FeatureMAP):
        rows = rng.permutation(len(X))[:ARROWS]
        arrows, importance = model.feature_gradients(rows=rows), model.feature_importance(rows=rows)
        found["radius"] = np.mean(model.radius_correlation_)
        found["arrows"] = metrics.arrow_fidelity(X, Y, arrows, rows, n_neighbors=30, importance=importance)
    return {key: float(value) for key, value in found.items()}


def table(records):
    """Means over seeds, with standard deviations, line by line."""
    yield "| data | map | seeds | " + " | ".join(COLUMNS.values()) + " |"
    yield "|---|---|---|" + "---|" * len(COLUMNS)
    for name in dict.fromkeys(record["data"] for record in records):
        for kind in MAPS:
            own = [record for record in records if (record["data"], record["map"]) == (name, kind)]
            if own:
                cells = (_cell([one[key] for one in own if key in one], key) for key in COLUMNS)
                yield f"| {name} | {kind} | {len(own)} | " + " | ".join(cells) + " |"


def _cell(values, key):
    digits = 2 if key in ("torn", "seconds") else 3
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}" if values else ""


def section(page):
    """What this script has put at the end of a page; empty where it has not."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return text[text.index(TITLE) :] if TITLE in text else ""


def write(records, page):
    """Put the table at the end of a page."""
    text = page.read_text(encoding="utf-8")
    before = text[: len(text) - len(section(page))].rstrip("\n")
    words = (
        '`layout="grid"`, the default, with and without its density term, beside `layout="edges"` and umap-learn, '
        "each with its default settings, by `reproduce/featuremap/layouts.py`: mean ± standard deviation over seeds. "
        'All other tables of this page were made with `layout="edges"`. None of these sets was used to choose the '
        f'settings of `"grid"`. Trustworthiness and continuity have 7 neighbours and are estimated from {RANKED:,} '
        f"rows, Shepard goodness from {PAIRS:,} pairs, arrow fidelity from {ARROWS} rows and 30 neighbours; radius "
        "correlation is the mean of both directions. Seconds are of the processor, on one thread, compilation left out."
    )
    page.write_text("\n".join([before, "", TITLE, "", words, "", *table(records)]) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--maps", default=";".join(MAPS[:3]), help="names with semicolons")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    lines = arguments.results.read_text(encoding="utf-8").splitlines() if arguments.results.exists() else []
    records = [json.loads(line) for line in lines]
    if arguments.out:
        write(records, arguments.out)
        return
    done = {(one["data"], one["map"], one["seed"]) for one in records}
    warm = set()
    for seed in range(arguments.seeds):
        for name in arguments.sets.split(","):
            X, y = load(name)
            for kind in arguments.maps.split(";"):
                if (name, kind, seed) in done:
                    continue
                if kind not in warm:
                    fit(kind, X[:4_200], 0)
                    warm.add(kind)
                busy = time.process_time()
                model = fit(kind, X, seed)
                seconds = time.process_time() - busy
                record = {"data": name, "map": kind, "seed": seed, **scores(model, X, y), "seconds": seconds}
                with arguments.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
