"""``manifolia map``: from a file to a folder, told in words; and what it says when it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from cli_helpers import environment, one_sentence, passengers
from manifolia import registry
from manifolia.exceptions import DataHomeError

FEW = ("--set", "n_trees=30")


def test_the_folder_holds_everything(finished):
    folder, _ = finished
    assert sorted(path.name for path in folder.iterdir()) == [
        "coordinates.csv", "map.html", "map.png", "map.svg", "model.mfa", "payload.npz", "report.json", "rows.npz",
    ]  # fmt: skip
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert ET.fromstring((folder / "map.svg").read_text(encoding="utf-8")).tag.endswith("svg")
    assert "Passenger number" not in (folder / "report.json").read_text(encoding="utf-8")


def test_stdout_ends_with_the_page_and_says_three_things(finished):
    folder, done = finished
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("240 rows mapped by guided-map, classification in ")
    findings = [line for line in lines if line.startswith("- ")]
    assert len(findings) >= 3
    assert findings[0].startswith("- What matters most for Survived: Sex (")
    assert "give the right Survived for" in findings[1]
    assert lines[-1] == f"Open the page: {folder / 'map.html'}"


def test_notes_on_the_table_go_to_stderr(finished):
    _, done = finished
    assert "'Name'" in done.stderr  # an identifier
    assert "if it differs in all of them: --key column; or" in done.stderr  # in options, not in arguments of Python
    assert "'Ship'" in done.stderr  # a constant
    assert "Missing values stay missing: 'Age'" in done.stderr
    assert "Traceback" not in done.stderr


def test_coordinates_are_those_of_the_model_and_each_row_keeps_its_target(finished, table):
    folder, _ = finished
    coordinates = pd.read_csv(folder / "coordinates.csv")
    told = ["Survived", "predicted Survived", "votes for predicted Survived", "novelty"]
    assert list(coordinates.columns) == ["row", "map_x", "map_y", *told]
    model = mf.load(folder / "model.mfa")
    np.testing.assert_allclose(coordinates[["map_x", "map_y"]], model[-1].embedding_, rtol=1e-12)
    np.testing.assert_array_equal(coordinates["Survived"], pd.read_csv(table)["Survived"])
    right = (coordinates["predicted Survived"] == coordinates["Survived"]).mean()
    assert right == pytest.approx(model[-1].guide_score_)


def test_the_report_tells_how_to_make_it_again(finished):
    folder, _ = finished
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["method"] == "guided-map"
    assert report["target"] == {"columns": ["Survived"], "task": "classification"}
    assert report["parameters"]["n_trees"] == 60
    assert report["random_state"] == 0
    assert report["versions"]["manifolia"] == mf.__version__
    assert {"forest", "layout", "importance", "quality"} <= set(report["seconds"])
    assert {score["metric"] for score in report["scores"]} >= {"trustworthiness", "knn_accuracy"}
    assert report["importances"][0]["column"] == "Sex"
    assert report["data"]["roles"]["Age"] == "numeric"


def test_the_same_command_gives_the_same_files(finished, table, tmp_path, manifolia):
    folder, _ = finished
    again = manifolia(
        "map", table, "-t", "Survived", "-o", tmp_path / "again", "--set", "n_trees=60", "--jobs", 1, "-q"
    )
    assert again.returncode == 0, again.stderr
    for name in ("coordinates.csv", "payload.npz", "map.html"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), name


def test_quiet_says_nothing_on_stderr_and_json_is_json(table, tmp_path, manifolia):
    done = manifolia("map", table, "-t", "Survived", "-o", tmp_path / "run", *FEW, "-q", "--json", "--no-keep-rows")
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["page"] == str(tmp_path / "run" / "map.html")
    assert len(told["findings"]) >= 3
    assert not (tmp_path / "run" / "rows.npz").exists()


def test_quiet_says_nothing_of_what_stands_in_the_files(table, finished, tmp_path, manifolia):
    """What was asked for is printed all the same: scores, and a table on stdout."""
    commands = [
        ("map", table, "-t", "Survived", "-o", tmp_path / "run", *FEW, "--no-explain"),
        ("explore", finished[0], "-o", tmp_path / "page.html"),
        ("transform", finished[0], table, "-o", tmp_path / "placed.csv"),
        ("demo", tmp_path / "demo", "--data", "iris"),
    ]
    for command in commands:
        done = manifolia(*command, "-q")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), command[0]
    assert manifolia("score", finished[0], "-q").stdout.startswith("Scores of")
    assert manifolia("transform", finished[0], table, "-q").stdout.startswith("row,")


@pytest.mark.parametrize("method", registry.names(installed=False))
def test_every_method_takes_a_table_with_its_defaults(method, tmp_path, manifolia):
    card = registry.find(method)
    if not card.is_installed:
        pytest.skip(f"{card.distribution} is not installed")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((60, 4)), columns=list("abcd")).assign(kind=["ant", "bee", "cat"] * 20)
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "kind", "-m", method, "-o", tmp_path / "run", "--no-explain")
    assert done.returncode == 0, done.stderr
    coordinates = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    assert len(coordinates) == 60
    assert np.isfinite(coordinates[["map_x", "map_y"]]).all(axis=None)


def test_what_a_peer_refuses_is_said_in_its_name(tmp_path, manifolia):
    pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc")).to_csv(
        tmp_path / "a.csv", index=False
    )
    done = manifolia("map", tmp_path / "a.csv", "-m", "nmf", "-o", tmp_path / "run")
    assert done.returncode == 1
    assert one_sentence(done).startswith("Error: --method: NMF of scikit-learn made no map of this table. It says: Neg")


def test_without_a_target(table, tmp_path, manifolia):
    done = manifolia("map", table, "-o", tmp_path / "run", *FEW, "-x", "Survived", "--method", "rf-phate")
    assert done.returncode == 0, done.stderr
    assert "shuffled copies" in done.stdout
    assert "nearest in the map" in done.stdout
    coordinates = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    assert list(coordinates.columns) == ["row", "map_x", "map_y", "novelty"]


def test_another_method_takes_the_same_table(table, tmp_path, manifolia):
    done = manifolia("map", table, "-t", "Survived", "-o", tmp_path / "run", "-m", "pca", "--format", "parquet")
    assert done.returncode == 0, done.stderr
    assert "Filled" in done.stderr or "filled" in done.stderr  # PCA takes no gaps
    placed = manifolia("transform", tmp_path / "run", table, "-o", tmp_path / "placed.csv")
    assert placed.returncode == 0, placed.stderr
    was = pd.read_parquet(tmp_path / "run" / "coordinates.parquet")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "placed.csv")["map_x"], was["map_x"], atol=1e-9)


def test_a_method_whose_model_needs_pickle_still_gives_a_map(table, tmp_path, manifolia):
    done = manifolia("map", table, "-t", "Survived", "-o", tmp_path / "run", "-m", "isomap")
    assert done.returncode == 0, done.stderr
    assert "cannot be saved without pickle" in done.stderr
    assert (tmp_path / "run" / "map.html").is_file()
    refused = manifolia("transform", tmp_path / "run", table)
    assert refused.returncode == 1
    assert "has no model" in one_sentence(refused)


def test_a_number_as_target_and_a_column_named_like_a_coordinate(tmp_path, manifolia):
    frame = passengers().rename(columns={"Fare": "map_x"}).drop(columns="Name")
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "map_x", "-o", tmp_path / "run", *FEW)
    assert done.returncode == 0, done.stderr
    assert "explain" in done.stdout
    columns = list(pd.read_csv(tmp_path / "run" / "coordinates.csv").columns)
    assert columns == ["row", "map_x", "map_y", "map_x (target)", "predicted map_x", "novelty"]


def test_a_target_named_like_a_third_coordinate(tmp_path, manifolia):
    frame = passengers().rename(columns={"Survived": "map_z"}).drop(columns="Name")
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "map_z", "-o", tmp_path / "run", *FEW)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "map.png").exists()  # a map of two dimensions, not of three
    done = manifolia("score", tmp_path / "run", "--all", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["axes"] == ["map_x", "map_y"]


def test_several_targets(tmp_path, manifolia):
    passengers().to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "Survived", "-t", "Pclass", "-o", tmp_path / "run", *FEW)
    assert done.returncode == 0, done.stderr
    assert "Survived and Pclass" in done.stdout
    assert "of the labels of Survived and Pclass" in done.stdout  # classes have no variance


def test_rows_whose_target_is_missing_are_placed_too(tmp_path, manifolia):
    frame = passengers()
    frame["Survived"] = frame["Survived"].map({0: "no", 1: "yes"})
    frame.loc[::7, "Survived"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = manifolia("map", tmp_path / "a.csv", "-t", "Survived", "-o", tmp_path / "run", *FEW)
    assert done.returncode == 0, done.stderr
    coordinates = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    assert len(coordinates) == 240
    assert coordinates["Survived"].isna().sum() == 35
    assert coordinates["predicted Survived"].notna().all()


def test_semicolons_decimal_commas_and_a_byte_order_mark(tmp_path, manifolia):
    frame = passengers()
    path = tmp_path / "europe.csv"
    path.write_bytes(b"\xef\xbb\xbf" + frame.to_csv(index=False, sep=";", decimal=",").encode())
    done = manifolia("map", path, "-t", "Survived", "-o", tmp_path / "run", *FEW, "--sep", ";", "--decimal", ",")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["data"]["roles"]["Fare"] == "numeric"
    plain = tmp_path / "plain.csv"
    frame.to_csv(plain, index=False)
    manifolia("map", plain, "-t", "Survived", "-o", tmp_path / "same", *FEW)
    one, two = (pd.read_csv(tmp_path / name / "coordinates.csv") for name in ("run", "same"))
    pd.testing.assert_frame_equal(one, two)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-t", "Survivd"), "no column 'Survivd'. Did you mean 'Survived'"),
        (("-t", "Survived", "-x", "Agee"), "no column 'Agee'"),
        (("-t", "Ship"), "'Ship' is Titanic in every row"),
        (("-t", "Survived", "--set", "n_tree=5"), "no parameter 'n_tree'. Did you mean 'n_trees'"),
        (("-t", "Survived", "--set", "n_trees=-5"), "n_trees"),
        (("-t", "Survived", "--role", "Age=categoric"), "categorical"),
        (("-t", "Survived", "-m", "rfphate"), "no method 'rfphate'. Did you mean 'rf-phate'"),
        (("-t", "Survived", "-x", "Survived"), "both target and excluded"),
        (("-t", "Survived", "--task", "classify"), "classif"),
    ],
)
def test_a_wrong_argument_is_one_sentence(table, tmp_path, manifolia, arguments, said):
    done = manifolia("map", table, "-o", tmp_path / "run", *arguments)
    assert done.returncode == 1
    assert said in one_sentence(done)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"a,b,label\n", "no rows"),
        (b"a,b,label\n1,2,x\n", "1 row"),
        (b"a,b,label\n" + b"".join(b"%d,%d,x\n" % (i, i * i) for i in range(30)), "'label' is x in every row"),
        (bytes(range(256)) * 20, "text"),
        (b"PK\x03\x04" + bytes(range(256)) * 20, "text"),
    ],
    ids=["empty", "header", "one row", "one class", "binary", "zip"],
)
def test_a_bad_file_is_one_sentence(tmp_path, manifolia, content, said):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    done = manifolia("map", path, "-t", "label", "-o", tmp_path / "run")
    assert done.returncode == 1
    assert said in one_sentence(done)
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_not_there_and_a_command_that_is_not_there(tmp_path, manifolia):
    done = manifolia("map", tmp_path / "nothing.csv", "-t", "y")
    assert done.returncode == 1
    assert "nothing.csv" in one_sentence(done)
    assert manifolia("chart").returncode == 2
    assert manifolia("map").returncode == 2
    assert manifolia("map", "x.csv", "--set", "n_trees").returncode == 2


def test_debug_shows_where(tmp_path, manifolia):
    done = manifolia("map", tmp_path / "nothing.csv", "-t", "y", "--debug")
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_a_run_that_is_there_is_replaced_by_force_only(finished, table, tmp_path, manifolia):
    folder = tmp_path / "run"
    first = manifolia("map", table, "-t", "Survived", "-o", folder, *FEW, "-q")
    assert first.returncode == 0, first.stderr
    before = (folder / "coordinates.csv").read_bytes()
    refused = manifolia("map", table, "-t", "Survived", "-o", folder, *FEW, "--seed", 5)
    assert refused.returncode == 1
    assert "--force" in one_sentence(refused)
    assert (folder / "coordinates.csv").read_bytes() == before
    done = manifolia("map", table, "-t", "Survived", "-o", folder, *FEW, "--seed", 5, "--force", "-q")
    assert done.returncode == 0, done.stderr
    assert (folder / "coordinates.csv").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_force_does_not_replace_what_is_no_run(table, tmp_path, manifolia):
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.txt").write_text("ten years of work")
    done = manifolia("map", table, "-t", "Survived", "-o", folder, "--force")
    assert done.returncode == 1
    assert "not a manifolia run" in one_sentence(done)
    assert (folder / "thesis.txt").read_text() == "ten years of work"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=["kill", "term", "int"])
def test_a_killed_run_leaves_nothing(tmp_path, number):
    passengers(1500).to_csv(tmp_path / "a.csv", index=False)
    work = subprocess.Popen(
        [sys.executable, "-m", "manifolia", "map", "a.csv", "-t", "Survived", "-o", "run", "--set", "n_trees=20000"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), start_new_session=True,
    )  # fmt: skip
    try:
        time.sleep(4.0)  # in the forest, which takes much longer
        assert work.poll() is None
        os.kill(work.pid, number)
        out, _ = work.communicate(timeout=120)
    finally:
        if work.poll() is None:
            work.kill()
    assert work.returncode != 0
    assert out == b""
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_titanic_as_it_is(tmp_path, manifolia):
    """The real one: names, tickets, cabins, gaps; then rows with a new port and without a column."""
    try:
        frame = mf.datasets.load("titanic").frame
    except DataHomeError as error:
        pytest.skip(str(error))
    frame.iloc[:750].to_csv(tmp_path / "titanic.csv", index=False)
    new = frame.iloc[750:].drop(columns="Fare").copy()
    new.loc[new.index[:4], "Embarked"] = "Belfast"
    new.to_csv(tmp_path / "new.csv", index=False)
    done = manifolia("map", "titanic.csv", "--target", "Survived", "-o", "run", "--set", "n_trees=200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Sex (" in done.stdout.splitlines()[1]
    placed = manifolia("transform", "run", "new.csv", "-o", "new.parquet", "--page", "new.html", cwd=tmp_path)
    assert placed.returncode == 0, placed.stderr
    assert "'Fare'" in placed.stderr
    assert "Belfast" in placed.stderr
    out = pd.read_parquet(tmp_path / "new.parquet")
    assert len(out) == len(new)
    assert np.isfinite(out[["map_x", "map_y"]].to_numpy()).all()
    assert (out["predicted Survived"] == out["Survived"]).mean() > 0.7
    assert "new rows" in (tmp_path / "new.html").read_text(encoding="utf-8").lower()
