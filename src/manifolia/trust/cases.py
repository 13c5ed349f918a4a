"""A map in the form in which it is judged: its places, its rows, and what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manifolia import registry
from manifolia._core.groups import draw_rows_by_groups, read_groups, sub_groups
from manifolia._core.pipelines import before_last, last_step
from manifolia._core.random import as_generator
from manifolia._core.types import Array, ArrayLike, FloatArray, IntArray
from manifolia._core.validate import check_is_fitted, check_map, check_matrix, is_sparse
from manifolia.exceptions import ParameterError
from manifolia.extension.guide import FittedGuide
from manifolia.forest.targets import read_target
from manifolia.tables.frames import as_frame
from manifolia.tables.plain_rows import PlainRows
from manifolia.trust.clusters import Clusters, read_clusters
from manifolia.trust.nudges import is_explicit
from manifolia.trust.refits import Remake

_METRICS = ("euclidean", "cosine", "manhattan")


@dataclass(eq=False)
class Case:
    """A map, its rows, and what is known about them."""

    Y: FloatArray  # (n, n_components)
    plain: Any  # (n, d): rows without missing values, on the scale on which they are compared; may be sparse
    rows: Any = None  # (n, d): rows as a forest takes them; None: the same
    metric: str = "euclidean"
    y: Array | None = None  # (n,): target; may have gaps
    is_classes: bool | None = None  # Whether it is classes; None: by its values
    target_name: str = "the target"
    groups: IntArray | None = None
    forest: Any = None  # The fitted forest behind the map, if there is one
    clusters: Clusters | None = None  # None: those visible in the map
    columns: Sequence[tuple[str, Array]] = field(default_factory=list)  # The user's columns, one of which may leak
    n_targets: int = 1  # That the map was made with; of several none is judged
    refit: Any = None  # Makes a map of other rows: (rows, target, seed) → model or coordinates; None: it cannot be made
    fit_y: Any = None  # (n,): the target that it takes; None: it takes none
    place: Any = None  # Gives plain rows their places, by a formula; None: there is none
    guide: FittedGuide | None = None  # The cross-fitted model that placed the rows, if it was not the forest


def read_case(model_or_Y: Any, X: ArrayLike, y: ArrayLike | None, groups: ArrayLike | None) -> Case:
    """Read what users pass."""
    if not hasattr(model_or_Y, "fit"):
        rows: Any = check_matrix(X, accept_sparse=True)
        case = Case(check_map(model_or_Y, n_rows=rows.shape[0], name="model_or_Y"), rows)
    else:
        case = _of_model(model_or_Y, X)
    n = len(case.Y)
    case.groups = read_groups(groups, n) if groups is not None else case.groups
    case.columns = _named_columns(X)
    if y is not None:
        case.y, case.is_classes = read_classes(y, n)
        case.fit_y = np.asarray(y)
        case.target_name = str(getattr(y, "name", None) or "the target")
    return case


def _of_model(model: Any, X: ArrayLike) -> Case:
    """Take the map of a fitted model, and its rows as the model compares them."""
    method, card = last_step(model), registry.card_of(model)
    check_is_fitted(method, "embedding_")
    before = before_last(model)
    rows = check_matrix(X if before is None else before.transform(X), accept_sparse=True, allow_nan=True)
    Y = check_map(method.embedding_)
    if len(Y) != rows.shape[0]:
        raise ParameterError(
            f"X has {rows.shape[0]} rows and the map has {len(Y)}. Pass the rows that the model was fitted on.",
            parameter="X",
        )
    held = method._fitted_forest if card.forest and card.is_ours else None
    gaps = not is_sparse(rows) and bool(np.isnan(rows).any())
    plain = PlainRows(None).fit_transform(rows) if held is not None or gaps else rows
    metric = card.metric if card.metric in _METRICS else "euclidean"
    groups = None if held is None else held.groups
    return Case(
        Y, plain, rows, metric, forest=held, groups=groups, guide=guide_of(method), refit=Remake(method),
        place=formula_of(method),
    )  # fmt: skip


def formula_of(method: Any) -> Any:
    """What places rows by a formula; None if the map has none."""
    return method.transform if is_explicit(method) else None


def guide_of(method: Any) -> FittedGuide | None:
    """The model that was cross-fitted to place the rows of a map; votes that were passed are not trusted here."""
    guide: FittedGuide | None = vars(method).get("_guide")
    return guide if guide is not None and guide.model is not None else None


def _named_columns(X: ArrayLike) -> list[tuple[str, Array]]:
    frame = as_frame(X)
    if frame is not None:
        return [(str(name), frame[name].to_numpy()) for name in frame.columns]
    if is_sparse(X):
        return []
    return [(f"column {j}", column) for j, column in enumerate(np.asarray(X).T)]


def column_clusters(name: str, case: Case) -> Clusters:
    """Take a column of the rows as clusters."""
    known = dict(case.columns)
    if name not in known:
        raise ParameterError(
            f"clusters is {name!r}, and X has no such column. Pass labels, the name of a column, or 'auto'.",
            parameter="clusters",
        )
    return read_clusters(known[name], len(case.Y))


def read_classes(y: ArrayLike, n: int, task: str = "auto") -> tuple[Array, bool]:
    """Read one target, with None for rows without a label, and tell whether it is classes."""
    target = read_target(y, n, task)
    if target.y is not None and target.y.ndim > 1:
        raise ParameterError(
            f"y has {target.y.shape[1]} columns, and one target can be judged at a time. Pass one of them.",
            parameter="y",
        )
    values = np.full(n, None, dtype=object)
    values[target.labelled] = target.y
    return values, target.is_classification


def draw_rows(case: Case, sample: int | None, seed: int) -> IntArray:
    """Draw the rows that are judged."""
    n = len(case.Y)
    if sample is None or n <= sample:
        return np.arange(n)
    if case.groups is not None:
        return draw_rows_by_groups(case.groups, sample, as_generator(seed))
    return np.sort(as_generator(seed).permutation(n)[:sample])


def part_of_case(case: Case, rows: IntArray) -> Case:
    """The case of some rows."""
    clusters = case.clusters
    if clusters is not None:
        clusters = Clusters(clusters.codes[rows], clusters.names)
    return Case(
        case.Y[rows],
        case.plain[rows],
        None if case.rows is None else case.rows[rows],
        case.metric,
        None if case.y is None else case.y[rows],
        case.is_classes,
        case.target_name,
        sub_groups(case.groups, rows),
        None,  # a forest knows all rows
        clusters,
        [(name, values[rows]) for name, values in case.columns],
    )
