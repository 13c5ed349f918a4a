"""``manifolia diagnose``: what a map may be trusted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from manifolia._cli.console import Console
from manifolia._cli.map import FAILED, read_table
from manifolia._core.messages import Word
from manifolia._core.progress import Reporter
from manifolia._core.types import BoolArray
from manifolia.runs import open_run
from manifolia.runs.request import READING
from manifolia.runs.verdicts import diagnose_run, diagnose_tables, write_verdicts
from manifolia.tables import read
from manifolia.tables.naming import listing, number
from manifolia.trust import Diagnosis
from manifolia.trust.words import share_of

_MOST = 10  # rows and clusters that are listed
_SHOWN = 5  # rows whose reason is told


def run_diagnose(
    console: Console,
    run: Path | None,
    *,
    map: Path | None,
    data: Path | None,
    target: tuple[str, ...],
    random_state: int,
    fail_on: str | None,
    **options: Any,  # clusters, groups, level, sample, n_jobs, and how the table is read
) -> None:
    """Diagnose the map of a run, or a map from elsewhere."""
    reading = {name: options.pop(name) for name in READING}
    reporter, labels = Reporter(console), None
    if run is None:
        if map is None or data is None:
            raise click.UsageError("Give a run, or a map from elsewhere with --map COORDINATES --data TABLE.")
        found = diagnose_tables(
            read(map), read_table(data, reading), target=target, random_state=random_state, reporter=reporter, **options
        )
        names, title = [str(i) for i in range(len(found.rows))], f"the map in {map}"
    else:
        if map is not None or data is not None or target:
            raise click.UsageError("A run has its own map, table and target: leave out --map, --data and --target.")
        folder = open_run(run)
        found = diagnose_run(folder, reporter=reporter, **options)
        names, title = [str(name) for name in folder.coordinates["row"]], f"the map of {run}"
        if len(folder.report["target"]["columns"]) == 1:
            labels = folder.coordinates.iloc[:, 1 + len(folder.report["axes"])]
            labels = labels.astype(float if folder.report["target"]["task"] == "regression" else object)
        path = write_verdicts(folder, found)
        console.note(f"Every row's verdict is in {path}, and on the page {run / 'map.html'}.")
    console.data({**found.to_report(), "rows": _worst(found, names)})
    console.heading(f"What {title} may be trusted for: {found.summary}")
    _tell(console, found, names, labels)
    if fail_on == "not-earned" and found.map["earned"] == "not earned":
        raise click.exceptions.Exit(FAILED)


def _tell(console: Console, found: Diagnosis, names: list[str], labels: pd.Series | None) -> None:
    for finding in found.findings:
        console.result(f"- {finding.text}")
    if len(found.clusters):
        console.heading("Clusters")
        untold = found.clusters["size_verdict"] == "cannot tell"
        common = set(found.clusters["size_reason"]) if untold.all() else set()
        for _, line in found.clusters.head(_MOST).iterrows():
            stretch = "" if pd.isna(line["stretch"]) else f" ({line['stretch']:.1f} times)"
            share = "" if pd.isna(line["share_solid"]) else f"{line['share_solid']:.0%} solid"
            size = "" if len(common) == 1 else f"size: {line['size_verdict']}{stretch}"
            if line["size_verdict"] == "cannot tell" and len(common) != 1:
                size = f"{size}. {line['size_reason']}"
            held = "  ".join(filter(None, (share, _mostly(labels, found.labels == line["cluster"]), size)))
            console.result(f"  {line['name'][:28]:28s} {line['n_rows']:7,d} rows  {held}".rstrip())
        if len(found.clusters) > _MOST:
            console.result(f"  and {len(found.clusters) - _MOST} more")
        judged = (found.rows["verdict"] != "not judged").to_numpy()
        alone = np.flatnonzero(judged & ~np.isin(found.labels, found.clusters["cluster"]))
        if len(alone):
            some = listing([Word(names[row]) for row in alone])
            are = "row is" if len(alone) == 1 else "rows are"
            console.result(f"  {len(alone):,} {are} in no cluster, but between them or apart: {some}")
        arranged = found.map["arrangement_reason"]
        both = common == {arranged} and found.map["arrangement"] == "cannot tell"
        if len(common) == 1:
            console.result(f"  Sizes{' and arrangement' * both}: cannot tell. {common.pop()}")
        if not both:
            console.result(f"  Arrangement: {found.map['arrangement']}. {arranged}")
    if len(found.gaps):
        console.heading("Gaps")
        told = found.gaps["verdict"] != "cannot tell"
        for _, line in found.gaps[told].head(_MOST).iterrows():
            console.result(f"  {line['a'][:20]} and {line['b'][:20]}: {line['verdict']}. {line['reason']}")
        if told.sum() > _MOST:
            console.result(f"  and {told.sum() - _MOST} more")
        if not told.all():
            rest = found.gaps[~told]
            why = f" {rest['reason'].iloc[0]}" if rest["reason"].nunique() == 1 else ""
            console.result(f"  Cannot tell: {len(rest)} of {len(found.gaps)}.{why}")
    if len(found.regions):
        console.heading("Regions")
        for _, line in found.regions.head(_MOST).iterrows():
            inside = "  " * int(line["level"])
            console.result(
                f"  {inside}{line['name']}: {line['n_rows']:,d} rows, in {line['returned']:.0%} of the halves"
            )
        if len(found.regions) > _MOST:
            console.result(f"  and {len(found.regions) - _MOST} more")
    worst = _worst(found, names)
    if worst:
        console.heading("Rows to look at")
        for line in worst[:_SHOWN]:
            console.result(f"  {line['row'][:20]:20s} {line['verdict']:8s} {line['reason']}")
        rest = ", ".join(line["row"] for line in worst[_SHOWN:])
        if rest:
            console.result(f"  and {rest}")


def _mostly(labels: pd.Series | None, own: BoolArray) -> str:
    """Say what is in a cluster: the class that most of its labelled rows have, or the middle of its numbers."""
    if labels is None or not labels[own].notna().any():
        return ""
    values = labels[own].dropna()
    if values.dtype == float:
        return f"median {labels.name} {number(values.median())}"
    counts = values.astype(str).value_counts()
    return f"{labels.name} {counts.index[0]} {share_of(int(counts.iloc[0]), len(values))}"


def _worst(found: Diagnosis, names: list[str]) -> list[dict[str, str]]:
    """The rows that are least where they belong, by name."""
    some = found.worst_rows(_MOST)
    return [
        {"row": names[int(i)], "verdict": verdict, "reason": reason}
        for i, verdict, reason in zip(some.index, some["verdict"], some["reason"], strict=True)
    ]
