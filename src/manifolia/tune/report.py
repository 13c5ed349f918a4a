"""A study as tables and as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia.tune.pareto import hypervolume, non_dominated
from manifolia.tune.proposal import Evidence
from manifolia.tune.study import Trial

__all__ = ["carried_table", "front_table", "runs_table", "study_dict", "trials_table", "unit_volume"]

_WAYS = ("same fraction", "between", "same number")  # in the order of `delivery.carried`


def trials_table(
    trials: Sequence[Trial], worked: Sequence[Trial], evidence: Evidence, expected: FloatArray, names: Sequence[str]
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
            row[f"{name}_loss"] = math.nan if i is None else evidence.losses[i, j]
            row[f"{name}_error"] = math.nan if i is None or evidence.noise is None else evidence.noise[i, j]
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
    found = worked.iloc[front].assign(chance=chances[front]).sort_values(f"{names[0]}_expected")
    return found.reset_index(drop=True)


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


def unit_volume(losses: FloatArray, bounded: Sequence[bool]) -> float:
    """Measure a front in the unit cube of losses."""
    low = np.where(bounded, 0.0, losses.min(axis=0))
    width = np.where(bounded, 1.0, np.ptp(losses, axis=0))
    return hypervolume((losses - low) / np.where(width > 0, width, 1.0), np.ones(losses.shape[1]))


def study_dict(tuner: Any, metrics: Sequence[tuple[str, str]], parameters: Sequence[str]) -> dict[str, Any]:
    """Write a fitted tuner as plain values."""
    try:
        found = tuner.sensitivity()
        table: Any = {"table": _plain(found.table.reset_index(names="parameter")), "r2": found.r2}
    except ValueError as refusal:
        table = {"refused": str(refusal)}
    how = tuner.aggregate_
    return {
        "metrics": [{"name": name, "direction": direction} for name, direction in metrics],
        "parameters": list(parameters),
        "trials": _plain(tuner.trials_),
        "best_params": {name: _native(value) for name, value in tuner.best_params_.items()},
        "best_setting": {name: _native(value) for name, value in tuner.best_setting_.items()},
        "best_score": np.asarray(tuner.best_score_).tolist(),
        "best_score_error": [_native(one) for one in np.atleast_1d(tuner.best_score_error_)],
        "confirmed": tuner.confirmed_,
        "flat": tuner.flat_,
        "r2": _native(tuner.r2_),
        "n_runs": tuner.n_runs_,
        "stopped": tuner.stopped_,
        "aggregate": list(how) if isinstance(how, tuple) else how,
        "pareto": _plain(tuner.pareto_) if hasattr(tuner, "pareto_") else None,
        "knee": getattr(tuner, "knee_", None),
        "hypervolume": getattr(tuner, "hypervolume_", None),
        "carried": _plain(tuner.carried_) if hasattr(tuner, "carried_") else None,
        "sensitivity": table,
    }


def _plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(k): _native(v) for k, v in row.items()} for row in table.to_dict("records")]


def _native(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)
