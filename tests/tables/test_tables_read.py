"""Readers of files and of objects in memory, and what a Table knows."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest
import scipy.sparse as sp

from manifolia.tables import Table, TableError, read

pl = pytest.importorskip("polars", reason="polars is not installed")


@pytest.fixture
def frame():
    return pd.DataFrame({"x": [1.5, np.nan, 3.0], "kind": ["a", None, "b"], "n": [1, 2, 3]})


def test_a_frame_is_taken_as_it_is(frame):
    table = read(frame)
    assert table.features is frame
    assert table.feature_names == ["x", "kind", "n"]
    assert table.row_names.tolist() == ["0", "1", "2"]
    assert table.meta.shape == (3, 0)
    assert (table.n_rows, len(table), table.is_matrix) == (3, 3, False)
    assert read(table) is table
    assert repr(table) == "Table(the table: 3 rows × 3 columns, DataFrame)"


def test_an_index_names_the_rows(frame):
    assert read(frame.set_axis(["p", "q", "r"])).row_names.tolist() == ["p", "q", "r"]
    assert read(frame[::-1]).row_names.tolist() == ["2", "1", "0"]  # as the user finds them again: frame.loc[2]
    several = frame.set_index(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]))
    assert read(several).row_names.tolist() == ["a / 1", "a / 2", "b / 1"]


def test_names_of_columns_become_texts(frame):
    assert read(frame.set_axis([0, 1, 2], axis=1)).feature_names == ["0", "1", "2"]
    assert read(frame.set_axis(pd.MultiIndex.from_product([["u"], [1, 2, 3]]), axis=1)).feature_names[0] == "u / 1"
    with pytest.raises(TableError, match="several columns named 'a'"):
        read(frame.set_axis(["a", "b", "a"], axis=1))
    with pytest.raises(TableError, match="several columns named '1'"):
        read(frame.set_axis([1, "1", "a"], axis=1))


def test_arrow_and_polars_tables(frame):
    arrow = pa.Table.from_pandas(frame)
    polars = pl.from_pandas(frame)
    for source in (arrow, arrow.to_batches()[0], polars):
        table = read(source)
        assert table.feature_names == ["x", "kind", "n"]
        assert table.column("x").tolist()[::2] == [1.5, 3.0]
        assert table.column("kind").isna().tolist() == [False, True, False]
    with pytest.raises(TableError, match=r"Pass source.collect\(\)"):
        read(polars.lazy())
    with pytest.raises(TableError, match="several columns named 'a'"):
        read(pa.table([[1], [2]], names=["a", "a"]))


def test_polars_types_arrive():
    source = pl.DataFrame(
        {
            "day": [datetime.date(2024, 1, 1), None],
            "moment": [datetime.datetime(2024, 1, 1, 12), None],
            "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
            "flag": [True, None],
            "count": [1, None],
        }
    )
    kinds = read(source).features.dtypes
    assert kinds["day"].kind == "M"
    assert kinds["moment"].kind == "M"
    assert isinstance(kinds["kind"], pd.CategoricalDtype)


def test_matrices(rng):
    values = rng.normal(size=(4, 3)).astype(np.float32)
    table = read(values)
    assert table.features is values
    assert table.feature_names == ["x0", "x1", "x2"]
    assert table.is_matrix
    assert table.column("x1").tolist() == values[:, 1].tolist()
    sparse = read(sp.coo_matrix(values))
    assert isinstance(sparse.features, sp.csr_array)
    assert sparse.column("x2").tolist() == values[:, 2].tolist()
    assert read(values.tolist()).features.shape == (4, 3)


def test_arrays_of_objects_become_frames():
    table = read(np.array([[1, "a"], [2, "b"]], dtype=object))
    assert table.features.dtypes.iloc[0].kind == "i"
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", int), ("x", float)])
    assert read(records).feature_names == ["n", "x"]


@pytest.mark.parametrize("source", [np.zeros(3), np.zeros((2, 2, 2)), 7, object()])
def test_what_is_no_table(source):
    with pytest.raises(TableError, match="path, a table or a two-dimensional array"):
        read(source)


@pytest.mark.parametrize(
    "source", [pd.DataFrame({"a": []}), pd.DataFrame(index=[1]), np.zeros((0, 3)), np.zeros((3, 0))]
)
def test_empty_tables(source):
    with pytest.raises(TableError, match=r"has no (rows|columns)"):
        read(source)


def test_options_of_files_are_refused_in_memory(frame):
    with pytest.raises(TableError, match="sep, decimal, sheet and encoding are for files"):
        read(frame, sep=",")
    with pytest.raises(TableError, match="layer and obsm are for AnnData"):
        read(frame, obsm="X_pca")


def test_missing_marks_in_memory(frame):
    table = read(frame, na_values=["a"])
    assert table.column("kind").isna().tolist() == [True, True, False]
    assert frame["kind"].tolist()[0] == "a"  # the user's frame is left alone


@pytest.mark.parametrize(
    ("asked", "there", "near"),
    [
        ("nofile.csv", ["wide.csv"], None),
        ("a.csv", ["b.csv"], None),
        ("titanc.csv", ["titanic.csv", "wide.csv"], "titanic.csv"),
        ("iris", ["iris.csv"], "iris.csv"),
        ("Iris.csv", ["iris.parquet", "iris.csv"], "iris.csv"),
    ],
)
def test_a_file_is_suggested_only_if_its_name_is_like_it(tmp_path, asked, there, near):
    for name in there:
        (tmp_path / name).write_text("a\n1\n")
    with pytest.raises(TableError, match="there is no file") as caught:
        read(tmp_path / asked)
    assert str(caught.value).endswith(f"Did you mean {near!r}?" if near else f"{asked}.")


def test_paths(tmp_path):
    (tmp_path / "measurements.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(TableError, match=r"there is no file .*measurement.csv. Did you mean 'measurements.csv'\?"):
        read(tmp_path / "measurement.csv")
    with pytest.raises(TableError, match=r"folder .*nowhere does not exist"):
        read(tmp_path / "nowhere" / "a.csv")
    assert read(str(tmp_path / "measurements.csv")).n_rows == 1


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".npz", ".npy", ".h5ad"])
@pytest.mark.parametrize("content", [b"", b"no such format", b"PAR1 cut short"])
def test_damaged_files(tmp_path, suffix, content):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"is empty|cannot be read"):
        read(path)
    with pytest.raises(TableError, match="sep is for text files"):
        read(path, sep=";")


def test_columnar_files(tmp_path, frame):
    named = frame.set_axis(["p", "q", "r"])
    named.to_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet")
    assert table.row_names.tolist() == ["p", "q", "r"]
    assert table.feature_names == ["x", "kind", "n"]
    arrow = pa.Table.from_pandas(frame)
    feather.write_feather(arrow, str(tmp_path / "a.feather"))
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_stream(sink, arrow.schema) as writer:
        writer.write_table(arrow)
    for name in ("a.feather", "a.arrow"):  # the file format and the stream format
        assert read(tmp_path / name).column("n").tolist() == [1, 2, 3]
    table = read(tmp_path / "a.parquet", na_values=["a"])
    assert table.column("kind").isna().sum() == 2


def test_ordered_categories_survive_parquet(tmp_path):
    sizes = pd.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True)
    pd.DataFrame({"size": sizes}).to_parquet(tmp_path / "a.parquet")
    dtype = read(tmp_path / "a.parquet").features["size"].dtype
    assert dtype.ordered
    assert list(dtype.categories) == ["s", "m", "l"]


def test_npz_with_a_matrix(tmp_path, rng):
    X = rng.normal(size=(5, 2))
    np.savez(tmp_path / "a.npz", X=X, y=np.array(list("aabbc")), feature_names=["p", "q"], two=X, odd=np.zeros(3))
    table = read(tmp_path / "a.npz")
    assert table.feature_names == ["p", "q"]
    assert table.column("y").tolist() == list("aabbc")
    assert list(table.meta.columns) == ["y", "two_0", "two_1"]
    assert "'odd'" in table.notes[0]
    assert np.array_equal(table.features, X)


def test_npz_of_other_kinds(tmp_path, rng):
    sparse = sp.random(6, 4, density=0.5, format="csc", random_state=0)
    sp.save_npz(tmp_path / "s.npz", sparse)
    assert np.array_equal(read(tmp_path / "s.npz").features.toarray(), sparse.toarray())
    np.savez(tmp_path / "c.npz", a=np.arange(3), b=np.array(["x", "", "z"]))
    table = read(tmp_path / "c.npz")
    assert table.column("b").isna().tolist() == [False, True, False]
    np.savez(tmp_path / "i.npz", X=rng.normal(size=(3, 4, 4)), row_names=["p", "q", "r"])
    table = read(tmp_path / "i.npz")
    assert table.features.shape == (3, 16)
    assert table.row_names.tolist() == ["p", "q", "r"]
    assert "flattened" in table.notes[0]
    np.savez(tmp_path / "bad.npz", p=np.zeros((2, 2)), q=np.zeros((3, 3)))
    with pytest.raises(TableError, match=r"p \(2, 2\), q \(3, 3\).*Name the matrix X"):
        read(tmp_path / "bad.npz")


def test_npy(tmp_path, rng):
    X = rng.normal(size=(4, 3))
    np.save(tmp_path / "a.npy", X)
    assert np.array_equal(read(tmp_path / "a.npy").features, X)
    np.save(tmp_path / "r.npy", np.array([(1, "a"), (2, "b")], dtype=[("n", int), ("t", "U1")]))
    assert read(tmp_path / "r.npy").column("t").tolist() == ["a", "b"]
    np.save(tmp_path / "o.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(TableError, match="only pickle could load"):
        read(tmp_path / "o.npy")
    np.save(tmp_path / "one.npy", np.float64(3))
    with pytest.raises(TableError, match="single value"):
        read(tmp_path / "one.npy")


def test_columns_of_a_table(frame):
    table = Table(frame[["x", "n"]], ["x", "n"], frame[["kind"]], np.array(["p", "q", "r"], dtype=object), "here")
    assert table.names == ["kind", "x", "n"]
    assert table.column("kind").tolist()[0] == "a"
    with pytest.raises(TableError, match=r"no column 'Kind'. Did you mean 'kind'\?"):
        table.column("Kind")
    with pytest.raises(TableError, match=r"no column 'zzzz'. There are 'kind', 'x' and 'n'"):
        table.column("zzzz")
    assert table.without("kind").names == ["x", "n"]
    assert table.without(["x", "kind"]).names == ["n"]
    assert table.names == ["kind", "x", "n"]
    with pytest.raises(TableError, match="no column 'y'"):
        table.without(["y"])
    with pytest.raises(TableError, match="no column left without 'x' and 'n'"):
        table.without(["x", "n"])


def test_rows_of_a_table(frame, rng):
    table = read(frame)
    for rows in ([2, 0], np.array([2, 0])):
        part = table.take(rows)
        assert part.row_names.tolist() == ["2", "0"]
        assert part.column("n").tolist() == [3, 1]
    assert table.take([True, False, True]).column("n").tolist() == [1, 3]
    values = rng.normal(size=(4, 3))
    for source in (values, sp.csr_array(values)):
        part = read(source).without("x0").take([3, 1])
        found = part.features.toarray() if sp.issparse(part.features) else part.features
        assert np.array_equal(found, values[[3, 1], 1:])
