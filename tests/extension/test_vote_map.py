"""Votes through the leaves are the forest's own, and places weighted by them are the same by two routes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from manifolia import forest as F
from manifolia._core.parallel import threads
from manifolia.exceptions import ManifoliaWarning
from manifolia.extension.leaf_map import leaf_values, place_new, place_training
from manifolia.extension.vote_map import (
    ClassVotes,
    Labels,
    NumberVotes,
    VotedLeaves,
    gathered,
    guided_leaves,
    out_of_bag_votes,
    read_labels,
    sharpened,
    spread_of_groups,
    voted_leaves,
)
from manifolia.forest.leaf_tables import leaf_ids, leaf_table, parts_out_of_bag
from manifolia.forest.targets import Target, read_target
from manifolia.forest.trees import check_forest_input
from reference import forest as naive

SHARPNESS = (1.0, 2.0, 3.0, 7.5)


def classes():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(60, oob_score=True, min_samples_leaf=4, random_state=0).fit(X, y)
    return X, y, model


def several_labels():
    X, y = make_multilabel_classification(120, n_classes=3, random_state=0)
    return X, y, RandomForestClassifier(60, oob_score=True, min_samples_leaf=3, random_state=0).fit(X, y)


def numbers():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(40, oob_score=True, min_samples_leaf=3, random_state=0).fit(X[:150], y[:150])
    return X[:150], y[:150], model


@pytest.fixture(scope="module", params=[classes, several_labels, numbers], ids=lambda make: make.__name__)
def case(request):
    X, y, model = request.param()
    Y = np.random.default_rng(0).normal(size=(len(X), 2))
    new = leaf_ids(leaf_table(model, X).trees, check_forest_input(model, X[::3] + 0.01))
    return X, y, model, leaf_table(model, X), read_target(y, len(X)), Y, new


def fill(case, sharpness, **options):
    _, _, _, table, target, Y, _ = case
    return guided_leaves(table, Y, target, out_of_bag_votes(table, target), sharpness, **options)


def test_votes_are_those_of_the_forest_out_of_bag():
    X, y, model = classes()
    table, target = leaf_table(model, X), read_target(y, len(X))
    votes = out_of_bag_votes(table, target)
    np.testing.assert_allclose(votes.votes, model.oob_decision_function_, atol=1e-12)
    np.testing.assert_allclose(votes.votes, F.proximity(model, X) @ np.eye(3)[y], atol=1e-12)
    leaves = voted_leaves(table, votes.labels, np.zeros((len(X), 1)), 1.0, row_weight=np.ones(len(X)))
    leaf = leaf_ids(table.trees, check_forest_input(model, X + 0.1))
    np.testing.assert_allclose(leaves.votes(leaf), model.predict_proba(X + 0.1), atol=1e-12)


def test_votes_on_several_labels_are_those_of_the_forest_out_of_bag():
    X, y, model = several_labels()
    votes = out_of_bag_votes(leaf_table(model, X), read_target(y, len(X)))
    assert votes.votes.shape == (len(X), 6)
    np.testing.assert_allclose(votes.votes[:, 1::2], model.oob_decision_function_[:, 1, :], atol=1e-12)


def test_expected_numbers_are_those_of_the_forest_out_of_bag():
    X, y, model = numbers()
    votes = out_of_bag_votes(leaf_table(model, X), read_target(y, len(X)))
    np.testing.assert_allclose(votes.expected[:, 0] * votes.error[0], model.oob_prediction_, rtol=1e-12)
    assert votes.error[0] == pytest.approx(np.sqrt(np.mean((model.oob_prediction_ - y) ** 2)))


def test_sharpness_1_is_the_mean_of_the_leaves(case):
    _, _, _, table, _, Y, new = case
    plain, guided = leaf_values(table, Y), fill(case, 1.0)
    np.testing.assert_allclose(place_training(table, guided), place_training(table, plain), atol=1e-12)
    np.testing.assert_allclose(place_new(new, guided), place_new(new, plain), atol=1e-12)


def weighted(P, votes, sharpness):
    """Proximities times what a row's votes give the labels of the other row, pair by pair; rows add up to 1."""
    columns = votes.labels.columns
    label_of = np.concatenate([[k] * len(np.unique(column)) for k, column in enumerate(columns.T)])
    W = P.toarray()
    for i, row in enumerate(votes.votes):
        W[i] *= naive.say(row, label_of, 1 - 1 / sharpness)[columns[votes.labels.group]].prod(axis=1)
    return W / W.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("sharpness", SHARPNESS)
