"""Delimited text: separators, signs, encodings, and every way in which a file is no table."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from manifolia import memory_limit
from manifolia.tables import TableError, files, read, text
from manifolia.tables.decimals import reads_as_comma_numbers
from manifolia.tables.text import MISSING_TEXTS


@pytest.fixture
def put(tmp_path):
    def save(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separator_and_encoding_are_found(put, sep, encoding, end):
    rows = [["größe", "name", "n"], ["1.5", "a", "3"], ["2.25", "b é", "4"]]
    table = read(put((end.join(sep.join(row) for row in rows) + end).encode(encoding)))
    assert table.feature_names == ["größe", "name", "n"]
    assert table.features["größe"].tolist() == [1.5, 2.25]
    assert table.features["name"].tolist() == ["a", "b é"]
    assert table.features["n"].dtype.kind == "i"
    assert table.row_names.tolist() == ["0", "1"]
    assert table.notes == ()


def test_gzip_is_unpacked(put):
    table = read(put(gzip.compress(b"a,b\n1,2\n3,4\n"), "table.csv.gz"))
    assert table.features.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_a_packed_file_that_unpacks_to_very_much(put, monkeypatch):
    """A thousandth of its size, packed: refused before it is parsed, unless the user says that it is expected."""
    path = put(gzip.compress(b"a,b\n" + b"1,2\n" * 2**18), "table.csv.gz")
    assert path.stat().st_size < 2**12
    assert read(path).n_rows == 2**18
    monkeypatch.setattr(files, "_UNPACKED", 2**19)
    with pytest.raises(TableError, match=r"more than .* [KM]iB of text\..* set the environment variable MANIFOLIA_MEM"):
        read(path)
    monkeypatch.setattr(files, "_UNPACKED", 2**26)
    monkeypatch.setattr(files, "_UNPACKED_ROWS", 1000)
    with pytest.raises(TableError, match=r"more than 1,000 rows\. Unless you set a limit"):
        read(path)
    with memory_limit("1GiB"):
        assert read(path).n_rows == 2**18


def test_a_file_larger_than_memory(put):
    path = put("a,b\n" + "1,2\n" * 2**12)
    with memory_limit("4KiB"), pytest.raises(TableError, match=r"more than 4\.0 KiB of text"):
        read(path)
    with memory_limit("100KiB"), pytest.raises(TableError, match=r"more than 1,024 rows"):
        read(path)
    with memory_limit("100KiB"), pytest.raises(TableError, match=r"first line has 1,000 fields"):
        read(put(",".join(f"x{i}" for i in range(1000)) + "\n"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_no_line_of_a_table(put, packed, monkeypatch):
    monkeypatch.setattr(files, "_LONGEST", 2**21)
    content = b"a,b\n1,2\n3," + b"x" * 2**22 + b"\n"
    path = put(gzip.compress(content) if packed else content)
    with pytest.raises(TableError, match=r"has a line of more than 2\.0 MiB"):
        read(path)
    assert read(put("\r".join(["a,b"] + ["1,2"] * 2**20))).n_rows == 2**20  # lines may end in this


def test_wide_rows_are_sniffed_in_part(put, monkeypatch):
    monkeypatch.setattr(text, "_SNIFFED_LENGTH", 10)
    assert read(put("a;b;c\n" + "1,5;2;3\n" * 50)).feature_names == ["a", "b", "c"]


def test_a_packed_file_that_is_damaged(put):
    content = bytearray(gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(5000))))
    for place in (40, len(content) // 2, len(content) - 3):
        damaged = bytes(content[:place]) + bytes([content[place] ^ 255]) + bytes(content[place + 1 :])
        with pytest.raises(TableError, match=r"cannot be read|is not (UTF-8 )?text"):
            read(put(damaged, "table.csv.gz"))


def test_text_with_the_separator_in_quotes(put):
    table = read(put('name,n\n"Doe, Jane",1\n"says ""hi""",2\n"two\nlines",3\n'))
    assert table.column("name").tolist() == ["Doe, Jane", 'says "hi"', "two\nlines"]


def test_commas_in_texts_do_not_hide_the_semicolon(put):
    table = read(put("name;n\nDoe, Jane;1\nRoe, Max, Dr;2\n"))
    assert table.feature_names == ["name", "n"]


