"""What each column is for: found from its values or given by the user.

===============  =============================================================  ======================================
role             found where                                                    becomes
===============  =============================================================  ======================================
``numeric``      numbers, lengths of time, texts that all read as numbers,      the number
                 also written as 61.3%, $1,200.50, 73.1 kg or 09:11;
                 with ``limits`` given also <1 and >200
``boolean``      booleans                                                       0 or 1
``date``         dates, texts that are all dates in one order, such as ISO      days since the earliest at ``fit``
                 dates; with the day or the month first where a day beyond 12
                 shows which, or where ``dmy`` or ``mdy`` is given
``categorical``  categories, texts with repetitions                             one column of 0 and 1 for each level
``ordered``      ordered categories of pandas, or given as a list of levels     0, 1, 2, … in their order
``text``         many different texts of several words that come again          features named by their words
``identifier``   other texts most of which differ                               left out
``constant``     a single value, never missing                                  left out
``missing``      no value at all                                                left out
``drop``         given only                                                     left out
===============  =============================================================  ======================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.validate import check_option
from manifolia.exceptions import ParameterError, ParameterTypeError, TableError
from manifolia.tables.among_numbers import (
    MAYBE_LEVELS,
    MIXED_SHARE,
    Tally,
    among_dates,
    numbers_note,
    offer_missing,
    read_texts,
    sign_and_reads,
)
from manifolia.tables.columns import (
    has_zone,
    is_iso_date,
    key_of,
    kind_of,
    to_booleans,
    to_days,
    to_keys,
    to_moments,
    to_numbers,
    to_places,
    to_texts,
)
from manifolia.tables.decimals import reads_as_comma_numbers
from manifolia.tables.frames import is_text
from manifolia.tables.naming import counted, listing, repeated, unknown_name
from manifolia.tables.number_formats import (
    LIMITS,
    SPANS,
    date_order,
    describe_writing,
)
from manifolia.tables.text_features import TextFeatures, is_prose, learn_texts

#: What `roles` may say.
GIVEN = ("numeric", "limits", "categorical", "ordered", "boolean", "date", "dmy", "mdy", "text", "identifier", "drop")
#: What takes no part in the map.
LEFT_OUT = ("identifier", "constant", "missing", "drop")
#: A text column with more distinct values than this share of its rows names them rather than groups them …
_NAMING_SHARE = 0.5
#: … and with more than this share it does so even if it has few rows.
_SURE_SHARE = 0.9
#: Two numbers in one cell, such as 136/87.
_PAIR = re.compile(r"\d+(?:[.,]\d+)?\s*[/x×–-]\s*\d+(?:[.,]\d+)?", re.ASCII)
_FEW_UNITS = 2.0  # minimum of the longest length of time in the unit chosen for its column


class ColumnPlan(NamedTuple):
    """What ``fit`` learns about one column."""

    role: str  # The role
    # (n,): the column as numbers; for a categorical one the position of the level. None if it is left out
    values: Any = None
    levels: Sequence[str] = ()  # The levels of a categorical or ordered column; a pool of rare ones is not among them
    pooled: Sequence[str] = ()  # Rare levels that share one column
    origin: str = ""  # The moment that is day 0
    note: str = ""  # What to say about it, after its name
    # How its numbers or dates are written as texts, if not plainly; see `manifolia.tables.number_formats`
    writing: str = ""
    text: TextFeatures | None = None  # What was learned of free text
    offer: tuple[str, ...] = ()  # Texts among numbers that seem to mean "missing"


class _Found(NamedTuple):
    role: str
    note: str = ""
    writing: str = ""
    offer: tuple[str, ...] = ()


def check_roles(roles: Any, names: Sequence[str]) -> dict[str, Any]:
    """Check the roles that a user gave."""
    if roles is None:
        return {}
    if not isinstance(roles, Mapping):
        raise ParameterTypeError(
            f"roles must map columns to roles, such as {{'Pclass': 'categorical'}}, got {roles!r}.", parameter="roles"
        )
    known = set(names)
    checked: dict[str, Any] = {}
    for column, role in roles.items():
        if str(column) not in known:
            raise unknown_name(column, list(names), parameter="roles")
        if isinstance(role, (list, tuple)):
            levels = [key_of(level) for level in role]
            if len(levels) < 2 or repeated(levels):
                raise ParameterError(
                    f"the role of {str(column)!r} must list two or more different levels in order, got {role!r}.",
                    parameter="roles",
                )
            checked[str(column)] = levels
        else:
            try:
                checked[str(column)] = check_option(role, f"the role of {str(column)!r}", GIVEN)
            except ParameterError as error:
                error.parameter = "roles"
                raise
    return checked


def plan_column(column: pd.Series, name: str, given: Any, max_levels: int, tally: Tally | None = None) -> ColumnPlan:
    """Decide what becomes of one column; with a tally, for a larger one with the same values."""
    if given in ("drop", "identifier"):
        return ColumnPlan(given)
    if not column.notna().any():
        return ColumnPlan("missing")
    role, note, writing, offer = (
        _find_role(column, name, max_levels, tally) if given is None else _given_role(column, name, given, tally)
    )
    if isinstance(role, list):
        return _plan_ordered(column, name, role, note)
    if role == "numeric" and (writing == "duration" or kind_of(column, name) == "duration"):
        writing = _span_unit(column, name)
        unit = "days" if writing == "duration" else writing
        note = f"{note}, as {unit}" if note else f"in {unit}"
    if role == "numeric":
        plan = ColumnPlan(role, to_numbers(column, name, writing), note=note, writing=writing)
    elif role == "boolean":
        plan = ColumnPlan(role, to_booleans(column, name), note=note)
    elif role == "date":
        origin = str(np.nanmin(to_moments(column, name, writing)))
        note = ", ".join(filter(None, ("in UTC" if has_zone(column) else "", note)))
        plan = ColumnPlan(role, to_days(column, name, origin, writing), origin=origin, note=note, writing=writing)
    elif role == "ordered":
        return _plan_ordered(column, name, None, note)
    elif role == "categorical":
        return _plan_categorical(column, name, max_levels, note, tally)._replace(offer=offer)
    elif role == "text":
        return _plan_text(column, name)
    else:
        return ColumnPlan(role, note=note)
    return ColumnPlan("constant") if _is_constant(plan.values) else plan


def as_read(column: pd.Series, name: str, preparer: Any = None) -> pd.Series | None:
    """Return a column of texts as the numbers or dates that they represent; None if they are texts."""
    if not is_text(column):
        return None
    try:
        if preparer is not None and name in preparer.used_:
            role, writing = preparer.roles_[name], preparer.written_.get(name, "")
        else:
            role, _, writing, _ = _find_role(column, name, 30)
            writing = _span_unit(column, name) if writing == "duration" else writing
        if role == "numeric":
            return pd.Series(to_numbers(column, name, writing))
        return pd.Series(to_moments(column, name, writing)) if role == "date" else None
    except (TableError, TypeError):
        return None  # what cannot be read is shown as it is


def _span_unit(column: pd.Series, name: str) -> str:
    """Choose the largest unit of which the longest of a column's lengths of time (also known for a stream) has two."""
    longest = float(np.nanmax(np.abs(to_numbers(column, name, "duration"))))
    return next((unit for unit, per_day in SPANS.items() if longest * per_day >= _FEW_UNITS), "seconds")


