"""One score for forests and maps: against scikit-learn's scores and a neighbour vote by loops."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from manifolia.exceptions import HonestyWarning
from manifolia.metrics import knn_accuracy, separation
from manifolia.metrics.separation import blind_score, map_score, one_hot_columns, target_score
from manifolia.trust import signal


def test_classes_are_scored_by_accuracy(rng):
    y, guess = rng.integers(0, 3, size=(2, 50))
    assert target_score(y, guess, classification=True) == pytest.approx(accuracy_score(y, guess))
    names = np.array(["a", "b", "c"])
    assert target_score(names[y], names[guess], classification=True) == pytest.approx(accuracy_score(y, guess))


def test_several_outputs_are_scored_by_their_mean(rng):
    y, guess = rng.integers(0, 2, size=(2, 50, 3))
    expected = np.mean([accuracy_score(y[:, k], guess[:, k]) for k in range(3)])
    assert target_score(y, guess, classification=True) == pytest.approx(expected)
    y, guess = rng.normal(size=(2, 50, 3))
    assert target_score(y, guess, classification=False) == pytest.approx(r2_score(y, guess))


def test_numbers_are_scored_by_r2(rng):
    y = rng.normal(size=50)
    guess = y + rng.normal(size=50)
    assert target_score(y, guess, classification=False) == pytest.approx(r2_score(y, guess))
    assert target_score(y, y, classification=False) == 1.0
    assert target_score(y, np.full(50, y.mean()), classification=False) == pytest.approx(0.0)


def test_numbers_that_do_not_vary_have_no_score():
    assert np.isnan(target_score(np.ones(5), np.ones(5), classification=False))


def test_knowing_nothing_is_the_largest_class_or_the_mean(rng):
    y = np.array(["a", "b", "b", "c"])
    assert blind_score(y, classification=True) == 0.5
    assert blind_score(np.column_stack([y, ["x"] * 4]), classification=True) == 0.75
    for labels in (y, rng.integers(0, 3, size=50)):
        guesses = [target_score(labels, np.full(len(labels), c), classification=True) for c in np.unique(labels)]
        assert blind_score(labels, classification=True) == max(guesses)
    numbers = rng.normal(size=20)
    assert blind_score(numbers, classification=False) == pytest.approx(
        target_score(numbers, np.full(20, numbers.mean()), classification=False)
    )


def test_a_map_is_set_against_a_guess_where_nothing_was_learned(rng):
    Y, y = rng.normal(size=(60, 2)), np.repeat([0, 1], [40, 20])
    everyone, wrong = np.ones(60, dtype=bool), 1 - y
    shown = map_score(Y, y, classification=True)
    assert separation.judge_separation(Y, y, wrong, everyone, classification=True) == (0.0, shown - 40 / 60)
    half = np.where(np.arange(60) % 10 < 8, y, 1 - y)  # right about 80 %: more than a guess
    score, over = separation.judge_separation(Y, y, half, everyone, classification=True)
    assert (score, over) == (pytest.approx(0.8), pytest.approx(shown - 0.8))
    numbers = rng.normal(size=60)
    shown = map_score(Y, numbers, classification=False)
    score, over = separation.judge_separation(Y, numbers, -numbers, everyone, classification=False)
    assert score < -2.0
    assert over == pytest.approx(shown)  # the mean explains nothing, and is better
    with pytest.warns(HonestyWarning):
        _, over = separation.judge_separation(
            np.column_stack([numbers, numbers]), numbers, -numbers, everyone, classification=False
        )
    assert 0.9 < over < 1.0  # what leaks is told all the same


def test_one_hot_columns():
    found = one_hot_columns(np.array([["b", "x"], ["a", "x"], ["b", "y"]]))
    np.testing.assert_array_equal(found[0][0], ["a", "b"])
    np.testing.assert_array_equal(found[0][1], [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(found[1][1], [[1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(one_hot_columns(np.array([7, 7]))[0][1], [[1], [1]])


def naive_score(Y, y, k, *, classification):
    guesses = []
    for i in range(len(Y)):
        order = sorted((j for j in range(len(Y)) if j != i), key=lambda j: (np.linalg.norm(Y[i] - Y[j]), j))[:k]
        if classification:
            near = y[order].tolist()
            guesses.append(max(near, key=Counter(near).__getitem__))  # of equal votes those for the nearest's class
        else:
            guesses.append(y[order].mean())
    return accuracy_score(y, guesses) if classification else r2_score(y, guesses)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_a_map_is_scored_by_its_neighbours_without_the_row_itself(rng, k):
    Y = rng.normal(size=(70, 2))
    y = (Y[:, 0] + 0.7 * rng.normal(size=70) > 0).astype(int)
    expected = naive_score(Y, y, k, classification=True)
    assert 0.4 < expected < 0.95
    assert map_score(Y, y, classification=True, k=k) == pytest.approx(expected)
    values = Y[:, 0] + 0.3 * rng.normal(size=70)
    assert map_score(Y, values, classification=False, k=k) == pytest.approx(
        naive_score(Y, values, k, classification=False)
    )


def test_one_map_has_one_accuracy(rng):
    Y, y = rng.normal(size=(80, 2)), rng.choice(["b", "a", "c"], 80)
    shown = map_score(Y, y, classification=True)
    assert shown == pytest.approx(knn_accuracy(Y, y)) == pytest.approx(signal(Y, Y, y, random_state=0).shown)
    renamed = np.array([{"a": "z", "b": "y", "c": "x"}[label] for label in y])
    assert map_score(Y, renamed, classification=True) == shown


def test_ten_neighbours_unless_told_and_all_where_there_are_fewer(rng):
    Y = rng.normal(size=(40, 2))
    y = rng.integers(0, 2, size=40)
    assert map_score(Y, y, classification=True) == map_score(Y, y, classification=True, k=10)
    assert map_score(Y[:4], y[:4], classification=True) == map_score(Y[:4], y[:4], classification=True, k=3)


def test_several_outputs_of_a_map(rng):
    Y = rng.normal(size=(60, 2))
    labels = np.column_stack([Y[:, 0] > 0, Y[:, 1] > 0.5])
    expected = np.mean([map_score(Y, column, classification=True) for column in labels.T])
    assert map_score(Y, labels, classification=True) == pytest.approx(expected)
    numbers = Y @ rng.normal(size=(2, 3))
    expected = np.mean([map_score(Y, column, classification=False) for column in numbers.T])
    assert map_score(Y, numbers, classification=False) == pytest.approx(expected)


def test_one_row_has_no_score():
    assert np.isnan(map_score(np.zeros((1, 2)), np.array([1]), classification=True))


def test_a_large_map_is_scored_by_some_of_its_rows(rng, monkeypatch):
    Y = rng.normal(size=(3000, 2))
    y = (Y[:, 0] + 0.5 * rng.normal(size=3000) > 0).astype(int)
    exact = map_score(Y, y, classification=True)
    monkeypatch.setattr(separation, "_ROWS", 1000)
    some = map_score(Y, y, classification=True)
    assert some == map_score(Y, y, classification=True)  # the same rows every time
    assert some != exact
    assert abs(some - exact) < 3 * 0.5 / np.sqrt(1000)
    assert some != map_score(Y, y, classification=True, random_state=1)


def test_same_for_any_number_of_threads(rng):
    Y, y = rng.normal(size=(3000, 2)), rng.integers(0, 3, size=3000)
    assert map_score(Y, y, classification=True, n_jobs=1) == map_score(Y, y, classification=True, n_jobs=2)


def test_the_map_itself_is_told_from_noise(rng):
    y = np.arange(300) % 3
    Y = np.column_stack([np.cos(y * 2.1), np.sin(y * 2.1)]) + 0.1 * rng.normal(size=(300, 2))
    assert map_score(Y, y, classification=True) == 1.0
    assert map_score(Y, rng.permutation(y), classification=True) < 0.5
