"""Fronts, against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from manifolia.tune.pareto import crowding, hypervolume, knee, layers, non_dominated


def naive_front(losses: np.ndarray) -> np.ndarray:
    def beaten(i: int) -> bool:
        return any(np.all(row <= losses[i]) and np.any(row < losses[i]) for row in losses)

    return np.array([not beaten(i) for i in range(len(losses))])


@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_front_is_what_no_one_beats(m: int) -> None:
    for seed in range(20):
        losses = np.random.default_rng(seed).integers(0, 5, (12, m)).astype(float)  # with ties
        np.testing.assert_array_equal(non_dominated(losses), naive_front(losses))


def test_layers_peel_off_fronts() -> None:
    losses = np.array([[0, 3], [1, 1], [3, 0], [1, 3], [3, 2], [4, 4.0]])
    assert layers(losses).tolist() == [0, 0, 0, 1, 1, 2]


def test_crowding_counts_the_gap_between_neighbours() -> None:
    losses = np.array([[0, 4], [1, 2], [4, 0.0]])
    np.testing.assert_allclose(crowding(losses), [np.inf, 2.0, np.inf])


def test_hypervolume_of_boxes() -> None:
    assert hypervolume(np.array([[0.2, 0.6], [0.5, 0.1]]), np.ones(2)) == pytest.approx(0.8 * 0.4 + 0.5 * 0.5)
    assert hypervolume(np.array([[0.5, 0.5, 0.5]]), np.ones(3)) == pytest.approx(0.125)
    assert hypervolume(np.array([[2.0, 2.0]]), np.ones(2)) == 0.0


@pytest.mark.parametrize("m", [2, 3])
def test_hypervolume_is_the_share_of_points_that_are_dominated(m: int) -> None:
    losses = np.random.default_rng(1).random((8, m))
    steps = (np.arange(60) + 0.5) / 60
    grid = np.array(list(itertools.product(steps, repeat=m)))
    share = np.mean(np.any(np.all(losses[None] <= grid[:, None], axis=2), axis=1))
    assert hypervolume(losses, np.ones(m)) == pytest.approx(share, abs=0.02)


def test_the_knee_gives_most_for_least() -> None:
    losses = np.array([[0.0, 1.0], [0.1, 0.2], [0.5, 0.1], [1.0, 0.0], [0.9, 0.9]])
    assert knee(losses) == 1
    assert knee(losses * [1000, 1]) == 1  # the units do not matter
