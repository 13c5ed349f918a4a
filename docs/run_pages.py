"""Run the examples of README, of the site's pages and of docstrings, and stop at the first page that fails.

The Python blocks of a page are one program: later ones use what earlier ones made. Of its shell blocks the lines that
call ``manifolia`` are run, in the same process. Each page runs in a folder of its own that is thrown away. Names and
files that every page takes for granted (your rows, your map, ``data.csv``) are in `GIVEN`; what one page needs beside
stands in it as ``<!-- given: … -->``, unseen by readers, and a block after ``<!-- not run: why -->`` is left alone.
The examples of the gallery are run by Sphinx.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parent
SOURCE = DOCS.parent / "src"
#: Folders that the build makes.
GENERATED = {"_build", "_extra", "auto_examples", "auto_stories", "generated"}
PAGES = [
    *(DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")),
    *sorted(path for path in DOCS.rglob("*.md") if not GENERATED & set(path.relative_to(DOCS).parts)),
]

#: Made before a page's first block, where its text speaks of data that the reader has.
GIVEN = """
import numpy as np
from sklearn.datasets import load_digits, load_wine
X, y = load_digits(return_X_y=True)
X, y, X_new, y_new = X[:500], y[:500], X[500:560], y[500:560]
Y = X[:, [20, 42]] + 0.1 * X[:, [21, 43]]
table = load_wine(as_frame=True).frame.rename(columns={"target": "label"})
table[::2].to_csv("data.csv", index=False)
table[1::20].drop(columns="label").to_csv("new.csv", index=False)
"""


class Block(NamedTuple):
    """An example: number of its first line, language, text."""

    line: int
    language: str
    code: str


def blocks(text: str) -> list[Block]:
    """Return the examples of a page that are to be run.

    Parameters
    ----------
    text : str
        The page.

    Returns
    -------
    list of Block
        Python blocks, shell blocks that call manifolia, and what the page says is given.
    """
    pattern = (
        r"^<!-- given:\n(?P<given>.*?)^-->"
        r"|(?P<skip>^<!-- not run: [^>]*-->\n+)?^```(?P<language>python|shell)\n(?P<code>.*?)^```"
    )
    found = []
    for match in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL):
        group = "given" if match["given"] is not None else "code"
        language = match["language"] or "python"
        if match["skip"] or (language == "shell" and not commands(match[group])):
            continue
        found.append(Block(text[: match.start(group)].count("\n") + 1, language, match[group]))
    return found


def commands(code: str) -> list[list[str]]:
    """Return the arguments of the calls of manifolia in a shell block.

    Parameters
    ----------
    code : str
        The block; comments are left out, lines that call something else are passed over.

    Returns
    -------
    list of list of str
        Arguments, without the command's own name.
    """
    lines = [shlex.split(line, comments=True) for line in code.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["manifolia"]]


def run_commands(code: str) -> None:
    """Call the command line for each line of a shell block.

    Parameters
    ----------
    code : str
        The block.

    Raises
    ------
    RuntimeError
        If a command fails; its message is repeated.
    """
    from manifolia.cli import main as command_line

    for arguments in commands(code):
        with contextlib.redirect_stderr(io.StringIO()) as told:
            status = command_line(arguments, standalone_mode=False)
        if status:
            message = f"manifolia {shlex.join(arguments)} ended with {status}: {told.getvalue()}"
            raise RuntimeError(message)


def run(path: Path) -> int:
    """Run one page.

    Parameters
    ----------
    path : Path
        The page.

    Returns
    -------
    int
        How many blocks it has.
    """
    found = blocks(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__page__"}
    with in_a_folder_of_its_own():
        if found:
            exec(compile(GIVEN, "given", "exec"), names)
        for line, language, code in found:
            with contextlib.redirect_stdout(io.StringIO()):
                if language == "shell":
                    run_commands(code)
                else:
                    # Blank lines in front, so that a traceback names the line of the page.
                    exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
    return len(found)


@contextlib.contextmanager
def in_a_folder_of_its_own() -> Iterator[None]:
    """Work in a new folder, without warnings, and throw it away."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def modules_with_examples() -> list[str]:
    """Return the modules whose docstrings have examples.

    Returns
    -------
    list of str
        Full names, in order.
    """
    paths = [path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    names = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    return sorted(names)


def run_docstrings(name: str) -> int:
    """Run the examples in the docstrings of a module, and compare what they print.

    Parameters
    ----------
    name : str
        The module.

    Returns
    -------
    int
        How many lines of examples it has.

    Raises
    ------
    AssertionError
        If an example fails, or gives something else than it says.
    """
    told = io.StringIO()
    with in_a_folder_of_its_own(), contextlib.redirect_stdout(told):
        failed, count = doctest.testmod(importlib.import_module(name))
    if failed:
        raise AssertionError(told.getvalue())
    return count


def main() -> int:
    """Run all pages and docstrings, or the pages named on the command line.

    Returns
    -------
    int
        0, or 1 if an example failed.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    work = [(str(page.relative_to(DOCS.parent)), run, page) for page in PAGES]
    work += [(name, run_docstrings, name) for name in modules_with_examples()]
    if sys.argv[1:]:
        work = [(name, run, Path(name).resolve()) for name in sys.argv[1:]]
    for name, runner, what in work:
        start = time.perf_counter()
        try:
            count = runner(what)
        except Exception:
            traceback.print_exc()
            sys.stderr.write(f"{name}: its example does not run.\n")
            return 1
        if count:
            sys.stdout.write(f"{name}: {count} examples, {time.perf_counter() - start:.1f} s\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
