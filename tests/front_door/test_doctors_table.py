"""A doctor's export: several visits of each patient, a line of totals, new visits of patients that the map knows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run
from front_door.cases import QUICK

N = 90


def visits():
    """Three visits of each of thirty patients, and a line of totals that has no value but a name."""
    rng = np.random.default_rng(0)
    fever = rng.normal(size=N)
    table = pd.DataFrame(
        {
            "patient": [f"P{i // 3:02d}" for i in range(N)],
            "fever": fever,
            "weight": rng.normal(70, 9, N).round(1),
            "drug": rng.choice(["a", "b", "c"], N),
            "outcome": np.where(fever > 0, "ill", "well"),
        }
    )
    return pd.concat([table, pd.DataFrame({"patient": ["total"]})], ignore_index=True)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    visits().to_csv(folder / "visits.csv", index=False)
    done = run("map", folder / "visits.csv", "-t", "outcome", "--groups", "patient", "-o", folder / "run", *QUICK)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_a_line_of_totals_is_named(mapped):
    _, done = mapped
    assert "1 row has no value in any column that is used: 90. It is placed all the same" in " ".join(
        done.stderr.split()
    )


def test_visits_of_known_patients_are_no_test(mapped, tmp_path):
    folder, _ = mapped
    visits()[:6].drop(columns="weight").to_csv(tmp_path / "new.csv", index=False)
    done = run("transform", folder / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    said = " ".join(done.stdout.split())
    assert (
        "6 rows whose outcome is in the file. But 6 of the rows are of a patient that the map was made with: no" in said
    )
    assert "100.0%" not in said
    placed = pd.read_csv(tmp_path / "placed.csv")
    assert placed["patient (groups)"].tolist() == visits()["patient"][:6].tolist()
    strangers = visits()[:6].assign(patient="X")
    strangers.to_csv(tmp_path / "new.csv", index=False)
    done = run("transform", folder / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv", "-f")
    assert "that the map was made with" not in done.stdout


def test_a_new_row_without_any_value_is_told_and_is_no_hit(mapped, tmp_path):
    folder, _ = mapped
    new = visits()[:6]
    new.loc[2, ["fever", "weight", "drug"]] = None
    new.to_csv(tmp_path / "new.csv", index=False)
    done = run("transform", folder / "run", tmp_path / "new.csv", "-o", tmp_path / "placed.csv")
    said = " ".join(done.stderr.split())
    assert "1 row has no value in any column that is used: 2. Its place and prediction say nothing: it is not" in said
    assert "5 rows whose outcome is in the file" in done.stdout
    assert np.flatnonzero(pd.read_csv(tmp_path / "placed.csv")["novelty"].isna()).tolist() == [2]


def test_one_thing_has_one_name_in_the_tables_of_a_run(mapped):
    folder, _ = mapped
    run("diagnose", folder / "run")
    trust = pd.read_csv(folder / "run" / "trust.csv")
    coordinates = pd.read_csv(folder / "run" / "coordinates.csv")
    assert "novelty" in coordinates
    assert "novelty" not in trust
    assert trust["remoteness"].between(0, 1).all()


def test_a_row_is_asked_for_by_what_it_has(mapped):
    folder, _ = mapped
    said = one_sentence(run("explain", folder / "run", "--row", "P07"))
    assert "there is no row 'P07'. Rows 21, 22 and 23 have it in 'patient': pass one of these." in said
    done = run("explain", folder / "run", "--row", "21")
    assert done.returncode == 0, done.stderr
    assert "arrow" not in done.stdout
    assert "The rows most like it, by forest proximity; the votes above are those of a mixture of" in done.stdout


def test_who_stands_between_the_classes_is_in_the_coordinates(mapped):
    folder, _ = mapped
    coordinates = pd.read_csv(folder / "run" / "coordinates.csv")
    told = json.loads(run("explain", folder / "run", "--row", "4", "--json").stdout)
    votes = coordinates["votes for predicted outcome"]
    assert votes[4] == pytest.approx(max(told["votes"]["outcome"].values()))
    assert votes.between(0.5, 1.0).all()


def test_a_map_without_a_key_says_how_rows_are_called(mapped, tmp_path):
    _, done = mapped
    told = "Rows are numbered from 0: row 0 is the first below the names of the columns. --key COLUMN calls"
    assert told in " ".join(done.stderr.split())
    named = visits()[:N].assign(visit=[f"V{i}" for i in range(N)])
    named.to_csv(tmp_path / "named.csv", index=False)
    done = run("map", tmp_path / "named.csv", "-t", "outcome", "--key", "visit", "-o", tmp_path / "run", *QUICK)
    assert "numbered from 0" not in done.stderr


def test_a_method_without_a_target_says_so():
    made = mf.map(visits()[:N], "outcome", method="tsne", exclude="patient", parts=None, importance=False)
    assert any("takes no target: outcome colours the map, and does not guide it." in note for note in made.notes)
