"""Text and cells on the page on tuning: tables, pictures and verdicts."""

from __future__ import annotations

import numpy as np
from reproduce._shared.markdown import head, line, spread
from reproduce.tuning import figures
from reproduce.tuning.page import (
    NEAR,
    TITLES,
    beside_random,
    budget,
    cell,
    chosen,
    claim,
    each,
    error,
    least,
    picture,
    place,
    quartiles,
    titled,
)

METHODS = {"tsne": "t-SNE", "featuremap": "UMAP"}
FOUR = ("gp-ei", "gp-pi", "gp-lcb", "forest")  # the paper's surrogates
AFTER = 15  # settings after which the paper's searches have converged: five pilots and ten more
MOST_NAMED = 9
COLLAPSED = 1e-3  # standard deviation of a map that is one point
COLLAPSE = """
At the same fraction the map is a single point: affinities are then nearly equal, the phase of exaggeration draws all
rows together, and the map does not part again (nor does it in double precision, tried on 1,300 rows). So a fraction
that was best on few rows can be useless on many, which is why the tuner tries what it found on all rows in several ways
before it delivers a map.
"""
TEXT = "tf-idf of 5,000 words, 50 singular directions, rows of length 1."
CELLS = "log(1 + x) of equal depth, 2,000 genes, 50 principal components."
WAYS = ("same fraction", "between", "same number")


def search_row(label, found, studies):
    """The row of a grid or of a surrogate's searches; grids have no steps."""
    by_neighbors = "n_neighbors" in studies[0]["chosen"]
    shares = chosen(studies, "n_neighbors" if by_neighbors else "perplexity") / found["n"]
    early = [at_step(one) for one in studies] if "history" in studies[0] else []
    return line(
        label, len(studies), f"{each(studies, 'runs').mean():.0f}", spread(each(studies, "observed"), 3),
        spread(early, 3) if early else "", spread(each(studies, "true"), 3), quartiles(shares, 3),
        quartiles(chosen(studies, "min_dist"), 1) if by_neighbors else "",
    )  # fmt: skip


def at_step(one):
    """The true loss of what was recommended after the paper's number of settings, or the next that was looked at."""
    step = next((k for k, n in enumerate(one["steps"]) if n >= AFTER), -1)
    return one["history"][step][2]


def searches_lines(found, scale):
    """The table of grids and searches of both methods."""
    lines = head(
        "search", "batches", "runs", "seen", f"true after {AFTER} settings", "true at the end", "fraction of the rows",
        "min_dist",
    )  # fmt: skip
    for key, method in METHODS.items():
        one = found[key]
        lines.append(search_row(f"{method}, grid of {one['grid settings']} × {scale.repeats[2]}", one, one["grid"]))
        for surrogate, studies in one["studies"].items():
            lines.append(search_row(f"{method}, {TITLES[surrogate]}, {budget(one['trials'])}", one, studies))
    return lines


def search_verdicts(found, name):
    """Tuned against the grid: GP with EI, and the worst of the paper's four surrogates."""
    verdicts = []
    for key, method in METHODS.items():
        studies, grid = found[key]["studies"], each(found[key]["grid"], "true")
        worst = max(FOUR, key=lambda surrogate: each(studies[surrogate], "true").mean())
        titles = {"gp-ei": "tuned by GP, EI"}
        titles[worst] = f"the worst of four surrogates, {TITLES[worst]},"
        for surrogate, what in titles.items():
            true = each(studies[surrogate], "true")
            runs = f"{each(studies[surrogate], 'runs').mean():.0f} runs against {found[key]['grid'][0]['runs']}"
            text = f"{true.mean():.3f} against {grid.mean():.3f}, {runs}"
            verdicts.append(
                claim(f"{name}, {method}: true 1 − NMI, {what} against a thinned grid", "comparable", true, grid, text)
            )
    return verdicts


