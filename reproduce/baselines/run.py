"""Seven supervised maps: Tables 1 to 7 and 9 of the RF-PHATE paper, its figures beside ours, and Table 10.

    python -m reproduce.baselines.run [--full] [--sets titanic,iris] [--work DIR] [--out docs/results/baselines.md]

Without ``--full`` a sample of 1,500 Optical Digits, one seed and two noise sets; with it all 5,620 digits, five seeds
and the paper's ten noise sets. Results are kept in ``--work``, one file for each seed of
a set, and not computed again until it is emptied; RF-PHATE's own are those of ``reproduce/rf_phate/run.py``.

Protocol (sections 5.3 and 5.4, appendices B and D): each method maps the rows with the help of their target; the map is
the input of a k-NN classifier or regressor for an important variable, k = √n, ten folds, the mean of the folds' error
rates or root mean squared errors. Categories are one-hot encoded and all columns standardised, these too. Every method
has its defaults, the same for all sets; seeds are those of forests, factors, folds and noise. "RF-PHATE" is
`manifolia.RFPHATE`; "as written" is Algorithm 1 to the letter with the paper's forest. Of all methods but RF-PHATE and
SNMF the first columns of the map of five dimensions are the maps of fewer, and are taken for them.

Of Titanic and Iris a third of the rows is also held back and placed on 2-D maps of the others, without their target;
the k-NN learns from the training rows' places. The paper has no such table.

Ranks are those of RF-PHATE among the methods of its row, 1 for the least error, equal errors sharing the better
rank. Rows of two and three dimensions of Tables 3 to 5 and 9 are Tables 1 and 2. Neither ranks nor other methods'
figures are counted as cells of the paper: RF-PHATE's own column is, on its own page.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import pathlib
import platform
import time
import warnings

import numpy as np
import sklearn
from reproduce._shared.store import Store
from reproduce.baselines import noise as noise_runs
from reproduce.baselines import page, unsupervised
from reproduce.baselines.page import ORDER, OURS, WRITTEN
from reproduce.rf_phate import data as sets
from reproduce.rf_phate import run as rf_phate
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import manifolia
from manifolia import RFPHATE
from manifolia.baselines import (
    PLSDA,
    EnhancedSupervisedIsomap,
    EnhancedSupervisedLLE,
    KernelSupervisedPCA,
    SupervisedNMF,
    SupervisedPCA,
)
from manifolia.exceptions import ManifoliaWarning

METHODS = {
    "ESIso": EnhancedSupervisedIsomap,
    "KSPCA": KernelSupervisedPCA,
    "SPCA": SupervisedPCA,
    "ESLLE": EnhancedSupervisedLLE,
    "SNMF": SupervisedNMF,
    "PLSDA": PLSDA,
}
NUMBERS = ("KSPCA", "SPCA", "PLSDA")  # take a target of numbers
SEEDED = (OURS, "SNMF")  # have a seed, and a map of their own for each number of dimensions
NEW = ("titanic", "iris")  # sets of which a third is also placed as new rows
TITLES = {
    "ames": "Ames Housing (Table 3)",
    "titanic": "Titanic (Table 4)",
    "optical": "Optical Digits (Table 5)",
    "sonar": "Sonar (Table 6)",
    "german": "German, label: attribute 24 (Table 7)",
    "iris": "Iris with 1000 noise variables (Table 9)",
}


def load(name, seed, n_rows):
    """A set of the paper's with all columns standardised, and what each of its errors is divided by."""
    experiment, units = sets.load(name, seed, n_rows)
    spread = experiment.X.std(axis=0)
    X = (experiment.X - experiment.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return experiment._replace(X=X), units


def made(method, d, seed):
    """A model with its defaults."""
    kind = RFPHATE if method == OURS else METHODS[method]
    return kind(d, random_state=seed) if method in SEEDED else kind(d)


def placed(method, experiment, d, seed):
    """The map that a baseline makes of all rows with their target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        return made(method, d, seed).fit_transform(experiment.X, experiment.y)


@functools.lru_cache(maxsize=1)
def unseeded(name, noise_seed, n_rows):
    """The maps of most dimensions by the methods that have no seed, and their seconds; kept for the next seed."""
    experiment, _ = load(name, noise_seed, n_rows)
    maps, seconds = {}, {}
    for method in METHODS if experiment.task == "classification" else NUMBERS:
        if method not in SEEDED:
            begin = time.process_time()
            maps[method] = placed(method, experiment, max(rf_phate.dimensions(name)), 0)
            seconds[method] = time.process_time() - begin
    return maps, seconds


def one(name, seed, n_rows):
    """Errors of the six other methods with one seed: by method, lists by dimension and variable; and their seconds."""
    experiment, units = load(name, seed, n_rows)

    def judged(Y):
        return (np.array(rf_phate.errors(Y, experiment.cells, seed)) / units).tolist()

    dims = rf_phate.dimensions(name)
    maps, seconds = unseeded(name, seed if name == "iris" else 0, n_rows)
    found = {method: [judged(Y[:, :d]) for d in dims] for method, Y in maps.items()}
    if experiment.task == "classification":
        begin = time.process_time()
        found["SNMF"] = [judged(placed("SNMF", experiment, d, seed)) for d in dims]
        seconds = {**seconds, "SNMF": time.process_time() - begin}
    found["seconds"], found["rows"] = seconds, len(experiment.X)
    return found


def one_of_new(name, seed):
    """Errors on a third of the rows, placed without their target on 2-D maps of the others: by method, by cell."""
    experiment, units = load(name, seed, None)
    seen, new = train_test_split(
        np.arange(len(experiment.X)), test_size=1 / 3, random_state=seed, stratify=experiment.y
    )
    k = round(np.sqrt(len(seen)))
    found = {"variables": [cell.variable for cell in experiment.cells]}
    for method in ORDER:
        model = made(method, 2, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)
            Y = model.fit_transform(experiment.X[seen], experiment.y[seen])
            Z = model.transform(experiment.X[new])
        found[method] = []
        for cell, unit in zip(experiment.cells, units, strict=True):
            kind = KNeighborsClassifier if cell.categorical else KNeighborsRegressor
            guess = kind(k).fit(Y, cell.values[seen]).predict(Z)
            truth = cell.values[new]
            error = np.mean(guess != truth) if cell.categorical else np.sqrt(np.mean((guess - truth) ** 2))
            found[method].append(float(error / unit))
    return found


def runs(store, name, *, full):
    """All seeds of a set with all seven methods, from the store or computed."""
    seeds, n_rows = rf_phate.sizes(name, full=full)
    label = name if n_rows is None else f"{name}-{n_rows}"
    written = dict(zip(seeds, rf_phate.runs(store, name, full=full, written=True), strict=False))
    found = []
    for seed, own in zip(seeds, rf_phate.runs(store, name, full=full), strict=True):
        others = store.get(f"baselines-{label}-{seed}", lambda s=seed: one(name, s, n_rows))
        kept = {key: own[key] for key in ("variables", "score")}
        more = {WRITTEN: written[seed]["errors"]} if seed in written else {}
        found.append({**others, **kept, OURS: own["errors"], **more})
    return found


def part_of(store, name, *, full, ranks):
    """All lines of one set; ranks go into what is given."""
    found = runs(store, name, full=full)
    lines = page.report(TITLES[name], found, rf_phate.dimensions(name), ranks)
    if name in NEW:
        splits = range(len(rf_phate.sizes("iris", full=full)[0]))
        new = [store.get(f"new-{name}-{seed}", lambda s=seed: one_of_new(name, s)) for seed in splits]
        lines += page.report_of_new(TITLES[name].partition(" (")[0], new)
    return lines


def noise_parts(store, *, full):
    """What more there is on Iris with noise: other forests, and Table 10."""
    found = runs(store, "iris", full=full)
    tried = noise_runs.runs(store, len(found))
    return noise_runs.report(tried, found) + unsupervised.report(unsupervised.runs(store, len(found)), found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all digits, more seeds, ten noise sets")
    parser.add_argument("--sets", default=",".join(TITLES))
    parser.add_argument("--work", type=pathlib.Path, default=rf_phate.WORK)
    parser.add_argument("--out", type=pathlib.Path, help="also write the page to this file")
    arguments = parser.parse_args()
    store, lines = Store(arguments.work / ("full" if arguments.full else "quick")), []
    ranks, noise_ranks = [], []
    for name in arguments.sets.split(","):
        more = part_of(store, name, full=arguments.full, ranks=noise_ranks if name == "iris" else ranks)
        if name == "iris":
            more = more + noise_parts(store, full=arguments.full)
        print("\n".join(more), flush=True)
        lines += more
    top = [line for one in page.targets(ranks, noise_ranks) for line in (one, "")]
    stamp = (
        f"Made by `reproduce/baselines/run.py{' --full' if arguments.full else ''}` on {datetime.date.today()}, "
        f"manifolia {manifolia.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}."
    )
    print("\n".join(["", *top, stamp]))
    if arguments.out:
        protocol = "Protocol" + __doc__.split("Protocol")[1].rstrip()
        text = ["# Baselines: seven supervised maps", "", *top, stamp, "", protocol, "", LEGEND, SAID.rstrip()]
        arguments.out.write_text("\n".join([*text, *lines, WHY]).rstrip() + "\n", encoding="utf-8")


LEGEND = """\
Each cell, of ranks too, is the paper's figure / ours, the lower the better; in italics where they differ by more than
a quarter and 0.005.
""".rstrip()

SAID = """
## What the tables of the full run say

In Tables 3 to 7 RF-PHATE is third in four rows. Of exterior quality in Ames, in two and three dimensions, SPCA and
PLS-DA tell more; of Sonar's Band 11 in five dimensions SPCA and KSPCA; there our RF-PHATE is at or below the paper's
figure, or close to it, and our other methods are well below theirs. On V22 of the digits in two dimensions ES-LLE and
ES-Isomap are ahead, and RF-PHATE is itself behind the paper's figure. With the two rows of Table 1's unnamed variable,
taken as V37 and not counted, it is first or second in 45 of 50 rows.

Table 9 is a matter of the forest. All baselines but SNMF put training rows where their class says, whatever the columns
say; petals follow the class, so that such a map has the error of the class mean, a ratio of 1, on any noise. RF-PHATE
places each row by trees that have not seen its label, so that its forest has to find four columns among a thousand.
With the usual square root of the columns at a split, 31 of 1,004, it learns 85 % of the flowers, and the map is first
in six rows of twelve; 2,000 such trees are first in ten, and 5,000, on three noise sets, in eleven. With a tenth or a
third of the columns at a split 500 trees learn 94 to 95 % and are first in all. The forest that `RFPHATE` builds for
classes and more than 100 columns therefore chooses among these three shares by out-of-bag votes, for every set anew;
that the wider two help was first seen on these noise sets. Larger leaves change nothing. Left where the layout put
them, rows do better with the proximities of Definition 3.1, and no better with RF-GAP's.
"""

WHY = """
## Where ours is far from the paper's, and why

* Titanic is standardised with its dummies, which the paper does not say ("all continuous variables"): left at 0 and 1
  they give SPCA errors of 0.10 (Sex) and 0.20 (Class) in two dimensions, standardised ones near the paper's.
* ES-Isomap on Titanic's Sex: 5 to 100 neighbours and α from 0 to 1 give 0.03 to 0.11, never the paper's 0.003, while
  Class has less error than in the paper. Not explained; the paper gives no settings.
* PLS-DA on Titanic's Class: our scores are scikit-learn's to the digit, and neither scaling nor a single column for the
  target changes them. Not explained.
* KSPCA depends on its width, which the paper does not give. Ours comes from the median distance, about 0.04; with 0.001
  to 0.01 Titanic's Sex has errors of 0.004 to 0.007 in place of 0.02.
* SPCA of two classes has one direction that the target determines; ours goes on with the principal components of what
  is left. The paper's figures for Sonar hardly change from two to five dimensions, ours fall by a tenth to a fifth. It
  does not say what its further directions are.
* ES-LLE on Optical Digits: the paper's errors are not far below the standard deviations of the variables (6.5, 6.3 and
  6.5). LLE of classes that fall apart into unconnected groups shows a point a group, which may be what happened there.
* SNMF on Optical Digits: the paper's figures are the same in all dimensions, and above the standard deviations: its map
  says nothing.
"""


if __name__ == "__main__":
    main()
