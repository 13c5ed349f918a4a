"""Small sentences: in the words of the running command, and true of one row as of many."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK
from manifolia.exceptions import TableError
from manifolia.runs.new_rows import _compare_classes
from manifolia.tables import read

CODED = "code,size,kind\n" + "\n".join(f"{i % 8:03d},{i % 5}.{i % 7},{'ab'[i % 2]}" for i in range(40))


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentences")
    (folder / "old.csv").write_text(CODED, encoding="utf-8")
    done = run("map", folder / "old.csv", "-t", "kind", "-o", folder / "run", *QUICK)
    assert "Pass --role column=numeric to take them as numbers." in done.stderr
    return folder


def test_what_only_another_command_can_be_asked_for_is_not_suggested(mapped, tmp_path):
    done = run("transform", mapped / "run", mapped / "old.csv", "-o", tmp_path / "placed.csv")
    assert "codes with leading zeros stay texts: 'code'.\n" in done.stderr
    assert "role" not in done.stderr
    commas = tmp_path / "commas.csv"
    commas.write_text('code,size,kind\n001,"1,234",a\n002,"5,678",b\n', encoding="utf-8")
    said = one_sentence(run("transform", mapped / "run", commas, "-o", tmp_path / "other.csv"))
    assert "Pass --decimal . if it separates thousands" in said
    assert "role" not in said


@pytest.mark.parametrize("n", [1, 2])
def test_one_row_is_not_spoken_of_as_several(mapped, tmp_path, n):
    new = tmp_path / "new.csv"
    new.write_text("\n".join(CODED.splitlines()[: n + 1]), encoding="utf-8")
    done = run("transform", mapped / "run", new, "-o", tmp_path / "placed.csv")
    alone = n == 1
    assert ("- It does not look unlike the rows of the map" in done.stdout) == alone
    assert ("- None of them looks unlike the rows of the map" in done.stdout) != alone
    assert (" about the one row whose kind is in the file." in done.stdout) == alone


def test_one_prediction_is_right_or_wrong():
    classes = np.array(["a", "b"])
    one = np.array(["a"], dtype=object)
    right, wrong = (_compare_classes(one, np.array([guess], dtype=object), classes, "kind") for guess in "ab")
    assert right == (1.0, "The forest's predictions are right about the one row whose kind is in the file.")
    assert wrong == (0.0, "The forest's predictions are wrong about the one row whose kind is in the file.")


def test_a_separator_that_was_given_is_not_asked_for_again(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a;b;kind\n" + "\n".join(f"{i},5;{i},5;{'xy'[i % 2]}" for i in range(20)), encoding="utf-8")
    said = one_sentence(run("map", path, "-o", tmp_path / "run", "--sep", ","))
    assert "They look separated by a semicolon, and not by a comma: pass --sep ';', or mend the line" in said
    path.write_text("a b\n1|2|3\n", encoding="utf-8")
    said = one_sentence(run("map", path, "-o", tmp_path / "run", "--sep", "|"))
    assert "Fields are separated by a bar, as was said." in said
    path.write_text("a,b\n1,2\n3\n", encoding="utf-8")
    said = one_sentence(run("map", path, "-o", tmp_path / "run", "--sep", ","))
    assert "as was said. Leave --sep out to have the separator found, or mend the line" in said
    assert "taken to be a comma; pass --sep if it is another one" in one_sentence(
        run("map", path, "-o", tmp_path / "run")
    )


@pytest.mark.parametrize("source", [None, 3])
def test_what_is_no_table_is_named(source):
    with pytest.raises(
        TableError, match=rf"^{source} is no table\. Pass a path, a table or a two-dimensional array\.$"
    ):
        mf.map(source)


def test_a_wrong_role_is_named_by_its_column():
    frame = pd.DataFrame({"age": range(20), "kind": ["a", "b"] * 10})
    with pytest.raises(
        ValueError, match=r"^the role of 'age' must be one of 'numeric', .*, got 'numerc'\. Did you mean"
    ):
        mf.map(read(frame), target="kind", roles={"age": "numerc"})
