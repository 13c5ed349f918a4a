"""Seeds, the kernels' cache, the property tests' settings and the marks of kinds of tests, for every test."""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SEED = int(os.environ.get("MANIFOLIA_TEST_SEED", "0"))


def _kernel_cache() -> Path:
    # numba notices a change of a kernel's own file, not of the kernels it calls: an edited callee would go untested.
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "manifolia" / "kernels").rglob("*.py")):
        digest.update(path.read_bytes())
    return ROOT / ".pytest_cache" / "numba" / digest.hexdigest()[:16]


# Before anything imports numba; the workers of pytest-xdist and the tests' own processes inherit it.
os.environ.setdefault("NUMBA_CACHE_DIR", str(_kernel_cache()))
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The same examples on every run, unless a seed is asked for: then fresh ones.
hypothesis.settings.register_profile(
    "manifolia",
    max_examples=50,
    deadline=None,
    derandomize="MANIFOLIA_TEST_SEED" not in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("manifolia")


def pytest_report_header() -> str:
    return f"seed of the data: {SEED} (set MANIFOLIA_TEST_SEED for another)"


#: Folders of the tests that are quick: two minutes on two cores, with the kernels compiled.
QUICK = frozenset(
    ("affinity", "contract", "core", "explain", "extension", "forest", "kernels", "layout", "neighbors", "operators")
)
#: What a function mentions that starts a process.
STARTING = frozenset(("subprocess", "run_apart", "multiprocessing", "ProcessPoolExecutor", "LocalCluster"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need: a browser, processes of their own, little time."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        own = {getattr(item, "originalname", item.name), *fixtures}
        if "browser" in fixtures:
            item.add_marker("browser")
        if own & _starting_processes(item.path):
            item.add_marker("process")
        is_long = any(item.get_closest_marker(name) for name in ("browser", "process", "slow"))
        # Of the estimators in the contract, quick tests take each with its usual settings: "PHATE", not "PHATE(3, …)".
        is_variant = "contract" in item.path.parts and "(" in item.name
        if item.path.relative_to(ROOT / "tests").parts[0] in QUICK and not is_long and not is_variant:
            item.add_marker("quick")


@functools.cache
def _starting_processes(path: Path) -> frozenset[str]:
    """Name the tests and fixtures of a file, and of the conftest.py beside it, that start a process in the end."""
    mentioned: dict[str, set[str]] = {}
    for source in {path, path.with_name("conftest.py")}:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))) if source.is_file() else ():
            if isinstance(node, ast.FunctionDef):
                inside = list(ast.walk(node))
                mentioned[node.name] = {
                    *(part.id for part in inside if isinstance(part, ast.Name)),
                    *(part.attr for part in inside if isinstance(part, ast.Attribute)),
                    *(part.arg for part in inside if isinstance(part, ast.arg)),
                }
    found = set(STARTING)
    while more := {name for name, names in mentioned.items() if name not in found and names & found}:
        found |= more
    return frozenset(found)


@pytest.fixture
def seed() -> int:
    """Return the seed of this run: 0, or what MANIFOLIA_TEST_SEED says."""
    return SEED


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Return a generator with this run's seed, fresh for each test."""
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def _registries_as_they_were() -> Iterator[None]:
    """Forget the metrics and methods that a test registered: the order of tests is random."""
    tables = [
        import_module("manifolia.metrics.registry")._OWN,
        import_module("manifolia.registry")._METHODS,
    ]
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        if table != entries:
            table.clear()
            table.update(entries)


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    """Close the figures that pyplot knows: a later test may count them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
