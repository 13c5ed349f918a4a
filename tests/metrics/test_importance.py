"""Importance and target alignment: closed forms, naive twins, and maps made to score high or low."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from manifolia import memory_limit
from manifolia.exceptions import MemoryLimitError
from manifolia.metrics import importance
from manifolia.metrics._labels import classes
from manifolia.metrics.importance import importance_alignment, target_alignment


def graded(seed: int = 0, n: int = 200, d: int = 6):
    """Features that matter less and less for a numeric target, and a map that weighs them in the same way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    weights = 2.0 ** -np.arange(d)
    return X, X * weights, X @ weights


# Importance alignment


def naive_falls(split: importance._Split, k: int, n_permutations: int, seed: int):
    """Refit-free permutation importance through scikit-learn's neighbours."""
    learn, test = split.data[split.learn], split.data[split.test]
    kind = KNeighborsRegressor if split.labels is None else KNeighborsClassifier
    for_y = kind(k).fit(learn, split.target[split.learn])
    for_map = KNeighborsRegressor(k).fit(learn, split.coordinates[split.learn])
    truth = split.coordinates[split.test]

    def scores(rows):
        residual = ((for_map.predict(rows) - truth) ** 2).sum()
        return np.array(
            [for_y.score(rows, split.target[split.test]), 1 - residual / ((truth - truth.mean(axis=0)) ** 2).sum()]
        )

    falls = []
    for feature in range(learn.shape[1]):
        generator = np.random.default_rng([seed, feature])
        after = []
        for _ in range(n_permutations):
            changed = test.copy()
            changed[:, feature] = test[generator.permutation(test.shape[0]), feature]
            after.append(scores(changed))
        falls.append(scores(test) - np.mean(after, axis=0))
    return np.array(falls).T


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_falls_equal_those_of_refitted_neighbours(task):
    X, Y, number = graded(n=120)
    labels = None if task == "regression" else classes(number > 0, n_rows=120, purpose="")
    target = number if labels is None else labels.codes
    rows = np.random.default_rng(1).permutation(120)
    split = importance._Split(X, Y, target, labels, learn=rows[40:], test=rows[:40])
    # One neighbour: scikit-learn breaks ties between classes by their order.
    for k in (1, 5) if labels is None else (1,):
        np.testing.assert_allclose(importance._falls(split, k, 3, 7, 1), naive_falls(split, k, 3, 7), atol=1e-9)


def test_global_shape_is_spearman_of_the_distances():
    X, Y, _ = graded(n=40)
    expected = [spearmanr(pdist(X[:, [f]]), pdist(Y)).statistic for f in range(6)]
    np.testing.assert_allclose(importance._distance_correlations(X, Y, *np.triu_indices(X.shape[0], 1), 1), expected)


@pytest.mark.parametrize("scope", ["local", "global"])
def test_a_map_of_the_features_that_matter_scores_high_and_its_opposite_low(scope):
    X, Y, y = graded()
    good = importance_alignment(X, Y, y, scope=scope, n_repeats=3)
    bad = importance_alignment(X, X * 2.0 ** -np.arange(6)[::-1], y, scope=scope, n_repeats=3)
    assert good > 0.75
    assert bad < -0.5


def test_perfect_agreement_is_1_when_the_target_is_the_map():
    X, _, y = graded()
    assert importance_alignment(X, y[:, None], y, n_repeats=2) == pytest.approx(1.0)


@pytest.mark.parametrize("scope", ["local", "global"])
def test_random_maps_score_near_0(scope):
    X, _, y = graded(n=80, d=12)
    scores = [
        importance_alignment(X, np.random.default_rng(seed).normal(size=(80, 2)), y, scope=scope, n_repeats=1)
        for seed in range(40)
    ]
    assert abs(np.mean(scores)) < 0.15


@pytest.mark.parametrize("scope", ["local", "global"])
def test_constant_maps_score_0(scope):
    X, _, y = graded(n=60)
    assert importance_alignment(X, np.ones((60, 2)), y, scope=scope, n_repeats=2) == 0.0


