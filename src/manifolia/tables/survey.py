"""What ``fit`` learns about all columns, and what the preparer says about it.

Blocks of numbers are examined at once, other columns one by one. The sentences are for users of the command line and of
notebooks.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.precision import Unit, confused_columns
from manifolia._core.types import ArrayLike, BoolArray, FloatArray, IntArray
from manifolia._core.validate import is_sparse
from manifolia.exceptions import TableError
from manifolia.tables.frames import Source, open_source
from manifolia.tables.naming import Remark, counted, listing, place_of_row
from manifolia.tables.roles import ColumnPlan, check_roles, plan_column

#: Numbers that are processed together: 64 MiB.
_CHUNK = 2**23
#: Fewer rows may well be in order by chance.
_NUMBERED_ROWS = 10
#: A spread this small relative to the mean is rounding: the column is constant to the precision of its numbers.
_ROUNDING = 1e-12
_HOLDS_NUMBERS = "; "  # in the note on a column of names: what else is in it
#: A number that means “missing” recurs, in at most half of the rows, beside numbers most of which differ.
_AGAIN, _MOST_AGAIN, _DIFFERENT = 3, 0.5, 10
_ASKED = 3  # columns that one error asks about
_NAMED_ID = re.compile(r"(?:^|[^A-Za-z])id$|Id$|ID$")


class Code(NamedTuple):
    """A recurring number, farther from all others than these are from one another: -999, 9999."""

    value: float
    n_rows: int  # That have it
    next: float  # The nearest other number

    def __str__(self) -> str:
        return f"{self.value:g} in {counted(self.n_rows, 'row')}, the nearest other is {self.next:g}"


class Survey(NamedTuple):
    """What is known about each raw column after one look at the table."""

    roles: list[str]  # The role of each column
    plans: dict[int, ColumnPlan]  # Position to `ColumnPlan`, for the columns that were not taken as a block
    fill: FloatArray  # (d,): the median, or the position of the most frequent level; NaN for a column that is left out
    n_missing: IntArray  # (d,): missing values
    numbered: BoolArray  # (d,): whether a column of whole numbers looks like a row's number
    units: dict[int, Unit]  # Position to how its numbers are scaled for single precision, if that would confuse them
    codes: dict[int, Code]  # Position to a number that may mean “missing”


def looks_numbered(name: str, n_rows: int, *, ordered: bool, values: FloatArray) -> bool:
    """Return whether whole numbers look like a row's number: in order, or all different in a column called id."""
    named = _NAMED_ID.search(name) is not None
    return n_rows >= _NUMBERED_ROWS and (ordered or (named and len(np.unique(values)) == len(values)))


class LookedAt(NamedTuple):
    """A raw table that was examined, for `TablePreparer.fit`."""

    source: Source
    given: dict[str, Any]  # Column to role, where the user gave one
    survey: Survey | None  # None for a sparse matrix, whose cells are numbers


def look_at(X: ArrayLike, roles: Any = None, max_levels: int = 30) -> LookedAt:
    """Examine a raw table, and refuse what needs a decision."""
    source = open_source(X)
    given = check_roles(roles, source.names)
    if source.shape[0] < 2:
        raise TableError("the table has 1 sample (row): nothing differs in it. A map needs several rows.")
    return LookedAt(source, given, None if is_sparse(source.values) else survey(source, given, max_levels))


def survey(source: Source, given: dict[str, Any], max_levels: int) -> Survey:
    """Examine every column once."""
    n_columns = source.shape[1]
    columns = Survey(
        ["drop"] * n_columns,
        {},
        np.full(n_columns, np.nan),
        np.zeros(n_columns, np.intp),
        np.zeros(n_columns, bool),
        {},
        {},
    )
    booleans = source.booleans()
    block = source.numeric()
    for i, name in enumerate(source.names) if given else ():
        # A role that leaves numbers as they are needs no look at the individual column.
        block[i] &= given.get(name, "numeric") == "numeric" and not (booleans[i] and name in given)
    _survey_block(source, np.flatnonzero(block), booleans, columns)
    asked: list[tuple[str, TableError]] = []
    for i in np.flatnonzero(~block).tolist():
        try:
            plan = plan_column(source.column(i), source.names[i], given.get(source.names[i]), max_levels)
        except TableError as error:
            asked.append((source.names[i], error))
            continue
        columns.roles[i], columns.plans[i] = plan.role, plan
        if plan.values is None:
            continue
        check_finite(plan.values[:, None], [source.names[i]])
        gaps = np.isnan(plan.values)
        columns.n_missing[i] = gaps.sum()
        columns.fill[i] = middle_of(plan.values[~gaps], plan.role)
        confused = confused_columns(plan.values[:, None]) if plan.role in ("numeric", "date") else {}
        if confused:
            columns.units[i] = confused[0]
    if asked:
        raise _asked_together(asked)
    return columns


