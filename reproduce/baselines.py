"""Seven supervised maps: Tables 1 and 2 of the RF-PHATE paper, its figures beside ours.

    python reproduce/baselines.py [--full] [--sets titanic,iris] [--work DIR] [--out docs/results/baselines.md]

Without ``--full`` a sample of 1,500 Optical Digits, two seeds and five noise sets; with it all 5,620 digits, five seeds
and the paper's ten noise sets. Results are kept in ``--work``, one file for each seed of a set, and not computed again
until it is emptied.

Protocol (sections 5.3 and 5.4, appendix B): each method maps the rows with the help of their target; the map is the
input of a k-NN classifier or regressor for an important variable, k = √n, ten folds, the mean of the folds' error rates
or root mean squared errors. Categories are one-hot encoded and all columns standardised, these too. Every method has
its defaults, the same for all sets; seeds are those of forests, factors, folds and noise. "RF-PHATE" is
`manifolia.RFPHATE`; "as written" is Algorithm 1 to the letter on the same forest, for up to 2,000 rows.

Of Titanic and Iris a third of the rows is also held back and placed on 2-D maps of the others, without their target;
the k-NN learns from the training rows' places. The paper has no such table.

Ranks are those of RF-PHATE among the methods of its row, 1 for the least error, equal errors sharing the better
rank. A row is won when its rank in our run is no worse than in the paper's, tied when it would be so if its error were
lower by one standard deviation over seeds, else lost.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import tempfile
import time
import warnings

import numpy as np
import rf_phate
import rf_phate_data
import sklearn
from _store import Store
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

DIMENSIONS = (2, 3)
METHODS = {
    "ESIso": EnhancedSupervisedIsomap,
    "KSPCA": KernelSupervisedPCA,
    "SPCA": SupervisedPCA,
    "ESLLE": EnhancedSupervisedLLE,
    "SNMF": SupervisedNMF,
    "PLSDA": PLSDA,
}
NUMBERS = ("KSPCA", "SPCA", "PLSDA")  # take a target of numbers
OURS, WRITTEN = "RF-PHATE", "as written"
ORDER = (OURS, *METHODS)

#: Tables 1 and 2: for 2 and for 3 dimensions, the methods in the order above.
PAPER = {
    "Sex": ((0, 0.0028, 0.0084, 0.0056, 0.0070, 0.1419, 0.0028), (0, 0.0028, 0.0084, 0.0028, 0.0042, 0.1489, 0.0042)),
    "Class": (
        (0.0154, 0.1657, 0.1025, 0.0688, 0.0702, 0.3174, 0.0197),
        (0.0112, 0.0492, 0.1011, 0.0281, 0.0969, 0.3048, 0.0239),
    ),
    "V43": ((3.612, 3.554, 5.478, 5.237, 5.910, 6.659, 5.842), (3.473, 3.484, 4.013, 4.922, 5.887, 6.659, 5.407)),
    "V22": ((3.425, 3.869, 4.101, 4.862, 5.441, 6.540, 5.730), (3.361, 3.851, 3.902, 4.007, 5.194, 6.540, 5.060)),
    "V44": ((4.147, 3.997, 5.107, 4.416, 5.839, 7.147, 6.217), (3.766, 3.810, 4.608, 4.039, 5.810, 7.147, 5.968)),
    "V37 (inferred)": (
        (4.108, 4.118, 5.373, 5.687, 5.965, 6.161, 5.985),
        (4.001, 4.037, 4.035, 4.949, 5.867, 6.161, 5.320),
    ),
    "Quality": ((0.644, None, 0.815, 0.764, None, None, 0.767), (0.631, None, 0.788, 0.759, None, None, 0.736)),
    "GrLivArea": (
        (263.75, None, 402.08, 413.36, None, None, 415.90),
        (224.57, None, 393.64, 411.53, None, None, 293.18),
    ),
    "petal length (cm)": (
        (0.330, 0.348, 0.340, 0.381, 0.349, 1.475, 0.387),
        (0.334, 0.353, 0.360, 0.400, 0.353, 2.233, 0.363),
    ),
    "petal width (cm)": (
        (0.291, 0.298, 0.297, 0.330, 0.304, 1.297, 0.330),
        (0.292, 0.305, 0.312, 0.345, 0.308, 1.905, 0.308),
    ),
    "sepal length (cm)": (
        (0.459, 0.522, 0.514, 0.514, 0.528, 0.885, 0.514),
        (0.455, 0.536, 0.540, 0.520, 0.534, 1.272, 0.516),
    ),
    "sepal width (cm)": (
        (0.320, 0.348, 0.351, 0.357, 0.349, 0.462, 0.357),
        (0.318, 0.354, 0.358, 0.356, 0.354, 0.501, 0.357),
    ),
}
FAR = 1.25  # a mean error beyond this factor of the paper's, either way, is marked

NEW = ("titanic", "iris")  # sets of which a third is also placed as new rows

SAID = """
## What the tables say

