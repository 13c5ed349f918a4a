"""``manifolia compare``: what the maps of two runs share and where they differ."""

from __future__ import annotations

from pathlib import Path

from manifolia._cli.console import Console
from manifolia.runs import open_run
from manifolia.runs.comparing import compare_runs, side_by_side, write_comparison

_MOST = 12  # clusters that are listed


def run_compare(console: Console, first: Path, second: Path, *, out: Path | None, force: bool) -> None:
    """Compare two runs."""
    runs = open_run(first), open_run(second)
    if out is not None and out.exists() and not force:
        raise FileExistsError(f"{out} is there already. Choose another name, or replace it with --force.")
    with console.noting_warnings():
        found = compare_runs(*runs)
    scores = side_by_side(found, *runs)
    if out is not None:
        write_comparison(found, *runs, out)
    told = found.to_dict()
    told["map"]["scores"] = scores
    console.data({**told, "page": None if out is None else str(out)})
    console.heading(f"{first} and {second}")
    for finding in found.findings:
        console.result(f"- {finding.text}")
    if len(found.clusters):
        console.heading("Clusters")
        for _, line in found.clusters.head(_MOST).iterrows():
            name = line["clusters_a"] or line["clusters_b"]
            console.result(f"  {line['change']:9s} {name[:44]:44s} {line['reason']}")
        if len(found.clusters) > _MOST:
            console.result(f"  and {len(found.clusters) - _MOST} more")
    if scores:
        console.heading("Scores")
        for score in scores:
            console.result(f"  {score['score']:40s} {score['a']:8.3f} {score['b']:8.3f}")
    if out is not None:
        console.heading(f"Open the page: {out}")
