"""Table 9 with other forests and other forms of the map: what it takes to be first among a thousand noise variables."""

from __future__ import annotations

import time
import warnings

import numpy as np
from reproduce._shared.markdown import table
from reproduce.baselines.page import ORDER, OURS, rank
from reproduce.rf_phate import data as sets
from reproduce.rf_phate import run as rf_phate
from sklearn.ensemble import RandomForestClassifier

from manifolia import RFPHATE
from manifolia.exceptions import ManifoliaWarning

DIMENSIONS = (2, 3, 4)
#: Trees and the share of columns that is tried at a split ("sqrt": 31 of 1,004).
FORESTS = {
    "500 trees, the square root of the columns at a split": (500, "sqrt"),
    "2,000 trees": (2000, "sqrt"),
    "5,000 trees": (5000, "sqrt"),
    "500 trees, a tenth of the columns at a split": (500, 0.1),
    "500 trees, a third of the columns at a split": (500, 1 / 3),
    "500 trees, leaves of five rows or more": (500, "sqrt"),
}
LEAF = {"500 trees, leaves of five rows or more": 5}
FEWER_SETS = {"5,000 trees": 3}  # the first so many noise sets: a forest of 5,000 trees takes ten times as long
#: Proximities, and whether rows are placed through the leaves or stay where the layout put them.
FORMS = {
    "gap, placed": ("gap", "embedding_"),
    "gap, layout": ("gap", "landmark_embedding_"),
    "oob, placed": ("oob", "embedding_"),
    "oob, layout": ("oob", "landmark_embedding_"),
}


def one(setting, seed):
    """Errors on one noise set with one forest: by form, lists by dimension and variable; and the forest's score."""
    experiment, units = sets.iris_noise(seed)
    trees, share = FORESTS[setting]
    begin = time.process_time()
    forest = RandomForestClassifier(
        trees, max_features=share, min_samples_leaf=LEAF.get(setting, 1), bootstrap=True, random_state=seed, n_jobs=1
    ).fit(experiment.X, experiment.y)
    found = {"fit": time.process_time() - begin}
    for proximity, dims in (("gap", DIMENSIONS), ("oob", DIMENSIONS[:1])):
        for d in dims:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ManifoliaWarning)
                model = RFPHATE(d, forest=forest, proximity=proximity, random_state=seed)
                model.fit(experiment.X, experiment.y)
            for form, (kind, which) in FORMS.items():
                if kind == proximity:
                    errors = np.array(rf_phate.errors(getattr(model, which), experiment.cells, seed)) / units
                    found.setdefault(form, []).append(errors.tolist())
    found["score"] = float(model.oob_score_)
    return found


def runs(store, n_sets):
    """All settings on so many noise sets."""
    found = {}
    for setting, _ in sorted(FORESTS.items(), key=lambda item: item[1][0]):  # the largest forests last
        label = f"noise-{setting.replace(' ', '-').replace(',', '')}"
        seeds = range(min(n_sets, FEWER_SETS.get(setting, n_sets)))
        found[setting] = [store.get(f"{label}-{seed}", lambda s=setting, n=seed: one(s, n)) for seed in seeds]
    return {setting: found[setting] for setting in FORESTS}


def first(found, others, form="gap, placed"):
    """In how many rows of Table 9 a setting has the least error, the other methods' runs beside it, and of how many."""
    won = n = 0
    for k in range(len(found[0][form])):
        for c in range(len(found[0][form][k])):
            mean = float(np.mean([run[form][k][c] for run in found]))
            means = [float(np.mean([run[m][k][c] for run in others[: len(found)]])) for m in ORDER if m != OURS]
            won, n = won + (rank(means, mean) == 1), n + 1
    return won, n


def report(found, others):
    """Two tables: forests in 2, 3 and 4 dimensions, and forms of the map in 2."""
    variables = others[0]["variables"]
    short = [variable.removesuffix(" (cm)") for variable in variables]
    lines = ["", "### Table 9 with other forests", "", TRIED.strip().format(n=len(others)), ""]
    rows = []
    for setting, parts in found.items():
        values = np.array([part["gap, placed"] for part in parts]).mean(axis=0)  # dimensions × variables
        won, n = first(parts, others)
        cells = [" / ".join(f"{value:.3g}" for value in values[:, c]) for c in range(len(variables))]
        score, fit = (np.mean([part[key] for part in parts]) for key in ("score", "fit"))
        rows.append([setting, str(len(parts)), f"{score:.3f}", *cells, f"{won} of {n}", f"{fit:.1f}"])
    lines += table(["forest", "sets", "out of bag", *short, "first", "CPU s a forest"], rows)
    lines += ["", FORMS_SAID.strip(), ""]
    rows = []
    for setting, parts in found.items():
        cells = []
        for form in FORMS:
            values = np.array([part[form][0] for part in parts]).mean(axis=0)
            shown = " / ".join(f"{values[variables.index(name)]:.3g}" for name in sets.CLASS_MEAN)
            cells.append(f"{shown} ({first([{form: part[form][:1]} for part in parts], others, form)[0]} of 4)")
        rows.append([setting, *cells])
    lines += table(["forest, in two dimensions", *FORMS], rows)
    return lines


TRIED = """
The same {n} noise sets (of 5,000 trees the first three), the map with its defaults but for the forest
(`RFPHATE(forest=RandomForestClassifier(…))`), every row placed by trees that have not seen its label. Errors of
2 / 3 / 4 dimensions, petals as ratios to the class mean; "first": rows of Table 9 in which the error is the least, the
six other methods on the same noise sets.
"""

FORMS_SAID = """
The form of the map, in two dimensions: proximities of RF-GAP or of Definition 3.1, and rows placed through the leaves
(`embedding_`) or left where the layout put them (`landmark_embedding_`). Ratios to the class mean of petal length /
petal width, and in how many of the four rows of two dimensions the map is first.
"""
