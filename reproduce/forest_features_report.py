"""Forest features: the page of results, from what the parts measured."""

from __future__ import annotations

import datetime

import forest_features_data as sets
import numpy as np
import scipy.stats
import sklearn
from forest_features_binary import SHARES, SIZES, WIDTHS

import manifolia

_NOISE = {0.2: (0.858, 0.834), 1.0: (0.850, 0.775), 5.0: (0.820, 0.667)}
_LABELS = {"yeast": (0.811, 0.812), "emotions": (0.769, 0.733), "medical": (0.925, 0.904), "bibtex": None}
#: Fold by fold the figures are much farther apart than repetition by repetition, from which the paper's deviations are.
_FOLDS = 10


def stacked(repetitions):
    """Figures of shape (repetitions, folds) by name."""
    return {key: np.array([one[key] for one in repetitions], dtype=float) for key in repetitions[0]}


def spread(values, *, over_folds):
    """The deviation of the paper's rule; of a single repetition, that of the mean of its folds."""
    if over_folds:
        return values.std()
    return values.mean(1).std(ddof=1) if len(values) > 1 else values.std(ddof=1) / np.sqrt(_FOLDS)


def compare(pairs, *, over_folds):
    """Sets won and lost by the rule, and the Wilcoxon p of the means; of (induced, original) by set."""
    verdicts, means = [], []
    for a, b in pairs:
        apart = spread(a, over_folds=over_folds) + spread(b, over_folds=over_folds)
        verdicts.append(np.sign(a.mean() - b.mean()) * (abs(a.mean() - b.mean()) > apart))
        means.append((a.mean(), b.mean()))
    p = scipy.stats.wilcoxon(*zip(*means, strict=True)).pvalue if len(means) > 5 else np.nan
    return sum(v > 0 for v in verdicts), sum(v < 0 for v in verdicts), p


class Tally:
    """Cells at or above the paper's induced figure, equal to the last printed digit, or below."""

    def __init__(self):
        self.won, self.tied, self.lost = 0, 0, 0

    def add(self, ours, paper):
        rounded = round(float(ours), 3)
        self.won += rounded > paper
        self.tied += rounded == paper
        self.lost += rounded < paper
        return f"**{ours:.3f}**" if rounded >= paper else f"{ours:.3f}"


def rows(head, *lines):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(x) + " |" for x in lines)]


