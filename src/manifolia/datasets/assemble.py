"""From what a file holds to what a user gets: features, target, split, names.

A Bunch of `manifolia.datasets.load` always has the same keys; ``split``, ``image_shape``, ``feature_table`` and further
arrays of an npz file are there if the set has them.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from manifolia._core.types import Array, Sparse
from manifolia._core.warnings import warn
from manifolia.datasets.catalogue import KnownSet
from manifolia.exceptions import ParameterError

if TYPE_CHECKING:
    import pandas as pd


_SPLIT = "split"
_NAMES_SHOWN = 20  # a message that lists thousands of genes helps nobody
_RESERVED = frozenset(
    {"name", "source", "data", "target", "frame", "feature_names", "target_names", "class_names", "task"}
    | {"identifiers", "description", "image_shape", "feature_table", _SPLIT}
)


def from_table(
    name: str,
    frame: pd.DataFrame,
    *,
    source: str,
    known: KnownSet | None = None,
    target: tuple[str, ...] | None = None,
    classes: Mapping[Hashable, str] | None = None,
    description: str | None = None,
) -> Bunch:
    """Take a table apart into features and target."""
    columns = _target_columns(source, frame.columns, known, target)
    _check_rows(name, source, len(frame), known)
    aside = {*columns}
    identifiers = [c for c in known.identifiers if c in frame.columns and c not in aside] if known else []
    extras: dict[str, Any] = {}
    if known and _SPLIT in frame.columns and _SPLIT not in aside:
        extras[_SPLIT] = _split_text(frame[_SPLIT])
        aside.add(_SPLIT)
    aside.update(identifiers)
    data: Any = frame[[c for c in frame.columns if c not in aside]]
    feature_names = [str(c) for c in data.columns]
    values: Any = None
    if columns:
        values = frame[columns[0]] if len(columns) == 1 else frame[list(columns)]
    if known and known.image_shape:
        data = np.ascontiguousarray(data.to_numpy())
        values = None if values is None else values.to_numpy()
    return _bunch(
        name,
        source,
        known,
        columns,
        description=description,
        classes=classes,
        data=data,
        target=values,
        frame=frame,
        feature_names=feature_names,
        identifiers=identifiers,
        **extras,
    )


def from_arrays(
    name: str,
    arrays: Mapping[str, Array],
    *,
    source: str,
    known: KnownSet | None = None,
    target: tuple[str, ...] | None = None,
) -> Bunch:
    """Give the arrays of an npz file their roles."""
    import pandas as pd

    X = arrays["X"]
    n_rows, n_features = X.shape
    _check_rows(name, source, n_rows, known)
    named = {key: _wide(value) for key, value in arrays.items() if key not in {"X", "feature_names", "label_names"}}
    per_row = {key: value for key, value in named.items() if value.ndim and value.shape[0] == n_rows}
    for key in ("y", _SPLIT):
        if key in named and key not in per_row:
            raise ValueError(
                f"{source}: {key} has shape {named[key].shape} and X has {n_rows} rows. Store one entry per row."
            )
    if target is None and known is None:
        columns: tuple[str, ...] = ("y",) if "y" in per_row else ()
    else:
        columns = _target_columns(source, per_row, known, target)
    if len(columns) > 1:
        raise ParameterError(
            f"target must name one array of {source}, got {list(columns)!r}. Pass one of {', '.join(per_row)}.",
            parameter="target",
        )

    values = per_row.pop(columns[0]) if columns else None
    target_names = list(columns)
    table: dict[str, Array] = {}
    if values is not None and values.ndim == 2:
        target_names = _output_names(arrays.get("label_names"), columns[0], values.shape[1])
        table.update(zip(target_names, values.T, strict=True))
    elif values is not None:
        table[columns[0]] = values

    extras: dict[str, Any] = {key: value for key, value in named.items() if key not in {*columns, *_RESERVED}}
    if _SPLIT in per_row:
        extras[_SPLIT] = per_row[_SPLIT] = _split_text(per_row[_SPLIT])
    elif known and known.n_train is not None and n_rows == known.n_rows:
        extras[_SPLIT] = per_row[_SPLIT] = np.where(np.arange(n_rows) < known.n_train, "train", "test")
    table.update({key: value for key, value in per_row.items() if value.ndim == 1})
    return _bunch(
        name,
        source,
        known,
        columns,
        data=X,
        target=values,
        frame=pd.DataFrame(table, index=pd.RangeIndex(n_rows)),
        feature_names=_matrix_names(arrays.get("feature_names"), known, n_features),
        target_names=target_names,
        **extras,
    )


def from_counts(
    name: str,
    counts: Sparse,
    labels: pd.DataFrame | None,
    features: pd.DataFrame | None,
    *,
    source: str,
    known: KnownSet | None = None,
    target: tuple[str, ...] | None = None,
) -> Bunch:
    """Put sparse counts together with their labels and column names."""
    import pandas as pd

    n_rows, n_features = counts.shape
    _check_rows(name, source, n_rows, known)
    frame = labels if labels is not None else pd.DataFrame(index=pd.RangeIndex(n_rows))
    columns = _target_columns(source, frame.columns, known, target)
    values = None
    if columns:
        values = frame[columns[0]].to_numpy() if len(columns) == 1 else frame[list(columns)].to_numpy()
    extras: dict[str, Any] = {}
    if _SPLIT in frame.columns and _SPLIT not in columns:
        extras[_SPLIT] = _split_text(frame[_SPLIT])
    if features is not None:
        extras["feature_table"] = features
        column = known.feature_column if known and known.feature_column in features.columns else features.columns[0]
        feature_names = _distinct([str(value) for value in features[column]])
    else:
        feature_names = [f"x{j}" for j in range(n_features)]
    return _bunch(
        name,
        source,
        known,
        columns,
        data=counts,
        target=values,
        frame=frame,
        feature_names=feature_names,
        identifiers=[c for c in known.identifiers if c in frame.columns and c not in columns] if known else [],
        **extras,
    )


def _bunch(
    name: str,
    source: str,
    known: KnownSet | None,
    columns: tuple[str, ...],
    *,
    target: Any,
    classes: Mapping[Hashable, str] | None = None,
    description: str | None = None,
    **parts: Any,
) -> Bunch:
    task = class_names = None
    # With a target of the user's choice, the catalogue does not know the task.
    if known is not None and columns == known.target:
        task = None if known.task == "none" else known.task
        if task == "classification":
            class_names = dict(classes or known.classes or {value: str(value) for value in np.unique(target).tolist()})
    if description is None:
        description = known.description if known is not None else f"Read from {source}."
    if known is not None and known.image_shape:
        parts["image_shape"] = known.image_shape
    own = {"name": name, "source": source, "task": task, "class_names": class_names, "description": description}
    return Bunch(**{"target_names": list(columns), "identifiers": [], **own, "target": target, **parts})


def _target_columns(
    source: str, columns: Iterable[Any], known: KnownSet | None, target: tuple[str, ...] | None
) -> tuple[str, ...]:
    """The target's columns, checked against what the file has."""
    there = list(columns)
    wanted = target if target is not None else known.target if known is not None else ()
    for column in wanted:
        if column in there:
            continue
        shown = ", ".join(map(repr, there[:_NAMES_SHOWN])) + (", …" if len(there) > _NAMES_SHOWN else "")
        if target is None:
            message = (
                f"{source} is named as a known set but has no target {column!r}; it has {shown or 'nothing'}. "
                f"Pass target= with a column that is there, or rename the file."
            )
        else:
            near = difflib.get_close_matches(str(column), [str(c) for c in there], n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            message = f"target must name a column of {source}, got {column!r}.{hint} It has {shown or 'nothing'}."
        raise ValueError(message)
    return wanted


def _check_rows(name: str, source: str, n_rows: int, known: KnownSet | None) -> None:
    if known is not None and n_rows != known.n_rows:
        warn(
            f"{source} has {n_rows} rows and the set known as {name!r} has {known.n_rows}: it is a part or another "
            f"edition, and the description may not fit. Give the file another name to stop this warning."
        )


def _split_text(values: Any) -> Array:
    """The official split as "train" and "test"; files have 0 and 1 or the words."""
    codes = np.asarray(values)
    if codes.dtype.kind in "iu" and np.isin(codes, (0, 1)).all():
        return np.where(codes == 0, "train", "test")
    return codes.astype(str)


def _wide(values: Array) -> Array:
    """Small integers become int64: labels and angles get added and multiplied, and uint8 would wrap silently."""
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _matrix_names(stored: Array | None, known: KnownSet | None, n_features: int) -> list[str]:
    if stored is not None and stored.shape == (n_features,):
        return _distinct([str(value) for value in stored])
    if known and known.image_shape and known.image_shape[0] * known.image_shape[1] == n_features:
        height, width = known.image_shape
        return [f"pixel_{row}_{column}" for row in range(height) for column in range(width)]
    return [f"x{j}" for j in range(n_features)]


def _output_names(stored: Array | None, prefix: str, n_outputs: int) -> list[str]:
    if stored is not None and stored.shape == (n_outputs,):
        return [str(value) for value in stored]
    return [f"{prefix}{j}" for j in range(n_outputs)]


def _distinct(names: list[str]) -> list[str]:
    """Names that occur twice (genes that share a symbol) get the number of their column."""
    counts = Counter(names)
    return [name if counts[name] == 1 else f"{name} #{j}" for j, name in enumerate(names)]
