"""Displacement of rows when a feature is mixed up: a naive twin, maps that are known, and the null."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import manifolia as mf
from manifolia.exceptions import StoppedByCallbackError
from manifolia.explain import displacement
from manifolia.explain.displacement import displacements


class Linear:
    """A map that is known: a feature moves a row by its slope times the difference."""

    def __init__(self, slopes):
        self.slopes = np.asarray(slopes, dtype=float)
        self.n_placed = 0

    def transform(self, X):
        X = np.asarray(X.toarray() if sp.issparse(X) else X)
        self.n_placed += len(X)
        return X @ self.slopes


SLOPES = [[1.0, 0.0], [0.0, 3.0], [0.0, 0.0], [2.0, 2.0]]


def naive(model, X, rows, groups, k):
    """Both means by loops, from the definition."""
    Y = model.transform(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    moved, null = np.zeros((len(rows), len(groups))), np.zeros((len(rows), len(groups)))
    for a, i in enumerate(rows):
        for g, group in enumerate(groups):
            others = [f for f in range(X.shape[1]) if f not in group]
            for out, space in ((moved, Z[:, others]), (null, Y)):
                order = [j for j in np.argsort(np.linalg.norm(space - space[i], axis=1), kind="stable") if j != i]
                for j in order[:k]:
                    tried = X[[i]].copy()
                    tried[:, group] = X[j, group]
                    out[a, g] += np.linalg.norm(model.transform(tried)[0] - Y[i]) / k
    return moved, null


@pytest.mark.parametrize("groups", [None, [[0], [1, 3]]])
def test_equals_the_definition(rng, groups):
    X = rng.normal(size=(60, 4))
    model = Linear(SLOPES)
    found = displacement.importance(model, X, rows=[3, 50, 7], groups=groups, n_neighbors=5, random_state=0)
    moved, null = naive(model, X, [3, 50, 7], groups or [[0], [1], [2], [3]], 5)
    spread = np.sqrt(model.transform(X).var(axis=0).sum())
    np.testing.assert_allclose(found.per_row, moved / spread, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.null_per_row, null / spread, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.mean, found.per_row.mean(axis=0))
    assert found.spread == pytest.approx(spread)
    assert found.rows.tolist() == [3, 50, 7]


def test_a_feature_that_the_map_does_not_use_moves_nothing_and_is_not_placed(rng):
    X = rng.normal(size=(80, 4))
    X[:, 0] = 1.0
    model = Linear(SLOPES)
    found = displacement.importance(model, X, rows=20, n_neighbors=4, random_state=1)
    assert found.mean[0] == found.mean[2] == 0.0
    assert found.p_value[0] == found.p_value[2] == 1.0
    assert model.n_placed == 80 + 20 + 20 * 3 * 2 * 4  # the constant column differs nowhere


def test_what_other_features_determine_has_little_of_its_own(rng):
    X = rng.normal(size=(400, 3))
    X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=400)
    alone = displacement.importance(Linear([[1.0], [0.0], [0.0]]), X[:, [0, 2, 2]], random_state=0).mean[0]
    found = displacement.importance(Linear([[1.0], [1.0], [0.0]]), X, random_state=0)
    assert found.mean[0] < 0.2 * alone
    together = displacement.importance(Linear([[1.0], [1.0], [0.0]]), X, groups=[[0, 1]], random_state=0)
    assert together.mean[0] > 0.8 * alone


def test_signal_stands_out_from_its_null_and_noise_hardly(rng):
    X = rng.normal(size=(300, 8))
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    model = mf.RFPHATE(n_trees=40, n_landmarks=60, random_state=0).fit(X[:200], y[:200])
    found = mf.explain.importance(model, X[200:], rows=100, n_neighbors=5, random_state=0)
    assert (found.p_value[:2] < 0.01).all()
    assert found.mean[:2].min() > 3 * found.mean[2:].max()
    # Trees split on noise too, so that it moves places a little: 1 to 6 % of what signal does, over 16 seeds.
    excess = found.mean - found.null
    assert excess[2:].max() < 0.2 * excess[:2].min()


def test_the_flip_test_holds_its_level():
    rng = np.random.default_rng(3)
    smallest = [displacement._flip_test(rng.normal(size=(30, 12)), 99, rng).min() for _ in range(200)]
    assert 0.01 < np.mean(np.array(smallest) <= 0.05) < 0.10  # unadjusted it would be 0.46


def test_the_module_can_be_called_and_stays_a_module():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=20, random_state=0).fit(X, y)
    found = mf.explain.importance(model, X, rows=30, random_state=0)
    assert sorted(found.mean.argsort()[-2:].tolist()) == [2, 3]
    again = displacement.importance(model, X, rows=30, random_state=0)
    np.testing.assert_array_equal(found.per_row, again.per_row)
    np.testing.assert_array_equal(found.p_value, again.p_value)
    alone = displacement.importance(model, X, rows=[int(found.rows[4])], random_state=1)
    np.testing.assert_array_equal(alone.per_row[0], found.per_row[4])  # all rows are in the pool of so few


def test_sparse_rows_tables_and_missing_values(rng):
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.6)
    dense = displacement.importance(Linear(SLOPES), X, rows=10, random_state=0)
    sparse = displacement.importance(Linear(SLOPES), sp.csr_array(X), rows=10, random_state=0)
    np.testing.assert_array_equal(dense.per_row, sparse.per_row)
    y = (X[:, 0] > 0).astype(int)
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=list("abcd"))
    found = displacement.importance(
        mf.RFPHATE(n_trees=20, random_state=0).fit(table, y), table, rows=10, random_state=0
    )
    assert np.isfinite(found.per_row).all()
    assert found.mean[0] > 0


def test_bad_input_is_refused(rng):
    X = rng.normal(size=(20, 4))
    with pytest.raises(TypeError, match=r"transform.*KernelMap"):
        displacement.importance(object(), X)
    with pytest.raises(ValueError, match=r"rows must be whole numbers from 0 to 19"):
        displacement.importance(Linear(SLOPES), X, rows=[20])
    with pytest.raises(ValueError, match=r"groups\[1\] must be whole numbers from 0 to 3"):
        displacement.importance(Linear(SLOPES), X, groups=[[0], [4]])
    with pytest.raises(ValueError, match="at least one group"):
        displacement.importance(Linear(SLOPES), X, groups=[])
    with pytest.raises(StoppedByCallbackError):
        displacement.importance(Linear(SLOPES), X, callback=lambda event: event.done == 2)


# --- one row ---------------------------------------------------------------------------------------------------------

SINGLE = [np.array([i]) for i in range(4)]


def place(X):
    return X @ np.array(SLOPES)


def moved_by_others(X, row, groups):
    """How far a row moves, in the mean, with the values of all other rows."""
    others = np.delete(X, row, axis=0)
    return displacements(place, X[[row]], groups, [others[:, columns] for columns in groups])[0].mean(axis=1)


def test_a_linear_map_moves_by_slope_times_difference(rng):
    X = rng.normal(size=(20, 4))
    found = moved_by_others(X, 7, SINGLE)
    others = np.delete(X, 7, axis=0)
    expected = np.abs(others - X[7]).mean(axis=0) * np.linalg.norm(SLOPES, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[2] == 0.0  # the map does not use it


def test_columns_of_a_group_change_together(rng):
    X = rng.normal(size=(15, 4))
    together = moved_by_others(X, 0, [np.array([0, 3]), np.arange(4)])
    moved = (X[1:, [0, 3]] - X[0, [0, 3]]) @ np.array(SLOPES)[[0, 3]]
    assert together[0] == pytest.approx(np.linalg.norm(moved, axis=1).mean())
    assert together[1] == pytest.approx(np.linalg.norm(place(X[1:]) - place(X[:1]), axis=1).mean())


def test_small_parts_give_the_same(rng, monkeypatch):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    whole = moved_by_others(X, 2, SINGLE)
    monkeypatch.setattr(displacement, "_CELLS", 1)
    np.testing.assert_array_equal(moved_by_others(X, 2, SINGLE), whole)


def test_petals_put_an_iris_where_it_is():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=100, random_state=0).fit(X, y)
    others = np.delete(X, 20, axis=0)
    found = displacements(model.transform, X[[20]], SINGLE, [others[:, columns] for columns in SINGLE])[0].mean(axis=1)
    assert set(np.argsort(found)[-2:]) == {2, 3}


def test_values_of_each_row_or_of_all(rng):
    X, groups = rng.normal(size=(6, 4)), [np.array([1]), np.array([0, 3])]
    values = [rng.normal(size=(3, len(columns))) for columns in groups]
    moved = displacements(place, X, groups, values)
    assert moved.shape == (6, 2, 3)
    for i in range(6):
        for g, columns in enumerate(groups):
            for j in range(3):
                tried = X[[i]].copy()
                tried[0, columns] = values[g][j]
                assert moved[i, g, j] == pytest.approx(np.linalg.norm(place(tried) - place(X[[i]])))
    own = [X[:, np.newaxis, columns] for columns in groups]
    assert (displacements(place, X, groups, own) == 0).all()
    each = [np.repeat(one[np.newaxis], 6, axis=0) for one in values]
    np.testing.assert_array_equal(displacements(place, X, groups, each), moved)
