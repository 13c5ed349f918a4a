"""Files of new rows: read as the table of the map was, and refused by the cells that are really wrong."""

from __future__ import annotations

import json

import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK

HEAD = "age;HbA1c;income;seen;kind"
#: European: "-" means missing among the ages, the comma is the decimal sign, points separate thousands.
ROWS = [
    f"{'-' if i % 9 == 4 else i};{i % 7},5;1.{900 + i},00;{1 + i % 28:02d}.03.2024;{'ab'[i % 2]}" for i in range(40)
]


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    (folder / "old.csv").write_text("\n".join([HEAD, *ROWS]), encoding="utf-8")
    done = run("map", folder / "old.csv", "-t", "kind", "-o", folder / "run", "--na", "-", *QUICK)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def place(mapped, tmp_path, rows, *options):
    path = tmp_path / "new.csv"
    path.write_text("\n".join([HEAD, *rows]), encoding="utf-8")
    return run("transform", mapped, path, "-o", tmp_path / "placed.csv", *options)


@pytest.mark.parametrize("options", [(), ("--decimal", ",")])
def test_the_cell_that_is_wrong_is_named_and_not_the_first_with_a_comma(mapped, tmp_path, options):
    rows = [*ROWS[:4], ROWS[5].replace(";5,5;", ";sehr hoch;")]
    said = one_sentence(place(mapped, tmp_path, rows, *options))
    assert "column 'HbA1c' should hold numbers, and row 4 (counting from 0) has 'sehr hoch'. " in said
    assert "--decimal" not in said


def test_wrong_cells_of_several_columns_are_one_message(mapped, tmp_path):
    rows = [ROWS[0].replace("01.03.2024", "2030-13-45"), ROWS[5].replace(";5,5;", ";sehr hoch;")]
    said = one_sentence(place(mapped, tmp_path, rows))
    assert (
        "'HbA1c' should hold numbers, and row 1 (counting from 0) has 'sehr hoch'; column 'seen' should hold dates"
        in said
    )
    assert "row 0 (counting from 0) has '2030-13-45'" in said


def test_texts_that_meant_missing_mean_it_again_unless_others_are_given(mapped, tmp_path):
    done = place(mapped, tmp_path, ROWS[:6])
    assert done.returncode == 0, done.stderr
    assert "Note: Read as the table of the map was, with --na -." in done.stderr
    said = one_sentence(place(mapped, tmp_path, ROWS[:6], "--na", "?", "-f"))
    assert "row 4 (counting from 0) has '-'" in said


def test_how_a_file_was_read_counts_where_it_is_doubtful(tmp_path):
    """1,234 alone may have thousands or decimals: what was said for the map is said for new rows."""
    old = tmp_path / "old.csv"
    old.write_text(
        "\n".join(["x;y;kind", *(f"{i},{100 + i};{i};{'ab'[i % 2]}" for i in range(1, 31))]), encoding="utf-8"
    )
    made = mf.map(old, target="kind", decimal=",", n_trees=10, parts=None, importance=False, out=tmp_path / "run")
    assert made.report["data"]["reading"] == {"decimal": ","}
    again = mf.open_run(tmp_path / "run").transform(old)
    assert again.equals(mf.open_run(tmp_path / "run").transform(old, decimal=","))
    done = run("transform", tmp_path / "run", old, "-o", tmp_path / "placed.csv")
    assert "Note: Read as the table of the map was, with --decimal ,." in done.stderr


def test_a_report_of_others_cannot_say_how_to_read(mapped, tmp_path):
    report = json.loads((mapped / "report.json").read_text(encoding="utf-8"))
    report["data"]["reading"] = {"na_values": 3, "sep": ["x"], "sheet": "2"}
    opened = mf.open_run(mapped)
    opened.report = report
    path = tmp_path / "new.csv"
    path.write_text("\n".join([HEAD, ROWS[0]]), encoding="utf-8")
    assert len(opened.transform(path)) == 1


def test_amounts_with_a_currency_are_read_in_a_column_of_plain_numbers(mapped, tmp_path):
    euros = [row.replace(",00;", ",00 €;") for row in ROWS[:3]]
    done = place(mapped, tmp_path, euros)
    assert done.returncode == 0, done.stderr
    assert "'income' held plain numbers at fit and holds amounts in €: each is taken as its number." in done.stderr
    with_sign = (tmp_path / "placed.csv").read_bytes()
    assert place(mapped, tmp_path, ROWS[:3], "-f").returncode == 0
    assert with_sign == (tmp_path / "placed.csv").read_bytes()
    mixed = [euros[0], euros[1].replace("€", "$")]
    assert "row 1 (counting from 0) has '1.901,00 $'" in one_sentence(place(mapped, tmp_path, mixed, "-f"))
    doubtful = [euros[0].replace(",00 €", " €")]
    assert "row 0 (counting from 0) has '1.900 €'" in one_sentence(place(mapped, tmp_path, doubtful, "-f"))
