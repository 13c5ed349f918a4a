"""Spreadsheets and JSON → delimited text, so that a single reader decides about names, signs and missing values.

A cell becomes what a CSV file would hold: a number with all of its digits, a date in ISO form, true and false as words,
nothing for an empty one.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from manifolia._core.messages import Argument, Message, Word
from manifolia._core.optional import import_extra
from manifolia.exceptions import TableError
from manifolia.tables.files import TableFile, find_encoding
from manifolia.tables.naming import listing, unknown_name

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
JSON = (".json", ".jsonl", ".ndjson")
_EXACT = 2**53  # whole floats up to this are written without decimals


def read_sheet(file: TableFile, sheet: str | int | None) -> tuple[TableFile, list[str]]:
    """Read one sheet of a spreadsheet, and say which if there are others."""
    calamine = import_extra("python_calamine", extra="excel", purpose=f"Reading {file.suffix} files")
    try:
        with file.open() as stream:
            book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(stream.read()))
        names = list(book.sheet_names)
        chosen = names if sheet is None else [_find_sheet(sheet, names)]
        rows: list[list[Any]] = []
        for name in chosen:
            rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
            if rows:
                break
    except TableError:
        raise
    except Exception as error:  # calamine has its own error for each format, and others on damaged files
        raise TableError(f"{file} cannot be read as a spreadsheet: {str(error).rstrip('.')}.") from error
    if not rows:
        what = "no sheet with" if sheet is None else f"a sheet {name!r} without"
        raise TableError(f"{file} has {what} any cell. A table needs a header line and at least one row.")
    notes: list[str] = []
    if sheet is None and len(names) > 1:
        others = listing([other for other in names if other != name])
        told = f"{file.name}: the sheet {name!r} was read; the file also has {others}. Pass "
        notes.append(Message(told, Argument("sheet", Word("NAME")), " for another one."))
    skipped = 0
    while len(rows) > 2 and _n_filled(rows[0]) <= 1 < _n_filled(rows[1]) + _n_filled(rows[2]) - 1:
        skipped, rows = skipped + 1, rows[1:]
    if skipped:
        lines = "line was" if skipped == 1 else f"{skipped} lines were"
        notes.append(f"{file.name}: the first {lines} taken for a title, and left out.")
    return _delimited(file, ([_cell(value) for value in row] for row in rows if _n_filled(row))), notes


def _find_sheet(sheet: str | int, names: Sequence[str]) -> str:
    if str(sheet) in names:
        return str(sheet)
    if str(sheet).isdigit() and 1 <= int(sheet) <= len(names):
        return names[int(sheet) - 1]
    raise unknown_name(str(sheet), names, "sheet", parameter="sheet")


def _n_filled(row: Iterable[Any]) -> int:
    return sum(value is not None and value != "" for value in row)


def _cell(value: Any) -> str:
    """Write one cell as a CSV file would hold it."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and not (value.hour or value.minute or value.second or value.microsecond):
        return value.date().isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        rest = value - datetime.timedelta(days=value.days)
        return f"{value.days} days {datetime.datetime.min + rest:%H:%M:%S}"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else repr(value)
    return str(value)


def _delimited(file: TableFile, rows: Iterable[Sequence[str]]) -> TableFile:
    """Write rows as text with tabs, under the name of the file that they come from."""
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerows(rows)
    return TableFile(str(file), file.path, text.getvalue().encode(), file.member)


def read_json(file: TableFile, encoding: str | None) -> tuple[TableFile, set[str]]:
    """Read records, one JSON object per row: in a list, one per line, or column by column.

    Also names the columns that hold lists, which are kept as JSON.
    """
    file.check_size()
    encoding, _ = find_encoding(file, encoding)
    with file.open() as stream:
        try:
            text = stream.read().decode(encoding)
        except UnicodeError as error:
            told = f"{file} is not {encoding} text. Pass "
            raise TableError(Message(told, Argument("encoding", Word("NAME")), " if you know its encoding.")) from error
    records = [_flat(record) for record in _records(text, file)]
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise TableError(f"{file} holds no records with names. {_WANTED}")
    lists = {name for record in records for name, value in record.items() if isinstance(value, list)}
    return _delimited(file, [names, *([_cell(record.get(name)) for name in names] for record in records)]), lists


def as_lists(column: pd.Series) -> pd.Series:
    """Return a column with the lists that it holds as JSON; the preparer refuses them if the column is used."""
    return column.map(lambda text: json.loads(text) if str(text).startswith("[") else text)


_WANTED = 'A table in JSON is a list of objects, [{"width": 1, "kind": "a"}, …], or one object in each line.'


def _records(text: str, file: TableFile) -> list[Any]:
    try:
        content = json.loads(text)
    except RecursionError as error:
        raise TableError(f"{file} holds JSON that is too deep for a table. {_WANTED}") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            content = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            raise TableError(f"{file} cannot be read as JSON: {error}. {_WANTED}") from error
    if isinstance(content, Mapping):
        if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):  # pandas, "split"
            content = [dict(zip(map(str, content["columns"]), row, strict=False)) for row in content["data"]]
        elif content and all(isinstance(values, Mapping) for values in content.values()):
            numbered = all(list(values) == [str(i) for i in range(len(values))] for values in content.values())
            content = (
                _by_column({name: list(values.values()) for name, values in content.items()})
                if numbered
                else (
                    list(content.values())  # by the names of rows
                )
            )
        else:
            lists = {name: values for name, values in content.items() if isinstance(values, list)}
            inner = [values for values in lists.values() if values and all(isinstance(one, Mapping) for one in values)]
            if len(inner) == 1:
                content = inner[0]  # beside metadata, such as pandas' schema
            elif lists and len(lists) == len(content) and len({*map(len, lists.values())}) == 1:
                content = _by_column(lists)
            else:
                content = [content]
    if not isinstance(content, list) or not all(isinstance(record, Mapping) for record in content):
        raise TableError(f"{file} holds JSON that is no table. {_WANTED}")
    return content


def _by_column(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _flat(record: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested objects: "size.width"."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat
