"""What a page is made of: a fitted map, its rows and columns, and what is known of them.

`context_of` takes a fitted model and the rows it was fitted on; a run hands over in `Known` what it has computed.
`stored_context` reads the same back from a page that was made before. `manifolia.explorer.build` makes the page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from manifolia import registry
from manifolia._core.groups import n_units
from manifolia._core.pipelines import before_last, last_step
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_map, is_sparse
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.explorer.column_weights import importances_of, takes_long
from manifolia.explorer.decode import decode_parts
from manifolia.explorer.findings import Finding, prediction_by_rows
from manifolia.explorer.parts import check_parts
from manifolia.explorer.parts.effects import Effects, Groups, bare_dense, effects_of, plane_of
from manifolia.explorer.parts.images import check_shape
from manifolia.explorer.parts.neighbors import N_NEAREST
from manifolia.explorer.parts.part import Part
from manifolia.explorer.payload import Payload
from manifolia.forest.targets import MOST_CLASSES
from manifolia.neighbors import NeighborIndex, Neighbors
from manifolia.tables import Table, TablePreparer, read
from manifolia.tables.frames import as_frame, as_pandas
from manifolia.tables.naming import of_groups
from manifolia.tables.plain_rows import PlainRows
from manifolia.trust.diagnosis import Diagnosis

_METRICS = {"euclidean": "distance", "cosine": "cosine distance", "manhattan": "Manhattan distance"}


@dataclass(frozen=True)
class PageOptions:
    """What users can ask of a page; `manifolia.explore` says what each means."""

    title: str | None = None  # Heading
    color_by: str | None = None  # Column of the first colouring
    new: Any = None  # New rows
    kinds: Mapping[str, str] | None = None  # What columns are
    importances: bool | str | Mapping[str, Any] = "auto"  # Importance of the features
    findings: Iterable[str] = ()  # Sentences to show first
    notes: Iterable[str] = ()  # Sentences on how the map was made
    parts: str | Sequence[str] | None = "auto"  # What the page tells beyond places and columns
    images: Sequence[int] | None = None  # Shape of pictures
    study: Any = None  # The study that chose the settings
    max_mb: float = 25.0  # Size of the page in MB


class FinishedMap:
    """A map from elsewhere: its places, and nothing of what made them."""

    def __init__(self, Y: FloatArray) -> None:
        self.embedding_ = Y


_MOST_AXES = 3  # of coordinates from elsewhere; a table has more columns
_NO_METHOD = registry.Card("map", "", "", "", label="Map", places=False, explains="")


@dataclass(frozen=True, eq=False)
class Known:
    """What a run has computed of a map, so that it is not computed again."""

    X: Any  # (n, d): rows as the last step got them
    Y: FloatArray  # (n, n_components): the map
    y: Array | None  # The target as the last step got it
    task: str  # What the target asks for
    scores: Sequence[dict[str, Any]] | None = None  # Lines of `manifolia.metrics.report`
    novelty: FloatArray | None = None  # (n,)
    written: Sequence[list[str | None] | None] = ()  # For each target the texts that its numbers were read from
    hidden: Collection[str] = ()  # Columns that are no features: the target, and those that do not take part
    random_state: int = 0  # Seed of what is drawn
    groups: IntArray | None = None  # (n,): rows that belong together
    group_name: str = ""  # What a group is, in one word
    by_rows: Array | None = None  # What a forest says of rows whose trees left out the rows alone, not their groups


class Space(NamedTuple):
    """What the map is compared with."""

    rows: Any  # (n, q): rows without gaps and on one scale
    metric: str
    words: str  # The metric in words
    completer: Any  # Fills gaps and scales; None where rows are compared as they are

    def of(self, X: Any) -> Any:
        """Bring other rows into the same space."""
        return X if self.completer is None else self.completer.transform(X)


class Added(NamedTuple):
    """A column that a part adds to the page."""

    role: str  # "model", "novelty" or "quality"
    values: Array | None = None  # None on a page that was made before
    kind: str | None = None  # What it is, where that is not to be inferred


@dataclass(eq=False)
class Arrivals:
    """New rows on a map, for the parts of its page."""

    table: Table  # As they came
    X: Any  # (m, d): as the last step takes them, without names
    Y: FloatArray  # (m, n_components): their places
    predicted: Array | None  # (m,) or (m, n_targets): what the forest says of them
    novelty: FloatArray | None  # (m,): how unlike the rows of the map they are
    columns: dict[str, Array] = field(default_factory=dict)  # What parts add to them, by the name on the page
    empty: Sequence[int] | IntArray = ()  # Rows without a value in any column that is used


@dataclass(eq=False)
class Context:
    """A fitted map, and all that its page is made of."""

    model: Any  # Fitted: an estimator, or a pipeline that ends in one
    Y: FloatArray  # (n, n_components): its map
    X: Any = None  # (n, d): rows as the last step got them, without names; None if they cannot be compared
    sources: list[str] = field(default_factory=list)  # For each column of `X` the user's column that it comes from
    labels: list[str] = field(default_factory=list)  # What to call the columns of `X`
    table: Table | None = None  # The user's columns
    row_names: list[str] | None = None  # Names of the rows, where they have any
    target: pd.DataFrame = field(default_factory=pd.DataFrame)  # (n, n_targets)
    y: Array | None = None  # The same as the last step got it
    target_texts: dict[str, list[str | None]] = field(default_factory=dict)  # What its numbers were written as
    is_classes: bool = False  # Whether the targets are classes
    importances: dict[str, tuple[float, float]] = field(default_factory=dict)  # With standard errors; NaN is unknown
    scores: Sequence[dict[str, Any]] | None = None  # Lines of `manifolia.metrics.report`, where they are known
    novelty: FloatArray | None = None  # (n,), where it is known
    image_shape: tuple[int, int, int] | None = None  # Height, width and channels, if the rows are pictures
    pixel_names: list[str] = field(default_factory=list)  # Columns that are pixels
    study: Mapping[str, Any] | None = None  # The study that chose the settings
    hidden: Collection[str] = ()  # Columns that are no features
    options: PageOptions = field(default_factory=PageOptions)
    of_run: bool = False  # Whether the map belongs to a run, which `manifolia explain` can ask
    random_state: int = 0  # Seed of what is drawn
    row_groups: IntArray | None = None  # (n,): rows that belong together
    group_name: str = ""  # What a group is, in one word
    by_rows: Array | None = None  # What a forest says of rows whose trees left out the rows alone, not their groups
    # What the parts leave for the page and for one another.
    parts: dict[str, Part] = field(default_factory=dict)
    added: dict[str, Added] = field(default_factory=dict)  # Columns, by name
    findings: list[Finding] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # What could not be had, in sentences
    kept: FloatArray | None = None  # (n,): share of a row's neighbours in the data that are its neighbours in the map
    weights: FloatArray | None = None  # (n_rows, n_columns): all weights behind the reasons, if pictures need them
    diagnosis: Diagnosis | None = None  # What the map may be trusted for

    @property
    def n(self) -> int:
        """Number of rows of the map."""
        return len(self.Y)

    @property
    def n_groups(self) -> int:
        """Number of groups of rows; of rows where none belong together."""
        return n_units(self.row_groups, self.n)

    @property
    def rows_in_words(self) -> str:
        """The rows in a sentence, with their groups."""
        rows = f"{self.n:,} rows"
        return rows if self.row_groups is None else f"{rows} of {of_groups(self.n_groups, self.group_name)}"

    @cached_property
    def method(self) -> Any:
        """The last step, which made the map."""
        return last_step(self.model)

    @cached_property
    def card(self) -> registry.Card:
        """What the method can do."""
        return _NO_METHOD if isinstance(self.method, FinishedMap) else registry.card_of(self.model)

    @cached_property
    def preparer(self) -> TablePreparer | None:
        """The step that takes raw tables, if there is one."""
        before = before_last(self.model)
        first = None if before is None else before[0]
        return first if isinstance(first, TablePreparer) else None

    @property
    def n_jobs(self) -> int | None:
        """Threads."""
        return getattr(self.method, "n_jobs", None)

    @cached_property
    def plane(self) -> FloatArray:
        """The two dimensions that the page shows."""
        return plane_of(self.Y)

    @cached_property
    def spread(self) -> float:
        """Root mean square distance of the rows from the middle of the map."""
        return float(np.sqrt(self.plane.var(axis=0).sum())) or 1.0

    @cached_property
    def groups(self) -> Groups:
        """Columns of `X` by the user's columns."""
        return Groups.of(self.sources)

    @cached_property
    def effects(self) -> Effects | None:
        """How columns act on the places of rows."""
        return effects_of(self)

    @cached_property
    def space(self) -> Space | None:
        """What the map is compared with; None if its rows are not at hand."""
        if self.X is None:
            return None
        metric = self.card.metric
        words = f"{_METRICS[metric]} of the columns"
        gaps = not is_sparse(self.X) and bool(np.isnan(self.X).any())
        if not (self.card.forest or gaps):
            return Space(self.X, metric, words, None)
        # Trees do not mind scales and gaps; distances do.
        first = self.preparer
        completer = PlainRows(first if first is not None and len(self.model.steps) == 2 else None)
        return Space(completer.fit_transform(self.X), metric, f"{words}, each on one scale", completer)

    @cached_property
    def index(self) -> NeighborIndex:
        """Finds the nearest rows in what the map is compared with."""
        assert self.space is not None
        return NeighborIndex(self.space.rows, metric=self.space.metric, random_state=self.random_state)

    @property
    def classes(self) -> Array | None:
        """The target, if it is one column of classes without gaps."""
        one = self.is_classes and self.y is not None and self.y.ndim == 1
        return self.y if one and not np.any(pd.isna(self.y)) else None

    @property
    def target_name(self) -> str:
        """The target in a sentence."""
        names = [str(name) for name in self.target.columns]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    @cached_property
    def nearest(self) -> Neighbors:
        """The nearest rows of each, in what the map is compared with."""
        return self.index.neighbors(min(N_NEAREST, self.n - 1), n_jobs=self.n_jobs)

    def framed(self, X: Any) -> Any:
        """Give rows the names that the method knows columns by: it would warn of names that are missing."""
        names = getattr(self.method, "feature_names_in_", None)
        return X if names is None or is_sparse(X) else pd.DataFrame(X, columns=names)

    def place(self, X: FloatArray) -> FloatArray:
        """Place rows in the two dimensions that the page shows."""
        return plane_of(np.asarray(self.method.transform(self.framed(X))))

    def dense(self, rows: Any) -> FloatArray:
        """Return rows as the method got them, dense."""
        return bare_dense(self.X[rows])

    def prepared(self, table: Table) -> Any:
        """Bring raw rows into the form that the last step takes."""
        known = table.without(set(self.hidden) & set(table.feature_names))
        before = before_last(self.model)
        if before is not None and self.preparer is not None:
            return before.transform(known)
        names, cells = getattr(self.model, "feature_names_in_", None), known.features
        if isinstance(cells, pd.DataFrame):
            if names is not None:
                missing = [str(name) for name in names if name not in cells.columns]
                if missing:
                    raise TableError(f"the rows have no column {missing[0]!r}, which the model needs.")
                cells = cells.loc[:, list(names)]
            elif getattr(self.model, "n_features_in_", cells.shape[1]) == cells.shape[1]:
                cells = cells.to_numpy(dtype=np.float64, na_value=np.nan)
            else:
                raise TableError(
                    f"the rows have {cells.shape[1]} columns and the model needs {self.model.n_features_in_}."
                )
        return cells if before is None else before.transform(cells)

    def add(self, name: str, values: Any, role: str, kind: str | None = None) -> str:
        """Add a column to the page, under another name if the table has such a column; return its name."""
        table = [] if self.table is None else self.table.names
        if name in (*table, *self.target.columns):
            name = f"{name} ({'map' if role == 'quality' else 'model'})"
        self.added[name] = Added(role, np.asarray(values), kind)
        return name


