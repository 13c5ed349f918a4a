"""Random states: what comes in, what goes out, and that 0 is a seed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import check_random_state

from manifolia._core.random import as_generator, as_key, as_seed, draw_by_class, spawn_seeds

CONVERSIONS = [as_generator, as_seed, as_key, lambda state: spawn_seeds(state, 3)]


def value(result):
    return result.integers(0, 2**63) if isinstance(result, np.random.Generator) else result


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("seed", [0, 1, np.int64(7), np.uint32(2**32 - 1), 2**32, 2**100])
def test_an_int_gives_the_same_on_every_call(convert, seed):
    assert value(convert(seed)) == value(convert(seed))
    assert value(convert(int(seed))) == value(convert(seed))


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_zero_is_a_seed_and_none_is_not(convert):
    assert value(convert(0)) == value(convert(0))
    assert value(convert(0)) != value(convert(1))
    assert value(convert(None)) != value(convert(None))


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_an_object_is_advanced_and_repeats_when_made_again(convert, kind):
    state = kind(5)
    first, second = value(convert(state)), value(convert(state))
    assert first != second
    again = kind(5)
    assert [value(convert(again)), value(convert(again))] == [first, second]


def test_a_generator_is_returned_as_it_is():
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator


def test_the_global_state_is_neither_read_nor_changed():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for convert in CONVERSIONS:
        convert(None)
        convert(3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("bad", [True, False, np.True_, 1.0, "0", np.random, [1, 2]])
def test_other_kinds_are_refused(convert, bad):
    with pytest.raises(TypeError, match=r"random_state must be an int, .* or None, got .* of type"):
        convert(bad)


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("bad", [-1, np.int64(-5)])
def test_negative_seeds_are_refused(convert, bad):
    with pytest.raises(ValueError, match=r"random_state must be at least 0, got .*-\d"):
        convert(bad)


def test_a_small_int_reaches_scikit_learn_unchanged():
    for seed in (0, 42, 2**32 - 1, np.int64(9)):
        assert as_seed(seed) == seed
        assert type(as_seed(seed)) is int
    assert as_seed(2**32) != 2**32


@pytest.mark.parametrize("state", [None, 2**40, np.random.RandomState(1), np.random.default_rng(1)])
def test_scikit_learn_accepts_every_seed(state):
    for _ in range(20):
        seed = as_seed(state)
        assert 0 <= seed < 2**32
        check_random_state(seed)


def test_keys_use_all_64_bits():
    keys = [as_key(seed) for seed in range(200)]
    assert all(type(key) is np.uint64 for key in keys)
    assert len(set(keys)) == 200
    ones = sum(np.array([(int(key) >> bit) & 1 for bit in range(64)]) for key in keys)
    assert ones.min() > 50  # each bit is set in about a hundred of them
    assert ones.max() < 150


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)])
def test_the_first_seeds_do_not_depend_on_how_many_are_drawn(make):
    many = spawn_seeds(make(), 50)
    assert len(set(many)) == 50
    assert all(0 <= seed < 2**32 for seed in many)
    for k in (0, 1, 7):
        assert spawn_seeds(make(), k) == many[:k]


def test_classes_are_drawn_in_proportion():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [600, 300, 7]))
    rows = draw_by_class(codes, 100, 0)
    assert (np.diff(rows) > 0).all()
    counts = np.bincount(codes[rows], minlength=3)
    assert np.abs(counts - 100 * np.bincount(codes) / len(codes)).max() < 1
    np.testing.assert_array_equal(draw_by_class(codes, 907, 0), np.arange(907))
    assert (draw_by_class(codes, 100, 1) != rows).any()
