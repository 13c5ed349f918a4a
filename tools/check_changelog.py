"""Check that a change brings its line in the changelog: ``python tools/check_changelog.py BASE``.

A change of what users run (`src/manifolia`, without its tests) has to add a line to CHANGELOG.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE, CHANGELOG = "src/manifolia/", "CHANGELOG.md"


def missing(changed: list[str], added: int) -> bool:
    """Tell whether a line is missing, given the files that change and the lines that the changelog gets."""
    return any(name.startswith(CODE) for name in changed) and added == 0


def main(base: str, folder: Path = Path(__file__).parents[1]) -> int:
    """Compare with what the change starts from; 1 if a line is missing."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True)
        return done.stdout.splitlines()

    told = git("diff", "--numstat", f"{base}...HEAD", "--", CHANGELOG)
    added = int(told[0].split()[0]) if told else 0
    if missing(git("diff", "--name-only", f"{base}...HEAD"), added):
        print(f"{CODE} changes, and {CHANGELOG} gets no line. Say what users will notice.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
