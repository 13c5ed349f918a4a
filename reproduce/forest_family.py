"""Forest proximities under other layouts (Fig. 9 of the RF-PHATE paper), and PHATE's column of its Table 10.

    python reproduce/forest_family.py [--seeds 3] [--noise-sets 10] [--digits 2000] [--parts FOLDER] [--out PAGE]

Fig. 9 (appendix F): RF-MDS, RF-Isomap, RF-LLE and RF-PHATE of Iris with 1000 noise variables, Optical Digits and Ames,
with the proximities of Definition 3.1 (``proximity="oob"``), 500 trees. The paper shows pictures only. Here every map
is also asked for the variables of the paper's tables (appendix B: k-NN with k = √n, ten folds), in two forms: what the
layout gave (`layout_embedding_`, the paper's picture) and every row placed through the leaves (`embedding_`, which new
rows follow). t-SNE and a UMAP-type layout of the same proximities stand beside them.

Table 10 (appendix D): PHATE without labels on Iris with 1000 noise variables, all columns standardised, ten noise sets.
Each map is a part that is kept in a folder, so that an interrupted run goes on where it ended.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import tempfile
import warnings

import numpy as np
import rf_phate_data
import sklearn
from _store import Store
from rf_phate import errors

import manifolia
from manifolia import PHATE, ForestMap
from manifolia.exceptions import ManifoliaWarning

LAYOUTS = {
    "mds": "RF-MDS",
    "isomap": "RF-Isomap",
    "lle": "RF-LLE",
    "phate": "RF-PHATE",
    "tsne": "RF-t-SNE",
    "umap": "RF-UMAP",
}
PICTURED = ("phate", "isomap", "mds", "lle")
#: Table 10, columns PHATE and PCA, for 2, 3 and 4 dimensions.
TABLE_10 = {
    "petal length (cm)": ((1.393, 1.372, 1.355), (1.366, 1.366, 1.366)),
    "petal width (cm)": ((1.196, 1.170, 1.163), (1.120, 1.120, 1.120)),
    "sepal length (cm)": ((0.847, 0.830, 0.822), None),
    "sepal width (cm)": ((0.450, 0.446, 0.445), None),
}


def sets(n_digits):
    """The three sets of Fig. 9; of the digits a sample, because scikit-learn's Isomap takes minutes on all."""
    digits = rf_phate_data.optical()
    rows = np.sort(np.random.default_rng(0).choice(len(digits.X), min(n_digits, len(digits.X)), replace=False))
    cells = [cell._replace(values=cell.values[rows]) for cell in digits.cells]
    return {
        "iris": rf_phate_data.iris_noise(0)[0],
        "digits": digits._replace(
            name=f"Optical Digits, {len(rows)} rows", X=digits.X[rows], y=digits.y[rows], cells=cells
        ),
        "ames": rf_phate_data.ames(),
    }


def family(experiment, seed):
    """Errors of both forms of every layout's map with one forest, and the maps of the first seed."""
    found, forest = {}, None
    for layout in LAYOUTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)
            model = ForestMap(
                layout, proximity="oob", forest=forest, task=experiment.task, n_landmarks=None, random_state=seed
            ).fit(experiment.X, experiment.y)
        forest = model.forest_
        found[layout] = {
            "layout": errors(model.layout_embedding_, experiment.cells, seed),
            "placed": errors(model.embedding_, experiment.cells, seed),
            "oob": model.oob_score_,
            "over": model.over_separation_,
        }
        if seed == 0 and layout in PICTURED:
            found[layout]["map"] = np.round(model.layout_embedding_, 5).tolist()
    return found


def table_10(seed):
    """Errors of PHATE and of PCA on one noise set: lists by dimension, then by variable."""
    from sklearn.decomposition import PCA

    experiment, _ = rf_phate_data.iris_noise(seed)
    phate, pca = [], []
    for d in (2, 3, 4):
        phate.append(errors(PHATE(d, random_state=seed).fit_transform(experiment.X), experiment.cells, seed))
        pca.append(errors(PCA(d, random_state=seed).fit_transform(experiment.X), experiment.cells, seed))
    return {"phate": phate, "pca": pca, "names": [cell.variable for cell in experiment.cells]}


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


