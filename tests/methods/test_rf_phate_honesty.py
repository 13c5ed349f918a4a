"""Honest supervision: labels that mean nothing are not shown as separated.

Labels are permuted, so that a map can show them apart only by having looked at them. The share of rows whose nearest
row in the map has the same label should then be that of two rows drawn at random, Σ p². Seeds are fixed: these are
measurements, each a mean over permutations, and the bounds are those of the documentation.
"""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import KDTree
from sklearn.datasets import load_digits

import manifolia as mf
from manifolia import datasets
from manifolia.exceptions import HonestyWarning
from manifolia.metrics.separation import map_score

needs_home = pytest.mark.skipif(not os.environ.get("MANIFOLIA_DATA"), reason="MANIFOLIA_DATA is not set: no data home")
# Of the proximities that are not honest; and one map of noise in twenty shows more than the forest by chance.
pytestmark = pytest.mark.filterwarnings("ignore::manifolia.exceptions.HonestyWarning")


def chance(y):
    """Return the probability that two rows have the same label."""
    return float(((np.unique(y, return_counts=True)[1] / len(y)) ** 2).sum())


def sample(X, y, n, seed=0):
    rows = np.random.default_rng(seed).permutation(len(X))[:n]
    return np.asarray(X, dtype=float)[rows], np.asarray(y)[rows]


def noise(n=240, d=60):
    """Return rows and two classes that have nothing to do with one another."""
    return np.random.default_rng(0).normal(size=(n, d)), np.arange(n) % 2


def load(name):
    try:
        return datasets.load(name)
    except FileNotFoundError:
        pytest.skip(f"the data home has no {name}")


def sonar():
    loaded = load("sonar")
    return np.asarray(loaded.data, dtype=float), np.asarray(loaded.target)


def titanic():
    frame = load("titanic").frame.drop(columns=["Name", "Ticket", "Cabin"]).dropna()
    X = pd.get_dummies(frame.drop(columns="Survived")).to_numpy(dtype=float)
    assert len(X) == 712
    return X, frame["Survived"].to_numpy()


def training_rows(X, y, *, n_permutations, **options):
    """Return the mean 1-NN accuracy of permuted labels, in the map and in the coordinates that the walk itself gave."""
    found = []
    for seed in range(n_permutations):
        labels = np.random.default_rng(100 + seed).permutation(y)
        model = mf.RFPHATE(random_state=seed, **options).fit(X, labels)
        maps = (model.embedding_, model.landmark_embedding_)
        found.append([map_score(Y, labels, classification=True, k=1) for Y in maps])
    return np.mean(found, axis=0)


def held_out_rows(X, y, *, n_permutations, share=0.7, **options):
    """Return the mean accuracy with which held-out rows have the permuted label of the nearest training row."""
    found = []
    n = round(share * len(y))
    for seed in range(n_permutations):
        rng = np.random.default_rng(100 + seed)
        labels, rows = rng.permutation(y), rng.permutation(len(y))
        train, test = rows[:n], rows[n:]
        model = mf.RFPHATE(random_state=seed, **options).fit(X[train], labels[train])
        nearest = KDTree(model.embedding_).query(model.transform(X[test]))[1]
        found.append((labels[train][nearest] == labels[test]).mean())
    return np.mean(found)


@pytest.mark.parametrize("options", [{}, {"sharpness": 5.0}, {"placing": "layout"}], ids=["mean", "votes", "layout"])
def test_training_rows_of_digits(options):
    X, y = sample(*load_digits(return_X_y=True), 400)
    placed, walked = training_rows(X, y, n_permutations=4, n_trees=100, **options)
    assert abs(placed - chance(y)) < 0.03
    assert abs(walked - chance(y)) < 0.03


@pytest.mark.parametrize("sharpness", [1.0, 5.0])
def test_held_out_rows_of_digits(sharpness):
    X, y = sample(*load_digits(return_X_y=True), 1000)
    found = held_out_rows(X, y, n_permutations=3, share=0.3, n_trees=100, sharpness=sharpness)
    assert abs(found - chance(y)) < 0.03