def _is_constant(values: Any) -> bool:
    return bool((values == values[0]).all())  # never with a missing value: NaN differs from itself


def _counts_of(column: pd.Series, tally: Tally | None) -> pd.Series:
    """Return the different values of a column that are not missing, and how often each occurs."""
    return column.dropna().astype(object).value_counts(sort=False) if tally is None else tally.of_present(column)


def _given_role(column: pd.Series, name: str, given: Any, tally: Tally | None) -> _Found:
    """Find how texts are written that the user declared to be numbers or dates."""
    if given in ("dmy", "mdy"):
        return _Found("date", "", given if kind_of(column, name) == "text" else "")
    if given not in ("numeric", "limits", "date") or kind_of(column, name) != "text":
        return _Found("numeric" if given == "limits" else given)
    counts = _counts_of(column, tally)
    if given in ("numeric", "limits"):
        among = read_texts(column, counts, tally)
        if given == "limits":
            if among.marks:
                raise among.ask(name)
            return _Found("numeric", among.limits_note(), LIMITS + among.sign)
        if among.numbers and (among.marks or among.limits):
            raise among.ask(name)
        return _Found(given, numbers_note(list(counts.index), among.sign) if among.sign else "", among.sign)
    order = date_order([value for value in counts.index if not is_iso_date(value)])
    if order == "unclear":
        raise _unclear_dates(name, counts.index[0])
    return _Found(given, "", order)


def _unclear_dates(name: str, example: object) -> TableError:
    """Make the error that asks whether day or month comes first."""
    return TableError(
        Message(
            f"column {name!r} has dates such as {example!r}, and no day beyond 12 shows whether day or month comes "
            "first. Pass ",
            Argument("roles", {name: "dmy"}),
            " if the day does, ",
            Argument("roles", {name: "mdy"}),
            " if the month does, or 'drop' to leave the column out.",
        )
    )


