"""What a person sees while a command works: one line that changes, every stage once, lines that break at words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from cli_helpers import environment, passengers
from manifolia._cli.console import Console, echo, wrapped
from manifolia._core import progress
from manifolia._core.progress import ProgressEvent


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "_compiled", [0.0])
    monkeypatch.setattr(progress, "_compile_watchers", [])
    return now


def look(monkeypatch):
    """Make the streams those of a terminal, 60 columns wide."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")


def work(console, clock):
    """Two stages, one of which comes twice, and one that takes no time."""
    for stage, seconds in (("forest", 3.0), ("guide", 2.0), ("blink", 0.01), ("forest", 1.0)):
        console(ProgressEvent(stage, 0, 10, {}))
        for done in range(1, 11):
            clock[0] += seconds / 10
            console(ProgressEvent(stage, done, 10, {}))


def test_every_stage_is_listed_once(clock, capsys):
    console = Console()
    work(console, clock)
    console.result("done")
    assert capsys.readouterr() == ("done\n", "Took: forest 4.0 s, guide 2.0 s.\n")
    console.result("more")
    assert capsys.readouterr().err == ""


def test_there_is_one_line_that_changes(clock, capsys, monkeypatch):
    look(monkeypatch)
    console = Console()
    work(console, clock)
    shown = capsys.readouterr().err
    assert "\n" not in shown
    assert "forest: 3 of 10, 0.9 s, about 2.1 s left" in shown
    assert all(len(line) < 60 for line in shown.split("\r"))
    console.result("done")
    said = capsys.readouterr().err
    assert said.startswith("\r" + " " * 59 + "\r")  # it is taken away
    assert said.endswith("Took: forest 4.0 s, guide 2.0 s.\n")


def test_short_work_and_quiet_commands_list_nothing(clock, capsys):
    for console, seconds in ((Console(), 0.05), (Console(quiet=True), 5.0)):
        console(ProgressEvent("forest", 0, 1, {}))
        clock[0] += seconds
        console(ProgressEvent("forest", 1, 1, {}))
        console.data({})
        assert capsys.readouterr().err == ""


def test_a_long_stage_says_so_every_ten_seconds_in_a_log(clock, capsys):
    console = Console()
    console(ProgressEvent("layout", 0, 100, {}))
    for done in range(1, 60):
        clock[0] += 0.5
        console(ProgressEvent("layout", done, 100, {}))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "layout: 21 of 100, 10 s, about 40 s left"


def test_nothing_is_said_of_compiling_when_quiet_or_after_the_command(clock, capsys):
    Console()
    Console(quiet=True)  # an earlier console in the same process does not speak for it
    progress.add_compile_seconds(None)
    Console().release()
    progress.add_compile_seconds(None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("cores", [1, 2])
def test_a_second_process_compiles_beside_the_first_where_a_long_kernel_is_missing(clock, capsys, monkeypatch, cores):
    started = []

    class Helper:
        def __init__(self, command, **_):
            started.append(command[-2:])

        def kill(self):
            started.append("killed")

        def communicate(self):
            started.append("gone")

    monkeypatch.setattr("manifolia._cli.console.subprocess.Popen", Helper)
    monkeypatch.setattr("manifolia._core.installed.cores", lambda: cores)
    console = Console(quiet=True)
    for kernel in ("leaf_ranks", "grow_numbers", "grow_classes", "leaf_ranks"):
        progress.add_compile_seconds(None, kernel)
    console.release()
    progress.add_compile_seconds(None, "grow_classes")
    assert started == [["manifolia.kernels.ahead", "grow_numbers"], "killed", "gone"] * (cores > 1)
    assert capsys.readouterr().err == ""


def test_what_is_compiled_is_told_apart(clock, capsys):
    console = Console()
    console(ProgressEvent("forest", 0, 2, {}))
    progress.add_compile_seconds(None)
    clock[0] += 8.0
    progress.add_compile_seconds(8.0)
    progress.add_compile_seconds(None)
    assert (
        capsys.readouterr().err
        == "compiling, once for each kernel: up to a minute, longer where the machine is busy …\n"
    )
    clock[0] += 1.0
    console(ProgressEvent("forest", 2, 2, {}))
    console.result("done")
    assert capsys.readouterr().err == "Took: forest 1.0 s, compiling 8.0 s, once for each kernel.\n"


def test_kernels_tell_how_long_they_compile(monkeypatch):
    import numba

    import manifolia.kernels._jit  # noqa: F401  # which watches

    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled")
    monkeypatch.setattr(progress, "_compiled", [0.0])
    began = []
    progress.watch_compiling(began.append)
    doubled = numba.njit(lambda x: 2.0 * x)
    caller = numba.njit(lambda x: doubled(x) + 1.0)
    assert caller(3.0) == 7.0
    assert began == ["<lambda>"]
    once = progress.compile_seconds()
    assert once > 0.0
    caller(4.0)
    assert progress.compile_seconds(forget=True) == once  # what is compiled is not compiled again
    assert progress.compile_seconds() == 0.0


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_break_between_words(width):
    text = "- " + " ".join("x" * (1 + i % 11) for i in range(60))
    lines = wrapped(text, width).split("\n")
    assert max(map(len, lines)) <= width
    assert all(line.startswith("  ") for line in lines[1:])  # below the text, not below the dash
    assert " ".join(line.strip() for line in lines) == text


def test_what_must_not_be_broken_is_not():
    path = "/a/very/long/path/" + "x" * 90 + "/map.html"
    assert wrapped(f"Open the page: {path}", 60) == f"Open the page:\n{path}"
    assert wrapped("  column     0.1 ± 0.2  ███", 60) == "  column     0.1 ± 0.2  ███"
    assert wrapped("", 60) == ""
    assert wrapped("well-known", 40) == "well-known"


def test_only_a_person_gets_broken_lines(capsys, monkeypatch):
    text = " ".join(["word"] * 60)
    echo(text)
    assert capsys.readouterr().out == text + "\n"
    look(monkeypatch)
    echo(text)
    lines = capsys.readouterr().out.splitlines()
    assert np.max([len(line) for line in lines]) <= 60
    assert " ".join(lines) == text


#: Commands that fail because of the table, or of how the run is asked for.
REFUSED_AT_ONCE = [
    "map nowhere.csv",
    "map ship.csv -t survived",
    "map ship.csv -t Name",
    "map ship.csv -t Survived --key Sex",
    "map ship.csv -t Survived -m forest-maps",
    "map ship.csv -t Survived -o .",
    "map marks.csv -t x",  # what the columns hold
]


def test_errors_about_a_table_come_before_heavy_imports(tmp_path):
    """What takes the time of an error is imports: none of these may bring scikit-learn or numba."""
    passengers(60).to_csv(tmp_path / "ship.csv", index=False)
    (tmp_path / "marks.csv").write_text(
        "Age,x\n" + "".join(f"{'unknown' if i % 9 else i},{i % 5}\n" for i in range(400))
    )
    script = (
        "import sys; from click.testing import CliRunner; from manifolia.cli import main\n"
        "for command in sys.argv[1:]:\n"
        "    done = CliRunner().invoke(main, command.split())\n"
        "    assert done.exit_code == 1, (command, done.output)\n"
        "    heavy = {'sklearn', 'numba', 'matplotlib', 'skops'} & sys.modules.keys()\n"
        "    assert not heavy, (command, heavy)\n"
    )
    arguments = [sys.executable, "-c", script, *REFUSED_AT_ONCE]
    done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
