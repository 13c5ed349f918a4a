"""The first minute with the command: a demo with nothing compiled, the next one, an error, one new row.

    python benchmarks/first_minute.py

Each command runs in a process of its own; the kernels of the first are compiled into an empty folder, which the others
find. Seconds of the clock and of the processor: on a machine with other work only the second says much. With nothing
compiled two processes compile, and the seconds of the processor are of both: the clock of two free cores shows about
half of them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sklearn.datasets import load_wine

TARGETS = {"demo, nothing compiled": 12.0, "demo": 4.0, "an error about the table": 1.0, "transform of one row": 1.5}
ROUNDS = 3


def run(arguments, folder, environment):
    """Seconds of the clock and of the processor that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "manifolia", *arguments]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels"), "OMP_WAIT_POLICY": "passive"}
        wine = load_wine(as_frame=True).frame
        wine.to_csv(folder / "wine.csv", index=False)
        wine.iloc[:1].to_csv(folder / "one.csv", index=False)
        demos = []
        for k in range(1 + ROUNDS):
            (folder / f"demo{k}").mkdir()
            demos.append(run(["demo"], folder / f"demo{k}", environment))
        error = [run(["map", "wine.csv", "--target", "vintage"], folder, environment) for _ in range(ROUNDS)]
        run(["map", "wine.csv", "--target", "target", "-o", "run"], folder, environment)
        run(["transform", "run", "one.csv"], folder, environment)
        one = [run(["transform", "run", "one.csv"], folder, environment) for _ in range(ROUNDS)]
    print(f"load when it ended: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for (what, target), measured in zip(TARGETS.items(), (demos[:1], demos[1:], error, one), strict=True):
        clock, cpu = (min(values) for values in zip(*measured, strict=True))
        told = "met" if clock < target else "missed"
        print(f"{what:26} {clock:6.2f} s by the clock, {cpu:6.2f} s of the processor, target {target:g} s: {told}")


if __name__ == "__main__":
    main()
