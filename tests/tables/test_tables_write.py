"""Writing by suffix, to the bit, and never half."""

from __future__ import annotations

import json
import stat

import numpy as np
import pandas as pd
import pytest

from manifolia.tables import TableError, read, write
from manifolia.tables.writing import WRITABLE, replacing, with_formulas, without_formulas


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "x": [*(rng.normal(size=3) * 1e-7), np.nan],
            "text, quoted": ['a;"b"', None, "ü", "new\nline"],
            "n": [1, 2, 3, 4],
            "file": [True, False, True, True],
            "count": pd.array([1, None, 3, 4], dtype="Int64"),
        }
    )


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITABLE if suffix != ".json"])
def test_what_is_written_is_read(tmp_path, frame, suffix):
    path = write(frame, tmp_path / f"out{suffix}")
    back = read(path).features
    assert list(back.columns) == list(frame.columns)
    assert back["x"].to_numpy().tobytes() == frame["x"].to_numpy().tobytes()
    assert back["n"].tolist() == [1, 2, 3, 4]
    assert back["file"].tolist() == [True, False, True, True]
    assert back["count"].isna().tolist() == [False, True, False, False]
    texts = back["text, quoted"]
    assert texts.isna().tolist() == [False, True, False, False]
    assert texts.dropna().tolist() == ['a;"b"', "ü", "new\nline"]


def test_json(tmp_path, frame):
    frame["day"] = pd.to_datetime(["2024-01-01", None, "2024-01-02T12:00", "2024-01-03"], format="ISO8601")
    frame["far"] = [np.inf, 1.0, 2.0, 3.0]
    rows = json.loads(write(frame, tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [row["x"] for row in rows] == [*frame["x"][:3].tolist(), None]
    assert rows[0] == {
        "x": frame["x"][0],
        "text, quoted": 'a;"b"',
        "n": 1,
        "file": True,
        "count": 1,
        "day": "2024-01-01T00:00:00",
        "far": None,
    }
    assert rows[1]["count"] is None
    assert rows[1]["day"] is None


def test_signs_of_text_files(tmp_path):
    frame = pd.DataFrame({"x": [1.5, 2.25], "n": [1, 2]})
    assert write(frame, tmp_path / "a.csv").read_text() == "x,n\n1.5,1\n2.25,2\n"
    assert write(frame, tmp_path / "a.tsv").read_text() == "x\tn\n1.5\t1\n2.25\t2\n"
    assert write(frame, tmp_path / "a.csv", decimal=",").read_text() == "x;n\n1,5;1\n2,25;2\n"
    assert write(frame, tmp_path / "a.csv", sep="|").read_text() == "x|n\n1.5|1\n2.25|2\n"
    assert write({"a": [1], "b": ["x"]}, tmp_path / "a.csv").read_text() == "a,b\n1,x\n"
    for options in ({"sep": ",", "decimal": ","}, {"sep": ";;"}, {"decimal": "'"}):
        with pytest.raises(TableError, match="they must differ"):
            write(frame, tmp_path / "a.csv", **options)
    with pytest.raises(TableError, match="sep and decimal are for text files"):
        write(frame, tmp_path / "a.parquet", sep=";")


def test_suffixes_and_folders(tmp_path, frame):
    with pytest.raises(TableError, match=r"suffix '.xlsx'. Use one of .csv, .tsv"):
        write(frame, tmp_path / "a.xlsx")
    with pytest.raises(TableError, match=r"folder .*nowhere does not exist"):
        write(frame, tmp_path / "nowhere" / "a.csv")
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        write(frame, tmp_path / "f.csv")
    assert write(frame, tmp_path / "UPPER.CSV").exists()


def test_a_file_is_replaced_and_not_written_over(tmp_path):
    path = write({"a": [1]}, tmp_path / "a.csv")
    (tmp_path / "link").hardlink_to(path)
    write({"a": [2]}, path)
    assert path.read_text() == "a\n2\n"
    assert (tmp_path / "link").read_text() == "a\n1\n"  # who had the old file open reads on in it


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = write({"a": [1]}, tmp_path / "a.csv")

    def fail(self, draft, **_):
        draft.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(KeyboardInterrupt):
        write({"a": [2]}, path)
    assert path.read_text() == "a\n1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.csv"]


def test_rights_are_those_of_a_new_or_of_the_old_file(tmp_path):
    (tmp_path / "plain").write_text("")
    with replacing(tmp_path / "new") as draft:
        draft.write_text("x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "new").chmod(0o640)
    with replacing(tmp_path / "new") as draft:
        draft.write_text("y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert (tmp_path / "new").read_text() == "y"


def test_formulas_are_escaped_and_come_back(tmp_path):
    texts = ["=1+1", "+cmd", "-2+3", "@sum", "\tx", "\rx", "'=x", "''-x", "'quoted'", "a=b", "", None, "-5", "+3.5e2"]
    frame = pd.DataFrame({
        "=name": pd.Series(texts, dtype=object), "n": [-1.5] * 14, "when": pd.Timestamp("2020-01-01"),
        "kind": pd.Categorical(["=a", "b"] * 7), "flag": [True, False] * 7,
    })  # fmt: skip
    plain, escaped = (
        pd.read_csv(write(frame, tmp_path / "a.csv", escape_formulas=asked), keep_default_na=False)
        for asked in (False, True)
    )
    assert plain["=name"].tolist()[:3] == texts[:3]
    assert list(escaped.columns) == ["'=name", "n", "when", "kind", "flag"]
    for cell, text in zip(escaped["'=name"], texts, strict=True):
        assert not str(cell).startswith(("=", "@", "\t", "\r"))
        assert (text or "") == cell or cell == f"'{text}"
    assert escaped["'=name"].tolist()[8:] == ["'quoted'", "a=b", "", "", "-5", "+3.5e2"]
    for name in ("n", "when", "flag"):
        assert escaped[name].tolist() == plain[name].tolist()
    assert escaped["kind"].tolist() == ["'=a", "b"] * 7
    back = with_formulas(without_formulas(frame))
    assert back["=name"].tolist()[:11] == texts[:11]
    assert back["kind"].tolist() == frame["kind"].tolist()
    write(frame, tmp_path / "a.json", escape_formulas=True)
    assert pd.read_json(tmp_path / "a.json")["=name"][0] == "=1+1"
