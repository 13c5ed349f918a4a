"""Placing new rows by a kernel map against openTSNE's and umap-learn's ``transform``: time, memory, quality.

    python benchmarks/kernel_map.py [--rows 14500 29000 58000] [--peer-rows 2000 8000] [--peers FOLDER] [--json FILE]

MNIST: 2,000 of 60,000 rows, drawn evenly, reduced to 30 principal components of their own, are laid out; all others are
placed. Ours stands on our t-SNE, the peers on their own layouts of the same 2,000 rows. Everything runs on one thread
and is timed by the processor's clock, the best of some repetitions after a first call that compiles. The peers place
samples of the rows, since all would take them an hour; the ratio is that of the times per row, against the quickest per
row that the peer showed. "accuracy" is that of the nearest training row in the map, on the first 2,000 of the placed
rows. Memory is what NumPy takes at the peak of ``transform``, the result not counted. "1 = 2 threads" and "alone =
batch" compare bits.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"))

import numpy as np
from _measure import clock, in_fresh_process

N_TRAIN, N_COMPONENTS = 2000, 30
OURS = {
    "kernel": {"mapping": "kernel"},
    "kernel, factor 0.1": {"mapping": "kernel", "bandwidth": "global"},
    "mode": {"mapping": "mode"},
}
JUDGED = 2000


def prepare(folder):
    """Write training rows, their map, the other rows and the labels."""
    from sklearn.decomposition import PCA

    from manifolia import KernelTSNE, datasets

    bunch = datasets.load("mnist")
    X, y = np.asarray(bunch.data, dtype=np.float32)[:60_000], np.asarray(bunch.target)[:60_000].astype(int)
    train = np.sort(np.random.default_rng(0).choice(len(X), N_TRAIN, replace=False))
    Z = np.ascontiguousarray(PCA(N_COMPONENTS, random_state=0).fit(X[train]).transform(X), dtype=np.float32)
    rest = np.random.default_rng(1).permutation(np.setdiff1d(np.arange(len(X)), train))
    Y = KernelTSNE(n_train=None, pca=None, random_state=0, n_jobs=1).fit(Z[train]).embedding_
    np.savez(folder / "data.npz", C=Z[train], Y=Y, N=Z[rest], yc=y[train], yn=y[rest])


def accuracy(Y, places, yc, yn):
    gaps = ((places[:JUDGED, None, :] - Y[None]) ** 2).sum(axis=2)
    return float((yc[gaps.argmin(axis=1)] == yn[: len(gaps)]).mean())


def ours(folder, name, rows):
    from manifolia import KernelMap

    data = np.load(folder / "data.npz")
    N = np.ascontiguousarray(data["N"][:rows])
    model = KernelMap(**OURS[name], n_jobs=1).fit(data["C"], data["Y"])
    model.transform(N[:JUDGED])
    _, seconds, places = clock(lambda: model.transform(N), 3)
    some = np.random.default_rng(0).choice(len(N), 50, replace=False)
    alone = all((model.transform(N[i : i + 1]) == places[i]).all() for i in some)
    model.set_params(n_jobs=2)
    same = model.transform(N).tobytes() == places.tobytes()
    return {
        "seconds": seconds,
        "rows": rows,
        "accuracy": accuracy(data["Y"], places, data["yc"], data["yn"]),
        "1 = 2 threads": same,
        "alone = batch": alone,
    }


def ours_memory(folder, name, rows):
    """Peak of what NumPy takes during the call, the result not counted."""
    import tracemalloc

    from manifolia import KernelMap

    data = np.load(folder / "data.npz")
    model = KernelMap(**OURS[name], n_jobs=1).fit(data["C"], data["Y"])
    N = np.ascontiguousarray(data["N"][:rows])
    model.transform(N[:64])
    tracemalloc.start()
    result = model.transform(N)
    return {"MB": (tracemalloc.get_traced_memory()[1] - result.nbytes) / 2**20, "rows": rows}


def open_tsne(folder, name, rows):
    from openTSNE import TSNE

    data = np.load(folder / "data.npz")
    fitted = TSNE(n_jobs=1, random_state=0, initialization="pca").fit(data["C"])
    N = data["N"][:rows]
    fitted.transform(N[:50])
    _, seconds, places = clock(lambda: np.asarray(fitted.transform(N)), 2)
    return {"seconds": seconds, "rows": rows, "accuracy": accuracy(np.asarray(fitted), places, data["yc"], data["yn"])}


def umap_learn(folder, name, rows):
    import warnings

    import umap

    warnings.simplefilter("ignore")
    data = np.load(folder / "data.npz")
    fitted = umap.UMAP(random_state=0, n_jobs=1).fit(data["C"])
    N = data["N"][:rows]
    fitted.transform(N[:50])
    _, seconds, places = clock(lambda: fitted.transform(N), 2)
    return {"seconds": seconds, "rows": rows, "accuracy": accuracy(fitted.embedding_, places, data["yc"], data["yn"])}


WORK = {"ours": ours, "memory": ours_memory, "openTSNE": open_tsne, "umap-learn": umap_learn}


def in_process(folder, kind, name, rows, peers):
    """Run one measurement in a process of its own."""
    path = os.pathsep.join(filter(None, [peers, os.environ.get("PYTHONPATH", "")]))
    try:
        return in_fresh_process(__file__, "--work", kind, name, rows, folder, environment={"PYTHONPATH": path})
    except RuntimeError as error:
        print(str(error)[-2000:], file=sys.stderr)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[14_500, 29_000, 58_000])
    parser.add_argument("--peer-rows", nargs="+", type=int, default=[2000, 8000])
    parser.add_argument("--peers", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, name, rows, folder = options.work
        print(json.dumps(WORK[kind](Path(folder), name, int(rows))))
        return
    found = []
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        prepare(folder)
        print(f"{'':20s} {'rows':>7s} {'µs per row':>11s} {'accuracy':>9s} {'MB':>7s}  bits")
        for name in OURS:
            for rows in options.rows:
                line = in_process(folder, "ours", name, rows, "")
                line |= {"MB": in_process(folder, "memory", name, rows, "")["MB"], "tool": name}
                tell(line)
                found.append(line)
        for tool in ("openTSNE", "umap-learn"):
            sys.path[:0] = [options.peers] if options.peers else []
            if importlib.util.find_spec(tool.split("-")[0]) is None:
                print(f"{tool:20s} not installed")
                continue
            for rows in options.peer_rows:
                line = in_process(folder, tool, tool, rows, options.peers)
                if line is not None:
                    line["tool"] = tool
                    tell(line)
                    found.append(line)
    ratios(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


def tell(line):
    bits = ""
    if "alone = batch" in line:
        bits = f"1 = 2 threads: {line['1 = 2 threads']}, alone = batch: {line['alone = batch']}"
    mb = f"{line['MB']:7.1f}" if "MB" in line else " " * 7
    per = line["seconds"] / line["rows"] * 1e6
    print(f"{line['tool']:20s} {line['rows']:7d} {per:11.1f} {line['accuracy']:9.4f} {mb}  {bits}", flush=True)


def ratios(found):
    """Times per row of the peers, at their quickest, in units of ours for the most rows."""
    per = {}
    for line in found:
        value = line["seconds"] / line["rows"]
        per[line["tool"]] = value if line["tool"] in OURS else min(value, per.get(line["tool"], np.inf))
    for peer in ("openTSNE", "umap-learn"):
        if peer in per:
            told = ", ".join(f"{name}: {per[peer] / per[name]:.0f}" for name in OURS)
            print(f"times quicker than {peer}: {told}")


if __name__ == "__main__":
    main()
