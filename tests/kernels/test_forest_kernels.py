"""Each forest kernel against its naive twin on random leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from manifolia.forest.leaf_tables import leaf_table, pack_bits
from manifolia.kernels import forest as kernels
from reference import forest as naive

AS_IT_IS = np.array([[1.0, np.inf, 0.0, 0.0]] * 2)  # of two groups in one dimension


def random_table(seed, n=17, n_trees=5, n_leaves=4):
    generator = np.random.default_rng(seed)
    leaf = (generator.integers(0, n_leaves, size=(n_trees, n)) + n_leaves * np.arange(n_trees)[:, None]).astype(
        np.int32
    )
    counts = generator.poisson(0.7, size=(n_trees, n)).astype(np.uint8)
    offsets = n_leaves * np.arange(n_trees + 1)
    return leaf, counts, offsets, generator


def parts_of(counts):
    """The three roles a row can have in a tree."""
    return {"every": np.ones_like(counts), "in-bag": counts, "out-of-bag": (counts == 0).astype(np.uint8)}


@pytest.mark.parametrize("role", ["every", "in-bag", "out-of-bag"])
@pytest.mark.parametrize("weighted", ["none", "counts", "rows"])
def test_members_of_leaves(role, weighted):
    leaf, counts, offsets, generator = random_table(1)
    parts = parts_of(counts)[role]
    row_weight = generator.uniform(size=leaf.shape[1])
    results = []
    for module in (kernels, naive):
        mass, size = np.zeros(offsets[-1]), np.zeros(offsets[-1], dtype=np.int64)
        for first, last in ((0, 2), (2, 5)):
            module.leaf_mass(leaf, parts, row_weight, first, last, mass, size)
        starts = np.concatenate([[0], np.cumsum(size)])
        members = np.full(starts[-1], -1, dtype=np.int32)
        weights = np.zeros(0 if weighted == "none" else starts[-1], dtype=np.uint8 if weighted == "counts" else float)
        factor = row_weight if weighted == "rows" else np.empty(0)
        for first, last in ((0, 3), (3, 5), (5, 5)):
            module.fill_leaves(leaf, offsets, parts, factor, first, last, starts, members, weights)
        queries = np.zeros(leaf.T.shape, dtype=np.int32)
        for first, last in ((0, 4), (4, 17)):
            module.fill_queries(leaf, parts, first, last, queries)
        results.append((mass, size, members, weights, queries))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert (results[0][2] >= 0).all()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("n_members", [3, 17, 64, 65, 500])
def test_products(n_members, unit, dense):
    generator = np.random.default_rng(n_members)
    n_leaves = 9
    size = np.minimum(generator.integers(0, 4, size=n_leaves), n_members)
    size[0] = 0
    starts = np.concatenate([[0], np.cumsum(size)])
    members = np.concatenate([np.sort(generator.choice(n_members, s, replace=False)) for s in size]).astype(np.int32)
    weights = np.empty(0) if unit else generator.uniform(size=len(members))
    leaf_scale = np.empty(0) if unit else generator.uniform(size=n_leaves)
    query = generator.integers(-1, n_leaves, size=(6, 4)).astype(np.int32)
    query[0] = -1
    scale = generator.uniform(size=6)
    out = []
    for module in (kernels, naive):
        bound = np.zeros(6, dtype=np.int64)
        module.product_bound(query, starts, n_members, bound)
        found = bound.copy()
        if dense:
            bound[:] = n_members
        indptr = np.zeros(7, dtype=np.int64)
        columns, values = np.zeros(bound.sum(), dtype=np.int32), np.zeros(bound.sum())
        module.product_rows(
            query, scale, bound, starts, members, weights, leaf_scale, n_members, indptr, columns, values
        )
        used = indptr[-1]
        assert (np.diff(indptr) <= found).all()
        out.append((found, indptr, columns[:used], values[:used]))
    for got, expected in zip(*out, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_largest_entries_of_a_row(k, rng):
    lengths = np.array([0, 1, 4, 5, 6, 30, 0])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.integers(0, 4, lengths.sum()) / 3.0  # many are equal
    values[indptr[4] : indptr[5]] = 0.5
    got, expected = np.zeros((2, len(values)), dtype=bool)
    kernels.mark_largest(indptr, values, k, got)
    naive.mark_largest(indptr, values, k, expected)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(
        np.add.reduceat(np.append(got, False), indptr[:-1]) * (lengths > 0), np.minimum(lengths, k)
    )


def test_shared_bits():
    generator = np.random.default_rng(0)
    flags = generator.random((130, 8)) < 0.4
    bits = pack_bits(flags)
    indptr = np.arange(0, 65, 8)
    columns = np.tile(np.arange(8), 8).astype(np.int32)
    got, expected = np.zeros((2, 64), dtype=np.int64)
    kernels.shared_bits(indptr, columns, bits, bits, got)
    naive.shared_bits(indptr, columns, bits, bits, expected)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(got.reshape(8, 8), (flags[:, :, None] & flags[:, None]).sum(axis=0))


@pytest.mark.parametrize("roles", [("every", "every"), ("in-bag", "out-of-bag"), ("out-of-bag", "in-bag")])
def test_leaf_apply(roles):
    leaf, counts, offsets, generator = random_table(3)
    gives, takes = (parts_of(counts)[role] for role in roles)
    in_row, out_row = generator.uniform(size=(2, 17))
    scale, V = generator.uniform(size=offsets[-1]), generator.normal(size=(17, 3))
    got, expected = np.zeros((2, 17, 3))
    kernels.leaf_apply(leaf, offsets, gives, takes, in_row, out_row, scale, V, got)
    naive.leaf_apply(leaf, offsets, gives, takes, in_row, out_row, scale, V, expected)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_path_apply():
    X, y = load_iris(return_X_y=True)
    X, y = X[::6], y[::6]
    table = leaf_table(RandomForestClassifier(4, max_leaf_nodes=7, random_state=0).fit(X, y), X)
    trees, n = table.trees, table.n_rows
    generator = np.random.default_rng(0)
    in_row, out_row = generator.uniform(size=(2, n))
    V = generator.normal(size=(n, 3))
    got, expected = np.zeros((2, n, 3))
    for module, out in ((kernels, got), (naive, expected)):
        module.path_apply(table.leaf, trees.leaf_node, trees.parent, trees.roots, in_row, out_row, V, out)
    np.testing.assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize("unit", [True, False])
def test_lumped_product(unit):
    leaf, counts, offsets, generator = random_table(5)
    query = leaf.T.copy()
    query[counts.T > 0] = -1
    order = np.argsort(leaf, axis=None, kind="stable")
    starts = np.searchsorted(leaf.ravel()[order], np.arange(offsets[-1] + 1))
    labels = generator.integers(0, 4, size=17)
    groups = labels[order % 17].astype(np.int32)
    weights = np.empty(0) if unit else generator.uniform(size=len(order))
    scale = generator.uniform(size=17)
    leaf_scale = np.empty(0) if unit else generator.uniform(size=offsets[-1])
    rows = np.argsort(labels, kind="stable")
    group_starts = np.searchsorted(labels[rows], np.arange(5))
    got, expected = np.zeros((2, 4, 4))
    for first, last in ((0, 1), (1, 4)):
        for module, out in ((kernels, got), (naive, expected)):
            module.lump_rows(query, scale, rows, group_starts, starts, groups, weights, leaf_scale, first, last, out)
    np.testing.assert_allclose(got, expected, atol=1e-12)
    assert (got > 0).any()


@pytest.mark.parametrize("role", ["every", "in-bag", "out-of-bag"])
def test_into_the_leaves_and_out_again(role):
    leaf, counts, offsets, generator = random_table(6)
    parts = parts_of(counts)[role]
    weight, V = generator.uniform(size=17), generator.normal(size=(17, 2))
    filled = generator.random(offsets[-1]) < 0.8
    for asks in (parts, np.empty((0, 0), dtype=np.uint8)):
        results = []
        for module in (kernels, naive):
            totals = np.zeros((offsets[-1], 2))
            for first, last in ((0, 3), (3, 5)):
                module.leaf_totals(leaf, parts, weight, V, first, last, totals)
            out, n_asked = np.zeros((17, 2)), np.zeros(17, dtype=np.int64)
            for first, last in ((0, 5), (5, 17)):
                module.walk_out(leaf, asks, totals, filled, first, last, out, n_asked)
            results.append((totals, out, n_asked))
        for got, expected in zip(*results, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("role", ["every", "out-of-bag", "new"])
@pytest.mark.parametrize("cut", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_votes_and_the_places_that_they_weigh(role, cut, prior):
    leaf, counts, offsets, generator = random_table(7)
    parts = np.empty((0, 0), dtype=np.uint8) if role == "new" else parts_of(counts)[role]
    columns = np.array([[0, 3], [1, 3], [2, 4]], dtype=np.int32)  # two labels, three combinations
    spread = np.column_stack([[1.0, 3.0, 20.0], [np.inf, 0.5, 2.0], generator.normal(size=(3, 4))])
    spread[0, 2:] = 0.0  # as it is
    size = generator.integers(0, 4, offsets[-1])  # some leaves are empty
    starts = np.concatenate([[0], np.cumsum(size)])
    group = generator.integers(0, 3, starts[-1]).astype(np.int32)
    content = generator.uniform(0.1, 1.0, size=(starts[-1], 3))
    guide = generator.uniform(size=(17, 5)) if prior else None
    results = []
    for module in (kernels, naive):
        votes, n_asked, out = np.zeros((17, 5)), np.zeros(17, dtype=np.int64), np.zeros((17, 2))
        say = np.zeros((17, 5))
        sums, asked = np.zeros((17, 3)), parts if role != "new" else np.ones_like(counts)
        for first, last in ((0, 0), (0, 1), (1, 17)):
            module.vote_out(leaf, parts, starts, group, content, columns, first, last, votes, n_asked)
            module.weigh_votes(votes, votes if guide is None else guide, columns, cut, first, last, say)
            module.place_by_votes(leaf, parts, starts, group, content, columns, say, prior, spread, first, last, out)
            module.own_group_sums(leaf, asked, starts, group, content, np.arange(17) % 3, first, last, sums)
        results.append((votes, n_asked, say, out, sums))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
    assert np.abs(results[0][3]).max() > 0.1


@pytest.mark.parametrize(("votes", "place"), [([1 / 3, 2 / 3], 3.0), ([0.5, 0.5], 14 / 3)])
def test_a_high_cut_leaves_the_groups_with_most_votes(votes, place):
    leaf = np.array([[0], [1], [2]], dtype=np.int32)
    starts, group = np.arange(4), np.array([0, 1, 1], dtype=np.int32)
    content = np.array([[1.0, 8.0], [1.0, 2.0], [1.0, 4.0]])
    columns, out = np.array([[0], [1]], dtype=np.int32), np.zeros((1, 1))
    every = np.empty((0, 0), dtype=np.uint8)
    votes, say = np.array([votes]), np.zeros((1, 2))
    kernels.weigh_votes(votes, votes, columns, 1.0, 0, 1, say)
    kernels.place_by_votes(leaf, every, starts, group, content, columns, say, 0.0, AS_IT_IS, 0, 1, out)
    assert out[0, 0] == pytest.approx(place, rel=1e-9)


def test_combinations_of_labels_without_a_contender_in_every_label_are_placed_by_the_nearest():
    # Of three labels, the row's leaves hold rows with one dissenting label (at 6) and with two (at 0).
    leaf, starts, group = np.zeros((1, 1), dtype=np.int32), np.array([0, 2]), np.array([0, 1], dtype=np.int32)
    content = np.array([[0.5, 3.0], [0.5, 0.0]])
    columns = np.array([[1, 2, 4], [1, 3, 4]], dtype=np.int32)
    votes = np.array([[0.9, 0.1, 0.9, 0.1, 0.9, 0.1]])
    out, every, say = np.zeros((1, 1)), np.empty((0, 0), dtype=np.uint8), np.zeros((1, 6))
    kernels.weigh_votes(votes, votes, columns, 0.5, 0, 1, say)
    kernels.place_by_votes(leaf, every, starts, group, content, columns, say, 0.0, AS_IT_IS, 0, 1, out)
    assert out[0, 0] == pytest.approx(6.0, abs=1e-9)


def test_a_group_that_no_leaf_holds_is_placed_at_its_centre_if_the_guide_names_it():
    leaf, starts, group = np.zeros((1, 1), dtype=np.int32), np.array([0, 1]), np.zeros(1, dtype=np.int32)
    content, columns = np.array([[1.0, 5.0]]), np.array([[0], [1]], dtype=np.int32)
    spread = np.array([[1.0, np.inf, 0.0, 0.0], [1.0, np.inf, 7.0, 7.0]])
    guide, votes, every = np.array([[0.1, 0.9]]), np.array([[1.5, 0.5]]), np.empty((0, 0), dtype=np.uint8)
    for prior, place in ((0.5, 7.0), (0.0, 5.0)):
        out, say = np.zeros((1, 1)), np.zeros((1, 2))
        kernels.weigh_votes(votes, guide, columns, 0.5, 0, 1, say)
        kernels.place_by_votes(leaf, every, starts, group, content, columns, say, prior, spread, 0, 1, out)
        assert out[0, 0] == pytest.approx(place, rel=1e-9)


@pytest.mark.parametrize("role", ["every", "out-of-bag", "new"])
@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_places_weighed_by_values(role, power):
    leaf, counts, offsets, generator = random_table(8)
    parts = np.empty((0, 0), dtype=np.uint8) if role == "new" else parts_of(counts)[role]
    values, guess = generator.normal(size=(offsets[-1], 4)), generator.normal(size=(17, 2))
    filled = generator.random(offsets[-1]) < 0.8
    got, expected = np.zeros((2, 17, 2))
    for first, last in ((0, 0), (0, 1), (1, 17)):
        for module, out in ((kernels, got), (naive, expected)):
            module.place_by_values(leaf, parts, values, filled, guess, power, first, last, out)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert np.abs(got).max() > 0.1


@pytest.mark.parametrize("n_groups", [1, 3])
def test_entries_of_voted_leaves(n_groups):
    leaf, counts, offsets, generator = random_table(8)
    weight, Y = generator.uniform(size=17), generator.normal(size=(17, 2))
    group = generator.integers(-1, n_groups, size=17).astype(np.int32)  # some rows have none
    for t, (first, last) in enumerate(itertools.pairwise(offsets)):
        results = []
        for module in (kernels, naive):
            sizes, groups, content = np.empty(last - first, int), np.empty(17, np.int32), np.empty((17, 3))
            used = module.fill_voted_leaves(leaf[t], first, counts[t] * weight, group, Y, sizes, groups, content)
            results.append((used, sizes, groups[:used], content[:used]))
        for got, expected in zip(*results, strict=True):
            np.testing.assert_allclose(got, expected, atol=1e-12)
        assert results[0][0] > 0
