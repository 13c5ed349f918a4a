"""The page on kernel t-SNE: tables and pictures from what `kernel_tsne.run` computed."""

from __future__ import annotations

import functools

import numpy as np
from reproduce._shared import counts, markdown
from reproduce._shared.markdown import head, line, spread
from reproduce.kernel_tsne import figures, protocol

picture = functools.partial(markdown.picture, "kernel-tsne")
METHODS = ("kernel", "Fisher")
NONE = "not computed"
KEYS = {"train": "train", "test": "among"}  # where the accuracy of training and test rows stands
ROWS = {"train": "training", "test": "test"}
SEVERAL = ("among", "against", "q_few", "q_all", "coincident")
NAMES = {"letter": "letter", "mnist": "MNIST", "usps": "USPS"}
NOTES = {
    "table": """
The figures of training rows are those of the layout alone. Fisher kernel t-SNE lays training rows out with the help of
their classes, so that their accuracy proves nothing (see the shuffled labels below); its gain on test rows, which are
placed by Euclidean distances, as in the paper, is small. Here it mixes Fisher and Euclidean distances in equal parts;
Fisher distances alone are `euclidean_mix=0`.

Lost by default: the training rows of letter under kernel t-SNE. This is t-SNE's layout of the rows that were drawn,
before any formula. In the 16 features themselves the nearest neighbour of such rows is right in 84.8 %.

Lost as written: what the formula places. The smallest factor that keeps all entries of K representable is near 1, ten
times the 0.1 below, because the farthest centre must not underflow: kernels as wide as the distance to the nearest
centre blur the map. Section 3 allows "a predefined interval" too, which it does not name.

Not computed: norb, which is not at hand. Parametric t-SNE has a section of its own below. The USPS set is the version
of 9,298 images, not the paper's of 11,000. Of letter's test rows 10.2 % have an equal among them: these coincide by
right.
""",
    "parametric": """
One seed, the paper's layers (500, 500 and 2000 units, 50 sweeps of pre-training a layer), the rows as they are. Seconds
are processor time of fit and placing, both methods in one run; those of the network grow with its steps. As in the
paper, it learns a good map of training rows and places new ones far worse than kernel t-SNE does.

On letter it fails, here as there. The pre-training tells it nothing: the first machine's reconstructions miss the rows
by 0.037 (mean square, on a scale of 0 to 1), more than the columns' own variance of 0.024. Logistic units stand for
values near 0 or 1, such as pixels (USPS: 0.020 of 0.118); letter's counts lie in between.

The default rate was set after a first run that lost letter, by the cost of training rows of letter and of
scikit-learn's digits.
""",
    "mappings": """
All maps of a set have the same training rows, layout and principal components. Bold is the best mean of a column. d is
the distance from a training row to the nearest other one. The mode with perplexity 5 is the default of `KernelTSNE`: on
all three sets it is more accurate than every mean of kernels, the paper's rule included, and fewer of its points
coincide; in Q_local it is ahead of them on letter and level with the best of them on MNIST and USPS (within 0.005).
Perplexity 15 keeps more of the neighbourhoods and is 0.3 to 1.7 points less accurate among test rows. A copy of the
nearest training row is the most accurate against the training map, for it asks for nothing but that row's class, and
behind the mode among test rows: its points lie on top of each other. Where every row is a centre, least
squares differs from plain means in nothing that matters.
""",
    "curves": """
In 100 rows the test curves are close to those of training rows, as the paper says: a sample of 100 has no near
neighbours in it, and what was lost cannot be seen. In as many rows as were laid out the loss at small k is plain.

On letter kernel t-SNE is ahead of parametric t-SNE at small k and behind at larger ones, as in the paper. On MNIST and
USPS the curves in 100 rows cross at k = 1 or 2 or not at all, earlier than there. Among as many rows as were trained on
kernel t-SNE is ahead at k = 10 on all sets. Fig. 8's left half is norb.
""",
    "embedders": """
As in the paper, the curves in 100 rows of Isomap, MVU and t-SNE meet at large k, and t-SNE is best at small k. Test
rows that are more accurate than the layout's own training rows show no good map: the mode puts each of them beside one
training row, whose class it mostly shares, however much the layout has mixed the classes. Where a layout mixes them,
the kernel mapping keeps more of the neighbourhoods (Q_local) than the mode.
""",
    "densities": """
q_ij on a scale where two points in one place have 1. As in the paper, placed rows lie on top of each other more often
than training rows, by the paper's rule most of all; with the mode less. No row falls on the origin, which the paper saw
and supposed to happen to rows far from all centres: the kernels are computed relative to that of the nearest centre, so
that they do not vanish together.
""",
    "maps": """
Placed rows gather in threads between training rows: these are the mapping's doing and no structure of the data. The
gaps between classes in the lower maps are drawn with the classes of the training rows; of the test rows, which are
placed without theirs, every tenth to sixth lies nearest to one of another class, as Table 2 says.
""",
    "permuted": """
The width of the Parzen windows is chosen by the likelihood of left-out rows. Where that is no better than the
frequencies of the classes, `FisherKernelTSNE` warns and lays rows out by Euclidean distances.
""",
    "novelty": """
A fifth of the rows is kept from the map; a good score calls 5 % and 1 % of them new. The yardstick is either the other
rows of ``fit`` or, if all were laid out, the training rows themselves. Without PCA's residual: by the distance to the
fifth training row within the plane of the principal components.
""",
}
NORB = {"kernel": (88.2, 85.4), "Fisher": (85.4, 85.6)}  # the paper's cells of a set that is not at hand
NORB_NETWORK, NORB_SECONDS = (43.0, 38.5), (141, 161)
FIGURES = {"letter": "Fig. 7, left", "mnist": "Fig. 7, right", "usps": "Fig. 8, right"}
#: Up to which k kernel t-SNE's curve lies above parametric t-SNE's, by the paper's text: training and test rows.
AHEAD = {"letter": ("15", "10"), "mnist": ("10", "10"), "usps": ("small k", "small k")}
TITLES = {"kernel": "kernel t-SNE", "Fisher": "Fisher kernel t-SNE", "parametric": "parametric t-SNE"}
LAYOUTS = {"tsne": "t-SNE", "isomap": "Isomap", "lle": "LLE", "mvu": "MVU"}


