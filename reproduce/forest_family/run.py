"""Forest proximities under other layouts (Fig. 9 of the RF-PHATE paper).

    python -m reproduce.forest_family.run [--full] [--work DIR] [--out docs/results/forest-family.md]

Without ``--full`` 1,000 of the Optical Digits and one forest seed; with it 1,500 digits and two seeds. Results are
kept in ``--work``, one file for each seed of a set, and not computed again until it is emptied.

Fig. 9 (appendix F): RF-MDS, RF-Isomap, RF-LLE and RF-PHATE of Iris with 1000 noise variables, Optical Digits and Ames,
with the proximities of Definition 3.1 (``proximity="oob"``), 500 trees. The paper shows pictures only. Here every map
is also asked for the variables of the paper's tables (appendix B: k-NN with k = √n, ten folds), in two forms: what the
layout gave (the paper's picture) and every row placed through the leaves (`embedding_`, which new
rows follow). t-SNE and a UMAP-type layout of the same proximities stand beside them. Of the digits a sample is mapped:
the exact walk and Isomap take minutes on all.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import tempfile
import warnings

import numpy as np
import sklearn
from reproduce._shared import pictures, tallies
from reproduce._shared.store import Store
from reproduce.rf_phate import data as sets
from reproduce.rf_phate.run import errors

import manifolia
from manifolia import RFPHATE, ForestMap
from manifolia.exceptions import ManifoliaWarning

LAYOUTS = {
    "mds": "RF-MDS",
    "isomap": "RF-Isomap",
    "lle": "RF-LLE",
    "phate": "RF-PHATE",
    "tsne": "RF-t-SNE",
    "umap": "RF-UMAP",
}
WORK = pathlib.Path(tempfile.gettempdir()) / "manifolia-forest-family"
SIZES = {False: (1, 1000), True: (2, 1500)}  # forest seeds and digits of a quick and a full run
HEAD = "Fig. 9 is of pictures, which have no cells to count."
PICTURED = ("phate", "isomap", "mds", "lle")


def mapped_sets(n_digits):
    """The three sets of Fig. 9."""
    digits = sets.sampled(sets.optical(), n_digits)
    return {
        "iris": sets.iris_noise(0)[0],
        "digits": digits._replace(name=f"Optical Digits, {len(digits.X)} rows", cells=digits.cells[:3]),
        "ames": sets.ames(),
    }


def family(experiment, seed):
    """Errors of both forms of every layout's map with one forest, and the maps of the first seed."""
    found, forest = {}, None
    for layout in LAYOUTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)
            common = {"proximity": "oob", "forest": forest, "task": experiment.task, "random_state": seed}
            model = RFPHATE(n_landmarks=None, **common) if layout == "phate" else ForestMap(layout, **common)
            model.fit(experiment.X, experiment.y)
        forest = model.forest_
        Y = model.landmark_embedding_ if layout == "phate" else model.layout_embedding_
        found[layout] = {
            "layout": errors(Y, experiment.cells, seed),
            "placed": errors(model.embedding_, experiment.cells, seed),
            "oob": model.oob_score_,
            "over": model.over_separation_,
        }
        if seed == 0 and layout in PICTURED:
            found[layout]["map"] = np.round(Y, 5).tolist()
    return found


