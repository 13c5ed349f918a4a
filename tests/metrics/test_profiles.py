"""The order inside classes: worked examples, naive loops, what maps of every kind score, and invariances."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.metrics import profiles
from manifolia.metrics.profiles import inner_structure


def rotated(Y: np.ndarray, angle: float = 0.7, scale: float = 3.0) -> np.ndarray:
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    return scale * Y @ turn + [5.0, -2.0]


def proximities(rng, n=120, m=None, density=0.3):
    """Rows of proximities, most of them 0, each with its own sum."""
    P = rng.gamma(0.5, size=(n, n if m is None else m))
    P[rng.random(P.shape) > density] = 0.0
    return P * rng.uniform(0.1, 9.0, size=(n, 1))


def naive_inner(P, Y, y, k):
    """Loops over rows; ties share what the k-th place leaves them."""

    def membership(distances):
        border = sorted(distances.values())[k - 1]
        before = [other for other, d in distances.items() if d < border - 1e-9]
        tied = [other for other, d in distances.items() if abs(d - border) <= 1e-9]
        return {**dict.fromkeys(before, 1.0), **dict.fromkeys(tied, (k - len(before)) / len(tied))}

    shares = []
    for i in range(len(y)):
        others = [other for other in range(len(y)) if y[other] == y[i] and other != i]
        if len(others) <= k or P[i].sum() == 0:
            continue
        affinity = {}
        for other in others:
            total = P[other].sum() or 1.0
            affinity[other] = sum(math.sqrt(p / P[i].sum() * q / total) for p, q in zip(P[i], P[other], strict=True))
        alike = membership({other: -value for other, value in affinity.items()})
        near = membership({other: float(np.linalg.norm(Y[i] - Y[other])) for other in others})
        shares.append(sum(share * near.get(other, 0.0) for other, share in alike.items()) / k)
    return np.mean(shares)


@pytest.mark.parametrize("k", [1, 5])
def test_inner_structure_is_that_of_loops(k, rng, monkeypatch):
    P, Y, y = proximities(rng, n=60), rng.normal(size=(60, 2)), rng.integers(0, 3, size=60)
    P[:4], y[4:9] = 0.0, 7  # rows without a profile, and a class that is too small for k=5
    expected = naive_inner(P, Y, y, k)
    assert 0.0 < expected < 1.0
    assert inner_structure(P, Y, y, k) == pytest.approx(expected, abs=1e-12)
    assert inner_structure(sp.csr_array(P), Y, y, k) == pytest.approx(expected, abs=1e-12)
    assert inner_structure(sp.coo_matrix(P), Y, y, k) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(profiles, "_BLOCK_NUMBERS", 50)  # several blocks per class
    assert inner_structure(P, Y, y, k) == pytest.approx(expected, abs=1e-12)


def test_inner_structure_with_ties_is_that_of_loops(rng):
    # Few different profiles, and places on a small grid.
    P, y = proximities(rng, n=6)[rng.integers(0, 6, size=50)], rng.integers(0, 2, size=50)
    Y = rng.integers(0, 3, size=(50, 2)).astype(float)
    value = inner_structure(P, Y, y)
    assert value == pytest.approx(naive_inner(P, Y, y, 5), abs=1e-12)
    order = rng.permutation(50)
    assert inner_structure(P[order], Y[order], y[order]) == pytest.approx(value, abs=1e-12)
    assert inner_structure(P, rotated(Y), y) == pytest.approx(value, abs=1e-12)


def test_inner_structure_of_four_rows_by_hand():
    # Row 0 is most like row 1, 1 like 0, 2 like 3 and 3 like 2; the map has 1 nearest to 0, 2 to 1, 1 to 2 and 2 to 3.
    P = np.array([[9, 1, 0, 0], [8, 2, 0, 0], [0, 1, 5, 4], [0, 0, 5, 5]])
    Y = np.array([[0.0], [2.0], [3.0], [5.0]])
    assert inner_structure(P, Y, ["a"] * 4, k=1) == 0.5
    # Only rows of the same class count, and a class of two rows is not judged.
    P, Y = np.vstack([P, P[:2]]), np.vstack([Y, [[0.1], [4.9]]])
    assert inner_structure(P, Y, ["a"] * 4 + ["b"] * 2, k=1) == 0.5


def test_a_map_with_the_order_of_profiles_keeps_all_and_a_random_one_what_chance_keeps(rng):
    # With p = cos² φ and q = sin² φ the affinity of two rows is the cosine of their difference in φ.
    angle, y = rng.uniform(0.0, math.pi / 2, size=2000), np.arange(2000) % 20
    P = np.column_stack([np.cos(angle) ** 2, np.sin(angle) ** 2])
    assert inner_structure(P, angle[:, None], y) == 1.0
    chance = 5 / 99
    assert inner_structure(P, rng.normal(size=(2000, 2)), y) == pytest.approx(chance, abs=0.02)
    assert inner_structure(P, np.ones((2000, 2)), y) == pytest.approx(chance, abs=1e-12)


def test_what_does_not_change_the_inner_structure(rng):
    P, Y, y = proximities(rng), rng.normal(size=(120, 2)), np.arange(120) % 3
    value = inner_structure(P, Y, y)
    order, columns = rng.permutation(120), rng.permutation(120)
    assert inner_structure(P[order], Y[order], y[order]) == pytest.approx(value, abs=1e-12)
    assert inner_structure(P[:, columns], Y, y) == pytest.approx(value, abs=1e-12)
    assert inner_structure(P * rng.uniform(0.1, 9.0, size=(120, 1)), Y, y) == pytest.approx(value, abs=1e-12)
    assert inner_structure(P, rotated(Y), y) == pytest.approx(value, abs=1e-12)
    for scale in (1e-200, 1e200):
        assert inner_structure(P, scale * Y, y) == pytest.approx(value, abs=1e-12)
    assert inner_structure(P, Y, np.array(["x", "b", "c"])[y]) == value
    assert inner_structure(P, Y, np.array([7.5, "b", 2], dtype=object)[y]) == value


def test_a_large_class_takes_no_memory_of_pairs(rng, monkeypatch):
    monkeypatch.setattr(profiles, "_BLOCK_NUMBERS", 100_000)
    cells = (np.repeat(np.arange(4000), 4), rng.integers(0, 4000, size=16_000))
    P, Y = sp.csr_array((rng.random(16_000), cells), shape=(4000, 4000)), rng.normal(size=(4000, 2))
    tracemalloc.start()
    try:
        inner_structure(P, Y, np.zeros(4000))
        assert tracemalloc.get_traced_memory()[1] < 30e6  # all pairs are 128 MB
    finally:
        tracemalloc.stop()


def test_refusals_of_inner_structure(rng):
    P, Y, y = proximities(rng, n=20), rng.normal(size=(20, 2)), np.arange(20) % 4
    with pytest.raises(ValueError, match=r"at least 7 rows, with proximities, for k=5; the largest class has 5\."):
        inner_structure(P, Y, y)
    with pytest.raises(ValueError, match=r"at least 7 rows, with proximities"):
        inner_structure(0.0 * P, Y, np.zeros(20))
    with pytest.raises(ValueError, match=r"P must hold proximities, none below 0, and its least entry is -2\."):
        inner_structure(np.where(P > 0, P, -2.0), Y, y, k=2)
    with pytest.raises(ValueError, match="k must be"):
        inner_structure(P, Y, y, k=0)
    with pytest.raises(ValueError, match="Y has 19 rows and the data has 20"):
        inner_structure(P, Y[:19], y, k=2)
