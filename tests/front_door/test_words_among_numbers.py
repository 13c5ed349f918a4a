"""Words and limits of detection among numbers: what is asked, and how the answers read."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK
from manifolia.exceptions import TableError
from manifolia.tables import TablePreparer

N = 120


def patients(comma=","):
    """A laboratory's table: a value below the limit, a dash, and a column with a blank in its name."""
    values = [f"{1.1 + i * 0.3:.1f}".replace(".", comma) for i in range(N)]
    crp = ["<1" if i % 6 == 0 else "-" if i % 8 == 1 else value for i, value in enumerate(values)]
    return pd.DataFrame(
        {
            "CRP mg/l": crp,
            "Temp.": [f"{36 + i % 40 / 10:.1f}".replace(".", comma) for i in range(N)],
            "pressure": [f"{110 + i % 70}/{70 + i % 43}" for i in range(N)],
            "smoker": np.resize(["ja", "nein", "k.A."], N),
            "kind": np.resize(["good", "bad"], N),
        }
    )


def test_limits_and_dashes_are_asked_about_and_the_answer_can_be_pasted(tmp_path):
    path = tmp_path / "lab.csv"
    patients().to_csv(path, sep=";", index=False)
    said = one_sentence(run("map", path, "-t", "kind", "-o", tmp_path / "run", *QUICK))
    dashes, limits = (int((patients()["CRP mg/l"] == mark).sum()) for mark in ("-", "<1"))
    share = 1 - (dashes + limits) / N
    assert (
        f"column 'CRP mg/l' holds numbers with a decimal comma in {share:.0%} of its rows, but '-' in {dashes} rows "
        f"and '<1' in {limits} rows. --na - takes it as missing when the table is read; --role 'CRP mg/l=limits' "
        f"reads '<1' as 0.5; --role 'CRP mg/l=categorical' takes every value as a category, 'drop' "
        f"leaves the column out."
    ) in said
    answer = shlex.split("--na - --role 'CRP mg/l=limits'")
    done = run("map", path, "-t", "kind", "-o", tmp_path / "run", *answer, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Taken as numbers: 'CRP mg/l' ('<1' as 0.5)." in done.stderr
    assert "smoker: 'k.A.' in 40 rows; --na k.A. takes it as missing." in done.stderr
    assert "each of two numbers such as '110/70': make two columns of it" in done.stderr


def test_limits_keep_their_order_in_new_rows():
    values = [f"{i / 10:g}" for i in range(11, 60)]
    preparer = TablePreparer({"x": "limits"}).fit(pd.DataFrame({"x": ["<1", ">200", None, *values]}))
    new = ["<1", "<0.5", "≤ 4", "3", ">200", "> 1000", "-2", "<-2", None]
    numbers = preparer.transform(pd.DataFrame({"x": new}))[:, 0].tolist()
    assert numbers[:-1] == [0.5, 0.25, 2.0, 3.0, 200.0, 1000.0, -2.0, -2.0]
    assert np.isnan(numbers[-1])
    alone = [preparer.transform(pd.DataFrame({"x": [text]}))[0, 0] for text in new[:-1]]
    assert alone == numbers[:-1]
    with pytest.raises(TableError, match=r"'x' should hold numbers and limits, and row 0 .*has '<a'"):
        preparer.transform(pd.DataFrame({"x": ["<a"]}))


def test_limits_with_units():
    values = [f"{i} mg" for i in range(1, 60)]
    preparer = TablePreparer({"x": "limits"}).fit(pd.DataFrame({"x": ["< 1 mg", *values]}))
    assert preparer.transform(pd.DataFrame({"x": ["<1 mg", "7 mg"]}))[:, 0].tolist() == [0.5, 7.0]


@pytest.mark.parametrize("share", [0.4, 0.6])
def test_one_word_among_numbers_is_asked_about_while_numbers_are_the_majority(share):
    n_words = round(share * N)
    column = ["not done"] * n_words + [str(i / 7) for i in range(N - n_words)]
    frame = pd.DataFrame({"x": column, "y": np.arange(N) % 7 / 3})
    if share < 0.5:
        told = (
            rf"in {1 - share:.0%} of its rows, but 'not done' in {n_words} rows\. na_values=\['not done'\] takes it as"
        )
        with pytest.raises(TableError, match=told):
            TablePreparer().fit(frame)
    else:
        assert TablePreparer().fit(frame).roles_["x"] == "categorical"


def test_codes_with_many_words_among_them_are_left_out_as_before():
    ticket = [str(17_000 + i) if i % 4 else f"PC {17_000 + i}" for i in range(N)]
    preparer = TablePreparer().fit(pd.DataFrame({"ticket": ticket, "y": np.arange(N) % 7 / 3}))
    assert preparer.roles_["ticket"] == "identifier"


def test_a_role_that_does_not_fit_is_not_called_a_fact():
    with pytest.raises(TableError, match=r"column 'pressure' should hold numbers, and row 0 .*has '110/70'"):
        TablePreparer({"pressure": "numeric"}).fit(patients(".").drop(columns="CRP mg/l"))
    with pytest.raises(TableError, match=r"'CRP mg/l' holds numbers in .*reads '<1' as 0\.5"):
        TablePreparer({"CRP mg/l": "numeric"}).fit(patients("."))


def test_columns_with_most_gaps_come_first():
    frame = pd.DataFrame({f"c{i}": [None] * i + [float(j) for j in range(N - i)] for i in range(1, 9)})
    note = next(note for note in TablePreparer().fit(frame).notes_ if note.startswith("Missing values stay"))
    assert note == (
        "Missing values stay missing: 'c8' (8 rows), 'c7' (7 rows), 'c6' (6 rows), 'c5' (5 rows), 'c4' (4 rows) and 3 "
        "more."
    )


def test_levels_that_differ_in_capital_letters_are_named():
    drugs = np.resize(["Ibuprofen", "ibuprofen", "none"], N)
    notes = TablePreparer().fit(pd.DataFrame({"drug": drugs, "kind": np.resize(["a", "b"], N)})).notes_
    told = "Levels that differ only in capital letters are different ones: 'drug' ('Ibuprofen' and 'ibuprofen')."
    assert told in notes


def test_na_is_near_na_values():
    with pytest.raises(ValueError, match=r"parameter 'na'\. Did you mean 'na_values'\?"):
        mf.map(patients("."), na="-")