@pytest.mark.parametrize("make", [classes, several_labels])
def test_places_by_votes_are_the_mean_under_weighted_proximities(make, sharpness):
    X, y, model = make()
    table, target = leaf_table(model, X), read_target(y, len(X))
    Y, other = np.random.default_rng(0).normal(size=(len(X), 2)), X[::3] + 0.01
    votes = out_of_bag_votes(table, target)
    leaves = guided_leaves(table, Y, target, votes, sharpness)
    through_pairs = weighted(F.proximity(model, X), votes, sharpness) @ Y
    np.testing.assert_allclose(place_training(table, leaves), through_pairs, atol=1e-9)
    leaf = leaf_ids(table.trees, check_forest_input(model, other))
    asked = ClassVotes(leaves.votes(leaf), votes.labels)
    through_pairs = weighted(F.proximity(model, X, new=other), asked, sharpness) @ Y
    np.testing.assert_allclose(place_new(leaf, leaves), through_pairs, atol=1e-9)


def test_a_class_that_its_leaves_shrink_is_spread_out_again():
    X, y, model = classes()
    table, target = leaf_table(model, X), read_target(y, len(X))
    Y = np.random.default_rng(0).normal(size=(len(X), 2)) + 8.0 * np.eye(3)[y][:, :2]
    votes = out_of_bag_votes(table, target)
    plain, wide = (guided_leaves(table, Y, target, votes, 2.0, spread_out=s) for s in (False, True))
    own = F.proximity(model, X).toarray() * (y[:, np.newaxis] == y)
    means = own @ Y / own.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(wide.own_means(table.leaf, parts_out_of_bag(table), y), means, atol=1e-9)
    places = place_training(table, plain), place_training(table, wide)
    for k in range(3):
        rows = y == k
        extent, shrunk = (np.median(np.linalg.norm(A[rows] - np.median(A[rows], axis=0), axis=1)) for A in (Y, means))
        reach = np.quantile(np.linalg.norm(Y[rows] - np.median(Y[rows], axis=0), axis=1), 0.9)
        middle, center = np.median(means[rows], axis=0), np.median(Y[rows], axis=0)
        np.testing.assert_allclose(wide.spread[k], [0.75 * extent / shrunk, reach, *middle, *center], rtol=1e-9)
        sure = rows & (votes.votes[:, k] > 0.99)
        assert sure.sum() > 10
        before, after = (np.median(np.linalg.norm(A[sure] - center, axis=1)) for A in places)
        assert before < 0.3 * extent < after < extent
        assert np.linalg.norm(places[1][sure] - center, axis=1).max() < reach


def test_classes_of_few_rows_and_wide_ones_stay_as_they_are():
    labels = Labels(np.array([0] * 4 + [1] * 6, dtype=np.int32), np.array([[0], [1]]))
    Y = np.random.default_rng(0).normal(size=(10, 2))
    spread = spread_of_groups(labels, Y, Y)
    for rows, kept in zip((slice(4), slice(4, 10)), spread, strict=True):
        np.testing.assert_array_equal(kept, [1.0, np.inf, *np.median(Y[rows], axis=0), *np.median(Y[rows], axis=0)])
        for place in Y[rows]:
            np.testing.assert_allclose(naive.spread_out(place, *kept), place, atol=1e-12)
    assert spread_of_groups(labels, Y, 0.01 * Y)[1, 0] == pytest.approx(50.0)  # at most


