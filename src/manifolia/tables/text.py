"""Delimited text: its encoding, its separator, its decimal sign, and rows that do not fit.

The file is first read with Python's ``csv`` reader, which finds rows of the wrong length (pandas would pad short ones
silently), and then by pandas. Numbers are read to the nearest float (``round_trip``), so that a table gives the same
bits from CSV as from Parquet.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.memory import RAISE_LIMIT, format_bytes, limit_now
from manifolia._core.messages import Argument, Message, Word
from manifolia.exceptions import TableError
from manifolia.tables.decimals import (
    comma_columns,
    is_pointed,
    read_pointed,
    read_thousands,
    refuse_doubtful_commas,
    with_fractions,
)
from manifolia.tables.files import TableFile, find_encoding
from manifolia.tables.frames import is_text
from manifolia.tables.naming import Remark, counted, distinct, listing, repeated

#: What means "missing" in a text file: the empty cell and pandas' own list, except "None", which tables use as a
#: category (no veneer, no treatment). Our own list does not change with the version of pandas.
MISSING_TEXTS = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "n/a",
    "nan",
    "null",
)
_SPLIT_ALIKE = 2  # further lines with a text in common from which it is reported as split by a separator
_TOLD_MARKS = frozenset(MISSING_TEXTS) - {""}
#: A value in a column of texts; among numbers it can only mean that there is none.
_NONE = "None"

#: In order of preference if two explain a file equally well: the comma is also a decimal sign and punctuation.
_SEPARATORS = ("\t", ";", "|", ",")
_NAMES = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma", " ": "a blank"}
_SNIFFED_ROWS = 200
_NAMELESS_ROWS = 10  # rows below a first line of words in which these must recur for it not to be a header
_SNIFFED_LENGTH = 2**22  # characters, of wide tables
_COLUMN = 2000  # bytes that a column takes besides its values
_CHUNK = 2**20
#: How the names of tables end; anything else may not be a table.
_USUAL = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat", ".psv")
#: Numbers are read to the nearest float; always, from pandas 3.1.
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"} if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1] else {}
)
#: With a point or a comma before the decimals.
_NUMBER = r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?"
#: 01234 is a code: as a number it would lose its zero.
_CODE = r"\s*0\d+\s*"
_MAYBE_CODE = re.compile(r"(?:^|[\s,;|\"'])0\d")


class TextTable(NamedTuple):
    """What a text file holds."""

    frame: pd.DataFrame  # The columns, typed by pandas
    row_names: list[str] | None  # The first column if it has no name and is distinct
    notes: list[str]  # What the reader decided
    decimal: str  # The decimal sign
    named: bool  # Whether the first line holds names


class _Layout(NamedTuple):
    named: bool  # Whether the first line holds names
    #: With an empty name before the first, if rows have one field more: the row's name, as R writes it. With one after
    #: the last, if that further field is always empty: a separator at the end of each row.
    header: list[str]
    twice: list[str]  # Names that several columns have in the file
    unnamed_first: bool
    #: (place, text) to how often that text, which means "missing", is in that column; empty cells are not counted.
    marks: Mapping[tuple[int, str], int]


def read_text(
    file: TableFile,
    *,
    sep: str | None = None,
    decimal: str | None = None,
    na_values: Sequence[str] = (),
    encoding: str | None = None,
) -> TextTable:
    """Read a delimited text file."""
    _check_sign(sep, decimal)
    encoding, notes = find_encoding(file, encoding)
    file.check_size()
    chosen = sep is not None and file.suffix not in (".tsv", ".tab")  # whose name says it
    if sep is None:
        sep = sniff_separator(file, encoding)
    layout = _survey(file, encoding, sep, chosen=chosen)
    notes += _tell_header(file, layout)
    missing: Any = [*MISSING_TEXTS, *na_values]

    def parse(decimal: str, **only: Any) -> pd.DataFrame:
        return _parse(file, encoding, sep, decimal, layout, missing, **only)

    frame = parse(decimal or ".")
    among_numbers = _none_among_numbers(frame)
    if among_numbers:
        missing = {i: [*missing, _NONE] if i in among_numbers else missing for i in range(len(layout.header))}
        told = listing([layout.header[i] for i in among_numbers])
        notes.append(f"{file.name}: {_NONE!r} was read as missing where all other values are numbers, in {told}.")
        frame = parse(decimal or ".")
    if decimal is None:
        columns = comma_columns(frame)
        if columns:
            fractions = with_fractions(frame)
            if fractions:  # 1.234 may be a number with separated thousands
                texts = parse(",", usecols=fractions, dtype=str)
                fractions = [i for i in fractions if not is_pointed(texts[i])]
            refuse_doubtful_commas(file, frame, columns, fractions, layout.header)
            told = listing([layout.header[i] for i in columns])
            read = f"{file.name}: the comma was read as the decimal sign, for {told}. Set "
            notes.append(Message(read, Argument("decimal"), " to choose."))
            frame = parse(",")
            decimal = ","
    elif decimal == ".":
        columns = read_thousands(frame, comma_columns(frame))
        if columns:
            told = listing([layout.header[i] for i in columns])
            notes.append(f"{file.name}: the comma was read as separating thousands, for {told}.")
    if decimal == ",":
        columns = read_pointed(frame)
        if columns:
            told = listing([layout.header[i] for i in columns])
            notes.append(f"{file.name}: the point was read as separating thousands, for {told}.")
    whole = _with_codes(file, encoding, frame)
    if whole:
        texts = parse(decimal or ".", usecols=whole, dtype=str)
        coded = [i for i in whole if texts[i].str.fullmatch(_CODE).any()]
        for i in coded:
            frame[i] = texts[i].str.strip()
        if coded:
            told = listing([layout.header[i] or f"column {i + 1}" for i in coded])
            text = f"{file.name}: codes with leading zeros stay texts: {told}. Pass "
            notes.append(Message(text, Argument("roles", {Word("column"): "numeric"}), " to take them as numbers."))
    notes += _tell_marks(file, frame, layout)
    frame, row_names, more = _name_columns(frame, layout, file)
    return TextTable(frame, row_names, notes + more, decimal or ".", layout.named)


def _check_sign(sep: str | None, decimal: str | None) -> None:
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n'):
        raise TableError(
            f"sep must be a single character such as ',', ';' or a tab, got {sep!r}. Leave it out to have it found.",
            parameter="sep",
        )
    if decimal is not None and decimal not in (".", ","):
        raise TableError(f"decimal must be '.' or ',', got {decimal!r}.", parameter="decimal")
    if sep is not None and sep == decimal:
        both = (Argument("sep"), " and ", Argument("decimal"))
        raise TableError(
            Message(*both, f" are both {sep!r}. They must differ, or no number could be told from two fields."),
            parameter="sep",
        )


def _open_text(file: TableFile, encoding: str) -> IO[str]:
    return io.TextIOWrapper(file.open(), encoding=encoding, newline="")


def _rows(stream: IO[str], sep: str) -> Any:
    """Return a reader of rows; runs of blanks count as one separator, and those at the ends of a line as none."""
    if sep != " ":
        return csv.reader(stream, delimiter=sep)
    return csv.reader((line.replace("\t", " ").strip() for line in stream), delimiter=" ", skipinitialspace=True)


def sniff_separator(file: TableFile, encoding: str) -> str:
    """Return the separator that splits the most rows into the number of fields that the header has."""
    try:
        lines, length = [], 0
        with _open_text(file, encoding) as stream:
            for line in itertools.islice(stream, _SNIFFED_ROWS):
                lines.append(line)
                length += len(line)
                if length > _SNIFFED_LENGTH:
                    break
    except UnicodeError as error:
        raise _not_this_encoding(file, encoding, error) from error
    best, best_score = ",", (0.0, 0)
    for sep in _SEPARATORS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=sep) if row]
        except csv.Error:
            continue
        if not widths or widths[0] < 2:
            continue
        score = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if score > best_score:
            best, best_score = sep, score
    return " " if best_score[0] < 1.0 and _by_blanks(lines) else best


def _by_blanks(lines: list[str]) -> bool:
    """Return whether lines are columns with blanks between them, one of them at least of numbers."""
    rows = [line.split() for line in lines if line.strip()]
    widths = {len(row) for row in rows[1:]}
    if len(widths) != 1 or not 0 <= (width := widths.pop()) - len(rows[0]) <= 1 or width < 2:
        try:  # texts in quotation marks may hold blanks
            quoted = [row for row in _rows(io.StringIO("".join(lines)), " ") if row]
        except csv.Error:
            return False
        widths = {len(row) for row in quoted[1:]}
        if len(widths) != 1 or not 0 <= (width := widths.pop()) - len(quoted[0]) <= 1 or width < 2:
            return False
        rows = quoted
    return any(all(re.fullmatch(_NUMBER, row[j]) for row in rows[1:]) for j in range(width))


def _not_this_encoding(file: TableFile, encoding: str, error: UnicodeError) -> TableError:
    where = f" (byte {error.object[error.start]:#04x})" if isinstance(error, UnicodeDecodeError) else ""
    name = {"utf-8-sig": "UTF-8"}.get(encoding, encoding.upper())
    told = f"{file} is not {name} text{where}. Pass "
    return TableError(Message(told, Argument("encoding", Word("NAME")), " if you know its encoding."))


def _has_names(rows: list[list[str]]) -> bool:
    """Return whether the first line holds names: not if it has numbers where the rows do, or only words that recur."""
    first, rest = rows[0], rows[1:]
    if not rest or any(len(row) != len(first) for row in rest) or not all(name.strip() for name in first):
        return True
    numbers = [j for j, text in enumerate(first) if re.fullmatch(_NUMBER, text.strip())]
    columns = [[row[j].strip() for row in rest] for j in range(len(first))]
    again = [first[j].strip() in columns[j] for j in range(len(first))]
    if not numbers:  # letters that stand for levels
        return not (len(first) > 1 and len(rest) >= _NAMELESS_ROWS and all(again))
    if any(not all(re.fullmatch(_NUMBER, text) for text in columns[j] if text not in MISSING_TEXTS) for j in numbers):
        return True
    texts = [j for j in range(len(first)) if j not in numbers]
    if any(all(re.fullmatch(_NUMBER, text) for text in columns[j]) for j in texts):
        return True  # a word above numbers
    values = [float(first[j].replace(",", ".")) for j in numbers]
    if len(set(values)) < len(values):
        return False  # names differ
    rising = all(before < after for before, after in itertools.pairwise(values))
    # Years, places and wavelengths rise; a single number beside words may be a year.
    return not any(again[j] for j in texts) and (rising if len(values) > 1 else values[0] % 1 == 0)


def _tell_header(file: TableFile, layout: _Layout) -> list[str]:
    """Say what became of the column names."""
    if not layout.named:
        last = len(layout.header)
        return [
            f"{file.name}: the first line holds values, not names; the columns are called column 1 to column {last}."
        ]
    twice = [Remark(name, f"such as {name}.1") for name in layout.twice if name]
    return (
        [f"{file.name}: several columns have one name; the later ones are numbered: {listing(twice)}."] if twice else []
    )


def _survey(file: TableFile, encoding: str, sep: str, *, chosen: bool) -> _Layout:
    """Read through the rows: header, ragged rows, no rows; `chosen`: whether the user named the separator."""
    header: list[str] = []
    longer, open_end, named = False, True, True
    expected = n_rows = 0
    marks: Counter[tuple[int, str]] = Counter()
    try:
        with _open_text(file, encoding) as stream:
            reader = _rows(stream, sep)
            first = list(itertools.islice((row for row in reader if row), _SNIFFED_ROWS))
            named = not first or _has_names(first)
        with _open_text(file, encoding) as stream:
            reader = _rows(stream, sep)
            nameless = [] if named else [[f"column {i + 1}" for i in range(len(first[0]))]]
            for row in itertools.chain(nameless, reader):
                if not row:
                    continue
                if not header:
                    header = [name.strip() for name in row]
                    expected = len(header)
                    if expected * _COLUMN > limit_now():
                        raise TableError(
                            f"{file} is not read: its first line has {expected:,} fields, and the memory limit of "
                            f"{format_bytes(limit_now())} is too low for this many columns. {RAISE_LIMIT}"
                        )
                    continue
                n_rows += 1
                if n_rows == 1 and len(row) == len(header) + 1:
                    longer, expected = True, len(row)
                if len(row) != expected:
                    looks = sniff_separator(file, encoding) if chosen else None
                    if looks is not None and not any(looks in name for name in header):
                        looks = sep  # nothing else visible
                    line, more = reader.line_num, _ragged_too(reader, row, expected, sep)
                    raise _ragged(file, f"{line}: {counted(len(row), 'field')}", expected, sep, looks, more)
                open_end &= not row[-1].strip()
                if not _TOLD_MARKS.isdisjoint(row):
                    marks.update((i, text) for i, text in enumerate(row) if text in _TOLD_MARKS)
    except csv.Error as error:
        raise TableError(
            f"{file}, line {reader.line_num}: {error}. Is a quotation mark opened and never closed?"
        ) from error
    except UnicodeError as error:
        raise _not_this_encoding(file, encoding, error) from error
    except (EOFError, OSError) as error:
        raise TableError(f"{file} cannot be read: {error}.") from error
    if not header:
        raise TableError(f"{file} is empty. A table needs a header line and at least one row.")
    if len(header) == 1:
        other = [sign for sign in _SEPARATORS if sign != sep and sign in header[0]]
        if other:
            raise TableError(
                Message(
                    f"{file} has a single column named {header[0]!r} when {_NAMES.get(sep, repr(sep))} separates "
                    f"fields. The separator looks like {_NAMES[other[0]]}: pass ",
                    Argument("sep", other[0]),
                    ".",
                )
            )
    if not n_rows:
        resembles = {
            "{": " It looks like JSON: give its name the suffix .json.",
            "<": " It looks like HTML or XML, which is not read: save the table as CSV.",
        }
        hint = resembles.get((header[0] or "").lstrip("[")[:1], "")
        raise TableError(f"{file} has a header and no rows. A table needs at least one row.{hint}")
    twice = repeated(name for name in header if name)
    if twice:
        given = iter(distinct([name for name in header if name], as_pandas=True))  # as files that it writes have them
        header = [next(given) if name else "" for name in header]
    if longer:
        header = [*header, ""] if open_end else ["", *header]
    return _Layout(named, header, twice, longer and not open_end, marks)


def _ragged_too(reader: Iterator[list[str]], row: list[str], expected: int, sep: str) -> str:
    """Say how many of the following lines also have a wrong number of fields, and which text is split in all."""
    n, pairs, longer = 0, set(itertools.pairwise(row)), len(row) == expected + 1
    with contextlib.suppress(csv.Error, UnicodeError, EOFError, OSError):  # other faults are reported another time
        for other in reader:
            if other and len(other) != expected:
                n += 1
                pairs &= set(itertools.pairwise(other))
                longer &= len(other) == expected + 1
    if not n:
        return ""
    so = f"{n:,} more lines are so" if n > 1 else "1 more line is so"
    first, second = max(pairs, key=lambda pair: len("".join(pair)), default=("", ""))
    split = f", and all hold {f'{first}{sep}{second}'!r}" if longer and n >= _SPLIT_ALIKE and first and second else ""
    return f"{so}{split}. "


def _ragged(file: TableFile, got: str, expected: int, sep: str, looks: str | None, more: str) -> TableError:
    usual = file.name.lower().removesuffix(".gz").endswith(_USUAL)
    doubt = "" if usual else f" Is {file.name} a table at all? Its name does not look like one (.csv, .tsv)."
    name, option = _NAMES.get(sep, repr(sep)), Argument("sep", Word())
    told = f"{file}, line {got} where {expected} are expected. {more}"
    mend = f"or mend the line (texts that hold the separator need quotation marks).{doubt}"
    if looks is None:
        taken = (f"The separator is taken to be {name}; pass ", option, " if it is another one,")
    elif looks == sep:
        taken = (f"Fields are separated by {name}, as was said. Leave ", option, " out to have the separator found,")
    else:
        taken = (f"They look separated by {_NAMES[looks]}, and not by {name}: pass ", Argument("sep", looks), ",")
    return TableError(Message(told, *taken, f" {mend}"))


def _parse(
    file: TableFile, encoding: str, sep: str, decimal: str, layout: _Layout, missing: Any, **only: Any
) -> pd.DataFrame:
    names = list(range(len(layout.header)))  # by place: a header may have empty names
    try:
        with _open_text(file, encoding) as stream:
            return pd.read_csv(
                stream,
                sep=r"\s+" if sep == " " else sep,
                decimal=decimal,
                header=0 if layout.named else None,
                names=names,
                index_col=False,
                na_values=missing,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                **_EXACT,
                **only,
            )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise TableError(f"{file} cannot be read as a table: {error}.") from error


def _none_among_numbers(frame: pd.DataFrame) -> list[int]:
    """Return the places of columns in which every text except None is a number, with any decimal sign."""
    places = []
    for i in frame.columns:
        if not is_text(frame[i]):
            continue
        texts = pd.Series(frame[i].dropna().unique()).astype(str).str.strip()
        others = texts[texts != _NONE]
        if 0 < len(others) < len(texts) and others.str.fullmatch(_NUMBER).all():
            places.append(int(i))
    return places


def _tell_marks(file: TableFile, frame: pd.DataFrame, layout: _Layout) -> list[str]:
    """Say which texts in text columns were read as missing: they may have been meant as categories."""
    told = [
        Remark(layout.header[i] or f"column {i + 1}", f"{text!r} in {counted(count, 'row')}")
        for (i, text), count in sorted(layout.marks.items())
        if is_text(frame[i])
    ]
    return [f"{file.name}: texts read as missing: {listing(told)}."] if told else []


def _with_codes(file: TableFile, encoding: str, frame: pd.DataFrame) -> list[int]:
    """Return the places of columns of whole numbers that may hold codes with leading zeros."""
    numbers = [i for i in frame.columns if isinstance(frame[i].dtype, np.dtype) and frame[i].dtype.kind in "if"]
    whole = [int(i) for i in numbers if not (frame[i].dropna() % 1).any()]
    if not whole:
        return []
    with _open_text(file, encoding) as stream:
        before = ""
        while chunk := stream.read(_CHUNK):
            if _MAYBE_CODE.search(before + chunk):
                return whole
            before = chunk[-2:]
    return []


def _name_columns(
    frame: pd.DataFrame, layout: _Layout, file: TableFile
) -> tuple[pd.DataFrame, list[str] | None, list[str]]:
    """Give columns their names; a first column without one that is distinct names the rows."""
    labels = layout.header
    notes: list[str] = []
    row_names: list[str] | None = None
    if len(labels) > 1 and not labels[0] and frame[0].notna().all() and frame[0].is_unique:
        row_names = [str(value) for value in frame[0]]
        notes.append(f"{file.name}: the first column has no name; it names the rows and is no feature.")
        frame, labels = frame.iloc[:, 1:], labels[1:]
    elif layout.unnamed_first:
        raise TableError(
            f"{file} has one field more in its rows than in its header, and the first is no distinct name of the row. "
            f"Give every column a name."
        )
    keep = [i for i, label in enumerate(labels) if label or not frame.iloc[:, i].isna().all()]
    names = [labels[i] or f"column {i + 1}" for i in keep]
    empty = len(labels) - len(keep)
    if empty:  # a separator at the end of each line
        notes.append(f"{file.name}: {empty} empty column{'s' * (empty > 1)} without a name left out.")
    frame = frame.iloc[:, keep]
    frame.columns = pd.Index(distinct(names))
    return frame, row_names, notes
