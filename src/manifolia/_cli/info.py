"""``manifolia info``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from manifolia import registry
from manifolia._cli.console import Console
from manifolia._core.installed import cores, extras, installed_lines, versions
from manifolia._core.memory import available
from manifolia.runs import open_run

_NOT_OF_THE_MAP = ("callback", "verbose")  # parameters that only say what is shown while it is made


def run_info(console: Console, run: Path | None) -> None:
    """Print what is installed, or what a run is."""
    if run is not None:
        _tell_run(console, run)
        return
    installed: dict[str, Any] = {
        "versions": versions(),
        "cores": cores(),
        "free_memory": available(),
        "methods": registry.names(),
        "extras": extras(),
        "data_home": os.environ.get("MANIFOLIA_DATA"),
    }
    console.data(installed)
    title, *lines = installed_lines()
    console.heading(title)
    console.result("Methods: " + ", ".join(installed["methods"]))
    for line in lines:
        console.result(line)


def _tell_run(console: Console, path: Path) -> None:
    report = open_run(path).report
    console.data(report)
    target = " and ".join(report["target"]["columns"]) or "no target"
    console.heading(f"{path}: {report['data']['source']} by {target}, {report['method']}, made {report['created']}")
    console.result(f"  {report['data']['rows']:,} rows, {report['data']['columns']:,} columns")
    for name, value in report["parameters"].items():
        if name not in _NOT_OF_THE_MAP:
            console.result(f"  {name:14s} {value}")
    console.findings(report)
    for text in report["notes"]:
        console.result(f"- {text}")
