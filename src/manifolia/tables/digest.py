"""What one pass over a large table keeps about its columns: enough to decide on their roles as if all were in memory.

Two digests add up to the digest of both tables, in any order, so that parts can be read anywhere. For numbers it keeps
the range, missing values, and whether they count the rows; for other columns each different value with its frequency:
all of them up to 10,000, beyond that the frequent ones (Misra and Gries 1982; added up as by Agarwal et al. 2012) and
an estimate of their number from the smallest hashes (Bar-Yossef et al. 2002). Medians of numbers are those of the
sample.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.precision import confused_columns
from manifolia._core.types import Array
from manifolia.exceptions import TableError
from manifolia.tables.among_numbers import Tally
from manifolia.tables.columns import key_of, kind_of, plain_number
from manifolia.tables.frames import Source
from manifolia.tables.naming import place_of_row
from manifolia.tables.number_formats import reads
from manifolia.tables.roles import plan_column
from manifolia.tables.stream import Batch, changed_kind
from manifolia.tables.survey import Survey, looks_numbered, middle_of

MOST_VALUES = 10_000
_HASHES = 1024  # smallest hashes that are kept: the number of different values is known to 3%
_NEVER = np.iinfo(np.int64).max
_EXAMPLE = 40  # characters of a value in a message


class _Column:
    """What is kept about one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind = "missing"
        self.first_part = ""  # where a value was first seen
        self.n_missing = 0
        self.low, self.high = np.inf, -np.inf
        self.whole = True
        self.ends: dict[str, tuple[float, float, bool, bool]] = {}  # part to first, last, whether it rises, falls
        #: Different value to how often it occurs, and where it is first.
        self.values: dict[tuple[str, Any], list[Any]] = {}
        self.levels: list[Any] | None = None  # of ordered categories
        self.dropped = 0
        self.hashes = np.empty(0, np.uint64)

    def take_kind(self, kind: str, part: str, where: str, example: Any) -> None:
        """Refuse a column that holds something else than before."""
        if kind == "missing" or kind == self.kind:
            return
        both = {kind, self.kind}
        if self.kind == "missing" or both <= {"text", "category", "ordered"}:
            # Texts in one place and categories in another are texts.
            self.kind, self.first_part = (kind, part) if self.kind == "missing" else ("text", self.first_part)
            return
        shown = "" if example is None else str(example)[:_EXAMPLE]
        raise changed_kind(self.name, self.kind, self.first_part or "the first rows", kind, where, shown)

    def merge(self, other: _Column, files: dict[str, str]) -> None:
        """Add what is known about the same column in other rows."""
        if other.kind != "missing":
            example = _no_number([key[1] for key in other.values])
            self.take_kind(other.kind, other.first_part, files.get(other.first_part, other.first_part), example)
        self.n_missing += other.n_missing
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.whole &= other.whole
        self.ends |= other.ends
        self.levels = self.levels or other.levels
        self.dropped += other.dropped
        for key, (count, place) in other.values.items():
            self.count(key, count, place)
        self.hashes = np.union1d(self.hashes, other.hashes)[:_HASHES]
        self.shorten()

    def count(self, key: tuple[str, Any], count: int, place: tuple[str, int]) -> None:
        """Count a value; the first of its places in the order of the table is kept."""
        held = self.values.get(key)
        if held is None:
            self.values[key] = [count, place]
        else:
            held[0] += count
            held[1] = min(held[1], place)

    def shorten(self) -> None:
        """Keep the frequent values, and subtract from each the count of the first that is dropped."""
        if len(self.values) <= MOST_VALUES:
            return
        ranked = sorted(self.values.items(), key=lambda item: (-item[1][0], str(item[0][1])))
        cut = ranked[MOST_VALUES][1][0]
        self.dropped += sum(held[0] for _, held in ranked[MOST_VALUES:])
        self.values = {key: [held[0] - cut, held[1]] for key, held in ranked[:MOST_VALUES] if held[0] > cut}
        self.dropped += cut * MOST_VALUES

    @property
    def n_values(self) -> int:
        """Number of different values; an estimate beyond those that are counted."""
        if not self.dropped or len(self.hashes) < _HASHES:
            return len(self.values)
        return max(len(self.values), int((_HASHES - 1) / (float(self.hashes[-1]) / 2.0**64)))


