"""The folder of a run: written in one step, read back, never half there.

=======================  ===========================================================
``model.mfa``            preparation and method, without pickle: `manifolia.load`
``coordinates.csv``      one line per row; or ``coordinates.parquet``
``map.html``             the page
``map.png``, ``.svg``    the picture
``payload.npz``          what the page was made of
``rows.npz``             the prepared rows, unless they are not to be kept
``report.json``          parameters, seeds, versions, timings, scores, findings
=======================  ===========================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia._core.files import clear_stages, folder_draft
from manifolia._core.messages import Argument, Message
from manifolia._core.optional import is_installed
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ModelFileError
from manifolia.explorer import Payload, write_page
from manifolia.explorer.build import read_report, stored_rows
from manifolia.explorer.context import Context, stored_context
from manifolia.persist import load, save
from manifolia.runs.run import Run
from manifolia.tables import write
from manifolia.tables.writing import with_formulas

_REPORT, _MODEL = "report.json", "model.mfa"
_ESCAPED = "escaped_formulas"  # in the report: whether texts of the coordinates have apostrophes in front
_FORCE = Argument("force", True)
_PICTURE_LIMIT = 2  # dimensions that the picture shows


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to overwrite, before the work begins."""
    clear_stages(_place(path))
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        there = next(parent for parent in path.absolute().parents if parent.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(
                f"{path} cannot be made: {there} is not a folder that you may write to. Choose another place."
            )
        return
    if not force:
        raise FileExistsError(
            Message(f"{path} is there already. Choose another place, or replace it with ", _FORCE, ".")
        )
    if not _is_run(path):
        raise FileExistsError(
            Message(f"{path} is there and is not a manifolia run: it is not replaced, even with ", _FORCE, ".")
        )


def _is_run(path: Path) -> bool:
    return (path / _REPORT).is_file()


def _place(path: str | os.PathLike[str]) -> Path:
    """Return where a folder is, or will be: where a link points to, not the link."""
    return Path(os.path.realpath(path))


def write_run(
    run: Run,
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    table_format: str = "csv",
    escape_formulas: bool = False,
    more: Callable[[Path], object] | None = None,
) -> Path:
    """Write the folder of a run, and what `more` writes into it: all of it, or nothing."""
    check_free(Path(path), force=force)
    target = _place(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_draft(target, replaces=_is_run if force else None) as folder:
        try:
            save(run.model, folder / _MODEL)
        except ModelFileError:  # scikit-learn's and peers' classes that hold what only pickle can save
            run.report["notes"].append(
                f"The model of {run.report['method']} cannot be saved without pickle: this run has its map, and places "
                f"no new rows."
            )
        write(run.coordinates, folder / f"coordinates.{table_format}", escape_formulas=escape_formulas)
        run.payload.save(folder / "payload.npz")
        write_page(run.payload, folder / "map.html")
        if run.rows is not None:
            _write_rows(run.rows, folder / "rows.npz")
        if is_installed("matplotlib"):
            _draw(run, folder)
        if more is not None:
            more(folder)
        text = json.dumps(
            run.report | ({_ESCAPED: True} if escape_formulas else {}), indent=2, ensure_ascii=False, allow_nan=False
        )
        (folder / _REPORT).write_text(text + "\n", encoding="utf-8")
    return Path(path)


def _write_rows(rows: Any, path: Path) -> None:
    if is_sparse(rows):
        sp.save_npz(path, sp.csr_matrix(rows))
    else:
        np.savez_compressed(path, rows=rows)


def _draw(run: Run, folder: Path) -> None:
    from manifolia.show.map import MapDisplay, write_map_picture

    axes, targets = run.report["axes"], run.report["target"]["columns"]
    if len(axes) > _PICTURE_LIMIT:
        return
    color = run.coordinates.iloc[:, 1 + len(axes)] if targets else None
    is_classes = color is not None and run.report["target"]["task"] in ("classification", "multilabel")
    display = MapDisplay.from_data(
        run.coordinates[axes].to_numpy(),
        color,
        kind="class" if is_classes else "auto",
        name=str(targets[0]) if targets else None,
    )
    write_map_picture(display, [folder / f"map.{suffix}" for suffix in ("png", "svg")], run.payload.meta["title"])


@dataclass(frozen=True)
class Folder:
    """A run on disk; its parts are read when they are asked for."""

    path: Path  # Where it is
    report: dict[str, Any]  # Its report

    def model(self) -> Any:
        """Load the pipeline of preparation and method."""
        if not (self.path / _MODEL).is_file():
            raise ModelFileError(
                f"{self.path} has no model, because that of {self.report['method']} cannot be saved. Map again with a "
                f"method whose model can be, such as guided-map."
            )
        return load(self.path / _MODEL)

    def context(self, payload: Payload | None = None) -> Context:
        """Take what is needed to place new rows; with the page, also to tell of them what it tells of its own."""
        return stored_context(self.model(), payload, None if payload is None else self.rows(), self.report)

    def payload(self) -> Payload:
        """Load what the page was made of."""
        return Payload.load(self.path / "payload.npz")

    def coordinates(self) -> pd.DataFrame:
        """Read the coordinates."""
        path = self.path / "coordinates.parquet"
        try:
            if path.is_file():
                frame = pd.read_parquet(path)
            else:
                path = path.with_suffix(".csv")
                frame = pd.read_csv(path, dtype={"row": str}, keep_default_na=True)
                frame = with_formulas(frame) if self.report.get(_ESCAPED) else frame
            kinds = {str(name): kind for name, kind in frame.dtypes.items()}
            placed = all(pd.api.types.is_numeric_dtype(kinds[axis]) for axis in self.report["axes"])
            if not placed or "row" not in kinds or len(frame) != self.report["data"]["rows"]:
                raise ValueError("they are not those of the rows in its report")
        except (OSError, ValueError, LookupError) as error:
            raise ModelFileError(
                f"{path} does not hold the coordinates of the run: {error}. Make the map again."
            ) from error
        return frame

    def rows(self) -> Any:
        """Read the prepared rows."""
        return stored_rows(self.path / "rows.npz", self.report["data"]["rows"])


def open_run(path: str | os.PathLike[str]) -> Folder:
    """Open the folder of a run."""
    folder = Path(path)
    if not folder.exists():
        clear_stages(_place(folder))  # it may have been set aside by a process that died while it replaced it
    if not folder.exists():
        raise ModelFileError(f"there is no folder {folder}. `manifolia map DATA -o {folder}` makes one.")
    return Folder(folder, read_report(folder / _REPORT))