RF-PHATE has the least error in all rows of Titanic and Ames, as in the paper, and is first or second in all but one of
the counted rows of Optical Digits. Of the two lost there, V43 in three dimensions goes to our ES-LLE, which does far
better than the paper's; on V22 in two dimensions RF-PHATE is itself behind the paper's figure.

The petals of Table 2 are lost for what the table measures. All baselines but SNMF put training rows where their class
says, whatever the columns say; petals follow the class, so that such a map has the error of the class mean, a ratio of
1, on any noise. RF-PHATE places each row by trees that have not seen its label, and among a thousand columns of noise
these learn 85 % of the flowers. New rows show what was learned: there RF-PHATE has the least error in every row, of
petals 1.3 to 1.5 times that of the class mean, where the others have 3.2 to 5.3 times. "As written", Algorithm 1 is
level with the class mean on training rows too.
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
  to 0.01 Titanic's Sex has errors of 0.004 to 0.007 in place of 0.018.
* ES-LLE on Optical Digits: the paper's errors are not far below the standard deviations of the variables (6.5, 6.3 and
  6.5). LLE of classes that fall apart into unconnected groups shows a point a group, which may be what happened there.
* SNMF on Optical Digits: the paper's figures are the same in two and in three dimensions, and above the standard
  deviations: its map says nothing. Ours says little.
