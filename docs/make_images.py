"""Make the pictures of README.md and of the site's first page: ``python docs/make_images.py``.

The page's picture needs chromium and playwright; without them that one is left as it is.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.cli import main as command_line
from manifolia.show import MapDisplay, ProximityDisplay

FOLDER = Path(__file__).parent / "images"
CHROMIUM = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def draw_digits() -> None:
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    model = mf.RFPHATE(random_state=0).fit(X, y)
    figure = Figure(figsize=(12.0, 5.0), layout="constrained")
    heat, plane = figure.subplots(1, 2, width_ratios=[1.05, 1.0])
    ProximityDisplay.from_matrix(model.proximity_matrix(), y, max_cells=200, title="proximity").plot(heat)
    heat.set_title("Which digits speak for which, for a random forest")
    MapDisplay.from_estimator(model, y, X_new=X_new, y_new=y_new).plot(plane)
    plane.set_title(f"The map; diamonds are {len(X_new)} new digits")
    figure.savefig(FOLDER / "digits.png", dpi=100, pil_kwargs={"optimize": True})


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


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    draw_digits()
    photograph_page()


if __name__ == "__main__":
    main()
