"""FeatureMAP against umap-learn and its densMAP in one run: time, quality, new rows, cold start, memory, growth.

    python benchmarks/featuremap.py [--part small] [--part large] [--part transform] [--part cold] [--part densmap]

Both work on two threads, warm (each has fitted once before it is timed). Ours includes neighbours, graph, tangent
spaces, layout, density and gauges; umap-learn's its own neighbours, graph and layout. Wall time and CPU time are
printed: on a machine with other work only the latter can be compared. Each part runs in a fresh process, so that its
peak memory is its own. Without umap-learn our figures stand alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

PARTS = ("small", "large", "memory", "transform", "cold", "densmap")
N_JOBS = 2
SCORED = 5000  # rows on which trustworthiness and continuity are estimated

umap = None
if "WITHOUT_PEER" not in os.environ:  # a cold start of ours must not pay for another package's import
    try:
        import umap
    except ImportError:
        umap = None


def clock(function):
    start, cpu = time.perf_counter(), time.process_time()
    result = function()
    return time.perf_counter() - start, time.process_time() - cpu, result


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def load_mnist(n=70_000):
    from manifolia import datasets

    bunch = datasets.load("mnist")
    rows = np.random.default_rng(0).permutation(70_000)[:n]
    return np.ascontiguousarray(bunch.data[rows], dtype=np.float32), np.asarray(bunch.target)[rows]


def ours(X, stages=None, **options):
    from manifolia import FeatureMAP

    marks = {}

    def note(event):
        marks.setdefault(event.stage, [time.perf_counter(), 0.0])[1] = time.perf_counter()

    model = FeatureMAP(random_state=0, n_jobs=N_JOBS, callback=None if stages is None else note, **options)
    wall, cpu, _ = clock(lambda: model.fit(X))
    if stages is not None:
        stages.update({name: end - begin for name, (begin, end) in marks.items()})
    return wall, cpu, model


def theirs(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = umap.UMAP(n_jobs=N_JOBS, **options)
        wall, cpu, _ = clock(lambda: model.fit(X))
    return wall, cpu, model


def quality(X, Y, y):
    from manifolia.metrics import continuity, knn_accuracy, trustworthiness

    options = {"sample": min(SCORED, len(X) - 1), "random_state": 0}
    return knn_accuracy(Y, y, 10), trustworthiness(X, Y, 10, **options), continuity(X, Y, 10, **options)


def row(name, wall, cpu, scores, base=None):
    text = f"    {name:24s} {wall:7.2f} s {cpu:7.2f} CPU s"
    text += "                 " if base is None else f"  {wall / base[0]:5.2f} {cpu / base[1]:5.2f}    "
    print(text + "  ".join(f"{score:.4f}" for score in scores), flush=True)


def warm_up(X):
    ours(X[:1000])
    if umap is not None:
        theirs(X[:5000])


def compare(n, **peer_options):
    X, y = load_mnist(n)
    warm_up(X)
    print(
        f"MNIST, {n} rows: wall, CPU, ratios to umap-learn, kNN accuracy, trustworthiness, continuity (10 neighbours)"
    )
    base = None
    if umap is not None:
        wall, cpu, model = theirs(X, **peer_options)
        base = (wall, cpu)
        row(f"umap-learn {umap.__version__}", wall, cpu, quality(X, np.asarray(model.embedding_), y))
    times = {}
    for name, options in (("FeatureMAP", {}), ("FeatureMAP, lambda 0", {"density_weight": 0.0})):
        stages = {}
        wall, cpu, model = ours(X, stages, **options)
        times[name] = cpu
        row(name, wall, cpu, quality(X, model.embedding_, y), base)
        print("        " + ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in stages.items()))
        print(f"        radii {model.radius_correlation_.round(3)}, anisotropy {model.anisotropy_correlation_:.3f}")
    print(
        "    targets: ratio 0.50, with lambda 0 0.35; scores within 0.010 of umap-learn's, with lambda 0 within 0.005"
    )
    return times


def small():
    compare(5000)


def large():
    fewer = ours(load_mnist(35_000)[0])[1]
    whole = compare(70_000)["FeatureMAP"]
    print(f"    growth from 35,000 to 70,000 rows: CPU exponent {np.log2(whole / fewer):.2f}")


def memory():
    X, _ = load_mnist()
    ours(X)
    print(f"MNIST, 70,000 rows: peak {peak():.2f} GiB with the data (target 1.5)")


def densmap():
    """Radius correlations of the three methods on the sparse and dense images of one digit."""
    from manifolia import FeatureMAP
    from manifolia.metrics import anisotropy_correlation, radius_correlation, trustworthiness

    X, y = load_mnist()
    X = X[y.astype(int) == 1][:6742]
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
    from sklearn.neighbors import KNeighborsClassifier

    X, y = load_mnist()
    for n, target in ((10_000, 5), (60_000, 10)):
        train, new = slice(0, n), slice(n, n + 10_000)
        model = ours(X[train])[2]
        model.transform(X[new][:50])
        wall, cpu, placed = clock(lambda model=model, new=new: model.transform(X[new]))
        mine = KNeighborsClassifier(10).fit(model.embedding_, y[train]).score(placed, y[new])
        print(f"10,000 new rows, {n} training rows: {wall:.2f} s ({cpu:.2f} CPU), accuracy {mine:.4f}")
        if umap is None:
            continue
        peer = theirs(X[train])[2]
        peer.transform(X[new][:50])
        w, c, placed = clock(lambda peer=peer, new=new: peer.transform(X[new]))
        score = KNeighborsClassifier(10).fit(peer.embedding_, y[train]).score(placed, y[new])
        print(
            f"    umap-learn {w:.2f} s ({c:.2f} CPU), accuracy {score:.4f}: {w / wall:.1f} times as long, "
            f"CPU {c / cpu:.1f} (target {target})",
            flush=True,
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
            np.save(data, load_mnist(5000)[0])
            environment = dict(os.environ, NUMBA_CACHE_DIR=folder)
            if name == "FeatureMAP":
                environment["WITHOUT_PEER"] = "1"
            here = os.path.dirname(os.path.abspath(__file__))
            text = script.format(here=here, data=data, code=code)
            out = subprocess.run(
                [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
            )
        found[name] = json.loads(out.stdout.splitlines()[-1])
        print(f"MNIST, 5000 rows, cold: {name} {found[name][0]:.1f} s ({found[name][1]:.1f} CPU)", flush=True)
    if umap is not None:
        wall, cpu = (a / b for a, b in zip(found["FeatureMAP"], found["umap-learn"], strict=True))
        print(f"    ratio {wall:.2f}, CPU {cpu:.2f} (target 0.50)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        globals()[arguments.inside]()
        return
    for part in arguments.part or PARTS:
        subprocess.run([sys.executable, __file__, "--inside", part], check=True)


if __name__ == "__main__":
    main()
