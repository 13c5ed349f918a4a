"""Write the live pages of the site: ``python docs/live_pages.py FOLDER``.

Each is a page of `manifolia.explore` in one file, which needs no server. Data sets that may be passed on are taken from
the data home (`manifolia.datasets.load`); where they are not there, made data stands for them, and the page says so.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

import manifolia as mf
from manifolia import datasets
from manifolia.exceptions import DataHomeError

GENES = 300  # of the largest variance


def digits(path: Path) -> None:
    """Handwritten digits, as pictures."""
    bunch = datasets.load("digits")
    model = mf.GuidedMap(random_state=0).fit(bunch.data, bunch.target)
    mf.explore(model, bunch.data, bunch.target, path, title="Handwritten digits", images=(8, 8))


def mixed_table(path: Path) -> None:
    """Numbers, categories and gaps: printing cylinders with and without bands (UCI, CC BY 4.0)."""
    try:
        bunch = datasets.load("cylinder_bands")
        frame, target, title = bunch.frame, bunch.target_names[0], "Bands on printing cylinders (UCI, CC BY 4.0)"
    except DataHomeError:
        frame, target, title = made_table(), "outcome", "A made table of patients"
    mf.map(frame, target=target, title=title).explore(path)


def made_table() -> pd.DataFrame:
    """A table of 600 patients who do not exist, with what tables have: categories, gaps, a column of noise."""
    rng = np.random.default_rng(0)
    n = 600
    dose, weight = rng.choice(["low", "middle", "high"], n), rng.normal(75, 12, n)
    marker = rng.gamma(3.0, 1.0, n) + (dose == "high")
    risk = 1.2 * (marker > 3.5) + 0.04 * (weight - 75) - 0.8 * (dose == "low") + rng.normal(0, 0.5, n)
    frame = pd.DataFrame({"dose": dose, "weight": weight.round(1), "marker": marker.round(2)})
    frame["visits"] = rng.poisson(3, n)
    frame.loc[rng.random(n) < 0.1, "weight"] = np.nan
    frame.loc[rng.random(n) < 0.2, "dose"] = None
    return frame.assign(outcome=np.where(risk > 0.6, "relapse", "no relapse"))


def cells(path: Path) -> None:
    """Blood cells of one donor (10x Genomics, CC BY 4.0)."""
    try:
        bunch = datasets.load("scrna_pbmc3k")
        counts, kind = bunch.data, bunch.frame["cell_type"].to_numpy()
        genes = bunch.feature_table["gene_symbol"].astype(str).to_numpy()
        title = "Blood cells by type (10x Genomics PBMC 3k, CC BY 4.0)"
    except DataHomeError:
        counts, kind, genes = made_counts()
        title = "Made cells by type"
    X = np.log1p(sp.csr_array(counts).multiply(1e4 / np.asarray(counts.sum(axis=1)).reshape(-1, 1)).toarray())
    frame = pd.DataFrame(X.astype(np.float32), columns=genes).loc[:, ~pd.Index(genes).duplicated()]
    frame = frame[frame.columns[np.argsort(-frame.var().to_numpy(), kind="stable")[:GENES]]]
    mf.map(frame.assign(cell_type=kind), target="cell_type", title=title, n_trees=300).explore(path)


def made_counts() -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Counts of 400 genes in 1,200 cells of six types, of which each has genes of its own."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, 1200)
    means = np.full((1200, 400), 0.4)
    for j in range(6):
        means[np.ix_(kind == j, range(20 * j, 20 * j + 30))] = 3.0
    names = np.array([f"gene{j}" for j in range(400)])
    return sp.csr_array(rng.poisson(means)), np.array(list("ABCDEF"))[kind], names


#: File to what writes it.
PAGES = {"digits.html": digits, "mixed-table.html": mixed_table, "cells.html": cells}


def main(folder: Path, names: list[str]) -> None:
    """Write the pages, or those that are named."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        start = time.perf_counter()
        (folder / name).unlink(missing_ok=True)
        PAGES[name](folder / name)
        size = (folder / name).stat().st_size / 2**20
        print(f"{folder / name}: {size:.1f} MB, {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
