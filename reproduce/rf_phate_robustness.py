"""What the RF-PHATE paper says of variables and settings: Table 8, Fig. 7, Fig. 8, and the number of trees.

    python reproduce/rf_phate_robustness.py [--full] [--out docs/results/rf-phate-robustness.md]

Table 8 ranks the variables of six sets by a forest, by ROC curves (R² of a straight line for a numeric target) and by
mutual information. Fig. 8 varies the steps t of the walk and the variables tried at a split (mtry) around their
defaults; the paper writes √n and n/3 for the default of mtry, where n is the number of rows: a slip, since mtry counts
variables, and √p and p/3 are meant. Without ``--full`` Optical Digits is a sample of 1,500 rows.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import time
import warnings

import numpy as np
import pandas as pd
import rf_phate_data
import sklearn
from matplotlib.figure import Figure
from rf_phate import errors
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics import roc_auc_score

import manifolia
from manifolia import RFPHATE, datasets
from manifolia.affinity.forest import proximity
from manifolia.exceptions import ManifoliaWarning

SAMPLE = 1_500
N_TREES = 500
TREES = (50, 100, 250, 500, 1000)
NODE_SIZES = (1, 5, 10, 20, 40)
SHARES = (0.5, 0.75, 1.0, 1.5, 2.0)  # of the default mtry, and of the chosen t
#: The paper's three first variables by forest, ROC or R², and mutual information.
TABLE_8 = {
    "Iris": ("PL PW SL", "PL PW SW", "PL PW SL"),
    "Optical Digits": ("V43 V22 V44", "V22 V43 V31", "V43 V22 V31"),
    "Titanic": ("Sex Class Fare", "Sex Fare Class", "Age Fare Sex"),
    "Ames": ("OverallQual GrLivArea ExterQual", "OverallQual GrLivArea TotalBsmtSF", None),
    "Sonar": ("Band11 Band12 Band9", "Band11 Band12 Band10", "Band9 Band11 Band12"),
    "German": ("V23 V6 V22", "V23 V10 V6", "V4 V10 V23"),
}


def tables():
    """Name, table of one column per variable (categories as codes), target, and whether it is numeric."""
    iris = load_iris()
    yield "Iris", pd.DataFrame(iris.data, columns=["SL", "SW", "PL", "PW"]), iris.target, False
    loaded = datasets.load("optdigits")
    yield "Optical Digits", _numbered(loaded.data), np.asarray(loaded.target), False
    frame = datasets.load("titanic").frame.drop(columns=["Name", "Ticket", "Cabin", "PassengerId"]).dropna()
    frame = frame.rename(columns={"Pclass": "Class"})
    yield "Titanic", _coded(frame.drop(columns="Survived")), frame["Survived"].to_numpy(), False
    frame = datasets.load("ames_housing").frame.drop(columns="Id")
    for column in frame:
        frame[column] = frame[column].fillna(0 if pd.api.types.is_numeric_dtype(frame[column]) else "none")
    yield "Ames", _coded(frame.drop(columns="SalePrice")), frame["SalePrice"].to_numpy(dtype=float), True
    loaded = datasets.load("sonar")
    yield "Sonar", _numbered(loaded.data, "Band"), np.asarray(loaded.target), False
    data = np.asarray(datasets.load("german_credit_numeric").data, dtype=float)
    # The label is attribute 24: see the notes of rf_phate.py.
    yield "German", _numbered(data[:, :23]), data[:, 23].astype(int), False


def _numbered(X, letter="V"):
    return pd.DataFrame(np.asarray(X, dtype=float), columns=[f"{letter}{i + 1}" for i in range(np.shape(X)[1])])


def _coded(frame):
    """Categories as codes by the mean order of their names; a forest parts them, and so does a curve."""
    columns = {
        name: values if pd.api.types.is_numeric_dtype(values) else values.astype(str).astype("category").cat.codes
        for name, values in frame.items()
    }
    return pd.DataFrame(columns).astype(float).reset_index(drop=True)


def by_curve(X, y, *, numeric):
    """Largest area under the ROC curve of a variable over all pairs of classes, or R² of a straight line."""
    if numeric:
        return np.nan_to_num([np.corrcoef(column, y)[0, 1] ** 2 if np.ptp(column) else 0.0 for column in X.T])
    classes = np.unique(y)
    best = np.zeros(X.shape[1])
    for i, one in enumerate(classes):
        for other in classes[i + 1 :]:
            pair = (y == one) | (y == other)
            areas = np.array([roc_auc_score(y[pair] == one, column) for column in X[pair].T])
            best = np.maximum(best, np.maximum(areas, 1 - areas))
    return best


def ranking(frame, y, *, numeric):
    """The three first variables by each of the three measures."""
    X = frame.to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        model = RFPHATE(n_trees=N_TREES, random_state=0).fit(X, y)
    information = None if numeric else mutual_info_classif(X, y, random_state=0)
    measured = (model.feature_importances_, by_curve(X, y, numeric=numeric), information)
    return [
        None if values is None else list(frame.columns[np.argsort(-values, kind="stable")[:3]]) for values in measured
    ]


def table_8():
    """Lines of Table 8, and how many of the paper's names are among ours."""
    lines = ["| data | measure | paper | ours | in common | the first |", "|---|---|---|---|---|---|"]
    common = total = 0
    for name, frame, y, numeric in tables():
        found = ranking(frame, y, numeric=numeric)
        measures = ("forest", "R²" if numeric else "ROC", "mutual information")
        for measure, paper, ours in zip(measures, TABLE_8[name], found, strict=True):
            if paper is None:
                continue
            theirs = paper.split()
            shared = len(set(theirs) & set(ours))
            common, total = common + shared, total + 3
            same = "the same" if theirs[0] == ours[0] else "another"
            lines.append(f"| {name} | {measure} | {', '.join(theirs)} | {', '.join(ours)} | {shared} of 3 | {same} |")
        print(f"Table 8, {name}", flush=True)
    return lines, common, total


