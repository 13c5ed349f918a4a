"""The tables that guided maps are compared on, and how each seed cuts one into training rows and held-out rows.

`GuidedMap`'s sharpness was chosen on six tables. The others judge it: the eight tables that were kept apart from the
start (``reproduce/untouched.py``), and six more from the data home and scikit-learn.

Tables with units of their own in each column are prepared by `TablePreparer`, fitted on the training rows: missing
values imputed and flagged, numbers standardised, categories as one column per level. Pictures, words and measurements
that share one unit are left as they are, but for counts of words, of which the logarithm of 1 + count is taken. Every
map of a seed gets the same numbers.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

from manifolia import datasets
from manifolia.exceptions import ManifoliaWarning
from manifolia.tables import TablePreparer

MOST_ROWS = 3000
HELD_OUT = 0.3
FRIEDMAN_ROWS = 2000


class Table(NamedTuple):
    """A table, what its target holds, and what it is used for."""

    name: str
    task: str = "classification"
    chosen_on: bool = False
    note: str = ""


_SEEN = "looked at while the method was a prototype"

TABLES = {
    table.name: table
    for table in (
        Table("letter", chosen_on=True),
        Table("usps", chosen_on=True),
        Table("optdigits", chosen_on=True),
        Table("vehicle", chosen_on=True),
        Table("glass", chosen_on=True),
        Table("ames_housing", "regression", chosen_on=True, note="logarithm of the price"),
        Table("pendigits"),
        Table("satimage"),
        Table("segment"),
        Table("vowel", note="rows of a speaker are in both parts"),
        Table("splice"),
        Table("spambase"),
        Table("led7digit"),
        Table("contraceptive"),
        Table("fashion_mnist", note="FeatureMAP's defaults were chosen on it"),
        Table("newsgroups20_w1000", note="its words were chosen with the labels"),
        Table("friedman", "regression", note=f"Friedman's function, {FRIEDMAN_ROWS:,} made rows; {_SEEN}"),
        Table("diabetes", "regression", note=_SEEN),
        Table("mulan_yeast", "multilabel", note=_SEEN),
        Table("mulan_medical", "multilabel"),
    )
}


class Split(NamedTuple):
    """Training rows and held-out rows of a table, as every map gets them."""

    task: str
    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


def rows_of(name):
    """Data and target of a table, before it is cut."""
    if name == "friedman":
        return make_friedman1(FRIEDMAN_ROWS, noise=1.0, random_state=0)
    loaded = datasets.load(name)
    X, y = loaded.data, np.asarray(loaded.target)
    if name == "ames_housing":
        return X, np.log(y.astype(float))
    if name == "coil20":
        return X[:, ::16], y  # every sixteenth pixel, so that boosted trees take seconds
    if name == "newsgroups20_w1000":
        return X.log1p(), y
    return X, y


def split(name, seed, *, task=None, permuted=False, most=None):
    """Cut a table by a seed: at most 3,000 rows, three tenths of them held out, both draws by class."""
    task = task or TABLES[name].task
    X, y = rows_of(name)
    if permuted:
        y = y[np.random.default_rng(seed).permutation(len(y))]
    rows = np.arange(len(y))
    by_class = task == "classification"
    most = most or MOST_ROWS
    if len(rows) > most:
        rows, _ = train_test_split(rows, train_size=most, random_state=seed, stratify=y if by_class else None)
    inside, outside = train_test_split(
        rows, test_size=HELD_OUT, random_state=seed, stratify=y[rows] if by_class else None
    )
    return Split(task, *prepared(X, inside, outside, y))


def prepared(X, inside, outside, y):
    """Numbers and targets of both parts, from a frame, an array or a sparse matrix."""
    if hasattr(X, "iloc"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ManifoliaWarning)  # levels that only held-out rows have
            preparer = TablePreparer(missing="impute", scale=True).fit(X.iloc[inside])
            parts = [preparer.transform(X.iloc[part]) for part in (inside, outside)]
    else:
        parts = [X[part] for part in (inside, outside)]
        parts = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    parts = [np.asarray(part, dtype=np.float64) for part in parts]
    return parts[0], y[inside], parts[1], y[outside]
