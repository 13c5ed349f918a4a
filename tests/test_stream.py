"""`mf.stream`: the places of memory, to the bit; files that are done stay done."""

from __future__ import annotations

import errno
import json

import numpy as np
import pandas as pd
import pytest

import manifolia as mf
from manifolia.exceptions import ParameterError, StoppedByCallbackError, TableError

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 900
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(0, 50, n),
            "c": rng.choice(["x", "y", "z"], n),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "name": [f"k{i}" for i in range(n)],
        }
    )
    frame["kind"] = np.where(frame["a"] + frame["b"] / 25 > 1, "high", "low")
    frame.loc[::90, "kind"] = None
    return frame


@pytest.fixture(scope="module")
def run(frame):
    return mf.map(frame.iloc[:300], target="kind", key="name", n_trees=20, guide="forest", parts=None)


@pytest.fixture
def folder(frame, tmp_path):
    return write(frame, tmp_path / "big")


def write(frame, folder, n_files=4):
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        frame.iloc[rows].to_parquet(folder / f"p{i}.parquet")
    return folder


def placed(files):
    return pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)


@pytest.mark.parametrize(("batch_rows", "n_jobs"), [(7, 2), (100, 1), (1000, 1), (65_536, 2), (None, 1), (None, 2)])
def test_the_bits_are_those_of_memory(run, frame, folder, tmp_path, batch_rows, n_jobs):
    done = mf.stream.place(run, folder, tmp_path / "out", batch_rows=batch_rows, n_jobs=n_jobs)
    found, expected = placed(done.files), run.transform(frame)
    assert [path.name for path in done.files] == [f"p{i}.parquet" for i in range(4)]
    for name in ("map_x", "map_y", "novelty"):
        np.testing.assert_array_equal(found[name], expected[name])
    assert found["predicted kind"].tolist() == expected["predicted kind"].tolist()
    assert found["name"].tolist() == frame["name"].tolist()
    assert found["row"].tolist() == [*range(225)] * 4
    known = frame["kind"].notna().to_numpy()
    assert done.right == (expected["predicted kind"] == frame["kind"].to_numpy())[known].mean()
    assert done.novel == (expected["novelty"] >= run.model[-1].novelty_threshold_).sum()
    assert (done.rows, done.skipped) == (900, 0)


def test_the_order_of_files_changes_no_bit(run, frame, tmp_path):
    """The same rows in files whose names stand the other way round."""
    (tmp_path / "turned").mkdir()
    pieces = np.array_split(np.arange(len(frame)), 4)
    for i, rows in enumerate(pieces):
        frame.iloc[rows].to_parquet(tmp_path / "turned" / f"p{9 - i}.parquet")
    done = mf.stream.place(run, tmp_path / "turned", tmp_path / "out", batch_rows=50)
    found = placed(done.files).set_index("name")
    expected = run.transform(frame)
    for name in ("map_x", "map_y", "novelty"):
        np.testing.assert_array_equal(found.loc[frame["name"], name], expected[name])
    assert found.index[0] == frame["name"][pieces[-1][0]]


def test_one_row_at_a_time(run, frame, tmp_path):
    rows: list[pd.DataFrame] = []
    mf.stream.place(run, frame.iloc[:40], rows.append, batch_rows=1)
    np.testing.assert_array_equal(pd.concat(rows)["map_x"], run.transform(frame.iloc[:40])["map_x"])
    assert len(rows) == 40


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_file_and_what_is_asked_of_it(run, frame, tmp_path, suffix):
    path = tmp_path / f"placed{suffix}"
    done = mf.stream.place(run, frame, path, copy="b", places_only=True)
    found = pd.read_csv(path, float_precision="round_trip") if suffix == ".csv" else pd.read_parquet(path)
    assert list(found.columns) == ["row", "map_x", "map_y", "name", "b", "kind"]
    np.testing.assert_array_equal(found["map_x"], run.transform(frame)["map_x"])
    assert done.novel is None
    assert done.right is None
    with pytest.raises(FileExistsError, match="is there already"):
        mf.stream.place(run, frame, path)


