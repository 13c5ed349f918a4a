"""Rows and columns that a table holds more than once: reported in notes, and left to the user."""

from __future__ import annotations

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.types import Array, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.tables.frames import is_text
from manifolia.tables.naming import Remark, listing
from manifolia.tables.preparer import TablePreparer
from manifolia.tables.table import Table

_FEWEST = 0.01  # share of the rows that must be copies
_CHANCE = 0.1  # maximum share of the copies that may be equal by chance
_ROWS, _COLUMNS = 4000, 400  # examined closely
_INDEPENDENT, _TOGETHER = 0.9, 4  # rank correlation below which columns do not follow from one another; how many
_SAME = 1e-5  # difference, in standard deviations, that is rounding
_AGREE = 0.9  # share of a row's copies with its target at which they predict it
#: What a line of totals is called, in the languages of the words for "missing".
_TOTALS = frozenset(
    (
        *("total", "totals", "subtotal", "sub-total", "grand total", "sum", "sums", "summe", "gesamt", "gesamtsumme"),
        *("zwischensumme", "insgesamt", "total général", "sous-total", "suma", "totale", "totaal"),
    )
)
_TOLD = 3  # columns in a sentence that others copy


def row_copies_note(
    table: Table, preparer: TablePreparer, X: FloatArray, y: Array | None, groups: IntArray | None
) -> list[str]:
    """Say how many rows repeat another one in all columns that are used, if that is not chance."""
    if is_sparse(X):
        return []
    codes = _equal_rows(table, preparer)
    counts = np.bincount(codes)
    n, n_copies = len(codes), len(codes) - len(counts)
    if n_copies < max(2, _FEWEST * n):
        return []
    first = np.unique(codes, return_index=True)[1]
    if n**2 * _chance_to_be_equal(preparer, X[first]) > _CHANCE * n_copies:
        return []
    often = f" (one occurs {counts.max():,} times)" if counts.max() > 2 else ""
    told = f"{n_copies:,} of {n:,} rows repeat an earlier row in every column that is used{often}"
    if y is None or not _tell_the_target(codes, y, groups):
        return [f"{told}. Drop them if they are not observations of their own."]
    known = (
        f"{told}: scores on rows that were left out may be too good, because copies of them were not. Drop the copies"
    )
    if groups is not None:
        return [f"{known}."]
    way = Argument("groups", Word("column"))
    return [Message(f"{known}, or pass ", way, " if a column says which rows belong together.")]


def totals_note(table: Table) -> list[str]:
    """Name the rows that call themselves totals."""
    if not isinstance(table.features, pd.DataFrame):
        return []
    told: dict[int, Remark] = {}
    for place, name in enumerate(table.feature_names):
        column = table.features.iloc[:, place]
        if not is_text(column):
            continue
        words = column.map(lambda cell: isinstance(cell, str) and cell.strip(" :").casefold() in _TOTALS)
        for row in np.flatnonzero(words.to_numpy(dtype=bool)).tolist():
            told.setdefault(row, Remark(Word(table.row_names[row]), f"{column.iloc[row]!r} in {name!r}"))
    if not 0 < len(told) <= max(1, _FEWEST * table.n_rows):
        return []  # a level that many rows have
    rows = listing(told[row] for row in sorted(told))
    looks = "Row {} looks like a line of totals: leave it" if len(told) == 1 else "Rows {} look like totals: leave them"
    return [f"{looks.format(rows)} out of the table if so."]


def empty_rows(table: Table, preparer: TablePreparer) -> IntArray:
    """Find the rows that have no value in any column that is used."""
    known = {name: place for place, name in enumerate(table.feature_names)}
    cells, places = table.features, [known[name] for name in preparer.used_ if name in known]
    empty = np.arange(0 if is_sparse(cells) or not places else table.n_rows)
    for place in places:
        if not len(empty):
            break
        column = cells.iloc[empty, place] if isinstance(cells, pd.DataFrame) else cells[empty, place]
        empty = empty[np.asarray(pd.isna(column), dtype=bool)]
    return empty


def empty_rows_note(table: Table, preparer: TablePreparer) -> list[str]:
    """Name the rows that have no value in any column that is used, such as a line of totals."""
    empty = empty_rows(table, preparer)
    if not len(empty):
        return []
    names = [Word(i if table.row_names is None else table.row_names[i]) for i in empty]
    rows, they = ("1 row has", "It is") if len(empty) == 1 else (f"{len(empty):,} rows have", "They are")
    told = f"{rows} no value in any column that is used: {listing(names)}. {they} placed all the same, and the place "
    return [f"{told}says nothing. A line of totals, for example, is better left out of the table."]