def values(runs, key, scale=1.0):
    return np.array([run[key] for run in runs], dtype=float) * scale


def summary(runs, key):
    """Accuracies and shares in %, qualities as they are."""
    percent = key in ("train", "among", "against", "coincident")
    return spread(values(runs, key, 100.0 if percent else 1.0), 1 if percent else 3)


def note(name):
    return ["", *NOTES[name].strip().split("\n")]


def table(found, plan, images):
    """Table 2, what stands beside it, and its cells."""
    lines = ["", "## Table 2", ""]
    lines += head(
        "data", "rows", "trained on", "method", "rows of", "paper, %", "default, %", "se", "outcome", "as written, %",
        "se", "outcome",
    )  # fmt: skip
    cells = []
    for name in protocol.PAPER:
        for method in METHODS:
            for (kind, key), paper in zip(KEYS.items(), protocol.PAPER[name][method], strict=True):
                shown = []
                for setting in counts.SETTINGS:
                    ours = values(found[name, method, setting], key, 100.0)
                    cells.append(
                        counts.measured(
                            "kernel t-SNE", f"{NAMES[name]}, {TITLES[method]}, {ROWS[kind]} rows", ours, paper,
                            setting=setting, digits=1, higher=True, looked_at=setting == "default",
                        )
                    )  # fmt: skip
                    error = "" if cells[-1].error is None else f"{cells[-1].error:.2f}"
                    shown += [f"{cells[-1].ours:.1f}", error, counts.outcome(cells[-1])]
                sizes = (f"{plan.rows[name]:,}", f"{plan.n_train[name]:,}")
                lines.append(line(NAMES[name], *sizes, method, kind, paper, *shown))
    for method, pair in NORB.items():
        for kind, paper in zip(("training", "test"), pair, strict=True):
            for setting in counts.SETTINGS:
                what = f"norb, {TITLES[method]}, {kind} rows"
                cells.append(counts.missing("kernel t-SNE", what, paper, "not at hand", setting=setting, digits=1))
            lines.append(line("norb", "48,600", "2,000", method, kind, paper, "", "", NONE, "", "", NONE))
    factors = {NAMES[name]: spread(values(found[name, "kernel", "as written"], "factor"), 2) for name in protocol.PAPER}
    lines += ["", "The automatic factor: " + ", ".join(f"{name} {factor}" for name, factor in factors.items()) + "."]
    lines += [
        "",
        "Beside the accuracy of test rows among test rows, in % and with the standard deviation over seeds:",
        "",
    ]
    lines += head(
        "data", "method", "test rows among themselves", "against the training map", "Q_local, training map",
        "Q_local, as many test rows", "Q_local, all test rows", "coincident", "processor s",
    )  # fmt: skip
    for (name, method, setting), runs in found.items():
        if setting == "default":
            beside = [summary(runs, key) for key in ("among", "against", "q_train", "q_few", "q_all", "coincident")]
            lines.append(line(NAMES[name], method, *beside, spread(values(runs, "seconds"), 0)))
    return lines + note("table"), cells


