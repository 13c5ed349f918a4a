"""The page on tuning: tables and verdicts from what `tuning.run` computed."""

from __future__ import annotations

import functools
import textwrap

import numpy as np
from reproduce._shared import counts, markdown
from reproduce._shared.markdown import head, line, spread
from reproduce.tuning import figures
from reproduce.tuning.studies import FULL, N_PILOT

picture = functools.partial(markdown.picture, "tuning")
TITLES = {"gp-ei": "GP, EI", "gp-pi": "GP, PI", "gp-lcb": "GP, LCB", "forest": "forest, EI", "random": "random"}
SOBOL = """
The paper's Table 2 has total indices of 1.0 with an interval of 1e25 and its Table 3 one of 1.9, which cannot be for
independent parameters. Ours lie between 0 and 1, and first-order ones are not above total ones. "Search" is the
paper's way, the surrogate of the settings that a search tried, most of them near its optimum; "design" is as many
settings spread over the space, so that the surrogate knows all of it.
"""
PROTOCOL = """
Protocol: a search gets five pilots and the rest as proposals; a setting up to {repeats[0]} runs with different random
starts (fewer where it cannot win: halving and racing, the tuner's defaults; no more than {repeats[1]} on the sine set,
vehicle and by UMAP, {repeats[2]} on text and cells). The surrogate works on a logarithmic axis of the fraction of the
rows. "Seen" is the least mean of a setting's runs, the figure that the paper prints; it is the least of many noisy
means, and too good. "True" is the mean of runs that no search ever got, and the figure to compare. Every search draws
its runs from a pool that is computed once for each setting ({searched[0]} runs on the two clusters, {searched[1]} on
COIL's third, {searched[2]} by UMAP on text and cells, {searched[3]} elsewhere), as if they had just been made, now and
then the same one twice; the true value comes from other runs ({true[0]}, {true[1]}, {true[2]}, {true[3]}).
On text and cells perplexities are rounded to whole numbers 5 % apart and neighbours to numbers 10 % apart, so that
searches share their runs, and `min_dist` is a fifth, as in the paper.

t-SNE is exact, over all pairs, on text and cells of all rows too, so that any perplexity below the number of rows means
what it says: 1,000 iterations from a random start, the schedule of scikit-learn's `method="exact"`
(`reproduce/tuning/exact_tsne.py`, which ends at the same divergence as scikit-learn's within its scatter). UMAP is
`FeatureMAP(layout="edges", density_weight=0)` from its own start; only its sampling is random.

Cells. A figure is compared with the paper's, a claim ("tuned is as good as the grid") by its two figures here, over
batches or runs. The place of an optimum is a claim that holds if ours is within a factor of 1.35 of the paper's (a
search's: of the grid's); else the loss at that other place is compared with the least. That one sensitivity is above
another holds if their intervals do not overlap. That {samples} samples vary less holds if their spread is less by a
factor of 1.5. A table that the tuner refuses is lost. All is by the tuner's defaults; the paper's own search, ten runs
of every setting, was not run.
"""
QUICK = """
A quick run: fewer searches, thinner grids and smaller samples than in the pages of the documentation.
"""
NEAR = 1.35  # factor within which two optima are called the same
SHARES = ("search", "batches", "runs", "seen", "true", "fraction of the rows", "min_dist")


def protocol(scale):
    """How it was done and what the verdicts mean."""
    lines = [] if scale == FULL else [*QUICK.strip().split("\n"), ""]
    paragraphs = PROTOCOL.strip().format(**scale._asdict()).split("\n\n")
    return lines + "\n\n".join(textwrap.fill(one, 120) for one in paragraphs).split("\n")


def cell(what, ours, theirs, *, error=None, n=1, **more):
    """A cell of the count; losses unless said otherwise, of which less is better."""
    return counts.Cell("Bayesian tuning", what, "default", ours, theirs, error=error, seeds=n, **more)


def summary(verdicts):
    """Every figure and claim of the paper that was computed, with its outcome; what is not counted has no cell."""
    lines = head("what", "paper", "ours", "outcome")
    shown = [
        (what, paper, ours, "not counted" if one is None else counts.outcome(one))
        for what, paper, ours, one in verdicts
    ]
    return [*lines, *(line(*one) for one in shown), ""]


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
    other = values[there].mean()
    found = cell(
        what, other, low, error=float(np.hypot(se, error(values[there]))), n=values.shape[1],
        holds=bool(max(at / paper, paper / at) <= NEAR),
    )  # fmt: skip
    return (what, f"{paper:g} of n", f"{at:.2f}; at the paper's place {other - low:+.3f} above the least", found)