def context_of(model: Any, X: Any, y: Any, options: PageOptions, known: Known | None = None) -> Context:
    """Gather what the page of a fitted model is made of, and refuse what does not belong together."""
    if known is None and not hasattr(last_step(model), "fit"):
        model, X = _finished(model, X)
    method = last_step(model)
    if known is None and not isinstance(method, FinishedMap):
        check_is_fitted(method, "embedding_")
    context = Context(
        model,
        np.asarray(method.embedding_ if known is None else known.Y, dtype=np.float64),
        study=_checked_study(options.study),
        options=options,
        of_run=known is not None,
    )
    card = context.card
    if card.forest and card.takes_groups:
        context.row_groups = method._fitted_forest.groups
        if known is None and card.predicts and context.row_groups is not None:
            context.by_rows = prediction_by_rows(method)
    check_parts(options.parts)
    _take_table(context, X)
    _take_target(context, y, card.task if known is None else known.task)
    if known is None:
        if y is not None:
            one = context.target.shape[1] == 1
            context.y = context.target.iloc[:, 0].to_numpy() if one else context.target.to_numpy()
        before = None if isinstance(X, Table) or X is None else before_last(model)
        rows = context.prepared(X) if isinstance(X, Table) else X if before is None else before.transform(X)
    else:
        context.y, context.scores, context.novelty, context.hidden = known.y, known.scores, known.novelty, known.hidden
        context.random_state, rows = known.random_state, known.X
        texts = zip(context.target.columns, known.written, strict=False)  # none are known on a page without a table
        context.target_texts = {str(name): cells for name, cells in texts if cells is not None}
        context.row_groups, context.group_name, context.by_rows = known.groups, known.group_name, known.by_rows
    if rows is not None and card.metric in _METRICS:
        context.X = bare_rows(rows)
        context.sources, context.labels = _column_names(context)
    if options.images is not None:
        first = context.preparer
        named = [] if context.table is None else context.table.feature_names
        context.pixel_names = list(first.roles_) if first is not None else list(named)
        context.image_shape = check_shape(options.images, len(context.pixel_names))
    context.importances = _importances(context)
    return context