def parametric(found, plan, images):
    """Table 2's column of parametric t-SNE, and Table 1."""
    lines = ["", "## Parametric t-SNE: its column of Table 2, and Table 1", ""]
    lines += head("data", "rows", "trained on", "rows of", "paper, %", "ours, %", "kernel t-SNE, same rows, %")
    for name, runs in found.items():
        sizes = (f"{plan.rows[name]:,}", f"{plan.n_train[name]:,}")
        for kind, paper, key in zip(("train", "test"), protocol.PARAMETRIC[name], ("train", "among"), strict=True):
            mine, kernel = (values([run[label] for run in runs], key, 100.0) for label in ("parametric", "kernel"))
            lines.append(line(NAMES[name], *sizes, kind, paper, spread(mine, 1), spread(kernel, 1)))
    for kind, paper in zip(("train", "test"), NORB_NETWORK, strict=True):
        lines.append(line("norb", "48,600", "2,000", kind, paper, NONE, ""))
    lines += ["", *head(
        "data", "test rows against the training map, %", "Q_local, training map", "Q_local, as many test rows",
        "Q(10) in 100 test rows: parametric", "kernel", "steps", "cost, first and last",
    )]  # fmt: skip
    for name, runs in found.items():
        mine = [run["parametric"] for run in runs]
        tens = [
            near_ten(average([run[label]["curves"]["test"] for run in runs]))[0] for label in ("parametric", "kernel")
        ]
        cells = [summary(mine, key) for key in ("against", "q_train", "q_few")]
        cost = f"{mine[0]['cost'][0]:.2f}, {mine[0]['cost'][1]:.2f}"
        lines.append(line(NAMES[name], *cells, *(f"{ten:.3f}" for ten in tens), mine[0]["steps"], cost))
    lines += [
        *("", "### Table 1: seconds", ""),
        *head("data", "paper: kernel, s", "parametric, s", "ratio", "ours: kernel, s", "parametric, s", "ratio"),
    ]
    for name, runs in found.items():
        theirs = protocol.SECONDS[name]
        ours = [float(np.mean([run[label]["seconds"] for run in runs])) for label in ("kernel", "parametric")]
        cells = [f"{theirs[1] / theirs[0]:.1f}", *(f"{one:.0f}" for one in ours), f"{ours[1] / ours[0]:.1f}"]
        lines.append(line(NAMES[name], *theirs, *cells))
    norb = f"{NORB_SECONDS[1] / NORB_SECONDS[0]:.1f}"
    lines.append(line("norb", *NORB_SECONDS, norb, "", "", "not computed"))
    return lines + note("parametric")


def mappings(found, plan, images):
    """The table behind the default."""
    lines = ["", "## How new rows are placed", ""]
    lines += head(
        "data", "mapping", "test rows among themselves, %", "against the training map, %", "Q_local, as many test rows",
        "Q_local, all test rows", "coincident, %",
    )  # fmt: skip
    for name, runs in found.items():
        means = {label: [np.mean([run[label][key] for run in runs]) for key in SEVERAL] for label in protocol.MAPPINGS}
        best = [max(column[i] for column in means.values()) for i in range(4)]
        best.append(min(column[4] for column in means.values()))
        for label in protocol.MAPPINGS:
            mine = [run[label] for run in runs]
            cells = [summary(mine, key) for key in SEVERAL]
            cells = [f"**{cell}**" if means[label][i] == best[i] else cell for i, cell in enumerate(cells)]
            lines.append(line(NAMES[name], label, *cells))
    return lines + note("mappings")


