"""Tables beyond memory: rates of sampling and placing, peak memory, and what more rows would take.

    python benchmarks/beyond_memory.py [--rows 1000000] [--fit-rows 100000] [--trees 100] [--all] [--keep FILE]

Makes a folder of Parquet files of 20 columns (250,000 rows each) in a temporary place, and removes it in the end. Each
step runs in a process of its own, so that its peak memory is its own. ``--all`` also makes a map of all rows in memory,
of the first million if there are more, and of larger samples, and compares how well these maps tell rows that none of
them has seen; ``--keep`` keeps the page.

* survey: one pass over all rows that decides on preparation and draws the sample
* make_map: ``manifolia map FOLDER --fit-rows N``, from the folder to the run with all rows placed; stages in seconds of
  the clock and of the processor
* rates: rows per second of the processor, one thread, on the same batches: scikit-learn's ``predict`` of the same
  forest on prepared rows, only the places of these, and all that is written of a row
* bits: the rows of a file as they were placed, and as ``transform`` in memory places them
* page: its size, and when the first picture is there, in headless Chromium
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import in_fresh_process, resident

PER_FILE, COLUMNS = 250_000, 20
MOST_IN_MEMORY = 1_000_000
HELD_OUT, LARGER = 50_000, (200_000, 400_000, 600_000)  # rows that no map has seen; of larger samples
RARE = 1e-4  # share of the rarest class


def rows_of(seed, n):
    """Rows of five classes by sectors and radius in a nonlinear plane, with a sixth of one row in ten thousand."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, COLUMNS)).astype(np.float64)
    u = X[:, 0] + 0.5 * X[:, 1] * X[:, 2]
    v = X[:, 3] - np.sin(X[:, 4] * 2.0) + 0.3 * rng.normal(size=n)
    kind = np.char.add("class ", ((np.arctan2(v, u) + np.pi) // (2 * np.pi / 5)).clip(0, 4).astype(int).astype(str))
    rare = rng.random(n) < RARE
    X[rare, 5] += 8.0
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(COLUMNS)])
    frame["kind"] = np.where(rare, "rare", kind)
    return frame