def test_decimal_commas_are_read_and_said(put):
    table = read(put(b"\xef\xbb\xbfx;y;kind\n1,5;3;a\n-0,25;4;b\n"))
    assert table.column("x").tolist() == [1.5, -0.25]
    assert table.column("y").tolist() == [3, 4]
    assert "comma was read as the decimal sign, for 'x'" in table.notes[0]
    given = read(put("x;y\n1,5;3\n"), decimal=",")
    assert given.column("x").tolist() == [1.5]
    assert given.notes == ()


def test_a_decimal_point_that_is_asked_for_leaves_texts(put):
    assert read(put("x;y\n1,5;3\n2,5;4\n"), decimal=".").column("x").tolist() == ["1,5", "2,5"]


def test_doubtful_commas_are_refused(put):
    path = put("x;y\n1,500;3\n2,250;4\n")
    doubt = r"such as '1,500' in column 'x', where the comma may separate thousands or decimals.*decimal='.*'x': 'drop'"
    with pytest.raises(TableError, match=doubt):
        read(path)
    with pytest.raises(TableError, match=r"decimal comma \(such as '1,5'\) in column 'x' and with a .* point in 'y'"):
        read(put("x;y\n1,5;3.5\n2,25;4\n"))
    path = put("x;y\n1,500;3\n700;\n12,345,678;4\n;4\n")
    assert read(path).column("x").dropna().tolist() == ["1,500", "700", "12,345,678"]  # no doubt: left to the preparer
    path = put("x;y\n1,500;3\n2,250;4\n")
    assert read(path, decimal=",").column("x").tolist() == [1.5, 2.25]


def test_a_decimal_point_that_is_asked_for_says_that_commas_separate_thousands(put):
    table = read(put("x;y;z\n1,500;3;1,5\n;4;2,5\n700;5;3,5\n"), decimal=".")
    np.testing.assert_array_equal(table.column("x"), [1500.0, np.nan, 700.0])
    assert table.column("z").tolist() == ["1,5", "2,5", "3,5"]
    assert table.notes == ("table.csv: the comma was read as separating thousands, for 'x'.",)


def test_a_file_that_is_no_table_is_doubted(put):
    content = "import os, sys\n\ndef run(a, b, c):\n    pass\n"
    with pytest.raises(TableError, match=r"line 4: 1 field .*Is run.py a table at all\?"):
        read(put(content, "run.py"))
    with pytest.raises(TableError, match=r"quotation marks\)\.$"):
        read(put(content, "run.csv"))


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["1,5", "2"], True),
        (["1.234,5"], True),
        (["-0,5e3", ",5"], True),
        (["1", "2"], False),
        (["1,5", "x"], False),
        (["a,b"], False),
        (["1,2,3"], False),
    ],
)
def test_comma_numbers(texts, answer):
    assert reads_as_comma_numbers(pd.Series(texts)) is answer


def test_a_first_column_without_a_name_names_the_rows(put):
    by_pandas = read(put(",a,b\nr1,1,2\nr2,3,4\n"))
    by_r = read(put('"a","b"\n"r1",1,2\n"r2",3,4\n'))
    for table in (by_pandas, by_r):
        assert table.feature_names == ["a", "b"]
        assert table.row_names.tolist() == ["r1", "r2"]
        assert table.features.to_numpy().tolist() == [[1, 2], [3, 4]]
        assert "names the rows" in table.notes[0]
    with pytest.raises(TableError, match="one field more in its rows than in its header"):
        read(put("a,b\n1,2,3\n1,5,6\n"))


@pytest.mark.parametrize("header", ["a;b;", "a;b"])
def test_a_separator_at_the_end_of_each_row(put, header):
    table = read(put(f"{header}\n1;2;\n3;4;\n"))
    assert table.feature_names == ["a", "b"]
    assert table.features.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert "1 empty column" in table.notes[0]


def test_a_column_without_a_name_gets_its_place(put):
    assert read(put("a,,c\n1,2,3\n")).feature_names == ["a", "column 2", "c"]


def test_numbers_come_back_to_the_bit(put, rng):
    values = rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, size=200)
    path = put("x,y\n" + "".join(f"{value!r},1\n" for value in values.tolist()))
    assert read(path).column("x").to_numpy().tobytes() == values.tobytes()


def test_missing_marks(put):
    path = put("x,y\n1,?\n,b\nNA,c\n4,-\n")
    assert read(path).column("x").isna().tolist() == [False, True, True, False]
    assert read(path, na_values=["?", "-"]).column("y").isna().tolist() == [True, False, False, True]
    assert read(path, na_values="?").column("y").isna().tolist() == [True, False, False, False]


