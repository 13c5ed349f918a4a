"""``manifolia info``."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from manifolia import registry
from manifolia._cli.console import Console
from manifolia._core.memory import available, format_bytes
from manifolia.runs import open_run
from manifolia.runs.report import versions

#: Extras and the package that each brings.
_EXTRAS = {
    "parquet": "pyarrow",
    "excel": "python_calamine",
    "plot": "matplotlib",
    "anndata": "anndata",
    "tune": "optuna",
    "dask": "distributed",
    "notebook": "anywidget",
}


def run_info(console: Console, run: Path | None) -> None:
    """Print what is installed, or what a run is."""
    if run is not None:
        _tell_run(console, run)
        return
    extras = {name: _version(package) for name, package in _EXTRAS.items()}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    installed: dict[str, Any] = {
        "versions": versions(),
        "cores": cores,
        "free_memory": available(),
        "methods": registry.names(),
        "extras": extras,
        "data_home": os.environ.get("MANIFOLIA_DATA"),
    }
    console.data(installed)
    figures = {**installed["versions"], "cores": cores, "free memory": format_bytes(installed["free_memory"])}
    console.heading(f"manifolia {figures.pop('manifolia')}")
    for name, value in figures.items():
        console.result(f"  {name:14s} {value}")
    console.result("Methods: " + ", ".join(installed["methods"]))
    console.result("Extras:")
    for name, found in extras.items():
        told = found or f"not installed: pip install {_EXTRAS[name].replace('_', '-')}"
        console.result(f"  {name:14s} {told}")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _tell_run(console: Console, path: Path) -> None:
    report = open_run(path).report
    console.data(report)
    target = " and ".join(report["target"]["columns"]) or "no target"
    console.heading(f"{path}: {report['data']['source']} by {target}, {report['method']}, made {report['created']}")
    console.result(f"  {report['data']['rows']:,} rows, {report['data']['columns']:,} columns")
    for name, value in report["parameters"].items():
        console.result(f"  {name:14s} {value}")
    console.findings(report)
    for text in report["notes"]:
        console.result(f"- {text}")
