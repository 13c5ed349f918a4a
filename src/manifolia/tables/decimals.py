"""Decimal commas and separated thousands in the columns of a text file: read if unambiguous, otherwise asked about."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from manifolia._core.messages import Argument, Message
from manifolia.exceptions import TableError
from manifolia.tables.files import TableFile
from manifolia.tables.frames import is_text
from manifolia.tables.naming import listing

#: Such as 12,5 and −0,25 and 1.234,5: a comma before the decimals, maybe points between the thousands.
_COMMA_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)?,\d+(?:[eE][+-]?\d+)?"
_WHOLE_NUMBER = r"[+-]?\d+"
#: Such as 1,234 and 12,345,678: these may just as well be thousands.
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:,\d{3})+"
#: Such as 1.234.567 and 1.234,56, where the comma is the decimal sign.
_POINTED = r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"


def is_comma_number(text: str) -> bool:
    """Return whether a text is a number with a comma before the decimals."""
    return re.fullmatch(_COMMA_NUMBER, text.strip()) is not None


def shows_decimal_comma(values: list[Any]) -> bool:
    """Return whether some of a column's texts are numbers whose comma can only be a decimal sign."""
    commas = [value.strip() for value in values if isinstance(value, str) and is_comma_number(value)]
    return not all(re.fullmatch(_THOUSANDS, text) for text in commas)


def reads_as_comma_numbers(texts: pd.Series) -> bool:
    """Return whether texts are numbers with a comma before the decimals."""
    values = pd.Series(texts.unique()).astype(str).str.strip()
    commas = values.str.fullmatch(_COMMA_NUMBER)
    return bool(commas.any() and (commas | values.str.fullmatch(_WHOLE_NUMBER)).all())


def comma_columns(frame: pd.DataFrame) -> list[Any]:
    """Return the columns of texts that are numbers with a comma before the decimals."""
    texts = [name for name in frame.columns if is_text(frame[name])]
    return [name for name in texts if reads_as_comma_numbers(frame[name].dropna())]


def with_fractions(frame: pd.DataFrame) -> list[int]:
    """Return the places of columns that were read as numbers with a decimal point."""
    kinds = [(i, frame[i].dtype) for i in frame.columns]
    floats = [i for i, dtype in kinds if isinstance(dtype, np.dtype) and dtype.kind == "f"]
    return [int(i) for i in floats if (frame[i].dropna() % 1).any()]


def is_pointed(texts: pd.Series) -> bool:
    """Return whether the points in numbers can only separate thousands, if the comma is the decimal sign."""
    values = pd.Series(texts.dropna().unique()).astype(str).str.strip()
    pointed = values.str.fullmatch(_POINTED)
    return bool(pointed.any() and (pointed | values.str.fullmatch(r"[+-]?\d+(?:,\d*)?")).all())


def read_pointed(frame: pd.DataFrame) -> list[int]:
    """Read, in place, numbers whose points separate thousands."""
    columns = [int(i) for i in frame.columns if is_text(frame[i]) and is_pointed(frame[i])]
    for i in columns:
        texts = frame[i].astype(object).str.strip().str.replace(".", "", regex=False)
        frame[i] = pd.to_numeric(texts.str.replace(",", ".", regex=False))
    return columns


def refuse_doubtful_commas(
    file: TableFile, frame: pd.DataFrame, columns: list[Any], fractions: list[int], header: list[str]
) -> None:
    """Refuse numbers in which the comma is ambiguous, or which have both signs."""
    present = pd.concat([frame[name].dropna().astype(str).str.strip() for name in columns])
    points = [header[i] or f"column {i + 1}" for i in fractions]
    with_comma = present[present.str.contains(",")]
    names = [header[i] or f"column {i + 1}" for i in columns]
    where = f"column{'s' * (len(names) > 1)} {listing(names)}"
    done = Message(" The column can then be left out with ", Argument("roles", {names[0]: "drop"}), ".")
    if with_comma.str.fullmatch(_THOUSANDS).all():
        raise TableError(
            Message(
                f"{file} has numbers such as {with_comma.iloc[0]!r} in {where}, where the comma may separate "
                "thousands or decimals. Pass ",
                Argument("decimal", "."),
                " if it separates thousands, ",
                Argument("decimal", ","),
                " if it is the decimal sign.",
                done,
            )
        )
    if points:
        raise TableError(
            Message(
                f"{file} has numbers with a decimal comma (such as {with_comma.iloc[0]!r}) in {where} and with a "
                f"decimal point in {listing(points)}. Write all of them with the same sign, or pass ",
                Argument("decimal", "."),
                " or ',', with which the others are texts.",
                done,
            )
        )


def read_thousands(frame: pd.DataFrame, columns: list[Any]) -> list[Any]:
    """Read, in place, numbers whose commas separate thousands, as a requested decimal point implies."""
    converted = []
    for name in columns:
        texts = frame[name].astype(object).str.strip()
        present = texts.dropna()
        if present[present.str.contains(",")].str.fullmatch(_THOUSANDS).all():
            frame[name] = pd.to_numeric(texts.str.replace(",", ""))
            converted.append(name)
    return converted
