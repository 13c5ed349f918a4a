"""A command that is killed leaves what was there or what it made, whole; and a later one clears up after it."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_helpers import environment

pytestmark = [pytest.mark.process, pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")]


def kill(folder, command, n):
    """Kill a command at n moments (0: with each signal at every one), and count what was there afterwards."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed.py")), str(folder), command, str(n)],
        env=environment(PYTHONPATH=os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])),
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    counts = collections.Counter(found for *_, found in lines)
    assert set(counts) <= {"old", "new"}, lines
    return counts


@pytest.mark.parametrize("command", ["map --force", "transform"])
def test_some_moments(command, tmp_path):
    assert kill(tmp_path, command, 12).total() == 12


@pytest.mark.slow
@pytest.mark.parametrize("command", ["map", "map --force", "transform", "tune"])
def test_every_moment_and_signal(command, tmp_path):
    counts = kill(tmp_path, command, 0)
    assert counts.total() >= 40
    assert set(counts) == {"old", "new"}
