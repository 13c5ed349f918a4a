"""What an import costs, told by the modules it brings and not by a clock."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

import manifolia

HEAVY = [
    "numba",
    "llvmlite",
    "matplotlib",
    "pandas",
    "sklearn",
    "scipy",
    "joblib",
    "numpy",
    "tqdm",
    "pyarrow",
    "optuna",
]


def imported_by(code: str) -> set[str]:
    """Run a program and return the modules it imports: what ``-X importtime`` lists, and what is there at the end.

    The list has a module that was removed again, the end has what came by ``importlib.import_module``.
    """
    ending = "\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", textwrap.dedent(code) + ending],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^import time:.*\|\s+(\S+)$", done.stderr, flags=re.MULTILINE)) | set(done.stdout.split())


def test_importing_the_package_brings_nothing_heavy():
    found = imported_by("import manifolia")
    assert "manifolia._core.lazy" in found  # the list is not empty for another reason
    assert sorted(found & set(HEAVY)) == []
    ours = {name for name in found if name.startswith("manifolia")}
    assert ours == {"manifolia", "manifolia._core", "manifolia._core.lazy", "manifolia._version", "manifolia.methods"}


def test_the_list_would_show_them():
    assert {"numpy", "sklearn", "scipy"} <= imported_by("import manifolia.tables.preparer")


def test_what_is_refused_before_the_work_begins_needs_no_scikit_learn():
    assert sorted(imported_by("import manifolia.runs.request") & {"sklearn", "numba", "matplotlib", "skops"}) == []


def test_each_public_name_resolves_and_brings_no_numba():
    found = imported_by(
        """
        import manifolia
        for name in dir(manifolia):
            getattr(manifolia, name)
        """
    )
    assert "manifolia._core.memory" in found
    assert sorted(found & {"numba", "llvmlite", "matplotlib"}) == []


def test_no_stage_imports_numba_before_a_kernel_is_called():
    found = imported_by(
        """
        import importlib, pkgutil, sys
        import manifolia
        for info in pkgutil.walk_packages(manifolia.__path__, "manifolia."):
            if not info.name.startswith(("manifolia.kernels", "manifolia.__main__")):
                importlib.import_module(info.name)
        assert "manifolia.forest.proximities" in sys.modules
        """
    )
    assert "manifolia.kernels._jit" not in found
    assert sorted(found & {"numba", "llvmlite"}) == []


def test_walking_all_modules_would_show_numba():
    assert "numba" in imported_by("import manifolia.kernels.random")


def test_a_stage_resolves_from_its_package():
    found = imported_by(
        "from manifolia import forest; assert forest.proximity.__module__ == 'manifolia.forest.proximities'"
    )
    assert "manifolia.forest.proximities" in found
    assert "numba" not in found


def test_a_kernel_brings_numba_when_it_is_called():
    found = imported_by(
        """
        import sys
        import numpy as np
        from sklearn.ensemble import RandomForestClassifier
        from manifolia import forest as of

        X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
        forest = RandomForestClassifier(5, bootstrap=True, random_state=0).fit(X, y)
        of.proximity
        assert "numba" not in sys.modules
        of.proximity(forest, X, kind="original")
        assert "numba" in sys.modules
        """
    )
    assert "manifolia.kernels.forest" in found


def test_the_listing_is_complete_and_sorted():
    assert dir(manifolia) == sorted(manifolia.__all__)
    assert {"__version__", "affinity", "datasets", "exceptions", "memory_limit"} <= set(dir(manifolia))


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match=r"module 'manifolia' has no attribute 'affinitie'"):
        _ = manifolia.affinitie
    with pytest.raises(ImportError, match="cannot import name 'affinitie' from 'manifolia'"):
        from manifolia import affinitie  # noqa: F401


def test_the_version_is_stated_once():
    from manifolia import _version

    assert manifolia.__version__ is _version.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?", manifolia.__version__)
