"""Numbers and dates as people write them: read in one way or not at all, and the same at transform as at fit."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.exceptions import ManifoliaWarning
from manifolia.tables import TableError, TablePreparer
from manifolia.tables.number_formats import as_date, as_number, date_order, number_sign, read_number

N = 60
PLAIN = np.linspace(0, 1, N) ** 2
VALUES = np.random.default_rng(5).permutation(np.arange(N)) * 37.25 + 900


def fitted(values, **options):
    return TablePreparer(**options).fit(pd.DataFrame({"c": values, "plain": PLAIN}))


def new(values):
    return pd.DataFrame({"c": values, "plain": PLAIN[: len(values)]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("61.3%", (61.3, "%")),
        (" -0.5 % ", (-0.5, "%")),
        ("\u22122%", (-2.0, "%")),
        (".5%", (0.5, "%")),
        ("$1,200.50", (1200.5, "$")),
        ("-$3", (-3.0, "$")),
        ("1 250 000 €", (1250000.0, "€")),
        ("£12,345,678", (12345678.0, "£")),
        ("12\u202f345.5", (12345.5, ",")),
        ("1,234", (1234.0, ",")),
        ("1,200.500", (1200.5, ",")),
        ("12.5", (12.5, "")),
        ("0", (0.0, "")),
        # Two readings, or none.
        ("1.200 €", None),
        ("1,234%", None),
        ("61,3%", None),
        ("1.200,50 €", None),
        ("12,34", None),
        ("1,2345", None),
        ("0,123", None),
        ("007", None),
        ("1,234 567", None),
        ("$5$", None),
        ("$", None),
        ("%", None),
        ("", None),
        (".", None),
        ("5 kg", (5.0, "kg")),
        ("٣%", None),
    ],
)
def test_reading_one_number(text, expected):
    number = read_number(text)
    assert (None if number is None else number[:2]) == expected


def test_the_sign_of_a_column():
    assert number_sign(["$1", "€1", "€2", 3.0, "x"], [5, 2, 2, 50, 50]) == "$"
    assert number_sign(["1,000", "$1"], [50, 1]) == "$"
    assert number_sign(["1,000", "5"], [1, 1]) == ","
    assert number_sign(["5", "x"], [1, 1]) == ""
    assert as_number("1,200", "$") == 1200.0
    for text, sign in [("€5", "$"), ("5", "%"), ("1,200", "%"), ("$5", ","), ("x", "$")]:
        with pytest.raises(ValueError):
            as_number(text, sign)


@pytest.mark.parametrize(
    ("write", "sign", "told"),
    [
        (lambda x: f"{x}%", "%", "percentages such as '{}', as the number before the sign"),
        (lambda x: f"${x:,.2f}", "$", "amounts in $ such as '{}'"),
        (lambda x: f"{x:,.2f} €".replace(",", " "), "€", "amounts in € such as '{}'"),
        (lambda x: f"{x:,.2f}", ",", "numbers with separated thousands such as '{}'"),
    ],
)
def test_written_numbers_are_taken_as_numbers(write, sign, told):
    texts = [write(x) for x in VALUES]
    preparer = fitted(texts)
    assert preparer.roles_["c"] == "numeric"
    assert preparer.written_ == {"c": sign}
    example = next(text for text in texts if number_sign([text], [1]) == sign)
    assert f"Taken as numbers: 'c' ({told.format(example)})." in preparer.notes_
    assert preparer.transform(new(texts))[:, 0].tolist() == VALUES.tolist()
    # One row alone: read the same.
    assert preparer.transform(new([texts[7]]))[0, 0] == VALUES[7]
    assert (
        fitted(texts, roles={"c": "numeric"}).transform(new(texts)).tobytes()
        == preparer.transform(new(texts)).tobytes()
    )


def test_values_that_do_not_fit_are_refused_with_column_value_and_row():
    texts = [f"{x}%" for x in VALUES]
    with pytest.raises(TableError, match=r"'c' holds percentages in 97% of its rows, and row 2 .*has 'about 5'"):
        fitted([*texts[:2], "about 5", *texts[3:-1], "much"])
    preparer = fitted(texts)
    for value in ("0.61", "$5", "61,3%", "n/a"):
        with pytest.raises(TableError, match=r"column 'c' should hold percentages, and row 1 .*has '"):
            preparer.transform(new(["5%", value]))
    assert preparer.transform(new(["0", "5%"]))[:, 0].tolist() == [0.0, 5.0]


def test_below_the_share_such_a_column_is_left_out():
    values = [f"{x}%" if i % 3 else f"text {i}" for i, x in enumerate(VALUES)]
    preparer = fitted(values)
    assert preparer.roles_["c"] == "identifier"
    assert preparer.notes_[0] == (
        "Left out, because there are too many different texts to be categories: 'c' (60 different texts in 60 rows; "
        "percentages in 67% of its values, and texts such as 'text 0'). Pass roles={column: 'categorical'} to use such "
        "a column."
    )
    assert fitted(values, roles={"c": "identifier"}).notes_[0] == "Left out as asked: 'c'."


def test_few_signs_among_plain_numbers_are_the_odd_ones():
    values = [str(x) for x in VALUES]
    with pytest.raises(TableError, match=r"'c' holds numbers in 98% of its rows, and row 4 .*has '3%'"):
        fitted([*values[:4], "3%", *values[5:]])


def test_plain_numbers_for_percentages_are_warned_of():
    preparer = fitted([f"{x}%" for x in VALUES])
    with pytest.warns(ManifoliaWarning, match=r"held percentages at fit hold plain numbers: 'c'; .* 61.3 for 61.3%"):
        assert preparer.transform(new([61.3, 5.0]))[:, 0].tolist() == [61.3, 5.0]


@pytest.mark.parametrize(("order", "form"), [("dmy", "%d/%m/%Y"), ("mdy", "%m/%d/%Y"), ("dmy", "%d.%m.%Y %H:%M")])
def test_dates_with_day_or_month_first(order, form):
    days = pd.date_range("2024-01-01", periods=N, freq="5D")
    preparer = fitted(days.strftime(form))
    first = "day" if order == "dmy" else "month"
    assert preparer.roles_["c"] == "date"
    assert preparer.written_ == {"c": order}
    assert f"Dates, as days since the earliest: 'c' (since 2024-01-01, with the {first} first)." in preparer.notes_
    assert preparer.transform(new(days.strftime(form)))[:, 0].tolist() == [5.0 * i for i in range(N)]
    # A row alone whose order could not be told, and one in ISO form.
    alone = new([datetime.datetime(2024, 3, 4).strftime(form), "2024-03-04"])
    assert preparer.transform(alone)[:, 0].tolist() == [63.0, 63.0]
    wrong = "12/31/2024" if order == "dmy" else "31/12/2024"
    with pytest.raises(
        TableError, match=rf"column 'c' should hold dates with the {first} first, and row 0 .*has '{wrong}'"
    ):
        preparer.transform(new([wrong]))


def test_dates_in_doubt_are_asked_about():
    texts = [f"{1 + i % 12:02d}/{1 + i // 12:02d}/{2020 + i % 5}" for i in range(N)]
    for roles in (None, {"c": "date"}):
        with pytest.raises(TableError, match=r"'c' has dates such as '01/01/2020', and no day beyond 12 shows.*'mdy'"):
            fitted(texts, roles=roles)
    for order in ("dmy", "mdy"):
        assert fitted(texts, roles={"c": order}).written_ == {"c": order}
    assert fitted([*texts[1:], "13/01/2020"], roles={"c": "date"}).written_ == {"c": "dmy"}


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["31/05/2024", "01/02/2024"], "dmy"),
        (["05/31/2024", "01/02/2024"], "mdy"),
        (["01/02/2024"], "unclear"),
        (["31/05/2024", "05/31/2024"], ""),
        (["31/02/2024"], ""),
        (["31/05-2024"], ""),
        (["31/05/24"], "dmy"),
        (["24-05-31"], "unclear"),
        (["31/05/2024", 5], ""),
        ([], ""),
    ],
)
def test_the_order_of_a_column(values, order):
    assert date_order(values) == order


def test_one_date():
    assert as_date("5/31/2024 7:05:09", "mdy") == datetime.datetime(2024, 5, 31, 7, 5, 9)


def test_a_model_keeps_how_columns_are_written(tmp_path):
    days = pd.date_range("2024-01-01", periods=N).strftime("%m/%d/%Y")
    frame = pd.DataFrame({"c": [f"{x}%" for x in VALUES], "day": days, "plain": PLAIN})
    preparer = TablePreparer().fit(frame)
    mf.save(preparer, tmp_path / "model.mfa")
    assert mf.load(tmp_path / "model.mfa").transform(frame).tobytes() == preparer.transform(frame).tobytes()