def make(folder, n):
    folder = Path(folder)
    folder.mkdir()
    for i in range(max(1, n // PER_FILE)):
        rows_of(i, min(n, PER_FILE)).to_parquet(folder / f"part-{i:03d}.parquet", index=False)
    return size(folder)


def size(folder):
    return sum(path.stat().st_size for path in Path(folder).glob("*.parquet"))


def survey(folder, n):
    from manifolia.stream import look_through
    from manifolia.tables.bottom_k import BottomK
    from manifolia.tables.digest import Digest
    from manifolia.tables.stream import open_stream

    start, busy = time.perf_counter(), time.process_time()
    look = look_through(open_stream(folder), Digest(), BottomK(n, classes=("kind",)))
    drawn = look.rows.finish()
    return {
        "clock": time.perf_counter() - start, "cpu": time.process_time() - busy, "peak": resident("VmHWM"),
        "rare in the table": drawn.class_counts["rare"],
        "rare in the sample": int((drawn.frame["kind"] == "rare").sum()),
    }  # fmt: skip


def make_map(folder, out, fit_rows, n_trees):
    import manifolia as mf

    start, busy, marks = time.perf_counter(), time.process_time(), {}

    def heard(event):
        now = time.perf_counter(), time.process_time()
        marks.setdefault(event.stage, [now, now])[1] = now

    run = mf.map(folder, "kind", fit_rows=fit_rows, out=out, n_trees=n_trees, guide="forest", callback=heard,
                 importance=False)  # fmt: skip
    placed = run.report["stream"]["placed"]
    return {
        "clock": time.perf_counter() - start, "cpu": time.process_time() - busy, "peak": resident("VmHWM"),
        "stages": {name: [round(b - a, 2) for a, b in zip(*ends, strict=True)] for name, ends in marks.items()},
        "accuracy": placed["right"] / placed["asked"],
        "bytes per placed row": size(Path(out) / "placed") / placed["rows"],
    }  # fmt: skip


def rates(folder, out, n):
    """Seconds of the processor per batch: `predict`, places, and all that is written; one thread each."""
    import manifolia as mf
    from manifolia.stream import placing_of
    from manifolia.tables.stream import open_stream

    run = mf.open_run(out)
    placing, stream = placing_of(run.model, run.report), open_stream(folder)
    spent = dict.fromkeys(("read", "prepare", "predict", "places", "all"), 0.0)
    n_rows = 0
    batches = (batch for part in stream.parts for batch in stream.batches(part))
    method, preparer = run.model[-1], run.model[0]
    method.set_params(n_jobs=1)
    method.forest_.set_params(n_jobs=1)
    mf.stream.place(run, pd.read_parquet(next(Path(folder).iterdir())).iloc[:1000], lambda frame: None)  # compiles
    while n_rows < n:
        for name in spent:
            start = time.process_time()
            if name == "read":
                batch = next(batches)
            elif name == "prepare":
                X = preparer.transform(batch.frame.drop(columns="kind"))
            elif name == "predict":
                method.forest_.predict(X)
            elif name == "places":
                method.transform(X)
            else:
                placing.frame_of(batch)
            spent[name] += time.process_time() - start
        n_rows += len(batch.frame)
    return {"rows": n_rows, **{name: n_rows / seconds for name, seconds in spent.items()}}


def bits(folder, out):
    """How many rows of the last file lie elsewhere, or are told otherwise, than in memory; batches of 1,000 rows."""
    import manifolia as mf

    run, path = mf.open_run(out), max(Path(folder).iterdir())
    found = pd.read_parquet(Path(out) / "placed" / path.name)
    others = {}
    for name, n in {"all together": len(found), "1,000 at a time": 20_000, "1 at a time": 300}.items():
        step = {"all together": n, "1,000 at a time": 1000, "1 at a time": 1}[name]
        rows = pd.read_parquet(path).iloc[:n]
        placed = pd.concat([run.transform(rows.iloc[first : first + step]) for first in range(0, n, step)])
        same = [placed[column].to_numpy() == found[column].to_numpy()[:n]
                for column in ("map_x", "map_y", "novelty", "predicted kind")]  # fmt: skip
        others[name] = {"rows": n, "others": int((~np.all(same, axis=0)).sum())}
    return others


def page(out, repeats=5):
    """Megabytes of the page, and seconds until the first picture and until it answers; medians."""
    from playwright.sync_api import sync_playwright

    from explorer import FLAGS

    path = Path(out) / "map.html"
    paints, ready = [], []
    with sync_playwright() as playwright:
        for _ in range(repeats):
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            tab = browser.new_page(viewport={"width": 1200, "height": 800})
            tab.goto(path.as_uri())
            tab.wait_for_selector("html[data-ready]", timeout=120_000)
            ready.append(float(tab.get_attribute("html", "data-ready")) / 1000)
            script = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paints.append(tab.evaluate(script) / 1000)
            told = tab.inner_text("header")
            browser.close()
    return {
        "MB": path.stat().st_size / 1e6, "first paint": sorted(paints), "ready": sorted(ready), "told": told,
        "load": Path("/proc/loadavg").read_text().split()[0],
    }  # fmt: skip


def accuracies(predicted, places, kinds, new_places, truth):
    """Share of rows that are told right: as a model predicts, and as the ten nearest rows of its map do."""
    from sklearn.neighbors import KNeighborsClassifier

    on_map = KNeighborsClassifier(10).fit(places, kinds).predict(new_places)
    return {"predicted": float((predicted == truth).mean()), "on the map": float((on_map == truth).mean())}


def mapped(frame, n_trees, held):
    """Accuracy on rows that no map has seen, of the map of a frame."""
    import manifolia as mf

    start, busy = time.perf_counter(), time.process_time()
    model = mf.GuidedMap(n_trees=n_trees, random_state=0).fit(frame.drop(columns="kind"), frame["kind"])
    spent = {"clock": time.perf_counter() - start, "cpu": time.process_time() - busy, "peak": resident("VmHWM")}
    X, truth = held.drop(columns="kind"), held["kind"].to_numpy()
    kinds = frame["kind"].to_numpy()
    found = accuracies(model.predict(X), model.embedding_, kinds, model.transform(X), truth)
    return {"rows": len(frame), **found, **spent}


def compare(folder, out, n_trees):
    """Accuracy on rows that no map has seen, of the map of a sample and of one of all rows, at most a million."""
    import manifolia as mf

    held = rows_of(10**6, HELD_OUT)
    run, axes = mf.open_run(out), ["map_x", "map_y"]
    found, made = run.transform(held), run.coordinates
    predicted, new_places = found["predicted kind"].to_numpy(), found[axes].to_numpy()
    truth = held["kind"].to_numpy()
    by_sample = accuracies(predicted, made[axes].to_numpy(), made["kind"].to_numpy(), new_places, truth)
    by_sample["rows"] = len(made)
    del run, found, made
    files = sorted(Path(folder).iterdir())[: MOST_IN_MEMORY // PER_FILE]
    whole = pd.concat([pd.read_parquet(path) for path in files], ignore_index=True)
    return {"held out": HELD_OUT, "sample": by_sample, "all": mapped(whole, n_trees, held)}


def larger(folder, n_trees, *n_rows):
    """The same of maps of larger samples."""
    import manifolia as mf

    held = rows_of(10**6, HELD_OUT)
    return [mapped(mf.stream.sample(folder, n, target="kind"), n_trees, held) for n in n_rows]


STEPS = {step.__name__: step for step in (survey, make_map, rates, bits, page, compare, larger)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fit-rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--keep", help="where the page of the map is copied to")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        name, arguments = json.loads(asked.inside)
        print(json.dumps(STEPS[name](*arguments)))
        return
    with tempfile.TemporaryDirectory() as home:
        folder, out = f"{home}/big", f"{home}/run"
        n_bytes = make(folder, asked.rows)
        print(f"{asked.rows:,} rows × {COLUMNS}, {n_bytes / 2**20:,.0f} MiB of Parquet", flush=True)
        steps = [
            ("survey", folder, asked.fit_rows),
            ("make_map", folder, out, asked.fit_rows, asked.trees),
            ("rates", folder, out, min(asked.rows, 400_000)),
            ("bits", folder, out),
            ("page", out),
            *([("compare", folder, out, asked.trees), ("larger", folder, asked.trees, *LARGER)] if asked.all else []),
        ]
        for name, *arguments in steps:
            found = in_fresh_process(__file__, "--inside", json.dumps([name, arguments]))
            print(name, json.dumps(found, indent=1), flush=True)
            if name == "make_map" and asked.keep:
                shutil.copy(f"{out}/map.html", asked.keep)


if __name__ == "__main__":
    main()
