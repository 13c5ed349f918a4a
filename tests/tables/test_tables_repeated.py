"""Columns that seem to say which rows belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia._core.messages import Argument
from manifolia.runs import Request, make_run
from manifolia.tables import read
from manifolia.tables.repeated import group_notes

GROUPS = np.repeat(np.arange(200), 5)
NOTE = "patient has 200 values in 1,000 rows: if rows of one patient belong together, say groups='patient'."


def notes(y, *, classes=True, **columns):
    return group_notes(pd.DataFrame(columns).items(), np.asarray(y), classes=classes)


@pytest.mark.parametrize("kind", ["numbers", "texts", "floats", "category"])
def test_an_id_of_patients_with_labels_at_random_is_named(kind):
    hits = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 200)[GROUPS]
        order = rng.permutation(200)[GROUPS]
        patient = {
            "numbers": order,
            "texts": [f"P-{one:03d}" for one in order],
            "floats": order.astype(float),
            "category": pd.Categorical([f"p{one}" for one in order]),
        }[kind]
        found = notes(y, x=rng.normal(size=1000), patient=patient)
        hits += found == [NOTE]
    assert hits == 5
    assert found[0].parts[1] == Argument("groups", "patient")


def test_patients_of_whom_many_came_once_are_named_beside_a_column_that_tells_the_label(rng):
    visits = rng.choice([1, 2, 3, 4], 260, p=[0.3, 0.3, 0.25, 0.15])
    patient = np.repeat(np.arange(260), visits)
    y = rng.integers(0, 3, 260)[patient]
    codes = np.array([f"{one:06d}" for one in patient])
    found = notes(y, patient=codes, bill=np.array(["Z00", "E11", "I10"])[y], age=rng.integers(20, 80, 260)[patient])
    told = f"patient has 260 values in {len(y):,} rows: "
    assert found == [told + NOTE.partition(": ")[2]]
    once = np.where(rng.random(len(y)) < 0.3, patient, 1000 + np.arange(len(y)))
    assert notes(y, patient=once) == []  # most rows have a value of their own


def test_numbers_of_patients_are_named(rng):
    y = rng.normal(size=200)[GROUPS] + 0.1 * rng.normal(size=1000)
    assert notes(y, classes=False, patient=GROUPS) == [NOTE]


def test_what_tells_unseen_values_too_is_a_feature(rng):
    y = (GROUPS > 100).astype(int)  # patients came in order of their label
    assert notes(y, patient=GROUPS) == []
    assert notes(GROUPS + rng.normal(size=1000), classes=False, age=GROUPS) == []


def test_what_tells_little_or_is_no_id_is_not_named(rng):
    y = rng.integers(0, 2, 200)[GROUPS]
    assert notes(rng.integers(0, 2, 1000), patient=GROUPS) == []  # labels of rows
    assert notes(y, patient=GROUPS + 0.5) == []  # no whole numbers
    assert notes(y, row=np.arange(1000)) == []  # each value once
    assert notes(y, half=GROUPS // 50) == []  # four values
    assert notes((GROUPS // 60) % 2, ward=GROUPS // 60) == []  # 300 rows of one value
    assert notes(y, seen=GROUPS > 50) == []
    district = rng.integers(0, 30, 1000)
    assert notes(rng.random(1000) < 0.3 + 0.4 * rng.random(30)[district], district=district.astype(str)) == []


def test_gaps_in_labels_and_values_are_left_out(rng):
    y = rng.integers(0, 2, 200)[GROUPS].astype(float)
    y[::11] = np.nan
    patient = GROUPS.astype(float)
    patient[::13] = np.nan
    assert notes(y, patient=patient) == ["patient has 200 values in 909 rows: " + NOTE.partition(": ")[2]]


@pytest.mark.parametrize("exclude", [(), ("patient",)])
def test_a_run_says_it_once_and_not_if_it_was_told(rng, exclude):
    groups = np.repeat(np.arange(40), 5)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    frame = frame.assign(patient=groups, y=rng.permutation(np.arange(40) % 2)[groups].astype(str))
    about = {"target": ("y",), "settings": {"n_trees": 20}, "parts": None, "exclude": exclude}
    said = make_run(read(frame), Request(**about)).report["notes"]
    assert [note for note in said if "belong together" in note] == [
        "patient has 40 values in 200 rows: if rows of one patient belong together, say groups='patient'."
    ]
    told = make_run(read(frame), Request(**about, groups="patient")).report["notes"]
    assert not [note for note in told if "belong together" in note]
