"""Pictures: ten tables in three guided maps, training rows pale and held-out rows in full colour."""

from __future__ import annotations

import warnings

import numpy as np
from reproduce._shared import pictures
from reproduce.guided import maps
from reproduce.guided.data import split

#: Tables whose licence lets pictures of them be shown (UCI's CC BY 4.0 and Fashion-MNIST's MIT).
PICTURED = (
    *("letter", "optdigits", "pendigits", "vowel", "fashion_mnist"),
    *("segment", "satimage", "glass", "vehicle", "splice"),
)
SHOWN = ("GuidedMap", "RF-PHATE", "supervised UMAP")
SEED = 0


def draw(path):
    """Draw the maps into one file; two tables stand beside each other."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shape = (len(PICTURED) // 2, 2 * len(SHOWN))
    figure, axes = plt.subplots(*shape, figsize=(13, 11), layout="constrained")
    for number, table in enumerate(PICTURED):
        data = split(table, SEED)
        line, half = divmod(number, 2)
        for column, name in enumerate(SHOWN):
            ax = axes[line, half * len(SHOWN) + column]
            one_map(ax, name, data)
            ax.set(xticks=[], yticks=[], title=name if line == 0 else "")
            ax.set_aspect("equal", adjustable="datalim")
        axes[line, half * len(SHOWN)].set_ylabel(table)
    pictures.save(figure, path, shades=224, dpi=90)
    plt.close(figure)


def one_map(ax, name, data):
    """One map; what cannot be made here says why."""
    from matplotlib import colormaps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = maps.place(name, data, SEED)
    except maps.NotFor as reason:
        ax.text(0.5, 0.5, str(reason), ha="center", va="center", transform=ax.transAxes)
        return
    names = np.unique(data.y)
    colors = colormaps["tab10" if len(names) <= 10 else "gist_rainbow"]
    tone = (lambda code: code) if len(names) <= 10 else (lambda code: code / (len(names) - 1))
    ax.scatter(*found.Y.T, c=colors(tone(np.searchsorted(names, data.y))), s=3, alpha=0.2, linewidths=0)
    ax.scatter(*found.Y_new.T, c=colors(tone(np.searchsorted(names, data.y_new))), s=4, linewidths=0)