def shares(found, plan, images):
    """Fig. 2."""
    lines = ["", "## Fig. 2: how many rows are laid out (USPS)", ""]
    lines += head(
        "training rows, %", "rows", "Q_local, training rows", "Q_local, test rows", "the same among 500: training",
        "test", "processor s",
    )  # fmt: skip
    for share, runs in found.items():
        few = [summary(runs, key) if runs[0][key] is not None else "" for key in ("train_few", "test_few")]
        full = [spread(values(runs, key), 3) for key in ("train", "test")]
        lines.append(line(share, runs[0]["n_train"], *full, *few, spread(values(runs, "seconds"), 1)))

    def means(key):
        return [np.nan if runs[0][key] is None else float(np.mean(values(runs, key))) for runs in found.values()]

    seconds = means("seconds")
    pairs = [(means("train"), means("test")), (means("train_few"), means("test_few"))]
    figures.draw_shares(list(found), seconds, pairs, images / "shares.png")
    lines += picture("Q_local and running time against the share of training rows", "shares")
    late = [i for i, share in enumerate(found) if share >= 10]
    sizes = [runs[0]["n_train"] for runs in found.values()]
    power = np.polyfit(np.log([sizes[i] for i in late]), np.log([seconds[i] for i in late]), 1)[0]
    flat = [means("test_few")[i] for i in late]
    lines += [
        "",
        f"Means of {len(next(iter(found.values())))} draws of the training rows. From 10 % on Q_local of 500 test rows "
        f"stays between {min(flat):.3f} and {max(flat):.3f}; the paper finds it flat from 10 to 20 % on. Processor "
        f"time grows with the power {power:.1f} of the training rows, not with their square as in the paper, whose "
        "t-SNE is exact.",
    ]
    return lines


def densities(found, plan, images):
    """Fig. 3."""
    tests = {label: found[label] for label in (protocol.PAPER_RULE, protocol.DEFAULT)}
    figures.draw_densities(found["edges"], found["training map"], tests, images / "densities.png")
    lines = ["", "## Fig. 3: do placed rows lie as close as training rows (USPS)"]
    lines += picture("Distribution of q over pairs of training rows and of placed rows", "densities")
    lines += ["", *head("points", "pairs with q above 0.98 of the greatest, %", "pairs below 0.02, %")]
    for label in ("training map", *tests):
        lines.append(line(label, f"{100 * found[label][-1]:.3f}", f"{100 * found[label][0]:.1f}"))
    return lines + note("densities")


def average(many):
    """One curve from those of several seeds."""
    return {
        "k": many[0]["k"],
        "small": np.mean([one["small"] for one in many], axis=0),
        "full": np.mean([one["full"] for one in many], axis=0),
    }


def near_ten(one):
    """Q(10) in samples of 100, and at full resolution."""
    return one["small"][9], float(np.interp(10, one["k"], one["full"]))


def ahead(one, other):
    """The largest k up to which a curve in 100 rows lies nowhere below another one."""
    below = np.flatnonzero(np.asarray(one) < np.asarray(other))
    return int(below[0]) if len(below) else len(one)


def curves(table, rules, networks, plan, images):
    """Fig. 7 and 8."""
    lines = ["", "## Fig. 7 and 8: quality of neighbourhoods of every size", ""]
    lines += head(
        "data", "map", "Q(10) in 100 rows: training", "test", "Q(10) in as many rows as trained on: training", "test"
    )
    shown, crossings = [], []
    for name in protocol.PAPER:
        drawn = {}
        made = {method: [run["curves"] for run in table[name, method, "default"]] for method in ("kernel", "Fisher")}
        made["parametric"] = [run["parametric"]["curves"] for run in networks[name]]
        for (method, runs), color in zip(made.items(), figures.COLORS, strict=False):
            pair = {kind: average([run[kind] for run in runs]) for kind in ("train", "test")}
            drawn[f"{method}, training rows"] = (color, "-", pair["train"])
            drawn[f"{method}, test rows"] = (color, "--", pair["test"])
            small, full = zip(*(near_ten(pair[kind]) for kind in ("train", "test")), strict=True)
            cells = [f"{value:.3f}" for value in (*small, *full)]
            lines.append(line(NAMES[name], TITLES[method], *cells))
        rule = average(rules[name])
        drawn["paper's rule, test rows"] = (figures.COLORS[3], "-.", rule)
        small, full = near_ten(rule)
        lines.append(line(NAMES[name], "kernel t-SNE by the paper's rule", "", f"{small:.3f}", "", f"{full:.3f}"))
        for kind, paper in zip(("train", "test"), AHEAD[name], strict=True):
            pair = [
                average([run[label]["curves"][kind] for run in networks[name]]) for label in ("kernel", "parametric")
            ]
            crossings.append(line(NAMES[name], kind, paper, ahead(*(one["small"] for one in pair))))
        figures.draw_curves(f"{NAMES[name]} ({FIGURES[name]})", drawn, images / f"curves-{name}.png")
        shown += picture(f"{FIGURES[name]}: quality curves of {NAMES[name]}", f"curves-{name}")
    lines += [
        "",
        "Kernel t-SNE's curve in 100 rows lies above parametric t-SNE's, of the same training rows, up to k =",
        "",
    ]
    lines += [*head("data", "rows of", "paper", "ours"), *crossings]
    return lines + note("curves") + shown