def claim(what, paper, ours, theirs, text):
    """Whether ours is as low as theirs, in the mean over batches."""
    se, n = float(np.hypot(error(ours), error(theirs))), min(np.size(ours), np.size(theirs))
    return (what, paper, text, cell(what, float(np.mean(ours)), float(np.mean(theirs)), error=se, n=n))


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


def beside_random(studies, what):
    """Say of each surrogate whether its searches end better than random ones, by true losses and their errors."""
    chance = each(studies["random"], "true")
    said = []
    for name, batches in studies.items():
        if name == "random":
            continue
        true = each(batches, "true")
        gain, se = chance.mean() - true.mean(), float(np.hypot(error(true), error(chance)))
        better = "level" if abs(gain) <= se else "better" if gain > 0 else "worse"
        said.append(f"{TITLES[name]} is {better} ({gain:+.3f} ± {se:.3f})")
    return [
        "",
        f"Beside random search of the same budget, by true {what} (what it gains, and the standard error): "
        f"{'; '.join(said)}.",
    ]


def titled(studies):
    """Searches by the names of their surrogates."""
    return {TITLES[name]: some for name, some in studies.items()}


def budget(n_trials):
    return f"{N_PILOT} + {n_trials - N_PILOT}"


def clusters(found, images, scale):
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
    repeats, trials = scale.repeats[0], budget(scale.trials)
    lines.append(row_of(f"grid of {grid[0]['runs'] // repeats} × {repeats}", grid))
    for name, batches in studies.items():
        lines.append(row_of(f"{TITLES[name]}, {trials}", batches))
    lines.append(row_of("GP, EI, one run a setting", found["single"]))
    lines += beside_random(studies, "1 − NMI")
    ei = studies["gp-ei"]
    lucky, honest = each(ei, "true") - each(ei, "observed"), each(ei, "true") - each(ei, "fresh")
    lines += [
        "",
        f"The least true loss of any perplexity is {found['best']:.3f} (itself the least of {len(curve['settings'])} "
        f"means). What was seen is too good by {lucky.mean():.3f} in the mean of the searches and by "
        f"{(each(grid, 'true') - each(grid, 'observed')).mean():.3f} of the grids; `best_score_`, from fresh runs, by "
        f"{honest.mean():+.3f}.",
    ]
    panel = {"two clusters": (titled(studies), {
        "grid, true": each(grid, "true").mean(), "grid, seen": each(grid, "observed").mean(),
    })}  # fmt: skip
    figures.draw_convergence(panel, images / "clusters-convergence.png", "1 − NMI")
    lines += picture("Convergence on two clusters; dotted: the least seen", "clusters-convergence")
    one, ten = found["single"], ei
    lines += ["", f"One run a setting against {repeats}, GP with EI:", ""]
    lines += head(
        "runs a setting", "standard deviation of the chosen perplexity", "true loss", "its standard deviation"
    )
    for label, some in (("1", one), (f"up to {repeats}", ten)):
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
        *((*one[:3], None) for one in found_there),
        claim("two clusters: seen 1 − NMI, tuned against grid", "0.537 against 0.541", each(ei, "observed"),
              each(grid, "observed"), seen),
        claim("two clusters: true 1 − NMI, tuned against grid", "not given", each(ei, "true"), each(grid, "true"),
              true),
        claim(f"two clusters: {repeats} runs a setting against one, true 1 − NMI", "steadier", each(ten, "true"),
              each(one, "true"), f"{each(ten, 'true').mean():.3f} against {each(one, 'true').mean():.3f}"),
    ]  # fmt: skip
    return lines, verdicts


