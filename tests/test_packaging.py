"""The wheel and the source archive: they build, they hold what they should, and the wheel works without the sources."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import manifolia

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USERS_EXTRAS = {"parquet", "excel", "plot", "tune", "dask", "anndata", "notebook"}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """Build the source archive, and from it the wheel."""
    target = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (archive,), (wheel,) = target.glob("*.tar.gz"), target.glob("*.whl")
    return archive, wheel


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return set(file.namelist())


def test_the_wheel_holds_the_package_and_no_more(built):
    found = names(built[1])
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert sources <= found
    assert "manifolia/py.typed" in found
    static = {f"manifolia/explorer/static/explorer.{suffix}" for suffix in ("js", "css")}
    static.add("manifolia/datasets/catalogue.toml")
    assert static <= found  # the page works without Node
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in found)
    assert {name.split("/")[0] for name in found} == {"manifolia", f"manifolia-{manifolia.__version__}.dist-info"}
    assert not [name for name in found if re.search(r"__pycache__|\.py[co]$|\.nb[ic]$", name)]
    assert f"-{manifolia.__version__}-py3-none-any.whl" in built[1].name


def test_the_metadata_say_what_the_project_says(built):
    with zipfile.ZipFile(built[1]) as file:
        text = file.read(f"manifolia-{manifolia.__version__}.dist-info/METADATA").decode()
    metadata = Parser().parsestr(text)
    assert metadata["Name"] == "manifolia"
    assert metadata["Version"] == manifolia.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert not [line for line in metadata.get_all("Classifier") if line.startswith("License ::")]  # SPDX replaces them
    assert set(metadata.get_all("Provides-Extra")) >= USERS_EXTRAS | {"all", "test", "docs"}
    addresses = metadata.get_all("Project-URL")
    assert {address.split(",")[0] for address in addresses} >= {"Source", "Changelog", "Issues"}
    needed = {Requirement(line).name for line in metadata.get_all("Requires-Dist") if "extra ==" not in line}
    assert needed == {Requirement(line).name for line in PROJECT["dependencies"]}


def test_the_source_archive_holds_what_a_developer_needs(built):
    with tarfile.open(built[0]) as file:
        found = {name.partition("/")[2] for name in file.getnames()}
    wanted = [
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ]
    wanted += [
        "Makefile",
        "tests/conftest.py",
        "tests/oldest.txt",
        "tests/reference/random.py",
        "src/manifolia/py.typed",
        "frontend/package-lock.json",
        "frontend/build.mjs",
        "frontend/src/main.ts",
    ]
    assert [name for name in wanted if name not in found] == []
    assert not [name for name in found if re.search(r"(^|/)(\.venv|__pycache__|demo/|\.git/|node_modules)", name)]


def test_the_wheel_works_without_the_sources(built, tmp_path):
    target = tmp_path / "installed"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            str(target),
            built[1],
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    # Without the site module no .pth file is read, so that the editable install of the sources cannot be found; the
    # dependencies are.
    packages = [entry for entry in sys.path if entry.endswith("site-packages")]
    code = """
import importlib.metadata, pkgutil, importlib
import numpy as np
import manifolia
from manifolia._core.blocks import fixed_gemm
from manifolia.kernels import random
assert importlib.metadata.version("manifolia") == manifolia.__version__
assert fixed_gemm(np.eye(2), np.eye(2)).tolist() == [[1, 0], [0, 1]]
assert 0 <= random.uniform(np.uint64(1), 2, 3) < 1
for name in dir(manifolia):
    getattr(manifolia, name)
print(manifolia.__file__)
"""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": os.pathsep.join([str(target), *packages])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == target / "manifolia" / "__init__.py"


def test_the_installed_version_is_the_stated_one():
    assert importlib.metadata.version("manifolia") == manifolia.__version__


def requirements(*extras: str) -> dict[str, Requirement]:
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    found = [Requirement(line) for line in lines]
    return {requirement.name: requirement for requirement in found if requirement.name != "manifolia"}


def test_the_oldest_versions_are_the_lower_bounds():
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    oldest = {}
    for requirement in pinned:
        (only,) = requirement.specifier
        assert only.operator == "=="
        oldest[requirement.name] = Version(only.version)
    bounds = {}
    # What `make test-oldest` installs: the core, and the extras that the tests bring along.
    for name, requirement in requirements("parquet", "plot").items():
        (only,) = requirement.specifier
        assert only.operator == ">="
        bounds[name] = Version(only.version)
    assert oldest == bounds


def test_every_users_extra_is_in_all_and_no_more():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(Requirement(everything).extras) == USERS_EXTRAS
    assert set(extras) >= USERS_EXTRAS


def test_the_version_is_dynamic():
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    assert PROJECT["license"] == "BSD-3-Clause"
