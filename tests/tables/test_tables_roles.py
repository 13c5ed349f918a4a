"""Roles of columns: found from values and types, given by the user, or refused in a sentence."""

from __future__ import annotations

import contextlib
import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from manifolia._core.messages import Argument
from manifolia.tables import TableError, TablePreparer
from manifolia.tables.columns import is_iso_date, key_of, to_booleans, to_days, to_keys, to_moments, to_numbers

N = 40
NUMBERS = np.linspace(0, 1, N)
UTC = datetime.UTC


def fitted(values, **options):
    """Fit on one column beside a plain one, so that something is left when it is dropped."""
    return TablePreparer(**options).fit(pd.DataFrame({"c": values, "plain": NUMBERS}))


def role(values, **options):
    return fitted(values, **options).roles_["c"]


def output(values, **options):
    frame = pd.DataFrame({"c": values, "plain": NUMBERS})
    preparer = TablePreparer(**options).fit(frame)
    out = preparer.transform(frame)
    return out[:, [source == "c" for source in preparer.sources_]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (NUMBERS, "numeric"),
        (np.arange(N) % 3, "numeric"),
        (pd.array([1, None] * 20, dtype="Int64"), "numeric"),
        (pd.array([1.5, None] * 20, dtype="Float32"), "numeric"),
        (pd.array([1, None] * 20, dtype=pd.ArrowDtype(pa.int32())), "numeric"),
        (pd.array([decimal.Decimal("1.5"), None] * 20, dtype=object), "numeric"),
        (pd.arrays.SparseArray(np.arange(N) % 4 * 1.0), "numeric"),
        (pd.to_timedelta(np.arange(N), unit="h"), "numeric"),
        (["1", "2.5", None, "1e3"] * 10, "numeric"),
        ([True, False] * 20, "boolean"),
        (pd.array([True, None] * 20, dtype="boolean"), "boolean"),
        (np.array([True, None] * 20, dtype=object), "boolean"),
        (pd.array([True, None] * 20, dtype=pd.ArrowDtype(pa.bool_())), "boolean"),
        (["a", "b"] * 20, "categorical"),
        (pd.array(["a", None] * 20, dtype="string"), "categorical"),
        (pd.array(["a", "b"] * 20, dtype=pd.ArrowDtype(pa.string())), "categorical"),
        (pd.array(["a", "b"] * 20, dtype=pd.StringDtype("pyarrow")), "categorical"),
        (pd.Categorical(["a", "b"] * 20), "categorical"),
        (pd.Categorical([f"level {i}" for i in range(N)]), "categorical"),  # the user says that they are levels
        (pd.cut(NUMBERS, 4, include_lowest=True, labels=None, ordered=True), "ordered"),
        (pd.Categorical(["s", "l"] * 20, categories=["s", "m", "l"], ordered=True), "ordered"),
        ([1, "a"] * 20, "categorical"),
        (["01234", "02345"] * 20, "categorical"),  # codes: as numbers they would lose their zeros
        (pd.date_range("2024", periods=N), "date"),
        (pd.date_range("2024", periods=N, tz="Europe/Berlin"), "date"),
        (pd.period_range("2024-01", periods=N, freq="M"), "date"),
        ([datetime.date(2024, 1, 1 + i % 9) for i in range(N)], "date"),
        (pd.array([datetime.date(2024, 1, 1), None] * 20, dtype=pd.ArrowDtype(pa.date32())), "date"),
        (pd.array([datetime.datetime(2024, 1, 1), None] * 20, dtype=pd.ArrowDtype(pa.timestamp("us", "UTC"))), "date"),
        (["2024-01-31", "2024-02-01T12:30", None, "2024-02-01 12:30:15.5+02:00"] * 10, "date"),
        (["31/01/2024", "01/02/2024"] * 20, "date"),  # a day beyond 12
        (["31/01/2024", "01/31/2024"] * 20, "categorical"),
        (["10%", "12.5 %", None, "0"] * 10, "numeric"),
        (["$5", "$1,200.50", "-£3"] * 13 + ["$1"], "categorical"),  # two currencies
        ([f"passenger {i}" for i in range(N)], "identifier"),
        ([f"passenger {i}" for i in range(N - 3)] + ["passenger 1"] * 3, "identifier"),
        (["same"] * N, "constant"),
        ([7.0] * N, "constant"),
        (pd.Categorical(["a"] * N, categories=["a", "b"]), "constant"),
        (pd.to_datetime(["2024-01-01"] * N), "constant"),
        ([True] * N, "constant"),
        ([np.nan] * N, "missing"),
        ([None] * N, "missing"),
        (pd.array([None] * N, dtype="string"), "missing"),
        (pd.array([None] * N, dtype="Int64"), "missing"),
        (pd.to_datetime([None] * N), "missing"),
        (["same", None] * 20, "categorical"),  # whether it is there may matter
        ([7.0, None] * 20, "numeric"),
    ],
)
def test_roles_are_found(values, expected):
    assert role(values) == expected


