"""Run the Python of the guide's pages, page by page, and stop at the first that fails.

The blocks of a page are one program: later ones use what earlier ones made. Each page runs in a folder of its own that
is thrown away. Names that every page takes for granted (your rows, your map) are in `GIVEN`; what one page needs beside
stands in it as ``<!-- given: … -->``, unseen by readers, and a block after ``<!-- not run: why -->`` is left alone.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = [DOCS.parent / "README.md", DOCS / "getting_started.md", *sorted((DOCS / "guide").glob("*.md"))]
PAGES += sorted((DOCS / "concepts").glob("*.md"))

#: Made before a page's first block, where its text speaks of data that the reader has.
GIVEN = """
import numpy as np
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
X, y, X_new, y_new = X[:500], y[:500], X[500:560], y[500:560]
Y = X[:, [20, 42]] + 0.1 * X[:, [21, 43]]
"""


def blocks(text: str) -> list[tuple[int, str]]:
    """Return the Python blocks of a page, each with the number of its first line.

    Parameters
    ----------
    text : str
        The page.

    Returns
    -------
    list of (int, str)
        Line number and code.
    """
    pattern = r"^<!-- given:\n(?P<given>.*?)^-->|(?P<skip>^<!-- not run: [^>]*-->\n+)?^```python\n(?P<code>.*?)^```"
    found = []
    for match in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL):
        group = "given" if match["given"] is not None else "code"
        if not match["skip"]:
            found.append((text[: match.start(group)].count("\n") + 1, match[group]))
    return found


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
    if found:
        exec(compile(GIVEN, "given", "exec"), names)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for line, code in found:
                # Blank lines in front, so that a traceback names the line of the page.
                program = compile("\n" * (line - 1) + code, str(path), "exec")
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(program, names)
        finally:
            os.chdir(before)
    return len(found)


def main() -> int:
    """Run all pages, or those named on the command line.

    Returns
    -------
    int
        0, or 1 if a block failed.
    """
    os.environ.setdefault("MPLBACKEND", "Agg")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    pages = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    for page in pages:
        start = time.perf_counter()
        try:
            count = run(page)
        except Exception:
            traceback.print_exc()
            sys.stderr.write(f"{page}: its example does not run.\n")
            return 1
        if count:
            took = time.perf_counter() - start
            sys.stdout.write(f"{page.relative_to(DOCS.parent)}: {count} examples, {took:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
