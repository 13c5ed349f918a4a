"""The pictures of the page on tuning."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator
from reproduce.kernel_tsne.figures import save

from manifolia.show import MapDisplay
from manifolia.show.palette import class_colors

COLORS = class_colors(8)
NAMES = {
    "auc_r_nx": "1 − AUC",
    "q_global": "1 − Q-global",
    "q_local": "1 − Q-local",
    "distance_ratio": "1 − average ratio",
    "nmi": "1 − NMI",
    "classification_error": "classification error",
}
PAPER = {"color": "0.45", "linestyle": "--", "linewidth": 1.0}


def plain(ax):
    ax.spines[["top", "right"]].set_visible(False)


def fractions(curve):
    return np.array([setting[0] for setting in curve["settings"]]) / curve["n"]


def draw_boxes(curve, figures, path, papers):
    """Fig. 2: losses of single runs over the perplexity, the mean on top, the paper's optimum as a line."""
    figure, axes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 3.3), layout="constrained")
    places = fractions(curve)
    for ax, name in zip(axes, figures, strict=True):
        values = np.array(curve[name])
        low, high = np.quantile(values, (0.25, 0.75), axis=1)
        ax.fill_between(places, low, high, color=COLORS[0], alpha=0.25, linewidth=0, label="middle half of runs")
        ax.plot(places, np.median(values, axis=1), "^", markersize=3, color=COLORS[2], label="median")
        ax.plot(places, values.mean(axis=1), color=COLORS[0], label="mean")
        ax.axvline(papers[name], **PAPER, label="paper's optimum")
        ax.set(xlabel="perplexity, fraction of the rows", ylabel=NAMES[name])
        plain(ax)
    axes[0].legend(fontsize=7, frameon=False)
    save(figure, path)


def draw_curves(groups, figures, path, papers=None, *, log=False):
    """Losses over the perplexity: a line for each way the rows were taken, with the range of its samples."""
    figure, axes = plt.subplots(1, len(figures), figsize=(3.6 * len(figures), 3.4), layout="constrained", squeeze=False)
    for ax, name in zip(axes[0], figures, strict=True):
        for color, (label, curves) in zip(COLORS, groups.items(), strict=False):
            lines = [np.mean(one[name], axis=1) for one in curves]
            places = fractions(curves[0])
            ax.plot(places, np.mean(lines, axis=0), color=color, label=label)
            if len(lines) > 1:
                ax.fill_between(places, np.min(lines, axis=0), np.max(lines, axis=0), color=color, alpha=0.18, lw=0)
        if papers and name in papers:
            ax.axvline(papers[name], **PAPER, label="paper's optimum")
        ax.set(xlabel="perplexity, fraction of the rows", ylabel=NAMES[name], xscale="log" if log else "linear")
        plain(ax)
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, path)


