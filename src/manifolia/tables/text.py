"""Delimited text: its encoding, its separator, its decimal sign, and rows that do not fit.

The file is gone through once with Python's ``csv`` reader, which finds rows of the wrong length (pandas would fill
short ones up in silence), and then read by pandas. Numbers are read to the nearest float (``round_trip``), so that a
table gives the same bits from CSV as from Parquet.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from manifolia._core.memory import RAISE_LIMIT, format_bytes, limit_now
from manifolia._core.messages import Argument, Message, Word
from manifolia.exceptions import TableError
from manifolia.tables.frames import is_text
from manifolia.tables.naming import Remark, column_names, counted, listing

READABLE = "CSV, TSV, Parquet (.parquet), Arrow (.arrow, .feather), NumPy (.npz, .npy) and AnnData (.h5ad) files"

#: What means "missing" in a text file: the empty cell and pandas' own list, but for "None", which tables use as a
#: category (no veneer, no treatment). A list of our own does not change with the version of pandas.
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
_TOLD_MARKS = frozenset(MISSING_TEXTS) - {""}
#: A value in a column of texts; among numbers it can only mean that there is none.
_NONE = "None"

#: In the order of preference where two explain a file equally well: the comma is also a decimal sign and punctuation.
_SEPARATORS = ("\t", ";", "|", ",")
_NAMES = {"\t": "a tab", ";": "a semicolon", "|": "a bar", ",": "a comma", " ": "a blank"}
_SNIFFED_ROWS = 200
_SNIFFED_LENGTH = 2**22  # characters, of wide tables
#: What a packed file may unpack to, unless the user sets a limit: this many bytes, or this many times its own size.
#: Numbers pack to a half or a tenth, a table of zeros to a hundredth, bombs to a thousandth.
_UNPACKED, _PACKED, _UNPACKED_ROWS = 2**26, 200, 10_000_000
_LONGEST = 2**25  # bytes of a line: a million columns of 32 characters
_ROW = 100  # bytes that a row takes besides its values: its name and number
_COLUMN = 2000  # bytes that a column takes besides its values
_CHUNK = 2**20
#: How the names of tables end; anything else may be no table.
_USUAL = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat", ".psv")
#: Numbers are read to the nearest float; from pandas 3.1 on, always.
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"} if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1] else {}
)
_HEAD = 2**16
#: How a file begins that gzip has packed.
PACKED = b"\x1f\x8b"
#: Beyond this share of control characters, the start of a file is no text.
_CONTROL_SHARE = 0.02
#: UTF-32's mark begins with UTF-16's, so it comes first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_KNOWN_BINARY = (
    (b"PAR1", "a Parquet file: give its name the suffix .parquet"),
    (b"ARROW1", "an Arrow file: give its name the suffix .arrow"),
    (b"\x89HDF", "an HDF5 file: give its name the suffix .h5ad if it holds AnnData"),
    (b"\x93NUMPY", "a NumPy file: give its name the suffix .npy"),
    (b"PK\x03\x04", "a zip archive, such as a spreadsheet (.xlsx) or .npz: save a spreadsheet as CSV first"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet (.xls): save it as CSV first"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"\xfd7zXZ", "compressed by xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
)
#: Such as 12,5 and −0,25 and 1.234,5: a comma before the decimals, maybe points between the thousands.
_COMMA_NUMBER = r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)?,\d+(?:[eE][+-]?\d+)?"
_WHOLE_NUMBER = r"[+-]?\d+"
#: With a point or a comma before the decimals.
_NUMBER = r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?"
#: Such as 1,234 and 12,345,678: these may as well be thousands.
_THOUSANDS = r"[+-]?[1-9]\d{0,2}(?:,\d{3})+"


class TextTable(NamedTuple):
    """What a text file holds."""

    frame: pd.DataFrame  # The columns, typed by pandas
    row_names: list[str] | None  # The first column where it has no name and is distinct
    notes: list[str]  # What the reader decided


class _Layout(NamedTuple):
    #: With an empty name before the first, where rows have one field more: the row's name, as R writes it.
    #: With one after the last, where that further field is always empty: a separator at the end of each row.
    header: list[str]
    unnamed_first: bool
    #: (place, text) to how often that text, which means "missing", is in that column; the empty cell is not told.
    marks: Mapping[tuple[int, str], int]


def read_text(
    path: Path, *, sep: str | None = None, decimal: str | None = None, na_values: Sequence[str] = ()
) -> TextTable:
    """Read a delimited text file."""
    _check_sign(sep, decimal)
    encoding = _encoding(path)
    _check_size(path)
    notes: list[str] = []
    if sep is None:
        sep = _sniff(path, encoding)
    layout = _survey(path, encoding, sep)
    missing: Any = [*MISSING_TEXTS, *na_values]
    frame = _parse(path, encoding, sep, decimal or ".", layout, missing)
    among_numbers = _none_among_numbers(frame)
    if among_numbers:
        missing = {i: [*missing, _NONE] if i in among_numbers else missing for i in range(len(layout.header))}
        told = listing([layout.header[i] for i in among_numbers])
        notes.append(f"{path.name}: {_NONE!r} was read as missing where all other values are numbers, in {told}.")
        frame = _parse(path, encoding, sep, decimal or ".", layout, missing)
    if decimal is None:
        columns = _comma_columns(frame)
        if columns:
            _refuse_doubtful_commas(path, frame, columns, layout.header)
            told = listing([layout.header[i] for i in columns])
            read = f"{path.name}: the comma was read as the decimal sign, for {told}. Set "
            notes.append(Message(read, Argument("decimal"), " to choose."))
            frame = _parse(path, encoding, sep, ",", layout, missing)
    elif decimal == ".":
        columns = _read_thousands(frame, _comma_columns(frame))
        if columns:
            told = listing([layout.header[i] for i in columns])
            notes.append(f"{path.name}: the comma was read as separating thousands, for {told}.")
    notes += _tell_marks(path, frame, layout)
    frame, row_names, more = _name_columns(frame, layout, path)
    return TextTable(frame, row_names, notes + more)


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


def _is_packed(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(2) == PACKED


def _open_bytes(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if _is_packed(path) else path.open("rb")  # type: ignore[return-value]


def _open_text(path: Path, encoding: str) -> IO[str]:
    return io.TextIOWrapper(_open_bytes(path), encoding=encoding, newline="")


def _encoding(path: Path) -> str:
    """Return the encoding that the byte order mark tells, else UTF-8; refuse what is no text."""
    try:
        with _open_bytes(path) as stream:
            head = stream.read(_HEAD)
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error
    if not head.strip():
        raise TableError(f"{path} is empty. A table needs a header line and at least one row.")
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    for magic, what in _KNOWN_BINARY:
        if head.startswith(magic):
            raise TableError(f"{path} is not text but {what}.")
    codes = np.frombuffer(head, dtype=np.uint8)
    control = (codes < 32) & (codes != 9) & (codes != 10) & (codes != 12) & (codes != 13)
    if (codes == 0).any() or control.mean() > _CONTROL_SHARE:
        raise TableError(
            f"{path} is not text (byte {int(codes[control][0])} at position {int(np.argmax(control))}). These can be "
            f"read: {READABLE}."
        )
    return "utf-8"


def _check_size(path: Path) -> None:
    """Go through the bytes of a file, unpacked: refuse what would not fit into memory before anything is parsed."""
    most = limit_now()
    most_rows = most // _ROW
    if _is_packed(path):
        most = limit_now(unless_set=max(_UNPACKED, _PACKED * path.stat().st_size))
        most_rows = limit_now(unless_set=_UNPACKED_ROWS * _ROW) // _ROW
    size = n_lines = length = 0
    try:
        with _open_bytes(path) as stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                n_lines += chunk.count(b"\n")
                last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                length = length + len(chunk) if last < 0 else len(chunk) - last
                if length > _LONGEST:
                    raise TableError(
                        f"{path} has a line of more than {format_bytes(_LONGEST)}, the most that is read. Is "
                        f"{path.name} a table at all?"
                    )
                if size > most or n_lines > most_rows:
                    raise TableError(
                        f"{path} is not read: it has more than "
                        f"{f'{format_bytes(most)} of text' if size > most else f'{most_rows:,} rows'}. Unless you set "
                        f"a limit, a table may have as much text as 80 % of the free memory; and a packed one "
                        f"{format_bytes(_UNPACKED)} or {_PACKED} times its size, in {_UNPACKED_ROWS:,} rows. "
                        f"{RAISE_LIMIT}"
                    )
    except (EOFError, OSError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error


def _sniff(path: Path, encoding: str) -> str:
    """Return the separator that splits the most rows into as many fields as the header has."""
    try:
        lines, length = [], 0
        with _open_text(path, encoding) as stream:
            for line in itertools.islice(stream, _SNIFFED_ROWS):
                lines.append(line)
                length += len(line)
                if length > _SNIFFED_LENGTH:
                    break
    except UnicodeError as error:
        raise _not_this_encoding(path, encoding, error) from error
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
    return best


def _not_this_encoding(path: Path, encoding: str, error: UnicodeError) -> TableError:
    where = f" (byte {error.object[error.start]:#04x})" if isinstance(error, UnicodeDecodeError) else ""
    name = {"utf-8-sig": "UTF-8"}.get(encoding, encoding.upper())
    return TableError(
        f"{path} is not {name} text{where}. It may be in an older encoding such as Latin-1 or Windows-1252: "
        f"save it as UTF-8, or read it with pandas.read_csv(..., encoding=...) and pass the frame."
    )


def _survey(path: Path, encoding: str, sep: str) -> _Layout:
    """Go through the rows: header, ragged rows, no rows."""
    header: list[str] = []
    longer, open_end = False, True
    expected = n_rows = 0
    marks: Counter[tuple[int, str]] = Counter()
    try:
        with _open_text(path, encoding) as stream:
            reader = csv.reader(stream, delimiter=sep)
            for row in reader:
                if not row:
                    continue
                if not header:
                    header = [name.strip() for name in row]
                    expected = len(header)
                    if expected * _COLUMN > limit_now():
                        raise TableError(
                            f"{path} is not read: its first line has {expected:,} fields, and the memory limit of "
                            f"{format_bytes(limit_now())} is too low for so many columns. {RAISE_LIMIT}"
                        )
                    continue
                n_rows += 1
                if n_rows == 1 and len(row) == len(header) + 1:
                    longer, expected = True, len(row)
                if len(row) != expected:
                    raise _ragged(path, reader.line_num, len(row), expected, sep)
                open_end &= not row[-1].strip()
                if not _TOLD_MARKS.isdisjoint(row):
                    marks.update((i, text) for i, text in enumerate(row) if text in _TOLD_MARKS)
    except csv.Error as error:
        raise TableError(
            f"{path}, line {reader.line_num}: {error}. Is a quotation mark opened and never closed?"
        ) from error
    except UnicodeError as error:
        raise _not_this_encoding(path, encoding, error) from error
    except (EOFError, OSError) as error:
        raise TableError(f"{path} cannot be read: {error}.") from error
    if not header:
        raise TableError(f"{path} is empty. A table needs a header line and at least one row.")
    if len(header) == 1:
        other = [sign for sign in _SEPARATORS if sign != sep and sign in header[0]]
        if other:
            raise TableError(
                Message(
                    f"{path} has a single column named {header[0]!r} when {_NAMES.get(sep, repr(sep))} separates "
                    f"fields. The separator looks like {_NAMES[other[0]]}: pass ",
                    Argument("sep", other[0]),
                    ".",
                )
            )
    if not n_rows:
        raise TableError(f"{path} has a header and no rows. A table needs at least one row.")
    column_names([name for name in header if name], source=str(path))
    if longer:
        header = [*header, ""] if open_end else ["", *header]
    return _Layout(header, longer and not open_end, marks)


def _ragged(path: Path, line: int, got: int, expected: int, sep: str) -> TableError:
    usual = path.name.lower().removesuffix(".gz").endswith(_USUAL)
    doubt = "" if usual else f" Is {path.name} a table at all? Its name does not look like one (.csv, .tsv)."
    message = Message(
        f"{path}, line {line}: {got} field{'s' * (got != 1)} where {expected} are expected. The separator is taken to "
        f"be {_NAMES.get(sep, repr(sep))}; pass ",
        Argument("sep", Word()),
        f" if it is another one, or mend the line (texts that hold the separator need quotation marks).{doubt}",
    )
    return TableError(message)


def _parse(path: Path, encoding: str, sep: str, decimal: str, layout: _Layout, missing: Any) -> pd.DataFrame:
    names = list(range(len(layout.header)))  # by place: a header may have empty names
    try:
        with _open_text(path, encoding) as stream:
            return pd.read_csv(
                stream,
                sep=sep,
                decimal=decimal,
                header=0,
                names=names,
                index_col=False,
                na_values=missing,
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                **_EXACT,
            )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise TableError(f"{path} cannot be read as a table: {error}.") from error


def reads_as_comma_numbers(texts: pd.Series) -> bool:
    """Tell whether texts are numbers with a comma before the decimals."""
    values = pd.Series(texts.unique()).astype(str).str.strip()
    commas = values.str.fullmatch(_COMMA_NUMBER)
    return bool(commas.any() and (commas | values.str.fullmatch(_WHOLE_NUMBER)).all())


def _none_among_numbers(frame: pd.DataFrame) -> list[int]:
    """Return the places of columns in which every text but None is a number, with whatever decimal sign."""
    places = []
    for i in frame.columns:
        if not is_text(frame[i]):
            continue
        texts = pd.Series(frame[i].dropna().unique()).astype(str).str.strip()
        others = texts[texts != _NONE]
        if 0 < len(others) < len(texts) and others.str.fullmatch(_NUMBER).all():
            places.append(int(i))
    return places


def _tell_marks(path: Path, frame: pd.DataFrame, layout: _Layout) -> list[str]:
    """Say which texts of text columns were read as missing: there they may have been meant as categories."""
    told = [
        Remark(layout.header[i] or f"column {i + 1}", f"{text!r} in {counted(count, 'row')}")
        for (i, text), count in sorted(layout.marks.items())
        if is_text(frame[i])
    ]
    return [f"{path.name}: texts read as missing: {listing(told)}."] if told else []


def _comma_columns(frame: pd.DataFrame) -> list[Any]:
    texts = [name for name in frame.columns if is_text(frame[name])]
    return [name for name in texts if reads_as_comma_numbers(frame[name].dropna())]


def _refuse_doubtful_commas(path: Path, frame: pd.DataFrame, columns: list[Any], header: list[str]) -> None:
    present = pd.concat([frame[name].dropna().astype(str).str.strip() for name in columns])
    points = [
        header[i] or f"column {i + 1}"
        for i in range(len(header))
        if isinstance(frame[i].dtype, np.dtype) and frame[i].dtype.kind == "f" and (frame[i].dropna() % 1).any()
    ]
    with_comma = present[present.str.contains(",")]
    names = [header[i] or f"column {i + 1}" for i in columns]
    where = f"column{'s' * (len(names) > 1)} {listing(names)}"
    done = Message(" The column can then be left out with ", Argument("roles", {names[0]: "drop"}), ".")
    if with_comma.str.fullmatch(_THOUSANDS).all():
        raise TableError(
            Message(
                f"{path} has numbers such as {with_comma.iloc[0]!r} in {where}, where the comma may separate "
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
                f"{path} has numbers with a decimal comma (such as {with_comma.iloc[0]!r}) in {where} and with a "
                f"decimal point in {listing(points)}. Write all of them with the same sign, or pass ",
                Argument("decimal", "."),
                " or ',', with which the others are texts.",
                done,
            )
        )


def _read_thousands(frame: pd.DataFrame, columns: list[Any]) -> list[Any]:
    """Read, in place, numbers whose commas separate thousands: a decimal point that was asked for says so."""
    converted = []
    for name in columns:
        texts = frame[name].astype(object).str.strip()
        present = texts.dropna()
        if present[present.str.contains(",")].str.fullmatch(_THOUSANDS).all():
            frame[name] = pd.to_numeric(texts.str.replace(",", ""))
            converted.append(name)
    return converted


def _name_columns(frame: pd.DataFrame, layout: _Layout, path: Path) -> tuple[pd.DataFrame, list[str] | None, list[str]]:
    """Give columns their names; a first column without one that is distinct names the rows."""
    labels = layout.header
    notes: list[str] = []
    row_names: list[str] | None = None
    if len(labels) > 1 and not labels[0] and frame[0].notna().all() and frame[0].is_unique:
        row_names = [str(value) for value in frame[0]]
        notes.append(f"{path.name}: the first column has no name; it names the rows and is no feature.")
        frame, labels = frame.iloc[:, 1:], labels[1:]
    elif layout.unnamed_first:
        raise TableError(
            f"{path} has one field more in its rows than in its header, and the first is no distinct name of the row. "
            f"Give every column a name."
        )
    keep = [i for i, label in enumerate(labels) if label or not frame.iloc[:, i].isna().all()]
    names = [labels[i] or f"column {i + 1}" for i in keep]
    empty = len(labels) - len(keep)
    if empty:  # a separator at the end of each line
        notes.append(f"{path.name}: {empty} empty column{'s' * (empty > 1)} without a name left out.")
    frame = frame.iloc[:, keep]
    frame.columns = pd.Index(column_names(names, source=str(path)))
    return frame, row_names, notes
