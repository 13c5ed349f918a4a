"""The page on guided maps, from the results of ``reproduce/guided/run.py``.

    python -m reproduce.guided.page --results guided.jsonl --out docs/results/guided.md
    python -m reproduce.guided.page --results guided.jsonl --keep docs/results/guided.md --out docs/results/guided.md
    python -m reproduce.guided.page --run quick --out reproduced/guided.md

With ``--run`` what the results lack is computed first: ``quick`` takes three small tables and one seed, ``full`` all
that the page shows, which takes hours. Results are then kept in a folder of their own unless ``--results`` says where.
With ``--keep``, figures of maps that the results lack are taken over from an earlier page as they are printed there:
for maps whose code has not changed since.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import re
import tempfile
from typing import NamedTuple

import numpy as np
import sklearn
from reproduce._shared import tallies
from reproduce._shared.markdown import table as markdown_table
from reproduce.guided import honesty, maps, remarks, run, scores, verdicts
from reproduce.guided.data import FRIEDMAN_ROWS, HELD_OUT, MOST_ROWS, TABLES
from reproduce.guided.results import Results

import manifolia

WORK = pathlib.Path(tempfile.gettempdir()) / "manifolia-guided"
QUICK_TABLES = ("glass", "vehicle", "diabetes")  # none of the untouched ones, which quick runs would put in sight
PICTURE = pathlib.Path("images") / "guided" / "maps.png"

#: Part of the results to the number of runs that a whole one has, and what they are.
PARTS = {
    "maps": (len(TABLES) * run.SEEDS, "splits of tables"),
    "permuted": (len(honesty.PERMUTED) * honesty.PERMUTED_SEEDS, "permutations of labels"),
    "mixtures": (len(honesty.MIXED) * honesty.MIXED_SEEDS, "splits with mixtures"),
}
#: Figure to its heading, what it is, and its digits.
FIGURES = {
    "nn10": (
        "10 neighbours",
        "Held-out rows told from the 10 nearest training rows in the map: accuracy for classes, R² for numbers, "
        "1 − Hamming loss for several labels. Higher is better. The forest's column is of its own predictions.",
        3,
    ),
    "nn1": ("1 neighbour", "The same from the nearest training row alone.", 3),
    "doubt": (
        "Brier score",
        "Of the vote of the 20 nearest training rows, the sum over classes of squared differences; for numbers the "
        "squared error of their mean divided by the variance, for several labels the mean squared difference. Lower "
        "is better: it punishes hidden doubt as well as blur.",
        3,
    ),
    "inner": (
        "Inner structure",
        "`metrics.inner_structure`: of a row's 5 nearest rows of its class by proximity profile, the share that is "
        "among its 5 nearest of its class in the map. Training rows; the proximities are those of GuidedMap's forest "
        "for all maps. Higher is better.",
        3,
    ),
    "coinciding": (
        "Rows in one place",
        "Share of all rows that lie within a millionth of the map's width of a row that differs from them. Maps that "
        "place rows through the leaves of a forest have one place for all new rows that no tree tells apart.",
        4,
    ),
    "over_separation": (
        "Over-separation",
        "`over_separation_`: the score of a training row's 10 neighbours in the map minus that of the forest out of "
        "bag, or of another guide on rows that it was not trained on, or of a blind guess where that is better.",
        3,
    ),
    "seconds": (
        "Processor seconds",
        "Of fitting and of placing the held-out rows, on one thread, compiling left out.",
        1,
    ),
}


def cell(values, digits):
    """Mean over seeds, with its standard error."""
    if not len(values):
        return "–"
    text = f"{round(float(values.mean()), digits) + 0.0:.{digits}f}"  # + 0.0: no minus before zero
    return text if len(values) == 1 else f"{text} ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}"


class Kept(NamedTuple):
    """Figures of an earlier page, as they are printed there."""

    date: str
    cells: dict  # (figure, table, map) to the text
    reasons: list  # rows of the table of what is missing: map, tables, reason

    def only(self, names):
        """Those of some maps."""
        cells = {key: text for key, text in self.cells.items() if key[2] in names}
        return self._replace(cells=cells, reasons=[row for row in self.reasons if row[0] in names])

    @property
    def means(self):
        """The same as numbers."""
        return {key: float(text.split()[0]) for key, text in self.cells.items()}

    @property
    def names(self):
        """The maps, in their order."""
        return [name for name in run.ALL_MAPS if any(key[2] == name for key in self.cells)]


def read_page(text):
    """Read the figures of a page that was written here."""
    headings = {heading: figure for figure, (heading, _, _) in FIGURES.items()}
    cells, reasons, figure, columns = {}, [], None, []
    for line in text.splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if line.startswith("## "):
            figure = headings.get(line[3:])
        elif figure and parts[0] == "table":
            columns = parts[1:]
        elif figure and parts[0] in TABLES:
            pairs = zip(columns, parts[1:], strict=True)
            cells |= {(figure, parts[0], name): part for name, part in pairs if part != "–"}
        elif not figure and parts[0] in run.ALL_MAPS and len(parts) == 3:
            reasons.append(parts)
    return Kept(re.search(r"page\.py` on (\S+),", text)[1], cells, reasons)


def guide_lines(found, means):
    """The targets of the map that chooses its guide."""
    if not found:
        return []
    rows = [[one.target, one.measured, "met" if one.is_met else "**missed**"] for one in found]
    n_met = sum(one.is_met for one in found)
    counts = tallies.tally((n_met, 0, len(found) - n_met))
    return [
        "",
        f'With `guide="auto"`, on {seeds_text(means)} of each table: {counts} of '
        f"{tallies.several(len(found), 'target')}.",
        "",
        *markdown_table(["target of GuidedMap with guide auto", "measured", "verdict"], rows),
    ]


def remark_lines(found, guided):
    """What was tried for the targets that are missed, and what limits them."""
    lines = []
    for several, known, whose in ((found, remarks.BY_FOREST, "its defaults"), (guided, remarks.BY_AUTO, "guide auto")):
        told = remarks.lines_of([one.target for one in several if not one.is_met], known)
        lines += ["", f"With {whose}:", "", *told] if told else []
    return ["", "## What is missed, what was tried, and what limits it", *lines] if lines else []


class _Both:
    """Figures of all maps; those of the map that chooses its guide from the splits that it was tried on."""

    def __init__(self, means, with_auto):
        self._means, self._with_auto = means, with_auto

    def values(self, figure, table, name):
        return (self._with_auto if name == maps.AUTO else self._means).values(figure, table, name)


def figure_lines(means, figure, with_auto, kept):
    """The two tables of a figure: that of the tables of choosing, and that of the tables of judging."""
    heading, meaning, digits = FIGURES[figure]
    means = _Both(means, with_auto)

    def text(table, name):
        return kept.get((figure, table, name)) or cell(means.values(figure, table, name), digits)

    names = [name for name in run.ALL_MAPS if any(text(table, name) != "–" for table in TABLES)]
    lines = ["", f"## {heading}", "", meaning]
    for title, chosen_on in (("Tables that sharpness was chosen on", True), ("Tables that judge", False)):
        rows = [
            [name, *(text(name, one) for one in names)]
            for name, table in TABLES.items()
            if table.chosen_on == chosen_on and any(len(means.values(figure, name, one)) for one in names)
        ]
        if rows:
            lines += ["", f"{title}:", "", *markdown_table(["table", *names], rows)]
    return lines


def reason_lines(results, kept):
    """What is missing, and why; with rows of an earlier page."""
    found = {}
    for one in results:
        if "reason" in one:
            found.setdefault((one["map"], one["reason"]), {})[one["table"]] = True
    rows = [[name, ", ".join(tables), reason.replace("|", "/")] for (name, reason), tables in found.items()]
    rows += kept
    if not rows:
        return []
    return ["", "## What is missing", "", *markdown_table(["map", "tables", "reason"], rows)]


def table_lines(means):
    """What the tables are."""
    words = {"classification": "classes", "regression": "numbers", "multilabel": "several labels"}
    rows = [
        [table.name, words[table.task], "choosing" if table.chosen_on else "judging", table.note]
        for table in TABLES.values()
        if table.name in means.n_seeds
    ]
    return ["", "## The tables", "", *markdown_table(["table", "target", "used for", "note"], rows)]


def honesty_lines(results):
    """Permuted labels and mixtures, where they were run."""
    lines, rows = [], []
    for name in honesty.GUIDES:
        for table, values in verdicts.excesses(results, name).items():
            for kind, text in (("left_out", "training rows, each left out"), ("held_out", "held-out rows")):
                excess, most = values[kind], verdicts.allowed(table, values[kind])
                said = "met" if excess.mean() <= most else "missed"
                seeds, over = str(len(excess)), cell(values["over"], 3)
                rows.append([name, table, text, cell(excess, 3), f"{most:.3f}", said, over, seeds])
    if rows:
        lines += [
            "",
            "## Permuted labels",
            "",
            "GuidedMap of tables whose targets were permuted: accuracy of 10 neighbours minus that of always saying "
            "the largest class, or R². Over-separation is the map's score of training rows minus that of the guide on "
            "rows it was not trained on, or of always saying the largest class (or the mean) where that is better. "
            "Here it is: a row's own label is missing among the guide's voters.",
            "",
            *markdown_table(["map", "table", "rows", "shown", "allowed", "verdict", "over-separation", "seeds"], rows),
        ]
    shares = verdicts.both_shares(results)
    if shares:
        names = honesty.SHARPNESS
        rows = [[table, *(cell(np.array(one.get(name, [])), 3) for name in names)] for table, one in shares.items()]
        lines += [
            "",
            "## Mixtures of two pictures",
            "",
            f"{honesty.N_MIXTURES} rows λ a + (1 − λ) b of held-out pictures a and b of two classes, λ between "
            f"{honesty.LEAST} and {honesty.MOST}, placed by `transform`: share that has both classes among its "
            f"{scores.DOUBT_NEIGHBORS} nearest training rows.",
            "",
            *markdown_table(["table", *names], rows),
        ]
    return lines


PROTOCOL = f"""
At most {MOST_ROWS:,} rows of a table, drawn by class; {1 - HELD_OUT:.0%} of them are mapped, and the rest are placed by
`transform`. Every map of a seed gets the same rows, as the same numbers: tables with missing values imputed and
flagged, numbers standardised by the training rows and categories as one column per level; pictures and words as they
are, counts of words as log(1 + count). Figures are means over seeds, with their standard errors; a seed of a table
counts if every map was tried on it. All maps have their defaults, but for NCA, which gets the first {maps.NCA_COLUMNS}
principal components of wider tables. t-SNE is `KernelTSNE`, which has a formula for new rows. Friedman's function has
{FRIEDMAN_ROWS:,} made rows, with noise of standard deviation 1.
"""


def seeds_text(means):
    """ "5 seeds", or "4 to 5 seeds"."""
    least, most = (function(means.n_seeds.values(), default=0) for function in (min, max))
    return tallies.several(most, "seed") if least == most else f"{least} to {most} seeds"


def shortfall(results, means):
    """A sentence on what a whole run has and this one lacks; empty for a whole run."""
    runs = {part: len({(one["table"], one["seed"]) for one in results if one["part"] == part}) for part in PARTS}
    runs["maps"] = sum(means.n_seeds.values())
    lacking = [f"{runs[part]} of {n} {text}" for part, (n, text) in PARTS.items() if runs[part] < n]
    return f"This run is not whole, and its verdicts are not final: {', '.join(lacking)}." if lacking else ""


def write(results, path, *, stamp, earlier=None):
    """Write the page; a target that is missed is printed as missed, with the figure."""
    run_again = {one["map"] for one in results if one["part"] == "maps"}
    kept = (earlier or Kept("", {}, [])).only(set(run.ALL_MAPS) - run_again)
    found = verdicts.verdicts(results, kept.means)
    n_met = sum(one.is_met for one in found)
    rows = [[one.target, one.measured, "met" if one.is_met else "**missed**"] for one in found]
    means = verdicts.Means(results)
    with_auto = verdicts.Means(results, with_auto=True)
    lacking = shortfall(results, means)
    guided = verdicts.guide_verdicts(results, kept.means)
    taken = f"Not run again, but taken over from the page of {kept.date}: {', '.join(kept.names)}."
    lines = [
        "# Guided maps compared",
        "",
        f"{tallies.tally((n_met, 0, len(found) - n_met))} of the {tallies.several(len(found), 'target')} below.",
        "",
        f"{stamp} {tallies.several(len(means.n_seeds), 'table')}, {seeds_text(means)}.",
        "",
        *([lacking, ""] if lacking else []),
        *([taken, ""] if kept.cells else []),
        *markdown_table(["target of GuidedMap with its defaults", "measured", "verdict"], rows),
        *guide_lines(guided, with_auto),
        *remark_lines(found, guided),
        "",
        PROTOCOL.strip(),
        *table_lines(means),
    ]
    if (path.parent / PICTURE).exists():
        lines += [
            "",
            f"![Ten tables in three guided maps]({PICTURE.as_posix()})",
            "",
            "Training rows pale, held-out rows in full colour, by class.",
        ]
    for figure in FIGURES:
        lines += figure_lines(means, figure, with_auto, kept.cells)
    lines += [*honesty_lines(results), *reason_lines(results, kept.reasons)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    for one in [*found, *guided]:
        print(f"{'met' if one.is_met else 'MISSED'}: {one.target}: {one.measured}")


def compute(path, out, *, full, n_jobs):
    """Compute what the results lack."""
    if not full:
        run.run_all(run.comparison(path, tables=QUICK_TABLES, n_seeds=1), n_jobs)
        return
    run.run_all([*run.comparison(path), *run.permutations(path), *run.mixing(path)], n_jobs)
    if not (out.parent / PICTURE).exists():
        from reproduce.guided import figures

        figures.draw(out.parent / PICTURE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, help="file that reproduce.guided.run wrote")
    parser.add_argument("--run", choices=("quick", "full"), help="compute what the results lack first")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes compute")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the page")
    parser.add_argument("--keep", type=pathlib.Path, help="an earlier page, for the maps that the results lack")
    arguments = parser.parse_args()
    if not (arguments.results or arguments.run):
        parser.error("pass --results with a file of results, or --run to compute them.")
    path = arguments.results or WORK / f"{arguments.run}.jsonl"
    if arguments.run:
        compute(path, arguments.out, full=arguments.run == "full", n_jobs=arguments.jobs)
    results = Results(path).read()
    if not results:
        parser.error(f"{path} holds no results. Run python -m reproduce.guided.run --out {path} first.")
    stamp = (
        f"Made by `reproduce/guided/page.py` on {datetime.date.today()}, manifolia {manifolia.__version__}, "
        f"scikit-learn {sklearn.__version__}, Python {platform.python_version()};"
    )
    earlier = read_page(arguments.keep.read_text(encoding="utf-8")) if arguments.keep else None
    write(results, arguments.out, stamp=stamp, earlier=earlier)


if __name__ == "__main__":
    main()
