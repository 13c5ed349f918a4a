"""GuidedMap beside RFPHATE on the same forest: time of a whole fit, peak memory, and speed of ``transform``.

    python benchmarks/guided_map.py [--part small|large]

The forest is grown once, and its time is counted for both. Ten classes in 20 columns, of which ten tell them apart.
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
    from sklearn.ensemble import RandomForestClassifier

    from manifolia import RFPHATE, GuidedMap

    X, y = made(n)
    few = RandomForestClassifier(20, random_state=0).fit(X[:500], y[:500])
    for method in (RFPHATE, GuidedMap):  # compiles
        method(forest=few, n_landmarks=100, random_state=0).fit(X[:500], y[:500]).transform(X[:5])
    wall, cpu, forest = clock(lambda: RandomForestClassifier(n_trees, random_state=0, n_jobs=-1).fit(X, y))
    print(f"{n:,} rows, {n_trees} trees: forest {wall:.1f} s ({cpu:.1f} of the processor)")
    figures = {}
    for method in (RFPHATE, GuidedMap):
        forget_peak()
        model = method(forest=forest, random_state=0)
        after = clock(lambda model=model: model.fit(X, y))
        high = peak()
        place = clock(lambda model=model: model.transform(X[:PLACED]), repeats=3)
        figures[method] = (wall + after[0], cpu + after[1], high, place[1])
        print(
            f"    {method.__name__}: after the forest {after[0]:.1f} s ({after[1]:.1f}), peak {high:.2f} GiB, "
            f"{PLACED:,} rows placed in {place[0]:.2f} s ({place[1]:.2f}); out of bag {model.oob_score_:.3f}, "
            f"over-separation {model.over_separation_:+.3f}"
        )
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
