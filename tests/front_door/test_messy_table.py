"""One table as it comes from a plant: lists, copies, names that repeat, times with a zone; and what is said of it."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import run
from front_door.cases import Case, by_name, run_case
from manifolia.exceptions import TableError
from manifolia.tables import TablePreparer, read

N = 60
QUICK = {"n_trees": 40, "parts": None, "importance": False}


def plant(n=N):
    """Runs of some machines; the name of a run stands in most rows once."""
    rng = np.random.default_rng(0)
    pressure = rng.normal(size=n)
    return pd.DataFrame(
        {
            "run_id": ["R-000"] * 10 + [f"R-{i:03d}" for i in range(1, n - 9)],
            "machine": rng.choice(["0162", "0163"], n),
            "pressure": pressure,
            "speed": rng.normal(size=n),
            "grade": np.where(pressure > 0, "good", "bad"),
        }
    )


def with_lists():
    return plant().assign(tags=[["a", 1] if i % 3 else [] for i in range(N)])


def as_lines(path):
    with_lists().to_json(path, orient="records", lines=True)


def as_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/table (1).csv", plant().to_csv(index=False))


def as_book(path):
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"about": ["x", "y"], "more": [1, 2]}).to_excel(book, sheet_name="Readme", index=False)
        plant().to_excel(book, sheet_name="Runs", index=False)


#: What a command says of it.
SAID = [
    Case("a list in a column", as_lines, "-t grade", ("column 'tags' holds a list in row 0 (counting from 0): []. ",
         "leave it out with --exclude tags."), 1, "runs.jsonl"),
    Case("a list that is left out", as_lines, "-t grade -x tags", "60 rows mapped", 0, "runs.jsonl"),
    Case("a list that is dropped", as_lines, "-t grade --role tags=drop", "60 rows mapped", 0, "runs.jsonl"),
    Case("a list as target", as_lines, "-t tags", "the target 'tags' holds what is neither a number nor a text", 1,
         "runs.jsonl"),
    Case("a name that repeats as target", plant(), "-t run_id", ("--target: the target 'run_id' has 51 classes in 60 "
         "rows", "pass --groups run_id"), 1),
    Case("a name that repeats", plant(), "-t grade", "it differs in all of them: --key column; or say which rows "
         "belong together: --groups column"),
    Case("a column twice", plant().assign(copy=lambda frame: frame["pressure"] * 1e9), "-t grade",
         ("'copy' holds the same as 'pressure'", "Leave copies out with --exclude copy")),
    Case("rows twice", pd.concat([plant(), plant()[:20]]), "-t grade -x run_id", "20 of 80 rows repeat an earlier row"),
]  # fmt: skip


@by_name(SAID)
def test_what_is_said_of_a_messy_table(case, tmp_path):
    run_case(case, tmp_path)


def test_a_map_of_lists_in_python():
    told = r"column 'tags' holds a list in row 0 .*leave it out with exclude=\['tags'\]\."
    with pytest.raises(TableError, match=told):
        mf.map(with_lists(), "grade", **QUICK)
    for left_out in ({"exclude": "tags"}, {"roles": {"tags": "drop"}}):
        made = mf.map(with_lists(), "grade", **QUICK, **left_out)
        assert made.payload.meta["columns"]
        made.transform(with_lists()[:3])
    assert read(with_lists()).column("tags")[1] == ["a", 1]
    with pytest.raises(TypeError, match=r"roles=\{'tags': 'drop'\}"):
        TablePreparer().fit(with_lists())


def test_lists_in_json_are_lists(tmp_path):
    as_lines(tmp_path / "runs.jsonl")
    assert read(tmp_path / "runs.jsonl").column("tags").tolist()[:3] == [[], ["a", 1], ["a", 1]]


def test_a_zip_is_called_by_its_name(tmp_path):
    as_zip(tmp_path / "runs.zip")
    made = mf.map(tmp_path / "runs.zip", "grade", **QUICK)
    assert made.payload.meta["title"] == "runs by grade"
    assert made.report["data"]["source"] == "runs.zip"
    plant().to_csv(tmp_path / "runs (2).csv")
    assert mf.map(tmp_path / "runs (2).csv", "grade", **QUICK).payload.meta["title"] == "runs (2) by grade"


def test_a_wrong_sheet_is_named(tmp_path):
    pytest.importorskip("python_calamine")
    pytest.importorskip("openpyxl")
    says = ("runs.xlsx has 2 rows; a map needs at least 5. runs.xlsx: the sheet 'Readme' was read; the file also has "
            "'Runs'. Pass --sheet NAME for another one.")  # fmt: skip
    run_case(Case("sheet", as_book, "-t about", says, 1, "runs.xlsx"), tmp_path)
    assert mf.map(tmp_path / "runs.xlsx", "grade", sheet="Runs", **QUICK).report["data"]["rows"] == N


def test_an_empty_path_is_no_folder():
    done = run("map", "")
    assert done.returncode == 2
    assert "Invalid value for 'DATA': the path is empty." in done.stderr
    with pytest.raises(TableError, match=r"^the path is empty\. Pass a file: CSV"):
        mf.map("")


def test_misspelt_arguments_of_map():
    for wrong, right in (("targets", "target"), ("excluded", "exclude"), ("group", "groups")):
        with pytest.raises(ValueError, match=rf"there is no argument '{wrong}'\. Did you mean '{right}'\?"):
            mf.map(plant(), **{wrong: "grade"})


def test_texts_that_mean_missing_in_a_frame():
    polars = pytest.importorskip("polars")
    texts = ["n/a" if i == 7 else str(i / 2) for i in range(N)]
    frame = polars.from_pandas(plant()).with_columns(polars.Series("load", texts))
    with pytest.raises(TableError, match=r"“missing” when the table is read \(na_values=\['n/a'\]\)"):
        mf.map(frame, "grade", **QUICK)
    made = mf.map(frame, "grade", na_values=["n/a"], **QUICK)
    assert made.report["data"]["roles"]["load"] == "numeric"


def test_levels_that_lost_their_zeros():
    preparer = TablePreparer().fit(plant().drop(columns="run_id"))
    new = plant()[:3].drop(columns="run_id").assign(machine=[162, 163, 99])
    told = r"did not see: '162', '163' and '99'; each counts as no level\. But for leading zeros, '162' is '0162':"
    with pytest.warns(UserWarning, match=told):
        preparer.transform(new)
    with pytest.warns(UserWarning, match=r"did not see: '99'; each counts as no level\.$"):
        preparer.transform(new.assign(machine="99"))
    preparer = TablePreparer({"machine": "categorical"}).fit(new)
    with pytest.warns(UserWarning, match="But for leading zeros, '0162' is '162': write it so if that is meant"):
        preparer.transform(new.assign(machine="0162"))


def test_the_first_moment_is_told_with_its_zone():
    times = pd.date_range("2024-01-03 06:52", periods=20, freq="37min")
    whole = pd.date_range("2024-01-03", periods=20)
    for values, told in (
        (times.astype(str) + "+01:00", "since 2024-01-03 05:52, in UTC"),
        (times.tz_localize("Etc/GMT-1"), "since 2024-01-03 05:52, in UTC"),
        (times, "since 2024-01-03 06:52"),
        (times + pd.Timedelta("1.25s"), "since 2024-01-03 06:52:01.25"),
        (whole, "since 2024-01-03"),
    ):
        preparer = TablePreparer().fit(pd.DataFrame({"when": values, "x": np.arange(20.0) ** 2}))
        assert f"Dates, as days since the earliest: 'when' ({told})." in preparer.notes_


@pytest.fixture(scope="module")
def made():
    frame = plant().set_index(pd.date_range("2024-01-03", periods=N))
    return mf.map(frame, "grade", n_trees=40, parts=None)


def test_a_row_is_explained_by_its_position_if_no_row_is_called_so(made, tmp_path):
    told = made.explain(17)
    assert repr(told).startswith("Row 2024-01-20 00:00:00: ")
    assert repr(made.explain(made.embedding.index[17])) == repr(told)
    with pytest.raises(TableError, match=r"no row '60', by name or by position: positions are 0 to 59\."):
        made.explain(N)
    with pytest.raises(TableError, match="no row '-1'"):
        made.explain(-1)
    with pytest.raises(TableError, match=r"Rows are called '2024-01-03 00:00:00', .* and 57 more"):
        made.explain("17")
    made.save(tmp_path / "run")
    done = run("explain", tmp_path / "run", "--row", "17")
    assert done.stdout.startswith("Row 2024-01-20 00:00:00: ")


def test_names_come_before_positions():
    frame = plant().set_index(pd.Index(range(1000, 1000 + N)))
    counted = mf.map(frame, "grade", **QUICK)
    assert repr(counted.explain(1001)).startswith("Row 1001: ")
    with pytest.raises(TableError, match=r"no row '17'\."):
        counted.explain(17)
    plain = mf.map(plant(), "grade", **QUICK)
    with pytest.raises(TableError, match=r"there is no row '5000'\. Rows are 0 to 59\."):
        plain.explain(5000)
    codes = mf.map(plant().set_axis([f"{i:04d}" for i in range(N)]), "grade", **QUICK)
    with pytest.raises(TableError, match="no row '17'"):  # '0017' may be meant
        codes.explain(17)


def test_a_name_that_several_rows_have_is_not_explained():
    made = mf.map(plant().set_index("run_id"), "grade", **QUICK)
    with pytest.raises(TableError, match=r"10 rows are called 'R-000'\. .* from 0: 0, 1, 2 and 7 more"):
        made.explain("R-000")
    assert repr(made.explain(3)).startswith("Row R-000: ")
    numbered = mf.map(plant().set_axis([i // 2 for i in range(N)]), "grade", **QUICK)
    with pytest.raises(TableError, match=r"2 rows are called '3'\. Map again with key=COLUMN"):
        numbered.explain(3)


def test_a_map_is_explained_as_the_command_does(made, tmp_path):
    told = made.explain(top=2)
    assert list(told.importances.columns) == ["column", "importance", "standard_error"]
    assert told.importances["column"].iloc[0] == "pressure"
    assert len(told.lines()) == 4  # the last says what a value below 0 is
    made.save(tmp_path / "run")
    assert run("explain", tmp_path / "run", "--top", "2").stdout == repr(told) + "\n"
    without = mf.map(plant(), "grade", **QUICK).explain()
    assert repr(without) == (
        "How much each column matters was not measured in this run. Map again with --importance (importance=True)."
    )
