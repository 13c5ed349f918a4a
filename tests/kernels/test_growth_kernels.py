"""Kernels that grow trees against their naive twins: every step by itself, and whole trees."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.forest.coded_tables import code_table
from manifolia.kernels import column_codes, grow_classes, grow_numbers, node_search
from manifolia.kernels.grow_numbers import Entropy
from manifolia.kernels.node_search import Limits
from reference import column_codes as naive_codes
from reference import grow_classes as naive_classes
from reference import grow_numbers as naive_numbers
from reference import node_search as naive_search

NO_WEIGHT = np.empty(0)
COLUMNS = {
    "empty": [],
    "one row": [2.5],
    "constant": [7.0] * 9,
    "all missing": [np.nan] * 4,
    "zeros of both signs": [-0.0, 0.0, 1.0, -1.0, np.nan],
    "huge and tiny": [3e38, -3e38, 1e-45, -1e-45, 0.0, 1e-38, np.inf, -np.inf],
    "duplicates": [3.0, 1.0, 3.0, 2.0, 1.0, np.nan, np.nan, 2.0],
}


def keys_of(values):
    single = np.array(values, dtype=np.float32)
    keys = np.empty(len(single), dtype=np.uint32)
    column_codes.order_values(single.view(np.uint32), keys)
    return keys


def both(kernel, twin, *args):
    """Call a kernel and its twin with copies of the same arguments; return both answers and both sets of arrays."""
    mine, theirs = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    return kernel(*mine), twin(*theirs), mine, theirs


def agree(kernel, twin, *args, but=()):
    """Compare the answers, and the arrays after the call but for those that are only room."""
    answer, expected, mine, theirs = both(kernel, twin, *args)
    np.testing.assert_equal(answer, expected)
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if i not in but and isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
    return answer


# --- codes ---


@pytest.mark.parametrize("name", COLUMNS)
def test_keys_are_in_the_order_of_the_values(name):
    single = np.array(COLUMNS[name], dtype=np.float32)
    agree(column_codes.order_values, naive_codes.order_values, single.view(np.uint32), np.zeros(len(single), np.uint32))
    keys = keys_of(single)
    known = ~np.isnan(single)
    a, b = np.meshgrid(np.flatnonzero(known), np.flatnonzero(known))
    assert ((keys[a] < keys[b]) == (single[a] < single[b])).all()
    assert (keys[~known] == naive_codes.MISSING_KEY).all()


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("edges", [[], [1.0], [-2.0, 0.0, 0.5, 2.0, 100.0]])
def test_columns_are_coded_as_by_hand(name, edges):
    keys, room = keys_of(COLUMNS[name]), [np.zeros(256, np.uint32) for _ in range(2)]
    codes = np.zeros(len(keys), np.uint8)
    for kernel, twin, more in (
        (column_codes.code_distinct, naive_codes.code_distinct, []),
        (column_codes.code_by_edges, naive_codes.code_by_edges, [keys_of(edges)]),
    ):
        answer, expected, mine, theirs = both(kernel, twin, keys, *more, codes, *room)
        assert answer == expected
        np.testing.assert_array_equal(mine[-3], theirs[-3])
        for a, b in zip(mine[-2:], theirs[-2:], strict=True):
            np.testing.assert_array_equal(a[:answer], b[:answer])


@pytest.mark.parametrize(("n_values", "expected"), [(254, 254), (255, 255), (256, -1), (2000, -1)])
def test_up_to_255_values_have_codes_of_their_own(rng, n_values, expected):
    values = rng.permutation(np.concatenate([np.arange(n_values), [np.nan], np.arange(n_values)]))
    codes, room = np.zeros(len(values), np.uint8), [np.zeros(256, np.uint32) for _ in range(2)]
    assert column_codes.code_distinct(keys_of(values), codes, *room) == expected
    if expected > 0:
        np.testing.assert_array_equal(codes, np.where(np.isnan(values), 255, values))


# --- one node, one column ---


def test_columns_are_drawn_without_return(rng):
    for state in rng.integers(0, 2**63, 5).astype(np.uint64):
        order = np.arange(11)
        drawn = []
        for i in range(11):
            agree(node_search.draw_column, naive_search.draw_column, order, i, state)
            drawn.append(int(node_search.draw_column(order, i, state)))
        assert sorted(drawn) == list(range(11))
    firsts = [int(node_search.draw_column(np.arange(5), 0, np.uint64(s))) for s in rng.integers(0, 2**63, 2000)]
    assert np.bincount(firsts, minlength=5).min() > 300  # 400 each, with a spread of 18


@pytest.fixture(params=[1, 2, 20, 32, 33, 100, 400], ids="{} rows".format)
def node(request, rng):
    """A node amid the words of a tree, and a table with a coarse column, a fine one and one with gaps."""
    size, n, start = request.param, 900, 7
    X = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n), rng.integers(0, 9, n)]).astype(np.float32)
    X[rng.random(n) < 0.3, 2] = np.nan
    table = code_table(X)
    rows = np.sort(rng.choice(n, size + 2 * start, replace=False)).astype(np.uint64)
    words = rows | (rng.integers(0, 3, len(rows)).astype(np.uint64) << np.uint64(32))
    words |= rng.integers(1, 4, len(rows)).astype(np.uint64) << np.uint64(48)
    return table, words, start, size


@pytest.mark.parametrize("f", range(3))
@pytest.mark.parametrize("by_place", [False, True])
def test_rows_are_read_and_sorted(node, f, by_place):
    table, words, start, size = node
    codes, count = np.zeros(size, np.uint8), np.zeros(256, np.int64)
    pairs, spare = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    for by_row in (False, True):
        read = (table.columns, table.rows, f, by_row, words, start, size, codes)
        agree(node_search.gather_codes, naive_search.gather_codes, *read)
    node_search.gather_codes(table.columns, table.rows, f, True, words, start, size, codes)
    n_codes = int(table.n_codes[f])
    agree(
        node_search.sort_by_code, naive_search.sort_by_code, codes, words, start, size, n_codes, by_place, pairs, count,
        but=(7,),
    )  # fmt: skip
    node_search.sort_by_code(codes, words, start, size, n_codes, by_place, pairs, count)
    agree(node_search.count_values, naive_search.count_values, pairs, size, False)
    if f != 1:
        return  # keys decide in fine columns only
    args = (table.keys, f, codes, words, start, size, n_codes, by_place, pairs, spare, count)
    _, _, mine, theirs = both(node_search.sort_by_key, naive_search.sort_by_key, *args)
    np.testing.assert_array_equal(mine[8] >> np.uint64(32), theirs[8] >> np.uint64(32))
    np.testing.assert_array_equal(np.sort(mine[8]), theirs[8])
    agree(node_search.count_values, naive_search.count_values, mine[8], size, True)


def test_many_rows_of_one_bin_are_sorted_by_their_keys(rng):
    X = rng.normal(size=(3000, 1)).astype(np.float32)
    table = code_table(X)
    words = np.arange(3000, dtype=np.uint64)
    codes, count = np.zeros(3000, np.uint8), np.zeros(256, np.int64)  # as if all lay in one bin
    pairs, spare = np.zeros(3000, np.uint64), np.zeros(3000, np.uint64)
    node_search.sort_by_key(table.keys, 0, codes, words, 0, 3000, 1, True, pairs, spare, count)
    np.testing.assert_array_equal(pairs & np.uint64(2**32 - 1), np.argsort(X[:, 0]))


@pytest.mark.parametrize("missing_left", [False, True])
def test_rows_are_moved_to_their_side_in_order(node, missing_left):
    table, words, start, size = node
    marks, moved = np.zeros(size, np.uint8), np.zeros(size, np.uint64)
    for f, by_key, last in ((0, False, 1), (2, False, 3), (1, True, int(keys_of([0.1])[0])), (2, True, 2**32 - 2)):
        for by_row in (False, True):
            args = (table.columns, table.rows, table.keys, f, by_key, by_row, words, start, size, last, missing_left)
            agree(node_search.mark_left, naive_search.mark_left, *args, marks)
            node_search.mark_left(*args, marks)
            agree(node_search.move_words, naive_search.move_words, words, start, size, marks, moved, but=(4,))
            parts = np.arange(3.0 * len(words)).reshape(-1, 3)
            room = np.zeros((size, 3))
            agree(grow_numbers.move_parts, naive_numbers.move_parts, parts, start, size, marks, room, but=(4,))


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.0, 2.0), (-3.0, 5.0), (-0.0, 1e-45), (-3e38, 3e38), (1.0, np.nextafter(np.float32(1), np.float32(2)))],
)
def test_thresholds_lie_between_values(a, b):
    room = np.zeros(2, np.uint32)
    last, first = (int(key) for key in keys_of([a, b]))
    found = node_search.threshold(last, first, room, room.view(np.float32))
    assert found == naive_search.threshold(last, first, room, room.view(np.float32))
    assert np.float32(a) <= found < np.float32(b)


def test_arrays_are_enlarged():
    larger, expected = node_search.enlarged(np.eye(3), 7), naive_search.enlarged(np.eye(3), 7)
    assert larger.shape == expected.shape
    np.testing.assert_array_equal(larger[:3], expected[:3])


# --- the search for a split ---


@pytest.mark.parametrize("best", [-1.0, 30.0, 1e9])
@pytest.mark.parametrize("min_leaf", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("f", [0, 2])
def test_the_best_split_is_found_among_rows_and_among_codes(node, rng, f, weighted, min_leaf, best):
    table, words, start, size = node
    # Whole numbers and eighths: their sums are exact in any order.
    weight = rng.integers(1, 20, 900) / 8 if weighted else NO_WEIGHT
    codes, count = np.zeros(size, np.uint8), np.zeros(256, np.int64)
    pairs, left = np.zeros(size, np.uint64), np.zeros(4)  # three classes, padded
    node_search.gather_codes(table.columns, table.rows, f, True, words, start, size, codes)
    cells, n_rows, used = np.zeros((256, 4)), np.zeros(256, np.int64), np.zeros(257, np.int64)
    for n_copied in (False, True):
        counted = (table.columns[f], codes, n_copied, words, start, size, weight, cells, n_rows)
        agree(grow_classes.count_classes, naive_classes.count_classes, *counted)
    grow_classes.count_classes(*counted)
    n_used = agree(node_search.list_used, naive_search.list_used, n_rows, int(table.n_codes[f]), used, but=(2,))
    node_search.list_used(n_rows, int(table.n_codes[f]), used)
    total = cells.sum(axis=0)
    whole, square = total.sum(), (total**2).sum()
    node_search.sort_by_code(codes, words, start, size, int(table.n_codes[f]), weighted, pairs, count)
    n_values = node_search.count_values(pairs, size, False)
    by_rows = both(
        grow_classes.scan_classes, naive_classes.scan_classes,
        pairs, n_values, words, start, size, weight, left, total, whole, square, best, min_leaf,
    )[:2]  # fmt: skip
    by_codes = both(
        grow_classes.scan_cells, naive_classes.scan_cells,
        cells, n_rows, used, n_used, size, left, total, whole, square, best, min_leaf,
    )[:2]  # fmt: skip
    same_split(*by_rows)
    same_split(*by_codes)
    same_split(by_rows[0], by_codes[0])
    node_search.clear_cells(cells, n_rows, used, n_used)
    assert not cells.any()
    assert not n_rows.any()


def same_split(one, other, *, exact=True):
    assert one[0] == (other[0] if exact else pytest.approx(other[0], rel=1e-12))
    assert one[3] == other[3]
    if one[3] >= 0:
        assert one[1] == other[1] or one[3] == naive_search.GAPS_ALONE
        assert one[2] == other[2] or one[3] == naive_search.GAPS_ALONE


OUTPUTS = {
    "one": (1, None, lambda rng, n: rng.integers(-16, 16, (n, 1)) / 4),
    "three": (3, None, lambda rng, n: rng.integers(-16, 16, (n, 3)) / 4),
    "entropy": (5, Entropy(2.0, np.log(6)), lambda rng, n: flags(rng, n)),
}


def flags(rng, n):
    """Two outputs, of three classes and of two, as a column of zeros and ones for each class."""
    return np.hstack([np.eye(3)[rng.integers(0, 3, n)], np.eye(2)[rng.integers(0, 2, n)]])


def test_entropy_by_closed_forms():
    """Halves of two classes: one bit; a class alone: none; a split that separates is worth the whole weight."""
    two = Entropy(1.0, np.log(2))
    for module in (grow_numbers, naive_numbers):
        assert [module.x_log_x(x) for x in (0.0, 1.0)] == [0.0, 0.0]
        parts = np.column_stack([np.full(4, 1.5), np.repeat(np.eye(2), 2, axis=0)])
        assert module.node_error(parts, 0, 4, 6.0, np.array([0.5, 0.5]), two) == pytest.approx(6.0 * np.log(2))
        assert module.node_error(parts, 0, 2, 3.0, np.array([1.0, 0.0]), two) == 0.0
        value = lambda left, w: np.divide(*module.split_gain(left, np.array([3.0, 3.0]), w, 6.0 - w, two))  # noqa: B023, E731
        assert value(np.array([3.0, 0.0]), 3.0) == pytest.approx(6.0)
        assert value(np.array([1.5, 1.5]), 3.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("best", [-1.0, 1e9])
@pytest.mark.parametrize("min_leaf", [1, 4])
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("f", [0, 2])
def test_the_best_split_of_numbers_is_found(node, rng, f, outputs, min_leaf, best):
    table, words, start, size = node
    n_outputs, entropy, make = OUTPUTS[outputs]
    parts = np.column_stack([rng.integers(1, 5, len(words)), make(rng, len(words))])
    codes, count = np.zeros(size, np.uint8), np.zeros(256, np.int64)
    pairs, left = np.zeros(size, np.uint64), np.zeros(n_outputs)
    node_search.gather_codes(table.columns, table.rows, f, True, words, start, size, codes)
    cells, n_rows, used = np.zeros((256, 1 + n_outputs)), np.zeros(256, np.int64), np.zeros(257, np.int64)
    for n_copied in (False, True):
        counted = (table.columns[f], codes, n_copied, words, start, size, parts, cells, n_rows)
        agree(grow_numbers.count_numbers, naive_numbers.count_numbers, *counted)
    grow_numbers.count_numbers(*counted)
    n_used = node_search.list_used(n_rows, int(table.n_codes[f]), used)
    total, whole = cells[:, 1:].sum(axis=0), cells[:, 0].sum()
    node_search.sort_by_code(codes, words, start, size, int(table.n_codes[f]), True, pairs, count)
    n_values = node_search.count_values(pairs, size, False)
    by_rows = both(
        grow_numbers.scan_numbers, naive_numbers.scan_numbers,
        pairs, n_values, parts, start, size, left, total, whole, best, min_leaf, entropy,
    )[:2]  # fmt: skip
    by_codes = both(
        grow_numbers.scan_sums, naive_numbers.scan_sums,
        cells, n_rows, used, n_used, size, left, total, whole, best, min_leaf, entropy,
    )[:2]  # fmt: skip
    same_split(*by_rows, exact=entropy is None)
    same_split(*by_codes, exact=entropy is None)
    same_split(by_rows[0], by_codes[0])
    mine, theirs = both(
        grow_numbers.split_gain, naive_numbers.split_gain, total * 0.25, total, whole * 0.25, whole * 0.75, entropy
    )[:2]
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("best", [-1.0, 1e9])
@pytest.mark.parametrize("min_leaf", [1, 4])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("size", [2, 5, 100])
def test_columns_of_two_values_have_one_split(rng, size, n_outputs, min_leaf, best):
    parts = np.column_stack([rng.integers(1, 5, size + 7), rng.integers(-16, 16, (size + 7, n_outputs)) / 4])
    codes = rng.permutation(np.concatenate([[0, 1], rng.integers(0, 2, size - 2)])).astype(np.uint8)
    own = parts[7:]
    total, whole = (own[:, :1] * own[:, 1:]).sum(axis=0), own[:, 0].sum()
    args = (codes, parts, 7, size, total, whole, best, min_leaf)
    assert grow_numbers.split_two_numbers(*args) == naive_numbers.split_two_numbers(*args)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps_left", [False, True])
@pytest.mark.parametrize(("size", "n_bins"), [(60, 3), (700, 3), (700, 200)])
@pytest.mark.parametrize("min_leaf", [1, 20])
def test_a_cut_is_refined_inside_the_bins_beside_it(rng, size, n_bins, min_leaf, gaps_left, weighted):
    n, start = 900, 7
    X = rng.normal(size=(n, 1)).astype(np.float32)
    X[rng.random(n) < 0.2] = np.nan
    table = code_table(X)
    codes = table.columns[0]
    coarse = np.where(codes == 255, 255, codes // (255 // n_bins)).astype(np.uint8)[np.newaxis]
    table = table._replace(columns=coarse, rows=np.ascontiguousarray(coarse.T))
    words = np.sort(rng.choice(n, size + 2 * start, replace=False)).astype(np.uint64)
    words |= rng.integers(0, 3, len(words)).astype(np.uint64) << np.uint64(32)
    words |= rng.integers(1, 4, len(words)).astype(np.uint64) << np.uint64(48)
    marks, pairs, spare = np.zeros(size, np.uint8), np.zeros(size, np.uint64), np.zeros(size, np.uint64)
    last, first = n_bins // 2, n_bins // 2 + 1
    for by_row in (False, True):
        args = (table, 0, by_row, words, start, size, last, first, gaps_left, marks, pairs)
        n_near = agree(node_search.gather_beside, naive_search.gather_beside, *args)
    node_search.gather_beside(*args)
    count = np.zeros(256, np.int64)
    agree(node_search.sort_pairs, naive_search.sort_pairs, pairs, spare, n_near, count, but=(1, 3))
    node_search.sort_pairs(pairs, spare, n_near, count)
    weight = rng.integers(1, 20, n) / 8 if weighted else NO_WEIGHT
    read = [naive_classes.read_word(word, weight) for word in words[start : start + size]]
    total = np.bincount([k for _, k, _ in read], [w for _, _, w in read], minlength=4)
    args = (pairs, n_near, marks, words, start, size, weight, np.zeros(4), total, total.sum(), min_leaf)
    refined = both(grow_classes.refine_classes, naive_classes.refine_classes, *args)[:2]
    assert tuple(refined[0]) == tuple(refined[1])
    parts = np.column_stack([rng.integers(1, 5, len(words)), rng.integers(-16, 16, (len(words), 2)) / 4])
    own = parts[start : start + size]
    total, whole = (own[:, :1] * own[:, 1:]).sum(axis=0), own[:, 0].sum()
    args = (pairs, n_near, marks, parts, start, size, np.zeros(2), total, whole, min_leaf, None)
    refined = both(grow_numbers.refine_numbers, naive_numbers.refine_numbers, *args)[:2]
    assert tuple(refined[0]) == tuple(refined[1])
    told = np.column_stack([parts[:, 0], flags(rng, len(parts))])
    total = (told[start : start + size, :1] * told[start : start + size, 1:]).sum(axis=0)
    args = (pairs, n_near, marks, told, start, size, np.zeros(5), total, whole, min_leaf, Entropy(2.0, np.log(6)))
    by_entropy = both(grow_numbers.refine_numbers, naive_numbers.refine_numbers, *args)[:2]
    assert tuple(by_entropy[0]) == tuple(by_entropy[1])
    agree(node_search.mark_beside, naive_search.mark_beside, pairs, n_near, int(refined[0][0]), marks)


# --- whole trees ---

TABLES = {
    "coarse": lambda rng, n: rng.integers(0, 5, (n, 4)),
    "fine": lambda rng, n: rng.normal(size=(n, 4)),
    "gaps": lambda rng, n: np.where(rng.random((n, 4)) < 0.3, np.nan, rng.integers(0, 9, (n, 4))),
    "fine with gaps": lambda rng, n: np.where(rng.random((n, 3)) < 0.2, np.nan, rng.normal(size=(n, 3))),
    "constant columns": lambda rng, n: np.column_stack([np.ones(n), np.full(n, np.nan), rng.integers(0, 3, n)]),
    "256 values": lambda rng, n: np.concatenate([np.arange(256), rng.integers(0, 256, 3 * n)])[: 2 * n].reshape(n, 2),
    "two values": lambda rng, n: rng.integers(0, 2, (n, 5)) * [1, 2, 3, 4, -5],
    "duplicates": lambda rng, n: np.repeat(rng.normal(size=(-(-n // 4), 3)), 4, axis=0)[:n],
}
LIMITS = {
    "to purity": Limits(2, 2, 1, 2**31 - 1, 40),
    "leaves of 3": Limits(1, 2, 3, 2**31 - 1, 0),
    "shallow": Limits(4, 8, 1, 4, 2**31 - 1),
}


def same_tree(grown, expected):
    words, values, n_nodes, depth = grown
    naive_words, naive_values, naive_n_nodes, naive_depth = expected
    assert (n_nodes, depth) == (naive_n_nodes, naive_depth)
    whole = [0, 1, 2, 5, 7]
    np.testing.assert_array_equal(words[:n_nodes, whole], naive_words[:, whole])
    doubles, naive_doubles = words[:n_nodes].view(np.float64), naive_words.view(np.float64)
    np.testing.assert_array_equal(doubles[:, 3], naive_doubles[:, 3])
    np.testing.assert_allclose(doubles[:, [4, 6]], naive_doubles[:, [4, 6]], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values[:n_nodes], naive_values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [1, 2, 60, 400])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_classes_are_those_grown_by_hand(rng, name, limits, n, weighted):
    table = code_table(TABLES[name](rng, n).astype(np.float32))
    bag, classes = rng.integers(0, 4, n).astype(np.uint16), rng.integers(0, 3, n).astype(np.uint16)
    bag[0] = 1
    weight = rng.integers(0, 9, n) / 4 + (np.arange(n) == 0) if weighted else NO_WEIGHT
    args = (table, classes, bag, weight, 3, LIMITS[limits], np.uint64(11), 4)
    room = np.empty((3, 8), np.int64), np.empty((3, 3))  # too little: it is enlarged
    same_tree(grow_classes.grow_classes(*args, *room), naive_classes.grow_classes(*args, *room))
    np.testing.assert_array_equal(
        grow_classes.class_words(bag, classes, weight), naive_classes.class_words(bag, classes, weight)
    )


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("n", [1, 2, 60, 400])
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_numbers_are_those_grown_by_hand(rng, name, limits, n, outputs, weighted):
    n_outputs, entropy, make = OUTPUTS[outputs]
    table = code_table(TABLES[name](rng, n).astype(np.float32))
    bag, outputs = rng.integers(0, 4, n).astype(np.uint16), make(rng, n)
    bag[0] = 1
    weight = rng.integers(0, 9, n) / 4 + (np.arange(n) == 0) if weighted else NO_WEIGHT
    args = (table, outputs, bag, weight, 1.0 / n_outputs, entropy, LIMITS[limits], np.uint64(11), 4)
    room = np.empty((3, 8), np.int64), np.empty((3, n_outputs))
    same_tree(grow_numbers.grow_numbers(*args, *room), naive_numbers.grow_numbers(*args, *room))
    for mine, theirs in zip(
        grow_numbers.number_parts(bag, outputs, weight), naive_numbers.number_parts(bag, outputs, weight), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