@pytest.mark.parametrize("missing", ["keep", "impute"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        pd.array([1, None] * 20, dtype="Int64"),
        pd.array([1.5, None, 2.5, 3.5] * 10, dtype=pd.ArrowDtype(pa.float64())),
        pd.array([True, None, False, True] * 10, dtype="boolean"),
        pd.array(["a", None, "b", "b"] * 10, dtype="string"),
        pd.Categorical(["a", None, "b", "b"] * 10),
        pd.Categorical(["a", None, "b", "b"] * 10, ordered=True),
        pd.to_datetime(["2024-01-01", None, "2024-01-03", "2024-01-03"] * 10),
    ],
)
def test_missing_values_of_every_type(values, missing, scale):
    out = output(values, missing=missing, scale=scale)
    gaps = np.isnan(out)
    if missing == "keep":
        assert gaps[1::4].all()
        assert not gaps[0::4].any()
    else:
        assert not gaps.any()
        assert out[:, -1].tolist() == pd.isna(pd.Series(values)).astype(float).tolist()


def test_pandas_own_strings_of_version_3():
    new = int(pd.__version__.partition(".")[0]) >= 3  # there they are the default, and the option is deprecated
    with contextlib.nullcontext() if new else pd.option_context("future.infer_string", True):
        frame = pd.DataFrame({"c": ["a", None, "b", "b"] * 10, "name": [f"n{i}" for i in range(N)], "plain": NUMBERS})
        assert isinstance(frame["c"].dtype, pd.StringDtype)
        preparer = TablePreparer().fit(frame)
        assert preparer.roles_ == {"c": "categorical", "name": "identifier", "plain": "numeric"}
        found = preparer.transform(frame)
    plain = pd.DataFrame({"c": np.array(["a", None, "b", "b"] * 10, dtype=object), "name": "x", "plain": NUMBERS})
    assert found.tobytes() == preparer.transform(plain).tobytes()


def test_dates_are_days_since_the_earliest():
    stamps = pd.Series(pd.to_datetime(["2024-01-03", "2024-01-01", None, "2024-01-02T06:00"] * 10, format="ISO8601"))
    days = [2.0, 0.0, np.nan, 1.25]
    for column in (stamps, stamps.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), stamps.astype("datetime64[s]")):
        np.testing.assert_array_equal(output(column)[:4, 0], days)
    texts = ["2024-01-03", "2024-01-01", None, "2024-01-02T06:00"] * 10
    np.testing.assert_array_equal(output(texts)[:4, 0], days)
    preparer = fitted(texts)
    assert "since 2024-01-01)" in " ".join(preparer.notes_)
    assert preparer.origins_ == {"c": "2024-01-01T00:00:00.000000"}
    # Long before and after what nanoseconds can tell.
    later = preparer.transform(pd.DataFrame({"c": ["0001-01-01", "9999-12-31"], "plain": [0.5, 0.5]}))
    assert later[:, 0].tolist() == [(datetime.date(y, m, d) - datetime.date(2024, 1, 1)).days for y, m, d in
                                    [(1, 1, 1), (9999, 12, 31)]]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2024-05-31", True),
        ("2024-05-31T10:20", True),
        ("2024-05-31 10:20:30.123456", True),
        ("2024-05-31T10:20:30Z", True),
        ("2024-05-31 10:20:30 +0200", True),
        ("2024-13-01", False),
        ("31.05.2024", False),
        ("20240531", False),
        ("2024", False),
        (20240531, False),
        ("", False),
    ],
)
def test_iso_dates(text, answer):
    assert is_iso_date(text) is answer


