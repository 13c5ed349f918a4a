"""The dip: equal to its twin's linear programs, and what the definition says of small samples."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.kernels.dip import dip
from reference import dip as naive


def steps(sample):
    x, counts = np.unique(np.asarray(sample, dtype=float), return_counts=True)
    return x, np.concatenate([[0], np.cumsum(counts)])


@pytest.mark.parametrize("kind", ["normal", "two heaps", "rounded", "outlier"])
def test_equals_the_least_of_all_linear_programs(rng, kind):
    for _ in range(12):
        n = int(rng.integers(2, 13))
        sample = rng.normal(size=n)
        if kind == "two heaps":
            sample[n // 2 :] += 6.0
        if kind == "rounded":
            sample = np.round(2.0 * sample)
        if kind == "outlier":
            sample[0] = 1e6
        assert dip(*steps(sample)) == pytest.approx(naive.dip(*steps(sample)), abs=1e-7)


def test_one_row_equal_rows_and_two_heaps():
    assert dip(*steps([3.0])) == 0.5
    assert dip(*steps([3.0] * 8)) == 1 / 16  # a single point has one mode; the least dip of n rows is 1 / 2n
    assert dip(*steps(np.arange(10.0))) == pytest.approx(1 / 20)  # equally spaced: as even as can be
    assert dip(*steps([0.0] * 5 + [1.0] * 5)) == pytest.approx(0.25)  # the largest dip there is


def test_scale_and_direction_do_not_matter(rng):
    sample = np.concatenate([rng.normal(size=40), rng.normal(5.0, 2.0, size=30)])
    expected = dip(*steps(sample))
    assert dip(*steps(-sample)) == pytest.approx(expected, abs=1e-12)
    assert dip(*steps(8.0 * sample + 1.0)) == pytest.approx(expected, abs=1e-12)