def draw_convergence(panels, path, ylabel):
    """Fig. 3, 7, 8, 14: mean over batches of what would be recommended after so many trials."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.6 * len(panels), 3.5), layout="constrained", squeeze=False)
    for ax, (title, (studies, lines)) in zip(axes[0], panels.items(), strict=True):
        for color, (label, batches) in zip(COLORS, studies.items(), strict=False):
            histories = np.array([[step[:3] for step in one["history"]] for one in batches])
            trials = batches[0].get("steps", range(3, histories.shape[1] + 3))
            ax.plot(trials, histories[:, :, 2].mean(axis=0), color=color, label=f"{label}, true")
            ax.plot(trials, histories[:, :, 1].mean(axis=0), color=color, linestyle=":", linewidth=1.2)
        for style, (label, value) in zip(("-", ":"), lines.items(), strict=False):
            ax.axhline(value, color="0.3", linestyle=style, linewidth=1.0, label=label)
        ax.set(xlabel="settings tried", ylabel=ylabel)
        ax.set_title(title, fontsize=10)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        plain(ax)
    save(figure, path)


def draw_front(found, path):
    """Fig. 4."""
    figure, ax = plt.subplots(figsize=(5.2, 3.8), layout="constrained")
    tried, front, expected = (np.array(found[name]) for name in ("tried", "front", "expected"))
    ax.plot(expected[:, 1], expected[:, 2], color=COLORS[0], linewidth=1.2, label="front that the surrogates expect")
    ax.scatter(tried[:, 1], tried[:, 2], s=18, color="0.6", label="settings tried")
    ax.scatter(front[:, 1], front[:, 2], s=26, color=COLORS[0], label="on the expected front")
    knee = tried[np.argmin(np.abs(tried[:, 0] - found["knee"]))]
    ax.scatter(*knee[1:], s=90, facecolors="none", edgecolors=COLORS[1], linewidths=1.6, label="knee")
    named = front[:1]
    for row in front[1:]:
        if np.all(np.abs(named[:, 1] - row[1]) > 0.04):  # labels of near points would lie on each other
            named = np.vstack((named, row))
    for row in named:
        ax.annotate(f"{row[0]:.2f}", row[1:], textcoords="offset points", xytext=(4, 4), fontsize=7)
    ax.set(xlabel="1 − AUC", ylabel="1 − average ratio")
    ax.legend(fontsize=7, frameon=False)
    plain(ax)
    save(figure, path)


def draw_heat(panels, path):
    """Fig. 5: 1 − AUC over neighbours and minimal distance."""
    figure, axes = plt.subplots(1, len(panels), figsize=(3.9 * len(panels), 3.5), layout="constrained", squeeze=False)
    for ax, (title, curve) in zip(axes[0], panels.items(), strict=True):
        settings = np.array(curve["settings"])
        spreads = np.unique(settings[:, 1])
        means = np.mean(curve["auc_r_nx"], axis=1).reshape(-1, len(spreads))
        shares = settings[:: len(spreads), 0] / curve["n"]
        shown = ax.imshow(means.T, origin="lower", aspect="auto", cmap="viridis_r")
        ax.set_xticks(range(len(shares)), [f"{s:.2f}" for s in shares], fontsize=7)
        ax.set_yticks(range(len(spreads)), [f"{d:g}" for d in spreads], fontsize=7)
        best = np.unravel_index(np.argmin(means), means.shape)
        ax.plot(best[0], best[1], "o", markersize=9, markerfacecolor="none", color="black", markeredgewidth=1.8)
        ax.set(xlabel="n_neighbors, fraction of the rows", ylabel="min_dist")
        ax.set_title(title, fontsize=10)
        figure.colorbar(shown, ax=ax, shrink=0.85, label="1 − AUC")
    save(figure, path)


def draw_map(ax, title, Y, y, highlight=None):
    """One map; with ``highlight`` these classes in colour and the others grey."""
    Y, y = np.asarray(Y), np.asarray(y).astype(str)
    if highlight is None:
        MapDisplay.from_data(Y, color=y, kind="class").plot(ax, theme="light", legend=False)
    else:
        size = 6 if len(Y) < 5000 else 3
        ax.scatter(*Y.T, s=size / 2, color="0.85", linewidths=0)
        for color, name in zip(COLORS, highlight, strict=False):
            ax.scatter(*Y[y == name].T, s=size, color=color, linewidths=0, label=name)
        ax.set(xticks=[], yticks=[])
        ax.set_aspect("equal", adjustable="datalim")
        ax.legend(fontsize=7, markerscale=2, frameon=False)
    ax.set_title(title, fontsize=9)


def draw_maps(panels, path):
    """Maps side by side."""
    draw_map_rows([panels], path)


def draw_map_rows(rows, path, highlight=None):
    """Lines of maps, all of the same number."""
    shape = len(rows), len(rows[0])
    size = 3.9 * shape[1], 4.0 * shape[0]
    figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
    for line, panels in zip(axes, rows, strict=True):
        for ax, (title, (Y, y)) in zip(line, panels.items(), strict=True):
            draw_map(ax, title, Y, y, highlight)
    save(figure, path)
