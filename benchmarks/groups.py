"""What bags of whole groups cost: the fit with ``groups`` over the fit without, in one run.

    python benchmarks/groups.py [--rounds 5] [--trees 200]

The same rows and labels, drawn row by row and in groups of five, on two threads; rounds alternate, and the least time
of each counts, by the clock and of the processor. On a machine with other work only the latter can be compared: it is
what the target is held against. Beside it the out-of-bag scores: rows of a group are alike and their labels are random
by group.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from _measure import clock

import manifolia as mf
from manifolia.exceptions import HonestyWarning

SIZES = ((1_000, 20), (5_000, 20), (5_000, 200))
EACH = 5
TARGET = 1.15
METHODS = {"RFPHATE": mf.RFPHATE, "GuidedMap": mf.GuidedMap, "ForestMap": lambda **more: mf.ForestMap("umap", **more)}


def rows(n, d):
    """Groups of alike rows with one label each."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(n // EACH), EACH)
    X = rng.normal(size=(n // EACH, d))[groups] + 0.2 * rng.normal(size=(n, d))
    return X, rng.integers(0, 3, n // EACH)[groups], groups


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", HonestyWarning)  # that the rows are alike is the point
    worst = 0.0
    for name, method in METHODS.items():
        for n, d in SIZES:
            X, y, groups = rows(n, d)
            least, score = {}, {}
            for _ in range(arguments.rounds):
                for by, given in (("rows", None), ("groups", groups)):
                    model = method(n_trees=arguments.trees, random_state=0, n_jobs=2)
                    wall, cpu, fitted = clock(partial(model.fit, X, y, groups=given))
                    least[by] = np.minimum((wall, cpu), least.get(by, np.inf))
                    score[by] = fitted.oob_score_
            ratio = least["groups"] / least["rows"]
            worst = max(worst, ratio[1])
            print(
                f"{name:10s} {n:6,} × {d:3}: by rows {least['rows'][1]:6.2f} s of the processor, by groups "
                f"{least['groups'][1]:6.2f} s, ratio {ratio[1]:.2f} (by the clock {ratio[0]:.2f}); out of bag "
                f"{score['rows']:.2f} and {score['groups']:.2f}",
                flush=True,
            )
    print(f"largest ratio {worst:.2f}, target {TARGET}: {'met' if worst <= TARGET else 'missed'}")


if __name__ == "__main__":
    main()
