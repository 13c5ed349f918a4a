"""Maximum variance unfolding: closed forms, the Swiss roll, graphs in pieces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from manifolia._core.progress import Reporter
from manifolia.datasets import make_swiss_roll
from manifolia.exceptions import ManifoliaWarning
from manifolia.layout.mvu import unfold
from manifolia.neighbors import kneighbors


def neighbour_distances(X, Y, k):
    """Distances of the pairs of neighbours in the data and in a map."""
    near = kneighbors(X, k, exact=True)
    return near.distances, np.linalg.norm(Y[near.indices] - Y[:, None], axis=2)


def test_a_chain_becomes_straight():
    # Nothing but the steps is held: the largest variance is that of the straight line of their lengths.
    t = np.linspace(0.0, 5.0, 40) ** 1.2
    spiral = np.column_stack([t * np.cos(2 * t), t * np.sin(2 * t)])
    chain = cdist(spiral, spiral)
    beside = np.abs(np.subtract.outer(np.arange(40), np.arange(40))) <= 1
    found = unfold(np.where(beside, chain, 1e3 + chain), 2, n_neighbors=1, metric="precomputed")
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(spiral, axis=0), axis=1))])
    np.testing.assert_allclose(pdist(found.Y), pdist(length[:, None]), rtol=5e-3)
    assert found.variances[1] < 1e-4 * found.variances[0]


def test_a_folded_sheet_becomes_flat():
    # Two equilateral triangles with a common edge, folded along it: the largest variance is that of the flat rhombus.
    height = np.sqrt(0.75)
    fold = 0.4
    X = np.array(
        [[0.5, 0, 0], [-0.5, 0, 0], [0, height, 0], [0, -height * np.cos(fold), height * np.sin(fold)]], dtype=float
    )
    assert np.linalg.norm(X[2] - X[3]) < 1.7
    found = unfold(X, n_neighbors=2)
    expected = np.ones((4, 4)) - np.eye(4)
    expected[2, 3] = expected[3, 2] = np.sqrt(3.0)
    np.testing.assert_allclose(cdist(found.Y, found.Y), expected, atol=2e-3)


def test_the_swiss_roll_is_unrolled():
    roll = make_swiss_roll(600, random_state=0)
    found = unfold(roll.data)
    data, laid_out = neighbour_distances(roll.data, found.Y, 5)
    assert np.abs(laid_out / data - 1).mean() < 0.02
    assert np.corrcoef(pdist(found.Y), pdist(roll.unrolled))[0, 1] > 0.999
    assert np.corrcoef(pdist(roll.data), pdist(roll.unrolled))[0, 1] < 0.8
    assert found.variances[2:].sum() < 0.01 * found.variances.sum()
    assert found.error < 1e-3


def test_distances_and_rows_agree(rng):
    X = rng.normal(size=(60, 3))
    by_rows, given = unfold(X, n_neighbors=4), unfold(cdist(X, X), n_neighbors=4, metric="precomputed")
    np.testing.assert_allclose(by_rows.Y, given.Y, atol=0.05)


def test_the_same_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(80, 3))
    assert unfold(X, n_jobs=1).Y.tobytes() == unfold(X, n_jobs=2).Y.tobytes()


def test_pieces_are_joined_with_a_warning(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), 50 + rng.normal(size=(40, 2)), -90 + rng.normal(size=(20, 2))])
    with pytest.warns(ManifoliaWarning, match="in 3 pieces"):
        found = unfold(X, n_neighbors=4)
    part = np.repeat([0, 1, 2], [30, 40, 20])
    middle = np.array([found.Y[part == p].mean(axis=0) for p in range(3)])
    assert pdist(middle).min() > 40
    with pytest.warns(ManifoliaWarning, match="in 3 pieces"):
        given = unfold(cdist(X, X), n_neighbors=4, metric="precomputed")
    np.testing.assert_allclose(found.variances[0], given.variances[0], rtol=1e-3)


def test_duplicates_and_few_rows():
    X = np.repeat(np.arange(6.0)[:, None], 3, axis=0)
    with pytest.warns(ManifoliaWarning, match="in 6 pieces"):
        Y = unfold(X, 1, n_neighbors=2).Y[:, 0]
    np.testing.assert_allclose(np.abs(np.diff(Y)), np.diff(X[:, 0]), atol=0.02)
    np.testing.assert_array_equal(unfold(np.ones((4, 2))).Y.shape, (4, 2))
    np.testing.assert_allclose(pdist(unfold(np.array([[0.0], [3.0]])).Y), [3.0], rtol=1e-3)


def test_progress_and_stopping(rng):
    X = rng.normal(size=(100, 3))
    events = []
    unfold(X, reporter=Reporter(events.append))
    assert events[-1].done == events[-1].total
    assert events[-1].metrics["error"] < events[0].metrics["error"]
    heard = []

    def once(event):
        heard.append(event)
        return True

    assert unfold(X, reporter=Reporter(once)).Y.shape == (100, 2)
    assert len(heard) == 2  # the first round, and the end


@pytest.mark.parametrize(
    ("options", "message"), [({"n_components": 0}, "n_components must be"), ({"n_neighbors": 0}, "n_neighbors must be")]
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        unfold(np.eye(5), **options)


@pytest.mark.filterwarnings("ignore::manifolia.exceptions.ManifoliaWarning")  # they cannot be kept, which it says
def test_lengths_of_very_different_sizes():
    X = np.array([[0.1 * i if i % 2 else 1e20] for i in range(40)])
    assert np.isfinite(unfold(X, n_neighbors=4).Y).all()
