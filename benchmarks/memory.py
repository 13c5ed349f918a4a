"""Memory that `mf.estimate_memory` foresees, against the peak of the fit itself, for every estimator at three sizes.

    python benchmarks/memory.py [NAME ...]

Each fit runs in a fresh process, after a small one that loads and compiles what it needs; its peak is what the process
holds at most, less what it held when the fit began, the data among it. The last column is foreseen / peak.
"""

from __future__ import annotations

import argparse
import gc
import json
import warnings

import numpy as np
from _measure import clock, forget_peak, in_fresh_process, resident

WIDE = [(4_000, 20), (8_000, 20), (6_000, 500)]  # methods whose memory grows with the rows
TALL = [(10_000, 20), (30_000, 20), (10_000, 500)]
SQUARE = [(1_500, 20), (3_000, 20), (3_000, 200)]  # those that hold all pairs


def estimators():
    """How each estimator is made, and the sizes that it is measured at; fewer rounds, which take no memory."""
    import manifolia as mf

    b = mf.baselines
    return {
        "RFPHATE": (lambda: mf.RFPHATE(n_trees=100), TALL),
        "GuidedMap": (lambda: mf.GuidedMap(n_trees=100), TALL),
        "RFPHATE(n_landmarks=None)": (lambda: mf.RFPHATE(n_trees=100, n_landmarks=None), SQUARE),
        'ForestMap("mds")': (lambda: mf.ForestMap("mds", n_trees=100), SQUARE),
        'ForestMap("isomap")': (lambda: mf.ForestMap("isomap", n_trees=100), SQUARE),
        'ForestMap("lle")': (lambda: mf.ForestMap("lle", n_trees=100), SQUARE),
        'ForestMap("umap")': (lambda: mf.ForestMap("umap", n_trees=100), WIDE),
        'ForestMap("tsne")': (lambda: mf.ForestMap("tsne", n_trees=100), WIDE),
        "ForestFeatures": (lambda: mf.ForestFeatures(100), TALL),
        "FeatureMAP": (lambda: mf.FeatureMAP(n_epochs=10), TALL),
        "FeatureMAP(pca=50)": (
            lambda: mf.FeatureMAP(n_epochs=10, pca=50),
            [(10_000, 100), (30_000, 100), (10_000, 500)],
        ),
        "PHATE": (lambda: mf.PHATE(), [(6_000, 5), (20_000, 5), (3_000, 500)]),
        "PHATE(n_landmarks=None)": (lambda: mf.PHATE(n_landmarks=None), SQUARE),
        "KernelMap": (lambda: mf.KernelMap(), TALL),
        'KernelMap(mapping="mode")': (lambda: mf.KernelMap(mapping="mode"), TALL),
        "KernelMap(ridge=0.0)": (lambda: mf.KernelMap(ridge=0.0), [(8_000, 20), (16_000, 20), (8_000, 500)]),
        'KernelTSNE(embedder="umap")': (lambda: mf.KernelTSNE(embedder="umap"), TALL),
        "KernelTSNE": (lambda: mf.KernelTSNE(), TALL),
        "FisherKernelTSNE": (lambda: mf.FisherKernelTSNE(), TALL),
        "ParametricTSNE": (
            lambda: b.ParametricTSNE(n_pretrain=1, max_iter=3),
            [(2_000, 20), (5_000, 20), (5_000, 500)],
        ),
        "TSNE": (lambda: b.TSNE(), TALL),
        "MVU": (lambda: b.MVU(), [(500, 20), (1_000, 20), (1_000, 200)]),
        "EnhancedSupervisedIsomap": (lambda: b.EnhancedSupervisedIsomap(), SQUARE),
        "EnhancedSupervisedLLE": (lambda: b.EnhancedSupervisedLLE(), SQUARE),
        "KernelSupervisedPCA": (lambda: b.KernelSupervisedPCA(), SQUARE),
        "SupervisedPCA": (lambda: b.SupervisedPCA(), [(20_000, 50), (100_000, 50), (20_000, 500)]),
        "SupervisedNMF": (lambda: b.SupervisedNMF(max_iter=20), [(20_000, 50), (100_000, 50), (20_000, 500)]),
        "PLSDA": (lambda: b.PLSDA(), [(20_000, 50), (100_000, 50), (20_000, 500)]),
        "MLkNN": (lambda: b.MLkNN(), TALL),
    }


def rows(n, d):
    """Rows without clusters, and five classes that some of their columns tell in part: a forest needs many leaves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, :5].sum(axis=1) + rng.normal(size=n), [-3, -1, 0, 1, 3])


def inside(name, n, d):
    """Measure one fit in this process."""
    import manifolia as mf

    make = estimators()[name][0]
    warnings.simplefilter("ignore")

    def given(X, y):
        return (X, X[:, :2].copy()) if name.startswith("KernelMap") else (X, y)

    make().fit(*given(*rows(300, d)))
    X, y = given(*rows(n, d))
    model = make()
    try:
        foreseen = mf.estimate_memory(model, X, y)
    except TypeError:
        foreseen = None
    gc.collect()
    forget_peak()
    before = resident()
    seconds, _, _ = clock(lambda: model.fit(X, y))
    print(json.dumps({"foreseen": foreseen, "peak": resident("VmHWM") - before, "seconds": seconds}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="estimators, as the table names them; all if none is given")
    parser.add_argument("--inside", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        name, n, d = asked.inside
        inside(name, int(n), int(d))
        return
    print(f"{'estimator':32}{'rows':>8}{'columns':>8}{'foreseen MB':>13}{'peak MB':>9}{'seconds':>9}{'ratio':>7}")
    for name, (_, sizes) in estimators().items():
        if asked.name and name not in asked.name:
            continue
        for n, d in sizes:
            found = in_fresh_process(__file__, "--inside", name, n, d)
            foreseen, peak = found["foreseen"], found["peak"]
            told = "         none" if foreseen is None else f"{foreseen / 1e6:13.0f}"
            ratio = "" if foreseen is None else f"{foreseen / peak:7.2f}"
            print(f"{name:32}{n:8}{d:8}{told}{peak / 1e6:9.0f}{found['seconds']:9.1f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