def node_sizes():
    """Fig. 7: mean proximity of two rows of Iris over the smallest node size."""
    X, y = load_iris(return_X_y=True)
    lines = ["| smallest node | mean proximity of two rows | the same, of two rows of one species |", "|---|---|---|"]
    apart = ~np.eye(len(y), dtype=bool)
    same = apart & (y[:, None] == y[None, :])
    for size in NODE_SIZES:
        forest = RandomForestClassifier(N_TREES, min_samples_leaf=size, random_state=0).fit(X, y)
        P = proximity(forest, X, kind="oob").toarray()
        lines.append(f"| {size} | {P[apart].mean():.3f} | {P[same].mean():.3f} |")
    return lines


def _forest(experiment, mtry, n_trees=N_TREES):
    kind = RandomForestRegressor if experiment.task == "regression" else RandomForestClassifier
    return kind(n_trees, max_features=mtry, bootstrap=True, oob_score=False, random_state=0)


def _around(middle, most):
    return sorted({int(np.clip(round(share * middle), 1, most)) for share in SHARES})


def heat(experiment):
    """Errors of the first variable over mtry (rows) and t (columns), with what is varied."""
    p = experiment.X.shape[1]
    default = np.sqrt(p) if experiment.task == "classification" else p / 3
    middle = RFPHATE(2, random_state=0, forest=_forest(experiment, max(1, round(default)))).fit(
        experiment.X, experiment.y
    )
    steps, tried = _around(middle.t_, 200), _around(default, p)
    errors_ = np.empty((len(tried), len(steps)))
    for i, mtry in enumerate(tried):
        forest = _forest(experiment, mtry).fit(experiment.X, experiment.y)
        for j, t in enumerate(steps):
            Y = (
                RFPHATE(2, random_state=0, forest=forest, t=t, task=experiment.task)
                .fit(experiment.X, experiment.y)
                .embedding_
            )
            errors_[i, j] = errors(Y, experiment.cells[:1], 0)[0]
    return tried, steps, errors_


def trees(experiment):
    """Errors of the first variable over the number of trees."""
    found = []
    for n_trees in TREES:
        model = RFPHATE(2, random_state=0, n_trees=n_trees, task=experiment.task).fit(experiment.X, experiment.y)
        found.append(errors(model.embedding_, experiment.cells[:1], 0)[0])
    return found


