"""Corrupt and craft the files of a run, and give each to the commands that read it.

Runs in a process of its own, whose memory is limited: ``python hostile.py SEED RUN FOLDER KIND N``. KIND is "corrupted"
(bytes that were altered) or "crafted" (files that are whole, and hold what no command wrote). A line is printed for
each: what was done, the command, how many seconds it took, the exit code, and what was said.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import sys
import time
import zipfile
from pathlib import Path

import numpy as np

from cli_helpers import passengers, run
from persist.forgery import npy, with_schema
from persist.test_persist_crafted import (
    array_many_times,
    deep_items,
    entries,
    items_besides,
    keys_of_one_hash,
    large_set,
    list_as_text,
    numbered,
    shared_levels,
    text,
)
from persist.test_persist_damage import flip, insert, overwrite, remove, truncate

ROOM = 500 * 2**20  # bytes that a command may take on top of what the libraries take
LIMIT = "200MB"
#: Which commands read a file.
READERS = {
    "model.mfa": [("transform", "new.csv"), ("explain", "--row", "3"), ("score", "--data", "new.csv")],
    "report.json": [("info",), ("score",), ("explain",), ("transform", "new.csv"), ("score", "--all")],
    "payload.npz": [("explore",), ("explain", "--row", "3"), ("transform", "new.csv", "--page", "new.html", "-f")],
    "rows.npz": [("score", "--all"), ("explain", "--row", "3"), ("transform", "new.csv", "--page", "new.html", "-f")],
    "coordinates.csv": [("explain", "--row", "3"), ("score", "--all")],
}


def corrupted(rng, good, place):
    """Yield files with bytes that were altered."""
    ways = [flip, truncate, overwrite, remove, insert]
    while True:
        for name in READERS:
            way = ways[rng.integers(len(ways))]
            content = good[name]
            for _ in range(1 if name == "model.mfa" else rng.integers(1, 6)):
                content = way(content, rng) or b"\0"
            (place / name).write_bytes(content)
            yield name, way.__name__


# --- crafted ----------------------------------------------------------------------------------------------------------


def many_levels(levels):
    def make(schema):
        node = numbered(entries("list"), 1)
        for level in range(2, levels + 2):
            node = numbered(entries("tuple", node, numbered(entries("tuple"), level - 1)), level)
        return node

    make.__name__ = f"{levels} levels"
    return make


def very_many(schema):
    return entries("list", *[numbered(text(i), i + 10) for i in range(400_000)])


def very_many_lists(schema):
    return entries("list", *[entries("list") for _ in range(400_000)])


def long_list_as_text(schema):
    return text([[]] * 3_000_000)


def lists_besides(schema):
    return {**text(1), "more": [[]] * 3_000_000}


def long_text(schema):
    return text("a" * 200_000_000)


def deepest(schema):
    node = entries("list")
    for _ in range(300):
        node = entries("list", node)
    return node


def largest_set(schema):
    return entries("set", *[text(i * (2**61 - 1)) for i in range(60_000)])


MODELS = [shared_levels, many_levels(20), many_levels(60), very_many, very_many_lists, list_as_text, long_list_as_text,
          items_besides, lists_besides, long_text, deep_items, deepest, array_many_times, large_set, largest_set,
          keys_of_one_hash]  # fmt: skip


def with_value(value, *keys):
    """Change one entry of the report."""

    def change(report):
        inner = report
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value

    return change


ENTRIES = [
    ("data",), ("data", "rows"), ("target", "columns"), ("scores", 0, "value"), ("importances", 0, "column"),
    ("model", "oob_score"), ("findings", 0), ("axes",),
]  # fmt: skip
REPORTS = [with_value(value, *keys) for keys in ENTRIES for value in (None, "text", [[1]])]
RAW_REPORTS = [
    b"[" * 10**6, b"[" + b"[]," * 10**7 + b"[]]", b'{"a":' * 10**5, b"9" * 10**6, b'"' + b"a" * 10**8 + b'"',
    b'{"notes": [' + b'"",' * 10**7 + b'""]}',
]  # fmt: skip


def zeros(n):
    """An array that packs to a thousandth."""
    return npy(np.zeros(n))


def lying(shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 8


ARRAYS = [
    {"rows.npy": zeros(10**8)}, {"rows.npy": lying("(10000000000000,)")}, {"rows.npy": lying("(-1,)")},
    {"rows.npy": b""}, {"rows.npy": npy(np.zeros((3, 3)))}, {"rows.npy": npy(np.array(["a"] * 9))}, {"other": b"x"},
]  # fmt: skip
DESCRIPTIONS = [
    b"[" * 10**6, b"[" + b"[]," * 10**7 + b"[]]", b"{}", b"[]", b'{"format": "manifolia-explorer", "version": 3}',
    b'{"format": "manifolia-explorer", "version": 99}', b"9" * 10**6,
]  # fmt: skip


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)


def crafted(rng, good, place):
    """Yield files that are whole, and hold what no command wrote."""
    for make in MODELS:

        def change(schema, make=make):
            schema["content"]["content"]["steps"]["content"][0] = make(schema)

        (place / "good.mfa").write_bytes(good["model.mfa"])
        with_schema(place / "good.mfa", place / "model.mfa", change, **{"17.npy": npy(np.zeros(10**6))})
        yield "model.mfa", make.__name__
    for i, change in enumerate(REPORTS):
        report = json.loads(good["report.json"])
        change(report)
        (place / "report.json").write_text(json.dumps(report))
        yield "report.json", f"report {i}"
    for i, content in enumerate(RAW_REPORTS):
        (place / "report.json").write_bytes(content)
        yield "report.json", f"raw report {i}"
    for i, members in enumerate(ARRAYS):
        archive(place / "rows.npz", members)
        yield "rows.npz", f"arrays {i}"
    for i, content in enumerate(DESCRIPTIONS):
        with np.load(io.BytesIO(good["payload.npz"])) as file:
            members = {f"{name}.npy": npy(file[name]) for name in file.files}
        archive(place / "payload.npz", {**members, "meta.npy": npy(np.frombuffer(content, dtype=np.uint8))})
        yield "payload.npz", f"description {i}"


def main() -> None:
    seed, source, folder, kind, n = sys.argv[1:]
    rng, place = np.random.default_rng(int(seed)), Path(folder) / "run"
    os.environ["MANIFOLIA_MEMORY_LIMIT"] = LIMIT
    shutil.copytree(source, place)
    passengers(5, seed=5).to_csv(Path(folder) / "new.csv", index=False)
    good = {name: (place / name).read_bytes() for name in READERS}
    for commands in READERS.values():  # so that every library is imported, and every kernel compiled
        for command, *more in commands:
            assert run(command, place, *more, cwd=folder).returncode == 0
    files = {"corrupted": corrupted, "crafted": crafted}[kind](rng, good, place)
    for i in range(int(n)):
        resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        try:
            name, what = next(files)
        except StopIteration:
            break
        command, *more = READERS[name][i % len(READERS[name])]
        taken = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (taken + ROOM, resource.RLIM_INFINITY))
        began = time.perf_counter()
        done = run(command, place, *more, cwd=folder)
        took = round(time.perf_counter() - began, 2)
        said = done.stderr.replace(str(place), "RUN")
        sys.stdout.write(json.dumps([name, what, " ".join([command, *more]), took, done.returncode, said]) + "\n")
        sys.stdout.flush()
        (place / name).write_bytes(good[name])


if __name__ == "__main__":
    main()