def _find_role(column: pd.Series, name: str, max_levels: int, tally: Tally | None = None) -> _Found:
    kind = kind_of(column, name)
    if kind == "duration":
        return _Found("numeric")
    if kind != "text":
        return _Found({"number": "numeric", "category": "categorical"}.get(kind, kind))
    present = column.dropna()
    counts = _counts_of(column, tally)
    values, n_present = list(counts.index), int(counts.sum())
    n_values, n_rows = (len(values), n_present) if tally is None else (tally.distinct, tally.present)
    sign, reads = sign_and_reads(values, counts.to_numpy())
    if reads.all():
        return _Found("numeric", numbers_note(values, sign), sign)
    if all(is_iso_date(value) for value in values):
        return _Found("date")
    if reads_as_comma_numbers(present.astype(str)):
        raise TableError(
            Message(
                f"column {name!r} holds texts such as {values[0]!r}, which are numbers if the comma is the decimal "
                "sign. Pass ",
                Argument("decimal", ","),
                " when the file is read, or ",
                Argument("roles", {name: "categorical"}),
                " to take them as texts, or 'drop' to leave the column out.",
            )
        )
    order = date_order(values)
    if order == "unclear":
        raise _unclear_dates(name, values[0])
    if order:
        return _Found("date", describe_writing(order).removeprefix("dates "), order)
    among = read_texts(column, counts, tally)
    marks, others = among.marks, [value for value in values if value not in among.marks]
    dated = bool(marks and others) and (all(map(is_iso_date, others)) or bool(date_order(others)))
    offered = bool(marks) and (dated or 0 < len(among.numbers) == len(others))
    if dated and not among.limits:
        raise offer_missing(name, "dates", among.in_rows(marks), marks)
    if (nearly := among_dates(column, counts, tally)) is not None:
        raise nearly.ask(name)
    many = len(among.numbers) > max_levels
    naming = n_values / n_rows
    names_rows = naming > _SURE_SHARE or (naming > _NAMING_SHARE and n_values > max_levels)
    if among.are_numbers(many=many, names_rows=names_rows):
        raise among.ask(name)
    share, mixed = among.share, ""
    if many and share >= MIXED_SHARE:
        mixed = f"{describe_writing(among.sign)} in {share:.0%} of its values, and texts such as {among.odd[0]!r}"
    if (names_rows or n_values > max_levels) and not mixed and is_prose(values):
        return _Found("text")
    if names_rows:
        why = f"; {mixed}" if mixed else ""
        if others and all(isinstance(value, str) and _PAIR.fullmatch(value.strip()) for value in others):
            why = f", each of two numbers such as {others[0]!r}: make two columns of it"
        about = "about " * (n_values > len(values))
        return _Found("identifier", f"{about}{n_values:,} different texts in {n_rows:,} rows{why}")
    if offered or any(str(mark).strip().casefold() not in MAYBE_LEVELS for mark in marks):
        return _Found("categorical", among.in_rows(marks), offer=tuple(marks))
    return _Found("categorical", mixed)


def _plan_text(column: pd.Series, name: str) -> ColumnPlan:
    texts, present = to_texts(column)
    learned = learn_texts(texts)
    if learned is None:
        raise TableError(
            Message(
                f"the texts of column {name!r} have no word in common, and nothing can be learned from them. Pass ",
                Argument("roles", {name: "drop"}),
                " to leave the column out.",
            ),
            parameter="roles",
        )
    note = f"{counted(len(learned.labels), 'feature')}, such as {learned.labels[0]!r}"
    return ColumnPlan("text", np.where(present, 0.0, np.nan), note=note, text=learned)


def _plan_ordered(column: pd.Series, name: str, levels: list[str] | None, note: str) -> ColumnPlan:
    codes, keys = to_keys(column, name)
    if levels is None:
        if isinstance(column.dtype, pd.CategoricalDtype):
            levels = keys
        elif kind_of(column, name) in ("number", "boolean"):
            levels = sorted(keys, key=lambda key: _natural({"True": "1", "False": "0"}.get(key) or key))
        else:
            raise TableError(
                Message(
                    f"the order of the levels of column {name!r} is not known: {listing(keys)}. Pass them in order, ",
                    Argument("roles", {name: [Word("lowest"), Word("…"), Word("highest")]}),
                    ".",
                )
            )
    unknown = [key for i, key in enumerate(keys) if key not in levels and (codes == i).any()]
    if unknown:
        told = f"column {name!r} has levels that are not in the order given for it: {listing(unknown)}."
        raise TableError(Message(told, " Its role must list all of them."), parameter="roles")
    numbers = to_places(codes, keys, levels)
    if _is_constant(numbers):
        return ColumnPlan("constant")
    return ColumnPlan("ordered", numbers, levels=list(levels), note=note)


def _plan_categorical(column: pd.Series, name: str, max_levels: int, note: str, tally: Tally | None) -> ColumnPlan:
    codes, keys = to_keys(column, name)
    weights = None if tally is None else tally.counts[codes >= 0]
    counts = np.bincount(codes[codes >= 0], weights, minlength=len(keys))
    seen = [i for i in range(len(keys)) if counts[i]]
    if len(seen) == 1 and (codes >= 0).all():
        return ColumnPlan("constant")
    pooled: list[int] = []
    if len(seen) > max_levels:
        # The most frequent keep their own column; ties are broken by name, whatever the order of the rows.
        by_count = sorted(seen, key=lambda i: (-counts[i], keys[i]))
        seen, pooled = by_count[: max_levels - 1], by_count[max_levels - 1 :]
    levels = sorted((keys[i] for i in seen), key=_natural)
    rest = sorted((keys[i] for i in pooled), key=_natural)
    return ColumnPlan("categorical", to_places(codes, keys, levels, rest), levels=levels, pooled=rest, note=note)


def _natural(key: str) -> tuple[int, float, str]:
    """Order numbers as numbers, before texts."""
    try:
        number = float(key)
    except ValueError:
        return (1, 0.0, key)
    return (0, number, key) if number == number else (1, 0.0, key)