def test_the_missing_texts_are_those_of_pandas_but_for_none(put):
    content = "x,y\n" + "".join(f"{text},1\n" for text in (*MISSING_TEXTS, "None", "none", "-", "?"))
    by_pandas = pd.read_csv(io.StringIO(content))["x"].isna().tolist()
    assert by_pandas == [True] * (len(MISSING_TEXTS) + 1) + [False] * 3
    assert read(put(content)).column("x").isna().tolist() == [True] * len(MISSING_TEXTS) + [False] * 4


def test_the_text_none_is_a_value(put):
    table = read(put("veneer,n\nNone,1\nBrick,2\n,3\nNone,4\n"))
    assert table.column("veneer").fillna("gap").tolist() == ["None", "Brick", "gap", "None"]
    assert table.notes == ()
    assert read(put("veneer,n\nNone,1\nBrick,2\n"), na_values="None").column("veneer").isna().tolist() == [True, False]
    assert read(put("veneer,n\nNone,1\nNone,2\n")).column("veneer").tolist() == ["None", "None"]


@pytest.mark.parametrize("sign", [".", ","])
def test_the_text_none_among_numbers_is_missing_and_said(put, sign):
    table = read(put(f"x;kind\n1{sign}5;None\nNone;a\n-2{sign}25;b\n"))
    np.testing.assert_array_equal(table.column("x"), [1.5, np.nan, -2.25])
    assert table.column("kind").tolist() == ["None", "a", "b"]
    assert "'None' was read as missing where all other values are numbers, in 'x'." in table.notes[0]


def test_texts_read_as_missing_are_told_for_columns_of_texts(put):
    table = read(put("alley,x,kind\nNA,NA,a\nPave,1,NULL\nNA,2,\n,3,b\n"))
    assert table.column("alley").isna().tolist() == [True, False, True, True]
    assert table.notes == ("table.csv: texts read as missing: 'alley' ('NA' in 2 rows) and 'kind' ('NULL' in 1 row).",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty. A table needs a header line"),
        ("\n \n\n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        ("a,b,c\n", "has a header and no rows"),
        ("a,b\n1,2\n\n1,2,3\n", r"line 4: 3 fields where 2 are expected.*a comma"),
        ("a;b;c\n1;2;3\n1;2\n", r"line 3: 2 fields where 3 are expected.*a semicolon"),
        (bytes(range(256)), "is not text .byte 0 at position 0"),
        (b"abc\x01\x02\x03\x04def", "is not text .byte 1 at position 3"),
        (b"a,b\n1,\x81\n", r"neither UTF-8 nor Windows-1252\. Pass encoding=NAME, or save it as UTF-8"),
        (b"PAR1xxxx", "a Parquet file: give its name the suffix .parquet"),
        (b"PK\x03\x04xxxx", "an archive: give its name the suffix that it should have"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
        ('a,b\n"' + "x" * 200_000, r"line \d+: field larger.*never closed"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(put, content, message):
    with pytest.raises(TableError, match=message) as caught:
        read(put(content))
    assert str(caught.value).endswith((".", "?"))


def test_the_wrong_separator_is_noticed(put):
    with pytest.raises(TableError, match=r"single column named 'a;b;c'.*pass sep=';'"):
        read(put("a;b;c\n1;2;3\n"), sep=",")
    assert read(put("a b\n1 2\n"), sep=" ").feature_names == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "sep must be a single character"),
        ({"decimal": ";"}, "decimal must be"),
        ({"sep": ",", "decimal": ","}, "They must differ"),
        ({"layer": "counts"}, "layer and obsm are for AnnData"),
    ],
)
def test_options_are_checked(put, options, message):
    with pytest.raises(TableError, match=message):
        read(put("a,b\n1,2\n"), **options)


def test_text_and_parquet_give_the_same_numbers(tmp_path, rng):
    frame = pd.DataFrame({"x": rng.normal(size=50), "n": rng.integers(0, 9, 50), "kind": rng.choice(["a", "b"], 50)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    text, columnar = (read(tmp_path / name).features for name in ("t.csv", "t.parquet"))
    pd.testing.assert_frame_equal(text, columnar, check_exact=True)
    assert np.array_equal(text["x"], frame["x"])
