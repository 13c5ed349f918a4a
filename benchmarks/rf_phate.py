"""RFPHATE: what the map costs beside its own forest, how it grows, and against the phate package on the same kernel.

    python benchmarks/rf_phate.py [--part digits|mnist|million|transform|cold] …

Every figure is a ratio within one run. Each part runs in a fresh process, so that its peak memory is its own. The phate
package (its licence is non-commercial, so it is only ever a peer here) is used if it is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from _measure import StageClock, clock, peak, run_parts
from _measure import mnist as load_mnist


def grow(X, y, n_trees, **settings):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_trees, random_state=0, n_jobs=-1, **settings).fit(X, y)


def after_forest(forest, X, y, stages=None):
    """Everything of RFPHATE but the forest's fit, with the time of each stage."""
    from manifolia import RFPHATE

    note = StageClock()
    model = RFPHATE(forest=forest, random_state=0, callback=note)
    wall, cpu, _ = clock(lambda: model.fit(X, y))
    if stages is not None:
        stages.update(note.seconds)
    return wall, cpu, model


def warm_up():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    after_forest(grow(X[:600], y[:600], 20), X[:600], y[:600])
    from manifolia import RFPHATE

    RFPHATE(forest=grow(X[:600], y[:600], 20), n_landmarks=100, random_state=0).fit(X[:600], y[:600]).transform(X[:5])


def mnist():
    warm_up()
    rows = []
    for n in (10_000, 70_000):
        X, y = load_mnist(n)
        fit, fit_cpu, forest = clock(lambda X=X, y=y: grow(X, y, 100))
        stages = {}
        wall, cpu, model = after_forest(forest, X, y, stages)
        rows.append((n, wall, stages))
        print(
            f"MNIST {n} rows, 100 trees: forest {fit:.1f} s ({fit_cpu:.1f} CPU), after it {wall:.1f} s ({cpu:.1f} CPU)"
        )
        print(
            f"    ratio {wall / fit:.3f} (CPU {cpu / fit_cpu:.3f}; target at 70,000: 0.35); t {model.t_}, "
            f"out of bag {model.oob_score_:.4f}, over-separation {model.over_separation_:+.4f}, "
            f"peak {peak():.2f} GiB (2.5)"
        )
        print("    " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in stages.items()))
    # Distances and layout work on 2000 landmarks whatever n is: the rest is what grows.
    fixed = ("distances", "layout")
    grown = [wall - sum(stages.get(name, 0.0) for name in fixed) for _, wall, stages in rows]
    exponent = np.log(grown[1] / grown[0]) / np.log(rows[1][0] / rows[0][0])
    print(f"    growth of the part that grows: exponent {exponent:.2f} (target at most 1.1)")


def million():
    warm_up()
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=3.0, size=(12, 6))
    which = generator.integers(0, 12, size=1_000_000)
    X = np.hstack([centres[which] + generator.normal(size=(len(which), 6)), generator.normal(size=(len(which), 14))])
    X, y = X.astype(np.float32), which % 6
    fit, fit_cpu, forest = clock(lambda: grow(X, y, 50, min_samples_leaf=5))
    stages = {}
    wall, cpu, model = after_forest(forest, X, y, stages)
    print(f"1,000,000 × 20, 50 trees: forest {fit:.1f} s ({fit_cpu:.1f} CPU), after it {wall:.1f} s ({cpu:.1f} CPU)")
    print(
        f"    ratio {wall / fit:.3f} (CPU {cpu / fit_cpu:.3f}; target 0.25), t {model.t_}, "
        f"peak {peak():.2f} GiB (target 6)"
    )
    print("    " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in stages.items()))


def digits():
    from sklearn.datasets import load_digits

    from manifolia import RFPHATE
    from manifolia.forest import proximity

    warm_up()
    X, y = load_digits(return_X_y=True)
    forest = grow(X, y, 500)
    K = proximity(forest, X, kind="gap-sym").toarray()
    best = min(_from_kernel(K)[0] for _ in range(3))
    print(
        f"digits, 1797 rows: everything after the proximities {best:.2f} s; whole fit after the forest "
        f"{clock(lambda: RFPHATE(forest=forest, random_state=0).fit(X, y))[0]:.2f} s"
    )
    try:
        import phate
    except ImportError:
        print("    the phate package is not installed: no comparison")
        return
    peer = min(
        clock(
            lambda: phate.PHATE(knn_dist="precomputed_affinity", n_jobs=-1, verbose=0, random_state=0).fit_transform(K)
        )[0]
        for _ in range(3)
    )
    print(f"    phate {phate.__version__} on the same matrix {peer:.2f} s: ratio {peer / best:.1f} (target 5)")


def _from_kernel(K):
    from manifolia.layout.classical_mds import classical_mds
    from manifolia.layout.metric_mds import metric_mds
    from manifolia.operators.diffusion import diffuse, markov
    from manifolia.operators.entropy import choose_t, von_neumann_entropy
    from manifolia.operators.potential import potential, potential_distances
    from manifolia.operators.spectrum import eigenvalues

    def work():
        t = choose_t(von_neumann_entropy(eigenvalues(K), 100))
        D = potential_distances(potential(diffuse(markov(K), t, damping=0.9))).astype(np.float32)
        return metric_mds(D, classical_mds(D, 2).Y, random_state=0)

    return clock(work)


def transform():
    warm_up()
    X, y = load_mnist()
    forest = grow(X[:60_000], y[:60_000], 100)
    model = after_forest(forest, X[:60_000], y[:60_000])[2]
    new = X[60_000:]
    model.transform(new[:100])
    ours = min(clock(lambda: model.transform(new))[0] for _ in range(3))
    theirs = min(clock(lambda: forest.predict_proba(new))[0] for _ in range(3))
    print(
        f"transform of 10,000 MNIST rows {ours:.2f} s, predict_proba {theirs:.2f} s: "
        f"speed ratio {theirs / ours:.2f} (target 0.5)"
    )


def cold():
    """First fit in a fresh process with an empty kernel cache against a second one."""
    code = (
        "import sys, time, json; sys.path.insert(0, {here!r}); import rf_phate as b; "
        "X, y = b.load_mnist(); forest = b.grow(X, y, 100); "
        "first = b.after_forest(forest, X, y)[0]; second = b.after_forest(forest, X, y)[0]; "
        "print(json.dumps([first, second]))"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = dict(os.environ, NUMBA_CACHE_DIR=cache)
        here = os.path.dirname(os.path.abspath(__file__))
        out = subprocess.run(
            [sys.executable, "-c", code.format(here=here)], env=environment, capture_output=True, text=True, check=True
        )
    first, second = json.loads(out.stdout.splitlines()[-1])
    print(
        f"MNIST 70,000 in a fresh process: first fit {first:.1f} s, second {second:.1f} s: "
        f"{first - second:+.1f} s (target +5)"
    )


if __name__ == "__main__":
    parts = {"digits": digits, "mnist": mnist, "transform": transform, "cold": cold, "million": million}
    run_parts(__file__, __doc__, parts)
