"""The pictures of the page on kernel t-SNE."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from reproduce._shared import pictures

from manifolia.show import MapDisplay
from manifolia.show.palette import class_colors

DPI = 110
COLORS = class_colors(8)
SHADES = 96  # colours that are kept in a picture: 60,000 points in full colour make a large file
RANDOM = {"color": "0.6", "linewidth": 1.0, "linestyle": ":"}


def save(figure, path):
    """Write a picture in this page's colours and size."""
    pictures.save(figure, path, shades=SHADES, dpi=DPI)
    plt.close(figure)


def draw_maps(name, found, path):
    """Fig. 4 to 6: training rows on the left, all rows on the right; a line for each method."""
    figure, axes = plt.subplots(len(found), 2, figsize=(8.4, 4.1 * len(found)), layout="constrained", squeeze=False)
    for line, (method, one) in zip(axes, found.items(), strict=True):
        train = one["train"]
        shown = ((f"{method}: {len(train):,} training rows", train), (f"all {len(one['y']):,} rows", slice(None)))
        for ax, (title, rows) in zip(line, shown, strict=True):
            MapDisplay.from_data(one["Y"][rows], color=one["y"][rows], kind="class").plot(
                ax, theme="light", legend=False
            )
            ax.set_title(title, fontsize=10)
    figure.suptitle(name, fontsize=12)
    save(figure, path)


def key(figure, handles):
    """One legend below all axes."""
    labels = [handle.get_label() for handle in handles]
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), fontsize=8, frameon=False)


def draw_curves(name, lines, path):
    """Fig. 7 and 8: the paper's curves in samples of 100 on the left, those at full resolution on the right."""
    figure, axes = plt.subplots(1, 2, figsize=(8.8, 4.3), layout="constrained", sharey=True)
    for label, (color, style, one) in lines.items():
        axes[0].plot(np.arange(1, len(one["small"]) + 1), one["small"], color=color, linestyle=style, label=label)
        axes[1].plot(one["k"], one["full"], color=color, linestyle=style, label=label)
    last = next(iter(lines.values()))[2]
    n_small, n_full = len(last["small"]) + 2, last["k"][-1] + 2
    for ax, n in ((axes[0], n_small), (axes[1], n_full)):
        ks = np.unique(np.geomspace(1, n - 2, 200))
        ax.plot(ks, ks / (n - 1), label="chance", **RANDOM)
        ax.set(ylim=(0, 1), xlabel="k")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_title(f"in {n_small} rows, as in the paper", fontsize=10)
    axes[1].set_title(f"in {n_full:,} rows, nothing thinned out", fontsize=10)
    axes[1].set_xscale("log")
    axes[0].set_ylabel("Q(k)")
    figure.suptitle(name, fontsize=11)
    key(figure, axes[0].get_lines())
    save(figure, path)


def draw_shares(shares, seconds, quality, path):
    """Fig. 2: quality on the left axis, processor time on the right one."""
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
    titles = ("among all rows of each kind", "among 500 rows of each kind")
    for ax, title, (train, test) in zip(axes, titles, quality, strict=True):
        for label, found, color in (("training rows", train, COLORS[0]), ("test rows", test, COLORS[1])):
            ax.plot(shares, found, marker="o", markersize=4, color=color, label=label)
        ax.set(xlabel="training rows, % of all", ylabel="Q_local", ylim=(0, 1))
        ax.set_title(title, fontsize=10)
        right = ax.twinx()
        right.plot(shares, seconds, marker="s", markersize=3, color="0.5", linestyle="--", label="time (right axis)")
        right.set(ylabel="processor seconds", ylim=(0, None))
        ax.spines["top"].set_visible(False)
        right.spines["top"].set_visible(False)
    key(figure, [*axes[1].get_lines(), *right.get_lines()])
    save(figure, path)


def draw_densities(edges, train, tests, path):
    """Fig. 3: training rows above zero, placed rows below; the whole on the left, then zoomed in."""
    figure, axes = plt.subplots(1, 1 + len(tests), figsize=(9.6, 3.4), layout="constrained")
    middle, width = (np.asarray(edges[1:]) + edges[:-1]) / 2, edges[1] - edges[0]
    top = 1.15 * max(np.max(values[5:]) for values in (train, *tests.values()))
    first = next(iter(tests))
    for ax, (label, values) in zip(axes, ((first, tests[first]), *tests.items()), strict=True):
        whole = ax is axes[0]
        ax.bar(middle, train, width, color=COLORS[0], label="training rows")
        ax.bar(middle, -np.asarray(values), width, color=COLORS[1], label="test rows")
        ax.axhline(0.0, color="black", linewidth=0.6)
        limit = 1.1 * max(train[0], values[0]) if whole else top
        ax.set(ylim=(-limit, limit), xlabel="q (1: points in one place)")
        ax.set_title(("the whole:\n" if whole else "zoomed in:\n") + label.replace(", pseudo-inverse", ""), fontsize=9)
        ax.yaxis.set_major_formatter(lambda value, _, digits=2 if whole else 4: f"{abs(value):.{digits}f}")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share of pairs")
    axes[0].legend(fontsize=8, frameon=False)
    save(figure, path)
