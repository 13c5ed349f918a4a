"""New rows on a finished map: each alone, deterministic, near where they belong."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manifolia.extension.anchored import map_field, place_anchored, place_in_field
from manifolia.layout.forces import Schedule, neighbor_forces
from reference import forces as naive


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


# ------------------------------------------------------------------------------------------------ in a map's field


@pytest.mark.parametrize("c", [2, 3])
def test_a_row_that_is_left_out_finds_its_own_place(c, rng):
    """A layout at rest, without one of its rows: the forces of the others lead it back."""
    X = rng.random((150, c))
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    W = np.exp(-((D / 0.15) ** 2)) * (D > 0)
    for _ in range(60):  # every row has a total weight of 1, as a new row has
        W = W / W.sum(axis=1, keepdims=True)
        W = (W + W.T) / 2
    made = neighbor_forces(sp.csr_array(W), 20.0 * (X - 0.5), schedule=Schedule(0, 0, 600))
    missed, begun = [], []
    for i in range(0, 150, 10):
        field = map_field(np.delete(made.Y, i, axis=0))
        near = np.arange(149)[None]
        weights = np.delete(W[i], i)[None]
        missed.append(np.linalg.norm(place_in_field(field, near, weights, n_steps=200)[0] - made.Y[i]))
        begun.append(np.linalg.norm(place_in_field(field, near, weights, n_steps=0)[0] - made.Y[i]))
    assert np.median(missed) < 0.5 * np.median(begun)


def test_the_field_pushes_as_all_points_do(rng):
    """One step from the same place: the mean of the neighbours, moved along the exact force."""
    Y = 6.0 * rng.standard_normal((300, 2))
    field = map_field(Y)
    potential, _ = naive.all_pairs(Y.astype(np.float32).astype(np.float64))
    assert field.strength == pytest.approx(300 / potential.sum(), rel=1e-2)
    indices, weights = rng.integers(0, 300, (9, 6)), rng.random((9, 6))
    start = place_in_field(field, indices, weights, n_steps=0)
    moved = place_in_field(field, indices, weights, n_steps=1)
    share = weights / weights.sum(axis=1, keepdims=True)
    for i in range(9):
        gaps = Y - start[i]
        q = 1.0 / (1.0 + (gaps**2).sum(axis=1))
        pull = (share[i] * q[indices[i]]) @ gaps[indices[i]]
        force = pull - field.strength * (q**2) @ gaps
        # Adam's first step goes along the signs of the force.
        clear = np.abs(force) > 0.05 * np.abs(pull).max()
        assert (np.sign(moved[i] - start[i])[clear] == np.sign(force)[clear]).all()


def test_a_row_in_a_field_has_the_same_bits_alone_in_any_order_and_on_any_thread(scene, rng):
    Y, _, _, indices, weights = scene
    field = map_field(Y, n_jobs=1)
    assert field.field.nodes.tobytes() == map_field(Y, n_jobs=2).field.nodes.tobytes()
    indices, weights = np.tile(indices, (20, 1)), np.tile(weights, (20, 1))
    whole = place_in_field(field, indices, weights, n_jobs=1)
    np.testing.assert_array_equal(place_in_field(field, indices, weights, n_jobs=2), whole)
    order = rng.permutation(len(indices))
    np.testing.assert_array_equal(place_in_field(field, indices[order], weights[order]), whole[order])
    for i in (0, 7, 399):
        np.testing.assert_array_equal(place_in_field(field, indices[i : i + 1], weights[i : i + 1])[0], whole[i])


def test_rows_in_a_field_lie_among_their_neighbours(scene):
    Y, centres, wanted, indices, weights = scene
    placed = place_in_field(map_field(Y), indices, weights)
    nearest = np.argmin(np.linalg.norm(placed[:, np.newaxis] - centres, axis=2), axis=1)
    np.testing.assert_array_equal(nearest, wanted)
    with pytest.raises(ValueError, match="Y must have 1 to 3 columns"):
        map_field(np.zeros((5, 4)))
    with pytest.raises(ValueError, match="points of the map"):
        place_in_field(map_field(Y), np.array([[300]]), np.ones((1, 1)))
    assert np.isfinite(place_in_field(map_field(Y[:1]), np.array([[0]]), np.ones((1, 1)))).all()
