"""Cells as people write them: amounts, times, dates, codes and words for "missing", each with what becomes of it."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from manifolia.cli import main
from manifolia.explorer.place import as_numbers
from manifolia.tables import TableError, TablePreparer, read
from manifolia.tables.number_formats import as_date, as_number, date_order, number_sign, read_number
from manifolia.tables.roles import as_read

N = 60
OTHER = np.linspace(0.0, 1.0, N) ** 2


def prepared(values, **options):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object), "other": OTHER[: len(values)]})
    return TablePreparer(**options).fit(frame), frame


def numbers(values, **options):
    preparer, frame = prepared(values, **options)
    assert preparer.roles_["c"] == "numeric"
    return preparer.transform(frame)[:, 0], " ".join(preparer.notes_)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("{:.1f} kg", "amounts in kg such as '"),
        ("{:.1f}kg", "amounts in kg such as '"),
        ("{:.1f} mm Hg", "amounts in mm Hg such as '"),
        ("{:.1f} km/h", "amounts in km/h such as '"),
        ("{:.1f} °C", "amounts in °C such as '"),
        ("${:,.2f}", "amounts in $ such as '"),
        ("{:.1f}%", "percentages such as '"),
    ],
)
def test_amounts(form, told):
    truth = np.linspace(10.5, 2500.5, N).round(1)
    values, notes = numbers([form.format(value) for value in truth])
    np.testing.assert_allclose(values, truth)
    assert told in notes


def test_one_day_and_several_days_are_one_unit():
    values, notes = numbers(["1 day", "2 days", "10 days"] * 20)
    assert values[:3].tolist() == [1.0, 2.0, 10.0]
    assert "amounts in day" in notes


def test_parentheses_are_negative():
    values, notes = numbers([f"({i})" if i % 3 else str(i) for i in range(1, N + 1)])
    assert values[:4].tolist() == [-1.0, -2.0, 3.0, -4.0]
    assert "numbers such as '(1)', as a negative number" in notes
    assert numbers(["($1,200.50)", "$5", "-$3"] * 20)[0][:3].tolist() == [-1200.5, 5.0, -3.0]


def test_decimal_commas_with_a_sign():
    values, notes = numbers(["12,50 €", "1.234,56 €", "3 €"] * 20)
    assert values[:3].tolist() == [12.5, 1234.56, 3.0]
    assert "amounts in € with a decimal comma such as '12,50 €'" in notes
    assert numbers(["61,3%", "5,25%", "0"] * 20)[0][:3].tolist() == [61.3, 5.25, 0.0]


@pytest.mark.parametrize(
    "values",
    [
        ["1.200 €", "3.500 €"] * 30,  # thousands or decimals
        ["5 kg", "300 g"] * 30,  # two units
        ["1", "2", "3", "3a"] * 15,  # codes
        ["A12", "B7", "C9"] * 20,
        ["01234", "56789"] * 30,
        ["1st", "2nd", "3rd"] * 20,
    ],
)
def test_what_is_not_read_as_numbers(values):
    assert prepared(values)[0].roles_["c"] == "categorical"


@pytest.mark.parametrize(
    ("text", "hours"),
    [("09:11", 9 + 11 / 60), ("9:11 PM", 21 + 11 / 60), ("12:00 am", 0.0), ("00:00:36", 0.01), ("25:30", 25.5)],
)
def test_times_of_day(text, hours):
    assert as_number(text, "clock") == pytest.approx(hours)
    values, notes = numbers([text, "10:15", "08:00"] * 20)
    assert values[0] == pytest.approx(hours)
    assert "times such as" in notes
    assert "as hours" in notes


def test_times_of_python():
    values, _ = numbers([datetime.time(9, 30), datetime.time(10, 0), None] * 20)
    np.testing.assert_array_equal(values[:3], [9.5, 10.0, np.nan])


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1h 30m", 0.0625),
        ("2d 12h", 2.5),
        ("1 hour, 30 minutes", 0.0625),
        ("PT1H30M", 0.0625),
        ("P2DT12H", 2.5),
        ("3 days 06:00:00", 3.25),
        ("-1 days +12:00:00", -0.5),
    ],
)
def test_lengths_of_time(text, days):
    assert as_number(text, "duration") == pytest.approx(days)
    assert as_number(text, "seconds") == 86_400 * days
    values, notes = numbers([text, "2d 3h", "4d 5h"] * 20)
    assert values[0] == pytest.approx(days)
    assert "lengths of time such as" in notes
    assert ", as days)" in notes


def test_lengths_of_time_are_the_same_from_a_file_as_from_pandas(tmp_path):
    frame = pd.DataFrame({"c": pd.to_timedelta(np.arange(1, N + 1) * 7919, unit="s"), "other": OTHER})
    frame.to_csv(tmp_path / "a.csv", index=False)
    first = TablePreparer().fit_transform(frame)
    second = TablePreparer().fit_transform(read(tmp_path / "a.csv"))
    np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jan 02, 2020", "2020-01-02"),
        ("January 2, 2020", "2020-01-02"),
        ("2 Jan 2020", "2020-01-02"),
        ("02-Jan-2020", "2020-01-02"),
        ("02-Jan-20", "2020-01-02"),
        ("Thu, 02 Jan 2020 10:00:00 +0200", "2020-01-02T08:00:00"),
        ("2nd January 2020 3:04 PM", "2020-01-02T15:04:00"),
        ("Jan 2020", "2020-01-01"),
        ("2020/1/2", "2020-01-02"),
        ("2020-01", "2020-01-01"),
        ("31.12.2019 23:59", "2019-12-31T23:59:00"),
        ("12/31/2019 11:59 PM", "2019-12-31T23:59:00"),
        ("12/31/19", "2019-12-31"),
    ],
)
def test_dates(text, expected):
    order = date_order([text])
    assert as_date(text, order) == datetime.datetime.fromisoformat(expected)


@pytest.mark.parametrize("zone", ["Z", " UTC", "+00:00", " +0000", "+01:00[Europe/Berlin]"])
def test_dates_with_zones(zone):
    hour = 11 if "+01" in zone else 10
    values = [f"2020-01-{day:02d}T{hour}:00:00{zone}" for day in range(1, 31)]
    preparer, frame = prepared(values)
    assert preparer.origins_["c"].startswith("2020-01-01T10:00:00")
    np.testing.assert_array_equal(preparer.transform(frame)[:, 0], np.arange(30.0))


@given(st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2068, 12, 31)))
def test_dates_come_back(moment):
    moment = moment.replace(microsecond=0)
    for order, form in (("dmy", "%d/%m/%Y %H:%M:%S"), ("mdy", "%m/%d/%Y %I:%M:%S %p"), ("ymd", "%Y/%m/%d %H:%M:%S")):
        assert as_date(moment.strftime(form), order) == moment
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][moment.month - 1]
    assert as_date(f"{month} {moment:%d, %Y %H:%M:%S}", "month") == moment


@given(st.floats(-1e12, 1e12).map(lambda value: round(value, 2)), st.sampled_from(["", "kg", "€", "m²"]))
def test_amounts_come_back(value, unit):
    text = f"{value:,.2f} {unit}".strip()
    assert read_number(text).value == value
    european = text.translate(str.maketrans(",.", ".,"))
    assert read_number(european, ",").value == value
    if unit:
        assert number_sign([text], [1]) in (unit, f"{unit}|,")


def test_day_or_month_first_is_asked():
    values = [f"{1 + i % 12:02d}/{1 + i % 7:02d}/2020" for i in range(N)]
    with pytest.raises(TableError, match=r"no day beyond 12 shows whether day or month comes first\. Pass roles="):
        prepared(values)
    first = prepared(values, roles={"c": "dmy"})[0].transform(prepared(values, roles={"c": "dmy"})[1])
    assert first[1, 0] == datetime.date(2020, 2, 2).toordinal() - datetime.date(2020, 1, 1).toordinal()
    assert prepared(values, roles={"c": "mdy"})[0].written_ == {"c": "mdy"}


# --- what means "missing" -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [".", "-", "none", "unknown", "?", "not available", "#REF!"])
@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
def test_words_for_missing_are_offered_by_name_at_any_share(mark, share):
    values = [mark if i < share * 400 else f"{i / 7:.3f}" for i in range(400)]
    count = sum(value == mark for value in values)
    frame = pd.DataFrame({"Age": values, "other": np.arange(400.0) ** 2})
    with pytest.raises(TableError) as caught:
        TablePreparer().fit(frame)
    assert str(caught.value).startswith(
        f"column 'Age' holds numbers, but {mark!r} in {count} rows. na_values=[{mark!r}] takes it as missing"
    )
    table = read(frame, na_values=[mark])
    assert TablePreparer().fit(table).roles_["Age"] == "numeric"


def test_words_for_missing_among_few_numbers_are_offered_in_a_note():
    preparer, _ = prepared(["1", "2", "3", "unknown"] * 15)
    assert preparer.roles_["c"] == "categorical"
    assert "c: 'unknown' in 15 rows; na_values=['unknown'] takes it as missing." in [str(n) for n in preparer.notes_]


def test_words_for_missing_among_dates():
    with pytest.raises(
        TableError, match=r"'c' holds dates, but '-' in 1 row and 'none' in 1 row\. .* take them as missing"
    ):
        prepared(["-", "none", *(f"2020-01-{day:02d}" for day in range(1, 31))])


def test_the_command_names_its_option(tmp_path):
    lines = "".join(f"{'unknown' if i % 9 == 0 else i},{i % 5}\n" for i in range(200))
    (tmp_path / "people.csv").write_text("Age,x\n" + lines)
    done = CliRunner().invoke(main, ["map", str(tmp_path / "people.csv"), "-o", str(tmp_path / "run")])
    assert done.exit_code == 1
    told = "'unknown' in 23 rows. --na unknown takes it as missing when the table is read; --role Age=categorical"
    assert f"Error: column 'Age' holds numbers, but {told}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["https://example.org/a.csv"], "is a web address, and nothing is downloaded here."),
        (["table.csv", "--encoding", "latin-99"], "--encoding must be the name of one, such as 'utf-8'"),
        (["table.csv", "--sheet", "x"], "--sheet is for spreadsheets, and table.csv is none."),
        (["dates.csv"], "Pass --role when=dmy if the day does, --role when=mdy if the month does, or 'drop'"),
        (["two.zip"], "two.zip cannot be read as a zip archive"),
    ],
)
def test_commands_that_are_refused(tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n" + "1,2\n3,4\n" * 5)
    (tmp_path / "dates.csv").write_text("when,b\n" + "01/02/2020,1\n03/04/2020,2\n" * 5)
    (tmp_path / "two.zip").write_bytes(b"PK")
    done = CliRunner().invoke(main, ["map", *arguments, "-o", "run"])
    assert done.exit_code == 1
    assert told in done.stderr


# --- what the page shows of them ------------------------------------------------------------------------------------


def test_columns_are_shown_as_what_they_were_read_as():
    assert as_read(pd.Series(["$5", "$1,200", None]), "c").tolist()[:2] == [5.0, 1200.0]
    assert as_read(pd.Series(["Jan 02, 2020", "Feb 03, 2020"]), "c").dtype.kind == "M"
    assert as_read(pd.Series(["01/02/2020", "03/04/2020"]), "c") is None  # nobody knows the month
    assert as_read(pd.Series(["red", "blue", "red"]), "c") is None
    assert as_read(pd.Series([1.0, 2.0]), "c") is None


def test_texts_come_along():
    class Shown:
        preparer = None

    frame, written = as_numbers(Shown(), pd.DataFrame({"price": ["$5", None, "$7"], "kind": ["a", "b", "a"]}))
    np.testing.assert_array_equal(frame["price"], [5.0, np.nan, 7.0])
    assert written == {"price": ["$5", None, "$7"]}
    assert frame["kind"].tolist() == ["a", "b", "a"]


def test_amounts_of_which_the_thousands_have_points():
    """372 € beside 10.358 €: without any decimals; where all have a point they may be decimals, and are not read."""
    for currency in ("€", "EUR"):
        found, told = numbers([f"{k * 97 + 300:,} {currency}".replace(",", ".") for k in range(N)])
        np.testing.assert_array_equal(found, [k * 97 + 300 for k in range(N)])
        assert f"amounts in {currency} with a decimal comma such as '300 {currency}'" in told
        for doubtful in ([f"1.{k + 300} {currency}" for k in range(N)], ["3.000 " + currency]):
            assert not number_sign(doubtful, [1] * len(doubtful)).endswith("|,")
            assert read_number(doubtful[0]) is None
    assert read_number("3.000 kg").value == 3.0


def test_a_day_and_days_of_other_languages_are_one_unit():
    found, told = numbers([f"{k % 5 + 1} {'Tage' if k % 5 else 'Tag'}" for k in range(N)])
    np.testing.assert_array_equal(found, np.arange(N) % 5 + 1)
    assert "amounts in Tag" in told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["29.02.25"], "row 7 (counting from 0) has '29.02.25'. Correct it, name"),
        (["bald", "31.04.24"], "row 7 (counting from 0) has 'bald' and row 8 '31.04.24'. Correct them, name"),
        (["soon"] * 3, "99.0% of its rows"),
    ],
)
def test_dates_of_which_few_are_none_are_asked_about(wrong, told):
    """One impossible day must not make categories of all dates."""
    days = [f"{1 + k % 28:02d}.{1 + k % 12:02d}.{24 + k % 2}" for k in range(300)]
    days[7 : 7 + len(wrong)] = wrong
    frame = pd.DataFrame({"c": days, "other": np.arange(300.0) ** 2})
    with pytest.raises(
        TableError, match=r"column 'c' holds dates with the day first in 99(\.\d)?% of its rows"
    ) as caught:
        TablePreparer().fit(frame)
    assert told.removeprefix("99.0% of ") in str(caught.value)
    preparer = TablePreparer(roles={"c": "categorical"}).fit(frame)
    assert preparer.roles_["c"] == "categorical"


def test_limits_are_offered_beside_other_texts():
    values = [str(k * 1.5) for k in range(N)]
    values[:6] = ["<2"] * 5 + ["much"]
    with pytest.raises(
        TableError, match=r"'much' in 1 row and '<2' in 5 rows\. na_values=.* roles=.*'limits'.* reads '<2'"
    ):
        prepared(values)


@pytest.mark.parametrize(("cell", "meant"), [("8,5 %", "8.5"), ("11,5", "11.5"), ("73,1 kg", "73.1"), ("7 kg", "7")])
def test_a_number_written_in_another_way_is_helped(cell, meant):
    preparer, frame = prepared([float(k) for k in range(N)])
    new = frame[:4].astype(object)
    new.loc[2, "c"], new.loc[3, "c"] = cell, "x"
    with pytest.raises(TableError, match=f"has '{cell}' and row 3 'x'.|has 'x'") as caught:
        preparer.transform(new)
    new.loc[3, "c"] = 3.0
    with pytest.raises(TableError) as caught:
        preparer.transform(new)
    assert f"has '{cell}'. If {meant} is meant, write that. " in str(caught.value)


def test_levels_that_are_nearly_known_are_asked_about():
    preparer, frame = prepared(["Nord", "Süd", "Ost"] * 20)
    new = frame[:4].assign(c=["Sued", "süd", "Süd", "12"])
    with pytest.warns(
        UserWarning, match=r"each counts as no level\. Did you mean 'Süd' for 'Sued' and 'Süd' for 'süd'\?$"
    ):
        preparer.transform(new)
    with pytest.warns(UserWarning, match=r"'Mitte'; each counts as no level\.$"):
        preparer.transform(frame[:4].assign(c="Mitte"))
