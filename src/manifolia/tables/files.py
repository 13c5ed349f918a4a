"""Files as the reader finds them: plain, compressed, or standard input; their maximum size, and their encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from manifolia._core.memory import RAISE_LIMIT, format_bytes, limit_now
from manifolia._core.messages import Argument, Message, Word
from manifolia.exceptions import TableError
from manifolia.tables.naming import listing

#: What a compressed file may unpack to, unless the user sets a limit: this many bytes, or this many times its own size.
#: Numbers compress to a half or a tenth, a table of zeros to a hundredth, bombs to a thousandth.
_UNPACKED, _PACKED, _UNPACKED_ROWS = 2**26, 200, 10_000_000
_LONGEST = 2**25  # bytes of a line: a million columns of 32 characters
_ROW = 100  # bytes that a row takes besides its values: its name and number
_CHUNK = 2**20
#: How a gzip file begins.
PACKED = b"\x1f\x8b"
#: The name of standard input in place of a path.
STANDARD_INPUT = "-"
_ADDRESS = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.\-]+:/")  # one letter is a drive of Windows
_MEMBER = re.compile(r"(?<=\.zip) \(.*\)$", re.IGNORECASE)  # as `member_of` writes it
READABLE = (
    "CSV, TSV, JSON, Excel (.xlsx, .xls, .ods), Parquet (.parquet), Arrow (.arrow, .feather), NumPy (.npz, .npy) and "
    "AnnData (.h5ad) files"
)
_HEAD = 2**16
#: Beyond this share of control characters, the start of a file is not text.
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
    (b"PK\x03\x04", "an archive: give its name the suffix that it should have, such as .zip, .xlsx, .ods or .npz"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet: give its name the suffix .xls"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"BZh", "compressed by bzip2: unpack it first"),
    (b"\xfd7zXZ", "compressed by xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"),
)
#: Bytes from 0x80 to 0x9f: control characters in Latin-1, and letters in Windows-1252 except for these five.
_NO_WINDOWS = frozenset((0x81, 0x8D, 0x8F, 0x90, 0x9D))
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
#: What damaged archives raise.
_DAMAGED = (EOFError, OSError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)


@dataclass(frozen=True)
class TableFile:
    """A file whose bytes can be read from the start as often as needed."""

    shown: str  # What messages call it
    path: Path | None = None  # Where it is
    content: bytes | None = None  # Its bytes, if it is not on disk
    member: str | None = None  # Which file of a zip archive is meant

    def __str__(self) -> str:
        return self.shown

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.member or (self.shown if self.path is None else self.path.name)

    @property
    def suffix(self) -> str:
        """The end of the name, in lower case, without that of gzip."""
        name = Path(self.name.lower().removesuffix(".gz"))
        return name.suffix if self.member or self.path else ""

    def open(self) -> IO[bytes]:
        """Open the bytes, unpacked."""
        try:
            if not self.is_packed:
                return self._open_raw()
            whole = self.content is None and self.member is None
            return gzip.open(self.path if whole else self._open_raw(), "rb")  # type: ignore[arg-type, return-value]
        except _DAMAGED as error:
            raise TableError(f"{self} cannot be read: {error}.") from error

    def _open_raw(self) -> IO[bytes]:
        if self.content is not None:
            return io.BytesIO(self.content)
        assert self.path is not None
        if self.member is None:
            return self.path.open("rb")
        return zipfile.ZipFile(self.path).open(self.member)  # the archive is closed with its member

    def head(self, size: int) -> bytes:
        """Return the first bytes."""
        try:
            with self.open() as stream:
                return stream.read(size)
        except _DAMAGED as error:
            raise TableError(f"{self} cannot be read: {error}.") from error

    def check_size(self) -> None:
        """Read through the bytes: refuse what would not fit into memory before anything is parsed."""
        most = limit_now()
        most_rows = most // _ROW
        if self.member is not None or self.is_packed:
            own = len(self.content) if self.path is None else self.path.stat().st_size  # type: ignore[arg-type]
            most = limit_now(unless_set=max(_UNPACKED, _PACKED * own))
            most_rows = limit_now(unless_set=_UNPACKED_ROWS * _ROW) // _ROW
        size = n_lines = length = 0
        try:
            with self.open() as stream:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    n_lines += chunk.count(b"\n")
                    last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                    length = length + len(chunk) if last < 0 else len(chunk) - last
                    if length > _LONGEST and self.suffix != ".json":
                        raise TableError(
                            f"{self} has a line of more than {format_bytes(_LONGEST)}, the most that is read. Is "
                            f"{self.name} a table at all?"
                        )
                    if size > most or n_lines > most_rows:
                        raise TableError(
                            f"{self} is not read: it has more than "
                            f"{f'{format_bytes(most)} of text' if size > most else f'{most_rows:,} rows'}. Unless you "
                            f"set a limit, a table may have as much text as 80% of the free memory; and a packed one "
                            f"{format_bytes(_UNPACKED)} or {_PACKED} times its size, in {_UNPACKED_ROWS:,} rows. "
                            f"{RAISE_LIMIT}"
                        )
        except _DAMAGED as error:
            raise TableError(f"{self} cannot be read: {error}.") from error

    @property
    def is_packed(self) -> bool:
        """Return whether gzip has packed it."""
        with self._open_raw() as stream:
            return stream.read(2) == PACKED


def refuse_address(source: object) -> None:
    """Refuse a web address: nothing is downloaded."""
    if _ADDRESS.match(str(source)):
        address = re.sub(r":/(?!/)", "://", str(source), count=1)  # a path has lost one of two slashes
        raise TableError(
            f"{address!r} is a web address, and nothing is downloaded here. Download the file, and pass its path."
        )


def read_standard_input() -> TableFile:
    """Read standard input."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.isatty():
        raise TableError("'-' is standard input, and nothing is sent there. Pass a file, or send one: … < table.csv.")
    most = limit_now()
    content = stream.read(most + 1)
    if len(content) > most:
        raise TableError(f"standard input is not read: it has more than {format_bytes(most)}. {RAISE_LIMIT}")
    return TableFile("standard input", content=content)


