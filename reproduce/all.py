"""Every table and figure of the papers, one script after the other, and the one count of their cells.

    python -m reproduce.all [--full] [--only rf-phate,tuning] [--out reproduced]

Without ``--full`` sets are sampled and repetitions few, and pages go to the folder ``reproduced``; with it, the sets
and repetitions are the papers' and the pages those of ``docs/results``. The scripts keep finished parts, so that a run
that was stopped goes on where it was. A script that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import time
from typing import NamedTuple

from reproduce._shared import counts

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Script(NamedTuple):
    """A script of this folder, the paper it follows, and what a quick and a full run add to its command line.

    What a script counts it leaves in ``counts.json`` beside its page.
    """

    file: str
    paper: str
    part: str = ""
    quick: tuple[str, ...] = ()
    full: tuple[str, ...] = ("--full",)


SCRIPTS = {
    "rf-phate": Script("rf_phate/run.py", "RF-PHATE"),
    "rf-phate-robustness": Script("rf_phate/robustness.py", "RF-PHATE", "settings"),
    "baselines": Script("baselines/run.py", "RF-PHATE", "other methods"),
    "forest-family": Script("forest_family/run.py", "RF-PHATE", "other layouts"),
    "tuning": Script("tuning/run.py", "Bayesian tuning"),
    "forest-features": Script("forest_features/run.py", "forest features", quick=("--repeats", "1", "--folds", "3")),
    "kernel-tsne": Script("kernel_tsne/run.py", "kernel t-SNE"),
    "featuremap": Script("featuremap/run.py", "FeatureMAP"),
    "guided": Script("guided/page.py", "GuidedMap (ours)", quick=("--run", "quick"), full=("--run", "full")),
}


def run(name, *, full, folder):
    """Run one script; return its seconds and whether it ended well."""
    script = SCRIPTS[name]
    module = f"reproduce.{script.file.removesuffix('.py').replace('/', '.')}"
    command = [sys.executable, "-m", module, *(script.full if full else script.quick)]
    begin = time.perf_counter()
    print(f"== {name}: {' '.join(command[1:])}", flush=True)
    done = subprocess.run(
        [*command, "--out", str(folder / f"{name}.md")],
        check=False,
        cwd=ROOT,
        env={**os.environ, "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive")},
    )
    return time.perf_counter() - begin, done.returncode == 0


def summary(lines, folder):
    """Print the pages that were asked for, and the count of all cells in the folder."""
    print(f"\n{'page':21}{'paper':26}{'minutes':>10}")
    for name, seconds, well in lines:
        script = SCRIPTS[name]
        of = f"{script.paper}, {script.part}" if script.part else script.paper
        print(f"{name:21}{of:26}{seconds / 60:10.1f}{'' if well else '  failed'}")
    print(f"\n{counts.text(counts.load(folder))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the papers' sets and repetitions; takes hours")
    parser.add_argument("--only", default=",".join(SCRIPTS), help="some of the pages, with commas")
    parser.add_argument("--out", type=pathlib.Path, help="folder of the pages")
    parser.add_argument("--count", action="store_true", help="run nothing: count the cells of the pages that are there")
    arguments = parser.parse_args()
    chosen = [name for name in arguments.only.split(",") if name]
    unknown = sorted(set(chosen) - set(SCRIPTS))
    if unknown:
        parser.error(f"no page is called {', '.join(unknown)}. There are: {', '.join(SCRIPTS)}.")
    usual = ROOT / ("docs/results" if arguments.full or arguments.count else "reproduced")
    folder = (arguments.out or usual).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for name in chosen:
        seconds, well = (0.0, True) if arguments.count else run(name, full=arguments.full, folder=folder)
        lines.append((name, seconds, well))
    summary(lines, folder)
    print(f"pages: {folder}")
    return int(not all(well for *_, well in lines))


if __name__ == "__main__":
    sys.exit(main())
