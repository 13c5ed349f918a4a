"""Make the picture of README.md and of the site's first page: ``python docs/make_images.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia._demo import PALETTE, draw_map, new_figure
from manifolia.show import ProximityDisplay

FOLDER = Path(__file__).parent / "images"


def main() -> None:
    X, y = load_digits(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    model = mf.RFPHATE(random_state=0).fit(X, y)

    figure = new_figure(11.0, 5.0)
    heat, plane = figure.subplots(1, 2, width_ratios=[1.15, 1.0])
    ProximityDisplay.from_matrix(model.proximity_matrix(), y, max_cells=200, title="proximity").plot(heat)
    heat.set_title("Which digits speak for which, for a random forest")
    draw_map(plane, model.embedding_, y)
    Y_new = model.transform(X_new)
    plane.scatter(
        Y_new[:, 0], Y_new[:, 1], s=30, facecolors="none", edgecolors=np.array(PALETTE)[y_new], linewidths=1.1
    )
    plane.set_title(f"The map; rings are {len(X_new)} new digits")
    FOLDER.mkdir(exist_ok=True)
    figure.set_layout_engine("compressed")
    figure.savefig(FOLDER / "digits.png", dpi=100, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