def binary(found, plain, tally):
    """Tables II and III, Figs. 6 and 7."""
    measured = {name: stacked(found[name]) for name in sets.SETS if name in found}
    rootless = {name: stacked(plain[name]) for name in sets.SETS if name in plain}
    for figures in measured.values():  # the Gaussian at its best width, set by set
        best = max(WIDTHS, key=lambda width: figures[f"gauss{width}"].mean())
        figures["gauss"] = figures[f"gauss{best}"]
    both = [name for name in measured if name in rootless]
    n = len(next(iter(measured.values()))["auc"])
    lines = ["", f"## Binary sets: Tables II and III, Figs. 6 and 7 ({len(measured)} sets, {n} × 10 folds)", ""]
    rules = [("alignment (Table II), without roots", "alignment", "alignment0", "6 : 1", True, True)]
    rules += [("alignment (Table II), with roots", "alignment", "alignment0", "6 : 1", True, False)]
    rules += [("the same against the Gaussian at its best γ, without roots", "alignment", "gauss", "5 : 0", True, True)]
    rules += [
        (f"{k}-NN{' (Fig. 6)' if k == 1 else ''}", f"nn{k}", f"nn{k}0", "12 : 0" if k == 1 else "alike", False, False)
        for k in (1, 3, 5)
    ]
    rules += [("1-NN, without roots", "nn1", "nn10", "12 : 0", False, True)]
    rules += [("linear SVM, AUROC (Table III)", "auc", "auc0", "6 : 1", False, False)]
    rules += [("linear SVM, accuracy (Fig. 7)", "acc", "acc0", "", False, False)]
    told = []
    for label, key, other, paper, over_folds, without in rules:
        names, induced = (both, rootless) if without else (list(measured), measured)
        pairs = [(induced[name][key], measured[name][other]) for name in names]
        won, lost, p = compare(pairs, over_folds=over_folds)
        higher = sum(a.mean() > b.mean() for a, b in pairs)
        told.append((label, paper, f"{won} : {lost}", f"{higher} : {len(pairs) - higher}", f"{p:.4f}"))
    lines += rows(("significantly better, induced : original", "paper", "ours", "higher mean", "Wilcoxon p"), *told)
    sizes = [figures["trees"].mean() for figures in rootless.values()]
    with_roots = [figures["trees"].mean() for figures in measured.values()]
    lines += [
        "",
        f"Forest sizes, mean of a set: {min(sizes):.0f} to {max(sizes):.0f} without roots, {min(with_roots):.0f} to "
        f"{max(with_roots):.0f} with them (the paper: 150 to 250).",
        "",
        "### Table II: alignment",
        "",
    ]
    cells = []
    for name, f in measured.items():
        paper, r = sets.PAPER[name][0], rootless.get(name)
        best = max(WIDTHS, key=lambda width, f=f: f[f"gauss{width}"].mean())
        mine = ["", "", ""] if r is None else [f"{r['trees'].mean():.0f}", tally.add(r["alignment"].mean(), paper[0])]
        mine = mine if r is None else [*mine, f"{r['alignment'].std():.3f}"]
        cells.append(
            (
                *(name, f"{sets.PAPER[name][2]}", mine[0], f"{paper[0]:.3f}", *mine[1:]),
                *(f"{f['alignment'].mean():.3f}", f"{paper[2]:.3f}", f"{f['alignment0'].mean():.3f}"),
                f"{f['gauss'].mean():.3f} ({best})",
            )
        )
    head = ("set", "trees, paper", "ours", "induced, paper", "ours, without roots", "deviation", "with roots")
    lines += rows((*head, "original, paper", "ours", "Gaussian (γ)"), *cells)
    lines += ["", "### Table III: AUROC of a linear SVM; accuracy of nearest neighbours", ""]
    cells = []
    for name, f in measured.items():
        paper = sets.PAPER[name][1]
        near = [f"{f[f'nn{k}'].mean():.3f} : {f[f'nn{k}0'].mean():.3f}" for k in (1, 3, 5)]
        cells.append(
            (
                *(name, f"{paper[0]:.3f}", tally.add(f["auc"].mean(), paper[0]), f"{paper[2]:.3f}"),
                *(f"{f['auc0'].mean():.3f}", f"{f['auc_forest'].mean():.3f}", *near),
            )
        )
    head = ("set", "induced, paper", "ours", "original, paper", "ours", "the forest itself")
    lines += rows((*head, "1-NN, induced : original", "3-NN", "5-NN"), *cells)
    pictures = ["![Fig. 6](images/forest-features/nearest.png)", "", "![Fig. 7](images/forest-features/svm.png)"]
    return [*lines, "", *pictures]


def noise(found, drawn, tally):
    lines, cells = [], []
    for share in (share for share in SHARES if str(share) in found):
        ours = {key: [one[key] for one in found[str(share)]] for key in ("induced", "original")}
        paper, many = _NOISE[share], drawn[str(share)][0]["original"]
        shown = tally.add(np.mean(ours["induced"]), paper[0])
        cells.append(
            (
                *(f"{share:.0%}", f"{paper[0]:.3f}", shown, f"{paper[1]:.3f}", f"{np.mean(ours['original']):.3f}"),
                *(f"{np.mean(many):.3f} ({np.std(many, ddof=1):.3f})", f"{len(ours['induced'])}"),
            )
        )
    lines += ["", "## Sonar with noise (section III-C.3): 1-NN accuracy", ""]
    head = ("added", "induced, paper", "ours", "original, paper", "ours", "ten draws (deviation)", "repetitions")
    return lines + rows(head, *cells)


def missing(found):
    lines = ["", "## Missing values (section II-D): three encodings by one forest of 150 trees", ""]
    cells = []
    for name, repetitions in found.items():
        mean = {key: np.mean([one[key] for one in repetitions]) for key in repetitions[0]}
        cells.append(
            (
                *(name, *(f"{mean[f'{way}_{s}']:.3f}" for s in ("nn", "auc") for way in ("random", "split", "native"))),
                f"{len(repetitions)} × 10",
            )
        )
    head = ("set", "1-NN, random", "split", "native", "AUROC, random", "split", "native", "folds")
    return lines + rows(head, *cells)


