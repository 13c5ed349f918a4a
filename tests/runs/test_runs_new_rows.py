"""New rows on the map of a run: what is said of them is true, whatever they hold."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from cli_helpers import passengers, run
from manifolia.runs import Request, make_run
from manifolia.runs.new_rows import _compare_classes, _compare_numbers, place_new
from manifolia.tables import read


def fast(frame, target, **options):
    return make_run(read(frame), Request(target=(target,), settings={"n_trees": 40}, parts=None, **options))


def place(found, frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        placed = place_new(found.context, read(frame), found.report, found.coordinates)
    return placed, [str(warning.message) for warning in caught]


@pytest.fixture(scope="module")
def ship():
    return fast(passengers(200), "Survived")


def test_levels_that_fit_did_not_see_in_a_column_that_matters_are_said(ship):
    new = passengers(30, seed=7)
    new.loc[:11, "Sex"] = "unknown"
    placed, said = place(ship, new)
    total = sum(max(entry["importance"], 0) for entry in ship.report["importances"])
    share = next(entry["importance"] for entry in ship.report["importances"] if entry["column"] == "Sex") / total
    wanted = f"12 rows have levels of 'Sex' that fit did not see. This column carries {share:.0%} of what matters"
    assert any(text.startswith(wanted) for text in said)
    assert placed.n_unseen == 12
    assert place(ship, passengers(30, seed=7))[0].n_unseen == 0


def test_gaps_of_a_column_that_matters_are_said_and_empty_rows_are_not_compared(ship):
    new = passengers(30, seed=7)
    new.loc[:3, "Sex"] = None
    new.loc[2, [name for name in new.columns if name != "Survived"]] = None
    placed, said = place(ship, new)
    assert any(text.startswith("3 rows have no 'Sex', which carries ") for text in said)
    assert any(text.startswith("1 row has no value in any column that is used: 2. Its place and pred") for text in said)
    assert "of the 29 rows whose Survived is in the file" in placed.compared
    assert np.flatnonzero(placed.frame["novelty"].isna()).tolist() == [2]
    alone, _ = place(ship, new[3:4].reset_index(drop=True))
    assert alone.frame["novelty"][0] == placed.frame["novelty"][3]


def test_another_coding_of_the_target_is_said_and_not_scored(ship):
    new = passengers(30, seed=7)
    coded = new.assign(Survived=np.where(new["Survived"] == 1, "yes", "no"))
    placed, _ = place(ship, coded)
    assert placed.accuracy is None
    assert placed.compared == (
        "The predictions are not compared with Survived in the file, which has other classes ('no' and 'yes') than the "
        "map was made with ('0' and '1')."
    )
    placed, _ = place(ship, new)
    right = (placed.frame["predicted Survived"].to_numpy() == new["Survived"].to_numpy()).mean()
    assert placed.accuracy == right
    said_by = f"The predictions of {ship.model[-1].guide_name_}"
    assert ship.context.card.knower == ship.model[-1].guide_name_ != "forest"
    assert placed.compared.startswith(f"{said_by} are right about {round(30 * right)} of the 30 rows")
    for other in (new["Survived"].astype(float), new["Survived"].astype(str)):
        assert place(ship, new.assign(Survived=other))[0].accuracy == right
    new["Survived"] = [2, 2, None, *new["Survived"][3:]]
    placed, _ = place(ship, new)
    assert placed.compared.endswith("Not counted: 2 rows have classes that the fit did not see ('2').")


def test_truth_values_are_compared_as_such():
    predicted = np.array(["True", "False", "True"], dtype=object)
    assert _compare_classes(np.array([True, False, False]), predicted, np.array(["False", "True"]), "y")[0] == 2 / 3


def test_numbers_are_compared_by_what_they_explain():
    truth, good = np.arange(10.0), np.arange(10.0) + 1.0
    explained, text = _compare_numbers(truth, good, "price")
    assert explained == pytest.approx(1 - 10 / 82.5)
    assert "explain 87.9% of the variance of price in the 10 rows" in text
    explained, text = _compare_numbers(truth, good[::-1] * 2, "price")
    assert explained < 0
    assert "explain none (R² is " in text
    value, text = _compare_numbers(np.array(["low", 3.0, 4.0], dtype=object), good[:3], "price")
    assert value is None
    assert "no numbers, such as 'low'" in text
    assert _compare_numbers(np.full(3, np.nan), good[:3], "price") == (None, "")
    assert _compare_numbers(pd.Series([1, None, 3], dtype="Int64").to_numpy(), np.array([1, 2, 3.0]), "price")[0] == 1.0


def test_transform_says_what_it_found(ship, tmp_path):
    from manifolia.runs import write_run

    write_run(ship, tmp_path / "run")
    new = passengers(30, seed=7)
    new.loc[:11, "Sex"] = "unknown"
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("transform", tmp_path / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    assert done.returncode == 0, done.stderr
    assert "Novelty does not see levels that were not in the fit: 12 rows have such." in done.stdout
    assert "12 rows have levels of 'Sex' that fit did not see." in done.stderr
    assert "are right about" in done.stdout
    assert "score" not in done.stdout
