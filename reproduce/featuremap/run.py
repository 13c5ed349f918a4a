"""FeatureMAP's tables and figures with the paper's beside them: Table 1, on nine sets, and Fig. 1, 4 to 19.

    python -m reproduce.featuremap.run [--full | --rows 2000] [--only map-mnist] [--out docs/results/featuremap.md]

``--full`` takes whole sets, as the paper did; without it larger ones are sampled. Every part is kept in ``--parts``
when it is done, so that a run that was stopped goes on where it was; ``--again PATTERN`` computes parts anew whose name
holds the pattern. Other packages' maps are in the page if they are installed (``pip install -e '.[peers]'``).
Pictures go to ``images/featuremap`` beside the page.

The PBMC set is another than the paper's RNA set and has no figure beside it. The paper names no set for Fig. 7 (here
MNIST and its digit 1) and no way to find the clusters of Fig. 9 and 10 (here k-means).
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import functools
import importlib.metadata
import json
import os
import pathlib
import platform
import tempfile
import time

from reproduce._shared import counts
from reproduce.featuremap import adversarial, data, figures, gallery, page, peers, table

import manifolia


def parts(n_rows):
    """Every part by name, small sets first."""
    found = {}
    for seed in range(table.SEEDS):
        for name in data.BY_SIZE:
            for method in peers.ALL:
                if method == peers.WRITTEN and name not in data.PAPER:
                    continue  # nothing of the paper stands beside it
                if seed < table.seeds_of(name, n_rows, method):
                    found[f"map-{name}-{method}-{seed}"] = functools.partial(table.map_part, name, n_rows, method, seed)
    for seed in range(table.SEEDS, table.TEAR_SEEDS) if n_rows is None else ():
        found[f"tear-mnist-{seed}"] = functools.partial(table.tear_part, "mnist", seed)
    for n in gallery.sizes(n_rows):
        for method in gallery.TIMED:
            found[f"time-{n}-{method}"] = lambda n=n, method=method: gallery.time_part(n, method)
    for name in data.SETS:
        found[f"gallery-{name}"] = lambda name=name: gallery.gallery_part(name)
        found[f"limit-{name}"] = lambda name=name: table.limit_part(name, n_rows)
        found[f"fidelity-{name}"] = lambda name=name: table.fidelity_part(name, n_rows)
    for name, make in figures.PARTS.items():
        found[name] = lambda make=make: make(n_rows)
    found["fig6"] = lambda: adversarial.adversarial_part(n_rows)
    return found


def run(n_rows, folder, only, again):
    """Compute what is asked for and not there yet; return all that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, compute in parts(n_rows).items():
        path = folder / f"{name.replace(' ', '_')}.json"
        wanted = not only or any(one in f"{name} " for one in only)
        if path.exists() and (not wanted or not any(one in f"{name} " for one in again)):
            results[name] = json.loads(path.read_text(encoding="utf-8"))
            continue
        if not wanted:
            continue
        begin, busy = time.perf_counter(), time.process_time()
        results[name] = compute()
        if results[name] is None:
            continue
        beside = path.with_suffix(".part")
        beside.write_text(json.dumps(results[name]), encoding="utf-8")
        os.replace(beside, path)
        print(f"{name}: {time.perf_counter() - begin:.0f} s, {time.process_time() - busy:.0f} CPU s", flush=True)
    return {name: result for name, result in results.items() if result is not None}


def with_lines(found, n_rows):
    """Add the lines of the table, each from the maps of its seeds."""
    for name in data.SETS:
        for method in peers.ALL:
            keys = [f"map-{name}-{method}-{seed}" for seed in range(table.seeds_of(name, n_rows, method))]
            made = [found[key] for key in keys if key in found]
            if made:
                found[f"table-{name}-{method}"] = table.line(made)
    return found


def write(found, out, n_rows):
    """Write the page."""
    whole = "--full" if n_rows is None else f"--rows {n_rows}"
    lines = [
        "# FeatureMAP: the paper's figures beside ours",
        "",
        *counts.head(page.cells(found)),
        "",
        "One seed, or means over as many as the table says.",
        "",
        f"Made by `reproduce/featuremap/run.py {whole}` on {datetime.date.today()}, manifolia {manifolia.__version__}, "
        f"Python {platform.python_version()}{_versions(found)}. " + _measures(n_rows),
        "",
        *page.lines(found),
        *gallery.page(found, n_rows),
        *figures.page(found),
        *(["", *adversarial.page(found["fig6"])] if "fig6" in found else []),
    ]
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    counts.record(out.parent, "featuremap", page.cells(found))


def _measures(n_rows):
    """What is exact and what is estimated."""
    if n_rows is not None and n_rows <= table.EXACT_ROWS:
        return (
            f"Sets are sampled to {n_rows:,} rows; trustworthiness and continuity (7 neighbours) and radius "
            f"correlations (15) are estimated from {table.QUICK_RANKED} of these, ranked among all. k-NN accuracy has "
            "10, the row itself left out."
        )
    return (
        ("Whole sets, as in the paper. " if n_rows is None else f"Sets are sampled to {n_rows:,} rows. ")
        + f"Of more than {table.EXACT_ROWS:,} rows, trustworthiness and continuity (7 neighbours) and radius "
        f"correlations (15) are estimated from {table.RANKED:,} rows ranked among all, and Shepard goodness from "
        f"{table.PAIRS:,} pairs; k-NN accuracy (10, the row itself left out), triplets of class centres and torn "
        "classes are exact, and so is everything on smaller sets."
    )


def _versions(found):
    """The other packages whose maps are in the page."""
    named = []
    for package in dict.fromkeys(peers.PACKAGES.values()):
        methods = [method for method, its in peers.PACKAGES.items() if its == package]
        if any(name.endswith(f"-{method}") for name in found for method in methods):
            distribution = peers.INSTALLED_AS.get(package, package)
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                named.append(f"{distribution} {importlib.metadata.version(distribution)}")
    return "".join(f", {one}" for one in named)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--rows", type=int, default=2_000)
    size.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="", help="names of parts, or pieces of them, with commas")
    parser.add_argument("--again", default="", help="the same: computed anew")
    parser.add_argument("--parts", type=pathlib.Path, help="where parts are kept")
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    n_rows = None if arguments.full else arguments.rows
    kept = arguments.parts or pathlib.Path(tempfile.gettempdir()) / f"manifolia-featuremap-{n_rows or 'full'}"
    peers.FOLDER = kept / "maps"
    figures.FOLDER = (arguments.out.parent if arguments.out else kept) / "images" / "featuremap"
    only, again = ([one for one in text.split(",") if one] for text in (arguments.only, arguments.again))
    found = run(n_rows, kept, only, again)
    if arguments.out:
        write(with_lines(found, n_rows), arguments.out, n_rows)


if __name__ == "__main__":
    main()
