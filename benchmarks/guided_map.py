"""GuidedMap beside RFPHATE: time of a whole fit, peak memory, and speed of ``transform``.

    python benchmarks/guided_map.py [--part small|large]

Each grows the same forest for itself, by the library. Ten classes in 20 columns, of which ten tell them apart.
``benchmarks/forest.py --maps`` compares whole fits with those of another checkout.
"""

from __future__ import annotations

from _measure import clock, forget_peak, peak, run_parts

PLACED = 10_000


def made(n):
    from sklearn.datasets import make_classification

    return make_classification(
        n, 20, n_informative=10, n_redundant=2, n_classes=10, n_clusters_per_class=2, class_sep=1.5, random_state=0
    )


def compare(n, n_trees):
    from manifolia import RFPHATE, GuidedMap

    X, y = made(n)
    for method in (RFPHATE, GuidedMap):  # compiles
        for rows, landmarks in ((500, 100), (4_000, "auto")):
            few = method(n_trees=20, n_landmarks=landmarks, random_state=0)
            few.fit(X[:rows], y[:rows]).transform(X[:5])
    print(f"{n:,} rows, {n_trees} trees")
    figures = {}
    for method in (RFPHATE, GuidedMap):
        forget_peak()
        model = method(n_trees=n_trees, random_state=0)
        wall, cpu = clock(lambda model=model: model.fit(X, y))[:2]  # the result would keep this model for the next
        high = peak()
        place = clock(lambda model=model: model.transform(X[:PLACED]), repeats=3)
        figures[method] = (wall, cpu, high, place[1])
        print(
            f"    {method.__name__}: {wall:.1f} s ({cpu:.1f} of the processor), peak {high:.2f} GiB, "
            f"{PLACED:,} rows placed in {place[0]:.2f} s ({place[1]:.2f}); out of bag {model.oob_score_:.3f}, "
            f"over-separation {model.over_separation_:+.3f}",
            flush=True,
        )
        del model
    plain, ours = figures[RFPHATE], figures[GuidedMap]
    clocks, cpus, peaks, speed = ours[0] / plain[0], ours[1] / plain[1], ours[2] / plain[2], plain[3] / ours[3]
    print(
        f"    whole fit, of RFPHATE's: {clocks:.2f} by the clock, {cpus:.2f} of the processor (target 1.5); "
        f"peak memory {peaks:.2f} (target 1.3); speed of transform {speed:.2f} (target 0.5)"
    )


def small():
    compare(20_000, 500)


def large():
    compare(200_000, 100)


if __name__ == "__main__":
    run_parts(__file__, __doc__, {"small": small, "large": large})
