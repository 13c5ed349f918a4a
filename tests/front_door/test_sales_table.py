"""A sales table as a German shop keeps it, and a clinic's: what their first readers stumbled over."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK
from manifolia.exceptions import TableError
from manifolia.explorer import Payload
from manifolia.explorer.decode import decode
from manifolia.explorer.row_findings import residual_finding
from manifolia.tables import TablePreparer, read
from manifolia.tables.naming import number

N = 120


def european(value):
    """Write a number as the shop does: 1.234,56."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def sales():
    rng = np.random.default_rng(4)
    amounts = rng.uniform(900, 9000, N)
    return pd.DataFrame(
        {
            "Rechnung": [f"RE-{i}" for i in range(N)],
            "Datum": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2023" for i in range(N)],
            "Umsatz": [f"{european(amount)} €" for amount in amounts],
            "Rabatt": [f"{european(i % 9 + 0.5)} %" for i in range(N)],
            "Gewinn": [f"({european(i)})" if i % 3 == 0 else european(10 * i) for i in range(N)],
            "PLZ": [f"{1000 + 811 * i:05d}" for i in range(N)],
            "Region": np.resize(["Nord", "Süd", "Ost"], N),
        }
    )


def test_a_european_table_is_mapped_as_it_is(tmp_path):
    path = tmp_path / "verkauf.csv"
    sales().to_csv(path, sep=";", index=False, encoding="cp1252")
    done = run("map", path, "-t", "Umsatz", "-o", tmp_path / "run", *QUICK)
    assert done.returncode == 0, done.stderr
    for told in (
        "read as Windows-1252",
        "The target 'Umsatz' is read as numbers (amounts in € with a decimal comma",
        "'Datum' (since 2023-01-01, with the day first)",
        "as a negative number",
        "codes with leading zeros stay texts: 'PLZ'",
        "'PLZ' (120 different texts in 120 rows; numbers in ",
    ):
        assert told in done.stderr
    page = Payload.load(tmp_path / "run" / "payload.npz")
    assert any("with the day first" in note and "--" not in note for note in page.meta["notes"])
    roles = [note for note in page.meta["notes"] if "codes with leading zeros stay texts: 'PLZ'" in note]
    assert ["Pass --role column=numeric to take them as numbers." in note for note in roles] == [True]  # as the command
    assert any("roles={column: 'numeric'}" in note for note in mf.open_run(tmp_path / "run").notes)  # as Python


@pytest.mark.parametrize("few", [1, 3, 11])
def test_codes_of_which_few_begin_with_zero_are_neither_numbers_nor_limits(few):
    codes = [f"{10000 + 7 * i}" for i in range(N - few)] + [f"0{1000 + i}" for i in range(few)]
    preparer = TablePreparer().fit(pd.DataFrame({"PLZ": codes, "x": np.arange(N) % 7}))
    assert preparer.roles_["PLZ"] == "identifier"


def test_limits_alone_beside_numbers_are_asked_about():
    values = [f"{i / 2}" for i in range(2, N)] + ["<1", "<1"]
    with pytest.raises(TableError, match=r"but '<1' in 2 rows\. roles=\{'CRP': 'limits'\} reads '<1' as 0\.5"):
        TablePreparer().fit(pd.DataFrame({"CRP": values, "x": np.arange(N) % 7}))


def clinic(n_columns):
    days = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2022" for i in range(N)]
    return pd.DataFrame({f"day {k}": days for k in range(n_columns)} | {"kind": np.resize(["a", "b"], N)})


def test_what_several_columns_ask_is_asked_at_once(tmp_path):
    table = clinic(1).assign(CRP=["-" if i % 5 == 0 else f"{i / 3:.2f}" for i in range(N)])
    table.to_csv(tmp_path / "clinic.csv", index=False)
    said = one_sentence(run("map", tmp_path / "clinic.csv", "-t", "kind", "-o", tmp_path / "run", *QUICK))
    assert "column 'day 0' has dates such as '01/01/2022'" in said
    assert "'drop' to leave the column out. Column 'CRP' holds numbers, but '-' in 24 rows. --na - takes it" in said
    answer = ("--role", "day 0=dmy", "--na", "-")
    done = run("map", tmp_path / "clinic.csv", "-t", "kind", "-o", tmp_path / "run", *answer, *QUICK)
    assert done.returncode == 0, done.stderr


def test_of_many_columns_that_ask_the_first_do_and_the_others_are_named():
    with pytest.raises(TableError) as raised:
        TablePreparer().fit(clinic(6))
    assert str(raised.value).count("no day beyond 12") == 3
    assert str(raised.value).endswith(" 'day 3', 'day 4' and 'day 5' ask for a decision too.")


