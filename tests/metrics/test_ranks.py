"""Ranks by NumPy and by the kernels: the same for ties, copies, a row on top of others, and distances in strips."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels import ranks
from manifolia.metrics import _ranks


@pytest.fixture(params=["apart", "tied", "equal", "far"])
def strips(request, rng):
    """Distances of some rows in two spaces, with columns beyond the points."""
    n = 40
    make = {
        "apart": lambda: rng.random((n, n)),
        "tied": lambda: rng.integers(0, 4, (n, n)).astype(float),
        "equal": lambda: np.zeros((n, n)),
        "far": lambda: np.where(rng.random((n, n)) < 0.1, 1e300, rng.random((n, n)) * 1e-300),
    }[request.param]
    rows = np.array([3, 0, 39, 17])
    return np.ascontiguousarray(make()[rows]), np.ascontiguousarray(make()[rows]), rows, n


@pytest.mark.parametrize("k", [1, 5, 39])
def test_ranks_of_neighbours_are_those_of_the_kernel(strips, k):
    one, two, rows, n = strips
    expected = np.empty((len(rows), k), dtype=np.int32)
    ranks.neighbor_ranks(one, two, rows, n, expected)
    np.testing.assert_array_equal(_ranks.neighbor_ranks(one, two, rows, n, k), expected)


def test_greater_ranks_are_counted_as_the_kernel_counts_them(strips):
    one, two, rows, n = strips
    expected, counted = np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    ranks.max_rank_histogram(one, two, rows, expected)
    _ranks.add_greater_ranks(one, two, rows, counted)
    np.testing.assert_array_equal(counted, expected)
    assert counted.sum() == n + len(rows) * (n - 1)


def test_many_rows_are_ranked_by_the_kernel(strips, monkeypatch):
    one, two, rows, n = strips
    few = _ranks.neighbor_ranks(one, two, rows, n, 7)
    monkeypatch.setattr(_ranks, "_FEW", 0)
    monkeypatch.setattr(_ranks, "_ordered", None)
    np.testing.assert_array_equal(_ranks.neighbor_ranks(one, two, rows, n, 7), few)
