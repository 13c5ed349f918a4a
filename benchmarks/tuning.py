"""The tuner against a grid: runs and time until what it recommends is truly as good as the grid's choice.

    python benchmarks/tuning.py [--batches 20] [--work DIR]

t-SNE on two sets of the paper on tuning: two unbalanced clusters (60 points, 1 − NMI), and a third of COIL (120 images,
1 − AUC). The grid runs about 60 perplexities 10 times each and takes the least mean. The tuner is asked after every
trial what it would recommend: the setting whose loss the surrogate expects to be least. "True" is the mean of runs that
neither saw. The tuner has drawn level when the mean true loss of its recommendations, over the batches, is at or below
that of the grids' choices, from then on within one standard error of the difference. Its whole study, with the fresh
runs that confirm the choice and those that measure it, stands beside.

Runs come from the pool of `reproduce/tuning/data.py` and are shared by both; what they cost was measured when they were
made, in seconds of the processor. The tuner's own time is that of a study over finished runs. Targets: 3 times fewer
runs (6 sought), and less than 0.2 s of the tuner's own for a trial.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np
from reproduce.tuning.studies import Store, grid, grid_settings, searched, searches, study

SETS = {"clusters": "nmi", "coil:third": "auc_r_nx"}
N_TRIALS = 20


def level(histories, target, grid_error):
    """First trial from which the mean true loss is at or below the grid's and stays within a standard error of it."""
    true = histories[:, :, 2]
    means = true.mean(axis=0)
    doubt = np.hypot(true.std(axis=0, ddof=1) / np.sqrt(len(true)), grid_error)
    for at in range(len(means)):
        if means[at] <= target and np.all(means[at:] <= target + doubt[at:]):
            return at
    return None


def compare(store, name, figure, batches):
    pool = store.pool(name)
    settings = grid_settings(pool, 60)
    label = name.partition(":")[0]
    grids = [store.get(f"grid-{label}-{b}", lambda b=b: grid(pool, figure, settings, b)) for b in range(batches)]
    studies = searches(store, pool, figure, ("gp-ei",), batches)["gp-ei"]
    histories = np.array([[step[:3] for step in one["history"]] for one in studies])
    true = np.array([one["true"] for one in grids])
    error = true.std(ddof=1) / np.sqrt(batches)
    found = np.array([one["true"] for one in studies])
    seconds = float(np.mean([pool.runs(s, range(searched(pool)))[:, -1].mean() for s in settings]))
    # A study that had to add to the pool did not measure its own time: repeat one, now that all its runs are there.
    own = min(study(pool, figure, "gp-ei", batch)["seconds"] for batch in range(3)) / N_TRIALS
    runs = grids[0]["runs"]
    print(f"\n{name}, {batches} batches, {seconds:.3f} s a run")
    print(f"  grid of {len(settings)} × 10: true {true.mean():.4f} ± {error:.4f}, {runs} runs, {runs * seconds:.1f} s")
    whole, used = found.mean(), np.mean([one["runs"] for one in studies])
    se = found.std(ddof=1) / np.sqrt(batches)
    took = used * seconds + N_TRIALS * own
    print(
        f"  whole study: true {whole:.4f} ± {se:.4f}, {used:.0f} runs, {runs / used:.1f} times fewer, {took:.1f} s, "
        f"{runs * seconds / took:.1f} times less"
    )
    at = level(histories, true.mean(), error)
    if at is None:
        print(f"  not level within {N_TRIALS} trials: {histories[:, -1, 2].mean():.4f}")
    else:
        used = histories[:, at, 0].mean()
        took = used * seconds + (at + 3) * own
        print(
            f"  level after {at + 3} trials: true {histories[:, at, 2].mean():.4f}, {used:.0f} runs, {runs / used:.1f} "
            f"times fewer (3 required, 6 sought), {took:.1f} s, {runs * seconds / took:.1f} times less"
        )
    print(f"  the tuner itself: {own:.3f} s a trial (target 0.2)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "manifolia-tuning")
    arguments = parser.parse_args()
    store = Store(arguments.work)
    for name, figure in SETS.items():
        compare(store, name, figure, arguments.batches)


if __name__ == "__main__":
    main()
