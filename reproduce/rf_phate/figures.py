"""The pictures of the RF-PHATE paper drawn with our maps: Fig. 1 to 6."""

from __future__ import annotations

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from reproduce._shared import pictures
from reproduce.rf_phate import data as sets
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.manifold import TSNE, Isomap

from manifolia import RFPHATE, datasets
from manifolia.baselines import PLSDA, EnhancedSupervisedIsomap, SupervisedPCA
from manifolia.exceptions import ManifoliaWarning
from manifolia.show.palette import class_colors

SEED = 0
SHADES = 200  # colours that are kept in a picture


def save(figure, path):
    """Write a picture in this page's colours and size."""
    pictures.save(figure, path, shades=SHADES, dpi=100)
    plt.close(figure)


def of(store, experiment):
    """The default map of a set in two dimensions, from the store or computed."""
    label = f"map-{experiment.name.split()[0].lower()}-{len(experiment.X)}"

    def made():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)
            model = RFPHATE(2, task=experiment.task, random_state=SEED).fit(experiment.X, experiment.y)
        return np.round(model.embedding_, 6).tolist()

    return np.array(store.get(label, made))


def dots(ax, Y, values, title, *, numeric, markers=None):
    """One map, coloured by numbers with a bar or by classes with a key."""
    ax.set(xticks=[], yticks=[])
    ax.set_title(title, fontsize=10)
    size = 14 if len(Y) < 900 else 7 if len(Y) < 2000 else 3
    if numeric:
        drawn = ax.scatter(*Y.T, c=values, s=size, cmap="viridis", linewidths=0)
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        bar.ax.tick_params(labelsize=8)
        return
    names = np.unique(values)
    for name, color in zip(names, class_colors(len(names)), strict=True):
        for shape, rows in (markers or {"o": np.ones(len(Y), dtype=bool)}).items():
            chosen = rows & (values == name)
            label = str(name) if shape == "o" else None
            ax.scatter(*Y[chosen].T, color=color, s=size, marker=shape, linewidths=0, label=label)
    beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if len(names) > 5 else {}
    ax.legend(fontsize=8, markerscale=4 if size < 7 else 1.4, frameon=False, handletextpad=0.1, borderpad=0.1, **beside)


def row_of(panels, path, width=4.1):
    """Panels beside one another: each the map, its values, a title, and whether they are numbers."""
    figure, axes = plt.subplots(1, len(panels), figsize=(width * len(panels), 3.7), layout="constrained")
    for ax, (Y, values, title, options) in zip(axes, panels, strict=True):
        dots(ax, Y, values, title, **options)
    save(figure, path)


NUMBERS, CLASSES = {"numeric": True}, {"numeric": False}


def titanic(store, path):
    """Fig. 1: those who died are diamonds."""
    experiment = sets.titanic()
    frame = datasets.load("titanic").frame.drop(columns=["Name", "Ticket", "Cabin"]).dropna()
    Y, died = of(store, experiment), experiment.y == 0
    shapes = {"numeric": False, "markers": {"o": ~died, "D": died}}
    sex, group = (cell.values for cell in experiment.cells)
    row_of([(Y, sex, "sex", shapes), (Y, group, "class", shapes), (Y, frame["Age"].to_numpy(), "age", NUMBERS)], path)


def large(store, path, n_digits):
    """Fig. 2: digits and houses."""
    digits = sets.sampled(sets.optical(), n_digits)
    ames = sets.ames()
    figure, axes = plt.subplots(2, 3, figsize=(12.3, 7.4), layout="constrained")
    lines = (
        (digits, digits.y, "digit", CLASSES, "Optical Digits"),
        (ames, np.log10(ames.y), "log10 of the price", NUMBERS, "Ames"),
    )
    for line, (experiment, target, title, options, name) in zip(axes, lines, strict=True):
        Y = of(store, experiment)
        dots(line[0], Y, target, f"{name}: {title}", **options)
        for ax, cell in zip(line[1:], experiment.cells, strict=False):
            dots(ax, Y, cell.values, cell.variable, **NUMBERS)
    save(figure, path)


def noise(store, path):
    """Fig. 3: Iris with a thousand noise variables, by methods without and with labels."""
    experiment, _ = sets.iris_noise(SEED)
    X, y = experiment.X, experiment.y
    sepals = np.column_stack([cell.values for cell in experiment.cells if cell.variable.startswith("sepal")])
    usual = RandomForestClassifier(500, max_features="sqrt", random_state=SEED, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifoliaWarning)
        panels = {
            "truth: sepal length and width": sepals,
            "RF-PHATE": of(store, experiment),
            "RF-PHATE, √p of the columns at a split": RFPHATE(2, forest=usual, random_state=SEED).fit(X, y).embedding_,
            "PCA": PCA(2, random_state=SEED).fit_transform(X),
            "Isomap": Isomap(n_neighbors=10).fit_transform(X),
            "t-SNE": TSNE(2, random_state=SEED).fit_transform(X),
            "PLS-DA": PLSDA(2).fit_transform(X, y),
            "supervised PCA": SupervisedPCA(2).fit_transform(X, y),
            "ES-Isomap": EnhancedSupervisedIsomap(2).fit_transform(X, y),
        }
    names = np.array(["setosa", "versicolor", "virginica"])[np.searchsorted(np.unique(y), y)]
    figure, axes = plt.subplots(3, 3, figsize=(10.5, 9.3), layout="constrained")
    for i, (ax, (title, Y)) in enumerate(zip(axes.ravel(), panels.items(), strict=True)):
        dots(ax, Y, names, title, **CLASSES)
        if i:
            ax.get_legend().remove()
    save(figure, path)


def flowers(path):
    """Fig. 4: every pair of Iris's four variables, and each by itself in the diagonal."""
    data = datasets.load("iris")
    names, values, species = list(data.feature_names), np.asarray(data.data), np.asarray(data.target)
    figure, axes = plt.subplots(4, 4, figsize=(9.2, 8.4), sharex="col", layout="constrained")
    for row, (down, line) in enumerate(zip(names, axes, strict=True)):
        for column, (along, ax) in enumerate(zip(names, line, strict=True)):
            x, y = values[:, column], values[:, row]
            for one, color in zip(np.unique(species), class_colors(3), strict=True):
                chosen = species == one
                if row == column:
                    ax.hist(x[chosen], bins=np.linspace(x.min(), x.max(), 16), color=color, alpha=0.6, label=str(one))
                else:
                    ax.scatter(x[chosen], y[chosen], color=color, s=8, linewidths=0)
            ax.tick_params(labelsize=7, labelleft=column == 0 and row != column)
            if row == 3:
                ax.set_xlabel(along, fontsize=9)
            if column == 0:
                ax.set_ylabel(down if row else "rows", fontsize=9)
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, path)


def sonar(store, path):
    """Fig. 5."""
    experiment = sets.sonar()
    Y = of(store, experiment)
    bands = [(Y, cell.values, cell.variable, NUMBERS) for cell in experiment.cells]
    row_of([(Y, experiment.y.astype(str), "class", CLASSES), *bands], path)


def german(store, path):
    """Fig. 6; the label is attribute 24, as the paper's table must have had it."""
    experiment = sets.german()
    Y = of(store, experiment)
    attributes = [
        (Y, cell.values.astype(int).astype(str), f"attribute {cell.variable[1:]}", CLASSES) for cell in experiment.cells
    ]
    row_of([(Y, experiment.y.astype(str), "label: attribute 24", CLASSES), *attributes], path)


def draw(store, folder, *, n_digits):
    """Draw all pictures into a folder; return the page's lines."""
    titanic(store, folder / "rf-phate-fig1.png")
    large(store, folder / "rf-phate-fig2.png", n_digits)
    noise(store, folder / "rf-phate-fig3.png")
    flowers(folder / "rf-phate-fig4.png")
    sonar(store, folder / "rf-phate-fig5.png")
    german(store, folder / "rf-phate-fig6.png")
    return PAGE.strip().splitlines()


PAGE = """
## Pictures

Default maps, seed 0.

Fig. 1, Titanic; diamonds are passengers who died.

![Titanic by sex, class and age](images/rf-phate-fig1.png)

Fig. 2, Optical Digits and Ames.

![Digits and houses by target and important variables](images/rf-phate-fig2.png)

Fig. 3, Iris with 1000 noise variables, first noise set.

![Nine maps of Iris with noise](images/rf-phate-fig3.png)

Fig. 4, the four variables of Iris.

![Pairs of Iris's variables by species](images/rf-phate-fig4.png)

Fig. 5, Sonar.

![Sonar by class and two bands](images/rf-phate-fig5.png)

Fig. 6, German Credit.

![German Credit by label and two attributes](images/rf-phate-fig6.png)
"""
