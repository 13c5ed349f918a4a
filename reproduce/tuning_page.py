"""The page on tuning: tables and verdicts from what `tuning` computed."""

from __future__ import annotations

import numpy as np
import tuning_figures as figures
from kernel_tsne_page import head, line, spread

TITLES = {"gp-ei": "GP, EI", "gp-pi": "GP, PI", "gp-lcb": "GP, LCB", "forest": "forest, EI", "random": "random"}
SOBOL = """
The paper's Table 2 has total indices of 1.0 with an interval of 1e25 and its Table 3 one of 1.9, which cannot be for
independent parameters. Ours lie between 0 and 1, and first-order ones are not above total ones.
"""
COLLAPSED = 1e-3  # standard deviation of a map that is one point
COLLAPSE = """
At the same fraction the map is a single point: affinities are then nearly equal, the phase of exaggeration draws all
rows together, and the map does not part again (nor does it in double precision, tried on 1,300 rows). So a fraction
that was best on few rows can be useless on many, which is why the tuner tries what it found on all rows in several ways
before it delivers a map.
"""
TEXT = """
Searched on a twentieth of the documents (the paper: a tenth), then drawn for a third of them (the paper: all). tf-idf
of 5,000 words, 50 singular directions, rows of length 1.
"""
CELLS = """
Searched on a tenth of the cells, then drawn for all. log(1 + x) of equal depth, 2,000 genes, 50 principal components.
"""
NEAR = 1.35  # factor within which two optima are called the same
SHARES = ("search", "batches", "runs", "seen", "true", "fraction of the rows", "min_dist")


def picture(text, name):
    return ["", f"![{text}](images/tuning/{name}.png)"]


def tally(verdicts):
    counts = {word: sum(said == word for *_, said in verdicts) for word in ("won", "tied", "lost")}
    return ", ".join(f"{word} {count}" for word, count in counts.items())


def summary(verdicts):
    """Every figure and claim of the paper that was computed, with its verdict."""
    lines = head("what", "paper", "ours", "verdict")
    return [*lines, *(line(*one) for one in verdicts), ""]


def error(values):
    """Standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def least(curve, name):
    """Fraction of the rows at which the mean loss is least, that loss, and its standard error."""
    values = np.array(curve[name])
    at = int(np.argmin(values.mean(axis=1)))
    return figures.fractions(curve)[at], values[at].mean(), error(values[at])


def place(what, curve, name, paper):
    """Where the optimum lies, against where the paper has it."""
    values, places = np.array(curve[name]), figures.fractions(curve)
    at, low, se = least(curve, name)
    there = int(np.argmin(np.abs(np.log(places / paper))))
    behind = values[there].mean() - low
    said = "won" if max(at / paper, paper / at) <= NEAR else "lost"
    if said == "lost" and behind <= 2 * np.hypot(se, error(values[there])):
        said = "tied"
    return (what, f"{paper:g} of n", f"{at:.2f}; at the paper's place {behind:+.3f} above the least", said)


def claim(what, paper, ours, theirs, text):
    """Whether ours is as low as theirs, in the mean over batches."""
    behind, se = np.mean(ours) - np.mean(theirs), np.hypot(error(ours), error(theirs))
    said = "won" if behind <= 0 else ("tied" if behind <= 2 * se else "lost")
    return (what, paper, text, said)


def each(studies, key):
    return np.array([one[key] for one in studies], dtype=float)


def chosen(studies, key="perplexity"):
    return np.array([one["chosen"][key] for one in studies], dtype=float)


def quartiles(values, digits=0):
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def row_of(label, studies):
    return line(
        label, len(studies), f"{each(studies, 'runs').mean():.0f}", spread(each(studies, "observed"), 3),
        spread(each(studies, "true"), 3), quartiles(chosen(studies)),
    )  # fmt: skip


def share_of(label, studies, n):
    """The row of a search with its optimum as a fraction of the rows; by UMAP the minimal distance too."""
    by_neighbors = "n_neighbors" in studies[0]["chosen"]
    shares = chosen(studies, "n_neighbors" if by_neighbors else "perplexity") / n
    return line(
        label, len(studies), f"{each(studies, 'runs').mean():.0f}", spread(each(studies, "observed"), 3),
        spread(each(studies, "true"), 3), quartiles(shares, 2),
        quartiles(chosen(studies, "min_dist"), 2) if by_neighbors else "",
    )  # fmt: skip


def umap_rows(found, n_repeats, name=""):
    """The grid's row and the tuner's."""
    grid, n = found["grid"], found["rows"]
    return [
        share_of(f"{name}grid of {grid[0]['runs'] // n_repeats} × {n_repeats}", grid, n),
        share_of(f"{name}GP, EI, 5 + 40", found["studies"], n),
    ]


def clusters(found, images):
    curve, studies, grid = found["curves"], found["studies"], found["grid"]
    papers = {"auc_r_nx": 0.155, "distance_ratio": 0.75, "nmi": 0.155}
    figures.draw_boxes(curve, tuple(papers), images / "clusters-boxes.png", papers)
    lines = ["", "## Two clusters of 10 and 50 points (Example 1)", ""]
    lines += """