def test_groups_that_all_lie_far_apart_are_moved_together_as_they_are():
    group = np.repeat(np.arange(3, dtype=np.int32), 20)
    labels = Labels(np.append(group, np.int32(-1)), np.array([[0], [1], [2]]))
    centers = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 100.0]])
    around = np.random.default_rng(0).normal(size=(20, 2))
    around -= np.median(around, axis=0)
    Y = np.vstack([centers[group] + np.tile(around, (3, 1)), [[7.0, 7.0]]])
    moved = gathered(labels, Y)
    radius = np.quantile(np.linalg.norm(around, axis=1), 0.9)
    for k in range(3):
        center = np.median(moved[:60][group == k], axis=0)
        np.testing.assert_allclose(moved[:60][group == k] - center, around, atol=1e-12)
        np.testing.assert_allclose(center, centers[k] * 3.0 * 2.0 * radius / 60.0, atol=1e-12)
    near = np.where(np.append(group == 1, False)[:, np.newaxis], Y - [50.0, 0.0], Y)
    assert gathered(labels, near) is near
    assert gathered(Labels(labels.group, np.array([[0, 2], [1, 2], [1, 3]])), Y) is Y


@pytest.mark.parametrize("sharpness", SHARPNESS)
def test_a_tree_counts_by_how_near_its_value_is_to_that_of_all(sharpness):
    X, y, model = numbers()
    table, target = leaf_table(model, X), read_target(y, len(X))
    Y = np.random.default_rng(0).normal(size=(len(X), 2))
    placed = place_training(table, guided_leaves(table, Y, target, out_of_bag_votes(table, target), sharpness))
    error = np.sqrt(np.mean((model.oob_prediction_ - y) ** 2))
    bags = np.array([np.bincount(drawn, minlength=len(X)) for drawn in model.estimators_samples_])
    leaf = model.apply(X)
    for i in range(0, len(X), 11):
        total, weights = 0.0, 0.0
        for t in np.flatnonzero(bags[:, i] == 0):
            inside = (leaf[:, t] == leaf[i, t]) * bags[t]
            gap = (inside @ y / inside.sum() - model.oob_prediction_[i]) / error
            weight = np.exp(-(sharpness - 1) * gap**2)
            total, weights = total + weight * (inside @ Y) / inside.sum(), weights + weight
        np.testing.assert_allclose(placed[i], total / weights, atol=1e-9)


def test_only_classes_with_enough_of_the_leaders_votes_have_a_say():
    # Three trees of one pure leaf each: two vote for class 0 and put the row at 0, one for class 1 at 9.
    content = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 9.0]])
    group, columns = np.array([0, 0, 1], dtype=np.int32), np.array([[0], [1]], dtype=np.int32)
    leaf = np.array([[0], [1], [2]], dtype=np.int32)
    faded = ((0.5**4 - 0.25**4) / (1 - 0.25**4)) ** 0.25
    for sharpness, place in ((1.0, 9 / 3), (4 / 3, 9 * faded / (1 + faded)), (2.0, 0.0), (3.0, 0.0)):
        leaves = VotedLeaves(
            np.arange(4), group, content, columns, 1 - 1 / sharpness, np.array([[1.0, np.inf, 0.0, 0.0]] * 2)
        )
        np.testing.assert_allclose(leaves.votes(leaf), [[2 / 3, 1 / 3]])
        np.testing.assert_allclose(leaves.place(leaf), [[place]], atol=1e-9)


def test_a_proximity_counts_a_sixteenth_for_each_label_that_differs():
    labels = Labels(np.array([0, 1, 1, -1]), np.array([[0], [1]]))
    P = sp.csr_array(np.array([[0, 0.5, 0.5, 0], [0.75, 0, 0.25, 0], [0.5, 0.25, 0, 0.25], [0, 0, 0, 1.0]]))
    votes = ClassVotes(np.full((4, 2), 0.5), labels)
    np.testing.assert_allclose(
        sharpened(P, votes, 2.0).toarray(),
        [[0, 0.5, 0.5, 0], [3 / 19, 0, 16 / 19, 0], [2 / 19, 16 / 19, 0, 1 / 19], [0, 0, 0, 1]],
        atol=1e-12,
    )
    two = Labels(np.array([0, 1, 2]), np.array([[0, 2], [0, 3], [1, 3]]))
    W = sharpened(sp.csr_array(np.full((3, 3), 1 / 3)), ClassVotes(np.full((3, 4), 0.5), two), 2.0)
    np.testing.assert_allclose(W.toarray()[0], np.array([256, 16, 1]) / 273, atol=1e-12)
    np.testing.assert_array_equal(sharpened(P, votes, 1.0).toarray(), P.toarray())
    np.testing.assert_array_equal(sharpened(P, None, 2.0).toarray(), P.toarray())


