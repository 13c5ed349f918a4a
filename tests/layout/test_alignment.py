"""`manifolia.align`: motions are found exactly, and through rows that lie elsewhere."""

import numpy as np
import pytest
from scipy.spatial import procrustes

import manifolia as mf
from manifolia.exceptions import ParameterError
from manifolia.layout.alignment import motion_between


def _turned(rng, Y, size=1.0):
    c = Y.shape[1]
    return size * Y @ np.linalg.qr(rng.normal(size=(c, c)))[0] + rng.normal(size=c)


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("robust", [True, False])
def test_a_moved_map_is_laid_back_exactly(rng, c, robust):
    Y = rng.normal(size=(60, c)) * np.arange(1, c + 1)
    np.testing.assert_allclose(mf.align(_turned(rng, Y, 7.0), to=Y, robust=robust), Y, atol=1e-9)
    np.testing.assert_allclose(mf.align(_turned(rng, Y), to=Y, scale=False, robust=robust), Y, atol=1e-9)


def test_without_scale_sizes_stay(rng):
    Y = rng.normal(size=(40, 2))
    moved = mf.align(5.0 * Y, to=Y, scale=False)
    assert np.ptp(moved[:, 0]) == pytest.approx(5.0 * np.ptp(Y[:, 0]), rel=1e-6)


def test_least_squares_reaches_scipys_disparity(rng):
    Y = rng.normal(size=(80, 2))
    T = _turned(rng, Y) + 0.3 * rng.normal(size=Y.shape)
    _, right, _ = procrustes(T, Y)
    # SciPy's size is that of least squares; the turn and the shift are the same.
    ours = mf.align(Y, to=T, robust=False)
    ours = ours - ours.mean(axis=0)
    theirs = right / np.linalg.norm(right)
    np.testing.assert_allclose(ours / np.linalg.norm(ours), theirs, atol=1e-8)


@pytest.mark.parametrize("share", [0.2, 0.45])
def test_groups_that_moved_leave_the_rest_in_place(rng, share):
    Y = rng.normal(size=(400, 2))
    T = _turned(rng, Y, 2.0)
    moved = np.arange(400) < share * 400
    T[moved] += [30.0, 10.0]
    T[~moved] += 0.01 * rng.normal(size=T[~moved].shape)
    gap = np.linalg.norm(mf.align(Y, to=T) - T, axis=1)
    assert np.median(gap[~moved]) < 0.02
    assert gap[moved].min() > 10.0
    plain = np.linalg.norm(mf.align(Y, to=T, robust=False) - T, axis=1)
    assert np.median(plain[~moved]) > 1.0  # so that the test can fail


def test_rows_without_a_place_are_moved_along_and_weights_count(rng):
    Y = rng.normal(size=(30, 2))
    T = Y + 1.0
    T[20:] = np.nan
    np.testing.assert_allclose(mf.align(Y, to=T), Y + 1.0, atol=1e-9)
    T = np.where(np.arange(30)[:, None] < 15, Y + 1.0, Y - 4.0)
    np.testing.assert_allclose(mf.align(Y, T, (np.arange(30) < 15).astype(float)), Y + 1.0, atol=1e-9)


def test_the_same_bits_and_the_order_of_rows_does_not_matter_much(rng):
    Y = rng.normal(size=(900, 2))
    T = _turned(rng, Y) + 0.2 * rng.normal(size=Y.shape)
    first = mf.align(Y, to=T)
    assert np.array_equal(first, mf.align(Y, to=T))
    order = rng.permutation(900)
    np.testing.assert_allclose(mf.align(Y[order], to=T[order]), first[order], atol=1e-6)


def test_one_row_and_one_place(rng):
    np.testing.assert_allclose(mf.align([[1.0, 2.0]], to=[[5.0, 5.0]]), [[5.0, 5.0]])
    same = np.ones((20, 2))
    assert np.isfinite(mf.align(same, to=rng.normal(size=(20, 2)))).all()
    assert motion_between(same, same, np.ones(20)).size == 1.0


@pytest.mark.parametrize(
    ("to", "weights", "message"),
    [
        (np.full((5, 2), np.nan), None, "shares no row"),
        (np.zeros((4, 2)), None, "one place per row"),
        (np.zeros((5, 3)), None, "has 3 dimensions and the map has 2"),
        (np.zeros((5, 2)), np.ones(4), "weights must be 5 numbers"),
        (np.zeros((5, 2)), np.zeros(5), "shares no row"),
        (np.full((5, 2), np.inf), None, "infinite"),
        (["a"] * 5, None, "array of places"),
    ],
)
def test_bad_input_is_a_sentence(rng, to, weights, message):
    with pytest.raises(ParameterError, match=message):
        mf.align(rng.normal(size=(5, 2)), to=to, weights=weights)