The paper gives the sizes of the clusters and nothing else. Of 42 sets tried (2 to 50 dimensions, several distances
and widths, 12 to 16 runs at 11 to 15 perplexities) this one comes nearest to its Fig. 2: 10 points with a standard
deviation of 0.3 at a distance of 2.3 from the middle of 50 points with 1, in 5 dimensions. So the places of the optima
and the level of 1 − NMI were looked at when it was chosen and count for nothing; what a search makes of them was not.
""".strip().split("\n")
    lines += picture("Losses over the perplexity on two clusters", "clusters-boxes")
    lines += ["", "1 − NMI, mean and standard deviation over batches; quartiles of the perplexity chosen:", ""]
    lines += head("search", "batches", "runs", "seen", "true", "perplexity")
    lines.append(row_of("grid of 59 × 10", grid))
    for name, batches in studies.items():
        lines.append(row_of(f"{TITLES[name]}, 5 + 15", batches))
    lines.append(row_of("GP, EI, one run a setting", found["single"]))
    ei = studies["gp-ei"]
    lucky, honest = each(ei, "true") - each(ei, "observed"), each(ei, "true") - each(ei, "fresh")
    lines += [
        "",
        f"The least true loss of any perplexity is {found['best']:.3f} (itself the least of {len(curve['settings'])} "
        f"means). What was seen is too good by {lucky.mean():.3f} in the mean of the searches and by "
        f"{(each(grid, 'true') - each(grid, 'observed')).mean():.3f} of the grids; `best_score_`, from fresh runs, by "
        f"{honest.mean():+.3f}.",
    ]
    panel = {"two clusters": ({TITLES[k]: v for k, v in studies.items()}, {
        "grid, true": each(grid, "true").mean(), "grid, seen": each(grid, "observed").mean(),
    })}  # fmt: skip
    figures.draw_convergence(panel, images / "clusters-convergence.png", "1 − NMI")
    lines += picture("Convergence on two clusters; dotted: the least seen", "clusters-convergence")
    one, ten = found["single"], ei
    lines += ["", "One run a setting against ten, GP with EI:", ""]
    lines += head(
        "runs a setting", "standard deviation of the chosen perplexity", "true loss", "its standard deviation"
    )
    for label, some in (("1", one), ("up to 10", ten)):
        true = each(some, "true")
        lines.append(line(label, f"{chosen(some).std(ddof=1):.1f}", f"{true.mean():.3f}", f"{true.std(ddof=1):.3f}"))
    figures.draw_front(found["front"], images / "clusters-front.png")
    lines += picture("Front of area and average ratio", "clusters-front")
    lines += ["", f"The knee is at {found['front']['knee']:.2f} of the rows."]
    seen = f"{each(ei, 'observed').mean():.3f} against {each(grid, 'observed').mean():.3f}"
    true = f"{each(ei, 'true').mean():.3f} against {each(grid, 'true').mean():.3f}, {each(ei, 'runs').mean():.0f} runs"
    places = (("AUC", "auc_r_nx", 0.15), ("NMI", "nmi", 0.16), ("average ratio", "distance_ratio", 0.75))
    found_there = [place(f"two clusters: optimum by {label}", curve, name, at) for label, name, at in places]
    verdicts = [
        *((*one[:3], "not counted") for one in found_there),
        claim("two clusters: seen 1 − NMI, tuned against grid", "0.537 against 0.541", each(ei, "observed"),
              each(grid, "observed"), seen),
        claim("two clusters: true 1 − NMI, tuned against grid", "not given", each(ei, "true"), each(grid, "true"),
              true),
        claim("two clusters: ten runs a setting against one, true 1 − NMI", "steadier", each(ten, "true"),
              each(one, "true"), f"{each(ten, 'true').mean():.3f} against {each(one, 'true').mean():.3f}"),
    ]  # fmt: skip
    return lines, verdicts


def coil(found, images):
    full, studies, grid = found["full"], found["studies"]["gp-ei"], found["grid"]
    groups = {"all 360": [full], "a third, uniform": found["uniform"], "a third, by leverage": found["leverage"]}
    names = ("auc_r_nx", "q_global", "classification_error")
    figures.draw_curves(groups, names, images / "coil-curves.png", {"auc_r_nx": 0.12, "q_global": 0.9})
    lines = ["", "## COIL: 360 images of 5 objects (Example 2)", ""]
    lines += """
