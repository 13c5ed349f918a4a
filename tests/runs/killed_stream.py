"""Kill a map of a folder of files at moments of its writing, call it again, and look at what is there.

``python killed_stream.py FOLDER N [transform]``. The map itself is computed once. Then, in a process forked for each
moment, the command runs with that result until it has done a given number of things to files of its run, where it gets
SIGKILL. A line is printed for each moment: how many files were placed then, how many of these were done again, and what
is wrong. With ``transform`` another folder is placed on the map, and the moments are the first N.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from killed import apart, remember

import manifolia.runs.folder
import manifolia.runs.streamed
from cli_helpers import passengers, run


def main() -> None:
    home, n = Path(sys.argv[1]), int(sys.argv[2])
    place = home / "place"
    big = place / "big"
    big.mkdir(parents=True)
    table = passengers(1500)
    for i, rows in enumerate(np.array_split(np.arange(len(table)), 6)):
        table.iloc[rows].to_csv(big / f"p{i}.csv", index=False)
    manifolia.runs.folder.is_installed = lambda name: False  # pictures only take time
    remember(manifolia.runs.streamed, "_fit")
    target = place / "run"
    arguments = ["map", big, "-t", "Survived", "--set", "n_trees=10", "-q", "--fit-rows", "1000", "--no-explain", "-o",
                 target]  # fmt: skip
    done = run(*arguments)  # computes what is remembered
    assert done.returncode == 0, done.stderr
    if sys.argv[3:] == ["transform"]:
        target.rename(home / "run")
        target = place / "placed"
        arguments = ["transform", home / "run", big, "-q", "-o", target]
        assert run(*arguments).returncode == 0
    whole = contents(target)
    shutil.rmtree(target)
    _, total = apart(arguments, place)
    assert contents(target) == whole
    for i in range(n):
        shutil.rmtree(target, ignore_errors=True)
        moment = 1 + i if target.name == "placed" else 1 + (i * total) // n
        status, _ = apart(arguments, place, moment, signal.SIGKILL)
        files = "*.csv" if target.name == "placed" else "placed/*.csv"
        times = {path: path.stat().st_mtime_ns for path in target.glob(files)}
        wrong = [path.name for path in times if pd.read_csv(path).to_csv() != whole[path.name]]
        lines = manifest_of(target)
        again = run(*arguments)
        complete = lines and json.loads(lines[-1]).get("finished")
        if again.returncode and not complete:
            wrong.append(again.stderr)
        if contents(target) != whole:
            wrong.append("not the same in the end")
        redone = sum(path.stat().st_mtime_ns != time for path, time in times.items())
        # A complete run is refused, and what a kill left beside it goes when a later command writes there.
        left = [] if complete else [path.name for path in place.iterdir() if path.name not in ("big", target.name)]
        print(json.dumps({"status": status, "placed": len(times), "redone": redone, "wrong": wrong + left}))  # noqa: T201


def manifest_of(target):
    """The lines of a manifest that were ended."""
    found = [path for path in (target / "manifest.jsonl", target / "placed" / "manifest.jsonl") if path.exists()]
    return found[0].read_text(encoding="utf-8").split("\n")[:-1] if found else []


def contents(target):
    """What is in a run, or a folder of placed rows, but for when it was made and the file of its model."""
    found = {path.name: pd.read_csv(path).to_csv() for path in target.rglob("*.csv") if path.name != "coordinates.csv"}
    header, *lines = [json.loads(line) for line in manifest_of(target)] or [{}]
    if target.name != "placed":
        header.pop("model", None)  # of a map that was made anew it is another file
    found["manifest"] = [header, sorted(lines, key=str)]
    found["names"] = sorted(path.relative_to(target).as_posix() for path in target.rglob("*"))
    if (target / "report.json").exists():
        found["stream"] = json.loads((target / "report.json").read_text(encoding="utf-8"))["stream"]
    return found


if __name__ == "__main__":
    main()
