"""What is asked of a run, and what is refused before the work begins.

Nothing here needs scikit-learn, which takes longer to import than most tables take to examine: so an error about a
table appears at once. What does the work is in `manifolia.runs.run`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia import registry
from manifolia._core.files import clear_stages
from manifolia._core.messages import Argument, Message
from manifolia._core.optional import import_extra
from manifolia._core.progress import Reporter
from manifolia._core.validate import check_bool, check_number, check_option
from manifolia.exceptions import ManifoliaError, ParameterError, ParameterTypeError, TableError
from manifolia.runs.stages import Listener, Stages
from manifolia.runs.target import Labels, RowGroups, no_cells, read_group_column, read_labels, refuse_roles, take_column
from manifolia.tables import Table, read
from manifolia.tables.naming import labels as labels_of
from manifolia.tables.naming import place_of_row, repeated
from manifolia.tables.stream import is_folder
from manifolia.tables.survey import LookedAt, look_at

if TYPE_CHECKING:
    from manifolia.runs.folder import Run

REPORT = "report.json"  #: By which a folder is known to be a run
FORCE = Argument("force", True)
KEPT_BYTES = 64 * 2**20  #: Size up to which the prepared rows are kept in the run
#: What to do where they were not kept
TO_KEEP_ROWS = (
    f"Rows are kept up to {KEPT_BYTES // 2**20} MiB, unless --no-keep-rows (keep_rows=False) was given: map again "
    f"without it, or fewer rows or columns."
)
_MIN_ROWS = 5
_TABLE_FORMATS = ("csv", "parquet")


@dataclass(frozen=True)
class Request:
    """What the user asks for."""

    target: tuple[str, ...] = ()  # Columns that guide the map
    method: str | None = None  # Name in `manifolia.registry`; None chooses by task
    task: str = "auto"  # What the target asks for, if the method has a choice
    exclude: tuple[str, ...] = ()  # Columns that are shown and do not take part
    groups: str | None = None  # Column that says which rows belong together; it does not take part
    key: str | None = None  # Column that names the rows; it does not take part
    guide: str | None = None  # Whose votes place the rows of a guided map: "forest", or what `GuidedMap` takes
    roles: Mapping[str, Any] = field(default_factory=dict)  # Column to role, for `manifolia.tables.TablePreparer`
    settings: Mapping[str, Any] = field(default_factory=dict)  # Parameters of the method
    title: str | None = None  # Heading of the page
    importance: bool | None = None  # Whether to measure importance; None: if it does not take long
    keep_rows: bool = True  # Whether the run keeps the prepared rows, which ``score`` and ``explain`` need
    parts: str | tuple[str, ...] | None = "auto"  # What the page tells beyond places and columns
    images: tuple[int, ...] | None = None  # Height and width, and channels, if the rows are pictures
    reading: Mapping[str, Any] = field(default_factory=dict)  # How the table was read; new rows are read so too
    study: Any = None  # The study that chose the settings
    near: Any = None  # The run, or its folder, that the map is to lie near to
    near_strength: float = 1.0  # How firmly its rows are held
    max_mb: float = 25.0  # Size of the page above which parts and columns are left out
    random_state: int = 0  # Seed
    n_jobs: int | None = None  # Threads

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        twice = repeated(self.target)
        if twice:
            raise ParameterError(f"{twice[0]} is named twice as target. Name it once.", parameter="target")
        both = sorted({*self.target} & {*self.exclude})
        if both:
            raise ParameterError(
                f"{', '.join(both)} is both target and excluded. A target takes no part as a feature anyway.",
                parameter="exclude",
            )
        if self.task not in ("auto", "unsupervised") and not self.target:
            raise ParameterError(
                "task says what the target is taken as, and there is none. Leave it out, or name a target.",
                parameter="task",
            )
        for role in ("groups", "key"):
            name = getattr(self, role)
            if name in self.target:
                raise ParameterError(
                    f"{name} is both target and {role}. Choose another column for one of them.", parameter=role
                )
        check_number(self.max_mb, "max_mb", low=0.0, open_low=True)
        check_number(self.near_strength, "near_strength", low=0.0)
        check_number(self.random_state, "random_state", low=0, integer=True)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns other than the target that are no features."""
        return tuple(dict.fromkeys([*self.exclude, *(name for name in (self.groups, self.key) if name is not None)]))


#: Options of `map` that say how a file is read, how the folder is written, and what is asked of the run.
READING = tuple(name for name in inspect.signature(read).parameters if name != "source")
WRITING = ("force", "table_format", "escape_formulas")
OWN = ("target", "method", "groups", "key", "exclude", "out")
ASKED = {one.name for one in fields(Request)} - {*OWN, "settings", "reading"}


