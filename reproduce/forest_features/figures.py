"""Forest features: Figs. 3 to 8, drawn anew."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from reproduce.forest_features import multilabel
from reproduce.forest_features.binary import SIZES
from reproduce.forest_features.page import stacked

from manifolia import ForestFeatures, datasets
from manifolia.show import DensityDisplay

_PLACES = ((0.08, 0.0), (0.7, 0.0), (0.08, 0.75), (0.7, -0.6))  # left: the border swings; right: it hardly moves


def save(figure, folder, name):
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=80, pil_kwargs={"optimize": True})


def scatter(found, key, title, name, folder):
    """Figs. 6 and 7: a point above the diagonal is a set on which induced features win."""
    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    ax = figure.subplots()
    for label, repetitions in found.items():
        f = stacked(repetitions)
        x, y = f[f"{key}0"].mean(), f[key].mean()
        ax.plot(x, y, "o", color="#0072b2" if y > x else "#d55e00", markersize=6)
        if abs(y - x) > 0.04:
            side = -1 if y > x > 0.72 else 1  # away from the diagonal, inside the frame
            look = {"ha": "right" if side < 0 else "left", "va": "center", "fontsize": 8}
            ax.annotate(label, (x, y), xytext=(7 * side, 0), textcoords="offset points", **look)
    ax.axline((0.8, 0.8), slope=1, color="0.6", linewidth=1)
    ax.set(title=title, xlabel="original features", ylabel="induced features", aspect="equal")
    low = min(min(ax.get_xlim()), min(ax.get_ylim()))
    ax.set(xlim=(low, 1.01), ylim=(low, 1.01))
    save(figure, folder, name)


def learning(found, folder):
    """Fig. 5."""
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    ax = figure.subplots()
    sizes = [n for n in SIZES if str(n) in found]
    looks = (("kernel", "SVM, forest kernel", "o-"), ("forest", "forest", "s--"), ("gaussian", "SVM, Gaussian", "^:"))
    for key, label, style in looks:
        ax.plot(sizes, [np.mean([one[key] for one in found[str(n)]]) for n in sizes], style, label=label)
    ax.axhline(0.965, color="0.6", linewidth=1)
    ax.annotate("the paper's forest kernel, largest set", (sizes[0], 0.967), fontsize=8, color="0.35")
    ax.set(xscale="log", xlabel="training rows", ylabel="accuracy", title="sin(1/x): accuracy on 1000 rows")
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.legend(loc="lower right")
    save(figure, folder, "learning")


def data(folder):
    """Fig. 3: rows of both classes, more of them where the border swings, and the places of Fig. 4."""
    drawn = datasets.make_sin_inverse(2000, random_state=0)
    X, y = np.asarray(drawn.data), np.asarray(drawn.target)
    figure = Figure(figsize=(8.0, 4.2), layout="constrained")
    ax = figure.subplots()
    for label, color in ((1, "#0072b2"), (0, "#e69f00")):
        name = "1: on or above sin(1/x)" if label else "0: below"
        ax.plot(*X[y == label].T, "o", color=color, markersize=2.5, alpha=0.7, label=f"class {name}")
    border = np.geomspace(X[:, 0].min(), X[:, 0].max(), 20_000)
    ax.plot(border, np.sin(1 / border), color="0.3", linewidth=0.6)
    ax.plot(*np.array(_PLACES).T, "+", color="black", markersize=13, markeredgewidth=2.5, label="places of Fig. 4")
    ax.set(title="sin(1/x): 2000 rows (Fig. 3)", xlabel="x", ylabel="y")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=1.5)
    save(figure, folder, "data")


def shapes(folder):
    """Fig. 4: the kernel around four places, two where the border swings and two where it hardly moves."""
    drawn = datasets.make_sin_inverse(2000, random_state=0)
    model = ForestFeatures(200, random_state=0).fit(drawn.data, drawn.target)
    x, y = np.meshgrid(np.linspace(0.03, 1, 160), np.linspace(-1, 1, 120))
    grid = np.column_stack([x.ravel(), y.ravel()])
    K = model.kernel(grid, np.array(_PLACES))
    figure = Figure(figsize=(8.4, 6.0), layout="constrained")
    border = np.linspace(0.03, 1, 2000)
    for ax, (u, v), k in zip(figure.subplots(2, 2).ravel(), _PLACES, K.T, strict=True):
        image = ax.pcolormesh(x, y, k.reshape(x.shape), vmin=0, vmax=1, cmap="cividis", rasterized=True)
        ax.plot(border, np.sin(1 / border), color="white", linewidth=0.7)
        ax.plot(u, v, "+", color="#d55e00", markersize=11, markeredgewidth=2)
        ax.set(title=f"kernel with the row at ({u}, {v})", xlabel="x", ylabel="y", ylim=(-1, 1))
    figure.colorbar(image, ax=figure.axes, label="K_RF", shrink=0.6)
    save(figure, folder, "shapes")


def densities(folder):
    """Fig. 8: test rows in a random plane and in that of the principal components, induced above, original below."""
    X, y, X_test, y_test = multilabel.newsgroups()
    model = multilabel.coded(X, y, X.shape[1], 0)
    spaces = {"induced features": (model.transform(X), model.transform(X_test)), "original features": (X, X_test)}
    for name in ("densities", "densities-principal"):
        figure = Figure(figsize=(7.6, 6.4), layout="constrained")
        for part, (title, (first, second)) in zip(figure.subfigures(2, 1), spaces.items(), strict=True):
            if name == "densities":
                planes = [multilabel.projected(second, seed) for seed in range(multilabel.PLANES)]
                Y = sorted(planes, key=lambda plane: multilabel.overlap(plane, y_test))[len(planes) // 2]
                title += f", random plane with the median overlap of {multilabel.PLANES}"
            else:
                Y = multilabel.principal(first, second)
                title += ", first two principal components of the training rows"
            low, high = np.quantile(Y, (0.01, 0.99), axis=0)
            inside = ((low <= Y) & (high >= Y)).all(axis=1)  # a few rows far away would leave a dot in an empty frame
            display = DensityDisplay.from_data(Y[inside], y_test[inside], class_names=multilabel.GROUPS)
            display.plot(part.subplots(1, 2), theme="light")
            part.suptitle(title, fontsize=11)
        save(figure, folder, name)


def pictures(found, folder):
    """All that the measured parts allow."""
    if "uci" in found:
        scatter(found["uci"], "nn1", "1-NN accuracy (Fig. 6)", "nearest", folder)
        scatter(found["uci"], "acc", "linear SVM, accuracy (Fig. 7)", "svm", folder)
    if "sin" in found:
        data(folder)
        learning(found["sin"], folder)
        shapes(folder)
    if "projection" in found:
        densities(folder)
