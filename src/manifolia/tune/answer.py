"""From trials to an answer and its tables: recommend by expectation, confirm with fresh seeds.

The smallest mean of noisy runs is too good to be true (by 0.06 to 0.12 in 1 − NMI on the paper's two clusters). So the
candidates are those with the smallest *expected* loss, according to the surrogate; they are run again with fresh seeds;
and the figure reported comes from runs that had no part in the choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import chi2

from manifolia._core.types import FloatArray
from manifolia.tune.parameters import label_of
from manifolia.tune.pareto import knee, non_dominated, widths
from manifolia.tune.search import Search
from manifolia.tune.space import SearchSpace, Setting, key_of
from manifolia.tune.study import Trial, mixed_seed
from manifolia.tune.surrogate import Observations, fit_surrogate

_N_DRAWS = 200
_FLAT = 0.95


class Answer(NamedTuple):
    """What is recommended."""

    setting: Setting  # The setting
    final: Trial | None  # Runs with fresh seeds that had no part in the choice; None if there was no time
    chosen_by: Trial | None  # The trial of the setting; None if it was not tried
    failure: str = ""  # What went wrong in the final runs; empty if nothing did

    @property
    def values(self) -> FloatArray:
        """Metrics of the final runs, or of those it was chosen by; (n_runs, n_metrics), which may have no rows."""
        trial = self.chosen_by if self.final is None else self.final
        return np.array([run.values for run in trial.runs if not run.error]) if trial else np.empty((0, 0))


def expected_losses(
    space: SearchSpace, observed: Observations, kind: str, seed: int, settings: Sequence[Setting] | None = None
) -> FloatArray:
    """Return what the surrogate expects of settings; by default, of those that were tried."""
    if settings is None and len(observed.settings) < 3:
        return observed.losses
    features = space.features(observed.settings if settings is None else settings)
    columns = range(observed.losses.shape[1])
    return np.stack([fit_surrogate(space, observed, kind, seed, j).predict(features)[0] for j in columns], axis=1)


def confirm(search: Search, *, n_confirm: int, pick: Setting | None = None) -> Answer:
    """Choose a setting and measure it again."""
    space, surrogate, seed = search.space, search.tuner.surrogate, mixed_seed(search.store.seed, 3)
    trials = [trial for trial in search.store.trials() if trial.works]
    if pick is not None:
        return _measured(search, pick, trials)
    ranked = _ranking(expected_losses(space, search.observe(trials), surrogate, seed))
    different = {key_of(trials[i].setting): trials[i].setting for i in ranked}
    settings = list(different.values())[: max(n_confirm, 1)]
    if n_confirm > 1 and len(settings) > 1 and not search.is_late:
        candidates = [t for t in search.run_together("confirm", settings, halve=True) if t.works]
        if candidates:
            pooled = [_pooled(trial, candidates) for trial in trials]
            now = expected_losses(space, search.observe(pooled), surrogate, seed)
            among = {repr(trial.setting) for trial in candidates}
            order = [i for i in _ranking(now) if repr(trials[i].setting) in among]
            settings = [trials[order[0]].setting]
    return _measured(search, settings[0], trials)


def _measured(search: Search, setting: Setting, trials: Sequence[Trial]) -> Answer:
    """The setting with runs whose seeds no other stage uses, if there is time."""
    runs = [] if search.is_late else search.run_together("final", [setting], halve=False)
    return Answer(
        setting,
        next((trial for trial in runs if trial.works), None),
        next((trial for trial in trials if trial.setting == setting), None),
        next((trial.error for trial in runs if trial.error), ""),
    )


def _ranking(expected: FloatArray) -> list[int]:
    """Best first: by the loss, or the knee of the front, then the rest of the front, then the others."""
    if expected.shape[1] == 1:
        return [int(i) for i in np.argsort(expected[:, 0], kind="stable")]
    front = non_dominated(expected)
    best = knee(expected)
    far = np.linalg.norm((expected - expected[best]) / widths(expected), axis=1)
    return [int(i) for i in sorted(range(len(expected)), key=lambda i: (i != best, not front[i], far[i]))]


def _pooled(trial: Trial, fresh: Sequence[Trial]) -> Trial:
    """The trial with the fresh runs of its setting added."""
    more = [run for other in fresh if other.setting == trial.setting for run in other.runs]
    return Trial(trial.slot, trial.stage, trial.setting, trial.arguments, [*trial.runs, *more])


def is_flat(observed: Observations) -> bool:
    """Return whether settings differ no more than runs do, so that there is nothing to find by tuning."""
    if observed.noise is None or len(observed.settings) < 3:
        return False
    loss, noise = observed.losses[:, 0], observed.noise[:, 0]
    if not np.all(noise > 0):
        return bool(np.ptp(loss) == 0)
    weights = noise**-2.0
    mean = float(np.sum(weights * loss) / np.sum(weights))
    return bool(np.sum(weights * (loss - mean) ** 2) < chi2.ppf(_FLAT, loss.size - 1))


def front_chances(space: SearchSpace, observed: Observations, kind: str, seed: int) -> FloatArray:
    """Estimate how likely each tried setting is on the front."""
    features = space.features(observed.settings)
    rng = np.random.default_rng(seed)
    columns = range(observed.losses.shape[1])
    draws = [fit_surrogate(space, observed, kind, seed, j).draw(features, _N_DRAWS, rng) for j in columns]
    return np.mean([non_dominated(np.stack(one, axis=1)) for one in zip(*draws, strict=True)], axis=0)


def trials_table(
    trials: Sequence[Trial], worked: Sequence[Trial], observed: Observations, expected: FloatArray, names: Sequence[str]
) -> pd.DataFrame:
    """Tabulate every setting that was tried."""
    place = {id(trial): i for i, trial in enumerate(worked)}
    rows = []
    for trial in trials:
        i = place.get(id(trial))
        row: dict[str, Any] = {"slot": trial.slot, "stage": trial.stage, **trial.setting}
        row |= {f"argument_{k}": v for k, v in trial.arguments.items() if v != trial.setting.get(k)}
        for j, name in enumerate(names):
            values = [run.values[j] for run in trial.runs if not run.error]
            row[name] = float(np.mean(values)) if values else math.nan
            row[f"{name}_loss"] = math.nan if i is None else observed.losses[i, j]
            row[f"{name}_error"] = math.nan if i is None or observed.noise is None else observed.noise[i, j]
            row[f"{name}_expected"] = math.nan if i is None else expected[i, j]
        row |= {"n_runs": len(trial.runs), "seconds": sum(run.seconds for run in trial.runs), "error": trial.error}
        rows.append(row)
    return pd.DataFrame(rows)


def runs_table(trials: Sequence[Trial], names: Sequence[str]) -> pd.DataFrame:
    """Tabulate every run."""
    rows = []
    for trial in trials:
        for repeat, run in enumerate(trial.runs):
            values = dict(zip(names, run.values, strict=True)) if not run.error else dict.fromkeys(names, math.nan)
            more = {"own_loss": run.own_loss, "seconds": run.seconds, "notes": "; ".join(run.notes), "error": run.error}
            rows.append({"slot": trial.slot, "repeat": repeat, **values, **more})
    return pd.DataFrame(rows)


def front_table(table: pd.DataFrame, expected: FloatArray, chances: FloatArray, names: Sequence[str]) -> pd.DataFrame:
    """Take the settings on the expected front."""
    front = np.flatnonzero(non_dominated(expected))
    worked = table[table["error"] == ""].reset_index(drop=True)
    table = worked.iloc[front].assign(chance=chances[front])
    return table.sort_values(f"{names[0]}_expected").reset_index(drop=True)


def study_dict(tuner: Any, metrics: Sequence[tuple[str, str]], parameters: Sequence[str]) -> dict[str, Any]:
    """Write a fitted tuner as plain values."""
    try:
        shares = tuner.sensitivity()
        table: Any = {"table": _plain(shares.table.reset_index(names="parameter")), "r2": shares.r2}
    except ValueError as refusal:
        table = {"refused": str(refusal)}
    how = tuner.aggregate_
    return {
        "metrics": [{"name": name, "direction": direction} for name, direction in metrics],
        "parameters": list(parameters),
        "n_rows": len(tuner.rows_),
        "trials": _plain(tuner.trials_),
        "best_params": {name: _native(value) for name, value in tuner.best_params_.items()},
        "best_setting": {name: _native(value) for name, value in tuner.best_setting_.items()},
        "best_score": np.asarray(tuner.best_score_).tolist(),
        "best_score_error": [_native(one) for one in np.atleast_1d(tuner.best_score_error_)],
        **{name: _native(getattr(tuner, f"{name}_")) for name in ("confirmed", "flat", "r2", "n_runs", "stopped")},
        "aggregate": list(how) if isinstance(how, tuple) else how,
        **{name: getattr(tuner, f"{name}_", None) for name in ("knee", "hypervolume")},
        **{name: _plain(getattr(tuner, f"{name}_", None)) for name in ("pareto", "carried")},
        "sensitivity": table,
    }


def _plain(table: pd.DataFrame | None) -> list[dict[str, Any]] | None:
    return None if table is None else [{str(k): _native(v) for k, v in row.items()} for row in table.to_dict("records")]


def _native(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return label_of(value)
