"""The folder of a run: complete or absent, and read back as it was."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cli_helpers import passengers
from manifolia.exceptions import ModelFileError, TableError
from manifolia.runs import Request, folder, make_run, open_run, write_run
from manifolia.runs.new_rows import place_new
from manifolia.runs.target import read_labels
from manifolia.tables import read


@pytest.fixture(scope="module")
def run():
    return make_run(read(passengers(150)), Request(target=("Survived",), settings={"n_trees": 30}))


def test_what_is_written_is_read_back(run, tmp_path):
    opened = open_run(write_run(run, tmp_path / "run"))
    assert opened.report == json.loads(json.dumps(run.report))
    pd.testing.assert_frame_equal(
        opened.coordinates, run.coordinates.astype({"row": str}), check_dtype=False, check_exact=False
    )
    np.testing.assert_array_equal(opened.rows, run.rows)
    assert opened.payload.meta == run.payload.meta
    table = read(passengers(10, seed=3))
    contexts = run.context, folder.context_for(opened)
    one, two = (place_new(context, table, run.report, run.coordinates) for context in contexts)
    assert one.Y.tobytes() == two.Y.tobytes()
    pd.testing.assert_frame_equal(one.frame, two.frame)


def test_no_figure_stays_open(run, tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    write_run(run, tmp_path / "run")
    assert (tmp_path / "run" / "map.png").stat().st_size > 1000
    assert plt.get_fignums() == before


def test_a_write_that_fails_leaves_what_was_there(run, tmp_path, monkeypatch):
    path = write_run(run, tmp_path / "run")
    before = {file.name: file.read_bytes() for file in path.iterdir()}

    def fail(*_args):
        message = "disk full"
        raise OSError(message)

    monkeypatch.setattr(folder, "_display", fail)
    with pytest.raises(OSError, match="disk full"):
        write_run(run, path, force=True)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert [file.name for file in tmp_path.iterdir()] == ["run"]
    with pytest.raises(OSError, match="disk full"):
        write_run(run, tmp_path / "other")
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_what_is_there_is_not_overwritten(run, tmp_path):
    path = write_run(run, tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"force=True"):
        write_run(run, path)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError, match="not a manifolia run"):
        write_run(run, tmp_path / "file", force=True)
    (tmp_path / "empty").mkdir()
    write_run(run, tmp_path / "empty")  # an empty folder is as good as none


@pytest.mark.parametrize("force", [False, True])
def test_what_appears_while_it_is_written_is_left(run, tmp_path, force):
    def appear(_folder):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.txt").write_text("mine")

    with pytest.raises(FileExistsError, match=r"complete, and is in .*run-2\."):
        write_run(run, tmp_path / "run", force=force, more=appear)
    assert (tmp_path / "run" / "thesis.txt").read_text() == "mine"
    assert open_run(tmp_path / "run-2").report["method"] == "guided-map"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run", "run-2"]


def test_what_is_written_besides_belongs_to_the_run(run, tmp_path):
    def fail(folder):
        (folder / "more.txt").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_run(run, tmp_path / "run", more=fail)
    assert not list(tmp_path.iterdir())
    write_run(run, tmp_path / "run", more=lambda folder: (folder / "more.txt").write_text("x"))
    assert (tmp_path / "run" / "more.txt").read_text() == "x"


def test_a_link_is_followed(run, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    write_run(run, tmp_path / "run")
    write_run(run, tmp_path / "run", force=True)
    assert (tmp_path / "run").is_symlink()
    assert (tmp_path / "disk" / "report.json").is_file()


def test_a_run_that_was_set_aside_is_found_again(run, tmp_path):
    write_run(run, tmp_path / "run")
    stage = tmp_path / ".run.0123abcd.part"
    (stage / "new").mkdir(parents=True)
    (stage / "lock").touch()
    (tmp_path / "run").rename(stage / "old")
    assert open_run(tmp_path / "run").report == json.loads(json.dumps(run.report))
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"method": "x"}'])
def test_a_folder_with_another_report_is_no_run(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(ModelFileError, match="not a manifolia run"):
        open_run(tmp_path)


def test_sparse_rows_come_back_sparse(tmp_path):
    rows = sp.csr_array(np.eye(5))
    folder._write_rows(rows, tmp_path / "rows.npz")
    back = folder.Run({"data": {"rows": 5}}, tmp_path).rows
    assert (back != rows).nnz == 0
    assert folder.Run({"data": {"rows": 5}}, tmp_path / "nowhere").rows is None


@pytest.mark.parametrize("rows", [np.eye(4), np.zeros(5), np.array([["a"]] * 5), sp.csr_array(np.eye(4))])
def test_rows_of_something_else_are_refused(tmp_path, rows):
    folder._write_rows(rows, tmp_path / "rows.npz")
    with pytest.raises(ModelFileError, match=r"does not hold the rows of the run: it holds an array of shape"):
        assert folder.Run({"data": {"rows": 5}}, tmp_path).rows


def test_labels_keep_numbers_and_turn_the_rest_to_text():
    frame = pd.DataFrame({
        "whole": [1, 2, 3], "gap": [1.0, None, 2.0], "word": ["a", None, "b"], "flag": [True, False, True],
        "when": pd.to_datetime(["2020-01-01", "2020-01-02", None]), "one": ["x", "x", None], "none": [None] * 3,
    })  # fmt: skip
    table = read(frame)
    assert read_labels(table, ["whole"]).y.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(read_labels(table, ["gap"]).y, [1.0, np.nan, 2.0])
    assert read_labels(table, ["word"]).y.tolist() == ["a", None, "b"]
    assert read_labels(table, ["flag"]).y.tolist() == ["True", "False", "True"]
    assert read_labels(table, ["when"], "classification").y.tolist()[2] is None
    assert read_labels(table, []).y is None
    assert read_labels(table, ["word", "flag"]).name == "word and flag"
    with pytest.raises(TableError, match=r"of one kind.*whole \(whole numbers\), word \(words\)"):
        read_labels(table, ["whole", "word"])
    with pytest.raises(TableError, match="is x in every row"):
        read_labels(table, ["one"])
    with pytest.raises(TableError, match="no value in any row"):
        read_labels(table, ["none"])


def test_a_wide_table_shows_the_columns_that_matter(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = rng.normal(size=(60, 300))
    X[:, 250] += 4 * y
    frame = pd.DataFrame(X, columns=[f"g{i}" for i in range(300)]).assign(y=y)
    run = make_run(read(frame), Request(target=("y",), settings={"n_trees": 50}))
    names = [column["name"] for column in run.payload.meta["columns"]]
    assert "g250" in names
    assert len(names) < 210
    assert "Of 300 columns the 200 that matter most are on the page." in run.payload.left_out
    assert run.report["importances"][0]["column"] == "g250"


def test_too_few_rows():
    with pytest.raises(TableError, match="4 rows; a map needs at least 5"):
        make_run(read(passengers(4)), Request(target=("Survived",)))


def fresh_known(run):
    return place_new(run.context, read(passengers(2, seed=7)), run.report, run.coordinates).n_known


def test_rows_of_the_fit_are_recognised_and_absent_columns_that_matter_are_told(run):
    assert place_new(run.context, read(passengers(150)), run.report, run.coordinates).n_known == 150
    fresh = place_new(run.context, read(passengers(40, seed=7)), run.report, run.coordinates)
    assert fresh.n_known < 10
    mixed = pd.concat([passengers(3), passengers(2, seed=7)], ignore_index=True)
    mixed.loc[:2, "Survived"] = None  # what nobody compares needs no caveat
    assert place_new(run.context, read(mixed), run.report, run.coordinates).n_known == fresh_known(run)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        place_new(run.context, read(passengers(10, seed=7).drop(columns="Sex")), run.report, run.coordinates)
    said = [str(warning.message) for warning in caught]
    assert any("'Sex', which is not in" in text and "of what matters" in text for text in said)


def test_a_place_that_cannot_be_written_is_told_before_the_work(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(PermissionError, match="not a folder that you may write to"):
        folder.check_free(tmp_path / "file" / "run", force=False)
    folder.check_free(tmp_path / "new" / "deep" / "run", force=False)


def test_a_map_without_a_target_says_four_things():
    found = make_run(read(passengers(120).drop(columns=["Name", "Survived"])), Request()).report
    assert found["method"] == "featuremap"
    assert len(found["findings"]) == 4
    assert "directions in which the rows differ" in found["findings"][0]["text"]
    assert "farthest from their" in found["findings"][2]["text"]
    assert found["findings"][3]["text"].startswith("What may be trusted: ")
