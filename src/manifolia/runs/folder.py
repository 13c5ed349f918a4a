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

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia._core.messages import Argument, Message
from manifolia._core.optional import is_installed
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ModelFileError
from manifolia.explorer import Payload, write_page
from manifolia.explorer.build import stored_rows
from manifolia.explorer.context import Context, stored_context
from manifolia.persist import load, save
from manifolia.runs.run import Run
from manifolia.tables import write

_REPORT, _MODEL = "report.json", "model.mfa"
_FORCE = Argument("force", True)
_PICTURE_LIMIT = 2  # dimensions that the picture shows


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to overwrite, before the work begins."""
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
    if not (path / _REPORT).is_file():
        raise FileExistsError(
            Message(f"{path} is there and is not a manifolia run: it is not replaced, even with ", _FORCE, ".")
        )


def write_run(run: Run, path: str | os.PathLike[str], *, force: bool = False, table_format: str = "csv") -> Path:
    """Write the folder of a run: all of it, or nothing."""
    target = Path(path).absolute()
    check_free(target, force=force)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _complete_or_absent(target) as folder:
        try:
            save(run.model, folder / _MODEL)
        except ModelFileError:  # scikit-learn's and peers' classes that hold what only pickle can save
            run.report["notes"].append(
                f"The model of {run.report['method']} cannot be saved without pickle: this run has its map, and places "
                f"no new rows."
            )
        write(run.coordinates, folder / f"coordinates.{table_format}")
        run.payload.save(folder / "payload.npz")
        write_page(run.payload, folder / "map.html")
        if run.rows is not None:
            _write_rows(run.rows, folder / "rows.npz")
        if is_installed("matplotlib"):
            _draw(run, folder)
        text = json.dumps(run.report, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / _REPORT).write_text(text + "\n", encoding="utf-8")
    return Path(path)


@contextlib.contextmanager
def _complete_or_absent(target: Path) -> Iterator[Path]:
    """Give a folder beside the target, and move it there once it is complete."""
    part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part"))
    try:
        yield part
        part.chmod(0o755)  # mkdtemp's folders are for their owner alone
        aside = None
        if target.exists():
            aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.", suffix=".old"))
            os.replace(target, aside / "run")
        os.replace(part, target)
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


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
                f"{self.path} has no model, so that no new rows can be placed. Map again with a method whose model can "
                f"be saved, such as rf-phate."
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
        if (self.path / "coordinates.parquet").is_file():
            return pd.read_parquet(self.path / "coordinates.parquet")
        return pd.read_csv(self.path / "coordinates.csv", dtype={"row": str}, keep_default_na=True)

    def rows(self) -> Any:
        """Read the prepared rows."""
        return stored_rows(self.path / "rows.npz")


def open_run(path: str | os.PathLike[str]) -> Folder:
    """Open the folder of a run."""
    folder = Path(path)
    if not folder.exists():
        raise ModelFileError(f"there is no folder {folder}. `manifolia map DATA -o {folder}` makes one.")
    try:
        report = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{folder} is not a manifolia run: it has no {_REPORT} that can be read.") from error
    if not isinstance(report, dict) or not {"method", "target", "notes"} <= set(report):
        raise ModelFileError(f"{folder} is not a manifolia run: its {_REPORT} is of something else.")
    return Folder(folder, report)
