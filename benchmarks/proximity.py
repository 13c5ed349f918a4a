"""Forest proximities against a row loop, and the operator against the forest's own fit.

    python benchmarks/proximity.py [--full]

All ratios are of one run on one machine. The row loop is the form found in published code: for each row, compare its
leaf in every tree with everybody's (NumPy, no pair loop). Both start from the same leaf indices and in-bag counts; the
column "whole call" adds what scikit-learn needs for them (``apply`` and ``estimators_samples_``).
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from _measure import clock
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from manifolia import datasets
from manifolia import forest as F
from manifolia._core.parallel import cpu_count
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.proximities import proximity_from_leaves

TARGETS = {
    ("digits", "gap"): 50,
    ("digits", "oob"): 50,
    ("digits", "original"): 15,
    ("mnist", "gap"): 200,
    ("mnist", "oob"): 200,
}


def row_loop(leaf, counts, kind, rows):
    """Proximities of some rows by comparing a row's leaves with everybody's."""
    n = len(leaf)
    out_of_bag = counts == 0
    out = np.zeros((len(rows), n))
    for k, i in enumerate(rows):
        if kind == "original":
            out[k] = (leaf == leaf[i]).mean(axis=1)
        elif kind == "oob":
            both = out_of_bag & out_of_bag[i]
            same = (leaf == leaf[i]) & both
            out[k] = same.sum(axis=1) / np.maximum(both.sum(axis=1), 1)
        else:
            trees = np.flatnonzero(out_of_bag[i])
            weight = (leaf[:, trees] == leaf[i, trees]) * counts[:, trees]
            out[k] = (weight / weight.sum(axis=0)).sum(axis=1) / len(trees)
    return out


def compare(name, X, y, n_trees, *, loop_rows):
    forest = RandomForestClassifier(n_trees, random_state=0, n_jobs=-1).fit(X, y)
    table = leaf_table(forest, X)
    leaf = np.ascontiguousarray(table.leaf.T)
    counts = np.ascontiguousarray(table.counts.T)
    n = len(X)
    rows = np.arange(n) if loop_rows >= n else np.linspace(0, n - 1, loop_rows).astype(int)
    print(
        f"\n{name}: {n} rows, {n_trees} trees, {table.trees.n_leaves} leaves"
        + ("" if len(rows) == n else f" (row loop timed on {len(rows)} rows spread over all, and scaled)")
    )
    print(
        f"{'kind':>9} {'row loop s':>11} {'ours s':>8} {'ratio':>7} {'target':>7} {'whole call s':>13} {'entries':>10} "
        f"{'max diff':>9}"
    )
    for kind in ("gap", "oob", "original"):
        proximity_from_leaves(table, kind=kind)  # compile
        slow, _, expected = clock(lambda kind=kind: row_loop(leaf, counts, kind, rows), 1)
        slow *= n / len(rows)
        fast, _, K = clock(lambda kind=kind: proximity_from_leaves(table, kind=kind), 5)
        whole, _, _ = clock(lambda kind=kind: F.proximity(forest, X, kind=kind), 3)
        got = K[rows].toarray()
        if kind == "oob":
            got[np.arange(len(rows)), rows] = expected[np.arange(len(rows)), rows] = 1.0
        target = TARGETS.get((name, kind), "")
        print(
            f"{kind:>9} {slow:11.3f} {fast:8.4f} {slow / fast:7.0f} {target:>7} {whole:13.3f} {K.nnz:10d} "
            f"{np.abs(got - expected).max():9.1e}"
        )


def operator(X, y, n_trees):
    fit, _, forest = clock(lambda: RandomForestClassifier(n_trees, random_state=0, n_jobs=-1).fit(X, y), 1)
    small = RandomForestClassifier(2, random_state=0).fit(X[:100], y[:100])
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two trees leave rows in every bag
        F.operator(small, X[:100]).matmat(np.ones((100, 1)))  # compile
    build, _, op = clock(lambda: F.operator(forest, X), 2)
    V = np.random.default_rng(0).normal(size=(len(X), 50))
    product, _, _ = clock(lambda: op.matmat(V), 3)
    print(f"\noperator: {len(X)} rows, {n_trees} trees, {op.table.trees.n_leaves} leaves")
    print(
        f"{'forest fit s':>13} {'build s':>8} {'of fit':>7} {'target':>7} {'50 vectors s':>13} {'of fit':>7} "
        f"{'target':>7}"
    )
    print(f"{fit:13.1f} {build:8.2f} {build / fit:7.3f} {'0.1':>7} {product:13.2f} {product / fit:7.4f} {'0.025':>7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="also MNIST with 10,000 and 70,000 rows")
    arguments = parser.parse_args()
    print(f"{cpu_count()} cores, OMP_WAIT_POLICY={os.environ['OMP_WAIT_POLICY']}")
    X, y = load_digits(return_X_y=True)
    compare("digits", X, y, 500, loop_rows=len(X))
    if arguments.full:
        mnist = datasets.load("mnist")
        X, y = np.asarray(mnist.data, dtype=np.float32), np.asarray(mnist.target)
        compare("mnist", X[:10_000], y[:10_000], 200, loop_rows=200)
        operator(X, y, 100)


if __name__ == "__main__":
    main()
