"""Files of a run that were altered or made by hand: a sentence that names the file, and no more memory than allowed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli_helpers import environment, passengers
from manifolia.runs import Request, make_run, write_run
from manifolia.tables import read

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    run = make_run(read(passengers(120)), Request(target=("Survived",), settings={"n_trees": 30}))
    return write_run(run, tmp_path_factory.mktemp("hostile") / "run")


def attack(folder, place, kind, n, seed=0):
    """Give n files to commands, in a process whose memory is limited, and return what came of each."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("hostile.py")), str(seed), str(folder), str(place), kind, str(n)],
        env=environment(PYTHONPATH=os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])),
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == n
    for line in lines:
        name, _, _, _, code, said = line
        assert code in (0, 1), line
        errors = [text for text in said.splitlines() if not text.startswith("Note: ")]
        assert len(errors) == code, line
        if code:
            assert re.match(
                rf"Error: '?RUN(/{re.escape(name)}'?)? (is not|holds no|is damaged|has format|does not)", errors[0]
            ), line
            assert "MemoryError" not in said, line
    return lines


@pytest.mark.parametrize("kind", ["corrupted", "crafted"])
def test_some_hostile_files(kind, folder, tmp_path):
    assert len(attack(folder, tmp_path, kind, 4)) == 4


@pytest.mark.slow
def test_three_hundred_corrupted_files(folder, tmp_path, seed):
    lines = attack(folder, tmp_path, "corrupted", 300, seed)
    assert sum(code for *_, code, _ in lines) > 270  # a digit of a coordinate may change without anyone noticing


@pytest.mark.slow
def test_sixty_crafted_files(folder, tmp_path):
    lines = attack(folder, tmp_path, "crafted", 60)
    assert sum(code for *_, code, _ in lines) >= 57  # some entries of a report may be anything
