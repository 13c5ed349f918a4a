"""Kernels of ranks, distances and pairs against their naive twins, on the rows that break sorting tricks."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels import pairs, panels, ranks
from manifolia.metrics._spaces import _packed
from reference import pairs as naive_pairs
from reference import panels as naive_panels
from reference import ranks as naive_ranks


def awkward_rows(rng, n):
    """Rows of distances, one kind of trouble each."""
    outlier = rng.random(n)
    outlier[n // 2] = 1e9  # all others fall into one step
    return {
        "plain": rng.random(n),
        "equal": np.full(n, 0.3),
        "zeros": np.zeros(n),
        "few values": rng.integers(0, 3, n).astype(float),
        "outlier": outlier,
        "wide": np.exp(60 * rng.normal(size=n)),
        "tiny": rng.random(n) * 1e-310,
        "one ulp apart": np.nextafter(0.5, 1) - rng.integers(0, 2, n) * 2.0**-53,
        "negative zero": np.where(rng.random(n) < 0.5, -0.0, np.where(rng.random(n) < 0.1, 1e300, 0.0)),
        "growing": np.arange(n, dtype=float),
        "falling": np.arange(n, dtype=float)[::-1].copy(),
    }


@pytest.mark.parametrize("n", [3, 4, 50, 200])
def test_order_and_rank_follow_distance_then_index(rng, n):
    for name, distances in awkward_rows(rng, n).items():
        D = np.stack([distances, rng.permutation(distances), rng.permutation(distances)])
        rows = np.array([0, n // 2, n - 1])
        for kernel, twin in [(ranks.order_rows, naive_ranks.order_rows), (ranks.rank_rows, naive_ranks.rank_rows)]:
            got, wanted = np.empty((3, n), dtype=np.int32), np.empty((3, n), dtype=np.int32)
            kernel(D, rows, got)
            twin(D, rows, wanted)
            np.testing.assert_array_equal(got, wanted, err_msg=f"{kernel.__name__}, {name}")


def test_crowded_rows_are_sorted_by_all_their_bits(rng):
    """The first way gives up on them and says so; otherwise insertion would take the square of n."""
    n = 400
    rows = awkward_rows(rng, n)
    scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.empty((2, 1 << 11), np.int64)
    order = np.empty(n, np.int32)
    assert not ranks._order_by_steps(rows["outlier"], 0, *scratch, order)
    assert not ranks._order_by_steps(rows["tiny"], 0, *scratch, order)
    assert ranks._order_by_steps(rows["plain"], 0, *scratch, order)
    assert ranks._order_by_steps(rows["few values"], 0, *scratch, order)  # ties cost nothing


def test_padding_beyond_n_is_not_looked_at(rng):
    D = np.zeros((2, 64))
    D[:, :20] = 1 + rng.random((2, 20))
    rows = np.array([3, 7])
    order = np.empty((2, 20), dtype=np.int32)
    ranks.order_rows(D, rows, order)
    assert (np.sort(order, axis=1) == np.arange(20)).all()


def test_max_rank_histogram_equals_its_twin(rng):
    n = 60
    for name, distances in awkward_rows(rng, n).items():
        D, E = np.stack([distances, distances[::-1]]), rng.integers(0, 9, (2, n)).astype(float)
        got, wanted = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        ranks.max_rank_histogram(D, E, np.array([0, 31]), got)
        naive_ranks.max_rank_histogram(D, E, np.array([0, 31]), wanted)
        np.testing.assert_array_equal(got, wanted, err_msg=name)
        assert got.sum() == 2 * (n - 1)


def test_count_coranks_equals_its_twin(rng):
    n = 30
    order, rank = np.empty((5, n), dtype=np.int32), np.empty((5, n), dtype=np.int32)
    ranks.order_rows(rng.random((5, n)), np.arange(5), order)
    ranks.rank_rows(rng.random((5, n)), np.arange(5), rank)
    got, wanted = np.zeros((n - 1, n - 1), dtype=np.int32), np.zeros((n - 1, n - 1), dtype=np.int32)
    ranks.count_coranks(order, rank, 4, 17, got)
    naive_ranks.count_coranks(order, rank, 4, 17, wanted)
    np.testing.assert_array_equal(got, wanted)
    assert got.sum() == 5 * 13


@pytest.mark.parametrize(("n", "k"), [(3, 1), (10, 8), (200, 1), (200, 3), (200, 100), (700, 10)])
def test_neighbor_ranks_equal_their_twin(rng, n, k):
    """Both by selecting (k up to n/64) and by sorting, in rows of every kind."""
    rows = np.array([0, n // 2, n - 1])
    kinds = awkward_rows(rng, n)
    for name, distances in kinds.items():
        for other in (kinds["plain"], kinds["few values"], distances):
            D, E = np.stack([distances] * 3), np.stack([other, other[::-1], rng.permutation(other)])
            got, wanted = np.empty((3, k), dtype=np.int32), np.empty((3, k), dtype=np.int32)
            ranks.neighbor_ranks(D, E, rows, n, got)
            naive_ranks.neighbor_ranks(D, E, rows, n, wanted)
            np.testing.assert_array_equal(got, wanted, err_msg=name)


@pytest.mark.parametrize("d", [1, 3, 4, 9])
@pytest.mark.parametrize("name", ["squared_distances", "manhattan_distances"])
def test_distances_equal_their_twin_to_the_bit(rng, d, name):
    X = rng.normal(size=(150, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[7] = X[140]
    packed = _packed(X)
    for first in (0, 1):
        got = np.empty((150, packed.shape[0] * panels.WIDTH - first * panels.WIDTH))
        wanted = np.empty_like(got)
        getattr(panels, name)(X, packed, first, got)
        getattr(naive_panels, name)(X, packed, first, wanted)
        np.testing.assert_array_equal(got, wanted)
    getattr(panels, name)(X, packed, 0, out := np.empty((150, packed.shape[0] * panels.WIDTH)))
    distances = out[:, :150]
    np.testing.assert_array_equal(distances, distances.T)
    assert (np.diag(distances) == 0).all()
    assert distances[7, 140] == 0
    np.testing.assert_array_equal(distances[:, 7], distances[:, 140])


def triangle(rng, n, first):
    rows = np.arange(first, n)
    x = rng.random((len(rows), n - first + 5)) + 0.5
    y = rng.random((len(rows), n - first + 5)) + 0.5
    y[:, 3] = 0.0
    x[2, 3:6] = 0.0
    return rows, x, y


@pytest.mark.parametrize("first", [0, 4])
def test_row_moments_equal_their_twin(rng, first):
    rows, x, y = triangle(rng, 20, first)
    for second in (y, np.zeros_like(y)):
        got, wanted = np.empty((len(rows), pairs.N_MOMENTS)), np.empty((len(rows), pairs.N_MOMENTS))
        pairs.row_moments(x, second, rows, first, 20, got)
        naive_pairs.row_moments(x, second, rows, first, 20, wanted)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
        assert (got[-1] == 0).all()  # the last point has no pair left


@pytest.mark.parametrize("first", [0, 4])
def test_row_ratios_equal_their_twin(rng, first):
    rows, x, y = triangle(rng, 20, first)
    got, wanted = np.empty((len(rows), 1)), np.empty((len(rows), 1))
    pairs.row_ratios(x, y, rows, first, 20, 1.3, got)
    naive_pairs.row_ratios(x, y, rows, first, 20, 1.3, wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_cells_equal_their_twin(rng):
    rows, x, _ = triangle(rng, 40, 0)
    edges = np.array([0.0, 0.6, np.nextafter(0.6, 1), 0.61, 1.0, 1.2])
    x[0, 5:9] = [0.6, 1.2, 5.0, 0.61]  # on edges, and beyond the last
    guide_scale = 50 / 1.2
    guide = np.clip(np.searchsorted(edges, (np.arange(50) - 1) / guide_scale, side="right") - 1, 0, 4)
    size = 5 * pairs.CELLS
    got, wanted = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    pairs.cell_counts(x, rows, 0, 40, edges, guide, guide_scale, got)
    naive_pairs.cell_counts(x, rows, 0, 40, edges, guide, guide_scale, wanted)
    np.testing.assert_array_equal(got, wanted)
    assert got.sum() == 40 * 39 / 2
    score = rng.random(size)
    one, other = x.copy(), x.copy()
    pairs.cell_scores(one, rows, 0, 40, edges, guide, guide_scale, score)
    naive_pairs.cell_scores(other, rows, 0, 40, edges, guide, guide_scale, score)
    np.testing.assert_array_equal(one, other)
    assert (one[:, 40:] == x[:, 40:]).all()