def test_zones_become_utc():
    column = pd.Series(["2024-01-01T12:00+02:00", "2024-01-01T12:00Z"])
    assert to_moments(column, "c").astype(str).tolist() == ["2024-01-01T10:00:00.000000", "2024-01-01T12:00:00.000000"]
    berlin = pd.Series(pd.to_datetime(["2024-01-01T12:00"])).dt.tz_localize("Europe/Berlin")
    assert to_moments(berlin, "c").astype(str).tolist() == ["2024-01-01T11:00:00.000000"]
    aware = pd.Series([datetime.datetime(2024, 1, 1, 12, tzinfo=UTC), datetime.date(2024, 1, 2)], dtype=object)
    assert to_days(aware, "c", "2024-01-01").tolist() == [0.5, 1.0]
    assert to_days(pd.Series([pd.Period("2024-02", "M")], dtype=object), "c", "2024-01-01").tolist() == [31.0]
    assert to_days(pd.Series([np.datetime64("2024-01-02")], dtype=object), "c", "2024-01-01").tolist() == [1.0]


@pytest.mark.parametrize(
    ("each", "unit", "first"),
    [
        ("12h", "days", 0.5),
        ("1h", "hours", 1.0),
        ("6min", "hours", 0.1),
        ("30s", "minutes", 0.5),
        ("1s", "seconds", 1.0),
    ],
)
def test_lengths_of_time_have_the_largest_unit_that_the_longest_has_two_of(each, unit, first):
    lengths = pd.to_timedelta(np.arange(N) * pd.Timedelta(each))
    assert output(lengths)[:3, 0].tolist() == [0.0, first, 2 * first]
    assert f"in {unit})" in " ".join(fitted(lengths).notes_)


def test_keys_do_not_depend_on_the_type():
    assert [key_of(v) for v in (3, 3.0, "3", np.int8(3), np.float32(3), True, 2.5)] == ["3"] * 5 + ["True", "2.5"]
    codes, keys = to_keys(pd.Series([1, "1", None, 2.0, "2"], dtype=object), "c")
    assert keys == ["1", "2"]
    assert codes.tolist() == [0, 0, -1, 1, 1]


def test_booleans_in_words():
    column = pd.Series(["Yes", "no", None, "TRUE", " f ", 1, 0.0, True], dtype=object)
    np.testing.assert_array_equal(to_booleans(column, "c"), [1, 0, np.nan, 1, 0, 1, 0, 1])
    with pytest.raises(
        TableError, match=r"column 'c' should hold true or false, and row 0 .counting from 0. has 'maybe'"
    ):
        to_booleans(pd.Series(["maybe"]), "c")
    assert role(["yes", "no"] * 20) == "categorical"
    assert output(["yes", "no"] * 20, roles={"c": "boolean"})[:2, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("text", ["n/a", "12,5", "nan", "1_000", "٣", "", "x"])
def test_texts_that_are_no_numbers(text):
    with pytest.raises(TableError, match=rf"column 'c' should hold numbers, and row 1 .counting from 0. has '{text}'"):
        to_numbers(pd.Series(["1.5", text]), "c")


def test_texts_that_are_numbers():
    assert to_numbers(pd.Series([" 1.5 ", "-2e3", 4, True, decimal.Decimal("0.1")], dtype=object), "c").tolist() == [
        1.5,
        -2000.0,
        4.0,
        1.0,
        0.1,
    ]
    assert "'c' (text that reads as numbers)" in " ".join(fitted(["1", "2"] * 20).notes_)
    with pytest.raises(TableError, match="decimal=','"):
        to_numbers(pd.Series(["12,5"]), "c")
    with pytest.raises(TableError, match=r"should hold numbers, and row 0 .counting from 0. has '2024-01-01"):
        to_numbers(pd.Series(pd.to_datetime(["2024-01-01"])), "c")


def test_numbers_with_some_texts_need_a_decision():
    values = [str(i / 7) for i in range(N - 2)] + ["unknown"] * 2
    with pytest.raises(
        TableError, match=r"'c' holds numbers, but 'unknown' in 2 rows\. na_values=\['unknown'\] takes it as missing"
    ):
        fitted(values)
    assert role(values, roles={"c": "drop"}) == "drop"
    assert role(values, roles={"c": "categorical"}) == "categorical"
    assert role(["1", "2", "3", "3a"] * 10) == "categorical"  # few levels: a code
    with pytest.raises(TableError, match=r"'c' holds texts such as '0,5'.*Pass decimal=','"):
        fitted(["0,5", "1,25"] * 20)


@pytest.mark.parametrize(
    ("given", "values", "numbers"),
    [
        ("numeric", ["3", "1"] * 20, [[3], [1]]),
        ("categorical", [3, 1] * 20, [[0, 1], [1, 0]]),
        ("ordered", [3, 1] * 20, [[1], [0]]),
        ("ordered", [True, False] * 20, [[1], [0]]),
        (["low", "mid", "high"], ["high", "low"] * 20, [[2], [0]]),
        ((3, 1), [3, 1] * 20, [[0], [1]]),
        ("boolean", [1, 0] * 20, [[1], [0]]),
        ("date", ["2024-01-02", "2024-01-01"] * 20, [[1], [0]]),
    ],
)
def test_roles_are_given(given, values, numbers):
    assert output(values, roles={"c": given})[:2].tolist() == numbers


def test_a_role_for_a_column_of_an_array(rng):
    X = np.column_stack([np.arange(N) % 3, rng.normal(size=N)])
    preparer = TablePreparer({"x0": "categorical"}).fit(X)
    assert preparer.get_feature_names_out().tolist() == ["x0=0", "x0=1", "x0=2", "x1"]
    assert np.array_equal(preparer.transform(X)[:, :3], np.eye(3)[np.arange(N) % 3])


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"plan": "drop"}, r"there is no column 'plan'. Did you mean 'plain'\?"),
        ({"c": "categoric"}, r"the role of 'c' must be one of .*Did you mean 'categorical'\?"),
        ({"c": ["a"]}, "two or more different levels"),
        ({"c": ["a", "b", "a"]}, "two or more different levels"),
        ({"c": ["a", "z"]}, r"levels that are not in the order given for it: 'b'"),
        ({"c": "ordered"}, r"order of the levels of column 'c' is not known: 'a' and 'b'"),
        ({"c": "numeric"}, "column 'c' should hold numbers, and row 0 .counting from 0. has 'a'"),
        (
            {"c": "date"},
            "column 'c' should hold dates, and row 0 .counting from 0. has 'a'.* Write dates as 2024-05-31",
        ),
        ({"c": "drop", "plain": "drop"}, r"no column can be used: 'c' \(drop\) and 'plain' \(drop\)"),
    ],
)
def test_wrong_roles(roles, message):
    with pytest.raises(ValueError, match=message):
        fitted(["a", "b"] * 20, roles=roles)


