"""Fisher distances against the vectorised NumPy form, checked equal, and their time at 2,000 points.

    python benchmarks/fisher.py [--full]

Both start from the same data, classes and width of the Parzen windows. The NumPy form goes row by row: exponents,
weights and sums over the classes of all pairs of a row at once, at each of the T points of the paths; pairs i < j only.
Seconds of the processor, so that other work on the machine counts little; wall time beside them. By default on digits;
``--full`` takes letter, MNIST and USPS too, if they are in the data home. The targets are 20 times the speed of the
NumPy form at 400 points, and 60 s on two cores, which is 120 s of the processor, at 2,000 points with T = 10.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from _measure import clock
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from manifolia import datasets
from manifolia._core.parallel import cpu_count, threads
from manifolia.affinity import fisher
from manifolia.exceptions import DataHomeError

STEPS = 10
MANY_STEPS = 160
TARGET_RATIO, TARGET_SECONDS = 20, 120


def numpy_form(X, codes, width, rule):
    """Path distances by arrays of all pairs of a row; arcs or middles, as `manifolia.affinity.fisher` has them."""
    n = len(X)
    U = cdist(X, X, "sqeuclidean") / (2 * width**2)
    member = np.eye(codes.max() + 1)[codes]
    shares = np.arange(STEPS + 1) / STEPS if rule == "arcs" else (np.arange(STEPS) + 0.5) / STEPS
    D = np.zeros((n, n))
    for i in range(n - 1):
        A, B = U[i], U[i + 1 :]
        before = None
        for share in shares:
            exponent = (1 - share) * A + share * B
            w = np.exp(exponent.min(axis=1, keepdims=True) - exponent)
            w /= w.sum(axis=1, keepdims=True)
            p = w @ member
            if rule == "arcs":
                root = np.sqrt(p)
                if before is not None:
                    D[i, i + 1 :] += 4 * np.arcsin(0.5 * np.linalg.norm(root - before, axis=1))
                before = root
            else:
                s = (w * (B - A)) @ member
                mean = np.divide(s, p, out=np.zeros_like(s), where=p > 0)
                D[i, i + 1 :] += np.sqrt((p * (mean - s.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)) / STEPS
    return D + D.T


def sets(full):
    names = ["digits", *(["letter", "mnist", "usps"] if full else [])]
    for name in names:
        try:
            if name == "digits":
                X, y = load_digits(return_X_y=True)
            else:
                found = datasets.load(name)
                X, y = np.asarray(found.data, dtype=float), np.asarray(found.target)
        except DataHomeError as error:
            print(f"{name}: left out ({error})")
            continue
        rows = np.random.default_rng(0).permutation(len(X))[:2000]
        X, codes = X[rows], np.unique(y[rows], return_inverse=True)[1]
        yield name, PCA(30, random_state=0).fit_transform(X) if X.shape[1] > 30 else X, codes


def compare(name, X, codes, rule):
    """Time of 400 points beside the NumPy form's, and of all."""
    for n in (400, len(X)):
        rows, own = X[:n], codes[:n]
        classes = fisher.parzen_classes(rows, own)
        fisher.path_distances(rows[:60], fisher.parzen_classes(rows[:60], own[:60]), rule=rule)  # compile
        wall, cpu, D = clock(partial(fisher.path_distances, rows, classes, rule=rule), 5 if n == 400 else 1)
        line = f"{name:>7} {rule:>9} {n:>7} {len(classes.offsets) - 1:>8}"
        ours = f"{cpu:.3f} ({wall:.3f})"
        if n > 400:
            verdict = "" if cpu <= TARGET_SECONDS else f"above {TARGET_SECONDS}"
            print(f"{line} {'':>15} {ours:>15} {verdict}")
            continue
        with threads(1):
            slow_wall, slow, E = clock(partial(numpy_form, rows, own, classes.bandwidth, rule))
        apart = np.abs(D - E).max()
        theirs = f"{slow:.2f} ({slow_wall:.2f})"
        verdict = "" if slow / cpu >= TARGET_RATIO else f"below {TARGET_RATIO}"
        print(f"{line} {theirs:>15} {ours:>15} {slow / cpu:>6.1f} {apart:>11.1e} {verdict}")
        if apart > 1e-8:
            raise SystemExit(f"{name}, {rule}: the two forms differ by {apart}")


def converge(name, X, codes):
    """Errors of the rules against a path of many pieces, on 400 points."""
    X, codes = X[:400], codes[:400]
    classes = fisher.parzen_classes(X, codes)
    above = np.triu_indices(400, 1)
    limit = fisher.path_distances(X, classes, steps=MANY_STEPS, rule="midpoint")[above]
    for rule in ("arcs", "midpoint", "left"):
        for steps in (3, 5, 10, 20):
            d = fisher.path_distances(X, classes, steps=steps, rule=rule)[above]
            error = np.abs(d - limit)
            relative = np.median(error[limit > 0] / limit[limit > 0])
            near = np.corrcoef(d, limit)[0, 1]
            print(
                f"{name:>7} {rule:>9} {steps:>3} {relative:>9.4f} {error.mean():>9.4f} {error.max():>9.3f} {near:>9.5f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="letter, MNIST and USPS too")
    data = list(sets(parser.parse_args().full))
    print(f"{cpu_count()} cores; T = {STEPS}; seconds of the processor (wall time in brackets)")
    titles = f"{'data':>7} {'rule':>9} {'points':>7} {'classes':>8} {'NumPy s':>15} {'ours s':>15} {'ratio':>6}"
    print(f"{titles} {'difference':>11}")
    for name, X, codes in data:
        for rule in ("arcs", "midpoint"):
            compare(name, X, codes, rule)
    print(f"\nerror of a path of T pieces against {MANY_STEPS} (400 points)")
    print(f"{'data':>7} {'rule':>9} {'T':>3} {'median':>9} {'mean':>9} {'largest':>9} {'correl.':>9}")
    print(f"{'':>21} {'relative':>9} {'absolute':>9} {'absolute':>9}")
    for name, X, codes in data:
        converge(name, X, codes)


if __name__ == "__main__":
    main()