def _asked_together(asked: Sequence[tuple[str, TableError]]) -> TableError:
    """Combine questions about several columns into one error, so that one call can answer all of them."""
    first = asked[0][1]
    if len(asked) == 1:
        return first
    parts = [first.args[0]]
    for _, error in asked[1:_ASKED]:
        begin, *rest = Message(error.args[0]).parts
        begin = str(begin)
        parts += [f" {begin[:1].upper()}{begin[1:]}", *rest]
    if len(asked) > _ASKED:
        rest = [name for name, _ in asked[_ASKED:]]
        parts.append(f" {listing(rest)} {'asks' if len(rest) == 1 else 'ask'} for a decision too.")
    return TableError(Message(*parts), parameter=first.parameter)


def middle_of(values: FloatArray, role: str, counts: IntArray | None = None) -> float:
    """Return what replaces a missing value; `counts` says how many rows each value represents."""
    if role == "text":
        return 0.0
    if role == "categorical":
        return float(np.bincount(values.astype(np.intp), counts).argmax())
    lower = role in ("ordered", "boolean")  # a level that exists, not the middle of two
    if counts is None:
        return float(np.sort(values)[(len(values) - 1) // 2]) if lower else float(np.median(values))
    order = np.argsort(values, kind="stable")
    upto, n = np.cumsum(counts[order]), int(counts.sum())
    low, high = (float(values[order][np.searchsorted(upto, place, side="right")]) for place in ((n - 1) // 2, n // 2))
    return low if lower else (low + high) / 2.0


def _survey_block(source: Source, positions: IntArray, booleans: BoolArray, columns: Survey) -> None:
    n_rows = source.shape[0]
    step = max(1, _CHUNK // n_rows)
    for start in range(0, len(positions), step):
        places = positions[start : start + step]
        values = source.block(places)
        check_finite(values, [source.names[i] for i in places])
        gaps = np.isnan(values)
        n_missing = gaps.sum(axis=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: NaN is what it gets
            middle = np.nanmedian(values, axis=0) if n_missing.any() else np.median(values, axis=0)
        constant = (values == values[0]).all(axis=0)
        columns.n_missing[places] = n_missing
        columns.fill[places] = np.where(booleans[places], np.floor(middle), middle)
        columns.units.update({int(places[j]): unit for j, unit in confused_columns(values).items()})
        columns.codes.update({int(places[j]): code for j, code in _codes(values).items()})
        columns.numbered[places] = _numbered(values, [source.names[i] for i in places]) & ~booleans[places]
        for i, boolean, same, empty in zip(places, booleans[places], constant, n_missing == n_rows, strict=True):
            usual = "boolean" if boolean else "numeric"
            columns.roles[i] = "missing" if empty else "constant" if same else usual


def _codes(values: FloatArray) -> dict[int, Code]:
    """Find columns whose smallest or largest number may be a code."""
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    middle = (low + high) / 2
    found = {}
    # Where the others are nearer to one another than to it, it is alone in its half of the range.
    for end, side in ((low, values < middle), (high, values > middle)):
        n_rows = (values == end).sum(axis=0)
        for j in np.flatnonzero((side.sum(axis=0) == n_rows) & (n_rows >= _AGAIN)).tolist():
            others = values[(values[:, j] != end[j]) & ~np.isnan(values[:, j]), j]
            if n_rows[j] > _MOST_AGAIN * (n_rows[j] + len(others)) or len(np.unique(others)) < _DIFFERENT:
                continue
            nearest = others[np.argmin(np.abs(others - end[j]))]
            if abs(nearest - end[j]) > np.ptp(others):
                found[j] = Code(float(end[j]), int(n_rows[j]), float(nearest))
    return found


def _numbered(values: FloatArray, names: list[str]) -> BoolArray:
    """Find columns that count the rows: whole numbers that only rise or only fall, or all differ and are called id."""
    n_rows, n_columns = values.shape
    counts_rows = np.zeros(n_columns, dtype=bool)
    if n_rows < _NUMBERED_ROWS:
        return counts_rows
    first = np.diff(values[:_NUMBERED_ROWS], axis=0)
    candidates = np.flatnonzero((first > 0).all(axis=0) | (first < 0).all(axis=0))
    named = [j for j, name in enumerate(names) if _NAMED_ID.search(name)]
    for j in {*candidates.tolist(), *named}:
        column = values[:, j]
        if not (column == np.floor(column)).all():
            continue
        steps = np.diff(column)
        ordered = bool((steps > 0).all() or (steps < 0).all())
        counts_rows[j] = looks_numbered(names[j], n_rows, ordered=ordered, values=column)
    return counts_rows


def check_finite(values: FloatArray, names: list[str]) -> None:
    """Refuse infinity."""
    infinite = np.isinf(values)
    if not infinite.any():
        return
    row, column = (int(place) for place in np.argwhere(infinite)[0])
    raise TableError(
        f"column {names[column]!r} has an infinite value in {place_of_row(row)}, which no method can use. Correct it, "
        f"or leave the cell empty."
    )


def safe_scale(spread: FloatArray, mean: FloatArray) -> FloatArray:
    """Return standard deviations to divide by: 1 if a column does not vary."""
    return np.where(spread > _ROUNDING * np.abs(mean), spread, 1.0)


def describe(names: Sequence[str], columns: Survey, *, missing: str, scale: bool) -> list[str]:
    """Say what becomes of the columns."""
    notes: list[str] = []

    def tell(
        wanted: Callable[[int], bool],
        before: str,
        detail: Callable[[int], str],
        *after: str | Argument,
        most: Callable[[int], int] = lambda i: 0,
    ) -> None:
        places = sorted((i for i in range(len(names)) if wanted(i)), key=lambda i: -most(i))
        if places:
            texts = [Remark(names[i], detail(i)) for i in places]
            notes.append(Message(f"{before}: {listing(texts)}.", *after))

    def plan_note(i: int) -> str:
        return columns.plans[i].note if i in columns.plans else ""

    def has(role: str) -> Callable[[int], bool]:
        return lambda i: columns.roles[i] == role

    used = ~np.isnan(columns.fill)
    too_many = "Left out, because there are too many different texts to be categories"
    tell(
        lambda i: columns.roles[i] == "identifier" and bool(plan_note(i)) and _HOLDS_NUMBERS not in plan_note(i),
        too_many,
        plan_note,
        " Such a column can name the rows, if it differs in all of them: ",
        Argument("key", Word("column")),
        "; or say which rows belong together: ",
        Argument("groups", Word("column")),
        ".",
    )
    tell(
        lambda i: columns.roles[i] == "identifier" and _HOLDS_NUMBERS in plan_note(i),
        too_many,
        plan_note,
        " Pass ",
        Argument("roles", {Word("column"): "categorical"}),
        " to use such a column.",
    )
    tell(has("constant"), "Left out, because all rows have the same value", lambda i: "")
    tell(has("missing"), "Left out, because no row has a value", lambda i: "")
    tell(
        lambda i: columns.roles[i] == "drop" or (columns.roles[i] == "identifier" and not plan_note(i)),
        "Left out as asked",
        lambda i: "",
    )
    n_levels = {i: len(plan.levels) + len(plan.pooled) for i, plan in columns.plans.items()}
    tell(
        has("categorical"),
        "Categories, one column of 0 and 1 for each level",
        lambda i: counted(n_levels[i], "level"),
    )
    tell(
        has("text"),
        "Texts, as features of their words",
        plan_note,
        " Pass ",
        Argument("roles", {Word("column"): "drop"}),
        " to leave such a column out.",
    )
    for i, plan in columns.plans.items():
        if plan.offer:
            takes = "takes it" if len(plan.offer) == 1 else "take them"
            named = Argument("na_values", list(plan.offer))
            notes.append(Message(f"{names[i]}: {plan.note}; ", named, f" {takes} as missing."))
    tell(
        lambda i: columns.roles[i] == "categorical" and bool(plan_note(i)) and not columns.plans[i].offer,
        "Taken as categories, because there are texts among the numbers",
        plan_note,
        " If these texts mean “missing”, name them by ",
        Argument("na_values"),
        " when the table is read: then the column is taken as numbers.",
    )
    tell(
        lambda i: columns.roles[i] == "categorical" and bool(columns.plans[i].pooled),
        "The other levels share the column 'other'",
        lambda i: f"{len(columns.plans[i].pooled):,} of {n_levels[i]:,} levels",
    )
    twice = {i: _spelt_twice([*plan.levels, *plan.pooled]) for i, plan in columns.plans.items()}
    tell(
        lambda i: columns.roles[i] == "categorical" and bool(twice[i]),
        "Levels that differ only in capital letters are different ones",
        lambda i: twice[i],
    )
    tell(has("ordered"), "Levels in order, as 0, 1, 2, …", lambda i: " < ".join(_ends(columns.plans[i].levels)))
    tell(
        has("date"),
        "Dates, as days since the earliest",
        lambda i: ", ".join(filter(None, (f"since {_day(columns.plans[i].origin)}", plan_note(i)))),
    )
    tell(lambda i: columns.roles[i] == "numeric" and bool(plan_note(i)), "Taken as numbers", plan_note)
    tell(
        lambda i: bool(columns.numbered[i]) and used[i],
        "Used as a number, though it looks like a row's number",
        lambda i: "",
        " Pass ",
        Argument("roles", {Word("column"): "drop"}),
        " if it says nothing about the row.",
    )
    kept = {
        "keep": "Missing values stay missing",
        "impute": "Missing values are filled by the median or the most frequent level, and a further column marks them",
    }[missing]
    n_missing = columns.n_missing.tolist()
    tell(
        lambda i: used[i] and n_missing[i] > 0, kept, lambda i: counted(n_missing[i], "row"), most=n_missing.__getitem__
    )
    tell(
        lambda i: i in columns.codes and used[i],
        "One number comes again and again, far from all others",
        lambda i: str(columns.codes[i]),
        " If it means “missing”, pass ",
        Argument("na_values", list(dict.fromkeys(f"{code.value:.12g}" for code in columns.codes.values()))),
        ".",
    )
    confused = {} if scale or missing == "impute" else columns.units
    tell(
        lambda i: used[i] and i in confused and confused[i].helps,
        "Shifted and scaled, because single precision, in which trees compare, cannot hold the numbers as they are",
        lambda i: "",
    )
    tell(
        lambda i: used[i] and i in confused and not confused[i].helps,
        "Partly lost on trees, which compare in single precision and take the smallest of these numbers for the same",
        lambda i: "",
        " Use their logarithms.",
    )
    if scale:
        notes.append(
            "Numbers are standardised to mean 0 and standard deviation 1; columns of 0 and 1 for levels are not."
        )
    return notes


def _spelt_twice(levels: Sequence[str]) -> str:
    """Name two levels that differ only in capitalisation; nothing if there are none."""
    known: dict[str, str] = {}
    for level in levels:
        first = known.setdefault(level.casefold(), level)
        if first != level:
            return f"{first!r} and {level!r}"
    return ""


def _ends(levels: Sequence[str], limit: int = 5) -> list[str]:
    return list(levels) if len(levels) <= limit else [*levels[:2], "…", levels[-1]]


def _day(origin: str) -> str:
    day, _, time = origin.partition("T")
    time = time.rstrip("0").rstrip(".") if "." in time else time
    return f"{day} {time.removesuffix(':00')}" if time.strip("0:.") else day
