"""Tables that no default of manifolia was chosen on: they judge a choice, once, after it was made on other data.

    python -m reproduce.untouched [--full] [--seeds 0,1] [--work DIR] [--out docs/results/untouched.md]

Without ``--full`` four tables and one seed; with it all tables and five seeds, of each at most 1,500 rows.

Protocol: each seed draws three tenths of the rows, by class, and holds them out. Every method has its defaults, gets
the same numbers (`TablePreparer`, fitted on the training rows, for tables with columns of their own units) and places
the held-out rows without their target. "Right": the share of held-out rows whose class is that of most of their ten
nearest training rows on the map. "Near": trustworthiness (7 neighbours) of the map of the training rows. NCA gets the
first 50 principal components of wider tables, LDA has one dimension fewer than classes, and at most two. Every figure
is the mean over seeds ± its standard error.

A table leaves this list as soon as a default, a threshold or a rule is chosen with its results in sight. Not on it:

* the sets of the papers on which defaults were chosen: Titanic, Sonar, German credit, Ames, optdigits (RF-PHATE, see
  ``rf_phate/defaults.py``), letter, USPS and MNIST (kernel t-SNE, see ``kernel_tsne/run.py``), Fashion-MNIST, COIL-20
  and PBMC 3k (FeatureMAP);
* the others that RF-PHATE's defaults were varied on: wine, ionosphere, glass, vehicle, Pima diabetes, the diabetes and
  breast cancer sets that come with scikit-learn, heart_cleveland. `breast_cancer_wisconsin_diagnostic` is the latter
  once more;
* iris, which every test uses.
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
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from reproduce._shared import markdown
from reproduce._shared.store import Store
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils import Bunch

import manifolia
from manifolia import datasets


class Untouched(NamedTuple):
    """A table and why it may judge."""

    name: str
    reason: str


_KEPT_APART = "kept apart from the start, in the folder untouched of the data home"
_BLIND = "first looked at when every default of RF-PHATE was fixed, and nothing was changed after (its blind sets)"
_PAPER = "used only to repeat Vens and Costa's tables with the settings of their paper"

UNTOUCHED = (
    *(
        Untouched(name, _KEPT_APART)
        for name in (
            "pendigits",
            "satimage",
            "segment",
            "vowel",
            "splice",
            "spambase",
            "led7digit",
            "contraceptive",
        )
    ),
    *(
        Untouched(name, _BLIND)
        for name in (
            "ecoli",
            "blood_transfusion",
            "mammographic_mass",
            "spectf_heart",
            "haberman",
            "hepatitis",
            "credit_approval",
        )
    ),
    *(
        Untouched(name, _PAPER)
        for name in (
            "breast_cancer_wisconsin_original",
            "breast_cancer_wisconsin_prognostic",
            "cylinder_bands",
            "arcene",
        )
    ),
)


def untouched(data_home: str | os.PathLike[str] | None = None) -> Iterator[tuple[Untouched, Bunch]]:
    """Load the tables one after the other; what the data home does not hold is left out."""
    here = set(datasets.available(data_home))
    for table in UNTOUCHED:
        if table.name in here:
            yield table, datasets.load(table.name, data_home=data_home)


MOST_ROWS, SEEDS, QUICK = 1500, 5, ("ecoli", "haberman", "vowel", "segment")
WORK = pathlib.Path(tempfile.gettempdir()) / "manifolia-untouched"
#: Methods that see the target, and those that do not: ours first.
GUIDED = ("GuidedMap", "RF-PHATE", "Fisher kernel t-SNE", "supervised UMAP", "LDA", "NCA")
UNGUIDED = ("FeatureMAP", "kernel t-SNE", "PHATE", "UMAP", "UMAP, PCA start", "PCA")
OURS = ("GuidedMap", "RF-PHATE", "Fisher kernel t-SNE", "FeatureMAP", "kernel t-SNE", "PHATE")


def _lda(data):
    n_components = min(2, len(np.unique(data.y)) - 1, data.X.shape[1])
    model = LinearDiscriminantAnalysis(n_components=n_components).fit(data.X, data.y)
    return model.transform(data.X), model.transform(data.X_new)


def placed(method, data, seed):
    """Training rows and held-out rows on the map of a method."""
    from reproduce.guided import maps

    if method == "LDA":
        return _lda(data)
    if method == "PHATE":
        model = manifolia.PHATE(random_state=seed, n_jobs=1).fit(data.X)
        return model.embedding_, model.transform(data.X_new)
    if method == "UMAP, PCA start":
        model = maps._umap(seed, init=PCA(2, random_state=seed).fit_transform(data.X).astype(np.float32))
        return model.fit_transform(data.X), model.transform(data.X_new)
    made = maps.place(method, data, seed)
    return made.Y, made.Y_new


def measured(table, seed):
    """Both figures of every method on one split, or why there are none, and the processor seconds of each."""
    from reproduce.guided import scores
    from reproduce.guided.data import split

    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what libraries say of small tables
        data = split(table, seed, task="classification", most=MOST_ROWS)
        for method in (*GUIDED, *UNGUIDED):
            begin = time.process_time()
            try:
                Y, Y_new = (np.asarray(one, dtype=np.float64) for one in placed(method, data, seed))
            except Exception as error:  # the page tells it, and the other methods go on
                found[method] = {"refused": f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"}
                continue
            found[method] = {
                "right": scores.held_out(data, Y, Y_new)["nn10"],
                "near": float(manifolia.metrics.trustworthiness(data.X, Y, 7)),
                "seconds": time.process_time() - begin,
            }
    return found


def _values(found, table, method, figure):
    return np.array([run[method][figure] for run in found[table] if figure in run.get(method, {})])


def _cell(values, digits=3):
    if not len(values):
        return "refused"
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{error}"


def _table(found, methods, figure):
    """A line per table, and the means over tables; the best mean of a line is bold."""
    rows, means = [], {method: [] for method in methods}
    for table in found:
        values = {method: _values(found, table, method, figure) for method in methods}
        best = max((round(float(one.mean()), 3) for one in values.values() if len(one)), default=None)
        cells = []
        for method, one in values.items():
            text = _cell(one)
            means[method].append(one.mean() if len(one) else np.nan)
            cells.append(f"**{text}**" if len(one) and round(float(one.mean()), 3) == best else text)
        rows.append([table, *cells])
    shared = ~np.isnan(np.array(list(means.values()))).any(axis=0)
    if shared.any():
        mean = {method: np.array(one)[shared].mean() for method, one in means.items()}
        rows.append([f"mean of {shared.sum()} tables", *(f"{one:.3f}" for one in mean.values())])
    return markdown.table(["table", *methods], rows)


def beside(found, ours, peer, figure="right"):
    """On how many tables ours is ahead of a peer, level and behind, by one standard error of the difference.

    Of one seed there is no error, and three digits decide. Where ours is refused it is behind; where the peer alone is
    refused nothing is compared.
    """
    counts = [0, 0, 0]
    for table in found:
        pair = [_values(found, table, method, figure) for method in (ours, peer)]
        if not len(pair[0]) or not len(pair[1]):
            counts[2] += not len(pair[0])
            continue
        apart = round(float(pair[0].mean() - pair[1].mean()), 3)
        several = min(map(len, pair)) > 1
        error = np.sqrt(sum(np.var(one, ddof=1) / len(one) for one in pair)) if several else 0.0
        counts[0 if apart > error else 2 if apart < -error else 1] += 1
    return counts


def page(found):
    """The whole page."""
    n_seeds = max(len(runs) for runs in found.values())
    lines = ["# Untouched tables", ""]
    of = f"{n_seeds} seed{'' if n_seeds == 1 else 's'}"
    lines.append(
        f"{len(found)} tables that no default was chosen on, {of}, every method by its defaults: what maps tell of "
        "rows that they have not seen."
    )
    peers = {"umap-learn": "umap", "scikit-learn": "sklearn"}
    installed = [name for name, module in peers.items() if importlib.util.find_spec(module)]
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in installed)
    stamp = (
        f"Made by `reproduce/untouched.py --full` on {datetime.date.today()}, manifolia {manifolia.__version__}, "
        f"{versions}, Python {platform.python_version()}."
    )
    lines += ["", stamp, "", "Protocol:" + __doc__.split("Protocol:")[1].split("A table leaves")[0].rstrip(), ""]
    lines += [
        "PHATE is manifolia's, not the phate package. t-SNE is `KernelTSNE`, which has a formula for new rows.",
        "",
    ]
    lines += [
        "## In short",
        "",
        'Tables on which ours is ahead, level and behind by one standard error, by "right":',
        "",
    ]
    rows = []
    for group in (GUIDED, UNGUIDED):
        peers = [method for method in group if method not in OURS]
        for ours in (method for method in group if method in OURS):
            rows += [[ours, peer, *map(str, beside(found, ours, peer))] for peer in peers]
    lines += markdown.table(["ours", "beside", "ahead", "level", "behind"], rows)
    for title, methods in (("Maps that see the target", GUIDED), ("Maps that do not", UNGUIDED)):
        lines += ["", f"## {title}: right", "", *_table(found, methods, "right")]
        lines += ["", f"## {title}: near", "", *_table(found, methods, "near")]
    lines += ["", "## Processor seconds of fit, placing and figures", ""]
    every = (*GUIDED, *UNGUIDED)
    seconds = [np.concatenate([_values(found, table, method, "seconds") for table in found]) for method in every]
    lines += markdown.table(
        ["", *every], [["mean over tables", *(f"{one.mean():.1f}" if len(one) else "" for one in seconds)]]
    )
    refused = {
        f"* {table}, {method}: {run[method]['refused']}"
        for table, runs in found.items()
        for run in runs
        for method in every
        if "refused" in run[method]
    }
    lines += ["", "## Refused", "", *(sorted(refused) or ["Nothing."])]
    lines += [
        "",
        "## The tables",
        "",
        *markdown.table(["table", "why it may judge"], [t for t in UNTOUCHED if t.name in found]),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all tables, five seeds")
    parser.add_argument("--seeds", help="some of the seeds, with commas, to cut a long run into parts")
    parser.add_argument("--work", type=pathlib.Path, default=WORK)
    parser.add_argument("--out", type=pathlib.Path, help="write the page to this file")
    arguments = parser.parse_args()
    here = set(datasets.available(None))
    names = [table.name for table in UNTOUCHED if table.name in here and (arguments.full or table.name in QUICK)]
    usual = range(SEEDS if arguments.full else 1)
    seeds = usual if arguments.seeds is None else [int(one) for one in arguments.seeds.split(",")]
    store = Store(arguments.work)
    found = {name: [] for name in names}
    for seed in seeds:
        for name in names:
            found[name].append(store.get(f"{name}-{seed}", lambda n=name, s=seed: measured(n, s)))
    text = page(found)
    print(text)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
