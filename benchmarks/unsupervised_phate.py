"""PHATE against the phate package: time, memory, trustworthiness and k-NN accuracy, and how the time grows.

    python benchmarks/unsupervised_phate.py [--part mnist|tree|noise|growth] [--rows N] [--repeats 3]

Both get the same rows and their own defaults, in one run, each map in a fresh process, so that its peak memory is its
own; both are called once on a small tree before, so that compiling and imports are not counted. The package (its
licence is the GPL, so it is only ever a peer here) is used if it is installed. Targets: twice as fast at no lower
trustworthiness and k-NN accuracy, and time after the neighbours near linear in n.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import numpy as np
from _measure import StageClock, clock, in_fresh_process, mnist, peak

PARTS = ("mnist", "tree", "noise", "growth")
ROWS = {"mnist": 20_000, "tree": 10_000, "noise": 10_000}
NOISE_COLUMNS = 500  # in which a neighbourhood holds a tenth of all rows
SCORED = 5_000  # rows that trustworthiness is measured on
FIXED = ("distances", "layout")  # stages that work on the landmarks, whatever n is


def load(name, n):
    from manifolia import datasets

    if name == "mnist":
        return mnist(n)
    if name == "noise":
        X = np.random.default_rng(0).standard_normal((n, NOISE_COLUMNS))
        return X, X[:, 0] > 0
    bunch = datasets.make_tree(n, random_state=0)
    return bunch.data, bunch.branch


def make(who, seed):
    if who == "manifolia":
        from manifolia import PHATE

        return PHATE(random_state=seed)
    import phate

    return phate.PHATE(random_state=seed, n_jobs=-1, verbose=0)


def one(name, n, who, seed):
    """One map in this process: seconds, stages, memory and scores, as a line of JSON."""
    from manifolia import metrics

    X, y = load(name, n)
    make(who, 0).fit_transform(load("tree", 2500)[0])
    model, note = make(who, seed), StageClock()
    if who == "manifolia":
        model.set_params(callback=note)
    wall, cpu, Y = clock(lambda: np.asarray(model.fit_transform(X), dtype=np.float64))
    memory = peak()
    rows = np.random.default_rng(0).choice(n, min(n, SCORED), replace=False)
    print(
        json.dumps(
            {
                "wall": wall,
                "cpu": cpu,
                "memory": memory,
                "stages": note.seconds,
                "trust": metrics.trustworthiness(X[rows], Y[rows], 15),
                "accuracy": metrics.knn_accuracy(Y, y, 10),
            }
        )
    )


def run(name, n, who, seed=0):
    return in_fresh_process(__file__, "--inside", name, "--rows", n, "--who", who, "--seed", seed)


def compare(name, n, repeats):
    from importlib.util import find_spec

    found = {"manifolia": [run(name, n, "manifolia", seed) for seed in range(repeats)]}
    if find_spec("phate") is not None:
        found["phate"] = [run(name, n, "phate", seed) for seed in range(repeats)]
    for who, runs in found.items():
        least = min(runs, key=lambda one: one["wall"])
        print(
            f"{name} {n} rows, {who}: {least['wall']:.1f} s ({least['cpu']:.1f} CPU), peak {least['memory']:.2f} GiB, "
            f"trustworthiness {np.mean([r['trust'] for r in runs]):.4f}, "
            f"10-NN {np.mean([r['accuracy'] for r in runs]):.4f} (means of {repeats} seeds)"
        )
        if least["stages"]:
            print("    " + ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in least["stages"].items()))
    if "phate" not in found:
        print("    the phate package is not installed: no comparison")
        return
    ours, theirs = (min(one["wall"] for one in found[who]) for who in ("manifolia", "phate"))
    means = {who: [np.mean([r[key] for r in runs]) for key in ("trust", "accuracy")] for who, runs in found.items()}
    gains = np.subtract(means["manifolia"], means["phate"])
    print(
        f"    {theirs / ours:.1f} times as fast (target 2), trustworthiness {gains[0]:+.4f}, 10-NN {gains[1]:+.4f} "
        f"(targets: not below 0)"
    )


def growth(sizes):
    """Time after the neighbours over n: all of it, and what is not done on landmarks."""
    whole, rest = [], []
    for n in sizes:
        stages = run("tree", n, "manifolia")["stages"]
        after = {stage: value for stage, value in stages.items() if stage != "neighbours"}
        whole.append(sum(after.values()))
        rest.append(sum(value for stage, value in after.items() if stage not in FIXED))
        print(f"tree {n} rows: after the neighbours {whole[-1]:.2f} s, of it not on landmarks {rest[-1]:.3f} s")
    exponents = [np.polyfit(np.log(sizes), np.log(seconds), 1)[0] for seconds in (whole, rest)]
    print(
        f"    exponent of the time after the neighbours {exponents[0]:.2f} (target at most about 1), of what is not on "
        f"landmarks {exponents[1]:.2f} (a row of the kernel has more entries where noise of many dimensions is denser)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--rows", type=int, default=None, help="rows of mnist and tree, and the most of growth")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--who", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # This file is called as the package is: what is imported must not be this file.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    if arguments.inside:
        one(arguments.inside, arguments.rows, arguments.who, arguments.seed)
        return
    for part in arguments.part or PARTS:
        if part == "growth":
            most = arguments.rows or 80_000
            growth([most // 8, most // 4, most // 2, most])
        else:
            compare(part, arguments.rows or ROWS[part], arguments.repeats)


if __name__ == "__main__":
    main()