def sin_inverse(found, tally):
    lines = ["", "## sin(1/x): accuracy (Fig. 5)", ""]
    cells = []
    for n in (n for n in SIZES if str(n) in found):
        mean = {key: np.mean([one[key] for one in found[str(n)]]) for key in ("kernel", "gaussian", "forest", "trees")}
        shown = tally.add(mean["kernel"], 0.965) if n == max(SIZES) else f"{mean['kernel']:.3f}"
        cells.append((str(n), shown, f"{mean['gaussian']:.3f}", f"{mean['forest']:.3f}", f"{mean['trees']:.0f}"))
    head = ("training rows", "SVM, forest kernel (paper at the largest: 0.965)", "SVM, Gaussian", "forest", "trees")
    lines += rows(head, *cells)
    drawn = len(next(iter(found.values())))
    lines += ["", f"{drawn} draw(s) of the training rows (the paper: ten), one test set of 1000 rows.", ""]
    lines += ["![Fig. 5](images/forest-features/learning.png)", "", "![Fig. 4](images/forest-features/shapes.png)"]
    return lines


def multilabel(found, tally):
    lines = ["", "## Multi-label sets (Table IV): micro-averaged AUC of ML-kNN", ""]
    cells = []
    for name, repetitions in found.items():
        mean = {key: np.mean([one[key] for one in repetitions]) for key in repetitions[0]}
        paper = _LABELS[name]
        shown = f"{mean['induced']:.3f}" if paper is None else tally.add(mean["induced"], paper[0])
        printed = ("–", "–") if paper is None else (f"{paper[0]:.3f}", f"{paper[1]:.3f}")
        cells.append(
            (
                *(name, f"{mean['trees']:.0f}", printed[0], shown, f"{mean['induced_cosine']:.3f}", printed[1]),
                *(f"{mean['original']:.3f}", f"{mean['original_white']:.3f}", str(len(repetitions))),
            )
        )
    head = ("set", "trees", "induced, paper", "ours", "by cosine", "original, paper", "ours", "scaled", "seeds")
    return lines + rows(head, *cells)


def projection(found):
    mean = {key: np.mean([one[key] for one in found["newsgroups"]]) for key in found["newsgroups"][0]}
    whole = np.mean([one["specificity"] for one in found.get("unhashed", [{"specificity": np.nan}])])
    lines = ["", "## Projections for plots (section III-E): two newsgroups for the protein interactions", ""]
    lines += [
        f"{mean['rows']:.0f} training and {mean['rows_test']:.0f} test rows of 1000 words; 150 trees, nodes hashed by "
        f"a modulo onto 1000 columns ({mean['filled']:.0f} of which a row fills; {mean['filled0']:.0f} before). "
        "Specificity at sensitivity 0.7978 (the paper's figures are of other data: 0.658 with induced features, 0.644 "
        f"for Chen and Liu's forest): Gaussian SVM on induced features {mean['induced']:.3f}, on original ones "
        f"{mean['original']:.3f}, SVM on the unhashed kernel {whole:.3f}, the forest {mean['forest']:.3f}. Overlap of "
        "both classes' densities in random planes "
        f"of test rows (mean of 20): {mean['overlap']:.2f} of induced, {mean['overlap0']:.2f} of original features.",
        "",
        "![Fig. 8](images/forest-features/densities.png)",
    ]
    return lines


def text(found, introduction, remarks=""):
    """The whole page; parts that were not measured are left out."""
    tally = Tally()
    parts = []
    if "uci" in found:
        parts += binary(found["uci"], found.get("alignment", {}), tally)
    if "noise" in found and "draws" in found:
        parts += noise(found["noise"], found["draws"], tally)
    if "missing" in found:
        parts += missing(found["missing"])
    if "multilabel" in found:
        parts += multilabel(found["multilabel"] | found.get("bibtex", {}), tally)
    if "sin" in found:
        parts += sin_inverse(found["sin"], tally)
    if "projection" in found:
        parts += projection(found["projection"])
    head = [
        "# Forest features: the paper's figures beside ours",
        "",
        f"won {tally.won}, tied {tally.tied}, lost {tally.lost}: cells of ours above, equal to and below the paper's "
        "column for induced features, of the figures that it prints. In bold: not below.",
        "",
        f"{datetime.date.today()}; manifolia {manifolia.__version__}, scikit-learn {sklearn.__version__}.",
        "",
        introduction,
    ]
    return "\n".join([*head, *([remarks.strip()] if remarks else []), *parts]) + "\n"
