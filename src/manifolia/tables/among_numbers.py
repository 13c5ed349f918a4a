"""What occurs among the numbers of a column of texts: words for “missing”, limits such as <1, and anything else.

A column that was meant as numbers and holds other texts is asked about, with their names and how many rows have them.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message
from manifolia._core.types import BoolArray, IntArray
from manifolia.exceptions import TableError
from manifolia.tables.columns import plain_number, written_number
from manifolia.tables.decimals import shows_decimal_comma
from manifolia.tables.naming import counted, percent, place_of_row
from manifolia.tables.number_formats import (
    LIMITS,
    TIMES,
    as_limit,
    as_number,
    describe_writing,
    mostly_dates,
    number_sign,
    reads,
)

#: A text column of which at least this share reads as numbers was meant as numbers: the rest needs a decision.
_NUMBER_SHARE = 0.9
#: The same for numbers with percent or currency signs or with separated thousands, which are seldom anything else.
_WRITTEN_SHARE = 0.8
#: If there are at most this many different texts among the numbers, they are a few words, and numbers need be no more …
_FEW_TEXTS = 10
#: … than this share of the values. With more different texts it may be a code: that is said, and not asked.
MIXED_SHARE = 0.5
#: What people write among numbers and dates where there is no value. It is only offered to be taken as missing: "none"
#: may be a level.
_PLACEHOLDERS = frozenset(
    (
        *(".", "..", "...", "-", "--", "---", "–", "—", "?", "??", "*", "/", "#", "_", "none", "unknown", "unk"),
        *("missing", "empty", "blank", "nil", "void", "n.a.", "n.a", "n / a", "n/k", "na", "nan", "null", "x", "xx"),
        *("tbd", "tba", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!", "not available", "not applicable"),
        *("not known", "not recorded", "no data", "no value", "k.a.", "k. a.", "keine angabe", "unbekannt"),
        *("inconnu", "desconocido", "sconosciuto"),
    )
)
#: Some of these may just as well be levels: in a column without numbers they are not offered.
MAYBE_LEVELS = frozenset(("none", "nil", "void", "empty", "blank", "x", "xx", "*", "/", "#", "_", "."))
_TOLD_MARKS = 3  # of them in a sentence


class Tally(NamedTuple):
    """How often each value of a column occurs in a table of which only the different values are available."""

    counts: IntArray  # (n,): rows that each entry of the column stands for
    places: Sequence[str]  # Where each is first, for messages
    distinct: int  # Different values, of which the rarest may not be available
    present: int  # Rows with a value, of which those with the rarest may not be counted

    def of_present(self, column: pd.Series) -> pd.Series:
        """Return how often each value occurs that is not missing."""
        present = column.notna().to_numpy()
        return pd.Series(self.counts[present], index=column[present].astype(object).to_list())


class AmongNumbers(NamedTuple):
    """The different texts of a column that may hold numbers."""

    column: pd.Series
    counts: pd.Series  # Of each different value
    tally: Tally | None
    sign: str  # How its numbers are written
    numbers: list[Any]
    marks: list[Any]  # What people write where there is no value
    limits: list[str]  # Such as <1
    odd: list[Any]  # Everything else

    def rows(self, values: list[Any]) -> int:
        """In how many rows some of its values are."""
        return int(self.counts.loc[values].sum()) if values else 0

    @property
    def share(self) -> float:
        """Share of the values that are numbers, ignoring those that mean “missing”."""
        n_numbers = self.rows(self.numbers) + self.rows(self.limits)
        return n_numbers / max(n_numbers + self.rows(self.odd), 1)

    def are_numbers(self, *, many: bool, names_rows: bool) -> bool:
        """Return whether these were meant as numbers, so that the rest needs a decision."""
        if any(map(_is_code, self.odd)):
            return False
        if self.sign.partition("|")[0] and self.share >= _WRITTEN_SHARE and (many or names_rows):
            return True
        return many and (self.share >= _NUMBER_SHARE or (self.share >= MIXED_SHARE and len(self.odd) <= _FEW_TEXTS))

    def in_rows(self, texts: Sequence[Any]) -> str:
        """Say in how many rows some texts are: 'unknown' in 107 rows."""
        shown = [f"{text!r} in {counted(self.rows([text]), 'row')}" for text in texts[:_TOLD_MARKS]]
        if len(texts) > len(shown):
            shown.append(f"{len(texts) - len(shown)} more")
        return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)

    def _places(self, texts: Sequence[Any]) -> str:
        """Say where some texts are first: row 3 (counting from 0) has 'x' and row 20 'y'."""
        rows = [int(np.argmax((self.column == text).to_numpy(dtype=bool, na_value=False))) for text in texts]
        if self.tally is not None:
            told = [self.tally.places[row] for row in rows]
        else:
            told = [place_of_row(row) if i == 0 else f"row {row:,}" for i, row in enumerate(rows)]
        told = [f"{place}{' has' * (i == 0)} {text!r}" for i, (place, text) in enumerate(zip(told, texts, strict=True))]
        told += ["so on"] if len(texts) < len(self.odd) else []
        return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)

    def limits_note(self) -> str:
        """Say how limits are read."""
        first = self.limits[0] if self.limits else None
        return "" if first is None else f"{first!r} as {written_number(first, LIMITS + self.sign):g}"

    def ask(self, name: str) -> TableError:
        """Make the error that asks what the texts among numbers mean."""
        told, rest = describe_writing(self.sign), [*self.marks, *self.odd]
        if not (self.odd or self.limits):
            return offer_missing(name, told, self.in_rows(rest), rest)
        told += f" in {percent(self.rows(self.numbers) / int(self.counts.sum()))} of its rows"
        categorical = Argument("roles", {name: "categorical"})
        single = bool(rest) and not self.limits and self.rows(self.odd) == len(rest)  # each once
        if single or len(self.odd) > _FEW_TEXTS:
            told += (
                f", and {self._places(self.odd[:_TOLD_MARKS])}. Correct {'it' if len(rest) == 1 else 'them'}, name the "
            )
            way = Message("texts that mean “missing” when the table is read (",
                          Argument("na_values", self.odd[:_TOLD_MARKS]), "), or pass ", categorical)  # fmt: skip
            if self.limits:
                way = Message(way, " or ", Argument("roles", {name: "limits"}), f", which reads {self.limits_note()},")
            return TableError(Message(f"column {name!r} holds {told}", way, " or 'drop'."))
        way = Message(categorical, " takes every value as a category, 'drop' leaves the column out.")
        if self.limits:
            way = Message(Argument("roles", {name: "limits"}), f" reads {self.limits_note()}; ", way)
        if rest:
            takes = "takes it" if len(rest) == 1 else "take them"
            way = Message(Argument("na_values", rest), f" {takes} as missing when the table is read; ", way)
        return TableError(Message(f"column {name!r} holds {told}, but {self.in_rows([*rest, *self.limits])}. ", way))


def read_texts(column: pd.Series, counts: pd.Series, tally: Tally | None) -> AmongNumbers:
    """Sort the different values of a column into numbers, words for “missing”, limits and others."""
    values = list(counts.index)
    sign, good = sign_and_reads(values, counts.to_numpy(), mixed=True)
    numbers = [value for value, is_number in zip(values, good, strict=True) if is_number]
    rest = [value for value, is_number in zip(values, good, strict=True) if not is_number]
    marks = [value for value in rest if _is_placeholder(value)]
    limits = [value for value in rest if _is_limit(value, sign)]
    return AmongNumbers(
        column, counts, tally, sign, numbers, marks, limits, [one for one in rest if one not in {*marks, *limits}]
    )


def among_dates(column: pd.Series, counts: pd.Series, tally: Tally | None) -> AmongNumbers | None:
    """Sort the different values of a column into dates and others, if nearly all are dates."""
    values = list(counts.index)
    order, good = mostly_dates(values)
    dates, rest = (
        [one for one, is_date in zip(values, good, strict=True) if is_date == kind] for kind in (True, False)
    )
    marks = [value for value in rest if _is_placeholder(value)]
    odd = [value for value in rest if value not in marks]
    found = AmongNumbers(column, counts, tally, order, dates, marks, [], odd)
    return found if len(dates) > len(rest) and found.share >= _NUMBER_SHARE else None


def _is_limit(value: object, sign: str) -> bool:
    return isinstance(value, str) and as_limit(value) is not None and reads(written_number, value, LIMITS + sign)


def _is_placeholder(value: object) -> bool:
    return isinstance(value, str) and value.strip().casefold() in _PLACEHOLDERS


def offer_missing(name: str, wanted: str, told: str, marks: list[str]) -> TableError:
    """Make the error that offers to take texts among numbers or dates as missing."""
    takes = "takes it" if len(marks) == 1 else "take them"
    return TableError(
        Message(
            f"column {name!r} holds {wanted}, but {told}. ",
            Argument("na_values", list(marks)),
            f" {takes} as missing when the table is read; ",
            Argument("roles", {name: "categorical"}),
            " takes every value as a category, 'drop' leaves the column out.",
        )
    )


def sign_and_reads(values: list[Any], counts: IntArray, *, mixed: bool = False) -> tuple[str, BoolArray]:
    """Return how numbers are written, and which of the different values can be read so; plainly if that reads more."""
    plain = np.array([_reads_as_number(value) for value in values])
    if plain.all():
        return "", plain
    ways = [way for way in (number_sign(values, counts), *TIMES) if way]
    if mixed and shows_decimal_comma(values):  # other texts kept the file's reader from reading them
        ways.append("|,")
    written = {way: np.array([_reads_as_written(value, way) for value in values]) for way in ways}
    best = max(ways, key=lambda way: counts[written[way]].sum())
    return (best, written[best]) if counts[written[best]].sum() >= max(1, counts[plain].sum()) else ("", plain)


def _reads_as_written(value: object, way: str) -> bool:
    if way in TIMES:
        return isinstance(value, (str, datetime.time)) and reads(as_number, str(value), way)
    if not isinstance(value, str):
        return way != "%" or value == 0  # 0.613 beside 61.3% may be a share
    lenient = way != "%" and not way.endswith("|,")
    return reads(as_number, value, way) or (lenient and _reads_as_number(value))


def numbers_note(values: list[Any], sign: str) -> str:
    """Say how the numbers of a column of texts are written."""
    if not sign:
        return "text that reads as numbers"
    own = sign.partition("|")[0]
    texts = [value if isinstance(value, str) else str(value) for value in values]
    signed = (text for text in texts if sign in TIMES or number_sign([text], [1]).partition("|")[0] == own)
    example = next(signed, texts[0])
    told = f"{describe_writing(sign)} such as {example!r}"
    more = {"%": ", as the number before the sign", "clock": ", as hours"}
    return told + (", as a negative number" if own == "(" else more.get(own, ""))


def _reads_as_number(value: object) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, datetime.time)  # a number beside texts
    return not _is_code(value) and reads(plain_number, value)


def _is_code(value: object) -> bool:
    """Return whether a text is a code such as 01234, of which a number would lose the zero."""
    digits = value.strip().lstrip("+-") if isinstance(value, str) else ""
    return len(digits) > 1 and digits[0] == "0" and digits.isdigit()