def embedders(found, plan, images):
    """Fig. 1."""
    lines = ["", "## Fig. 1: other layouts with the same formula (USPS)", ""]
    lines += head(
        "layout", "rows placed by", "training 1-NN, %", "test rows among themselves, %", "against the training map, %",
        "Q_local, training map", "Q_local, as many test rows", "Q(10) in 100 rows: training", "test",
        "Q(10) in as many rows: training", "test", "processor s",
    )  # fmt: skip
    drawn = {}
    for (name, runs), color in zip(found.items(), figures.COLORS, strict=False):
        for mapping in ("kernel", "mode"):
            mine = [run[mapping] for run in runs]
            pair = {kind: average([run["curves"][kind] for run in mine]) for kind in ("train", "test")}
            tens = [near_ten(pair[kind]) for kind in ("train", "test")]
            cells = [summary(mine, key) for key in ("train", "among", "against", "q_train", "q_few")]
            cells += [f"{tens[j][i]:.3f}" for i in range(2) for j in range(2)]
            lines.append(line(LAYOUTS[name], mapping, *cells, spread(values(runs, "seconds"), 0)))
            if mapping == "kernel":
                drawn[f"{LAYOUTS[name]}, training rows"] = (color, "-", pair["train"])
                drawn[f"{LAYOUTS[name]}, test rows"] = (color, "--", pair["test"])
    figures.draw_curves("USPS, kernel mapping", drawn, images / "embedders.png")
    return lines + note("embedders") + picture("Quality curves of several layouts with the kernel mapping", "embedders")


def maps(found, plan, images):
    """Fig. 4 to 6."""
    lines = ["", "## Fig. 4 to 6: maps of the training rows and of all rows"]
    numbers = {"kernel": "Fig. 4", "parametric": "Fig. 5", "Fisher": "Fig. 6"}
    for name in protocol.PAPER:
        titled = {f"{number}, {TITLES[method]}": found[name, method] for method, number in numbers.items()}
        figures.draw_maps(NAMES[name], titled, images / f"maps-{name}.png")
        lines += picture(f"Fig. 4 to 6: maps of {NAMES[name]}, training rows and all rows", f"maps-{name}")
    return lines + note("maps")


def permuted(found, plan, images):
    """What a supervised map makes of labels that say nothing."""
    lines = ["", "## Shuffled labels (Fisher kernel t-SNE, USPS)", ""]
    lines += head(
        "labels", "laid out by", "log-likelihood above the prior's, nats", "training 1-NN, %",
        "test rows among themselves, %", "against the training map, %",
    )  # fmt: skip
    for label in found[0]:
        if label == "blind":
            continue
        mine = [run[label] for run in found]
        layouts = " and ".join(sorted({run["layout"] for run in mine}))
        cells = [summary(mine, key) for key in ("train", "among", "against")]
        signal = "" if mine[0]["signal"] is None else spread(values(mine, "signal"), 3)
        lines.append(line(label, f"{layouts.capitalize()} distances", signal, *cells))
    same = all(run["blind"] for run in found)
    said = "to the last bit the same" if same else "NOT the same"
    lines += note("permuted")
    return [
        *lines,
        "",
        f"With the labels of the test rows shuffled, those of the training rows true, the map is {said}.",
    ]


def novelty(found, plan, images):
    """How often ordinary rows are called new, and garments are."""
    lines = ["", "## Rows that the map does not know", ""]
    lines += head(
        "data",
        "rows",
        "judged by",
        "called new at 0.05, %",
        "at 0.01, %",
        "area under the ROC curve",
        "without PCA's residual",
    )
    for name, runs in found.items():
        for label in runs[0]:
            mine = [run[label] for run in runs]
            for rows, key in (("of the same set", "alarms"), ("Fashion-MNIST", "found")):
                if key not in mine[0]:
                    continue
                rates = [spread(100 * np.array([run[key][i] for run in mine]), 1) for i in range(2)]
                areas = (
                    ["", ""] if key == "alarms" else [spread(values(mine, a), 3) for a in ("area", "area in the plane")]
                )
                lines.append(line(NAMES[name], rows, label, *rates, *areas))
    return lines + note("novelty")
