"""Sentences of a run: right figures, and right words where there is nothing to say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from manifolia.runs.findings import (
    importance_finding,
    isolation_finding,
    learned_something,
    neighbour_finding,
    neighbour_share,
    outlier_finding,
    surprise_finding,
)

LINE = np.column_stack([np.arange(8.0), np.zeros(8)])


def test_the_three_columns_that_matter_most_with_their_shares():
    found = importance_finding({"a": (0.1, 0.01), "b": (0.5, 0.01), "c": (0.3, 0.01), "d": (0.1, 0.2)}, "y")
    assert found.startswith("What matters most for y: b (50%), c (30%), a (10%)")
    assert found.endswith("1 cannot be told from nothing.")


def test_nothing_matters():
    found = importance_finding({"a": (0.001, 0.01), "b": (-0.02, 0.01)}, "y")
    assert found.startswith("No column matters for y")


def test_a_forest_that_knows_no_more_than_the_largest_class_has_learned_nothing():
    y = np.array(["a"] * 60 + ["b"] * 40)
    assert not learned_something(0.65, y, classes=True)  # within two standard errors of 0.6
    assert learned_something(0.75, y, classes=True)
    assert not learned_something(0.1, np.arange(100.0), classes=False)
    assert learned_something(0.4, np.arange(100.0), classes=False)
    found = importance_finding({"a": (0.5, 0.01)}, "y", learned=False)
    assert found.startswith("The forest cannot tell y better")


def test_columns_that_mean_nothing_are_not_named_however_many_there_are(rng):
    noise = {f"n{i}": (float(value), 1.0) for i, value in enumerate(rng.normal(size=300))}
    assert importance_finding(noise, "y").startswith("No column matters")
    found = importance_finding({**noise, "real": (50.0, 1.0)}, "y")
    assert found.startswith("What matters most for y: real (")
    assert found.endswith("; 300 cannot be told from nothing.")


def test_a_share_below_one_per_cent_is_not_named():
    found = importance_finding({"a": (0.5, 0.001), "b": (0.5, 0.001), "c": (0.004, 0.0001)}, "y")
    assert found == "What matters most for y: a (50%), b (50%); 1 more counts for less."


def test_neighbours_of_a_class_are_counted():
    y = np.array(list("aaaabbbb"))
    apart = LINE + np.where(y == "b", 10.0, 0.0)[:, np.newaxis]
    np.testing.assert_array_equal(neighbour_share(apart, y, y, k=3), np.ones(8))
    np.testing.assert_array_equal(neighbour_share(apart, y, y[::-1], k=3), np.zeros(8))
    np.testing.assert_allclose(neighbour_share(LINE, y, y, k=20), 3 / 7)


def test_classes_are_judged_beside_the_forest_by_one_measure():
    y = np.array(list("aaaabbbb"), dtype=object)
    model = SimpleNamespace(oob_score_=0.75, over_separation_=-0.1)
    found = neighbour_finding(model, LINE, y, {}, "kind")
    assert "vote of its 7 nearest rows in the map 65% of the rows" in found
    assert "most frequent: 50%" in found
    assert "right about 75%" in found
    assert found.endswith("The map shows no more than was learned.")
    model.over_separation_ = 0.2
    found = neighbour_finding(model, LINE, y, {}, "kind")
    assert "95% of the rows" in found
    assert "20 points more than was learned" in found


def test_several_targets_of_classes_are_not_called_variance():
    model = SimpleNamespace(oob_score_=0.9, over_separation_=-0.1, forest_=SimpleNamespace(classes_=[]))
    found = neighbour_finding(model, LINE, None, {}, "a and b")
    assert "right about 80% of the labels of a and b" in found
    assert "variance" not in found


def test_numbers_and_maps_without_a_target():
    model = SimpleNamespace(oob_score_=0.6, over_separation_=-0.1)
    assert "explain 50% of the variance of price" in neighbour_finding(model, LINE, None, {}, "price")
    found = neighbour_finding(SimpleNamespace(), LINE, None, {"neighbor_recall": 0.5, "trustworthiness": 0.9}, "")
    assert found.startswith("50% of a row's 7 nearest rows")
    assert "could not be measured" in neighbour_finding(SimpleNamespace(), LINE, None, {}, "")


def test_outliers_are_named_and_missing_scores_passed_over():
    names = list("pqrs")
    found = outlier_finding(np.array([0.1, 0.9, np.nan, 0.6]), names)
    assert found.startswith("2 rows look unlike the rest")
    assert found.endswith("look first at q (0.90), s (0.60).")
    assert outlier_finding(np.array([0.1, 0.2, 0.0, 0.3]), names).startswith("No row stands far apart")


def test_labels_that_the_forest_would_not_give():
    y = np.array(["a"] * 30 + ["b"] * 30, dtype=object)
    predicted = y.copy()
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    predicted[[0, 29]] = "b"  # row 29 is at the border, row 0 deep among its own
    y[59] = None
    names = [f"r{i}" for i in range(60)]
    found = surprise_finding(line, y, predicted, "kind", names)
    assert found.startswith("2 of 59 rows have another kind than the forest would guess")
    assert found.endswith("r29 (a, looks like b), r0 (a, looks like b).")
    assert surprise_finding(line, y, y, "kind", names) is None
    found = surprise_finding(line, y, np.full(60, "b", dtype=object), "kind", names)
    assert "too many to be errors" in found


def test_rows_far_from_their_neighbours_are_named():
    found = isolation_finding(np.array([1.0, 1.0, 5.0, 2.0]), list("pqrs"))
    assert found.startswith("The rows farthest from their 10 nearest are r (3.3), s (1.3), p (0.7)")
    assert isolation_finding(np.zeros(4), list("pqrs")).startswith("More than half")