Objects 1 to 5 (the paper does not say which), 50 principal components. Bands are the range of four samples.
""".strip().split("\n")
    lines += picture("Losses over the perplexity on COIL", "coil-curves")
    lines += ["", "Where the mean is least, as a fraction of the rows:", ""]
    lines += head("rows", "1 − AUC", "1 − Q-global", "classification error", "1 − AUC at its least")
    for label, some in groups.items():
        cells = [", ".join(f"{least(one, name)[0]:.2f}" for one in some) for name in names]
        lines.append(line(label, *cells, f"{np.mean([least(one, 'auc_r_nx')[1] for one in some]):.3f}"))
    spreads = {k: np.std([np.mean(c["auc_r_nx"], axis=1) for c in groups[k]], axis=0).mean() for k in list(groups)[1:]}
    alike = {
        k: np.mean([np.corrcoef(np.mean(c["auc_r_nx"], axis=1), np.mean(full["auc_r_nx"], axis=1))[0, 1] for c in some])
        for k, some in list(groups.items())[1:]
    }
    (uniform, leverage), (like, unlike) = spreads.values(), alike.values()
    lines += [
        "",
        f"The curves of 1 − AUC of uniform samples differ by {uniform:.3f} (standard deviation) and correlate with "
        f"that of all rows at {like:.2f}; those of samples by leverage by {leverage:.3f}, and at {unlike:.2f}.",
        "",
        "The search on a third (the first sample), 1 − AUC:",
        "",
        *head("search", "batches", "runs", "seen", "true", "perplexity"),
        row_of(f"grid of {grid[0]['runs'] // 10} × 10", grid),
        row_of("GP, EI, 5 + 15", studies),
        "",
        "The grid takes all ten runs of its pool and is the same in every batch.",
    ]
    panel = {"COIL, a third": ({"GP, EI": studies}, {
        "grid, true": each(grid, "true").mean(), "grid, seen": each(grid, "observed").mean(),
    })}  # fmt: skip
    figures.draw_convergence(panel, images / "coil-convergence.png", "1 − AUC")
    lines += picture("Convergence on a third of COIL; dotted: the least seen", "coil-convergence")
    carry = found["carry"]
    lines += ["", f"The perplexity {carry['chosen']} of the third, carried over to all rows, 1 − AUC of 6 runs:", ""]
    lines += head("way", "perplexity", "1 − AUC")
    for way, perplexity in carry["perplexities"].items():
        lines.append(line(way, perplexity, spread(np.array(carry["losses"][way]), 3)))
    true = f"{each(studies, 'true').mean():.3f} against {each(grid, 'true').mean():.3f}"
    runs = f"{each(studies, 'runs').mean():.0f} runs against {grid[0]['runs']}"
    verdicts = [
        place("COIL: optimum by AUC", full, "auc_r_nx", 0.12),
        place("COIL: optimum by Q-global", full, "q_global", 0.9),
        claim("COIL, a third: true 1 − AUC, tuned against grid", "as good", each(studies, "true"), each(grid, "true"),
              f"{true}, {runs}"),
        ("COIL: leverage samples vary less than uniform ones", "yes", f"{leverage:.3f} against {uniform:.3f}",
         "won" if 1.5 * leverage < uniform else ("tied" if leverage < 1.5 * uniform else "lost")),
    ]  # fmt: skip
    shown = {f"perplexity {p}": (one["Y"], one["y"]) for p, one in found["maps"].items()}
    figures.draw_maps(shown, images / "coil-maps.png")
    lines += picture("Maps of COIL at the optima of AUC and of Q-global (Fig. 12)", "coil-maps")
    return lines, verdicts


def umap(found, images):
    panels = {key: one for key, one in found.items() if isinstance(one, dict) and "settings" in one}
    names = {"featuremap coil": "COIL, all rows", "featuremap coil:third": "COIL, a third",
             "umap-learn coil:third": "umap-learn, a third"}  # fmt: skip
    figures.draw_heat({names[key]: one for key, one in panels.items()}, images / "umap-heat.png")
    lines = ["", "## UMAP on COIL (Fig. 5 and 7b)"]
    lines += picture("1 − AUC over neighbours and minimal distance; the circle is the least", "umap-heat")
    lines += ["", *head("rows", "n_neighbors / n", "min_dist", "1 − AUC", "at 0.1 and 0.25")]
    verdicts = []
    for key, one in panels.items():
        values, settings = np.array(one["auc_r_nx"]), np.array(one["settings"])
        means = values.mean(axis=1)
        at = int(np.argmin(means))
        there = int(np.argmin(np.abs(np.log(settings[:, 0] / one["n"] / 0.1)) + 10 * np.abs(settings[:, 1] - 0.25)))
        share = settings[at, 0] / one["n"]
        lines.append(line(names[key], f"{share:.2f}", settings[at, 1], f"{means[at]:.3f}", f"{means[there]:.3f}"))
        if key.startswith("featuremap"):
            same = max(share / 0.1, 0.1 / share) <= NEAR and abs(settings[at, 1] - 0.25) <= 0.15
            close = means[there] - means[at] <= 2 * np.hypot(error(values[at]), error(values[there]))
            verdicts.append((f"UMAP, {names[key]}: optimum by AUC", "0.1 and 0.25",
                             f"{share:.2f} and {settings[at, 1]:g}; there {means[there] - means[at]:+.3f}",
                             "won" if same else ("tied" if close else "lost")))  # fmt: skip
    studies, grid = found["studies"], found["grid"]
    lines += [
        "",
        "Searches on a third, 1 − AUC:",
        "",
        *head(*SHARES),
        *umap_rows(found, 4),
    ]
    seen, true = each(studies, "observed"), each(studies, "true")
    verdicts += [
        ("UMAP, COIL, a third: seen 1 − AUC of the search", "0.341", f"{seen.mean():.3f}",
         "won" if seen.mean() <= 0.341 else "lost"),
        claim("UMAP, COIL, a third: true 1 − AUC, tuned against grid", "0.341 against 0.351 (seen)", true,
              each(grid, "true"), f"{true.mean():.3f} against {each(grid, 'true').mean():.3f}"),
    ]  # fmt: skip
    lines += ["", "### Tables 2 and 3: which of the two matters for 1 − AUC", ""]
    lines += head("rows", "R²", "parameter", "S1", "interval", "ST", "interval", "Shapley effect")
    for name, one in found["tables"].items():
        if "refused" in one:
            lines.append(line(name, f"{one['r2']:.2f}", f"refused: {one['refused']}", "", "", "", "", ""))
            continue
        for row in one["table"]:
            lines.append(line(name, f"{one['r2']:.2f}", row["parameter"], *sobol_cells(row)))
    lines += ["", *SOBOL.strip().split("\n")]
    return lines, verdicts


def sobol_cells(row):
    def pair(name):
        return f"{row[f'{name} low']:.2f} to {row[f'{name} high']:.2f}"

    return (f"{row['S1']:.2f}", pair("S1"), f"{row['ST']:.2f}", pair("ST"), f"{row['Shapley']:.2f}")


def sine(found, images):
    whole, third = found["sine"], found["sine:third"]
    names = ("auc_r_nx", "q_global", "q_local", "distance_ratio")
    papers = {"auc_r_nx": 0.5, "q_global": 0.5, "q_local": 0.5, "distance_ratio": 0.8}
    groups = {"all 200": [whole], "a third": [third]}
    figures.draw_curves(groups, names, images / "sine-curves.png", papers)
    lines = ["", "## Sine set: 200 points of a curve in four dimensions (SM D)"]
    lines += picture("Losses over the perplexity on the sine set", "sine-curves")
    lines += ["", *head("rows", *(figures.NAMES[name] + ", least at" for name in names))]
    for label, (one,) in groups.items():
        lines.append(line(label, *(f"{least(one, name)[0]:.2f}" for name in names)))
    panels = {
        label: ({"GP, EI": found[f"{key} studies"]}, {})
        for label, key in (("all 200", "sine"), ("a third", "sine:third"))
    }
    figures.draw_convergence(panels, images / "sine-convergence.png", "1 − Q-global")
    lines += picture("Convergence by Q-global; dotted: the least seen", "sine-convergence")
    lines += ["", "GP with EI, 5 + 15, by Q-global:", ""]
    lines += head("rows", "batches", "runs", "seen", "true", "perplexity")
    lines += [row_of(label, found[f"{key} studies"]) for label, key in (("all 200", "sine"), ("a third", "sine:third"))]
    verdicts = [place(f"sine: optimum by {figures.NAMES[name][4:]}", whole, name, papers[name]) for name in names]
    verdicts += [
        place(f"sine, a third: optimum by {figures.NAMES[name][4:]}", third, name, papers[name])
        for name in ("auc_r_nx", "distance_ratio")
    ]
    return lines, verdicts


def vehicle(found, images):
    third, studies = found["third"], found["studies"]
    figures.draw_curves(
        {"a third": [third]}, ("auc_r_nx", "q_global", "classification_error"), images / "vehicle-curves.png",
        {"auc_r_nx": 0.06},
    )  # fmt: skip
    lines = ["", "## Vehicle: 846 silhouettes of four kinds (SM E)"]
    lines += picture("Losses over the perplexity on a third of vehicle", "vehicle-curves")
    lines += ["", *head("search", "batches", "runs", "seen", "true", "perplexity of 282 rows")]
    lines.append(row_of("GP, EI, 5 + 15, by AUC", studies))
    titles = {"vehicle": "perplexity 51, as it is", "vehicle_scaled": "perplexity 51, scaled"}
    maps = found["maps"]
    figures.draw_maps({titles[k]: (one["Y"], one["y"]) for k, one in maps.items()}, images / "vehicle-maps.png")
    lines += picture("All of vehicle at perplexity 51, unscaled and scaled", "vehicle-maps")
    lines += ["", *head("all rows", "1 − AUC", "1 − NMI", "classification error")]
    for name, one in maps.items():
        figure = one["figures"]
        lines.append(line(titles[name], f"{1 - figure[0]:.3f}", f"{1 - figure[4]:.3f}", f"{figure[5]:.3f}"))
    lines += ["", f"In {sum(one['flat'] for one in studies)} of {len(studies)} searches the landscape was called flat."]
    return lines, [place("vehicle, a third: optimum by AUC", third, "auc_r_nx", 0.06)]


def large(found, images, name, title, papers):
    """Text and cells alike."""
    curve, maps, studies, grid, by_umap = (found[key] for key in ("curves", "maps", "studies", "grid", "umap"))
    names = ("nmi", "classification_error", "auc_r_nx")
    figures.draw_curves({f"{curve['n']} rows": [curve]}, names, images / f"{name}-curves.png")
    lines = ["", title, "", *papers["rows"].strip().split("\n")]
    lines += picture(f"Losses over the perplexity on {curve['n']} rows", f"{name}-curves")
    at = least(curve, "nmi")[0]
    lines += ["", f"1 − NMI on {curve['n']} rows, thinned grids against searches; the optimum is the perplexity or "
              "n_neighbors as a fraction of the rows:", ""]  # fmt: skip
    lines += head(*SHARES)
    lines.append(share_of(f"t-SNE, grid of {len(curve['settings'])} × 3", grid, curve["n"]))
    lines += [share_of(f"t-SNE, {TITLES[key]}, 5 + 20", some, curve["n"]) for key, some in studies.items()]
    lines += umap_rows(by_umap, 3, "UMAP, ")
    panels = {
        method: (some, {"grid, true": by_grid[0]["true"], "grid, seen": by_grid[0]["observed"]})
        for method, some, by_grid in (
            ("t-SNE", {TITLES[k]: v for k, v in studies.items()}, grid),
            ("UMAP", {TITLES["gp-ei"]: by_umap["studies"]}, by_umap["grid"]),
        )
    }
    figures.draw_convergence(panels, images / f"{name}-convergence.png", "1 − NMI")
    lines += picture("Convergence; dotted: the least seen", f"{name}-convergence")
    lines += ["", "One search and one map of each kind; UMAP with 2 to 100 neighbours. So thin a grid costs no more "
              "than a search: what is compared is whether the search finds as good a setting."]  # fmt: skip
    best, default = maps["all"], maps["default"]
    shown = {
        f"{curve['n']} rows, perplexity {maps['subsample']['perplexity']}": maps["subsample"],
        f"{maps['rows']:,} rows, perplexity {best['perplexity']}": best,
        f"{maps['rows']:,} rows, perplexity 30": default,
    }
    figures.draw_maps({k: (one["Y"], one["y"]) for k, one in shown.items()}, images / f"{name}-maps.png")
    lines += picture("Maps at the optimum and at the default", f"{name}-maps")
    if papers["highlight"]:
        large_ones = {k: (one["Y"], one["y"]) for k, one in list(shown.items())[1:]}
        figures.draw_maps(large_ones, images / f"{name}-classes.png", papers["highlight"])
        lines += picture("Three classes of the same maps", f"{name}-classes")
    a, b = np.array(best["figures"]), np.array(default["figures"])
    lines += ["", *head(f"{maps['rows']:,} rows", "NMI", "classification error", "AUC")]
    number = found["same number"]
    rows = (
        (f"perplexity {best['perplexity']}, the same fraction", a),
        (f"perplexity {number['perplexity']}, the same number", np.array(number["figures"])),
        ("perplexity 30, the default", b),
    )
    for label, one in rows:
        lines.append(line(label, *(f"{value:.3f}" for value in one.mean(axis=0))))
    if np.std(best["Y"]) < COLLAPSED:
        lines += ["", *COLLAPSE.strip().split("\n")]
    share = np.median([c / curve["n"] for some in studies.values() for c in chosen(some)])
    verdicts = [
        claim(f"{papers['name']}: NMI at the tuned fraction against perplexity 30", papers["nmi"], -a[:, 0], -b[:, 0],
              f"{a[:, 0].mean():.3f} against {b[:, 0].mean():.3f}"),
        claim(f"{papers['name']}: classification error, the same", papers["error"], a[:, 1], b[:, 1],
              f"{a[:, 1].mean():.3f} against {b[:, 1].mean():.3f}"),
    ]  # fmt: skip
    for method, true, one, two in (
        ("t-SNE", found["true"], studies["gp-ei"][0], grid[0]),
        ("UMAP", by_umap["true"], by_umap["studies"][0], by_umap["grid"][0]),
    ):
        text = f"{one['true']:.3f} against {two['true']:.3f}, {one['runs']} runs against {two['runs']}"
        what = f"{papers['name']}, {method}: true 1 − NMI, tuned against a thinned grid"
        verdicts.append(claim(what, "comparable", true["studies"], true["grid"], text))
    if papers["place"]:
        verdicts.insert(0, place(f"{papers['name']}: optimum of the grid by NMI", curve, "nmi", papers["place"][0]))
        near = max(share / at, at / share) <= NEAR
        verdicts.insert(1, (f"{papers['name']}: the search ends near the grid's optimum", "0.45 and 0.47",
                            f"{share:.2f} and {at:.2f}", "won" if near else "lost"))  # fmt: skip
    return lines, verdicts


def text(found, images):
    papers = {"name": "text", "nmi": "0.243 against 0.205", "error": "0.310 against 0.324", "place": (0.47, 0.45),
              "highlight": ("earn", "acq", "crude"), "rows": TEXT}  # fmt: skip
    title = "## Text: Reuters R52 in place of Reuters-English (Example 3)"
    return large(found, images, "text", title, papers)


def cells(found, images):
    papers = {"name": "cells", "nmi": "better", "error": "not given", "place": None, "highlight": None,
              "rows": CELLS}  # fmt: skip
    title = "## Cells: pbmc3k in place of Tasic et al. (Example 4)"
    return large(found, images, "cells", title, papers)
