"""Bags of whole groups: who is drawn, what is grown on them, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor

from manifolia import forest as stages
from manifolia._core.groups import draw_rows_by_groups, n_units, read_groups, sub_groups
from manifolia.exceptions import ParameterError
from manifolia.forest import grow as module
from manifolia.forest.bags import draw_groups, in_bag_counts, training_weights
from manifolia.forest.grow import fit_by_groups, grow_forest, grow_until_stable, split_width
from manifolia.forest.leaf_tables import leaf_table
from manifolia.forest.targets import read_target
from reference.bags import group_counts, group_vote

GROUPS = np.repeat(np.arange(30), 4)


@pytest.fixture
def patients(rng):
    """Thirty patients with four rows each; columns tell patients apart, and nothing tells their label."""
    X = rng.normal(size=(30, 6))[GROUPS] + 0.05 * rng.normal(size=(120, 6))
    return X, np.repeat([0, 1], 15)[rng.permutation(30)][GROUPS]


# --- labels of groups ---


@pytest.mark.parametrize(
    "labels",
    [
        list("aabbcc"),
        [3, 3, 1, 1, 2, 2],
        [1.5, 1.5, 0.5, 0.5, 7.0, 7.0],
        pd.Series(list("xxyyzz"), dtype="category"),
        pd.Series([5, 5, 6, 6, 7, 7], dtype="Int64"),
        np.array(["a", "a", 1, 1, (2,), (2,)], dtype=object),
        np.array(["2020-01-01"] * 2 + ["2020-01-02"] * 2 + ["2020-01-03"] * 2, dtype="M8[D]"),
    ],
)
def test_any_labels_name_groups(labels):
    assert read_groups(labels, 6).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "labels",
    [["a", "a", None, None, "b", "b"], [1.0, 1.0, np.nan, np.nan, 2.0, 2.0], pd.array([1, 1, None, None, 2, 2])],
)
def test_a_missing_label_is_a_group_of_its_own(labels):
    assert read_groups(labels, 6).tolist() == [0, 0, 1, 2, 3, 3]


def test_rows_on_their_own_are_no_groups():
    assert read_groups([3, 1, 2, 5], 4) is None
    assert read_groups([None] * 4, 4) is None
    assert read_groups(None, 4) is None
    assert sub_groups(np.array([0, 0, 1, 1]), np.array([1, 3])) is None
    assert sub_groups(np.array([0, 0, 4, 4]), np.array([0, 2, 3])).tolist() == [0, 1, 1]
    assert (n_units(None, 9), n_units(GROUPS, 120)) == (9, 30)


@pytest.mark.parametrize(
    ("groups", "y", "words"),
    [
        ([1, 1, 2], None, "groups has 3 labels and X has 6 rows"),
        ([1] * 6, None, "all rows are in one group"),
        ([1, 1, 1, 2, 2, 2], None, "the 6 rows are in 2 groups"),
        ([7, 7, 8, 8, 9, 9], [1, 1, 2, 2, 3, 3], "groups coincide with the 3 classes of the target"),
        ([7, 7, 8, 8, 9, 9], [[0, 1], [0, 1], [0, 2], [1, 2], [1, 3], [1, 3]], "groups coincide with the 3 classes"),
        ([[1, 2]] * 6, None, "groups must be one-dimensional"),
    ],
)
def test_groups_that_cannot_be_used_are_refused(groups, y, words):
    with pytest.raises(ParameterError, match=words) as caught:
        read_groups(groups, 6, y=None if y is None else np.asarray(y))
    assert caught.value.parameter == "groups"


def test_classes_within_groups_of_several_classes_are_accepted():
    assert read_groups([7, 7, 8, 8, 9, 9], 6, y=np.array([0, 1, 0, 1, 0, 1])) is not None


def test_whole_groups_are_drawn_up_to_a_number_of_rows(rng):
    rows = draw_rows_by_groups(GROUPS, 50, rng)
    assert len(rows) == 48
    assert set(np.bincount(GROUPS[rows], minlength=30)) == {0, 4}
    assert len(draw_rows_by_groups(GROUPS, 1, rng)) == 4


# --- bags ---


def test_counts_are_those_drawn_by_hand(rng):
    groups = read_groups(rng.integers(0, 12, 40), 40)
    counts = draw_groups(groups, 25, 7)
    assert np.array_equal(counts, group_counts(groups.tolist(), 25, 7))
    assert np.array_equal(draw_groups(groups, 5, 7, first=20), counts[20:])


def test_groups_without_weight_are_not_drawn_and_a_share_is_as_large_as_asked():
    weight = (GROUPS % 3 > 0).astype(float)
    counts = draw_groups(GROUPS, 50, 0, weight=weight)
    assert not counts[:, weight == 0].any()
    assert set(counts[:, ::4].sum(axis=1)) == {20}
    assert set(draw_groups(GROUPS, 50, 0, share=0.5)[:, ::4].sum(axis=1)) == {15}


@pytest.mark.parametrize("kind", ["dense", "sparse", "gaps"])
def test_the_forest_is_the_one_its_counts_say(patients, kind):
    X, y = patients
    if kind == "gaps":
        X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    rows = sp.csr_array(X) if kind == "sparse" else X
    model = fit_by_groups(RandomForestClassifier(20, random_state=3), rows, y, GROUPS)
    assert type(model) is RandomForestClassifier
    counts = in_bag_counts(model, len(y))
    assert (counts.reshape(20, 30, 4) == counts[:, ::4, np.newaxis]).all()
    for tree, drawn in zip(model.estimators_, counts, strict=True):
        assert tree.tree_.n_node_samples[0] == (drawn > 0).sum()
        assert tree.tree_.weighted_n_node_samples[0] == drawn.sum()
    assert leaf_table(model, rows).counts is counts  # which also checks every leaf against what its tree recorded
    assert model.predict(rows).shape == y.shape


def test_proximities_reproduce_the_vote_of_trees_that_left_the_group_out(patients):
    X, y = patients
    model = fit_by_groups(RandomForestClassifier(60, random_state=0), X, y, GROUPS)
    K = stages.proximity(model, X, kind="gap")
    vote = group_vote(model, X, y, GROUPS, in_bag_counts(model, len(y)))
    assert not np.isnan(vote).any()
    np.testing.assert_allclose(K.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(K @ np.eye(2)[y], vote, rtol=0, atol=1e-12)


def test_parameters_of_the_forest_are_kept(patients):
    X, y = patients
    given = RandomForestClassifier(
        12, max_depth=3, min_samples_leaf=2, criterion="entropy", max_samples=0.5, oob_score=True, random_state=1
    )
    grown = grow_forest(X, read_target(y, len(y)), forest=given, groups=GROUPS).forest
    assert grown.get_params() == given.get_params()
    assert not hasattr(given, "estimators_")
    assert len(grown.estimators_) == 12
    assert {tree.get_params()["criterion"] for tree in grown.estimators_} == {"entropy"}
    assert max(tree.get_depth() for tree in grown.estimators_) == 3
    assert set(in_bag_counts(grown, len(y))[:, ::4].sum(axis=1)) == {15}
    assert not hasattr(clone(grown), "in_bag_counts_")


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 3}, "balanced", "balanced_subsample"])
def test_weights_of_rows_and_classes_multiply_the_counts(patients, rng, class_weight):
    X, y = patients
    y = (GROUPS % 3 == 0).astype(int)
    weight = rng.uniform(0.5, 2.0, len(y))
    model = RandomForestClassifier(6, class_weight=class_weight, random_state=0)
    fit_by_groups(model, X, y, GROUPS, weight)
    assert np.array_equal(training_weights(model, weight), weight)
    for tree, drawn in zip(model.estimators_, in_bag_counts(model, len(y)), strict=True):
        factor = {0: 1.0, 1: 3.0}
        if class_weight == "balanced":
            factor = {one: len(y) / 2 / (y == one).sum() for one in (0, 1)}
        elif class_weight == "balanced_subsample":
            factor = {one: drawn.sum() / 2 / drawn[y == one].sum() for one in (0, 1)}
        held = drawn * weight * np.where(y == 1, factor[1], factor[0])
        assert tree.tree_.weighted_n_node_samples[0] == pytest.approx(held.sum())


def test_several_classes_and_numbers_are_grown_as_by_scikit_learn(patients, rng):
    X, _ = patients
    texts = np.array(list("abc"))[GROUPS % 3]
    both = np.column_stack([GROUPS % 2, GROUPS % 3])
    model = fit_by_groups(RandomForestClassifier(5, random_state=0), X, texts, GROUPS)
    assert set(model.predict(X)) <= set("abc")
    assert fit_by_groups(RandomForestClassifier(5, random_state=0), X, both, GROUPS).predict(X).shape == (120, 2)
    numbers = rng.normal(size=(120, 2))
    assert fit_by_groups(RandomForestRegressor(5, random_state=0), X, numbers, GROUPS).predict(X).shape == (120, 2)


def test_a_forest_may_grow_on_and_threads_change_nothing(patients):
    X, y = patients
    whole = fit_by_groups(RandomForestClassifier(9, random_state=2), X, y, GROUPS)
    grown = fit_by_groups(RandomForestClassifier(4, random_state=2), X, y, GROUPS)
    fit_by_groups(grown.set_params(n_estimators=9), X, y, GROUPS)
    alone = grow_forest(X, read_target(y, 120), forest=clone(whole), groups=GROUPS, n_jobs=1).forest
    for other in (grown, alone):
        assert np.array_equal(other.in_bag_counts_, whole.in_bag_counts_)
        assert all(
            np.array_equal(a.tree_.threshold, b.tree_.threshold)
            for a, b in zip(whole.estimators_, other.estimators_, strict=True)
        )


def test_progress_is_reported_and_changes_nothing(patients):
    X, y = patients
    heard = []
    plain = grow_forest(X, read_target(y, 120), n_trees=45, groups=GROUPS, random_state=0).forest
    told = grow_forest(
        X, read_target(y, 120), n_trees=45, groups=GROUPS, random_state=0, report=lambda *pair: heard.append(pair)
    ).forest
    assert np.array_equal(plain.predict_proba(X), told.predict_proba(X))
    assert heard[0] == (0, 45)
    assert heard[-1] == (45, 45)
    assert len(heard) > 5


# --- what is refused ---


@pytest.mark.parametrize(
    ("forest", "words"),
    [
        (RandomForestClassifier(3), "fitted RandomForestClassifier: its trees drew single rows"),
        (ExtraTreesClassifier(3), r"got ExtraTreesClassifier\(bootstrap=False\)"),
    ],
)
def test_forests_without_bags_of_groups_are_refused(patients, forest, words):
    X, y = patients
    if "fitted" in words:
        forest.fit(X, y)
    with pytest.raises(ParameterError, match=words) as caught:
        grow_forest(X, read_target(y, 120), forest=forest, groups=GROUPS)
    assert caught.value.parameter == "groups"


def test_a_forest_of_groups_knows_how_many_rows_it_saw(patients):
    X, y = patients
    model = fit_by_groups(RandomForestClassifier(3, random_state=0), X, y, GROUPS)
    with pytest.raises(ValueError, match="trained on other rows than the 119 given"):
        stages.proximity(model, X[:-1])
    model.in_bag_counts_ = model.in_bag_counts_[:2]
    with pytest.raises(ValueError, match="not those of its trees"):
        stages.proximity(model, X)


# --- forests that choose ---


def test_the_width_of_splits_is_chosen_by_groups_left_out(monkeypatch):
    """Few columns name the patient and many are noise: wider splits recognise patients, and learn nothing."""
    generator = np.random.default_rng(0)  # not every draw shows it
    groups = np.repeat(np.arange(30), 20)
    X = np.hstack([generator.normal(size=(30, 2))[groups], generator.normal(size=(600, 1000))])
    y = (np.arange(30) % 2)[groups]
    about = {"weight": None, "seed": 0, "n_jobs": 1}
    assert split_width(X, y, **about) != "sqrt"
    assert split_width(X, y, **about, groups=groups) == "sqrt"
    sizes = []
    right = module._right
    monkeypatch.setattr(module, "_ROWS", 100)
    monkeypatch.setattr(module, "_right", lambda X, *rest: sizes.append(np.bincount(rest[-1])) or right(X, *rest))
    split_width(X, y, **about, groups=groups)
    assert {size for one in sizes for size in one} == {20}


def test_a_width_that_is_better_in_one_large_group_alone_is_not_taken(monkeypatch):
    groups = np.concatenate([np.zeros(50, dtype=int), np.arange(1, 51)])
    narrow = np.ones(100, dtype=bool)
    narrow[:40] = False
    monkeypatch.setattr(module, "_right", lambda X, y, w, width, *rest: narrow if width == "sqrt" else narrow | True)
    about = {"weight": None, "seed": 0, "n_jobs": 1}
    assert split_width(np.zeros((100, 200)), np.zeros(100), **about) != "sqrt"
    assert split_width(np.zeros((100, 200)), np.zeros(100), **about, groups=groups) == "sqrt"


def test_growth_until_stable_draws_groups(patients):
    X, y = patients
    sized = grow_until_stable(RandomForestClassifier(1, random_state=0), X, y, X, tol=0.05, groups=GROUPS)
    whole = fit_by_groups(RandomForestClassifier(sized.n_trees, random_state=0), X, y, GROUPS)
    assert len(sized.curve)
    assert np.array_equal(sized.forest.in_bag_counts_, whole.in_bag_counts_)


def test_the_contrast_forest_draws_a_row_and_its_copy_with_the_group(patients):
    X, _ = patients
    grown = grow_forest(X, read_target(None, 120, "unsupervised"), n_trees=10, groups=GROUPS, random_state=0)
    counts = grown.forest.in_bag_counts_
    assert counts.shape == (10, 240)
    assert np.array_equal(counts[:, :120], counts[:, 120:])
    assert np.array_equal(in_bag_counts(grown.forest, 120, grown.train_rows), counts[:, :120])
