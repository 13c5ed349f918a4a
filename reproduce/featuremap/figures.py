"""Figures of the FeatureMAP paper: gradients (1), saliency (4, 5, 11), densities (7, 9, 10, 12), biplots (15 to 19).

A part computes, draws its pictures into FOLDER and returns the numbers that the page shows.
"""

from __future__ import annotations

import functools
import pathlib

import numpy as np
from matplotlib.figure import Figure
from reproduce._shared import pictures
from reproduce.featuremap.data import load
from reproduce.featuremap.peers import OURS, fit
from reproduce.featuremap.table import ARROWS
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from manifolia import FeatureMAP, metrics
from manifolia.explain.gradients import correlation_arrows
from manifolia.layout.initialize import pca_start
from manifolia.layout.tsne import tsne, tsne_neighbors
from manifolia.neighbors import kneighbors
from manifolia.show import (
    FeatureFieldDisplay,
    FeatureTableDisplay,
    GaugeDisplay,
    MapDisplay,
    SaliencyDisplay,
    TopArrowsDisplay,
)

FOLDER = pathlib.Path("images/featuremap")
LAMBDAS = (0.0, 0.03, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25)
SWEPT = 7_000  # rows of Fig. 7
PIXEL = 127  # counted from 0: row 4 from the top, column 15
PIXELS = [f"pixel{i}" for i in range(784)]
RELIABLE = 0.2  # below, arrows are hidden in pictures
N_CLUSTERS = 10
MEASURED = 2_000  # rows at which trustworthiness and radii are compared
FASHION = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def save(figure, name, dpi=80):
    """Write a picture in 256 colours, which halves it."""
    pictures.save(figure, FOLDER / f"{name}.png", shades=256, dpi=dpi, method=1)  # 1: Pillow's maximum coverage


@functools.cache
def digit_one(n_rows=None):
    """The images of digit 1, all or the first of them, and our map."""
    X, y = load("mnist")
    one = np.ascontiguousarray(X[y.astype(int) == 1][:n_rows])
    return one, FeatureMAP(random_state=0).fit(one)


@functools.cache
def map_of_ones(method, n_rows=None):
    """Another map of digit 1; None if it cannot be had."""
    X, model = digit_one(n_rows)
    if method == OURS:
        return model.embedding_
    if method == "PCA":
        return PCA(2, random_state=0).fit_transform(X)
    if method == "t-SNE":
        near = kneighbors(X, tsne_neighbors(30.0, len(X)), random_state=0)
        return tsne(near, pca_start(X, 2, random_state=0))
    return fit(method, X)


# --- Fig. 1 ---------------------------------------------------------------------------------------------------------