def test_a_proximity_is_multiplied_by_how_near_two_numbers_are():
    P = sp.csr_array(np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]))
    W = sharpened(P, NumberVotes(np.array([[0.0], [1.0], [2.0]]), np.ones(1)), 1.5)
    assert W[0, 1] / W[0, 2] == pytest.approx(np.exp(1.5))
    assert W[1, 0] == W[1, 2] == 0.5


def test_rows_with_the_same_labels_are_one_group():
    y = np.array([["a", "x"], ["b", "x"], ["a", "x"]])
    labels = read_labels(Target(y, np.array([True, True, False, True]), "multioutput"))
    np.testing.assert_array_equal(labels.group, [0, 1, -1, 0])
    np.testing.assert_array_equal(labels.columns, [[0, 2], [1, 2]])


def test_weights_of_rows_count(case):
    X, _, _, table, target, Y, new = case
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    plain = leaf_values(table, Y, row_weight=weight)
    leaves = guided_leaves(table, Y, target, out_of_bag_votes(table, target, row_weight=weight), 1.0, row_weight=weight)
    np.testing.assert_allclose(place_new(new, leaves), place_new(new, plain), atol=1e-12)


def test_rows_without_a_label_have_no_say(case):
    X, _, _, table, target, Y, new = case
    known = np.arange(len(X)) % 4 != 0
    partial = Target(target.y[known], known, target.task)
    moved = np.where(known[:, np.newaxis], Y, 1e6)
    leaves = guided_leaves(table, moved, partial, out_of_bag_votes(table, partial), 3.0)
    assert np.abs(place_new(new, leaves)).max() < 10.0


def test_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads(case):
    _, _, _, table, _, _, new = case
    results = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            leaves = fill(case, 3.0)
            results.append((*leaves, place_training(table, leaves), place_new(new, leaves)))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
    whole = place_new(new, leaves)
    for i in range(0, new.shape[1], 7):
        np.testing.assert_array_equal(place_new(np.ascontiguousarray(new[:, i : i + 1]), leaves)[0], whole[i])


def test_a_row_that_meets_no_training_row_is_reported():
    leaves = VotedLeaves(
        np.array([0, 0, 1]), np.zeros(1, dtype=np.int32), np.ones((1, 2)), np.zeros((1, 1), dtype=np.int32), 0.5,
        np.array([[1.0, np.inf, 0.0, 0.0]]),
    )  # fmt: skip
    with pytest.warns(ManifoliaWarning, match="1 of 2 rows fall"):
        placed = leaves.place(np.array([[0, 1]], dtype=np.int32))
    np.testing.assert_array_equal(placed, [[0.0], [1.0]])


def test_arrays_that_do_not_fit_are_told(case):
    table, leaves = case[3], fill(case, 3.0)
    n = table.trees.n_leaves
    assert leaves.fits(n)
    assert not leaves.fits(n + 1)
    assert not leaves._replace(**{"cut" if isinstance(leaves, VotedLeaves) else "power": "2"}).fits(n)
    broken = (
        [("starts", leaves.starts + 1), ("group", leaves.group + 99), ("columns", leaves.columns - 1),
         ("content", leaves.content[:-1]), ("columns", leaves.columns + 1000), ("spread", leaves.spread[1:])]
        if isinstance(leaves, VotedLeaves)
        else [("values", leaves.values[1:]), ("filled", leaves.filled * 1.0), ("n_outputs", 3), ("n_outputs", 0)]
    )  # fmt: skip
    for name, value in broken:
        assert not leaves._replace(**{name: value}).fits(n), name
