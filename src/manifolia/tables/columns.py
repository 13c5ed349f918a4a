"""One column → numbers, by its role; every value is treated on its own, so that a row never depends on its batch.

============  ==============================================================================================
numbers       as they are; booleans as 0 and 1; lengths of time; texts that read as numbers, also as
              `manifolia.tables.number_formats` lists them
booleans      0 and 1; the texts true / false, yes / no, t / f, y / n in any case
moments       dates and times as UTC without zone, to the microsecond; texts in ISO form (2024-05-31), or in another
              order that the column shows
keys          categories as texts: 3, 3.0 and "3" are the same category
============  ==============================================================================================
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import functools
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message
from manifolia._core.types import Array, BoolArray, FloatArray, IntArray
from manifolia._core.warnings import warn
from manifolia.exceptions import ParameterTypeError, TableError
from manifolia.tables.decimals import is_comma_number, reads_as_comma_numbers
from manifolia.tables.naming import complex_numbers, place_of_row
from manifolia.tables.number_formats import (
    LIMITS,
    SPANS,
    TIMES,
    as_date,
    as_limit,
    as_number,
    describe_writing,
    is_no_day,
    plainly,
    read_amount,
    reads,
)

#: What pandas infers from objects → what a column holds.
_KINDS = {
    **dict.fromkeys(("string", "time"), "text"),  # a time of day as it is written
    **dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number"),
    **dict.fromkeys(("datetime", "datetime64", "date", "period"), "date"),
    **dict.fromkeys(("timedelta", "timedelta64"), "duration"),
    "empty": "missing",
    "boolean": "boolean",
    "interval": "category",
}
_BOOLEANS = dict.fromkeys(("true", "yes", "t", "y", "1"), 1.0) | dict.fromkeys(("false", "no", "f", "n", "0"), 0.0)
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)?)\s?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?"
    r"(?:\[[\w/+-]+\])?"  # the name of a zone, behind its offset, as Java writes it
)
_DAY = 86_400_000_000  # microseconds
_LONGEST_CELL = 60  # characters that a message shows


def kind_of(column: pd.Series, name: str) -> str:
    """Find out what a column holds, by its type or, if that says nothing, by its values."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered" if dtype.ordered else "category"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_complex_dtype(dtype):
        raise complex_numbers(name)
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if isinstance(dtype, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(dtype):
        return "date"
    if pd.api.types.is_timedelta64_dtype(dtype):
        return "duration"
    if isinstance(dtype, pd.IntervalDtype):
        return "category"
    if isinstance(dtype, pd.StringDtype):
        return "text" if column.notna().any() else "missing"
    values = _objects(column)
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred in _KINDS:
        return _KINDS[inferred]
    if inferred == "complex":
        raise complex_numbers(name)
    present = np.flatnonzero(~pd.isna(values))
    strange = [i for i in present if not isinstance(values[i], (str, numbers.Real, decimal.Decimal, np.bool_))]
    if strange:
        value = values[strange[0]]
        told = str(value)
        raise ParameterTypeError(
            Message(
                f"column {name!r} holds a {type(value).__name__} in {place_of_row(int(strange[0]))}: "
                f"{told if len(told) <= _LONGEST_CELL else told[: _LONGEST_CELL - 1] + '…'}. The argument must be a "
                "string or a number in every cell of a table. Turn the column into one or several plain ones, or leave "
                "it out with ",
                Argument("roles", {name: "drop"}),
                ".",
            )
        )
    texts = any(isinstance(values[i], str) for i in present)
    return "text" if texts else "number"


def _objects(column: pd.Series) -> Array:
    return column.astype(object).to_numpy()


def refuse(
    name: str, value: object, row: int | str, wanted: str, hint: str, others: Sequence[tuple[int, object]] = ()
) -> TableError:
    """Make the error for a value that a column cannot hold; `others` are further ones, in their rows."""
    told = [f"{row if isinstance(row, str) else place_of_row(row)} has {value!r}"]
    told += [f"row {place:,} {one!r}" for place, one in others[: _TOLD_WRONG - 1]]
    told += ["so on"] if len(others) >= _TOLD_WRONG else []
    several = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]
    return TableError(Message(f"column {name!r} should hold {wanted}, and {several}. ", hint))


def read_each(places: Iterable[int], read: Callable[[int], FloatArray]) -> Iterator[tuple[int, FloatArray]]:
    """Read columns, and raise what is wrong with any of them as one error at the end; a shared remedy is given once."""
    errors: list[TableError] = []
    for place in places:
        try:
            yield place, read(place)
        except TableError as error:
            errors.append(error)
    messages = [error.args[0] for error in errors]
    if len(messages) > 1 and all(isinstance(message, Message) for message in messages):
        told = "; ".join(str(message.parts[0]).rstrip(". ") for message in messages)
        hints = dict.fromkeys(message.parts[1:] for message in messages)
        raise TableError(Message(f"{told}.", *(part for hint in hints for part in (" ", *hint)))) from errors[0]
    if errors:
        raise errors[0]


