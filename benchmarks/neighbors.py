"""Neighbour search against pynndescent, faiss and usearch: time, recall, memory, and the same answer for any threads.

    python benchmarks/neighbors.py [--data mnist-20000 mnist-70000 toy-500000] [--tools ours ...] [--peers FOLDER]

Every tool runs in a process of its own with an empty cache of compiled kernels. "first" is the time from before the
import of the tool to its answer, compiling included; "cached" is the same in a new process that finds our kernels
compiled, as every process but the first does; "again" is a second call in the same process. Memory is what the
process has at its peak beyond what it had with the data and NumPy loaded. Recall is the share of the true 15 nearest
neighbours of 500 rows. "1 = 2 threads" compares all indices of two processes. Peers that are not installed (or found in
the folder that --peers names) are left out. Their settings are the cheapest tried that find about 98 % on 70,000 rows
of MNIST.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from _measure import clock, in_fresh_process, resident

K = 15
N_JUDGES = 500
LONG = 60.0  # a first call above this is not repeated
TOOLS = {
    "ours": "manifolia",
    "ours-exact": "manifolia",
    "pynndescent": "pynndescent",
    "faiss-ivf": "faiss",
    "faiss-hnsw": "faiss",
    "usearch": "usearch",
}


def toy(n, d=50, n_clusters=200, rank=8):
    """Clusters along eight directions each, with noise in all of them."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_clusters, d))
    frames = rng.normal(size=(n_clusters, rank, d))
    label = rng.integers(0, n_clusters, n)
    X = np.empty((n, d), dtype=np.float32)
    for c in range(n_clusters):
        rows = np.flatnonzero(label == c)
        X[rows] = 2.0 * centres[c] + rng.normal(size=(rows.size, rank)) @ frames[c] / np.sqrt(rank)
    return X + rng.normal(scale=0.1, size=X.shape).astype(np.float32)


def data(name):
    kind, _, rows = name.partition("-")
    if kind == "toy":
        return toy(int(rows))
    from manifolia import datasets

    X = np.asarray(datasets.load("mnist").data, dtype=np.float32)
    return X[np.sort(np.random.default_rng(0).choice(len(X), int(rows), replace=False))]


def true_neighbors(X):
    """The exact neighbours of some rows, by measuring everyone in double precision."""
    rows = np.sort(np.random.default_rng(1).choice(len(X), N_JUDGES, replace=False))
    found = np.empty((N_JUDGES, K), dtype=np.int64)
    for r, row in enumerate(rows):
        squared = np.concatenate([((X[i : i + 8192] - X[row]) ** 2).sum(1) for i in range(0, len(X), 8192)])
        squared[row] = np.inf
        near = np.argpartition(squared, 2 * K)[: 2 * K]
        exactly = ((X[near].astype(float) - X[row]) ** 2).sum(1)
        found[r] = near[np.lexsort((near, exactly))][:K]
    return rows, found


def without_itself(indices):
    """Drop each row from its own list, or the last entry where it is not there."""
    own = indices == np.arange(len(indices))[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(len(indices), -1)


def search(tool, X, threads):
    """All rows' neighbours by one tool; peers count the row itself, so they are asked for one more."""
    n, d = X.shape
    if tool.startswith("ours"):
        from manifolia.neighbors import kneighbors

        exact = True if tool == "ours-exact" else "auto"
        return kneighbors(X, K, exact=exact, random_state=0, n_jobs=threads).indices
    if tool == "pynndescent":
        from pynndescent import NNDescent

        index = NNDescent(X, n_neighbors=K + 1, random_state=0, n_jobs=threads)
        return without_itself(index.neighbor_graph[0])
    if tool == "usearch":
        from usearch.index import Index

        index = Index(ndim=d, metric="l2sq", dtype="f32", connectivity=16, expansion_add=64, expansion_search=32)
        index.add(np.arange(n), X, threads=threads)
        return without_itself(index.search(X, K + 1, threads=threads).keys.astype(np.int64))
    import faiss

    faiss.omp_set_num_threads(threads)
    if tool == "faiss-ivf":
        n_lists = int(2 * np.sqrt(n))
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_lists)
        index.train(X)
        index.nprobe = 16
    else:
        index = faiss.IndexHNSWFlat(d, 16)
        index.hnsw.efConstruction = 40
        index.hnsw.efSearch = 48
    index.add(X)
    return without_itself(index.search(X, K + 1)[1])


