"""Forests grown by our kernels against scikit-learn's fit: speed, accuracy, and whole maps against another checkout.

    python benchmarks/forest.py                                   # speed: times faster than scikit-learn, two threads
    python benchmarks/forest.py --accuracy [--seeds 10]           # out-of-bag scores beside scikit-learn's
    python benchmarks/forest.py --held-out [--seeds 10]           # guided maps of both forests: 10-NN of held-out rows
    python benchmarks/forest.py --maps --before CHECKOUT          # whole fits here over those of another checkout
    python benchmarks/forest.py --others --before CHECKOUT        # fits and placing of all methods, here and there
    python benchmarks/forest.py --only letter yeast --rounds 3

Both forests are grown on two threads in one run, in turn, and the least time of each counts: that of the processor,
which is what can be compared on a machine with other work, and that of the clock. Ours includes coding the columns.
Kernels are compiled before. ``--few`` grows a tenth of the trees on large tables. Real tables are read from
MANIFOLIA_DATA; without it they are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from _measure import clock, in_fresh_process, mnist, peak
from sklearn.datasets import load_diabetes, load_digits, make_classification, make_friedman1, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

REGRESSION = {"max_features": 1 / 3, "min_samples_split": 6}
SPEED_MAPS = ((712, 500), (20_000, 500), (200_000, 100), (1_000_000, 50))
MAP_TARGETS = (3, 3, 4, 5)
LARGE = 50_000  # rows beyond which one round is enough


def real(name):
    """A table of the data home: numbers, with one column per category; missing values stay."""
    import pandas as pd

    from manifolia import datasets

    bunch = datasets.load(name)
    data = bunch.data
    if isinstance(data, pd.DataFrame):
        data = pd.get_dummies(data, dtype=float).to_numpy(dtype=np.float64)
    target = np.asarray(bunch.target)
    known = ~pd.isna(target).reshape(len(target), -1).any(axis=1)
    target = target[known]
    return np.asarray(data)[known], target.astype(str) if target.dtype.kind == "O" else target


def titanic():
    """The passengers whose age is known, as they are usually learned from."""
    import pandas as pd

    from manifolia import datasets

    bunch = datasets.load("titanic")
    usual = {"pclass", "sex", "age", "sibsp", "parch", "fare", "embarked"}
    data = bunch.data[[name for name in bunch.data.columns if str(name).lower() in usual]]
    known = data.notna().all(axis=1).to_numpy()
    return pd.get_dummies(data[known], dtype=float).to_numpy(), np.asarray(bunch.target)[known]


def made(n, d, *, classes):
    """Rows in clusters, or numbers that columns tell of one by one."""
    if classes:
        return make_classification(n, d, n_informative=min(8, d), n_classes=5, random_state=0)
    return make_friedman1(n, d, noise=1.0, random_state=0)


#: Data, trees, whether it is regression, and by how many times ours should be faster.
SPEED = {
    "Titanic, 712 rows": (titanic, 500, False, 8),
    "digits 1,797 × 64": (partial(load_digits, return_X_y=True), 500, False, 5),
    "letter 20,000 × 16": (partial(real, "letter"), 500, False, 3),
    "MNIST 70,000 × 784": (mnist, 100, False, 4),
    "yeast, 14 labels": (partial(real, "mulan_yeast"), 200, False, 3),
    "1,000,000 × 20, classes": (partial(made, 1_000_000, 20, classes=True), 50, False, 8),
    "1,000,000 × 20, numbers": (partial(made, 1_000_000, 20, classes=False), 50, True, 8),
    "Ames": (partial(real, "ames_housing"), 500, True, 2),
    "300 × 3,000": (partial(made, 300, 3_000, classes=True), 500, False, 3),
}
#: Data and whether it is regression.
ACCURACY = {
    "titanic": (titanic, False),
    "german_credit_numeric": (partial(real, "german_credit_numeric"), False),
    "credit_approval, gaps": (partial(real, "credit_approval"), False),
    "heart_cleveland, gaps": (partial(real, "heart_cleveland"), False),
    "pima_diabetes": (partial(real, "pima_diabetes"), False),
    "ionosphere": (partial(real, "ionosphere"), False),
    "sonar": (partial(real, "sonar"), False),
    "vehicle": (partial(real, "vehicle"), False),
    "ecoli": (partial(real, "ecoli"), False),
    "digits": (partial(load_digits, return_X_y=True), False),
    "emotions, 6 labels": (partial(real, "mulan_emotions"), False),
    "yeast, 14 labels": (partial(real, "mulan_yeast"), False),
    "Ames, gaps": (partial(real, "ames_housing"), True),
    "diabetes": (partial(load_diabetes, return_X_y=True), True),
    "3 numbers": (partial(make_regression, 1000, 12, n_targets=3, noise=50.0, random_state=0), True),
}
#: Tables of classes without gaps whose maps are compared.
HELD_OUT = ("titanic", "german_credit_numeric", "pima_diabetes", "ionosphere", "sonar", "vehicle", "digits")


def forest(n_trees, seed, *, regression):
    if regression:
        return RandomForestRegressor(n_trees, random_state=seed, n_jobs=2, **REGRESSION)
    return RandomForestClassifier(n_trees, random_state=seed, n_jobs=2)


def grow(model, X, y):
    from manifolia._core.parallel import threads
    from manifolia.forest.tree_growth import grow_trees

    with threads(2):
        return grow_trees(model, X, y)


def speed(only, rounds, few):
    print(f"{'work':26} {'ours':>8} {'theirs':>8} {'times faster':>13} {'by the clock':>13} {'target':>7}")
    for name, (load, n_trees, regression, target) in SPEED.items():
        if only and not any(word in name for word in only):
            continue
        X, y = load()
        n_trees = n_trees // 10 if few and len(X) > LARGE else n_trees
        grow(forest(1, 0, regression=regression), X[:300], y[:300])
        least = {}
        for _ in range(rounds if len(X) <= LARGE else 1):
            for who, fit in (("ours", grow), ("theirs", lambda model, X, y: model.fit(X, y))):
                wall, cpu, _ = clock(partial(fit, forest(n_trees, 0, regression=regression), X, y))
                least[who] = np.minimum((wall, cpu), least.get(who, np.inf))
        ratio = least["theirs"] / least["ours"]
        met = "met" if ratio[1] >= target else "missed"
        cpu = f"{least['ours'][1]:8.2f} {least['theirs'][1]:8.2f}"
        print(f"{name:26} {cpu} {ratio[1]:13.1f} {ratio[0]:13.1f} {target:>7} {met}", flush=True)


def out_of_bag(model, X, y):
    """Share of right classes, label by label, or R², asked of the trees that left a row out."""
    rows = np.asarray(X, dtype=np.float32)
    outputs, total, n_asked = y.reshape(len(y), -1), 0.0, np.zeros(len(y))
    for tree, drawn in zip(model.estimators_, model.estimators_samples_, strict=True):
        out = np.ones(len(y), dtype=bool)
        out[drawn] = False
        if isinstance(model, RandomForestRegressor):
            told = tree.predict(rows).reshape(len(y), -1)[:, :, np.newaxis]
        else:
            told = np.stack(
                np.atleast_3d(tree.predict_proba(rows)) if outputs.shape[1] > 1 else [tree.predict_proba(rows)]
            )
            told = np.moveaxis(told.reshape(outputs.shape[1], len(y), -1), 0, 1)
        total = total + out[:, np.newaxis, np.newaxis] * told
        n_asked += out
    if isinstance(model, RandomForestRegressor):
        guess = total[:, :, 0] / n_asked[:, np.newaxis]
        return float(
            (1 - ((guess - outputs) ** 2).sum(axis=0) / ((outputs - outputs.mean(axis=0)) ** 2).sum(axis=0)).mean()
        )
    classes = model.classes_ if outputs.shape[1] > 1 else [model.classes_]
    guess = np.column_stack([names[total[:, k].argmax(axis=1)] for k, names in enumerate(classes)])
    return float((guess == outputs).mean())


def accuracy(only, seeds, n_trees):
    warnings.simplefilter("ignore")
    means = []
    print(f"{n_trees} trees, {seeds} seeds: out-of-bag scores of ours and of scikit-learn's, difference; nodes")
    for name, (load, regression) in ACCURACY.items():
        if only and not any(word in name for word in only):
            continue
        X, y = load()
        scores, nodes = [], []
        for seed in range(seeds):
            grown = grow(forest(n_trees, seed, regression=regression), X, y)
            fitted = forest(n_trees, seed, regression=regression).fit(X, y)
            scores.append([out_of_bag(model, X, y) for model in (grown, fitted)])
            nodes.append([np.mean([tree.tree_.node_count for tree in model.estimators_]) for model in (grown, fitted)])
        ours, theirs = np.mean(scores, axis=0)
        difference = np.subtract(*np.transpose(scores))
        means.append(difference.mean())
        error = difference.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
        size = np.mean(nodes, axis=0)
        print(
            f"{name:24} {ours:.4f} {theirs:.4f} {difference.mean():+.4f} ± {error:.4f}  {size[0]:.0f} {size[1]:.0f}",
            flush=True,
        )
    print(f"mean difference {np.mean(means):+.4f} (target ± .002), largest {np.abs(means).max():.4f} (target .01)")


def held_out(only, seeds, n_trees):
    """Place half of the rows on maps of the other half, and ask their ten nearest there for the class."""
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier

    import manifolia as mf

    warnings.simplefilter("ignore")
    means = []
    print(f"{n_trees} trees, {seeds} seeds: held-out 10-NN on maps of our forest and of scikit-learn's, difference")
    for name in HELD_OUT:
        if only and not any(word in name for word in only):
            continue
        X, y = ACCURACY[name][0]()
        scores = []
        for seed in range(seeds):
            learn, test, of_learn, of_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
            pair = []
            for model in (None, RandomForestClassifier(n_trees, random_state=seed, n_jobs=2)):
                method = mf.GuidedMap(n_trees=n_trees, forest=model, random_state=seed, n_jobs=2)
                nearest = KNeighborsClassifier(10).fit(method.fit_transform(learn, of_learn), of_learn)
                pair.append(nearest.score(method.transform(test), of_test))
            scores.append(pair)
        ours, theirs = np.mean(scores, axis=0)
        difference = np.subtract(*np.transpose(scores))
        means.append(difference.mean())
        error = difference.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else np.nan
        print(f"{name:24} {ours:.4f} {theirs:.4f} {difference.mean():+.4f} ± {error:.4f}", flush=True)
    print(f"mean difference {np.mean(means):+.4f} (target ± .005)")


def one_map(method, n, n_trees):
    """Fit one map in this process, kernels compiled; print its time and peak memory."""
    import manifolia as mf

    warnings.simplefilter("ignore")
    make = getattr(mf, method)
    X, y = made(max(n, 4_000), 20, classes=True)
    for rows in (600, 3_000):
        make(n_trees=20, random_state=0, n_jobs=2).fit(X[:rows], y[:rows])
    if "MANIFOLIA_DATA" in os.environ and n <= LARGE:  # the tables that are this large
        X, y = titanic() if n == SPEED_MAPS[0][0] else real("letter")
    wall, cpu, _ = clock(lambda: make(n_trees=n_trees, random_state=0, n_jobs=2).fit(X[:n], y[:n]))
    print(json.dumps({"wall": wall, "cpu": cpu, "peak": peak()}))


def maps(only, before):
    print("whole fits here over those of the other checkout: times faster (processor, clock), peak memory")
    for (n, n_trees), target in zip(SPEED_MAPS, MAP_TARGETS, strict=True):
        for method in ("GuidedMap", "RFPHATE"):
            if only and not any(word in f"{method} {n}" for word in only):
                continue
            measured = []
            for checkout in (Path(__file__).parents[1], before):
                environment = {"PYTHONPATH": str(checkout / "src")}
                measured.append(in_fresh_process(__file__, "--map", method, n, n_trees, environment=environment))
            here, there = measured
            faster = there["cpu"] / here["cpu"]
            print(
                f"{method:10} {n:>9,} rows {n_trees} trees: {here['cpu']:7.1f} s and {there['cpu']:7.1f} s of the "
                f"processor, {faster:.2f} times (clock {there['wall'] / here['wall']:.2f}, target {target}), "
                f"{here['peak']:.2f} and {there['peak']:.2f} GiB",
                flush=True,
            )


#: Methods with the parameters that they are made with; all of them run on the same table.
OTHERS = {
    "RFPHATE": {"n_trees": 200},
    "GuidedMap": {"n_trees": 200},
    "ForestMap": {"n_trees": 200},
    "ForestFeatures": {"n_trees": 200},
    "PHATE": {},
    "FeatureMAP": {},
    "KernelTSNE": {},
    "FisherKernelTSNE": {},
}


def one_of_others(method):
    """Fit one method in this process and place other rows, kernels compiled; print the least times of three rounds."""
    import manifolia as mf

    warnings.simplefilter("ignore")
    X, y = made(4_000, 20, classes=True)
    make = partial(getattr(mf, method), **OTHERS[method])
    make().fit(X[:800], y[:800]).transform(X[:900])
    fits, places = [], []
    for _ in range(3):
        _, cpu, model = clock(lambda: make().fit(X[:3_000], y[:3_000]))
        fits.append(cpu)
        places.append(clock(partial(model.transform, X[3_000:]))[1])
    print(json.dumps({"fit": min(fits), "transform": min(places), "peak": peak()}))


def others(only, before):
    print("3,000 × 20, seconds of the processor here and in the other checkout; 1,000 other rows; GiB")
    for method in OTHERS:
        if only and method not in only:
            continue
        here, there = (
            in_fresh_process(__file__, "--other", method, environment={"PYTHONPATH": str(checkout / "src")})
            for checkout in (Path(__file__).parents[1], before)
        )
        told = [f"{what} {here[what]:.3g} {there[what]:.3g}" for what in ("fit", "transform", "peak")]
        print(f"{method:18} {'   '.join(told)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--maps", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--before", type=Path, help="the other checkout")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--map", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--other", choices=OTHERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.other:
        one_of_others(arguments.other)
    elif arguments.map:
        method, n, n_trees = arguments.map
        one_map(method, int(n), int(n_trees))
    elif arguments.accuracy:
        accuracy(arguments.only, arguments.seeds, arguments.trees)
    elif arguments.held_out:
        held_out(arguments.only, arguments.seeds, arguments.trees)
    elif arguments.maps or arguments.others:
        if arguments.before is None:
            parser.error("--maps and --others need --before CHECKOUT")
        (maps if arguments.maps else others)(arguments.only, arguments.before)
    else:
        absent = () if "MANIFOLIA_DATA" in os.environ else ("Titanic", "letter", "MNIST", "yeast", "Ames")
        for name in [name for name in SPEED if name.startswith(absent)] if absent else []:
            del SPEED[name]
        speed(arguments.only, arguments.rounds, arguments.few)


if __name__ == "__main__":
    main()
