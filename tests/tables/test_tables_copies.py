"""Rows and columns that are there more than once: what is said of them, and where nothing is."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from manifolia.tables import TablePreparer, read
from manifolia.tables.copies import column_copies_note, row_copies_note

N = 200


def measured(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["u", "v"], n)})


def with_copies(n_copies=20):
    """The first row again at the end, some times."""
    frame = measured()
    return pd.concat([frame, frame.iloc[[0] * n_copies]], ignore_index=True)


def rows_note(frame, y=None, groups=None, **options):
    preparer = TablePreparer(**options)
    X = preparer.fit_transform(frame)
    return row_copies_note(read(frame), preparer, X, y, groups)


def columns_note(frame, *, importance=True, **options):
    preparer = TablePreparer(**options)
    X = preparer.fit_transform(frame)
    return column_copies_note(preparer, X, importance=importance)


@pytest.mark.parametrize("options", [{}, {"missing": "impute", "scale": True}])
def test_copies_of_rows_are_counted_in_the_columns_that_are_used(options):
    frame = with_copies().assign(name=[f"row {i:03d}" for i in range(N + 20)])  # which is left out
    frame.loc[frame["a"] == frame["a"].iloc[0], "b"] = np.nan
    told = "20 of 220 rows repeat an earlier row in every column that is used (one occurs 21 times). Drop them if"
    (said,) = rows_note(frame, **options)
    assert said.startswith(told)
    assert rows_note(frame.assign(c=np.arange(N + 20.0) % 211 / 7), **options) == []


def test_scores_are_doubted_where_copies_tell_the_target():
    frame, rng = with_copies(), np.random.default_rng(1)
    same = np.r_[rng.integers(0, 2, N), np.zeros(20, dtype=int)]
    same[0] = 0
    (said,) = rows_note(frame, same)
    assert "may be too good, because copies of them were not. Drop the copies, or pass groups=column if" in said
    (said,) = rows_note(frame, rng.integers(0, 2, N + 20))
    assert "too good" not in said
    together = np.r_[np.arange(N), np.zeros(20, dtype=int)]
    (said,) = rows_note(frame, same, together)  # copies are left out together
    assert "too good" not in said
    (said,) = rows_note(frame, same, np.arange(N + 20) % 10)
    assert said.endswith("were not. Drop the copies.")


@pytest.mark.parametrize(
    "frame",
    [
        with_copies(1),  # less than a hundredth, and one may happen
        pd.DataFrame({"sex": ["f", "m"] * 100, "class": ["1st", "2nd", "3rd", "crew"] * 50}),
        pd.DataFrame({"age": np.arange(N) % 70 + 1.5, "sex": ["f", "m"] * 100}),
        pd.DataFrame({"age": np.arange(N) % 70, "born": 2020 - np.arange(N) % 70, "sex": ["f", "m"] * 100}),
    ],
    ids=["a single one", "categories", "few numbers", "numbers that follow from one another"],
)
def test_rows_that_are_equal_by_chance_are_not_mentioned(frame):
    assert rows_note(frame) == []


def test_copies_in_a_wide_table_are_found_in_all_of_its_columns():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 900)))
    twice = pd.concat([wide, wide[:5]], ignore_index=True)
    assert rows_note(twice)[0].startswith("5 of 65 rows repeat")
    assert rows_note(twice.to_numpy())[0].startswith("5 of 65 rows repeat")
    twice.iloc[60:, 1] += 1.0  # a column that the first look leaves out
    assert rows_note(twice) == []


def test_columns_that_hold_the_same_are_named():
    frame = measured()
    frame = frame.assign(copy=frame["a"], scaled=frame["a"] * -1e9 + 7.0, side=frame["kind"].map({"u": "l", "v": "r"}))
    frame.loc[3, ["a", "copy", "scaled"]] = np.nan
    told = "'copy' and 'scaled' hold the same as 'a'; 'side' holds the same as 'kind': "
    for options in ({}, {"missing": "impute", "scale": True}):
        (said,) = columns_note(frame, **options)
        assert said == (
            f"{told}importance is shared among such columns. Leave copies out with exclude=['copy', 'scaled', 'side']."
        )
    assert columns_note(frame, importance=False)[0].startswith(f"{told}together they weigh more than one column. ")
    many = frame.assign(**{f"more{i}": frame["b"] for i in range(9)})
    assert "'more0', 'more1', 'more2', 'more3', 'more4' and 4 more hold the same as 'b'" in columns_note(many)[0]
    pairs = pd.DataFrame({f"{name}{i}": measured(i)["a"] for i in range(5) for name in "pq"})
    assert re.search(r"'q2' holds the same as 'p2'; and 2 more columns have copies: ", columns_note(pairs)[0])


def test_columns_that_differ_are_not_called_copies():
    frame = measured()
    outlier = pd.DataFrame({"a": frame["a"], "b": frame["b"]})
    outlier.loc[7] = 1e12  # beside which all else is rounding
    gaps = frame[["a"]].assign(c=frame["a"].where(np.arange(N) != 5))
    rounded = frame[["a"]].assign(c=frame["a"].round(2))
    levels = pd.DataFrame({"kind": list("uvw") * 10, "coarse": list("uvv") * 10})
    for one in (frame, outlier, gaps, rounded, levels):
        assert columns_note(one) == []
