"""Numbers and dates as people write them in tables: 61.3%, $1,200.50, 1 250 000, 05/31/2024.

How a column is written is found once, from all of its values at ``fit``, and is one short text that is saved with the
model, so that ``transform`` reads a value the same way in any batch:

===========  ==================================================================================================
``%``        percentages, read as the number before the sign; beside them only 0 may stand without the sign
``$ € £``    amounts of one currency, with or without the sign; commas or blanks may separate thousands
``,``        numbers in which commas or blanks separate thousands
``dmy``      dates with the day first, because a first number beyond 12 shows it
``mdy``      dates with the month first, because a second number beyond 12 shows it
===========  ==================================================================================================

What can be read in two ways is not read: 1.200 € may be 1,200 euros, and 03/04/2024 is in March or in April.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_CURRENCIES = "$€£"
#: An ordinary blank, and those that typesetters put between thousands.
_BLANKS = " \u00a0\u2009\u202f"
_WRITTEN = re.compile(
    rf"(?P<minus>[+\-\u2212]?)(?P<before>[{_CURRENCIES}]?)[{_BLANKS}]?"
    rf"(?P<whole>[1-9]\d{{0,2}}(?:(?:,\d{{3}})+|(?:[{_BLANKS}]\d{{3}})+)|0|[1-9]\d*|(?=\.\d))(?P<decimals>\.\d*)?"
    rf"[{_BLANKS}]?(?P<after>[%{_CURRENCIES}]?)",
    re.ASCII,
)
_GROUPS = re.compile(rf"[,{_BLANKS}]")
_DATE = re.compile(r"(\d{1,2})([/.\-])(\d{1,2})\2(\d{4})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?)?", re.ASCII)


class WrittenNumber(NamedTuple):
    """A number with the signs around it."""

    value: float  # The number
    sign: str  # "%", a currency, "," for separated thousands alone, or nothing


def read_number(text: str) -> WrittenNumber | None:
    """Read a number with a sign of percent or currency, or separated thousands."""
    parts = _WRITTEN.fullmatch(text.strip())
    if parts is None:
        return None
    whole, decimals = parts["whole"], parts["decimals"] or ""
    before, after = parts["before"], parts["after"]
    grouped = _GROUPS.search(whole) is not None
    if before and after:
        return None
    # 1,234% may have a decimal comma, and 1.200 € a separator of thousands.
    if (after == "%" and grouped) or ((before or after) not in ("", "%") and len(decimals) == 4 and not grouped):
        return None
    value = float(_GROUPS.sub("", whole) + decimals)
    return WrittenNumber(-value if parts["minus"] in ("-", "\u2212") else value, before or after or "," * grouped)


def number_sign(values: Iterable[object], counts: Iterable[int]) -> str:
    """Find how a column's numbers are written."""
    rows_of: dict[str, int] = {}
    for value, count in zip(values, counts, strict=True):
        number = read_number(value) if isinstance(value, str) else None
        if number is not None and number.sign:
            rows_of[number.sign] = rows_of.get(number.sign, 0) + int(count)
    grouped = rows_of.pop(",", 0)
    if rows_of:
        return max(sorted(rows_of), key=lambda sign: rows_of[sign])
    return "," * bool(grouped)


def as_number(text: str, sign: str) -> float:
    """Read a text of a column whose numbers are written with a sign."""
    number = read_number(text)
    if number is None or number.sign not in (("%", "") if sign == "%" else (sign, ",", "")):
        raise ValueError
    if sign == "%" and not number.sign and number.value:
        raise ValueError  # 0.613 beside 61.3% may be a share
    return number.value


def as_date(text: str, order: str) -> datetime.datetime:
    """Read a date whose day or month comes first."""
    parts = _DATE.fullmatch(text.strip())
    if parts is None:
        raise ValueError
    day, month = (1, 3) if order == "dmy" else (3, 1)
    hour, minute, second = (int(parts[place] or 0) for place in (5, 6, 7))
    return datetime.datetime(int(parts[4]), int(parts[month]), int(parts[day]), hour, minute, second)


def date_order(values: Sequence[object]) -> str:
    """Find whether day or month comes first in dates."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if not texts or len(texts) < len(values):
        return ""
    possible = [order for order in ("dmy", "mdy") if all(reads(as_date, text, order) for text in texts)]
    return "unclear" if len(possible) == 2 else "".join(possible)


def reads(read: Callable[..., object], *given: object) -> bool:
    """Tell whether a function can read a value, which raises where it cannot."""
    try:
        read(*given)
    except (ValueError, OverflowError):
        return False
    return True


def describe_writing(writing: str) -> str:
    """Say how a column is written, for messages."""
    known = {
        "": "numbers",
        "%": "percentages",
        ",": "numbers with separated thousands",
        "dmy": "dates with the day first",
        "mdy": "dates with the month first",
    }
    return known.get(writing, f"amounts in {writing}")
