"""The kernels of the neighbour search against their naive twins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.kernels import candidates as kernels
from manifolia.kernels import ivf
from reference import candidates as naive
from reference import ivf as naive_ivf

NOBODY = -7  # what a place holds that no kernel may have written


def room(h, k):
    return np.full((h, k), NOBODY, dtype=np.intp), np.full((h, k), float(NOBODY))


@pytest.fixture
def grid(rng):
    """Rows of small integers: exact sums, many ties and duplicates."""
    return rng.integers(0, 3, size=(60, 4)).astype(np.float64)


@pytest.mark.parametrize("e", [0.0, 0.05])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shortlist(grid, dtype, e):
    G = (grid @ grid.T).astype(dtype)
    squares = np.diag(G).astype(np.float64)
    own = np.arange(60)
    own[::7] = -1
    results = []
    for module in (kernels, naive):
        candidates = np.full((60, 20), NOBODY, dtype=np.int32)
        counts = np.full(60, NOBODY, dtype=np.int64)
        module.shortlist(G, squares, squares, e, 1e-3, own, 5, candidates, counts)
        candidates[counts < 0] = NOBODY  # what did not fit is left as it is
        results.append((candidates, counts))
    np.testing.assert_array_equal(results[0][1], results[1][1])
    np.testing.assert_array_equal(results[0][0], results[1][0])
    assert (results[0][1] >= 5).any()
    if e > 0:
        assert (results[0][1] == -1).any()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_measure(grid, rng, dtype, kind):
    X = grid.astype(dtype)
    own = np.arange(60)
    own[::5] = -1
    candidates = np.stack([rng.permutation(60)[:20] for _ in range(60)]).astype(np.int32)
    counts = rng.integers(5, 21, size=60)
    counts[::4] = -1
    results = []
    for module in (kernels, naive):
        indices, distances = room(60, 4)
        module.measure(X, X, kind, own, candidates, counts, indices, distances)
        results.append((indices, distances))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_measure_does_not_lose_digits_to_an_offset():
    X = np.array([[1e8], [1e8 + 1.0], [1e8 + 3.0]])
    indices, distances = room(3, 2)
    kernels.measure(X, X, 0, np.arange(3), np.empty((3, 1), np.int32), np.full(3, -1), indices, distances)
    assert distances.tolist() == [[1.0, 9.0], [1.0, 4.0], [4.0, 9.0]]


def test_measure_sparse(grid, rng):
    dense = np.where(grid > 1, grid, 0.0)
    dense[3] = 0.0
    X = sp.csr_array(dense)
    own = np.arange(60)
    own[::5] = -1
    candidates = np.stack([rng.permutation(60)[:20] for _ in range(60)]).astype(np.int32)
    counts = rng.integers(5, 21, size=60)
    counts[::4] = -1
    parts = (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64))
    results = []
    for module in (kernels, naive):
        indices, distances = room(60, 4)
        module.measure_sparse(*parts, *parts, own, candidates, counts, indices, distances)
        results.append((indices, distances))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_smallest(rng, dtype):
    D = rng.integers(0, 9, size=(30, 30)).astype(dtype)
    own = np.where(np.arange(30) % 3, np.arange(30), -1)
    results = []
    for module in (kernels, naive):
        indices, distances = room(30, 6)
        module.smallest(D, own, indices, distances)
        results.append((indices, distances))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("k", [kernels.FEW, kernels.FEW + 1, 100, 148])
def test_many_neighbours_are_kept_in_a_heap_and_put_in_order(rng, k):
    """Small integers, with ties at every distance: the order by index decides who is kept."""
    X = rng.integers(0, 3, size=(150, 4)).astype(np.float64)
    G, own = X @ X.T, np.where(np.arange(150) % 3, np.arange(150), -1)
    csr = sp.csr_array(X)
    parts = (csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64))
    candidates = np.stack([rng.permutation(150) for _ in range(150)]).astype(np.int32)
    counts = np.where(np.arange(150) % 4, 150, -1)
    results = []
    for module in (kernels, naive):
        listed, number = np.full((150, 150), NOBODY, dtype=np.int32), np.full(150, NOBODY, dtype=np.int64)
        module.shortlist(G, np.diag(G), np.diag(G), 0.01, 1e-3, own, k, listed, number)
        found = [listed, number]
        for measure, given in (
            (module.measure, (X, X, 0, own, candidates, counts)),
            (module.measure_sparse, (*parts, *parts, own, candidates, counts)),
            (module.smallest, (G, own)),
        ):
            places = room(150, k)
            measure(*given, *places)
            found += places
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def packed(rows, sizes):
    """Put rows into panels, list after list; the first list takes sizes[0] of them, and so on."""
    width = ivf.WIDTH
    starts = np.concatenate([[0], np.cumsum([-(-size // width) for size in sizes])])
    wide = np.zeros((starts[-1] * width, rows.shape[1]), np.float32)
    members = np.full(len(wide), -1, np.int32)
    squares = np.full(len(wide), np.inf, np.float32)
    first = 0
    for number, size in enumerate(sizes):
        places = starts[number] * width + np.arange(size)
        wide[places] = rows[first : first + size]
        squares[places] = (rows[first : first + size] ** 2).sum(axis=1)
        members[places] = np.arange(first, first + size)[::-1]  # not in order: ties go by member, not by place
        first += size
    panels = np.ascontiguousarray(wide.reshape(starts[-1], width, -1).transpose(0, 2, 1))
    return starts, panels, squares.reshape(-1, width), members


@pytest.mark.parametrize("n_rows", [1, 4, 9])  # less than a tile, a tile, and one that is not full
@pytest.mark.parametrize("most", [1, 12, 500])
def test_scan_lists(rng, n_rows, most):
    sizes = [80, 0, 3, 64, 130]
    rows = rng.integers(-3, 4, size=(sum(sizes), 4)).astype(np.float32)
    centres = rng.integers(-3, 4, size=(len(sizes), 4)).astype(np.float32)
    lists = ivf.Panels(centres, *packed(rows, sizes))
    Q = rng.integers(-3, 4, size=(n_rows, 4)).astype(np.float32)
    own = np.array([-1, 5, 100, -1, 277, 0, 1, 2, 3])[:n_rows]
    probed = np.stack([rng.permutation(5)[:3] for _ in range(n_rows)])
    probed[0] = [1, 1, 1]  # a list without members
    visits = np.stack([probed.ravel(), np.repeat(np.arange(n_rows), 3)], axis=1)
    visits = np.unique(visits, axis=0)
    results = []
    for module in (ivf, naive_ivf):
        keys = np.full((n_rows, most), NOBODY, np.int64)
        counts = np.full(n_rows, NOBODY, np.int64)
        module.scan_lists(Q, visits, lists, own, keys, counts)
        results.append((keys, counts))
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert results[0][1][0] == 0


def test_scan_lists_far_from_the_origin(rng):
    """At a million, single precision has no digits left for distances of 1 but in differences from the centre."""
    rows = rng.normal(size=(50, 4)).astype(np.float32)
    centres = np.full((1, 4), 1e6, np.float32)
    lists = ivf.Panels(centres, *packed(rows, [50]))
    Q = (centres + rng.normal(size=(8, 4))).astype(np.float32)
    visits = np.stack([np.zeros(8, np.int64), np.arange(8)], axis=1)
    results = []
    for module in (ivf, naive_ivf):
        keys = np.zeros((8, 10), np.int64)
        module.scan_lists(Q, visits, lists, np.full(8, -1), keys, np.empty(8, np.int64))
        results.append(keys & 0xFFFFFFFF)
    np.testing.assert_array_equal(*results)
