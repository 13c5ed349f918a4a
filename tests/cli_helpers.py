"""A table like a user's, and the command line, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pandas as pd
from click.testing import CliRunner


def environment(**more):
    return {**os.environ, "OMP_WAIT_POLICY": "passive", "COLUMNS": "100", **more}


def run(*arguments, cwd=None, **more):
    """Run a command: here, which spares the imports, unless it needs variables or arguments of a process of its own."""
    arguments = [str(argument) for argument in arguments]
    if more or "--debug" in arguments:
        return run_apart(*arguments, cwd=cwd, **more)
    from manifolia.cli import main

    handler = signal.getsignal(signal.SIGTERM)
    with contextlib.chdir(cwd or os.curdir), _usual_warnings():
        done = CliRunner().invoke(main, arguments, prog_name="manifolia", env={"COLUMNS": "100"})
    signal.signal(signal.SIGTERM, handler)
    stderr = done.stderr
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        stderr += "".join(traceback.format_exception(done.exception))
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, stderr)


def run_apart(*arguments, cwd=None, **more):
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "manifolia", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", cwd=cwd, env=environment(**more), check=False, timeout=300,
    )  # fmt: skip


@contextlib.contextmanager
def _usual_warnings():
    """Warnings as a fresh process has them: printed to stderr, and those for developers ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = lambda message, category, filename, lineno, file=None, line=None: sys.stderr.write(
            warnings.formatwarning(message, category, filename, lineno, line)
        )
        yield


def one_sentence(done):
    """What a command said when it failed: one line on stderr, no traceback, nothing on stdout."""
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Note: ")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Error: ")
    return lines[0]


def passengers(n=240, seed=0):
    """A table like the Titanic's: names, categories, gaps, and a target that depends on some of it."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["male", "female"], n)
    cabin_class = rng.choice([1, 2, 3], n, p=[0.25, 0.25, 0.5])
    survived = (rng.random(n) < 0.15 + 0.55 * (sex == "female") + 0.1 * (cabin_class == 1)).astype(int)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 80, n).astype(float))
    port = rng.choice(["S", "C", "Q"], n).astype(object)
    port[rng.random(n) < 0.02] = None
    return pd.DataFrame(
        {
            "Name": [f"Passenger number {i}" for i in range(n)],
            "Survived": survived,
            "Pclass": cabin_class,
            "Sex": sex,
            "Age": age,
            "Fare": np.round(np.exp(rng.normal(3.5 - 0.5 * cabin_class, 0.5, n)), 2),
            "Embarked": port,
            "Ship": "Titanic",
        }
    )
