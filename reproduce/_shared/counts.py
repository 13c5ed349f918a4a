"""One count of all papers' cells: which are won, tied and lost, by one rule, and where every counted cell is kept.

A cell is one figure or one claim of a paper that was measured here, in one of two settings: ``"default"`` is what a
user gets, ``"as written"`` the paper's own settings. The rule, for every paper alike:

* refused by our code: lost;
* equal to the digits that the paper prints: tied;
* within one standard error of our mean, from at least five seeds: tied, on whichever side;
* else won on the better side and lost on the other;
* a claim that has no figure ("the optimum lies there") is won where it holds. Where it does not, the two figures that
  it comes down to are compared as above, and the better side of one that failed is tied at best.

What cannot be computed, for want of data or because it was left out, is listed and counted nowhere. Figures of other
methods, ranks among methods, and names of variables have tables of their own and are no cells.

Cells live in ``counts.json`` beside the pages. A script replaces the cells of its own part; the summary is made of all.
"""

from __future__ import annotations

import json
from typing import NamedTuple

OUTCOMES = ("won", "tied", "lost")
NOT_COMPUTED = "not computed"
SETTINGS = ("default", "as written")
FILE = "counts.json"
SUMMARY = "summary.md"
#: In the order of the summary.
PAPERS = ("RF-PHATE", "Bayesian tuning", "forest features", "kernel t-SNE", "FeatureMAP")
#: Seeds from which a standard error can tie.
ENOUGH = 5


class Cell(NamedTuple):
    """A figure or a claim of a paper, and ours."""

    paper: str
    cell: str
    setting: str
    ours: float | None  # None: refused, or not computed
    theirs: float | None
    digits: int = 3  # decimals that the paper prints
    higher: bool = False  # whether higher is better
    error: float | None = None  # standard error of ours, or of the difference if both were measured
    seeds: int = 1
    looked_at: bool = False  # while a default was chosen
    holds: bool | None = None  # of a claim
    why: str = ""  # why there is no figure
    absent: bool = False  # not computed, as against refused


def measured(paper, cell, values, theirs, *, setting="default", **more):
    """A cell by the figures of several seeds."""
    values = [float(one) for one in values]
    n = len(values)
    mean = sum(values) / n
    spread = (sum((one - mean) ** 2 for one in values) / (n - 1)) ** 0.5 if n > 1 else None
    error = None if spread is None else spread / n**0.5
    return Cell(paper, cell, setting, mean, theirs, error=error, seeds=n, **more)


def missing(paper, cell, theirs, why, *, setting="default", **more):
    """A cell that could not be computed: listed, not counted."""
    return Cell(paper, cell, setting, None, theirs, why=why, absent=True, seeds=0, **more)


def refused(paper, cell, theirs, why, *, setting="default", **more):
    """A cell that our code refuses: lost."""
    return Cell(paper, cell, setting, None, theirs, why=why, seeds=0, **more)


def outcome(cell):
    """Won, tied, lost, or not computed."""
    if cell.absent:
        return NOT_COMPUTED
    if cell.holds:
        return "won"
    if cell.ours is None or cell.theirs is None:
        return "lost"
    ahead = cell.ours - cell.theirs if cell.higher else cell.theirs - cell.ours
    near = cell.error is not None and cell.seeds >= ENOUGH and abs(ahead) <= cell.error
    if near or round(cell.ours, cell.digits) == round(cell.theirs, cell.digits):
        return "tied"
    if ahead > 0:
        return "won" if cell.holds is None else "tied"
    return "lost"


def count(cells, **chosen):
    """How many are won, tied and lost of the cells that have the given values."""
    said = [outcome(one) for one in cells if all(getattr(one, key) == value for key, value in chosen.items())]
    return tuple(said.count(word) for word in OUTCOMES)


def line(counts):
    """A count as the pages write it."""
    return ", ".join(f"{word} {number}" for word, number in zip(OUTCOMES, counts, strict=True))


def share(counts):
    """The share that is won or tied."""
    return f"{100 * (counts[0] + counts[1]) / sum(counts):.0f} %" if sum(counts) else "–"


def head(cells):
    """The first lines of a page: its cells by both settings."""
    lines = []
    for setting in SETTINGS:
        by = count([one for one in cells if one.setting == setting])
        if sum(by):
            lines.append(f"* {setting}: {line(by)} of {sum(by)} ({share(by)} won or tied)")
    return [*lines, "", "By the rule of the [summary](summary.md), which counts every cell once."] if lines else []


def record(folder, part, cells):
    """Replace the cells of one part in the folder's file, and write the summary again."""
    path = folder / FILE
    kept = [entry for entry in _entries(path) if entry["part"] != part]
    kept += [_entry(part, one) for one in cells]
    order = {name: place for place, name in enumerate(PAPERS)}
    kept.sort(key=lambda one: (order.get(one["paper"], len(order)), one["part"], SETTINGS.index(one["setting"])))
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in kept)
    path.write_text(f"[\n{lines}\n]\n" if kept else "[]\n", encoding="utf-8")
    write_summary(folder)


