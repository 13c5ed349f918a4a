"""Make the colours of ``manifolia.show.palette``: print the lists that are frozen there.

Classes: Okabe and Ito's eight first, then one colour after another, each the one whose nearest colour among those
already chosen is farthest away. Distances are Euclidean in OKLab (Ottosson 2020) times 100, for normal vision and for
simulated protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes 2009, full severity); the smallest
counts, with that of deficient vision stretched: their space of colours is flatter, and without it colours that are far
apart for most people would never be reached.

Scales: a stretch of viridis (CC0), without the end that is faint on the background, and a diverging scale that runs
straight through OKLab from one end to a grey middle and on to the other end.

Run: python docs/make_palette.py
"""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.colors import to_hex, to_rgb

N_CLASSES = 40
STEP = 8  # of the grid of candidates, in 1/255
STRETCH = {"normal": 1.0, "protan": 2.0, "deutan": 2.0, "tritan": 3.0}  # tritanopia is some hundred times rarer
DARKEST = 33.0  # lightness of a candidate: below, hues cannot be named, whatever their distance
OTHER = "#8C8C8C"
#: Background, smallest contrast with it, the first colours: the eight, and on white two more by hand, because the two
#: farthest ones are both purple for most people.
THEMES = {
    "light": (
        "#FFFFFF",
        2.0,
        ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#564C00", "#6800F8", "#A81060"],
    ),
    "dark": (
        "#15181D",
        3.0,
        ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#F2F2F2", "#F0E442"],
    ),
}
N_STOPS = 17
VIRIDIS = {"light": (0.0, 0.85), "dark": (0.2, 1.0)}
DIVERGING = {"light": ("#003F7D", "#B9B9B9", "#8F3400"), "dark": ("#7FC8FF", "#5E5E5E", "#FFB070")}

# Table 1 of Machado et al. 2009, severity 1.0; they act on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# Ottosson 2020: linear sRGB to cone responses, and their cube roots to Lab.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(rgb: np.ndarray) -> np.ndarray:
    """Undo the gamma of sRGB."""
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def gamma(rgb: np.ndarray) -> np.ndarray:
    """Apply the gamma of sRGB."""
    rgb = np.clip(rgb, 0.0, 1.0)
    return np.where(rgb <= 0.0031308, rgb * 12.92, 1.055 * rgb ** (1 / 2.4) - 0.055)


def lab(rgb: np.ndarray, vision: str = "normal") -> np.ndarray:
    """OKLab times 100 of sRGB colours as seen with that vision."""
    seen = np.clip(linear(rgb) @ VISIONS[vision].T, 0.0, 1.0)
    return 100.0 * np.cbrt(seen @ TO_CONES.T) @ TO_LAB.T


def from_lab(values: np.ndarray) -> np.ndarray:
    """Return the sRGB colours of OKLab times 100."""
    cones = (values / 100.0 @ np.linalg.inv(TO_LAB).T) ** 3
    return gamma(cones @ np.linalg.inv(TO_CONES).T)


def luminance(rgb: np.ndarray) -> np.ndarray:
    """Relative luminance of WCAG."""
    return linear(rgb) @ np.array([0.2126, 0.7152, 0.0722])


def contrast(rgb: np.ndarray, background: str) -> np.ndarray:
    """Contrast ratio of WCAG, from 1 to 21."""
    a, b = luminance(rgb), luminance(np.array(to_rgb(background)))
    return (np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05)


def classes(background: str, least: float, first: list[str]) -> list[str]:
    """Extend the first colours to N_CLASSES."""
    values = np.arange(0, 256, STEP) / 255.0
    grid = np.stack(np.meshgrid(values, values, values, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[(contrast(grid, background) >= least) & (lab(grid)[:, 0] >= DARKEST)]
    nearest = np.full(len(grid), np.inf)
    seen = {vision: lab(grid, vision) for vision in STRETCH}

    def keep_away(color: str) -> None:
        for vision, stretch in STRETCH.items():
            gap = np.linalg.norm(seen[vision] - lab(np.array(to_rgb(color)), vision), axis=1)
            np.minimum(nearest, stretch * gap, out=nearest)

    chosen = list(first)
    for color in [*first, OTHER]:
        keep_away(color)
    while len(chosen) < N_CLASSES:
        chosen.append(to_hex(grid[int(np.argmax(nearest))]).upper())
        keep_away(chosen[-1])
    return chosen


def smallest_distances(colors: list[str]) -> dict[str, float]:
    """For each vision the distance of the two most alike."""
    rgb = np.array([to_rgb(color) for color in colors])
    found = {}
    for vision in VISIONS:
        points = lab(rgb, vision)
        gaps = np.linalg.norm(points[:, None] - points[None], axis=2)
        found[vision] = float(gaps[np.triu_indices(len(colors), 1)].min())
    return found


def sequential(theme: str) -> list[str]:
    """Stops of the scale for values."""
    low, high = VIRIDIS[theme]
    return [to_hex(color).upper() for color in matplotlib.colormaps["viridis"](np.linspace(low, high, N_STOPS))]


def diverging(theme: str) -> list[str]:
    """Stops of the scale for values around a middle."""
    ends = lab(np.array([to_rgb(color) for color in DIVERGING[theme]]))
    place = np.linspace(0.0, 2.0, N_STOPS)
    points = np.column_stack([np.interp(place, [0.0, 1.0, 2.0], ends[:, axis]) for axis in range(3)])
    return [to_hex(color).upper() for color in from_lab(points)]


def main() -> None:
    for theme, (background, least, first) in THEMES.items():
        colors = classes(background, least, first)
        print(f"{theme} classes: {colors}")
        for n in (8, 10, 20, 30, 40):
            gaps = ", ".join(f"{name} {gap:.1f}" for name, gap in smallest_distances(colors[:n]).items())
            print(f"  the two most alike of {n}: {gaps}")
        for name, stops in (("sequential", sequential(theme)), ("diverging", diverging(theme))):
            rgb = np.array([to_rgb(color) for color in stops])
            print(f"{theme} {name}: {stops}")
            print(f"  contrast at least {contrast(rgb, background).min():.2f}, lightness {lab(rgb)[:, 0].round()}")


if __name__ == "__main__":
    main()