def coil(found, images, scale):
    full, studies, grid = found["full"], found["studies"]["gp-ei"], found["grid"]
    by_chance = found["studies"]["random"]
    repeats = scale.repeats[0]
    groups = {"all 360": [full], "a third, uniform": found["uniform"], "a third, by leverage": found["leverage"]}
    names = ("auc_r_nx", "q_global", "classification_error")
    figures.draw_curves(groups, names, images / "coil-curves.png", {"auc_r_nx": 0.12, "q_global": 0.9})
    lines = ["", "## COIL: 360 images of 5 objects (Example 2)", ""]
    lines.append(
        "Objects 1 to 5 (the paper does not say which), 50 principal components. Bands are the range of "
        f"{scale.samples} samples."
    )
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
        row_of(f"grid of {grid[0]['runs'] // repeats} × {repeats}", grid),
        row_of(f"GP, EI, {budget(scale.trials)}", studies),
        row_of(f"random, {budget(scale.trials)}", by_chance),
        *beside_random(found["studies"], "1 − AUC"),
        "",
        f"The grid takes all {repeats} runs of its pool and is the same in every batch.",
    ]
    panel = {"COIL, a third": ({"GP, EI": studies, "random": by_chance}, {
        "grid, true": each(grid, "true").mean(), "grid, seen": each(grid, "observed").mean(),
    })}  # fmt: skip
    figures.draw_convergence(panel, images / "coil-convergence.png", "1 − AUC")
    lines += picture("Convergence on a third of COIL; dotted: the least seen", "coil-convergence")
    carry = found["carry"]
    lines += [
        "",
        f"The perplexity {carry['chosen']} of the third, carried over to all rows, 1 − AUC of {scale.carried} runs:",
        "",
    ]
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
         cell("COIL: leverage samples vary less than uniform ones", float(leverage), float(uniform), n=scale.samples,
              holds=bool(1.5 * leverage < uniform))),
    ]  # fmt: skip
    shown = {f"perplexity {p}": (one["Y"], one["y"]) for p, one in found["maps"].items()}
    figures.draw_maps(shown, images / "coil-maps.png")
    lines += picture("Maps of COIL at the optima of AUC and of Q-global (Fig. 12)", "coil-maps")
    return lines, verdicts


def umap(found, images, scale):
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
            what, se = f"UMAP, {names[key]}: optimum by AUC", float(np.hypot(error(values[at]), error(values[there])))
            verdicts.append((what, "0.1 and 0.25",
                             f"{share:.2f} and {settings[at, 1]:g}; there {means[there] - means[at]:+.3f}",
                             cell(what, float(means[there]), float(means[at]), error=se, n=values.shape[1],
                                  holds=bool(same))))  # fmt: skip
    studies, grid = found["studies"]["gp-ei"], found["grid"]
    lines += [
        "",
        "Searches on a third, 1 − AUC:",
        "",
        *head(*SHARES),
        share_of(f"grid of {grid[0]['runs'] // scale.repeats[1]} × {scale.repeats[1]}", grid, found["rows"]),
        share_of(f"GP, EI, {budget(scale.umap_trials)}", studies, found["rows"]),
        share_of(f"random, {budget(scale.umap_trials)}", found["studies"]["random"], found["rows"]),
        *beside_random(found["studies"], "1 − AUC"),
    ]
    panel = {"UMAP, COIL, a third": (titled(found["studies"]), {
        "grid, true": each(grid, "true").mean(), "grid, seen": each(grid, "observed").mean(),
    })}  # fmt: skip
    figures.draw_convergence(panel, images / "umap-convergence.png", "1 − AUC")
    lines += picture("Convergence of UMAP on a third of COIL (Fig. 7b); dotted: the least seen", "umap-convergence")
    seen, true = each(studies, "observed"), each(studies, "true")
    verdicts += [
        ("UMAP, COIL, a third: seen 1 − AUC of the search", "0.341", f"{seen.mean():.3f}",
         cell("UMAP, COIL, a third: seen 1 − AUC of the search", float(seen.mean()), 0.341, error=error(seen),
              n=len(seen))),
        claim("UMAP, COIL, a third: true 1 − AUC, tuned against grid", "0.341 against 0.351 (seen)", true,
              each(grid, "true"), f"{true.mean():.3f} against {each(grid, 'true').mean():.3f}"),
    ]  # fmt: skip
    lines += ["", "### Tables 2 and 3: which of the two matters for 1 − AUC", ""]
    return lines + sobol_lines(found["tables"]), verdicts + sobol_verdicts(found["tables"])


def sobol_verdicts(tables):
    """Which of two indices is the larger in the paper's Table 3, against the table of our design."""
    verdicts = []
    claims = (
        ("coil", "COIL, all rows", "0.006 against 0.000", "1.90 against 1.00"),
        ("coil:third", "COIL, a third", "0.014 against 0.005", "1.51 against 1.01"),
    )
    for key, name, first, total in claims:
        refused = "refused" in tables[f"{key} design"]
        rows = {} if refused else {row["parameter"]: row for row in tables[f"{key} design"]["table"]}
        for index, big, small, paper in (("S1", "n_neighbors", "min_dist", first),
                                         ("ST", "min_dist", "n_neighbors", total)):  # fmt: skip
            what = f"UMAP, {name}: {index} of {big} above that of {small}"
            if refused:
                verdicts.append(
                    (what, paper, "refused", cell(what, None, None, n=0, why="the tuner refuses the table"))
                )
                continue
            one, other = rows[big], rows[small]
            holds = one[f"{index} low"] > other[f"{index} high"]
            found = cell(what, float(one[index]), float(other[index]), higher=True, holds=bool(holds))
            verdicts.append((what, paper, f"{one[index]:.2f} against {other[index]:.2f}", found))
    return verdicts


