"""What a result depends on and a bug report should include: versions, optional packages, the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from manifolia._core.memory import available, format_bytes
from manifolia._version import __version__

#: Extras and the package that each brings.
EXTRAS = {
    "parquet": "pyarrow",
    "excel": "python_calamine",
    "plot": "matplotlib",
    "anndata": "anndata",
    "tune": "optuna",
    "dask": "distributed",
    "notebook": "anywidget",
}


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
    return {
        "manifolia": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "platform": platform.platform(),
    }


def extras() -> dict[str, str | None]:
    """Return the version of each optional package, None where it is not installed."""
    found: dict[str, str | None] = {}
    for name, package in EXTRAS.items():
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            found[name] = None
    return found


def cores() -> int | None:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def installed_lines() -> list[str]:
    """Say what is installed, one line each."""
    figures = {**versions(), "cores": cores(), "free memory": format_bytes(available())}
    lines = [f"manifolia {figures.pop('manifolia')}", *(f"  {name:14s} {value}" for name, value in figures.items())]
    lines.append("Extras:")
    for name, found in extras().items():
        told = found or f"not installed: pip install {EXTRAS[name].replace('_', '-')}"
        lines.append(f"  {name:14s} {told}")
    return lines


def show_versions() -> None:
    """Print the versions and the machine that a bug report should name.

    It is what ``manifolia info`` prints.

    Examples
    --------
    >>> import manifolia as mf
    >>> mf.show_versions()  # doctest: +ELLIPSIS
    manifolia ...
    """
    import click

    click.echo("\n".join(installed_lines()))
