"""FeatureMAP against umap-learn and its densMAP in one run: time, quality, new rows, cold start, memory, choices.

    python benchmarks/featuremap.py [--quick] [--part small] [--part large] [--part transform] [--part cold] …

All work on one thread, warm (each has fitted once before it is timed). Ours includes neighbours, graph, tangent spaces,
layout, density and gauges; umap-learn's its own neighbours, graph and layout. Wall time and CPU time are printed: on a
machine with other work only the latter can be compared. Up to 5,000 rows each method is run several times, in turn,
with other seeds: times are medians, scores are means with their standard deviation over the runs. Each part runs in a
fresh process, so that its peak memory is its own. Without umap-learn our figures stand alone. With --quick all sizes
are small: to see that it runs.

The parts `weights`, `arrangement` and `movement` are about choices: the weight of the density term, where the layout
begins and what keeps the arrangement at large, and when it may stop. They use tables on which FeatureMAP's results page
reports nothing.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import warnings
from functools import partial

import numpy as np
from _measure import StageClock, clock, mnist, peak, run_parts

N_JOBS = 1
SCORED = 5000  # rows on which trustworthiness and continuity are estimated
QUICK = "QUICK_BENCHMARK" in os.environ  # handed on to the process of each part
SMALL, LARGE, RUNS = (1500, 6000, 2) if QUICK else (5000, 70_000, 5)
GROWN = 4  # times MNIST's rows, repeated with noise
CHOOSING = ("letter", "mulan_yeast", "vehicle", "newsgroups20_w1000")
CHOOSING_ROWS, CHOOSING_RUNS = (500, 1) if QUICK else (3000, 2)
WEIGHTS = (0.0, 0.02, 0.03, 0.05, 0.1)

umap = None
if "WITHOUT_PEER" not in os.environ:  # a cold start of ours must not pay for another package's import
    try:
        import umap
    except ImportError:
        umap = None


load_mnist = partial(mnist, shuffled=True)


def ours(X, stages=None, seed=0, **options):
    from manifolia import FeatureMAP

    note = StageClock()
    model = FeatureMAP(random_state=seed, n_jobs=N_JOBS, callback=None if stages is None else note, **options)
    wall, cpu, _ = clock(lambda: model.fit(X))
    if stages is not None:
        stages.update(note.seconds)
    return wall, cpu, model


def theirs(X, **options):
    """Fit on one thread, which umap-learn takes with a seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = umap.UMAP(n_jobs=N_JOBS, random_state=options.pop("seed", 0), **options)
        wall, cpu, _ = clock(lambda: model.fit(X))
    return wall, cpu, model


def quality(X, Y, y):
    from manifolia.metrics import continuity, knn_accuracy, trustworthiness

    options = {"sample": min(SCORED, len(X) - 1), "random_state": 0}
    return knn_accuracy(Y, y, 10), trustworthiness(X, Y, 10, **options), continuity(X, Y, 10, **options)


