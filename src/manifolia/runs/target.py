"""The target of a run: columns of the table as what a method's ``fit`` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.groups import read_groups
from manifolia._core.messages import Argument, Message
from manifolia._core.types import Array, BoolArray, IntArray
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.tables import Table
from manifolia.tables.columns import kind_of
from manifolia.tables.roles import plan_column

_MOST_LEVELS = 30  # as of a feature
_FEWEST = 5  # labels that can be said to differ in every row
_MANY = 20  # labels of which most may differ by chance no longer
_COUNTING = 12  # rows with numbers one after another, from which these are not chance


class Labels(NamedTuple):
    """Target columns."""

    frame: pd.DataFrame  # (n, n_targets): as they were read
    # (n,) or (n, n_targets): for ``fit``: numbers where they are numbers, else texts, missing ones as NaN or None
    y: Array | None
    notes: tuple[str, ...] = ()  # Sentences on how they were read
    written: tuple[list[str | None] | None, ...] = ()  # For each column the texts that its numbers were read from

    @property
    def name(self) -> str:
        """The target in a sentence."""
        names = [str(name) for name in self.frame.columns]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def tell_missing(self, labelled: BoolArray) -> list[str]:
        """Say in how many rows the target is missing, which a forest learns from the others."""
        n, rows = int((~labelled).sum()), len(labelled)
        if not n:
            return []
        what = f"{self.name!r} has" if self.frame.shape[1] == 1 else "at least one of the targets has"
        if n == 1:
            return [f"In 1 of {rows:,} rows {what} no value: it is placed, and nothing is learned from it."]
        return [f"In {n:,} of {rows:,} rows {what} no value: they are placed, and nothing is learned from them."]


def read_labels(table: Table, names: Sequence[str], task: str = "auto") -> Labels:
    """Take the target out of a table; one that cannot guide a map is refused before the work begins."""
    cells = [take_column(table, name, "target") for name in names]
    read = [_as_target(column, name, task) for column, name in zip(cells, names, strict=True)]
    written = tuple(_texts_of(column) if note else None for column, (_, note) in zip(cells, read, strict=True))
    columns, notes = [column for column, _ in read], tuple(note for _, note in read if note)
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=pd.RangeIndex(table.n_rows))
    for name, column in zip(names, columns, strict=True):
        found = column.dropna().unique()
        if len(found) == 0:
            raise TableError(
                f"the target {name!r} has no value in any row. Choose another column as target.", parameter="target"
            )
        if len(found) == 1:
            raise TableError(
                f"the target {name!r} is {found[0]!s} in every row: there is nothing to learn. Choose another column, "
                f"or leave the target out for a map without one.",
                parameter="target",
            )
        if pd.api.types.is_float_dtype(column.dtype) and np.isinf(column.to_numpy(np.float64, na_value=np.nan)).any():
            raise TableError(
                f"the target {name!r} holds infinite values. Correct them, or leave these cells empty.",
                parameter="target",
            )
        _refuse_names(column, name)
    arrays = [_plain(column) for column in columns]
    if len(arrays) < 2:
        return Labels(frame, arrays[0] if arrays else None, notes, written)
    if len({array.dtype.kind == "O" for array in arrays}) > 1 or len({_is_measured(array) for array in arrays}) > 1:
        told = ", ".join(f"{name} ({_kind(array)})" for name, array in zip(names, arrays, strict=True))
        raise TableError(
            f"several targets have to be of one kind, all numbers or all classes: {told}. Leave some out.",
            parameter="target",
        )
    return Labels(frame, np.column_stack([_codes(array) for array in arrays]), notes, written)


def _texts_of(column: pd.Series) -> list[str | None]:
    return [None if missing else str(cell) for cell, missing in zip(column, column.isna(), strict=True)]


def no_cells(error: ParameterTypeError) -> TableError:
    """Say of a column of lists what to do in a run, where a column can be left out and shown."""
    parts = getattr(error.args[0], "parts", error.args)
    return TableError(
        Message(*(Argument("exclude", list(part.value)) if isinstance(part, Argument) else part for part in parts))
    )


def _as_target(column: pd.Series, name: str, task: str) -> tuple[pd.Series, str]:
    """Take numbers that are written as texts as numbers, with a note, and refuse moments."""
    try:
        kind = kind_of(column, name)
    except ParameterTypeError as error:
        told = f"the target {name!r} holds what is neither a number nor a text. Choose another column as target."
        raise TableError(told, parameter="target") from error
    if task in ("classification", "multilabel") or kind not in ("text", "date", "duration"):
        return column, ""
    if kind == "duration":
        raise TableError(
            f"the target {name!r} holds durations, which are taken neither as numbers nor as classes. Make a column of "
            f"numbers of it, such as its seconds.",
            parameter="target",
        )
    try:
        plan = plan_column(column, name, None, _MOST_LEVELS)
    except TableError:  # what would have to be decided of a feature: as a target these are classes
        return column, ""
    if plan.role == "date":
        example = column.dropna().iloc[0]
        raise TableError(
            Message(
                f"the target {name!r} holds dates, such as {str(example)!r}, which are taken neither as numbers nor as "
                "classes. Make a column of what you want to know of them, such as the month; or ",
                Argument("task", "classification"),
                " takes every date as a class.",
            ),
            parameter="target",
        )
    if plan.role != "numeric" or not (plan.writing or column.dropna().is_unique or _mostly_alone(column.dropna())):
        return column, ""  # texts such as "1" and "2" are names of classes
    return pd.Series(plan.values, name=column.name), f"The target {name!r} is read as numbers ({plan.note})."


def numbers_of(column: pd.Series, name: str) -> pd.Series:
    """Read a target of new rows as numbers, as that of the fit is read; what cannot be read stays."""
    try:
        return _as_target(column, name, "regression")[0]
    except TableError:
        return column


def _refuse_names(column: pd.Series, name: str) -> None:
    """Refuse what names the rows: texts that differ in all of them, or their numbers."""
    present = column.dropna()
    if pd.api.types.is_float_dtype(column.dtype):
        return
    different = len(present) >= _FEWEST and present.nunique() == len(present)
    if not different and not pd.api.types.is_numeric_dtype(column.dtype) and _mostly_alone(present):
        raise TableError(
            Message(
                f"the target {name!r} has {present.nunique():,} classes in {len(present):,} rows, and most rows are "
                "the only one of theirs: it is a name, not a target. Choose another column; if rows with the "
                "same value belong together, pass ",
                Argument("groups", name),
                ".",
            ),
            parameter="target",
        )
    if not different:
        return
    if pd.api.types.is_numeric_dtype(column.dtype):
        counting = len(present) >= _COUNTING and (np.diff(present.to_numpy(dtype=np.float64)) == 1.0).all()
        if not counting:
            return
        told = f"the target {name!r} counts the rows"
    else:
        told = f"the target {name!r} is different in every row"
    raise TableError(
        Message(f"{told}: there is nothing to learn of it. Choose another column; ", Argument("key", name),
                " calls the rows by this one."),
        parameter="target",
    )  # fmt: skip


def _mostly_alone(present: pd.Series) -> bool:
    """Return whether most of many rows are the only one of their class: of these nothing is learned from other rows."""
    return len(present) >= _MANY and int((present.value_counts() == 1).sum()) > len(present) / 2


class RowGroups(NamedTuple):
    """Rows that belong together, by a column."""

    name: str  # The column
    labels: pd.Series  # As they were read
    codes: IntArray | None  # (n,): for ``fit``; None where no two rows belong together

    @property
    def n_groups(self) -> int:
        """Number of groups; a missing label is one of its own."""
        return len(self.labels) if self.codes is None else int(self.codes.max()) + 1


def read_group_column(table: Table, name: str | None) -> RowGroups | None:
    """Take the column that says which rows belong together; None if there is none."""
    if name is None:
        return None
    column = take_column(table, name, "groups")
    return RowGroups(name, column, group_codes(column))


def group_codes(column: pd.Series, *, at_least: int = 3) -> IntArray | None:
    """Read which rows belong together, by what is written in a column."""
    keys = np.array([None if gap else str(value) for value, gap in zip(column, column.isna(), strict=True)], object)
    return read_groups(keys, len(keys), at_least=at_least)


def refuse_roles(
    roles: Mapping[str, Any], target: Sequence[str], exclude: Sequence[str], named: Mapping[str, str | None]
) -> None:
    """Refuse roles of columns that are no features."""
    others = dict.fromkeys(target, "the target") | dict.fromkeys(exclude, "excluded")
    others |= {name: f"the {what}" for what, name in named.items() if name is not None}
    for name, role in roles.items():
        if name in others and role == "drop":
            raise ParameterError(
                f"{name!r} is {others[name]}, which is shown, and its role is 'drop', which shows it nowhere. Leave "
                f"one of the two out.",
                parameter="roles",
            )
        if name in others:
            raise ParameterError(
                f"{name!r} is {others[name]} and no feature, so that it has no role. Leave the role out.",
                parameter="roles",
            )


def take_column(table: Table, name: str, parameter: str) -> pd.Series:
    """Take the column that a parameter names."""
    try:
        return table.column(name)
    except TableError as error:
        error.parameter = parameter
        raise


def _is_measured(values: Array) -> bool:
    """Whether numbers have fractions, so that they are no classes."""
    return values.dtype.kind == "f" and bool((values[np.isfinite(values)] % 1 != 0).any())


def _codes(values: Array) -> Array:
    """Whole numbers with gaps as such: several floats would be read as amounts, whatever their values are."""
    if values.dtype.kind != "f" or _is_measured(values) or not np.isnan(values).any():
        return values
    return np.array([None if np.isnan(value) else int(value) for value in values], dtype=object)


def _kind(values: Array) -> str:
    if values.dtype.kind == "O":
        return "words"
    return "numbers with fractions" if _is_measured(values) else "whole numbers"


def _plain(column: pd.Series) -> Array:
    if pd.api.types.is_bool_dtype(column.dtype):
        column = column.astype("boolean").map({True: "True", False: "False"}, na_action="ignore").astype(object)
    elif pd.api.types.is_numeric_dtype(column.dtype):
        whole = pd.api.types.is_integer_dtype(column.dtype) and not column.isna().any()
        return column.to_numpy(dtype=np.int64) if whole else column.to_numpy(dtype=np.float64, na_value=np.nan)
    texts = column.astype(object)
    words = [None if missing else str(value) for value, missing in zip(texts, column.isna(), strict=True)]
    return np.array(words, dtype=object)