def _finished(Y: Any, X: Any) -> tuple[Any, Table | None]:
    """Take the places of a map from elsewhere, and the table beside it, whose columns are prepared to be compared."""
    shape = np.shape(Y)
    if len(shape) != 2 or shape[1] > _MOST_AXES:
        columns = "" if len(shape) != 2 else f" with {shape[1]} columns"
        raise TypeError(
            f"model_or_run is {type(Y).__name__}{columns}. Pass a fitted estimator with embedding_, a run or its "
            f"folder, a payload, or the coordinates of a map: an array of 1 to {_MOST_AXES} columns."
        )
    frame = as_frame(Y)
    method = FinishedMap(check_map(Y if frame is None else frame, name="model_or_run"))
    if X is None:
        return method, None
    table = read(X)
    if table.is_matrix:
        return method, table
    preparer = TablePreparer(missing="impute", scale=True).fit(table)
    return Pipeline([("prepare", preparer), ("map", method)]), table


def stored_context(
    model: Any, payload: Payload | None = None, rows: Any = None, report: Mapping[str, Any] | None = None
) -> Context:
    """Gather what is needed to tell of new rows what a page, made before, tells of its own."""
    report, method = report or {}, last_step(model)
    own = registry.card_of(model).keeps_map
    context = Context(
        model,
        np.asarray(method.embedding_ if own else np.zeros((0, 2)), dtype=np.float64),
        hidden={*report.get("target", {}).get("columns", ()), *report.get("excluded", ())},
        importances={item["column"]: (item["importance"], np.nan) for item in report.get("importances", ())},
        random_state=int(report.get("random_state") or 0),
    )
    first = context.preparer
    if first is not None:
        context.pixel_names = list(first.roles_)
    if rows is not None and own and context.card.metric in _METRICS:
        context.X = bare_rows(rows)
        context.sources, context.labels = _column_names(context)
    if payload is not None:
        context.parts = {part.name: part for part in decode_parts(payload)}
        context.added = {
            column["name"]: Added(column["role"])
            for column in payload.meta["columns"]
            if column["role"] not in ("value", "name")
        }
    return context