def worker(tool, path, threads, repeat):
    """One tool in this process; the answer goes to stdout as JSON."""
    X = np.load(path)
    before = resident()
    first, _, indices = clock(lambda: search(tool, X, threads))
    again = clock(lambda: search(tool, X, threads))[0] if repeat and first < LONG else None
    peak = (resident("VmHWM") - before) / 2**20
    judged = np.load(path.with_suffix(".judges.npz"))
    hits = [len(np.intersect1d(a, b)) for a, b in zip(indices[judged["rows"]], judged["truth"], strict=True)]
    digest = hashlib.sha256(np.ascontiguousarray(indices, dtype=np.int64).tobytes()).hexdigest()
    result = {"first": first, "again": again, "memory": peak, "recall": sum(hits) / (K * len(hits)), "digest": digest}
    print(json.dumps(result))


def run(tool, path, threads, cache, *, repeat, peers):
    environment = {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads)}
    if peers:
        environment["PYTHONPATH"] = os.pathsep.join([peers, os.environ.get("PYTHONPATH", "")])
    try:
        return in_fresh_process(__file__, "--worker", tool, path, threads, int(repeat), environment=environment)
    except RuntimeError as error:
        return {"error": str(error).splitlines()[-1]}


def compare(name, tools, folder, peers, *, threads_too):
    path = folder / f"{name}.npy"
    if not path.exists():
        X = data(name)
        np.save(path, X)
        rows, truth = true_neighbors(X)
        np.savez(path.with_suffix(".judges.npz"), rows=rows, truth=truth)
    print(f"\n{name}: {' × '.join(map(str, np.load(path, mmap_mode='r').shape))}, k = {K}")
    heads = ("tool", "first s", "cached s", "again s", "recall", "memory MiB", "1 = 2 threads")
    print("".join(f"{head:>14}" for head in heads), flush=True)
    for tool in tools:
        with tempfile.TemporaryDirectory() as cache:
            result = run(tool, path, 2, cache, repeat=True, peers=peers)
            if "error" in result:
                print(f"{tool:>14} {result['error']}", flush=True)
                continue
            cached, same = "", ""
            if tool.startswith("ours"):
                cached = f"{run(tool, path, 2, cache, repeat=False, peers=peers)['first']:.2f}"
            if threads_too:
                one = run(tool, path, 1, cache, repeat=False, peers=peers).get("digest")
                same = "yes" if one == result["digest"] else "no"
        again = "" if result["again"] is None else f"{result['again']:.2f}"
        cells = (
            tool,
            f"{result['first']:.2f}",
            cached,
            again,
            f"{result['recall']:.4f}",
            f"{result['memory']:.0f}",
            same,
        )
        print("".join(f"{cell:>14}" for cell in cells), flush=True)


def main():
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "1")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["mnist-20000", "mnist-70000", "toy-500000"])
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--peers", default="", help="a folder with the peers, if they are not installed")
    parser.add_argument("--folder", type=Path, default=None, help="keep data and true neighbours here")
    parser.add_argument("--threads-too", action="store_true", help="also run on one thread and compare")
    arguments = parser.parse_args()
    sys.path += [arguments.peers] if arguments.peers else []
    tools = [tool for tool in arguments.tools if importlib.util.find_spec(TOOLS[tool])]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.data:
            compare(name, tools, folder, arguments.peers, threads_too=arguments.threads_too)


if __name__ == "__main__":
    main()
