"""Values read through the leaves: with one-hot classes or numbers in them they are the forest's own predictions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from manifolia import forest as F
from manifolia.exceptions import ManifoliaWarning
from manifolia.extension.leaf_map import LeafValues, leaf_values, place_new, place_training
from manifolia.extension.vote_map import out_of_bag_prediction
from manifolia.forest.grow import contrast_forest
from manifolia.forest.leaf_tables import leaf_ids, leaf_table
from manifolia.forest.targets import Target, read_target
from manifolia.forest.trees import check_forest_input


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(80, oob_score=True, random_state=0).fit(X, y)
    return X, y, model, leaf_table(model, X)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    model = RandomForestRegressor(60, oob_score=True, min_samples_leaf=3, max_samples=0.8, random_state=0).fit(X, y)
    return X, y, model, leaf_table(model, X)


def new_leaves(model, X, table):
    return leaf_ids(table.trees, check_forest_input(model, X))


def test_new_rows_get_the_forest_probabilities(iris):
    X, y, model, table = iris
    new = X + np.random.default_rng(0).normal(size=X.shape)
    placed = place_new(new_leaves(model, new, table), leaf_values(table, np.eye(3)[y]))
    np.testing.assert_allclose(placed, model.predict_proba(new), atol=1e-14)


def test_new_rows_get_the_forest_mean(diabetes):
    X, y, model, table = diabetes
    new = X + 0.01 * np.random.default_rng(0).normal(size=X.shape)
    placed = place_new(new_leaves(model, new, table), leaf_values(table, y[:, np.newaxis]))
    np.testing.assert_allclose(placed[:, 0], model.predict(new), rtol=1e-13)


def test_training_rows_get_the_out_of_bag_probabilities(iris):
    _, y, model, table = iris
    placed = place_training(table, leaf_values(table, np.eye(3)[y]))
    np.testing.assert_allclose(placed, model.oob_decision_function_, atol=1e-14)


def test_training_rows_get_the_out_of_bag_mean(diabetes):
    _, y, model, table = diabetes
    placed = place_training(table, leaf_values(table, y[:, np.newaxis]))
    np.testing.assert_allclose(placed[:, 0], model.oob_prediction_, rtol=1e-13)


def test_it_is_the_product_of_the_gap_proximity(iris, rng):
    X, _, model, table = iris
    V = rng.normal(size=(150, 2))
    leaves = leaf_values(table, V)
    np.testing.assert_allclose(place_training(table, leaves), F.proximity(model, X) @ V, atol=1e-13)
    placed = place_new(new_leaves(model, X[::3], table), leaves)
    np.testing.assert_allclose(placed, F.proximity(model, X, new=X[::3]) @ V, atol=1e-13)


def test_leaf_values_by_hand(iris):
    _, y, model, table = iris
    leaves = leaf_values(table, y[:, np.newaxis].astype(float))
    for t in (0, 17):
        drawn = model.estimators_samples_[t]
        for leaf in np.unique(table.leaf[t]):
            inside = drawn[table.leaf[t][drawn] == leaf]
            assert leaves.filled[leaf] == bool(len(inside))
            assert leaves.values[leaf, 0] == pytest.approx(y[inside].mean() if len(inside) else 0.0)


def test_weights_weigh_the_rows_of_a_leaf(iris, rng):
    _, y, model, table = iris
    weight = rng.uniform(0.1, 3.0, size=150)
    values = y.astype(float)
    leaves = leaf_values(table, values[:, np.newaxis], row_weight=weight)
    drawn = model.estimators_samples_[0]
    for leaf in np.unique(table.leaf[0][drawn]):
        inside = drawn[table.leaf[0][drawn] == leaf]
        assert leaves.values[leaf, 0] == pytest.approx(np.average(values[inside], weights=weight[inside]))


def test_one_row_alone_has_the_bits_of_the_batch(iris, rng):
    X, _, model, table = iris
    leaves = leaf_values(table, rng.normal(size=(150, 3)))
    new = np.repeat(X, 40, axis=0) + rng.normal(size=(6000, 4))  # more than one block of rows
    whole = place_new(new_leaves(model, new, table), leaves)
    for i in (0, 4095, 4096, 5999):
        alone = place_new(new_leaves(model, new[i : i + 1], table), leaves)
        assert alone.tobytes() == whole[i : i + 1].tobytes()


def test_same_bits_for_any_number_of_threads(iris, rng):
    from manifolia._core.parallel import threads

    X, _, model, table = iris
    V = rng.normal(size=(150, 2))
    leaf = new_leaves(model, np.repeat(X, 60, axis=0), table)
    found = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            leaves = leaf_values(table, V)
            found.append(
                [array.tobytes() for array in (*leaves, place_training(table, leaves), place_new(leaf, leaves))]
            )
    assert found[0] == found[1]


def test_without_bootstrap_every_row_asks_every_tree():
    X, y = load_iris(return_X_y=True)
    model = ExtraTreesClassifier(20, min_samples_leaf=4, random_state=0).fit(X, y)
    table = leaf_table(model, X)
    leaves = leaf_values(table, np.eye(3)[y])
    np.testing.assert_allclose(place_training(table, leaves), model.predict_proba(X), atol=1e-14)


def test_a_row_in_every_bag_asks_every_tree():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    table = leaf_table(model, X)
    always = (table.counts > 0).all(axis=0)
    assert 0 < always.sum() < 150
    placed = place_training(table, leaf_values(table, np.eye(3)[y]))
    np.testing.assert_allclose(placed[always], model.predict_proba(X)[always], atol=1e-14)
    # The others ask only the trees that left them out.
    for i in np.flatnonzero(~always)[:20]:
        votes = [
            tree.predict_proba(X[i : i + 1])[0] for t, tree in enumerate(model.estimators_) if not table.counts[t, i]
        ]
        np.testing.assert_allclose(placed[i], np.mean(votes, axis=0), atol=1e-14)


def test_an_empty_leaf_has_no_say():
    # Two trees; the second tree's leaf of row 0 is empty.
    leaves = LeafValues(np.array([[1.0], [3.0], [0.0], [5.0]]), np.array([True, True, False, True]))
    leaf = np.array([[0, 1], [2, 3]], dtype=np.int32)
    np.testing.assert_array_equal(place_new(leaf, leaves), [[1.0], [4.0]])


def test_a_row_that_meets_only_empty_leaves_is_put_at_zero_with_a_warning():
    leaves = LeafValues(np.array([[1.0], [0.0], [2.0], [0.0]]), np.array([True, False, True, False]))
    leaf = np.array([[0, 1, 0], [2, 3, 3]], dtype=np.int32)
    with pytest.warns(ManifoliaWarning, match="1 of 3 rows fall, in every tree that they may ask, into a leaf without"):
        placed = place_new(leaf, leaves)
    np.testing.assert_array_equal(placed, [[1.5], [0.0], [1.0]])


def test_leaves_of_the_contrast_alone_are_empty():
    X = load_iris().data
    grown = contrast_forest(X, n_trees=60, random_state=0)
    table = leaf_table(grown.forest, X, train_rows=grown.train_rows)
    leaves = leaf_values(table, X)
    assert 0.1 < leaves.filled.mean() < 0.9
    placed = place_training(table, leaves)
    np.testing.assert_allclose(placed, F.proximity(grown.forest, X, train_rows=grown.train_rows) @ X, atol=1e-12)
    assert (placed >= X.min(axis=0)).all()  # zeros of empty leaves would pull below
    assert (placed <= X.max(axis=0)).all()


def test_out_of_bag_prediction_of_classes(iris):
    _, y, model, table = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    predicted = out_of_bag_prediction(table, read_target(names, len(names)))
    assert predicted.dtype == names.dtype
    assert (predicted == names).mean() == pytest.approx(model.oob_score_)


def test_out_of_bag_prediction_of_numbers(diabetes):
    _, y, model, table = diabetes
    predicted = out_of_bag_prediction(table, read_target(y, len(y), "regression"))
    np.testing.assert_allclose(predicted, model.oob_prediction_, rtol=1e-13)


def test_out_of_bag_prediction_of_several_outputs():
    X, Y = make_multilabel_classification(200, 8, n_classes=3, random_state=0)
    model = RandomForestClassifier(80, oob_score=True, random_state=0).fit(X, Y)
    predicted = out_of_bag_prediction(leaf_table(model, X), read_target(Y, 200))
    np.testing.assert_array_equal(predicted, model.oob_decision_function_.argmax(axis=1))
    two = np.column_stack([X[:, 0], 3 * X[:, 1]])
    model = RandomForestRegressor(80, oob_score=True, random_state=0).fit(X, two)
    predicted = out_of_bag_prediction(leaf_table(model, X), read_target(two, 200))
    np.testing.assert_allclose(predicted, model.oob_prediction_, rtol=1e-12)


def test_only_labelled_rows_have_a_say(diabetes):
    """A forest trained on every row, asked about some of their labels: leaves average those that are given."""
    _, y, _, table = diabetes
    labelled = np.arange(len(y)) % 3 > 0
    predicted = out_of_bag_prediction(table, Target(y[labelled], labelled, "regression"))
    assert predicted.shape == y.shape  # rows without a label are predicted too
    assert y[labelled].min() <= predicted.min()  # rows without a label would count as 0 and pull the mean down
    assert predicted.mean() == pytest.approx(y.mean(), rel=0.05)


def test_sparse_rows_are_placed_as_dense_ones(rng):
    X, y = load_iris(return_X_y=True)
    X = np.round(X)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    table = leaf_table(model, X)
    leaves = leaf_values(table, rng.normal(size=(150, 2)))
    dense, sparse = (place_new(new_leaves(model, rows, table), leaves) for rows in (X, sp.csr_array(X)))
    assert dense.tobytes() == sparse.tobytes()


def test_leaves_without_values_are_refused():
    leaves = LeafValues(np.zeros((3, 2)), np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="the forest has a leaf 3, and values were put into 3 leaves"):
        place_new(np.array([[0, 3]], dtype=np.int32), leaves)
