"""Permutation importance: scikit-learn's own predictions on explicit copies, known truths, invariants, errors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from manifolia import memory_limit
from manifolia.datasets import make_relevant_blobs
from manifolia.exceptions import MemoryLimitError
from manifolia.forest.grow import contrast_forest, shuffled_columns
from manifolia.forest.importances import (
    _permutations,
    contrast_importance,
    importance_by_group,
    permutation_importance,
)
from manifolia.forest.leaf_tables import leaf_table


def naive(forest, X, y, seed, n_skipped=0):
    """Permute whole columns and ask each tree's ``predict``; only the permutations themselves are shared."""
    X32 = np.asarray(X, dtype=np.float32)
    y = np.asarray(y).reshape(len(X), -1)
    is_classifier = hasattr(forest, "classes_")
    if is_classifier:
        classes = forest.classes_ if forest.n_outputs_ > 1 else [forest.classes_]
    rows_of_trees = []

    def error(estimator, Z, wanted):
        predicted = estimator.predict(Z).reshape(len(Z), -1)
        if is_classifier:
            named = np.column_stack(
                [known[codes.astype(int)] for known, codes in zip(classes, predicted.T, strict=True)]
            )
            return np.mean(named != wanted)
        return np.mean((predicted - wanted) ** 2)

    for t, (estimator, drawn) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        left_out = np.setdiff1d(np.arange(len(X)), drawn)
        if len(left_out) < 2:
            continue
        used = np.unique(estimator.tree_.feature[estimator.tree_.feature >= 0])
        order, shift = _permutations(seed, t, left_out, used, X32.shape[1])
        before = error(estimator, X32[order], y[order])
        found = np.zeros(X32.shape[1])
        for f in used:
            mixed = X32[order].copy()
            mixed[:, f] = np.roll(mixed[:, f], -shift[f])
            found[f] = error(estimator, mixed, y[order]) - before
        rows_of_trees.append(found)
    assert len(rows_of_trees) == len(forest.estimators_) - n_skipped
    return np.mean(rows_of_trees, axis=0), np.std(rows_of_trees, axis=0)


def cases():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    X[:, 4] = rng.integers(0, 2, size=80)
    classes = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    labels = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 4] > 0.5]).astype(int)
    several = np.column_stack([np.digitize(X[:, 2], [-1, 0, 1]), X[:, 3] > 0])
    numbers = X[:, 0] - 2 * X[:, 2]
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.15] = np.nan
    settings = {"n_estimators": 12, "random_state": 0}
    return {
        "classifier": (RandomForestClassifier(**settings), X, classes),
        "multilabel": (RandomForestClassifier(**settings), X, labels),
        "classes of several outputs": (RandomForestClassifier(**settings), X, several),
        "regressor": (RandomForestRegressor(**settings), X, numbers),
        "regressor of two outputs": (RandomForestRegressor(**settings), X, np.column_stack([numbers, 3 * X[:, 5]])),
        "missing": (RandomForestClassifier(**settings), gaps, classes),
        "extra trees": (ExtraTreesClassifier(bootstrap=True, **settings), X, classes),
        "extra regressor": (ExtraTreesRegressor(bootstrap=True, **settings), X, numbers),
        "half of the rows": (RandomForestClassifier(max_samples=0.5, max_depth=3, **settings), X, classes),
    }


@pytest.mark.parametrize("name", cases())
def test_against_predictions_on_permuted_copies(name):
    model, X, y = cases()[name]
    model.fit(X, y)
    found = permutation_importance(model, X, y, random_state=5)
    mean, std = naive(model, X, y, 5)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(found.std, std, rtol=1e-11, atol=1e-14)
    assert found.mean.max() > 0.01


def test_permutations_are_bijections_without_fixed_points():
    rows = np.arange(30, 47)
    order, shift = _permutations(3, 1, rows, np.array([0, 2]), 4)
    np.testing.assert_array_equal(np.sort(order), rows)
    assert shift[1] == shift[3] == 0
    for f in (0, 2):
        partner = np.roll(order, -shift[f])
        np.testing.assert_array_equal(np.sort(partner), rows)
        assert (partner != order).all()
    other, _ = _permutations(3, 2, rows, np.array([0, 2]), 4)
    assert (other != order).any()


