"""Rows that belong together: one patient, one machine, one speaker. Read here once, for every fit and metric."""

from __future__ import annotations

import numpy as np

from manifolia._core.types import Array, ArrayLike, BoolArray, IntArray
from manifolia._core.validate import check_labels, missing_labels
from manifolia.exceptions import ParameterError


def read_groups(
    groups: ArrayLike | None,
    n_rows: int,
    *,
    at_least: int = 3,
    y: Array | None = None,  # classes of the labelled rows, which groups must not coincide with
    labelled: BoolArray | None = None,
) -> IntArray | None:
    """Turn group labels into codes 0, 1, …, in the order of their first rows; None if no group has two rows.

    A missing label is a group of its own. If no group has a second row, there is nothing to keep together, and rows can
    be drawn as without groups, to the bit.
    """
    if groups is None:
        return None
    labels = check_labels(groups, name="groups", allow_missing=True)
    if labels.shape[0] != n_rows:
        raise ParameterError(
            f"groups has {labels.shape[0]} labels and X has {n_rows} rows. Pass one label per row, in the same order.",
            parameter="groups",
        )
    codes = _codes(labels, missing_labels(groups))
    if codes.max(initial=-1) + 1 == n_rows:
        return None
    known = codes if labelled is None else codes[labelled]
    n_groups, what = len(np.unique(known)), "rows" if len(known) == n_rows else "rows with a label"
    if n_groups < at_least:
        told = f"all {what} are in one group" if n_groups == 1 else f"the {len(known)} {what} are in {n_groups} groups"
        raise ParameterError(
            f"groups must hold at least {at_least} groups, and {told}: too few are left to learn from where one is "
            f"left out. Pass labels of smaller groups, or leave groups out.",
            parameter="groups",
        )
    if y is not None:
        _check_classes(y, known)
    return codes


def _codes(labels: Array, missing: BoolArray) -> IntArray:
    keys = labels
    if labels.dtype.kind == "O":  # mixed kinds cannot be sorted; their texts can
        keys = np.array([f"{type(label).__name__} {label!s}" for label in labels])
    _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
    starts = np.where(missing, np.arange(len(labels)), first[codes.ravel()])  # each group named by its first row
    return np.unique(starts, return_inverse=True)[1].ravel().astype(np.int64)


def _check_classes(y: Array, codes: IntArray) -> None:
    """Refuse groups for which no tree that is asked about a class has ever seen it."""
    for column in y.reshape(len(y), -1).T:
        _, classes = np.unique(column, return_inverse=True)
        pairs = np.unique(np.column_stack([classes.ravel(), codes]), axis=0)
        n_classes = int(classes.max(initial=-1)) + 1
        if n_classes > 1 and len(pairs) == n_classes:
            raise ParameterError(
                f"groups coincide with the {n_classes} classes of the target: each class lies in one group, so that "
                f"trees which leave the group out have never seen the class. Pass groups within classes, or leave "
                f"groups out.",
                parameter="groups",
            )


def sub_groups(groups: IntArray | None, rows: Array) -> IntArray | None:
    """Take the groups of some rows; None if no group has two of them."""
    if groups is None:
        return None
    codes: IntArray = np.unique(groups[rows], return_inverse=True)[1].ravel().astype(np.int64)
    return None if codes.max(initial=-1) + 1 == len(codes) else codes


def n_units(groups: IntArray | None, n_rows: int) -> int:
    """Number of independent units: the groups, or the rows."""
    return n_rows if groups is None else len(np.unique(groups))


def draw_rows_by_groups(groups: IntArray, size: int, generator: np.random.Generator) -> IntArray:
    """Draw whole groups at random until the next would exceed `size` rows, at least one; the rows in order."""
    return rows_of_first(groups, generator.permutation(int(groups.max()) + 1), size)


def rows_of_first(groups: IntArray, order: IntArray, size: int) -> IntArray:
    """Take whole groups in an order until the next would exceed `size` rows, at least one; the rows in order."""
    sizes = np.bincount(groups)
    n_taken = max(1, int(np.searchsorted(np.cumsum(sizes[order]), size, side="right")))
    return np.flatnonzero(np.isin(groups, order[:n_taken]))


def group_folds(groups: IntArray, n_folds: int, generator: np.random.Generator) -> list[IntArray]:
    """Distribute whole groups over folds of about equal size; return the rows of each fold.

    The largest go first, each to the fold with the fewest rows; equal ones come in random order.
    """
    sizes = np.bincount(groups)
    order = generator.permutation(len(sizes))
    filled = np.zeros(n_folds, dtype=np.int64)
    fold = np.empty(len(sizes), dtype=np.int64)
    for g in order[np.argsort(-sizes[order], kind="stable")]:
        fold[g] = np.argmin(filled)
        filled[fold[g]] += sizes[g]
    return [np.flatnonzero(fold[groups] == f) for f in range(n_folds)]


def deal_folds(
    n_rows: int, strata: IntArray | None, groups: IntArray | None, n_folds: int, generator: np.random.Generator
) -> list[IntArray]:
    """Distribute rows over folds: whole groups if there are any, otherwise at random, stratum by stratum."""
    if groups is not None:
        return group_folds(groups, n_folds, generator)
    order = generator.permutation(n_rows)
    if strata is not None:
        order = order[np.argsort(strata[order], kind="stable")]
    return [np.sort(order[f::n_folds]) for f in range(n_folds)]
