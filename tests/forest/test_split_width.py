"""Columns tried at a split: more of them where nearly all are noise, the square root elsewhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier

from manifolia import RFPHATE, datasets
from manifolia.forest import grow as module
from manifolia.forest.grow import grow_forest, split_width
from manifolia.forest.targets import read_target
from manifolia.forest.tree_growth import grow_trees


def choose(X, y, seed=0, weight=None, n_jobs=1):
    return split_width(X, np.asarray(y), weight=weight, seed=seed, n_jobs=n_jobs)


@pytest.fixture(scope="module")
def noisy():
    bunch = datasets.make_iris_noise(500, random_state=0)
    return np.asarray(bunch.data), np.asarray(bunch.target)


@pytest.fixture(scope="module")
def spread():
    """Classes that every one of 300 columns tells a little of."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 80)
    return rng.normal(size=(240, 300)) + 0.35 * rng.normal(size=(3, 300))[y], y


def test_among_many_columns_of_noise_more_are_tried_and_the_forest_is_better(noisy):
    X, y = noisy
    width = choose(X, y)
    assert width in (0.1, 1 / 3)
    scores = [
        RandomForestClassifier(100, max_features=one, oob_score=True, random_state=1).fit(X, y).oob_score_
        for one in (width, "sqrt")
    ]
    assert scores[0] > scores[1] + 0.05


def test_where_every_column_tells_a_little_the_square_root_stays(spread):
    assert choose(*spread) == "sqrt"


def test_random_labels_change_nothing(noisy):
    X, y = noisy
    chosen = [choose(X, np.random.default_rng(seed).permutation(y), seed) for seed in range(6)]
    assert chosen.count("sqrt") >= 5


def test_up_to_a_hundred_columns_no_forest_is_grown(monkeypatch):
    monkeypatch.setattr(module, "_right", None)
    assert choose(np.zeros((10, 100)), np.zeros(10)) == "sqrt"
    with pytest.raises(TypeError):
        choose(np.zeros((10, 101)), np.zeros(10))


def votes(**by_width):
    """Stand in for the forests: which rows each width gets right."""
    asked = []

    def right(X, y, weight, width, seed, n_jobs, groups):
        asked.append(width)
        return np.array(by_width[{"sqrt": "narrow", 0.1: "tenth"}.get(width, "third")])

    return right, asked


@pytest.mark.parametrize(
    ("gained", "lost", "expected"),
    [(4, 0, False), (5, 0, True), (20, 10, False), (21, 9, True), (0, 30, False)],
)
def test_a_wider_search_has_to_be_better_by_two_standard_errors(monkeypatch, gained, lost, expected):
    narrow, tenth = np.ones(100, dtype=bool), np.ones(100, dtype=bool)
    narrow[:gained] = False
    tenth[gained : gained + lost] = False
    narrow[-10:] = tenth[-10:] = False  # wrong by both: neither for nor against
    right, asked = votes(narrow=narrow, tenth=tenth, third=tenth)
    monkeypatch.setattr(module, "_right", right)
    assert choose(np.zeros((100, 200)), np.zeros(100)) == (0.1 if expected else "sqrt")
    assert len(asked) == (3 if expected else 2)


def test_nothing_wider_is_tried_where_it_could_not_show(monkeypatch):
    narrow = np.ones(100, dtype=bool)
    narrow[:4] = False
    right, asked = votes(narrow=narrow)
    monkeypatch.setattr(module, "_right", right)
    assert choose(np.zeros((100, 200)), np.zeros(100)) == "sqrt"
    assert asked == ["sqrt"]


def test_large_data_are_judged_by_a_sample_of_rows(monkeypatch, noisy):
    X, y = noisy
    seen = []
    right = module._right
    monkeypatch.setattr(module, "_ROWS", 120)
    monkeypatch.setattr(
        module,
        "_right",
        lambda X, y, weight, *rest: seen.append((len(X), len(y), len(weight))) or right(X, y, weight, *rest),
    )
    assert choose(X, y, weight=np.ones(len(y))) != "sqrt"
    assert set(seen) == {(120, 120, 120)}


def test_the_choice_depends_on_the_seed_alone(noisy):
    X, y = noisy
    assert choose(X, y, 3, n_jobs=1) == choose(X, y, 3, n_jobs=2)


def test_sparse_columns_are_judged_by_forests_of_scikit_learn(noisy):
    X, y = noisy
    assert choose(sp.csr_array(X), y, 3, n_jobs=1) == choose(sp.csr_array(X), y, 3, n_jobs=2) != "sqrt"


def test_a_row_that_no_tree_left_out_is_not_right(monkeypatch, noisy):
    monkeypatch.setattr(module, "_TREES", 1)
    X, y = noisy
    found = module._right(X, y, None, "sqrt", 0, 1)
    assert 0 < found.sum() < 0.6 * len(y)  # about a third is out of the bag of a single tree


def test_the_forest_of_a_map_has_it_and_a_given_one_is_left_alone(noisy):
    X, y = noisy
    target = read_target(y, len(y))
    grown = grow_forest(X, target, n_trees=20, random_state=0).forest
    assert grown.max_features == choose(X, y)
    given = RandomForestClassifier(20, random_state=0)
    assert grow_forest(X, target, forest=given).forest.max_features == "sqrt"
    assert RFPHATE(n_trees=60, random_state=0).fit(X, y).oob_score_ > 0.85


def test_few_columns_leave_the_forest_as_it_was(noisy):
    X, y = noisy
    ours = grow_forest(X[:, :50], read_target(y, len(y)), n_trees=10, random_state=5).forest
    assert ours.max_features == "sqrt"
    theirs = grow_trees(RandomForestClassifier(10, random_state=5), X[:, :50], y)
    np.testing.assert_array_equal(ours.apply(X[:, :50]), theirs.apply(X[:, :50]))
