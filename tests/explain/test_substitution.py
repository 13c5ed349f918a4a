"""Giving a row other rows' values: closed forms on maps that are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import manifolia as mf
from manifolia.explain import substitution
from manifolia.explain.substitution import substitution_effects

SLOPES = np.array([[1.0, 0.0], [0.0, 3.0], [0.0, 0.0], [2.0, 2.0]])
ALONE = [np.array([i]) for i in range(4)]


def place(X):
    return X @ SLOPES


def test_a_linear_map_moves_by_slope_times_difference(rng):
    X = rng.normal(size=(20, 4))
    found = substitution_effects(place, X, 7, ALONE)
    others = np.delete(X, 7, axis=0)
    expected = np.abs(others - X[7]).mean(axis=0) * np.linalg.norm(SLOPES, axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found[2] == 0.0  # the map does not use it


def test_columns_of_a_group_change_together(rng):
    X = rng.normal(size=(15, 4))
    together = substitution_effects(place, X, 0, [np.array([0, 3]), np.arange(4)])
    moved = (X[1:, [0, 3]] - X[0, [0, 3]]) @ SLOPES[[0, 3]]
    assert together[0] == pytest.approx(np.linalg.norm(moved, axis=1).mean())
    assert together[1] == pytest.approx(np.linalg.norm(place(X[1:]) - place(X[:1]), axis=1).mean())


def test_donors_are_a_seeded_sample_of_the_other_rows(rng):
    X = rng.normal(size=(500, 4))
    one, same, other = (substitution_effects(place, X, 3, ALONE, n_donors=16, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    np.testing.assert_allclose(one, substitution_effects(place, X, 3, ALONE, n_donors=499), rtol=0.6)


def test_sparse_rows_and_small_parts_give_the_same(rng, monkeypatch):
    X = rng.normal(size=(30, 4)) * (rng.random((30, 4)) < 0.5)
    whole = substitution_effects(place, X, 2, ALONE)
    np.testing.assert_array_equal(substitution_effects(place, sp.csr_array(X), 2, ALONE), whole)
    monkeypatch.setattr(substitution, "_CELLS", 1)
    np.testing.assert_array_equal(substitution_effects(place, X, 2, ALONE), whole)


def test_a_row_that_is_not_there():
    with pytest.raises(ValueError, match="row"):
        substitution_effects(place, np.zeros((3, 4)), 3, ALONE)


def test_petals_put_an_iris_where_it_is():
    X, y = load_iris(return_X_y=True)
    model = mf.RFPHATE(n_trees=100, random_state=0).fit(X, y)
    found = substitution_effects(model.transform, X, 20, ALONE, random_state=0)
    assert set(np.argsort(found)[-2:]) == {2, 3}
