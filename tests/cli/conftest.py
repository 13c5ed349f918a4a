"""One run that many tests read."""

from __future__ import annotations

import pytest

from cli_helpers import passengers, run


@pytest.fixture(scope="session")
def manifolia():
    return run


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "ship.csv"
    passengers().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def finished(table, tmp_path_factory):
    """One run that many tests read."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    done = run("map", table, "--target", "Survived", "-o", folder, "--set", "n_trees=60")
    assert done.returncode == 0, done.stderr
    return folder, done