def _equal_rows(table: Table, preparer: TablePreparer) -> IntArray:
    """Number the rows, equal ones alike."""
    cells, places = table.features, [table.feature_names.index(name) for name in preparer.used_]
    some = places[:: max(1, len(places) // _COLUMNS)]  # of a wide table, which then rarely needs all
    for chosen in (some, places):
        frame = cells.iloc[:, chosen] if isinstance(cells, pd.DataFrame) else pd.DataFrame(cells[:, chosen])
        codes = pd.factorize(pd.util.hash_pandas_object(frame, index=False))[0]
        if codes.max() + 1 == len(codes) or len(some) == len(places):
            break
    return np.asarray(codes, dtype=np.intp)


def _chance_to_be_equal(preparer: TablePreparer, X: FloatArray) -> float:
    """Estimate how often two rows are equal by chance, from rows that differ in the finest few columns of numbers.

    Numbers of which there are few may be all that there are: two rows have the same one of `k` once in `k` times.
    """
    X = X[:: max(1, len(X) // _ROWS), preparer.starts_[preparer._has_role("numeric", "date")][:_COLUMNS]]
    pairs = max(1, len(X) * (len(X) - 1))
    shares = []
    for values in X.T:
        counts = np.unique(values, return_counts=True)[1]
        shares.append(max(float((counts * (counts - 1)).sum()) / pairs, 1.0 / len(counts)))
    chance, kept = 1.0, list[FloatArray]()
    for j in np.argsort(shares, kind="stable"):
        ranks = pd.Series(X[:, j]).rank(na_option="bottom").to_numpy()
        ranks = (ranks - ranks.mean()) / (np.linalg.norm(ranks - ranks.mean()) or 1.0)
        if all(abs(ranks @ other) < _INDEPENDENT for other in kept):
            chance, kept = chance * shares[j], [*kept, ranks]
        if len(kept) == _TOGETHER:
            break
    return chance


def _tell_the_target(codes: IntArray, y: Array, groups: IntArray | None) -> bool:
    """Return whether a row's copies, none of which has to be left out with it, have its target."""
    if groups is not None and len(np.unique(np.stack([codes, groups]), axis=1).T) == codes.max() + 1:
        return False
    target = pd.factorize(y if y.ndim == 1 else pd.util.hash_pandas_object(pd.DataFrame(y), index=False))[0]
    together = np.bincount(codes)[codes]
    alike = pd.Series(1, index=range(len(codes))).groupby([codes, target]).transform("sum").to_numpy()
    several = together > 1
    return bool(((alike - 1)[several] / (together - 1)[several]).mean() >= _AGREE)


def column_copies_note(preparer: TablePreparer, X: FloatArray, *, importance: bool) -> list[str]:
    """Name columns that hold the same as another one, except for their unit or the names of their levels."""
    if is_sparse(X):
        return []
    columns: dict[str, FloatArray] = {}
    for name, start in zip(preparer.used_, preparer.starts_, strict=True):
        role = preparer.roles_[name]
        if role == "text" or len(columns) == _COLUMNS:
            continue
        values = X[:, start].astype(np.float64)
        if role == "categorical":
            levels = X[:, start : start + preparer._width(name)]
            values = np.where(np.isnan(values), np.nan, pd.factorize(levels.argmax(axis=1))[0])
        columns[name] = values
    copies = _copies(columns)
    if not copies:
        return []
    told = "; ".join(
        f"{listing(others)} hold{'s' * (len(others) == 1)} the same as {name!r}"
        for name, others in list(copies.items())[:_TOLD]
    )
    more = f"; and {len(copies) - _TOLD:,} more columns have copies" if len(copies) > _TOLD else ""
    effect = "importance is shared among such columns" if importance else "together they weigh more than one column"
    extra = [name for others in copies.values() for name in others]
    way = Argument("exclude", extra if len(extra) <= _TOLD * 2 else [Word("column")])
    return [Message(f"{told}{more}: {effect}. Leave copies out with ", way, ".")]


def _copies(columns: dict[str, FloatArray]) -> dict[str, list[str]]:
    """Return columns and those that follow from them, by a straight line with gaps in the same rows."""
    names = list(columns)
    if len(names) < 2:
        return {}
    step = max(1, len(columns[names[0]]) // _ROWS)
    seen = np.array([_standardised(columns[name][::step]) for name in names])
    alike = np.abs(seen @ seen.T) / seen.shape[1] > 1.0 - _SAME
    found: dict[str, list[str]] = {}
    taken: set[int] = set()
    for i, name in enumerate(names):
        for j in np.flatnonzero(alike[i, i + 1 :]) + i + 1 if i not in taken else ():
            if j not in taken and _hold_the_same(columns[name], columns[names[j]]):
                found.setdefault(name, []).append(names[j])
                taken.add(int(j))
    return found


def _standardised(values: FloatArray) -> FloatArray:
    """Bring what is not missing to mean 0, and all to mean square 1; zeros if it does not vary."""
    known = ~np.isnan(values)
    centred = np.where(known, values - values[known].mean() if known.any() else 0.0, 0.0)
    centred /= np.abs(centred).max() or 1.0  # squares of large numbers overflow
    return centred / (np.sqrt(np.mean(centred**2)) or 1.0)


def _hold_the_same(one: FloatArray, other: FloatArray) -> bool:
    known = ~np.isnan(one)
    if (known == np.isnan(other)).any():
        return False
    one, other = _standardised(one[known]), _standardised(other[known])
    sign = 1.0 if one @ other > 0 else -1.0
    order = np.argsort(one, kind="stable")  # beside an outlier, all other values are near one another
    rises = (np.diff(sign * other[order])[np.diff(one[order]) > 0] >= 0).all()
    return bool(rises and np.abs(one - sign * other).max() <= _SAME)
