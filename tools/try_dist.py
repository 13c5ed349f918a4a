"""Try what is about to be released: ``python tools/try_dist.py FOLDER [PYTHON ...]``.

The wheel and the source archive in FOLDER are installed into empty environments of every Python that is named, or of
every one from 3.11 on that is found; in each the command line makes a map of bundled data with its page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PYENV = Path.home() / ".pyenv" / "versions"


def pythons() -> list[str]:
    """Find one interpreter of each version, on the path or in pyenv."""
    found = []
    for version in VERSIONS:
        name = shutil.which(f"python{version}")
        held = sorted(PYENV.glob(f"{version}.*/bin/python"))
        candidates = [str(path) for path in held[-1:]] or ([name] if name else [])
        found += [one for one in candidates if runs(one)]
    return found


def runs(python: str) -> bool:
    """Tell whether an interpreter works and can make environments."""
    done = subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False)
    return done.returncode == 0


def attempt(python: str, package: Path, folder: Path) -> str:
    """Install a package into an empty environment, make a map, and say how long both took."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", "--clear", str(environment)], check=True)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    start = time.perf_counter()
    subprocess.run([scripts / "python", "-m", "pip", "install", "--quiet", str(package)], check=True)
    installed, start = time.perf_counter() - start, time.perf_counter()
    # From the folder of the run, so that the sources cannot be found.
    told = subprocess.run(
        [scripts / "manifolia", "demo", "--data", "iris", "run"], cwd=folder, check=True, capture_output=True, text=True
    )
    mapped = time.perf_counter() - start
    page = (folder / "run" / "map.html").read_text(encoding="utf-8")
    if len(page) < 100_000 or "<script" not in page:
        raise SystemExit(f"{package.name}: the page is not complete.\n{told.stdout}")
    version = subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    shutil.rmtree(folder / "run")
    return f"{version}, {package.name}: installed in {installed:.0f} s, a map with its page in {mapped:.0f} s"


def main(dist: Path, named: list[str]) -> int:
    """Try every package with every interpreter; 1 if there is nothing to try."""
    packages = sorted(path for path in dist.iterdir() if re.search(r"\.(whl|tar\.gz)$", path.name))
    interpreters = named or pythons()
    if not packages or not interpreters:
        print(f"{dist} holds {len(packages)} packages, and {len(interpreters)} Pythons were found.", file=sys.stderr)
        return 1
    for python in interpreters:
        for package in packages:
            with tempfile.TemporaryDirectory() as folder:
                print(attempt(python, package.resolve(), Path(folder)), flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