class Digest:
    """What is known about all columns of a table, or of some of its rows."""

    def __init__(self, given: dict[str, Any] | None = None) -> None:
        self.given = dict(given or {})
        self.n_rows = 0
        self.columns: dict[str, _Column] = {}
        self.files: dict[str, str] = {}  # part to what messages call it

    def add(self, batch: Batch, file: str) -> None:
        """Add some rows; those of one part come in order."""
        self.files[batch.part] = file
        frame, start = batch.frame, batch.start
        self.n_rows += len(frame)
        numbers = []
        for name in frame.columns:
            column = self.columns.setdefault(name, _Column(name))
            dtype = frame[name].dtype
            plain = isinstance(dtype, np.dtype) and dtype.kind in "iuf"
            if plain and self.given.get(name, "numeric") == "numeric":
                numbers.append(name)
            else:
                self._add_values(column, frame[name], batch.part, start, file)
        if numbers and len(frame):
            self._add_numbers(numbers, frame[numbers].to_numpy(np.float64), batch.part, start, file)

    def _add_numbers(self, names: list[str], X: Array, part: str, start: int, file: str) -> None:
        gaps = np.isnan(X)
        n_missing = gaps.sum(axis=0)
        if np.isinf(X).any():
            row, j = (int(place) for place in np.argwhere(np.isinf(X))[0])
            raise TableError(
                f"column {names[j]!r} has an infinite value in {place_of_row(start + row)} of {file}, which no method "
                f"can use. Correct it, or leave the cell empty."
            )
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        whole = (np.floor(X) == X).all(axis=0)  # never with a missing value
        steps = np.diff(X, axis=0) if whole.any() else X[:0]
        rises = np.asarray((steps > 0).all(axis=0))
        falls = np.asarray((steps < 0).all(axis=0))
        for j, name in enumerate(names):
            column = self.columns[name]
            if n_missing[j] < len(X):
                column.take_kind("number", part, file, high[j])
                column.low, column.high = min(column.low, low[j]), max(column.high, high[j])
            column.n_missing += int(n_missing[j])
            column.whole &= bool(whole[j])
            if column.whole:
                first, last = float(X[0, j]), float(X[-1, j])
                ends = column.ends.get(part)
                if ends is not None:
                    rises[j] &= ends[2] and first > ends[1]
                    falls[j] &= ends[3] and first < ends[1]
                    first = ends[0]
                column.ends[part] = (first, last, bool(rises[j]), bool(falls[j]))

    def _add_values(self, column: _Column, cells: pd.Series, part: str, start: int, file: str) -> None:
        present = cells.notna().to_numpy()
        column.n_missing += int((~present).sum())
        if not present.any():
            return
        kind = kind_of(cells, column.name)
        if kind != column.kind:
            column.take_kind(kind, part, file, _no_number(cells[present].tolist()))
        if kind in ("date", "duration", "number") and cells.dtype != object and column.name not in self.given:
            numbers = _as_numbers(cells[present])
            column.low, column.high = min(column.low, numbers.min()), max(column.high, numbers.max())
            column.whole = False
            return
        if kind == "ordered":
            column.levels = column.levels or list(cells.cat.categories)
        codes, uniques = pd.factorize(cells[present].astype(object))
        counts = np.bincount(codes, minlength=len(uniques))
        firsts = np.full(len(uniques), _NEVER)
        np.minimum.at(firsts, codes, np.flatnonzero(present) + start)
        for value, count, first in zip(uniques.tolist(), counts.tolist(), firsts.tolist(), strict=True):
            column.count((type(value).__name__, value), count, (part, first))
        texts = np.array([key_of(value) for value in uniques], dtype=object)
        column.hashes = np.union1d(column.hashes, pd.util.hash_array(texts, categorize=False))[:_HASHES]
        column.shorten()

    def merge(self, other: Digest) -> None:
        """Add what is known about other rows; call it in the order of the parts, for messages."""
        self.n_rows += other.n_rows
        self.files |= other.files
        for name, column in other.columns.items():
            if name not in self.columns:
                self.columns[name] = _Column(name)
            self.columns[name].merge(column, self.files)

    def survey(self, sample: Source, uniform: Array, given: dict[str, Any], max_levels: int = 30) -> Survey:
        """Decide on the columns of a table by what is known about all of its rows; `sample` holds some of them."""
        d = len(sample.names)
        found = Survey(["drop"] * d, {}, np.full(d, np.nan), np.zeros(d, np.intp), np.zeros(d, bool), {}, {})
        for i, name in enumerate(sample.names):
            column, role = self.columns[name], given.get(name)
            found.n_missing[i] = column.n_missing
            if column.kind == "missing" and role not in ("drop", "identifier"):
                found.roles[i] = "missing"
            elif column.low <= column.high:
                self._plan_measured(i, sample, uniform, role, max_levels, found)
            else:
                self._plan_values(i, sample, role, max_levels, found)
        return found

    def _plan_measured(
        self, i: int, sample: Source, uniform: Array, role: Any, max_levels: int, found: Survey
    ) -> None:  # fmt: skip
        """Plan a column of numbers, dates or lengths of time, of which the range is known."""
        name = sample.names[i]
        column, cells = self.columns[name], sample.column(i)
        if column.low == column.high and not column.n_missing:
            found.roles[i] = "constant"
            return
        if column.kind == "number":
            cells = pd.Series(cells.to_numpy(np.float64, na_value=np.nan))
            found.roles[i], values = "numeric", np.append(cells, [column.low, column.high])
            found.numbered[i] = self._counts_rows(name, cells.to_numpy())
        else:
            ends = pd.Series(_as_cells([column.low, column.high], column.kind))
            plan = plan_column(pd.concat([cells, ends], ignore_index=True), name, role, max_levels)
            found.roles[i], found.plans[i], values = plan.role, plan, plan.values
        drawn = values[:-2][uniform]
        drawn = drawn[~np.isnan(drawn)]
        found.fill[i] = middle_of(drawn if len(drawn) else values[-2:], found.roles[i])
        confused = confused_columns(np.asarray(values)[:, None])
        if confused:
            found.units[i] = confused[0]

    def _plan_values(self, i: int, sample: Source, role: Any, max_levels: int, found: Survey) -> None:
        """Plan a column of which the different values are known."""
        name = sample.names[i]
        column = self.columns[name]
        counted = column.values
        if not counted:  # nothing occurred more often than the rest: the values of the sample represent it
            drawn = sample.column(i).dropna().astype(object).value_counts(sort=False)
            counted = {("", value): [int(count), ("", j)] for j, (value, count) in enumerate(drawn.items())}
        ranked = sorted(counted.items(), key=lambda item: item[1][1])
        gap = bool(column.n_missing)
        places = [f"{place_of_row(held[1][1])} of {self.files.get(held[1][0], '')}" for _, held in ranked]
        counts = [held[0] for _, held in ranked] + [column.n_missing] * gap
        tally = Tally(np.array(counts, dtype=np.int64), [*places, ""], column.n_values, self.n_rows - column.n_missing)
        cells = _as_column([key[1] for key, _ in ranked] + [None] * gap, column)
        plan = plan_column(cells, name, role, max_levels, tally)
        if plan.role == "text":
            plan = plan_column(sample.column(i), name, "text", max_levels)
        found.roles[i], found.plans[i] = plan.role, plan
        if plan.values is None:
            return
        if plan.role == "text":
            found.fill[i] = 0.0
            return
        known = ~np.isnan(plan.values)
        found.fill[i] = middle_of(plan.values[known], plan.role, tally.counts[known])
        confused = confused_columns(plan.values[:, None]) if plan.role in ("numeric", "date") else {}
        if confused:
            found.units[i] = confused[0]

    def _counts_rows(self, name: str, drawn: Array) -> bool:
        """Return whether whole numbers count the rows: they only rise or only fall, also from part to part."""
        column = self.columns[name]
        if not column.whole or column.n_missing:
            return False
        ends = [column.ends[part] for part in sorted(column.ends)]
        rising = all(one[2] for one in ends) and all(a[1] < b[0] for a, b in itertools.pairwise(ends))
        falling = all(one[3] for one in ends) and all(a[1] > b[0] for a, b in itertools.pairwise(ends))
        return looks_numbered(name, self.n_rows, ordered=rising or falling, values=drawn)


