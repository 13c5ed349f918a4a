"""Rows that a page sends, as a table: CSV as pasted or dropped, or JSON. Nothing of it is ever run or unpickled."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from manifolia.exceptions import TableError
from manifolia.tables import Table, read

__all__ = ["MOST_BYTES", "UploadError", "read_upload"]

MOST_BYTES = 16_000_000
_FORMS = "Send a list of objects with the names of columns, or an object of lists, one for each column."


class UploadError(TableError):
    """What was sent cannot be read as rows."""


def read_upload(content: bytes, kind: str) -> Table:
    """Read rows."""
    if not content.strip():
        message = "There are no rows. Paste them with the names of their columns in the first line."
        raise UploadError(message)
    if kind == "application/json":
        return read(_from_json(content))
    with tempfile.TemporaryDirectory(prefix="manifolia-") as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(content)
        try:
            return read(path)
        except TableError as error:
            raise UploadError(str(error).replace(str(path), "the rows")) from error


def _from_json(content: bytes) -> pd.DataFrame:
    try:
        found = json.loads(content, parse_constant=lambda _: None)  # NaN and Infinity, which JSON does not have
    except (ValueError, RecursionError) as error:
        message = f"This is not JSON. {_FORMS}"
        raise UploadError(message) from error
    lists = isinstance(found, dict) and found and all(isinstance(values, list) for values in found.values())
    records = isinstance(found, list) and found and all(isinstance(row, dict) for row in found)
    if not (lists or records) or not _flat(found):
        message = f"These are no rows. {_FORMS}"
        raise UploadError(message)
    try:
        return pd.DataFrame(found)
    except ValueError as error:
        message = f"The columns are not of one length. {_FORMS}"
        raise UploadError(message) from error


def _flat(found: Any) -> bool:
    """Whether every cell is a value, not a list or an object."""
    cells = found.values() if isinstance(found, dict) else (row.values() for row in found)
    return not any(isinstance(cell, list | dict) for column in cells for cell in column)
