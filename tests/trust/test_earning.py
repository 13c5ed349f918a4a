"""What a map shows of a target against what can be learned of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from manifolia.trust import signal
from manifolia.trust.earning import Evidence, _agreement, judge_signal
from manifolia.trust.held_out import HeldOut, by_forest, by_linear_rule


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def parted(y, rng, n_components=2):
    """A map that shows labels without doubt, whatever they are."""
    _, codes = np.unique(y, return_inverse=True)
    return 10.0 * np.column_stack([codes, codes**2]) + rng.normal(size=(len(y), n_components))


def test_true_classes_are_earned(wine):
    X, y = wine
    found = signal(X, X[:, [6, 9]], y, random_state=0)
    assert found.verdict == "earned"
    assert found.p < 1e-20
    assert found.shown < found.learned > 0.95


def test_shuffled_classes_are_not_earned_however_clear_the_map(wine, rng):
    X, y = wine
    for _ in range(5):
        shuffled = rng.permutation(y)
        found = signal(X, parted(shuffled, rng), shuffled, random_state=0)
        assert found.shown > 0.95
        assert found.verdict in ("not earned", "cannot tell")
        assert found.p > 0.01
    assert found.verdict == "not earned"


def test_numbers(rng):
    X = rng.normal(size=(250, 5))
    y = X[:, 0] + 0.3 * rng.normal(size=250)
    earned = signal(X, X[:, :2], y, random_state=0)
    assert earned.verdict == "earned"
    assert 0.5 < earned.shown < earned.learned
    noise = rng.normal(size=250)
    assert signal(X, np.column_stack([noise, noise]), noise, random_state=0).verdict == "not earned"
    half = X[:, 0] + 1.2 * rng.normal(size=250)  # mostly noise, and the map shows all of it
    assert signal(X, np.column_stack([half, half]), half, random_state=0).verdict == "partly"


def test_labels_of_patients_are_not_earned_if_groups_are_given(rng):
    patients = np.repeat(np.arange(100), 5)
    X = rng.normal(size=(100, 6))[patients] + 0.05 * rng.normal(size=(500, 6))
    y = rng.integers(0, 2, 100)[patients]
    found = signal(X, parted(y, rng), y, groups=patients, random_state=0)
    assert found.verdict == "not earned"
    assert signal(X, parted(y, rng), y, random_state=0).learned > 0.95  # each patient is recognised


def test_a_map_that_shows_more_than_was_learned_is_called(rng):
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] + 1.2 * rng.normal(size=600) > 0).astype(int)
    found = signal(X, parted(y, rng), y, random_state=0)
    assert found.verdict in ("partly", "not earned")
    assert found.shown > found.learned + 0.1


def test_next_to_nothing_of_what_is_shown_is_not_partly(rng):
    """Guesses that are right a little more often than chance have signal, and do not earn a map that shows all."""
    y = rng.integers(0, 2, 5000)
    for right, verdict in ((0.54, "not earned"), (0.7, "partly")):
        said = np.eye(2)[np.where(rng.random(5000) < right, y, 1 - y)]
        found = judge_signal(Evidence(y, ["a", "b"], np.eye(2)[y], [HeldOut("a forest", said)]), 0.05)
        assert found.p < 0.001
        assert found.verdict == verdict
    assert "than was learned" in found.reason


def test_a_rare_class_that_was_learned_is_partly_earned(rng):
    """Always guessing the frequent class is right as often; the rare one is told all the same."""
    y = (rng.random(1000) < 0.2).astype(int)
    score = y + 0.7 * rng.normal(size=1000)
    said = np.column_stack([1.0 - 0.2 * score, 0.2 * score]).clip(0.0, 1.0)
    found = judge_signal(Evidence(y, ["a", "b"], np.eye(2)[y], [HeldOut("a forest", said)]), 0.05)
    assert found.learned < 0.85
    assert found.verdict == "partly"


def test_a_column_that_is_constant_in_most_folds_spoils_no_linear_rule(rng):
    X = rng.normal(size=(200, 24))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    X[:, 4:] = rng.normal(size=20)  # of which some have a mean that is rounded
    X[np.arange(20), np.arange(4, 24)] = 20.0
    said = by_linear_rule(X, y, 0, random_state=0).said[:, 0]
    assert ((said - y) ** 2).mean() < 0.1


def test_few_rows_cannot_be_told(wine, rng):
    X, y = wine
    some = rng.permutation(len(y))[:40]
    assert signal(X[some], X[some][:, :2], y[some], random_state=0).verdict == "cannot tell"


def test_a_single_class_that_only_the_map_knows_is_named(rng):
    """Two classes are clear, and two more are drawn apart by a coin."""
    y = np.repeat(["a", "b", "c", "d"], [200, 200, 100, 100])
    X = np.zeros((600, 3))
    X[:200], X[200:400], X[400:] = (2.0, 0, 0), (0, 2.0, 0), (0, 0, 2.0)
    X += 0.3 * rng.normal(size=X.shape)
    found = signal(X, parted(y, rng), y, random_state=0)
    assert found.verdict in ("partly", "not earned")


def test_agreement_is_that_of_all_permutations(rng):
    """Mean and variance over permutations, of Hoeffding, against 20,000 of them."""
    y = rng.integers(0, 3, 40)
    said = np.eye(3)[np.where(rng.random(40) < 0.3, y, rng.integers(0, 3, 40))]
    guess = (said / (np.bincount(y, minlength=3) / 40)).argmax(axis=1)
    right = [(rng.permutation(y) == guess).mean() for _ in range(20_000)]
    z = ((guess == y).mean() - np.mean(right)) / np.std(right)
    assert _agreement(said, y, 3, None) == pytest.approx(z, abs=0.1)


def test_equal_rows_of_a_group_count_once(rng):
    y = rng.integers(0, 2, 60)
    said = np.eye(2)[np.where(rng.random(60) < 0.4, y, 1 - y)]
    five = np.repeat(np.arange(60), 5)
    alone = _agreement(said, y, 2, np.arange(60))
    assert _agreement(said[five], y[five], 2, five) == pytest.approx(alone)


def test_what_is_learned_from_a_sample_proves_no_excess(rng):
    y = rng.integers(0, 2, 400)
    said = np.eye(2)[np.where(rng.random(400) < 0.75, y, 1 - y)]
    shown = np.eye(2)[y]
    about = (y, ["a", "b"], shown, [HeldOut("a forest", said)])
    assert judge_signal(Evidence(*about), 0.05).verdict in ("partly", "not earned")
    assert judge_signal(Evidence(*about, is_bound=True), 0.05).verdict == "cannot tell"


def test_held_out_guesses_have_not_seen_the_row(rng):
    """Labels that are noise are guessed no better than by chance by any of them."""
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, 300)
    for way in (by_forest(X, y, 2, random_state=0), by_linear_rule(X, y, 2, random_state=0)):
        np.testing.assert_allclose(way.said.sum(axis=1), 1.0)
        assert abs((way.said.argmax(axis=1) == y).mean() - 0.5) < 0.12


def test_the_same_seed_gives_the_same_answer(wine):
    X, y = wine
    assert signal(X, X[:, :2], y, random_state=3, n_jobs=1) == signal(X, X[:, :2], y, random_state=3, n_jobs=2)