def test_a_line_of_totals_is_named(tmp_path):
    table = sales()
    table.loc[N] = ["Summe", None, "123.456,78 €", None, None, None, None]
    table.to_csv(tmp_path / "sales.csv", sep=";", index=False)
    told = "looks like a line of totals: leave it out of the table if so."
    for key, row in (((), "120"), (("--key", "Rechnung"), "Summe")):
        done = run("map", tmp_path / "sales.csv", "-t", "Region", "-o", tmp_path / row, *key, *QUICK)
        assert f"Row {row} ('Summe' in 'Rechnung') {told}" in done.stderr
    levels = table.assign(Region=np.resize(["total", "part"], N + 1), Rechnung=table["Rechnung"].replace("Summe", "S"))
    made = mf.map(levels, "Umsatz", n_trees=10, parts=None, importance=False)
    assert not any("totals" in note for note in made.notes)


def test_an_address_is_shown_as_it_was_given():
    with pytest.raises(TableError, match=r"'https://example\.org/sales\.csv' is a web address"):
        read("https://example.org/sales.csv")
    said = one_sentence(run("map", "https://example.org/sales.csv"))
    assert "'https://example.org/sales.csv' is a web address" in said


def test_values_that_rise_beside_levels_are_no_names(tmp_path):
    path = tmp_path / "nameless.csv"
    path.write_text("".join(f"{-1.2 + i % 5},{4.9 + i % 3},{'blue' if i % 2 else 'red'}\n" for i in range(20)))
    table = read(path)
    assert table.n_rows == 20
    assert table.names == ["column 1", "column 2", "column 3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(10542.12, "10,542"), (-1234567.0, "-1,234,567"), (9075.4, "9075"), (0.01234, "0.01234"), (1e20, "1e+20")],
)
def test_large_numbers_keep_their_digits(value, text):
    assert number(value) == text


def test_rows_far_from_their_guess_are_told_in_plain_numbers():
    y = np.r_[np.full(20, 5000.0), 10542.1]
    finding = residual_finding(y, np.full(21, 6709.7), "Umsatz", [str(i) for i in range(21)])
    assert "20 (10,542, guessed 6710)" in finding.text


def test_a_target_of_money_is_told_in_plain_numbers():
    made = mf.map(sales(), "Umsatz", n_trees=10, parts=None, importance=False)
    assert not any("e+0" in finding.text for finding in made.findings)
    assert decode(made.payload).written["Umsatz"] == sales()["Umsatz"].tolist()


def test_guesses_of_amounts_are_compared_with_amounts(tmp_path):
    """New rows have the target as the table of the fit had it: 1.250,00 € is a number then."""
    sales().to_csv(tmp_path / "old.csv", sep=";", index=False)
    sales().head(12).to_csv(tmp_path / "new.csv", sep=";", index=False)
    run("map", tmp_path / "old.csv", "-t", "Umsatz", "-o", tmp_path / "run", *QUICK)
    done = run("transform", tmp_path / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    assert done.returncode == 0, done.stderr
    assert "of the variance of Umsatz in the 12 rows of the file that have it" in " ".join(done.stdout.split())
    assert "no numbers" not in done.stdout


def test_an_empty_cell_holds_no_plain_number():
    frame = pd.DataFrame({"days": [f"{i % 7} kg" for i in range(N)], "x": np.arange(N) % 5})
    preparer = TablePreparer().fit(frame)
    empty = pd.DataFrame({"days": [None, np.nan], "x": [1, 2]})
    with pytest.warns(Warning, match="are filled") as told:
        preparer.transform(empty)
    assert not any("plain numbers" in str(one.message) for one in told)
    with pytest.warns(Warning, match="hold plain numbers: 'days'"), pytest.warns(Warning, match="are filled"):
        preparer.transform(pd.DataFrame({"days": [3.0, np.nan], "x": [1, 2]}))


def test_one_line_of_totals_leaves_no_column_that_matters(tmp_path):
    """What `map` says, `explain` and `transform` must not take back."""
    rng = np.random.default_rng(3)
    kind = rng.choice(["online", "shop", "bulk"], 150)
    usual = {"online": 300.0, "shop": 800.0, "bulk": 7000.0}
    sold = np.array([usual[one] for one in kind]) * rng.lognormal(0, 0.3, 150)
    table = pd.DataFrame({"kind": kind, "visits": rng.poisson(4, 150).astype(float), "sold": sold})
    total = pd.DataFrame({"kind": [None], "visits": [None], "sold": [sold.sum()]}).astype({"visits": float})
    spoilt = mf.map(pd.concat([table, total], ignore_index=True), "sold", n_trees=40, parts=None)
    assert any("no column is shown to matter" in one.text for one in spoilt.findings)
    assert "No column is shown to matter, though, as the findings say" in repr(spoilt.explain())
    good = mf.map(table, "sold", n_trees=40, parts=None)
    told = repr(good.explain())
    assert "though" not in told
    assert "kind" in told.splitlines()[1]
    assert "99.9%" in told.splitlines()[1]  # in thousands and millions, the share tells it
    below = min(good.explain().importances["importance"]) < 0
    assert ("Below 0, the forest guesses better with the column shuffled" in told) == below
    new = table[:3].assign(kind=[None, "bulk", "shop"]).drop(columns="sold")
    told = []
    for run_ in (good, spoilt):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run_.transform(new)
        told.append(" ".join(str(one.message) for one in caught))
    assert "1 row has no 'kind', which carries 100% of what matters" in told[0]
    assert "of what matters" not in told[1]