def gradients_part(n_rows):
    """Fig. 1: digit 1, a row with its ten largest arrows, its saliency, the gauges, and the field of one pixel."""
    X, model = digit_one(n_rows)
    row = int(np.random.default_rng(0).integers(len(X)))
    figure = Figure(figsize=(13.0, 8.4), layout="constrained")
    (a, b, c), (d, e, f) = figure.subplots(2, 3)
    MapDisplay.from_data(model.embedding_, np.log(radii(X)), name="log local radius in the data").plot(a)
    a.scatter(*model.embedding_[row], s=60, c="#D55E00", edgecolors="white", zorder=9)
    top = TopArrowsDisplay.from_estimator(model, row, top=10, feature_names=PIXELS).plot(b, size=2.0, reach=0.36)
    group = top.groups[0]
    tiles = SaliencyDisplay.from_estimator(model, [row], kind="gradient").plot(c)
    for tile in (tiles.image_tiles_[0], tiles.saliency_tiles_[0]):
        left, _, _, upper = tile.get_extent()
        places = np.column_stack([group.features % 28 + left, group.features // 28 + upper]) + 0.5
        c.scatter(*places.T, s=12, facecolors="none", edgecolors="#0072B2", linewidths=0.9)
    GaugeDisplay.from_estimator(model, n_shown=160).plot(d, size=2.0)
    FeatureFieldDisplay.from_estimator(model, PIXEL, feature_names=PIXELS, n_nodes=20).plot(e, size=3.0)
    FeatureFieldDisplay.from_estimator(model, PIXEL, feature_names=PIXELS, at="rows").plot(f, size=3.0)
    titles = (
        "a. Digit 1 and the row (orange)",
        "b, c. Its ten largest arrows",
        "d. The image, its saliency, these ten pixels",
        "e. Gauges: extents of the data",
        f"f. Pixel {PIXEL}: field",
        f"f. Pixel {PIXEL}: rows",
    )
    for ax, title in zip((a, b, c, d, e, f), titles, strict=True):
        ax.set_title(title, fontsize=10)
    save(figure, "fig1", dpi=72)
    return {
        "row": row,
        "features": group.features.tolist(),
        "reliability": group.reliability.tolist(),
        "importance": group.importance.tolist(),
        "rank": [int((model.feature_importance(rows=row)[0] > one).sum()) + 1 for one in group.importance],
        "shown": len(FeatureFieldDisplay.from_estimator(model, PIXEL, n_nodes=20).positions),
        "hidden": FeatureFieldDisplay.from_estimator(model, PIXEL, n_nodes=20).n_hidden,
    }


# --- Fig. 4, 5, 11 --------------------------------------------------------------------------------------------------


def saliency_part(n_rows):
    """Fig. 4 and 11: the map of MNIST, saliency maps of ten digits and of twenty random rows."""
    X, y = load("mnist", n_rows)
    y = y.astype(int)
    model = FeatureMAP(random_state=0).fit(X)
    rng = np.random.default_rng(4)
    rows = [int(rng.choice(np.flatnonzero(y == digit))) for digit in range(10)]
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    MapDisplay.from_data(model.embedding_, y).plot(left, legend=False, size=0.5)
    left.set_title(f"MNIST, {len(X):,} rows", fontsize=10)
    SaliencyDisplay.from_estimator(model, rows, kind="gradient", titles=range(10)).plot(right, n_columns=5)
    right.set_title("One random image of each digit, and what varies about it", fontsize=10)
    save(figure, "fig4", dpi=72)
    twenty = rng.permutation(len(X))[:20]
    display = SaliencyDisplay.from_estimator(model, twenty, kind="gradient").plot(n_columns=10)
    save(display.figure_, "fig11", dpi=72)
    edge = [edge_share(X[i].reshape(28, 28), model.feature_importance(rows=i)[0].reshape(28, 28)) for i in twenty]
    return {"rows": len(X), "edge": float(np.mean(edge)), "area": float(np.mean([edge_area(X[i]) for i in twenty]))}


def edge_mask(image):
    """Pixels at which the image changes: the steeper half of those that change at all."""
    steep = np.hypot(*np.gradient(image.astype(float)))
    return steep >= np.quantile(steep[steep > 0], 0.5)


def edge_share(image, saliency):
    """Share of the squared importance that is at edges."""
    return float((saliency**2)[edge_mask(image)].sum() / (saliency**2).sum())


def edge_area(pixels):
    """Share of the image that edges take."""
    return float(edge_mask(pixels.reshape(28, 28)).mean())


def objects_part(n_rows):
    """Fig. 5: saliency maps of Fashion-MNIST, and of scikit-learn's digits: COIL-20's photographs may not be shown."""
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    upper, lower = figure.subplots(2, 1)
    X, y = load("fashion_mnist", min(n_rows or 10_000, 10_000))
    rows = [int(np.flatnonzero(y.astype(int) == kind)[0]) for kind in range(10)]
    model = FeatureMAP(random_state=0).fit(X)
    SaliencyDisplay.from_estimator(model, rows, kind="gradient", titles=FASHION).plot(upper)
    upper.set_title(f"Fashion-MNIST, {len(X):,} rows", fontsize=10)
    X, y = load_digits(return_X_y=True)
    rows = [int(np.flatnonzero(y == digit)[0]) for digit in range(10)]
    model = FeatureMAP(random_state=0).fit(X)
    SaliencyDisplay.from_estimator(model, rows, kind="gradient", titles=range(10)).plot(lower)
    lower.set_title(f"Digits of 8 × 8 pixels, {len(X):,} rows", fontsize=10)
    save(figure, "fig5")
    return {}


# --- Fig. 7 ---------------------------------------------------------------------------------------------------------


def sweep_part(n_rows):
    """Fig. 7: the weight of the density term."""
    X, _ = load("mnist", min(n_rows or SWEPT, SWEPT))
    one = digit_one(n_rows)[0][:SWEPT]
    found = {}
    for name, data in (("MNIST", X), ("digit 1", one)):
        near = kneighbors(data, 15, random_state=0)
        lines = []
        for weight in LAMBDAS:
            model = FeatureMAP(random_state=0, density_weight=weight, neighbors=near).fit(data)
            trust = metrics.trustworthiness(data, model.embedding_, 10, sample=min(MEASURED, len(data)), random_state=0)
            along = [float(rho) for rho in model.radius_correlation_]
            lines.append([weight, *along, float(model.anisotropy_correlation_), float(trust)])
        found[name] = {"rows": len(data), "lines": lines}
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for ax, (name, swept) in zip(figure.subplots(1, 2, sharey=True), found.items(), strict=True):
        lines = np.array(swept["lines"])
        labels = ("radius, direction 1", "radius, direction 2", "anisotropy", "trustworthiness (10)")
        for column, label, style in zip(range(1, 5), labels, ("-", "--", "-.", ":"), strict=True):
            color = ("#0072B2", "#D55E00", "#009E73", "#000000")[column - 1]
            ax.plot(lines[:, 0], lines[:, column], style, color=color, marker=".", label=label)
        ax.set(title=f"{name}, {swept['rows']:,} rows", xlabel="λ (density_weight)")
        ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    save(figure, "fig7")
    return found


# --- Fig. 9, 10, 12 -------------------------------------------------------------------------------------------------


def radii(data, k=15):
    """Mean squared distance to the k nearest rows."""
    return (kneighbors(data, k, random_state=0).distances.astype(float) ** 2).mean(axis=1)


def density_part(n_rows):
    """Fig. 9, 10, 12: local radii of digit 1 in data and maps, and its sparse cluster."""
    X, model = digit_one(n_rows)
    maps = {"FeatureMAP, default": model.embedding_}
    for weight in (0.5, 0.0):
        maps[f"FeatureMAP, λ = {weight:g}"] = FeatureMAP(random_state=0, density_weight=weight).fit(X).embedding_
    maps |= {name: map_of_ones(name, n_rows) for name in ("UMAP", "densMAP")}
    maps = {name: np.asarray(Y, dtype=float) for name, Y in maps.items() if Y is not None}
    components = PCA(50, random_state=0).fit_transform(X)
    clusters = KMeans(N_CLUSTERS, n_init=10, random_state=0).fit_predict(components)
    in_data = np.log(radii(X))
    sparse = int(np.argmax([np.median(in_data[clusters == one]) for one in range(N_CLUSTERS)]))
    inside = clusters == sparse
    few = {"sample": min(MEASURED, len(X)), "random_state": 0}
    lines = {}
    for name, Y in maps.items():
        near = np.log(radii(Y) + 1e-12)
        lines[name] = {
            "radius": float(metrics.radius_correlation(X, Y, **few)),
            "directions": [float(one) for one in metrics.radius_correlation(X, Y, directions=True, **few)],
            "anisotropy": float(metrics.anisotropy_correlation(X, Y, **few)),
            "trust": float(metrics.trustworthiness(X, Y, 10, **few)),
            "sparse": float(np.exp((np.median(near[inside]) - np.median(near[~inside])) / 2)),
        }
    _draw_densities(maps, in_data, inside, lines)
    _draw_members(X, inside)
    ratio = float(np.exp((np.median(in_data[inside]) - np.median(in_data[~inside])) / 2))
    return {"rows": len(X), "members": int(inside.sum()), "data": ratio, "lines": lines}


def _draw_densities(maps, in_data, inside, lines):
    shown = [name for name in ("FeatureMAP, default", "FeatureMAP, λ = 0.5", "UMAP", "densMAP") if name in maps]
    figure = Figure(figsize=(11.0, 3.3 * len(shown)), layout="constrained")
    for axes, name in zip(np.atleast_2d(figure.subplots(len(shown), 3)), shown, strict=True):
        Y, near = maps[name], np.log(radii(maps[name]) + 1e-12)
        MapDisplay.from_data(Y, in_data, name="log radius in the data").plot(axes[0], limits="robust", size=2.0)
        axes[0].set_title(name, fontsize=10)
        axes[1].scatter(in_data, near, s=1.5, c="#0072B2", alpha=0.25, linewidths=0, rasterized=True)
        slope, base = np.polyfit(in_data, near, 1)
        ends = np.percentile(in_data, [0.5, 99.5])
        axes[1].plot(ends, slope * ends + base, color="#D55E00")
        axes[1].set(xlabel="log radius in the data", ylabel="log radius in the map")
        axes[1].set_title(f"correlation {lines[name]['radius']:.2f}", fontsize=10)
        axes[1].spines[["top", "right"]].set_visible(False)
        labels = np.where(inside, "sparse cluster", "others")
        MapDisplay.from_data(Y, labels).plot(axes[2], labels=False, size=2.0)
        axes[2].set_title(f"sparse cluster: radius {lines[name]['sparse']:.2f} × the others'", fontsize=10)
    save(figure, "fig10", dpi=62)


def _draw_members(X, inside):
    rng = np.random.default_rng(12)
    members = rng.permutation(np.flatnonzero(inside))[:10]
    others = rng.permutation(np.flatnonzero(~inside))[:10]
    figure = Figure(figsize=(9.6, 2.6), layout="constrained")
    for ax, rows, title in zip(figure.subplots(2, 1), (members, others), ("sparse cluster", "others"), strict=True):
        display = SaliencyDisplay.from_data(None, X[rows], titles=[f"image {row}" for row in rows])
        display.plot(ax, cmap="gray_r", common_scale=True)
        ax.set_ylabel(title, fontsize=9)
    save(figure, "fig12")


# --- Fig. 15 to 19 --------------------------------------------------------------------------------------------------


def biplots_part(n_rows):
    """Fig. 15 to 19: the ten features that each method puts first, on digit 1."""
    X, model = digit_one(n_rows)
    rows = np.random.default_rng(0).permutation(len(X))[:ARROWS]
    methods = [name for name in ("PCA", "UMAP", "t-SNE", OURS) if map_of_ones(name, n_rows) is not None]
    biplot = Figure(figsize=(8.4, 3.7 * len(methods)), layout="constrained")
    tables = Figure(figsize=(13.0, 7.0), layout="constrained")
    cells = dict(zip(methods, tables.subplots(2, 2).flat, strict=False))
    found = {}
    for axes, name in zip(biplot.subplots(len(methods), 2), methods, strict=True):
        Y = np.asarray(map_of_ones(name, n_rows), dtype=float)
        if name == OURS:
            shown = FeatureTableDisplay.from_estimator(model, feature_names=PIXELS, title="Fig. 19: FeatureMAP, arrows")
            arrows = model.feature_gradients(rows=rows)
            middle = np.array([int(np.argmin(((Y - np.median(Y, axis=0)) ** 2).sum(axis=1)))])
            around = kneighbors(Y, 200, random_state=0).indices[middle[0]]
            TopArrowsDisplay.from_estimator(model, around, feature_names=PIXELS).plot(axes[0], size=2.0)
            FeatureFieldDisplay.from_estimator(model, PIXEL, feature_names=PIXELS, n_nodes=20).plot(axes[1], size=3.0)
            axes[0].set_title("FeatureMAP: arrows of 200 central rows", fontsize=10)
        else:
            loadings = PCA(2, random_state=0).fit(X).components_.T if name == "PCA" else None
            number = {"PCA": 16, "UMAP": 17, "t-SNE": 18}[name]
            kind = "loadings" if name == "PCA" else "correlations"
            title = f"Fig. {number}: {name}, {kind}"
            shown = FeatureTableDisplay.from_data(X, Y, arrows=loadings, feature_names=PIXELS, title=title)
            one = correlation_arrows(X, Y) if loadings is None else loadings
            arrows = np.broadcast_to(one, (len(rows), *one.shape))
            TopArrowsDisplay.from_data(X, Y, arrows=loadings, feature_names=PIXELS).plot(axes[0], size=2.0)
            alone = np.where(np.arange(784)[:, None] == PIXEL, one, 0.0)
            drawn = TopArrowsDisplay.from_data(X, Y, arrows=alone, feature_names=PIXELS, color=X[:, PIXEL])
            drawn.plot(axes[1], size=3.0, alpha=0.8)
            axes[0].set_title(f"{name}: ten largest {kind}", fontsize=10)
        axes[1].set_title(f"{name}: pixel {PIXEL}", fontsize=10)
        shown.plot(cells[name])
        trust = model.arrow_reliability(rows=rows) if name == OURS else np.ones((len(rows), 784))
        cosines = {int(one): growth(X, Y, arrows, rows, int(one)) for one in (*shown.features, PIXEL)}
        own = np.concatenate([cosines[int(one)] for one in shown.features])
        trusted = np.concatenate([trust[:, one] >= RELIABLE for one in shown.features])
        found[name] = {
            "features": shown.names,
            "contribution": shown.contribution.tolist(),
            "importance": shown.importance.tolist(),
            "value": shown.value.tolist(),
            "fidelity": float(own.mean()),
            "drawn": float(own[trusted].mean()),
            "share": float(trusted.mean()),
            "pixel": float(cosines[PIXEL].mean()),
            "pixel_drawn": float(cosines[PIXEL][trust[:, PIXEL] >= RELIABLE].mean()),
        }
    save(biplot, "fig15", dpi=64)
    save(tables, "fig16-19", dpi=72)
    return found


def growth(X, Y, arrows, rows, feature):
    """Cosine, row by row, between a feature's arrow and its slope over 30 neighbours in the map."""
    alone = np.ascontiguousarray(np.broadcast_to(arrows, (len(rows), 784, 2))[:, [feature]])
    column = np.ascontiguousarray(X[:, [feature]])
    return metrics.arrow_fidelity(column, Y, alone, rows, n_neighbors=30, n_features=1, pointwise=True)


PARTS = {
    "fig1": gradients_part,
    "fig10": density_part,
    "fig15": biplots_part,
    "fig7": sweep_part,
    "fig5": objects_part,
    "fig4": saliency_part,
}


# --- the page -------------------------------------------------------------------------------------------------------


def page(found):
    """Lines of the sections whose parts are there."""
    sections = {
        "fig7": _sweep,
        "fig10": _densities,
        "fig1": _gradients,
        "fig4": _saliency,
        "fig5": _objects,
        "fig15": _biplots,
    }
    lines = []
    for name, write in sections.items():
        if name in found:
            lines += ["", *write(found[name])]
    return lines


def _picture(name, words):
    return ["", f"![{words}](images/featuremap/{name}.png)"]


def _sweep(found):
    lines = ["## Fig. 7: the weight of the density term", ""]
    lines += ["The paper names no set. λ is in its units; it uses 0.5, our default is 0.03."]
    lines += _picture("fig7", "Correlations and trustworthiness over λ")
    for name, swept in found.items():
        lines += ["", f"{name}, {swept['rows']:,} rows:", ""]
        lines += [
            "| λ | radius correlation, directions 1 and 2 | anisotropy | trustworthiness (10) |",
            "|---" * 4 + "|",
        ]
        for weight, one, two, anisotropy, trust in swept["lines"]:
            lines.append(f"| {weight:g} | {one:.2f} and {two:.2f} | {anisotropy:.2f} | {trust:.3f} |")
    return lines


def _densities(found):
    lines = ["## Fig. 9, 10, 12: the sparse cluster of digit 1", ""]
    lines += [
        f"{found['rows']:,} ones of MNIST. The paper does not say how it clusters; here k-means with {N_CLUSTERS} "
        f"centres on 50 principal components, and the cluster with the largest radii in the data, {found['members']:,} "
        f"images, is the sparse one: its median radius there is {found['data']:.2f} times the others'. The last column "
        f"is the same in the map; radii are measured in one way in every map (15 neighbours), at {MEASURED:,} rows.",
        "",
        "| map | radius correlation | directions 1 and 2 | anisotropy | trustworthiness (10) | sparse cluster |",
        "|---" * 6 + "|",
    ]
    for name, row in found["lines"].items():
        along = " and ".join(f"{one:.2f}" for one in row["directions"])
        cells = f"{row['anisotropy']:.2f} | {row['trust']:.3f} | {row['sparse']:.2f}"
        lines.append(f"| {name} | {row['radius']:.2f} | {along} | {cells} |")
    lines += _picture("fig10", "Maps of digit 1 coloured by local radius, radii in data and map, the sparse cluster")
    return [*lines, *_picture("fig12", "Ten images of the sparse cluster and ten others")]


def _gradients(found):
    lines = ["## Fig. 1: arrows, gauges and a pixel's field", ""]
    names = ", ".join(str(one) for one in found["features"])
    low, high = min(found["reliability"]), max(found["reliability"])
    lines += [
        f"Digit 1, row {found['row']} drawn at random. Its ten largest arrows are those of pixels {names}, with "
        f"reliabilities from {low:.2f} to {high:.2f}; by importance (Eq. 4) they have ranks "
        f"{', '.join(str(one) for one in found['rank'])} of 784. Pixel {PIXEL} is counted from 0: row 4, column 15. "
        f"Its field has {found['shown']} nodes with an arrow; {found['hidden']} are hidden as unreliable.",
    ]
    return [*lines, *_picture("fig1", "Digit 1: ten largest arrows of a row, saliency, gauges, field of a pixel")]


def _saliency(found):
    lines = ["## Fig. 4 and 11: saliency maps of digits", ""]
    lines += [
        f"{found['edge']:.0%} of the squared importance of the twenty images below is at the steeper half of their "
        f"edges, which take {found['area']:.0%} of the image.",
    ]
    lines += _picture("fig4", "MNIST and saliency maps of one image of each digit")
    return [*lines, *_picture("fig11", "Twenty random digits and their saliency maps")]


def _objects(found):
    words = "The paper's second set, COIL-20, is for use that is not commercial; digits take its place in the picture."
    picture = _picture("fig5", "Saliency maps of Fashion-MNIST and of digits")
    return ["## Fig. 5: saliency maps of objects", "", words, *picture]


def _biplots(found):
    lines = ["## Fig. 15 to 19: the ten features that each method puts first", ""]
    lines += [
        "Digit 1. Principal components have loadings, UMAP and t-SNE one arrow per feature, its correlation with the "
        "axes (A.2.5, centred), FeatureMAP an arrow per feature and row. Fidelity: mean cosine between a method's "
        f"arrows of its own ten features, and of pixel {PIXEL}, and their slopes over 30 neighbours in its own map, at "
        f"{ARROWS} rows; after the slash of those arrows that a picture shows (FeatureMAP's with a reliability of "
        f"{RELIABLE} or more: {found[OURS]['share']:.0%} of them).",
        "",
        f"| method | ten features | fidelity: all / shown | of pixel {PIXEL} |",
        "|---" * 4 + "|",
    ]
    for name, row in found.items():
        features = ", ".join(one.removeprefix("pixel") for one in row["features"])
        cells = f"{row['fidelity']:.2f} / {row['drawn']:.2f} | {row['pixel']:.2f} / {row['pixel_drawn']:.2f}"
        lines.append(f"| {name} | {features} | {cells} |")
    lines += _picture("fig15", "Biplots of PCA, UMAP, t-SNE and arrows of FeatureMAP, and pixel 127 in each")
    return [*lines, *_picture("fig16-19", "Contribution, importance and value of the ten features of each method")]
