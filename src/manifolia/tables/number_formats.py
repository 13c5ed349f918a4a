"""Numbers, times and dates as people write them in tables: 61.3%, $1,200.50, 73.1 kg, (12), 09:11, Jan 02, 2020.

How a column is written is found once, from all of its values at ``fit``, and stored as a short text that is saved with
the model, so that ``transform`` reads a value the same way in any batch:

============  =================================================================================================
``%``         percentages, read as the number before the sign; beside them only 0 may stand without the sign
``$ € £``     amounts of one currency, with or without the sign; commas, blanks or ' may separate thousands
``kg``        amounts in one unit: what stands behind all numbers that have something behind them
``,``         numbers in which commas, blanks or ' separate thousands
``(``         numbers of which those in parentheses are negative, as accountants write them
``clock``     09:11, 9:11 PM, 12:05:30: hours, minutes and seconds, as hours
``duration``  1h 30m, 3 days 04:05:06, PT1H30M: as days; also ``hours``, ``minutes`` and ``seconds``, the largest
              that the longest has at least two of
``dmy``       dates with the day first, because a first number beyond 12 shows it
``mdy``       dates with the month first, because a second number beyond 12 shows it
``ymd``       dates with the year first
``month``     dates with the name of the month, in English
============  =================================================================================================

A ``<`` before it, if the user gives the role ``limits``: besides numbers there are limits of detection, such as <1 and
>200. A value below a limit is read as half of it (if the limit is above 0), and one beyond a limit as the limit.

The first five may end in ``|,``: the comma is the decimal sign and points separate thousands, because a value such as
12,50 € or 1.234,56 shows it. Ambiguous values are not read: 1.200 € may be 1,200 euros, and 03/04/2024 is in March or
in April. Years of two digits are those from 1969 to 2068.
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_CURRENCIES = "$€£"
#: Currencies in letters: what is said of the signs holds of these, too.
_MONEY = frozenset((*_CURRENCIES, "EUR", "Euro", "USD", "GBP", "CHF", "Fr", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF"))
_PLURALS = {"Tage": "Tag", "Wochen": "Woche", "Monate": "Monat", "Jahre": "Jahr", "Stunden": "Stunde",
            "Minuten": "Minute", "Sekunden": "Sekunde"}  # fmt: skip
#: An ordinary blank, and the blanks that typesetters put between thousands.
_BLANKS = " \u00a0\u2009\u202f"
_UNIT = r"(?![eE]\d)[A-Za-zµμ°Ω²³][A-Za-zµμ°Ω²³0-9/·^*.]{0,11}"
_COMMA = "|,"
#: Ways of writing that are times, not numbers with something around them.
TIMES = ("clock", "duration")
#: Before a way of writing: there may be limits among the numbers.
LIMITS = "<"
_LIMIT = re.compile(r"([<>≤≥])=?\s*(\S.*)")
#: Units in which lengths of time are read, and how many of each a day has.
SPANS = {"duration": 1, "hours": 24, "minutes": 1440, "seconds": 86400}
_NANO = 9  # decimals of a second that count: the order of additions must not show
DATE_ORDERS = ("dmy", "mdy", "ymd", "month")


@functools.cache
def _written(decimal: str) -> re.Pattern[str]:
    """A number with what may surround it, by the decimal sign."""
    thousands = "," if decimal == "." else "."
    groups = "|".join(rf"(?:[{re.escape(sign)}]\d{{3}})+" for sign in (thousands, _BLANKS, "'’"))
    return re.compile(
        rf"(?P<open>\(?)(?P<minus>[+\-\u2212]?)(?P<before>[{_CURRENCIES}]?)[{_BLANKS}]?(?P<minus_too>[\-\u2212]?)"
        rf"(?P<whole>[1-9]\d{{0,2}}(?:{groups})|0|[1-9]\d*|(?=\{decimal}\d))(?P<decimals>\{decimal}\d*)?"
        rf"[{_BLANKS}]?(?P<after>%|[{_CURRENCIES}]|(?<=[\d{_BLANKS}]){_UNIT}(?: {_UNIT}){{0,2}}|)(?P<close>\)?)",
        re.ASCII,
    )


#: A single sign before three last digits: decimals or thousands.
_ONE_SIGN = re.compile(r"[^\d]*\d{1,3}[.,]\d{3}[^\d]*")
_GROUPS = re.compile(rf"[.,'’{_BLANKS}]")
_CLOCK = r"(?P<hour>\d{1,3}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:\.\d+)?))?(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
_ZONE = r"\s?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_DATE = re.compile(
    rf"(?:(?P<first>\d{{1,4}})(?P<sign>[/.\-])(?P<second_part>\d{{1,2}})(?:(?P=sign)(?P<third>\d{{4}}|\d{{1,2}}))?)"
    rf"(?:,?[T ]{_CLOCK}(?:{_ZONE})?)?",
    re.ASCII,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{}>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?"
_NAMED = re.compile(
    rf"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,?\s+)?"
    rf"(?:{_DAY.format('d1')}[\s\-/]+{_MONTH.format('m1')}|{_MONTH.format('m2')}\s+{_DAY.format('d2')}|"
    rf"{_MONTH.format('m3')}),?[\s\-/]+(?P<year>\d{{4}}|\d{{2}})(?:,?\s+(?:at\s+)?{_CLOCK}(?:{_ZONE})?)?",
    re.ASCII | re.IGNORECASE,
)
_SPAN = re.compile(
    rf"(?P<sign>-?)(?P<day>\d+) days?,? \+?{_CLOCK}|P(?:(?P<iso_day>\d+)D)?(?:T(?=\d)(?:(?P<iso_hour>\d+)H)?"
    r"(?:(?P<iso_minute>\d+)M)?(?:(?P<iso_second>\d+(?:\.\d+)?)S)?)?(?<=[DHMS])",
    re.ASCII,
)
_SPAN_WORD = re.compile(
    r"(\d+(?:\.\d+)?)\s?(w|d|h|m|s)(?:eek|ay|our|rs?|in|inute|ec|econd)?s?\.?,?(?:\s+|(?=\d)|$)", re.I
)
_HOURS = {"w": 168.0, "d": 24.0, "h": 1.0, "m": 1 / 60, "s": 1 / 3600}


class WrittenNumber(NamedTuple):
    """A number with the signs around it."""

    value: float  # The number
    sign: str  # "%", a currency, a unit, "(" or "," for parentheses or separated thousands alone, or nothing
    shows_comma: bool = False  # Whether it has a decimal comma


def read_number(text: str, decimal: str = ".") -> WrittenNumber | None:
    """Read a number with a sign of percent or currency, a unit, parentheses, or separated thousands."""
    parts = _written(decimal).fullmatch(text.strip())
    if parts is None:
        return None
    whole, decimals = parts["whole"], (parts["decimals"] or "").replace(",", ".")
    before, after = parts["before"], parts["after"]
    grouped = _GROUPS.search(whole) is not None
    negative = [bool(parts["minus"] in ("-", "\u2212")), bool(parts["minus_too"]), bool(parts["open"])]
    if (before and after) or bool(parts["open"]) != bool(parts["close"]) or sum(negative) > 1:
        return None
    # 1,234% may have a decimal comma, and 1.200 € a separator of thousands.
    doubtful = (before or after) in _MONEY and len(decimals) == 4 and not grouped
    if (after == "%" and grouped) or doubtful:
        return None
    value = float(_GROUPS.sub("", whole) + decimals)
    weak = "(" if parts["open"] else "," * grouped
    unit = before or _singular(after)
    return WrittenNumber(-value if any(negative) else value, unit or weak, decimal == "," and bool(decimals))


def read_amount(text: str) -> WrittenNumber | None:
    """Read an amount in a currency, or with thousands and decimals, if it is unambiguous: 1.978,00 €, not 1,978 €."""
    if _ONE_SIGN.fullmatch(text):
        return None
    found = [number for decimal in ".," if (number := read_number(text, decimal)) is not None]
    if not found or len({number.value for number in found}) > 1:
        return None
    sign = found[0].sign
    return found[0] if sign in tuple(_CURRENCIES) or (sign == "," and {*",."} <= {*text}) else None


def _singular(unit: str) -> str:
    """Take "days" and "day" for the same unit."""
    if unit in _PLURALS:
        return _PLURALS[unit]
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") and not unit.endswith("ss") else unit


def number_sign(values: Iterable[object], counts: Iterable[int]) -> str:
    """Find how a column's numbers are written, by the sign that most rows have."""
    values, counts = list(values), list(counts)
    styles = {"": _rows_of(values, counts, "."), _COMMA: _rows_of(values, counts, ",")}
    shown = any(
        number.shows_comma for value in values if isinstance(value, str) and (number := read_number(value, ","))
    )
    if not shown:  # 372 € beside 10.358 €: amounts of which only those from a thousand on have a point
        texts = [value.strip() for value in values if isinstance(value, str)]
        money = [number for text in texts if (number := read_number(text, ",")) is not None and number.sign in _MONEY]
        whole = [number.value for text in texts if "." not in text and (number := read_number(text)) is not None]
        shown = bool(money) and bool(whole) and max(map(abs, whole)) < 1000
    style = _COMMA if shown and sum(styles[_COMMA].values()) > sum(styles[""].values()) else ""
    rows_of = styles[style]
    half = sum(rows_of.values()) / 2
    weak = [sign for sign in ("(", ",") if rows_of.pop(sign, 0)]
    # A unit that few numbers have is not a unit: 1, 2, 3, 3a are codes.
    rows_of = {sign: n for sign, n in rows_of.items() if sign and (sign in f"%{_CURRENCIES}" or n >= half)}
    sign = max(sorted(rows_of), key=lambda sign: rows_of[sign]) if rows_of else "".join(weak[:1])
    return f"{sign}{style}" if sign else ""


