"""Commands as people type them, with what does not fit: each is refused in one sentence, before anything is fitted."""

from __future__ import annotations

import numpy as np
import pytest

import manifolia as mf
from cli_helpers import passengers, run
from front_door.cases import Case, by_name, run_case

SHIP = passengers(60)
#: Options that contradict the table, one another, or what there is.
REFUSED = [
    Case("a method that is not there", SHIP, "-t Survived -m guided_maps", "Did you mean 'guided-map'?", 1),
    Case("a setting that is not there", SHIP, "-t Survived --set n_tree=5", "Did you mean 'n_trees'?", 1),
    Case("a setting of another type", SHIP, "-t Survived --set n_trees=abc", "--set n_trees must be an int, got 'abc'",
         1),
    Case("a setting without a value", SHIP, "-t Survived --set n_trees", "'n_trees' is not of the form NAME=VALUE", 2),
    Case("no trees", SHIP, "-t Survived --set n_trees=0", "--set n_trees must be at least 1, got 0", 1),
    Case("a seed below zero", SHIP, "-t Survived --seed -1", "--seed must be at least 0, got -1", 1),
    Case("no threads", SHIP, "-t Survived --jobs 0", "--jobs must not be 0. Use 1 for one thread", 1),
    Case("a page without room", SHIP, "-t Survived --max-mb 0", "--max-mb must be above 0, got 0.0", 1),
    Case("pictures without a size", SHIP, "-t Survived --images axb", "'axb' is not of the form HEIGHTxWIDTH", 2),
    Case("a role that is not there", SHIP, "-t Survived --role Sex=nonsense",
         "the role of 'Sex' must be one of 'numeric'", 1),
    Case("a role of no column", SHIP, "-t Survived --role sex=numeric", "--role: there is no column 'sex'. Did you "
         "mean 'Sex'?", 1),
    Case("a role without a column", SHIP, "-t Survived --role numeric", "'numeric' is not of the form NAME=VALUE", 2),
    Case("texts as numbers", SHIP, "-t Survived --role Sex=numeric", "column 'Sex' should hold numbers, and row 0 "
         "(counting from 0) has 'female'", 1),
    Case("levels that are not all", SHIP, "-t Survived --role Sex=a<b", "Its role must list all of them", 1),
    Case("a task that is not there", SHIP, "-t Survived --task regressions", "Did you mean 'regression'?", 1),
    Case("a task for numbers", SHIP, "-t Sex --task regression", "needs numbers in y, got 'female'", 1),
    Case("a task without a target", SHIP, "--task regression", "--task says what the target is taken as, and there "
         "is none", 1),
    Case("a guide without a target", SHIP, "-m guided-map --guide lda", "--guide is for maps with a target", 1),
    Case("a guide for another method", SHIP, "-t Survived -m rf-phate --guide lda", "not for rf-phate. Leave it out",
         1),
    Case("a target twice", SHIP, "-t Survived -t Survived", "Survived is named twice as target. Name it once.", 1),
    Case("a target that is infinite", SHIP.assign(y=np.where(np.arange(60) < 3, np.inf, np.arange(60) / 7)), "-t y",
         "the target 'y' holds infinite values. Correct them, or leave these cells empty.", 1),
    Case("a column that is not there", SHIP, "-t Survived -x sex", "--exclude: there is no column 'sex'. Did you mean "
         "'Sex'?", 1),
    Case("groups that are not there", SHIP, "-t Survived --groups sex", "--groups: there is no column 'sex'", 1),
    Case("every column left out", SHIP[["Survived", "Sex", "Fare"]], "-t Survived -x Sex -x Fare",
         "has no column left without 'Survived', 'Sex' and 'Fare'", 1),
    Case("one feature that is constant", SHIP[["Survived", "Ship"]], "-t Survived", "no column can be used: 'Ship' "
         "(constant)", 1),
    Case("a separator of two signs", SHIP, "-t Survived --sep ::", "--sep must be a single character", 1),
    Case("a decimal sign that is none", SHIP, "-t Survived --decimal x", "--decimal must be '.' or ',', got 'x'", 1),
    Case("one sign for both", "a;b\n1;2\n", "--sep , --decimal ,", "--sep and --decimal are both ','", 1),
    Case("a layer of a text file", SHIP, "-t Survived --layer raw", "--layer and --obsm are for AnnData", 1),
    Case("a sheet of a text file", SHIP, "-t Survived --sheet 2", "--sheet is for spreadsheets", 1),
    Case("an encoding that is not there", SHIP, "-t Survived --encoding latin-99", "--encoding must be the name of one",
         1),
    Case("another encoding", lambda path: path.write_bytes("é,b\n1,2\n".encode("latin-1")), "--encoding utf-8",
         "is not UTF-8 text (byte 0xe9). Pass --encoding NAME", 1),
]  # fmt: skip