def _take_table(context: Context, X: Any) -> None:
    """Take the columns that users hand over, with names for columns and rows."""
    if X is None:
        return
    table = read(np.reshape(X, (-1, 1)) if np.ndim(X) == 1 else X)
    if not isinstance(X, Table) and as_frame(X) is None:  # an array, whose columns have no names
        names, cells = _feature_names(context, len(table.feature_names)), table.features
        cells = cells.set_axis(names, axis=1) if isinstance(cells, pd.DataFrame) else cells
        table = replace(table, features=cells, feature_names=names)
    if table.n_rows != context.n:
        raise ValueError(
            f"X has shape {table.features.shape} and the map has {context.n:,} rows. Pass the rows that the model was "
            f"fitted on."
        )
    roles = {} if context.preparer is None else context.preparer.roles_
    table = table.without([name for name in table.feature_names if roles.get(name) == "drop"])  # it is shown nowhere
    context.table, context.row_names = table, own_names(table)


def own_names(table: Table) -> list[str] | None:
    """Return the names of rows, unless these are just their numbers."""
    names = [str(name) for name in table.row_names]
    return None if names == [str(i) for i in range(len(names))] else names


def _feature_names(context: Context, d: int) -> list[str]:
    names = getattr(context.method, "feature_names_in_", None)
    if names is not None and len(names) == d:
        return [str(name) for name in names]
    if context.options.images is not None:
        _, width, channels = check_shape(context.options.images, d)
        spots = [f"pixel {i // channels // width}, {i // channels % width}" for i in range(d)]
        return spots if channels == 1 else [f"{spot} ({'rgb'[i % channels]})" for i, spot in enumerate(spots)]
    return [f"feature {i}" for i in range(d)]