def _rows_of(values: list[object], counts: list[int], decimal: str) -> dict[str, int]:
    rows_of: dict[str, int] = {}
    for value, count in zip(values, counts, strict=True):
        number = read_number(value, decimal) if isinstance(value, str) else None
        if number is not None:
            rows_of[number.sign] = rows_of.get(number.sign, 0) + int(count)
    return rows_of


def as_number(text: str, writing: str) -> float:
    """Read a text of a column whose numbers are written in some way."""
    if writing == "clock":
        return _clock_hours(text)
    if writing in SPANS:
        return round(_span_days(text) * SPANS["seconds"], _NANO) / (SPANS["seconds"] / SPANS[writing])
    sign, comma, _ = writing.partition(_COMMA)
    sign, number = _singular(sign), read_number(text, "," if comma else ".")
    if number is None or number.sign not in (("%", "") if sign == "%" else (sign, ",", "(", "")):
        raise ValueError
    if sign == "%" and not number.sign and number.value:
        raise ValueError  # 0.613 beside 61.3% may be a share
    return number.value


def as_limit(text: str) -> tuple[bool, str] | None:
    """Take <1 or >200 apart: whether the value is below, and the limit; None if it is neither."""
    parts = _LIMIT.fullmatch(text.strip())
    return None if parts is None else (parts[1] in "<≤", parts[2])