def sobol_lines(tables):
    """Tables 2 and 3, and in words which of ours tell nothing and which were refused."""
    named = {"clusters": "two clusters", "coil": "COIL, all rows", "coil:third": "COIL, a third"}
    lines = head("trials", "settings", "R²", "parameter", "S1", "interval", "ST", "interval", "Shapley effect")
    silent, refused = [], []
    for key, one in tables.items():
        name, _, way = key.partition(" ")
        what = f"{named[name]}, {way}"
        first = (what, one["settings"], f"{one['r2']:.2f}")
        if "refused" in one:
            lines.append(line(*first, "refused", "", "", "", "", ""))
            refused.append(f"{what}: {one['refused']}")
            continue
        lines += [line(*first, row["parameter"], *sobol_cells(row)) for row in one["table"]]
        if all(covers(row, index) for row in one["table"] for index in ("S1", "ST")):
            silent.append(what)
    lines += ["", *SOBOL.strip().split("\n")]
    if silent:
        lines += ["", f"Every interval of {' and of '.join(silent)}, goes from 0 to 1: these indices tell nothing."]
    if refused:
        lines += ["", "Where a table is refused, the tuner says why:", "", *(f"- {reason}" for reason in refused)]
    return lines


def covers(row, index):
    """Whether an interval leaves nothing out."""
    return row[f"{index} low"] < 0.05 and row[f"{index} high"] > 0.95


def sobol_cells(row):
    def pair(name):
        return f"{row[f'{name} low']:.2f} to {row[f'{name} high']:.2f}"

    return (f"{row['S1']:.2f}", pair("S1"), f"{row['ST']:.2f}", pair("ST"), f"{row['Shapley']:.2f}")


def sine(found, images, scale):
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
        label: (titled(found[f"{key} studies"]), {}) for label, key in (("all 200", "sine"), ("a third", "sine:third"))
    }
    figures.draw_convergence(panels, images / "sine-convergence.png", "1 − Q-global")
    lines += picture("Convergence by Q-global; dotted: the least seen", "sine-convergence")
    lines += ["", f"Searches of {budget(scale.trials)} settings, by Q-global:", ""]
    lines += head("rows, search", "batches", "runs", "seen", "true", "perplexity")
    both = (("all 200", "sine"), ("a third", "sine:third"))
    for label, key in both:
        lines += [row_of(f"{label}, {TITLES[name]}", some) for name, some in found[f"{key} studies"].items()]
    for label, key in both:
        lines += beside_random(found[f"{key} studies"], f"1 − Q-global of {label}")
    verdicts = [place(f"sine: optimum by {figures.NAMES[name][4:]}", whole, name, papers[name]) for name in names]
    verdicts += [
        place(f"sine, a third: optimum by {figures.NAMES[name][4:]}", third, name, papers[name])
        for name in ("auc_r_nx", "distance_ratio")
    ]
    return lines, verdicts


def vehicle(found, images, scale):
    third, studies = found["third"], found["studies"]["gp-ei"]
    figures.draw_curves(
        {"a third": [third]}, ("auc_r_nx", "q_global", "classification_error"), images / "vehicle-curves.png",
        {"auc_r_nx": 0.06},
    )  # fmt: skip
    lines = ["", "## Vehicle: 846 silhouettes of four kinds (SM E)"]
    lines += picture("Losses over the perplexity on a third of vehicle", "vehicle-curves")
    lines += ["", *head("search", "batches", "runs", "seen", "true", "perplexity of 282 rows")]
    for name, some in found["studies"].items():
        lines.append(row_of(f"{TITLES[name]}, {budget(scale.trials)}, by AUC", some))
    lines += beside_random(found["studies"], "1 − AUC")
    figures.draw_convergence({"a third": (titled(found["studies"]), {})}, images / "vehicle-convergence.png", "1 − AUC")
    lines += picture("Convergence on a third of vehicle (Fig. 16); dotted: the least seen", "vehicle-convergence")
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
