"""Files as people have them: each is read, with a note where something was decided, or refused in one sentence."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from front_door.old_files import write_ods, write_xls
from manifolia.tables import TableError, read, records
from manifolia.tables.files import TableFile, find_encoding
from manifolia.tables.text import read_text

FRAME = pd.DataFrame(
    {
        "n": [1, 2, 3],
        "width": [1.5, -2.25, None],
        "kind": ["a", "b, c", "größer"],
        "code": ["01", "02", "10"],
        "when": pd.to_datetime(["2020-01-31", "2020-02-01", "2021-12-24"]),
        "on": [True, False, True],
    }
)


@pytest.fixture
def put(tmp_path):
    def save(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


def packed(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


def check_frame(table):
    """The table is what pandas wrote; dates may be texts in ISO form, which the preparer reads."""
    assert table.feature_names == list(FRAME.columns)
    assert table.column("n").tolist() == [1, 2, 3]
    assert table.column("n").dtype.kind == "i"
    np.testing.assert_array_equal(table.column("width"), FRAME["width"])
    assert table.column("kind").tolist() == FRAME["kind"].tolist()
    assert table.column("code").tolist() == FRAME["code"].tolist()
    assert [str(value)[:10] for value in table.column("when")] == ["2020-01-31", "2020-02-01", "2021-12-24"]
    assert table.column("on").tolist() == [True, False, True]


# --- what other tools write -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".xlsx", ".ods", ".xls"])
def test_spreadsheets(tmp_path, suffix):
    pytest.importorskip("python_calamine")
    path = tmp_path / f"book{suffix}"
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        FRAME.to_excel(path, index=False)
    else:
        {".ods": write_ods, ".xls": write_xls}[suffix](FRAME, path)
    table = read(path)
    check_frame(table)
    assert "book" + suffix in table.source


@pytest.fixture
def book(tmp_path):
    """A spreadsheet of two sheets, the first of them under a title."""
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in (["Prices of 2020"], ["item", "price"], ["a", "1.234,50"], ["b", "12,25"]):
        book.active.append(row)
    more = book.create_sheet("Sizes")
    for row in (["item", "size"], ["a", 1.5], ["b", None]):
        more.append(row)
    book.create_sheet("Nothing")
    path = tmp_path / "book.xlsx"
    book.save(path)
    return path


def test_a_sheet_is_chosen_by_name_or_number(book):
    first = read(book)
    assert first.column("price").tolist() == [1234.5, 12.25]
    told = "the sheet 'Prices' was read; the file also has 'Sizes' and 'Nothing'. Pass sheet=NAME for another one."
    assert first.notes[0] == f"book.xlsx: {told}"
    assert first.notes[1] == "book.xlsx: the first line was taken for a title, and left out."
    for sheet in ("Sizes", 2, "2"):
        assert read(book, sheet=sheet).feature_names == ["item", "size"]
    with pytest.raises(TableError, match=r"there is no sheet 'sizes'\. Did you mean 'Sizes'\?") as caught:
        read(book, sheet="sizes")
    assert caught.value.parameter == "sheet"
    with pytest.raises(TableError, match="a sheet 'Nothing' without any cell"):
        read(book, sheet="Nothing")


def test_a_spreadsheet_that_is_damaged(put):
    pytest.importorskip("python_calamine")
    with pytest.raises(TableError, match=r"book.xlsx cannot be read as a spreadsheet: .*\.$"):
        read(put(b"PK\x03\x04 and no more", "book.xlsx"))


def test_spreadsheets_need_an_extra(put, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"Reading \.xlsx files needs .*pip install python-calamine"):
        read(put(b"PK", "book.xlsx"))


@pytest.mark.parametrize("orient", ["records", "split", "columns", "index", "lines"])
def test_json_of_pandas(tmp_path, orient):
    path = tmp_path / "table.json"
    lines = orient == "lines"
    FRAME.to_json(path, orient="records" if lines else orient, lines=lines, date_format="iso")
    check_frame(read(path))


def test_json_of_polars(tmp_path):
    frame = pl.DataFrame({name: FRAME[name].tolist() for name in ("n", "kind", "code", "on")})
    frame.write_json(tmp_path / "table.json")
    frame.write_ndjson(tmp_path / "table.ndjson")
    for name in ("table.json", "table.ndjson"):
        table = read(tmp_path / name)
        assert table.column("kind").tolist() == FRAME["kind"].tolist()
        assert table.column("code").tolist() == ["01", "02", "10"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"a": [1, 2], "b": ["x", "y"]}', {"a": [1, 2], "b": ["x", "y"]}),
        ('{"count": 2, "results": [{"a": 1}, {"a": 2}]}', {"a": [1, 2]}),
        ('[{"size": {"w": 1, "h": 2}}, {"size": {"w": 3, "h": 4}}]', {"size.w": [1, 3], "size.h": [2, 4]}),
        ('[{"a": "1,5"}, {"a": "2,5"}]', {"a": [1.5, 2.5]}),
        ('{"a": 1, "b": "x"}\n{"b": "y", "a": 2}\n', {"a": [1, 2], "b": ["x", "y"]}),
    ],
)
def test_shapes_of_json(put, content, expected):
    table = read(put(content, "table.json"))
    assert {name: table.column(name).tolist() for name in table.feature_names} == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{oops", r"cannot be read as JSON: .*A table in JSON is a list of objects"),
        ("[1, 2]", "holds JSON that is no table"),
        ("[]", "holds no records with names"),
        ("[" * 100_000, "too deep|cannot be read as JSON"),
        ("", "is empty"),
    ],
)
def test_json_that_is_no_table(put, content, message):
    with pytest.raises(TableError, match=message):
        read(put(content, "table.json"))


def test_zip(put):
    content = FRAME.to_csv(index=False)
    check_frame(read(put(packed({"__MACOSX/x.csv": "", "data/table.csv": content, "data/.DS_Store": ""}), "table.zip")))
    assert read(put(packed({"a.json": '[{"a": 1}]'}), "a.zip")).column("a").tolist() == [1]
    assert read(put(packed({"a.csv": gzip.compress(b"a,b\n1,2\n")}), "a.zip")).n_rows == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed({"a.csv": "a", "b.csv": "b"}), r"holds several files: 'a.csv' and 'b.csv'\. Unpack it, and pass one"),
        (packed({}), r"holds no file\."),
        (b"PK\x03\x04 cut short", "cannot be read as a zip archive"),
        (packed({"a.parquet": b"PAR1"}), "is packed, and only text files are read so"),
    ],
)
def test_zip_that_holds_no_table(put, content, message):
    with pytest.raises(TableError, match=message):
        read(put(content, "a.zip"))


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,x\n2,y\n", b'[{"a": 1, "b": "x"}]', gzip.compress(b"a,b\n1,x\n")],
    ids=["text", "JSON", "packed"],  # what is packed holds the time
)
def test_standard_input(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    table = read("-")
    assert table.feature_names == ["a", "b"]
    assert table.source == "standard input"


def test_standard_input_that_is_empty(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match="standard input is empty"):
        read("-")


@pytest.mark.parametrize("address", ["https://example.org/a.csv", "s3://bucket/a.parquet", "https:/example.org/a.csv"])
def test_addresses_are_refused(address):
    with pytest.raises(TableError, match=r"is a web address, and nothing is downloaded here\. Download the file"):
        read(address)


# --- encodings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "text", "told"),
    [
        ("latin-1", "name,x\nJosé,1\nZoë,2\n", "read as Latin-1"),
        ("cp1252", "name,x\n“José”,1\n5 €,2\n", "read as Windows-1252"),
        ("utf-8", "name,x\nJosé,1\n日本,2\n", None),
    ],
)
def test_encodings_are_found(put, encoding, text, told):
    table = read(put(text.encode(encoding)))
    assert table.column("name").tolist() == [line.split(",")[0] for line in text.splitlines()[1:]]
    notes = [f"table.csv: {told}, because it is not UTF-8. If letters look wrong, pass encoding=NAME."] if told else []
    assert list(table.notes) == notes


def test_an_encoding_that_is_given(put):
    path = put("имя,x\nЮлия,1\n".encode("cp1251"))
    assert read(path, encoding="cp1251").column("имя").tolist() == ["Юлия"]
    with pytest.raises(TableError, match=r"encoding must be the name of one, such as 'utf-8'.*got 'latin-99'"):
        read(path, encoding="latin-99")
    with pytest.raises(TableError, match=r"is not UTF-8 text \(byte 0xe8\)\. Pass encoding=NAME"):
        read(path, encoding="utf-8")


def test_utf8_with_a_broken_letter_is_not_taken_for_latin(put):
    content = "name\n" + "é\n" * 50
    with pytest.raises(TableError, match="1 of its letters are not UTF-8"):
        read(put(content.encode() + b"\xe9\n"))


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1))
def test_any_utf8_text_is_taken_as_such(text):
    if text.strip():
        assert find_encoding(TableFile("x", content=("header\n" + text).encode()))[0] in ("utf-8", "utf-8-sig")


# --- files as they come -----------------------------------------------------------------------------------------------

#: The whole of a file, and what its columns hold.
TAKEN = [
    ("UTF-16", "a,b\n1,x\n2,y\n".encode("utf-16"), {"a": [1, 2], "b": ["x", "y"]}),
    ("a byte order mark", "\ufeffa,b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    ("lines of an old Mac", "a,b\r1,2\r3,4\r", {"a": [1, 3], "b": [2, 4]}),
    ("lines of Windows", "a,b\r\n1,2\r\n3,4\r\n", {"a": [1, 3], "b": [2, 4]}),
    ("empty lines", "a,b\n\n1,2\n\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    ("semicolons and decimal commas", "a;b\n1,5;2\n2,5;3\n", {"a": [1.5, 2.5], "b": [2, 3]}),
    ("bars", "a|b\n1|2\n3|4\n", {"a": [1, 3], "b": [2, 4]}),
    ("a separator at the end", "a,b,\n1,2,\n3,4,\n", {"a": [1, 3], "b": [2, 4]}),
    ("blanks around names", " a , b \n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
    ("numbers in quotation marks", 'a,b\n"1","2"\n"3","4"\n', {"a": [1, 3], "b": [2, 4]}),
    ("a line break in a name", '"a\nb",c\n1,2\n3,4\n', {"a\nb": [1, 3], "c": [2, 4]}),
    ("columns without names", "a,,\n1,2,3\n3,4,5\n", {"a": [1, 3], "column 2": [2, 4], "column 3": [3, 5]}),
    ("names that differ by case", "a,A\n1,2\n3,4\n", {"a": [1, 3], "A": [2, 4]}),
    ("packed under another name", gzip.compress(b"a,b\n1,2\n3,4\n"), {"a": [1, 3], "b": [2, 4]}),
    ("true and false", "a,b\nTRUE,1\nFALSE,2\n", {"a": [True, False], "b": [1, 2]}),
    ("numbers as powers of ten", "a,b\n1e3,1\n2E3,2\n", {"a": [1000.0, 2000.0], "b": [1, 2]}),
    ("a single column", "a\n1\n2\n", {"a": [1, 2]}),
]
#: The whole of a file that is none, and what is said of it.
NOT_READ = [
    ("nothing", "", "is empty"),
    ("blanks alone", "\n\n \n", "is empty"),
    ("a header alone", "a,b\n", r"has a header and no rows\. A table needs at least one row\.$"),
    ("JSON under another name", '[{"a": 1, "b": 2}]', r"It looks like JSON: give its name the suffix \.json"),
    ("a page", "<html><table><tr><td>1</td></tr></table></html>", "It looks like HTML or XML, which is not read"),
    ("a PDF file", b"%PDF-1.4 ...", "is not text but a PDF file"),
    ("a Parquet file", b"PAR1aaaa", r"is not text but a Parquet file: give its name the suffix \.parquet"),
    ("a spreadsheet under another name", b"PK\x03\x04aaaa", "is not text but an archive"),
    ("bytes", bytes(range(256)), r"is not text \(byte 0 at position 0\)"),
    ("a line that is short", "a,b,c\n1,2,3\n4,5\n", "line 3: 2 fields where 3 are expected"),
    ("a line that is long", "a,b,c\n1,2,3\n4,5,6,7\n", "line 3: 4 fields where 3 are expected"),
    ("a quotation mark that stays open", 'a,b\n"1,2\n3,4\n', "line 3: 1 field where 2 are expected"),
]


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case[0])
def test_a_file_as_it_comes_is_read(put, case):
    _, content, expected = case
    table = read(put(content))
    assert {name: table.column(name).tolist() for name in table.feature_names} == expected


@pytest.mark.parametrize("case", NOT_READ, ids=lambda case: case[0])
def test_a_file_that_holds_no_table_is_refused(put, case):
    _, content, said = case
    with pytest.raises(TableError, match=said):
        read(put(content))


def test_a_dict_is_told_from_a_frame():
    with pytest.raises(TableError, match=r"the table is a dict\. Pass a frame, such as pandas\.DataFrame\(table\)"):
        read({"a": [1, 2]})


# --- names ----------------------------------------------------------------------------------------------------------


def test_names_that_occur_twice(put):
    table = read(put("x,y,x,x\n1,2,3,4\n"))
    assert table.feature_names == ["x", "y", "x.1", "x.2"]  # as pandas calls them in the files that it writes
    assert table.notes == ("table.csv: several columns have one name; the later ones are numbered: 'x' (such as x.1).",)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n6.2,3.4,virginica\n", False),
        ("1,1,2\n3,4,5\n", False),  # names differ
        ("7,3,9\n3,4,5\n", False),
        ("p,x\n" + "e,y\np,x\n" * 6, False),  # letters that come again
        ("country,1990,1991\nA,1.5,2\nB,2.5,3\n", True),
        ("0,1,2,3\n5,5,5,5\n", True),
        ("400.5,402.5,404.5\n.1,.2,.3\n", True),
        ("x,y\n1,2\n", True),
        ("x,2\n1,5\n2,6\n", True),
        ("name,2020\nann,5\nbob,6\n", True),
        ("a,b\nc,d\ne,f\n", True),
    ],
)
def test_files_without_names_are_noticed(put, content, named):
    table = read(put(content))
    lines = content.splitlines()
    assert table.n_rows == len(lines) - named
    if not named:
        last = len(lines[0].split(","))
        told = f"the first line holds values, not names; the columns are called column 1 to column {last}."
        assert table.notes[0] == f"table.csv: {told}"
        assert str(table.column("column 1").iloc[0]) == lines[0].split(",")[0]


# --- separators and signs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "a b kind\n1 2.5 x\n3 4 y\n",
        "   a    b  kind\n 1.0  2.5  x   \n 3.0  4.0  y\n",
        'a b kind\n1 2.5 "x"\n3 4 "y"\n',
        "a\tb  kind\n1\t2.5  x\n3\t4  y\n",
    ],
)
def test_blanks_between_columns(put, content):
    table = read(put(content, "table.txt"), sep=" " if "\t" in content else None)
    assert table.feature_names == ["a", "b", "kind"]
    assert table.column("b").tolist() == [2.5, 4.0]
    assert table.column("kind").tolist() == ["x", "y"]


def test_what_r_writes(put):
    table = read(put('"x" "kind"\n"1" 5.5 "a b"\n"2" 6.5 "c"\n', "table.txt"))
    assert table.feature_names == ["x", "kind"]
    assert table.row_names.tolist() == ["1", "2"]
    assert table.column("kind").tolist() == ["a b", "c"]


def test_texts_with_blanks_are_no_columns(put):
    assert read(put("full name\nAnn Lee\nBob Roe\n")).column("full name").tolist() == ["Ann Lee", "Bob Roe"]


def test_thousands_with_decimal_commas(put):
    table = read(put("amount;n\n1.234,56;1.200\n-12,5;3.400\n"))
    assert table.column("amount").tolist() == [1234.56, -12.5]
    assert table.column("n").tolist() == [1200, 3400]
    assert table.notes[1] == "table.csv: the point was read as separating thousands, for 'amount' and 'n'."
    given = read(put("amount;n\n1.234,56;1\n1.000.000;2\n"), decimal=",")
    assert given.column("amount").tolist() == [1234.56, 1e6]
    with pytest.raises(TableError, match="with a decimal point in 'n'"):
        read(put("amount;n\n1.234,56;1.25\n12,5;3.4\n"))


def test_codes_with_leading_zeros_stay_texts(put):
    table = read(put("zip,x,y\n01234,1,0.5\n99999,0,0.25\n,3,0\n"))
    assert table.column("zip").tolist()[:2] == ["01234", "99999"]
    assert table.column("zip").isna().tolist() == [False, False, True]
    assert table.column("x").dtype.kind == "i"
    told = "codes with leading zeros stay texts: 'zip'. Pass roles={column: 'numeric'} to take them as numbers."
    assert table.notes == (f"table.csv: {told}",)


@given(st.lists(st.integers(0, 99999), min_size=1, max_size=20))
def test_codes_come_back_as_they_were(numbers):
    codes = [f"{number:05d}" for number in numbers]
    file = TableFile("x", content="\n".join(["zip", *codes]).encode())
    frame = read_text(file, sep=",").frame
    if any(code.startswith("0") for code in codes):
        assert frame["zip"].tolist() == codes
    else:
        assert frame["zip"].tolist() == numbers


@given(st.lists(st.fixed_dictionaries({"a": st.floats(allow_nan=False, allow_infinity=False)}), min_size=1))
def test_numbers_in_json_keep_their_bits(rows):
    file = TableFile("x.json", content=json.dumps(rows).encode())
    frame = read_text(records.read_json(file, None)[0], sep="\t").frame
    assert frame["a"].astype(float).tolist() == [row["a"] for row in rows]


def test_options_that_do_not_fit_the_file(put):
    with pytest.raises(TableError, match=r"sheet is for spreadsheets, and .*table.csv is none") as caught:
        read(put("a\n1\n"), sheet="x")
    assert caught.value.parameter == "sheet"
    with pytest.raises(TableError, match="encoding is for text files"):
        read(put(b"x", "a.npz"), encoding="utf-8")
