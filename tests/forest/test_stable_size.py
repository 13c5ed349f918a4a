"""The size of a forest by the Gram matrix of held-out rows, against the same from scikit-learn's decision paths."""

from __future__ import annotations

import itertools

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia import ForestFeatures
from manifolia.forest.grow import STEP, grow_until_stable
from manifolia.methods import forest_features

X, Y = load_iris(return_X_y=True)


def gram(forest, rows):
    path, starts = forest.decision_path(rows)
    codes = np.delete(path.toarray().astype(float), starts[:-1], axis=1)  # without the roots
    lengths = np.linalg.norm(codes, axis=1)
    return codes @ codes.T / np.outer(lengths, lengths)


def test_the_curve_is_the_change_of_the_normalised_gram_matrix():
    found = grow_until_stable(RandomForestClassifier(random_state=0), X[::2], Y[::2], X[1::8], tol=0.005)
    sizes = np.arange(STEP, found.n_trees + 1, STEP)
    # Trees do not depend on how many come after them, so that a forest of each size can be grown by itself.
    grams = [gram(RandomForestClassifier(n, random_state=0).fit(X[::2], Y[::2]), X[1::8]) for n in sizes]
    changes = [np.abs(after - before).mean() for before, after in itertools.pairwise(grams)]
    np.testing.assert_allclose(found.curve, changes, rtol=1e-10)
    assert len(found.curve) >= 2
    assert found.curve[-1] < 0.005 <= found.curve[:-1].min()
    assert len(found.forest.estimators_) == found.n_trees
    assert found.forest.warm_start is False


def test_no_tree_is_grown_twice(monkeypatch):
    asked = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(
        RandomForestClassifier,
        "fit",
        lambda self, *data, **more: asked.append((self.n_estimators, self.warm_start)) or fit(self, *data, **more),
    )
    found = grow_until_stable(RandomForestClassifier(random_state=0), X, Y, X[:9], tol=0.0, max_trees=120)
    assert asked == [(50, True), (100, True), (120, True)]
    assert found.n_trees == 120


def test_the_gram_matrix_has_a_bounded_size(monkeypatch):
    shapes = []

    def noted(model, data, y, held_out, **settings):
        shapes.append((len(data), len(held_out)))
        return grow_until_stable(model, data[:100], y[:100], held_out[:5], **settings)

    monkeypatch.setattr(forest_features, "grow_until_stable", noted)
    rows = np.random.default_rng(0).normal(size=(6000, 3))
    ForestFeatures(max_trees=50, max_depth=2, random_state=0).fit(rows, rows[:, 0] > 0)
    ForestFeatures(max_trees=50, random_state=0).fit(X, Y)
    assert shapes == [(5500, 500), (150 - 16, 16)]  # one row in nine, 500 at most
