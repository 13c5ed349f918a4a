"""Searches over pools of runs: the tuner, the grid it is compared with, and what each would have recommended when."""

from __future__ import annotations

import time
import warnings

import _store
import numpy as np
from tuning_pool import Pool, Pooled, carried

from manifolia import Normalized, Tuner
from manifolia.tune.answer import expected_losses
from manifolia.tune.proposal import Evidence
from manifolia.tune.space import Space

#: Runs of a setting that searches draw from, and numbers of those that tell its true value.
SEARCHED = {"clusters": 25, "coil:third": 10}
TRUE = {"clusters": range(25, 65), "coil:third": range(10, 22)}
N_REPEATS = 10


class Store(_store.Store):
    """Results by name, and the pools of runs that they come from."""

    def pool(self, name, method="tsne", **options):
        return Pool(self.folder / "pool", name, method, **options)


def searched(pool):
    return SEARCHED.get(pool.name, 8) if pool.method == "tsne" else 8


def true_numbers(pool):
    return TRUE.get(pool.name, range(8, 12)) if pool.method == "tsne" else range(8, 12)


def space_of(pool):
    """Fractions of the rows, whole numbers of neighbours, on logarithmic axes."""
    n = pool.n_rows
    if pool.method == "tsne":
        least = 1 if pool.name == "clusters" else 2
        high = (n - 1) / n if pool.name == "clusters" else 0.9
        return {"perplexity": Normalized(least / n, high, integer=True)}
    return {"n_neighbors": Normalized(2 / n, min(0.8, 100 / n), integer=True), "min_dist": (0.0, 1.0)}


def setting_of(pool, setting):
    """What is run for a setting of the search."""
    given = {name: value * pool.n_rows if name != "min_dist" else value for name, value in setting.items()}
    return Pooled(
        pool, **{name: max(1, value) if name != "min_dist" else value for name, value in given.items()}
    ).setting()


def loss_of(pool, setting, figure):
    """The true loss of a setting: the mean of runs that no search saw."""
    return float(pool.curve([setting], true_numbers(pool), figure).mean())


def study(pool, figure, surrogate, batch, *, n_trials=20, n_repeats=N_REPEATS, **options):
    """One search: what it recommends, what it saw, what that is worth."""
    tuner = Tuner(
        Pooled(pool, searched(pool)),
        space_of(pool),
        carried(pool, figure),
        n_pilot=5,
        n_trials=n_trials,
        n_repeats=n_repeats,
        aggregate="mean",
        surrogate=surrogate,
        refit=False,
        random_state=batch,
        n_jobs=1,
        **options,
    )
    before, added = time.process_time(), pool.added
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a flat landscape is recorded, not announced
        tuner.fit(np.zeros((pool.n_rows, 2)))
    seconds = time.process_time() - before if pool.added == added else None
    chosen = setting_of(pool, tuner.best_setting_)
    trials = tuner.trials_
    return {
        "chosen": chosen,
        "true": loss_of(pool, chosen, figure),
        "fresh": 1.0 - tuner.best_score_,
        "fresh_error": tuner.best_score_error_,
        "observed": float(trials[f"{figure}_loss"].min()),
        "runs": tuner.n_runs_,
        "seconds": seconds,
        "flat": tuner.flat_,
        "r2": tuner.r2_,
        "history": history(pool, figure, tuner),
    }


def history(pool, figure, tuner):
    """After each trial: runs so far, the least loss seen, and the true loss of what the surrogate expects most of."""
    trials, space = tuner.trials_, Space(tuner.space)
    settings = trials[space.names].to_dict("records")
    losses = trials[f"{figure}_loss"].to_numpy()
    values = [group[figure].to_numpy() for _, group in tuner.runs_.groupby("slot")]
    out = []
    for k in range(3, len(settings) + 1):
        several = [v for v in values[:k] if len(v) > 1]
        noise = None
        if several:
            freedom = sum(len(v) - 1 for v in several)
            spread = np.sqrt(sum((len(v) - 1) * v.var(ddof=1) for v in several) / freedom)
            noise = np.array([[spread / np.sqrt(len(v))] for v in values[:k]])
        expected = expected_losses(space, Evidence(settings[:k], losses[:k, None], noise), tuner.surrogate, 0)
        best = setting_of(pool, settings[int(np.argmin(expected[:, 0]))])
        runs = int(trials["n_runs"].iloc[:k].sum())
        out.append([runs, float(losses[:k].min()), loss_of(pool, best, figure), *best.values()])
    return out


def grid(pool, figure, settings, batch, n_repeats=N_REPEATS):
    """Every setting, so many runs each: the one with the least mean."""
    rng = np.random.default_rng([batch, 77])
    size = searched(pool)
    numbers = [rng.choice(size, min(n_repeats, size), replace=False).tolist() for _ in settings]
    means = [float(pool.curve([s], some, figure).mean()) for s, some in zip(settings, numbers, strict=True)]
    chosen = settings[int(np.argmin(means))]
    return {
        "chosen": chosen,
        "observed": min(means),
        "true": loss_of(pool, chosen, figure),
        "runs": len(settings) * n_repeats,
    }


def grid_settings(pool, n):
    """A regular grid of whole perplexities over the range of the search."""
    low = 1 if pool.name == "clusters" else 2
    high = pool.n_rows - 1 if pool.name == "clusters" else int(0.9 * pool.n_rows)
    found = sorted({round(p) for p in np.linspace(low, high, n)})
    return [{"perplexity": p} for p in found]


def searches(store, pool, figure, surrogates, batches, **options):
    """Studies of several surrogates, each batch kept by itself."""
    label = f"{pool.name.replace(':', '-')}-{pool.method}-{figure}"
    more = "-".join(str(value) for value in options.values())
    return {
        surrogate: [
            store.get(
                f"study-{label}-{surrogate}{'-' + more if more else ''}-{batch}",
                lambda s=surrogate, b=batch: study(pool, figure, s, b, **options),
            )
            for batch in range(batches)
        ]
        for surrogate in surrogates
    }
