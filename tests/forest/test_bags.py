"""Many rows that are equal in every column are drawn into bags as two halves."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.forest.bags import halves_of_equal_rows


def naive_cells(X):
    cells = {}
    for i, row in enumerate(X.astype(np.float32)):
        cells.setdefault(tuple("nan" if np.isnan(v) else float(v) + 0.0 for v in row), []).append(i)
    return list(cells.values())


@pytest.mark.parametrize("seed", range(4))
def test_many_equal_rows_are_two_units_and_every_other_row_is_its_own(seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, np.nan, 1.0 + 1e-12], size=(400, 3), p=[0.4, 0.1, 0.3, 0.1, 0.1])
    X[:40, 0] = rng.normal(size=40)  # equal to nothing
    units = halves_of_equal_rows(X, seed)
    assert sorted(set(units)) == list(range(units.max() + 1))
    sizes = []
    for cell in naive_cells(X):
        own = units[cell]
        found, counts = np.unique(own, return_counts=True)
        assert len(found) == (len(cell) if len(cell) < 10 else 2)
        assert np.ptp(counts) <= 1
        assert not np.isin(np.delete(units, cell), own).any()
        sizes.append(len(cell))
    assert min(sizes) < 10 < max(sizes)


def test_halves_are_dealt_by_the_seed_and_not_by_the_order_of_rows():
    X = np.zeros((40, 2))
    one, other = halves_of_equal_rows(X, 0), halves_of_equal_rows(X, 1)
    assert (halves_of_equal_rows(X, 0) == one).all()
    assert (one != other).any()
    assert 0 < one[::2].sum() < 20


def test_without_many_equal_rows_there_is_nothing_to_deal():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert halves_of_equal_rows(X, 0) is None
    assert halves_of_equal_rows(np.repeat(X, 9, axis=0), 0) is None
    assert halves_of_equal_rows(np.repeat(X, 10, axis=0), 0) is not None
