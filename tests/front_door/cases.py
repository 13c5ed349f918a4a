"""Tables as people have them, what is done with each, and the sentence or result that is expected.

A case is one line of a table: a file's text (or a frame, or what writes the file), the arguments of a command, and what
it says. `run_case` carries it out; `CALLS` do the same for Python.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from cli_helpers import one_sentence, run

#: So that a map takes no time: what a case asks for comes after these.
QUICK = ("--set", "n_trees=10", "--no-explain", "--no-importance")


class Case(NamedTuple):
    """A command on a table, and what it says."""

    about: str  # What is tried
    table: str | pd.DataFrame | Callable[[Path], object]  # The file's text, a frame for a CSV, or what writes the file
    arguments: str  # After the file, separated by blanks; "" is a map without a target
    says: str | tuple[str, ...]  # Parts of what is said
    code: int = 0  # With which it ends: 0 done, 1 the work failed, 2 the command was wrong
    file: str = "data.csv"  # Its name
    command: str = "map"


def write_table(case: Case, folder: Path) -> Path:
    """Write the file of a case."""
    path = folder / case.file
    if isinstance(case.table, str):
        path.write_text(case.table, encoding="utf-8")
    elif isinstance(case.table, pd.DataFrame):
        case.table.to_csv(path, index=False)
    else:
        case.table(path)
    return path


def run_case(case: Case, folder: Path) -> Any:
    """Carry out a case, and check what was said; an error is one sentence, and nothing is left behind."""
    path = write_table(case, folder)
    before = sorted(folder.iterdir())
    out = ("-o", folder / "run", *QUICK) if case.command == "map" else ()
    done = run(case.command, path, *out, *case.arguments.split())
    said = done.stdout + done.stderr
    assert done.returncode == case.code, said
    if case.code == 1:
        said = one_sentence(done)
        assert sorted(folder.iterdir()) == before
    for part in (case.says,) if isinstance(case.says, str) else case.says:
        assert part in said, said
    return done


def by_name(cases: list[Any]) -> pytest.MarkDecorator:
    """Make a test of each case, called by what it tries."""
    assert len({case[0] for case in cases}) == len(cases)
    return pytest.mark.parametrize("case", cases, ids=[case[0] for case in cases])