def file_name(source: str) -> str:
    """Return the name of the file that a table comes from, without folders and without what a zip archive holds."""
    return Path(_MEMBER.sub("", source)).name


def member_of(path: Path) -> TableFile:
    """Find the one table in a zip archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (*_DAMAGED, ValueError) as error:
        raise TableError(f"{path} cannot be read as a zip archive: {error}.") from error
    files = [
        entry
        for entry in entries
        if not entry.is_dir() and not entry.filename.startswith("__MACOSX/") and Path(entry.filename).name[0] != "."
    ]
    if len(files) != 1:
        names = listing([entry.filename for entry in files])
        what = f"several files: {names}. Unpack it, and pass one of them." if files else "no file."
        raise TableError(f"{path} holds {what}")
    if files[0].flag_bits & 1:
        raise TableError(f"{path} is locked by a password. Unpack it first.")
    return TableFile(f"{path} ({files[0].filename})", path, member=files[0].filename)


def find_encoding(file: TableFile, given: str | None = None) -> tuple[str, list[str]]:
    """Return the encoding given, that of the byte order mark, UTF-8, or an older one; and a note on an older one."""
    head = file.head(_HEAD)
    if not head.strip():
        raise TableError(f"{file} is empty. A table needs a header line and at least one row.")
    if given is not None:
        try:
            "".encode(given)
        except LookupError as error:
            text = f"encoding must be the name of one, such as 'utf-8', 'latin-1' or 'cp1252', got {given!r}."
            raise TableError(text, parameter="encoding") from error
        return given, []
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, []
    for magic, what in _KNOWN_BINARY:
        if head.startswith(magic):
            raise TableError(f"{file} is not text but {what}.")
    codes = np.frombuffer(head, dtype=np.uint8)
    control = (codes < 32) & (codes != 9) & (codes != 10) & (codes != 12) & (codes != 13)
    if (codes == 0).any() or control.mean() > _CONTROL_SHARE:
        raise TableError(
            f"{file} is not text (byte {int(codes[control][0])} at position {int(np.argmax(control))}). These can be "
            f"read: {READABLE}."
        )
    return _older_encoding(file)


def _older_encoding(file: TableFile) -> tuple[str, list[str]]:
    """Distinguish UTF-8, Latin-1 and Windows-1252 by reading the whole file."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    seen: set[int] = set()
    n_wrong = n_right = 0
    with file.open() as stream:
        try:
            while chunk := stream.read(_CHUNK):
                if not chunk.isascii() or n_wrong:
                    letters = decoder.decode(chunk)
                    wrong = letters.count("\ufffd")
                    n_wrong, n_right = n_wrong + wrong, n_right + sum(map(len, _FOREIGN.findall(letters))) - wrong
                    seen.update(byte for byte in set(chunk) if byte >= 0x80)
            n_wrong += decoder.decode(b"", final=True).count("\ufffd")
        except (EOFError, OSError, zlib.error) as error:
            raise TableError(f"{file} cannot be read: {error}.") from error
    if not n_wrong:
        return "utf-8", []
    windows = {byte for byte in seen if byte < 0xA0}
    if n_right > n_wrong or windows & _NO_WINDOWS:
        mostly = f"{n_wrong:,} of its letters are not UTF-8" if n_right > n_wrong else "neither UTF-8 nor Windows-1252"
        raise TableError(
            Message(
                f"{file} is in no encoding that could be found: {mostly}. Pass ",
                Argument("encoding", Word("NAME")),
                ", or save it as UTF-8.",
            ),
        )
    name, encoding = ("Windows-1252", "cp1252") if windows else ("Latin-1", "latin-1")
    told = f"{file.name}: read as {name}, because it is not UTF-8. If letters look wrong, pass "
    return encoding, [Message(told, Argument("encoding", Word("NAME")), ".")]
