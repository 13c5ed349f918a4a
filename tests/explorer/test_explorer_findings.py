"""Findings: right figures, right words where there is nothing to say, and the rows and columns that they name."""

from __future__ import annotations

import numpy as np

from manifolia.explorer.findings import (
    Learned,
    findings_of,
    importance_finding,
    isolation_finding,
    neighbour_finding,
    neighbour_share,
    surprise_finding,
)

LINE = np.column_stack([np.arange(8.0), np.zeros(8)])


def test_the_three_columns_that_matter_most_with_their_shares():
    found = importance_finding({"a": (0.1, 0.01), "b": (0.5, 0.01), "c": (0.3, 0.01), "d": (0.1, 0.2)}, "y")
    assert found.text.startswith("What matters most for y: b (50%), c (30%), a (10%)")
    assert found.text.endswith("1 is indistinguishable from noise.")
    assert found.columns == ("b", "c", "a")
    assert found.rows == ()


def test_nothing_matters():
    found = importance_finding({"a": (0.001, 0.01), "b": (-0.02, 0.01)}, "y")
    assert found.text.startswith("No column matters for y")
    assert found.columns == ()


def test_a_forest_that_knows_no_more_than_the_largest_class_has_learned_nothing():
    y = np.array(["a"] * 60 + ["b"] * 40)
    assert not Learned(0.65, 0.0, classes=True).more_than_chance(y)  # within two standard errors of 0.6
    assert Learned(0.75, 0.0, classes=True).more_than_chance(y)
    assert not Learned(0.1, 0.0, classes=False).more_than_chance(np.arange(100.0))
    assert Learned(0.4, 0.0, classes=False).more_than_chance(np.arange(100.0))
    found = importance_finding({"a": (0.5, 0.01)}, "y", learned=False)
    assert found.text.startswith("The forest cannot tell y better")
    assert found.columns == ()


def test_columns_that_mean_nothing_are_not_named_however_many_there_are(rng):
    noise = {f"n{i}": (float(value), 1.0) for i, value in enumerate(rng.normal(size=300))}
    assert importance_finding(noise, "y").text.startswith("No column matters")
    found = importance_finding({**noise, "real": (50.0, 1.0)}, "y")
    assert found.text.startswith("What matters most for y: real (")
    assert found.text.endswith("; 300 are indistinguishable from noise.")


def test_a_share_below_one_per_cent_is_not_named():
    found = importance_finding({"a": (0.5, 0.001), "b": (0.5, 0.001), "c": (0.004, 0.0001)}, "y")
    assert found.text == "What matters most for y: a (50%), b (50%); 1 more counts for less."


def test_neighbours_of_a_class_are_counted():
    y = np.array(list("aaaabbbb"))
    apart = LINE + np.where(y == "b", 10.0, 0.0)[:, np.newaxis]
    np.testing.assert_array_equal(neighbour_share(apart, y, y, k=3), np.ones(8))
    np.testing.assert_array_equal(neighbour_share(apart, y, y[::-1], k=3), np.zeros(8))
    np.testing.assert_allclose(neighbour_share(LINE, y, y, k=20), 3 / 7)


def test_classes_are_judged_beside_the_forest_by_one_measure():
    y = np.array(list("aaaabbbb"), dtype=object)
    text = neighbour_finding(8, "kind", learned=Learned(0.75, -0.1, classes=True), y=y, scores={}).text
    assert "vote of its 7 nearest rows in the map 65% of the rows" in text
    assert "most frequent: 50%" in text
    assert "right about 75%" in text
    assert text.endswith("The map shows no more than was learned.")
    text = neighbour_finding(8, "kind", learned=Learned(0.75, 0.2, classes=True), y=y, scores={}).text
    assert "95% of the rows" in text
    assert "20 points more than was learned" in text


def test_several_targets_of_classes_are_not_called_variance():
    text = neighbour_finding(8, "a and b", learned=Learned(0.9, -0.1, classes=True), y=None, scores={}).text
    assert "right about 80% of the labels of a and b" in text
    assert "variance" not in text


def test_numbers_and_maps_without_a_target():
    text = neighbour_finding(8, "price", learned=Learned(0.6, -0.1, classes=False), y=None, scores={}).text
    assert "explain 50% of the variance of price" in text
    scores = {"neighbor_recall": 0.5, "trustworthiness": 0.9}
    text = neighbour_finding(8, "", learned=None, y=None, scores=scores).text
    assert text.startswith("50% of a row's 7 nearest rows")
    assert "could not be measured" in neighbour_finding(8, "", learned=None, y=None, scores={}).text


def test_labels_that_the_forest_would_not_give():
    y = np.array(["a"] * 30 + ["b"] * 30, dtype=object)
    predicted = y.copy()
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    predicted[[0, 29]] = "b"  # row 29 is at the border, row 0 deep among its own
    y[59] = None
    names = [f"r{i}" for i in range(60)]
    found = surprise_finding(line, y, predicted, "kind", names)
    assert found.text.startswith("2 of 59 rows have another kind than the forest would guess")
    assert found.text.endswith("r29 (a, looks like b), r0 (a, looks like b).")
    assert found.rows == (29, 0)
    assert surprise_finding(line, y, y, "kind", names) is None
    found = surprise_finding(line, y, np.full(60, "b", dtype=object), "kind", names)
    assert "too many to be errors" in found.text
    assert found.rows == ()


def test_rows_far_from_their_neighbours_are_named():
    found = isolation_finding(np.array([1.0, 1.0, 5.0, 2.0]), list("pqrs"))
    assert found.text.startswith("The rows farthest from their 10 nearest are r (3.3), s (1.3), p (0.7)")
    assert found.rows == (2, 3, 0)
    assert isolation_finding(np.zeros(4), list("pqrs")).text.startswith("More than half")


def test_a_row_whose_name_reads_like_a_sentence_is_found_by_its_number():
    names = ["look first at 3 (0.90), 2 (0.80).", "worth a look: 0 (b)", "2", "3"]
    found = isolation_finding(np.array([9.0, 8.0, 1.0, 0.5]), names)
    assert found.rows == (0, 1, 2)
    assert all(type(row) is int for row in found.rows)


def test_all_that_is_known_of_a_map_is_said_in_order():
    y = np.array(["a"] * 30 + ["b"] * 30, dtype=object)
    line = np.column_stack([np.arange(60.0), np.zeros(60)])
    predicted = y.copy()
    predicted[29] = "b"
    names = [f"r{i}" for i in range(60)]
    known = {"target": "kind", "y": y, "importances": {"u": (0.5, 0.01)}, "purpose": "kind", "predicted": predicted}
    known |= {"isolation": np.linspace(1.0, 2.0, 60)}
    found = findings_of(line, names, learned=Learned(0.98, 0.0, classes=True), **known)
    assert [one.columns for one in found] == [("u",), (), (), ()]
    assert [one.rows for one in found] == [(), (), (59, 58, 57), (29,)]
    found = findings_of(line, names, learned=None, isolation=np.arange(60.0))
    assert [one.rows for one in found] == [(59, 58, 57)]  # nobody measured how neighbours are kept
    found = findings_of(line, names, learned=None, scores={}, isolation=np.arange(60.0))
    assert [one.rows for one in found] == [(), (59, 58, 57)]
    blind = findings_of(line, names, learned=Learned(0.5, 0.0, classes=True), **known)
    assert blind[0].text.startswith("The forest cannot tell kind better")