def to_new_numbers(column: pd.Series, name: str, writing: str) -> FloatArray:
    """Return the numbers of new rows, and warn if they have a currency sign that those of ``fit`` did not have."""
    signs: set[str] = set()
    numbers = to_numbers(column, name, writing, signs)
    for sign in signs:
        warn(f"{name!r} held plain numbers at fit and holds amounts in {sign}: each is taken as its number.")
    return numbers


def to_numbers(column: pd.Series, name: str, writing: str = "", signs: set[str] | None = None) -> FloatArray:
    """Return a column's numbers; missing values are NaN. `signs` gets the currencies of amounts among plain numbers."""
    kind = kind_of(column, name)
    if kind == "missing":
        return np.full(len(column), np.nan)
    if kind == "duration":
        delta = pd.to_timedelta(column).to_numpy(dtype="timedelta64[ns]")
        return np.where(np.isnat(delta), np.nan, delta.astype(np.int64) / (1000.0 * _DAY / SPANS.get(writing, 1)))
    if kind == "date":
        row = int(np.argmax(column.notna().to_numpy()))
        raise refuse(name, str(column.iloc[row]), row, "numbers", "Pass numbers, or prepare the column as a date.")
    if kind in ("number", "boolean") and column.dtype != object:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if writing:
        read = functools.partial(written_number, sign=writing)
    else:
        read = functools.partial(_number_or_amount, signs=set() if signs is None else signs)

    def hint(cell: object) -> str:
        if reads_as_comma_numbers(column.dropna().astype(str)):
            return _DECIMAL_HINT
        meant = None if writing or not isinstance(cell, str) else plainly(cell)
        return _CELL_HINT if meant is None else Message(f"If {meant:g} is meant, write that. ", _CELL_HINT)

    return _by_value(column, name, read, describe_writing(writing), hint, rather=lambda cell: not _has_comma(cell))


def plain_number(value: Any) -> float:
    """Read a number, or a text that is one without any sign around it."""
    if isinstance(value, str):
        text = value.strip()
        # Python's own reading would take 1_000 and digits of other scripts.
        if not text.isascii() or "_" in text:
            raise ValueError
        number = float(text)
        if number != number:  # the text "nan" is not a number, and was not declared to mean "missing"
            raise ValueError
        return number
    if isinstance(value, (numbers.Real, decimal.Decimal, fractions.Fraction, np.bool_)):
        return float(value)
    raise ValueError


def _number_or_amount(value: Any, signs: set[str]) -> float:
    """Read a number, or an amount that is unambiguous whatever the decimal sign; all must be in one currency."""
    try:
        return plain_number(value)
    except ValueError:
        amount = read_amount(value) if isinstance(value, str) else None
        if amount is None or (signs and {amount.sign} - signs - {","}):
            raise
        signs.update({amount.sign} - {","})
        return amount.value


def _has_comma(cell: object) -> bool:
    """Return whether a cell is like 6,0: if another is no number at all, that one keeps the column from being read."""
    return isinstance(cell, str) and is_comma_number(cell)


def written_number(value: Any, sign: str) -> float:
    """Read a value of a column whose numbers are written in some way."""
    if sign.startswith(LIMITS):
        sign, limit = sign.removeprefix(LIMITS), as_limit(value) if isinstance(value, str) else None
        if limit is not None:
            below, bound = limit[0], written_number(limit[1], sign)
            return bound / 2 if below and bound > 0 else bound
    if sign and isinstance(value, (str, datetime.time)):
        try:
            return as_number(str(value), sign)
        except ValueError:
            if sign == "%" or sign in TIMES or sign in SPANS or sign.endswith("|,"):
                raise
    number = plain_number(value)
    if sign == "%" and number:
        raise ValueError  # 0.613 beside 61.3% may be a share
    return number


_TOLD_WRONG = 3  # cells of a column
_DECIMAL_HINT = Message("Is the comma the decimal sign? Pass ", Argument("decimal", ","), " when the file is read.")
_CELL_HINT = Message(
    "Correct the cell, or leave it empty (in a file, ", Argument("na_values"), " names texts that mean “missing”)."
)


def to_booleans(column: pd.Series, name: str) -> FloatArray:
    """Return a column's booleans as 0 and 1; missing values are NaN."""
    if kind_of(column, name) == "boolean" and column.dtype != object:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return _by_value(column, name, _boolean, "true or false", lambda _: "Write true or false, yes or no, 1 or 0.")


def _boolean(value: Any) -> float:
    if isinstance(value, (numbers.Real, np.bool_)) and value in (0, 1):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    raise ValueError


def is_iso_date(text: object) -> bool:
    """Return whether a text is a date in ISO form: the only one that reads the same everywhere."""
    return isinstance(text, str) and reads(_moment, text)


def has_zone(column: pd.Series) -> bool:
    """Return whether some dates of a column have a time zone; the others are taken as UTC."""
    if column.dtype != object and not isinstance(column.dtype, pd.StringDtype):
        return isinstance(column.dtype, pd.DatetimeTZDtype)
    for value in column.dropna().unique():
        parts = _ISO.fullmatch(value.strip()) if isinstance(value, str) else None
        if getattr(value, "tzinfo", None) is not None or (parts is not None and parts[2]):
            return True
    return False