@pytest.mark.parametrize("scope", ["local", "global"])
def test_rotation_scale_and_class_names_do_not_matter(scope):
    X, Y, number = graded(n=100)
    y = np.digitize(number, [-0.5, 0.5])
    value = importance_alignment(X, Y[:, :2], y, scope=scope, n_repeats=2)
    turned = 7 * Y[:, :2] @ np.array([[0.6, -0.8], [0.8, 0.6]]) + 3
    assert importance_alignment(X, turned, y, scope=scope, n_repeats=2) == pytest.approx(value)
    named = np.array(["z", "m", "a"])[y]
    assert importance_alignment(X, Y[:, :2], named, scope=scope, n_repeats=2) == pytest.approx(value)


def test_a_constant_feature_has_no_importance():
    X, Y, y = graded(n=60)
    X[:, 2] = 5.0
    split = importance._Split(X, Y, y, None, learn=np.arange(20, 60), test=np.arange(20))
    assert [fall[2] for fall in importance._falls(split, 3, 2, 0, 1)] == [0.0, 0.0]
    assert importance._distance_correlations(X, Y, *np.triu_indices(X.shape[0], 1), 1)[2] == 0.0


def test_importance_is_measured_on_rows_held_out(monkeypatch):
    X, Y, y = graded(n=50)
    splits = []

    def record(split, *args):
        splits.append(split)
        return np.arange(6.0), np.arange(6.0)

    monkeypatch.setattr(importance, "_falls", record)
    assert importance_alignment(X, Y, y, n_repeats=3, test_size=0.4, sample=30) == pytest.approx(1.0)
    for split in splits:
        assert len(set(split.learn)) == 18
        assert len(set(split.test)) == 12
        assert not set(split.learn) & set(split.test)
    assert len({tuple(sorted(split.test)) for split in splits}) == 3


@pytest.mark.parametrize("scope", ["local", "global"])
def test_samples_repeats_and_threads(scope):
    X, Y, y = graded(n=300)
    options = {"scope": scope, "n_repeats": 4, "sample": 120}
    value, (low, high) = importance_alignment(X, Y, y, **options, return_ci=True, n_jobs=1)
    assert low <= value <= high
    assert importance_alignment(X, Y, y, **options, n_jobs=2) == value
    assert importance_alignment(X, Y, y, **options, random_state=1) != value
    assert abs(value - importance_alignment(X, Y, y, scope=scope)) < 0.25


def test_refusals_of_alignment():
    X, Y, y = graded(n=40)
    with pytest.raises(ValueError, match="scope must be one of 'local', 'global', got 'near'"):
        importance_alignment(X, Y, y, scope="near")
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        importance_alignment(X[:, :1], Y, y)
    with pytest.raises(ValueError, match="n_neighbors must be at least 1 and at most 28, got 29"):
        importance_alignment(X, Y, y, n_neighbors=29)
    with pytest.raises(ValueError, match=r"y holds the value 0\.5 only"):
        importance_alignment(X, Y, np.full(40, 0.5))
    with pytest.raises(ValueError, match="needs at least 2 classes and y has 1"):
        importance_alignment(X, Y, np.ones(40, dtype=int))
    with pytest.raises(ValueError, match="NaN"):
        importance_alignment(np.where(X > 2, np.nan, X), Y, y)
    with pytest.raises(ValueError, match="sample must be at least 4 and at most 40"):
        importance_alignment(X, Y, y, sample=41)
    with memory_limit(1000), pytest.raises(MemoryLimitError, match="Pass sample= to use fewer rows"):
        importance_alignment(X, Y, y)
    # Room for the neighbours, but not for the distances of all pairs.
    with memory_limit(20_000), pytest.raises(MemoryLimitError, match="the distances of 780 pairs"):
        importance_alignment(X, Y, y, scope="global", n_jobs=2)


# Target alignment


def naive_alignment(K, T):
    off = ~np.eye(K.shape[0], dtype=bool)
    return (K * T)[off].sum() / np.sqrt((K * K)[off].sum() * (T * T)[off].sum())


