"""t-SNE by forces against openTSNE and scikit-learn: divergence, quality, time, memory; and rows placed on a map.

Affinities, start and number of iterations are the same for all; each measurement runs in a process of its own.

    python benchmarks/forces.py [--quick]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _measure import clock, forget_peak, in_fresh_process, mnist, resident

SIZES = {2_000: 5, 20_000: 1, 70_000: 1}  # rows, and samples of them that figures are means of
EARLY, LATE, EXAGGERATION = 250, 500, 12.0
RANKED = 5_000  # rows among which trustworthiness is measured
N_NEW = 10_000


def sample(n, number):
    """Rows of MNIST that no other sample of this size has, and their digits."""
    X, y = mnist(n * (number + 1), shuffled=True)
    return X[-n:], y[-n:]


def prepare(folder, n, number):
    """Affinities and start of a sample, once for all."""
    from manifolia.layout.initialize import pca_start
    from manifolia.layout.tsne import perplexity_graph, tsne_neighbors
    from manifolia.neighbors import kneighbors

    X, _ = sample(n, number)
    near = kneighbors(X, tsne_neighbors(30, n), random_state=0)
    sp.save_npz(folder / f"P{n}-{number}.npz", sp.csr_matrix(perplexity_graph(near, 30.0)))
    Y = np.asarray(pca_start(X, 2, random_state=0), dtype=np.float64)
    np.save(folder / f"start{n}-{number}.npy", (Y - Y.mean(axis=0)) * 1e-4 / Y[:, 0].std())


def divergence(P, Y):
    """The exact divergence, all pairs, in double precision."""
    total = 0.0
    for first in range(0, len(Y), 500):
        gaps = [np.subtract.outer(Y[first : first + 500, m], Y[:, m]) ** 2 for m in range(Y.shape[1])]
        total += float((1.0 / (1.0 + sum(gaps))).sum())
    edges = P.tocoo()
    p = edges.data / edges.data.sum()
    s = ((Y[edges.row] - Y[edges.col]) ** 2).sum(axis=1)
    return float((p * np.log(p)).sum() + (p * np.log1p(s)).sum() + np.log(total - len(Y)))


def ours(P, start, X):
    from manifolia.layout.forces import Schedule, neighbor_forces

    neighbor_forces(P, start, schedule=Schedule(1, 0, 1))  # compiled
    forget_peak()
    before = resident()
    wall, cpu, made = clock(
        lambda: neighbor_forces(P, start, schedule=Schedule(EARLY, 0, LATE, EXAGGERATION), symmetric=True)
    )
    return wall, cpu, resident("VmHWM") - before, made.Y


def open_tsne(P, start, X):
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import PrecomputedAffinities

    n = len(start)

    def run():
        made = TSNEEmbedding(
            start, PrecomputedAffinities(P, normalize=False), random_state=0, n_jobs=2,
            negative_gradient_method="bh" if n < 10_000 else "fft",
        )  # fmt: skip
        # Its own rule: n / exaggeration, and no less than 200.
        made.optimize(EARLY, inplace=True, exaggeration=EXAGGERATION, momentum=0.5, learning_rate="auto")
        made.optimize(LATE, inplace=True, momentum=0.8, learning_rate="auto")
        return np.asarray(made)

    forget_peak()
    before = resident()
    wall, cpu, Y = clock(run)
    return wall, cpu, resident("VmHWM") - before, Y


def scikit_learn(P, start, X):
    from sklearn.manifold import TSNE

    model = TSNE(init=start.astype(np.float32), max_iter=EARLY + LATE, random_state=0, n_jobs=2)
    forget_peak()
    before = resident()
    wall, cpu, Y = clock(lambda: model.fit_transform(X))
    return wall, cpu, resident("VmHWM") - before, np.asarray(Y, dtype=np.float64)


TOOLS = {"manifolia": ours, "openTSNE": open_tsne, "scikit-learn": scikit_learn}


def measure(tool, n, number, folder):
    """One tool, one sample."""
    from manifolia.metrics import knn_accuracy, trustworthiness

    P = sp.load_npz(Path(folder) / f"P{n}-{number}.npz")
    start = np.load(Path(folder) / f"start{n}-{number}.npy")
    X, y = sample(n, number)
    wall, cpu, memory, Y = TOOLS[tool](P, start, X)
    kept = np.arange(min(n, RANKED))
    return {
        "wall": wall,
        "cpu": cpu,
        "MB": memory / 1e6,
        "divergence": divergence(P, Y),
        "trustworthiness": trustworthiness(X[kept], Y[kept], 12),
        "accuracy": knn_accuracy(Y, y, 10),
    }


def first_call():
    """Seconds of the first layout with an empty kernel cache, next to a second one."""
    from manifolia.layout.forces import Schedule, neighbor_forces

    rng = np.random.default_rng(0)
    seconds = {}
    for name, repulsion in (("exact", "exact"), ("grid", "grid")):
        A = sp.random(500, 500, 0.02, random_state=0)
        start = rng.standard_normal((500, 2))
        begin = time.perf_counter()
        neighbor_forces(sp.csr_array(A + A.T), start, schedule=Schedule(1, 0, 1), repulsion=repulsion)
        seconds[name] = time.perf_counter() - begin
    return seconds


def placing(n):
    """New rows among n training rows: by the map's forces, and by umap-learn's ``transform`` on its own map.

    Either looks at 15 neighbours of a new row. (With 91, as in the fit, ours takes three times as long, for less.)
    """
    from manifolia.baselines import TSNE
    from manifolia.extension.anchored import map_field, place_in_field
    from manifolia.kernels.kernel_map import perplexity_rows
    from manifolia.neighbors.index import NeighborIndex

    X, y = mnist(n + N_NEW, shuffled=True)
    known, new = X[:n], X[n:]
    Y = TSNE(random_state=0).fit(known).embedding_

    def ours_placed():
        near = index.query(new, 15)
        weights = np.empty(near.distances.shape)
        perplexity_rows(np.asarray(near.distances, dtype=np.float64), 5.0, weights, 0, len(new))
        return place_in_field(field, near.indices, weights)

    index, field = NeighborIndex(known), map_field(Y)
    new, kept = new[:100], new
    ours_placed()  # compiled
    new = kept
    wall, cpu, placed = clock(ours_placed)
    answer = {"ours": {"wall": wall, "cpu": cpu, "accuracy": _accuracy(Y, y[:n], placed, y[n:])}}
    import umap

    model = umap.UMAP(random_state=0).fit(known)
    model.transform(new[:100])
    wall, cpu, placed = clock(lambda: model.transform(new))
    answer["umap-learn"] = {"wall": wall, "cpu": cpu, "accuracy": _accuracy(model.embedding_, y[:n], placed, y[n:])}
    return answer


def _accuracy(Y, y, placed, wanted):
    from sklearn.neighbors import KNeighborsClassifier

    return float(KNeighborsClassifier(10).fit(Y, y).score(placed, wanted))


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--inside":
        what = sys.argv[2]
        answer = {"first": first_call, "placing": lambda: placing(int(sys.argv[3]))}.get(
            what, lambda: measure(what, int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
        )()
        print(json.dumps(answer))
        return
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = {"NUMBA_CACHE_DIR": str(folder / "cache")}
        found = in_fresh_process(__file__, "--inside", "first", environment=cache)
        print("first call, empty cache: " + ", ".join(f"{key} {value:.1f} s" for key, value in found.items()))
        print("| rows | tool | wall | CPU | MB | divergence | trustworthiness | 10-NN |\n" + "|---" * 8 + "|")
        for n, n_samples in [*SIZES.items()][: 1 if quick else None]:
            for number in range(n_samples):
                prepare(folder, n, number)
            for tool in ("manifolia", "openTSNE", *(("scikit-learn",) if n == min(SIZES) else ())):
                runs = [in_fresh_process(__file__, "--inside", tool, n, k, folder) for k in range(n_samples)]
                one = {key: np.mean([run[key] for run in runs]) for key in runs[0]}
                figures = f"{one['wall']:.1f} s | {one['cpu']:.1f} s | {one['MB']:.0f} | {one['divergence']:.4f}"
                print(
                    f"| {n} | {tool} | {figures} | {one['trustworthiness']:.4f} | {one['accuracy']:.4f} |", flush=True
                )
        n = 2_000 if quick else 60_000
        for tool, one in in_fresh_process(__file__, "--inside", "placing", n).items():
            told = (
                f"{one['wall']:.2f} s by the clock, {one['cpu']:.2f} s of the processor, accuracy {one['accuracy']:.3f}"
            )
            print(f"{N_NEW} new rows among {n}, {tool}: {told}", flush=True)


if __name__ == "__main__":
    main()
