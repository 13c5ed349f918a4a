"""Are exact reasons better reasons? Deletion curves of Shapley values beside substitution and gradients.

    python -m reproduce.reasons.run [--seeds 3] [--only TABLE]

A guided map with 100 trees is fitted on seven tenths of the rows. Each of up to 60 other rows has its columns ranked by
four measures, for its place and for the vote on its class: the length of the Shapley value (for votes: its value);
how far the row moves with four other values of the column, from low to high, on average (for votes: how much the vote
falls); the slope between half a standard deviation less and more of the column; and a random order. Then the first
columns of each ranking take the values of 20 background rows, which are not those that Shapley values were computed
against, and the curve is how far the row moves (in units of the map's spread), or how far the vote falls, on average
over those rows. A line of the tables is the mean over the curve at a tenth, two tenths … all columns: larger is better,
and at the end of the curve all are equal.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import manifolia as mf
from manifolia.explain.displacement import displacements

MEASURES = ("Shapley", "substitution", "gradient", "random")
_TREES = 100
_ROWS = 60
_BACKGROUND = 20
_STEPS = 10
_DONORS = 4


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Six tables: three of scikit-learn, three of the folder of real data."""
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer), ("digits", load_digits)):
        yield (name, *load(return_X_y=True))
    for name in ("pima_diabetes", "vehicle", "ionosphere"):
        bunch = mf.datasets.load(name)
        yield name.replace("_", " "), np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)


Say = Callable[[Any], Any]


def rankings(model: Any, X: Any, train: Any, background: Any, rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Rank the columns of each row, by each measure: for places, and for the vote on the predicted class."""
    n, d = X.shape
    classes = model.predict_proba(X).argmax(axis=1)
    order = np.argsort(train, axis=0)
    at = ((np.arange(_DONORS) + 0.5) / _DONORS * len(train)).astype(int)
    donors = np.take_along_axis(train, order[at], axis=0)

    def vote(rows: Any, own: Any) -> Any:
        return np.take_along_axis(model.predict_proba(rows), own[:, np.newaxis], axis=1)[:, 0]

    place = np.linalg.norm(model.feature_effects(X, background=background), axis=2)
    target = model.feature_effects(X, output="target", background=background)
    scores = {
        "place": {"Shapley": place, "random": rng.random((n, d))},
        "vote": {"Shapley": target[np.arange(n), :, classes], "random": rng.random((n, d))},
    }
    groups = [np.array([f]) for f in range(d)]
    scores["place"]["substitution"] = displacements(
        lambda rows: model.transform(rows), X, groups, [donors[:, [f]] for f in range(d)]
    ).mean(axis=2)
    home, falls, slope, steep = vote(X, classes), np.zeros((n, d)), np.zeros((n, d)), np.zeros((n, d))
    for f in range(d):
        for value in donors[:, f]:
            other = X.copy()
            other[:, f] = value
            falls[:, f] += (home - vote(other, classes)) / _DONORS
        low, high = X.copy(), X.copy()
        half = 0.5 * train[:, f].std()
        low[:, f] -= half
        high[:, f] += half
        slope[:, f] = np.linalg.norm(model.transform(high) - model.transform(low), axis=1)
        steep[:, f] = np.abs(vote(high, classes) - vote(low, classes))
    scores["place"]["gradient"], scores["vote"]["substitution"], scores["vote"]["gradient"] = slope, falls, steep
    return scores


def curve(model: Any, X: Any, background: Any, scores: Any, what: str) -> float:
    """The mean of a deletion curve over its steps."""
    n, d = X.shape
    classes = model.predict_proba(X).argmax(axis=1)
    spread = float(np.sqrt(model.embedding_.var(axis=0).sum()))
    home, votes = model.transform(X), model.predict_proba(X)[np.arange(n), classes]
    rank = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    steps = np.unique(np.maximum(1, np.rint(np.arange(1, _STEPS + 1) / _STEPS * d))).astype(int)
    heights = []
    for k in steps:
        mixed = np.where((rank < k)[:, np.newaxis], background[np.newaxis], X[:, np.newaxis]).reshape(-1, d)
        if what == "place":
            moved = model.transform(mixed).reshape(n, len(background), -1) - home[:, np.newaxis]
            heights.append(np.linalg.norm(moved, axis=2).mean() / spread)
        else:
            told = model.predict_proba(mixed).reshape(n, len(background), -1)
            own = np.take_along_axis(told, classes[:, np.newaxis, np.newaxis], axis=2)[:, :, 0]
            heights.append((votes[:, np.newaxis] - own).mean())
    return float(np.mean(heights))


def main() -> None:
    """Print both tables as they stand in the document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="", help="a table")
    asked = parser.parse_args()
    n_seeds = asked.seeds
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for name, X, y in tables():
        if asked.only not in ("", name):
            continue
        for seed in range(n_seeds):
            rng = np.random.default_rng(seed)
            train, test, labels, _ = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            model = mf.GuidedMap(n_trees=_TREES, random_state=seed).fit(train, labels)
            rows = test[rng.permutation(len(test))[:_ROWS]]
            drawn = rng.permutation(len(train))  # values are judged by other rows than they were computed against
            background, others = train[drawn[:_BACKGROUND]], train[drawn[_BACKGROUND : 2 * _BACKGROUND]]
            scores = rankings(model, rows, train, others, rng)
            for what in ("place", "vote"):
                line = {one: curve(model, rows, background, scores[what][one], what) for one in MEASURES}
                found.setdefault((what, name), []).append(line)
            print(name, seed, flush=True)
    for what in ("place", "vote"):
        print(f"\n{what}\n| table | {' | '.join(MEASURES)} | Shapley − substitution |")
        print("| --- " * (len(MEASURES) + 2) + "|")
        for (kind, name), lines in found.items():
            if kind != what:
                continue
            means = " | ".join(f"{np.mean([line[one] for line in lines]):.3f}" for one in MEASURES)
            ahead = np.array([line["Shapley"] - line["substitution"] for line in lines])
            error = ahead.std(ddof=1) / np.sqrt(len(ahead)) if len(ahead) > 1 else float("nan")
            print(f"| {name} | {means} | {ahead.mean():+.3f} ± {error:.3f} |")


if __name__ == "__main__":
    main()
