"""Kill commands at every kind of moment of their writing, and look at what is there afterwards.

``python killed.py FOLDER COMMAND N``, where COMMAND is "map", "map --force", "transform" or "tune", and N the number of
moments (0: each signal at every moment). What a command
computes is computed once; then, in a process forked for each moment, the command itself runs with that result until it
has done a given number of things to files of its folder. There it gets SIGKILL, SIGTERM or SIGINT. A line is printed
for each moment: its number, the signal, and what was there afterwards ("old", "new", or what is wrong).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path

import manifolia._cli.transform
import manifolia._cli.tune
import manifolia.runs.folder
import manifolia.runs.request
from cli_helpers import passengers, run
from manifolia.cli import main as command_line
from manifolia.runs import open_run

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: What the interpreter tells of changes to files, and of locks.
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree", "fcntl.flock")
BESIDE = ("run-2/thesis.txt", ".run.notes", ".run.0123abcd.part/mine.txt", "run.part", ".placed.csv.bak")


def remember(module, name):
    """Have a function of a module give what it has given once."""
    compute, known = getattr(module, name), []

    def recall(*arguments, **options):
        if not known:
            known.append(compute(*arguments, **options))
        return known[0]

    setattr(module, name, recall)


def apart(arguments, place, moment=None, number=None):
    """Run a command in a process of its own, which is killed at a moment; return how it ended and what it counted."""
    counted = place.parent / "counted"
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1], int(counted.read_text() or 0) if counted.exists() else 0
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    count = 0

    def hook(event, details):
        nonlocal count
        if event not in EVENTS or (event != "fcntl.flock" and not str(details[0]).startswith(str(place))):
            return
        count += 1
        if count == moment:
            os.kill(os.getpid(), number)

    code = 1
    try:
        sys.addaudithook(hook)
        command_line([str(argument) for argument in arguments], prog_name="manifolia")
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    if moment is None:
        counted.write_text(str(count))
    os._exit(code)


def content(target):
    """What is at a target, file by file."""
    if target.is_dir():
        return {path.name: path.read_bytes() for path in target.iterdir()}
    return {target.name: target.read_bytes()} if target.exists() else None


def state(target, old, names):
    """Whether what is there is wholly old or wholly new."""
    now = content(target)
    if now == old:
        return "old"
    if now is None or set(now) != names or not all(now.values()):
        return f"neither: {sorted(now or ())}"
    if target.is_dir():
        folder = open_run(target)
        assert all(part is not None for part in (folder.model, folder.payload, folder.coordinates, folder.rows))
    return "new"


def main() -> None:
    home, command, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    place = home / "place"
    for name in BESIDE:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("mine")
    passengers(80).to_csv(home / "a.csv", index=False)
    passengers(9, seed=1).to_csv(home / "new.csv", index=False)
    settings = ("-t", "Survived", "--set", "n_trees=10", "-q")
    assert run("map", home / "a.csv", *settings, "-o", home / "old").returncode == 0
    manifolia.runs.folder.is_installed = lambda name: False  # pictures only take time
    manifolia._cli.tune.is_installed = lambda name: False
    for module, name in (
        (manifolia.runs.request, "make_run"), (manifolia._cli.tune, "make_run"), (manifolia._cli.tune, "tune_table"),
        (manifolia._cli.transform, "place_new"),
    ):  # fmt: skip
        remember(module, name)
    target = place / "run"
    arguments = ["map", home / "a.csv", *settings, "-o", target]
    if command == "tune":
        arguments = ["tune", home / "a.csv", *settings, "--trials", "2", "--repeats", "1", "--jobs", "1", "-o", target]
    elif command == "transform":
        target = place / "placed.csv"
        arguments = ["transform", home / "old", home / "new.csv", "-q", "-o", target]
    before = content(home / "old") if command in ("map --force", "tune") else None
    before = {target.name: b"row\n1\n"} if command == "transform" else before
    assert run(*arguments).returncode == 0  # computes what is remembered
    names = set(content(target))

    def restore():
        for path in [target, *target.iterdir()] if target.is_dir() else [target]:
            if path.is_file():
                path.unlink()
        if target.is_dir():
            target.rmdir()
        if before is not None and target.suffix:
            target.write_bytes(before[target.name])
        elif before is not None:
            target.mkdir()
            for name, data in before.items():
                (target / name).write_bytes(data)

    replacing = [*arguments, "--force"]
    if before is not None:
        arguments = replacing
    restore()
    _, total = apart(arguments, place)
    assert total > 5
    assert state(target, before, names) == "new"
    n = n or max(40, len(SIGNALS) * total)
    for i in range(n):
        restore()
        moment, number = 1 + i * total // n, SIGNALS[i % len(SIGNALS)]
        status, _ = apart(arguments, place, moment, number)
        if number == signal.SIGKILL:
            assert os.WIFSIGNALED(status)
            if target.suffix == "" and before is not None:  # a later command that reads it
                apart(["info", target], place)
        found = state(target, before, names)
        status, _ = apart(replacing, place)  # a later command that writes it
        left = sorted(str(path.relative_to(place)) for path in place.rglob("*") if target not in path.parents)
        kept = {*BESIDE, *(str(Path(name).parent) for name in BESIDE if "/" in name), target.name}
        if status or state(target, before, names) != "new":
            found = f"the later command failed after {found}"
        elif set(left) != kept or any((place / name).read_text() != "mine" for name in BESIDE):
            found = f"left behind: {sorted(set(left) ^ kept)}"
        sys.stdout.write(json.dumps([moment, total, number.name, found]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
