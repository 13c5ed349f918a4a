"""Seeds, the kernels' cache and the property tests' settings, for every test."""

from __future__ import annotations

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
