"""Landmarks: groups of rows, and the chain on them against the matrix that is never formed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia import forest as F
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.proximities import KINDS, proximity_from_leaves
from manifolia.operators import landmarks
from manifolia.operators.landmarks import choose_landmarks, landmark_chain, nearest_landmark, resolve_n_landmarks
from manifolia.operators.spectrum import leading_vectors


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, RandomForestClassifier(60, min_samples_leaf=2, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("given", "n_rows", "expected"),
    [
        (None, 10**6, None),
        ("auto", 2000, None),
        ("auto", 2001, 2000),
        (50, 51, 50),
        (50, 50, None),  # as many as rows: every row is its own
        (500, 51, None),
        (np.int64(7), 8, 7),
    ],
)
def test_how_many(given, n_rows, expected):
    assert resolve_n_landmarks(given, n_rows) == expected


@pytest.mark.parametrize(
    ("given", "error"), [(1, ValueError), (0, ValueError), ("all", TypeError), (2.5, TypeError), (True, TypeError)]
)
def test_a_wrong_number_is_refused(given, error):
    with pytest.raises(error, match=r"n_landmarks must be .*got .*None is exact, 'auto' by size"):
        resolve_n_landmarks(given, 100)


def test_the_nearest_centre_is_that_of_brute_force(rng):
    for n, m, r in ((1, 1, 3), (1000, 60, 5), (769, 400, 2)):
        rows, centres = rng.normal(size=(n, r)), rng.normal(size=(m, r))
        np.testing.assert_array_equal(nearest_landmark(rows, centres), cdist(rows, centres).argmin(axis=1))


def test_of_equally_near_centres_the_first_is_taken():
    centres = np.array([[0.0], [1.0], [1.0], [3.0]])
    np.testing.assert_array_equal(nearest_landmark(np.array([[0.5], [1.0], [2.0]]), centres), [0, 1, 1])


def test_the_nearest_centre_does_not_depend_on_threads(rng):
    rows, centres = rng.normal(size=(3000, 4)), rng.normal(size=(50, 4))
    one, two = (nearest_landmark(rows, centres, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_every_row_has_a_group_and_every_group_a_row(rng):
    rows = rng.normal(size=(700, 3))
    found = choose_landmarks(rows, 40, random_state=0)
    assert found.labels.shape == (700,)
    assert found.labels.dtype == np.intp
    np.testing.assert_array_equal(np.unique(found.labels), np.arange(found.n_landmarks))
    assert 30 < found.n_landmarks <= 40
    # A group's rows are nearer to each other than rows are in general.
    within = np.mean([rows[found.labels == g].var(axis=0).sum() for g in range(found.n_landmarks)])
    assert within < 0.3 * rows.var(axis=0).sum()


def test_groups_follow_the_seed_and_not_the_threads(rng):
    rows = rng.normal(size=(700, 3))
    one, two, other = (choose_landmarks(rows, 40, random_state=s, n_jobs=n).labels for s, n in ((1, 1), (1, 2), (2, 1)))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_landmarks_in_one_place_are_one_group():
    rows = np.repeat(np.arange(5.0), 20)[:, np.newaxis]
    found = choose_landmarks(rows, 100, random_state=0)
    assert found.n_landmarks == 5
    np.testing.assert_array_equal(found.labels, np.repeat(np.arange(5), 20))


@pytest.mark.parametrize("kind", KINDS)
def test_the_chain_is_the_matrix_added_up_over_the_groups(iris, kind):
    X, model = iris
    K = F.proximity(model, X, kind=kind).toarray()
    lumped, groups = landmark_chain(F.operator(model, X, kind=kind), 30, random_state=0)
    C = np.eye(groups.n_landmarks)[groups.labels]
    assert lumped.shape == (groups.n_landmarks, groups.n_landmarks)
    np.testing.assert_allclose(lumped, C.T @ K @ C, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_its_own_landmark_is_the_exact_chain(iris, kind):
    X, model = iris
    # Rows that share every leaf are one to the forest, and to the coordinates; the others are their own landmarks.
    keep = np.unique(model.apply(X), axis=0, return_index=True)[1]
    labels = np.arange(len(X))
    K = F.proximity(model, X, kind=kind).toarray()
    np.testing.assert_allclose(F.operator(model, X, kind=kind).lump(labels, len(X)), K, atol=1e-12)
    lumped, groups = landmark_chain(F.operator(model, X, kind=kind), len(X), random_state=0)
    assert groups.n_landmarks >= len(keep)
    C = np.eye(groups.n_landmarks)[groups.labels]
    np.testing.assert_allclose(lumped, C.T @ K @ C, atol=1e-10)


def test_matrix_free_products_equal_the_matrix_on_500_rows():
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(40, random_state=0).fit(X[:500], y[:500])
    operator = F.operator(model, X[:500])
    K = F.proximity(model, X[:500]).toarray()
    Ks = 0.5 * (K + K.T)
    V = np.random.default_rng(0).normal(size=(500, 5))
    np.testing.assert_allclose(0.5 * (operator.matmat(V) + operator.rmatmat(V)), Ks @ V, atol=1e-12)
    free, formed = (
        leading_vectors(apply, Ks.sum(axis=1), 8, random_state=0)
        for apply in (lambda V: 0.5 * (operator.matmat(V) + operator.rmatmat(V)), lambda V: Ks @ V)
    )
    np.testing.assert_allclose(free.values, formed.values, atol=1e-8)
    np.testing.assert_allclose(np.abs(free.vectors), np.abs(formed.vectors), atol=1e-8)


def test_the_chain_has_the_same_bits_for_any_number_of_threads(iris):
    X, model = iris
    operator = F.operator(model, X)
    one, two = (landmark_chain(operator, 30, random_state=0, n_jobs=n) for n in (1, 2))
    assert one[0].tobytes() == two[0].tobytes()
    np.testing.assert_array_equal(one[1].labels, two[1].labels)


def test_groups_hold_rows_that_the_forest_takes_for_alike(iris):
    X, model = iris
    y = load_iris().target
    _, groups = landmark_chain(F.operator(model, X), 20, random_state=0)
    purity = np.mean([np.bincount(y[groups.labels == g]).max() / (groups.labels == g).sum() for g in range(20)])
    assert purity > 0.9
    shuffled = np.random.default_rng(0).permutation(groups.labels)
    assert np.mean([np.bincount(y[shuffled == g]).max() / (shuffled == g).sum() for g in range(20)]) < 0.7


def test_operators_of_some_trees_and_of_some_rows_are_those_of_smaller_tables(iris, rng):
    X, model = iris
    table = leaf_table(model, X)
    whole, rows, V = F.operator(model, X), np.arange(0, 150, 3), rng.normal(size=(50, 4))
    first = table._replace(leaf=table.leaf[:40], counts=table.counts[:40])
    np.testing.assert_allclose(whole.of_trees(40) @ np.eye(150), proximity_from_leaves(first).toarray(), atol=1e-12)
    assert whole.of_trees(1) is whole  # rows in its bag would have no leaf
    some = table._replace(leaf=table.leaf[:, rows], counts=table.counts[:, rows])
    among = proximity_from_leaves(some).toarray()
    np.testing.assert_allclose(whole.of_rows(rows) @ V, among @ V, atol=1e-12)
    asked = np.where(table.counts == 0, table.leaf, -1)
    to_some = proximity_from_leaves(some, new_leaf=asked).toarray()
    lost = ~to_some.any(axis=1)
    np.testing.assert_allclose(whole.extend(V, rows)[~lost], (to_some @ V)[~lost], atol=1e-12)


def test_groups_from_few_trees_and_rows_are_as_alike(iris, monkeypatch):
    X, model = iris
    monkeypatch.setattr(landmarks, "_TREES", 40)
    monkeypatch.setattr(landmarks, "_ROWS", 50)
    one, two = (landmark_chain(F.operator(model, X), 20, random_state=0, n_jobs=n) for n in (1, 2))
    assert one[0].tobytes() == two[0].tobytes()
    P = F.proximity(model, X).toarray()
    same = one[1].labels[:, None] == one[1].labels
    np.fill_diagonal(same, val=False)
    assert P[same].mean() > 2.5 * P.mean()  # rows at random come to 1
    member = np.eye(one[1].n_landmarks)[one[1].labels]
    np.testing.assert_allclose(one[0], member.T @ P @ member, atol=1e-9)  # of all trees and rows