def test_any_estimator_places_arrays_in_frames(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    model = mf.PHATE(random_state=0, n_landmarks=None).fit(X.iloc[:120])
    rows: list[pd.DataFrame] = []
    mf.stream.place(model, X, rows.append, batch_rows=64)
    np.testing.assert_array_equal(pd.concat(rows)[["map_x", "map_y"]], model.transform(X))


def test_work_that_was_stopped_goes_on_and_nothing_is_done_twice(run, frame, folder, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(StoppedByCallbackError):
        mf.stream.place(run, folder, out, callback=lambda event: event.done > 500)
    assert sorted(path.name for path in out.iterdir()) == ["manifest.jsonl", "p0.parquet", "p1.parquet"]
    times = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    with (out / "manifest.jsonl").open("a") as manifest:
        manifest.write('{"file": "p2.par')  # killed while it wrote a line
    done = mf.stream.place(run, folder, out)
    assert done.skipped == 2
    assert {path: path.stat().st_mtime_ns for path in times} == times
    np.testing.assert_array_equal(placed(done.files)["map_x"], run.transform(frame)["map_x"])
    lines = [json.loads(line) for line in (out / "manifest.jsonl").read_text().splitlines()]
    assert [line.get("file") for line in lines[1:-1]] == [f"p{i}.parquet" for i in range(4)]
    assert lines[-1] == {"finished": True, "rows": 900}
    with pytest.raises(FileExistsError, match="is complete"):
        mf.stream.place(run, folder, out)


def test_what_is_not_this_work_is_refused_and_stays(run, frame, folder, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(StoppedByCallbackError):
        mf.stream.place(run, folder, out, callback=lambda event: event.done > 500)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    other = mf.map(frame.iloc[:200], target="kind", key="name", n_trees=5, guide="forest", parts=None)
    with pytest.raises(FileExistsError, match="another model began it"):
        mf.stream.place(other, folder, out)
    with pytest.raises(FileExistsError, match="its settings were others"):
        mf.stream.place(run, folder, out, copy="a")
    frame.iloc[:5].to_parquet(folder / "p9.parquet")
    with pytest.raises(FileExistsError, match="files of the table are not those"):
        mf.stream.place(run, folder, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is there already"):
        mf.stream.place(run, folder, tmp_path / "mine")


def test_no_space_left_is_said_with_the_file_and_what_is_done_stays(run, folder, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    write_table = pq.ParquetWriter.write_table

    def full(self, table, *rest):
        if "p2" in str(self.where):
            raise OSError(errno.ENOSPC, "Error writing bytes to file")
        return write_table(self, table, *rest)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(OSError, match=r"p2\.parquet cannot be written: no space left on device\. 2 of 4 files are"):
        mf.stream.place(run, folder, tmp_path / "out")
    monkeypatch.undo()
    assert mf.stream.place(run, folder, tmp_path / "out").skipped == 2


def test_a_file_that_breaks_half_way_is_named_and_what_is_done_stays(run, folder, tmp_path):
    path = folder / "p2.parquet"
    content = bytearray(path.read_bytes())
    content[10:400] = bytes(390)  # its footer is whole
    path.write_bytes(bytes(content))
    with pytest.raises(TableError, match=r"p2\.parquet cannot be read as a Parquet file"):
        mf.stream.place(run, folder, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["manifest.jsonl", "p0.parquet", "p1.parquet"]


def test_zeroed_bytes_are_found_where_pages_carry_a_checksum(run, frame, tmp_path):
    import pyarrow.parquet as pq

    folder = tmp_path / "big"
    folder.mkdir()
    for name, rows in (("p0", frame.iloc[:450]), ("p1", frame.iloc[450:])):
        mf.tables.write(rows, folder / f"{name}.parquet")  # with checksums, as all that is written here
    path = folder / "p1.parquet"
    content = bytearray(path.read_bytes())
    at = content.find(frame["a"].iloc[500].tobytes())
    content[at : at + 8] = bytes(8)
    path.write_bytes(bytes(content))
    assert (pq.read_table(path)["a"].to_numpy() == 0.0).sum() == 1  # the file is whole, and one number another
    with pytest.raises(TableError, match=r"p1\.parquet cannot be read as a Parquet file: .*checksum.* undamaged\?"):
        mf.stream.place(run, folder, tmp_path / "out")
    assert (tmp_path / "out" / "p0.parquet").is_file()
    with pytest.raises(TableError, match=r"p1\.parquet cannot be read as a Parquet file: .*checksum"):
        mf.stream.sample(folder, 100)
    with pytest.raises(TableError, match=r"p1\.parquet cannot be read as a Parquet file: .*checksum"):
        mf.map(path, target="kind")
    frame.iloc[450:].to_parquet(path)  # pandas writes none: such a file is read as it is
    assert mf.stream.place(run, path, tmp_path / "out.parquet").rows == 450


def test_a_value_that_does_not_fit_is_named_with_its_row_and_file(run, frame, tmp_path):
    (tmp_path / "text").mkdir()
    for i in range(2):
        part = frame.iloc[i * 100 : i * 100 + 100].astype({"b": object}).reset_index(drop=True)
        if i:
            part.loc[70, "b"] = "many"
        part.to_csv(tmp_path / "text" / f"p{i}.csv", index=False)
    with pytest.raises(
        TableError, match=r"p1\.csv: column 'b' should hold numbers, and row 70 \(counting from 0\) has 'many'"
    ):
        mf.stream.place(run, tmp_path / "text", tmp_path / "out", batch_rows=30)


def test_warnings_of_batches_come_once_with_the_files_that_they_are_about(run, frame, tmp_path):
    folder = write(frame.assign(c="new"), tmp_path / "big")
    done = mf.stream.place(run, folder, tmp_path / "out", batch_rows=50)
    assert len(done.notes) == 1
    assert done.notes[0].startswith("p0.parquet and 3 other files: 50 of 50 rows have values of 'c' that fit did not")
    assert done.notes[0].endswith("(The like of further rows.)")


def test_an_empty_file_becomes_an_empty_file(run, frame, folder, tmp_path):
    frame.iloc[:0].to_parquet(folder / "p1.parquet")
    done = mf.stream.place(run, folder, tmp_path / "out")
    assert done.rows == 675
    assert len(pd.read_parquet(done.files[1])) == 0
    assert list(pd.read_parquet(done.files[1]).columns)[:3] == ["row", "map_x", "map_y"]


def test_columns_with_gaps_in_some_batches_are_written(run, frame, tmp_path):
    flagged = frame.assign(flag=pd.array([None] * 300 + [True] * 600, dtype="boolean"),
                           count=pd.array([1] * 500 + [None] * 400, dtype="Int64"))  # fmt: skip
    flagged.to_parquet(tmp_path / "one.parquet")
    mf.stream.place(run, tmp_path / "one.parquet", tmp_path / "out.parquet", copy=["flag", "count"], batch_rows=100)
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert found["flag"].isna().sum() == 300
    assert found["count"].isna().sum() == 400


def test_a_sink_that_does_not_go_with_the_source_is_refused(run, frame, folder, tmp_path):
    with pytest.raises(ParameterError, match="a folder gets one file for each file"):
        mf.stream.place(run, frame, tmp_path / "out")
    with pytest.raises(ParameterError, match="has 4 files"):
        mf.stream.place(run, folder, tmp_path / "out.csv")
    (folder / "p0.csv").write_text("a\n")
    for path in folder.glob("*.parquet"):
        path.unlink()
    (folder / "p0.csv.gz").write_bytes(b"")
    with pytest.raises(TableError):
        mf.stream.place(run, folder, tmp_path / "out")


def test_a_sample_has_rare_classes_and_the_names_of_its_rows(frame, folder):
    rare = frame.assign(kind=np.where(np.arange(900) % 300 == 7, "rare", "usual"))
    drawn = mf.stream.sample(rare, 50, target="kind", floor=3)
    assert (drawn["kind"] == "rare").sum() == 3
    assert "307" in drawn.index
    named = mf.stream.sample(folder, 50)
    part, row = named.index[-1].split(":")
    whole = pd.read_parquet(folder / part)
    assert whole["name"].iloc[int(row)] == named["name"].iloc[-1]
    with pytest.raises(TableError, match="there is no column 'knd'"):
        mf.stream.sample(folder, 50, target="knd")
    with pytest.raises(ParameterError, match="n must be"):
        mf.stream.sample(folder, 0)
