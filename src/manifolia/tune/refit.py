"""From a setting found on a subsample to a map of all rows.

A fraction of the sample that was best on few rows need not be best on all, nor need the same number; both are tried on
all rows, and a value in between. The map is then made with the seed of the run with the smallest loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.warnings import warn
from manifolia.tune.parameters import Normalized
from manifolia.tune.search import Search
from manifolia.tune.space import SearchSpace, Setting
from manifolia.tune.study import Trial, run_seed

_WAYS = ("same fraction", "between", "same number")  # in the order of `carried`


def carried(space: SearchSpace, setting: Setting, whole: tuple[int, int]) -> list[dict[str, Any]]:
    """Carry a setting from the sample to all rows: at the same fraction, at the same number, and in between."""
    first, fixed = space.resolve(setting, whole), space.resolve(setting)
    parameters = {name: space.parameters[name] for name in setting}
    fractions = [name for name, one in parameters.items() if isinstance(one, Normalized) and one.of == "n_samples"]
    if not fractions or any(first[name] == fixed[name] for name in fractions):
        return [first]
    between, same = dict(first), dict(first)
    for name in fractions:
        middle = math.sqrt(first[name] * fixed[name])
        between[name] = round(middle) if isinstance(first[name], int) else middle
        same[name] = fixed[name]
    return [first, between, same]


class Refit(NamedTuple):
    """What is fitted to all rows."""

    arguments: dict[str, Any]  # Parameters of the estimator
    seed: int  # Of the run with the smallest loss; of the first run if none reports one
    tried: list[Trial]  # Runs on all rows of each way to carry the setting over


def on_all_rows(
    search: Search, setting: Setting, ways: list[dict[str, Any]], whole: Trial | None, *, n_runs: int
) -> Refit:
    """Choose the arguments for all rows, and the seed of the map."""
    seed = search.store.seed
    if whole is not None:
        return Refit(ways[0], _best_seed(whole, seed), [])
    tried: list[Trial] = []
    if n_runs and not search.is_late:
        while True:
            tried = [t for slot, way in enumerate(ways) if (t := _tried(search, setting, slot, way, n_runs))]
            if len(tried) == len(ways) or not search.wait("full"):  # another worker may have one of them
                break
    worked = [trial for trial in tried if trial.works]
    if not worked:
        if tried:
            warn(f"the recommended setting failed on all rows: {tried[0].error}. best_params_ were not tried.")
        return Refit(ways[0], run_seed(seed, "full", 0, 0), tried)
    best = min(worked, key=lambda trial: (float(trial.losses.mean()), trial.slot))
    return Refit(ways[best.slot], _best_seed(best, seed), tried)


def _tried(search: Search, setting: Setting, slot: int, arguments: dict[str, Any], n_runs: int) -> Trial | None:
    trial = search.store.begin("full", slot, setting, arguments)
    if trial is not None and not trial.finished:
        missing = [(trial, repeat) for repeat in range(len(trial.runs), n_runs)]
        if missing:
            search.store.record(trial, search.run(missing))
        search.store.finish(trial, trial.losses.mean(axis=0).tolist() if trial.works else [])
    return trial


def _best_seed(trial: Trial, seed: int) -> int:
    losses = [(run.own_loss, repeat) for repeat, run in enumerate(trial.runs) if not math.isnan(run.own_loss)]
    return run_seed(seed, trial.stage, trial.slot, min(losses)[1] if losses else 0)


def carried_table(
    tried: Sequence[Trial], ways: Sequence[dict[str, Any]], chosen: dict[str, Any], names: Sequence[str]
) -> pd.DataFrame:
    """Tabulate the ways to carry a setting over to all rows."""
    rows = []
    for trial in tried:
        way = "as found" if len(ways) == 1 else _WAYS[trial.slot]
        values = np.array([run.values for run in trial.runs if not run.error]).reshape(-1, len(names))
        row: dict[str, Any] = {"way": way, **ways[trial.slot]}
        for j, name in enumerate(names):
            row[name] = float(values[:, j].mean()) if len(values) else math.nan
            spread = float(values[:, j].std(ddof=1)) if len(values) > 1 else math.nan
            row[f"{name}_error"] = spread / math.sqrt(max(len(values), 1))
        rows.append({**row, "n_runs": len(trial.runs), "chosen": ways[trial.slot] == chosen, "error": trial.error})
    return pd.DataFrame(rows)
