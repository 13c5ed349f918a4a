"""Clock, peak memory, stages, data and fresh processes: what every benchmark measures with.

Importing it lets threads that wait at a barrier sleep (``OMP_WAIT_POLICY=passive``): OpenMP reads that when
scikit-learn or a kernel first loads it, which is later.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

STATUS = Path("/proc/self/status")


def clock(function, repeats=1):
    """Least seconds by the clock, least seconds of the processor, and the last result."""
    walls, cpus = [], []
    for _ in range(repeats):
        start, busy = time.perf_counter(), time.process_time()
        result = function()
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - busy)
    return min(walls), min(cpus), result


class StageClock:
    """A callback that notes when each stage of a fit began and was last heard of."""

    def __init__(self):
        self.marks = {}

    def __call__(self, event):
        self.marks.setdefault(event.stage, [time.perf_counter(), 0.0])[1] = time.perf_counter()

    @property
    def seconds(self):
        return {stage: end - begin for stage, (begin, end) in self.marks.items()}


def resident(key="VmRSS"):
    """Bytes that this process holds (VmRSS), or held at most since `forget_peak` (VmHWM).

    Linux tells; elsewhere it is the peak of ``getrusage``, which a process inherits from the one that started it.
    """
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
        return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def peak():
    """GiB that this process held at most."""
    return resident("VmHWM") / 2**30


def forget_peak():
    """Let the peak begin anew, where the system can do that, and without what was freed and not given back."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # only where the C library is GNU's
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def mnist(n=70_000, *, shuffled=False):
    """The first rows of MNIST in single precision, or rows drawn at random, and their digits."""
    from manifolia import datasets

    bunch = datasets.load("mnist")
    rows = np.random.default_rng(0).permutation(70_000)[:n] if shuffled else slice(n)
    return np.ascontiguousarray(bunch.data[rows], dtype=np.float32), np.asarray(bunch.target)[rows]


def in_fresh_process(script, *arguments, environment=None, limit=None):
    """Run a script with arguments in a process of its own; return what it prints last, read as JSON."""
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        env=None if environment is None else os.environ | environment,
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or "failed")
    return json.loads(done.stdout.splitlines()[-1])


def run_parts(script, description, parts, *, quick=False):
    """Run a benchmark's parts, functions by name, each in a fresh process, so that its peak memory is its own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=parts)
    parser.add_argument("--inside", choices=parts, help=argparse.SUPPRESS)
    if quick:
        parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    arguments = parser.parse_args()
    if arguments.inside:
        parts[arguments.inside]()
        return
    environment = dict(os.environ, QUICK_BENCHMARK="1") if quick and arguments.quick else os.environ
    for part in arguments.part or parts:
        subprocess.run([sys.executable, script, "--inside", part], check=True, env=environment)
