"""The target of a run: columns of the table as what a method's ``fit`` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.groups import read_groups
from manifolia._core.types import Array, IntArray
from manifolia.exceptions import TableError
from manifolia.tables import Table


class Labels(NamedTuple):
    """Target columns."""

    frame: pd.DataFrame  # (n, n_targets): as they were read
    # (n,) or (n, n_targets): for ``fit``: numbers where they are numbers, else texts, missing ones as NaN or None
    y: Array | None

    @property
    def name(self) -> str:
        """The target in a sentence."""
        names = [str(name) for name in self.frame.columns]
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def read_labels(table: Table, names: Sequence[str]) -> Labels:
    """Take the target out of a table."""
    columns = [take_column(table, name, "target") for name in names]
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
    arrays = [_plain(column) for column in columns]
    if len(arrays) < 2:
        return Labels(frame, arrays[0] if arrays else None)
    if len({array.dtype.kind == "O" for array in arrays}) > 1 or len({_is_measured(array) for array in arrays}) > 1:
        told = ", ".join(f"{name} ({_kind(array)})" for name, array in zip(names, arrays, strict=True))
        raise TableError(
            f"several targets have to be of one kind, all numbers or all classes: {told}. Leave some out.",
            parameter="target",
        )
    return Labels(frame, np.column_stack([_codes(array) for array in arrays]))


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
