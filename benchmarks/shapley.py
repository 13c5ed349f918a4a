"""Shapley values of 1,000 rows of a forest of 100 trees, against 100 background rows: ours, and shap's.

    python benchmarks/shapley.py

Seconds of processor time of one process, after a first call that compiles; wall clock with one and with two threads
beside it. shap is asked by ``TreeExplainer(forest, Independent(background), feature_perturbation="interventional")``.
Without shap installed only our own times are printed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from manifolia._core.parallel import threads
from manifolia.forest import shapley
from manifolia.forest.leaf_tables import leaf_ids
from manifolia.forest.trees import read_trees

_TREES, _ROWS, _BACKGROUND = 100, 1000, 100


def cases() -> dict[str, tuple[Any, Any, Any]]:
    """Forests of classes and of numbers, of depth 10 to 20."""
    X, y = make_regression(2000, 20, random_state=0, noise=50.0)
    digits, labels = load_digits(return_X_y=True)
    return {
        "two classes, 20 columns": (RandomForestClassifier(_TREES, random_state=0), X, y > 0),
        "ten classes, 64 columns": (RandomForestClassifier(_TREES, random_state=0), digits, labels),
        "numbers, 20 columns": (RandomForestRegressor(_TREES, min_samples_leaf=2, random_state=0), X, y / y.std()),
    }


def ours(forest: Any, rows: Any, background: Any) -> Any:
    """Ask manifolia, from the fitted forest on."""
    trees = read_trees(forest)
    leaf = leaf_ids(trees, rows)
    weights = shapley.even_weights(np.ones_like(leaf))
    entries = shapley.prediction_entries(forest, trees)
    return shapley.weighted_effects(shapley.exchange(trees, rows, background), leaf, weights, entries)


def theirs(forest: Any, rows: Any, background: Any) -> Any:
    """Ask shap, from the fitted forest on."""
    import shap

    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.TreeExplainer(forest, masker, feature_perturbation="interventional")
    return np.asarray(explainer.shap_values(rows, check_additivity=False))


def timed(ask: Any, *what: Any) -> tuple[Any, float, float]:
    """Return the answer, processor time and wall clock."""
    cpu, wall = time.process_time(), time.perf_counter()
    answer = ask(*what)
    return answer, time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    """Print one line per case."""
    try:
        import shap
    except ImportError:
        shap = None
    for name, (forest, X, y) in cases().items():
        forest.fit(X, y)
        depth = np.mean([tree.get_depth() for tree in forest.estimators_])
        rows, background = X[:_ROWS].astype(np.float32), X[-_BACKGROUND:].astype(np.float32)
        ours(forest, rows[:10], background)
        with threads(1):
            one, cpu, wall = timed(ours, forest, rows, background)
        with threads(2):
            two, _, wall_two = timed(ours, forest, rows, background)
        line = f"{name}, depth {depth:.0f}: ours {cpu:.2f} s (wall {wall:.2f}, two threads {wall_two:.2f})"
        line += f", same bits {bool((one == two).all())}"
        if shap is not None:
            told, peer, peer_wall = timed(theirs, forest, rows, background)
            apart = np.abs(told.reshape(one.shape) - one).max()
            line += f"; shap {peer:.2f} s (wall {peer_wall:.2f}), {peer / cpu:.1f} times ours, apart {apart:.1e}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
