"""Make the pictures of README.md and of the site's pages: ``python docs/make_images.py [NAME ...]``.

Names are those of `PICTURES`; without one, all are made. The page's picture needs chromium and playwright; without them
that one is left as it is.
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import manifolia as mf
from manifolia.cli import main as command_line
from manifolia.methods.forest_map import LAYOUTS
from manifolia.show import (
    ConvergenceDisplay,
    FeatureFieldDisplay,
    MapDisplay,
    ProximityDisplay,
    SensitivityDisplay,
    SettingDisplay,
)

FOLDER = Path(__file__).parent / "images"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def save(figure: Figure, name: str) -> None:
    """Write a picture with 256 colours, a third of the bytes."""
    path = FOLDER / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=100)
    picture = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)


def digits(test_size: float | int = 0.2):
    """Return 8 × 8 digits: training rows, new rows, and their classes."""
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, test_size=test_size, stratify=y, random_state=0)


def noisy_wine():
    """Return wines with a hundred columns of noise, half of them new: training rows, new rows, and their cultivars."""
    X, y = load_wine(return_X_y=True)
    X = scale(np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 100))]))
    names = np.array(["cultivar 1", "cultivar 2", "cultivar 3"])[y]
    return train_test_split(X, names, test_size=0.5, stratify=names, random_state=0)


# --- first page ------------------------------------------------------------------------------------------------------


def draw_digits() -> None:
    X, X_new, y, y_new = digits()
    model = mf.RFPHATE(random_state=0).fit(X, y)
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    heat, plane = figure.subplots(1, 2, width_ratios=[1.05, 1.0])
    ProximityDisplay.from_data(model.proximity_matrix(), y, max_cells=200, title="proximity").plot(heat)
    heat.set_title("Which digits speak for which, for a random forest")
    MapDisplay.from_estimator(model, y, X_new=X_new, y_new=y_new).plot(plane)
    plane.set_title(f"The map; diamonds are {len(X_new)} new digits")
    save(figure, "digits")


def photograph_page() -> None:
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser_path is None:
        print("no chromium: the picture of the page is left as it is")
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command_line(["demo", f"{folder}/demo", "--data", "digits", "--quiet"], standalone_mode=False)
        browser = playwright.chromium.launch(executable_path=browser_path, args=CHROMIUM)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(Path(folder, "demo", "map.html").absolute().as_uri())
        page.wait_for_timeout(1000)
        for _ in range(9):
            page.keyboard.press("]")  # the next row: its panel says why it is where it is
        page.wait_for_timeout(1500)
        page.screenshot(path=FOLDER / "page.png")
        browser.close()


# --- pages of the methods --------------------------------------------------------------------------------------------


def draw_rf_phate() -> None:
    X, X_new, names, new_names = noisy_wine()
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    components = PCA(2).fit(X)
    places = components.transform(X), components.transform(X_new)
    MapDisplay.from_data(places[0], names, new=places[1], new_color=new_names).plot(left, legend=False)
    left.set_title("Principal components")
    model = mf.RFPHATE(random_state=0).fit(X, names)
    MapDisplay.from_estimator(model, names, X_new=X_new, y_new=new_names).plot(right)
    right.set_title("RF-PHATE of the same rows")
    save(figure, "methods/rf-phate")


def draw_guided_map() -> None:
    X, X_new, y, y_new = digits()
    plain = mf.RFPHATE(random_state=0).fit(X, y)
    sharp = mf.GuidedMap(forest=plain.forest_, random_state=0).fit(X, y)
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    for ax, title, model in zip(figure.subplots(1, 2), ("RFPHATE", "GuidedMap"), (plain, sharp), strict=True):
        display = MapDisplay.from_data(model.embedding_, y, kind="class", new=model.transform(X_new), new_color=y_new)
        display.plot(ax, legend=title == "GuidedMap")
        ax.set_title(title)
    save(figure, "methods/guided-map")


def draw_phate() -> None:
    tree = mf.datasets.make_tree(1000, random_state=0)
    branch = np.array([f"branch {number}" for number in tree.target])
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    MapDisplay.from_data(PCA(2).fit_transform(tree.data), branch).plot(left, legend=False)
    left.set_title("Principal components")
    model = mf.PHATE(random_state=0).fit(tree.data)
    MapDisplay.from_data(model.embedding_, branch).plot(right)
    right.set_title("PHATE of the same rows")
    save(figure, "methods/phate")


def draw_forest_map() -> None:
    X, _, y, _ = digits(997)
    figure = Figure(figsize=(10.0, 6.6), layout="constrained")
    first = mf.RFPHATE(random_state=0).fit(X, y)
    maps = {"RFPHATE": first.embedding_}
    for layout in LAYOUTS:
        model = mf.ForestMap(layout, forest=first.forest_, random_state=0).fit(X, y)
        maps[f'layout="{layout}"'] = model.embedding_
    for ax, (title, Y) in zip(figure.subplots(2, 3).flat, maps.items(), strict=True):
        MapDisplay.from_data(Y, y, kind="class").plot(ax, legend=False)
        ax.set_title(title)
    save(figure, "methods/forest-map")


def draw_featuremap() -> None:
    X, y = load_digits(return_X_y=True, as_frame=True)
    model = mf.FeatureMAP(random_state=0).fit(X)
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    MapDisplay.from_estimator(model, y).plot(left)
    left.set_title("The map, which has not seen the classes")
    FeatureFieldDisplay.from_estimator(model, "pixel_5_2").plot(right)
    right.set_title("Where one pixel grows")
    save(figure, "methods/featuremap")


def draw_kernel_tsne() -> None:
    X, X_new, y, y_new = digits(0.3)
    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    plain = mf.KernelTSNE(n_train=600, random_state=0).fit(X)
    MapDisplay.from_estimator(plain, y, X_new=X_new, y_new=y_new).plot(left, legend=False)
    left.set_title("KernelTSNE: 600 digits laid out, the rest by a formula")
    guided = mf.FisherKernelTSNE(n_train=600, random_state=0).fit(X, y)
    MapDisplay.from_estimator(guided, y, X_new=X_new, y_new=y_new).plot(right, legend=False)
    right.set_title("FisherKernelTSNE: guided by the classes")
    save(figure, "methods/kernel-tsne")


def draw_forest_features() -> None:
    X, X_new, names, new_names = noisy_wine()
    model = mf.ForestFeatures(random_state=0).fit(X, names)
    figure = Figure(figsize=(10.0, 4.6), layout="constrained")
    D = euclidean_distances(X_new, squared=True)
    kernels = {"columns": np.exp(-D / np.median(D)), "codes": model.kernel(X_new)}
    pairs = ~np.eye(len(D), dtype=bool)
    for ax, (what, K) in zip(figure.subplots(1, 2), kernels.items(), strict=True):
        low, high = np.quantile(K[pairs], [0.02, 0.98])
        scaled = np.clip((K - low) / (high - low), 0.0, 1.0)
        ProximityDisplay.from_data(scaled, new_names, title="likeness, scaled").plot(ax)
        ax.set_title(f"New wines, compared by their {what}")
    save(figure, "methods/forest-features")


def draw_baselines() -> None:
    from manifolia import registry

    X, X_new, names, new_names = noisy_wine()
    figure = Figure(figsize=(9.0, 7.6), layout="constrained")
    *axes, last = figure.subplots(2, 2).flat
    for ax, name in zip(axes, ("supervised-pca", "pls-da", "supervised-isomap"), strict=True):
        model = registry.get(name)()
        Y = model.fit_transform(X, names)
        MapDisplay.from_data(Y, names, new=model.transform(X_new), new_color=new_names).plot(ax, legend=False)
        ax.set_title(f"{name}: wines")
    X, X_new, y, y_new = digits(0.4)
    network = registry.get("parametric-tsne")(random_state=0)
    Y = network.fit_transform(X)
    MapDisplay.from_data(Y, y, kind="class", new=network.transform(X_new), new_color=y_new).plot(last, legend=False)
    last.set_title("parametric-tsne: digits")
    save(figure, "methods/baselines")


def draw_tuner() -> None:
    X, _, _, _ = digits(1297)
    options = {"subsample": 200, "n_repeats": 5, "n_trials": 14, "random_state": 0, "n_jobs": 1, "refit": False}
    space = {"n_neighbors": mf.Normalized(0.01, 0.5)}
    umap = mf.FeatureMAP(layout="edges", density_weight=0, n_epochs=200)
    tuner = mf.Tuner(umap, space, "auc_r_nx", **options).fit(X)
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    ConvergenceDisplay.from_estimator(tuner).plot(left)
    SettingDisplay.from_estimator(tuner).plot(right)
    save(figure, "methods/tuner")


def draw_tuning() -> None:
    X, _, _, _ = digits(1297)
    space = {"n_neighbors": mf.Normalized(0.01, 0.5), "min_dist": (0.0, 1.0)}
    options = {"subsample": 200, "n_repeats": 4, "n_pilot": 24, "n_trials": 30, "random_state": 0, "n_jobs": 1}
    umap = mf.FeatureMAP(layout="edges", density_weight=0, n_epochs=200)
    tuner = mf.Tuner(umap, space, "auc_r_nx", n_full=0, refit=False, **options).fit(X)
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    SettingDisplay.from_estimator(tuner).plot(left)
    SensitivityDisplay.from_estimator(tuner).plot(right)
    save(figure, "methods/tuning")


PICTURES: dict[str, Callable[[], None]] = {
    "digits": draw_digits,
    "page": photograph_page,
    "rf_phate": draw_rf_phate,
    "guided_map": draw_guided_map,
    "phate": draw_phate,
    "forest_map": draw_forest_map,
    "featuremap": draw_featuremap,
    "kernel_tsne": draw_kernel_tsne,
    "forest_features": draw_forest_features,
    "baselines": draw_baselines,
    "tuner": draw_tuner,
    "tuning": draw_tuning,
}


def main(names: list[str]) -> None:
    for name in names or list(PICTURES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PICTURES[name]()
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
