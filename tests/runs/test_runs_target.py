"""The target of a run: what it is taken as, and numbers at the ends of what floats can hold."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from cli_helpers import run as command
from manifolia.runs import Request, make_run
from manifolia.runs.target import read_labels
from manifolia.tables import read


def fast(frame, *target, **options):
    settings = {"n_trees": 40} if target else {}
    return make_run(read(frame), Request(target=target, settings=settings, parts=None, **options))


@pytest.fixture(scope="module")
def years():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(330, 3))
    months = np.clip(np.round(17 + 7 * X[:, 0] + rng.normal(scale=5, size=330)), 1, 33).astype(int)
    return pd.DataFrame(X, columns=list("abc")).assign(years=months)


def test_some_tens_of_whole_numbers_are_numbers_and_that_is_said(years, tmp_path):
    found = fast(years, "years")
    assert found.report["target"]["task"] == "regression"
    assert "years taken as numbers (regression); task='classification' takes them as classes." in found.report["notes"]
    assert found.report["findings"][0]["text"].startswith("What matters most for years: a (")
    classes = fast(years, "years", task="classification")
    assert classes.report["target"]["task"] == "classification"
    assert not [note for note in classes.report["notes"] if "taken as" in note]
    years.to_csv(tmp_path / "t.csv", index=False)
    done = command("map", tmp_path / "t.csv", "-t", "years", "--no-explain", "--set", "n_trees=5", "-o", tmp_path / "r")
    assert "years taken as numbers (regression); --task classification takes them as classes." in done.stderr


def test_classes_with_gaps_are_compared_as_values():
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = np.where(rng.random(200) < 0.1, np.nan, (x > 0).astype(float))
    found = fast(pd.DataFrame({"x": x, "z": rng.normal(size=200), "y": y}), "y")
    known = ~np.isnan(y)
    guesses = found.context.method.oob_prediction_
    n_wrong = int((guesses[known] != y[known]).sum())
    assert n_wrong < 20
    told = [one["text"] for one in found.report["findings"] if "than the forest would guess" in one["text"]]
    assert [text.split(" of ")[0] for text in told] == ([str(n_wrong)] if n_wrong else [])


def test_several_targets_of_classes_with_gaps_are_classes():
    frame = pd.DataFrame({"a": [1, 2, None, 3] * 10, "b": [0, 1, 2, 3] * 10, "x": np.arange(40.0)})
    labels = read_labels(read(frame), ["a", "b"])
    assert labels.y[0].tolist() == [1, 0]
    assert labels.y[2].tolist() == [None, 2]
    found = fast(frame.assign(x=np.sin(np.arange(40.0))), "a", "b")
    assert found.context.method.forest_.classes_[0].tolist() == [1, 2, 3]


def test_numbers_that_single_precision_takes_for_zero_matter():
    rng = np.random.default_rng(2)
    y = np.arange(120) % 2
    frame = pd.DataFrame({"p": np.where(y, 1e-60, 1e-50) * rng.uniform(1, 2, 120), "x": rng.normal(size=120), "y": y})
    found = fast(frame, "y")
    assert found.report["findings"][0]["columns"][0] == "p"
    assert any(note.startswith("Shifted and scaled") for note in found.report["notes"])
    again = found.model.transform(frame[["p", "x"]].iloc[[5]])
    np.testing.assert_array_equal(again, found.model.transform(frame[["p", "x"]])[[5]])


def test_the_unit_of_a_table_does_not_matter():
    X = load_iris(as_frame=True).data
    kept = [
        next(score["value"] for score in fast(X * unit).report["scores"] if score["metric"] == "neighbor_recall")
        for unit in (1.0, 2.0**600, 2.0**-600)
    ]
    assert kept[0] > 0.6
    assert kept[1:] == kept[:1] * 2


def test_a_target_of_huge_numbers_is_refused_and_one_of_tiny_numbers_is_not():
    rng = np.random.default_rng(3)
    a = rng.normal(size=100)
    frame = pd.DataFrame({"a": a, "b": rng.normal(size=100)})
    with pytest.raises(ValueError, match="standard deviation from 1e-70"):
        fast(frame.assign(t=a * 1e200), "t")
    found = fast(frame.assign(t=a * 1e-12), "t")
    assert found.report["findings"][0]["columns"][0] == "a"
    json.dumps(found.report, allow_nan=False)