def bare_rows(X: Any) -> Any:
    """Return rows as numbers, without names."""
    if is_sparse(X):
        return X.tocsr()
    frame = as_frame(X)
    if frame is not None:
        return frame.to_numpy(dtype=np.float64, na_value=np.nan)
    rows = np.asarray(X)
    rows = rows.reshape(-1, 1) if rows.ndim == 1 else rows
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)


def _column_names(context: Context) -> tuple[list[str], list[str]]:
    """Name the columns of `X`: by the user's columns that they come from, and as such."""
    d = context.X.shape[1]
    first = context.preparer
    if first is not None and len(context.model.steps) == 2:
        return list(first.sources_), list(first.names_out_)
    table = context.table
    same = table is not None and len(table.feature_names) == d
    names = list(table.feature_names) if table is not None and same else _feature_names(context, d)
    return names, names


def _take_target(context: Context, y: Any, task: str) -> None:
    """Take the target, with names that no column has, and tell whether it is classes."""
    n, y = context.n, None if y is None else as_pandas(y)
    if y is None:
        target = pd.DataFrame(index=pd.RangeIndex(n))
    elif isinstance(y, pd.DataFrame):
        target = y.reset_index(drop=True)
    elif isinstance(y, pd.Series):
        target = y.reset_index(drop=True).to_frame(name="target" if y.name is None else str(y.name))
    else:
        bare = pd.DataFrame(np.asarray(y))
        several = [f"target {i}" for i in range(bare.shape[1])]
        target = bare.set_axis(["target"] if bare.shape[1] == 1 else several, axis=1).infer_objects()
    if len(target) != n:
        raise ParameterError(f"y has {len(target):,} rows and the map has {n:,}.", parameter="y")
    taken = set() if context.table is None else set(context.table.names)
    target.columns = pd.Index([f"{name} (target)" if str(name) in taken else str(name) for name in target.columns])
    context.target = target
    guessed = bool(target.shape[1]) and all(_looks_like_classes(target[name]) for name in target.columns)
    context.is_classes = task in ("classification", "multilabel") or (not task and guessed)


def _looks_like_classes(values: pd.Series) -> bool:
    if not pd.api.types.is_numeric_dtype(values.dtype):
        return False  # what words are is for their number to tell
    present = values.dropna().to_numpy(dtype=float)
    return len(np.unique(present)) <= MOST_CLASSES and bool(np.all(present == np.rint(present)))


def _checked_study(study: Any) -> Mapping[str, Any] | None:
    content = study.to_dict() if hasattr(study, "to_dict") else study
    if content is not None and not isinstance(content, Mapping):
        raise ParameterTypeError(
            f"study is {type(study).__name__}. Pass a fitted Tuner, or its to_dict().", parameter="study"
        )
    return content


def _importances(context: Context) -> dict[str, tuple[float, float]]:
    asked = context.options.importances
    if isinstance(asked, Mapping):
        return {str(name): value if isinstance(value, tuple) else (value, np.nan) for name, value in asked.items()}
    if asked == "auto":
        asked = context.X is not None and bool(context.card.importance) and not takes_long(context.model, context.X)
    if not asked:
        return {}
    if context.X is not None:
        return importances_of(context.model, context.X, context.sources)
    means = np.asarray(context.method.feature_importances_, dtype=float)
    return {name: (float(mean), np.nan) for name, mean in zip(_feature_names(context, len(means)), means, strict=True)}
