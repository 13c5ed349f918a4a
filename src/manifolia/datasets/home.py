"""The data home: a folder of Parquet and CSV tables, npz matrices and sparse counts, found by name.

================================  ===========================================================================
``NAME.parquet``, ``NAME.csv``    a table, one row per instance
``NAME.npz``                      ``X`` of shape (n, d), ``y`` and further arrays; no pickled objects
``NAME_counts.npz``               a SciPy sparse matrix; beside it ``NAME_labels`` (one row per row) and
                                  ``NAME_genes`` or ``NAME_terms`` (one row per column) as Parquet or CSV
================================  ===========================================================================

Files of its subfolder ``untouched`` are found by name too; they are kept apart to judge choices, not to make them.
"""

from __future__ import annotations

import difflib
import os
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manifolia._core.optional import import_extra
from manifolia._core.types import Array, Sparse
from manifolia.datasets.catalogue import BUNDLED
from manifolia.exceptions import DataHomeError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    import pandas as pd


_ENVIRONMENT = "MANIFOLIA_DATA"
_SUBFOLDERS = ("untouched",)
_COUNTS = "_counts.npz"
_TABLES = (".parquet", ".csv")
_LABELS = ("_labels",)
_FEATURES = ("_genes", "_terms")


class Entry(NamedTuple):
    """A set in the data home."""

    kind: str  # "table", "matrix" or "counts"
    path: Path  # The file


def get_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that data sets are read from.

    Parameters
    ----------
    data_home : path, default=None
        The folder; None takes the environment variable ``MANIFOLIA_DATA``, and if that is not set, the folder
        ``manifolia`` in the user's cache: ``%LOCALAPPDATA%`` on Windows, ``~/Library/Caches`` on macOS,
        ``$XDG_CACHE_HOME`` or ``~/.cache`` elsewhere.

    Returns
    -------
    Path
        The folder. Only the one in the cache may be absent; it is not created.

    Raises
    ------
    DataHomeError
        If the argument or the environment variable names something that is not a folder.
    TypeError
        If the argument is not a path.
    """
    if data_home is not None:
        if not isinstance(data_home, (str, os.PathLike)):
            raise ParameterTypeError(
                f"data_home must be a path or None, got {data_home!r} of type {type(data_home).__name__}.",
                parameter="data_home",
            )
        return _existing(Path(data_home).expanduser(), "the argument data_home")
    variable = os.environ.get(_ENVIRONMENT)
    if variable:
        return _existing(Path(variable).expanduser(), f"the environment variable {_ENVIRONMENT}")
    return _cache_folder() / "manifolia"


def _existing(folder: Path, origin: str) -> Path:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise DataHomeError(f"{origin} is {str(folder)!r}, which {what}. Name the folder that holds the data sets.")
    return folder


def _cache_folder() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return xdg if xdg.is_absolute() else Path.home() / ".cache"  # the XDG rules say to ignore a relative path


def scan(home: Path) -> dict[str, list[Entry]]:
    """List what a data home holds."""
    folders = [home, *(home / name for name in _SUBFOLDERS)]
    files = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    counts = {path.name.removesuffix(_COUNTS) for path in files if path.name.endswith(_COUNTS)}
    companions = {name + part for name in counts for part in (*_LABELS, *_FEATURES)}
    entries: dict[str, list[Entry]] = {}
    for path in files:
        if path.name.startswith(".") or not path.is_file():
            continue
        if path.name.endswith(_COUNTS):
            entries.setdefault(path.name.removesuffix(_COUNTS), []).append(Entry("counts", path))
        elif path.suffix == ".npz":
            entries.setdefault(path.stem, []).append(Entry("matrix", path))
        elif path.suffix in _TABLES and path.stem not in companions:
            entries.setdefault(path.stem, []).append(Entry("table", path))
    return dict(sorted(entries.items()))


def find(name: str, home: Path) -> Entry:
    """Find a set in the data home.

    Parameters
    ----------
    name : str
        The set's name.
    home : Path
        The folder.

    Returns
    -------
    Entry
        Its kind and file.

    Raises
    ------
    DataHomeError
        If it is not there, with a list of what is there and the closest name.
    ValueError
        If two files have the name.
    """
    listed = scan(home)
    entries = listed.get(name, [])
    if len(entries) > 1:
        files = ", ".join(str(entry.path.relative_to(home)) for entry in entries)
        raise ParameterError(
            f"name={name!r} fits several files in {home}: {files}. Rename or remove all but one.", parameter="name"
        )
    if entries:
        return entries[0]
    near = difflib.get_close_matches(name, [*listed, *BUNDLED], n=1)
    if not home.is_dir():
        holds = f"The data home {home} does not exist."
    elif listed:
        holds = f"The data home {home} holds: {', '.join(listed)}."
    else:
        holds = f"The data home {home} holds no data set (NAME.parquet, NAME.csv, NAME.npz, NAME{_COUNTS})."
    parts = [
        f"there is no data set named {name!r} in the data home.",
        f"Did you mean {near[0]!r}?" if near else "",
        holds,
        f"Bundled with scikit-learn: {', '.join(BUNDLED)}.",
        f"Name another folder with data_home= or {_ENVIRONMENT}, or ask OpenML with download=True.",
    ]
    raise DataHomeError(" ".join(part for part in parts if part))


def read_table(path: Path) -> pd.DataFrame:
    """Read a Parquet or CSV table."""
    import pandas as pd

    if path.suffix == ".parquet":
        import_extra("pyarrow", extra="parquet", purpose=f"Reading {path.name}")
    try:
        # pyarrow's errors for a damaged file and pandas' parser errors are ValueErrors.
        if path.suffix == ".parquet":
            return pd.read_parquet(path, engine="pyarrow", page_checksum_verification=True)
        return pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise _unreadable(path, error) from error


def read_arrays(path: Path) -> dict[str, Array]:
    """Read an npz file without pickled objects."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error) from error
    if "X" not in arrays or arrays["X"].ndim != 2:
        shapes = ", ".join(f"{key} {value.shape}" for key, value in arrays.items())
        raise ValueError(
            f"{path} must hold a two-dimensional array X, got: {shapes}. "
            f"A matrix saved with scipy.sparse.save_npz belongs in a file NAME{_COUNTS}."
        )
    return arrays


def read_counts(path: Path) -> tuple[Sparse, pd.DataFrame | None, pd.DataFrame | None]:
    """Read sparse counts with their label and feature tables."""
    import scipy.sparse as sp

    try:
        counts = sp.csr_array(sp.load_npz(path))
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise _unreadable(path, error, "It must come from scipy.sparse.save_npz.") from error
    counts.sort_indices()
    stem = path.name.removesuffix(_COUNTS)
    labels = _companion(path.parent, stem, _LABELS, counts.shape[0], "rows")
    features = _companion(path.parent, stem, _FEATURES, counts.shape[1], "columns")
    return counts, labels, features


def _companion(folder: Path, stem: str, parts: Iterable[str], length: int, what: str) -> pd.DataFrame | None:
    path = next(filter(Path.is_file, (folder / f"{stem}{part}{suffix}" for part in parts for suffix in _TABLES)), None)
    if path is None:
        return None
    table = read_table(path)
    if len(table) != length:
        raise ValueError(f"{path} has {len(table)} rows and the counts have {length} {what}: they must agree.")
    return table


def _unreadable(path: Path, error: Exception, hint: str = "") -> ValueError:
    return ValueError(f"cannot read {path}: {error}. The file may be damaged. {hint}".rstrip())