def table(head, rows):
    """Print rows of text under their heads, in columns."""
    cells = [list(head), *([str(cell) for cell in line] for line in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    for line in cells:
        print("    " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    sys.stdout.flush()


def verdicts(checks):
    """Print each figure beside its target: (what, figure, limit, whether the figure must not exceed it)."""
    lines = []
    for what, figure, limit, is_most in checks:
        met = figure <= limit if is_most else figure >= limit
        lines.append(
            (what, f"{figure:.3f}", f"{'at most' if is_most else 'at least'} {limit:g}", "" if met else "missed")
        )
    table(("target", "figure", "limit", ""), lines)


def warm_up(X):
    ours(X[:1000])
    if umap is not None:
        theirs(X[:5000])  # fewer than 4,096 rows would not compile its search for neighbours
        theirs(X[:1000], densmap=True)


def methods():
    """Name the methods compared, each with a function of the data and a seed that returns wall, CPU and map."""
    found = {}
    if umap is not None:
        found["umap-learn"] = lambda X, seed: theirs(X, seed=seed)
        found["densMAP"] = lambda X, seed: theirs(X, seed=seed, densmap=True)
    found["FeatureMAP"] = lambda X, seed: ours(X, seed=seed)
    found["FeatureMAP, lambda 0"] = lambda X, seed: ours(X, seed=seed, density_weight=0.0)
    return found


def compare(n, runs):
    X, y = load_mnist(n)
    warm_up(X)
    print(f"MNIST, {n} rows, {runs} run(s) of each: time, its ratios, and scores of 10 neighbours")
    times, scores = {name: [] for name in methods()}, {name: [] for name in methods()}
    models = {}
    for seed in range(runs):
        for name, fit in methods().items():
            wall, cpu, model = fit(X, seed)
            times[name].append((wall, cpu))
            scores[name].append(quality(X, np.asarray(model.embedding_), y))
            models[name] = model
    spent = {name: np.median(times[name], axis=0) for name in times}
    mean = {name: np.mean(found, axis=0) for name, found in scores.items()}
    report_times(spent, mean, {name: np.std(found, axis=0) for name, found in scores.items()})
    for name in ("FeatureMAP", "FeatureMAP, lambda 0"):
        model = models[name]
        print(f"    {name}: radii {model.radius_correlation_.round(3)}, anisotropy {model.anisotropy_correlation_:.3f}")
    stages = {}
    ours(X, stages)
    print("    stages of one more run: " + ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in stages.items()))
    if umap is not None:
        report_targets(spent, mean, 0.28 if n == LARGE else 0.4)
    return spent, models


def report_times(spent, mean, spread):
    lines = []
    for name, (wall, cpu) in spent.items():
        ratios = [
            f"{wall / spent[peer][0]:.2f} {cpu / spent[peer][1]:.2f}" if peer in spent else ""
            for peer in ("umap-learn", "densMAP")
        ]
        found = [f"{m:.4f} ± {s:.4f}" for m, s in zip(mean[name], spread[name], strict=True)]
        lines.append((name, f"{wall:.2f}", f"{cpu:.2f}", *ratios, *found))
    table(
        ("method", "wall s", "CPU s", "of umap-learn's", "of densMAP's", "accuracy", "trustworthiness", "continuity"),
        lines,
    )


def report_targets(spent, mean, ratio):
    checks = []
    for name in ("FeatureMAP", "FeatureMAP, lambda 0"):
        cpu = spent[name][1] / spent["umap-learn"][1]
        checks += [(f"{name}: CPU time of umap-learn's", cpu, ratio, True)]
        below = mean["umap-learn"] - mean[name]
        checks += [(f"{name}: accuracy below umap-learn's", below[0], 0.005, True)]
        checks += [(f"{name}: trustworthiness below umap-learn's", below[1], 0.005, True)]
    verdicts(checks)


def small():
    compare(SMALL, RUNS)


def large():
    models = compare(LARGE, 1)[1]
    verdicts([("recall of 15 neighbours, 500 rows", recall(models["FeatureMAP"]), 0.98, False)])


def recall(model, n_rows=500):
    """Share of the true neighbours of some rows among those the map was made of."""
    from manifolia.neighbors import NeighborIndex

    X, found = model._Z, model._spaces.indices
    rows = np.random.default_rng(0).choice(len(X), n_rows, replace=False)
    true = NeighborIndex(X, exact=True).query(X[rows], found.shape[1] + 1).indices
    hits = [
        len(set(near[near != row][: found.shape[1]]) & set(found[row])) for row, near in zip(rows, true, strict=True)
    ]
    return float(np.mean(hits)) / found.shape[1]


def growth():
    """Seconds of the processor from a seventh of MNIST to four times MNIST, whose rows are repeated with noise."""
    X, _ = load_mnist(LARGE)
    ours(X[:SMALL])
    few, many = LARGE // 7, GROWN * LARGE
    before = ours(X[:few])[1]
    print(f"MNIST, growth of CPU time: {few} rows {before:.1f} s", flush=True)
    rng = np.random.default_rng(0)
    repeated = np.empty((many, X.shape[1]), dtype=np.float32)
    for first in range(0, many, LARGE):
        repeated[first : first + LARGE] = X
        if first:
            repeated[first : first + LARGE] += rng.normal(0.0, 10.0, X.shape).astype(np.float32)
    after = ours(repeated)[1]
    print(f"    {many} rows {after:.1f} s, peak {peak():.2f} GiB, the data included")
    verdicts([("exponent", float(np.log(after / before) / np.log(many / few)), 1.1, True)])


def memory():
    X, _ = load_mnist(LARGE)
    ours(X)
    print(f"MNIST, {LARGE} rows: peak memory in GiB, the data included")
    verdicts([("peak memory, GiB", peak(), 1.5, True)])


def densmap():
    """Radius correlations of the three methods on the sparse and dense images of one digit."""
    from manifolia import FeatureMAP
    from manifolia.metrics import anisotropy_correlation, radius_correlation, trustworthiness

    X, y = load_mnist()
    X = X[y.astype(int) == 1][: 1000 if QUICK else 6742]
    maps = {"FeatureMAP": FeatureMAP(random_state=0).fit(X).embedding_}
    maps["FeatureMAP, lambda 0"] = FeatureMAP(random_state=0, density_weight=0.0).fit(X).embedding_
    if umap is not None:
        maps["umap-learn"] = np.asarray(theirs(X)[2].embedding_)
        maps["densMAP"] = np.asarray(theirs(X, densmap=True)[2].embedding_)
    print("MNIST digit 1: radius correlation (all, per direction), anisotropy correlation, trustworthiness")
    for name, Y in maps.items():
        along = np.round(radius_correlation(X, Y, directions=True), 3)
        print(
            f"    {name:24s} {radius_correlation(X, Y):.3f} {along} {anisotropy_correlation(X, Y):.3f} "
            f"{trustworthiness(X, Y, 10, sample=3000, random_state=0):.4f}"
        )


def transform():
    """Place new rows; densMAP of umap-learn cannot."""
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_mnist()
    n_new = 1000 if QUICK else 10_000
    for n, target in ((2000, 5), (4000, 10)) if QUICK else ((10_000, 5), (60_000, 10)):
        train, new = slice(0, n), slice(n, n + n_new)
        models = {"FeatureMAP": ours(X[train])[2]}
        if umap is not None:
            models["umap-learn"] = theirs(X[train])[2]
        spent, accuracy = {}, {}
        for name, model in models.items():
            model.transform(X[new][:50])  # warm
            times = []
            for _ in range(3):
                wall, cpu, placed = clock(lambda model=model, new=new: model.transform(X[new]))
                times.append((wall, cpu))
            spent[name] = np.median(times, axis=0)
            accuracy[name] = KNeighborsClassifier(10).fit(model.embedding_, y[train]).score(placed, y[new])
        print(f"{n_new} new rows, {n} training rows, median of 3")
        lines = [(name, f"{wall:.2f}", f"{cpu:.2f}", f"{accuracy[name]:.4f}") for name, (wall, cpu) in spent.items()]
        table(("method", "wall s", "CPU s", "accuracy"), lines)
        if umap is not None:
            wall, cpu = spent["umap-learn"] / spent["FeatureMAP"]
            verdicts(
                [
                    ("umap-learn's wall time over ours", wall, target, False),
                    ("umap-learn's CPU time over ours", cpu, target, False),
                    ("accuracy below umap-learn's", accuracy["umap-learn"] - accuracy["FeatureMAP"], 0.0, True),
                ]
            )


def cold():
    """First fit in a fresh process with an empty kernel cache, import included."""
    codes = {"FeatureMAP": "b.ours(X)"}
    if umap is not None:
        codes["umap-learn"] = "b.theirs(X)"
    found = {}
    for name, code in codes.items():
        script = (
            "import sys, time, json; sys.path.insert(0, {here!r}); import numpy as np; "
            "X = np.load({data!r}); t, p = time.perf_counter(), time.process_time(); "
            "import featuremap as b; {code}; print(json.dumps([time.perf_counter() - t, time.process_time() - p]))"
        )
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "X.npy")
            np.save(data, load_mnist(SMALL)[0])
            environment = dict(os.environ, NUMBA_CACHE_DIR=folder)
            if name == "FeatureMAP":
                environment["WITHOUT_PEER"] = "1"
            here = os.path.dirname(os.path.abspath(__file__))
            text = script.format(here=here, data=data, code=code)
            out = subprocess.run(
                [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
            )
        found[name] = json.loads(out.stdout.splitlines()[-1])
        print(f"MNIST, {SMALL} rows, cold: {name} {found[name][0]:.1f} s ({found[name][1]:.1f} CPU)", flush=True)
    if umap is not None:
        wall, cpu = (a / b for a, b in zip(found["FeatureMAP"], found["umap-learn"], strict=True))
        verdicts([("wall time of umap-learn's", wall, 0.5, True), ("CPU time of umap-learn's", cpu, 0.5, True)])


def arrows():
    """How true the arrows of each kind are, and those of each reliability, on scikit-learn's digits."""
    from sklearn.datasets import load_digits

    from manifolia.explain.gradients import correlation_arrows
    from manifolia.metrics import arrow_fidelity

    X = load_digits().data
    found = {}
    for seed in range(1 if QUICK else 3):
        for layout in ("auto", "edges"):
            model = ours(X, seed=seed, layout=layout)[2]
            kinds = {
                "regression": (model, {}),
                "regression, smooth=True": (model, {"smooth": True}),
                'regression, center="point"': (ours(X, seed=seed, layout=layout, center="point")[2], {}),
                "embedded gauges": (ours(X, seed=seed, layout=layout, gauge="embedded")[2], {}),
            }
            drawn = {kind: (made, made.feature_gradients(**options)) for kind, (made, options) in kinds.items()}
            one = correlation_arrows(X, model.embedding_)
            drawn["correlation with the axes"] = (model, np.tile(one, (len(X), 1, 1)))
            for kind, (made, arrows_of) in drawn.items():
                true = [arrow_fidelity(X, made.embedding_, arrows_of, n_neighbors=k) for k in (15, 30, 50)]
                found.setdefault((layout, kind), []).append(true)
    print(f"Fidelity of arrows over 15, 30 and 50 neighbours in the map, digits, means of {seed + 1} seeds")
    lines = [(*key, *(f"{one:.2f}" for one in np.mean(values, axis=0))) for key, values in found.items()]
    table(("layout", "arrows", "15", "30", "50"), lines)
    reliabilities(X)


def reliabilities(X):
    """How true arrows of some reliability are: cosine with the slopes over 30 neighbours in the map, 600 rows."""
    from manifolia.metrics import arrow_fidelity

    model = ours(X)[2]
    rows = np.random.default_rng(0).permutation(len(X))[:600]
    plain, smooth = (model.feature_gradients(rows=rows, smooth=one) for one in (False, True))
    trust, kept = model.arrow_reliability(rows=rows), np.flatnonzero(X.std(axis=0) > 0)
    true = {}
    for kind, drawn in (("plain", plain), ("smooth", smooth)):
        columns = []
        for f in kept:
            alone, column = np.ascontiguousarray(drawn[:, [f]]), np.ascontiguousarray(X[:, [f]])
            options = {"n_neighbors": 30, "n_features": 1, "pointwise": True}
            columns.append(arrow_fidelity(column, model.embedding_, alone, rows, **options))
        true[kind] = np.stack(columns, axis=1)
    trust, edges = trust[:, kept], (-np.inf, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, np.inf)
    said = np.isfinite(true["plain"]) & (np.abs(plain[:, kept]).max(axis=2) > 0)
    lines = []
    for low, high in itertools.pairwise(edges):
        inside = said & (trust >= low) & (trust < high)
        cosine = true["plain"][inside]
        lines.append(
            (
                f"{max(low, 0.0):g} to {min(high, 1.0):g}",
                f"{inside.sum() / said.sum():.0%}",
                f"{cosine.mean():.2f}",
                f"{true['smooth'][inside].mean():.2f}",
                f"{(cosine < 0).mean():.0%}",
            )
        )
    print("Arrows by reliability, default layout")
    table(("reliability", "share", "mean cosine", "smoothed", "wrong way"), lines)


def densities():
    """What the weight of the density term does to scikit-learn's digits."""
    from sklearn.datasets import load_digits

    from manifolia.metrics import knn_accuracy, trustworthiness

    X, y = load_digits(return_X_y=True)
    lines = []
    for weight in (0.0, 0.025, 0.03, 0.05, 0.1, 0.25, 0.5):
        found = []
        for seed in range(1 if QUICK else 3):
            model = ours(X, seed=seed, density_weight=weight)[2]
            Y = model.embedding_
            scores = (model.anisotropy_correlation_, trustworthiness(X, Y, 10), knn_accuracy(Y, y, 10))
            found.append((*model.radius_correlation_, *scores))
        lines.append((f"{weight:g}", *(f"{one:.3f}" for one in np.mean(found, axis=0))))
    print(f"Weight of the density term, digits, means of {seed + 1} seeds")
    table(("weight", "radius 1", "radius 2", "anisotropy", "trustworthiness", "accuracy"), lines)


def choosing(name):
    """Rows of a table that chooses, and their classes, if each row has one; of words logarithms of length 1."""
    import scipy.sparse as sp

    from manifolia import datasets

    bunch = datasets.load(name)
    X = bunch.data.toarray() if sp.issparse(bunch.data) else np.asarray(bunch.data)
    X, y = X.astype(np.float32), np.asarray(bunch.target)
    if name == "vehicle":  # other units in each column
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    if name.startswith("newsgroups"):
        X = np.log1p(X)
        X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    rows = np.random.default_rng(5).permutation(len(X))[:CHOOSING_ROWS]
    return np.ascontiguousarray(X[rows]), y[rows] if y.ndim == 1 else None


def weights():
    """What the density term's weight costs and buys."""
    from manifolia.metrics import knn_accuracy, radius_correlation, trustworthiness

    lines = []
    for name in CHOOSING:
        X, y = choosing(name)
        for weight in WEIGHTS:
            found = []
            for seed in range(CHOOSING_RUNS):
                model = ours(X, seed=seed, density_weight=weight)[2]
                Y = model.embedding_
                trust = trustworthiness(X, Y, 7, sample=min(1500, len(X) - 1), random_state=0)
                accuracy = np.nan if y is None else knn_accuracy(Y, y, 10)
                found.append((trust, accuracy, radius_correlation(X, Y), np.mean(model.radius_correlation_)))
            lines.append((f"{name}, {len(X)}", f"{weight:g}", *(f"{one:.3f}" for one in np.mean(found, axis=0))))
    print(f"Weight of the density term, means of {CHOOSING_RUNS} seeds")
    table(("data", "weight", "trustworthiness", "accuracy", "radii", "radii along directions"), lines)


def middling_force(X, weight, seed, pairs=5, of=6):
    """Draw PaCMAP's mid-near pairs together while attraction is exaggerated: of six random rows the second nearest.

    With s = |y_i - y_j|^2 a pair attracts by y_j - y_i times 100 / (100 + s).
    """
    rng = np.random.default_rng(seed)
    n = len(X)
    drawn = rng.integers(0, n, (n, pairs, of))
    apart = np.stack([((X[drawn[i]] - X[i]) ** 2).sum(axis=2) for i in range(n)])
    second = np.argsort(apart, axis=2)[:, :, 1:2]
    one, other = np.repeat(np.arange(n), pairs), np.take_along_axis(drawn, second, axis=2).ravel()

    def force(iteration, rho, Y):
        share = np.log(rho) / np.log(12.0)
        gap = Y[other] - Y[one]
        pull = gap * (weight * share * rho / pairs * 100.0 / (100.0 + (gap**2).sum(axis=1, keepdims=True)))
        sums = [np.bincount(one, f, n) - np.bincount(other, f, n) for f in pull.T]
        return np.stack(sums, axis=1).astype(np.float32)

    return force


def arrangement():
    """Starts, with the force on groups of rows, and what could stand in its place. Without the density term."""
    from manifolia import PHATE
    from manifolia.affinity.fuzzy import fuzzy_graph
    from manifolia.layout.coarse import CoarseForce
    from manifolia.layout.forces import Schedule, neighbor_forces, resized
    from manifolia.layout.initialize import pca_start, spectral_start
    from manifolia.metrics import (
        centroid_triplet_accuracy,
        continuity,
        knn_accuracy,
        shepard_goodness,
        torn_classes,
        trustworthiness,
    )
    from manifolia.neighbors import kneighbors

    lines = []
    for name in CHOOSING:
        X, y = choosing(name)
        graph = fuzzy_graph(kneighbors(X, 15)).graph
        start = {
            "principal components": lambda seed, X=X: pca_start(X, 2, random_state=seed),
            "eigenvectors": lambda seed, graph=graph: spectral_start(graph, 2, random_state=seed),
            "diffusion (PHATE)": lambda seed, X=X: PHATE(random_state=seed, n_jobs=1).fit_transform(X),
        }
        coarse = lambda seed, X=X: CoarseForce(X)  # noqa: E731
        ways = {f"{one}, coarse force": (one, coarse) for one in start}
        ways["principal components alone"] = ("principal components", lambda seed: None)
        for weight in (0.01, 0.1):
            middling = lambda seed, X=X, weight=weight: middling_force(X, weight, seed)  # noqa: E731
            ways[f"principal components, mid-near pairs {weight:g}"] = ("principal components", middling)
        for way, (begin, extra) in ways.items():
            found = []
            for seed in range(CHOOSING_RUNS):
                begun = resized(start[begin](seed), 2.0)
                Y = neighbor_forces(
                    graph, begun, schedule=Schedule(50, 75, 125), extra=extra(seed), symmetric=True, n_jobs=1
                ).Y
                some = {"sample": min(1500, len(X) - 1), "random_state": 0}
                scores = [trustworthiness(X, Y, 7, **some), continuity(X, Y, 7, **some)]
                scores.append(shepard_goodness(X, Y, **some))
                if y is not None:
                    scores += [knn_accuracy(Y, y, 10), centroid_triplet_accuracy(X, Y, y), torn_classes(Y, y)]
                found.append(scores)
            shown = [f"{one:.3f}" for one in np.mean(found, axis=0)]
            lines.append((f"{name}, {len(X)}", way, *shown, *[""] * (6 - len(shown))))
    print(f"Where the layout begins and what keeps its arrangement, means of {CHOOSING_RUNS} seeds")
    table(("data", "start", "trustworthiness", "continuity", "Shepard", "accuracy", "triplets", "torn"), lines)


def movement():
    """When points have come to rest, and what stopping there would cost."""
    from manifolia.affinity.fuzzy import fuzzy_graph
    from manifolia.layout.coarse import CoarseForce
    from manifolia.layout.forces import Schedule, neighbor_forces, resized
    from manifolia.layout.initialize import pca_start
    from manifolia.metrics import trustworthiness
    from manifolia.neighbors import kneighbors

    lines = []
    for name in CHOOSING:
        X, _ = choosing(name)
        graph = fuzzy_graph(kneighbors(X, 15)).graph
        coarse = CoarseForce(X)
        steps, maps, last = [], {}, [None]

        def watch(iteration, rho, Y, coarse=coarse, steps=steps, maps=maps, last=last):
            if last[0] is not None:
                steps.append(np.sqrt(((Y - last[0]) ** 2).sum(axis=1).mean() / Y.var(axis=0).sum()))
            last[0] = Y.copy()
            if iteration in (150, 200, 250, 300, 350, 400, 450):
                maps[iteration] = Y.copy()
            return coarse(iteration, rho, Y)

        start = resized(pca_start(X, 2, random_state=0), 2.0)
        neighbor_forces(graph, start, schedule=Schedule(50, 75, 375), extra=watch, symmetric=True, n_jobs=1)
        trust = [trustworthiness(X, Y, 7, sample=min(1500, len(X) - 1), random_state=0) for Y in maps.values()]
        lines.append((f"{name}, {len(X)}", "step", *(f"{steps[i - 1]:.4f}" for i in maps)))
        lines.append(("", "trustworthiness", *(f"{one:.4f}" for one in trust)))
    print("Mean step of a point as a share of the map's width, and trustworthiness, after a number of iterations")
    table(("data", "", *(str(i) for i in maps)), lines)


if __name__ == "__main__":
    parts = (small, large, memory, growth, transform, cold, densmap, arrows, densities, weights, arrangement, movement)
    run_parts(__file__, __doc__, {part.__name__: part for part in parts}, quick=True)