def family_lines(experiment, parts):
    """Two tables of one set."""
    score = np.mean([part["phate"]["oob"] for part in parts])
    lines = [
        f"\n## {experiment.name}\n",
        f"Forest out of bag: {score:.3f}. Lower is better; the least of a row is bold.\n",
    ]
    names = list(LAYOUTS.values())
    lines += [f"| variable | form | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    for c, cell in enumerate(experiment.cells):
        for form in ("layout", "placed"):
            means = [np.mean([part[layout][form][c] for part in parts]) for layout in LAYOUTS]
            least = min(means)
            shown = [f"**{value:.4g}**" if value == least else f"{value:.4g}" for value in means]
            lines.append(f"| {cell.variable} | {form} | {' | '.join(shown)} |")
    over = [np.mean([part[layout]["over"] for part in parts]) for layout in LAYOUTS]
    lines.append(f"| over-separation | placed | {' | '.join(f'{value:+.3f}' for value in over)} |")
    return lines


def picture(experiments, parts, path):
    """Fig. 9: the layouts of the first seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(experiments), len(PICTURED), figsize=(11, 8.6), layout="constrained")
    for line, (name, experiment) in enumerate(experiments.items()):
        numeric = experiment.task == "regression"
        shown = np.log10(experiment.y) if numeric else np.unique(experiment.y, return_inverse=True)[1]
        colors = {"cmap": "viridis"} if numeric else {"cmap": "tab10", "vmin": 0, "vmax": 9}
        for ax, layout in zip(axes[line], PICTURED, strict=True):
            dots = ax.scatter(*np.array(parts[name][0][layout]["map"]).T, c=shown, s=5, linewidths=0, **colors)
            ax.set(xticks=[], yticks=[], title=LAYOUTS[layout] if line == 0 else "")
        axes[line, 0].set_ylabel(experiment.name.replace(" with 1000 noise variables", " with noise"))
        if numeric:
            figure.colorbar(dots, ax=axes[line, -1], label="log10 of the price")
    pictures.save(figure, path, shades=224, dpi=100)
    plt.close(figure)


def best(parts, form, among):
    """In how many rows of the tables RF-PHATE has the least error among some layouts, and how many rows there are."""
    won = n = 0
    for runs in parts.values():
        for c in range(len(runs[0]["phate"][form])):
            means = {layout: np.mean([run[layout][form][c] for run in runs]) for layout in among}
            won, n = won + (min(means, key=means.get) == "phate"), n + 1
    return f"{won} of {n}"


NOTES = """
## Reading

The paper finds RF-MDS without global structure, RF-Isomap noisy, RF-LLE without meaning unless it is tuned, and
RF-PHATE ahead. The pictures say the same: rows that share no leaf are all at distance 1, and MDS spreads what is
equally far over a disc; LLE lays most rows onto a line. The tables are less clear. Among the paper's four layouts
RF-PHATE keeps the variables best in {four} rows as laid out and {four_placed} as placed, with t-SNE and the UMAP-type
layout beside them in {six} and {six_placed}. k-NN asks for near rows only and is blind to the global shape for which
RF-PHATE is made. Placing rows through the leaves makes a new row's place independent of all others. It costs accuracy
where trees are weak, as on Iris with noise while a split tried the square root of the columns.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="1,500 digits and two forest seeds")
    parser.add_argument("--work", type=pathlib.Path, default=WORK, help="folder of the parts")
    parser.add_argument("--out", type=pathlib.Path, help="also write the page to this file, and the picture beside it")
    arguments = parser.parse_args()
    n_seeds, n_digits = SIZES[arguments.full]
    store = Store(arguments.work / ("full" if arguments.full else "quick"))
    experiments = mapped_sets(n_digits)
    parts = {
        name: [
            store.get(f"{name}-{len(experiment.X)}-{seed}", lambda e=experiment, s=seed: family(e, s))
            for seed in range(n_seeds)
        ]
        for name, experiment in experiments.items()
    }
    lines = [line for name, experiment in experiments.items() for line in family_lines(experiment, parts[name])]
    stamp = (
        f"Made by `reproduce/forest_family/run.py{' --full' if arguments.full else ''}` on {datetime.date.today()}, "
        f"manifolia {manifolia.__version__}, scikit-learn {sklearn.__version__}, Python {platform.python_version()}; "
        f"{tallies.several(n_seeds, 'forest seed')}."
    )
    print("\n".join([*lines, "", HEAD, stamp]))
    if arguments.out:
        (arguments.out.parent / "images").mkdir(exist_ok=True)
        picture(experiments, parts, arguments.out.parent / "images" / "forest-family.png")
        four, six = LAYOUTS.keys() & set(PICTURED), set(LAYOUTS)
        notes = NOTES.format(
            four=best(parts, "layout", four),
            four_placed=best(parts, "placed", four),
            six=best(parts, "layout", six),
            six_placed=best(parts, "placed", six),
        )
        text = [
            f"# The forest family\n\n{HEAD}\n\n{stamp}\n",
            "Fig. 9 (appendix" + __doc__.split("Fig. 9 (appendix")[1],
            "![Layouts of forest proximities](images/forest-family.png)\n",
            "Colours: species, digit, price.",
            *lines,
            notes,
        ]
        arguments.out.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
