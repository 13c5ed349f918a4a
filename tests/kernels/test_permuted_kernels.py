"""Neighbours under a permuted feature: the kernel against its twin and against distances computed afresh."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from manifolia.kernels import permuted
from reference import permuted as reference


def setting(rng, m, n, d, *, whole=False):
    test, learn = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    if whole:  # many ties
        test, learn = np.rint(test), np.rint(learn)
    return test, learn, cdist(test, learn, "sqeuclidean")


@pytest.mark.parametrize(("m", "n", "d", "k"), [(7, 30, 4, 5), (1, 1, 1, 1), (5, 3, 2, 3), (4, 40, 1, 1), (0, 5, 2, 2)])
@pytest.mark.parametrize("whole", [False, True])
def test_equals_its_twin(rng, m, n, d, k, whole):
    test, learn, squared = setting(rng, m, n, d, whole=whole)
    source = rng.permutation(m)
    got, expected = np.full((m, k), -1), np.full((m, k), -2)
    arguments = squared, test[:, 0].copy(), learn[:, 0].copy(), source
    permuted.permuted_neighbors(*arguments, got)
    reference.permuted_neighbors(*arguments, expected)
    np.testing.assert_array_equal(got, expected)


def test_equals_distances_with_the_feature_permuted(rng):
    test, learn, squared = setting(rng, 20, 60, 5)
    source = rng.permutation(20)
    changed = test.copy()
    changed[:, 3] = test[source, 3]
    got = np.empty((20, 6), dtype=np.int64)
    permuted.permuted_neighbors(squared, test[:, 3].copy(), learn[:, 3].copy(), source, got)
    np.testing.assert_array_equal(got, np.argsort(cdist(changed, learn), axis=1)[:, :6])


def test_the_identity_changes_nothing_and_a_constant_feature_neither(rng):
    test, learn, squared = setting(rng, 10, 25, 3)
    plain = np.argsort(squared, axis=1, kind="stable")[:, :4]
    got = np.empty((10, 4), dtype=np.int64)
    permuted.permuted_neighbors(squared, test[:, 0].copy(), learn[:, 0].copy(), np.arange(10), got)
    np.testing.assert_array_equal(got, plain)
    permuted.permuted_neighbors(squared, np.ones(10), np.ones(25), rng.permutation(10), got)
    np.testing.assert_array_equal(got, plain)
