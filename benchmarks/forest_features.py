"""Codes of 20,000 letter rows by 200 trees (58 million entries) against scikit-learn's ``decision_path``, in one run.

    python benchmarks/forest_features.py [--rows 20000] [--trees 200] [--rounds 5]

Both work on two threads, warm; ours from the user's double-precision rows to the finished matrix. Wall time and CPU
time are the least of the rounds, which alternate: on a machine with other work only CPU time can be compared. Memory is
that of the matrix, and the most that was held beyond the rows and the forest while it was made, each in a process of
its own (Linux). Matrices are compared entry by entry. Quality: accuracy of a linear SVM on the codes of other rows.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import pickle
import tempfile

import numpy as np
from _measure import clock, forget_peak, in_fresh_process, resident
from sklearn.ensemble import RandomForestClassifier

from manifolia import ForestFeatures, datasets

N_JOBS = 2
KINDS = ("float32", "uint8")


def megabytes(matrix):
    return (matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes) / 2**20


def coders(forest, X):
    """How each codes the rows of X."""
    models = {kind: ForestFeatures(forest=forest, dtype=kind, n_jobs=N_JOBS, random_state=0).fit(X) for kind in KINDS}
    ways = {f"ForestFeatures, {kind}": (lambda m=model: m.transform(X)) for kind, model in models.items()}
    return {"decision_path": lambda: forest.decision_path(X)[0]} | ways


def held(name, file):
    """The most memory that coding takes beyond what stood before, in this process."""
    forest, X = pickle.loads(pathlib.Path(file).read_bytes())
    code = coders(forest, X)[name]
    coders(forest, X[:500])[name]()  # kernels are loaded before
    forget_peak()
    before = resident("VmRSS")
    code()
    print(json.dumps((resident("VmHWM") - before) / 2**20))


def most_held(name, file):
    return in_fresh_process(__file__, "--held", name, "--file", file)


def equal(ours, theirs):
    same = np.array_equal(ours.indptr, theirs.indptr) and np.array_equal(ours.indices, theirs.indices)
    return bool(same and ours.shape == theirs.shape and np.array_equal(ours.data, theirs.data))


def measure(X, y, n_trees, rounds):
    forest = RandomForestClassifier(n_trees, max_features=4, random_state=0, n_jobs=N_JOBS).fit(X, y)
    ways = coders(forest, X)
    reference = ways["decision_path"]()
    taken = {name: [] for name in ways}
    size = {}
    for name, code in ways.items():
        _, _, codes = clock(code)
        size[name] = megabytes(codes), codes.nnz
        if not equal(codes, reference):
            raise SystemExit(f"{name}: another matrix than decision_path's")
        del codes
    del reference
    for _ in range(rounds):
        for name, code in ways.items():
            taken[name].append(clock(code)[:2])
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "forest.pickle")
        file.write_bytes(pickle.dumps((forest, X)))
        most = {name: most_held(name, file) for name in ways}
    base = np.min(taken["decision_path"], axis=0)
    print(f"\n{len(X)} rows, {n_trees} trees, {size['decision_path'][1]:,} entries, {rounds} rounds\n")
    print(
        "| coder | wall s | CPU s | times faster, wall | CPU | matrix MB | share | most held MB | share | same matrix |"
    )
    print("|" + "---|" * 10)
    for name in ways:
        wall, cpu = np.min(taken[name], axis=0)
        print(
            f"| {name} | {wall:.2f} | {cpu:.2f} | {base[0] / wall:.1f} | {base[1] / cpu:.1f} | {size[name][0]:.0f} | "
            f"{size[name][0] / size['decision_path'][0]:.2f} | {most[name]:.0f} | "
            f"{most[name] / most['decision_path']:.2f} | yes |"
        )


def quality(X, y, seed=0):
    """What the codes are for: a linear model on them, beside the same on the original columns."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    order = np.random.default_rng(seed).permutation(len(X))[:6000]
    train, test = order[:4000], order[4000:]
    codes = make_pipeline(ForestFeatures(50, random_state=seed, n_jobs=N_JOBS), SGDClassifier(random_state=seed))
    plain = make_pipeline(StandardScaler(), SGDClassifier(random_state=seed))
    for name, model in (("codes", codes), ("original columns", plain)):
        score = model.fit(X[train], y[train]).score(X[test], y[test])
        print(f"linear SVM on {name}, 4000 rows: accuracy {score:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 6000, 20_000])
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--held", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.held:
        held(arguments.held, arguments.file)
        return
    bunch = datasets.load("letter")
    X, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
    for n in arguments.rows:
        measure(X[:n], y[:n], arguments.trees, arguments.rounds)
    print()
    quality(X, y)


if __name__ == "__main__":
    main()
