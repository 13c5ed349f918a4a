"""Rows that belong together: what a map shows of them with and without ``groups``, and who is warned.

    python -m reproduce.repeated_measurements.run [--seeds 20] [--out docs/results/repeated-measurements.md]

1. Planted: 200 patients with 5 rows each, 8 columns that tell patients apart, a label drawn at random for each patient.
   There is nothing to learn of another patient. With a signal one more column follows the label.
2. Notes and warnings: the same tables with a column of patients and without ``groups``, and tables whose rows are on
   their own.
3. Vowels by speaker (`vowel`, 15 speakers with 66 rows each): the figures by rows and by speakers, and both maps.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import warnings

import numpy as np
import pandas as pd
import sklearn
from reproduce._shared import pictures
from reproduce._shared.markdown import spread, table

import manifolia
from manifolia import RFPHATE, GuidedMap, datasets
from manifolia.exceptions import HonestyWarning
from manifolia.metrics import knn_accuracy
from manifolia.tables.repeated import group_notes

N_PATIENTS, N_EACH, N_COLUMNS = 200, 5, 8
NOISE = 0.2  # of a row, where patients differ by 1
SIGNAL = 3.0  # of the column that follows the label, in the same unit
GROUPS = np.repeat(np.arange(N_PATIENTS), N_EACH)
METHODS = {"RF-PHATE": RFPHATE, "GuidedMap": GuidedMap}
N_TREES = 200
#: Tables whose rows are on their own: none is known to hold repeated measurements.
ALONE = (
    "ames_housing", "blood_transfusion", "breast_cancer_wisconsin_diagnostic", "breast_cancer_wisconsin_original",
    "breast_cancer_wisconsin_prognostic", "credit_approval", "cylinder_bands", "ecoli", "german_credit_numeric",
    "glass", "haberman", "heart_cleveland", "hepatitis", "ionosphere", "iris", "mammographic_mass", "pima_diabetes",
    "sonar", "titanic", "vehicle", "wine",
)  # fmt: skip


def planted(seed, signal=0.0):
    """Rows of patients, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_PATIENTS, N_COLUMNS))[GROUPS] + NOISE * rng.normal(size=(len(GROUPS), N_COLUMNS))
    label = rng.integers(0, 2, N_PATIENTS)
    X[:, 0] += signal * label[GROUPS]
    return X, label[GROUPS]


def figures(method, X, y, groups, seed):
    """Score out of bag, and of the neighbours in the map, which are of other groups if there are any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HonestyWarning)
        model = method(n_trees=N_TREES, random_state=seed).fit(X, y, groups=groups)
    return model.oob_score_, knn_accuracy(model.embedding_, y, 10, groups=groups), model


def planted_lines(n_seeds):
    """The table of planted patients."""
    lines = []
    for name, method in METHODS.items():
        for title, signal, by in (("by rows", 0.0, None), ("by patients", 0.0, GROUPS), ("signal", SIGNAL, GROUPS)):
            found = np.array([figures(method, *planted(seed, signal), by, seed)[:2] for seed in range(n_seeds)])
            within = (np.abs(found - 0.5) <= 0.1).sum(axis=0)
            above = (found > 0.75).sum(axis=0)
            counted = above if title == "signal" else within
            lines.append((name, title, *(f"{spread(found[:, j], 2)} ({counted[j]} of {n_seeds})" for j in (0, 1))))
            print(lines[-1], flush=True)
    return table(("map", "drawn", "out of bag", "10 nearest in the map"), lines)


def is_warned(X, y, task="classification"):
    """Whether a fit suspects that rows belong together."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RFPHATE(n_trees=10, task=task, random_state=0).fit(X, y)
    return any("near copies" in str(one.message) for one in caught)


