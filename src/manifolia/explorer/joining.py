"""The rows of a map and new rows under one another, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.types import FloatArray
from manifolia._core.validate import check_map
from manifolia.explorer.columns import infer_kind
from manifolia.explorer.payload import NewRows

__all__ = ["append_new", "as_frame"]


def as_frame(columns: Any, n: int, name: str) -> pd.DataFrame:
    """Bring columns into a table with names that differ."""
    if columns is None:
        return pd.DataFrame(index=pd.RangeIndex(n))
    if isinstance(columns, pd.DataFrame):
        table = columns.reset_index(drop=True)
    else:
        for key, values in columns.items():
            if len(values) != n:
                message = f"{name}: {key!r} has {len(values):,} values and the map has {n:,} rows."
                raise ValueError(message)
        parts = [pd.Series(values).reset_index(drop=True) for values in columns.values()]
        table = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=pd.RangeIndex(n))
        table.columns = list(columns)
    if len(table) != n:
        message = f"{name} has {len(table):,} rows and the map has {n:,}. Pass the same rows, in the same order."
        raise ValueError(message)
    table = table.copy(deep=False)
    table.columns = _distinct([str(column) for column in table.columns])
    return table


def _distinct(names: list[str]) -> list[str]:
    """Number names that occur again, so that each column can be asked for."""
    used: set[str] = set()
    found = []
    for name in names:
        unique, i = name, 2
        while unique in used:
            unique, i = f"{name} ({i})", i + 1
        used.add(unique)
        found.append(unique)
    return found


def append_new(
    Y: FloatArray, table: pd.DataFrame, row_names: Sequence[Any] | None, new: NewRows | None
) -> tuple[int, FloatArray, pd.DataFrame, list[str | None] | None]:
    """Put new rows under those of the map."""
    n = Y.shape[0]
    names: list[str | None] | None = None if row_names is None else [str(name) for name in row_names]
    if names is not None and len(names) != n:
        message = f"row_names has {len(names):,} entries and the map has {n:,} rows."
        raise ValueError(message)
    if new is None:
        return 0, Y, table, names
    Y_new = np.asarray(check_map(new.Y, name="new.Y"), dtype=np.float64)
    if Y_new.shape[1] != Y.shape[1]:
        message = f"new.Y has {Y_new.shape[1]} dimensions and the map has {Y.shape[1]}."
        raise ValueError(message)
    m = Y_new.shape[0]
    added = as_frame(new.columns, m, "new.columns")
    both = {}
    for name in table.columns:
        ours = table[name]
        theirs = added[name] if name in added.columns else pd.Series([None] * m, dtype=object)
        both[name] = _joined(ours, theirs)
    joined = pd.DataFrame(both, index=pd.RangeIndex(n + m))
    if names is not None or new.row_names is not None:
        theirs_named = [None] * m if new.row_names is None else [str(name) for name in new.row_names]
        if len(theirs_named) != m:
            message = f"new.row_names has {len(theirs_named):,} entries and new.Y has {m:,} rows."
            raise ValueError(message)
        names = [*(names or [None] * n), *theirs_named]
    return m, np.vstack([Y, Y_new]), joined, names


def _joined(ours: pd.Series, theirs: pd.Series) -> pd.Series:
    """Put a column of the map and that of the new rows under one another; the map's type decides."""
    if isinstance(ours.dtype, pd.CategoricalDtype):
        extra = [value for value in pd.unique(theirs.dropna()) if value not in ours.cat.categories]
        dtype = pd.CategoricalDtype([*ours.cat.categories, *extra], ordered=ours.cat.ordered)
        return pd.concat([ours.astype(dtype), theirs.astype(dtype)], ignore_index=True)
    if infer_kind(ours) == "number":
        numbers = pd.to_numeric(theirs, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.concatenate([ours.to_numpy(dtype=np.float64, na_value=np.nan), numbers]))
    if infer_kind(ours) == "date":
        return pd.concat([ours, pd.to_datetime(theirs, errors="coerce").astype(ours.dtype)], ignore_index=True)
    return pd.Series([*ours, *theirs], dtype=object)
