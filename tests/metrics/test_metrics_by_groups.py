"""Metrics that leave out a row's own group, or hold whole groups out."""

from __future__ import annotations

import numpy as np
import pytest

from manifolia import metrics
from manifolia._core.groups import group_folds
from manifolia.exceptions import ParameterError
from manifolia.metrics import _nearest as module
from manifolia.metrics._nearest import nearest
from manifolia.metrics.separation import is_unearned, map_score

GROUPS = np.repeat(np.arange(40), 5)


@pytest.fixture
def patients(rng):
    """Patients that lie together in the map, with labels at random."""
    Y = 10 * rng.normal(size=(40, 2))[GROUPS] + 0.1 * rng.normal(size=(200, 2))
    return Y, np.repeat([0, 1], 20)[rng.permutation(40)][GROUPS]


def naive_neighbors(Y, k, groups):
    D = np.linalg.norm(Y[:, None] - Y, axis=2)
    D[groups[:, None] == groups] = np.inf
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("long_list", [0, 3, 128])  # each group searched alone, large ones only, all from longer lists
@pytest.mark.parametrize("d", [2, 20])
def test_neighbors_of_other_groups(rng, monkeypatch, long_list, d):
    groups = np.concatenate([np.repeat([0, 1, 2], 12), np.arange(3, 17), np.repeat([17, 18], 3)])
    Y = rng.normal(size=(len(groups), d))
    monkeypatch.setattr(module, "_LONG_LIST", long_list)
    found = nearest(Y, 7, groups=groups)
    expected = naive_neighbors(Y, 7, groups)
    assert np.array_equal(found.indices, expected)
    np.testing.assert_allclose(found.distances, np.linalg.norm(Y[:, None] - Y[expected], axis=2))
    some = np.array([40, 2, 13])
    assert np.array_equal(nearest(Y, 7, rows=some, groups=groups).indices, expected[some])


def test_knn_accuracy_leaves_the_own_group_out(patients):
    Y, y = patients
    assert metrics.knn_accuracy(Y, y, 3) == 1.0
    by_hand = np.array([np.bincount(y[near]).argmax() for near in naive_neighbors(Y, 3, GROUPS)])
    assert metrics.knn_accuracy(Y, y, 3, groups=GROUPS) == (by_hand == y).mean()
    assert map_score(Y, y, classification=True, k=3, groups=GROUPS) == (by_hand == y).mean()
    assert metrics.knn_accuracy(Y, y, [1, 3], groups=GROUPS.astype(str), pointwise=True).shape == (200, 2)


def test_groups_of_one_row_change_nothing(patients):
    Y, y = patients
    alone = np.arange(200)
    assert metrics.knn_accuracy(Y, y, 5, groups=alone) == metrics.knn_accuracy(Y, y, 5)
    assert metrics.classification_error(Y, y, groups=alone) == metrics.classification_error(Y, y)
    same = (metrics.variable_preservation(Y, Y, groups=alone), metrics.variable_preservation(Y, Y))
    assert same[0].equals(same[1])


def test_refusals(patients):
    Y, y = patients
    with pytest.raises(ParameterError, match="groups has 3 labels and X has 200 rows"):
        metrics.knn_accuracy(Y, y, groups=[1, 2, 2])
    with pytest.raises(ParameterError, match="all rows are in one group"):
        metrics.knn_accuracy(Y, y, groups=[1] * 200)
    with pytest.raises(ParameterError, match="at least 100 are of other groups"):
        metrics.knn_accuracy(Y, y, 101, groups=np.arange(200) // 100)
    with pytest.raises(ParameterError, match="rows of test= are in no group"):
        metrics.knn_accuracy(Y, y, groups=GROUPS, test=(Y, y))
    with pytest.raises(ParameterError, match="at least 10 groups"):
        metrics.variable_preservation(Y, Y, groups=np.arange(200) % 4)
    with pytest.raises(ParameterError, match="one class to learn from"):
        metrics.classification_error(Y, np.arange(200) // 100, groups=np.arange(200) // 100)


def test_the_linear_classifier_is_judged_on_whole_groups(rng):
    """A line through few patients of one class recognises them, and says nothing of others."""
    groups = np.repeat(np.arange(12), 50)
    Y = 10 * rng.normal(size=(12, 16))[groups] + 0.01 * rng.normal(size=(600, 16))
    y = (np.arange(12) % 2)[groups]
    assert metrics.classification_error(Y, y) == 0.0
    errors = [metrics.classification_error(Y, y, groups=groups, random_state=seed) for seed in range(20)]
    assert np.mean(errors) > 0.2
    assert all((error * 100) % 1 == 0 for error in errors)  # two patients are judged, all 50 rows of each
    (_, (low, high)), (_, (least, most)) = (
        metrics.classification_error(Y, y, groups=g, return_ci=True) for g in (groups, None)
    )
    assert high - low > 4 * (most - least)


def test_variables_are_predicted_from_other_groups(patients, rng):
    Y, _ = patients
    V = rng.normal(size=(40, 1))[GROUPS]
    by_rows = metrics.variable_preservation(Y, V, n_neighbors=3)
    by_groups = metrics.variable_preservation(Y, V, n_neighbors=3, groups=GROUPS)
    assert by_rows["value"][0] < 0.2 * by_rows["baseline"][0]
    assert by_groups["value"][0] > 0.9 * by_groups["baseline"][0]


def test_variables_are_ranked_by_groups_held_out(rng):
    groups = np.repeat(np.arange(30), 6)
    who, told = rng.normal(size=30)[groups], np.repeat([0, 1], 15)[groups]
    V = np.column_stack([who, told + 0.7 * rng.normal(size=180)])
    y = told
    ranks = metrics.variable_ranking(V, y, groups=groups)
    assert abs(ranks["forest"][0]) < 0.1
    assert ranks["forest"][1] > ranks["forest"][0]
    assert metrics.variable_ranking(V, y)["forest"][0] > ranks["forest"][0] + 0.1


def test_folds_hold_whole_groups_and_are_of_even_size(rng):
    groups = np.concatenate([np.repeat([0, 1], 20), np.arange(2, 42)])
    folds = group_folds(groups, 4, rng)
    assert sorted(np.concatenate(folds)) == list(range(80))
    assert [len(rows) for rows in folds] == [20] * 4
    assert sum(len(set(groups[rows])) for rows in folds) == 42


def test_the_report_passes_groups_on(patients):
    Y, y = patients
    names = ["knn_accuracy", "classification_error", "trustworthiness"]
    plain, by_groups = (
        metrics.report(Y, Y, y, metrics=names, groups=g).set_index("metric")["value"] for g in (None, GROUPS)
    )
    assert plain["knn_accuracy"] > by_groups["knn_accuracy"] + 0.2
    assert plain["trustworthiness"] == by_groups["trustworthiness"]


def test_a_map_may_show_more_by_chance_where_groups_are_few():
    y = np.repeat([0, 1], 500)
    groups = np.arange(1000) // 50
    assert is_unearned(0.6, 0.5, y, classification=True)
    assert not is_unearned(0.6, 0.5, y, classification=True, groups=groups)