@pytest.mark.parametrize("sharpness", [1.0, 5.0])
def test_training_rows_of_noise(sharpness):
    X, y = noise()
    placed, walked = training_rows(X, y, n_permutations=6, n_trees=100, sharpness=sharpness)
    assert abs(placed - chance(y)) < 0.05
    assert abs(walked - chance(y)) < 0.05


def test_rows_that_meet_in_leaves_of_their_own_labels_show_noise_as_structure():
    """The check can fail: the walk on "original" proximities parts random labels, as the warning says.

    Even then a row's place on the map is the mean over trees that did not see it, which keeps its own label out.
    """
    X, y = noise()
    placed, walked = training_rows(X, y, n_permutations=3, n_trees=100, proximity="original")
    assert walked > chance(y) + 0.3
    assert abs(placed - chance(y)) < 0.08


def test_the_warning_says_so():
    X, y = noise(60)
    with pytest.warns(HonestyWarning, match="separates even random labels"):
        mf.RFPHATE(n_trees=40, proximity="original", random_state=0).fit(X, y)


def twice(small, large):
    """A few permutations every time, more of them, with a closer bound, where there is time."""
    return pytest.mark.parametrize(
        ("n_permutations", "bound"),
        [pytest.param(*small, id="few"), pytest.param(*large, id="many", marks=pytest.mark.slow)],
    )


@needs_home
@pytest.mark.parametrize("proximity", ["gap", "oob"])
@twice((4, 0.07), (12, 0.05))
def test_training_rows_of_sonar(proximity, n_permutations, bound):
    X, y = sonar()
    placed, walked = training_rows(X, y, n_permutations=n_permutations, n_trees=100, proximity=proximity)
    assert abs(placed - chance(y)) < bound
    assert abs(walked - chance(y)) < bound


@needs_home
@twice((12, 0.05), (40, 0.03))
def test_held_out_rows_of_sonar(n_permutations, bound):
    X, y = sonar()  # 62 rows are held out: 40 permutations for a standard error of 1 %
    assert abs(held_out_rows(X, y, n_permutations=n_permutations, n_trees=100) - chance(y)) < bound


@needs_home
@twice((2, 0.05), (10, 0.05))
def test_training_rows_of_titanic(n_permutations, bound):
    X, y = titanic()
    placed, walked = training_rows(X, y, n_permutations=n_permutations, n_trees=100)
    assert abs(placed - chance(y)) < bound
    assert abs(walked - chance(y)) < bound


@needs_home
@twice((3, 0.05), (15, 0.03))
def test_held_out_rows_of_titanic(n_permutations, bound):
    X, y = titanic()
    assert abs(held_out_rows(X, y, n_permutations=n_permutations, n_trees=100) - chance(y)) < bound


@pytest.mark.slow
def test_training_and_held_out_rows_of_more_digits():
    X, y = sample(*load_digits(return_X_y=True), 600)
    for accuracy in training_rows(X, y, n_permutations=10, n_trees=200):
        assert abs(accuracy - chance(y)) < 0.03
    X, y = load_digits(return_X_y=True)
    assert abs(held_out_rows(X, y, n_permutations=10, share=0.33, n_trees=200) - chance(y)) < 0.03


@needs_home
@pytest.mark.parametrize(("proximity", "floor"), [("original", 0.85), ("kerf", 0.8), ("path", 0.55)])
@twice((3, 0.08), (10, 0.05))
def test_the_other_proximities_fail_on_sonar(proximity, floor, n_permutations, bound):
    X, y = sonar()
    placed, walked = training_rows(X, y, n_permutations=n_permutations, n_trees=200, proximity=proximity)
    assert walked > floor > chance(y)
    assert abs(placed - chance(y)) < bound
