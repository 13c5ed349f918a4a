"""Exact metrics of maps against plain NumPy, scikit-learn, pyDRMetrics and zadu: time and memory in one run.

    python benchmarks/metrics.py [--full] [--limit SECONDS]

Every figure comes from a process of its own: packages are imported, kernels compiled on a small case and the data made
before the clock starts. Time is the best of three where one takes less than ten seconds. Memory is what the process
held at its peak beyond what it held before the call. A competitor that takes longer than the limit is stopped, and its
ratio is a lower bound.

Data: ten normal clouds in 50 dimensions and their two first principal components. ``--full`` adds MNIST (70,000 × 784)
and its two first principal components, at growing size, with the exponent of growth, and a limit of an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess

import numpy as np
from _measure import clock, forget_peak, in_fresh_process, resident

SIZES = (2_000, 5_000, 10_000)
GROWTH = (10_000, 20_000, 40_000, 70_000)
KS = [5, 10, 20, 50]
#: At the largest size: times faster, and share of the memory, at least.
TARGETS = {
    "numpy": (3.0, 0.25),
    "pyDRMetrics": (10.0, 0.25),
    "scikit-learn": (10.0, 0.25),
    "zadu": (10.0, 0.25),
}


def clouds(n):
    rng = np.random.default_rng(0)
    X = 3.0 * rng.normal(size=(10, 50))[rng.integers(0, 10, n)] + rng.normal(size=(n, 50))
    return X, components(X)


def components(X):
    centred = X - X.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return centred @ vectors[:, :-3:-1]


def mnist(n):
    from manifolia import datasets

    X = np.asarray(datasets.load("mnist").data, dtype=np.float64)
    Y = components(X)
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return np.ascontiguousarray(X[rows]), np.ascontiguousarray(Y[rows])


# --- the contestants: a function of data and map that returns the figures to compare ---------------------------------


def our_area():
    from manifolia.metrics import auc_r_nx

    return lambda X, Y: [auc_r_nx(X, Y)]


def numpy_area():
    def distances(X):
        squares = (X * X).sum(axis=1)
        return squares[:, None] + squares[None, :] - 2.0 * (X @ X.T)

    def ranks(X):
        D = distances(X)
        np.fill_diagonal(D, -1.0)
        return np.argsort(np.argsort(D, axis=1), axis=1)

    def area(X, Y):
        n = len(X)
        counts = np.bincount(np.maximum(ranks(X), ranks(Y)).ravel(), minlength=n)
        k = np.arange(1, n - 1)
        q = np.cumsum(counts[1:])[:-1] / (k * n)
        r = ((n - 1) * q - k) / (n - 1 - k)
        return [(r / k).sum() / (1 / k).sum()]

    return area


def pydrmetrics_area():
    from pyDRMetrics import coranking_matrix as peer
    from sklearn.metrics import pairwise_distances

    def area(X, Y):
        Q = peer.coranking_matrix(
            peer.ranking_matrix(pairwise_distances(X)), peer.ranking_matrix(pairwise_distances(Y))
        )
        _, _, qnn, *_ = peer.coranking_matrix_metrics(Q)
        n = len(X)
        q = qnn[:-1] * (n - 1) / n  # it divides by n − 1 rows
        k = np.arange(1, n - 1)
        r = ((n - 1) * q - k) / (n - 1 - k)
        return [(r / k).sum() / (1 / k).sum()]

    return area


def our_trust():
    from manifolia.metrics import trustworthiness

    return lambda X, Y: list(trustworthiness(X, Y, KS))


def sklearn_trust():
    from sklearn.manifold import trustworthiness

    return lambda X, Y: [trustworthiness(X, Y, n_neighbors=k) for k in KS]


def our_both():
    from manifolia.metrics.neighborhood import neighborhood_scores

    def both(X, Y):
        found = neighborhood_scores(X, Y, KS, names=("trustworthiness", "continuity"))
        return [*found["trustworthiness"].value, *found["continuity"].value]

    return both


def zadu_functions():
    from zadu.measures import trustworthiness_continuity

    def both(X, Y):
        found = [trustworthiness_continuity.measure(X, Y, k=k) for k in KS]
        return [f[name] for name in ("trustworthiness", "continuity") for f in found]

    return both


def zadu_engine():
    from zadu import zadu

    def both(X, Y):
        specs = [{"id": "tnc", "params": {"k": k}} for k in KS]
        found = zadu.ZADU(specs, X).measure(Y)
        return [f[name] for name in ("trustworthiness", "continuity") for f in found]

    return both


TABLES = {
    "co-ranking: area under R_NX": [
        ("manifolia", our_area),
        ("numpy", numpy_area),
        ("pyDRMetrics", pydrmetrics_area),
    ],
    f"trustworthiness at k = {KS}": [
        ("manifolia", our_trust),
        ("scikit-learn", sklearn_trust),
    ],
    f"trustworthiness and continuity at k = {KS}": [
        ("manifolia", our_both),
        ("zadu", zadu_functions),
        ("zadu's engine", zadu_engine),
    ],
}
CONTESTANTS = {make.__name__: make for table in TABLES.values() for _, make in table}


# --- one measurement in a process of its own -------------------------------------------------------------------------


def measure_here(name, data, n):
    function = CONTESTANTS[name]()
    function(*clouds(300))
    X, Y = mnist(n) if data == "mnist" else clouds(n)
    forget_peak()
    before = resident("VmRSS")
    wall, cpu, figures = clock(lambda: function(X, Y))
    if wall < 10:  # a short call is timed again
        wall, cpu, figures = clock(lambda: function(X, Y), 2)
    peak = resident("VmHWM") - before
    result = {"seconds": wall, "work": cpu, "peak": peak, "figures": [float(f) for f in figures]}
    print(json.dumps(result))


def measure(name, data, n, limit):
    """Start a process for one contestant; return its figures, a text on why there are none, or None past the limit."""
    try:
        return in_fresh_process(__file__, "--contestant", name, "--data", data, "--n", n, limit=limit)
    except subprocess.TimeoutExpired:
        return None
    except RuntimeError as error:
        return str(error).splitlines()[-1]


# --- tables ----------------------------------------------------------------------------------------------------------


def compare(title, contestants, limit):
    print(f"\n{title}")
    heads = ("seconds", "cpu s", "peak MB", "times", "cpu", "memory")
    print(f"{'n':>7}  {'':<14}" + "".join(f"{head:>9}" for head in heads) + "   largest difference")
    verdicts = []
    for n in SIZES:
        ours = None
        for label, make in contestants:
            found = measure(make.__name__, "clouds", n, limit)
            if ours is None:
                if not isinstance(found, dict):
                    raise SystemExit(f"manifolia itself failed: {found}")
                ours = found
                print(f"{n:>7,}  {label:<14}{found['seconds']:>9.2f}{found['work']:>9.2f}{found['peak'] / 1e6:>9.0f}")
                continue
            if isinstance(found, str):
                print(f"{n:>7,}  {label:<14}  {found}")
                continue
            seconds = limit if found is None else found["seconds"]
            times = seconds / ours["seconds"]
            if found is None:
                print(f"{n:>7,}  {label:<14}{'>' + format(limit, '.0f'):>9}{'':>18}{'>' + format(times, '.0f'):>9}")
            else:
                share = ours["peak"] / max(1, found["peak"])
                apart = max(abs(a - b) for a, b in zip(ours["figures"], found["figures"], strict=True))
                print(
                    f"{n:>7,}  {label:<14}{seconds:>9.2f}{found['work']:>9.2f}{found['peak'] / 1e6:>9.0f}"
                    f"{times:>9.1f}{found['work'] / ours['work']:>9.1f}{share:>9.2f}   {apart:.1e}"
                )
            if n == SIZES[-1] and label in TARGETS:
                wanted_times, wanted_share = TARGETS[label]
                verdicts.append((label, times, wanted_times, times >= wanted_times, "times faster"))
                if found is not None:
                    verdicts.append((label, share, wanted_share, share < wanted_share, "of the memory"))
    for label, got, wanted, met, what in verdicts:
        print(f"  {'met' if met else 'MISSED'}: {got:.2f} {what} against {label} (target {wanted:g})")


def growth(limit):
    print("\nexact area under R_NX of MNIST and its two first principal components")
    print(f"{'n':>7}{'seconds':>10}{'cpu s':>9}{'peak MB':>10}{'area':>9}")
    sizes, work = [], []
    for n in GROWTH:
        found = measure("our_area", "mnist", n, limit)
        if not isinstance(found, dict):
            print(f"{n:>7,}  {found or f'stopped after {limit:.0f} s'}")
            return
        print(
            f"{n:>7,}{found['seconds']:>10.1f}{found['work']:>9.1f}{found['peak'] / 1e6:>10.0f}"
            f"{found['figures'][0]:>9.4f}",
            flush=True,
        )
        sizes.append(n)
        work.append(found["work"])
    slope = np.polyfit(np.log(sizes), np.log(work), 1)[0]
    print(f"the work grows as n^{slope:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="add MNIST, and give competitors an hour")
    parser.add_argument("--limit", type=float, help="seconds for one measurement (default: 300, with --full 3600)")
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    parser.add_argument("--n", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        measure_here(options.contestant, options.data, options.n)
        return
    limit = options.limit or (3600.0 if options.full else 300.0)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{os.cpu_count()} cores, load {load:.1f} at the start; numpy {np.__version__}")
    print("times, cpu: theirs as a multiple of manifolia's, by the clock and by processor time (on a busy machine the")
    print("latter tells more); memory: manifolia's peak as a share of theirs")
    for title, contestants in TABLES.items():
        compare(title, contestants, limit)
    if options.full:
        growth(limit)


if __name__ == "__main__":
    main()
