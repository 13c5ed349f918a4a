"""A map alone and on a Dask cluster of two processes of this machine: seconds of the clock, in turns.

    python benchmarks/cluster.py [--rows 60000] [--columns 40] [--trees 100] [--rounds 3]

On one machine a cluster can only cost: the same cores do the work, and rows travel between processes. What it costs is
the ratio of the two times of one round; the other rounds say how much of that is the rest of the machine. Both sides
have compiled their kernels before. The processor time is that of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from _measure import in_fresh_process

TARGET = 1.3  # times the clock alone


def rows_of(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, ((np.arctan2(X[:, 0] + X[:, 1] * X[:, 2], X[:, 3]) + np.pi) // (2 * np.pi / 6)).clip(0, 5).astype(int)


def busy():
    """Seconds of the processor of this process and its children that live."""
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for task in Path(f"/proc/{pid}/task").iterdir():
            waiting += [int(child) for child in (task / "children").read_text().split()]
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def measure(n, d, n_trees, rounds):
    import dask
    from distributed import Client, LocalCluster

    import manifolia as mf

    X, y = rows_of(n, d)
    model = mf.RFPHATE(n_trees=n_trees, random_state=0)

    def fit():
        clock, cpu, marks = time.perf_counter(), busy(), {}

        def heard(event):
            marks.setdefault(event.stage, [time.perf_counter()] * 2)[1] = time.perf_counter()

        model.set_params(callback=heard)
        embedding = model.fit(X, y).embedding_
        seconds = {"clock": time.perf_counter() - clock, "cpu": busy() - cpu}
        return embedding, seconds | {name: round(b - a, 2) for name, (a, b) in marks.items()}

    found = []
    with (
        dask.config.set({"distributed.worker.memory.terminate": False, "distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        few = mf.RFPHATE(n_trees=8, random_state=0)
        few.fit(X[:4000], y[:4000])
        with mf.distributed.use(client):
            few.fit(X[:4000], y[:4000])
        for _ in range(rounds):
            here, alone = fit()
            with mf.distributed.use(client):
                there, together = fit()
            found.append({"alone": alone, "cluster": together, "ratio": together["clock"] / alone["clock"],
                          "same bits": bool((here == there).all())})  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        print(json.dumps(measure(*json.loads(asked.inside))))
        return
    arguments = json.dumps([asked.rows, asked.columns, asked.trees, asked.rounds])
    found = in_fresh_process(__file__, "--inside", arguments)
    print(json.dumps(found, indent=1))
    ratios = sorted(one["ratio"] for one in found)
    middle = ratios[len(ratios) // 2]
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"{asked.rows:,} × {asked.columns}: {middle:.2f} times the clock alone (median of {len(ratios)}), target "
          f"{TARGET}: {'met' if middle <= TARGET else 'missed'}; load {load}")  # fmt: skip


if __name__ == "__main__":
    main()
