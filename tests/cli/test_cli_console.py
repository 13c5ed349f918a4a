"""What is printed: no control character of a name or value, and nothing raw where nobody listens."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cli_helpers import environment, one_sentence, passengers
from manifolia._cli.console import Console, visible
from manifolia._core.progress import ProgressEvent
from manifolia.runs import open_run

EVIL = "\x1b]0;owned\x07\x9b31m\u202egpj"


@pytest.fixture(scope="module")
def evil(tmp_path_factory, manifolia):
    """A run whose names of columns, rows and classes hold control characters."""
    folder = tmp_path_factory.mktemp("evil")
    frame = passengers(120)
    frame["Sex"] = frame["Sex"] + EVIL
    frame["Survived"] = np.where(frame["Survived"] == 1, f"yes{EVIL}", "no")
    frame = frame.rename(columns={"Sex": f"Sex{EVIL}", "Survived": f"Survived{EVIL}"})
    frame.index = [f"row {i}{EVIL}" for i in range(len(frame))]
    frame.to_parquet(folder / "a.parquet")
    done = manifolia("map", folder / "a.parquet", "-t", f"Survived{EVIL}", "-o", folder / "run", "--set", "n_trees=30")
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_time_left_of_work_that_goes_on_is_told_by_what_this_call_has_done():
    console = Console()
    console(ProgressEvent("place", 900, 1000, {}))  # an earlier call has placed 900 rows
    assert console._line(ProgressEvent("place", 910, 1000, {}), console._began + 10.0).endswith("about 1 min 30 s left")
    console.release()


@pytest.mark.parametrize(
    "command",
    [
        ("info",), ("info", "--json"), ("score",), ("score", "--all", "--json"), ("explain",), ("explain", "--json"),
        ("explain", "--row", f"row 3{EVIL}"), ("explain", "--row", f"row 3{EVIL}", "--json"),
        ("explain", "--row", f"no{EVIL}"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_control_characters_are_written_out(evil, command, manifolia):
    done = manifolia(command[0], evil[0] / "run", *command[1:])
    for text in (done.stdout, done.stderr, evil[1].stdout, evil[1].stderr):
        assert not set(text) & set(EVIL[0] + "\x07\x9b\u202e\r")
    if "--json" in command:
        assert json.loads(done.stdout)
    elif command != ("score",):
        assert "\\x1b" in done.stdout + done.stderr


def test_json_brings_back_the_same_names(evil, manifolia):
    told = json.loads(manifolia("explain", evil[0] / "run", "--json").stdout)
    assert f"Sex{EVIL}" in {entry["column"] for entry in told["importances"]}


def test_letters_of_any_script_stay():
    for text in ("größe", "naïve – “quoted”", "תל אביב", "القاهرة", "👩‍🔬 नमस्ते", "", "a b"):
        assert visible(text) == text
    assert visible("a\x1b[1m\tb\n\x7f\x85\u2028") == "a\\x1b[1m\\tb\\n\\x7f\\x85\\u2028"


def test_a_table_is_printed_as_it_is_but_to_a_person(capsys, monkeypatch):
    Console().table(f"a,b\n1,{EVIL}\n")
    assert capsys.readouterr().out == f"a,b\n1,{EVIL}\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    Console().table(f"a,b\n1,{EVIL}\n")
    assert capsys.readouterr().out == f"a,b\n1,{visible(EVIL)}\n"


# --- closed streams ---------------------------------------------------------------------------------------------------


def shell(line, *arguments):
    return subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, *map(str, arguments)],
        capture_output=True, text=True, env=environment(), check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('"$1" -m manifolia info "$2" >&-', 0),
        ('"$1" -m manifolia info "$2" 2>&-', 0),
        ('"$1" -m manifolia info "$2" <&- >&- 2>&-', 0),
        ('"$1" -m manifolia info "$2".nowhere 2>&-', 1),
        ('"$1" -m manifolia transform "$2" "$3" -q -o "$4" >&- 2>&-', 0),
    ],
)
def test_closed_streams(line, code, finished, tmp_path):
    passengers(5, seed=3).to_csv(tmp_path / "new.csv", index=False)
    done = shell(line, finished[0], tmp_path / "new.csv", tmp_path / "placed.csv")
    assert done.returncode == code
    assert done.stderr == ""
    if "-o" in line:
        assert len(pd.read_csv(tmp_path / "placed.csv")) == 5


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
def test_coordinates_that_nobody_would_get(finished, tmp_path):
    passengers(5, seed=3).to_csv(tmp_path / "new.csv", index=False)
    done = shell('"$1" -m manifolia transform "$2" "$3" >&-', finished[0], tmp_path / "new.csv")
    assert done.returncode == 1
    assert one_sentence(done).startswith("Error: standard output is closed")


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("command", ["info", "explain"])
def test_a_reader_who_goes_away(command, finished):
    done = shell(f'"$1" -m manifolia {command} "$2" | true', finished[0])
    assert done.returncode == 0
    assert done.stderr == ""


# --- other raw ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("port", ["70000", "-1"])
def test_a_port_that_there_is_not(port, finished, manifolia):
    done = manifolia("explore", finished[0], "--live", "--port", port)
    assert done.returncode == 1
    assert one_sentence(done) == f"Error: --port must be at least 0 and at most 65535, got {port}."


def test_a_port_that_is_taken(finished, manifolia):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = manifolia("explore", finished[0], "--live", "--port", port)
    assert done.returncode == 1
    assert one_sentence(done).startswith(f"Error: --port {port} of 127.0.0.1 cannot be used: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 100_000, "has no report.json that can be read"),
        (b'{"method": "x", "target": {}, "notes": ' + b"[" * 5000 + b"]" * 5000 + b"}", "report.json that can be read"),
        (b'{"a": ' + b"9" * 5000 + b"}", "has no report.json that can be read"),
        (b"\xff\xfe", "has no report.json that can be read"),
        (b'{"method": "x"}', "report.json is of something else"),
    ],
)
@pytest.mark.parametrize("command", ["info", "score", "explain", "explore"])
def test_a_report_that_is_none(content, said, command, tmp_path, manifolia):
    (tmp_path / "report.json").write_bytes(content)
    done = manifolia(command, tmp_path)
    assert done.returncode == 1
    assert said in one_sentence(done)


@pytest.mark.parametrize("damage", [lambda data: data[:-30], lambda data: b"", lambda data: b"PK\x03\x04" + data[9:]])
@pytest.mark.parametrize("command", [("score", "--all"), ("explain", "--row", "3"), ("explore", "--live")])
def test_rows_that_are_damaged(damage, command, finished, tmp_path, manifolia):
    run = shutil.copytree(finished[0], tmp_path / "run")
    (run / "rows.npz").write_bytes(damage((run / "rows.npz").read_bytes()))
    done = manifolia(command[0], run, *command[1:])
    assert done.returncode == 1
    assert "rows.npz does not hold the rows of the run: " in one_sentence(done)


def test_a_number_of_four_hundred_digits_in_a_report(finished, tmp_path, manifolia):
    run = shutil.copytree(finished[0], tmp_path / "run")
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    report["scores"][0]["value"] = report["data"]["rows"] = report["model"]["oob_score"] = 10**400
    report["importances"][0]["importance"] = 10**400
    (run / "report.json").write_text(json.dumps(report), encoding="utf-8")
    for command in ("info", "score", "explain"):
        done = manifolia(command, run)
        assert done.returncode == 1
        assert "report.json that can be read" in one_sentence(done)


# --- formulas ---------------------------------------------------------------------------------------------------------


def test_formulas_are_escaped_where_it_is_asked_for(tmp_path, manifolia):
    frame = passengers(80)
    frame.insert(0, "", [f"=cmd|{i}" for i in range(len(frame))])
    frame["Survived"] = np.where(frame["Survived"] == 1, "@yes", "-no")
    frame.to_csv(tmp_path / "a.csv", index=False)
    common = ("-t", "Survived", "--set", "n_trees=20", "--no-explain")
    done = manifolia("map", tmp_path / "a.csv", *common, "-o", tmp_path / "run", "--escape-formulas")
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(tmp_path / "run" / "coordinates.csv")
    assert written["row"][0] == "'=cmd|0"
    assert set(written["Survived"]) == {"'@yes", "'-no"}
    assert written["map_x"].dtype.kind == "f"
    read = open_run(tmp_path / "run").coordinates  # the run itself knows its rows by their own names
    assert read["row"][0] == "=cmd|0"
    assert set(read["Survived"]) == {"@yes", "-no"}
    assert "=cmd|3" in manifolia("explain", tmp_path / "run", "--row", "=cmd|3").stdout
    for more in ((), ("-o", tmp_path / "placed.csv")):
        done = manifolia("transform", tmp_path / "run", tmp_path / "a.csv", "--escape-formulas", *more)
        text = (tmp_path / "placed.csv").read_text() if more else done.stdout
        assert "\n'=cmd|0," in text
        assert "\n=cmd" not in text
