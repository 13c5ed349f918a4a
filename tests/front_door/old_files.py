"""Spreadsheets of other tools, written by hand, so that reading them is tested where nothing writes them."""

from __future__ import annotations

import datetime
import struct
import zipfile
from xml.sax.saxutils import escape

import pandas as pd

_SECTOR = 512
_FREE, _CHAIN_END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def _cells(frame):
    yield from ((0, j, name) for j, name in enumerate(frame.columns))
    for j, name in enumerate(frame.columns):
        for i, value in enumerate(frame[name]):
            if not pd.isna(value):
                yield i + 1, j, value.item() if hasattr(value, "item") else value


def write_ods(frame, path):
    """Write a frame as OpenDocument: a zip with a table in XML."""
    cells = {(i, j): value for i, j, value in _cells(frame)}
    rows = []
    for i in range(len(frame) + 1):
        line = []
        for j in range(frame.shape[1]):
            value = cells.get((i, j))
            text = escape(str(value))
            if value is None:
                line.append("<table:table-cell/>")
                continue
            if isinstance(value, bool):
                kind = f'office:value-type="boolean" office:boolean-value="{text.lower()}"'
            elif isinstance(value, datetime.datetime):
                kind = f'office:value-type="date" office:date-value="{value:%Y-%m-%d}"'
            elif isinstance(value, int | float):
                kind = f'office:value-type="float" office:value="{value!r}"'
            else:
                kind = 'office:value-type="string"'
            line.append(f"<table:table-cell {kind}><text:p>{text}</text:p></table:table-cell>")
        rows.append(f"<table:table-row>{''.join(line)}</table:table-row>")
    names = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    body = f'<office:spreadsheet><table:table table:name="data">{"".join(rows)}</table:table></office:spreadsheet>'
    content = f"<office:document-content{names}><office:body>{body}</office:body></office:document-content>"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", "<manifest:manifest/>")
        file.writestr("content.xml", f'<?xml version="1.0" encoding="UTF-8"?>{content}')


def _record(kind, body=b""):
    return struct.pack("<HH", kind, len(body)) + body


def _text(value, size):
    return struct.pack(size, len(value)) + b"\x01" + value.encode("utf-16-le")


def _workbook(frame):
    """Make the records of a workbook with one sheet (BIFF8); the second format of cells is a date's."""
    formats = b"".join(_record(0x00E0, struct.pack("<HHH", 0, number, 0).ljust(20, b"\0")) for number in (0, 14))
    begin = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0)) + _record(0x0022, b"\0\0") + formats
    sheet = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    for i, j, value in sorted(_cells(frame), key=lambda cell: cell[:2]):
        if isinstance(value, bool):
            sheet += _record(0x0205, struct.pack("<HHHBB", i, j, 0, value, 0))
        elif isinstance(value, datetime.datetime):
            days = (value - datetime.datetime(1899, 12, 30)).days
            sheet += _record(0x0203, struct.pack("<HHHd", i, j, 1, days))
        elif isinstance(value, int | float):
            sheet += _record(0x0203, struct.pack("<HHHd", i, j, 0, value))
        else:
            sheet += _record(0x0204, struct.pack("<HHH", i, j, 0) + _text(value, "<H"))
    name = _text("data", "<B")
    at = len(begin) + 4 + 6 + len(name) + 4
    return begin + _record(0x0085, struct.pack("<IBB", at, 0, 0) + name) + _record(0x000A) + sheet + _record(0x000A)


def _entry(name, kind, child, start, size):
    told = name.encode("utf-16-le") + b"\0\0"
    head = told.ljust(64, b"\0") + struct.pack("<HBBIII", len(told), kind, 1, _FREE, _FREE, child)
    return head.ljust(116, b"\0") + struct.pack("<IQ", start, size)


def write_xls(frame, path):
    """Write a frame as an old Excel file: a workbook in a compound file of sectors."""
    stream = _workbook(frame).ljust(4096, b"\0")  # shorter ones would be kept elsewhere
    stream = stream.ljust(-(-len(stream) // _SECTOR) * _SECTOR, b"\0")
    n = len(stream) // _SECTOR
    folder = _entry("Root Entry", 5, 1, _CHAIN_END, 0) + _entry("Workbook", 2, _FREE, 2, len(stream)) + bytes(256)
    table = [_FAT, _CHAIN_END, *range(3, n + 2), _CHAIN_END]  # this table, the folder, the workbook
    assert len(table) <= _SECTOR // 4
    head = bytes.fromhex("D0CF11E0A1B11AE1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, _CHAIN_END, 0, _CHAIN_END, 0)
    head += struct.pack("<109I", 0, *[_FREE] * 108)
    sectors = struct.pack(f"<{_SECTOR // 4}I", *table, *[_FREE] * (_SECTOR // 4 - len(table)))
    path.write_bytes(head + sectors + folder + stream)
