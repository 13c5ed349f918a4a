"""Places of rows: against naive counts, on maps where the answer is known, and for what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import comb

from manifolia.exceptions import ParameterError
from manifolia.trust import row_places, torn_share
from manifolia.trust.places import TORN_SHARE, resolve_k, torn_limit
from manifolia.trust.sides import profiles_of


def naive(X, Y, k, groups=None):
    """hit, back, p and torn share of every row, by sorting all distances."""
    n = len(X)
    groups = np.arange(n) if groups is None else groups
    out = []
    for i in range(n):
        others = [j for j in range(n) if groups[j] != groups[i]]
        d, m = ({j: float(((S[i] - S[j]) ** 2).sum()) for j in others} for S in (X, Y))

        def first(of, count):
            last = sorted(of.values())[count - 1]
            return {j for j, value in of.items() if value <= last}

        hit, back = first(m, k) & first(d, 3 * k), first(d, k) & first(m, 3 * k)
        p = max(
            tail(len(others), len(first(d, 3 * k)), len(first(m, k)), len(hit)),
            tail(len(others), len(first(m, 3 * k)), len(first(d, k)), len(back)),
        )
        near, far = first(d, k), first(m, min(max(5 * k, n // 10), len(others)))
        weight = {j: (1 + sum(value < d[j] for value in d.values())) ** -0.5 for j in near}
        out.append((len(hit), len(back), p, sum(weight[j] for j in near - far) / sum(weight.values())))
    return np.array(out).T


def tail(n_all, marked, drawn, least):
    """Chance of drawing at least that many marked ones, from binomial coefficients."""
    ways = sum(comb(marked, c, exact=True) * comb(n_all - marked, drawn - c, exact=True)
               for c in range(least, min(marked, drawn) + 1))  # fmt: skip
    return ways / comb(n_all, drawn, exact=True)


@pytest.mark.parametrize("kind", ["numbers", "ties", "groups"])
def test_counts_are_those_of_sorting_all_distances(rng, kind):
    X = rng.normal(size=(90, 4)) if kind != "ties" else rng.integers(0, 3, size=(90, 2)).astype(float)
    Y = X[:, :2] + 0.4 * rng.normal(size=(90, 2))
    groups = np.arange(90) // 3 if kind == "groups" else None
    found = row_places(X, Y, groups=groups)
    hits, back, p, torn = naive(X, Y, found.k, groups)
    assert found.k == 7
    np.testing.assert_array_equal(found.hits, hits)
    np.testing.assert_array_equal(found.back, back)
    np.testing.assert_allclose(found.p, p, rtol=1e-9)
    np.testing.assert_allclose(torn_share(X, Y, groups=groups), torn)


def test_a_map_that_is_the_data_turned_has_no_doubtful_row(rng):
    X = rng.normal(size=(400, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    found = row_places(X, 3.0 * X @ turn + 5.0)
    assert (found.p <= 0.01).all()
    assert (found.torn == 0.0).all()


def test_exchanged_rows_are_found_and_hardly_any_other(rng):
    own = rng.integers(0, 5, 600)
    Y = 12.0 * np.column_stack([np.cos(1.2 * own), np.sin(1.2 * own)]) + rng.normal(size=(600, 2))
    X = np.column_stack([Y, 0.3 * rng.normal(size=(600, 3))])
    one, other = (rng.choice(np.flatnonzero(own == code), 6, replace=False) for code in (0, 2))
    moved = np.concatenate([one, other])
    Y[moved] = Y[np.concatenate([other, one])]
    called = row_places(X, Y).p > 0.025
    assert called[moved].all()
    assert called.sum() - 12 <= 0.05 * 600


def test_random_places_look_random(rng):
    X = rng.normal(size=(500, 3))
    p = row_places(X, rng.normal(size=(500, 2))).p
    assert (p > 0.025).mean() > 0.95


def test_a_torn_line_is_torn_at_the_tear_only():
    X = np.linspace(0, 1, 300)[:, np.newaxis]
    shares = torn_share(X, X + 5.0 * (X > 0.5))
    torn = np.flatnonzero(shares >= TORN_SHARE)
    assert shares[149] == max(shares)
    assert set(torn) <= set(range(140, 160))
    assert {149, 150} <= set(torn)


def test_order_and_scale_of_rows_do_not_matter(rng):
    X, Y = rng.normal(size=(120, 3)), rng.normal(size=(120, 2))
    order = rng.permutation(120)
    before, after = row_places(X, Y), row_places(4.0 * X[order], Y[order] + 2.0)
    np.testing.assert_array_equal(before.hits[order], after.hits)
    np.testing.assert_array_equal(before.p[order], after.p)


def test_threads_do_not_change_a_bit(rng):
    X, Y = rng.normal(size=(300, 6)), rng.normal(size=(300, 2))
    one, two = (row_places(X, Y, n_jobs=jobs) for jobs in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_small_tables_look_at_fewer_neighbours():
    assert [resolve_k(n) for n in (5, 40, 178, 180, 5000)] == [1, 3, 14, 15, 15]


def test_too_few_rows_and_too_large_groups_are_refused(rng):
    with pytest.raises(ParameterError, match="X has 4 rows, too few"):
        row_places(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
    groups = np.r_[np.zeros(90), np.arange(1, 11)]
    with pytest.raises(ParameterError, match="groups leave a row of the largest group 10 other rows"):
        row_places(rng.normal(size=(100, 2)), rng.normal(size=(100, 2)), groups=groups)


def test_likeness_of_profiles_is_their_hellinger_affinity():
    P = np.array([[0.0, 3.0, 1.0], [0.0, 6.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 2.0, 0.0]])
    side = profiles_of(P)
    part = np.sqrt(0.5)
    mixed = 1.0 - np.sqrt(0.75 * 0.5)
    expected = [
        [0.0, 0.0, 1.0, 1.0, mixed],
        [0.0, 0.0, 1.0, 1.0, mixed],
        [1.0, 1.0, 0.0, 1.0, 1.0 - part],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        [mixed, mixed, 1.0 - part, 1.0, 0.0],
    ]
    np.testing.assert_allclose(side.keys(np.arange(5)), expected, atol=1e-12)
    assert side.empty.tolist() == [3]


def test_what_is_usual_in_a_map_is_not_torn():
    assert torn_limit(np.r_[np.zeros(90), np.full(10, 0.5)]) == TORN_SHARE
    assert torn_limit(np.full(100, 0.3)) == pytest.approx(TORN_SHARE + 0.6)
