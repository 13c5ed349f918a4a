"""``manifolia score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manifolia._cli.console import Console
from manifolia._cli.map import read_table
from manifolia.runs import open_run
from manifolia.runs.scores import Score, score_rows, score_run

__all__ = ["run_score"]


def run_score(path: Path, options: dict[str, Any]) -> None:
    """Print the scores of a run."""
    console = Console(quiet=options["quiet"], as_json=options["as_json"])
    run = open_run(path)
    with console.noting_warnings():
        if options["data"] is not None:
            scores = score_rows(
                run.model(), read_table(options["data"], options), run.report, all_scores=options["all_scores"]
            )
            title = f"{options['data']} on the map of {path}"
        elif options["all_scores"]:
            scores = score_run(run.rows(), run.coordinates(), run.report)
            title = f"the map of {path}, every score"
        else:
            scores = [Score(**entry) for entry in run.report["scores"]]
            title = f"the map of {path}"
    console.data({"scores": [score._asdict() for score in scores], "model": run.report["model"]})
    console.heading(f"Scores of {title}")
    for name, value in run.report["model"].items():
        console.result(f"  {name:28s} {value:10.4g}  of the model")
    for score in scores:
        value = "—" if score.value is None else f"{score.value:.4g}"
        told = score.note if score.value is None else f"{score.direction} is better, {score.sample}"
        console.result(f"  {score.metric:28s} {value:>10s}  {told}")
