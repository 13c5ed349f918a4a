"""Sentences of a run: right figures, and right words where there is nothing to say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from manifolia.runs.findings import (
    agreement,
    importance_finding,
    learned_something,
    neighbour_finding,
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


def test_agreement_counts_neighbours_of_the_same_class():
    y = np.array(list("aaaabbbb"))
    apart = LINE + np.where(y == "b", 10.0, 0.0)[:, np.newaxis]
    assert agreement(apart, y, k=3) == pytest.approx(1.0)
    assert agreement(LINE, np.array(list("abababab")), k=1) == 0.0
    assert agreement(LINE, y, k=7) == pytest.approx(3 / 7)


def test_classes_are_judged_beside_the_forest():
    y = np.array(list("aaaabbbb"), dtype=object)
    model = SimpleNamespace(oob_score_=0.75, over_separation_=-0.1)
    found = neighbour_finding(model, LINE, y, {}, "kind")
    assert "43% have the same kind (43% by chance)" in found
    assert "right about 75%" in found
    assert "separates no more than that" in found
    model.over_separation_ = 0.2
    assert "separates more, by 20%, than that" in neighbour_finding(model, LINE, y, {}, "kind")


def test_numbers_and_maps_without_a_target():
    model = SimpleNamespace(oob_score_=0.6, over_separation_=-0.1)
    assert "explain 50% of the variance of price" in neighbour_finding(model, LINE, None, {}, "price")
    found = neighbour_finding(SimpleNamespace(), LINE, None, {"neighbor_recall": 0.5, "trustworthiness": 0.9}, "")
    assert found.startswith("50% of a row's 10 nearest rows")
    assert "could not be measured" in neighbour_finding(SimpleNamespace(), LINE, None, {}, "")


def test_outliers_are_named_and_missing_scores_passed_over():
    names = list("pqrs")
    found = outlier_finding(np.array([0.1, 0.9, np.nan, 0.6]), names)
    assert found.startswith("2 rows look unlike the rest")
    assert "look first at q (0.90), s (0.60), p (0.10)" in found
    assert outlier_finding(np.array([0.1, 0.2, 0.0, 0.3]), names).startswith("No row stands far apart")


def test_labels_that_the_forest_would_not_give():
    y = np.array(["a", None, "b", "b"], dtype=object)
    found = surprise_finding(y, np.array(["a", "b", "a", "b"]), "kind", list("pqrs"))
    assert found.startswith("1 of 3 row has a kind")
    assert "r (b, looks like a)" in found
    assert surprise_finding(y[[0, 3]], np.array(["a", "b"]), "kind", list("ps")) is None
