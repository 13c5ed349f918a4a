"""New rows on a finished map: each alone, deterministic, near where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia.extension.anchored import place_anchored


@pytest.fixture
def scene(rng):
    """A map of three clusters, and new rows with neighbours in one of them each."""
    centres = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])
    label = np.repeat([0, 1, 2], 100)
    Y = (centres[label] + rng.standard_normal((300, 2))).astype(np.float32)
    wanted = rng.integers(0, 3, 40)
    indices = np.array([rng.choice(np.flatnonzero(label == part), 10, replace=False) for part in wanted])
    weights = np.sort(rng.random((40, 10)))[:, ::-1]
    return Y, centres, wanted, indices, weights


def test_rows_are_placed_among_their_neighbours(scene):
    Y, centres, wanted, indices, weights = scene
    placed = place_anchored(Y, indices, weights, random_state=0)
    nearest = np.argmin(np.linalg.norm(placed[:, np.newaxis] - centres, axis=2), axis=1)
    np.testing.assert_array_equal(nearest, wanted)
    assert (np.linalg.norm(placed - centres[wanted], axis=1) < 4).all()


def test_no_epoch_gives_the_weighted_mean(scene):
    Y, _, _, indices, weights = scene
    expected = (weights[:, :, np.newaxis] * Y[indices]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(place_anchored(Y, indices, weights, n_epochs=0), expected, atol=1e-4)
    assert np.abs(place_anchored(Y, indices, weights, random_state=0) - expected).max() > 0.05


def test_a_row_has_the_same_bits_alone_in_any_order_and_on_any_thread(scene):
    Y, _, _, indices, weights = scene
    indices, weights = np.tile(indices, (20, 1)), np.tile(weights, (20, 1))  # 800 rows: several blocks
    whole = place_anchored(Y, indices, weights, random_state=0, n_jobs=1)
    np.testing.assert_array_equal(place_anchored(Y, indices, weights, random_state=0, n_jobs=2), whole)
    order = np.random.default_rng(0).permutation(len(indices))
    np.testing.assert_array_equal(place_anchored(Y, indices[order], weights[order], random_state=0), whole[order])
    for i in (0, 7, 399):
        np.testing.assert_array_equal(
            place_anchored(Y, indices[i : i + 1], weights[i : i + 1], random_state=0)[0], whole[i]
        )
    np.testing.assert_array_equal(whole[:40], whole[40:80])  # the same content, another number: the same place


def test_the_seed_matters_and_so_does_the_row(scene):
    Y, _, _, indices, weights = scene
    one = place_anchored(Y, indices, weights, random_state=0)
    assert np.abs(one - place_anchored(Y, indices, weights, random_state=1)).max() > 1e-3
    other = weights.copy()
    other[:, 0] *= 1.0001
    assert (one != place_anchored(Y, indices, other, random_state=0)).any(axis=1).all()


def test_repulsion_pushes_rows_away_and_none_is_as_good_as_no_draws(scene):
    Y, _, _, indices, weights = scene
    nothing = place_anchored(Y, indices, weights, repulsion=0.0, random_state=0)
    np.testing.assert_array_equal(place_anchored(Y, indices, weights, n_negatives=0, random_state=0), nothing)
    gaps = []
    for repulsion in (1.0, 2.0, 8.0):
        placed = place_anchored(Y, indices, weights, repulsion=repulsion, random_state=0)
        gaps.append(np.linalg.norm(placed - nothing, axis=1).mean())
    assert gaps[0] < gaps[1] < gaps[2]
    with pytest.raises(ValueError, match="repulsion must be"):
        place_anchored(Y, indices, weights, repulsion=-1.0)


@pytest.mark.parametrize("c", [1, 2, 3, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_dimensions(c, dtype, rng):
    Y = rng.standard_normal((50, c)).astype(dtype)
    placed = place_anchored(Y, rng.integers(0, 50, (7, 5)), rng.random((7, 5)), random_state=0)
    assert placed.shape == (7, c)
    assert placed.dtype == dtype
    assert np.isfinite(placed).all()


def test_no_rows_and_rows_without_weight(rng):
    Y = rng.standard_normal((20, 2))
    assert place_anchored(Y, np.empty((0, 5), dtype=int), np.empty((0, 5))).shape == (0, 2)
    placed = place_anchored(Y, np.array([[1, 2]]), np.zeros((1, 2)), random_state=0)
    np.testing.assert_allclose(placed[0], Y[[1, 2]].mean(axis=0), atol=1e-5)


@pytest.mark.parametrize(
    ("indices", "weights", "kind", "message"),
    [
        ([[0, 5]], [[1.0, 1.0]], ValueError, "points of the map"),
        ([[0, -1]], [[1.0, 1.0]], ValueError, "points of the map"),
        ([[0, 1]], [[1.0]], ValueError, "one shape"),
        ([[0.0, 1.0]], [[1.0, 1.0]], TypeError, "integers"),
        ([[0, 1]], [[1.0, -1.0]], ValueError, "not negative"),
        ([[0, 1]], [[1.0, np.nan]], ValueError, "finite"),
    ],
)
def test_neighbours_that_are_refused(indices, weights, kind, message):
    with pytest.raises(kind, match=message):
        place_anchored(np.eye(5, 2), np.array(indices), np.array(weights))
