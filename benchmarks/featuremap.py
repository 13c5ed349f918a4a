"""FeatureMAP against umap-learn and its densMAP in one run: time, quality, new rows, cold start, memory, starts.

    python benchmarks/featuremap.py [--quick] [--part small] [--part large] [--part transform] [--part cold] …

All work on two threads, warm (each has fitted once before it is timed). Ours includes neighbours, graph, tangent
spaces, layout, density and gauges; umap-learn's its own neighbours, graph and layout. Wall time and CPU time are
printed: on a machine with other work only the latter can be compared. Up to 5,000 rows each method is run several
times, in turn, with other seeds: times are medians, scores are means with their standard deviation over the runs. Each
part runs in a fresh process, so that its peak memory is its own. Without umap-learn our figures stand alone. With
--quick all sizes are small: to see that it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from functools import partial

import numpy as np
from _measure import StageClock, clock, mnist, peak, run_parts

N_JOBS = 2
SCORED = 5000  # rows on which trustworthiness and continuity are estimated
QUICK = "QUICK_BENCHMARK" in os.environ  # handed on to the process of each part
SMALL, LARGE, RUNS = (1500, 6000, 2) if QUICK else (5000, 70_000, 5)

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
    """Fit without a seed, which would put umap-learn on one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = umap.UMAP(n_jobs=N_JOBS, **options)
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
        found["umap-learn"] = lambda X, seed: theirs(X)
        found["densMAP"] = lambda X, seed: theirs(X, densmap=True)
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
        report_targets(spent, mean)
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


def report_targets(spent, mean):
    checks = []
    for name, ratio, loss in (("FeatureMAP", 0.5, 0.01), ("FeatureMAP, lambda 0", 0.35, 0.005)):
        wall, cpu = spent[name] / spent["umap-learn"]
        checks += [(f"{name}: wall time of umap-learn's", wall, ratio, True)]
        checks += [(f"{name}: CPU time of umap-learn's", cpu, ratio, True)]
        below = mean["umap-learn"] - mean[name]
        checks += [(f"{name}: accuracy below umap-learn's", below[0], loss, True)]
        checks += [(f"{name}: trustworthiness below umap-learn's", below[1], loss, True)]
    verdicts(checks)


def small():
    compare(SMALL, RUNS)


def large():
    fewer = ours(load_mnist(LARGE // 2)[0])[1]
    spent, models = compare(LARGE, 1)
    print(f"    growth from {LARGE // 2} to {LARGE} rows: CPU exponent {np.log2(spent['FeatureMAP'][1] / fewer):.2f}")
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


def starts():
    """Principal components against the graph's eigenvectors as starts: local and global order, and time."""
    from sklearn.datasets import load_digits

    from manifolia import datasets
    from manifolia.metrics import shepard_goodness

    digits = load_digits()
    sets = {"digits": (digits.data.astype(np.float32), digits.target)}
    if not QUICK:
        sets["MNIST"] = load_mnist(SMALL)
        bunch = datasets.load("fashion_mnist")
        rows = np.random.default_rng(0).permutation(len(bunch.data))[:SMALL]
        sets["Fashion-MNIST"] = np.asarray(bunch.data[rows], dtype=np.float32), np.asarray(bunch.target)[rows]
    lines = []
    for name, (X, y) in sets.items():
        for init in ("pca", "spectral"):
            found = []
            for seed in range(RUNS):
                _, cpu, model = ours(X, seed=seed, init=init, layout="edges")
                Y = model.embedding_
                far = shepard_goodness(X, Y, sample=min(2000, len(X) - 1), random_state=0)
                found.append((*quality(X, Y, y), far, triplets(X, Y), cpu))
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
            scores = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean[:-1], spread[:-1], strict=True)]
            lines.append((f"{name}, {len(X)}", init, *scores, f"{mean[-1]:.2f}"))
    print(f"Starts of the layout, {RUNS} seeds: mean and standard deviation")
    table(("data", "start", "accuracy", "trustworthiness", "continuity", "Shepard", "random triplets", "CPU s"), lines)


def triplets(X, Y, n_triplets=100_000):
    """Share of random triplets whose first point has the same one of the others nearer in data and map."""
    a, b, c = np.random.default_rng(0).integers(0, len(X), (3, n_triplets))
    kept = (a != b) & (a != c) & (b != c)
    a, b, c = a[kept], b[kept], c[kept]
    nearer = [
        np.concatenate(
            [((Z[i] - Z[j]) ** 2).sum(axis=1) < ((Z[i] - Z[k]) ** 2).sum(axis=1) for i, j, k in in_parts(a, b, c)]
        )
        for Z in (X, Y)
    ]
    return float(np.mean(nearer[0] == nearer[1]))


def in_parts(*arrays, size=5000):
    """Cut arrays of one length into parts."""
    for start in range(0, len(arrays[0]), size):
        yield tuple(array[start : start + size] for array in arrays)


if __name__ == "__main__":
    parts = (small, large, memory, transform, cold, densmap, starts)
    run_parts(__file__, __doc__, {part.__name__: part for part in parts}, quick=True)