def test_alignment_of_three_points_by_hand():
    # T off the diagonal: 1 for the pair {0, 1}, −1 for the others. ⟨K, T⟩ = 2 (3 − 1 − 2) = 0, then 2 (3 − 1 + 2) = 8.
    K = np.array([[9.0, 3.0, 1.0], [3.0, 9.0, 2.0], [1.0, 2.0, 9.0]])
    assert target_alignment(K, ["a", "a", "b"]) == 0.0
    K[1, 2] = K[2, 1] = -2.0
    assert target_alignment(K, ["a", "a", "b"]) == pytest.approx(8 / np.sqrt(28 * 6))


def test_alignment_equals_the_naive_sum():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(50, 50))  # not symmetric
    y = rng.integers(0, 3, 50)
    assert target_alignment(K, y) == pytest.approx(naive_alignment(K, np.where(y[:, None] == y, 1.0, -1.0)))
    z = rng.normal(size=50)
    centred = z - z.mean()
    assert target_alignment(K, z) == pytest.approx(naive_alignment(K, np.outer(centred, centred)))


def test_the_target_itself_is_aligned_and_its_opposite_is_not():
    y = np.array([0, 0, 1, 1, 1])
    T = np.where(y[:, None] == y, 1.0, -1.0)
    assert target_alignment(T, y) == pytest.approx(1.0)
    assert target_alignment(-T, y) == pytest.approx(-1.0)
    z = np.array([0.5, 1.0, 4.0, 2.0])
    assert target_alignment(np.outer(z - z.mean(), z - z.mean()), z) == pytest.approx(1.0)


def test_the_diagonal_scale_order_and_names_do_not_matter():
    rng = np.random.default_rng(1)
    K, y = rng.random((60, 60)), rng.integers(0, 2, 60)
    value = target_alignment(K, y)
    order = rng.permutation(60)
    assert target_alignment(3 * K + 100 * np.eye(60), y) == pytest.approx(value)
    assert target_alignment(K[np.ix_(order, order)], y[order]) == pytest.approx(value)
    assert target_alignment(K, np.array(["b", "a"])[y]) == pytest.approx(value)
    assert target_alignment(K, 5 - 2.5 * y, task="regression") == pytest.approx(
        target_alignment(K, y, task="regression")
    )


def test_sparse_kernels_give_the_same_as_dense_ones_and_stay_sparse():
    rng = np.random.default_rng(2)
    K = sp.csr_array(rng.random((400, 400)) * (rng.random((400, 400)) < 0.05))
    y = np.arange(400) % 3
    assert target_alignment(K, y) == pytest.approx(target_alignment(K.toarray(), y), abs=1e-12)
    z = np.sin(np.arange(400.0))
    assert target_alignment(K, z) == pytest.approx(target_alignment(K.toarray(), z), abs=1e-12)
    assert target_alignment(K, y, n_jobs=1) == target_alignment(K, y, n_jobs=2)


def test_a_random_kernel_is_hardly_aligned():
    rng = np.random.default_rng(3)
    assert abs(target_alignment(rng.normal(size=(300, 300)), rng.integers(0, 2, 300))) < 0.02


def test_refusals_of_target_alignment():
    with pytest.raises(ValueError, match=r"K must be square, one row and one column per point, got shape \(3, 2\)"):
        target_alignment(np.ones((3, 2)), [0, 1, 1])
    with pytest.raises(ValueError, match="K is 0 everywhere off the diagonal"):
        target_alignment(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="K is 0 everywhere off the diagonal"):
        target_alignment(sp.csr_array((3, 3)), [0, 1, 1])
    with pytest.raises(ValueError, match="needs at least 2 classes and y has 1"):
        target_alignment(np.ones((3, 3)), [1, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        target_alignment(np.full((3, 3), np.nan), [0, 1, 1])
    with pytest.raises(ValueError, match="y has 2 labels and the data has 3 rows"):
        target_alignment(np.ones((3, 3)), [0, 1])