def best_run(runs):
    """The map whose own loss is least; UMAP tells none, and gives its first."""
    losses = [run["loss"] for run in runs]
    return runs[0] if not np.all(np.isfinite(losses)) else runs[int(np.argmin(losses))]


def setting_text(setting):
    if "perplexity" in setting:
        return f"perplexity {setting['perplexity']:g}"
    return f"{setting['n_neighbors']:g} neighbours, min_dist {setting['min_dist']:g}"


def panels(found, key):
    """Few rows and all at the optimum, all at the default; of many classes the largest have their own colour."""
    maps, n = found[f"{key} maps"], found[key]["n"]
    classes, counts = np.unique(found["y"]["whole"], return_counts=True)
    named = classes if len(classes) <= MOST_NAMED else classes[np.argsort(-counts)[: MOST_NAMED - 1]]
    shown = {}
    for way, rows, y in (("subsample", n, "part"), ("same fraction", found["rows"], "whole"),
                         ("default", found["rows"], "whole")):  # fmt: skip
        one = maps[way]
        title = f"{METHODS[key]}, {rows:,} rows\n{setting_text(one['setting'])}"
        shown[title] = (best_run(one["runs"])["Y"], np.where(np.isin(found["y"][y], named), found["y"][y], "other"))
    return shown


def map_lines(found):
    """Figures of the maps of all rows."""
    lines = head(f"{found['rows']:,} rows", "runs", "NMI", "classification error", "AUC")
    for key, method in METHODS.items():
        maps = found[f"{key} maps"]
        for way, one in maps.items():
            if way == "subsample":
                continue
            values = np.array([run["figures"] for run in one["runs"]])
            said = f"{method}, {setting_text(one['setting'])}, {'the ' if way != 'between' else ''}{way}"
            meant = found["rows"] / found[key]["n"] * maps["subsample"]["setting"].get("n_neighbors", 0)
            if way == "same fraction" and one["setting"].get("n_neighbors", meant) < round(meant):
                said = f"{method}, {setting_text(one['setting'])}, in place of {meant:.0f} (too slow)"
            lines.append(line(said, len(values), *(spread(column, 3) for column in values.T)))
    return lines


def delivered(maps, column):
    """What a tuner that tries all three ways delivers: each run of the way that is best by NMI in the other runs."""
    values = {way: np.array([run["figures"] for run in maps[way]["runs"]]) for way in WAYS}
    n = len(values[WAYS[0]])
    out = []
    for run in range(n):
        others = [k for k in range(n) if k != run] or [run]
        way = max(WAYS, key=lambda way: values[way][others, 0].mean())
        out.append(values[way][run, column])
    return np.array(out)


def map_verdicts(found, papers):
    """The tuned fraction, and what the tuner delivers, against the default on all rows."""
    maps, name = found["tsne maps"], papers["name"]
    tuned, usual = (np.array([run["figures"] for run in maps[way]["runs"]]) for way in ("same fraction", "default"))

    def against(what, paper, ours, theirs, sign):
        *shown, one = claim(what, paper, ours, theirs, f"{ours.mean():.3f} against {theirs.mean():.3f}")
        return (*shown, one._replace(higher=sign < 0))

    ours = delivered(maps, 0)
    return [
        against(f"{name}: NMI at the tuned fraction against perplexity 30", papers["nmi"], tuned[:, 0], usual[:, 0],
                -1),
        against(f"{name}: classification error, the same", papers["error"], tuned[:, 1], usual[:, 1], 1),
        against(f"{name}: NMI of the best of three ways to carry it over, against perplexity 30", papers["nmi"], ours,
                usual[:, 0], -1),
    ]  # fmt: skip