def table_lines(parts):
    """PHATE's column beside ours: sepals in centimetres, petals as ratios to PCA's error."""
    ours = {kind: np.array([part[kind] for part in parts]) for kind in ("phate", "pca")}  # (sets, dims, variables)
    names, counts = parts[0]["names"], {"won": 0, "tied": 0, "lost": 0}
    lines = [f"\n## PHATE on Iris with 1000 noise variables (Table 10), {len(parts)} noise sets\n"]
    lines += ["| variable | dims | paper | ours | sd | verdict |", "|---|---|---|---|---|---|"]
    for name, (paper, pca) in TABLE_10.items():
        i = names.index(name)
        for k, d in enumerate((2, 3, 4)):
            figures, target, label = ours["phate"][:, k, i], paper[k], name
            if pca is not None:
                figures, target = figures / ours["pca"][:, k, i], paper[k] / pca[k]
                label = f"{name}, ratio to PCA"
            mean, sd = figures.mean(), figures.std(ddof=1) if len(figures) > 1 else 0.0
            verdict = "won" if mean <= target + 5e-5 else "tied" if mean <= target + sd else "lost"
            counts[verdict] += 1
            lines.append(f"| {label} | {d} | {target:.4g} | {mean:.4g} | {sd:.2g} | {verdict} |")
    return lines, counts


def picture(experiments, parts, path):
    """Fig. 9: the layouts of the first seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

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
    figure.savefig(path, dpi=100)
    plt.close(figure)
    Image.open(path).convert("RGB").quantize(224, dither=Image.Dither.NONE).save(path, optimize=True)


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
RF-PHATE is made. Placing rows through the leaves costs accuracy where trees are weak (Iris
with noise); it is what makes a new row's place independent of all others.

Petal errors of Table 10 fit neither centimetres nor standard deviations (1.196 for the petal width exceeds its standard
deviation of 0.76 cm), so they are compared as ratios to the error of PCA in the same table.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--noise-sets", type=int, default=10)
    parser.add_argument("--digits", type=int, default=2000)
    parser.add_argument("--parts", default=None, help="folder of the parts; a new one by default")
    parser.add_argument("--out", default=None, help="also write the page to this file, and the picture beside it")
    arguments = parser.parse_args()
    store = Store(arguments.parts or tempfile.mkdtemp(prefix="forest-family-"))
    tens = [store.get(f"table10-{seed}", lambda s=seed: table_10(s)) for seed in range(arguments.noise_sets)]
    experiments = sets(arguments.digits)
    parts = {
        name: [
            store.get(f"{name}-{len(experiment.X)}-{seed}", lambda e=experiment, s=seed: family(e, s))
            for seed in range(arguments.seeds)
        ]
        for name, experiment in experiments.items()
    }
    lines = [line for name, experiment in experiments.items() for line in family_lines(experiment, parts[name])]
    more, counts = table_lines(tens)
    head = (
        ", ".join(f"{word} {number}" for word, number in counts.items())
        + f" of the {sum(counts.values())} cells of PHATE's column of Table 10"
    )
    stamp = (
        f"{datetime.date.today()}; manifolia {manifolia.__version__}, scikit-learn {sklearn.__version__}, Python "
        f"{platform.python_version()}; forest seeds 0 to {arguments.seeds - 1}"
    )
    print("\n".join([*lines, *more, "", head, stamp]))
    if arguments.out:
        out = pathlib.Path(arguments.out)
        (out.parent / "images").mkdir(exist_ok=True)
        picture(experiments, parts, out.parent / "images" / "forest-family.png")
        four, six = LAYOUTS.keys() & set(PICTURED), set(LAYOUTS)
        notes = NOTES.format(
            four=best(parts, "layout", four),
            four_placed=best(parts, "placed", four),
            six=best(parts, "layout", six),
            six_placed=best(parts, "placed", six),
        )
        protocol = "Fig. 9 (appendix" + __doc__.split("Fig. 9 (appendix")[1]
        text = [f"# The forest family\n\n{head}\n\n{stamp}\n\n{protocol}"]
        text += [
            "![Layouts of forest proximities](images/forest-family.png)\n",
            "Colours: species, digit, price.",
            *lines,
            *more,
            notes,
        ]
        out.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