def test_roles_must_be_a_mapping():
    with pytest.raises(TypeError, match="roles must map columns to roles"):
        fitted(["a", "b"] * 20, roles=["c"])


def test_cells_that_are_neither_text_nor_number():
    with pytest.raises(TypeError, match=r"column 'c' holds a list in row 1 .counting from 0.: \[1\]\."):
        fitted([None, [1], 2.0, "a"] * 10)
    with pytest.raises(TypeError, match="bytes"):
        fitted([b"a", b"b"] * 20)
    with pytest.raises(ValueError, match="Complex data not supported"):
        fitted(np.arange(N) * 1j)
    with pytest.raises(TableError, match=r"column 'c' has an infinite value in row 2 .counting from 0., which"):
        fitted([1.0, 2.0, np.inf, 4.0] * 10)
    with pytest.raises(TableError, match=r"column 'c' has an infinite value in row 2 .counting from 0., which"):
        fitted(["1", "2", "inf", "4"] * 10)


def test_texts_among_numbers_that_make_categories_are_said(rng):
    n = 2000
    doses = rng.integers(1, 321, n).astype(str).astype(object)
    refused = np.flatnonzero(rng.random(n) < 0.12)
    doses[refused] = [f"not taken ({i % 20})" for i in refused]  # codes, or comments: many different texts
    share = 1.0 - len(refused) / n
    preparer = TablePreparer().fit(pd.DataFrame({"dose": doses, "x": rng.normal(size=n)}))
    assert preparer.roles_["dose"] == "categorical"
    told = next(note for note in preparer.notes_ if note.startswith("Taken as categories"))
    assert f"'dose' (numbers in {share:.0%} of its values, and texts such as 'not taken (" in told
    assert Argument("na_values") in told.parts
    kinds = rng.choice(["1", "2", "3", "unknown"], n)  # a few codes are categories, whatever they are called
    preparer = TablePreparer().fit(pd.DataFrame({"kind": kinds}))
    assert not [note for note in preparer.notes_ if note.startswith("Taken as categories")]
    single = [f"{value:.6f}" for value in rng.normal(size=n)]  # all different: they cannot be categories
    single[:240] = ["none"] * 240
    with pytest.raises(TableError, match=r"'single' holds numbers, but 'none' in 240 rows"):
        TablePreparer().fit(pd.DataFrame({"single": single, "x": rng.normal(size=n)}))
    single[:240] = [f"ill {i % 20}" for i in range(240)]
    preparer = TablePreparer().fit(pd.DataFrame({"single": single, "x": rng.normal(size=n)}))
    assert "rows; numbers in 88% of its values, and texts such as 'ill 0')" in preparer.notes_[0]
