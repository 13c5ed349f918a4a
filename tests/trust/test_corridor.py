"""The dip test: critical values that were published, its level, and its power."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.trust.corridor import QUANTILES, SHARES, SIZES, dip_test

#: Hartigan and Hartigan's Table 1, as Maechler computed it again from a million samples: n to the dips that half, a
#: tenth, a twentieth and a hundredth of the uniform samples exceed.
PUBLISHED = {
    10: (0.0978, 0.1305, 0.1396, 0.1597),
    20: (0.0733, 0.0972, 0.1051, 0.1206),
    50: (0.0489, 0.0649, 0.0703, 0.0812),
    100: (0.0355, 0.0472, 0.0511, 0.0590),
    200: (0.0256, 0.0340, 0.0368, 0.0427),
    1000: (0.01174, 0.01561, 0.01693, 0.01961),
}


@pytest.mark.parametrize("n", PUBLISHED)
def test_the_table_has_the_published_critical_values(n):
    own = [QUANTILES[SIZES.index(n)][SHARES.index(share)] / np.sqrt(n) for share in (0.5, 0.1, 0.05, 0.01)]
    assert own == pytest.approx(PUBLISHED[n], rel=0.01)


@pytest.mark.parametrize("n", [12, 70, 300])
def test_uniform_samples_keep_the_level_between_the_sizes_of_the_table(rng, n):
    p = np.array([dip_test(rng.random(n)).p for _ in range(2000)])
    for level in (0.05, 0.2, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=4.0 * np.sqrt(level * (1.0 - level) / 2000))


def test_normal_samples_have_one_mode_and_two_heaps_have_not(rng):
    assert sum(dip_test(rng.normal(size=200)).p <= 0.05 for _ in range(100)) == 0
    found = [dip_test(np.concatenate([rng.normal(size=60), rng.normal(5.0, size=60)])).p for _ in range(50)]
    assert max(found) <= 0.005


def test_few_and_equal_values():
    assert np.isnan(dip_test(np.arange(3.0)).p)
    assert dip_test(np.ones(30)).p == 1.0
    assert dip_test(np.repeat([0.0, 1.0], 30)).p == pytest.approx(0.001)