def _clock_hours(text: str) -> float:
    parts = re.fullmatch(_CLOCK, text.strip(), re.ASCII)
    if parts is None:
        raise ValueError
    return _hours(parts)


def _hours(parts: re.Match[str]) -> float:
    """Return the hours of a matched time of day; of a matched length of time too, which may have more than 24."""
    hour = int(parts["hour"])
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (parts["half"] in "pP")
    return hour + int(parts["minute"]) / 60 + float(parts["second"] or 0) / 3600


def _span_days(text: str) -> float:
    """Read a length of time, in days."""
    text = text.strip()
    parts = _SPAN.fullmatch(text)
    if parts is not None and parts["day"] is not None:
        return int(parts["sign"] + parts["day"]) + _hours(parts) / 24
    if parts is not None:
        hours = int(parts["iso_hour"] or 0) + int(parts["iso_minute"] or 0) / 60
        return int(parts["iso_day"] or 0) + (hours + float(parts["iso_second"] or 0) / 3600) / 24
    place, total = 0, 0.0
    while place < len(text):
        word = _SPAN_WORD.match(text, place)
        if word is None:
            raise ValueError
        total += float(word[1]) * _HOURS[word[2].lower()] / 24
        place = word.end()
    if not text:
        raise ValueError
    return total


def as_date(text: str, order: str) -> datetime.datetime:
    """Read a date whose parts come in a known order; with a zone, as UTC."""
    parts = (_NAMED if order == "month" else _DATE).fullmatch(text.strip())
    if parts is None:
        raise ValueError
    if order == "month":
        month = str(_MONTHS.index(next(filter(None, parts.group("m1", "m2", "m3")))[:3].lower()) + 1)
        day, year = parts["d1"] or parts["d2"] or "1", parts["year"]
    else:
        places = {"dmy": (0, 1, 2), "mdy": (1, 0, 2), "ymd": (2, 1, 0)}[order]
        given = parts.group("first", "second_part", "third")
        day, month, year = (given[place] for place in places)
        if order == "ymd" and (day or "").isdigit() and len(day) > 2:
            raise ValueError
        if order != "ymd" and len(day) > 2:
            raise ValueError
        day = (day or "1") if order == "ymd" and len(year) == 4 else day
        if day is None or year is None:
            raise ValueError
        if order == "ymd" and len(year) < 4 and (len(year) != 2 or parts["sign"] != "-"):
            raise ValueError  # 24-05-31 may begin with the year; 24/05/31 is not written that way
    if len(year) not in (2, 4):
        raise ValueError
    full = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 69 else 1900)
    moment = datetime.datetime(full, int(month), int(day))
    if parts["hour"] is not None:
        hours = _hours(parts)
        if hours >= 24:
            raise ValueError
        moment += datetime.timedelta(seconds=round(hours * 3600, 6))
    return moment - _offset(parts["zone"])


