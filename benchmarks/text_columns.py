"""Text columns: accuracy of a forest on the features of `TablePreparer` beside skrub's `TableVectorizer`, and the cost.

``python benchmarks/text_columns.py [TABLE …] [REPEATS]`` reads the data sets in ``MANIFOLIA_DATA``; skrub is left out
where it is not installed. Reuters has a split of its own, the mixed tables get five folds, five times or as often as
said; the same forest of scikit-learn learns from either. ``python benchmarks/text_columns.py cost`` makes 100,000 texts
of about 100 words and prepares them, in a fresh process.
"""

from __future__ import annotations

import importlib.util
import sys

import _measure
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline

from manifolia import datasets
from manifolia.tables import TablePreparer

TREES = 300
#: The table, its target, and what is left out: numbers of rows, and what was known only later.
TABLES = {
    "reuters_r52": ("topic", ["split"]),
    "titanic": ("Survived", ["PassengerId"]),
    "cylinder_bands": ("band_type", []),
}


def preparers():
    """The ways to turn a table into numbers."""
    yield "manifolia", lambda: TablePreparer(missing="impute")
    if importlib.util.find_spec("skrub"):
        from skrub import TableVectorizer

        yield "skrub", TableVectorizer


def splits(frame, y, repeats):
    """Reuters' own split, or repeated folds."""
    if "split" in frame:
        train = (frame["split"] == "train").to_numpy()
        return [(np.flatnonzero(train), np.flatnonzero(~train))]
    return list(RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(frame, y))


def compare(names, repeats=5):
    """Print the accuracy of each way on each table."""
    for name, (target, dropped) in ((name, TABLES[name]) for name in names or TABLES):
        frame = datasets.load(name).frame
        y = frame[target].astype(str).to_numpy()
        X = frame.drop(columns=[target, *dropped])
        parts = splits(frame, y, repeats)
        scores = {}
        for label, make in preparers():
            scores[label] = []
            for i, (train, test) in enumerate(parts):
                forest = RandomForestClassifier(TREES, n_jobs=2, random_state=i)
                model = make_pipeline(make(), forest).fit(X.iloc[train], y[train])
                scores[label].append(model.score(X.iloc[test], y[test]))
        told = "  ".join(f"{label} {np.mean(values):.4f}" for label, values in scores.items())
        if "skrub" in scores and len(parts) > 1:
            ahead = np.array(scores["manifolia"]) - scores["skrub"]
            told += f"  ahead {ahead.mean():+.4f} (sd of a fold {ahead.std(ddof=1):.4f})"
        print(f"{name:16s} {told}", flush=True)


def cost(n=100_000, n_words=100):
    """Print seconds and memory of preparing many texts."""
    rng = np.random.default_rng(0)
    vocabulary = np.array(
        [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in ("ar", "en", "is", "om") for c in "aeiouxyz" * 9]
    )
    vocabulary = np.array([f"{word}{i}" for i, word in enumerate(vocabulary)])
    odds = 1.0 / np.arange(1, len(vocabulary) + 1)
    texts = [" ".join(words) for words in rng.choice(vocabulary, (n, n_words), p=odds / odds.sum())]
    frame = pd.DataFrame({"text": texts, "x": rng.normal(size=n)})
    before = _measure.resident()
    wall, busy, _ = _measure.clock(lambda: TablePreparer().fit_transform(frame))
    more = _measure.resident("VmHWM") - before
    seconds = f"{wall:.1f} s ({busy:.1f} s of the processor)"
    print(f"{n:,} texts, {sum(map(len, texts)) / 1e6:.0f} MB: {seconds}, {more / 2**20:.0f} MiB beyond the table")


if __name__ == "__main__":
    options = sys.argv[1:]
    if options == ["cost"]:
        cost()
    else:
        counts = [int(option) for option in options if option.isdigit()]
        compare([option for option in options if not option.isdigit()], *counts)