def suspicion_lines(n_seeds):
    """Who is told that rows may belong together."""
    notes = warned = 0
    for seed in range(n_seeds):
        X, y = planted(seed)
        frame = pd.DataFrame(X).assign(patient=GROUPS)
        notes += bool(group_notes(((str(name), column) for name, column in frame.items()), y, classes=True))
        warned += is_warned(X, y)
    here = [name for name in ALONE if name in datasets.available()]
    noted, suspected = [], []
    for name in here:
        bunch = datasets.load(name)
        frame, y = bunch.frame.drop(columns=bunch.target_names), np.asarray(bunch.target)
        classes = not (np.issubdtype(y.dtype, np.number) and len(np.unique(y)) > 20)
        columns = ((str(column), values.reset_index(drop=True)) for column, values in frame.items())
        noted += [name] if group_notes(columns, y, classes=classes) else []
        numbers = pd.DataFrame(bunch.data).select_dtypes("number").to_numpy(dtype=float)
        suspected += [name] if is_warned(numbers, y, "classification" if classes else "regression") else []
    rows = [
        ("planted patients, the column of patients in the table", f"{notes} of {n_seeds}", f"{warned} of {n_seeds}"),
        ("tables whose rows are on their own", f"{len(noted)} of {len(here)}", f"{len(suspected)} of {len(here)}"),
    ]
    print(rows, noted, suspected, flush=True)
    return table(("tables", "note on a column", "warning of near copies"), rows)


def vowels():
    """Rows, their vowels and their speakers."""
    bunch = datasets.load("vowel")
    return np.asarray(bunch.data, dtype=float), np.asarray(bunch.target), bunch.frame["x2"].to_numpy()


def vowel_lines(picture):
    """Both figures of the vowels, and a picture of both maps."""
    X, y, speaker = vowels()
    rows, maps = [], {}
    for name, method in METHODS.items():
        for title, by in (("by rows", None), ("by speakers", speaker)):
            score, _, model = figures(method, X, y, by, 0)
            near = [knn_accuracy(model.embedding_, y, 10, groups=g) for g in (None, speaker)]
            rows.append((name, title, f"{score:.2f}", *(f"{value:.2f}" for value in near)))
            maps[name, title] = model.embedding_
            print(rows[-1], flush=True)
    if picture is not None:
        _draw(maps, y, picture)
    return table(("map", "drawn", "out of bag", "10 nearest", "10 nearest of other speakers"), rows)


def _draw(maps, y, path):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    for axis, title in zip(axes, ("by rows", "by speakers"), strict=True):
        axis.scatter(*maps["RF-PHATE", title].T, c=codes, cmap="tab20", s=9, linewidths=0)
        axis.set(title=f"RF-PHATE, trees drawn {title}", xticks=[], yticks=[])
    pictures.save(figure, path, shades=64, dpi=100)


TEXT = """# Repeated measurements

{stamp}

Of rows that belong together, such as those of one patient, trees that left a row out have seen others. The guide says
[what to do](../guide/repeated-measurements.md).

## Planted patients

200 patients with 5 rows each and labels at random: 0.5 is all that can be known of another patient. Means and standard
deviations over seeds, in brackets how often the figure lies within 0.5 ± 0.1; with the signal, above 0.75. "By rows" is
without `groups`; neighbours in the map are of other patients where patients were drawn.

{planted}

## Who is told

A note names a column by which rows are recognised; the warning comes from ``fit``, which has no such column.

{suspected}

## Vowels by speaker

Eleven vowels, 15 speakers, six repetitions of each; eleven columns.

{vowels}

![The map by rows and by speakers](images/repeated-measurements.png)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, help="also write the page to this file, and the picture beside it")
    arguments = parser.parse_args()
    stamp = (
        f"Made by `reproduce/repeated_measurements/run.py` on {datetime.date.today()}, manifolia "
        f"{manifolia.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}; "
        f"{arguments.seeds} seeds, {N_TREES} trees."
    )
    picture = None if arguments.out is None else arguments.out.parent / "images" / "repeated-measurements.png"
    parts = {
        "vowels": vowel_lines(picture),
        "suspected": suspicion_lines(arguments.seeds),
        "planted": planted_lines(arguments.seeds),
    }
    if arguments.out:
        text = TEXT.format(stamp=stamp, **{name: "\n".join(lines) for name, lines in parts.items()})
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