def to_moments(column: pd.Series, name: str, writing: str = "") -> Array:
    """Return a column's dates and times; those with a zone as UTC."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if column.dtype.kind == "M" and not isinstance(column.dtype, pd.ArrowDtype):
        zoned = isinstance(column.dtype, pd.DatetimeTZDtype)
        plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column
        return plain.to_numpy().astype("datetime64[us]")

    def hint(cell: object) -> str:
        none = "There is no such day. " if isinstance(cell, str) and is_no_day(cell, writing) else ""
        return f"{none}Write dates as 2024-05-31, or turn the column into dates before."

    read = functools.partial(_written_moment, order=writing) if writing else _moment
    wanted = describe_writing(writing) if writing else "dates"
    return _by_value(column, name, read, wanted, hint, dtype="datetime64[us]")


def _written_moment(value: Any, order: str) -> np.datetime64:
    if isinstance(value, str) and not _ISO.fullmatch(value.strip()):
        return np.datetime64(as_date(value, order), "us")
    return _moment(value)


def _moment(value: Any) -> np.datetime64:
    if isinstance(value, str):
        parts = _ISO.fullmatch(value.strip())
        if parts is None:
            raise ValueError
        zone = "Z" if parts[2] in ("UTC", "GMT") else parts[2] or ""
        value = datetime.datetime.fromisoformat(parts[1] + zone)
    if isinstance(value, pd.Period):
        value = value.to_timestamp()
    if isinstance(value, pd.Timestamp):
        value = value.tz_convert("UTC").tz_localize(None) if value.tzinfo else value
        return value.to_datetime64().astype("datetime64[us]")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return np.datetime64(value, "us")
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]")
    raise ValueError


def to_days(column: pd.Series, name: str, origin: str, writing: str = "") -> FloatArray:
    """Return the days from an origin; missing dates are NaN."""
    moments = to_moments(column, name, writing)
    since = (moments - np.datetime64(origin, "us")).astype(np.int64)
    return np.where(np.isnat(moments), np.nan, since / _DAY)


def _by_value(
    column: pd.Series,
    name: str,
    convert: Callable[[Any], Any],
    wanted: str,
    hint: Callable[[object], str],
    dtype: str = "float64",
    rather: Callable[[object], bool] = lambda _: True,
) -> Array:
    """Convert each distinct value once; refuse those that cannot be, the first that is `rather` wrong first."""
    values = _objects(column)
    missing: BoolArray = np.asarray(pd.isna(values), dtype=bool)
    converted = np.full(len(values), "NaT" if dtype.startswith("datetime") else np.nan, dtype=dtype)
    known: dict[tuple[type, Any], Any] = {}  # with the type: True == 1 == 1.0
    wrong: list[tuple[int, Exception]] = []
    for row in np.flatnonzero(~missing):
        value = values[row]
        key = (type(value), value)
        if key not in known:
            try:
                known[key] = convert(value)
            except (ValueError, TypeError, OverflowError) as error:
                wrong.append((int(row), error))
                if sum(rather(values[place]) for place, _ in wrong) > _TOLD_WRONG:
                    break
                continue
        converted[row] = known[key]
    if wrong:
        wrong.sort(key=lambda one: not rather(values[one[0]]))
        (place, cause), *more = wrong
        others = [(other, values[other]) for other, _ in more if rather(values[other]) == rather(values[place])]
        raise refuse(name, values[place], place, wanted, hint(values[place]), others) from cause
    return converted


def key_of(value: Any) -> str:
    """Write a category as a text, the same for 3, 3.0 and "3", so that a file's format does not matter."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def to_keys(column: pd.Series, name: str) -> tuple[IntArray, list[str]]:
    """Return a column's categories as texts, and which of them each row has."""
    kind_of(column, name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy().astype(np.intp)
        values = list(column.cat.categories)
    else:
        codes, uniques = pd.factorize(_objects(column))
        values = list(uniques)
    keys: dict[str, int] = {}
    places = np.array([keys.setdefault(key_of(value), len(keys)) for value in values] + [-1], dtype=np.intp)
    return places[codes], list(keys)  # code −1 takes the last place


def to_places(codes: IntArray, keys: list[str], levels: Sequence[str], pooled: Sequence[str] = ()) -> FloatArray:
    """Return each row's place among the levels: after the last for a pooled one, −1 for an unknown one."""
    place = {level: float(i) for i, level in enumerate(levels)} | dict.fromkeys(pooled, float(len(levels)))
    return np.array([place.get(key, -1.0) for key in keys] + [np.nan])[codes]


def to_texts(column: pd.Series) -> tuple[list[str], BoolArray]:
    """Return a column's cells as texts, without the missing ones, and which rows have one."""
    present = column.notna().to_numpy()
    return [key_of(value) for value in _objects(column)[present]], present


def as_keys(values: Array) -> Array:
    """Labels as texts, the same for 1, 1.0 and "1"; a missing one is empty."""
    return np.array(["" if pd.isna(value) else key_of(value) for value in values.tolist()], dtype=object).astype(str)
