"""``manifolia score``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manifolia._cli.console import Console
from manifolia.runs import open_run
from manifolia.runs.new_rows import read_new
from manifolia.runs.scores import Score, score_rows, score_run
from manifolia.tables.naming import group_words


def run_score(console: Console, run: Path, data: Path | None, *, all_scores: bool, **reading: Any) -> None:
    """Print the scores of a run."""
    folder = open_run(run)
    with console.noting_warnings():
        if data is not None:
            scores = score_rows(
                folder.model, read_new(data, folder.report, reading), folder.report, all_scores=all_scores
            )
            title = f"{data} on the map of {run}"
        elif all_scores:
            scores = score_run(folder.model, folder.rows, folder.coordinates, folder.report)
            title = f"the map of {run}, every score"
        else:
            scores = [Score(**entry) for entry in folder.report["scores"]]
            title = f"the map of {run}"
    console.data({"scores": [score._asdict() for score in scores], "model": folder.report["model"]})
    groups = folder.report.get("groups")
    left_out = f"; neighbours of the same {group_words(groups['column'])[0]} left out" if groups else ""
    console.heading(f"Scores of {title}{left_out}")
    for name, value in folder.report["model"].items():
        console.result(f"  {name:28s} {value:10.4g}  of the model")
    for score in scores:
        value = "—" if score.value is None else f"{score.value:.4g}"
        told = score.note if score.value is None else f"{score.direction} is better, {score.sample}"
        console.result(f"  {score.metric:28s} {value:>10s}  {told}")