def draw(found, path):
    """Fig. 8: one heat map a set, all of one variable's errors divided by their median."""
    figure = Figure(figsize=(3.2 * len(found), 3.2), layout="constrained")
    for axes, (name, (tried, steps, values)) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        limits = {} if np.ptp(values) else {"vmin": 0, "vmax": 1}  # the same everywhere: no colours for nothing
        image = axes.imshow(values, cmap="cividis", aspect="auto", **limits)
        axes.set_xticks(range(len(steps)), steps)
        axes.set_yticks(range(len(tried)), tried)
        axes.set(xlabel="t", ylabel="mtry", title=name)
        figure.colorbar(image, ax=axes, shrink=0.8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


def sampled(experiment, n_rows):
    if n_rows is None or len(experiment.X) <= n_rows:
        return experiment
    rows = np.sort(np.random.default_rng(0).permutation(len(experiment.X))[:n_rows])
    cells = [cell._replace(values=np.asarray(cell.values)[rows]) for cell in experiment.cells]
    return experiment._replace(X=experiment.X[rows], y=experiment.y[rows], cells=cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="all rows of Optical Digits")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    begin = time.perf_counter()
    ranked, common, total = table_8()
    sizes = node_sizes()
    maps, counts = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        for name in ("sonar", "titanic", "optical", "ames"):
            experiment = sampled(rf_phate_data.EXPERIMENTS[name](), None if arguments.full else SAMPLE)
            maps[experiment.name] = heat(experiment)
            counts[experiment.name] = (experiment.cells[0], trees(experiment))
            print(f"Fig. 8, {experiment.name}", flush=True)
    lines = [
        "# RF-PHATE: variables and settings",
        "",
        f"{common} of the {total} names in the paper's Table 8 are among our first three.",
        "",
        f"{datetime.date.today()}; manifolia {manifolia.__version__}, scikit-learn {sklearn.__version__}, Python "
        f"{platform.python_version()}; seed 0, {N_TREES} trees; {time.perf_counter() - begin:.0f} s.",
        "",
        __doc__.split("\n\n", 2)[2].strip(),
        "",
        "## Table 8: which variables matter",
        "",
        *ranked,
        "",
        "Mutual information is estimated from nearest neighbours, with another estimator than the paper's. Forest: "
        "loss of accuracy, or rise of the squared error, when a column is permuted among a tree's out-of-bag rows.",
        "",
        "## Fig. 7: node size",
        "",
        "Out-of-bag proximities of Iris. Larger leaves hold more pairs.",
        "",
        *sizes,
        "",
        "The paper shows growth for larger nodes. Here there is a small fall up to ten rows before it, whose cause was "
        "not looked into.",
        "",
        "## Fig. 8: steps and variables at a split",
        "",
        "![Errors over t and mtry on four sets](images/rf-phate-robustness.png)",
        "",
        "| data | variable | paper's figure | smallest | median | largest | largest over smallest |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, (_, _, values) in maps.items():
        cell = counts[name][0]
        ratio = f"{values.max() / values.min():.2f}" if values.min() > 0 else "–"
        lines.append(
            f"| {name} | {cell.variable} | {cell.paper[0]:.4g} | {values.min():.4g} | {np.median(values):.4g} "
            f"| {values.max():.4g} | {ratio} |"
        )
    lines += [
        "",
        "The map depends little on t. It depends on mtry where the variable is numeric: with twice the default its "
        "error on Ames is about a sixth lower. One seed; why was not tested.",
    ]
    lines += ["", "## The number of trees", "", f"| data | variable |{'|'.join(f' {n} ' for n in TREES)}|"]
    lines.append("|---" * (2 + len(TREES)) + "|")
    for name, (cell, found) in counts.items():
        lines.append(f"| {name} | {cell.variable} |{'|'.join(f' {value:.4g} ' for value in found)}|")
    print("\n".join(lines))
    if arguments.out:
        draw(maps, arguments.out.parent / "images" / "rf-phate-robustness.png")
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
