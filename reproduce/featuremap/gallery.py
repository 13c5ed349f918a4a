"""Fig. 13, the maps of each set by each method, and Fig. 14, running time against the number of rows.

The gallery draws the maps that the parts of Table 1 keep, and the times of those of MNIST are points of Fig. 14.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from reproduce.featuremap import peers
from reproduce.featuremap.data import SETS, TITLES, load
from reproduce.featuremap.figures import save
from reproduce.featuremap.page import SHOWN, label

from manifolia.show import MapDisplay

N_COLUMNS = 5
SIZES = (1_000, 3_000, 10_000)
TIMED = tuple(method for method in peers.ALL if method not in ("edges λ = 0.5", "UMAP from PCA", peers.WRITTEN))
#: Seconds on 50,000 rows that the paper's text gives for its Fig. 14.
PAPER_SECONDS = {"UMAP": 30, peers.OURS: 150}
COLORS = ("#D55E00", "#E69F00", "#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#000000", "#8C6D31", "#7F7F7F")
MARKERS = "osv^D<>Px"


# --- Fig. 13 --------------------------------------------------------------------------------------------------------


def gallery_part(name):
    """Draw the maps of a set that were kept; None if there are none."""
    maps = {}
    for method in SHOWN:
        found = peers.kept(name, method)
        if found is not None:
            maps[method] = found
    if not maps:
        return None
    most = max(len(y) for _, y in maps.values())
    classes = sorted({one for _, y in maps.values() for one in y})
    long = max(len(one) for one in classes) > 3  # such names would hide small maps
    names = {one: code for code, one in enumerate(classes, 1)} if long else {}
    n_lines = -(-len(maps) // N_COLUMNS)
    figure = Figure(figsize=(2.9 * N_COLUMNS, 3.05 * n_lines + 0.3), layout="constrained")
    axes = np.atleast_2d(figure.subplots(n_lines, N_COLUMNS)).ravel()
    for ax, (method, (Y, y)) in zip(axes, maps.items(), strict=False):
        size = float(np.clip(6000 / len(Y), 0.15, 3.0))
        codes = {one: str(code) for one, code in names.items()}
        MapDisplay.from_data(Y, [codes.get(one, one) for one in y]).plot(ax, legend=False, size=size)
        ax.set(xlabel="", ylabel="")
        ax.set_title(label(method) + ("" if len(Y) == most else f", {len(Y):,} rows"), fontsize=11)
    for ax in axes[len(maps) :]:
        ax.set_axis_off()
    key = "\n" + ", ".join(f"{code}: {one}" for one, code in names.items()) if names else ""
    figure.suptitle(f"{TITLES[name]}, {most:,} rows{key}", fontsize=12)
    save(figure, f"fig13_{name}", dpi=75)
    return {"rows": most, "methods": list(maps)}


# --- Fig. 14 --------------------------------------------------------------------------------------------------------


def time_part(n, method):
    """Seconds by the clock and of the processor for n rows of MNIST."""
    X, _ = load("mnist", n)
    try:
        made = peers.timed(method, X)
    except Exception as error:  # another package's: the page says what it said
        return {"failed": peers.plain(error)}
    return None if made is None else {"rows": n, "wall": made[1], "cpu": made[2]}  # the model goes


def sizes(n_rows):
    """Rows at which methods are timed beside those of Table 1."""
    return tuple(n for n in SIZES if n_rows is None or n < n_rows)


def times(found, n_rows):
    """For each method its points (rows, wall, CPU), with those of the maps in Table 1."""
    points = {}
    for method in TIMED:
        names = [*(f"time-{n}" for n in sizes(n_rows)), "table-mnist"]
        parts = [found[f"{name}-{method}"] for name in names if f"{name}-{method}" in found]
        line = sorted((part["rows"], part["wall"], part["cpu"]) for part in parts if "cpu" in part)
        if line:
            points[method] = line
    return points


def draw_times(points):
    """The two pictures of Fig. 14: seconds of the processor and by the clock."""
    figure = Figure(figsize=(10.5, 4.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, column, title in zip(axes, (2, 1), ("processor time", "by the clock, machine shared"), strict=True):
        for method, line in points.items():
            at = TIMED.index(method)
            ours = method == peers.OURS
            ax.plot(
                [point[0] for point in line],
                [point[column] for point in line],
                marker=MARKERS[at % len(MARKERS)],
                color=COLORS[at % len(COLORS)],
                linewidth=2.4 if ours else 1.2,
                markersize=5,
                label=label(method),
                zorder=3 if ours else 2,
            )
        ax.set(xscale="log", yscale="log", xlabel="rows of MNIST", title=title)
        shown = sorted({point[0] for line in points.values() for point in line})
        ax.set_xticks(shown, [f"{n:,}" for n in shown])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    save(figure, "fig14", dpi=80)


# --- the page -------------------------------------------------------------------------------------------------------


def page(found, n_rows):
    """Lines of both sections."""
    return [*_gallery(found), *_times(found, n_rows)]


def _gallery(found):
    lines = ["", "## Fig. 13: the maps", ""]
    lines += ["The maps whose figures are in Table 1 (first seed), coloured by class."]
    for name in SETS:
        if f"gallery-{name}" in found:
            lines += ["", f"![{TITLES[name]} by every method](images/featuremap/fig13_{name}.png)"]
    return lines


def _times(found, n_rows):
    points = times(found, n_rows)
    if peers.OURS not in points:
        return []
    draw_times(points)
    counts = [point[0] for point in points[peers.OURS]]
    ours = dict(zip(counts, points[peers.OURS], strict=True))
    lines = ["", "## Fig. 14: running time", ""]
    lines += [
        "Seconds of processor time for MNIST, in parentheses as a multiple of FeatureMAP's, then seconds by the clock "
        "after a stroke. Default settings, one thread where a method can be told so, compilation left out as far as a "
        "smaller fit before sets it off, one run each; whole sets are those of Table 1, with as many runs. **The "
        "machine was shared with other work**: by the clock methods cannot be compared, in processor time they can, "
        "roughly.",
        "",
        "| method | " + " | ".join(f"{n:,} rows" for n in counts) + " | growth |",
        "|---" * (len(counts) + 2) + "|",
    ]
    shared = max(set.intersection(*({point[0] for point in line} for line in points.values())), default=None)
    order = {method: {n: cpu for n, _, cpu in line}.get(shared, 0.0) for method, line in points.items()}
    for method in sorted(points, key=order.get):
        line = points[method]
        by_rows = {point[0]: point for point in line}
        cells = []
        for n in counts:
            if n not in by_rows:
                cells.append("–")
                continue
            _, wall, cpu = by_rows[n]
            ratio = "" if method == peers.OURS else f" ({cpu / ours[n][2]:.1f} ×)"
            cells.append(f"{cpu:.1f}{ratio} / {wall:.1f}")
        lines.append(f"| {label(method)} | " + " | ".join(cells) + f" | {_growth(line)} |")
    said = " and ".join(f"{seconds} s for {method}" for method, seconds in PAPER_SECONDS.items())
    lines += [
        "",
        "Growth: the exponent of n in processor time between the last two points. The paper's text has for 50,000 "
        f"rows, of a set that it does not name, {said}: FeatureMAP "
        f"{PAPER_SECONDS[peers.OURS] / PAPER_SECONDS['UMAP']:.0f} times slower than UMAP.{_against_umap(points)}",
        "",
        "![Seconds over rows for every method](images/featuremap/fig14.png)",
    ]
    return lines


def _growth(line):
    if len(line) < 2:
        return ""
    (n, _, before), (m, _, after) = line[-2:]
    return f"{np.log(after / before) / np.log(m / n):.2f}"


def _against_umap(points):
    if "UMAP" not in points or points["UMAP"][-1][0] != points[peers.OURS][-1][0]:
        return ""
    rows, _, cpu = points[peers.OURS][-1]
    return f" Here, with {rows:,} rows, it takes {cpu / points['UMAP'][-1][2]:.2f} of UMAP's processor time."