def search_place(found, curve, name):
    """Whether the searches end where the grid has its optimum."""
    values, places = np.array(curve["nmi"]), figures.fractions(curve)
    at, low, se = least(curve, "nmi")
    ends = [c / found["n"] for surrogate in FOUR for c in chosen(found["studies"][surrogate])]
    share = float(np.median(ends))
    there = int(np.argmin(np.abs(np.log(places / share))))
    what = f"{name}: where the searches end (median of four surrogates) and the grid's optimum"
    found_there = cell(
        what, float(values[there].mean()), float(low), error=float(np.hypot(se, error(values[there]))),
        n=values.shape[1], holds=bool(max(share / at, at / share) <= NEAR),
    )  # fmt: skip
    ends_at = f"{share:.3f} ({min(ends):.3f} to {max(ends):.3f}) and {at:.3f}"
    return (what, "0.45 and 0.47", ends_at, found_there)


def convergence_panels(found):
    return {
        method: (
            titled(found[key]["studies"]),
            {"grid, true": each(found[key]["grid"], "true").mean(),
             "grid, seen": each(found[key]["grid"], "observed").mean()},
        )
        for key, method in METHODS.items()
    }  # fmt: skip


def large(found, images, scale, name, title, papers):
    """Text and cells alike."""
    curve, n = found["curves"], found["curves"]["n"]
    rows = f"{n:,} rows"
    figures.draw_curves(
        {rows: [curve]}, ("nmi", "classification_error", "auc_r_nx"), images / f"{name}-curves.png",
        {"nmi": papers["place"]} if papers["place"] else None, log=True,
    )  # fmt: skip
    lines = ["", title, "", f"Searched on {n:,} rows, then drawn for {found['rows']:,}. {papers['rows']}"]
    lines += picture(f"Losses over the perplexity on {rows}", f"{name}-curves")
    lines += [
        "",
        f"1 − NMI on {rows}, thinned grids against searches; the optimum is the perplexity or n_neighbors as a "
        "fraction of the rows; UMAP with 2 to 100 neighbours:",
        "",
        *searches_lines(found, scale),
    ]
    for key, method in METHODS.items():
        lines += beside_random(found[key]["studies"], f"1 − NMI of {method}")
    figures.draw_convergence(convergence_panels(found), images / f"{name}-convergence.png", "1 − NMI")
    lines += picture("Convergence; dotted: the least seen", f"{name}-convergence")
    by_method = [panels(found, key) for key in METHODS]
    figures.draw_map_rows(by_method, images / f"{name}-maps.png")
    lines += picture("Maps at the optimum and at the default (Fig. 9 and 11)", f"{name}-maps")
    figures.draw_map_rows([dict(list(one.items())[1:]) for one in by_method], images / f"{name}-classes.png",
                          papers["highlight"])  # fmt: skip
    lines += picture("Some classes of the maps of all rows (Fig. 17)", f"{name}-classes")
    lines += ["", *map_lines(found)]
    if any(np.std(run["Y"]) < COLLAPSED for run in found["tsne maps"]["same fraction"]["runs"]):
        lines += ["", *COLLAPSE.strip().split("\n")]
    verdicts = map_verdicts(found, papers) + search_verdicts(found, papers["name"])
    if papers["place"]:
        where = place(f"{papers['name']}: optimum of the grid by NMI", curve, "nmi", papers["place"])
        verdicts = [where, search_place(found["tsne"], curve, papers["name"]), *verdicts]
    return lines, verdicts


def text(found, images, scale):
    papers = {"name": "text", "nmi": "0.243 against 0.205", "error": "0.310 against 0.324", "place": 0.47,
              "highlight": ("earn", "acq", "crude"), "rows": TEXT}  # fmt: skip
    title = "## Text: Reuters R52 in place of Reuters-English (Example 3)"
    return large(found, images, scale, "text", title, papers)


def cells(found, images, scale):
    papers = {"name": "cells", "nmi": "better", "error": "not given", "place": None,
              "highlight": ("CD14+ Mono", "FCGR3A+ Mono", "B"), "rows": CELLS}  # fmt: skip
    title = "## Cells: pbmc3k in place of Tasic et al. (Example 4)"
    return large(found, images, scale, "cells", title, papers)