def test_every_partner_is_equally_likely():
    rows = np.arange(5)
    seen = np.zeros((5, 5))
    for t in range(4000):
        order, shift = _permutations(0, t, rows, np.array([0]), 1)
        seen[order, np.roll(order, -shift[0])] += 1
    expected = 4000 / 4
    assert (np.diag(seen) == 0).all()
    np.testing.assert_allclose(seen[~np.eye(5, dtype=bool)], expected, atol=5 * np.sqrt(expected))


def test_a_single_split_has_a_closed_form():
    # Every tree splits the one useful column perfectly; mixing it gives a wrong class with probability 1/2.
    X = np.column_stack([np.repeat([0.0, 1.0], 300), np.zeros(600)])
    y = X[:, 0].astype(int)
    model = RandomForestClassifier(60, max_features=None, random_state=0).fit(X, y)
    found = permutation_importance(model, X, y, random_state=0)
    assert found.mean[0] == pytest.approx(0.5, abs=0.02)
    assert found.mean[1] == found.std[1] == 0.0


def test_regression_has_a_closed_form():
    # With a perfect tree the error grows to E(y − y')² = 2 var(y).
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(500, 1)).astype(float)
    y = X[:, 0] ** 2
    model = RandomForestRegressor(50, random_state=0).fit(X, y)
    found = permutation_importance(model, X, y, random_state=0)
    assert found.mean[0] == pytest.approx(2 * y.var(), rel=0.05)


def test_relevant_features_stand_out(seed):
    data = make_relevant_blobs(300, n_relevant=4, n_noise=30, separation=4.0, random_state=seed)
    model = RandomForestClassifier(200, random_state=seed).fit(data.data, data.target)
    found = permutation_importance(model, data.data, data.target, random_state=seed)
    noise = found.mean[~data.relevant]
    strong = data.signal > 1.0  # a column may differ little between the classes
    assert strong.any()
    assert found.mean[strong].min() > 5 * np.abs(noise).max()
    assert np.abs(noise).max() < 0.01
    error = found.std[~data.relevant] / np.sqrt(200)
    assert np.mean(np.abs(noise) < 3 * error) > 0.8


def test_random_labels_have_no_importance(rng, seed):
    X = rng.normal(size=(200, 4))
    y = rng.integers(0, 2, size=200)
    model = RandomForestClassifier(200, random_state=seed).fit(X, y)
    assert np.abs(permutation_importance(model, X, y, random_state=seed).mean).max() < 0.03
    # while the impurity that scikit-learn reports always adds up to 1
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_a_feature_that_no_tree_uses_has_exactly_zero(rng):
    X = np.column_stack([rng.normal(size=100), np.full(100, 2.0)])
    model = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0)
    found = permutation_importance(model, X, X[:, 0] > 0, random_state=0)
    assert found.mean[1] == found.std[1] == 0.0
    assert found.mean[0] > 0.3


def same(a, b):
    return a.mean.tobytes() == b.mean.tobytes() and a.std.tobytes() == b.std.tobytes()


def test_bits_do_not_depend_on_threads_and_repeat():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    one = permutation_importance(model, X, y, random_state=0, n_jobs=1)
    assert same(one, permutation_importance(model, X, y, random_state=0, n_jobs=2))
    assert not same(one, permutation_importance(model, X, y, random_state=1, n_jobs=2))
    assert same(
        permutation_importance(model, X, y, random_state=np.random.default_rng(4)),
        permutation_importance(model, X, y, random_state=np.random.default_rng(4)),
    )


def test_sparse_rows_give_the_same_bits(rng):
    X = rng.normal(size=(90, 20)) * (rng.random((90, 20)) < 0.3)
    y = X[:, 3] + X[:, 5] > 0.1
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    dense = permutation_importance(model, X, y, random_state=0)
    assert same(dense, permutation_importance(model, sp.csr_array(X), y, random_state=0))


def test_a_part_of_the_training_rows(rng):
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] > 0).astype(int)
    model = RandomForestClassifier(25, random_state=0).fit(X[:80], y[:80])
    train_rows = np.concatenate([np.arange(40), np.full(40, -1)])
    kept = np.concatenate([np.arange(40), np.arange(80, 120)])  # half of the trained rows, and 40 never seen
    found = permutation_importance(model, X[kept], y[kept], train_rows=train_rows, random_state=0)
    assert found.mean[0] > 0.3
    assert np.abs(found.mean[1:]).max() < 0.1


