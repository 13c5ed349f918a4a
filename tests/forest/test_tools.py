"""What proximities tell: outliers, prototypes, gaps and evidence, by hand and on planted cases."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest import proximity
from manifolia.forest.tools import evidence, impute, outlier_scores, prototypes

K = np.array([[1, 0.9, 0.8, 0.1], [0.9, 1, 0.7, 0.0], [0.8, 0.7, 1, 0.0], [0.1, 0.0, 0.0, 1]])


def test_outliers_by_hand():
    found = outlier_scores(K)
    raw = 4 / np.array([0.81 + 0.64 + 0.01, 0.81 + 0.49, 0.64 + 0.49, 0.01])
    middle = np.median(raw)
    np.testing.assert_allclose(found, (raw - middle) / np.abs(raw - middle).mean())
    np.testing.assert_allclose(outlier_scores(sp.csr_array(K)), found)
    by_class = outlier_scores(K, ["a", "a", "b", "b"])
    assert np.isinf(by_class[2:]).all()  # they share nothing with their own class
    np.testing.assert_allclose(by_class[:2], 0.0)
    shuffled = np.array([2, 0, 3, 1])
    np.testing.assert_allclose(outlier_scores(K[np.ix_(shuffled, shuffled)]), found[shuffled])


@pytest.mark.parametrize("kind", ["oob", "gap-sym"])
def test_planted_outliers_come_first(kind):
    X, y = load_iris(return_X_y=True)
    planted = np.array([3, 60, 120])
    X = X.copy()
    X[planted] = X[[110, 10, 20]]  # each with the measurements of another species
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    scores = outlier_scores(proximity(forest, X, kind=kind), y)
    for row in planted:
        rest = scores[(y == y[row]) & (np.arange(150) != row)]
        assert scores[row] > rest.max()
    assert (scores[planted] > 10).all()


def test_prototypes_by_hand_and_of_the_species():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    (first,) = prototypes(K, X, ["a"] * 4, n_neighbors=2)
    assert first.centre == 0  # all have two neighbours of the class, the lowest row wins
    assert first.members.tolist() == [0, 1, 2]
    assert first.values.tolist() == [1.0]
    assert (first.low.tolist(), first.high.tolist()) == ([0.5], [1.5])
    two = prototypes(K, X, ["a"] * 4, n_neighbors=2, n_prototypes=3)
    assert [one.members.tolist() for one in two] == [[0, 1, 2], [3]]  # then all rows are used
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    found = prototypes(proximity(forest, X, kind="oob"), X, y)
    assert [one.label for one in found] == [0, 1, 2]
    for one in found:
        assert (y[one.members] == one.label).all()
        np.testing.assert_allclose(one.values, np.median(X[y == one.label], axis=0), atol=0.5)
        assert forest.predict([one.values])[0] == one.label


def test_evidence_is_the_vote_of_the_forest():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(100, random_state=0, oob_score=True).fit(X, y)
    found = evidence(proximity(forest, X), y, n_neighbors=4)
    np.testing.assert_allclose(found.votes, forest.oob_decision_function_, atol=1e-9)
    np.testing.assert_allclose(found.votes.sum(axis=1), 1.0)
    new = evidence(proximity(forest, X, new=X[:3] + 0.01), y, n_neighbors=4)
    np.testing.assert_allclose(new.votes, forest.predict_proba(X[:3] + 0.01), atol=1e-9)
    assert (np.diff(found.weights, axis=1) <= 0).all()
    assert not (found.rows == np.arange(150)[:, None]).any()
    assert all(label == y[row] for label, row in zip(found.labels.ravel(), found.rows.ravel(), strict=True))


def test_evidence_by_hand_and_with_labels_missing():
    found = evidence(K, ["a", "b", None, "b"], n_neighbors=2)
    assert found.rows.tolist() == [[1, 3], [0, -1], [0, 1], [0, -1]]
    np.testing.assert_allclose(found.weights[0], [0.9, 0.1])
    np.testing.assert_allclose(found.votes[2], [0.8 / 1.5, 0.7 / 1.5])
    assert found.labels[1].tolist() == ["a", None]
    with pytest.raises(ValueError, match="every label of y is missing"):
        evidence(K, [None] * 4)


def test_imputation_beats_the_median_on_held_out_cells():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    hidden = rng.random(X.shape) < 0.15
    given = np.where(hidden, np.nan, X)
    found = impute(given, y, n_trees=30, n_rounds=2, random_state=0)
    np.testing.assert_array_equal(found.X[~hidden], X[~hidden])
    np.testing.assert_array_equal(found.missing, hidden)
    middle = np.where(hidden, np.nanmedian(given, axis=0), X)
    for f in range(4):
        ours, theirs = (np.sqrt(((filled - X)[hidden[:, f], f] ** 2).mean()) for filled in (found.X, middle))
        assert ours < 0.75 * theirs
    assert found.change[-1] < found.change[0]
    again = impute(given, y, n_trees=30, n_rounds=2, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(again.X, found.X)


def test_imputation_of_categories_and_without_a_target():
    X, y = load_iris(return_X_y=True)
    coded = np.column_stack([X, y * 10.0])
    given = coded.copy()
    given[::6, 4] = np.nan
    found = impute(given, categorical=[4], n_trees=30, n_rounds=2, random_state=0)
    assert set(found.X[::6, 4]) <= {0.0, 10.0, 20.0}
    assert np.mean(found.X[::6, 4] == coded[::6, 4]) > 0.8
    whole = impute(X, y, n_trees=5, random_state=0)
    np.testing.assert_array_equal(whole.X, X)
    assert whole.change.size == 0
    with pytest.raises(ValueError, match="column 1 of X has no known value"):
        impute([[1.0, np.nan], [2.0, np.nan]], [0, 1])


def test_bad_matrices_are_refused():
    with pytest.raises(ValueError, match="K must be square"):
        outlier_scores(K[:3])
    with pytest.raises(ValueError, match="K must not be negative"):
        outlier_scores(-K)
