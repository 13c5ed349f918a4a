"""Searches over pools of runs: the tuner, the grid it is compared with, and what each would have recommended when."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np
from reproduce._shared.store import Store
from reproduce.tuning.data import Pool, Pooled, carried

from manifolia import Normalized, Tuner
from manifolia.tune.answer import expected_losses
from manifolia.tune.space import SearchSpace
from manifolia.tune.surrogate import Observations

FRACTIONS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
NEIGHBORS = (0.03, 0.06, 0.1, 0.15, 0.25, 0.4, 0.6, 0.8)
SPREADS = (0.0, 0.25, 0.5, 0.75, 1.0)
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
N_PILOT = 5


class Scale(NamedTuple):
    """How much is computed; the values are those of a full run."""

    # Runs of a setting that searches draw from: two clusters, COIL's third, UMAP on large sets, elsewhere.
    searched: tuple = (25, 10, 5, 8)
    true: tuple = (40, 12, 4, 4)  # further runs that tell its true value
    repeats: tuple = (10, 4, 3)  # most runs of a setting in a search: two clusters and COIL, small sets, large sets
    trials: int = 20
    batches: tuple = (20, 10)  # searches on the small sets, as in the paper; with a single run per setting
    grid: int = 60
    fractions: tuple = FRACTIONS
    curve: tuple = (4, 2, 8, 5)  # runs of a point of a curve: COIL, a sample of it, sine, vehicle
    samples: int = 4
    carried: int = 6
    neighbors: tuple = NEIGHBORS
    spreads: tuple = SPREADS
    umap_runs: int = 3
    umap_batches: int = 20
    umap_trials: int = 45
    umap_grid: tuple = (12, 6)
    sobol: tuple = (4, 2)  # runs of a setting: on small sets, on all of COIL
    large: tuple = (25, 40, 10)  # text and cells: trials of t-SNE, perplexities and neighbours of the thinned grids
    large_batches: tuple = (3, 2)  # searches by t-SNE, by UMAP
    every: tuple = (2, 8)  # after so many trials of t-SNE, of UMAP, their convergence is looked at
    maps: tuple = (2, 3)  # runs on all text, on all cells
    text: tuple = ("reuters:tenth", "reuters")


FULL = Scale()
QUICK = Scale(
    searched=(8, 5, 4, 4), true=(10, 5, 3, 3), repeats=(5, 2, 2), trials=12, batches=(3, 3), grid=20,
    fractions=FRACTIONS[::2], curve=(2, 1, 2, 2), samples=2, carried=2, neighbors=NEIGHBORS[::2], spreads=SPREADS[::2],
    umap_runs=1, umap_batches=2, umap_trials=15, umap_grid=(6, 3), sobol=(2, 2), large=(12, 12, 5),
    large_batches=(1, 1), every=(3, 4), maps=(1, 2), text=("reuters:twentieth", "reuters:third"),
)  # fmt: skip


class Store(Store):
    """Results by name, and the pools of runs that they come from."""

    def __init__(self, folder, scale=FULL):
        super().__init__(folder)
        self.scale = scale

    def pool(self, name, method="tsne", **options):
        found = Pool(self.folder / "pool", name, method, **options)
        found.scale = self.scale
        return found


def _kind(pool):
    if pool.method == "tsne":
        return {"clusters": 0, "coil:third": 1}.get(pool.name, 3)
    return 3 if pool.factor is None else 2


def searched(pool):
    """How many runs of a setting searches draw from."""
    return pool.scale.searched[_kind(pool)]


def true_numbers(pool):
    """Numbers of the runs that tell the true value of a setting."""
    first = searched(pool)
    return range(first, first + pool.scale.true[_kind(pool)])


def perplexities(pool):
    """Perplexities for a curve: fractions of the rows."""
    n = pool.n_rows
    return [{"perplexity": p} for p in dict.fromkeys(min(max(2, round(f * n)), n - 1) for f in pool.scale.fractions)]


def pairs(pool, neighbors=None, spreads=None):
    """A grid for UMAP: fractions of the rows, and minimal distances."""
    shares = pool.scale.neighbors if neighbors is None else neighbors
    near = pool.scale.spreads if spreads is None else spreads
    return [{"n_neighbors": max(2, round(f * pool.n_rows)), "min_dist": d} for f in shares for d in near]


def curves(store, name, figures, n_runs, settings=None, method="tsne"):
    """Losses over settings: for each figure (settings, runs)."""

    def make():
        pool = store.pool(name, method, **({} if method == "tsne" else {"figures": figures}))
        some = perplexities(pool) if settings is None else settings(pool)
        found = {figure: pool.curve(some, range(n_runs), figure).tolist() for figure in figures}
        return {"n": pool.n_rows, "settings": [list(s.values()) for s in some], **found}

    return store.get(f"curves-{name.replace(':', '-')}-{method}", make)


def space_of(pool):
    """Fractions of the rows, whole numbers of neighbours, on logarithmic axes."""
    n = pool.n_rows
    if pool.method == "tsne":
        least = 1 if pool.name == "clusters" else 2
        high = (n - 1) / n if pool.name == "clusters" else 0.9
        return {"perplexity": Normalized(least / n, high, integer=True)}
    spread = {"min_dist": (0.0, 1.0)} if pool.factor is None else {"fifths": (0, 5)}
    return {"n_neighbors": Normalized(2 / n, min(0.8, 100 / n), integer=True), **spread}


def setting_of(pool, setting):
    """What is run for a setting of the search."""
    fractions = ("perplexity", "n_neighbors")
    given = {name: max(1, value * pool.n_rows) if name in fractions else value for name, value in setting.items()}
    return Pooled(pool, **given).setting()


def loss_of(pool, setting, figure):
    """The true loss of a setting: the mean of runs that no search saw."""
    return float(pool.curve([setting], true_numbers(pool), figure).mean())


def study(pool, figure, surrogate, batch, *, n_trials=None, n_repeats=None, every=1, **options):
    """One search: what it recommends, what it saw, what that is worth."""
    n_trials = pool.scale.trials if n_trials is None else n_trials
    n_repeats = pool.scale.repeats[0] if n_repeats is None else n_repeats
    tuner = Tuner(
        Pooled(pool, searched(pool)),
        space_of(pool),
        carried(pool, figure),
        n_pilot=N_PILOT,
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
        "steps": steps(len(trials), every),
        "history": history(pool, figure, tuner, steps(len(trials), every)),
    }


def steps(n, every):
    """Numbers of trials after which a search is looked at: the last one always."""
    return list(range(n, 2, -every))[::-1]


def history(pool, figure, tuner, after):
    """After some trials: runs so far, the least loss seen, and the true loss of what the surrogate expects most of."""
    trials, space = tuner.trials_, SearchSpace(tuner.space)
    settings = trials[space.names].to_dict("records")
    losses = trials[f"{figure}_loss"].to_numpy()
    values = [group[figure].to_numpy() for _, group in tuner.runs_.groupby("slot")]
    out = []
    for k in after:
        several = [v for v in values[:k] if len(v) > 1]
        noise = None
        if several:
            freedom = sum(len(v) - 1 for v in several)
            spread = np.sqrt(sum((len(v) - 1) * v.var(ddof=1) for v in several) / freedom)
            noise = np.array([[spread / np.sqrt(len(v))] for v in values[:k]])
        expected = expected_losses(space, Observations(settings[:k], losses[:k, None], noise), tuner.surrogate, 0)
        best = setting_of(pool, settings[int(np.argmin(expected[:, 0]))])
        runs = int(trials["n_runs"].iloc[:k].sum())
        out.append([runs, float(losses[:k].min()), loss_of(pool, best, figure), *best.values()])
    return out


def grid(pool, figure, settings, batch, n_repeats=None):
    """Every setting, so many runs each: the one with the least mean."""
    n_repeats = pool.scale.repeats[0] if n_repeats is None else n_repeats
    rng = np.random.default_rng([batch, 77])
    size = searched(pool)
    numbers = [rng.choice(size, min(n_repeats, size), replace=False).tolist() for _ in settings]
    means = [float(pool.curve([s], some, figure).mean()) for s, some in zip(settings, numbers, strict=True)]
    chosen = settings[int(np.argmin(means))]
    return {
        "chosen": chosen,
        "observed": min(means),
        "true": loss_of(pool, chosen, figure),
        "runs": sum(map(len, numbers)),
    }


def grid_settings(pool, n):
    """A regular grid of whole perplexities over the range of the search."""
    low = 1 if pool.name == "clusters" else 2
    high = pool.n_rows - 1 if pool.name == "clusters" else int(0.9 * pool.n_rows)
    found = sorted({round(p) for p in np.linspace(low, high, n)})
    return [{"perplexity": p} for p in found]


def searches(store, pool, figure, surrogates, batches, **options):
    """Studies of several surrogates, each batch kept by itself."""
    label = f"{pool.name.replace(':', '-')}-{pool.method}-{figure}{'' if pool.factor is None else '-rounded'}"
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
