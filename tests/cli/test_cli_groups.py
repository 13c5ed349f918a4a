"""``--groups``: a column of rows that belong together, from the table to the report, the page and the scores."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import one_sentence, run

GROUPS = np.repeat(np.arange(60), 5)
FEW = ("--set", "n_trees=60")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))[GROUPS] + 0.1 * rng.normal(size=(300, 6))
    label = np.array(["ill", "well"])[np.arange(60)[rng.permutation(60)] % 2][GROUPS]
    return pd.DataFrame(X, columns=list("abcdef")).assign(patient=GROUPS, state=label)


@pytest.fixture(scope="module")
def mapped(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("groups")
    frame.to_csv(folder / "table.csv", index=False)
    # RF-PHATE: a guided map shows nearly all that its trees know of rows that all of them have seen.
    method = ("-m", "rf-phate")
    done = run("map", folder / "table.csv", "-t", "state", "--groups", "patient", "-o", folder / "run", *method, *FEW)
    assert done.returncode == 0, done.stderr
    return folder, done


def test_rows_and_patients_are_counted_and_both_figures_are_named(mapped):
    folder, done = mapped
    assert done.stdout.startswith("300 rows of 60 patients mapped by ")
    assert "nearest rows of other patients in the map" in done.stdout
    assert "of rows of patients it was not trained on" in done.stdout
    told = next(line for line in done.stdout.splitlines() if "recognition, not learning" in line)
    by_rows, by_patients = (int(part.rpartition(" ")[2]) for part in told.split("%")[:2])
    assert by_rows > 80
    assert by_patients < 70
    report = json.loads((folder / "run" / "report.json").read_text(encoding="utf-8"))
    assert round(100 * report["model"]["oob_score"]) == by_patients
    assert report["groups"] == {"column": "patient", "count": 60}


def test_the_column_is_no_feature_and_is_shown(mapped, frame):
    folder, _ = mapped
    report = json.loads((folder / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["excluded"] == ["patient"]
    assert "patient" not in report["data"]["roles"]
    page = (folder / "run" / "map.html").read_text(encoding="utf-8")
    assert "Trees draw and leave out whole patients" in page
    assert "Trees draw and leave out whole patients" in page
    assert "both are rows of other patients" in page
    coordinates = pd.read_csv(folder / "run" / "coordinates.csv")
    assert coordinates["patient (groups)"].tolist() == frame["patient"].tolist()
    model = mf.load(folder / "run" / "model.mfa")[-1]
    assert np.array_equal(model._fitted_forest.groups, GROUPS)


def test_new_rows_need_no_patient(mapped, frame, tmp_path):
    folder, _ = mapped
    for name, part in (("with", frame[:9]), ("without", frame[:9].drop(columns="patient"))):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        done = run("transform", folder / "run", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}-out.csv")
        assert done.returncode == 0, done.stderr
    with_it, without = (pd.read_csv(tmp_path / f"{name}-out.csv") for name in ("with", "without"))
    assert with_it["map_x"].tolist() == without["map_x"].tolist()


def test_scores_leave_the_own_patient_out(mapped, frame, tmp_path):
    folder, _ = mapped

    def accuracy(*more):
        done = run("score", folder / "run", "--json", *more)
        assert done.returncode == 0, done.stderr
        return {one["metric"]: one["value"] for one in json.loads(done.stdout)["scores"]}["knn_accuracy"]

    assert "neighbours of the same patient left out" in run("score", folder / "run").stdout
    kept = accuracy()
    assert kept < 0.75
    assert accuracy("--all") == kept
    frame.to_csv(tmp_path / "same.csv", index=False)
    alone = frame.drop(columns="patient")
    alone.to_csv(tmp_path / "alone.csv", index=False)
    assert accuracy("--data", tmp_path / "alone.csv") > accuracy("--data", tmp_path / "same.csv") + 0.1


def test_a_report_with_other_groups_is_refused(mapped, tmp_path):
    folder, _ = mapped
    broken = tmp_path / "broken"
    shutil.copytree(folder / "run", broken)
    report = json.loads((broken / "report.json").read_text(encoding="utf-8"))
    for groups in ([1], {"column": 3, "count": 2}, "patient"):
        (broken / "report.json").write_text(json.dumps({**report, "groups": groups}), encoding="utf-8")
        done = run("score", broken)
        assert done.returncode == 1
        assert "is not a manifolia run" in one_sentence(done)
    del report["groups"]  # as the first runs were written
    (broken / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert run("score", broken, "--all").returncode == 0


@pytest.mark.parametrize(
    ("column", "words"),
    [("patent", "patient"), ("state", "both target and groups"), ("one", "all rows are in one group")],
)
def test_what_cannot_be_groups(frame, tmp_path, column, words):
    frame.assign(one=1).to_csv(tmp_path / "table.csv", index=False)
    done = run("map", tmp_path / "table.csv", "-t", "state", "--groups", column, "-o", tmp_path / "run", *FEW)
    assert done.returncode == 1
    assert words in one_sentence(done)
    assert not (tmp_path / "run").exists()


def test_other_methods_say_that_they_are_not_told(frame, tmp_path):
    frame.assign(row=np.arange(300)).to_csv(tmp_path / "table.csv", index=False)
    data = tmp_path / "table.csv"
    done = run("map", data, "-t", "state", "--groups", "patient", "-m", "pls-da", "-o", tmp_path / "a", "--no-explain")
    assert "is not told that rows of one patient belong together" in " ".join(done.stderr.split())
    done = run("map", data, "-t", "state", "--groups", "row", "-o", tmp_path / "b", "--no-explain", *FEW)
    assert "no rows belong together" in " ".join(done.stderr.split())


def test_tune_passes_groups_on(frame, tmp_path):
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = run(
        "tune", tmp_path / "table.csv", "-t", "state", "--groups", "patient", "-m", "rf-phate", "--metric",
        "knn_accuracy", "--range", "t=2,4", "--trials", "2", "--repeats", "1", "--jobs", "1", *FEW,
        "-o", tmp_path / "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tuned on 300 rows of 60 patients" in done.stdout
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["groups"]["count"] == 60
    study = json.loads((tmp_path / "run" / "tuning.json").read_text(encoding="utf-8"))
    assert study