@by_name(REFUSED)
def test_a_command_that_cannot_be_is_refused(case, tmp_path):
    run_case(case, tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run, and rows for it."""
    folder = tmp_path_factory.mktemp("made")
    SHIP.to_csv(folder / "ship.csv", index=False)
    passengers(3, seed=9).to_csv(folder / "new.csv", index=False)
    (folder / "none.csv").write_text("Pclass,Sex\n")
    (folder / "other.csv").write_text("x,y\n1,2\n")
    run_case(Case("a run", SHIP, "-t Survived", "60 rows mapped"), folder)
    return folder


#: Commands on a run, and what they say.
ON_A_RUN = [
    ("a run that is not there", "transform nowhere new.csv", "there is no folder nowhere. `manifolia map DATA"),
    ("a file as run", "transform ship.csv new.csv", "ship.csv is not a manifolia run"),
    ("rows that are not there", "transform run nowhere.csv", "there is no file nowhere.csv"),
    ("no rows", "transform run none.csv", "none.csv has a header and no rows"),
    ("other columns", "transform run other.csv", "the table lacks all the 5 columns that the model uses"),
    ("a file that is there", "transform run new.csv -o ship.csv", "ship.csv is there already"),
    ("a format that is not there", "transform run new.csv -o x.foo", "not known by its suffix '.foo'"),
    ("a folder that is not there", "transform run new.csv -o no/x.csv", "the folder no does not exist"),
    ("a row that is not there", "explain run --row 60", "--row: there is no row '60'. Rows are 0 to 59."),
    ("a run and a target", "explore run -t Sex -o x.html", "is a run: its target is set"),
    ("a page that is there", "explore run -o ship.csv", "ship.csv is there already"),
    ("a colour that is not there", "explore run -o x.html --color-by sex", "is not a column of the page. Did you mean"),
]  # fmt: skip


@by_name(ON_A_RUN)
def test_a_command_on_a_run_that_cannot_be_is_refused(case, made):
    _, command, said = case
    done = run(*command.split(), cwd=made)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""
    assert not {"x.html", "x.foo"} & {path.name for path in made.iterdir()}


def test_a_name_that_several_rows_have_explains_none(tmp_path):
    made = mf.map(SHIP.set_axis(["a", "b", "a"] * 20), "Survived", n_trees=10, parts=None, importance=False)
    with pytest.raises(ValueError, match=r"40 rows are called 'a'\. Pass the position of one, .* 0, 2, 3 and 37"):
        made.explain("a")
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        made.explain("b", top=0)


def test_rows_that_were_not_kept_are_not_explained():
    made = mf.map(SHIP, "Survived", n_trees=10, parts=None, importance=False, keep_rows=False)
    with pytest.raises(ValueError, match=r"kept up to 64 MiB, unless --no-keep-rows \(keep_rows=False\) was given"):
        made.explain(3)


def test_a_format_of_coordinates_is_checked_before_the_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("manifolia.runs.request.make_run", lambda *_: pytest.fail("the work began"))
    with pytest.raises(ValueError, match="table_format must be one of 'csv', 'parquet', got 'xls'"):
        mf.map(SHIP, "Survived", out=tmp_path / "run", table_format="xls")
    assert list(tmp_path.iterdir()) == []
