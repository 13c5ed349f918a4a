"""The counter-based streams: equal to their twin, uniform, and independent of one another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from manifolia.kernels import random as kernels
from reference import random as naive

WORDS = st.integers(0, 2**64 - 1)
COUNTERS = st.integers(0, 2**62)
# With one draw per test and this level a sound generator fails once in a million runs.
LEVEL = 1e-6


@given(key=WORDS, stream=WORDS, counter=WORDS)
def test_bits_equal_those_of_unbounded_integers(key, stream, counter):
    got = kernels.bits(np.uint64(key), np.uint64(stream), np.uint64(counter))
    assert int(got) == naive.bits(key, stream, counter)


@given(key=WORDS, stream=COUNTERS, counter=COUNTERS, n=st.integers(1, 2**40))
def test_numbers_equal_their_twins(key, stream, counter, n):
    word = np.uint64(key)
    assert kernels.uniform(word, stream, counter) == naive.uniform(key, stream, counter)
    assert kernels.below(word, stream, counter, n) == naive.below(key, stream, counter, n)
    assert kernels.normal(word, stream, counter) == pytest.approx(
        naive.normal(key, stream, counter), rel=1e-12, abs=1e-12
    )


def test_the_mixing_function_is_that_of_splitmix64():
    # First outputs of SplitMix64 with seed 1234567, as printed by its authors' reference program: the state grows by
    # the golden ratio and each output is the mixed state.
    golden = 0x9E3779B97F4A7C15
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [naive.mix((1234567 + (i + 1) * golden) % 2**64) for i in range(4)] == expected
    got = [int(kernels.mix(np.uint64((1234567 + (i + 1) * golden) % 2**64))) for i in range(4)]
    assert got == expected


def test_uniform_is_below_one_and_below_is_below_n(monkeypatch):
    # All bits set gives the largest uniform, 1 - 2^-53.
    monkeypatch.setattr(naive, "bits", lambda *_: 2**64 - 1)
    assert naive.uniform(0, 0, 0) == 1 - 2**-53
    for n in [1, 2, 3, 5, 10, 2**31 - 1, 2**40 + 1]:
        assert naive.below(0, 0, 0, n) == n - 1


def test_rows_equal_their_twin_and_do_not_depend_on_how_they_are_cut(seed):
    key = np.uint64(seed + 17)
    whole, twin = np.empty((23, 7)), np.empty((23, 7))
    kernels.uniform_rows(key, 5, whole)
    naive.uniform_rows(int(key), 5, twin)
    np.testing.assert_array_equal(whole, twin)
    for cuts in ([0, 23], [0, 1, 23], [0, 4, 8, 22, 23], list(range(24))):
        pieces = []
        for start, stop in itertools.pairwise(cuts):
            piece = np.empty((stop - start, 7))
            kernels.uniform_rows(key, 5 + start, piece)
            pieces.append(piece)
        np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_an_empty_range_of_rows_is_allowed():
    kernels.uniform_rows(np.uint64(1), 0, np.empty((0, 3)))


@pytest.fixture
def sample(seed):
    out = np.empty((200, 200))
    kernels.uniform_rows(np.uint64(seed + 1), 0, out)
    return out


def test_each_number_is_uniform(sample):
    for values in (sample.ravel(), sample[:, 0], sample[0]):  # all; across streams; along one stream
        counts, _ = np.histogram(values, bins=20, range=(0, 1))
        assert scipy.stats.chisquare(counts).pvalue > LEVEL


def test_every_bit_is_fair(seed):
    n = 4000
    draws = np.array([kernels.bits(np.uint64(seed), i, 0) for i in range(n)], dtype=np.uint64)
    ones = np.array([(draws >> np.uint64(b) & np.uint64(1)).sum() for b in range(64)], dtype=float)
    assert scipy.stats.chi2.sf(((ones - n / 2) ** 2 / (n / 4)).sum(), 64) > LEVEL


@pytest.mark.parametrize("pair", ["neighbouring streams", "successive counters", "neighbouring keys"])
def test_pairs_are_independent(sample, seed, pair):
    if pair == "neighbouring streams":
        first, second = sample[:-1].ravel(), sample[1:].ravel()
    elif pair == "successive counters":
        first, second = sample[:, :-1].ravel(), sample[:, 1:].ravel()
    else:
        other = np.empty_like(sample)
        kernels.uniform_rows(np.uint64(seed + 2), 0, other)
        first, second = sample.ravel(), other.ravel()
    table, _, _ = np.histogram2d(first, second, bins=8, range=[(0, 1), (0, 1)])
    assert scipy.stats.chi2_contingency(table).pvalue > LEVEL


def test_a_stream_does_not_repeat_another_shifted(sample):
    # Adding the counter to the stream's index would make stream i + 1 the stream i, one number on.
    assert np.unique(sample).size == sample.size


def test_normals_have_the_standard_distribution(seed):
    draws = np.array([kernels.normal(np.uint64(seed), i, j) for i in range(50) for j in range(100)])
    assert scipy.stats.kstest(draws, "norm").pvalue > LEVEL


def test_normals_of_successive_counters_share_no_uniform(seed):
    draws = np.array([[kernels.normal(np.uint64(seed), i, j) for j in range(2)] for i in range(3000)])
    assert abs(np.corrcoef(draws.T)[0, 1]) < 5 / np.sqrt(3000)
    assert abs(np.corrcoef((draws**2).T)[0, 1]) < 5 / np.sqrt(3000)


def test_below_covers_its_range_evenly(seed):
    draws = [kernels.below(np.uint64(seed), i, 0, 7) for i in range(3500)]
    counts = np.bincount(draws, minlength=7)
    assert counts.size == 7
    assert scipy.stats.chisquare(counts).pvalue > LEVEL
