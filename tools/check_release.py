"""Check what is about to be released: ``python tools/check_release.py TAG FOLDER``.

The tag, the package, CITATION.cff and the changelog name one version, and the folder holds its wheel and its archive.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def faults(tag: str, dist: Path, root: Path = ROOT) -> list[str]:
    """Tell what does not fit together."""

    def found(pattern: str, name: str) -> str | None:
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        return match[1] if match else None

    version = found(r'^__version__ = "(.+)"$', "src/manifolia/_version.py") or ""
    told = []
    if tag != f"v{version}":
        told.append(f"the tag is {tag}, and the package is version {version}")
    cited = found(r"^version: (.+)$", "CITATION.cff")
    if cited != version:
        told.append(f"CITATION.cff is of version {cited}, and the package is version {version}")
    if found(rf"^## ({re.escape(version)})\b", "CHANGELOG.md") is None:
        told.append(f"CHANGELOG.md has no section for version {version}")
    wanted = {f"manifolia-{version}-py3-none-any.whl", f"manifolia-{version}.tar.gz"}
    there = {path.name for path in dist.glob("*")}
    if there != wanted:
        told.append(f"{dist} holds {', '.join(sorted(there)) or 'nothing'}, and not {', '.join(sorted(wanted))}")
    return told


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wrong = faults(sys.argv[1], Path(sys.argv[2]))
    for fault in wrong:
        print(fault, file=sys.stderr)
    sys.exit(bool(wrong))
