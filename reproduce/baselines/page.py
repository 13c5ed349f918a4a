"""Ranks and tables of the page on seven supervised maps."""

from __future__ import annotations

import numpy as np
from reproduce._shared import tallies
from reproduce._shared.markdown import table
from reproduce.rf_phate.run import in_units, named
from reproduce.rf_phate.tables import METHODS as ORDER
from reproduce.rf_phate.tables import SUPERVISED

OURS, WRITTEN = ORDER[0], "as written"
FAR = 1.25  # a mean error beyond this factor of the paper's, either way, is marked


def rank(errors, value):
    """Rank of a value among errors, 1 for the least; equal ones share the better rank."""
    return 1 + sum(error < value - 5e-5 for error in errors if error is not None)


def ranked(means, paper):
    """Our rank and the paper's: the first of each list among the others."""
    return rank(means[1:], means[0]), rank(paper[1:], paper[0])


def far(mean, paper):
    """Whether ours is not the paper's figure, whichever is better."""
    low, high = sorted((mean, paper))
    return high > FAR * low + 0.005


def shown(mean, paper):
    """A cell: the paper's figure and ours, marked if they are far apart."""
    if mean is None:
        return "N/A"
    text = f"{paper:.3g} / {mean:.3g}"
    return f"*{text}*" if far(mean, paper) else text


def means_of(runs, method, k, c):
    """A method's errors by seed, for one number of dimensions and one variable; None where there are none."""
    values = [run[method][k][c] for run in runs if run.get(method) is not None]
    return np.array(values) if values else None


def report(title, runs, dims, ranks):
    """The table of a set; RF-PHATE's ranks (paper's, ours) are collected."""
    score = np.mean([run["score"] for run in runs])
    size = f"{runs[0]['rows']} rows, {tallies.several(len(runs), 'seed')}"
    lines = ["", f"## {title}", "", f"{size}; forest out of bag {score:.4f}", ""]
    rows = []
    for c, variable in enumerate(runs[0]["variables"]):
        for k, (d, figures) in enumerate(zip(dims, SUPERVISED[variable], strict=False)):
            paper = [in_units(variable, figure) for figure in figures]
            values = {method: means_of(runs, method, k, c) for method in (*ORDER, WRITTEN)}
            means = [None if values[method] is None else float(values[method].mean()) for method in ORDER]
            sd = float(values[OURS].std(ddof=1)) if len(runs) > 1 else 0.0
            mine, theirs = ranked(means, paper)
            if "inferred" not in variable:
                ranks.append((theirs, mine))
            cells = [shown(mean, figure) for mean, figure in zip(means, paper, strict=True)]
            cells[0] += f" ± {sd:.2g}"
            own = "" if values[WRITTEN] is None else f"{values[WRITTEN].mean():.3g}"
            rows.append([f"{named(variable)} ({d})", f"{theirs} / {mine}", *cells, own])
    return lines + table(["variable (dims)", "rank", *ORDER, WRITTEN], rows)


def report_of_new(title, runs):
    """The table of new rows; not counted, since the paper has none."""
    rows = []
    for c, variable in enumerate(runs[0]["variables"]):
        values = [np.array([run[method][c] for run in runs]) for method in ORDER]
        cells = [f"{one.mean():.3g} ± {one.std(ddof=1):.2g}" for one in values]
        place = rank([float(one.mean()) for one in values[1:]], float(values[0].mean()))
        rows.append([named(variable), *cells, str(place)])
    lines = ["", f"### {title}, new rows", "", f"{len(runs)} splits of the rows.", ""]
    return lines + table(["variable (2)", *ORDER, "rank of RF-PHATE"], rows)


def at_most(ranks, most):
    """In how many rows the paper's rank, and ours, is at most so much."""
    return tuple(sum(pair[i] <= most for pair in ranks) for i in range(2))


def targets(supervised, noise):
    """What was aimed at: first or second in nine of ten rows of Tables 3 to 7, first in all of Table 9."""
    lines = []
    if supervised:
        theirs, mine = at_most(supervised, 2)
        n = len(supervised)
        said = "met" if mine >= 0.9 * n else "missed"
        lines.append(
            f"Target, RF-PHATE first or second in nine of ten rows of Tables 3 to 7: {mine} of {n} rows "
            f"({100 * mine / n:.0f} %; the paper's own figures: {theirs}), {said}."
        )
    if noise:
        theirs, mine = at_most(noise, 1)
        said = "met" if mine == len(noise) else "missed"
        lines.append(
            f"Target, RF-PHATE first in all of Table 9, with its defaults: {mine} of {len(noise)} rows "
            f"(the paper's own figures: {theirs}), {said}."
        )
    return lines