def _no_number(values: Sequence[Any]) -> Any:
    """Return the value that best shows what a column holds: one that is not a number, if there is one."""
    return next((value for value in values if not reads(plain_number, value)), next(iter(values), None))


def _as_numbers(cells: pd.Series) -> Array:
    """Dates and lengths of time as microseconds, so that they can be compared and sent."""
    if isinstance(cells.dtype, pd.PeriodDtype):
        cells = cells.dt.to_timestamp()
    if isinstance(cells.dtype, pd.DatetimeTZDtype):
        cells = cells.dt.tz_convert("UTC").dt.tz_localize(None)
    if cells.dtype.kind == "M":
        return cells.to_numpy().astype("datetime64[us]").astype(np.int64).astype(np.float64)
    if cells.dtype.kind == "m":
        return cells.to_numpy().astype("timedelta64[us]").astype(np.int64).astype(np.float64)
    return cells.to_numpy(np.float64, na_value=np.nan)


def _as_cells(numbers: Sequence[float], kind: str) -> Array:
    whole = np.array(numbers).astype(np.int64)
    return whole.astype("datetime64[us]" if kind == "date" else "timedelta64[us]")


def _as_column(values: list[Any], column: _Column) -> pd.Series:
    if column.kind == "ordered" and column.levels is not None:
        return pd.Series(pd.Categorical(values, column.levels, ordered=True))
    if column.kind == "category":
        return pd.Series(pd.Categorical(values))
    return pd.Series(values, dtype=object)