def _offset(zone: str | None) -> datetime.timedelta:
    if zone is None or zone[0] not in "+-":
        return datetime.timedelta(0)
    offset = datetime.timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -offset if zone[0] == "-" else offset


def plainly(text: str) -> float | None:
    """Read a number with any sign around it, if it has one reading: 8,5 % and 11,5, not 1,234."""
    found = {number.value for decimal in ".," if (number := read_number(text, decimal)) is not None}
    return None if len(found) != 1 or _ONE_SIGN.fullmatch(text) else found.pop()


def is_no_day(text: str, order: str) -> bool:
    """Tell whether a text is written as a date of a day that no month has, such as 29.02.25."""
    return not reads(as_date, text, order or "ymd") and reads(
        as_date, re.sub(r"\b(29|3[01])\b", "28", text), order or "ymd"
    )


def mostly_dates(values: Sequence[object]) -> tuple[str, list[bool]]:
    """Find the order in which most of a column's values are dates, and which are."""
    good = {order: [isinstance(one, str) and reads(as_date, one, order) for one in values] for order in DATE_ORDERS}
    best = max(DATE_ORDERS, key=lambda order: sum(good[order]))
    return best, good[best]


def date_order(values: Sequence[object]) -> str:
    """Find in which order the parts of dates come: "unclear" if several are possible, nothing if these are no dates."""
    texts = [value.strip() for value in values if isinstance(value, str)]
    if not texts or len(texts) < len(values):
        return ""
    possible = [order for order in DATE_ORDERS if all(reads(as_date, text, order) for text in texts)]
    return "unclear" if len(possible) > 1 else "".join(possible)


def reads(read: Callable[..., object], *given: object) -> bool:
    """Return whether a function can read a value; it raises if it cannot."""
    try:
        read(*given)
    except (ValueError, OverflowError):
        return False
    return True


def unit_of(writing: str) -> str:
    """Name the unit of a column's numbers; nothing if they have none, or if it is a percent sign."""
    sign = {"duration": "days", "clock": "hours"}.get(writing, writing.lstrip("<").partition(_COMMA)[0])
    return "" if sign in ("", "%", "(", ",", *DATE_ORDERS) else sign


def describe_writing(writing: str) -> str:
    """Say how a column is written, for messages."""
    known = {
        "": "numbers",
        "%": "percentages",
        ",": "numbers with separated thousands",
        "(": "numbers",
        "clock": "times",
        **dict.fromkeys(SPANS, "lengths of time"),
        "dmy": "dates with the day first",
        "mdy": "dates with the month first",
        "ymd": "dates with the year first",
        "month": "dates with the month's name",
    }
    if writing.startswith(LIMITS):
        return f"{describe_writing(writing.removeprefix(LIMITS))} and limits"
    sign, comma, _ = writing.partition(_COMMA)
    return known.get(sign, f"amounts in {sign}") + (" with a decimal comma" if comma else "")
