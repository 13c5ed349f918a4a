"""``manifolia tune``."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manifolia._cli.console import Console
from manifolia._cli.map import read_table, request_of
from manifolia._core.optional import is_installed
from manifolia.runs import make_run, write_run
from manifolia.runs.folder import rows_of
from manifolia.runs.request import check_free
from manifolia.runs.settings import tune_table
from manifolia.show.tuning import write_study_picture
from manifolia.tables import write
from manifolia.tables.naming import counted

#: What is asked of the tuner.
_TUNING = ("space", "n_trials", "n_repeats", "subsample", "timeout", "storage")


def run_tune(
    console: Console,
    data: Path,
    out: Path | None,
    *,
    metrics: tuple[str, ...],
    escape_formulas: bool,
    force: bool,
    **options: Any,
) -> None:
    """Tune a method on a table, make the run with what was found, and say how sure that is."""
    folder = out if out is not None else data.with_name(f"{'stdin' if str(data) == '-' else data.stem}-tuned")
    check_free(folder, force=force)
    tuning = {name: options.pop(name) for name in _TUNING}
    table = read_table(data, options)
    began = time.perf_counter()
    tuned = tune_table(table, request_of(options), console, metrics=metrics, **tuning)
    run = make_run(table, replace(tuned.request, study=tuned.tuner), console)
    study = tuned.tuner.to_dict()

    def add_study(place: Path) -> None:
        (place / "tuning.json").write_text(json.dumps(study, indent=1, allow_nan=False), encoding="utf-8")
        write(tuned.tuner.trials_, place / "trials.csv", escape_formulas=escape_formulas)
        if is_installed("matplotlib"):
            write_study_picture(tuned.tuner, place / "tuning.png")

    with console.stage("write"):
        write_run(run, folder, force=force, escape_formulas=escape_formulas, more=add_study)
    console.notes([*tuned.notes, *run.report["notes"]])
    console.data({"run": str(folder), "page": str(folder / "map.html"), "tuning": study})
    if not console.quiet:
        _tell(console, tuned.tuner, run.report, folder, time.perf_counter() - began)


def _tell(console: Console, tuner: Any, report: dict[str, Any], folder: Path, seconds: float) -> None:
    tried = f"{counted(len(tuner.trials_), 'setting')} tried, {counted(tuner.n_runs_, 'fit')} in all"
    if tuner.n_runs_ > len(tuner.trials_):
        tried += f" (repeats with other seeds{', and fresh ones of the best' if tuner.confirmed_ else ''})"
    all_rows, n_rows = report["data"]["rows"], len(tuner.rows_)
    rows = rows_of(report) if n_rows == all_rows else f"{n_rows:,} of {rows_of(report)}"
    console.heading(f"{report['method']} tuned on {rows}: {tried}, {seconds:.1f} s")
    shown = ", ".join(f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
                      for name, value in tuner.best_params_.items())  # fmt: skip
    flat = ", though the settings that were tried differ no more than runs of one: it is as good as any of them"
    console.result(f"- Recommended: {shown}{flat * tuner.flat_}.")
    fresh = "in runs with fresh seeds" if tuner.confirmed_ else "in the runs it was chosen by, so too good"
    names = [one["name"] for one in tuner.to_dict()["metrics"]]
    scores, errors = np.atleast_1d(tuner.best_score_), np.atleast_1d(tuner.best_score_error_)
    for name, score, error in zip(names, scores, errors, strict=True):
        doubt = f" ± {error:.2g}" if np.isfinite(error) and error > 0 else ""
        console.result(f"- {name} {score:.3f}{doubt} {fresh}.")
    failed = int((tuner.trials_["error"] != "").sum())
    if failed:
        console.result(f"- {failed} settings failed; trials.csv says why.")
    if tuner.stopped_:
        console.result(f"- The search ended early: {tuner.stopped_}.")
    console.heading("What the map with these settings shows")
    console.findings(report)
    console.heading(f"Open the page: {folder / 'map.html'}")