def test_trees_without_two_rows_out_of_bag_are_not_asked():
    X = np.arange(5.0)[:, None]
    y = (X[:, 0] > 2).astype(int)
    model = RandomForestClassifier(40, random_state=0).fit(X, y)
    n_out = [len(set(range(5)) - set(drawn)) for drawn in model.estimators_samples_]
    n_skipped = sum(n < 2 for n in n_out)
    assert n_skipped > 0
    mean, std = naive(model, X, y, 0, n_skipped)
    found = permutation_importance(model, X, y, random_state=0)
    np.testing.assert_allclose([found.mean, found.std], [mean, std], rtol=1e-12, atol=1e-15)


def test_unknown_classes_count_as_wrong():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    renamed = np.where(y == 2, 9, y)
    found = permutation_importance(model, X, renamed, random_state=0)
    assert np.isfinite(found.mean).all()
    assert found.mean[2] < permutation_importance(model, X, y, random_state=0).mean[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bootstrap": False}, r"needs out-of-bag rows and the forest has none \(bootstrap=False"),
        ({"X": "short"}, "trained on more rows"),
        ({"X": "shuffled"}, "not the data that the forest was trained on"),
        ({"y": "short"}, "X has 150, y has 149"),
        ({"y": "wide"}, "y has 2 outputs and the forest was fitted with 1"),
        ({"y": "texts"}, "none of the classes"),
    ],
)
def test_errors(change, message):
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(10, bootstrap=change.get("bootstrap", True), random_state=0).fit(X, y)
    X = {"short": X[:50], "shuffled": X[::-1]}.get(change.get("X"), X)
    y = {"short": y[:-1], "wide": np.column_stack([y, y]), "texts": y.astype(str)}.get(change.get("y"), y)
    with pytest.raises(ValueError, match=message):
        permutation_importance(model, X, y)


def test_memory_is_asked_for_first():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(100, random_state=0).fit(X, y)
    with memory_limit(1000), pytest.raises(MemoryLimitError, match="importance of 4 features in each of 100 trees"):
        permutation_importance(model, X, y)


def test_contrast_importance_is_of_the_features_that_depend_on_each_other(rng):
    X = rng.normal(size=(300, 4))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=300)
    grown = contrast_forest(X, n_trees=100, random_state=7)
    found = contrast_importance(grown.forest, X, contrast_state=7, random_state=0)
    both = np.vstack([X, shuffled_columns(X, 7)])
    assert same(found, permutation_importance(grown.forest, both, np.repeat([1, 0], 300), random_state=0))
    assert found.mean[:2].min() > 0.1
    assert np.abs(found.mean[2:]).max() < 0.05
    with pytest.raises(ValueError, match="not the data that the forest was trained on"):
        contrast_importance(grown.forest, X, contrast_state=8, random_state=0)


def test_groups_of_rows_tell_what_trees_alone_do_not():
    """Columns that mean nothing look telling by their spread over trees, which all ask about the same rows."""
    n, n_trees, by_trees, by_rows = 120, 200, 0, 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 5))
        y = ((X[:, 0] > 0) ^ (rng.random(n) < 0.2)).astype(int)
        model = RandomForestClassifier(n_trees, random_state=seed).fit(X, y)
        found = permutation_importance(model, X, y, random_state=0)
        groups = importance_by_group(model, X, y, leaf_table(model, X).counts, random_state=0)
        assert groups.values.shape == (12, 5)
        assert groups.share == 1 / 12
        assert groups.values.mean(axis=0)[0] == pytest.approx(found.mean[0], rel=0.2)
        over_trees = found.std / np.sqrt(n_trees)
        both = np.hypot(over_trees, groups.values.std(axis=0, ddof=1) * np.sqrt(groups.share))
        by_trees += np.count_nonzero(np.abs(found.mean[1:]) > 2.2 * over_trees[1:])
        by_rows += np.count_nonzero(np.abs(found.mean[1:]) > 2.2 * both[1:])
        assert found.mean[0] > 4 * both[0]
    assert by_trees >= 4
    assert by_rows <= 1


def test_too_few_rows_or_trees_make_no_groups(rng):
    X = rng.normal(size=(24, 2))
    y = np.arange(24) % 2
    model = RandomForestClassifier(1, random_state=0).fit(X, y)
    counts = np.ones((1, 24), dtype=np.uint8)
    assert importance_by_group(model, X, y, counts) is None
    assert importance_by_group(model, X[:19], y[:19], np.zeros((1, 19), dtype=np.uint8)) is None