def map(
    frame_or_path: Any,
    target: str | Sequence[str] | None = None,
    *,
    method: str = "auto",
    groups: str | None = None,
    key: str | None = None,
    exclude: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Run:
    """Make a map of a table as people have it: what the command ``manifolia map`` does, in Python.

    Columns may hold numbers, texts, categories and dates, with missing values; the notes say how each was used.

    Parameters
    ----------
    frame_or_path : DataFrame, polars or Arrow table, AnnData, array, path or Table
        The table, with the target in it. Anything with ``__arrow_c_stream__`` or ``__dataframe__`` is a table too. A
        folder of Parquet, Arrow or CSV files is a table beyond memory: a map is made from some of its rows, and all are
        placed on it, in the folder ``placed`` of `out`.
    target : str or sequence of str, default=None
        Name of the column that guides the map, or of several; None for a map without a target.
    method : str, default="auto"
        Name of a method, as `manifolia.registry.names` lists them; "auto" chooses by whether there is a target.
    groups : str, default=None
        Column that says which rows belong together, such as the patient; it is not used as a feature.
    key : str, default=None
        Column with a different name for every row, which names the rows everywhere; it is not used as a feature. None:
        the index of a frame, or the numbers of the rows.
    exclude : str or sequence of str, default=()
        Columns to show on the page but not to use. ``roles={column: "drop"}`` leaves a column out everywhere.
    out : str or path, default=None
        Folder to save the run in; None writes nothing.
    **settings : object
        Parameters of the method, such as ``n_trees=200``; and what the command has options for: ``task``, ``guide``,
        ``roles``, ``random_state`` (0 unless it is given), ``n_jobs``, ``title``, ``importance``, ``keep_rows``,
        ``images``, ``max_mb`` and ``parts`` (as of `manifolia.explore`); ``near``, the run of an earlier table, or its
        folder, near which shared rows should lie, and ``near_strength`` (1 unless it is given); ``fit_rows`` (of a
        folder, or of a file too large for memory: rows that the map is made of, while all are placed) and ``scheduler``
        (address of a Dask cluster that reads and places them); how a file is read (``sep``, ``decimal``, ``na_values``
        and the other options of `manifolia.tables.read`), how the folder is written (``force``, ``table_format``,
        ``escape_formulas``), and ``callback`` or ``verbose`` for progress.

    Returns
    -------
    Run
        Model, embedding, findings, report and page.

    Raises
    ------
    TableError
        If the table cannot be read or mapped; the message names column, value and what to do.
    ParameterError
        If a setting is not known, or contradicts another.
    FileExistsError
        If `out` already exists.

    Examples
    --------
    >>> import pandas as pd
    >>> import manifolia as mf
    >>> frame = pd.DataFrame(
    ...     {
    ...         "size": [1.0, 1.2, None, 3.1, 2.9, 3.3] * 5,
    ...         "colour": ["red", "red", "blue", "blue", None, "blue"] * 5,
    ...         "kind": ["a", "a", "a", "b", "b", "b"] * 5,
    ...     }
    ... )
    >>> run = mf.map(frame, target="kind", n_trees=20)
    >>> run.embedding.columns.tolist()
    ['map_x', 'map_y']
    """
    about = dict(settings)
    reporter = Reporter(about.pop("callback", None), verbose=check_bool(about.pop("verbose", False), "verbose"))
    listener = reporter.hear if reporter.is_heard else None
    reading, writing = ({name: about.pop(name) for name in names if name in about} for names in (READING, WRITING))
    request = Request(
        _names(target, "target"),
        None if method == "auto" else method,
        exclude=_names(exclude, "exclude"),
        groups=_name(groups, "groups"),
        key=_name(key, "key"),
        **{name: about.pop(name) for name in ASKED if name in about},
        reading=reading,
        settings=about,
    )
    fit_rows, scheduler = about.pop("fit_rows", None), about.pop("scheduler", None)
    request = replace(request, settings=about)
    if fit_rows is not None or scheduler is not None or is_folder(frame_or_path):
        from manifolia.runs.streamed import map_stream

        return map_stream(frame_or_path, request, out, fit_rows, listener, writing, scheduler)
    if out is not None:
        check_free(Path(out), force=bool(writing.get("force", False)))
        check_format(writing.get("table_format", "csv"))
    elif writing:
        raise ParameterError(
            f"{next(iter(writing))} is for a run that is written. Name its folder with out.", parameter="out"
        )
    run = make_run(read(frame_or_path, **reading), request, listener)
    if out is not None:
        source = frame_or_path if isinstance(frame_or_path, str | os.PathLike) else None
        from manifolia.runs.folder import annotation, write_run

        with Stages(listener).stage("write"):
            run.path = write_run(run, out, more=annotation(run, source), **writing)
    return run


def _names(given: Any, parameter: str) -> tuple[str, ...]:
    """Take names of columns, as they are called in a `Table`."""
    if given is None:
        return ()
    if isinstance(given, list | tuple | pd.Index):
        return tuple(str(_name(one, parameter)) for one in given)
    return (str(_name(given, parameter)),)


def _name(given: Any, parameter: str) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if np.ndim(given) or (hasattr(given, "__len__") and not isinstance(given, tuple)):
        raise ParameterTypeError(
            f"{parameter} must be the name of a column, got {type(given).__name__}. Add the values to the table, such "
            f"as frame.assign({parameter}=values), and pass {parameter}={parameter!r}.",
            parameter=parameter,
        )
    return labels_of([given])[0]


#: Looks at the columns that take part: by default at those of the table itself.
Look = Callable[[Table, "dict[str, Any] | None"], LookedAt]


def make_run(table: Table, request: Request, listener: Listener | None = None, look: Look = look_at) -> Run:
    """Make a map of a table, with all that belongs to it."""
    stages = Stages(listener)
    with stages.stage("prepare"):
        try:
            checked = check_request(table, request, look)
        except ManifoliaError:
            if request.settings:  # a misspelt argument may be why the table was read in another way than was meant
                from manifolia.runs.run import check_settings

                check_settings(request)
            raise
    from manifolia.runs.run import carry_out  # brings scikit-learn

    return carry_out(checked, stages)


class Checked(NamedTuple):
    """A request that a table can answer."""

    table: Table  # With the user's names of rows
    request: Request
    labels: Labels
    groups: RowGroups | None
    features: LookedAt  # The columns that take part


def check_request(table: Table, request: Request, look: Look = look_at) -> Checked:
    """Look at the table, and refuse what cannot be mapped."""
    if request.method is not None:
        registry.find(request.method)  # a misspelt one is reported
    table = _named(table, request.key)
    if table.n_rows < _MIN_ROWS:
        rows = "1 row" if table.n_rows == 1 else f"{table.n_rows} rows"
        how_read = (part for note in table.notes for part in (" ", note))  # such as which sheet it was
        raise TableError(Message(f"{table.source} has {rows}; a map needs at least {_MIN_ROWS}.", *how_read))
    for name in request.exclude:
        take_column(table, name, "exclude")
    refuse_roles(request.roles, request.target, request.exclude, {"groups": request.groups, "key": request.key})
    labels = read_labels(table, request.target, request.task)
    groups = read_group_column(table, request.groups)
    known = set(table.feature_names)
    features = table.without([name for name in (*request.target, *request.left_out) if name in known])
    try:
        looked_at = look(features, dict(request.roles) or None)
    except ParameterTypeError as error:
        if error.parameter is not None:
            raise
        raise no_cells(error) from error
    return Checked(table, request, labels, groups, looked_at)


def _named(table: Table, key: str | None) -> Table:
    """Call the rows by a column of the user's."""
    if key is None:
        return table
    column = take_column(table, key, "key")
    names = key_names(column)
    if column.isna().any():
        row = place_of_row(int(np.argmax(column.isna())))
        raise TableError(
            f"{key!r} cannot name the rows: it is missing in {row}. Choose another column.", parameter="key"
        )
    twice = repeated(names)
    if twice:
        raise TableError(
            f"{key!r} cannot name the rows: {twice[0]!r} stands in {names.count(twice[0]):,} of them. Choose a column "
            f"that differs in every row; if these rows belong together, it is one for groups.",
            parameter="key",
        )
    return replace(table, row_names=np.array(names, dtype=object))


def key_names(column: pd.Series) -> list[str]:
    """Write the values of a column as names of rows: whole numbers without a fraction, moments as they are."""
    whole = pd.api.types.is_float_dtype(column.dtype) and bool((column.dropna() % 1 == 0).all())
    return [str(int(value)) if whole and not missing else str(value)
            for value, missing in zip(column, column.isna(), strict=True)]  # fmt: skip


def check_free(path: Path, *, force: bool) -> None:
    """Refuse to overwrite, before the work begins."""
    clear_stages(place_of(path))
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        there = next(parent for parent in path.absolute().parents if parent.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise PermissionError(
                f"{path} cannot be made: {there} is not a folder that you may write to. Choose another place."
            )
        return
    if not force:
        raise FileExistsError(
            Message(f"{path} is there already. Choose another place, or replace it with ", FORCE, ".")
        )
    if not is_run(path):
        raise FileExistsError(
            Message(f"{path} is there and is not a manifolia run: it is not replaced, even with ", FORCE, ".")
        )


def is_run(path: Path) -> bool:
    """Return whether a folder is a run."""
    return (path / REPORT).is_file()


def place_of(path: str | os.PathLike[str]) -> Path:
    """Return where a folder is, or will be: where a link points to, not the link."""
    return Path(os.path.realpath(path))


def check_format(table_format: str) -> None:
    """Refuse a format of coordinates that cannot be written."""
    check_option(table_format, "table_format", _TABLE_FORMATS)
    if table_format == "parquet":
        import_extra("pyarrow", extra="parquet", purpose="Writing .parquet files")
