"""Tables some rows at a time: the same cells for any source, size of batches and format; and files that do not fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manifolia.exceptions import TableError
from manifolia.tables.stream import open_stream

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def frame(rng):
    n = 600
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "kind": rng.choice(["red", "dark blue", "a,b"], n),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )


def folder_of(frame, folder, write, suffix, n_files=3):
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), n_files)):
        write(frame.iloc[rows].reset_index(drop=True), folder / f"part-{i}{suffix}")
    return folder


WRITERS = {
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
}


def all_rows(stream, batch_rows=None):
    batches = [batch for part in stream.parts for batch in stream.batches(part, batch_rows)]
    for batch in batches:
        assert batch_rows is None or len(batch.frame) <= batch_rows
    return pd.concat([batch.frame for batch in batches], ignore_index=True)


@pytest.mark.parametrize("suffix", WRITERS)
@pytest.mark.parametrize("batch_rows", [None, 1, 70])
def test_a_folder_gives_its_rows_in_the_order_of_names_whatever_the_batch(frame, tmp_path, suffix, batch_rows):
    folder = folder_of(frame, tmp_path / "big", WRITERS[suffix], suffix)
    pd.testing.assert_frame_equal(all_rows(open_stream(folder), batch_rows), frame)


def test_other_sources_give_the_same_rows(frame, tmp_path):
    polars = pytest.importorskip("polars")
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as file:
        table = pa.Table.from_pandas(frame)
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    frame.to_parquet(tmp_path / "one.parquet")
    pieces = (frame.iloc[i : i + 250] for i in range(0, 600, 250))
    for source in (
        frame, table, polars.from_pandas(frame), tmp_path / "one.parquet", tmp_path / "stream.arrow", pieces,
        table.to_reader(64), [frame.iloc[:100], polars.from_pandas(frame.iloc[100:])],
    ):  # fmt: skip
        pd.testing.assert_frame_equal(all_rows(open_stream(source), 97), frame, check_dtype=False)


def test_numbers_of_rows_count_through_a_part(frame, tmp_path):
    folder = folder_of(frame, tmp_path / "big", WRITERS[".parquet"], ".parquet")
    stream = open_stream(folder)
    assert stream.n_rows == 600
    assert [batch.start for batch in stream.batches(stream.parts[1], 90)] == [0, 90, 180]


def test_folders_named_column_equals_value_are_columns(frame, tmp_path):
    for year, place in ((2023, "north"), (2024, "a%20b")):
        folder = tmp_path / "big" / f"year={year}" / f"place={place}"
        folder.mkdir(parents=True)
        frame.to_parquet(folder / "x.parquet")
    found = all_rows(open_stream(tmp_path / "big"))
    assert found["year"].tolist() == [2023] * 600 + [2024] * 600
    assert found["place"].unique().tolist() == ["north", "a b"]


def test_what_is_hidden_or_no_table_is_not_read(frame, tmp_path):
    folder = folder_of(frame, tmp_path / "big", WRITERS[".parquet"], ".parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.parquet.crc").write_text("x")
    (folder / "about.txt").write_text("about")
    stream = open_stream(folder)
    assert [part.name for part in stream.parts] == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    assert stream.notes == ("Not read, because they are no tables: 'about.txt'.",)


def test_text_is_cut_into_pieces_at_ends_of_rows(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("manifolia.tables.stream._TEXT", 300)
    frame["kind"] = frame["kind"] + "\nsecond line"  # between quotation marks
    frame.to_csv(tmp_path / "x.csv", index=False)
    pd.testing.assert_frame_equal(all_rows(open_stream(tmp_path / "x.csv")), frame)


def test_a_decimal_comma_holds_for_all_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("manifolia.tables.stream._TEXT", 200)
    rows = pd.DataFrame({"a": np.arange(200) / 4, "b": np.arange(200)})
    rows.to_csv(tmp_path / "x.csv", index=False, sep=";", decimal=",")
    np.testing.assert_array_equal(all_rows(open_stream(tmp_path / "x.csv")), rows)


def test_a_ragged_line_is_named_by_its_number_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("manifolia.tables.stream._TEXT", 200)
    lines = ["a,b", *(f"{i},{i}" for i in range(500))]
    lines[400] = "1,2,3"
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(TableError, match=r"x\.csv, line 401: 3 fields where 2 are expected"):
        all_rows(open_stream(tmp_path / "x.csv"))


def test_text_without_names_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("".join(f"{9 - i}.25,{i % 3}.5\n" for i in range(20)))
    with pytest.raises(TableError, match="values in its first line, not names"):
        all_rows(open_stream(tmp_path / "x.csv"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f, p: f.drop(columns="gap").to_parquet(p), r"part-1\.parquet has other columns .*it lacks 'gap'"),
        (lambda f, p: f.assign(more=1).to_parquet(p), r"part-1\.parquet has other columns .*it has 'more' besides"),
        (lambda f, p: p.write_bytes(p.read_bytes()[:900]), r"part-1\.parquet cannot be read as a Parquet file: .*comp"),
        (
            lambda f, p: f.astype({"count": str}).to_parquet(p),
            r"column 'count' holds numbers in part-0\.parquet and texts in .*part-1\.parquet",
        ),
    ],
    ids=["absent", "more", "truncated", "type"],
)
def test_a_file_that_does_not_belong_is_named_before_anything_is_read(frame, tmp_path, damage, message):
    folder = folder_of(frame, tmp_path / "big", WRITERS[".parquet"], ".parquet")
    damage(frame, folder / "part-1.parquet")
    with pytest.raises(TableError, match=message):
        open_stream(folder)


def test_columns_may_stand_in_another_order(frame, tmp_path):
    folder = folder_of(frame, tmp_path / "big", WRITERS[".parquet"], ".parquet")
    path = folder / "part-2.parquet"
    pd.read_parquet(path)[["gap", "kind", "size", "count"]].to_parquet(path)
    pd.testing.assert_frame_equal(all_rows(open_stream(folder)), frame)


def test_sources_that_cannot_be_are_told_apart(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="empty is an empty folder"):
        open_stream(tmp_path / "empty")
    (tmp_path / "empty" / "a.csv").write_text("a\n1\n")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "empty" / "b.parquet")
    with pytest.raises(TableError, match=r"files of several kinds, such as 'b\.parquet' and 'a\.csv'"):
        open_stream(tmp_path / "empty")
    with pytest.raises(TableError, match="no file or folder"):
        open_stream(tmp_path / "nothing")
    with pytest.raises(TableError, match="int is no source of rows"):
        open_stream(3)
    polars = pytest.importorskip("polars")
    with pytest.raises(TableError, match=r"Pass source\.collect"):
        open_stream(polars.DataFrame({"a": [1]}).lazy())
    with pytest.raises(TableError, match="sep does not go with Parquet files"):
        open_stream(tmp_path / "empty" / "b.parquet", sep=";")