* A sample of 1,500 digits has larger errors than all 5,620: neighbours are farther, and k is smaller.
"""


def sampled(experiment, n_rows):
    """The experiment with so many rows, drawn at random, or all."""
    n = len(experiment.X)
    if n_rows is None or n_rows >= n:
        return experiment
    rows = np.sort(np.random.default_rng(0).choice(n, n_rows, replace=False))
    cells = [cell._replace(values=cell.values[rows]) for cell in experiment.cells]
    return experiment._replace(X=experiment.X[rows], y=experiment.y[rows], cells=cells)


def load(name, seed, n_digits):
    """A set of the paper's, and what each of its errors is divided by."""
    if name == "iris":
        return rf_phate_data.iris_noise(seed)
    experiment = rf_phate_data.EXPERIMENTS[name]()
    if name == "optical":
        experiment = experiment._replace(cells=[*experiment.cells, *rf_phate_data.optical_fourth().cells])
        experiment = sampled(experiment, n_digits)
    kept = [cell for cell in experiment.cells if cell.variable in PAPER]
    spread = experiment.X.std(axis=0)
    X = (experiment.X - experiment.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return experiment._replace(X=X, cells=kept), np.ones(len(kept))


def made(method, d, seed):
    """A model with its defaults."""
    kind = RFPHATE if method == OURS else METHODS[method]
    return kind(d, random_state=seed) if method in (OURS, "SNMF") else kind(d)


def placed(method, experiment, d, seed):
    """The map that a baseline makes of all rows with their target."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        return made(method, d, seed).fit_transform(experiment.X, experiment.y)


def one(name, seed, n_digits):
    """Errors of all methods with one seed: by method, a list for each number of dimensions; and their seconds."""
    experiment, units = load(name, seed, n_digits)

    def judged(Y):
        return (np.array(rf_phate.errors(Y, experiment.cells, seed)) / units).tolist()

    begin = time.process_time()
    ours, written, model = rf_phate.maps(experiment.X, experiment.y, DIMENSIONS, seed, experiment.task)
    found = {OURS: [judged(Y) for Y in ours], "seconds": {f"{OURS}, both": time.process_time() - begin}}
    if written[0] is not None:
        found[WRITTEN] = [judged(Y) for Y in written]
    for method in METHODS if experiment.task == "classification" else NUMBERS:
        begin = time.process_time()
        found[method] = [judged(placed(method, experiment, d, seed)) for d in DIMENSIONS]
        found["seconds"][method] = time.process_time() - begin
    found["variables"] = [cell.variable for cell in experiment.cells]
    found["rows"], found["score"] = len(experiment.X), float(model.oob_score_)
    return found


def one_of_new(name, seed, n_digits):
    """Errors on a third of the rows, placed without their target on 2-D maps of the others: by method, by cell."""
    experiment, units = load(name, seed, n_digits)
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


def report_of_new(title, runs):
    """The table of new rows; not counted, since the paper has none."""
    head = ["variable (2)", *ORDER, "rank of RF-PHATE"]
    lines = ["", f"### {title}, new rows", "", "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for c, variable in enumerate(runs[0]["variables"]):
        values = [np.array([run[method][c] for run in runs]) for method in ORDER]
        cells = [f"{one.mean():.3g} ± {one.std(ddof=1):.2g}" for one in values]
        place = rank([float(one.mean()) for one in values[1:]], float(values[0].mean()))
        lines.append("| " + " | ".join([named(variable), *cells, str(place)]) + " |")
    return lines


def named(variable):
    """The variable, and that petals are measured by the class mean."""
    return f"{variable}, of class mean" if variable in rf_phate_data.CLASS_MEAN else variable


def in_units(variable, figure):
    """The paper's figure in our units: petals relative to the class mean."""
    return None if figure is None else figure / rf_phate_data.CLASS_MEAN.get(variable, 1.0)


def rank(errors, value):
    """Rank of a value among errors, 1 for the least; equal ones share the better rank."""
    return 1 + sum(error < value - 5e-5 for error in errors if error is not None)


def verdict(means, sd, paper):
    """Our rank, the paper's, and what it comes to."""
    others, theirs = means[1:], rank(paper[1:], paper[0])
    mine = rank(others, means[0])
    if mine <= theirs:
        return mine, theirs, "won"
    return mine, theirs, "tied" if rank(others, means[0] - sd) <= theirs else "lost"


def far(mean, paper):
    """Whether ours is not the paper's figure, whichever is better."""
    low, high = sorted((mean, paper))
    return high > FAR * low + 0.005


def shown(mean, paper):
    """A cell: the paper's figure and ours, marked if they are far apart."""
    if mean is None:
        return "N/A"
    text = f"{paper:.3g} / {mean:.3g}"
    return f"*{text}*" if far(mean, paper) else text


def report(title, runs, counts):
    """The table of a set; its verdicts are counted."""
    variables = runs[0]["variables"]
    score = np.mean([run["score"] for run in runs])
    lines = ["", f"## {title}", "", f"{runs[0]['rows']} rows, {len(runs)} seeds; forest out of bag {score:.4f}", ""]
    head = ["variable (dims)", "verdict", "rank", *ORDER, WRITTEN]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for c, variable in enumerate(variables):
        for k, d in enumerate(DIMENSIONS):
            paper = [in_units(variable, figure) for figure in PAPER[variable][k]]
            values = {m: np.array([run[m][k][c] for run in runs]) for m in (*ORDER, WRITTEN) if m in runs[0]}
            means = [float(values[m].mean()) if m in values else None for m in ORDER]
            sd = float(values[OURS].std(ddof=1)) if len(runs) > 1 else 0.0
            mine, theirs, said = verdict(means, sd, paper)
            if "inferred" in variable:
                said = "not counted"
            else:
                counts[said] = counts.get(said, 0) + 1
            cells = [shown(mean, figure) for mean, figure in zip(means, paper, strict=True)]
            cells[0] += f" ± {sd:.2g}"
            own = f"{values[WRITTEN].mean():.3g}" if WRITTEN in values else ""
            label = f"{named(variable)} ({d})"
            lines.append("| " + " | ".join([label, said, f"{theirs} / {mine}", *cells, own]) + " |")
    return lines


def tally(counts):
    return ", ".join(f"{word} {counts.get(word, 0)}" for word in ("won", "tied", "lost"))


TITLES = {
    "titanic": "Titanic (Table 1)",
    "optical": "Optical Digits (Table 1)",
    "ames": "Ames Housing (Table 1)",
    "iris": "Iris with 1000 noise variables (Table 2)",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all digits, five seeds, ten noise sets")
    parser.add_argument("--sets", default=",".join(TITLES))
    parser.add_argument(
        "--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "manifolia-baselines"
    )
    parser.add_argument("--out", type=pathlib.Path, help="also write the page to this file")
    arguments = parser.parse_args()
    n_digits, n_seeds, n_noise = (None, 5, 10) if arguments.full else (1500, 2, 5)
    store, lines, counts = Store(arguments.work / ("full" if arguments.full else "quick")), [], {}
    for name in arguments.sets.split(","):
        seeds = range(n_noise if name == "iris" else n_seeds)
        runs = [store.get(f"{name}-{seed}", lambda n=name, s=seed: one(n, s, n_digits)) for seed in seeds]
        more = report(TITLES[name], runs, counts)
        print("\n".join(more), flush=True)
        lines += more
        if name in NEW:
            label = f"new-{name}"
            runs = [store.get(f"{label}-{s}", lambda n=name, s=s: one_of_new(n, s, n_digits)) for s in range(n_noise)]
            more = report_of_new(TITLES[name].partition(" (")[0], runs)
            print("\n".join(more), flush=True)
            lines += more
    top = f"{tally(counts)} of the {sum(counts.values())} rows, by RF-PHATE's rank among the methods"
    stamp = (
        f"Made by `reproduce/baselines.py{' --full' if arguments.full else ''}` on {datetime.date.today()}, manifolia "
        f"{manifolia.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}."
    )
    print(f"\n{top}\n{stamp}")
    if arguments.out:
        protocol = "Protocol" + __doc__.split("Protocol")[1].rstrip()
        text = [
            "# Baselines: seven supervised maps",
            "",
            top,
            "",
            stamp,
            "",
            protocol,
            "",
            LEGEND,
            SAID.rstrip(),
            *lines,
            WHY,
        ]
        arguments.out.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


LEGEND = """\
Each cell, of ranks too, is the paper's figure / ours, the lower the better; in italics where they differ by more than
a quarter and 0.005.
""".rstrip()


if __name__ == "__main__":
    main()