def load(folder):
    """All cells of a folder."""
    return [Cell(**{name: entry[name] for name in Cell._fields}) for entry in _entries(folder / FILE)]


def _entries(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _entry(part, cell):
    """A cell as it is kept, with its outcome; ours to six digits and its error to three."""
    kept = cell._asdict()
    kept["ours"] = None if cell.ours is None else float(f"{cell.ours:.6g}")
    kept["error"] = None if cell.error is None else float(f"{cell.error:.3g}")
    return {"part": part, **kept, "outcome": outcome(cell)}


def rows(cells):
    """The summary's table: a line for each paper and setting."""
    lines = []
    for paper in [*PAPERS, None]:
        for setting in SETTINGS:
            here = [one for one in cells if one.setting == setting and paper in (None, one.paper)]
            by, seen = count(here), count(here, looked_at=True)
            unseen = tuple(all_ - some for all_, some in zip(by, seen, strict=True))
            absent = sum(outcome(one) == NOT_COMPUTED for one in here)
            if here:
                lines.append((paper or "all five", setting, by, seen, unseen, absent))
    return lines


def text(cells):
    """The summary as printed on the command line."""
    shown = f"{'paper':17}{'setting':12}{'won':>5}{'tied':>6}{'lost':>6}{'won or tied':>13}{'not computed':>14}"
    for paper, setting, by, _, _, absent in rows(cells):
        shown += f"\n{paper:17}{setting:12}{by[0]:5d}{by[1]:6d}{by[2]:6d}{share(by):>13}{absent:14d}"
    return shown


def sentence(cells):
    """The one sentence of the README."""
    by = count(cells, setting="default")
    return (
        f"Of {sum(by)} figures and claims of the five papers that could be measured, the defaults win {by[0]}, tie "
        f"{by[1]} and lose {by[2]} ({share(by)} won or tied)"
    )


def _cells_of(by):
    return f"{by[0]} | {by[1]} | {by[2]}"


def write_summary(folder):
    """The page that adds up all parts."""
    cells = load(folder)
    lines = ["# The count", "", f"{sentence(cells)}.", ""]
    lines += ["Every counted cell once, by the rule below; `counts.json` beside this page holds them all.", ""]
    lines += ["| paper | setting | won | tied | lost | won or tied | not computed |", "|---" * 7 + "|"]
    for paper, setting, by, _, _, absent in rows(cells):
        lines.append(f"| {paper} | {setting} | {_cells_of(by)} | {share(by)} | {absent} |")
    lines += ["", *_MEANING.strip().splitlines(), "", "## Cells that were looked at while defaults were chosen", ""]
    lines += _LOOKED_AT.strip().splitlines()
    lines += ["", "| paper | looked at: won | tied | lost | not looked at: won | tied | lost |", "|---" * 7 + "|"]
    for paper, setting, _, seen, unseen, _ in rows(cells):
        if setting == "default":
            lines.append(f"| {paper} | {_cells_of(seen)} | {_cells_of(unseen)} |")
    lines += ["", "## The rule", "", *_RULE, "", "## Lost cells", ""]
    lines += ["| paper | setting | cell | the paper's | ours | standard error | seeds |", "|---" * 7 + "|"]
    for one in cells:
        if outcome(one) == "lost":
            ours, error = _figure(one.ours, one.digits + 1) or one.why, _figure(one.error, one.digits + 2)
            theirs = _figure(one.theirs, one.digits)
            lines.append(f"| {one.paper} | {one.setting} | {one.cell} | {theirs} | {ours} | {error} | {one.seeds} |")
    absent = [one for one in cells if outcome(one) == NOT_COMPUTED]
    if absent:
        lines += ["", "## Not computed", "", "| paper | setting | cell | why |", "|---" * 4 + "|"]
        lines += [f"| {one.paper} | {one.setting} | {one.cell} | {one.why} |" for one in absent]
    (folder / SUMMARY).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _figure(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


_RULE = [one for one in __doc__.split("\n\n", 1)[1].splitlines() if "is kept" not in one]
_MEANING = """
"default" is what a user gets who changes nothing. "As written" is the paper's own algorithm and settings, as far as it
names them. One paper's page is of a run before a default changed, and says so: the forest features' Tables III and IV
and noise tables are of kernels with roots; a full run counts today's defaults in their place. What limits a lost cell
stands on the page of its paper: [RF-PHATE](rf-phate.md), [tuning](tuning.md),
[forest features](forest-features.md), [kernel t-SNE](kernel-tsne.md), [FeatureMAP](featuremap.md). The date of a page
is that of its run. Ranks among methods, other methods' figures and names of variables are on those pages and in no
count.
"""
_LOOKED_AT = """
A default that was chosen with a set's results in sight may owe its figures there to the choice. Looked at are all sets
of RF-PHATE's tables (its rule for t, its damping and its forest for many columns were chosen on them), the sets of
kernel t-SNE's Table 2 (the mode as the way to place rows), those of FeatureMAP's Table 1 (the weight of its density
term and its start), and Table II of the forest features (that a kernel leaves the roots out). [Data that no default was
chosen on](untouched.md) has a page of its own.
"""
