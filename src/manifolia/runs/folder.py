"""A run, in memory or in its folder: written in one step, read back, never half written.

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

import base64
import hashlib
import html
import json
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from manifolia import registry
from manifolia._core.files import clear_stages, folder_draft
from manifolia._core.messages import Finding
from manifolia._core.optional import is_installed
from manifolia._core.validate import is_sparse
from manifolia.exceptions import ModelFileError
from manifolia.explorer import Explorer, LivePage, Payload, explore, write_page
from manifolia.explorer.build import read_report, stored_rows
from manifolia.explorer.context import Context, stored_context
from manifolia.persist import load, save
from manifolia.runs.explanation import Explanation, MapExplanation, explain_map, explain_row
from manifolia.runs.new_rows import place_new, read_new
from manifolia.runs.report import row_index
from manifolia.runs.request import REPORT, check_format, check_free, is_run, place_of
from manifolia.tables import write, write_anndata
from manifolia.tables.frames import is_text
from manifolia.tables.naming import of_groups
from manifolia.tables.writing import with_formulas
from manifolia.trust.diagnosis import Diagnosis

_MODEL = "model.mfa"
_ESCAPED = "escaped_formulas"  # in the report: whether texts of the coordinates have apostrophes in front
TEXTS = "texts"  #: In the report: columns of the coordinates with texts, such as 000011
_PICTURE_LIMIT = 2  # dimensions that the picture shows


class Run:
    """A map of a table and everything that belongs to it; `manifolia.map` makes one, `manifolia.open_run` reads it.

    At the end of a notebook cell it shows its picture and its findings.

    Parameters
    ----------
    report : dict
        How the map was made and what it shows.
    path : path, default=None
        Its folder; None while it is only in memory.
    **held : object
        Those of the attributes below that are available; the rest is read from the folder when needed.

    Attributes
    ----------
    model : Pipeline
        `manifolia.tables.TablePreparer` and the fitted method: takes raw rows.
    embedding : DataFrame of shape (n, n_components)
        The map, with the index of the user's table, or the column that was passed to `manifolia.map` as `key`.
    findings : list
        What the map shows, as records with ``text``, ``rows`` and ``columns``.
    notes : list of str
        What was decided on the way: roles of columns, missing values, and what the page leaves out.
    report : dict
        Parameters, versions, timings, scores, findings: plain data, as in ``report.json``.
    path : Path or None
        Its folder.
    coordinates : DataFrame
        One line per row: its name, its place, its target, and what the model says about it.
    payload : Payload
        What its page shows; for `manifolia.explore`.
    rows : ndarray, csr_array or None
        The prepared rows; None if they were not kept.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import manifolia as mf
    >>> wine = load_wine(as_frame=True).frame
    >>> run = mf.map(wine, target="target", n_trees=50)
    >>> run.embedding.shape
    (178, 2)
    """

    def __init__(self, report: dict[str, Any], path: str | os.PathLike[str] | None = None, **held: Any) -> None:
        self.report = report
        self.path = None if path is None else Path(path)
        vars(self).update(held)  # what is at hand is not read from the folder

    @cached_property
    def model(self) -> Any:
        """Preparation and method, as one pipeline."""
        return load(_model_file(self))

    @cached_property
    def payload(self) -> Payload:
        """What the page shows."""
        return Payload.load(self._folder / "payload.npz")

    @cached_property
    def coordinates(self) -> pd.DataFrame:
        """One line per row."""
        return _read_coordinates(self._folder, self.report)

    @cached_property
    def rows(self) -> Any:
        """The prepared rows."""
        return stored_rows(self._folder / "rows.npz", self.report["data"]["rows"])

    @cached_property
    def embedding(self) -> pd.DataFrame:
        """The map, by the names of its rows."""
        made: pd.Index | None = vars(self).get("index")
        index = row_index(self.coordinates["row"], self.report["data"].get("key")) if made is None else made
        return self.coordinates[self.report["axes"]].set_axis(index)

    @property
    def findings(self) -> list[Finding]:
        """What the map shows.

        Returns
        -------
        list of Finding
            Records with ``text``, ``rows`` (numbers from 0 in the order of the table) and ``columns``.
        """
        return [
            Finding(one["text"], tuple(one.get("rows", ())), tuple(one.get("columns", ())))
            for one in self.report["findings"]
        ]

    @property
    def notes(self) -> list[str]:
        """What was decided on the way.

        Returns
        -------
        list of str
            Sentences.
        """
        return [*self.report["notes"], *self.report.get("left_out_of_page", ())]

    @property
    def _folder(self) -> Path:
        assert self.path is not None  # a run in memory has everything at hand
        return self.path

    def transform(self, new: Any, **reading: Any) -> pd.DataFrame:
        """Place new rows on the map, each alone.

        Parameters
        ----------
        new : DataFrame, polars or Arrow table, AnnData or path
            The rows, with the columns of the table of the map; the target may be left out.
        **reading : object
            How a file is read: ``sep``, ``decimal`` and the other options of `manifolia.tables.read`. Without
            ``na_values``, the same texts mean "missing" as in the table of the map.

        Returns
        -------
        DataFrame
            One line per row, with the index of `new`: its place, the target if `new` has it, the prediction, and its
            novelty.

        Raises
        ------
        TableError
            If the rows do not fit the map, or its method cannot place rows.
        """
        table = read_new(new, self.report, reading)
        placed = place_new(context_for(self), table, self.report, self.coordinates)
        index = row_index(placed.frame["row"], self.report["data"].get("key"), table.features)
        return placed.frame.drop(columns="row").set_axis(index)

    def explain(self, row: Any = None, *, top: int = 10) -> Explanation | MapExplanation:
        """Say which columns shape the map, or why a row is where it is.

        Parameters
        ----------
        row : object, default=None
            Its name: a label of the index of `embedding`. If the names are not numbers, an int that is not a name is
            the position of a row, counting from 0; names take precedence. None explains the map as a whole.
        top : int, default=10
            Columns to list.

        Returns
        -------
        Explanation or MapExplanation
            Shows itself as a text. For a row, ``reasons`` is a table of columns, the row's values in them, and how much
            each says about the row's place, with the numbers of the page; ``meaning`` says what they are; ``votes`` has
            the shares of the classes, by target; ``like`` is a table of the rows that support its prediction most. For
            the map, ``importances`` is a table of columns and how much each matters.

        Raises
        ------
        TableError
            If there is no such row, several rows have this name, or the run did not keep its rows.
        """
        return explain_map(self, top=top) if row is None else explain_row(self, row, top=top)

    def diagnose(self, **options: Any) -> Diagnosis:
        """Tell what the map may be trusted for: its target, its rows, its clusters.

        Parameters
        ----------
        **options : object
            ``level``, ``sample`` and ``n_jobs`` as of `manifolia.diagnose`; ``clusters`` and ``groups`` are names of
            columns of the page.

        Returns
        -------
        Diagnosis
            What `manifolia diagnose` writes into the folder of a run.

        Raises
        ------
        TableError
            If the run did not keep its rows.
        """
        from manifolia.runs.verdicts import diagnose_run

        return diagnose_run(self, **options)

    def explore(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Explorer | LivePage | Path:
        """Show the page, or write it.

        Parameters
        ----------
        path : str or path, default=None
            Where to write the page; None shows it at the end of a notebook cell.
        **options : object
            ``title`` and ``color_by``; with `path` also ``force=True``, which replaces an existing file; without it
            also ``live=True``, which serves the page, and ``height``.

        Returns
        -------
        Explorer, LivePage or Path
            The page in a notebook, the page that is served, or where the file is.

        Raises
        ------
        FileExistsError
            If the file exists and should not be replaced.
        """
        if path is not None or options.get("live"):
            return explore(self, path="map.html" if path is None else path, **options)
        return Explorer(self, **options)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False, **options: Any) -> Path:
        """Write the run: model, coordinates, page, pictures and report, all of it or nothing.

        Parameters
        ----------
        folder : str or path
            Where to.
        force : bool, default=False
            Whether an existing run is replaced.
        **options : object
            ``table_format`` ("csv" or "parquet") of the coordinates, and ``escape_formulas``, which puts an apostrophe
            before texts that a spreadsheet would run.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        FileExistsError
            If something else is there, or a run that should not be replaced.
        """
        self.path = write_run(self, folder, force=force, **options)
        return self.path

    def page_context(self) -> Context:
        """Return what is needed to tell of new rows what the page tells of its own.

        Returns
        -------
        Context
            For a page that is served.
        """
        return context_for(self, page=True)

    def __repr__(self) -> str:
        notes = [f"Notes on how it was made: run.notes ({len(self.notes)})"] if self.notes else []
        return "\n".join([f"Run: {headline(self.report)}", *(f"- {one.text}" for one in self.findings), *notes])

    def _repr_html_(self) -> str:
        """Return the picture, what was found and what was decided."""
        picture = ""
        if (display := _display(self)) is not None and is_installed("matplotlib"):
            source = base64.b64encode(display._repr_png_()).decode()
            picture = f'<img alt="Map" style="max-width:100%" src="data:image/png;base64,{source}">'
        found = "".join(f"<li>{html.escape(one.text)}</li>" for one in self.findings)
        notes = "".join(f"<li>{html.escape(str(note))}</li>" for note in self.notes)
        more = f"<details><summary>Notes ({len(self.notes)})</summary><ul>{notes}</ul></details>" if notes else ""
        where = "" if self.path is None else f" It is saved in <code>{html.escape(str(self.path))}</code>."
        return (
            f"<div><p><b>{html.escape(headline(self.report))}</b></p>{picture}<ul>{found}</ul>{more}"
            f"<p><code>run.explore()</code> shows the page, <code>run.explore('map.html')</code> writes it.{where}</p>"
            f"</div>"
        )


def _model_file(run: Run) -> Path:
    path = run._folder / _MODEL
    if not path.is_file():
        raise ModelFileError(
            f"{run.path} has no model, because that of {run.report['method']} cannot be saved. Map again with a "
            f"method whose model can be, such as guided-map."
        )
    return path


def digest_of_model(run: Run) -> str:
    """Say by what the model of a run in its folder is known again, without reading it into memory."""
    with _model_file(run).open("rb") as stored:
        return hashlib.file_digest(stored, "sha256").hexdigest()


def headline(report: Mapping[str, Any]) -> str:
    """Say what was mapped, and by what."""
    guided = report["target"]["columns"] and registry.find(report["method"]).supervised
    task = f", {report['target']['task']}" if guided else ""
    return f"{rows_of(report)} mapped by {report['method']}{task}"


def context_for(run: Run, *, page: bool = False) -> Context:
    """Take what is needed to place new rows; with the page, also to tell of them what it tells of its own."""
    made: Context | None = vars(run).get("context")
    if made is not None:
        return made
    return stored_context(run.model, run.payload if page else None, run.rows if page else None, run.report)


def rows_of(report: Mapping[str, Any]) -> str:
    """Say how many rows a run has, and of how many groups."""
    rows, groups = f"{report['data']['rows']:,} rows", report["groups"]
    return rows if groups is None else f"{rows} of {of_groups(groups['count'], groups['column'])}"


def open_run(folder: str | os.PathLike[str]) -> Run:
    """Open a run that was saved.

    Parameters
    ----------
    folder : str or path
        Where it is.

    Returns
    -------
    Run
        Its parts are read when they are needed.

    Raises
    ------
    ModelFileError
        If there is no run.

    Examples
    --------
    >>> import manifolia as mf
    >>> run = mf.open_run("run")  # doctest: +SKIP
    >>> run.transform("new.csv")  # doctest: +SKIP
    """
    path = Path(folder)
    if not path.exists():
        clear_stages(place_of(path))  # it may have been set aside by a process that died while it replaced it
    if not path.exists():
        raise ModelFileError(f"there is no folder {path}. `manifolia map DATA -o {path}` makes one.")
    return Run(read_report(path / REPORT), path)


def _read_coordinates(folder: Path, report: dict[str, Any]) -> pd.DataFrame:
    path = folder / "coordinates.parquet"
    try:
        if path.is_file():
            frame = pd.read_parquet(path, engine="pyarrow", page_checksum_verification=True)
        else:
            path = path.with_suffix(".csv")
            texts = report.get(TEXTS)
            known = isinstance(texts, list)  # then an empty cell alone is missing: NA may be a class
            frame = pd.read_csv(
                path,
                dtype=dict.fromkeys(["row", *map(str, texts)] if isinstance(texts, list) else ["row"], str),
                keep_default_na=not known,
                na_values=[""],
                float_precision="round_trip",
            )
            frame = with_formulas(frame) if report.get(_ESCAPED) else frame
        kinds = {str(name): kind for name, kind in frame.dtypes.items()}
        placed = all(pd.api.types.is_numeric_dtype(kinds[axis]) for axis in report["axes"])
        if not placed or "row" not in kinds or len(frame) != report["data"]["rows"]:
            raise ValueError("they are not those of the rows in its report")
    except (OSError, ValueError, LookupError) as error:
        raise ModelFileError(
            f"{path} does not hold the coordinates of the run: {error}. Make the map again."
        ) from error
    return frame


def columns_of_text(coordinates: pd.DataFrame) -> list[str]:
    """Name the columns that hold texts, which a file does not tell from numbers."""
    return [
        str(name)
        for name, column in coordinates.items()
        if is_text(column) and any(isinstance(value, str) for value in column)
    ]


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
    check_format(table_format)
    target = place_of(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_draft(target, replaces=is_run if force else None) as folder:
        try:
            save(run.model, folder / _MODEL)
        except ModelFileError:  # scikit-learn's and peers' classes that hold what only pickle can save
            told = (
                f"The model of {run.report['method']} cannot be saved without pickle: this run has its map, and places "
            )
            run.report["notes"] = list(dict.fromkeys([*run.report["notes"], f"{told}no new rows."]))
        write(run.coordinates, folder / f"coordinates.{table_format}", escape_formulas=escape_formulas)
        run.payload.save(folder / "payload.npz")
        write_page(run.payload, folder / "map.html")
        if run.rows is not None:
            _write_rows(run.rows, folder / "rows.npz")
        if is_installed("matplotlib") and (display := _display(run)) is not None:
            from manifolia.show.map import write_map_picture

            pictures = [folder / f"map.{suffix}" for suffix in ("png", "svg")]
            write_map_picture(display, pictures, run.payload.meta["title"])
        if more is not None:
            more(folder)
        report = {name: value for name, value in run.report.items() if name != _ESCAPED}
        report |= {_ESCAPED: True} if escape_formulas else {}
        text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / REPORT).write_text(text + "\n", encoding="utf-8")
    return Path(path)


def annotation(run: Run, source: Any) -> Callable[[Path], object] | None:
    """Return what puts the map into a copy of an AnnData file, if the table came from one."""
    if source is None or Path(source).suffix != ".h5ad":
        return None
    report = run.report
    about = {
        "parameters": {name: str(value) for name, value in report["parameters"].items()},
        "importances": {entry["column"]: entry["importance"] for entry in report["importances"]},
        "findings": [finding.text for finding in run.findings],
    }
    return lambda place: write_h5ad(Path(source), place / Path(source).name, report, run.coordinates, about)


def write_h5ad(data: Path, out: Path, report: dict[str, Any], rows: pd.DataFrame, about: dict[str, Any]) -> None:
    """Write a copy of the data with places and novelty where scanpy's users look for them."""
    key = report["method"].replace("-", "")
    obs = {f"{key}_novelty": rows["novelty"].to_numpy()} if "novelty" in rows else {}
    uns = {key: about} if about else {}
    write_anndata(data, out, obsm={f"X_{key}": rows[report["axes"]].to_numpy()}, obs=obs, uns=uns)


def _write_rows(rows: Any, path: Path) -> None:
    if is_sparse(rows):
        sp.save_npz(path, sp.csr_matrix(rows))
    else:
        np.savez_compressed(path, rows=rows)


def _display(run: Run) -> Any:
    """Make the picture of a run; None if it has too many dimensions."""
    from manifolia.show.map import MapDisplay

    axes, targets = run.report["axes"], run.report["target"]["columns"]
    if len(axes) > _PICTURE_LIMIT:
        return None
    color = run.coordinates.iloc[:, 1 + len(axes)] if targets else None
    is_classes = color is not None and run.report["target"]["task"] in ("classification", "multilabel")
    return MapDisplay.from_data(
        run.coordinates[axes].to_numpy(),
        color,
        kind="class" if is_classes else "auto",
        name=str(targets[0]) if targets else None,
    )
